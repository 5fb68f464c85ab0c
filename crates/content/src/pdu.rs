//! Between the PDUs of SMPP and the message that is stored and handed around: nothing is lost or
//! changed on the way through but times, of which is said what is left.

use bytes::Bytes;

use crate::peer::SHORT_MESSAGE;
use smsc_proto::{Kind, Message};
use smsc_smpp::time::{format_absolute, format_relative, is_standard, parse_time};
use smsc_smpp::{SubmitSm, Tlvs, tag};

/// TLVs that make no sense, or another sense, in the other direction; moiji-mobile's SMSC drops
/// the same ones when a submit_sm is delivered as deliver_sm (SMPP 3.4 §4.4.2 against §4.6.1).
const NOT_IN_DELIVER_SM: &[u16] = &[
    0x0302, 0x0303, // callback_num_pres_ind, _atag
    0x1201, // display_time
    0x1204, // ms_validity
    0x130C, // alert_on_message_delivery
    0x0304, // number_of_messages
    0x1380, // its_reply_type
];

/// A submit_sm (or deliver_sm) as a message; ids, queue and times are set by ingest.
pub fn message_of(pdu: SubmitSm, kind: Kind) -> Message {
    Message {
        kind: kind.into(),
        // Copied, for the octets of a PDU may be all that was read with it.
        service_type: pdu.service_type.to_vec(),
        source_ton: u32::from(pdu.source_addr_ton),
        source_npi: u32::from(pdu.source_addr_npi),
        source: pdu.source_addr,
        dest_ton: u32::from(pdu.dest_addr_ton),
        dest_npi: u32::from(pdu.dest_addr_npi),
        destination: pdu.destination_addr,
        esm_class: u32::from(pdu.esm_class),
        protocol_id: u32::from(pdu.protocol_id),
        priority: u32::from(pdu.priority_flag),
        registered_delivery: u32::from(pdu.registered_delivery),
        replace_if_present: u32::from(pdu.replace_if_present_flag),
        data_coding: u32::from(pdu.data_coding),
        sm_default_msg_id: u32::from(pdu.sm_default_msg_id),
        short_message: pdu.short_message,
        tlvs: pdu.tlvs.raw().clone(),
        schedule_delivery_time: pdu.schedule_delivery_time.to_vec(),
        validity_period: pdu.validity_period.to_vec(),
        ..Message::default()
    }
}

/// The submit_sm that hands a message on to an operator now (Unix milliseconds). Scheduling was ours, so the time is not
/// passed on; what is left of the validity is.
pub fn submit_sm_of(message: &Message, registered_delivery: u8, now: i64) -> SubmitSm {
    let mut pdu = without_times(message, registered_delivery);
    if !message.validity_period.is_empty() {
        pdu.validity_period = validity_left(message, now);
    }
    if !pdu.tlvs.is_empty()
        && let Some(seconds) = time_to_live_left(message, &pdu.tlvs, now)
    {
        pdu.tlvs = pdu.tlvs.without(&[tag::QOS_TIME_TO_LIVE]);
        pdu.tlvs.push(tag::QOS_TIME_TO_LIVE, &seconds.to_be_bytes());
    }
    pdu
}

/// The validity_period of a message that is sent now, in the form that its sender has chosen; nothing if its sender has
/// left that to us. It ends with the message: a relative one would begin anew each time (SMPP 3.4 §7.1.1.2), and one
/// that `validity.max` has cut would go on.
pub fn validity_left(message: &Message, now: i64) -> Bytes {
    let asked = message.validity_period.as_slice();
    if asked.trim_ascii_end().ends_with(b"R") || asked.trim_ascii_end().ends_with(b"r") {
        return format_relative(message.expires_at.saturating_sub(now)).into();
    }
    match parse_time(asked, now) {
        Ok(None) => Bytes::new(),
        Ok(Some(until)) if until == message.expires_at && is_standard(asked) => {
            Bytes::copy_from_slice(asked)
        }
        _ => format_absolute(message.expires_at).into(),
    }
}

/// qos_time_to_live of a message that has one and is sent now: a time from now on, too (SMPP 5.0 §4.8.4.46).
fn time_to_live_left(message: &Message, tlvs: &Tlvs, now: i64) -> Option<u32> {
    let asked = tlvs.get_uint(tag::QOS_TIME_TO_LIVE)?;
    let until = i64::from(asked)
        .saturating_mul(1_000)
        .saturating_add(message.accepted_at)
        .min(message.expires_at);
    let seconds = until.saturating_sub(now).saturating_add(999) / 1_000;
    let left = u32::try_from(seconds.max(1)).unwrap_or(u32::MAX);
    (left < asked).then_some(left)
}

