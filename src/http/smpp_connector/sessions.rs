//! The session with each operator as smpp-connector tells it: `GET /sessions`, and what `/ready` and `/metrics` need.
//!
//! That service has one session for each operator; here an operator may have several binds, of which the one that is
//! furthest speaks for all.

use serde::Serialize;

use crate::actors::context::NodeContext;
use crate::actors::context::managed::is_outbound;
use crate::domain::moment;
use crate::pb::{BindSnapshot, BindState};

/// States of a session, from none to the best.
pub const STATES: [&str; 4] = ["DISCONNECTED", "UNBOUND", "CONNECTING", "BOUND"];

/// The session with one operator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Session {
    pub operator_id: String,
    pub operator_name: String,
    pub state: &'static str,
    pub bind_mode: &'static str,
    pub last_bound_at: Option<String>,
    pub reconnect_attempts: u32,
}

/// The sessions of this node, by operator.
pub fn of(node: &NodeContext) -> Vec<Session> {
    let binds: Vec<BindSnapshot> = node
        .binds
        .all()
        .iter()
        .map(|port| BindSnapshot::clone(&port.snapshot.get()))
        .filter(is_outbound)
        .collect();
    let plan = node.plan();
    let mut sessions: Vec<Session> = plan
        .operators()
        .map(|operator| {
            let own = binds.iter().filter(|bind| bind.name == operator.config.id);
            let name = node.managed.of(operator.id).and_then(|terms| terms.name);
            session(&operator.config.id, name, &own.collect::<Vec<_>>())
        })
        .collect();
    sessions.sort_by(|one, other| one.operator_id.cmp(&other.operator_id));
    sessions
}

/// How `/ready` judges the sessions: "ok" when one is bound, or there is none to bind; "standby" when other nodes hold
/// all binds; otherwise "error".
pub fn check(node: &NodeContext) -> &'static str {
    let sessions = of(node);
    if sessions.is_empty() || sessions.iter().any(|one| one.state == "BOUND") {
        return "ok";
    }
    let plan = node.plan();
    let holds = plan.operators().any(|operator| {
        let mut slots = 0..operator.config.binds;
        slots.any(|slot| node.local_lease.holds_bind(operator.id, slot))
    });
    if holds { "error" } else { "standby" }
}

fn session(id: &str, name: Option<String>, binds: &[&BindSnapshot]) -> Session {
    let best = binds.iter().map(|bind| rank(bind)).max();
    let bound_at = binds.iter().map(|bind| bind.since).max();
    Session {
        operator_id: id.to_owned(),
        operator_name: name.unwrap_or_else(|| id.to_owned()),
        state: STATES[best.unwrap_or_default()],
        bind_mode: mode(binds),
        last_bound_at: bound_at.filter(|at| *at > 0).and_then(moment::show),
        reconnect_attempts: binds
            .iter()
            .map(|bind| bind.reconnect_attempts)
            .max()
            .unwrap_or_default(),
    }
}

/// The index of its state in [`STATES`].
fn rank(bind: &BindSnapshot) -> usize {
    match bind.state() {
        BindState::Bound => 3,
        BindState::Connecting | BindState::Binding => 2,
        BindState::Waiting | BindState::Paused | BindState::Closed => 1,
        BindState::Unspecified | BindState::Standby => 0,
    }
}

/// A pair does what a transceiver does.
fn mode(binds: &[&BindSnapshot]) -> &'static str {
    let has = |kind: &str| binds.iter().any(|bind| bind.bind_type == kind);
    match (has("transmitter"), has("receiver")) {
        (true, false) => "TRANSMITTER",
        (false, true) => "RECEIVER",
        _ => "TRANSCEIVER",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bind(state: BindState, kind: &str) -> BindSnapshot {
        BindSnapshot {
            state: state.into(),
            bind_type: kind.to_owned(),
            ..BindSnapshot::default()
        }
    }

    #[test]
    fn the_best_bind_speaks_for_all() {
        let (bound, waiting) = (
            BindSnapshot {
                since: 1_776_506_400_000,
                ..bind(BindState::Bound, "transceiver")
            },
            BindSnapshot {
                reconnect_attempts: 3,
                ..bind(BindState::Waiting, "transceiver")
            },
        );
        let told = session("up", Some("Roshan".to_owned()), &[&waiting, &bound]);
        let json = serde_json::to_value(&told).unwrap_or_default();
        assert_eq!(
            json,
            serde_json::json!({
                "operatorId": "up", "operatorName": "Roshan", "state": "BOUND",
                "bindMode": "TRANSCEIVER", "lastBoundAt": "2026-04-18T10:00:00.000Z",
                "reconnectAttempts": 3,
            })
        );
        assert_eq!(session("up", None, &[&waiting]).state, "UNBOUND");
        let none = session("up", None, &[]);
        assert_eq!((none.state, none.last_bound_at), ("DISCONNECTED", None));
    }

    #[test]
    fn a_pair_is_a_transceiver() {
        let (sends, receives) = (
            bind(BindState::Bound, "transmitter"),
            bind(BindState::Bound, "receiver"),
        );
        assert_eq!(mode(&[&sends, &receives]), "TRANSCEIVER");
        assert_eq!(mode(&[&sends]), "TRANSMITTER");
        assert_eq!(mode(&[&receives]), "RECEIVER");
    }
}
