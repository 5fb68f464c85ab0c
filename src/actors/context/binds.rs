//! The binds of this process, inbound and outbound, as everyone finds them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use actix::Recipient;
use tokio::time::Instant;

use crate::actors::context::addresses::post_to;
use crate::actors::context::ports::Published;
use crate::actors::runtime::locks::lock;
use crate::actors::runtime::supervise::Health;
use crate::pb;
use crate::pb::bind_command::Verb;

/// Connections to a GSM network that failed in a row, after which another node of those that share its name should try.
pub const CUT_OFF: u32 = 3;

/// All binds, inbound and outbound.
#[derive(Default)]
pub struct BindBoard {
    binds: Mutex<HashMap<u64, Arc<BindPort>>>,
    next: AtomicU64,
}

/// A bind as the admin API sees it.
pub struct BindPort {
    pub session: u64,
    /// Interned name of the account or operator, 0 before the bind.
    pub owner: AtomicU32,
    /// Number of the outbound slot; `u32::MAX` for an inbound bind.
    pub slot: AtomicU32,
    pub snapshot: Published<pb::BindSnapshot>,
    pub commands: Mutex<Option<Recipient<pb::BindCommand>>>,
    /// Where alert_notifications for its account go, if it is a receiver.
    pub alerts: Mutex<Option<Recipient<pb::ForwardAlert>>>,
    /// Where answers to its receipts go.
    pub replies: Mutex<Option<Recipient<pb::ReceiptReply>>>,
    /// Suspended by an administrator's command, until resumed by one.
    pub suspended: AtomicBool,
    /// Ends a reconnect pause, so that a command is handled at once.
    pub health: Option<Arc<Health>>,
    made: Instant,
    /// When the peer last sent something, in nanoseconds since `made`: a response may come within a
    /// millisecond of its request.
    heard: AtomicU64,
}

// === impl BindBoard ===

impl BindBoard {
    /// A number for a new session, unique while the process runs.
    pub fn next_session(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub fn add(&self, port: Arc<BindPort>) {
        lock(&self.binds).insert(port.session, port);
    }

    pub fn remove(&self, session: u64) {
        lock(&self.binds).remove(&session);
    }

    pub fn contains(&self, session: u64) -> bool {
        lock(&self.binds).contains_key(&session)
    }

    /// All binds, oldest session first.
    pub fn all(&self) -> Vec<Arc<BindPort>> {
        let mut all: Vec<_> = lock(&self.binds).values().cloned().collect();
        all.sort_by_key(|port| port.session);
        all
    }

    /// The binds of one account, operator or GSM network, oldest session first.
    pub fn of_owner(&self, owner: u32) -> Vec<Arc<BindPort>> {
        let mut own: Vec<_> = lock(&self.binds)
            .values()
            .filter(|port| port.owner.load(Ordering::Relaxed) == owner)
            .cloned()
            .collect();
        own.sort_by_key(|port| port.session);
        own
    }

    /// Sends answers to the session that brought the receipts; if it is gone, the operator repeats
    /// them.
    pub fn reply(&self, session: u64, reply: pb::ReceiptReply) {
        let recipient = lock(&self.binds)
            .get(&session)
            .and_then(|port| lock(&port.replies).clone());
        if let Some(recipient) = recipient {
            post_to(&recipient, reply);
        }
    }

    /// A session is no longer a bind of its owner.
    pub fn unclaim(&self, session: u64) {
        if let Some(port) = lock(&self.binds).get(&session) {
            port.owner.store(0, Ordering::Relaxed);
        }
    }

    /// Makes a session a bind of `owner`, unless that already has `most` binds.
    pub fn claim(&self, session: u64, owner: u32, most: usize) -> bool {
        let binds = lock(&self.binds);
        let bound = binds
            .values()
            .filter(|port| port.owner.load(Ordering::Relaxed) == owner)
            .count();
        match binds.get(&session) {
            Some(port) if bound < most => {
                port.owner.store(owner, Ordering::Relaxed);
                true
            }
            _ => false,
        }
    }
}

// === impl BindPort ===

impl BindPort {
    pub fn new(session: u64, health: Option<Arc<Health>>) -> Arc<Self> {
        Arc::new(Self {
            session,
            owner: AtomicU32::new(0),
            slot: AtomicU32::new(u32::MAX),
            snapshot: Published::default(),
            commands: Mutex::default(),
            alerts: Mutex::default(),
            replies: Mutex::default(),
            suspended: AtomicBool::new(false),
            health,
            made: Instant::now(),
            heard: AtomicU64::new(0),
        })
    }

    /// The peer has sent something.
    pub fn hear(&self, now: Instant) {
        let since = now.saturating_duration_since(self.made).as_nanos() as u64;
        self.heard.store(since, Ordering::Relaxed);
    }

    /// When the peer last sent something.
    pub fn heard_at(&self) -> Instant {
        self.made + Duration::from_nanos(self.heard.load(Ordering::Relaxed))
    }

    pub fn listen(&self, recipient: Recipient<pb::BindCommand>) {
        *lock(&self.commands) = Some(recipient);
    }

    /// Gives a command to the bind and ends its pause; false if it takes no commands.
    pub fn command(&self, command: pb::BindCommand) -> bool {
        let Some(recipient) = lock(&self.commands).clone() else {
            return false;
        };
        match command.verb() {
            Verb::Suspend => self.suspended.store(true, Ordering::Relaxed),
            Verb::Resume => self.suspended.store(false, Ordering::Relaxed),
            _ => {}
        }
        let sleeps = matches!(
            self.snapshot.get().state(),
            pb::BindState::Waiting | pb::BindState::Paused | pb::BindState::Standby
        );
        // A sleeping bind reads its mailbox only after the next bind; waking it has the same effect now. One
        // that was suspended a moment ago may be about to sleep.
        if sleeps || command.verb() == Verb::Resume {
            self.wake();
        }
        sleeps || recipient.try_send(command).is_ok()
    }

    pub fn is_bound(&self) -> bool {
        self.snapshot.get().state() == pb::BindState::Bound
    }

    /// Ends a pause; the bind checks again whether and how it is configured.
    pub fn wake(&self) {
        if let Some(health) = &self.health {
            health.wake();
        }
    }
}
