//! How an operator writes its message ids: one way in submit_sm_resp, perhaps another in receipts.
//!
//! Real operators answer in hexadecimal and report in decimal, or the other way round, with capital
//! letters or leading zeros; an SMSC must match them all. Used by the simulator for every message.
//! Invariant: both notations show the same number.

use std::fmt::Write as _;
use std::str::FromStr;

use bytes::BytesMut;

/// The word between the two notations on the command line.
const BETWEEN: &str = "-in-receipt-";
const NOTATIONS: &str = "decimal, hex, hex-upper, each also with -zeros";

/// Notations in submit_sm_resp and in receipts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MessageIdNotations {
    /// In submit_sm_resp.
    pub answer: Notation,
    /// In receipts.
    pub receipt: Notation,
}

/// One way to write a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Notation {
    radix: Radix,
    /// Filled with zeros: 20 digits decimal, 16 hexadecimal.
    zeros: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Radix {
    #[default]
    Decimal,
    Hex,
    HexUpper,
}

// === impl Notation ===

impl Notation {
    /// Appends `id`.
    pub fn write(self, out: &mut BytesMut, id: u64) {
        // Memory takes everything.
        let _ = match (self.radix, self.zeros) {
            (Radix::Decimal, false) => write!(out, "{id}"),
            (Radix::Decimal, true) => write!(out, "{id:020}"),
            (Radix::Hex, false) => write!(out, "{id:x}"),
            (Radix::Hex, true) => write!(out, "{id:016x}"),
            (Radix::HexUpper, false) => write!(out, "{id:X}"),
            (Radix::HexUpper, true) => write!(out, "{id:016X}"),
        };
    }
}

impl FromStr for Notation {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, zeros) = match text.strip_suffix("-zeros") {
            Some(name) => (name, true),
            None => (text, false),
        };
        let radix = match name {
            "decimal" => Radix::Decimal,
            "hex" => Radix::Hex,
            "hex-upper" => Radix::HexUpper,
            _ => return Err(format!("`{text}` is not a notation; there are {NOTATIONS}")),
        };
        Ok(Self { radix, zeros })
    }
}

impl FromStr for MessageIdNotations {
    type Err = String;

    /// `hex` for both, `hex-in-receipt-decimal` for hex in the answer and decimal in the receipt.
    fn from_str(text: &str) -> Result<Self, String> {
        let (answer, receipt) = text.split_once(BETWEEN).unwrap_or((text, text));
        Ok(Self {
            answer: answer.parse()?,
            receipt: receipt.parse()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(form: &str, id: u64) -> (String, String) {
        let form: MessageIdNotations = form.parse().unwrap();
        let text = |notation: Notation| {
            let mut out = BytesMut::new();
            notation.write(&mut out, id);
            String::from_utf8(out.to_vec()).unwrap()
        };
        (text(form.answer), text(form.receipt))
    }

    #[test]
    fn every_form_shows_the_same_number() {
        let both = |text: &str| (text.to_owned(), text.to_owned());
        assert_eq!(written("decimal", 48_879), both("48879"));
        assert_eq!(written("hex", 48_879), both("beef"));
        assert_eq!(written("hex-upper-zeros", 48_879), both("000000000000BEEF"));
        assert_eq!(written("decimal-zeros", 7), both("00000000000000000007"));
        assert_eq!(
            written("hex-in-receipt-decimal", 255),
            ("ff".to_owned(), "255".to_owned())
        );
        assert_eq!(
            written("decimal-zeros-in-receipt-hex-upper", u64::MAX),
            (
                "18446744073709551615".to_owned(),
                "FFFFFFFFFFFFFFFF".to_owned()
            )
        );
        assert_eq!(written("decimal", 0), both("0"));
    }

    #[test]
    fn an_unknown_form_names_those_there_are() {
        let error = "roman".parse::<MessageIdNotations>().unwrap_err();
        assert!(error.contains("hex-upper"), "{error}");
    }
}
