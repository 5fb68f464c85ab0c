//! Locking shift tables of Bengali, Gujarati, Hindi, Kannada, Malayalam, Oriya, Punjabi, Tamil,
//! Telugu and Urdu (3GPP TS 23.038 §A.3.4 to §A.3.13).
//!
//! Read by `tables.rs` alone. The letters of a script stand in the order of Unicode, so a table is a list of
//! runs. Those of Urdu do not: it has eight positions a line, two lines to a column of the standard's
//! table, with [`NONE`] at the escape.

use super::{NONE, SEPTETS, SeptetTable, place};

/// What the tables of Indic scripts share.
#[rustfmt::skip]
const COMMON: [char; SEPTETS] = place([NONE; SEPTETS], &[
    (0x0A, '\n', 1), (0x0D, '\r', 1), (0x20, ' ', 2), (0x28, ')', 1), (0x29, '(', 1),
    (0x2C, ',', 1), (0x2E, '.', 1), (0x30, '0', 12), (0x3F, '?', 1), (0x61, 'a', 26),
]);

/// Bengali (§A.3.4).
#[rustfmt::skip]
pub static BENGALI: SeptetTable = SeptetTable::with(COMMON, &[
    (0x00, '\u{0981}', 3), (0x03, '\u{0985}', 7), (0x0B, '\u{098c}', 1), (0x0F, '\u{098f}', 2),
    (0x13, '\u{0993}', 8), (0x1C, '\u{099b}', 4), (0x22, '\u{099f}', 6), (0x2A, '\u{09a5}', 2),
    (0x2D, '\u{09a7}', 1), (0x2F, '\u{09a8}', 1), (0x3D, '\u{09aa}', 2), (0x40, '\u{09ac}', 5),
    (0x46, '\u{09b2}', 1), (0x4A, '\u{09b6}', 4), (0x4E, '\u{09bc}', 9), (0x59, '\u{09c7}', 2),
    (0x5D, '\u{09cb}', 4), (0x7B, '\u{09d7}', 1), (0x7C, '\u{09dc}', 2), (0x7E, '\u{09f0}', 2),
]);

/// Gujarati (§A.3.5).
#[rustfmt::skip]
pub static GUJARATI: SeptetTable = SeptetTable::with(COMMON, &[
    (0x00, '\u{0a81}', 3), (0x03, '\u{0a85}', 7), (0x0B, '\u{0a8c}', 2), (0x0F, '\u{0a8f}', 3),
    (0x13, '\u{0a93}', 8), (0x1C, '\u{0a9b}', 4), (0x22, '\u{0a9f}', 6), (0x2A, '\u{0aa5}', 2),
    (0x2D, '\u{0aa7}', 1), (0x2F, '\u{0aa8}', 1), (0x3D, '\u{0aaa}', 2), (0x40, '\u{0aac}', 5),
    (0x46, '\u{0ab2}', 2), (0x49, '\u{0ab5}', 5), (0x4E, '\u{0abc}', 10), (0x59, '\u{0ac7}', 3),
    (0x5D, '\u{0acb}', 3), (0x60, '\u{0ad0}', 1), (0x7B, '\u{0ae0}', 4), (0x7F, '\u{0af1}', 1),
]);

/// Hindi (§A.3.6).
#[rustfmt::skip]
pub static HINDI: SeptetTable = SeptetTable::with(COMMON, &[
    (0x00, '\u{0901}', 3), (0x03, '\u{0905}', 7), (0x0B, '\u{090c}', 2), (0x0E, '\u{090e}', 13),
    (0x1C, '\u{091b}', 4), (0x22, '\u{091f}', 6), (0x2A, '\u{0925}', 2), (0x2D, '\u{0927}', 1),
    (0x2F, '\u{0928}', 1), (0x3C, '\u{0929}', 3), (0x40, '\u{092c}', 14), (0x4E, '\u{093c}', 18),
    (0x60, '\u{0950}', 1), (0x7B, '\u{0972}', 1), (0x7C, '\u{097b}', 2), (0x7E, '\u{097e}', 2),
]);

