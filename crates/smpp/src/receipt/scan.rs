//! Finds the parts of a receipt's text without copying (SMPP 3.4 Appendix B).
//!
//! Called by the parent module. A key is a known word at the start of a word, in any case, followed
//! by `:` or `=`; its value ends where the next key starts. The first occurrence of a key counts, and nothing behind
//! `text` does once an id or a state was found, so that the message's own text, repeated at the end, says nothing of
//! the message.

/// The values found, each empty if its key is not there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ReceiptFields<'a> {
    pub id: &'a [u8],
    pub sub: &'a [u8],
    pub dlvrd: &'a [u8],
    pub submit_date: &'a [u8],
    pub done_date: &'a [u8],
    pub stat: &'a [u8],
    pub err: &'a [u8],
    pub text: &'a [u8],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReceiptKey {
    Id,
    Sub,
    Dlvrd,
    SubmitDate,
    DoneDate,
    Stat,
    Err,
    Text,
}

// === impl ReceiptKey ===

impl ReceiptKey {
    fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// The octets of words.
const IN_WORD: [bool; 256] = {
    let mut in_word = [false; 256];
    let mut octet = 0;
    while octet < 128 {
        in_word[octet] = (octet as u8).is_ascii_alphanumeric();
        octet += 1;
    }
    in_word
};

/// As many as there are keys.
const KEYS: usize = 8;

/// A spelling of a key.
type Spelling = (&'static [u8], ReceiptKey);

/// Spellings seen that begin with this letter, in lower case.
fn spellings(first: u8) -> &'static [Spelling] {
    match first.to_ascii_lowercase() {
        b'i' => &[(b"id", ReceiptKey::Id)],
        b'm' => &[(b"messageid", ReceiptKey::Id), (b"msgid", ReceiptKey::Id)],
        b's' => &[
            (b"sub", ReceiptKey::Sub),
            (b"submitdate", ReceiptKey::SubmitDate),
            (b"subdate", ReceiptKey::SubmitDate),
            (b"stat", ReceiptKey::Stat),
            (b"status", ReceiptKey::Stat),
            (b"state", ReceiptKey::Stat),
        ],
        b'd' => &[
            (b"dlvrd", ReceiptKey::Dlvrd),
            (b"dlvd", ReceiptKey::Dlvrd),
            (b"donedate", ReceiptKey::DoneDate),
        ],
        b'e' => &[
            (b"err", ReceiptKey::Err),
            (b"error", ReceiptKey::Err),
            (b"errorcode", ReceiptKey::Err),
        ],
        b't' => &[(b"text", ReceiptKey::Text)],
        _ => &[],
    }
}

/// A key and where its name and its value start.
#[derive(Clone, Copy)]
struct FoundKey {
    key: ReceiptKey,
    name_at: usize,
    value_at: usize,
}

/// The parts of a receipt; `None` if there is neither an id nor a state.
pub(super) fn scan(text: &[u8]) -> Option<ReceiptFields<'_>> {
    in_usual_layout(text).or_else(|| in_any_layout(text))
}

/// The parts of a receipt that is written as nearly all are: every key of Appendix B in its order, a space between, and
/// values of letters, digits and dashes.
fn in_usual_layout(text: &[u8]) -> Option<ReceiptFields<'_>> {
    let mut rest = text.strip_prefix(b"id:")?;
    let mut until = |next: &[u8]| {
        let is_in_value = |octet: &u8| IN_WORD[usize::from(*octet)] || *octet == b'-';
        let length = rest.iter().position(|octet| !is_in_value(octet))?;
        let (value, behind) = rest.split_at(length);
        rest = behind.strip_prefix(next)?;
        (length > 0).then_some(value)
    };
    Some(ReceiptFields {
        id: until(b" sub:")?,
        sub: until(b" dlvrd:")?,
        dlvrd: until(b" submit date:")?,
        submit_date: until(b" done date:")?,
        done_date: until(b" stat:")?,
        stat: until(b" err:")?,
        err: until(b" text:").or_else(|| until(b" Text:"))?,
        text: rest.strip_suffix(b"\0").unwrap_or(rest),
    })
}

/// The parts of any receipt.
fn in_any_layout(text: &[u8]) -> Option<ReceiptFields<'_>> {
    let mut found = [None::<FoundKey>; KEYS];
    let mut count = 0;
    let mut seen = 0_u8;
    let mut at = 0;
    while at < text.len() && count < KEYS {
        let has = |key: ReceiptKey| seen & key.bit() != 0;
        let next = key_at(text, at).filter(|next| !has(next.key));
        let Some(next) = next else {
            at = next_word(text, at);
            continue;
        };
        let is_rest =
            next.key == ReceiptKey::Text && (has(ReceiptKey::Id) || has(ReceiptKey::Stat));
        found[count] = Some(next);
        seen |= next.key.bit();
        count += 1;
        at = next.value_at;
        if is_rest {
            break;
        }
    }
    let mut fields = ReceiptFields::default();
    for (index, current) in found[..count].iter().flatten().enumerate() {
        let following = found.get(index + 1).copied().flatten();
        let end = following.map_or(text.len(), |following| following.name_at);
        assign(&mut fields, current.key, &text[current.value_at..end]);
    }
    (!fields.id.is_empty() || !fields.stat.is_empty()).then_some(fields)
}

