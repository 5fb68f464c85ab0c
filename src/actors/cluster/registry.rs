//! Publishes this node's binds in Redis, for people and programs that look there.
//!
//! A task, started only when Redis is configured. Everything is written again every [`EVERY`] and expires in
//! Redis after a minute; changes are written within a second. When Redis is down, nothing is retried
//! until it is back, and then everything is written; so it is when the task begins again after a panic.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::actors::context::NodeContext;
use crate::actors::context::managed::is_outbound;
use crate::pb::{BindSnapshot, BindState};
use crate::store::redis::{OperatorBinds, Redis, SessionEntry};

/// A third of the lifetime of an entry in Redis.
const EVERY: Duration = Duration::from_secs(20);
const LOOK: Duration = Duration::from_secs(1);

/// What Redis has.
#[derive(Default)]
struct RegisteredBinds {
    sessions: HashSet<u64>,
    /// Operators' bind counts.
    health: BTreeMap<String, u32>,
    /// When everything was last written; `None` if Redis may have lost it.
    written: Option<Instant>,
}

/// What to write, and what Redis has afterwards.
struct Update {
    sessions: Vec<SessionEntry>,
    ended: Vec<u64>,
    health: Vec<OperatorBinds>,
    all_sessions: HashSet<u64>,
    all_health: BTreeMap<String, u32>,
    whole: bool,
}

/// Writes what has changed once a second, without an end.
pub async fn register_binds(node: &NodeContext, redis: &Redis) {
    let mut registered = RegisteredBinds::default();
    loop {
        tokio::time::sleep(LOOK).await;
        if redis.is_up() {
            registered.look(node, redis).await;
        }
    }
}

// === impl RegisteredBinds ===

impl RegisteredBinds {
    async fn look(&mut self, node: &NodeContext, redis: &Redis) {
        let binds = node.binds.all();
        let snapshots: Vec<Arc<BindSnapshot>> =
            binds.iter().map(|port| port.snapshot.get()).collect();
        let plan = node.full_plan();
        let operators = plan.operators().map(|operator| operator.config.id.clone());
        let Some(update) = self.update(&snapshots, operators) else {
            return;
        };
        let (number, asked) = (u32::from(node.config().node), Instant::now());
        let written = redis
            .register(number, &update.sessions, &update.ended, &update.health)
            .await;
        match written {
            Ok(()) => {
                self.sessions = update.all_sessions;
                self.health = update.all_health;
                if update.whole {
                    self.written = Some(asked);
                }
            }
            // The client has logged it.
            Err(_) => self.written = None,
        }
    }

    /// The differences from what Redis has, or everything when that is due. `None`: nothing to write.
    fn update(
        &self,
        binds: &[Arc<BindSnapshot>],
        operators: impl Iterator<Item = String>,
    ) -> Option<Update> {
        let bound = |bind: &&Arc<BindSnapshot>| bind.state() == BindState::Bound;
        let all_sessions: HashSet<u64> = binds
            .iter()
            .filter(bound)
            .map(|bind| bind.session)
            .collect();
        let mut all_health: BTreeMap<String, u32> = operators.map(|id| (id, 0)).collect();
        for bind in binds.iter().filter(bound) {
            if let Some(count) = all_health.get_mut(&bind.name).filter(|_| is_outbound(bind)) {
                *count += 1;
            }
        }
        let whole = self
            .written
            .is_none_or(|written| written.elapsed() >= EVERY);
        let sessions = binds
            .iter()
            .filter(bound)
            .filter(|bind| whole || !self.sessions.contains(&bind.session))
            .map(|bind| entry(bind))
            .collect::<Vec<_>>();
        let ended: Vec<u64> = self.sessions.difference(&all_sessions).copied().collect();
        let health = all_health
            .iter()
            .filter(|(id, binds)| whole || self.health.get(*id) != Some(binds))
            .map(|(operator, binds)| OperatorBinds {
                operator: operator.clone(),
                binds: *binds,
            })
            .collect::<Vec<_>>();
        let changed = !(sessions.is_empty() && ended.is_empty() && health.is_empty());
        changed.then_some(Update {
            sessions,
            ended,
            health,
            all_sessions,
            all_health,
            whole,
        })
    }
}

fn entry(bind: &BindSnapshot) -> SessionEntry {
    SessionEntry {
        session: bind.session,
        name: bind.name.clone(),
        direction: bind.direction().word(),
        bind_type: bind.bind_type.clone(),
        peer: bind.peer.clone(),
        since: bind.since,
    }
}
