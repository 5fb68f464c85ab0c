//! What a table of dialogues tells its user, and how the user ends a dialogue early. Q.771 §3.1

use bytes::Bytes;
use smsc_sigtran::SccpAddress;

use crate::component::Component;
use crate::context::ApplicationContext;
use crate::dialogues::DialogueId;
use crate::message::PAbortCause;

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TcapEvent {
    /// A peer begins a dialogue: TC-BEGIN. Answer by `proceed`, `end` or `abort`.
    Begun {
        id: DialogueId,
        /// `None` without a dialogue portion: version 1.
        context: Option<ApplicationContext>,
        /// Whom the peer wrote to: what answers come from.
        called: SccpAddress,
        /// The peer.
        calling: SccpAddress,
        components: Vec<Component>,
    },
    /// The peer goes on: TC-CONTINUE.
    Proceeded {
        id: DialogueId,
        components: Vec<Component>,
        /// The context by which the peer accepted ours: in its first answer only, and only if it has a dialogue
        /// portion.
        accepted: Option<ApplicationContext>,
    },
    /// The peer ended the dialogue: TC-END.
    Ended {
        id: DialogueId,
        components: Vec<Component>,
        /// As in [`TcapEvent::Proceeded`].
        accepted: Option<ApplicationContext>,
    },
    /// The dialogue was aborted: TC-U-ABORT, TC-P-ABORT.
    Aborted { id: DialogueId, why: TcapAbort },
    /// SCCP could not bring our message to the peer, and the dialogue is over.
    Returned {
        id: DialogueId,
        /// Q.713 §3.12
        cause: u8,
    },
    /// No answer to an invoke in time: TC-L-CANCEL. The dialogue is open still; an answer that comes now is
    /// rejected.
    TimedOut { id: DialogueId, invoke: i8 },
    /// Nothing moved in the dialogue for too long, and it is over.
    IdleEnded { id: DialogueId },
}

/// Why a dialogue was aborted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TcapAbort {
    /// By a provider, that of the peer or ours.
    Provider(PAbortCause),
    /// By the peer's user.
    User {
        /// What it added, as EXTERNALs one behind the other: a MAP-UserAbortInfo, or a map-refuse. Empty for
        /// none.
        information: Bytes,
    },
    /// The peer does not speak this context.
    ContextNotSupported {
        /// One that it would, if it said so.
        alternative: Option<ApplicationContext>,
    },
    /// The peer's user refused the dialogue for another reason.
    DialogueRefused {
        /// As in [`TcapAbort::User`].
        information: Bytes,
    },
}

/// How to abort a dialogue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AbortCause {
    /// By the user.
    User,
    /// In place of the first answer: the context is not supported; perhaps this one is. Anywhere else as
    /// [`AbortCause::User`].
    ContextNotSupported {
        alternative: Option<ApplicationContext>,
    },
    /// In place of the first answer: for another reason. Anywhere else as [`AbortCause::User`].
    Refused,
    /// By the provider. For those who play a peer that knows no dialogue portion: it aborts by
    /// [`PAbortCause::IncorrectTransactionPortion`].
    Provider(PAbortCause),
}
