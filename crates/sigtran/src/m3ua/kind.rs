//! What M3UA messages are, and the numbers in them that mean something (RFC 4666 §3.1.2, §3.6.2, §3.8).

use std::fmt;

/// Class and type of a message.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct M3uaKind {
    /// Its class.
    pub class: u8,
    /// Its type within the class.
    pub number: u8,
}

/// Code of an ERR message (§3.8.1).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct M3uaErrorCode(pub u32);

/// What a NTFY message says (§3.8.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ApplicationStatus {
    /// No ASP of the application server is active.
    Inactive,
    /// Enough are.
    Active,
    /// The last one that was active is gone; the gateway waits a moment for the next.
    Pending,
    /// More are needed.
    Insufficient,
    /// Another ASP took over.
    AlternateActive,
    /// Another ASP failed.
    AspFailure,
    /// Anything else: type and information.
    Other(u16, u16),
}

// === impl M3uaKind ===

impl M3uaKind {
    pub const ERR: Self = Self::of(0, 0);
    pub const NTFY: Self = Self::of(0, 1);
    pub const DATA: Self = Self::of(1, 1);
    pub const DUNA: Self = Self::of(2, 1);
    pub const DAVA: Self = Self::of(2, 2);
    pub const DAUD: Self = Self::of(2, 3);
    pub const SCON: Self = Self::of(2, 4);
    pub const DUPU: Self = Self::of(2, 5);
    pub const DRST: Self = Self::of(2, 6);
    pub const ASPUP: Self = Self::of(3, 1);
    pub const ASPDN: Self = Self::of(3, 2);
    pub const BEAT: Self = Self::of(3, 3);
    pub const ASPUP_ACK: Self = Self::of(3, 4);
    pub const ASPDN_ACK: Self = Self::of(3, 5);
    pub const BEAT_ACK: Self = Self::of(3, 6);
    pub const ASPAC: Self = Self::of(4, 1);
    pub const ASPIA: Self = Self::of(4, 2);
    pub const ASPAC_ACK: Self = Self::of(4, 3);
    pub const ASPIA_ACK: Self = Self::of(4, 4);
    pub const REG_REQ: Self = Self::of(9, 1);
    pub const REG_RSP: Self = Self::of(9, 2);
    pub const DEREG_REQ: Self = Self::of(9, 3);
    pub const DEREG_RSP: Self = Self::of(9, 4);

    /// The class of the states of destinations (SSNM).
    pub const CLASS_NETWORK: u8 = 2;

    const fn of(class: u8, number: u8) -> Self {
        Self { class, number }
    }

    /// Whether the class is one of M3UA.
    #[must_use]
    pub fn has_known_class(self) -> bool {
        matches!(self.class, 0..=4 | 9)
    }

    /// Its name, as RFC 4666 shortens it.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::ERR => "ERR",
            Self::NTFY => "NTFY",
            Self::DATA => "DATA",
            Self::DUNA => "DUNA",
            Self::DAVA => "DAVA",
            Self::DAUD => "DAUD",
            Self::SCON => "SCON",
            Self::DUPU => "DUPU",
            Self::DRST => "DRST",
            Self::ASPUP => "ASPUP",
            Self::ASPDN => "ASPDN",
            Self::BEAT => "BEAT",
            Self::ASPUP_ACK => "ASPUP ACK",
            Self::ASPDN_ACK => "ASPDN ACK",
            Self::BEAT_ACK => "BEAT ACK",
            Self::ASPAC => "ASPAC",
            Self::ASPIA => "ASPIA",
            Self::ASPAC_ACK => "ASPAC ACK",
            Self::ASPIA_ACK => "ASPIA ACK",
            Self::REG_REQ => "REG REQ",
            Self::REG_RSP => "REG RSP",
            Self::DEREG_REQ => "DEREG REQ",
            Self::DEREG_RSP => "DEREG RSP",
            _ => return None,
        })
    }
}

impl fmt::Display for M3uaKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "message {} of class {}", self.number, self.class),
        }
    }
}

impl fmt::Debug for M3uaKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

// === impl M3uaErrorCode ===

