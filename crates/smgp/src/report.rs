//! The content of a Deliver with IsReport 1: what became of a message, as words like those of SMPP's receipts
//! (SMPP 3.4 Appendix B), but with an id of ten octets that may have any values.

use bytes::Bytes;
use smsc_carrier::outcome::Outcome;

/// A report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The MsgID of the Submit_Resp.
    pub msg_id: [u8; 10],
    /// What became of the message: a word of [`Outcome`], or one of a gateway.
    pub stat: Bytes,
    /// Why.
    pub err: Bytes,
    /// When it was submitted, as YYMMDDhhmm.
    pub submit_date: Bytes,
    /// When it ended, as YYMMDDhhmm.
    pub done_date: Bytes,
}

// === impl Report ===

impl Report {
    /// Reads the content; `None` when it has no id. Other words may be missing, in any order and case.
    #[must_use]
    pub fn decode(content: &Bytes) -> Option<Self> {
        let rest = content
            .get(..3)
            .filter(|word| word.eq_ignore_ascii_case(b"id:"))
            .map(|_| content.slice(3..))?;
        let msg_id = *rest.first_chunk::<10>()?;
        let rest = rest.slice(10..);
        Some(Self {
            msg_id,
            stat: word(&rest, b"stat:"),
            err: word(&rest, b"err:"),
            submit_date: word(&rest, b"submit date:"),
            done_date: word(&rest, b"done date:"),
        })
    }

    /// The content, where we are the gateway.
    #[must_use]
    pub fn encode(&self) -> Bytes {
        let mut out = b"id:".to_vec();
        out.extend_from_slice(&self.msg_id);
        for (name, value) in [
            (&b" sub:001 dlvrd:001 submit date:"[..], &self.submit_date),
            (b" done date:", &self.done_date),
            (b" stat:", &self.stat),
            (b" err:", &self.err),
            (b" text:", &Bytes::from_static(&[b' '; 20])),
        ] {
            out.extend_from_slice(name);
            out.extend_from_slice(value);
        }
        out.into()
    }

    /// What became of the message; `None` for a word that nobody defined.
    #[must_use]
    pub fn outcome(&self) -> Option<Outcome> {
        Outcome::of(&self.stat)
    }
}

/// What follows a name, up to a blank; empty when it is missing.
fn word(octets: &Bytes, name: &[u8]) -> Bytes {
    // Each name ends with a colon, and few octets are one.
    let colons = (1..=octets.len()).filter(|end| octets[end - 1] == b':');
    let mut ends = colons.filter(|end| {
        let start = end.saturating_sub(name.len());
        octets[start..*end].eq_ignore_ascii_case(name)
    });
    let Some(start) = ends.next() else {
        return Bytes::new();
    };
    let value = octets[start..].iter();
    let length = value.take_while(|octet| !matches!(octet, b' ' | 0)).count();
    octets.slice(start..start + length)
}
