//! Results over MAP: user errors of HLRs and MSCs, what SCCP returns, how a dialogue of TCAP ends without an answer; and
//! back, the MAP error that a handset's MSC gets for an RP-cause.
//!
//! Called by the session of MAP (`smsc-map`), which finds the number, and through [`super`], which knows what each one
//! means. The classes are those of table 1 in 3GPP TS 23.040 §3.3: temporary where it says T.
//!
//! | numbers | what the last octet is |
//! |---|---|
//! | `0x0004_00xx` | the code of a user error, 3GPP TS 29.002 §17.6.6 |
//! | `0x0005_00xx` | the diagnostic of absentSubscriberSM, TS 23.040 §3.3.2 |
//! | `0x0006_00xx` | the cause of sm-DeliveryFailure, TS 29.002 §17.6.6 |
//! | `0x0007_00xx` | the return cause of SCCP, ITU-T Q.713 §3.12 |
//! | `0x0008_00xx` | the P-Abort cause of TCAP, ITU-T Q.773 §4.2.1 |
//! | `0x0009_00xx` | what this SMSC says about a dialogue |

use super::BreakerVerdict;

pub(super) const USER: u32 = 0x0004_0000;
pub(super) const ABSENT: u32 = 0x0005_0000;
pub(super) const FAILURE: u32 = 0x0006_0000;
pub(super) const SCCP: u32 = 0x0007_0000;
pub(super) const TCAP: u32 = 0x0008_0000;
pub(super) const DIALOGUE: u32 = 0x0009_0000;
/// The first number that is no result any more.
pub(super) const END: u32 = DIALOGUE + 0x100;

/// The HLR has not answered in time: nothing was sent to the handset.
pub const MAP_NO_ANSWER_OF_HLR: u32 = DIALOGUE | 0x01;
/// The MSC or SGSN has not answered in time: the handset may have the message.
pub const MAP_NO_ANSWER: u32 = DIALOGUE | 0x02;
/// The other side has aborted the dialogue (TC-U-ABORT).
pub const MAP_USER_ABORT: u32 = DIALOGUE | 0x03;
/// The other side takes no dialogue (MAP-refuse).
pub const MAP_DIALOGUE_REFUSED: u32 = DIALOGUE | 0x04;
/// It supports the application context in no version.
pub const MAP_CONTEXT_NOT_SUPPORTED: u32 = DIALOGUE | 0x05;
/// The dialogue has ended without an answer.
pub const MAP_ENDED_WITHOUT_ANSWER: u32 = DIALOGUE | 0x06;
/// The request was rejected (TC-U-REJECT, TC-R-REJECT).
pub const MAP_REJECTED: u32 = DIALOGUE | 0x07;
/// The HLR names no node that may be asked to deliver.
pub const MAP_NO_SERVING_NODE: u32 = DIALOGUE | 0x08;
/// The answer cannot be read.
pub const MAP_UNREADABLE_ANSWER: u32 = DIALOGUE | 0x09;
/// The message or its number cannot be written.
pub const MAP_UNWRITABLE: u32 = DIALOGUE | 0x0A;
/// There are too many dialogues, or no signalling link: nothing was sent.
pub const MAP_NOT_SENT: u32 = DIALOGUE | 0x0B;

/// The code of absentSubscriberSM, and of absentSubscriber, which versions 1 and 2 know.
const ABSENT_SUBSCRIBER_SM: u8 = 6;
const SM_DELIVERY_FAILURE: u8 = 32;

/// The status of a MAP user error without more.
pub fn of_user_error(code: u8) -> u32 {
    USER | u32::from(code)
}

/// The status of absentSubscriberSM.
pub fn of_absent(diagnostic: Option<u8>) -> u32 {
    match diagnostic {
        Some(diagnostic) => ABSENT | u32::from(diagnostic),
        None => of_user_error(ABSENT_SUBSCRIBER_SM),
    }
}

