//! The id by which the sender of a message knows it: in the answer to its submission, in receipts, in
//! query_sm, cancel_sm and replace_sm.
//!
//! Usually our own number, in the digits that the account has configured (`message_id`). The messages
//! of one submit_multi are known by the number of the first, because the response has room for one id
//! (SMPP 3.4 §4.5.2). SMPP 3.3 has room for eight hexadecimal digits: a hash of the number, which is
//! searched for among the newest messages of the account. The form is stored with the message, so that
//! its receipt uses it even if the account's configuration changes.

use crate::config::{Account, ShownIdForm};
use crate::pb::Message;

/// Digits of the short form.
const SHORT_DIGITS: usize = 8;
/// Most digits of our numbers in hexadecimal. Decimal numbers have had more digits since 1970.
const HEX_DIGITS: usize = 16;
/// Longest message_id without its NUL (SMPP 3.4 §5.2.23).
const LONGEST: usize = 64;

/// How an id is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IdNotation {
    /// Eight hexadecimal digits, for SMPP 3.3; overrides the other fields.
    pub short: bool,
    pub hex: bool,
    /// Least number of digits, with leading zeros.
    pub length: u32,
}

/// A buffer for the digits of an id, so that writing one needs no allocation.
pub struct Digits([u8; LONGEST]);

// === impl IdNotation ===

impl IdNotation {
    /// The form for an account on a bind; `short`: its ids have eight digits.
    pub fn of_account(account: &Account, short: bool) -> Self {
        Self {
            short,
            hex: account.message_id == ShownIdForm::Hex,
            length: account.message_id_length.unwrap_or(0),
        }
    }

    /// The form in which the sender of a message knows its id.
    pub fn of(message: &Message) -> Self {
        Self {
            short: message.short_id,
            hex: message.hex_id,
            length: message.id_length,
        }
    }

    /// Stores the form in a message.
    pub fn mark(self, message: &mut Message) {
        message.short_id = self.short;
        message.hex_id = self.hex;
        message.id_length = self.length;
    }

    /// Writes an id in this form.
    pub fn write(self, id: u64, digits: &mut Digits) -> &[u8] {
        let least = self.length as usize;
        match (self.short, self.hex) {
            (true, _) => digits.hexadecimal(shortened(id).into(), SHORT_DIGITS),
            (false, true) => digits.hexadecimal(id, least),
            (false, false) => digits.fill(itoa::Buffer::new().format(id).as_bytes(), least),
        }
    }

    /// The id as text.
    pub fn text(self, id: u64) -> String {
        String::from_utf8_lossy(self.write(id, &mut Digits::default())).into_owned()
    }
}

// === impl Digits ===

impl Digits {
    fn hexadecimal(&mut self, mut number: u64, least: usize) -> &[u8] {
        let mut digits = [0; HEX_DIGITS];
        let mut at = HEX_DIGITS;
        while number > 0 {
            at -= 1;
            digits[at] = b"0123456789ABCDEF"[(number % 16) as usize];
            number /= 16;
        }
        self.fill(&digits[at..], least)
    }

    /// These digits, behind as many zeros as make them `least`, or one.
    fn fill(&mut self, digits: &[u8], least: usize) -> &[u8] {
        let zeros = LONGEST - digits.len();
        let begin = zeros.min(LONGEST - least.clamp(1, LONGEST));
        self.0[begin..zeros].fill(b'0');
        self.0[zeros..].copy_from_slice(digits);
        &self.0[begin..]
    }
}

impl Default for Digits {
    fn default() -> Self {
        Self([0; LONGEST])
    }
}

/// The id of a message as its sender knows it.
pub fn of(message: &Message) -> String {
    IdNotation::of(message).text(number(message))
}

/// The number behind the id of a message.
pub fn number(message: &Message) -> u64 {
    match message.group_size {
        0 => message.id,
        _ => message.group_first,
    }
}

/// Reads the short form; `None` for anything else. Our other forms are longer.
pub fn parse_short(text: &[u8]) -> Option<u32> {
    let is_short = text.len() == SHORT_DIGITS && text.iter().all(u8::is_ascii_hexdigit);
    let text = std::str::from_utf8(text).ok().filter(|_| is_short)?;
    u32::from_str_radix(text, 16).ok()
}

