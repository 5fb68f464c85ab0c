//! Messages of a client in the terms of SMPP, and what it is brought in those of CMPP: called by [`super::client`] and
//! [`super::requests`]. Pure.

use bytes::Bytes;
use jiff::Timestamp;

use super::numbers::msg_id_of;
use crate::actors::receipts::shown_id;
use crate::actors::session::smpp_terms::{carrying, china, esm_class};
use crate::carrier::fields::{Content, Tail, Text, Varying};
use crate::carrier::link_id::{link_id, push_link_id};
use crate::carrier::outcome::Outcome;
use crate::carrier::text::{self, Format};
use crate::cmpp::bodies::{Deliver, Submit};
use crate::cmpp::{Cmpp, Report};
use crate::domain::address::{is_digits, plain};
use crate::domain::id;
use crate::smpp::receipt::{self, Extracted};
use crate::smpp::{CommandStatus, DestAddress, SubmitSm};
use crate::sms::coding::{DataCoding, coding};

/// Octets of a time (CMPP §8.4.3.1, SMPP 3.4 §7.1.1).
const TIME: usize = 16;
/// registered_delivery: a receipt of the final state.
const RECEIPT: u8 = 1;
/// What a report says when and until: YYMMDDhhmm.
const MINUTES: &str = "%y%m%d%H%M";

/// The recipients of a CMPP_SUBMIT, and what is there and is no number: to anything else nothing can be sent, whatever
/// routes say of names.
pub(super) fn recipients_of(submit: &mut Submit) -> (usize, Vec<Bytes>) {
    let recipients = &mut submit.dest_terminal_id.0;
    let is_wrong = |recipient: &mut Bytes| !is_digits(&plain(recipient));
    let wrong = recipients.extract_if(.., is_wrong).collect();
    (recipients.len(), wrong)
}

/// Whether the text is in UCS-2 and ends in the middle of a character.
pub(super) fn is_cut(submit: &Submit) -> bool {
    let content = &submit.msg_content.0;
    let header = match content.first() {
        Some(length) if submit.tp_udhi & 1 != 0 => usize::from(*length) + 1,
        _ => 0,
    };
    submit.msg_fmt == Format::Ucs2 as u8 && content.len().saturating_sub(header) % 2 == 1
}

/// What a CMPP_SUBMIT of this version asks for, and its recipients if it has several.
pub(super) fn submission_of(submit: Submit, version: Cmpp) -> (Box<SubmitSm>, Vec<DestAddress>) {
    let has_header = submit.tp_udhi & 1 != 0;
    let content = submit.msg_content.0;
    let (data_coding, content) = text::for_smpp(submit.msg_fmt, content, has_header);
    let time = |time: Text<17>| match time.0.len() {
        // Anything else is refused as it is.
        0 | TIME => time.0,
        _ => Bytes::from_static(b"?"),
    };
    let mut message = SubmitSm {
        source_addr: submit.src_id.0,
        esm_class: esm_class(has_header),
        protocol_id: submit.tp_pid,
        schedule_delivery_time: time(submit.at_time),
        validity_period: time(submit.valid_time),
        registered_delivery: match submit.registered_delivery {
            1 => RECEIPT,
            _ => 0,
        },
        data_coding,
        ..SubmitSm::default()
    };
    // What 2.0 has in its place is reserved.
    if version == Cmpp::V30 {
        push_link_id(&mut message.tlvs, &submit.link_id.0);
    }
    let mut message = carrying(message, content);
    let mut recipients = submit.dest_terminal_id.0;
    if recipients.len() == 1 {
        message.destination_addr = recipients.remove(0);
    }
    let recipients = recipients.into_iter().map(|number| DestAddress::Sme {
        dest_addr_ton: 0,
        dest_addr_npi: 0,
        destination_addr: number,
    });
    (Box::new(message), recipients.collect())
}

