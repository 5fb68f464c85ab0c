//! Single shift tables of Bengali, Gujarati, Hindi, Kannada, Malayalam, Oriya, Punjabi, Tamil,
//! Telugu and Urdu (3GPP TS 23.038 §A.2.4 to §A.2.13).
//!
//! Read by `tables.rs` alone. `A` to `Z` are in each of them, and only here: the locking
//! tables have no Latin capitals.

use super::latin::COMMON_EXTENSION;
use super::{SEPTETS, SeptetTable, place};

/// What each of them has.
#[rustfmt::skip]
const COMMON: [char; SEPTETS] = place(COMMON_EXTENSION, &[
    (0x00, '@', 1), (0x01, '£', 1), (0x02, '$', 1), (0x03, '¥', 1), (0x04, '¿', 1), (0x05, '"', 1),
    (0x06, '¤', 1), (0x07, '%', 3), (0x0B, '*', 2), (0x0E, '-', 1), (0x0F, '/', 1), (0x10, '<', 3),
    (0x13, '¡', 1), (0x15, '¡', 1), (0x16, '_', 1), (0x17, '#', 1), (0x18, '*', 1), (0x41, 'A', 26),
]);

/// Bengali (§A.2.4).
#[rustfmt::skip]
pub static BENGALI: SeptetTable = SeptetTable::with(COMMON, &[
    (0x19, '\u{09e6}', 2), (0x1C, '\u{09e8}', 8), (0x24, '\u{09df}', 4), (0x2A, '\u{09e3}', 1),
    (0x2B, '\u{09f2}', 4), (0x30, '\u{09f6}', 5),
]);

/// Gujarati (§A.2.5).
#[rustfmt::skip]
pub static GUJARATI: SeptetTable = SeptetTable::with(COMMON, &[
    (0x19, '\u{0964}', 2), (0x1C, '\u{0ae6}', 10),
]);

/// Hindi (§A.2.6).
#[rustfmt::skip]
pub static HINDI: SeptetTable = SeptetTable::with(COMMON, &[
    (0x19, '\u{0964}', 2), (0x1C, '\u{0966}', 10), (0x26, '\u{0951}', 2), (0x2A, '\u{0953}', 2),
    (0x2C, '\u{0958}', 3), (0x30, '\u{095b}', 9), (0x39, '\u{0970}', 2),
]);

/// Kannada (§A.2.7).
#[rustfmt::skip]
pub static KANNADA: SeptetTable = SeptetTable::with(COMMON, &[
    (0x19, '\u{0964}', 2), (0x1C, '\u{0ce6}', 10), (0x26, '\u{0cde}', 1), (0x27, '\u{0cf1}', 1),
    (0x2A, '\u{0cf2}', 1),
]);

/// Malayalam (§A.2.8).
#[rustfmt::skip]
pub static MALAYALAM: SeptetTable = SeptetTable::with(COMMON, &[
    (0x19, '\u{0964}', 2), (0x1C, '\u{0d66}', 12), (0x2A, '\u{0d72}', 4), (0x2E, '\u{0d7a}', 1),
    (0x30, '\u{0d7b}', 5),
]);

/// Oriya (§A.2.9).
#[rustfmt::skip]
pub static ORIYA: SeptetTable = SeptetTable::with(COMMON, &[
    (0x19, '\u{0964}', 2), (0x1C, '\u{0b66}', 10), (0x26, '\u{0b5c}', 2), (0x2A, '\u{0b5f}', 1),
    (0x2B, '\u{0b70}', 2),
]);

/// Punjabi (§A.2.10).
#[rustfmt::skip]
pub static PUNJABI: SeptetTable = SeptetTable::with(COMMON, &[
    (0x19, '\u{0964}', 2), (0x1C, '\u{0a66}', 10), (0x26, '\u{0a59}', 2), (0x2A, '\u{0a5b}', 2),
    (0x2C, '\u{0a5e}', 1), (0x2D, '\u{0a75}', 1),
]);

/// Tamil (§A.2.11).
#[rustfmt::skip]
pub static TAMIL: SeptetTable = SeptetTable::with(COMMON, &[
    (0x19, '\u{0964}', 2), (0x1C, '\u{0be6}', 10), (0x26, '\u{0bf3}', 2), (0x2A, '\u{0bf5}', 4),
    (0x2E, '\u{0bfa}', 1),
]);

/// Telugu (§A.2.12).
#[rustfmt::skip]
pub static TELUGU: SeptetTable = SeptetTable::with(COMMON, &[
    (0x1C, '\u{0c66}', 10), (0x26, '\u{0c58}', 2), (0x2A, '\u{0c78}', 5), (0x30, '\u{0c7d}', 3),
]);

/// Urdu (§A.2.13).
#[rustfmt::skip]
pub static URDU: SeptetTable = SeptetTable::with(COMMON, &[
    (0x19, '\u{0600}', 2), (0x1C, '\u{06f0}', 10), (0x26, '\u{060c}', 2), (0x2A, '\u{060e}', 5),
    (0x30, '\u{0613}', 2), (0x32, '\u{061b}', 1), (0x33, '\u{061f}', 1), (0x34, '\u{0640}', 1),
    (0x35, '\u{0652}', 1), (0x36, '\u{0658}', 1), (0x37, '\u{066b}', 2), (0x39, '\u{0672}', 2),
    (0x3B, '\u{06cd}', 1), (0x3F, '\u{06d4}', 1),
]);
