//! What became of a message, as the SMS-STATUS-REPORT for the phone that has asked (3GPP TS 23.040 §9.2.2.3), and as the
//! SMS-SUBMIT-REPORT for one that submits it again (§9.2.2.2a).
//!
//! Called by the interface of a GSM core: for a receipt in its queue ([`report`]), for an SMS-COMMAND ([`answer`]), and
//! for a repetition that it refuses ([`repeated`]).
//! A receipt names the phone's own reference as user_message_reference, which the message has from its SMS-SUBMIT.

use bytes::Bytes;

use super::{HandsetRefusal, Handsets, address, times};
use crate::payload;
use smsc_proto::{Message, MessageState};
use smsc_smpp::{Tlvs, receipt, tag};
use smsc_sms::tpdu::{SmsCommand, StatusReport, SubmitReport, Tpdu};

/// TP-FCS (§9.2.3.22): SM rejected, duplicate SM.
const DUPLICATE: u8 = 0xC5;
/// TP-ST (§9.2.3.15): completed.
const RECEIVED: u8 = 0x00;
const FORWARDED: u8 = 0x01;
/// Still tried.
const NO_RESPONSE: u8 = 0x22;
/// Not tried any more.
const REJECTED: u8 = 0x42;
const NOT_OBTAINABLE: u8 = 0x43;
const EXPIRED: u8 = 0x46;
const DELETED_BY_SENDER: u8 = 0x47;
const DOES_NOT_EXIST: u8 = 0x49;

/// The status report that a receipt is to a phone. `None` for what is no receipt of a message that a phone has
/// submitted. `more`: others wait for the phone behind it.
///
/// # Errors
/// See [`HandsetRefusal`]: an address that no TPDU has.
pub fn report(
    receipt: &Message,
    to: &Handsets,
    more: bool,
) -> Result<Option<Bytes>, HandsetRefusal> {
    let tlvs = Tlvs::from_raw(receipt.tlvs.clone());
    let state = tlvs.get(tag::MESSAGE_STATE).and_then(<[u8]>::first);
    let (Some(reference), Some(state)) = (reference_of(receipt), state) else {
        return Ok(None);
    };
    // A receipt comes from whom the message went to.
    let recipient = address::of_smpp(
        receipt.source_ton,
        receipt.source_npi,
        &receipt.source,
        to.encoding.policy,
    )?;
    let said = receipt::parse(&payload(receipt)).and_then(|text| text.done_date_ms);
    // A done date may have minutes only.
    let done_at = said.unwrap_or(receipt.due_at).max(receipt.accepted_at);
    let report = Tpdu::StatusReport(StatusReport {
        more_messages: more,
        message_reference: reference,
        recipient_address: recipient.address,
        service_centre_time_stamp: times::stamp(receipt.accepted_at, to.zone),
        discharge_time: times::stamp(done_at, to.zone),
        status: status(MessageState::try_from(i32::from(*state)).unwrap_or_default()),
        ..StatusReport::default()
    });
    Ok(Some(report.encode()?.into()))
}

/// The status report that answers an SMS-COMMAND: the state of the message that it is about, since `at` (Unix
/// milliseconds); without a message, that there is none, and `at` is now.
///
/// # Errors
/// See [`HandsetRefusal`]: an address that no TPDU has.
pub fn answer(
    command: &SmsCommand,
    found: Option<(&Message, MessageState)>,
    at: i64,
    to: &Handsets,
) -> Result<Bytes, HandsetRefusal> {
    let (accepted_at, status) = match found {
        Some((message, state)) => (message.accepted_at, status(state)),
        None => (at, DOES_NOT_EXIST),
    };
    let report = Tpdu::StatusReport(StatusReport {
        of_command: true,
        message_reference: command.message_reference,
        recipient_address: command.destination_address.clone(),
        service_centre_time_stamp: times::stamp(accepted_at, to.zone),
        discharge_time: times::stamp(at.max(accepted_at), to.zone),
        status,
        ..StatusReport::default()
    });
    Ok(report.encode()?.into())
}

/// The SMS-SUBMIT-REPORT, in RP-ERROR, for an SMS-SUBMIT with TP-RD that came at `now` (Unix milliseconds) while the service
/// centre held the same message (§9.2.3.25).
///
/// # Errors
/// See [`HandsetRefusal`]: a zone that no TPDU has.
pub fn repeated(now: i64, to: &Handsets) -> Result<Bytes, HandsetRefusal> {
    let report = Tpdu::SubmitReport(SubmitReport {
        failure_cause: Some(DUPLICATE),
        service_centre_time_stamp: times::stamp(now, to.zone),
        ..SubmitReport::default()
    });
    Ok(report.encode()?.into())
}

/// TP-MR of the SMS-SUBMIT that a message came as, or that a receipt is about.
pub(super) fn reference_of(message: &Message) -> Option<u8> {
    let tlvs = Tlvs::from_raw(message.tlvs.clone());
    let reference = tlvs.get_uint(tag::USER_MESSAGE_REFERENCE)?;
    u8::try_from(reference).ok()
}

/// TP-ST of a state. A message whose end is not known was handed over.
fn status(state: MessageState) -> u8 {
    match state {
        MessageState::Delivered => RECEIVED,
        MessageState::Accepted | MessageState::Unknown => FORWARDED,
        MessageState::Enroute | MessageState::Unspecified => NO_RESPONSE,
        MessageState::Rejected => REJECTED,
        MessageState::Undeliverable => NOT_OBTAINABLE,
        MessageState::Expired => EXPIRED,
        MessageState::Deleted => DELETED_BY_SENDER,
    }
}
