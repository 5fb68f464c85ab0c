//! The types of GSUP messages: those of short messages as constants, the names of all others.

use std::fmt;

/// The type of a message; its two lowest bits tell request, error and result apart.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct MessageType(pub u8);

// === impl MessageType ===

impl MessageType {
    pub const MO_FORWARD_SM_REQUEST: MessageType = MessageType(0x24);
    pub const MO_FORWARD_SM_ERROR: MessageType = MessageType(0x25);
    pub const MO_FORWARD_SM_RESULT: MessageType = MessageType(0x26);
    pub const MT_FORWARD_SM_REQUEST: MessageType = MessageType(0x28);
    pub const MT_FORWARD_SM_ERROR: MessageType = MessageType(0x29);
    pub const MT_FORWARD_SM_RESULT: MessageType = MessageType(0x2A);
    pub const READY_FOR_SM_REQUEST: MessageType = MessageType(0x2C);
    pub const READY_FOR_SM_ERROR: MessageType = MessageType(0x2D);
    pub const READY_FOR_SM_RESULT: MessageType = MessageType(0x2E);
    /// Whoever was to get a message is not there.
    pub const ROUTING_ERROR: MessageType = MessageType(0x4E);

    /// What the two lowest bits say.
    const OUTCOME: u8 = 0x03;
    const ERROR: u8 = 1;
    const RESULT: u8 = 2;

    /// The type of the request that this belongs to.
    #[must_use]
    pub fn request(self) -> Self {
        Self(self.0 & !Self::OUTCOME)
    }

    /// The type of its error.
    #[must_use]
    pub fn error(self) -> Self {
        Self(self.request().0 | Self::ERROR)
    }

    /// The type of its result.
    #[must_use]
    pub fn result(self) -> Self {
        Self(self.request().0 | Self::RESULT)
    }

    /// Whether somebody waits for an answer to it.
    #[must_use]
    pub fn is_request(self) -> bool {
        self.0 & Self::OUTCOME == 0
    }

    /// Its name without `request`, `error` and `result`.
    #[must_use]
    pub fn operation(self) -> &'static str {
        match self.0 & !Self::OUTCOME {
            0x04 => "UpdateLocation",
            0x08 => "SendAuthInfo",
            0x0C => "PurgeMS",
            0x10 => "InsertSubscriberData",
            0x14 => "DeleteSubscriberData",
            0x1C => "LocationCancel",
            0x20 => "ProcSS",
            0x24 => "MO-forwardSM",
            0x28 => "MT-forwardSM",
            0x2C => "READY-FOR-SM",
            0x30 => "CheckIMEI",
            _ => "no message known",
        }
    }
}

impl fmt::Display for MessageType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::ROUTING_ERROR {
            return f.write_str("ROUTING_ERROR");
        }
        let outcome = match self.0 & Self::OUTCOME {
            0 => "request",
            Self::ERROR => "error",
            Self::RESULT => "result",
            _ => "of an unknown outcome",
        };
        write!(f, "{} {outcome}", self.operation())
    }
}

impl fmt::Debug for MessageType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
