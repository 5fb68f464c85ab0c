//! Delivery receipts: the text of SMPP 3.4 Appendix B, and the TLVs of §5.3.2.
//!
//! Written for accounts ([`format()`]), read from operators ([`extract`]). Operators write the text
//! in different ways, so reading is tolerant: any order and case of the keys, missing parts, odd
//! state words, text before and after, octets or UCS-2. What identifies a message (id, err) is kept
//! verbatim.

use bytes::Bytes;

use super::time::{format_receipt_date, parse_receipt_date};
use super::{DeliverSm, ESM_UDHI, tag};
use smsc_domain::receipt_states::ReceiptStates;

mod part;
mod scan;

pub use part::{PartialReceipt, joined, part_of};

use smsc_domain::state::receipt_stat;
pub use smsc_domain::state::{
    ACCEPTED, DELETED, DELIVERED, ENROUTE, EXPIRED, REJECTED, UNDELIVERABLE, UNKNOWN,
};

use scan::{first_word, scan};

/// `message_state` SCHEDULED: not yet tried (5.0 §4.7.15).
pub const SCHEDULED: u8 = 0;
/// `message_state` SKIPPED: was not tried (5.0 §4.7.15).
pub const SKIPPED: u8 = 9;

/// esm_class bit of an SMSC delivery receipt (§5.2.12).
pub const ESM_RECEIPT: u8 = 0x04;
/// esm_class bit of an intermediate notification (§5.2.12).
const ESM_INTERMEDIATE: u8 = 0x20;

/// esm_class bits that say what kind of message it is (§5.2.12).
const ESM_TYPE: u8 = 0x3C;

/// The code that stands for no error.
const NO_ERROR: &[u8] = b"000";
/// Longest error that is kept: what is longer is no code.
const ERROR_MAX: usize = 64;
/// Digits of a date without seconds, YYMMDDhhmm.
const MINUTES_DIGITS: usize = 10;
/// Longest word of a state that is kept.
const WORD_MAX: usize = 16;
/// Appendix B repeats this much of the message.
const TEXT_MAX: usize = 20;

/// The parts of a receipt's text (Appendix B).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReceiptText {
    /// `id`: the id submit_sm_resp gave, verbatim.
    pub id: Bytes,
    /// `sub`: messages submitted, 0 if missing.
    pub sub: u32,
    /// `dlvrd`: messages delivered, 0 if missing.
    pub dlvrd: u32,
    /// `submit date`, unix milliseconds; read and written as UTC.
    pub submit_date_ms: Option<i64>,
    /// `done date`, unix milliseconds; read and written as UTC.
    pub done_date_ms: Option<i64>,
    /// `stat`: the state's word, verbatim; see [`state_from_word`].
    pub stat: Bytes,
    /// `err`: the network's or operator's code, verbatim, 1 to 10 characters.
    pub err: Bytes,
    /// `text`: the start of the message.
    pub text: Bytes,
}

/// The content of a receipt, from TLVs and text together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extracted {
    /// The id under which the peer accepted the message, verbatim.
    pub message_id: Bytes,
    /// The id in the text, where receipted_message_id has another one; otherwise empty.
    pub text_id: Bytes,
    /// `message_state` (§5.2.28); ENROUTE for a word of no standard.
    pub state: u8,
    /// The word of its state, where no standard has it; otherwise empty.
    pub word: Bytes,
    /// Whether the state is one that was configured for its word or error.
    pub configured: bool,
    /// The network's error, empty if there is none: three or more digits from network_error_code,
    /// or `err` of the text verbatim.
    pub error: Bytes,
    /// When the state was reached, unix milliseconds; when the receipt came, if it has none.
    pub done_at_ms: i64,
    /// The done date has whole minutes.
    pub done_in_minutes: bool,
    /// Whether more is to come: an intermediate notification, or a state that is not final.
    pub intermediate: bool,
}

/// The word of Appendix B for a `message_state`; "UNKNOWN" for values of no standard.
pub fn state_word(state: u8) -> &'static str {
    match state {
        SCHEDULED => "SCHEDULED",
        SKIPPED => "SKIPPED",
        state => receipt_stat(state),
    }
}

/// The `message_state` a word means, in any case and in the spellings operators use (ACKED, FAILED,
/// DELIVERED, a lone digit). `None` for an unknown word.
pub fn state_from_word(word: &[u8]) -> Option<u8> {
    /// Beginnings that are enough to know the word.
    const BEGINNINGS: [(&[u8], u8); 17] = [
        (b"DELIV", DELIVERED),
        (b"UNDEL", UNDELIVERABLE),
        (b"FAIL", UNDELIVERABLE),
        (b"EXPIR", EXPIRED),
        (b"DELET", DELETED),
        (b"CANCEL", DELETED),
        (b"ACCEP", ACCEPTED),
        (b"ACK", ACCEPTED),
        (b"REJ", REJECTED),
        (b"ENROUTE", ENROUTE),
        (b"EN_ROUTE", ENROUTE),
        (b"EN ROUTE", ENROUTE),
        (b"BUFF", ENROUTE),
        (b"PENDING", ENROUTE),
        (b"SCHED", SCHEDULED),
        (b"SKIP", SKIPPED),
        (b"UNKN", UNKNOWN),
    ];
    if let [digit @ b'0'..=b'9'] = word {
        return Some(digit - b'0');
    }
    BEGINNINGS
        .iter()
        .find(|(beginning, _)| {
            word.get(..beginning.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(beginning))
        })
        .map(|(_, state)| *state)
}

