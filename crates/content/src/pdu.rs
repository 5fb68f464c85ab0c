//! Between the PDUs of SMPP and the message that is stored and handed around: nothing is lost or
//! changed on the way through.

use bytes::Bytes;

use smsc_proto::{Kind, Message};
use smsc_smpp::time::{format_absolute, is_standard};
use smsc_smpp::{SubmitSm, Tlvs};

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

/// The submit_sm that hands a message on to an operator. Scheduling was ours, so the time is not
/// passed on; the validity is.
pub fn submit_sm_of(message: &Message, registered_delivery: u8) -> SubmitSm {
    SubmitSm {
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
        validity_period: validity_of(message),
        registered_delivery,
        replace_if_present_flag: octet(message.replace_if_present),
        data_coding: octet(message.data_coding),
        sm_default_msg_id: octet(message.sm_default_msg_id),
        short_message: message.short_message.clone(),
        tlvs: Tlvs::from_raw(message.tlvs.clone()),
    }
}

/// validity_period as the standard has it: what an earlier release took may have another form.
fn validity_of(message: &Message) -> Bytes {
    let given = &message.validity_period;
    match given.is_empty() || is_standard(given) {
        true => Bytes::copy_from_slice(given),
        false if message.expires_at > 0 => format_absolute(message.expires_at).into(),
        false => Bytes::new(),
    }
}

/// The deliver_sm for an account or a peer: fields that deliver_sm must leave empty are empty
/// (SMPP 3.4 §4.6.1).
pub fn deliver_sm_of(message: &Message) -> SubmitSm {
    let mut pdu = submit_sm_of(message, 0);
    pdu.validity_period = Bytes::new();
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
