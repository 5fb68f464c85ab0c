//! What a delivery receipt says, by its text and by its TLVs (SMPP 3.4 Appendix B, §5.3.2).

use super::bits::message_state;
use super::report::FieldDetail;
use super::{reader, times};
use smsc_smpp::DeliverSm;
use smsc_smpp::receipt::{self, ReceiptText, state_from_word};

/// The parts of a receipt; empty for any other deliver_sm.
pub fn explain(deliver_sm: &DeliverSm) -> Vec<FieldDetail> {
    if !receipt::is_receipt(deliver_sm) {
        return Vec::new();
    }
    let mut details = Vec::new();
    match receipt::extract(deliver_sm, 0) {
        Some(found) => {
            details.push(FieldDetail::new(
                "message",
                reader::shown(&found.message_id),
                "",
            ));
            details.push(FieldDetail::new(
                "state",
                found.state.to_string(),
                if found.intermediate {
                    format!("{}, more is to come", message_state(found.state))
                } else {
                    message_state(found.state)
                },
            ));
        }
        None => details.push(FieldDetail::new(
            "message",
            "",
            "neither the text nor the TLVs name a message and its state: it matches nothing",
        )),
    }
    if let Some(text) = receipt::parse(&deliver_sm.payload()) {
        details.extend(parts(&text));
    }
    details
}

fn parts(text: &ReceiptText) -> Vec<FieldDetail> {
    let octets = |octets: &[u8]| reader::shown(octets);
    let date = |ms: Option<i64>| ms.map_or_else(|| "not readable".to_owned(), times::of_receipt);
    let state = state_from_word(&text.stat);
    let state = state.map_or_else(|| "an unknown word".to_owned(), message_state);
    let rows = [
        ("id", octets(&text.id), ""),
        ("sub", text.sub.to_string(), "messages submitted"),
        ("dlvrd", text.dlvrd.to_string(), "messages delivered"),
        ("submit date", date(text.submit_date_ms), ""),
        ("done date", date(text.done_date_ms), ""),
        ("stat", octets(&text.stat), state.as_str()),
        ("err", octets(&text.err), ""),
        ("text", octets(&text.text), ""),
    ];
    rows.into_iter()
        .map(|(name, value, meaning)| FieldDetail::new(format!("text {name}"), value, meaning))
        .collect()
}
