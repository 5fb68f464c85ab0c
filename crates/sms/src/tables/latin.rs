//! Basic and extension tables of the languages in Latin script: the default alphabet, Turkish,
//! Spanish and Portuguese (3GPP TS 23.038 §6.2.1, §6.2.1.1, §A.2.1 to §A.2.3, §A.3.1, §A.3.3).
//!
//! Read by `tables.rs` alone. Of the default alphabet sixteen positions are on a line, so that line `n` is
//! column `n` of the standard's table. The escape is no character and stands as [`NONE`]. The other tables
//! say what they have instead of, or beside, the characters that they share.

use super::{NONE, SEPTETS, SeptetTable, place};

/// GSM 7 bit default alphabet (§6.2.1).
#[rustfmt::skip]
const DEFAULT_CHARACTERS: [char; SEPTETS] = [
    '@', '£', '$', '¥', 'è', 'é', 'ù', 'ì', 'ò', 'Ç', '\n', 'Ø', 'ø', '\r', 'Å', 'å',
    'Δ', '_', 'Φ', 'Γ', 'Λ', 'Ω', 'Π', 'Ψ', 'Σ', 'Θ', 'Ξ', NONE, 'Æ', 'æ', 'ß', 'É',
    ' ', '!', '"', '#', '¤', '%', '&', '\'', '(', ')', '*', '+', ',', '-', '.', '/',
    '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', ':', ';', '<', '=', '>', '?',
    '¡', 'A', 'B', 'C', 'D', 'E', 'F', 'G', 'H', 'I', 'J', 'K', 'L', 'M', 'N', 'O',
    'P', 'Q', 'R', 'S', 'T', 'U', 'V', 'W', 'X', 'Y', 'Z', 'Ä', 'Ö', 'Ñ', 'Ü', '§',
    '¿', 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm', 'n', 'o',
    'p', 'q', 'r', 's', 't', 'u', 'v', 'w', 'x', 'y', 'z', 'ä', 'ö', 'ñ', 'ü', 'à',
];

pub static DEFAULT: SeptetTable = SeptetTable::with(DEFAULT_CHARACTERS, &[]);

/// Turkish, locking (§A.3.1).
#[rustfmt::skip]
pub static TURKISH: SeptetTable = SeptetTable::with(DEFAULT_CHARACTERS, &[
    (0x04, '€', 1), (0x07, 'ı', 1), (0x0B, 'Ğ', 2), (0x1C, 'Ş', 2), (0x40, 'İ', 1), (0x60, 'ç', 1),
]);

/// Portuguese, locking (§A.3.3).
#[rustfmt::skip]
pub static PORTUGUESE: SeptetTable = SeptetTable::with(DEFAULT_CHARACTERS, &[
    (0x04, 'ê', 1), (0x06, 'ú', 1), (0x07, 'í', 1), (0x08, 'ó', 1), (0x09, 'ç', 1), (0x0B, 'Ô', 1),
    (0x0C, 'ô', 1), (0x0E, 'Á', 1), (0x0F, 'á', 1), (0x12, 'ª', 1), (0x13, 'Ç', 1), (0x14, 'À', 1),
    (0x15, '∞', 1), (0x16, '^', 1), (0x17, '\\', 1), (0x18, '€', 1), (0x19, 'Ó', 1), (0x1A, '|', 1),
    (0x1C, 'Â', 1), (0x1D, 'â', 1), (0x1E, 'Ê', 1), (0x24, 'º', 1), (0x40, 'Í', 1), (0x5B, 'Ã', 1),
    (0x5C, 'Õ', 1), (0x5D, 'Ú', 1), (0x60, '~', 1), (0x7B, 'ã', 1), (0x7C, 'õ', 1), (0x7D, '`', 1),
]);

/// What every extension table has.
#[rustfmt::skip]
pub const COMMON_EXTENSION: [char; SEPTETS] = place([NONE; SEPTETS], &[
    (0x0A, '\u{0c}', 1), (0x14, '^', 1), (0x28, '{', 1), (0x29, '}', 1), (0x2F, '\\', 1),
    (0x3C, '[', 1), (0x3D, '~', 1), (0x3E, ']', 1), (0x40, '|', 1), (0x65, '€', 1),
]);

/// Extension of the default alphabet (§6.2.1.1).
pub static DEFAULT_EXTENSION: SeptetTable = SeptetTable::with(COMMON_EXTENSION, &[]);

/// Turkish, single shift (§A.2.1).
#[rustfmt::skip]
pub static TURKISH_EXTENSION: SeptetTable = SeptetTable::with(COMMON_EXTENSION, &[
    (0x47, 'Ğ', 1), (0x49, 'İ', 1), (0x53, 'Ş', 1), (0x63, 'ç', 1), (0x67, 'ğ', 1), (0x69, 'ı', 1),
    (0x73, 'ş', 1),
]);

/// Spanish, single shift (§A.2.2).
#[rustfmt::skip]
pub static SPANISH_EXTENSION: SeptetTable = SeptetTable::with(COMMON_EXTENSION, &[
    (0x09, 'ç', 1), (0x41, 'Á', 1), (0x49, 'Í', 1), (0x4F, 'Ó', 1), (0x55, 'Ú', 1), (0x61, 'á', 1),
    (0x69, 'í', 1), (0x6F, 'ó', 1), (0x75, 'ú', 1),
]);

/// Portuguese, single shift (§A.2.3).
#[rustfmt::skip]
pub static PORTUGUESE_EXTENSION: SeptetTable = SeptetTable::with(COMMON_EXTENSION, &[
    (0x05, 'ê', 1), (0x09, 'ç', 1), (0x0B, 'Ô', 1), (0x0C, 'ô', 1), (0x0E, 'Á', 1), (0x0F, 'á', 1),
    (0x12, 'Φ', 1), (0x13, 'Γ', 1), (0x15, 'Ω', 1), (0x16, 'Π', 1), (0x17, 'Ψ', 1), (0x18, 'Σ', 1),
    (0x19, 'Θ', 1), (0x1F, 'Ê', 1), (0x41, 'À', 1), (0x49, 'Í', 1), (0x4F, 'Ó', 1), (0x55, 'Ú', 1),
    (0x5B, 'Ã', 1), (0x5C, 'Õ', 1), (0x61, 'Â', 1), (0x69, 'í', 1), (0x6F, 'ó', 1), (0x75, 'ú', 1),
    (0x7B, 'ã', 1), (0x7C, 'õ', 1), (0x7F, 'â', 1),
]);
