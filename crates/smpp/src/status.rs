//! `command_status`: the result of an operation (SMPP 3.4 §5.1.3, 5.0 §4.7.6).
//!
//! Used wherever an answer is given or judged. Any 32-bit value is representable: vendor codes
//! (0x0400-0x04FF) and values of no standard are carried, compared and printed unchanged.

use std::borrow::Cow;
use std::fmt;

/// A `command_status` as it stands in the header; 0 in every request (§5.1.3).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct CommandStatus(pub u32);

macro_rules! statuses {
    ($($name:ident = $value:literal, $text:literal;)* --- $($alias:ident = $of:ident;)*) => {
        impl CommandStatus {
            $(
                #[doc = concat!($text, " (§5.1.3, 5.0 §4.7.6).")]
                pub const $name: CommandStatus = CommandStatus($value);
            )*
            $(
                #[doc = concat!("What 3.4 calls [`Self::", stringify!($of), "`] (§5.1.3).")]
                pub const $alias: CommandStatus = CommandStatus::$of;
            )*

            /// Every status of 3.4 and 5.0, ascending.
            pub const ALL: &'static [CommandStatus] = &[$(CommandStatus::$name),*];

            /// The standard's name, `None` for vendor and unassigned codes.
            pub const fn known_name(self) -> Option<&'static str> {
                match self.0 {
                    $($value => Some(stringify!($name)),)*
                    _ => None,
                }
            }

            /// One sentence for people, `None` for vendor and unassigned codes.
            pub const fn description(self) -> Option<&'static str> {
                match self.0 {
                    $($value => Some($text),)*
                    _ => None,
                }
            }

            fn from_known_name(name: &str) -> Option<CommandStatus> {
                $(if name.eq_ignore_ascii_case(stringify!($name)) {
                    return Some(CommandStatus::$name);
                })*
                $(if name.eq_ignore_ascii_case(stringify!($alias)) {
                    return Some(CommandStatus::$alias);
                })*
                None
            }
        }
    };
}

statuses! {
    ESME_ROK = 0x0000_0000, "No error";
    ESME_RINVMSGLEN = 0x0000_0001, "Message length is invalid";
    ESME_RINVCMDLEN = 0x0000_0002, "Command length is invalid";
    ESME_RINVCMDID = 0x0000_0003, "Command id is invalid or not supported";
    ESME_RINVBNDSTS = 0x0000_0004, "Operation not allowed in this bind state";
    ESME_RALYBND = 0x0000_0005, "Already bound";
    ESME_RINVPRTFLG = 0x0000_0006, "Invalid priority flag";
    ESME_RINVREGDLVFLG = 0x0000_0007, "Invalid registered delivery flag";
    ESME_RSYSERR = 0x0000_0008, "System error";
    ESME_RINVSRCADR = 0x0000_000A, "Invalid source address";
    ESME_RINVDSTADR = 0x0000_000B, "Invalid destination address";
    ESME_RINVMSGID = 0x0000_000C, "Message id is invalid";
    ESME_RBINDFAIL = 0x0000_000D, "Bind failed";
    ESME_RINVPASWD = 0x0000_000E, "Invalid password";
    ESME_RINVSYSID = 0x0000_000F, "Invalid system id";
    ESME_RCANCELFAIL = 0x0000_0011, "Cancel failed";
    ESME_RREPLACEFAIL = 0x0000_0013, "Replace failed";
    ESME_RMSGQFUL = 0x0000_0014, "Message queue full";
    ESME_RINVSERTYP = 0x0000_0015, "Invalid service type";
    ESME_RINVNUMDESTS = 0x0000_0033, "Invalid number of destinations";
    ESME_RINVDLNAME = 0x0000_0034, "Invalid distribution list name";
    ESME_RINVDESTFLAG = 0x0000_0040, "Invalid destination flag";
    ESME_RINVSUBREP = 0x0000_0042, "Submit with replace is not supported or not allowed";
    ESME_RINVESMCLASS = 0x0000_0043, "Invalid esm_class";
    ESME_RCNTSUBDL = 0x0000_0044, "Cannot submit to distribution list";
    ESME_RSUBMITFAIL = 0x0000_0045, "Submit failed";
    ESME_RINVSRCTON = 0x0000_0048, "Invalid source address type of number";
    ESME_RINVSRCNPI = 0x0000_0049, "Invalid source address numbering plan";
    ESME_RINVDSTTON = 0x0000_0050, "Invalid destination address type of number";
    ESME_RINVDSTNPI = 0x0000_0051, "Invalid destination address numbering plan";
    ESME_RINVSYSTYP = 0x0000_0053, "Invalid system type";
    ESME_RINVREPFLAG = 0x0000_0054, "Invalid replace_if_present flag";
    ESME_RINVNUMMSGS = 0x0000_0055, "Invalid number of messages";
    ESME_RTHROTTLED = 0x0000_0058, "Throttled: message limit exceeded";
    ESME_RINVSCHED = 0x0000_0061, "Invalid scheduled delivery time";
    ESME_RINVEXPIRY = 0x0000_0062, "Invalid validity period";
    ESME_RINVDFTMSGID = 0x0000_0063, "Predefined message is invalid or not found";
    ESME_RX_T_APPN = 0x0000_0064, "Receiver temporary application error";
    ESME_RX_P_APPN = 0x0000_0065, "Receiver permanent application error";
    ESME_RX_R_APPN = 0x0000_0066, "Receiver rejects the message";
    ESME_RQUERYFAIL = 0x0000_0067, "Query failed";
    ESME_RINVTLVSTREAM = 0x0000_00C0, "Error in the optional part of the PDU";
    ESME_RTLVNOTALLWD = 0x0000_00C1, "TLV not allowed";
    ESME_RINVTLVLEN = 0x0000_00C2, "Invalid TLV length";
    ESME_RMISSINGTLV = 0x0000_00C3, "Expected TLV missing";
    ESME_RINVTLVVAL = 0x0000_00C4, "Invalid TLV value";
    ESME_RDELIVERYFAILURE = 0x0000_00FE, "Transaction delivery failure";
    ESME_RUNKNOWNERR = 0x0000_00FF, "Unknown error";
    ESME_RSERTYPUNAUTH = 0x0000_0100, "Not authorised for this service type";
    ESME_RPROHIBITED = 0x0000_0101, "Operation prohibited for this account";
    ESME_RSERTYPUNAVAIL = 0x0000_0102, "Service type unavailable";
    ESME_RSERTYPDENIED = 0x0000_0103, "Service type denied";
    ESME_RINVDCS = 0x0000_0104, "Invalid data coding scheme";
    ESME_RINVSRCADDRSUBUNIT = 0x0000_0105, "Invalid source address subunit";
    ESME_RINVDSTADDRSUBUNIT = 0x0000_0106, "Invalid destination address subunit";
    ESME_RINVBCASTFREQINT = 0x0000_0107, "Invalid broadcast frequency interval";
    ESME_RINVBCASTALIAS_NAME = 0x0000_0108, "Invalid broadcast alias name";
    ESME_RINVBCASTAREAFMT = 0x0000_0109, "Invalid broadcast area format";
    ESME_RINVNUMBCAST_AREAS = 0x0000_010A, "Invalid number of broadcast areas";
    ESME_RINVBCASTCNTTYPE = 0x0000_010B, "Invalid broadcast content type";
    ESME_RINVBCASTMSGCLASS = 0x0000_010C, "Invalid broadcast message class";
    ESME_RBCASTFAIL = 0x0000_010D, "broadcast_sm failed";
    ESME_RBCASTQUERYFAIL = 0x0000_010E, "query_broadcast_sm failed";
    ESME_RBCASTCANCELFAIL = 0x0000_010F, "cancel_broadcast_sm failed";
    ESME_RINVBCAST_REP = 0x0000_0110, "Invalid number of repeated broadcasts";
    ESME_RINVBCASTSRVGRP = 0x0000_0111, "Invalid broadcast service group";
    ESME_RINVBCASTCHANIND = 0x0000_0112, "Invalid broadcast channel indicator";
    ---
    ESME_RINVOPTPARSTREAM = ESME_RINVTLVSTREAM;
    ESME_ROPTPARNOTALLWD = ESME_RTLVNOTALLWD;
    ESME_RINVPARLEN = ESME_RINVTLVLEN;
    ESME_RMISSINGOPTPARAM = ESME_RMISSINGTLV;
    ESME_RINVOPTPARAMVAL = ESME_RINVTLVVAL;
}

