//! The role of a program, and what it has under way: questions of ours, and requests of its own.
//!
//! Held by its connection. Whoever waits for an answer sees when the program is gone: the sender of the answer is dropped.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};

use crate::actors::context::NodeContext;
use crate::actors::context::handlers::{Handler, IMSI};
use crate::config::ImsiSource;
use crate::domain::queue_name::QueueName;
use crate::pb::local::{ToSmsc, to_smsc};

/// The role of a program, and what it has under way.
#[derive(Default)]
pub(super) struct HandlerSide {
    /// The key of `local.roles`.
    key: String,
    pub(super) role: String,
    /// While its service is up.
    pub(super) handler: Option<Arc<Handler>>,
    /// The number of our last request.
    pub(super) last: u64,
    pub(super) asked: HashMap<u64, Asked>,
    /// Of the session that has it, or of a network's connection.
    pub(super) link: Option<HandlerLink>,
    pub(super) links: u64,
    /// Requests of the program that wait for an answer of the other end.
    pub(super) brought: HashSet<u64>,
}

/// Who waits for the answer of the program.
pub(super) enum Asked {
    Question(oneshot::Sender<Result<String, String>>),
    /// The session, which has this number for it.
    OfSession(u64),
}

/// The way to whoever has the program.
pub(super) struct HandlerLink {
    pub(super) number: u64,
    pub(super) said: mpsc::Sender<ToSmsc>,
}

// === impl HandlerSide ===

impl HandlerSide {
    pub(super) fn new(key: String, role: String) -> Self {
        Self {
            key,
            role,
            ..Self::default()
        }
    }

    /// Why it may not have its role, as things are now; `None` if it may.
    pub(super) fn objection(&self, node: &NodeContext) -> Option<String> {
        let config = node.config();
        let role = &self.role;
        if !config.local.may_have(&self.key, role) {
            return Some(format!(
                "user {} may not have the role {role:?}; write it into local.roles",
                self.key
            ));
        }
        let (mut operators, mut networks) = (config.operator.iter(), config.gsm.iter());
        let is_wanted = match QueueName::parse(role) {
            QueueName::Operator(id) => operators.any(|one| one.id == id && one.is_local()),
            QueueName::Gsm(name) => networks.any(|one| one.name == name && one.is_local()),
            _ => role == IMSI && config.imsi.ask.contains(&ImsiSource::Local),
        };
        let cure = if role == IMSI {
            "write \"local\" into imsi.ask"
        } else {
            "give it address = \"local\""
        };
        (!is_wanted).then(|| format!("nobody asks a program for {role:?}; {cure}"))
    }

    /// Whether a program of its role may bring that.
    pub(super) fn may_bring(&self, what: &to_smsc::What) -> bool {
        let role = QueueName::parse(&self.role);
        match what {
            to_smsc::What::Report(_) | to_smsc::What::FromPeer(_) => role.operator().is_some(),
            to_smsc::What::FromHandset(_) | to_smsc::What::Ready(_) => role.is_handsets(),
            _ => false,
        }
    }

    /// Whether a session has it: on the way out, that is finished first.
    pub(super) fn has_session(&self) -> bool {
        self.link.is_some()
    }

    /// Whether this link is the one that it has.
    pub(super) fn is_linked(&self, number: u64) -> bool {
        self.link.as_ref().is_some_and(|link| link.number == number)
    }

    /// Tells whoever has it what the program says; false if nobody has.
    pub(super) fn tell(&self, number: u64, what: to_smsc::What) -> bool {
        let said = ToSmsc::new(number, what);
        (self.link.as_ref()).is_some_and(|link| link.said.try_send(said).is_ok())
    }

    /// Forgets questions that nobody waits for any more.
    pub(super) fn look(&mut self) {
        self.asked.retain(|_, asked| match asked {
            Asked::Question(asker) => !asker.is_closed(),
            Asked::OfSession(_) => true,
        });
    }

    /// The program is gone, or its service: whoever waits for an answer sees that. Gives the requests of the program that
    /// are not answered yet.
    pub(super) fn leave(&mut self, node: &NodeContext) -> Vec<u64> {
        if let Some(handler) = self.handler.take() {
            node.handlers.left(handler.session);
            tracing::info!(role = %self.role, peer = %handler.peer, "the service of a program is gone");
        }
        self.asked.clear();
        self.link = None;
        self.brought.drain().collect()
    }
}
