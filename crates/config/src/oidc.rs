//! `[http.oidc]`: sign-in to the console by OpenID Connect, beside tokens. The section is read by `http/oidc`.

use std::path::PathBuf;
use std::time::Duration;

use secrecy::SecretString;

use super::section::settings;

/// The path of `redirect_url`.
pub const OIDC_CALLBACK: &str = "/oidc/callback";

/// A shorter session ends in the middle of work, a longer one outlives what the issuer has decided.
const SHORT_SESSION: Duration = Duration::from_secs(300);
const LONG_SESSION: Duration = Duration::from_secs(7 * 86_400);
/// Characters on the button.
const MAX_LABEL: usize = 40;

settings! {
    /// `[http.oidc]`: sign-in to the console with OpenID Connect (authorization code with PKCE): docs/security.md. Off without `issuer`.
    pub struct Oidc {
        /// Issuer URL, exactly as in its `/.well-known/openid-configuration`: `https://sso.example/realms/staff`.
        issuer: Option<String> = None,
        /// Client id at the issuer.
        client_id: String = String::new(),
        /// Client secret; without it, the client is public (PKCE).
        @filled("is empty; remove it, or write it")
        client_secret: Option<SecretString> = None,
        /// File with `client_secret`.
        client_secret_file: Option<PathBuf> = None,
        /// Console's public address and `/oidc/callback`: `https://smsc.example/oidc/callback`. The same on every node; register it at the issuer.
        redirect_url: Option<String> = None,
        /// Scopes beside `openid`; many issuers need one for groups.
        @must(|scope| !scope.is_empty() && !scope.contains(char::is_whitespace), "must be one word")
        scopes: Vec<String> = vec!["profile".to_owned()],
        /// Text of the button after "Sign in with".
        @must(|label| (1..=MAX_LABEL).contains(&label.trim().chars().count()), "must have 1 to 40 characters")
        label: String = "OpenID Connect".to_owned(),
        /// Claim that names sessions and audit entries. Choose one that people cannot change.
        @filled("is empty; name a claim")
        name_claim: String = "sub".to_owned(),
        /// Claim with the groups, a word or a list; dots lead into objects (`realm_access.roles`). Read from the ID token, then from userinfo.
        @filled("is empty; name a claim")
        role_claim: String = "groups".to_owned(),
        /// Groups with the role `read`.
        role_read: Vec<String> = Vec::new(),
        /// Groups with the role `operate`.
        role_operate: Vec<String> = Vec::new(),
        /// Groups with the role `admin`. People in none of all groups are refused.
        role_admin: Vec<String> = Vec::new(),
        /// Lifetime of a session and its role.
        @between(SHORT_SESSION, LONG_SESSION)
        session: Duration = Duration::from_secs(8 * 3_600),
        /// PEM file of trusted CAs, instead of the system's. Read at each request.
        ca_file: Option<PathBuf> = None,
        /// The issuer counts as unreachable after this time without an answer.
        @positive timeout: Duration = Duration::from_secs(5),
    }
}
