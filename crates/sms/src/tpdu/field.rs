//! The fields of a TPDU and of an RP message by their names in the standard, and what can be wrong
//! with one: [`FieldFault`] on reading, [`TpduWriteError`] on writing.

use crate::gsm7::Unrepresentable;
use crate::udh::HeaderError;

/// A field of a TPDU (3GPP TS 23.040 §9.2.3) or of an RP message (3GPP TS 24.011 §8.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TpduField {
    /// The message type with the flags beside it.
    FirstOctet,
    MessageReference,
    OriginatingAddress,
    DestinationAddress,
    ProtocolIdentifier,
    DataCodingScheme,
    ServiceCentreTimeStamp,
    ValidityPeriod,
    DischargeTime,
    RecipientAddress,
    Status,
    UserDataLength,
    MessageNumber,
    CommandType,
    CommandDataLength,
    CommandData,
    FailureCause,
    UserData,
    ParameterIndicator,
    /// Octets behind the last field.
    Rest,
    RpMessageType,
    RpMessageReference,
    RpOriginatorAddress,
    RpDestinationAddress,
    RpUserData,
    RpCause,
}

/// Something wrong with what was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{} at octet {at}: {problem}", field.name())]
pub struct FieldFault {
    /// The field in which it shows.
    pub field: TpduField,
    /// Its first octet, from 0.
    pub at: usize,
    /// What is wrong.
    pub problem: FieldProblem,
}

/// What is wrong with a field that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FieldProblem {
    /// The octets end first.
    #[error("octets needed: {wanted}; left: {left}")]
    Short {
        /// How many the field has.
        wanted: usize,
        /// How many there are.
        left: usize,
    },
    /// TP-MTI is that of another message.
    #[error("message type {found} is not that of {wanted}")]
    OtherType {
        /// What was to be read.
        wanted: &'static str,
        /// TP-MTI as it is, or RP-MTI.
        found: u8,
    },
    /// More digits than an address may have (§9.1.2.5).
    #[error("{0} semi-octets; the standard allows 20")]
    Digits(u8),
    /// An address without its type, or with one whose highest bit is not set (§9.1.2.5).
    #[error("the type of address {0:#04x} has not its highest bit set")]
    TypeOfAddress(u8),
    /// The filler of an address before its end.
    #[error("the filler 1111 is inside the number")]
    Filler,
    /// A semi-octet above 9 in a time, or a date that no calendar has.
    #[error("this is no date and time")]
    Time,
    /// An enhanced validity period of a reserved format (§9.2.3.12.3).
    #[error("validity period format {0} is reserved")]
    ValidityFormat(u8),
    /// The header of the user data is ignored (§9.2.3.24).
    #[error("{0}; the header is ignored")]
    Header(HeaderError),
    /// More user data than the message may have.
    #[error("{octets} octets; the standard allows {most}")]
    Long {
        /// How many there are.
        octets: usize,
        /// How many may be there.
        most: usize,
    },
    /// A value that the standard reserves.
    #[error("{0:#04x} is reserved")]
    Reserved(u8),
    /// Octets behind the last field, ignored.
    #[error("octets behind the last field: {0}")]
    LeftOver(usize),
}

/// What the standard cannot carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{}: {reason}", field.name())]
pub struct TpduWriteError {
    /// The field that would have to carry it.
    pub field: TpduField,
    /// Why it cannot.
    pub reason: UnwritableReason,
}

