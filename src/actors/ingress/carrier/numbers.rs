//! Msg_Id (CMPP §8.4.3.1) of our number of a message, and back. Pure.
//!
//! Both have 64 bits and begin with the time, so each is made of the other and nothing is stored: month to second, in
//! the time of China, are those of our number; the year modulo 256, the six higher bits of the millisecond and the
//! node are where the standard has the gateway (22 bits), the four lower bits and our sequence where it has the number
//! (16 bits). Like our numbers, Msg_Ids are unique over nodes and restarts.

use jiff::Timestamp;
use jiff::civil::DateTime;

use crate::actors::session::smpp_terms::china;
use crate::cmpp::MessageId;
use crate::domain::id;

/// Bits of the sequence in our number.
const SEQUENCE: u64 = 0xFFF;
/// Years from here on can be told apart, for 256 years.
const FIRST_YEAR: i16 = 1970;

/// The Msg_Id of the message with this number.
pub(super) fn msg_id_of(number: u64) -> u64 {
    let ms = id::millis(number);
    let at = Timestamp::from_millisecond(ms).unwrap_or_default();
    let at = at.to_zoned(china());
    let millisecond = (ms % 1_000) as u32;
    let year = (at.year() - FIRST_YEAR) as u32 & 0xFF;
    let part = |value: i8| value.unsigned_abs();
    MessageId {
        month: part(at.month()),
        day: part(at.day()),
        hour: part(at.hour()),
        minute: part(at.minute()),
        second: part(at.second()),
        gateway: year << 14 | (millisecond >> 4) << 8 | u32::from(id::node(number)),
        number: ((millisecond & 0xF) << 12) as u16 | (number & SEQUENCE) as u16,
    }
    .to_u64()
}

/// The number of the message with this Msg_Id; `None` for a Msg_Id that is none of ours.
pub(super) fn number_of(msg_id: u64) -> Option<u64> {
    let parts = MessageId::from_u64(msg_id);
    let part = |value: u8| i8::try_from(value).ok();
    let millisecond = (parts.gateway >> 8 & 0x3F) << 4 | u32::from(parts.number >> 12);
    let at = DateTime::new(
        FIRST_YEAR + (parts.gateway >> 14) as i16,
        part(parts.month)?,
        part(parts.day)?,
        part(parts.hour)?,
        part(parts.minute)?,
        part(parts.second)?,
        i32::try_from(millisecond).ok()? * 1_000_000,
    )
    .ok()?;
    let ms = at.to_zoned(china()).ok()?.timestamp().as_millisecond();
    let node = u64::from(parts.gateway & 0xFF) << 12;
    Some(id::lowest_at(ms) | node | u64::from(parts.number) & SEQUENCE)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_msg_id_begins_with_the_time_in_china() {
        // 2026-11-25T16:31:59.987Z, node 7, sequence 0x123.
        let number = id::lowest_at(1_795_624_319_987) | 7 << 12 | 0x123;
        let parts = MessageId::from_u64(msg_id_of(number));
        let expected = MessageId {
            month: 11,
            day: 26,
            hour: 0,
            minute: 31,
            second: 59,
            gateway: 56 << 14 | (987 >> 4) << 8 | 7,
            number: (987 & 0xF) << 12 | 0x123,
        };
        assert_eq!(parts, expected);
        assert_eq!(number_of(expected.to_u64()), Some(number));
        for none in [0, u64::MAX] {
            assert_eq!(number_of(none), None);
        }
    }

    proptest! {
        #[test]
        fn it_is_found_again(ms in 0_i64..8_000_000_000_000, low in 0_u64..(1 << 20)) {
            let number = id::lowest_at(ms) | low;
            prop_assert_eq!(number_of(msg_id_of(number)), Some(number));
        }

        #[test]
        fn no_msg_id_is_two_messages(msg_id: u64) {
            if let Some(number) = number_of(msg_id) {
                prop_assert_eq!(msg_id_of(number), msg_id);
            }
        }
    }
}
