//! What single octets of SMPP mean, by name and bit by bit (SMPP 3.4 §5.2, 5.0 §4.7).
//!
//! Called for every integer field of a PDU, and for those of a TPDU that mean the same.

use super::report::FieldDetail;
use smsc_domain::state::{self, ENROUTE, UNKNOWN};
use smsc_smpp::receipt::{SCHEDULED, SKIPPED, state_word};
use smsc_sms::coding::{Charset, DataCodingScheme, Indication, WaitingIndication};

/// What a value is, and its groups of bits where it has some.
pub type ValueMeaning = (String, Vec<FieldDetail>);

/// How an octet is explained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OctetMeaning {
    /// A number that is only a number.
    Number,
    Ton,
    Npi,
    /// Of a message towards the SMSC.
    EsmClass,
    /// Of a message towards the ESME.
    EsmClassDelivered,
    ProtocolId,
    Priority,
    RegisteredDelivery,
    Replace,
    DataCoding,
    InterfaceVersion,
    MessageState,
}

// === impl OctetMeaning ===

impl OctetMeaning {
    /// What the octet means.
    pub fn octet(self, octet: u8) -> ValueMeaning {
        let plain = |name: &str| (name.to_owned(), Vec::new());
        match self {
            OctetMeaning::Number => plain(""),
            OctetMeaning::Ton => plain(ton(octet)),
            OctetMeaning::Npi => plain(npi(octet)),
            OctetMeaning::EsmClass => esm_class(octet, false),
            OctetMeaning::EsmClassDelivered => esm_class(octet, true),
            OctetMeaning::ProtocolId => plain(protocol_id(octet)),
            OctetMeaning::Priority => plain(match octet {
                0 => "lowest, not a priority message",
                1 => "priority",
                2 => "urgent",
                3 => "highest",
                _ => "reserved",
            }),
            OctetMeaning::RegisteredDelivery => registered_delivery(octet),
            OctetMeaning::Replace => plain(match octet {
                0 => "a message of its own",
                1 => "replaces a waiting one of the same addresses and service_type",
                _ => "reserved",
            }),
            OctetMeaning::DataCoding => data_coding(octet),
            OctetMeaning::InterfaceVersion => {
                plain(smpp_version(octet).unwrap_or("no version known"))
            }
            OctetMeaning::MessageState => (message_state(octet), Vec::new()),
        }
    }

    /// Whether people write this octet in hexadecimal.
    pub fn is_hexadecimal(self) -> bool {
        matches!(
            self,
            OctetMeaning::EsmClass
                | OctetMeaning::EsmClassDelivered
                | OctetMeaning::ProtocolId
                | OctetMeaning::RegisteredDelivery
                | OctetMeaning::DataCoding
                | OctetMeaning::InterfaceVersion
        )
    }
}

/// Type of number (§5.2.5).
pub fn ton(octet: u8) -> &'static str {
    match octet {
        0 => "unknown",
        1 => "international",
        2 => "national",
        3 => "network specific",
        4 => "subscriber number",
        5 => "alphanumeric",
        6 => "abbreviated",
        _ => "reserved",
    }
}

/// Numbering plan (§5.2.6).
pub fn npi(octet: u8) -> &'static str {
    match octet {
        0 => "unknown",
        1 => "ISDN (E.164)",
        3 => "data (X.121)",
        4 => "telex (F.69)",
        6 => "land mobile (E.212)",
        8 => "national",
        9 => "private",
        10 => "ERMES",
        14 => "internet (IP)",
        18 => "WAP client id",
        _ => "reserved",
    }
}

/// message_state (§5.2.28, 5.0 §4.7.15).
pub fn message_state(octet: u8) -> String {
    match octet {
        SCHEDULED | SKIPPED => state_word(octet).to_owned(),
        // UNKNOWN ends a message of ours; another SMSC may still learn more.
        ENROUTE | UNKNOWN => state::name(octet).to_owned(),
        _ if state::is_final(octet) => format!("{}, final", state::name(octet)),
        _ => "no state known".to_owned(),
    }
}

