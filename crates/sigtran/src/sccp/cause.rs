//! Why a message comes back (ITU-T Q.713 §3.12).

pub const NO_TRANSLATION_FOR_NATURE: u8 = 0;
pub const NO_TRANSLATION: u8 = 1;
pub const SUBSYSTEM_CONGESTION: u8 = 2;
pub const SUBSYSTEM_FAILURE: u8 = 3;
pub const UNEQUIPPED_USER: u8 = 4;
pub const MTP_FAILURE: u8 = 5;
pub const NETWORK_CONGESTION: u8 = 6;
pub const UNQUALIFIED: u8 = 7;
pub const TRANSPORT_ERROR: u8 = 8;
pub const PROCESSING_ERROR: u8 = 9;
pub const NO_REASSEMBLY: u8 = 10;
pub const SCCP_FAILURE: u8 = 11;
pub const HOP_COUNTER: u8 = 12;
pub const NO_SEGMENTATION: u8 = 13;
pub const SEGMENTATION_FAILURE: u8 = 14;

/// In the words of Q.713.
#[must_use]
pub fn name(cause: u8) -> &'static str {
    match cause {
        NO_TRANSLATION_FOR_NATURE => "no translation for an address of such nature",
        NO_TRANSLATION => "no translation for this specific address",
        SUBSYSTEM_CONGESTION => "subsystem congestion",
        SUBSYSTEM_FAILURE => "subsystem failure",
        UNEQUIPPED_USER => "unequipped user",
        MTP_FAILURE => "MTP failure",
        NETWORK_CONGESTION => "network congestion",
        UNQUALIFIED => "unqualified",
        TRANSPORT_ERROR => "error in message transport",
        PROCESSING_ERROR => "error in local processing",
        NO_REASSEMBLY => "destination cannot perform reassembly",
        SCCP_FAILURE => "SCCP failure",
        HOP_COUNTER => "hop counter violation",
        NO_SEGMENTATION => "segmentation not supported",
        SEGMENTATION_FAILURE => "segmentation failure",
        _ => "unknown cause",
    }
}