/// The status of sm-DeliveryFailure.
pub fn of_delivery_failure(cause: Option<u8>) -> u32 {
    match cause {
        Some(cause) => FAILURE | u32::from(cause),
        None => of_user_error(SM_DELIVERY_FAILURE),
    }
}

/// The status of what SCCP has returned.
pub fn of_sccp(return_cause: u8) -> u32 {
    SCCP | u32::from(return_cause)
}

/// The status of a P-Abort.
pub fn of_p_abort(cause: u8) -> u32 {
    TCAP | u32::from(cause)
}

/// What stands in a receipt: the code of the MAP error, also where a diagnostic or a cause makes the number; 100 and the
/// return cause of SCCP, 120 and the cause of a P-Abort, 140 and what this SMSC says. `None` for what is not of MAP.
pub fn error_code(status: u32) -> Option<u32> {
    let last = status & 0xFF;
    Some(match status & !0xFF {
        USER => last,
        ABSENT => ABSENT_SUBSCRIBER_SM.into(),
        FAILURE => SM_DELIVERY_FAILURE.into(),
        SCCP => 100 + last.min(19),
        TCAP => 120 + last.min(19),
        DIALOGUE => 140 + last.min(59),
        _ => return None,
    })
}

/// A diagnostic without a name is about the subscriber, as all of them are.
pub(super) fn is_absence_of_unnamed(status: u32) -> bool {
    status & !0xFF == ABSENT
}

/// What the network must be like where the table has no row: a cause without a name is a temporary failure.
pub(super) fn verdict_of_unnamed(status: u32) -> BreakerVerdict {
    match status & !0xFF {
        ABSENT => BreakerVerdict::Nothing,
        // The handset, or the MSC on its behalf, has answered.
        FAILURE => BreakerVerdict::Works,
        _ => BreakerVerdict::Fails,
    }
}

/// The MAP error for a handset's message that is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MoMapError {
    /// sm-DeliveryFailure with this cause (TS 29.002 §17.7.6).
    DeliveryFailure(u8),
    /// facilityNotSupported.
    FacilityNotSupported,
    /// unexpectedDataValue.
    UnexpectedDataValue,
    /// dataMissing.
    DataMissing,
    /// systemFailure.
    SystemFailure,
}

// === impl MoMapError ===

impl MoMapError {
    /// The cause scCongestion.
    pub const CONGESTION: u8 = 4;
    /// The cause invalidSME-Address.
    pub const INVALID_ADDRESS: u8 = 5;
    /// The cause subscriberNotSC-Subscriber.
    pub const NOT_SUBSCRIBER: u8 = 6;

    /// The error that says an RP-cause. MO-forwardSM has these five errors only (TS 29.002 §12.2.3), of which the MSC
    /// makes the RP-cause that the handset gets: by TS 23.040 §10.2 42, 28, 21, 69, and 38 for all others.
    pub fn of_rp(cause: u8) -> Self {
        match cause {
            // Unassigned number, transfer rejected, unknown subscriber: the destination is why. Handsets get 21.
            1 | 21 | 30 => Self::DeliveryFailure(Self::INVALID_ADDRESS),
            // Barred, unidentified, rejected or not subscribed: the sender is why. Handsets get 28.
            8 | 10 | 28 | 29 | 50 => Self::DeliveryFailure(Self::NOT_SUBSCRIBER),
            42 | 47 => Self::DeliveryFailure(Self::CONGESTION),
            69 | 97 | 99 => Self::FacilityNotSupported,
            81 | 95 | 98 | 111 => Self::UnexpectedDataValue,
            96 => Self::DataMissing,
            _ => Self::SystemFailure,
        }
    }

    /// Its code (TS 29.002 §17.6.6).
    pub fn code(self) -> u8 {
        match self {
            Self::DeliveryFailure(_) => SM_DELIVERY_FAILURE,
            Self::FacilityNotSupported => 21,
            Self::UnexpectedDataValue => 36,
            Self::DataMissing => 35,
            Self::SystemFailure => 34,
        }
    }
}
