//! How peers want texts written and long ones carried, and what has to be done with a message for
//! that.
//!
//! Ingest asks [`way`] and divides what needs it ([`divide`]); sessions write each message as their
//! peer wants it ([`shape`]); the assembly actor puts parts together ([`gather`]). Keeps true that a
//! message that needs none of it costs a few comparisons, and that nothing is cut: what cannot be
//! written is changed by the policy of its peer, or refused.

pub mod divide;
pub mod gather;
pub mod references;
pub mod shape;
pub mod together;

use crate::{Content, UDHI, is_part, segments};
use smsc_config::{Account, Gsm, LongMessages, Operator, Protocol, Unrepresentable};
use smsc_proto::Message;
use smsc_smpp::tag;
use smsc_sms::Language;
use smsc_sms::convert::Alphabet;
use smsc_sms::segment;

/// Longest short_message (SMPP 3.4 §5.2.22).
pub const SHORT_MESSAGE: usize = 254;
/// TLVs that number or carry a text; a message that is written anew gets its own.
pub const CARRIERS: &[u16] = &[
    tag::SAR_MSG_REF_NUM,
    tag::SAR_TOTAL_SEGMENTS,
    tag::SAR_SEGMENT_SEQNUM,
    tag::MESSAGE_PAYLOAD,
];

/// How a peer wants its messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerEncoding {
    /// What data_coding 0 means to it.
    pub alphabet: Alphabet,
    pub long: LongMessages,
    pub policy: Unrepresentable,
    pub languages: Vec<Language>,
    /// It gets user data only, no TLVs: application ports are in the header.
    pub user_data_only: bool,
    /// A part that came with a header goes out with the same one.
    pub keeps_headers: bool,
    /// It gets texts in UCS-2 as GBK, where that has them.
    pub gbk: bool,
    /// Who logs in by CMPP for it gets ASCII, whatever its alphabet is.
    pub may_be_carrier: bool,
}

/// What has to be done with a message before it can be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// It is sent as one message.
    Single,
    /// It is too long for one.
    Divide,
    /// It is a part that waits for the others: its peer wants the whole, or gets it written anew.
    Gather,
}

// === impl PeerEncoding ===

impl Default for PeerEncoding {
    /// Of a peer that has said nothing.
    fn default() -> Self {
        Self {
            alphabet: Alphabet::Gsm,
            long: LongMessages::AsIs,
            policy: Unrepresentable::Ucs2,
            languages: Vec::new(),
            user_data_only: false,
            keeps_headers: false,
            gbk: false,
            may_be_carrier: false,
        }
    }
}

impl PeerEncoding {
    /// Of an operator.
    pub fn of_operator(operator: &Operator) -> Self {
        let encoding = Self {
            alphabet: operator.alphabet.into(),
            long: operator.long_messages,
            policy: operator.unrepresentable,
            languages: known(&operator.languages),
            gbk: operator.protocol != Protocol::Smpp && operator.carrier().gbk,
            ..Self::default()
        };
        match operator.protocol == Protocol::Smpp {
            true => encoding,
            false => encoding.over_carrier(),
        }
    }

    /// The same over CMPP, towards a gateway or a client: its default alphabet is ASCII (Msg_Fmt 0), a long text is
    /// always divided, and there are no TLVs.
    pub fn over_carrier(self) -> Self {
        Self {
            alphabet: Alphabet::Ascii,
            long: by_header(self.long),
            user_data_only: true,
            ..self
        }
    }

    /// Of handsets: a long text is always divided, and its parts are numbered in their headers.
    pub fn of_gsm(gsm: &Gsm) -> Self {
        Self {
            alphabet: Alphabet::Gsm,
            long: gsm.long_messages,
            policy: gsm.unrepresentable,
            languages: known(&gsm.languages),
            user_data_only: true,
            keeps_headers: true,
            ..Self::default()
        }
    }

    /// Of an account; long messages to one that logs in by CMPP are always divided.
    pub fn of_account(account: &Account) -> Self {
        Self {
            alphabet: account.alphabet.map_or(Alphabet::Gsm, Alphabet::from),
            long: match account.has_carrier_secret() {
                true => by_header(account.long_messages),
                false => account.long_messages,
            },
            policy: account.unrepresentable,
            may_be_carrier: account.has_carrier_secret(),
            ..Self::default()
        }
    }
}

/// The form with numbered headers that is nearest to this one.
fn by_header(long: LongMessages) -> LongMessages {
    match long {
        LongMessages::Udh16 => LongMessages::Udh16,
        _ => LongMessages::Udh,
    }
}

/// The language tables of these names.
fn known(names: &[String]) -> Vec<Language> {
    names.iter().filter_map(|name| name.parse().ok()).collect()
}

/// What to do with a message to a peer with this encoding.
pub fn way(message: &Message, to: &PeerEncoding) -> Way {
    let simple = message.esm_class & UDHI == 0 && message.tlvs.is_empty();
    let as_is = to.long == LongMessages::AsIs && !message.divide;
    // The common cases, without a look at the text.
    if is_part(message) || (as_is && (simple || !may_be_cut(message, to))) {
        return Way::Single;
    }
    if simple && message.short_message.len() <= always_one(to) {
        return Way::Single;
    }
    let content = Content::read(message);
    if let Some(part) = content.part {
        return match together::waits(message, part, to) {
            true => Way::Gather,
            false => Way::Single,
        };
    }
    match as_is || to.long == LongMessages::Payload || parts_of(&content, to) <= 1 {
        true => Way::Single,
        false => Way::Divide,
    }
}

/// Whether a part of a text for a peer that gets all as it comes may lose a character with its octets.
fn may_be_cut(message: &Message, to: &PeerEncoding) -> bool {
    together::is_rewritten(message, to) || message.composition.is_some()
}

/// How many short messages leave for a peer: what [`segments`] says once the message is divided.
pub fn leaves_as(message: &Message, to: &PeerEncoding) -> u32 {
    match way(message, to) {
        Way::Divide => {
            let parts = parts_of(&Content::read(message), to);
            u32::try_from(parts).unwrap_or(u32::MAX)
        }
        Way::Single | Way::Gather => segments(message),
    }
}

/// Octets that are one short message whatever they say.
fn always_one(to: &PeerEncoding) -> usize {
    match to.long {
        LongMessages::Payload => usize::MAX,
        // Each character of one octet may need two in UCS-2.
        _ => segment::USER_DATA / 2,
    }
}

/// How many parts a text becomes for a peer.
fn parts_of(content: &Content, to: &PeerEncoding) -> usize {
    match divide::written(content, to) {
        Ok(written) => segment::count(
            &written.octets,
            written.units,
            &written.header,
            divide::form(to.long),
        ),
        // Refused when it is divided.
        Err(_) => 2,
    }
}

#[cfg(test)]
mod tests;