fn without_times(message: &Message, registered_delivery: u8) -> SubmitSm {
    let mut pdu = SubmitSm {
        service_type: Bytes::copy_from_slice(&message.service_type),
        source_addr_ton: octet(message.source_ton),
        source_addr_npi: octet(message.source_npi),
        source_addr: message.source.clone(),
        dest_addr_ton: octet(message.dest_ton),
        dest_addr_npi: octet(message.dest_npi),
        destination_addr: message.destination.clone(),
        esm_class: octet(message.esm_class),
        protocol_id: octet(message.protocol_id),
        priority_flag: octet(message.priority),
        schedule_delivery_time: Bytes::new(),
        validity_period: Bytes::new(),
        registered_delivery,
        replace_if_present_flag: octet(message.replace_if_present),
        data_coding: octet(message.data_coding),
        sm_default_msg_id: octet(message.sm_default_msg_id),
        short_message: message.short_message.clone(),
        tlvs: Tlvs::from_raw(message.tlvs.clone()),
    };
    if pdu.short_message.len() > SHORT_MESSAGE {
        // sm_length of SMPP 5.0 has one more.
        let text = std::mem::take(&mut pdu.short_message);
        pdu.tlvs = pdu.tlvs.without(&[tag::MESSAGE_PAYLOAD]);
        pdu.tlvs.push(tag::MESSAGE_PAYLOAD, &text);
    }
    pdu
}

/// The deliver_sm for an account or a peer: fields that deliver_sm must leave empty are empty
/// (SMPP 3.4 §4.6.1).
pub fn deliver_sm_of(message: &Message) -> SubmitSm {
    let mut pdu = without_times(message, 0);
    pdu.replace_if_present_flag = 0;
    pdu.sm_default_msg_id = 0;
    if !pdu.tlvs.is_empty() {
        pdu.tlvs = pdu.tlvs.without(NOT_IN_DELIVER_SM);
    }
    pdu
}

fn octet(value: u32) -> u8 {
    value.to_le_bytes()[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2023-11-14 22:13:20 UTC.
    const NOW: i64 = 1_700_000_000_000;

    fn left(asked: &str, left_ms: i64) -> String {
        let message = Message {
            validity_period: asked.into(),
            expires_at: NOW + left_ms,
            ..Message::default()
        };
        let told = validity_left(&message, NOW);
        assert!(told.is_empty() || is_standard(&told), "{told:?}");
        String::from_utf8(told.to_vec()).unwrap()
    }

    #[test]
    fn what_is_told_ends_with_the_message() {
        for (asked, left_ms, told) in [
            ("", 40_000, ""),
            ("0000000000000000", 40_000, ""),
            ("000000000040000R", 40_000, "000000000040000R"),
            ("000000000040000R", 39_990, "000000000040000R"),
            ("000000000040000R", 12_300, "000000000013000R"),
            ("000000000040000R", 1, "000000000001000R"),
            ("000000000040000R", -5_000, "000000000001000R"),
            // validity.max was a day.
            ("000002000000000R", 86_400_000, "000001000000000R"),
            ("000100000000000R", i64::MAX - NOW, "000099235959000R"),
            ("0000000001r", 60_000, "000000000100000R"),
            // As it was written, in whatever zone.
            ("231115034400022+", 60_000, "231114221420000+"),
            ("231115034420022+", 60_000, "231115034420022+"),
            ("231116034420022+", 60_000, "231114221420000+"),
            // 12 digits, two for the tenths, and 14 hours ahead.
            ("231114221420", 60_000, "231114221420000+"),
            ("2311142214200000+", 60_000, "231114221420000+"),
            ("231115121420056+", 60_000, "231114221420000+"),
        ] {
            assert_eq!(left(asked, left_ms), told, "{asked}");
        }
    }

    #[test]
    fn a_time_to_live_is_what_is_left_of_it() {
        for (asked, waited_ms, left) in [
            (256_u32, 0, Some(256)),
            (256, 900, Some(256)),
            (256, 1_000, Some(255)),
            (256, 300_000, Some(1)),
            (86_400, 0, Some(3_600)),
        ] {
            let mut tlvs = Tlvs::default();
            tlvs.push(tag::QOS_TIME_TO_LIVE, &asked.to_be_bytes());
            let message = Message {
                accepted_at: NOW,
                expires_at: NOW + 3_600_000,
                tlvs: tlvs.raw().clone(),
                ..Message::default()
            };
            let pdu = submit_sm_of(&message, 0, NOW + waited_ms);
            let told = pdu.tlvs.get_uint(tag::QOS_TIME_TO_LIVE);
            assert_eq!(told, left, "{asked} after {waited_ms} ms");
            let deliver = deliver_sm_of(&message);
            assert_eq!(deliver.validity_period, "");
        }
    }
}
