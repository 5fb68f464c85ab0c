//! Delivery receipts and intermediate notifications in the form that an account gets (SMPP 3.4 §2.11,
//! §5.2.12, appendix B).
//!
//! A receipt is derived from the message and its final state whenever it is needed, also after a
//! restart; it is not stored.

use bytes::Bytes;

use crate::actors::context::NodeContext;
use crate::actors::context::traced;
use crate::actors::receipts::shown_id;
use crate::actors::routing::rewrite;
use crate::clock;
use crate::config::{ReceiptDates, ReceiptForm};
use crate::content;
use crate::domain::state;
use crate::pb::delivery::What;
use crate::pb::{Kind, Message, OperatorReceipt, QueueItem};
use crate::smpp::receipt::{self, ReceiptText};
use crate::smpp::{DeliverSm, Tlvs, tag};
use crate::sms::convert::Alphabet;
use crate::store::FinRow;

/// Octets of the original text that a receipt repeats (appendix B).
const TEXT: usize = 20;
const ESM_CLASS_RECEIPT: u32 = 0x04;
const ESM_CLASS_INTERMEDIATE: u32 = 0x20;

/// The queue item of a receipt; its account's queue keeps it until the account has acknowledged it.
pub fn item_for(node: &NodeContext, message: &Message, fin: &FinRow) -> QueueItem {
    let receipt = Message {
        // It is due now, whatever time the operator gave.
        due_at: clock::now_ms(),
        ..receipt_for(node, message, fin)
    };
    QueueItem {
        id: fin.id,
        what: What::Receipt.into(),
        expires_at: node.plan().config.validity.of_receipt(fin.at),
        part: fin.remote_part.into(),
        message: Some(Box::new(receipt)),
        ..QueueItem::default()
    }
}

/// The deliver_sm that notifies the sender of `message` of its final state: addresses swapped,
/// esm_class 0x04, the text of appendix B and the TLVs receipted_message_id, message_state and
/// user_message_reference. It is due since the message's end.
pub fn receipt_for(node: &NodeContext, message: &Message, fin: &FinRow) -> Message {
    let state = fin.state as i32 as u8;
    let done_at = done_at(message.accepted_at, fin);
    Message {
        esm_class: ESM_CLASS_RECEIPT,
        trace_context: traced::receipt_context(node, message, fin.state, fin.at),
        due_at: fin.at,
        // A handset gets a status report by it.
        imsi: message.source_imsi.clone(),
        ..telling(node, message, state, done_at, &fin.error)
    }
}

/// The done date in a receipt (Unix milliseconds): the operator's, if that is plausible. Done dates
/// have only minutes, and clocks differ: the result is never before the message was accepted, and never
/// after its end was known.
pub fn done_at(accepted_at: i64, fin: &FinRow) -> i64 {
    match fin.done_at {
        0 => fin.at,
        said => said.clamp(accepted_at.min(fin.at), fin.at),
    }
}

/// Like [`receipt_for`], for an intermediate state: esm_class 0x20 (§5.2.12).
pub fn notification_for(node: &NodeContext, message: &Message, said: &OperatorReceipt) -> Message {
    let state = u8::try_from(said.reported_state).unwrap_or(receipt::UNKNOWN);
    let now = clock::now_ms();
    let at = match said.done_at {
        0 => now,
        // It may have waited, and clocks go wrong.
        at => at.clamp(message.accepted_at.min(now), now),
    };
    Message {
        esm_class: ESM_CLASS_INTERMEDIATE,
        ..telling(node, message, state, at, &said.error)
    }
}

/// Like [`receipt_for`], while the message is on its way: for a bind that gets what waited for a callback.
pub fn enroute_for(node: &NodeContext, message: &Message, at: i64) -> Message {
    Message {
        esm_class: ESM_CLASS_INTERMEDIATE,
        ..telling(node, message, state::ENROUTE, at, &Bytes::new())
    }
}

