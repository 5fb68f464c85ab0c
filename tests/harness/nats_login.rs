//! Logins of a NATS server for a test: an operator with an account and a user, as `nsc` makes them, and a token.
//!
//! JWTs as of https://github.com/nats-io/jwt, version 2: signed by the key of who issues them.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use nkeys::KeyPair;
use serde_json::{Value, json};

/// How users log in.
#[derive(Debug, Clone)]
pub enum Login {
    Nobody,
    User(String, String),
    Token(String),
    /// The server's configuration, and the content of a credentials file.
    Jwt {
        server: String,
        credentials: String,
    },
    /// The server's configuration, with a user who may do everything ([`EVERYTHING`]) and one who may not.
    Limited(String),
}

/// Name and password of the user whom the test is.
const EVERYTHING: &str = "everything";

// === impl Login ===

impl Login {
    /// An operator, an account with JetStream, and a user of it.
    pub fn jwt() -> Self {
        let (operator, system) = (KeyPair::new_operator(), KeyPair::new_account());
        let (account, user) = (KeyPair::new_account(), KeyPair::new_user());
        let limits = |storage: i64| {
            json!({
                "subs": -1, "data": -1, "payload": -1, "imports": -1, "exports": -1, "wildcards": true,
                "conn": -1, "leaf": -1, "mem_storage": storage, "disk_storage": storage,
                "streams": storage, "consumer": storage,
            })
        };
        let of_account = |name: &str, of: &KeyPair, storage: i64| {
            let claims = json!({
                "limits": limits(storage), "default_permissions": {"pub": {}, "sub": {}},
                "type": "account", "version": 2,
            });
            jwt(&operator, of, name, &claims)
        };
        let operator_jwt = jwt(
            &operator,
            &operator,
            "O",
            &json!({"type": "operator", "version": 2}),
        );
        let (of_system, of_own) = (of_account("SYS", &system, 0), of_account("A", &account, -1));
        let claims = json!({
            "pub": {}, "sub": {}, "subs": -1, "data": -1, "payload": -1, "type": "user", "version": 2,
        });
        let user_jwt = jwt(&account, &user, "smsc", &claims);
        let (system, own) = (system.public_key(), account.public_key());
        let seed = user.seed().unwrap();
        Self::Jwt {
            server: format!(
                "operator: {operator_jwt}\nsystem_account: {system}\nresolver: MEMORY\n\
                 resolver_preload: {{\n  {system}: {of_system}\n  {own}: {of_own}\n}}\n"
            ),
            credentials: format!(
                "-----BEGIN NATS USER JWT-----\n{user_jwt}\n------END NATS USER JWT------\n\n\
                 -----BEGIN USER NKEY SEED-----\n{seed}\n------END USER NKEY SEED------\n"
            ),
        }
    }

    /// The test may do everything, and a user may publish and subscribe to these subjects alone.
    pub fn limited(user: &str, password: &str, publish: &[&str], subscribe: &[&str]) -> Self {
        let users = json!([
            {"user": EVERYTHING, "password": EVERYTHING},
            {"user": user, "password": password, "permissions": {"publish": publish, "subscribe": subscribe}},
        ]);
        Self::Limited(json!({"authorization": {"users": users}}).to_string())
    }

    /// What the server is started with; may write a file into the folder.
    pub fn arguments(&self, folder: &Path) -> Vec<String> {
        match self {
            Self::Nobody => Vec::new(),
            Self::User(user, password) => ["--user", user, "--pass", password]
                .map(str::to_owned)
                .into(),
            Self::Token(token) => ["--auth", token].map(str::to_owned).into(),
            Self::Jwt { server, .. } | Self::Limited(server) => {
                let file = folder.join("nats.conf");
                std::fs::write(&file, server).unwrap();
                vec!["--config".to_owned(), file.display().to_string()]
            }
        }
    }

    /// How the test itself connects.
    pub fn options(&self) -> async_nats::ConnectOptions {
        let options = async_nats::ConnectOptions::new();
        match self {
            Self::Nobody => options,
            Self::User(user, password) => options.user_and_password(user.clone(), password.clone()),
            Self::Token(token) => options.token(token.clone()),
            Self::Limited(_) => options.user_and_password(EVERYTHING.into(), EVERYTHING.into()),
            Self::Jwt { credentials, .. } => {
                async_nats::ConnectOptions::with_credentials(credentials).unwrap()
            }
        }
    }
}

fn jwt(issuer: &KeyPair, of: &KeyPair, name: &str, claims: &Value) -> String {
    let header = json!({"typ": "JWT", "alg": "ed25519-nkey"});
    let body = json!({
        "jti": name, "iat": 1_700_000_000, "iss": issuer.public_key(), "name": name, "sub": of.public_key(),
        "nats": claims,
    });
    let part = |value: &Value| BASE64.encode(value.to_string());
    let signed = format!("{}.{}", part(&header), part(&body));
    let signature = issuer.sign(signed.as_bytes()).unwrap();
    format!("{signed}.{}", BASE64.encode(signature))
}
