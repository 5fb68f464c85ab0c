//! Messages as handsets get and send them: between the stored message and the TPDUs of 3GPP TS 23.040.
//!
//! Pure; sections are those of TS 23.040 unless SMPP is written. Called by whoever speaks to a GSM core.
//!
//! | file | from | to |
//! |---|---|---|
//! | [`mod@deliver`] | a message | the SMS-DELIVERs that carry it |
//! | [`incoming`] | SMS-SUBMIT, SMS-DELIVER | a message |
//! | [`status`] | a receipt, a repetition | SMS-STATUS-REPORT, SMS-SUBMIT-REPORT |
//! | [`mod@command`] | SMS-COMMAND | what is ordered, about which message |
//! | [`address`] | TON, NPI and octets of SMPP | addresses of TPDUs, both ways |
//! | [`times`] | Unix milliseconds | time stamps and validity periods, both ways |
//!
//! Invariants: a text that went through a message and back has the same characters; nothing is cut: what a handset
//! cannot show is changed by the policy of its interface, as for peers of SMPP ([`crate::peer`]), and counted, or refused;
//! the user data of a TPDU that is still the text of its message goes on octet for octet.

pub mod address;
pub mod command;
pub mod deliver;
pub mod incoming;
pub mod status;
pub mod times;

use crate::peer::PeerEncoding;
use crate::peer::divide;
use smsc_config::Gsm;
use smsc_sms::tpdu::TpduWriteError;

pub use command::{CommandType, is_about, order};
pub use deliver::{HandsetDelivery, check, deliver};
pub use incoming::{delivered, submitted};
pub use status::{answer, repeated, report};

/// esm_class: the recipient may answer on the same way (SMPP 3.4 §5.2.12); TP-RP (§9.2.3.17).
const REPLY_PATH: u32 = 0x80;

/// How the handsets of an interface get their messages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Handsets {
    /// `policy` and `languages` count, and of `long` the width of the reference: 16 bits for `udh16`, else 8. The
    /// alphabet of a handset is always that of GSM.
    pub encoding: PeerEncoding,
    /// Quarters of an hour that the local time in time stamps is ahead of UTC (§9.2.3.11).
    pub zone: i8,
}

// === impl Handsets ===

impl Handsets {
    /// Those of a GSM network.
    #[must_use]
    pub fn of_gsm(gsm: &Gsm) -> Self {
        Self {
            encoding: PeerEncoding::of_gsm(gsm),
            zone: gsm.zone(),
        }
    }
}

/// Why a message cannot be sent to a handset.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HandsetRefusal {
    #[error(transparent)]
    Text(#[from] divide::DivideRefusal),
    /// A character set that TP-DCS does not have (3GPP TS 23.038 §4).
    #[error("handsets know no character set for data_coding {0:#04x}")]
    Coding(u8),
    /// The other parts are numbered already.
    #[error("its part of a longer text does not fit into one SMS-DELIVER")]
    Part,
    /// A type of number above 7.
    #[error("an address has the type {0}; the largest one is 7")]
    Numbering(u32),
    #[error(transparent)]
    Field(#[from] TpduWriteError),
}

#[cfg(test)]
mod tests;
