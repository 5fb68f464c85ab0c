//! What became of a message, by the word in a report: the same words in CMPP (§8.4.5.1) and SMGP (§7.2.5),
//! which have them of SMPP's receipts.

/// The state of a message, with the number of SMPP's message_state (SMPP 3.4 §5.2.28).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Outcome {
    /// It is under way.
    Enroute = 1,
    /// The handset has it.
    Delivered = 2,
    /// Its validity ended.
    Expired = 3,
    /// It was deleted.
    Deleted = 4,
    /// It cannot be delivered.
    Undeliverable = 5,
    /// Somebody else took it on, for good.
    Accepted = 6,
    /// Nobody knows.
    Unknown = 7,
    /// It was refused.
    Rejected = 8,
}

/// Words, and what they say.
const WORDS: [(&str, Outcome); 8] = [
    ("ENROUTE", Outcome::Enroute),
    ("DELIVRD", Outcome::Delivered),
    ("EXPIRED", Outcome::Expired),
    ("DELETED", Outcome::Deleted),
    ("UNDELIV", Outcome::Undeliverable),
    ("ACCEPTD", Outcome::Accepted),
    ("UNKNOWN", Outcome::Unknown),
    ("REJECTD", Outcome::Rejected),
];

/// The prefixes of words of gateways, as `MB:0069`: the network, the SMSC, or a gateway on the way refused or
/// lost the message; the number behind is the error code.
const GATEWAYS: [&str; 12] = [
    "MA:", "MB:", "MC:", "CA:", "CB:", "DA:", "DB:", "SA:", "SB:", "IA:", "IB:", "IC:",
];

// === impl Outcome ===

impl Outcome {
    /// What a word says, in any case; words of gateways are failures. `None` for a word that nobody defined.
    #[must_use]
    pub fn of(word: &[u8]) -> Option<Self> {
        let known = WORDS
            .iter()
            .find(|(known, _)| known.as_bytes().eq_ignore_ascii_case(word));
        if let Some((_, outcome)) = known {
            return Some(*outcome);
        }
        let prefix = word.get(..3)?;
        let is_gateway = GATEWAYS
            .iter()
            .any(|gateway| gateway.as_bytes().eq_ignore_ascii_case(prefix));
        is_gateway.then_some(Self::Undeliverable)
    }

    /// The word of a report.
    #[must_use]
    pub fn word(self) -> &'static str {
        WORDS[self as usize - 1].0
    }

    /// Whether nothing more will come.
    #[must_use]
    pub fn is_final(self) -> bool {
        self != Self::Enroute
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_their_states() {
        for (number, (word, outcome)) in (1..).zip(WORDS) {
            assert_eq!(Outcome::of(word.as_bytes()), Some(outcome));
            assert_eq!((outcome.word(), outcome as u8), (word, number));
        }
        assert_eq!(Outcome::of(b"delivrd"), Some(Outcome::Delivered));
        for word in ["MA:0051", "MB:0069", "SA:0001", "IC:0151"] {
            assert_eq!(Outcome::of(word.as_bytes()), Some(Outcome::Undeliverable));
        }
        for word in ["", "M", "MA", "ZZ:0001", "DELIVERED"] {
            assert_eq!(Outcome::of(word.as_bytes()), None, "{word}");
        }
        assert!(!Outcome::Enroute.is_final() && Outcome::Expired.is_final());
    }
}