/// Kannada (§A.3.7).
#[rustfmt::skip]
pub static KANNADA: SeptetTable = SeptetTable::with(COMMON, &[
    (0x01, '\u{0c82}', 2), (0x03, '\u{0c85}', 7), (0x0B, '\u{0c8c}', 1), (0x0E, '\u{0c8e}', 3),
    (0x12, '\u{0c92}', 9), (0x1C, '\u{0c9b}', 4), (0x22, '\u{0c9f}', 6), (0x2A, '\u{0ca5}', 2),
    (0x2D, '\u{0ca7}', 1), (0x2F, '\u{0ca8}', 1), (0x3D, '\u{0caa}', 2), (0x40, '\u{0cac}', 8),
    (0x49, '\u{0cb5}', 5), (0x4E, '\u{0cbc}', 9), (0x58, '\u{0cc6}', 3), (0x5C, '\u{0cca}', 4),
    (0x60, '\u{0cd5}', 1), (0x7B, '\u{0cd6}', 1), (0x7C, '\u{0ce0}', 4),
]);

/// Malayalam (§A.3.8).
#[rustfmt::skip]
pub static MALAYALAM: SeptetTable = SeptetTable::with(COMMON, &[
    (0x01, '\u{0d02}', 2), (0x03, '\u{0d05}', 7), (0x0B, '\u{0d0c}', 1), (0x0E, '\u{0d0e}', 3),
    (0x12, '\u{0d12}', 9), (0x1C, '\u{0d1b}', 4), (0x22, '\u{0d1f}', 6), (0x2A, '\u{0d25}', 2),
    (0x2D, '\u{0d27}', 1), (0x2F, '\u{0d28}', 1), (0x3D, '\u{0d2a}', 2), (0x40, '\u{0d2c}', 14),
    (0x4F, '\u{0d3d}', 8), (0x58, '\u{0d46}', 3), (0x5C, '\u{0d4a}', 4), (0x60, '\u{0d57}', 1),
    (0x7B, '\u{0d60}', 4), (0x7F, '\u{0d79}', 1),
]);

/// Oriya (§A.3.9).
#[rustfmt::skip]
pub static ORIYA: SeptetTable = SeptetTable::with(COMMON, &[
    (0x00, '\u{0b01}', 3), (0x03, '\u{0b05}', 7), (0x0B, '\u{0b0c}', 1), (0x0F, '\u{0b0f}', 2),
    (0x13, '\u{0b13}', 8), (0x1C, '\u{0b1b}', 4), (0x22, '\u{0b1f}', 6), (0x2A, '\u{0b25}', 2),
    (0x2D, '\u{0b27}', 1), (0x2F, '\u{0b28}', 1), (0x3D, '\u{0b2a}', 2), (0x40, '\u{0b2c}', 5),
    (0x46, '\u{0b32}', 2), (0x49, '\u{0b35}', 5), (0x4E, '\u{0b3c}', 9), (0x59, '\u{0b47}', 2),
    (0x5D, '\u{0b4b}', 3), (0x60, '\u{0b56}', 1), (0x7B, '\u{0b57}', 1), (0x7C, '\u{0b60}', 4),
]);

/// Punjabi (§A.3.10).
#[rustfmt::skip]
pub static PUNJABI: SeptetTable = SeptetTable::with(COMMON, &[
    (0x00, '\u{0a01}', 3), (0x03, '\u{0a05}', 6), (0x0F, '\u{0a0f}', 2), (0x13, '\u{0a13}', 8),
    (0x1C, '\u{0a1b}', 4), (0x22, '\u{0a1f}', 6), (0x2A, '\u{0a25}', 2), (0x2D, '\u{0a27}', 1),
    (0x2F, '\u{0a28}', 1), (0x3D, '\u{0a2a}', 2), (0x40, '\u{0a2c}', 5), (0x46, '\u{0a32}', 2),
    (0x49, '\u{0a35}', 2), (0x4C, '\u{0a38}', 2), (0x4E, '\u{0a3c}', 1), (0x50, '\u{0a3e}', 5),
    (0x59, '\u{0a47}', 2), (0x5D, '\u{0a4b}', 3), (0x60, '\u{0a51}', 1), (0x7B, '\u{0a70}', 5),
]);