/// interface_version and sc_interface_version (§5.2.4, §5.3.2.25); `None` for no version known.
pub fn smpp_version(octet: u8) -> Option<&'static str> {
    match octet {
        0x00..=0x33 => Some("SMPP 3.3 or older"),
        0x34 => Some("SMPP 3.4"),
        0x50 => Some("SMPP 5.0"),
        _ => None,
    }
}

/// `bits 3-2`, `01`, what that means.
pub fn bits(octet: u8, high: u8, low: u8, meaning: &str) -> FieldDetail {
    let width = usize::from(high - low) + 1;
    let value = (octet >> low) & (0xFF >> (7 - (high - low)));
    let name = if high == low {
        format!("bit {high}")
    } else {
        format!("bits {high}-{low}")
    };
    FieldDetail::new(name, format!("{value:0width$b}"), meaning)
}

fn esm_class(octet: u8, delivered: bool) -> ValueMeaning {
    let mode = match (delivered, octet & 0x03) {
        (true, _) => "not used towards an ESME",
        (false, 0) => "default mode of the SMSC",
        (false, 1) => "datagram mode",
        (false, 2) => "transaction (forward) mode",
        (false, _) => "store and forward mode",
    };
    let kind = match ((octet >> 2) & 0x0F, delivered) {
        (0b0000, _) => "an ordinary message",
        (0b0001, true) => "a delivery receipt of the SMSC",
        (0b0010, _) => "a delivery acknowledgement",
        (0b0100, _) => "a manual acknowledgement of the user",
        (0b0110, true) => "the end of a conversation (KCC)",
        (0b1000, true) => "an intermediate notification",
        _ => "reserved",
    };
    let features = match octet >> 6 {
        0 => "neither header nor reply path",
        1 => "the text begins with a user data header (UDHI)",
        2 => "reply path",
        _ => "the text begins with a user data header (UDHI), and reply path",
    };
    let details = vec![
        bits(octet, 7, 6, features),
        bits(octet, 5, 2, kind),
        bits(octet, 1, 0, mode),
    ];
    let summary = match octet {
        0 => "an ordinary message".to_owned(),
        _ => {
            let mut said = vec![kind];
            said.extend((octet & 0x40 != 0).then_some("with a header"));
            said.extend((octet & 0x80 != 0).then_some("with reply path"));
            said.join(", ")
        }
    };
    (summary, details)
}

fn registered_delivery(octet: u8) -> ValueMeaning {
    let receipt = match octet & 0x03 {
        0 => "no receipt",
        1 => "a receipt of success or failure",
        2 => "a receipt of failure only",
        _ => "a receipt of success only (5.0)",
    };
    let acknowledgement = match (octet >> 2) & 0x03 {
        0 => "no acknowledgement of the recipient",
        1 => "a delivery acknowledgement",
        2 => "a manual acknowledgement",
        _ => "a delivery and a manual acknowledgement",
    };
    let intermediate = match octet & 0x10 {
        0 => "no intermediate notification",
        _ => "an intermediate notification",
    };
    let mut details = vec![
        bits(octet, 4, 4, intermediate),
        bits(octet, 3, 2, acknowledgement),
        bits(octet, 1, 0, receipt),
    ];
    if octet & 0xE0 != 0 {
        details.insert(0, bits(octet, 7, 5, "reserved"));
    }
    (receipt.to_owned(), details)
}

/// TP-PID (3GPP TS 23.040 §9.2.3.9).
pub fn protocol_id(octet: u8) -> &'static str {
    match octet {
        0x00 => "no interworking",
        0x01..=0x1F => "SME to SME protocol",
        0x20..=0x3F => "telematic interworking",
        0x40 => "short message type 0: acknowledged, not shown",
        0x41..=0x47 => "replaces the stored message of this type",
        0x48 => "device triggering",
        0x5E => "enhanced message service (obsolete)",
        0x5F => "return call message",
        0x7C => "ANSI-136 R-DATA",
        0x7D => "data download to the phone",
        0x7E => "de-personalization of the phone",
        0x7F => "data download to the SIM",
        0xC0..=0xFF => "specific to the SMSC",
        _ => "reserved",
    }
}

