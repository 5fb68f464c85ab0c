//! Application contexts: what a dialogue is about, and the version that both ends speak in it.
//!
//! MAP's are `0.4.0.0.1.0.context.version`: 3GPP TS 29.002 §17.3.3.

use std::fmt;

use bytes::Bytes;

/// An application context of MAP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ApplicationContext {
    /// 20 shortMsgGateway, 21 shortMsgMO-Relay, 23 shortMsgAlert, 24 mwdMngt, 25 shortMsgMT-Relay.
    pub context: u8,
    /// The version, 1 to 3 and later.
    pub version: u8,
}

/// The name of any application context: the contents of an OBJECT IDENTIFIER.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ContextName(pub Bytes);

/// `0.4.0.0.1.0`, what MAP's names begin with.
const MAP: [u8; 5] = [0x04, 0x00, 0x00, 0x01, 0x00];

// === impl ApplicationContext ===

impl ApplicationContext {
    /// Its name.
    #[must_use]
    pub fn name(self) -> ContextName {
        let mut oid = MAP.to_vec();
        for arc in [self.context, self.version] {
            if arc >= 0x80 {
                oid.push(0x81);
            }
            oid.push(arc & 0x7F);
        }
        ContextName(oid.into())
    }
}

impl fmt::Display for ApplicationContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0.4.0.0.1.0.{}.{}", self.context, self.version)
    }
}

// === impl ContextName ===

impl ContextName {
    /// The context of MAP that it names; `None` when it is none of MAP.
    #[must_use]
    pub fn known(&self) -> Option<ApplicationContext> {
        let rest = self.0.strip_prefix(&MAP[..])?;
        let (context, rest) = small_arc(rest)?;
        let (version, rest) = small_arc(rest)?;
        rest.is_empty()
            .then_some(ApplicationContext { context, version })
    }
}

impl fmt::Debug for ContextName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.known() {
            Some(context) => write!(f, "{context}"),
            None => write!(f, "{:02x?}", &self.0[..]),
        }
    }
}

/// The first arc if it is below 256, and what is behind it. X.690 §8.19.2
fn small_arc(octets: &[u8]) -> Option<(u8, &[u8])> {
    match octets {
        [arc @ 0..=0x7F, rest @ ..] => Some((*arc, rest)),
        [0x81, low @ 0..=0x7F, rest @ ..] => Some((0x80 | low, rest)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hex::octets;

    #[test]
    fn names_are_object_identifiers() {
        // 3GPP TS 29.002 §17.1.6: map-ac, and the contexts of short messages.
        for (context, version, name) in [
            (20, 3, "04 00 00 01 00 14 03"),
            (21, 2, "04 00 00 01 00 15 02"),
            (25, 3, "04 00 00 01 00 19 03"),
            (200, 130, "04 00 00 01 00 81 48 81 02"),
        ] {
            let context = ApplicationContext { context, version };
            assert_eq!(context.name().0[..], octets(name));
            assert_eq!(context.name().known(), Some(context));
        }
    }

    #[test]
    fn other_names_are_no_context_of_map() {
        for name in [
            "",
            "04 00 00 01 00",
            "04 00 00 01 00 14",
            "04 00 00 01 00 14 03 01",
            "04 00 00 01 00 14 83",
            "04 00 00 01 00 82 00 03",
            "04 00 00 01 15 03 04",
        ] {
            assert_eq!(ContextName(octets(name).into()).known(), None, "{name}");
        }
    }
}
