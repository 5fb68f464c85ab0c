//! Basic and extension tables of the languages in Latin script: the default alphabet, Turkish,
//! Spanish and Portuguese (3GPP TS 23.038 §6.2.1, §6.2.1.1, §A.2.1 to §A.2.3, §A.3.1, §A.3.3).
//!
//! Read by `tables.rs` alone. Sixteen positions a line, so that line `n` is column `n` of the
//! standard's table. The escape is no character and stands as [`NONE`].

use super::{NONE, SeptetTable};

/// GSM 7 bit default alphabet (§6.2.1).
#[rustfmt::skip]
pub static DEFAULT: SeptetTable = SeptetTable::basic([
    '@', '£', '$', '¥', 'è', 'é', 'ù', 'ì', 'ò', 'Ç', '\n', 'Ø', 'ø', '\r', 'Å', 'å',
    'Δ', '_', 'Φ', 'Γ', 'Λ', 'Ω', 'Π', 'Ψ', 'Σ', 'Θ', 'Ξ', NONE, 'Æ', 'æ', 'ß', 'É',
    ' ', '!', '"', '#', '¤', '%', '&', '\'', '(', ')', '*', '+', ',', '-', '.', '/',
    '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', ':', ';', '<', '=', '>', '?',
    '¡', 'A', 'B', 'C', 'D', 'E', 'F', 'G', 'H', 'I', 'J', 'K', 'L', 'M', 'N', 'O',
    'P', 'Q', 'R', 'S', 'T', 'U', 'V', 'W', 'X', 'Y', 'Z', 'Ä', 'Ö', 'Ñ', 'Ü', '§',
    '¿', 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm', 'n', 'o',
    'p', 'q', 'r', 's', 't', 'u', 'v', 'w', 'x', 'y', 'z', 'ä', 'ö', 'ñ', 'ü', 'à',
]);

/// Turkish, locking (§A.3.1).
#[rustfmt::skip]
pub static TURKISH: SeptetTable = SeptetTable::basic([
    '@', '£', '$', '¥', '€', 'é', 'ù', 'ı', 'ò', 'Ç', '\n', 'Ğ', 'ğ', '\r', 'Å', 'å',
    'Δ', '_', 'Φ', 'Γ', 'Λ', 'Ω', 'Π', 'Ψ', 'Σ', 'Θ', 'Ξ', NONE, 'Ş', 'ş', 'ß', 'É',
    ' ', '!', '"', '#', '¤', '%', '&', '\'', '(', ')', '*', '+', ',', '-', '.', '/',
    '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', ':', ';', '<', '=', '>', '?',
    'İ', 'A', 'B', 'C', 'D', 'E', 'F', 'G', 'H', 'I', 'J', 'K', 'L', 'M', 'N', 'O',
    'P', 'Q', 'R', 'S', 'T', 'U', 'V', 'W', 'X', 'Y', 'Z', 'Ä', 'Ö', 'Ñ', 'Ü', '§',
    'ç', 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm', 'n', 'o',
    'p', 'q', 'r', 's', 't', 'u', 'v', 'w', 'x', 'y', 'z', 'ä', 'ö', 'ñ', 'ü', 'à',
]);

/// Portuguese, locking (§A.3.3).
#[rustfmt::skip]
pub static PORTUGUESE: SeptetTable = SeptetTable::basic([
    '@', '£', '$', '¥', 'ê', 'é', 'ú', 'í', 'ó', 'ç', '\n', 'Ô', 'ô', '\r', 'Á', 'á',
    'Δ', '_', 'ª', 'Ç', 'À', '∞', '^', '\\', '€', 'Ó', '|', NONE, 'Â', 'â', 'Ê', 'É',
    ' ', '!', '"', '#', 'º', '%', '&', '\'', '(', ')', '*', '+', ',', '-', '.', '/',
    '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', ':', ';', '<', '=', '>', '?',
    'Í', 'A', 'B', 'C', 'D', 'E', 'F', 'G', 'H', 'I', 'J', 'K', 'L', 'M', 'N', 'O',
    'P', 'Q', 'R', 'S', 'T', 'U', 'V', 'W', 'X', 'Y', 'Z', 'Ã', 'Õ', 'Ú', 'Ü', '§',
    '~', 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm', 'n', 'o',
    'p', 'q', 'r', 's', 't', 'u', 'v', 'w', 'x', 'y', 'z', 'ã', 'õ', '`', 'ü', 'à',
]);

/// Extension of the default alphabet (§6.2.1.1).
#[rustfmt::skip]
pub static DEFAULT_EXTENSION: SeptetTable = SeptetTable::extension(&[
    (0x0A, '\u{0c}'), (0x14, '^'), (0x28, '{'), (0x29, '}'), (0x2F, '\\'), (0x3C, '['), (0x3D, '~'),
    (0x3E, ']'), (0x40, '|'), (0x65, '€'),
]);

/// Turkish, single shift (§A.2.1).
#[rustfmt::skip]
pub static TURKISH_EXTENSION: SeptetTable = SeptetTable::extension(&[
    (0x0A, '\u{0c}'), (0x14, '^'), (0x28, '{'), (0x29, '}'), (0x2F, '\\'), (0x3C, '['), (0x3D, '~'),
    (0x3E, ']'), (0x40, '|'), (0x47, 'Ğ'), (0x49, 'İ'), (0x53, 'Ş'), (0x63, 'ç'), (0x65, '€'),
    (0x67, 'ğ'), (0x69, 'ı'), (0x73, 'ş'),
]);

/// Spanish, single shift (§A.2.2).
#[rustfmt::skip]
pub static SPANISH_EXTENSION: SeptetTable = SeptetTable::extension(&[
    (0x09, 'ç'), (0x0A, '\u{0c}'), (0x14, '^'), (0x28, '{'), (0x29, '}'), (0x2F, '\\'), (0x3C, '['),
    (0x3D, '~'), (0x3E, ']'), (0x40, '|'), (0x41, 'Á'), (0x49, 'Í'), (0x4F, 'Ó'), (0x55, 'Ú'),
    (0x61, 'á'), (0x65, '€'), (0x69, 'í'), (0x6F, 'ó'), (0x75, 'ú'),
]);

/// Portuguese, single shift (§A.2.3).
#[rustfmt::skip]
pub static PORTUGUESE_EXTENSION: SeptetTable = SeptetTable::extension(&[
    (0x05, 'ê'), (0x09, 'ç'), (0x0A, '\u{0c}'), (0x0B, 'Ô'), (0x0C, 'ô'), (0x0E, 'Á'), (0x0F, 'á'),
    (0x12, 'Φ'), (0x13, 'Γ'), (0x14, '^'), (0x15, 'Ω'), (0x16, 'Π'), (0x17, 'Ψ'), (0x18, 'Σ'),
    (0x19, 'Θ'), (0x1F, 'Ê'), (0x28, '{'), (0x29, '}'), (0x2F, '\\'), (0x3C, '['), (0x3D, '~'),
    (0x3E, ']'), (0x40, '|'), (0x41, 'À'), (0x49, 'Í'), (0x4F, 'Ó'), (0x55, 'Ú'), (0x5B, 'Ã'),
    (0x5C, 'Õ'), (0x61, 'Â'), (0x65, '€'), (0x69, 'í'), (0x6F, 'ó'), (0x75, 'ú'), (0x7B, 'ã'),
    (0x7C, 'õ'), (0x7F, 'â'),
]);
