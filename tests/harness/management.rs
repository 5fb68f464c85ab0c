//! The service that has the credentials of operators, as smpp-connector asks it: plain HTTP, and answers that the test
//! may change.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::hooks::{Hook, HookReply, Hooks};

/// Answers `GET /internal/operators/{id}/smpp-credentials`; 404 for operators that it does not know.
pub struct Management {
    hooks: Hooks,
    known: Arc<Mutex<HashMap<String, Value>>>,
}

// === impl Management ===

impl Management {
    pub fn start() -> Self {
        let known: Arc<Mutex<HashMap<String, Value>>> = Arc::default();
        let asked = Arc::clone(&known);
        let hooks = Hooks::answering(move |hook, _| {
            let id = hook
                .path
                .strip_prefix("/internal/operators/")
                .and_then(|rest| rest.strip_suffix("/smpp-credentials"));
            let known = asked.lock().unwrap();
            match id.and_then(|id| known.get(id)) {
                Some(answer) => HookReply::Body(answer.to_string()),
                None => HookReply::status(404),
            }
        });
        Self { hooks, known }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.hooks.address())
    }

    /// From now on the operator is at this address, with this password.
    pub fn set(&self, id: &str, at: SocketAddr, password: &str) {
        self.set_with(id, at, password, &json!({}));
    }

    /// From now on the operator is at this address, with this password and more fields of the answer, or others.
    pub fn set_with(&self, id: &str, at: SocketAddr, password: &str, more: &Value) {
        let mut answer = json!({
            "operatorId": id, "host": at.ip().to_string(), "port": at.port(),
            "systemId": "smsgtw01", "password": password, "tpsLimit": 100,
            "bindMode": "TRANSCEIVER", "backupOperatorId": null,
        });
        let fields = answer.as_object_mut().unwrap();
        fields.extend(more.as_object().unwrap().clone());
        self.known.lock().unwrap().insert(id.to_owned(), answer);
    }

    /// The requests so far.
    pub fn came(&self) -> Vec<Hook> {
        self.hooks.came()
    }
}