/// A deliver_sm to the sender of a message about its state.
fn telling(node: &NodeContext, message: &Message, state: u8, at: i64, error: &Bytes) -> Message {
    let message_id = shown_id::of(message);
    let parts = content::parts(message);
    let with_seconds = node
        .plan()
        .account_by_id(message.sender)
        .is_some_and(|account| account.config.receipt_dates == ReceiptDates::Seconds);
    let text = ReceiptText {
        id: Bytes::copy_from_slice(message_id.as_bytes()),
        sub: parts,
        dlvrd: if state == 2 { parts } else { 0 },
        submit_date_ms: Some(message.accepted_at),
        done_date_ms: Some(at),
        stat: Bytes::from_static(receipt::state_word(state).as_bytes()),
        // What we say about the end ourselves is no code.
        err: if error.is_empty() || error.contains(&b' ') {
            Bytes::from_static(b"000")
        } else {
            error.clone()
        },
        text: first_words(message),
    };
    let text = receipt::format(&text, with_seconds);
    // The addresses as the sender wrote them, before any rewriting.
    let (source, destination) = (
        rewrite::original_source(message),
        rewrite::original_destination(message),
    );
    let mut tlvs = Tlvs::default();
    let mut id_octets = Vec::with_capacity(message_id.len() + 1);
    id_octets.extend_from_slice(message_id.as_bytes());
    id_octets.push(0);
    tlvs.push(tag::RECEIPTED_MESSAGE_ID, &id_octets);
    tlvs.push(tag::MESSAGE_STATE, &[state]);
    if let Some(reference) = Tlvs::from_raw(message.tlvs.clone()).get(tag::USER_MESSAGE_REFERENCE) {
        tlvs.push(tag::USER_MESSAGE_REFERENCE, reference);
    }
    Message {
        id: message.id,
        sender: message.sender,
        kind: Kind::Mt.into(),
        accepted_at: message.accepted_at,
        due_at: at,
        service_type: message.service_type.clone(),
        source_ton: destination.ton.into(),
        source_npi: destination.npi.into(),
        source: destination.digits,
        dest_ton: source.ton.into(),
        dest_npi: source.npi.into(),
        destination: source.digits,
        short_message: text.into(),
        tlvs: tlvs.raw().clone(),
        ..Message::default()
    }
}

/// Removes from a receipt the parts that its account does not want. Without TLVs, the text stays.
pub fn shape(pdu: &mut DeliverSm, form: ReceiptForm, with_tlvs: bool) {
    match form {
        ReceiptForm::Text => pdu.tlvs = Tlvs::default(),
        ReceiptForm::Tlvs if with_tlvs => pdu.short_message = Bytes::new(),
        ReceiptForm::Tlvs | ReceiptForm::TextAndTlvs => {}
    }
}

/// The start of the text, in printable ASCII, with a question mark for each other character. Empty if
/// the alphabet of the text shares nothing with ASCII.
fn first_words(message: &Message) -> Bytes {
    let has_header = message.esm_class & 0x40 != 0;
    let ascii_like = !matches!(
        content::alphabet_of(message),
        Alphabet::GsmPacked | Alphabet::Ucs2
    );
    if has_header || !matches!(message.data_coding, 0 | 1 | 3) || !ascii_like {
        return Bytes::new();
    }
    let octets = content::payload(message);
    // The usual case needs no decoding: octets that mean the same in ASCII and in all these alphabets.
    let start = &octets[..octets.len().min(TEXT)];
    if start
        .iter()
        .all(|octet| matches!(octet, b' '..=b'#' | b'%'..=b'?' | b'A'..=b'Z' | b'a'..=b'z'))
    {
        return octets.slice(..start.len());
    }
    let text = content::text_of(message).unwrap_or_default();
    text.chars()
        .take(TEXT)
        .map(|character| receipt::printable(u8::try_from(character).unwrap_or(0)))
        .collect()
}