/// Writes the text of Appendix B in printable ASCII; the message's text is cut at 20 octets. Its dates are YYMMDDhhmm, or
/// YYMMDDhhmmss `with_seconds`, as many write them.
pub fn format(receipt: &ReceiptText, with_seconds: bool) -> Vec<u8> {
    let date = |ms: Option<i64>| match ms {
        Some(ms) => format_receipt_date(ms, with_seconds),
        None => "0000000000".to_owned(),
    };
    let mut octets = [
        b"id:".as_slice(),
        &receipt.id,
        b" sub:",
        &three_digits(receipt.sub),
        b" dlvrd:",
        &three_digits(receipt.dlvrd),
        b" submit date:",
        date(receipt.submit_date_ms).as_bytes(),
        b" done date:",
        date(receipt.done_date_ms).as_bytes(),
        b" stat:",
        &receipt.stat,
        b" err:",
        &receipt.err,
        b" text:",
        &receipt.text[..receipt.text.len().min(TEXT_MAX)],
    ]
    .concat();
    for octet in &mut octets {
        *octet = printable(*octet);
    }
    octets
}

/// A number of messages; there are never a thousand.
fn three_digits(number: u32) -> [u8; 3] {
    let number = number.min(999);
    [100, 10, 1].map(|power| b'0' + (number / power % 10) as u8)
}

/// The octet itself, or a question mark for what is no printable ASCII: each alphabet reads that in its
/// own way, and readers of receipts have stopped at it.
pub const fn printable(octet: u8) -> u8 {
    match octet {
        b' '..=b'~' => octet,
        _ => b'?',
    }
}

/// An error as it is read from the text that it was written to: its first word, printable.
pub fn error_word(error: Bytes) -> Bytes {
    let is_printable = |octet: &u8| printable(*octet) == *octet;
    let text: Bytes = if error.iter().all(is_printable) {
        error
    } else {
        error.iter().copied().map(printable).collect()
    };
    let word = first_word(&text);
    text.slice_ref(&word[..word.len().min(ERROR_MAX)])
}

/// Reads the text of a receipt however it is written; `None` if it has neither an id nor a state.
pub fn parse(text: &[u8]) -> Option<ReceiptText> {
    let fields = scan(text)?;
    Some(ReceiptText {
        id: Bytes::copy_from_slice(fields.id),
        sub: count(fields.sub),
        dlvrd: count(fields.dlvrd),
        submit_date_ms: parse_receipt_date(fields.submit_date),
        done_date_ms: parse_receipt_date(fields.done_date),
        stat: Bytes::copy_from_slice(fields.stat),
        err: Bytes::copy_from_slice(fields.err),
        text: Bytes::copy_from_slice(fields.text),
    })
}

/// Whether a deliver_sm is a receipt or an intermediate notification rather than a message of a
/// subscriber: by its esm_class (§5.2.12), or by a receipted_message_id (§5.3.2.12) with a state in
/// message_state or in the text. Without a state the id says which message a subscriber answers.
pub fn is_receipt(deliver_sm: &DeliverSm) -> bool {
    deliver_sm.esm_class & (ESM_RECEIPT | ESM_INTERMEDIATE) != 0
        || deliver_sm.tlvs.get(tag::RECEIPTED_MESSAGE_ID).is_some() && has_state(deliver_sm)
}

fn has_state(deliver_sm: &DeliverSm) -> bool {
    deliver_sm.tlvs.get(tag::MESSAGE_STATE).is_some()
        || scan(&receipt_text(deliver_sm))
            .is_some_and(|fields| state_from_word(fields.stat).is_some() || count(fields.dlvrd) > 0)
}

/// Whether a deliver_sm that is not marked as a receipt reads like one: its esm_class is that of an
/// ordinary message, but its text has an id and a state that is known.
pub fn reads_like_one(deliver_sm: &DeliverSm) -> bool {
    if deliver_sm.esm_class & ESM_TYPE != 0 {
        return false;
    }
    let text = receipt_text(deliver_sm);
    scan(&text).is_some_and(|fields| {
        !fields.id.is_empty() && !fields.stat.is_empty() && state_from_word(fields.stat).is_some()
    })
}

/// [`extract_with`] nothing that is peculiar to an operator.
pub fn extract(deliver_sm: &DeliverSm, now_ms: i64) -> Option<Extracted> {
    extract_with(deliver_sm, now_ms, &ReceiptStates::default())
}