/// What a deliver_sm of the session is to the client: a report, a message of a handset, or nothing that CMPP knows.
/// `number`: of the message.
pub(super) fn deliver_of(
    message: &SubmitSm,
    number: u64,
    version: Cmpp,
    now_ms: i64,
) -> Option<Deliver> {
    if !receipt::is_receipt(message) {
        return Some(Deliver {
            msg_id: msg_id_of(number),
            dest_id: Text(message.destination_addr.clone()),
            tp_pid: message.protocol_id,
            tp_udhi: u8::from(message.esm_class & esm_class(true) != 0),
            msg_fmt: format_of(message.data_coding),
            src_terminal_id: Varying(message.source_addr.clone()),
            msg_content: Content(message.payload()),
            link_id: match version {
                Cmpp::V20 => Tail::default(),
                Cmpp::V30 => Tail(link_id(message)),
            },
            ..Deliver::default()
        });
    }
    let said = receipt::extract(message, now_ms).filter(|said| !said.intermediate)?;
    let of = match shown_id::parse_short(&said.message_id) {
        // Of a message that the account has submitted by SMPP 3.3.
        Some(_) => number,
        None => shown_id::parse(&said.message_id)?,
    };
    let report = report_of(&said, of, message.source_addr.clone());
    let recipient = message.source_addr.clone();
    reporting(
        number,
        &report,
        message.destination_addr.clone(),
        recipient,
        version,
    )
}

/// Msg_Fmt for a data_coding; the session has written its default alphabet as ASCII.
fn format_of(data_coding: u8) -> u8 {
    match coding(data_coding) {
        DataCoding::Default | DataCoding::Ascii => Format::Ascii as u8,
        DataCoding::Ucs2 => Format::Ucs2 as u8,
        DataCoding::Octets => Format::Binary as u8,
        _ => data_coding,
    }
}

/// A CMPP_DELIVER with this report; `None` if one of its fields does not fit.
fn reporting(
    number: u64,
    report: &Report,
    sender: Bytes,
    recipient: Bytes,
    version: Cmpp,
) -> Option<Deliver> {
    Some(Deliver {
        msg_id: msg_id_of(number),
        dest_id: Text(sender),
        src_terminal_id: Varying(recipient),
        registered_delivery: 1,
        msg_content: Content(report.encode(version).ok()?),
        ..Deliver::default()
    })
}

/// What became of the message with this number.
fn report_of(said: &Extracted, number: u64, recipient: Bytes) -> Report {
    Report {
        msg_id: msg_id_of(number),
        stat: Text(word_of(said.state, &said.error)),
        submit_time: minutes(id::millis(number)),
        done_time: minutes(said.done_at_ms),
        dest_terminal_id: Varying(recipient),
        smsc_sequence: 0,
    }
}

/// The report of a recipient that was refused while others of its CMPP_SUBMIT were accepted.
pub(super) fn refusal_of(
    number: u64,
    sender: Bytes,
    recipient: Bytes,
    version: Cmpp,
    now_ms: i64,
) -> Option<Deliver> {
    let said = Extracted {
        state: Outcome::Rejected as u8,
        done_at_ms: now_ms,
        ..Extracted::default()
    };
    let report = report_of(&said, number, recipient.clone());
    reporting(number, &report, sender, recipient, version)
}

/// The word of a report: that of the state, or the code of a gateway further on, as MB:0069, which reached us without
/// its colon.
fn word_of(state: u8, error: &[u8]) -> Bytes {
    if let [first, second, digits @ ..] = error
        && state == Outcome::Undeliverable as u8
        && digits.len() == 4
        && digits.iter().all(u8::is_ascii_digit)
        && [first, second]
            .iter()
            .all(|letter| letter.is_ascii_uppercase())
    {
        return [&[*first, *second, b':'], digits].concat().into();
    }
    Bytes::from_static(receipt::state_word(state).as_bytes())
}

/// A time in China as YYMMDDhhmm.
fn minutes(ms: i64) -> Text<10> {
    let at = Timestamp::from_millisecond(ms).unwrap_or_default();
    let text = at.to_zoned(china()).strftime(MINUTES).to_string();
    Text(text.into())
}

/// The status of a deliver_sm that has a field which CMPP cannot hold.
pub(super) fn unwritable(field: &str) -> CommandStatus {
    match field {
        "Msg_Content" => CommandStatus::ESME_RINVMSGLEN,
        "Src_terminal_Id" => CommandStatus::ESME_RINVSRCADR,
        "Dest_Id" => CommandStatus::ESME_RINVDSTADR,
        _ => CommandStatus::ESME_RX_P_APPN,
    }
}