/// Tamil (§A.3.11).
#[rustfmt::skip]
pub static TAMIL: SeptetTable = SeptetTable::with(COMMON, &[
    (0x01, '\u{0b82}', 2), (0x03, '\u{0b85}', 6), (0x0E, '\u{0b8e}', 3), (0x12, '\u{0b92}', 4),
    (0x19, '\u{0b99}', 2), (0x1D, '\u{0b9c}', 1), (0x1F, '\u{0b9e}', 1), (0x22, '\u{0b9f}', 1),
    (0x26, '\u{0ba3}', 2), (0x2F, '\u{0ba8}', 1), (0x3C, '\u{0ba9}', 2), (0x42, '\u{0bae}', 12),
    (0x50, '\u{0bbe}', 5), (0x58, '\u{0bc6}', 3), (0x5C, '\u{0bca}', 4), (0x60, '\u{0bd0}', 1),
    (0x7B, '\u{0bd7}', 1), (0x7C, '\u{0bf0}', 3), (0x7F, '\u{0bf9}', 1),
]);

/// Telugu (§A.3.12).
#[rustfmt::skip]
pub static TELUGU: SeptetTable = SeptetTable::with(COMMON, &[
    (0x00, '\u{0c01}', 3), (0x03, '\u{0c05}', 7), (0x0B, '\u{0c0c}', 1), (0x0E, '\u{0c0e}', 3),
    (0x12, '\u{0c12}', 9), (0x1C, '\u{0c1b}', 4), (0x22, '\u{0c1f}', 6), (0x2A, '\u{0c25}', 2),
    (0x2D, '\u{0c27}', 1), (0x2F, '\u{0c28}', 1), (0x3D, '\u{0c2a}', 2), (0x40, '\u{0c2c}', 8),
    (0x49, '\u{0c35}', 5), (0x4F, '\u{0c3d}', 8), (0x58, '\u{0c46}', 3), (0x5C, '\u{0c4a}', 4),
    (0x60, '\u{0c55}', 1), (0x7B, '\u{0c56}', 1), (0x7C, '\u{0c60}', 4),
]);

/// Urdu (§A.3.13).
#[rustfmt::skip]
pub static URDU: SeptetTable = SeptetTable::with([
    '\u{0627}', '\u{0622}', '\u{0628}', '\u{067b}', '\u{0680}', '\u{067e}', '\u{06a6}', '\u{062a}',
    '\u{06c2}', '\u{067f}', '\n', '\u{0679}', '\u{067d}', '\r', '\u{067a}', '\u{067c}',
    '\u{062b}', '\u{062c}', '\u{0681}', '\u{0684}', '\u{0683}', '\u{0685}', '\u{0686}', '\u{0687}',
    '\u{062d}', '\u{062e}', '\u{062f}', NONE, '\u{068c}', '\u{0688}', '\u{0689}', '\u{068a}',
    ' ', '!', '\u{068f}', '\u{068d}', '\u{0630}', '\u{0631}', '\u{0691}', '\u{0693}',
    ')', '(', '\u{0699}', '\u{0632}', ',', '\u{0696}', '.', '\u{0698}',
    '0', '1', '2', '3', '4', '5', '6', '7',
    '8', '9', ':', ';', '\u{069a}', '\u{0633}', '\u{0634}', '?',
    '\u{0635}', '\u{0636}', '\u{0637}', '\u{0638}', '\u{0639}', '\u{0641}', '\u{0642}', '\u{06a9}',
    '\u{06aa}', '\u{06ab}', '\u{06af}', '\u{06b3}', '\u{06b1}', '\u{0644}', '\u{0645}', '\u{0646}',
    '\u{06ba}', '\u{06bb}', '\u{06bc}', '\u{0648}', '\u{06c4}', '\u{06d5}', '\u{06c1}', '\u{06be}',
    '\u{0621}', '\u{06cc}', '\u{06d0}', '\u{06d2}', '\u{064d}', '\u{0650}', '\u{064f}', '\u{0657}',
    '\u{0654}', 'a', 'b', 'c', 'd', 'e', 'f', 'g',
    'h', 'i', 'j', 'k', 'l', 'm', 'n', 'o',
    'p', 'q', 'r', 's', 't', 'u', 'v', 'w',
    'x', 'y', 'z', '\u{0655}', '\u{0651}', '\u{0653}', '\u{0656}', '\u{0670}',
], &[]);
