//! Elements of a user data header by name (3GPP TS 23.040 §9.2.3.24).

use super::hex;
use super::report::FieldDetail;
use smsc_sms::language::Language;
use smsc_sms::udh::{
    CONCAT_8, CONCAT_16, Element, LOCKING_SHIFT, PORTS_8, PORTS_16, SINGLE_SHIFT, UserDataHeader,
};

/// Each element: its name, its octets, its meaning.
pub fn explain(header: &UserDataHeader) -> Vec<FieldDetail> {
    let element = |element: &Element| {
        FieldDetail::new(
            format!("{:02X} {}", element.id, name(element.id)),
            hex::spaced(&element.data),
            meaning(element),
        )
    };
    header.elements().iter().map(element).collect()
}

fn name(id: u8) -> &'static str {
    match id {
        CONCAT_8 => "concatenation, 8-bit reference",
        0x01 => "special message indication",
        PORTS_8 => "ports, 8 bits",
        PORTS_16 => "ports, 16 bits",
        0x06 => "SMSC control parameters",
        0x07 => "source of the header",
        CONCAT_16 => "concatenation, 16-bit reference",
        0x09 => "wireless control message",
        0x0A => "text formatting",
        0x0B => "predefined sound",
        0x0C => "user-defined sound",
        0x0D => "predefined animation",
        0x0E => "large animation",
        0x0F => "small animation",
        0x10 => "large picture",
        0x11 => "small picture",
        0x12 => "variable picture",
        0x13 => "user prompt indicator",
        0x14 => "extended object",
        0x15 => "reused extended object",
        0x16 => "compression control",
        0x17 => "object distribution indicator",
        0x18 => "standard vector graphics",
        0x19 => "character size vector graphics",
        0x1A => "extended object data request",
        0x20 => "e-mail header",
        0x21 => "hyperlink format",
        0x22 => "reply address",
        0x23 => "enhanced voice mail information",
        SINGLE_SHIFT => "national language, single shift",
        LOCKING_SHIFT => "national language, locking shift",
        0x70..=0x7F => "SIM toolkit security header",
        0x80..=0x9F => "specific to the applications",
        0xC0..=0xDF => "specific to the SMSC",
        _ => "reserved",
    }
}

fn meaning(element: &Element) -> String {
    match (element.id, &element.data[..]) {
        (CONCAT_8, [reference, total, sequence]) => part(u16::from(*reference), *total, *sequence),
        (CONCAT_16, [high, low, total, sequence]) => {
            part(u16::from_be_bytes([*high, *low]), *total, *sequence)
        }
        (PORTS_8, [to, from]) => format!("to {to}, from {from}"),
        (PORTS_16, [to_high, to_low, from_high, from_low]) => {
            let to = u16::from_be_bytes([*to_high, *to_low]);
            let from = u16::from_be_bytes([*from_high, *from_low]);
            format!("to {to}{}, from {from}", application(to))
        }
        (SINGLE_SHIFT | LOCKING_SHIFT, [language]) => match Language::from_identifier(*language) {
            Some(language) => language.to_string(),
            None => "no language known, ignored".to_owned(),
        },
        (0x01, [kind, count]) => {
            let what = match kind & 0x03 {
                0 => "voice messages",
                1 => "faxes",
                2 => "e-mails",
                _ => "others",
            };
            format!("{count} {what} wait")
        }
        (CONCAT_8 | CONCAT_16 | PORTS_8 | PORTS_16 | SINGLE_SHIFT | LOCKING_SHIFT, _) => {
            "of a wrong length, ignored".to_owned()
        }
        _ => String::new(),
    }
}

fn part(reference: u16, total: u8, sequence: u8) -> String {
    if (1..=total).contains(&sequence) {
        format!("part {sequence} of {total}, reference {reference}")
    } else {
        format!("part {sequence} of {total} cannot be, ignored")
    }
}

fn application(port: u16) -> &'static str {
    match port {
        2805 => " (WAP WTA)",
        2948 => " (WAP push)",
        2949 => " (WAP push, secure)",
        5505 => " (ring tone)",
        5506 => " (operator logo)",
        5507 => " (group graphic)",
        5514 => " (multipart message)",
        9200..=9203 => " (WAP)",
        9204 => " (vCard)",
        9205 => " (vCalendar)",
        _ => "",
    }
}
