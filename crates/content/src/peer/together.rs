//! Parts that wait for one another, and what is done with them when all are there.
//!
//! A part goes out by itself if its peer gets its octets as they came, in any numbering that takes no more room. All
//! others wait, whatever they say: which of them a character is cut between, or which one no longer fits, is known only
//! when all are there, and those that left before could not be divided anew. So [`waits`] looks at nothing in which
//! parts of one text differ. [`must_join`] decides then. Called by [`super::way`] and by the assembly actor.

use super::divide::is_gsm;
use super::gather::{gather, texts};
use super::{PeerEncoding, shape};
use crate::{MessageContent, UDHI, alphabet_of, payload, text_of};
use smsc_config::LongMessages;
use smsc_proto::Message;
use smsc_sms::coding::{DataCoding, coding};
use smsc_sms::convert::Alphabet;
use smsc_sms::udh::{Concat, UserDataHeader};

/// The highest reference that fits into a header of 8 bits.
const NARROW: u16 = 0xFF;

/// Whether the parts of a text wait for one another on their way to a peer.
pub fn waits(message: &Message, part: Concat, to: &PeerEncoding) -> bool {
    to.long == LongMessages::Payload
        || is_rewritten(message, to)
        || has_gbk(message)
        || loses_reference(message, part, to)
        || needs_room(message, part, to)
}

/// Whether the text of a message is written for this peer with other octets than those that came.
pub fn is_rewritten(message: &Message, to: &PeerEncoding) -> bool {
    if shape::is_report(message) {
        return false;
    }
    let alphabet = alphabet_of(message);
    match coding(message.data_coding.to_le_bytes()[0]) {
        DataCoding::Default => {
            (alphabet != to.alphabet && !(is_gsm(alphabet) && is_gsm(to.alphabet)))
                || (to.may_be_carrier && alphabet != Alphabet::Ascii)
        }
        // Who gets user data only knows neither.
        DataCoding::Latin1 | DataCoding::Ascii => to.user_data_only,
        DataCoding::Ucs2 => to.gbk,
        DataCoding::Octets | DataCoding::Other(_) => false,
    }
}

/// Whether a part was numbered by TLVs.
fn is_in_fields(message: &Message) -> bool {
    let header = || UserDataHeader::split(&payload(message)).ok();
    message.esm_class & UDHI == 0 || header().is_none_or(|(header, _)| header.concat().is_none())
}

/// Whether a part gets a reference of 8 bits for one of 16, which others may have as well.
fn loses_reference(message: &Message, part: Concat, to: &PeerEncoding) -> bool {
    let keeps = to.keeps_headers && !is_in_fields(message);
    to.long == LongMessages::Udh && part.reference > NARROW && !keeps
}

/// Whether numbering a part as its peer wants takes more of its room.
fn needs_room(message: &Message, part: Concat, to: &PeerEncoding) -> bool {
    match to.long {
        LongMessages::AsIs | LongMessages::Sar | LongMessages::Payload => false,
        LongMessages::Udh => is_in_fields(message),
        LongMessages::Udh16 => is_in_fields(message) || (!part.wide && !to.keeps_headers),
    }
}

/// Whether parts that are all there become one text, which is divided anew for this peer. Otherwise they go out as they
/// came.
pub fn must_join(parts: &[Message], to: &PeerEncoding) -> bool {
    let needs_others = |message: &Message| {
        let content = MessageContent::read(message);
        let Some(part) = content.part else {
            return true;
        };
        loses_reference(message, part, to) || !shape::fits_as_part(message, &content, to)
    };
    parts.iter().any(needs_others)
        || (parts
            .iter()
            .any(|part| is_rewritten(part, to) || has_gbk(part))
            && is_cut(parts))
}

fn has_gbk(message: &Message) -> bool {
    let composition = message.composition.as_deref();
    composition.is_some_and(|composition| !composition.gbk.is_empty())
}

/// Whether a character is in two parts: together they say something else than one by one.
fn is_cut(parts: &[Message]) -> bool {
    let contents: Vec<MessageContent> = parts.iter().map(MessageContent::read).collect();
    let (Some(apart), Some(whole)) = (texts(&contents), gather(parts)) else {
        return false;
    };
    text_of(&whole).is_some_and(|whole| whole != apart.concat())
}

/// How these parts were numbered, for a peer that gets all as it comes.
pub fn numbered_as(parts: &[Message]) -> LongMessages {
    let Some((first, part)) = parts.first().and_then(|first| {
        let part = crate::part_of(first)?;
        Some((first, part))
    }) else {
        return LongMessages::Udh;
    };
    match (is_in_fields(first), part.wide) {
        (true, _) => LongMessages::Sar,
        (false, true) => LongMessages::Udh16,
        (false, false) => LongMessages::Udh,
    }
}

#[cfg(test)]
mod tests;
