//! The text of a message for people: only shown when it is asked for.

use data_encoding::HEXLOWER;
use smsc_content as content;
use smsc_proto::Message;

/// The octets of a message, and its text if the data coding defines one.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Text {
    /// `None` when the octets are no text, or none that can be read.
    pub text: Option<String>,
    pub octets: String,
}

/// The payload of a message, for people.
pub(crate) fn of(message: &Message) -> Text {
    Text {
        text: content::text_of(message),
        octets: hex(&content::payload(message)),
    }
}

/// Octets as hexadecimal digits.
pub(crate) fn hex(octets: &[u8]) -> String {
    HEXLOWER.encode(octets)
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn text(data_coding: u32, esm_class: u32, octets: &'static [u8]) -> Option<String> {
        of(&Message {
            data_coding,
            esm_class,
            short_message: Bytes::from_static(octets),
            ..Message::default()
        })
        .text
    }

    #[test]
    fn reads_the_alphabets_it_knows() {
        assert_eq!(text(0, 0, b"hello").as_deref(), Some("hello"));
        assert_eq!(text(0, 0, b"\x00lpha \x1b\x65").as_deref(), Some("@lpha €"));
        assert_eq!(text(3, 0, b"Gr\xfc\xdfe").as_deref(), Some("Grüße"));
        assert_eq!(
            text(8, 0, b"\x04\x1f\xd8\x3d\xde\x00").as_deref(),
            Some("П😀")
        );
        assert_eq!(text(4, 0, b"\x01\x02"), None);
    }

    #[test]
    fn skips_a_user_data_header() {
        assert_eq!(
            text(0, 0x40, b"\x05\x00\x03\x01\x02\x01hello").as_deref(),
            Some("hello")
        );
        assert_eq!(
            text(0, 0x40, b"\x09hello").as_deref(),
            Some("Çhello"),
            "no header"
        );
    }

    #[test]
    fn finds_the_text_in_message_payload() {
        let found = of(&Message {
            tlvs: bytes::Bytes::from_static(b"\x04\x24\x00\x04long"),
            ..Message::default()
        });
        assert_eq!(
            found,
            Text {
                text: Some("long".to_owned()),
                octets: "6c6f6e67".to_owned()
            }
        );
    }
}
