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

use crate::{MessageContent, UDHI, by_octets, by_octets_as, is_part};
use smsc_config::{
    Account, Gsm, LongMessages, OperatorConfig, OperatorProtocol, UnrepresentableRule,
};
use smsc_proto::Message;
use smsc_smpp::tag;
use smsc_sms::Language;
use smsc_sms::convert::Alphabet;
use smsc_sms::segment;

/// Longest short_message (SMPP 3.4 §5.2.22).
pub const SHORT_MESSAGE: usize = 254;
/// Octets that are one short message in whatever they are written: a packed septet may need two octets in UCS-2.
const ALWAYS_ONE: usize = segment::USER_DATA * 7 / 16;
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
    pub policy: UnrepresentableRule,
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
pub enum PeerTreatment {
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
            policy: UnrepresentableRule::Ucs2,
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
    pub fn of_operator(operator: &OperatorConfig) -> Self {
        let encoding = Self {
            alphabet: operator.alphabet.into(),
            long: operator.long_messages,
            policy: operator.unrepresentable,
            languages: known(&operator.languages),
            gbk: operator.protocol != OperatorProtocol::Smpp && operator.carrier().gbk,
            ..Self::default()
        };
        if operator.protocol == OperatorProtocol::Smpp {
            encoding
        } else {
            encoding.over_carrier()
        }
    }

    /// What a peer over CMPP takes, a gateway or a client: its default alphabet is ASCII (Msg_Fmt 0), a long text is
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
            long: if account.has_carrier_secret() {
                by_header(account.long_messages)
            } else {
                account.long_messages
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
pub fn way(message: &Message, to: &PeerEncoding) -> PeerTreatment {
    let simple = message.esm_class & UDHI == 0 && message.tlvs.is_empty();
    let as_is = to.long == LongMessages::AsIs && !message.divide;
    // The common cases, without a look at the text.
    if is_part(message) || (as_is && (simple || !may_be_cut(message, to))) {
        return PeerTreatment::Single;
    }
    if simple && message.short_message.len() <= always_one(to) {
        return PeerTreatment::Single;
    }
    let content = MessageContent::read(message);
    if let Some(part) = content.part {
        return if together::waits(message, part, to) {
            PeerTreatment::Gather
        } else {
            PeerTreatment::Single
        };
    }
    if as_is || to.long == LongMessages::Payload || parts_of(message, &content, to) <= 1 {
        PeerTreatment::Single
    } else {
        PeerTreatment::Divide
    }
}

/// Whether a part of a text for a peer that gets all as it comes may lose a character with its octets.
fn may_be_cut(message: &Message, to: &PeerEncoding) -> bool {
    together::is_rewritten(message, to) || message.composition.is_some()
}

/// How many short messages a message takes at a peer: the one answer for charges, rates, limits, estimates and records.
/// A part is counted by itself, in the peer's alphabet and with its number as it came.
pub fn leaves_as(message: &Message, to: &PeerEncoding) -> u32 {
    anew(message, way(message, to), to).unwrap_or_else(|| by_octets(message))
}

/// Notes what [`segments`] of a message says from now on, where its octets do not say it.
pub fn note(message: &mut Message, way: PeerTreatment, to: &PeerEncoding) {
    let noted = anew(message, way, to).filter(|count| *count != by_octets(message));
    message.note_short_messages(noted.unwrap_or(0));
}

/// How many short messages leave of a message that its peer gets otherwise than it came; `None` for any other.
fn anew(message: &Message, way: PeerTreatment, to: &PeerEncoding) -> Option<u32> {
    let simple = message.esm_class & UDHI == 0 && message.tlvs.is_empty();
    if simple && message.short_message.len() <= ALWAYS_ONE {
        return None;
    }
    let is_anew = way == PeerTreatment::Divide
        || together::is_rewritten(message, to)
        || (to.user_data_only && !message.tlvs.is_empty());
    if is_anew {
        let parts = parts_of(message, &MessageContent::read(message), to);
        return Some(u32::try_from(parts).unwrap_or(u32::MAX).max(1));
    }
    let is_renumbered = !simple && gets_eight(to.long) && !to.keeps_headers;
    is_renumbered.then(|| by_octets_as(message, to.long))
}

/// Whether parts get numbers that take no more room than 8 bits do.
pub(crate) fn gets_eight(long: LongMessages) -> bool {
    matches!(long, LongMessages::Udh | LongMessages::Sar)
}

/// Octets that are one short message whatever they say.
fn always_one(to: &PeerEncoding) -> usize {
    match to.long {
        LongMessages::Payload => usize::MAX,
        _ => ALWAYS_ONE,
    }
}

/// How many parts a text becomes for a peer.
fn parts_of(message: &Message, content: &MessageContent, to: &PeerEncoding) -> usize {
    match divide::framed(message, content, to) {
        Ok(written) => {
            let long = if to.keeps_headers && content.part.is_some() {
                LongMessages::AsIs
            } else {
                to.long
            };
            content.count(&written.octets, written.units, &written.header, long)
        }
        // Refused when it is divided.
        Err(_) => 2,
    }
}

#[cfg(test)]
mod tests;
