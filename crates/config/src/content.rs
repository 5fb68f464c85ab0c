//! How texts are encoded and how long ones are sent: values shared by accounts and operators, and
//! `[content]`.

use std::time::Duration;

use super::section::{choice, section};
use smsc_sms::{Language, convert};

choice! {
    /// What data_coding 0, the default alphabet, means to a peer.
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
}

choice! {
    /// How a text that needs more than one short message travels to a peer.
    pub enum LongMessages {
        /// As it came.
        AsIs = "as_is",
        /// In parts, numbered in the user data header with an 8-bit reference.
        Udh = "udh",
        /// In parts, numbered in the user data header with a 16-bit reference.
        Udh16 = "udh16",
        /// In parts, numbered by the TLVs sar_msg_ref_num, sar_total_segments, sar_segment_seqnum.
        Sar = "sar",
        /// Whole: in short_message up to 254 octets, above that in the TLV message_payload.
        Payload = "payload",
    }
}

choice! {
    /// What happens to a character that a peer's default alphabet does not have.
    pub enum UnrepresentableRule for convert::SubstitutionPolicy {
        /// The whole text is sent in UCS-2.
        Ucs2 = "ucs2",
        /// The character is written with others, `é` as `e`; `?` where there is nothing alike.
        Transliterate = "transliterate",
        /// The character is replaced by `?`.
        Replace = "replace",
        /// The message is refused with ESME_RSUBMITFAIL.
        Refuse = "refuse",
    }
}

choice! {
    /// How the receipts of the parts become the one receipt of the message.
    pub enum PartReceipts {
        /// When all parts have ended: delivered if every part was, else the worst of them.
        All = "all",
        /// At once when a part fails, else when all parts have ended.
        Worst = "worst",
        /// The first one that comes decides, for operators that report one part only.
        First = "first",
    }
}

section! {
    /// `[content]`: putting long messages together.
    pub struct ContentConfig {
        /// Parts wait this long for the rest of their message; then they go on unchanged.
        @positive reassembly_timeout: Duration = Duration::from_secs(600),
        /// Most parts that wait for the rest of their message, on one node. Beyond it and `reassembly_mib`, the oldest of the account or operator that has the most go on unchanged.
        @at_least(1) reassembly_parts: u32 = 100_000,
        /// Most MiB of memory for parts that wait for the rest of their message, on one node.
        @at_least(1) reassembly_mib: u64 = 128,
    }
}

/// Whether it names a national language table.
pub(super) fn language(name: &str) -> Result<(), String> {
    if name.parse::<Language>().is_ok() {
        return Ok(());
    }
    let known: Vec<&str> = Language::ALL[1..].iter().map(|one| one.name()).collect();
    let known = known.join(", ");
    Err(format!("{name:?} has no table; write one of {known}"))
}
