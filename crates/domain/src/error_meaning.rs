//! What errors mean: the name of each, its meaning in a sentence, and what usually helps.
//!
//! Called by the admin API wherever the error of a message is shown. The numbers and names are those of
//! [`super::command_status`], results of GSM networks included; the words about them are in [`table`]. What an operator
//! writes into its receipts is its own, except for the codes of Chinese gateways, which their standards define.

mod table;

use self::table::{GATEWAYS, STATES, STATUSES};
use super::{command_status, gsm_result};

/// An error in words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErrorMeaning {
    /// As it is called: `ESME_RTHROTTLED`, `RP_CONGESTION`, `MK`.
    pub name: &'static str,
    /// What it says, in one sentence.
    pub meaning: &'static str,
    /// What usually helps, in one sentence.
    pub cure: &'static str,
}

/// The answer to an attempt of a message: of its end, to the last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttemptAnswer {
    /// Nothing was sent.
    NotSent,
    /// None came in time.
    NoAnswer,
    /// This command_status.
    Status(u32),
}

/// The words for a command_status or a result of a GSM network; none for what has no name.
pub fn of_status(status: u32) -> Option<ErrorMeaning> {
    let name = command_status::name(status)?;
    word(STATUSES, name)
}

/// The words for the answer to an attempt; none where it was taken.
pub fn of_answer(answer: AttemptAnswer) -> Option<ErrorMeaning> {
    match answer {
        AttemptAnswer::NotSent | AttemptAnswer::Status(command_status::ESME_ROK) => None,
        AttemptAnswer::NoAnswer => word(STATES, "no answer"),
        AttemptAnswer::Status(status) => of_status(status),
    }
}

/// The words for the end of a message: by its state (SMPP 3.4 §5.2.28), its error as it is kept, and the answer to its last
/// attempt. `None` where the error is the operator's own, and where the message has not failed.
pub fn of_end(state: u8, error: &str, last: AttemptAnswer) -> Option<ErrorMeaning> {
    let of_state = word(STATES, super::state::name(state))?;
    let says_nothing = error.bytes().all(|octet| octet == b'0');
    if says_nothing {
        return of_answer(last).or(Some(of_state));
    }
    match last {
        AttemptAnswer::Status(status) if is_of(error, status) => of_status(status),
        _ => of_gateway(error).or_else(|| of_network(error)),
    }
}

/// The command statuses, results of GSM networks and final states whose names have this in them, in any case.
pub fn named_like(text: &str) -> impl Iterator<Item = ErrorMeaning> + use<> {
    let text = text.to_uppercase();
    let all = STATUSES.iter().chain(STATES);
    all.filter(move |(name, ..)| name.to_uppercase().contains(&text))
        .map(|&(name, meaning, cure)| ErrorMeaning {
            name,
            meaning,
            cure,
        })
}

/// Whether this is what is kept as the error of a message that ended with this answer.
fn is_of(error: &str, status: u32) -> bool {
    error == status.to_string()
        || (gsm_result::is_one(status) && error == gsm_result::error_code(status))
}

/// A result of a GSM network in decimal: no operator has such a number.
fn of_network(error: &str) -> Option<ErrorMeaning> {
    let status = error.parse().ok().filter(|one| gsm_result::is_one(*one))?;
    of_status(status)
}

/// A code of a gateway: two letters, which say who failed, and digits. See `smsc_carrier::outcome`.
fn of_gateway(error: &str) -> Option<ErrorMeaning> {
    let (who, digits) = error.split_at_checked(2)?;
    let is_code = !digits.is_empty() && digits.bytes().all(|octet| octet.is_ascii_digit());
    is_code.then(|| word(GATEWAYS, &who.to_ascii_uppercase()))?
}

/// One row: name, meaning, what usually helps.
type ErrorWords = (&'static str, &'static str, &'static str);

fn word(rows: &'static [ErrorWords], name: &str) -> Option<ErrorMeaning> {
    let (name, meaning, cure) = *rows.iter().find(|(known, ..)| *known == name)?;
    Some(ErrorMeaning {
        name,
        meaning,
        cure,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state;

    #[test]
    fn every_status_with_a_name_has_words_and_no_other() {
        for name in command_status::names() {
            assert!(word(STATUSES, name).is_some(), "{name}");
        }
        for (name, meaning, cure) in STATUSES.iter().chain(GATEWAYS).chain(STATES) {
            for sentence in [meaning, cure] {
                assert!(sentence.ends_with('.'), "{name}: {sentence}");
            }
        }
        for (name, ..) in STATUSES {
            assert!(command_status::parse(name).is_some(), "{name}");
        }
        assert_eq!(of_status(0x401), None, "a vendor's");
    }

    #[test]
    fn errors_are_found_by_a_part_of_their_name() {
        let names = |text: &str| named_like(text).map(|one| one.name).collect::<Vec<_>>();
        assert_eq!(names("rthrottled"), ["ESME_RTHROTTLED"]);
        assert_eq!(names("Expired"), ["EXPIRED"]);
        assert!(names("nothing such").is_empty());
    }

    #[test]
    fn an_error_is_named_by_who_has_said_it() {
        let named = |state: u8, error: &str, last: AttemptAnswer| {
            of_end(state, error, last).map(|words| words.name)
        };
        let answer = AttemptAnswer::Status;
        let ok = answer(0);
        for (end, error, last, name) in [
            (state::REJECTED, "11", answer(11), Some("ESME_RINVDSTADR")),
            // The operator took it, and says something of its own in the receipt.
            (state::UNDELIVERABLE, "11", ok, None),
            (state::UNDELIVERABLE, "000", ok, Some("UNDELIVERABLE")),
            (state::EXPIRED, "", answer(0x58), Some("ESME_RTHROTTLED")),
            (state::EXPIRED, "", AttemptAnswer::NotSent, Some("EXPIRED")),
            (
                state::EXPIRED,
                "",
                AttemptAnswer::NoAnswer,
                Some("no answer"),
            ),
            (
                state::UNDELIVERABLE,
                "027",
                answer(0x0001_001B),
                Some("RP_DESTINATION_OUT_OF_ORDER"),
            ),
            (state::REJECTED, "65566", ok, Some("RP_UNKNOWN_SUBSCRIBER")),
            (state::UNDELIVERABLE, "MB0069", ok, Some("MB")),
            (state::UNDELIVERABLE, "Ü", ok, None),
            (state::DELIVERED, "000", ok, None),
        ] {
            assert_eq!(named(end, error, last), name, "{end} {error}");
        }
    }
}