impl M3uaErrorCode {
    pub const INVALID_VERSION: Self = Self(0x01);
    pub const UNSUPPORTED_CLASS: Self = Self(0x03);
    pub const UNSUPPORTED_TYPE: Self = Self(0x04);
    pub const UNSUPPORTED_TRAFFIC_MODE: Self = Self(0x05);
    pub const UNEXPECTED_MESSAGE: Self = Self(0x06);
    pub const PROTOCOL_ERROR: Self = Self(0x07);
    pub const INVALID_STREAM: Self = Self(0x09);
    pub const MANAGEMENT_BLOCKING: Self = Self(0x0D);
    pub const ASP_IDENTIFIER_REQUIRED: Self = Self(0x0E);
    pub const INVALID_ASP_IDENTIFIER: Self = Self(0x0F);
    pub const INVALID_PARAMETER: Self = Self(0x11);
    pub const PARAMETER_FIELD: Self = Self(0x12);
    pub const UNEXPECTED_PARAMETER: Self = Self(0x13);
    pub const DESTINATION_UNKNOWN: Self = Self(0x14);
    pub const INVALID_NETWORK_APPEARANCE: Self = Self(0x15);
    pub const MISSING_PARAMETER: Self = Self(0x16);
    pub const INVALID_ROUTING_CONTEXT: Self = Self(0x19);
    pub const NO_APPLICATION_SERVER: Self = Self(0x1A);
}

impl fmt::Display for M3uaErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match *self {
            Self::INVALID_VERSION => "invalid version",
            Self::UNSUPPORTED_CLASS => "unsupported message class",
            Self::UNSUPPORTED_TYPE => "unsupported message type",
            Self::UNSUPPORTED_TRAFFIC_MODE => "unsupported traffic mode type",
            Self::UNEXPECTED_MESSAGE => "unexpected message",
            Self::PROTOCOL_ERROR => "protocol error",
            Self::INVALID_STREAM => "invalid stream identifier",
            Self::MANAGEMENT_BLOCKING => "refused: management blocking",
            Self::ASP_IDENTIFIER_REQUIRED => "ASP identifier required",
            Self::INVALID_ASP_IDENTIFIER => "invalid ASP identifier",
            Self::INVALID_PARAMETER => "invalid parameter value",
            Self::PARAMETER_FIELD => "parameter field error",
            Self::UNEXPECTED_PARAMETER => "unexpected parameter",
            Self::DESTINATION_UNKNOWN => "destination status unknown",
            Self::INVALID_NETWORK_APPEARANCE => "invalid network appearance",
            Self::MISSING_PARAMETER => "missing parameter",
            Self::INVALID_ROUTING_CONTEXT => "invalid routing context",
            Self::NO_APPLICATION_SERVER => "no configured AS for ASP",
            Self(code) => return write!(f, "error {code:#x}"),
        })
    }
}

impl fmt::Debug for M3uaErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

// === impl ApplicationStatus ===

impl ApplicationStatus {
    /// What a number of the Status parameter means.
    #[must_use]
    pub fn of_number(number: u32) -> Self {
        // Both halves fit.
        match ((number >> 16) as u16, number as u16) {
            (1, 2) => Self::Inactive,
            (1, 3) => Self::Active,
            (1, 4) => Self::Pending,
            (2, 1) => Self::Insufficient,
            (2, 2) => Self::AlternateActive,
            (2, 3) => Self::AspFailure,
            (kind, information) => Self::Other(kind, information),
        }
    }

    /// Its number.
    #[must_use]
    pub fn number(self) -> u32 {
        let (kind, information) = match self {
            Self::Inactive => (1, 2),
            Self::Active => (1, 3),
            Self::Pending => (1, 4),
            Self::Insufficient => (2, 1),
            Self::AlternateActive => (2, 2),
            Self::AspFailure => (2, 3),
            Self::Other(kind, information) => (kind, information),
        };
        u32::from(kind) << 16 | u32::from(information)
    }
}

impl fmt::Display for ApplicationStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Inactive => "AS-INACTIVE",
            Self::Active => "AS-ACTIVE",
            Self::Pending => "AS-PENDING",
            Self::Insufficient => "insufficient ASP resources",
            Self::AlternateActive => "alternate ASP active",
            Self::AspFailure => "ASP failure",
            Self::Other(kind, information) => return write!(f, "status {kind}/{information}"),
        })
    }
}

/// What became of a registration (§3.6.2), in words; 0 is success.
#[must_use]
pub fn registration_status(status: u32) -> &'static str {
    match status {
        0 => "registered",
        2 => "invalid destination point code",
        3 => "invalid network appearance",
        4 => "invalid routing key",
        5 => "permission denied",
        6 => "cannot support unique routing",
        7 => "routing key not provisioned",
        8 => "insufficient resources",
        9 => "unsupported routing key parameter",
        10 => "unsupported traffic mode",
        11 => "routing key change refused",
        12 => "routing key already registered",
        _ => "unknown error",
    }
}
