//! Why a message comes back (ITU-T Q.713 §3.12).

named! {
    u8;
    NO_TRANSLATION_FOR_NATURE = 0, "no translation for an address of such nature";
    NO_TRANSLATION = 1, "no translation for this specific address";
    SUBSYSTEM_CONGESTION = 2, "subsystem congestion";
    SUBSYSTEM_FAILURE = 3, "subsystem failure";
    UNEQUIPPED_USER = 4, "unequipped user";
    MTP_FAILURE = 5, "MTP failure";
    NETWORK_CONGESTION = 6, "network congestion";
    UNQUALIFIED = 7, "unqualified";
    TRANSPORT_ERROR = 8, "error in message transport";
    PROCESSING_ERROR = 9, "error in local processing";
    NO_REASSEMBLY = 10, "destination cannot perform reassembly";
    SCCP_FAILURE = 11, "SCCP failure";
    HOP_COUNTER = 12, "hop counter violation";
    NO_SEGMENTATION = 13, "segmentation not supported";
    SEGMENTATION_FAILURE = 14, "segmentation failure";
}

/// In the words of Q.713.
#[must_use]
pub fn name(cause: u8) -> &'static str {
    crate::name_of(NAMED, &cause).unwrap_or("unknown cause")
}
