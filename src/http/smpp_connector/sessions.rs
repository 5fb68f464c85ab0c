//! The session with each operator as smpp-connector tells it: `GET /sessions`, and what `/ready` and `/metrics` need.
//!
//! That service has one session for each operator, or a pair where the operator knows no transceiver; here an operator may
//! have several binds, of which the one that is furthest speaks for all of its kind.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::actors::context::NodeContext;
use crate::actors::context::managed::is_outbound;
use crate::domain::moment;
use crate::pb::{BindSnapshot, BindState};

/// States of a session, from none to the best.
pub const STATES: [&str; 4] = ["DISCONNECTED", "UNBOUND", "CONNECTING", "BOUND"];

/// The kind of a bind, as that service calls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum ConnectorBindMode {
    Transceiver,
    Transmitter,
    Receiver,
}

/// The session with one operator, or one of a pair.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Session {
    pub operator_id: String,
    pub operator_name: String,
    pub state: &'static str,
    pub bind_mode: ConnectorBindMode,
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
        .flat_map(|operator| {
            let own = binds.iter().filter(|bind| bind.name == operator.config.id);
            let name = node.managed.of(operator.id).and_then(|terms| terms.name);
            sessions_of(&operator.config.id, name.as_deref(), own)
        })
        .collect();
    // Those of a pair stay in their order.
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

/// The session with an operator; of a pair first the one that sends.
fn sessions_of<'b>(
    id: &str,
    name: Option<&str>,
    binds: impl Iterator<Item = &'b BindSnapshot>,
) -> Vec<Session> {
    let mut by_mode: BTreeMap<ConnectorBindMode, Vec<&BindSnapshot>> = BTreeMap::new();
    for bind in binds {
        by_mode.entry(mode(bind)).or_default().push(bind);
    }
    if by_mode.is_empty() {
        by_mode.insert(ConnectorBindMode::Transceiver, Vec::new());
    }
    let told = by_mode
        .into_iter()
        .map(|(mode, binds)| session(id, name, mode, &binds));
    told.collect()
}

fn session(
    id: &str,
    name: Option<&str>,
    mode: ConnectorBindMode,
    binds: &[&BindSnapshot],
) -> Session {
    let best = binds.iter().map(|bind| rank(bind)).max();
    let bound_at = binds.iter().map(|bind| bind.since).max();
    Session {
        operator_id: id.to_owned(),
        operator_name: name.unwrap_or(id).to_owned(),
        state: STATES[best.unwrap_or_default()],
        bind_mode: mode,
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

fn mode(bind: &BindSnapshot) -> ConnectorBindMode {
    match bind.bind_type.as_str() {
        "transmitter" => ConnectorBindMode::Transmitter,
        "receiver" => ConnectorBindMode::Receiver,
        _ => ConnectorBindMode::Transceiver,
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
        let told = sessions_of("up", Some("Roshan"), [&waiting, &bound].into_iter());
        let json = serde_json::to_value(&told).unwrap_or_default();
        assert_eq!(
            json,
            serde_json::json!([{
                "operatorId": "up", "operatorName": "Roshan", "state": "BOUND",
                "bindMode": "TRANSCEIVER", "lastBoundAt": "2026-04-18T10:00:00.000Z",
                "reconnectAttempts": 3,
            }])
        );
        let one =
            |binds: &[&BindSnapshot]| sessions_of("up", None, binds.iter().copied()).remove(0);
        assert_eq!(one(&[&waiting]).state, "UNBOUND");
        let none = one(&[]);
        assert_eq!((none.state, none.last_bound_at), ("DISCONNECTED", None));
    }

    #[test]
    fn a_pair_is_two_sessions() {
        let (sends, receives) = (
            bind(BindState::Bound, "transmitter"),
            bind(BindState::Waiting, "receiver"),
        );
        let told = |binds: &[&BindSnapshot]| {
            let all = sessions_of("up", None, binds.iter().copied());
            let brief = all.into_iter().map(|one| (one.bind_mode, one.state));
            brief.collect::<Vec<_>>()
        };
        let (sending, receiving) = (
            (ConnectorBindMode::Transmitter, "BOUND"),
            (ConnectorBindMode::Receiver, "UNBOUND"),
        );
        assert_eq!(told(&[&receives, &sends]), [sending, receiving]);
        assert_eq!(told(&[&sends]), [sending]);
        assert_eq!(told(&[&receives]), [receiving]);
    }
}
