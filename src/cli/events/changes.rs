//! What has changed between two events of the same kind, in words. Knows no server and no screen.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::cli::client::Tone;
use crate::domain::queue_name::QueueName;

/// What each thing was when it was last heard of.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// By kind of event and name; the state in words.
    known: BTreeMap<(String, String), String>,
    /// Kinds of which an event has come.
    heard: Vec<String>,
    /// Who answers, in words; none while nobody does.
    connected: Option<String>,
}

// === impl Changes ===

impl Changes {
    /// The server is away.
    pub(super) fn lost(&mut self) {
        self.connected = None;
    }

    /// Takes an event; what is new in it. The first of a kind is told by its numbers, and by what needs a look.
    pub(super) fn take(&mut self, kind: &str, data: &Value) -> Vec<(String, Tone)> {
        if kind == "hello" {
            // The stream is opened anew from time to time, by the same.
            let version = data["version"].as_str().unwrap_or_default();
            let says = format!("connected to node {}, version {version}", data["node"]);
            let is_new = self.connected.as_ref() != Some(&says);
            self.connected = Some(says.clone());
            return is_new.then_some((says, Tone::Plain)).into_iter().collect();
        }
        let now = states(kind, data);
        let is_first = !self.heard.iter().any(|heard| heard == kind);
        let mut said = Vec::new();
        if is_first {
            self.heard.push(kind.to_owned());
            if kind != "overview" {
                said.push((format!("{}: {}", kind, now.len()), Tone::Plain));
            }
        }
        for (name, state) in &now {
            let before = self.known.get(&(kind.to_owned(), name.clone()));
            let tone = Tone::of_state(state);
            let says = match before {
                Some(before) if before == state => continue,
                Some(before) => format!("{name}: {before} → {state}"),
                None if is_first && !matches!(tone, Tone::Warning | Tone::Bad) => continue,
                None => format!("{name}: {state}"),
            };
            said.push((says, tone));
        }
        let is_of_kind = |key: &(String, String)| key.0 == kind;
        for key in self.known.keys().filter(|key| is_of_kind(key)) {
            if !now.contains_key(&key.1) {
                said.push((format!("{}: gone", key.1), Tone::Warning));
            }
        }
        self.known.retain(|key, _| !is_of_kind(key));
        let kept = now.into_iter();
        self.known
            .extend(kept.map(|(name, state)| ((kind.to_owned(), name), state)));
        said
    }
}

/// The state of each thing in an event.
fn states(kind: &str, data: &Value) -> BTreeMap<String, String> {
    let list = data[kind].as_array().map_or(&[][..], Vec::as_slice);
    let text = |one: &Value, key: &str| one[key].as_str().unwrap_or_default().to_owned();
    if kind == "overview" {
        return BTreeMap::from([("node".to_owned(), readiness(data))]);
    }
    let named = |one: &Value| match kind {
        "queues" => {
            let name = text(one, "name");
            let is_served = one["sessions"].as_u64() > Some(0) || QueueName::parse(&name).is_test();
            let state = match (one["suspended"] == true, is_served) {
                (true, _) => "suspended",
                (false, true) => "served",
                (false, false) => "nobody bound",
            };
            Some((format!("queue {name}"), state.to_owned()))
        }
        "binds" => {
            let name = format!(
                "bind {} ({} {}, session {})",
                text(one, "name"),
                text(one, "direction"),
                text(one, "peer"),
                one["session"]
            );
            Some((name, text(one, "state")))
        }
        "operators" => {
            let (state, bound, configured) =
                (text(one, "state"), &one["bound"], &one["configured"]);
            let mut state = format!("{state}, {bound} of {configured} binds");
            if one["slowed"] == true {
                state.push_str(", slowed because it throttles");
            }
            if let Some(breaker) = one["breaker"].as_str().filter(|state| *state != "closed") {
                state.push_str(&format!(", circuit breaker {breaker}"));
            }
            let error = text(one, "last_error");
            if !error.is_empty() {
                state.push_str(&format!(" ({error})"));
            }
            Some((format!("operator {}", text(one, "id")), state))
        }
        "nodes" => Some((format!("node {}", one["node"]), text(one, "state"))),
        _ => None,
    };
    list.iter().filter_map(named).collect()
}

fn readiness(overview: &Value) -> String {
    let reasons = |key: &str| -> Vec<&str> {
        let list = overview[key].as_array().into_iter().flatten();
        list.filter_map(Value::as_str).collect()
    };
    let (not_ready, degraded) = (reasons("not_ready"), reasons("degraded"));
    if overview["draining"] == true {
        "draining".to_owned()
    } else if !not_ready.is_empty() {
        format!("down, not ready: {}", not_ready.join("; "))
    } else if !degraded.is_empty() {
        format!("waiting, degraded: {}", degraded.join("; "))
    } else {
        "up".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn lines(changes: &mut Changes, kind: &str, data: Value) -> Vec<String> {
        let said = changes.take(kind, &data);
        said.into_iter().map(|(text, _)| text).collect()
    }

    #[test]
    fn only_what_changes_is_told() {
        let mut changes = Changes::default();
        let hello = || json!({"node": 0, "version": "1.0"});
        assert_eq!(lines(&mut changes, "hello", hello()).len(), 1);
        assert!(lines(&mut changes, "hello", hello()).is_empty());
        changes.lost();
        assert_eq!(lines(&mut changes, "hello", hello()).len(), 1);
        let queues = |suspended: bool| json!({"queues": [{"name": "operator:up", "suspended": suspended, "sessions": 1, "waiting": 3}]});
        assert_eq!(lines(&mut changes, "queues", queues(false)), ["queues: 1"]);
        assert!(lines(&mut changes, "queues", queues(false)).is_empty());
        assert_eq!(
            lines(&mut changes, "queues", queues(true)),
            ["queue operator:up: served → suspended"]
        );
        assert_eq!(
            lines(&mut changes, "queues", json!({"queues": []})),
            ["queue operator:up: gone"]
        );
        let operator = json!({"operators": [{"id": "up", "state": "down", "bound": 0, "configured": 2,
            "last_error": "refused", "breaker": "open"}]});
        assert_eq!(
            lines(&mut changes, "operators", operator),
            [
                "operators: 1",
                "operator up: down, 0 of 2 binds, circuit breaker open (refused)"
            ]
        );
        let overview = |degraded: &[&str]| json!({"not_ready": [], "degraded": degraded});
        assert!(lines(&mut changes, "overview", overview(&[])).is_empty());
        assert_eq!(
            lines(&mut changes, "overview", overview(&["no bind"])),
            ["node: up → waiting, degraded: no bind"]
        );
    }
}
