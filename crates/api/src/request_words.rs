//! What a request of the admin API asks for, in words: `suspend queue operator:up`, for the audit log.
//!
//! Read from the method and the path, which are all that entries of earlier builds have.

use percent_encoding::percent_decode_str;
use smsc_domain::settings::ResourceKind;

/// A line for each request: method, path and words. `{}` is a part of the path, `{0}` and `{1}` in the words are these parts in
/// their order. The first that fits counts.
const REQUESTS: &str = "\
GET /oidc/callback: sign in to the console
POST /oidc/sign-out: sign out of the console
GET /v1/messages/{}: read the text of message {0}
GET /v1/binds/{}/{}/pdus: read the PDUs of session {1} of node {0}
GET /v1/receipts/unmatched: read texts of receipts
PUT /v1/config: replace the whole configuration
POST /v1/config/reseal: seal all passwords again
POST /v1/config/rollback/{}: go back to version {0}
PATCH /v1/mo-rules: put the MO rules in order
PUT /v1/accounts/{}/rate: set the rate of account {0}
PUT /v1/operators/{}/rate: set the rate of operator {0}
POST /v1/accounts/{}/balance: add to the balance of account {0}
POST /v1/accounts/{}/callback/test: send a test callback to account {0}
POST /v1/accounts/{}/messages: send test messages as account {0}
POST /v1/api-keys: make an API key
DELETE /v1/api-keys/{}: remove API key {0}
POST /v1/tokens: make a token
DELETE /v1/tokens/{}: remove token {0}
POST /v1/binds/{}/{}/disconnect: disconnect session {1} of node {0}
POST /v1/drain: drain the node
DELETE /v1/drain: end the drain of the node
PUT /v1/log-level: set the log level of the node
POST /v1/gsm/{}/{}: {1} GSM network {0}
POST /v1/operators/{}/test: test the connection to operator {0}
POST /v1/operators/{}/{}: {1} operator {0}
POST /v1/queues/{}/move: move what waits in queue {0}
POST /v1/queues/{}/{}: {1} queue {0}
POST /v1/held/{}/{}: {1} held message {0}
POST /v1/held/{}: {0} all held messages
POST /v1/incidents/{}/acknowledge: acknowledge incident {0}
POST /v1/messages/cancel: cancel messages that wait
POST /v1/messages/replay: send failed messages again
POST /v1/messages/{}/move: move message {0}
POST /v1/messages/{}/replay: send message {0} again
POST /v1/messages/{}/{}: {1} message {0}
POST /v1/notes: write a note
DELETE /v1/notes/{}: remove note {0}
PUT /v1/opt-outs/{}: put {0} on an opt-out list
DELETE /v1/opt-outs/{}: take {0} off an opt-out list
POST /v1/receipts/given-up/{}/replay: send the receipt of message {0} again
POST /v1/receipts/unmatched/{}/match: match receipt {0} with a message
DELETE /v1/receipts/unmatched/{}: drop unmatched receipt {0}
POST /v1/traces: watch messages or PDUs live
DELETE /v1/damaged: forget all damaged rows
DELETE /v1/damaged/{}/{}: forget damaged row {1} of {0}
DELETE /v1/lookups/{}: forget every known {0}
DELETE /v1/lookups/{}/{}: forget the {0} of {1}
DELETE /v1/subscribers/{}/messages: erase subscriber {0}
";

/// What is asked for; method and path themselves where they are not known.
pub fn request_in_words(method: &str, path: &str) -> String {
    let said = REQUESTS.lines().find_map(|line| {
        let (request, words) = line.split_once(": ")?;
        let pattern = request.strip_prefix(method)?.strip_prefix(' ')?;
        Some(filled(words, &parts_of(pattern, path)?))
    });
    said.or_else(|| of_resource(method, path))
        .unwrap_or_else(|| format!("{method} {path}"))
}

/// `set account shop`: resources have one path for each kind.
fn of_resource(method: &str, path: &str) -> Option<String> {
    let verb = match method {
        "PUT" => "set",
        "DELETE" => "remove",
        _ => return None,
    };
    let (kind, name) = path.strip_prefix("/v1/")?.split_once('/')?;
    let kind = ResourceKind::ALL
        .into_iter()
        .find(|known| known.path() == kind)?;
    let word = match kind {
        ResourceKind::MoRule => "MO rule".to_owned(),
        ResourceKind::Gsm => "GSM network".to_owned(),
        ResourceKind::NatsSource => "NATS source".to_owned(),
        kind => kind.as_str().replace('_', " "),
    };
    Some(format!("{verb} {word} {}", decoded(name)))
}

/// What stands in a path at the places of a pattern, if it fits.
fn parts_of(pattern: &str, path: &str) -> Option<Vec<String>> {
    let (pattern, path) = (pattern.split('/'), path.split('/'));
    if pattern.clone().count() != path.clone().count() {
        return None;
    }
    let mut parts = Vec::new();
    for (wanted, given) in pattern.zip(path) {
        match wanted {
            "{}" => parts.push(decoded(given)),
            _ if wanted == given => {}
            _ => return None,
        }
    }
    Some(parts)
}

fn filled(words: &str, parts: &[String]) -> String {
    let part = |at: usize| parts.get(at).map_or("", String::as_str);
    let words = words.split(' ').map(|word| match word {
        "{0}" => part(0),
        "{1}" => part(1),
        word => word,
    });
    words.collect::<Vec<_>>().join(" ")
}

fn decoded(part: &str) -> String {
    percent_decode_str(part).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_told_in_words() {
        for (method, path, said) in [
            (
                "POST",
                "/v1/queues/operator:up/suspend",
                "suspend queue operator:up",
            ),
            (
                "POST",
                "/v1/queues/operator%3Aup/move",
                "move what waits in queue operator:up",
            ),
            ("PUT", "/v1/accounts/shop", "set account shop"),
            (
                "PUT",
                "/v1/accounts/shop/rate",
                "set the rate of account shop",
            ),
            ("DELETE", "/v1/mo-rules/stop", "remove MO rule stop"),
            ("PUT", "/v1/routes/%7B1%7D", "set route {1}"),
            ("POST", "/v1/queues/%7B1%7D/suspend", "suspend queue {1}"),
            ("POST", "/v1/config/rollback/7", "go back to version 7"),
            ("POST", "/v1/messages/17/cancel", "cancel message 17"),
            (
                "DELETE",
                "/v1/lookups/network/4477*****123",
                "forget the network of 4477*****123",
            ),
            ("PUT", "/v1/config", "replace the whole configuration"),
            ("POST", "/v1/nothing", "POST /v1/nothing"),
            ("DELETE", "/v1/queues/a", "DELETE /v1/queues/a"),
        ] {
            assert_eq!(request_in_words(method, path), said);
        }
    }
}
