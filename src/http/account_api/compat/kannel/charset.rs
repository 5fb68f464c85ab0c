//! The parameter `charset`: how the octets of a text are to be read.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

/// UTF-16 in the order of its byte order mark; without one, the high octet is first.
pub(super) const UTF_16: &str = "utf-16";

/// Whether the text begins with the byte order mark of UTF-16.
pub(super) fn has_mark(octets: &[u8]) -> bool {
    Encoding::for_bom(octets).is_some_and(|(encoding, _)| encoding != UTF_8)
}

/// The characters of a text; `None` if the charset is not known, or the octets are none of its.
///
/// Names are those of the WHATWG Encoding Standard, which takes ISO-8859-1 for its superset windows-1252. UTF-16 and
/// UCS-2 have the high octet first, as in SMS, unless a byte order mark says otherwise. A byte order mark is not text.
pub(super) fn characters(octets: &[u8], charset: &str) -> Option<String> {
    let name = charset.trim().to_ascii_lowercase();
    let marked = Encoding::for_bom(octets);
    let encoding = match name.as_str() {
        "" => UTF_8,
        UTF_16 | "utf16" | "ucs-2" | "ucs2" | "iso-10646-ucs-2" => match marked {
            Some((encoding, _)) if encoding == UTF_16LE => UTF_16LE,
            _ => UTF_16BE,
        },
        "utf-16be" | "utf16be" | "ucs-2be" => UTF_16BE,
        "utf-16le" | "utf16le" | "ucs-2le" => UTF_16LE,
        other => Encoding::for_label(other.as_bytes())?,
    };
    let mark = match marked {
        Some((marked, length)) if marked == encoding => length,
        // It contradicts the charset: the text would be another one.
        Some((marked, _)) if marked != UTF_8 && [UTF_16BE, UTF_16LE].contains(&encoding) => {
            return None;
        }
        _ => 0,
    };
    let text = encoding.decode_without_bom_handling_and_without_replacement(&octets[mark..])?;
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
            // With a byte order mark.
            (b"\xEF\xBB\xBFh\xC3\xA9", "", "hé"),
            (b"\xEF\xBB\xBFh\xC3\xA9", "utf-8", "hé"),
            (b"\xFE\xFF\x04\x3F", "utf-16", "п"),
            (b"\xFF\xFE\x3F\x04", "UTF-16", "п"),
            (b"\xFF\xFE\x3F\x04", "ucs-2", "п"),
            (b"\xFE\xFF\x04\x3F", "utf-16be", "п"),
            (b"\xFF\xFE\x3F\x04", "utf-16le", "п"),
            (b"\xFF\xFE", "latin1", "ÿþ"),
        ] {
            assert_eq!(
                characters(octets, charset).as_deref(),
                Some(text),
                "{charset}"
            );
        }
        for (octets, charset) in [
            (&b"h\xE9"[..], ""),
            (b"x", "klingon"),
            (b"\x04", "UTF-16"),
            (b"\xFF\xFE\x3F\x04", "utf-16be"),
            (b"\xFE\xFF\x04\x3F", "utf-16le"),
        ] {
            assert_eq!(characters(octets, charset), None, "{charset}");
        }
    }
}
