//! What accepting messages needs: the node's context, and the state of other rooms.
//!
//! Built once by `app`; all Ingest actors share it, and Admin replays failed messages through it.

use std::sync::{Arc, Mutex};

use super::refusals::Refusals;
use crate::actors::billing::balance::NodePurses;
use crate::actors::context::NodeContext;
use crate::actors::ingress::duplicates::Duplicates;
use crate::actors::routing::policy::PolicyState;
use crate::actors::routing::resolver::{Imsis, Networks};
use crate::domain::circle::Circles;

/// What accepting messages needs.
pub struct Intake {
    pub node: Arc<NodeContext>,
    /// Limits between addresses, and opt-out lists.
    pub policy: Arc<PolicyState>,
    /// The networks of numbers that this node knows.
    pub networks: Arc<Networks>,
    /// The IMSIs of numbers that this node knows.
    pub imsis: Arc<Imsis>,
    /// The balances of accounts.
    pub balance: Arc<NodePurses>,
    /// Recent submissions of accounts with `duplicate_window`.
    pub duplicates: Arc<Duplicates>,
    /// Recent messages of operators that were sent on to others.
    pub(super) circles: Mutex<Circles>,
    /// What is logged about messages that the store did not take.
    pub(super) refusals: Arc<Refusals>,
}

// === impl Intake ===

impl Intake {
    /// An intake that remembers no message yet.
    pub fn new(
        node: Arc<NodeContext>,
        policy: Arc<PolicyState>,
        networks: Arc<Networks>,
        balance: Arc<NodePurses>,
    ) -> Self {
        Self {
            node,
            policy,
            networks,
            imsis: Arc::default(),
            balance,
            duplicates: Arc::default(),
            circles: Mutex::default(),
            refusals: Arc::default(),
        }
    }
}
