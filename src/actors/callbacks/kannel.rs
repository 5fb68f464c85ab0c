//! Callbacks as Kannel makes them: a URL with escapes is filled in and fetched.

use bytes::Bytes;

use super::body::{EndedMessage, ReachedState, ShownNames};
use crate::actors::receipts::shown_id;
use crate::actors::routing::rewrite;
use crate::content::{self, MessageContent};
use crate::domain::callback::kannel::{self, EscapeValues, fill};
use crate::pb::{EarlyState, Message, MessageState};
use crate::smpp::SubmitSm;
use crate::sms::segment::Units;

/// All states, where a message has no mask of its own.
const EVERYTHING: u8 = 0xFF;
const DATA: u8 = 1;
const UCS2: u8 = 2;

/// What the operator said to a message that it accepted.
const ACCEPTED: &[u8] = b"ACK/";

/// The URL of a delivery report (`dlr-url`).
pub(super) fn receipt(url: &str, ended: EndedMessage<'_>, names: ShownNames<'_>) -> String {
    let EndedMessage {
        message,
        fin,
        deliver,
        ..
    } = ended;
    let client = message.client_data.as_deref();
    let mask = client
        .and_then(|client| u8::try_from(client.dlr_mask).ok())
        .filter(|mask| *mask != 0);
    let state: MessageState = fin.state;
    let mask = kannel::reported(mask.unwrap_or(EVERYTHING), state as i32 as u8);
    // The operator's answer in Kannel; here the receipt as a bind would get it.
    report(url, message, mask, fin.at, &deliver.short_message, names)
}

/// The URL of a report about a state before the final one.
pub(super) fn state(url: &str, reached: ReachedState<'_>, names: ShownNames<'_>) -> String {
    let ReachedState {
        message,
        report: said,
        deliver,
    } = reached;
    let (mask, octets) = match said.state() {
        EarlyState::Sent => (kannel::SENT, ACCEPTED),
        // It waits here, for its first attempt or for another one.
        _ => (kannel::BUFFERED, &*deliver.short_message),
    };
    report(url, message, Some(mask), said.at, octets, names)
}

fn report(
    url: &str,
    message: &Message,
    mask: Option<u8>,
    at: i64,
    octets: &[u8],
    names: ShownNames<'_>,
) -> String {
    let client = message.client_data.as_deref();
    let (from, to) = (
        rewrite::original_destination(message).digits,
        rewrite::original_source(message).digits,
    );
    let values = EscapeValues {
        from: &from,
        to: &to,
        octets,
        at: at / 1000,
        id: &shown_id::of(message),
        operator: names.operator,
        account: names.account,
        reference: client.map_or("", |client| &client.reference),
        service_type: &message.service_type,
        mask,
        url,
        ..EscapeValues::default()
    };
    fill(url, &values)
}

/// The URL that brings a message with these addresses (`get-url`).
pub(super) fn incoming(
    url: &str,
    message: &Message,
    addressed: &SubmitSm,
    names: ShownNames<'_>,
) -> String {
    let data_coding = u8::try_from(message.data_coding).unwrap_or_default();
    let (octets, units) = MessageContent::read(message).units();
    let (coding, octets) = match units {
        Units::Septets => (0, content::text_of(message).unwrap_or_default().into()),
        Units::Octets => (DATA, octets),
        Units::Ucs2 => (UCS2, octets),
    };
    let values = EscapeValues {
        from: &addressed.source_addr,
        to: &addressed.destination_addr,
        octets: &octets,
        at: message.accepted_at / 1000,
        id: &message.id.to_string(),
        operator: names.operator,
        account: names.account,
        service_type: &message.service_type,
        coding,
        data_coding,
        class: class(data_coding),
        header: &header(message),
        url,
        ..EscapeValues::default()
    };
    fill(url, &values)
}

/// The URL that tries a receiver.
pub(super) fn test(url: &str, account: &str, at: i64) -> String {
    let values = EscapeValues {
        octets: b"test",
        at: at / 1000,
        id: "test",
        account,
        url,
        ..EscapeValues::default()
    };
    fill(url, &values)
}

/// The user data header with its length octet, if there is one.
fn header(message: &Message) -> Bytes {
    if message.esm_class & content::UDHI == 0 {
        return Bytes::new();
    }
    let payload = content::payload(message);
    let length = payload.first().map_or(0, |length| usize::from(*length) + 1);
    payload.slice(..length.min(payload.len()))
}

/// The class of a message (3GPP TS 23.038 §4).
fn class(data_coding: u8) -> Option<u8> {
    let has_class = matches!(data_coding & 0xF0, 0x10 | 0x30 | 0xF0);
    has_class.then_some(data_coding & 0x03)
}
