//! Why a connection ends, as its program and the metrics are told.

use crate::actors::context::NodeContext;
use crate::pb::local::{FromSmsc, Goodbye, Reason, from_smsc};
use crate::telemetry::metrics::ReasonLabel;

/// How a connection ends.
pub(super) enum Parting {
    /// The program has closed its side.
    Silent,
    /// The SMSC says why: the number of the request that is the reason, or 0.
    Said {
        number: u64,
        reason: Reason,
        detail: String,
    },
}

// === impl Parting ===

impl Parting {
    pub(super) fn new(reason: Reason, detail: impl Into<String>) -> Self {
        Self::of(0, reason, detail)
    }

    pub(super) fn of(number: u64, reason: Reason, detail: impl Into<String>) -> Self {
        Self::Said {
            number,
            reason,
            detail: detail.into(),
        }
    }

    /// Counts it among those that the SMSC has ended.
    pub(super) fn count(&self, node: &NodeContext) {
        if let Self::Said { reason, .. } = self {
            let label = ReasonLabel {
                reason: word(*reason),
            };
            let ended = &node.metrics.local_connections_ended;
            ended.get_or_create(&label).inc();
        }
    }

    /// What is written; `None` if there is nobody to tell.
    pub(super) fn frame(&self) -> Option<FromSmsc> {
        let Self::Said {
            number,
            reason,
            detail,
        } = self
        else {
            return None;
        };
        let goodbye = Goodbye {
            reason: (*reason).into(),
            detail: detail.clone(),
        };
        Some(FromSmsc::new(*number, from_smsc::What::Goodbye(goodbye)))
    }
}

/// A reason as metrics have it.
pub(super) fn word(reason: Reason) -> &'static str {
    match reason {
        Reason::Unspecified => "unspecified",
        Reason::Version => "version",
        Reason::TooLarge => "too_large",
        Reason::Malformed => "malformed",
        Reason::Unsupported => "unsupported",
        Reason::UnknownUser => "unknown_user",
        Reason::NoAccount => "no_account",
        Reason::Connections => "connections",
        Reason::Idle => "idle",
        Reason::Stopping => "stopping",
        Reason::BadValue => "bad_value",
        Reason::NotFound => "not_found",
        Reason::Conflict => "conflict",
        Reason::Unavailable => "unavailable",
        Reason::KeyReused => "key_reused",
        Reason::InProgress => "in_progress",
        Reason::Role => "role",
        Reason::Refused => "refused",
    }
}
