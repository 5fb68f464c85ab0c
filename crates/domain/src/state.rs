//! Message states as numbers, with their names (SMPP 3.4 §5.2.28, SMPP 5.0 §4.7.15).
//!
//! These numbers are in the store, in `proto/smsc/v1/message.proto` and on the wire; the names
//! are those of the API, of CDRs and of receipts.

/// On its way: stored, waiting, or handed over without a result yet.
pub const ENROUTE: u8 = 1;
/// The handset (or the peer) has it.
pub const DELIVERED: u8 = 2;
/// Its validity period ended before it could be handed over.
pub const EXPIRED: u8 = 3;
/// Cancelled or replaced.
pub const DELETED: u8 = 4;
/// Refused permanently by the network.
pub const UNDELIVERABLE: u8 = 5;
/// Accepted by the operator without a receipt request: no other state will become known.
pub const ACCEPTED: u8 = 6;
/// Handed over, and no receipt came within the correlation TTL.
pub const UNKNOWN: u8 = 7;
/// Refused by policy.
pub const REJECTED: u8 = 8;

/// Number, name in the API, and the seven letters of a receipt's `stat:` (SMPP 3.4 appendix B).
const STATES: [(u8, &str, &str); 8] = [
    (ENROUTE, "ENROUTE", "ENROUTE"),
    (DELIVERED, "DELIVERED", "DELIVRD"),
    (EXPIRED, "EXPIRED", "EXPIRED"),
    (DELETED, "DELETED", "DELETED"),
    (UNDELIVERABLE, "UNDELIVERABLE", "UNDELIV"),
    (ACCEPTED, "ACCEPTED", "ACCEPTD"),
    (UNKNOWN, "UNKNOWN", "UNKNOWN"),
    (REJECTED, "REJECTED", "REJECTD"),
];

/// Whether a message in this state is finished: nothing changes it any more.
pub fn is_final(state: u8) -> bool {
    (DELIVERED..=REJECTED).contains(&state)
}

/// The state's name in the API: `DELIVERED`; `UNSPECIFIED` for a number outside the standard.
pub fn name(state: u8) -> &'static str {
    find(state).map_or("UNSPECIFIED", |(_, name, _)| name)
}

/// The `stat:` of a receipt: `DELIVRD`; `UNKNOWN` for a number outside the standard.
pub fn receipt_stat(state: u8) -> &'static str {
    find(state).map_or("UNKNOWN", |(_, _, stat)| stat)
}

/// The state that [`name`] calls exactly so.
pub fn from_exact_name(text: &str) -> Option<u8> {
    let mut all = STATES.iter();
    all.find(|(_, name, _)| *name == text).map(|entry| entry.0)
}

/// Every name of the API.
pub fn names() -> impl Iterator<Item = &'static str> {
    STATES.iter().map(|(_, name, _)| *name)
}

/// The state of a name of the API or of a receipt's `stat:`, in any case.
///
/// Vendors shorten and misspell: the first five letters decide, so `DELIVRD`, `DELIVERED`,
/// `UNDELIV`, `UNDELIVRD`, `REJECT` and `ACCEPTED` are all understood.
pub fn from_name(text: &str) -> Option<u8> {
    const SIGNIFICANT: usize = 5;
    let start = text.trim().get(..SIGNIFICANT)?;
    STATES
        .iter()
        .find(|(_, name, _)| name[..SIGNIFICANT].eq_ignore_ascii_case(start))
        .map(|(state, _, _)| *state)
}

fn find(state: u8) -> Option<(u8, &'static str, &'static str)> {
    STATES.iter().copied().find(|entry| entry.0 == state)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_both_ways() {
        for (state, name_of, stat) in STATES {
            assert_eq!(name(state), name_of);
            assert_eq!(receipt_stat(state), stat);
            assert_eq!(stat.len(), 7, "appendix B: seven characters");
            assert_eq!(from_name(name_of), Some(state));
            assert_eq!(from_name(stat), Some(state));
            assert_eq!(from_name(&stat.to_lowercase()), Some(state));
        }
        assert_eq!(from_name("REJECT"), Some(REJECTED));
        assert_eq!(from_name("OK"), None);
        assert_eq!(from_name("ÄÖÜß"), None);
        assert_eq!(name(0), "UNSPECIFIED");
        assert_eq!(receipt_stat(99), "UNKNOWN");
    }

    #[test]
    fn only_enroute_is_not_final() {
        assert!(!is_final(0));
        assert!(!is_final(ENROUTE));
        assert!((DELIVERED..=REJECTED).all(is_final));
        assert!(!is_final(9));
    }
}