/// Reads the long forms, in upper or lower case and with leading zeros; the length tells which form it
/// is.
pub fn parse(text: &[u8]) -> Option<u64> {
    let zeros = text.iter().take_while(|digit| **digit == b'0').count();
    let digits = &text[zeros..];
    let base = match digits.len() {
        ..=HEX_DIGITS => 16,
        _ => 10,
    };
    // `from_str_radix` alone would accept a sign.
    let is_number = digits.iter().all(u8::is_ascii_hexdigit);
    let digits = std::str::from_utf8(digits).ok().filter(|_| is_number)?;
    u64::from_str_radix(digits, base).ok().filter(|id| *id > 0)
}

/// The finalizer of MurmurHash3: consecutive numbers get unrelated results.
pub fn shortened(id: u64) -> u32 {
    let mut mixed = id;
    mixed ^= mixed >> 33;
    mixed = mixed.wrapping_mul(0xFF51_AFD7_ED55_8CCD);
    mixed ^= mixed >> 33;
    mixed = mixed.wrapping_mul(0xC4CE_B9FE_1A85_EC53);
    mixed ^= mixed >> 33;
    mixed as u32
}

/// Marks the messages of one submit_multi, which have consecutive ids.
pub fn group(messages: &mut [(u32, Box<Message>)]) {
    let size = messages.len() as u32;
    let Some(first) = messages.first().map(|(_, message)| message.id) else {
        return;
    };
    for (_, message) in messages.iter_mut().filter(|_| size > 1) {
        (message.group_first, message.group_size) = (first, size);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ID: u64 = 1_900_000_000_000_000_123;

    #[test]
    fn a_group_is_known_by_its_first() {
        let message = |id| {
            Box::new(Message {
                id,
                ..Message::default()
            })
        };
        let mut messages = vec![(0, message(70)), (1, message(71)), (2, message(72))];
        group(&mut messages);
        assert!(messages.iter().all(|(_, message)| of(message) == "70"));
        let mut alone = vec![(0, message(70))];
        group(&mut alone);
        assert_eq!(alone[0].1, message(70));
    }

    #[test]
    fn the_short_form_reads_back() {
        let form = IdNotation {
            short: true,
            hex: true,
            length: 20,
        };
        let short = form.text(ID);
        assert_eq!(parse_short(short.as_bytes()), Some(shortened(ID)));
        assert_eq!(short.len(), SHORT_DIGITS);
        assert_eq!(parse_short(ID.to_string().as_bytes()), None);
        let distinct: std::collections::HashSet<u32> = (ID..ID + 100_000).map(shortened).collect();
        assert!(distinct.len() > 99_990, "{}", distinct.len());
    }

    #[test]
    fn each_form_has_its_digits() {
        let cases = [
            (false, 0, "1900000000000000123"),
            (false, 20, "01900000000000000123"),
            (false, 64, &format!("{ID:064}")),
            (true, 0, "1A5E27EEF13E007B"),
            (true, 16, "1A5E27EEF13E007B"),
            (true, 20, "00001A5E27EEF13E007B"),
            // Configuration validation rejects this; here it must not panic.
            (true, 1_000, &format!("{ID:064X}")),
        ];
        for (hex, length, text) in cases {
            let form = IdNotation {
                short: false,
                hex,
                length,
            };
            assert_eq!(form.text(ID), text);
            let mut message = Message {
                id: ID,
                ..Message::default()
            };
            form.mark(&mut message);
            assert_eq!(
                (IdNotation::of(&message), of(&message)),
                (form, text.to_owned())
            );
        }
    }

    #[test]
    fn what_is_no_id_is_none() {
        for wrong in [
            "",
            "0",
            "000",
            "4x",
            "+1A5E27EEF13E007B",
            "1A5E27EEF13E007B0",
            "-1",
            " 1",
        ] {
            assert_eq!(parse(wrong.as_bytes()), None, "{wrong:?}");
        }
        assert_eq!(parse(b"1a5e27eef13e007b"), Some(ID));
        assert_eq!(parse(b"99999999999999999999"), None);
    }

    proptest! {
        #[test]
        fn every_form_reads_back(id in 1u64 << 60.., hex in any::<bool>(), length in 0..=64u32) {
            let form = IdNotation { short: false, hex, length };
            let text = form.text(id);
            prop_assert!(text.len() >= length as usize && text.len() <= LONGEST);
            prop_assert_eq!(parse(text.as_bytes()), Some(id));
        }
    }
}
