//! What the acceptance of messages uses of a node: its context, and what other rooms keep for it.
//!
//! Built once by `app`; every Ingest has the same one, and Admin sends failed messages again through it.

use std::sync::{Arc, Mutex};

use crate::actors::billing::balance::Balance;
use crate::actors::context::NodeContext;
use crate::actors::ingress::duplicates::Duplicates;
use crate::actors::routing::policy::PolicyState;
use crate::actors::routing::resolver::Networks;
use crate::domain::circle::Circles;

/// What messages are accepted with.
pub struct Intake {
    pub node: Arc<NodeContext>,
    /// Limits between addresses, and who wants no messages.
    pub policy: Arc<PolicyState>,
    /// What this node knows of numbers' networks.
    pub networks: Arc<Networks>,
    /// What accounts may spend.
    pub balance: Arc<Balance>,
    /// What was submitted lately by accounts with `duplicate_window`.
    pub duplicates: Arc<Duplicates>,
    /// What operators brought lately that went on to others.
    pub(super) circles: Mutex<Circles>,
}

// === impl Intake ===

impl Intake {
    /// One that remembers no message yet.
    pub fn new(
        node: Arc<NodeContext>,
        policy: Arc<PolicyState>,
        networks: Arc<Networks>,
        balance: Arc<Balance>,
    ) -> Self {
        Self {
            node,
            policy,
            networks,
            balance,
            duplicates: Arc::default(),
            circles: Mutex::default(),
        }
    }
}