/// Reads a receipt: TLVs first, the text (short_message or message_payload, 8-bit or UCS-2) for what
/// they lack. `None` if no message id or no state is found in either; a state word that no standard has ends
/// nothing, and a text without one that counts delivered messages is DELIVERED. `states` take
/// precedence over both.
pub fn extract_with(
    deliver_sm: &DeliverSm,
    now_ms: i64,
    states: &ReceiptStates,
) -> Option<Extracted> {
    let text = receipt_text(deliver_sm);
    let fields = scan(&text).unwrap_or_default();
    let tlvs = &deliver_sm.tlvs;
    let from_tlv = tlvs.get_c_string(tag::RECEIPTED_MESSAGE_ID);
    let (message_id, text_id) = match from_tlv.filter(|id| !id.is_empty()) {
        Some(id) if id == fields.id => (id, Bytes::new()),
        Some(id) => (id, text.slice_ref(fields.id)),
        None if fields.id.is_empty() => return None,
        None => (text.slice_ref(fields.id), Bytes::new()),
    };
    let from_tlv = tlvs
        .get_uint(tag::MESSAGE_STATE)
        .and_then(|state| u8::try_from(state).ok());
    let error = tlvs
        .get(tag::NETWORK_ERROR_CODE)
        .and_then(network_error)
        // A network error of 0 is less specific than the operator's own code.
        .filter(|code| code != NO_ERROR || fields.err.is_empty())
        .unwrap_or_else(|| text.slice_ref(fields.err));
    let error = error.slice(..error.len().min(ERROR_MAX));
    let word = match (fields.stat, from_tlv) {
        (b"", Some(state)) => state_word(state).as_bytes(),
        (stat, _) => stat,
    };
    let configured = states.of(word, &error);
    let known = configured
        .or(from_tlv.filter(|state| *state <= SKIPPED))
        .or_else(|| state_from_word(word));
    let state = match word {
        b"" => known.or_else(|| (count(fields.dlvrd) > 0).then_some(DELIVERED))?,
        _ => known.unwrap_or(ENROUTE),
    };
    Some(Extracted {
        message_id,
        text_id,
        state,
        word: match known {
            None if !word.is_empty() => {
                word.iter().take(WORD_MAX).copied().map(printable).collect()
            }
            _ => Bytes::new(),
        },
        configured: configured.is_some(),
        error,
        done_at_ms: parse_receipt_date(fields.done_date).unwrap_or(now_ms),
        done_in_minutes: (fields.done_date.iter())
            .filter(|octet| octet.is_ascii_digit())
            .count()
            == MINUTES_DIGITS,
        intermediate: deliver_sm.esm_class & ESM_INTERMEDIATE != 0 || state <= ENROUTE,
    })
}

/// Whether TLVs say of which message it is and how it ended.
fn is_complete_in_tlvs(deliver_sm: &DeliverSm) -> bool {
    let tlvs = &deliver_sm.tlvs;
    tlvs.get(tag::RECEIPTED_MESSAGE_ID).is_some() && tlvs.get(tag::MESSAGE_STATE).is_some()
}

/// A number of messages, 0 when it is none.
fn count(digits: &[u8]) -> u32 {
    std::str::from_utf8(digits)
        .ok()
        .and_then(|digits| digits.parse().ok())
        .unwrap_or(0)
}

/// The error of network_error_code: network type, then a 16-bit code (§5.3.2.31), as three digits
/// or more, like `err` of the text.
fn network_error(value: &[u8]) -> Option<Bytes> {
    let [_network_type, high, low] = value else {
        return None;
    };
    let code = u16::from_be_bytes([*high, *low]);
    Some(Bytes::from(format!("{code:03}")))
}

/// The text behind a user data header, UCS-2 reduced to single octets.
fn receipt_text(deliver_sm: &DeliverSm) -> Bytes {
    let mut text = deliver_sm.payload();
    if deliver_sm.esm_class & ESM_UDHI != 0 {
        let header = text.first().map_or(0, |length| usize::from(*length) + 1);
        text = text.slice(header.min(text.len())..);
    }
    ucs2_octets(&text).unwrap_or(text)
}

/// The octets of a text in UCS-2, of either order and with or without a byte order mark, also where
/// data_coding does not say so: between the letters of a receipt are zeros, and in no other alphabet.
fn ucs2_octets(text: &Bytes) -> Option<Bytes> {
    let text = match text.as_ref() {
        [0xFE, 0xFF, ..] | [0xFF, 0xFE, ..] => text.slice(2..),
        _ => text.clone(),
    };
    let low = match text.as_ref() {
        [0, low, 0, ..] if *low != 0 => 1,
        [low, 0, _, 0, ..] if *low != 0 => 0,
        _ => return None,
    };
    let octet = |unit: &[u8]| match unit[1 - low] {
        0 => unit[low],
        _ => b'?',
    };
    Some(text.chunks_exact(2).map(octet).collect())
}

#[cfg(test)]
mod tests;
