//! TPDUs as messages: the fields of SMPP that policies, routes and search read, beside the TPDU as it came
//! (3GPP TS 23.040 §9.2.2.1, §9.2.2.2).
//!
//! Called by the interface of a GSM core for what phones submit, and for what other service centres deliver. The
//! message has neither id nor queue nor times: Ingest gives it these, as to any other.

use bytes::Bytes;

use super::{REPLY_PATH, address, times};
use crate::UDHI;
use crate::compose::set_times;
use crate::peer::SHORT_MESSAGE;
use smsc_domain::rewrite::TypedAddress;
use smsc_proto::{Kind, Message, PayloadKind};
use smsc_smpp::{Tlvs, tag};
use smsc_sms::DataCodingScheme;
use smsc_sms::tpdu::field::FieldFault;
use smsc_sms::tpdu::{self, Deliver, SmsSubmit, Tpdu, UserData};

/// registered_delivery: a receipt for the final state, whichever (SMPP 3.4 §5.2.17).
const RECEIPT: u32 = 0x01;
/// Below this, data_coding has values of SMPP; above, those of TP-DCS, less the reserved ones (SMPP 3.4 §5.2.19).
const OF_DCS: u8 = 0x10;
const RESERVED_FROM: u8 = 0x80;
const RESERVED_TO: u8 = 0xBF;

/// The message that a phone submits with an SMS-SUBMIT, and the SMS-SUBMIT. `msisdn` is the phone's number in
/// international form.
///
/// TP-SRR asks for a receipt, TP-VP is the validity, TP-MR the user_message_reference. TP-RD and the single shot of an
/// enhanced validity period have no field of SMPP: whoever heeds them finds them in the SMS-SUBMIT.
///
/// # Errors
/// The first field that cannot be read.
pub fn submitted(
    octets: &Bytes,
    msisdn: &str,
    now: i64,
) -> Result<(Message, SmsSubmit), FieldFault> {
    let submit = match tpdu::decode(tpdu::TpduKind::Submit, octets)? {
        Tpdu::Submit(submit) => submit,
        // It has one type only.
        _ => SmsSubmit::default(),
    };
    let from = address::of_subscriber(msisdn);
    let to = address::of_tpdu(&submit.destination_address);
    let mut message = Message {
        kind: Kind::Mt.into(),
        payload_kind: PayloadKind::SmsSubmit.into(),
        tpdu: octets.to_vec(),
        protocol_id: submit.protocol_identifier.into(),
        registered_delivery: if submit.status_report_request {
            RECEIPT
        } else {
            0
        },
        ..between(from, to, submit.reply_path)
    };
    carry(&submit.user_data, submit.data_coding, &mut message);
    let mut tlvs = Tlvs::from_raw(std::mem::take(&mut message.tlvs));
    tlvs.push(
        tag::USER_MESSAGE_REFERENCE,
        &u16::from(submit.message_reference).to_be_bytes(),
    );
    message.tlvs = tlvs.raw().clone();
    set_times(
        &mut message,
        None,
        times::valid_until(&submit.validity, now),
    );
    Ok((message, submit))
}

/// The message that another service centre brings with an SMS-DELIVER, and the SMS-DELIVER. `msisdn` is the number that
/// it is for, in international form.
///
/// # Errors
/// The first field that cannot be read.
pub fn delivered(octets: &Bytes, msisdn: &str) -> Result<(Message, Deliver), FieldFault> {
    let deliver = match tpdu::decode(tpdu::TpduKind::Deliver, octets)? {
        Tpdu::Deliver(deliver) => deliver,
        // It has one type only.
        _ => Deliver::default(),
    };
    let from = address::of_tpdu(&deliver.originating_address);
    let to = address::of_subscriber(msisdn);
    let mut message = Message {
        kind: Kind::Mo.into(),
        payload_kind: PayloadKind::SmsDeliver.into(),
        tpdu: octets.to_vec(),
        protocol_id: deliver.protocol_identifier.into(),
        ..between(from, to, deliver.reply_path)
    };
    carry(&deliver.user_data, deliver.data_coding, &mut message);
    Ok((message, deliver))
}

fn between(from: TypedAddress, to: TypedAddress, reply_path: bool) -> Message {
    Message {
        source_ton: from.ton.into(),
        source_npi: from.npi.into(),
        source: from.digits,
        dest_ton: to.ton.into(),
        dest_npi: to.npi.into(),
        destination: to.digits,
        esm_class: if reply_path { REPLY_PATH } else { 0 },
        ..Message::default()
    }
}

/// Puts user data into a message: the header as it is, septets one in each octet.
fn carry(user_data: &UserData, dcs: u8, message: &mut Message) {
    message.data_coding = data_coding_of(dcs).into();
    let mut octets = user_data.header.encode();
    if !octets.is_empty() {
        message.esm_class |= UDHI;
    }
    octets.extend_from_slice(&user_data.body);
    if octets.len() <= SHORT_MESSAGE {
        message.short_message = octets.into();
        return;
    }
    // More than a TPDU may have, yet it could be read.
    let mut tlvs = Tlvs::default();
    tlvs.push(tag::MESSAGE_PAYLOAD, &octets);
    message.tlvs = tlvs.raw().clone();
}

/// The data_coding that means what a TP-DCS means. Values below 0x10 are SMPP's own there; reserved ones are the default
/// alphabet to a receiver (3GPP TS 23.038 §4).
fn data_coding_of(dcs: u8) -> u8 {
    match dcs {
        0..OF_DCS | RESERVED_FROM..=RESERVED_TO => {
            DataCodingScheme::parse(dcs).coding().data_coding()
        }
        grouped => grouped,
    }
}