/// Why a field cannot carry a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UnwritableReason {
    /// A number above the largest one.
    #[error("{value} is above {most}")]
    Large {
        /// The number.
        value: usize,
        /// The largest one.
        most: usize,
    },
    /// Neither a digit nor one of `*#abc` (§9.1.2.3).
    #[error("{0:?} cannot be in a number; 0 to 9, *, #, a, b and c can")]
    Digit(char),
    /// A character of an alphanumeric address that is not in the 7-bit alphabet.
    #[error(transparent)]
    Character(#[from] Unrepresentable),
    /// Longer than the field.
    #[error("{length} {unit}; {most} are possible")]
    Long {
        /// Its length.
        length: usize,
        /// In digits, septets or octets.
        unit: &'static str,
        /// The longest.
        most: usize,
    },
    /// No date and time, or a zone beyond 79 quarters of an hour.
    #[error("this is no date and time of a calendar")]
    Time,
    /// An octet of the 7-bit alphabet above 0x7F.
    #[error("{0:#04x} is no septet")]
    Septet(u8),
    /// UCS-2 of an odd number of octets.
    #[error("UCS-2 has an even number of octets, not {0}")]
    Odd(usize),
    /// A value that the standard reserves.
    #[error("{0:#04x} is reserved")]
    Reserved(u8),
}

// === impl TpduField ===

impl TpduField {
    /// Its name in the standard: `TP-DA`.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().0
    }

    /// The section that defines it: `9.2.3.8`; of TS 24.011 for fields whose names begin with `RP`, of
    /// TS 23.040 for all others. Empty for [`TpduField::Rest`].
    #[must_use]
    pub fn section(self) -> &'static str {
        self.row().1
    }

    /// Shorthand for a fault.
    pub(crate) fn fault(self, at: usize, problem: FieldProblem) -> FieldFault {
        FieldFault {
            field: self,
            at,
            problem,
        }
    }

    /// Shorthand for an error.
    pub(crate) fn refuses(self, reason: impl Into<UnwritableReason>) -> TpduWriteError {
        TpduWriteError {
            field: self,
            reason: reason.into(),
        }
    }

    fn row(self) -> (&'static str, &'static str) {
        match self {
            TpduField::FirstOctet => ("TP-MTI", "9.2.3.1"),
            TpduField::MessageReference => ("TP-MR", "9.2.3.6"),
            TpduField::OriginatingAddress => ("TP-OA", "9.2.3.7"),
            TpduField::DestinationAddress => ("TP-DA", "9.2.3.8"),
            TpduField::ProtocolIdentifier => ("TP-PID", "9.2.3.9"),
            TpduField::DataCodingScheme => ("TP-DCS", "9.2.3.10"),
            TpduField::ServiceCentreTimeStamp => ("TP-SCTS", "9.2.3.11"),
            TpduField::ValidityPeriod => ("TP-VP", "9.2.3.12"),
            TpduField::DischargeTime => ("TP-DT", "9.2.3.13"),
            TpduField::RecipientAddress => ("TP-RA", "9.2.3.14"),
            TpduField::Status => ("TP-ST", "9.2.3.15"),
            TpduField::UserDataLength => ("TP-UDL", "9.2.3.16"),
            TpduField::MessageNumber => ("TP-MN", "9.2.3.18"),
            TpduField::CommandType => ("TP-CT", "9.2.3.19"),
            TpduField::CommandDataLength => ("TP-CDL", "9.2.3.20"),
            TpduField::CommandData => ("TP-CD", "9.2.3.21"),
            TpduField::FailureCause => ("TP-FCS", "9.2.3.22"),
            TpduField::UserData => ("TP-UD", "9.2.3.24"),
            TpduField::ParameterIndicator => ("TP-PI", "9.2.3.27"),
            TpduField::Rest => ("(left over)", ""),
            TpduField::RpMessageType => ("RP-MTI", "8.2.2"),
            TpduField::RpMessageReference => ("RP-MR", "8.2.3"),
            TpduField::RpOriginatorAddress => ("RP-OA", "8.2.5.1"),
            TpduField::RpDestinationAddress => ("RP-DA", "8.2.5.2"),
            TpduField::RpUserData => ("RP-UD", "8.2.5.3"),
            TpduField::RpCause => ("RP-Cause", "8.2.5.4"),
        }
    }
}