/// Below 0x10 the values are SMPP's (§5.2.19), above the groups of 3GPP TS 23.038 §4.
fn data_coding(octet: u8) -> ValueMeaning {
    let own = match octet {
        0 => "the SMSC's default alphabet",
        1 => "ASCII (IA5)",
        2 => "8-bit data (TDMA, CDMA)",
        3 => "Latin-1 (ISO 8859-1)",
        4 => "8-bit data",
        5 => "JIS (X 0208)",
        6 => "Cyrillic (ISO 8859-5)",
        7 => "Latin and Hebrew (ISO 8859-8)",
        8 => "UCS-2",
        9 => "pictograms",
        10 => "music codes (ISO 2022-JP)",
        13 => "extended Kanji (JIS X 0212)",
        14 => "Korean (KS C 5601)",
        11 | 12 | 15 => "reserved",
        _ => return group(octet),
    };
    (own.to_owned(), Vec::new())
}

/// A data coding scheme of 3GPP TS 23.038 §4.
pub fn group(octet: u8) -> ValueMeaning {
    let dcs = DataCodingScheme::parse(octet);
    let charset = match dcs.charset {
        Charset::Gsm7 => "the default alphabet",
        Charset::Octets => "8-bit data",
        Charset::Ucs2 => "UCS-2",
    };
    let class = match octet & 0x03 {
        0 => "class 0: shown at once (flash)",
        1 => "class 1: for the phone",
        2 => "class 2: for the SIM",
        _ => "class 3: for connected equipment",
    };
    let mut summary = vec![charset.to_owned()];
    summary.extend(dcs.class.map(|class| match class {
        0 => "class 0 (flash)".to_owned(),
        other => format!("class {other}"),
    }));
    summary.extend(dcs.compressed.then(|| "compressed".to_owned()));
    summary.extend(dcs.auto_delete.then(|| "deleted after reading".to_owned()));
    let details = match octet >> 4 {
        0x0..=0x7 => general_group(octet, charset, class),
        0x8..=0xB => {
            return (
                "reserved".to_owned(),
                vec![bits(octet, 7, 4, "reserved group")],
            );
        }
        0xC..=0xE => {
            let waiting = dcs.waiting.map(what_waits).unwrap_or_default();
            summary.push(waiting.clone());
            waiting_group(octet, &waiting)
        }
        _ => vec![
            bits(octet, 7, 4, "data coding and class"),
            bits(octet, 3, 3, "reserved"),
            bits(octet, 2, 2, charset),
            bits(octet, 1, 0, class),
        ],
    };
    (summary.join(", "), details)
}

fn general_group(octet: u8, charset: &str, class: &str) -> Vec<FieldDetail> {
    let kind = match octet & 0x40 {
        0 => "general group",
        _ => "general group, deleted after reading",
    };
    let compressed = match octet & 0x20 {
        0 => "uncompressed",
        _ => "compressed",
    };
    let (has_class, class) = match octet & 0x10 {
        0 => ("bits 1-0 mean nothing", ""),
        _ => ("bits 1-0 are a class", class),
    };
    let alphabet = match octet & 0x0C {
        0x0C => "reserved, read as the default alphabet",
        _ => charset,
    };
    vec![
        bits(octet, 7, 6, kind),
        bits(octet, 5, 5, compressed),
        bits(octet, 4, 4, has_class),
        bits(octet, 3, 2, alphabet),
        bits(octet, 1, 0, class),
    ]
}

fn what_waits(waiting: WaitingIndication) -> String {
    let what = match waiting.indication {
        Indication::Voicemail => "voice mail",
        Indication::Fax => "a fax",
        Indication::Email => "e-mail",
        Indication::Other => "something else",
    };
    if waiting.active {
        format!("{what} waits")
    } else {
        format!("no {what} waits any more").replace("no a ", "no ")
    }
}

fn waiting_group(octet: u8, waiting: &str) -> Vec<FieldDetail> {
    let kind = match octet >> 4 {
        0xC => "message waiting, the text may be discarded",
        0xD => "message waiting, the text is stored",
        _ => "message waiting, the text is stored, UCS-2",
    };
    let active = match octet & 0x08 {
        0 => "inactive",
        _ => "active",
    };
    vec![
        bits(octet, 7, 4, kind),
        bits(octet, 3, 3, active),
        bits(octet, 2, 2, "reserved"),
        bits(octet, 1, 0, waiting),
    ]
}
