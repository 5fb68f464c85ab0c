//! `[http.oidc]`: sign-in to the console by OpenID Connect, beside tokens. The section is read by `http/oidc`.

use std::path::PathBuf;
use std::time::Duration;

use secrecy::SecretString;

use super::section::section;

/// The path of `redirect_url`.
pub const OIDC_CALLBACK: &str = "/oidc/callback";

/// A shorter session ends in the middle of work, a longer one outlives what the issuer has decided.
const SHORT_SESSION: Duration = Duration::from_secs(300);
const LONG_SESSION: Duration = Duration::from_secs(7 * 86_400);
/// Characters on the button.
const MAX_LABEL: usize = 40;

section! {
    /// `[http.oidc]`: people sign in to the console at an issuer of OpenID Connect (authorization code with PKCE): docs/security.md. Off without `issuer`.
    pub struct Oidc {
        /// URL of the issuer, as its `/.well-known/openid-configuration` says it, such as `https://sso.example/realms/staff`.
        issuer: Option<String> = None,
        /// How the issuer knows this SMSC.
        client_id: String = String::new(),
        /// The secret that the issuer has given to this client; without it, the client is a public one, which PKCE protects.
        @filled("is empty; remove it, or write it")
        client_secret: Option<SecretString> = None,
        /// File with the secret, instead of `client_secret`.
        client_secret_file: Option<PathBuf> = None,
        /// The console's address for browsers and then `/oidc/callback`, such as `https://smsc.example/oidc/callback`: the same on every node, and known to the issuer.
        redirect_url: Option<String> = None,
        /// What the issuer is asked for beside `openid`; many need one more to tell the groups.
        @must(|scope| !scope.is_empty() && !scope.contains(char::is_whitespace), "must be one word")
        scopes: Vec<String> = vec!["profile".to_owned()],
        /// What stands on the button behind "Sign in with".
        @must(|label| (1..=MAX_LABEL).contains(&label.trim().chars().count()), "must have 1 to 40 characters")
        label: String = "OpenID Connect".to_owned(),
        /// The claim that sessions and the audit log are named by. Choose none that people can change themselves.
        @filled("is empty; name a claim")
        name_claim: String = "sub".to_owned(),
        /// The claim with the groups of a person, a word or a list of words; a dot leads into a table (`realm_access.roles`). It is looked for in the ID token, and then at the issuer's userinfo endpoint.
        @filled("is empty; name a claim")
        role_claim: String = "groups".to_owned(),
        /// Words of `role_claim` that give the role `read`.
        role_read: Vec<String> = Vec::new(),
        /// Words of `role_claim` that give the role `operate`.
        role_operate: Vec<String> = Vec::new(),
        /// Words of `role_claim` that give the role `admin`. Who has none of all these words is not let in.
        role_admin: Vec<String> = Vec::new(),
        /// A session ends after this time, and with it the role that the issuer gave.
        @between(SHORT_SESSION, LONG_SESSION)
        session: Duration = Duration::from_secs(8 * 3_600),
        /// File with the authorities (PEM) that may issue the issuer's certificate; without it, those that the machine trusts. Read when the issuer is asked.
        ca_file: Option<PathBuf> = None,
        /// The issuer counts as unreachable when it has not answered for this time.
        @positive timeout: Duration = Duration::from_secs(5),
    }
}
