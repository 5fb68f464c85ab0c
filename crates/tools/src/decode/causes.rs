//! What statuses and causes of a radio network mean: tables of names (3GPP TS 23.040, 24.008).
//!
//! Those of RP-Cause are in `sms::rp`.

/// TP-ST (23.040 §9.2.3.15).
pub fn status(octet: u8) -> String {
    let said = match octet {
        0x00 => "delivered to the phone",
        0x01 => "forwarded, delivery not confirmed",
        0x02 => "replaced by the service centre",
        0x20 | 0x60 => "congestion",
        0x21 | 0x61 => "phone busy",
        0x22 | 0x62 => "no response of the phone",
        0x23 | 0x63 => "service rejected",
        0x24 | 0x44 | 0x64 => "quality of service not available",
        0x25 | 0x65 => "error in the phone",
        0x40 => "remote procedure error",
        0x41 => "incompatible destination",
        0x42 => "connection rejected by the phone",
        0x43 => "not obtainable",
        0x45 => "no interworking available",
        0x46 => "validity period expired",
        0x47 => "deleted by the sender",
        0x48 => "deleted by the administration of the service centre",
        0x49 => "the message does not exist",
        0x10..=0x1F | 0x30..=0x3F | 0x50..=0x5F | 0x70..=0x7F => "specific to the service centre",
        _ => "reserved",
    };
    let end = match octet {
        0x00..=0x1F => "completed",
        0x20..=0x3F => "temporary, still tried",
        0x40..=0x5F => "permanent, not tried any more",
        0x60..=0x7F => "temporary, not tried any more",
        _ => return said.to_owned(),
    };
    format!("{said}; {end}")
}

/// TP-FCS (23.040 §9.2.3.22).
pub fn failure_cause(octet: u8) -> &'static str {
    match octet {
        0x80 => "telematic interworking not supported",
        0x81 => "short message type 0 not supported",
        0x82 => "cannot replace the short message",
        0x8F => "unspecified error of TP-PID",
        0x90 => "data coding scheme not supported",
        0x91 => "message class not supported",
        0x9F => "unspecified error of TP-DCS",
        0xA0 => "command cannot be carried out",
        0xA1 => "command not supported",
        0xAF => "unspecified error of the command",
        0xB0 => "TPDU not supported",
        0xC0 => "service centre busy",
        0xC1 => "no subscription at the service centre",
        0xC2 => "failure of the service centre",
        0xC3 => "invalid address",
        0xC4 => "destination barred",
        0xC5 => "rejected as a duplicate",
        0xC6 => "format of the validity period not supported",
        0xC7 => "validity period not supported",
        0xD0 => "storage of the SIM full",
        0xD1 => "no storage in the SIM",
        0xD2 => "error in the phone",
        0xD3 => "memory capacity exceeded",
        0xD4 => "SIM application toolkit busy",
        0xD5 => "error of the data download to the SIM",
        0xE0..=0xFE => "specific to an application",
        0xFF => "unspecified",
        _ => "reserved",
    }
}

/// TP-CT (23.040 §9.2.3.19).
pub fn command_type(octet: u8) -> &'static str {
    match octet {
        0x00 => "enquiry about a message",
        0x01 => "cancel the request for a status report",
        0x02 => "delete a message",
        0x03 => "request a status report",
        0xE0..=0xFF => "specific to the service centre",
        _ => "reserved",
    }
}

/// GMM cause (24.008 §10.5.5.14).
pub fn gmm_cause(octet: u8) -> &'static str {
    match octet {
        0x02 => "IMSI unknown in the HLR",
        0x03 => "illegal phone",
        0x05 => "IMEI not accepted",
        0x06 => "illegal equipment",
        0x07 => "services not allowed",
        0x08 => "no services allowed",
        0x09 => "identity cannot be derived",
        0x0A => "implicitly detached",
        0x0B => "network not allowed",
        0x0C => "location area not allowed",
        0x0D => "roaming not allowed in this location area",
        0x0E => "services not allowed in this network",
        0x0F => "no suitable cells in this location area",
        0x10 => "MSC temporarily not reachable",
        0x11 => "network failure",
        0x14 => "MAC failure",
        0x15 => "synchronisation failure",
        0x16 => "congestion",
        0x17 => "GSM authentication unacceptable",
        0x28 => "no context or transaction",
        0x5F => "semantically incorrect message",
        0x60 => "invalid mandatory information",
        0x61 => "message type non-existent or not implemented",
        0x62 => "message type not compatible with the state of the protocol",
        0x63 => "information element non-existent or not implemented",
        0x64 => "conditional information element error",
        0x65 => "message not compatible with the state of the protocol",
        0x6F => "protocol error, unspecified",
        _ => "no cause known",
    }
}
