//! MAP for short messages: what a service centre says to HLRs, MSCs and SGSNs, and what these say to it. Pure:
//! unitdata of SCCP and instants in, unitdata and events out.
//!
//! Called by the interface to a GSM network, by the simulated network, and by `smsc decode`. Nothing in here reads a
//! clock or opens a socket. 3GPP TS 29.002 has the operations and their dialogues, TS 23.040 what they are for.
//!
//! ```text
//!  service centre                       HLR            MSC or SGSN
//!        │ sendRoutingInfoForSM  45       │                 │
//!        │ ─────────────────────────────► │                 │
//!        │ ◄── IMSI, number of the node ─ │                 │
//!        │ mt-ForwardSM 44, forwardSM 46  │                 │
//!        │ ───────────────────────────────┼───────────────► │   next message of the run: the same dialogue
//!        │ ◄──────────────────────────────┼──────────────── │
//!        │ reportSM-DeliveryStatus 47     │                 │   when it is absent or has no memory
//!        │ ─────────────────────────────► │                 │
//!        │ ◄──── alertServiceCentre 64 ── │                 │   it is there again
//!        │ ◄──────────────────────────────┼─── mo-ForwardSM │   from a handset
//! ```
//!
//! | file | idea |
//! |---|---|
//! | [`operation`] | the operations, their codes and names |
//! | [`parameter`] | what all readers and writers of parameters share: addresses, faults |
//! | [`routing`] | sendRoutingInfoForSM |
//! | [`forward`] | mt-ForwardSM, mo-ForwardSM and forwardSM |
//! | [`delivery_status`] | reportSM-DeliveryStatus, alertServiceCentre, informServiceCentre |
//! | [`user_error`] | the errors of all of them |
//! | [`context`] | application contexts, their versions, and which one a peer understands |
//! | [`session`] | messages to handsets and from them, as the interface sees them |
//! | [`correlation`] | what others get in place of the IMSI of our own subscribers: home routing |
//!
//! Invariants: unknown elements and extensions are passed over, wherever they stand; what a writer writes, the reader
//! reads as the same; no input makes anything grow without a bound, or panics.

pub mod context;
pub mod correlation;
pub mod delivery_status;
pub mod forward;
pub mod operation;
pub mod parameter;
pub mod routing;
pub mod session;
pub mod user_error;

pub use context::MapVersion;
pub use correlation::{CorrelationWish, MtCorrelation, MtCorrelations};
pub use delivery_status::{
    AlertServiceCentreArg, InformServiceCentreArg, MessageWaitingStatus, ReportDeliveryStatusArg,
    ReportDeliveryStatusResult, SmDeliveryOutcome,
};
pub use forward::{ForwardSmArg, ForwardSmResult, SmRpDa, SmRpOa};
pub use operation::MapOperationCode;
pub use parameter::{MalformedMap, UnwritableMap};
pub use routing::{RoutingInfoArg, RoutingInfoResult, ServingAddress, ServingNode};
pub use session::{
    ForeignForward, HomeSubscribers, MapEvent, MapSession, MapSessionConfig, MtForward, MtOutcome,
    RoutingQuestion,
};
pub use user_error::MapUserError;

// The one for the tests of all crates.
#[cfg(test)]
#[path = "../../sms/src/hex.rs"]
mod hex;
