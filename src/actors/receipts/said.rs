//! What a deliver_sm that is a receipt says, or a report of another protocol, for Correlation.
//!
//! Called by sessions with operators, and by Correlation for receipts that came in several messages.

use bytes::Bytes;

use crate::clock;
use crate::domain::receipt_states::ReceiptStates;
use crate::pb::{MessageState, OperatorReceipt, ReceiptExtras, ReceiptPart};
use crate::smpp::DeliverSm;
use crate::smpp::receipt::{self, Extracted, ReceiptText};

/// What became of a message, as an operator says it that does not speak SMPP.
pub struct OperatorReport {
    /// The id under which it accepted the message.
    pub id: Bytes,
    /// The state as message_state (SMPP 3.4 §5.2.28).
    pub state: u8,
    /// Its error; 000 for none.
    pub error: Bytes,
    /// The recipient; may be empty.
    pub number: Bytes,
}

/// The receipt, without the sequence number of its request. One that has no id or no state is kept for people to look at,
/// under an id that no message has.
pub fn of(deliver: &DeliverSm, states: Option<&ReceiptStates>) -> OperatorReceipt {
    if let Some(part) = receipt::part_of(deliver) {
        return OperatorReceipt {
            extras: Some(Box::new(ReceiptExtras {
                part: Some(ReceiptPart {
                    reference: part.reference.into(),
                    number: part.number.into(),
                    total: part.total.into(),
                    text: Bytes::copy_from_slice(&part.text),
                    tlvs: Bytes::copy_from_slice(deliver.tlvs.raw()),
                }),
                ..ReceiptExtras::default()
            })),
            ..unread(deliver)
        };
    }
    // Without a done date it says 0.
    let found = match states {
        Some(states) => receipt::extract_with(deliver, 0, states),
        None => receipt::extract(deliver, 0),
    };
    let Some(found) = found else {
        return unread(deliver);
    };
    let done_at = done_at(&found, clock::now_ms());
    let is_usual = found.word.is_empty() && found.text_id.is_empty();
    OperatorReceipt {
        done_at,
        state: state_of(&found),
        reported_state: found.state.into(),
        operator_message_id: found.message_id,
        error: found.error,
        configured: found.configured,
        extras: (!is_usual).then(|| {
            Box::new(ReceiptExtras {
                word: found.word,
                text_id: found.text_id,
                ..ReceiptExtras::default()
            })
        }),
        ..unread(deliver)
    }
}

/// What [`of`] says of a receipt of SMPP with this report, which came now. Its error is one printable word, as there.
pub fn of_report(report: OperatorReport, states: Option<&ReceiptStates>) -> OperatorReceipt {
    let OperatorReport {
        id,
        state,
        error,
        number,
    } = report;
    let now = clock::now_ms();
    let error = receipt::error_word(error);
    let text = ReceiptText {
        id: id.clone(),
        sub: 1,
        dlvrd: u32::from(state == receipt::DELIVERED),
        submit_date_ms: None,
        done_date_ms: Some(now),
        stat: Bytes::from_static(receipt::state_word(state).as_bytes()),
        err: error.clone(),
        text: Bytes::new(),
    };
    let configured = states.and_then(|states| states.of(&text.stat, &error));
    let found = Extracted {
        intermediate: configured.unwrap_or(state) <= receipt::ENROUTE,
        state: configured.unwrap_or(state),
        ..Extracted::default()
    };
    OperatorReceipt {
        // To the second, as the text says it.
        done_at: now - now.rem_euclid(1_000),
        state: state_of(&found),
        reported_state: found.state.into(),
        operator_message_id: id,
        error,
        configured: configured.is_some(),
        raw: receipt::format(&text, true).into(),
        source: number,
        ..OperatorReceipt::default()
    }
}

/// When the state was reached, as the receipt says that comes at `now` (both Unix ms); 0 if it does not. A clock that is
/// ahead, or of another time zone, is not believed, and the minute of now says no more than now.
fn done_at(found: &Extracted, now: i64) -> i64 {
    const MINUTE_MS: i64 = 60_000;
    let said = found.done_at_ms;
    let is_this_minute = found.done_in_minutes && now - said < MINUTE_MS;
    match said {
        0 => 0,
        _ if said > now || is_this_minute => now,
        said => said,
    }
}

fn state_of(found: &Extracted) -> i32 {
    match found.state {
        _ if found.intermediate => MessageState::Enroute.into(),
        receipt::SKIPPED => MessageState::Undeliverable.into(),
        state => i32::from(state),
    }
}

fn unread(deliver: &DeliverSm) -> OperatorReceipt {
    OperatorReceipt {
        state: MessageState::Unknown.into(),
        reported_state: receipt::UNKNOWN.into(),
        raw: deliver.payload(),
        source: deliver.source_addr.clone(),
        destination: deliver.destination_addr.clone(),
        ..OperatorReceipt::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actors::test_support::operator_receipt;

    #[test]
    fn a_report_says_what_a_receipt_of_it_would() {
        let configured = ReceiptStates::new([("err:MK0012", 8), ("DELIVRD", 1)].into_iter());
        for states in [None, Some(&configured)] {
            for (state, error) in [
                (1, "000"),
                (2, "000"),
                (3, "MB0069"),
                (5, "MK0012"),
                (7, "1"),
                (5, "MK 008"),
                (5, " 8"),
                (5, "MB1,2"),
                (5, "MA\n1é"),
            ] {
                let (id, number) = ("48879-13800138000", Bytes::from("13800138000"));
                let deliver =
                    operator_receipt(id, state, error.into(), number.clone(), clock::now_ms());
                let report = OperatorReport {
                    id: id.into(),
                    state,
                    error: error.into(),
                    number,
                };
                let (mut expected, said) = (of(&deliver, states), of_report(report, states));
                // A second may have begun between the two.
                assert!((0..=1_000).contains(&(said.done_at - expected.done_at)));
                expected.done_at = said.done_at;
                expected.raw.clone_from(&said.raw);
                assert_eq!(said, expected);
            }
        }
    }

    #[test]
    fn an_end_is_not_in_the_future_and_has_no_invented_seconds() {
        const NOW: i64 = 1_795_249_890_500;
        let minute = NOW / 60_000 * 60_000;
        let said = |done_at_ms, done_in_minutes| {
            let found = Extracted {
                done_at_ms,
                done_in_minutes,
                ..Extracted::default()
            };
            done_at(&found, NOW)
        };
        assert_eq!(said(0, true), 0, "it says none");
        assert_eq!(said(minute, true), NOW, "some time in this minute");
        assert_eq!(said(minute, false), minute, "just then");
        assert_eq!(said(minute - 60_000, true), minute - 60_000);
        assert_eq!(
            said(NOW + 3 * 3_600_000, true),
            NOW,
            "three time zones away"
        );
    }
}
