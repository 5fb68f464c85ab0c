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
    named! {
        Self;
        ERR = Self::of(0, 0), "ERR";
        NTFY = Self::of(0, 1), "NTFY";
        DATA = Self::of(1, 1), "DATA";
        DUNA = Self::of(2, 1), "DUNA";
        DAVA = Self::of(2, 2), "DAVA";
        DAUD = Self::of(2, 3), "DAUD";
        SCON = Self::of(2, 4), "SCON";
        DUPU = Self::of(2, 5), "DUPU";
        DRST = Self::of(2, 6), "DRST";
        ASPUP = Self::of(3, 1), "ASPUP";
        ASPDN = Self::of(3, 2), "ASPDN";
        BEAT = Self::of(3, 3), "BEAT";
        ASPUP_ACK = Self::of(3, 4), "ASPUP ACK";
        ASPDN_ACK = Self::of(3, 5), "ASPDN ACK";
        BEAT_ACK = Self::of(3, 6), "BEAT ACK";
        ASPAC = Self::of(4, 1), "ASPAC";
        ASPIA = Self::of(4, 2), "ASPIA";
        ASPAC_ACK = Self::of(4, 3), "ASPAC ACK";
        ASPIA_ACK = Self::of(4, 4), "ASPIA ACK";
        REG_REQ = Self::of(9, 1), "REG REQ";
        REG_RSP = Self::of(9, 2), "REG RSP";
        DEREG_REQ = Self::of(9, 3), "DEREG REQ";
        DEREG_RSP = Self::of(9, 4), "DEREG RSP";
    }

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
        crate::name_of(Self::NAMED, &self)
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
    named! {
        Self;
        INVALID_VERSION = Self(0x01), "invalid version";
        UNSUPPORTED_CLASS = Self(0x03), "unsupported message class";
        UNSUPPORTED_TYPE = Self(0x04), "unsupported message type";
        UNSUPPORTED_TRAFFIC_MODE = Self(0x05), "unsupported traffic mode type";
        UNEXPECTED_MESSAGE = Self(0x06), "unexpected message";
        PROTOCOL_ERROR = Self(0x07), "protocol error";
        INVALID_STREAM = Self(0x09), "invalid stream identifier";
        MANAGEMENT_BLOCKING = Self(0x0D), "refused: management blocking";
        ASP_IDENTIFIER_REQUIRED = Self(0x0E), "ASP identifier required";
        INVALID_ASP_IDENTIFIER = Self(0x0F), "invalid ASP identifier";
        INVALID_PARAMETER = Self(0x11), "invalid parameter value";
        PARAMETER_FIELD = Self(0x12), "parameter field error";
        UNEXPECTED_PARAMETER = Self(0x13), "unexpected parameter";
        DESTINATION_UNKNOWN = Self(0x14), "destination status unknown";
        INVALID_NETWORK_APPEARANCE = Self(0x15), "invalid network appearance";
        MISSING_PARAMETER = Self(0x16), "missing parameter";
        INVALID_ROUTING_CONTEXT = Self(0x19), "invalid routing context";
        NO_APPLICATION_SERVER = Self(0x1A), "no configured AS for ASP";
    }
}

impl fmt::Display for M3uaErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match crate::name_of(Self::NAMED, self) {
            Some(name) => f.write_str(name),
            None => write!(f, "error {:#x}", self.0),
        }
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
