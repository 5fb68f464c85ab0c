//! A message to a handset on its way, and what waits for its answer.

use std::sync::Arc;

use bytes::Bytes;
use tokio::time::Instant;

use crate::actors::session::bound::InFlight;
use crate::clock;
use crate::map::session::MoInvoke;
use crate::pb::delivery::What;

/// A message to a handset, as TPDUs once it is its turn.
#[derive(Default)]
pub(super) struct Work {
    pub(super) context: InFlight,
    /// By what the core addresses it.
    pub(super) subscriber: String,
    pub(super) tpdus: Vec<Bytes>,
    /// How many of them the handset has.
    pub(super) arrived: usize,
    /// Unix seconds after which it is no longer sent.
    pub(super) expires: u32,
    /// Set of a status report of another service centre (`relay`).
    pub(super) relayed: Option<RelayedReport>,
}

/// A status report of another service centre: what its answer needs, and the place that it takes.
pub(super) struct RelayedReport {
    pub(super) invoke: MoInvoke,
    pub(super) _place: Arc<()>,
}

/// An MT-forwardSM that waits for its answer.
#[derive(Debug)]
pub(super) struct Sending {
    pub(super) work: Work,
    pub(super) since: Instant,
}

// === impl Work ===

impl Work {
    /// The answer to an enquiry (`enquiry`), or a report that is relayed (`relay`): no queue has granted it, and none hears of it.
    pub(super) fn unqueued(
        subscriber: String,
        tpdu: Bytes,
        expires: u32,
        relayed: Option<RelayedReport>,
    ) -> Self {
        let context = InFlight {
            what: What::Receipt,
            since: clock::now_ms(),
            ..InFlight::default()
        };
        Self {
            context,
            subscriber,
            tpdus: vec![tpdu],
            expires,
            relayed,
            ..Self::default()
        }
    }

    /// See [`Self::unqueued`].
    pub(super) fn is_unqueued(&self) -> bool {
        self.context.message.is_none()
    }

    /// Whether it is tried although the network may know that the subscriber is away: a first attempt is not, unless its
    /// sender wants it so, and one that was due again is, for nobody may say that the subscriber is back.
    pub(super) fn is_urgent(&self) -> bool {
        let message = self.context.message.as_ref();
        self.context.attempt > 1 || message.is_some_and(|message| message.priority > 0)
    }
}

impl std::fmt::Debug for Work {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Neither text nor numbers.
        f.debug_struct("Work")
            .field("id", &self.context.id)
            .finish()
    }
}
