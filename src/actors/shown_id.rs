//! The id by which the sender of a message knows it: in the answer to its submission, in receipts, in
//! query_sm, cancel_sm and replace_sm.
//!
//! Mostly our own number in decimal digits. The messages of one submit_multi are known by the number
//! of the first, because its answer has room for one id (SMPP 3.4 §4.5.2). A peer of SMPP 3.3 has room
//! for eight hexadecimal digits: a hash of the number, which is found again among the newest messages
//! of the account.

use crate::pb::Message;

/// Digits of the short form.
const SHORT_DIGITS: usize = 8;

/// The id of a message as its sender knows it.
pub fn of(message: &Message) -> String {
    text(number(message), message.short_id)
}

/// The id with this number, long or short.
pub fn text(id: u64, short: bool) -> String {
    match short {
        true => format!("{:08X}", shortened(id)),
        false => id.to_string(),
    }
}

/// The number behind the id of a message.
pub fn number(message: &Message) -> u64 {
    match message.group_size {
        0 => message.id,
        _ => message.group_first,
    }
}

/// Reads the short form; `None` for anything else. Ours in decimal digits are longer.
pub fn parse_short(text: &[u8]) -> Option<u32> {
    let is_short = text.len() == SHORT_DIGITS && text.iter().all(u8::is_ascii_hexdigit);
    let text = std::str::from_utf8(text).ok().filter(|_| is_short)?;
    u32::from_str_radix(text, 16).ok()
}

/// Reads the long form; leading zeros do no harm.
pub fn parse(text: &[u8]) -> Option<u64> {
    let is_number = text.iter().all(u8::is_ascii_digit);
    let text = std::str::from_utf8(text).ok().filter(|_| is_number)?;
    text.parse().ok().filter(|id| *id > 0)
}

/// The finalizer of MurmurHash3: numbers that follow one another share nothing visible.
pub fn shortened(id: u64) -> u32 {
    let mut mixed = id;
    mixed ^= mixed >> 33;
    mixed = mixed.wrapping_mul(0xFF51_AFD7_ED55_8CCD);
    mixed ^= mixed >> 33;
    mixed = mixed.wrapping_mul(0xC4CE_B9FE_1A85_EC53);
    mixed ^= mixed >> 33;
    mixed as u32
}

/// Marks the messages of one submit_multi, which have been given ids that follow one another.
pub fn group(messages: &mut [(u32, Message)]) {
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
    use super::*;

    #[test]
    fn a_group_is_known_by_its_first() {
        let message = |id| Message {
            id,
            ..Message::default()
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
        let id = 1_900_000_000_000_000_123;
        let short = text(id, true);
        assert_eq!(parse_short(short.as_bytes()), Some(shortened(id)));
        assert_eq!(short.len(), SHORT_DIGITS);
        assert_eq!(parse_short(id.to_string().as_bytes()), None);
        assert_eq!(parse(b"0042"), Some(42));
        assert_eq!(parse(b"4x"), None);
        assert_eq!(parse(b"0"), None);
        let distinct: std::collections::HashSet<u32> = (id..id + 100_000).map(shortened).collect();
        assert!(distinct.len() > 99_990, "{}", distinct.len());
    }
}
