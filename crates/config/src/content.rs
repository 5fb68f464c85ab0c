//! How texts are encoded and how long ones are sent: values shared by accounts and operators, and
//! `[content]`.

use std::time::Duration;

use super::section::settings;
use smsc_sms::{Language, UnknownName, convert};

settings! {
    /// Meaning of data_coding 0 for a peer.
    pub enum DefaultAlphabet for convert::Alphabet {
        /// GSM 03.38, one septet per octet.
        Gsm = "gsm",
        /// GSM 03.38, eight septets in seven octets.
        GsmPacked = "gsm_packed",
        /// ISO 8859-1.
        Latin1 = "latin1",
        /// ASCII.
        Ascii = "ascii",
        /// UTF-8.
        Utf8 = "utf8",
        /// UCS-2, big endian.
        Ucs2 = "ucs2",
    }

    /// Form of long texts to a peer.
    pub enum LongMessages {
        /// As it came.
        AsIs = "as_is",
        /// In parts, with an 8-bit reference in the user data header.
        Udh = "udh",
        /// In parts, with a 16-bit reference in the user data header.
        Udh16 = "udh16",
        /// In parts, with the TLVs sar_msg_ref_num, sar_total_segments, sar_segment_seqnum.
        Sar = "sar",
        /// Whole: in short_message up to 254 octets, else in message_payload.
        Payload = "payload",
    }

    /// Handling of characters that a peer's default alphabet lacks.
    pub enum UnrepresentableRule for convert::SubstitutionPolicy {
        /// The whole text is sent in UCS-2.
        Ucs2 = "ucs2",
        /// Use similar characters, `e` for `é`, or `?`.
        Transliterate = "transliterate",
        /// The character is replaced by `?`.
        Replace = "replace",
        /// The message is refused with ESME_RSUBMITFAIL.
        Refuse = "refuse",
    }

    /// How receipts of parts become one receipt.
    pub enum PartReceipts {
        /// When all parts have ended: delivered if all were, else the worst.
        All = "all",
        /// At once when a part fails, else when all have ended.
        Worst = "worst",
        /// The first one decides, for operators that report one part only.
        First = "first",
    }

    /// `[content]`: putting long messages together.
    pub struct ContentConfig {
        /// Waiting time for missing parts; then the others go on unchanged.
        @positive reassembly_timeout: Duration = Duration::from_secs(600),
        /// Most waiting parts per node. Beyond it or `reassembly_mib`, the oldest of the account or operator with most go on unchanged.
        @at_least(1) reassembly_parts: u32 = 100_000,
        /// Most MiB of waiting parts per node.
        @at_least(1) reassembly_mib: u64 = 128,
    }
}

/// Whether it names a national language table.
pub(super) fn language(name: &str) -> Result<(), String> {
    let language = name.parse::<Language>();
    let refusal =
        |unknown: UnknownName| format!("{name:?} has no table; write one of {}", unknown.allowed);
    language.map(|_| ()).map_err(refusal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_language_without_a_table_is_told_those_that_have_one() {
        assert_eq!(language("turkish"), Ok(()));
        let refused = language("default").unwrap_err();
        for known in Language::ALL {
            assert!(refused.contains(known.name()), "{refused}");
        }
    }
}
