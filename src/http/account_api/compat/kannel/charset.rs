//! The parameter `charset`: how the octets of a text are to be read.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

/// The characters of a text; `None` if the charset is not known, or the octets are none of its.
///
/// Names are those of the WHATWG Encoding Standard, which takes ISO-8859-1 for its superset windows-1252. UTF-16 and
/// UCS-2 have the high octet first, as in SMS.
pub(super) fn characters(octets: &[u8], charset: &str) -> Option<String> {
    let name = charset.trim().to_ascii_lowercase();
    let encoding = match name.as_str() {
        "" => UTF_8,
        "utf-16" | "utf16" | "utf-16be" | "utf16be" | "ucs-2" | "ucs2" | "ucs-2be"
        | "iso-10646-ucs-2" => UTF_16BE,
        "utf-16le" | "utf16le" | "ucs-2le" => UTF_16LE,
        other => Encoding::for_label(other.as_bytes())?,
    };
    let text = encoding.decode_without_bom_handling_and_without_replacement(octets)?;
    Some(text.into_owned())
}

#[cfg(test)]
mod tests {
    use super::characters;

    #[test]
    fn charsets_have_the_names_that_programs_give_them() {
        for (octets, charset, text) in [
            (&b"h\xC3\xA9"[..], "", "hé"),
            (b"h\xC3\xA9", "UTF-8", "hé"),
            (b"h\xE9", "ISO-8859-1", "hé"),
            (b"h\xE9", "latin1", "hé"),
            (b"\x80", "windows-1252", "€"),
            (b"\xEF", "cp1251", "п"),
            (b"\x04\x3F", "UTF-16BE", "п"),
            (b"\x3F\x04", "utf-16le", "п"),
            (b"\x04\x3F", "ucs-2", "п"),
        ] {
            assert_eq!(
                characters(octets, charset).as_deref(),
                Some(text),
                "{charset}"
            );
        }
        for (octets, charset) in [(&b"h\xE9"[..], ""), (b"x", "klingon"), (b"\x04", "UTF-16")] {
            assert_eq!(characters(octets, charset), None, "{charset}");
        }
    }
}
