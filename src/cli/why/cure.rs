//! Why a message waits or has failed, in words, and the usual cure, by commands.

use crate::api::{Message, Wait};

/// What is said of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CauseAndCure {
    pub(super) cause: String,
    /// Empty where nothing is to be cured.
    pub(super) cure: String,
}

// === impl CauseAndCure ===

impl CauseAndCure {
    pub(super) fn of(message: &Message) -> Self {
        // Of one that has failed its receipt may wait: that is not what is asked.
        let has_failed = message.fin.is_some()
            && !matches!(message.state.as_str(), "DELIVERED" | "ACCEPTED" | "DELETED");
        if let Some(waits) = message.waits.as_ref().filter(|_| !has_failed) {
            return Self {
                cause: waits.text.clone(),
                cure: of_wait(message, waits),
            };
        }
        let id = &message.id;
        let last = message.history.last();
        let answer = last.map_or_else(
            || "it was never sent".to_owned(),
            |last| {
                format!(
                    "the last of {} attempts: {} answered {}",
                    message.history.len(),
                    last.queue,
                    last.status
                )
            },
        );
        let fin = message.fin.as_ref();
        let error = fin.map(|fin| fin.error.as_str()).unwrap_or_default();
        let error = if error.is_empty() {
            String::new()
        } else {
            format!(", error {error}")
        };
        let (cause, cure) = match message.state.as_str() {
            "DELIVERED" | "ACCEPTED" => ("it has arrived".to_owned(), String::new()),
            "DELETED" => {
                let cancel = message
                    .changes
                    .iter()
                    .rev()
                    .find(|one| one.kind == "cancel");
                let by = cancel.map_or_else(String::new, |one| format!(" by {}", one.by));
                (format!("it was cancelled{by}"), String::new())
            }
            "EXPIRED" => (
                format!("its validity ended before it was delivered; {answer}{error}"),
                format!(
                    "`smsc queue show {}` and `smsc bind list` say what held it; then `smsc message replay {id}`",
                    message.queue
                ),
            ),
            "REJECTED" => (
                format!("it was refused{error}; {answer}"),
                format!(
                    "`smsc route explain {}` says what takes it; then `smsc message replay {id}`",
                    message.to
                ),
            ),
            "ENROUTE" => ("it is on its way".to_owned(), String::new()),
            state => (
                format!("it is {state}{error}; {answer}"),
                format!("`smsc message replay {id}`, or through another operator with --queue"),
            ),
        };
        Self { cause, cure }
    }
}

fn of_wait(message: &Message, waits: &Wait) -> String {
    let (id, queue) = (&message.id, &message.queue);
    let operator = queue.strip_prefix("operator:");
    match (waits.reason.as_str(), operator) {
        ("suspended", _) => format!("`smsc queue resume {queue}`, when its reason is over"),
        ("paused", Some(operator)) => format!("`smsc operator resume {operator}`"),
        ("no bind" | "failing", Some(operator)) => format!(
            "`smsc bind list {operator}` shows the last error; `smsc operator rebind {operator}` tries again at once"
        ),
        ("no bind" | "paused" | "failing", None) => {
            "its receiver binds again, or `smsc bind list` shows why not".to_owned()
        }
        ("throttled" | "window" | "rate" | "turn" | "answer", _) => {
            format!("wait; `smsc queue show {queue}` shows how much is before it")
        }
        ("receipt", _) => format!(
            "wait for the operator; `smsc receipt unmatched` shows receipts that match no message, \
             `smsc receipt match RECEIPT {id}` ends it"
        ),
        ("retry" | "schedule", _) => format!("wait, or `smsc message retry {id}` sends it now"),
        ("lookup", _) => "`smsc lookup list` shows whether look-ups are answered".to_owned(),
        ("held" | "outcome unknown", _) => "`smsc held` lists what waits for an order".to_owned(),
        ("store" | "queue" | "no queue", _) => "`smsc health` says what is broken".to_owned(),
        _ => "wait".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(reason: &str, queue: &str) -> String {
        let json = serde_json::json!({
            "id": "17", "state": "ENROUTE", "stage": "waiting", "kind": "MT", "from": "1", "to": "2",
            "sender": "account:a", "queue": queue, "accepted_at": null, "expires_at": null, "due_at": null,
            "attempts": 0, "priority": 0, "data_coding": 0, "esm_class": 0, "registered_delivery": 0, "final": null,
            "history": [], "changes": [],
            "waits": {"reason": reason, "text": "because", "until": null},
        });
        let verdict = CauseAndCure::of(&serde_json::from_value(json).unwrap());
        assert_eq!(verdict.cause, "because");
        verdict.cure
    }

    #[test]
    fn a_cure_is_a_command() {
        for (reason, queue, part) in [
            ("suspended", "operator:up", "smsc queue resume operator:up"),
            ("paused", "operator:up", "smsc operator resume up"),
            ("no bind", "operator:up", "smsc operator rebind up"),
            ("no bind", "account:a", "smsc bind list"),
            ("retry", "operator:up", "smsc message retry 17"),
            ("receipt", "operator:up", "smsc receipt match RECEIPT 17"),
        ] {
            let cure = waits(reason, queue);
            assert!(cure.contains(part), "{reason}: {cure}");
        }
    }
}
