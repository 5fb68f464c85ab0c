//! Optional parameters: names, values, what they mean (SMPP 3.4 §5.3, 5.0 §4.8.4).

use bytes::Bytes;

use super::bits::{message_state, npi, smpp_version, ton};
use super::hex;
use super::reader::{MessageText, PduReader, Stop, shown};
use super::report::DecodedField;
use smsc_smpp::tag;

/// Octets of tag and length.
const HEAD: usize = 4;

/// Reads parameters to the end of the PDU.
pub fn read(reader: &mut PduReader) -> Result<(), Stop> {
    while reader.left() > 0 {
        let at = reader.position();
        if reader.left() < HEAD {
            let text = format!(
                "left in the PDU: {}; a parameter begins with 4 octets, its tag and its length",
                reader.left()
            );
            return Err(Stop::at(at, "optional parameter", text));
        }
        let head = reader.peek(HEAD);
        let tag = u16::from_be_bytes([head[0], head[1]]);
        let length = usize::from(u16::from_be_bytes([head[2], head[3]]));
        let name = name(tag);
        let follow = reader.left() - HEAD;
        if length > follow {
            let text = format!("its length is {length}; left in the PDU: {follow}");
            return Err(Stop::at(at, &name, text));
        }
        let value = reader.take(&name, HEAD + length)?.slice(HEAD..);
        let mut field = DecodedField::hex(at, &name, &value);
        field.octets += HEAD;
        fill(&mut field, tag, &value);
        reader.note(field);
        if let Some((shortest, longest)) = tag::lengths(tag)
            && !(shortest..=longest).contains(&length)
        {
            let allowed = if shortest == longest {
                shortest.to_string()
            } else {
                format!("{shortest} to {longest}")
            };
            reader.problem(
                at,
                &name,
                format!(
                    "{}; the standard says {allowed}",
                    hex::counted(length, "octet")
                ),
            );
        }
        if tag == tag::MESSAGE_PAYLOAD && reader.message.is_none() && !value.is_empty() {
            let at = at + HEAD;
            reader.message = Some(MessageText { at, octets: value });
        }
    }
    Ok(())
}

fn name(tag: u16) -> String {
    match (tag::name(tag), tag) {
        (Some(name), _) => name.to_ascii_lowercase(),
        (None, 0x1400..=0x3FFF) => format!("vendor's parameter 0x{tag:04X}"),
        (None, _) => format!("unknown parameter 0x{tag:04X}"),
    }
}

/// Value and meaning, where they are more than octets.
fn fill(field: &mut DecodedField, tag: u16, value: &Bytes) {
    match (tag, &value[..]) {
        (tag::MESSAGE_PAYLOAD, octets) => field.shown = hex::counted(octets.len(), "octet"),
        (
            tag::RECEIPTED_MESSAGE_ID | tag::ADDITIONAL_STATUS_INFO_TEXT | tag::BROADCAST_END_TIME,
            octets,
        ) => {
            let end = octets.iter().position(|octet| *octet == 0);
            field.set_string(&shown(&octets[..end.unwrap_or(octets.len())]));
        }
        (tag::NETWORK_ERROR_CODE, [network, high, low]) => {
            let code = u16::from_be_bytes([*high, *low]);
            field.meaning = format!("{}, error {code}", network_type(*network));
        }
        (tag::CALLBACK_NUM, [mode, number_type, plan, digits @ ..]) => {
            let mode = if *mode == 0 { "DTMF" } else { "ASCII" };
            let (number_type, plan) = (ton(*number_type), npi(*plan));
            field.meaning = format!("{}, {mode}, {number_type}, {plan}", shown(digits));
        }
        (tag::SOURCE_SUBADDRESS | tag::DEST_SUBADDRESS, [kind, address @ ..]) => {
            let kind = match kind {
                0x80 => "NSAP (even)",
                0x88 => "NSAP (odd)",
                0xA0 => "user specified",
                _ => "reserved",
            };
            field.meaning = format!("{kind}, {}", shown(address));
        }
        (tag::ITS_SESSION_INFO, [session, rest]) => {
            let end = if rest & 1 == 0 { "" } else { ", the last" };
            field.meaning = format!("session {session}, number {}{end}", rest >> 1);
        }
        (_, [octet]) if tag::name(tag).is_some() => {
            field.set_number(u32::from(*octet));
            field.meaning = octet_meaning(tag, *octet);
        }
        (_, [high, low]) if tag::lengths(tag) == Some((2, 2)) => {
            field.set_number(u32::from(u16::from_be_bytes([*high, *low])));
        }
        (tag::QOS_TIME_TO_LIVE, [a, b, c, d]) => {
            field.set_number(u32::from_be_bytes([*a, *b, *c, *d]));
            field.meaning = "seconds".to_owned();
        }
        (_, octets) if tag::name(tag).is_none() && is_text(octets) => {
            field.meaning = format!("as text \"{}\"", shown(octets));
        }
        _ => {}
    }
}