impl CommandStatus {
    /// Whether this is ESME_ROK.
    pub const fn is_ok(self) -> bool {
        self.0 == 0
    }

    /// Name as in 5.0 (`ESME_RTHROTTLED`), or hex for codes of no standard (`0x00000410`).
    pub fn name(self) -> Cow<'static, str> {
        match self.known_name() {
            Some(name) => Cow::Borrowed(name),
            None => Cow::Owned(format!("0x{:08X}", self.0)),
        }
    }

    /// Reads a name of 3.4 or 5.0 in any case, a decimal number, or hex after `0x`: what people
    /// write in configuration. `None` for anything else.
    pub fn from_name(text: &str) -> Option<CommandStatus> {
        let text = text.trim();
        if let Some(hex) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
            return u32::from_str_radix(hex, 16).ok().map(CommandStatus);
        }
        match text.parse::<u32>() {
            Ok(number) => Some(CommandStatus(number)),
            Err(_) => CommandStatus::from_known_name(text),
        }
    }
}

impl fmt::Display for CommandStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.known_name() {
            Some(name) => f.write_str(name),
            None => write!(f, "0x{:08X}", self.0),
        }
    }
}

impl fmt::Debug for CommandStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_reads_back() {
        for status in CommandStatus::ALL {
            assert_eq!(CommandStatus::from_name(&status.name()), Some(*status));
        }
        assert!(CommandStatus::ALL.is_sorted());
    }

    #[test]
    fn numbers_vendor_codes_and_old_names() {
        assert_eq!(
            CommandStatus::from_name("88"),
            Some(CommandStatus::ESME_RTHROTTLED)
        );
        assert_eq!(
            CommandStatus::from_name("0x58"),
            Some(CommandStatus::ESME_RTHROTTLED)
        );
        assert_eq!(
            CommandStatus::from_name("esme_rinvoptparamval"),
            Some(CommandStatus(0xC4))
        );
        assert_eq!(CommandStatus(0x410).name(), "0x00000410");
        assert_eq!(
            CommandStatus::from_name("0x00000410"),
            Some(CommandStatus(0x410))
        );
        assert_eq!(CommandStatus::from_name("ESME_NONSENSE"), None);
    }
}
