//! TCAP, by which nodes of a signalling network ask one another for operations: messages, the dialogues that they
//! belong to, and their components. Pure: octets and instants in, octets and events out.
//!
//! Called by what speaks MAP, as SMSC and as the simulated HLR and MSC of tests. Nothing in here reads a clock
//! or opens a socket. ITU-T Q.771 to Q.774 (1997), as 3GPP TS 29.002 uses it: structured dialogues, local
//! operation codes, no linked operations.
//!
//! ```text
//! ┌─────────────────────────────────────────────────────────────────────────────────────┐
//! │ 62 Begin  65 Continue  64 End  67 Abort                                             │
//! │ ┌───────────────┐ ┌────────────────────┐ ┌──────────────────────┐ ┌───────────────┐ │
//! │ │ 48 ours       │ │ 49 the peer's      │ │ 6B dialogue portion  │ │ 6C components │ │
//! │ │ 1 to 4 octets │ │ not in a Begin     │ │ AARQ, AARE, ABRT     │ │ A1 invoke …   │ │
//! │ └───────────────┘ └────────────────────┘ └──────────────────────┘ └───────────────┘ │
//! └─────────────────────────────────────────────────────────────────────────────────────┘
//! ```
//!
//! | file | idea |
//! |---|---|
//! | [`ber`] | elements of X.690 |
//! | [`component`] | invokes, results, errors and rejects |
//! | [`context`] | application contexts |
//! | [`dialogue_pdu`] | the dialogue portion |
//! | [`message`] | messages and their transaction ids |
//! | [`event`] | what the user of a dialogue is told |
//! | [`dialogues`] | the table of dialogues, with their timers and bounds |
//!
//! Invariants: what a writer writes, the reader reads as the same; nothing is read past the length that
//! contains it; a message is taken as a whole, and what cannot be read in it is told to its sender as Q.774
//! says.

pub mod ber;
pub mod component;
pub mod context;
pub mod dialogue_pdu;
pub mod dialogues;
pub mod event;
pub mod message;

pub use component::{Component, ComponentKind, Invoke, RejectProblem};
pub use context::{ApplicationContext, ContextName};
pub use dialogue_pdu::{AssociateOutcome, DialoguePdu};
pub use dialogues::{
    DialogueId, DialogueNotOpen, TcapConfig, TcapCounts, TcapDialogues, TooManyDialogues,
    begin_octets,
};
pub use event::{AbortCause, TcapAbort, TcapEvent};
pub use message::{AbortReason, PAbortCause, TcapMessage, TransactionId};

// The same for the tests of both crates.
#[cfg(test)]
#[path = "../../sms/src/hex.rs"]
mod hex;