fn is_text(octets: &[u8]) -> bool {
    octets.len() > 1 && octets.iter().all(|octet| matches!(octet, b' '..=b'~'))
}

/// What a parameter of one octet says.
fn octet_meaning(tag: u16, octet: u8) -> String {
    let said = match tag {
        tag::MESSAGE_STATE => return message_state(octet),
        tag::SC_INTERFACE_VERSION => smpp_version(octet).unwrap_or_default(),
        tag::LANGUAGE_INDICATOR => match octet {
            0 => "unspecified",
            1 => "English",
            2 => "French",
            3 => "Spanish",
            4 => "German",
            5 => "Portuguese",
            _ => "",
        },
        tag::CONGESTION_STATE => match octet {
            0 => "idle",
            1..=29 => "low load",
            30..=49 => "medium load",
            50..=79 => "high load",
            80..=89 => "optimum load",
            90..=99 => "nearing congestion",
            100 => "congested",
            _ => "reserved",
        },
        tag::USSD_SERVICE_OP => match octet {
            0 => "PSSD indication",
            1 => "PSSR indication",
            2 => "USSR request",
            3 => "USSN request",
            16 => "PSSD response",
            17 => "PSSR response",
            18 => "USSR confirm",
            19 => "USSN confirm",
            _ => "reserved",
        },
        tag::MS_MSG_WAIT_FACILITIES => {
            let what = match octet & 0x03 {
                0 => "voice mail",
                1 => "fax",
                2 => "e-mail",
                _ => "other",
            };
            let active = if octet & 0x80 == 0 {
                "inactive"
            } else {
                "active"
            };
            return format!("{what}, {active}");
        }
        _ => match octet_names(tag) {
            [] => "",
            names => names.get(usize::from(octet)).copied().unwrap_or("reserved"),
        },
    };
    said.to_owned()
}

/// What the values of a parameter of one octet mean, from 0; others are reserved. Empty for one without such a list.
fn octet_names(tag: u16) -> &'static [&'static str] {
    match tag {
        tag::DEST_ADDR_SUBUNIT | tag::SOURCE_ADDR_SUBUNIT => &[
            "unknown",
            "display of the phone (flash)",
            "phone",
            "SIM",
            "external unit",
        ],
        tag::DEST_NETWORK_TYPE | tag::SOURCE_NETWORK_TYPE => &[
            "unknown",
            "GSM",
            "ANSI-136, TDMA",
            "IS-95, CDMA",
            "PDC",
            "PHS",
            "iDEN",
            "AMPS",
            "paging network",
        ],
        tag::DEST_BEARER_TYPE | tag::SOURCE_BEARER_TYPE => &[
            "unknown",
            "SMS",
            "circuit switched data",
            "packet data",
            "USSD",
            "CDPD",
            "DataTAC",
            "FLEX, ReFLEX",
            "cell broadcast",
        ],
        tag::PAYLOAD_TYPE => &["default", "WCMP"],
        tag::PRIVACY_INDICATOR => &["not restricted", "restricted", "confidential", "secret"],
        tag::MS_AVAILABILITY_STATUS => &["available", "denied (switched off)", "unavailable"],
        tag::DELIVERY_FAILURE_REASON => &[
            "destination unavailable",
            "destination address invalid",
            "permanent network error",
            "temporary network error",
        ],
        tag::MORE_MESSAGES_TO_SEND => &["no more messages", "more messages follow"],
        tag::DPF_RESULT => &["delivery pending flag not set", "delivery pending flag set"],
        tag::SET_DPF => &[
            "do not set the delivery pending flag",
            "set the delivery pending flag if it fails",
        ],
        _ => &[],
    }
}

fn network_type(octet: u8) -> &'static str {
    match octet {
        1 => "ANSI-136",
        2 => "IS-95",
        3 => "GSM",
        4 => "ANSI-136 cause",
        5 => "IS-95 cause",
        6 => "ANSI-41 error",
        7 => "SMPP error",
        8 => "message centre specific",
        _ => "unknown network",
    }
}