fn assign<'a>(fields: &mut ReceiptFields<'a>, key: ReceiptKey, value: &'a [u8]) {
    match key {
        ReceiptKey::Id => fields.id = first_word(value),
        ReceiptKey::Sub => fields.sub = first_word(value),
        ReceiptKey::Dlvrd => fields.dlvrd = first_word(value),
        ReceiptKey::SubmitDate => fields.submit_date = value.trim_ascii(),
        ReceiptKey::DoneDate => fields.done_date = value.trim_ascii(),
        ReceiptKey::Stat => fields.stat = first_word(value),
        ReceiptKey::Err => fields.err = first_word(value),
        ReceiptKey::Text => fields.text = value.strip_suffix(b"\0").unwrap_or(value),
    }
}

/// Up to the first space, comma, semicolon or control character.
pub(super) fn first_word(value: &[u8]) -> &[u8] {
    let value = value.trim_ascii_start();
    let end = value
        .iter()
        .position(|octet| *octet <= b' ' || matches!(octet, b',' | b';'));
    &value[..end.unwrap_or(value.len())]
}

/// Where the next word starts, or another separator is.
fn next_word(text: &[u8], at: usize) -> usize {
    let is_separator = |octet: &u8| !IN_WORD[usize::from(*octet)];
    let word = text[at..].iter().position(is_separator);
    word.map_or(text.len(), |length| at + length + 1)
}

/// The key whose name starts exactly here, at the start of a word.
fn key_at(text: &[u8], at: usize) -> Option<FoundKey> {
    spellings(text[at]).iter().find_map(|(spelling, key)| {
        let value_at = match_key(text, at, spelling)?;
        Some(FoundKey {
            key: *key,
            name_at: at,
            value_at,
        })
    })
}

/// Where the value starts, if `spelling`, whose first letter stands at `at`, and a colon or equals sign do. Between its
/// letters may be spaces, underscores and hyphens.
fn match_key(text: &[u8], mut at: usize, spelling: &[u8]) -> Option<usize> {
    for letter in &spelling[1..] {
        at += 1;
        // Only a letter becomes one by this bit, in lower case.
        while *text.get(at)? | 0x20 != *letter {
            if !matches!(text[at], b' ' | b'_' | b'-') {
                return None;
            }
            at += 1;
        }
    }
    at += 1;
    while *text.get(at)? == b' ' {
        at += 1;
    }
    matches!(text[at], b':' | b'=').then_some(at + 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_usual_receipt_needs_no_search() {
        let text = b"id:17f sub:001 dlvrd:001 submit date:2611301200 done date:261130120103 stat:DELIVRD err:000 text:hi id:2\0";
        let fields = in_usual_layout(text).unwrap();
        assert_eq!((fields.id, fields.text), (&b"17f"[..], &b"hi id:2"[..]));
        assert_eq!(fields.done_date, b"261130120103");
        let other = text.to_ascii_uppercase();
        assert_eq!(in_usual_layout(&other), None);
        assert!(in_any_layout(&other).is_some());
        let dashed = b"id:2e1b-7f sub:001 dlvrd:001 submit date:2611301200 done date:261130120103 stat:DELIVRD err:000 text:";
        assert_eq!(in_usual_layout(dashed).unwrap().id, b"2e1b-7f");
    }

    #[test]
    fn a_key_may_follow_a_dash() {
        let fields = scan(b"sms-id:17f; delivery-status:DELIVRD; network-error:21").unwrap();
        assert_eq!(
            (fields.id, fields.stat, fields.err),
            (&b"17f"[..], &b"DELIVRD"[..], &b"21"[..])
        );
    }

    proptest! {
        #[test]
        fn what_is_usual_says_what_a_search_finds(
            values in prop::collection::vec("[a-z0-9 :=,;_-]{0,6}|[A-Z0-9]{1,4}|id:|sub:7", 8),
            text in "text|Text",
        ) {
            let [id, sub, dlvrd, submit, done, stat, err, rest] = &values[..] else { unreachable!() };
            let receipt = format!(
                "id:{id} sub:{sub} dlvrd:{dlvrd} submit date:{submit} done date:{done} stat:{stat} err:{err} {text}:{rest}"
            );
            if let Some(fields) = in_usual_layout(receipt.as_bytes()) {
                prop_assert_eq!(Some(fields), in_any_layout(receipt.as_bytes()));
            }
        }

        #[test]
        fn usual_values_are_found(
            values in prop::collection::vec("[A-Za-z0-9]{1,12}", 7),
            rest in ".{0,20}",
        ) {
            let [id, sub, dlvrd, submit, done, stat, err] = &values[..] else { unreachable!() };
            let receipt = format!(
                "id:{id} sub:{sub} dlvrd:{dlvrd} submit date:{submit} done date:{done} stat:{stat} err:{err} text:{rest}"
            );
            let fields = in_usual_layout(receipt.as_bytes());
            prop_assert!(fields.is_some());
            prop_assert_eq!(fields, in_any_layout(receipt.as_bytes()));
        }
    }
}
