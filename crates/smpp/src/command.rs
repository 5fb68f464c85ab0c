//! `command_id`: which operation a PDU is (SMPP 3.4 §5.1.2, 5.0 §4.7.5).
//!
//! Used by the codec to choose a body and by the session to choose an answer. Any 32-bit value is
//! representable, so an identifier of no standard is carried and printed, not lost.

use std::fmt;

/// Bit 31: set in every response.
const RESPONSE_BIT: u32 = 0x8000_0000;

/// A `command_id` as it stands in the header (§5.1.2.1).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct CommandId(pub u32);

macro_rules! commands {
    ($($name:ident = $value:literal, $text:literal;)*) => {
        impl CommandId {
            $(
                #[doc = concat!("`", $text, "` (§5.1.2.1; broadcast operations: 5.0 §4.7.5).")]
                pub const $name: CommandId = CommandId($value);
            )*

            /// Every operation of 3.4 and 5.0, for tables and tests.
            pub const ALL: &'static [CommandId] = &[$(CommandId::$name),*];

            /// The standard's name, as `submit_sm`; `None` for an identifier of neither version.
            pub const fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($value => Some($text),)*
                    _ => None,
                }
            }
        }
    };
}

commands! {
    BIND_RECEIVER = 0x0000_0001, "bind_receiver";
    BIND_TRANSMITTER = 0x0000_0002, "bind_transmitter";
    QUERY_SM = 0x0000_0003, "query_sm";
    SUBMIT_SM = 0x0000_0004, "submit_sm";
    DELIVER_SM = 0x0000_0005, "deliver_sm";
    UNBIND = 0x0000_0006, "unbind";
    REPLACE_SM = 0x0000_0007, "replace_sm";
    CANCEL_SM = 0x0000_0008, "cancel_sm";
    BIND_TRANSCEIVER = 0x0000_0009, "bind_transceiver";
    OUTBIND = 0x0000_000B, "outbind";
    ENQUIRE_LINK = 0x0000_0015, "enquire_link";
    SUBMIT_MULTI = 0x0000_0021, "submit_multi";
    ALERT_NOTIFICATION = 0x0000_0102, "alert_notification";
    DATA_SM = 0x0000_0103, "data_sm";
    BROADCAST_SM = 0x0000_0111, "broadcast_sm";
    QUERY_BROADCAST_SM = 0x0000_0112, "query_broadcast_sm";
    CANCEL_BROADCAST_SM = 0x0000_0113, "cancel_broadcast_sm";
    GENERIC_NACK = 0x8000_0000, "generic_nack";
    BIND_RECEIVER_RESP = 0x8000_0001, "bind_receiver_resp";
    BIND_TRANSMITTER_RESP = 0x8000_0002, "bind_transmitter_resp";
    QUERY_SM_RESP = 0x8000_0003, "query_sm_resp";
    SUBMIT_SM_RESP = 0x8000_0004, "submit_sm_resp";
    DELIVER_SM_RESP = 0x8000_0005, "deliver_sm_resp";
    UNBIND_RESP = 0x8000_0006, "unbind_resp";
    REPLACE_SM_RESP = 0x8000_0007, "replace_sm_resp";
    CANCEL_SM_RESP = 0x8000_0008, "cancel_sm_resp";
    BIND_TRANSCEIVER_RESP = 0x8000_0009, "bind_transceiver_resp";
    ENQUIRE_LINK_RESP = 0x8000_0015, "enquire_link_resp";
    SUBMIT_MULTI_RESP = 0x8000_0021, "submit_multi_resp";
    DATA_SM_RESP = 0x8000_0103, "data_sm_resp";
    BROADCAST_SM_RESP = 0x8000_0111, "broadcast_sm_resp";
    QUERY_BROADCAST_SM_RESP = 0x8000_0112, "query_broadcast_sm_resp";
    CANCEL_BROADCAST_SM_RESP = 0x8000_0113, "cancel_broadcast_sm_resp";
}

impl CommandId {
    /// Whether bit 31 is set: a response or generic_nack.
    pub const fn is_response(self) -> bool {
        self.0 & RESPONSE_BIT != 0
    }

    /// The response's identifier of a request; a response stays what it is.
    pub const fn response(self) -> CommandId {
        CommandId(self.0 | RESPONSE_BIT)
    }

    /// Whether 3.4 or 5.0 defines this identifier.
    pub const fn is_known(self) -> bool {
        self.name().is_some()
    }

    /// Whether a request of this kind is answered at all: outbind and alert_notification are not
    /// (§4.1.7, §4.12.1), and an unknown request is answered by generic_nack instead.
    pub const fn has_response(self) -> bool {
        !self.is_response() && self.response().is_known()
    }
}

impl fmt::Debug for CommandId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "0x{:08X}", self.0),
        }
    }
}

impl fmt::Display for CommandId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_request_but_two_has_a_response() {
        let unanswered: Vec<CommandId> = CommandId::ALL
            .iter()
            .copied()
            .filter(|id| !id.is_response() && !id.has_response())
            .collect();
        assert_eq!(
            unanswered,
            [CommandId::OUTBIND, CommandId::ALERT_NOTIFICATION]
        );
    }

    #[test]
    fn names_and_hex() {
        assert_eq!(CommandId::SUBMIT_SM.name(), Some("submit_sm"));
        assert_eq!(CommandId::SUBMIT_SM.response(), CommandId::SUBMIT_SM_RESP);
        assert_eq!(format!("{:?}", CommandId(0x0001_0200)), "0x00010200");
        assert!(!CommandId(0x0001_0200).is_known());
        assert!(CommandId::GENERIC_NACK.is_response());
    }
}
