//! States before the final one that callbacks report: which there are, and which one is later than another.
//!
//! A set of them is a number of bits, which a message keeps from its acceptance (`report_states`).

/// It waits here for its first attempt.
pub const QUEUED: u32 = 1;
/// An operator has accepted it.
pub const SENT: u32 = 2;
/// An attempt has failed, and another one follows.
pub const RETRYING: u32 = 4;
/// The submission itself says which, perhaps none: what its account asks for does not count.
pub const CHOSEN: u32 = 128;

const ALL: u32 = QUEUED | SENT | RETRYING;
const WORDS: [(u32, &str); 3] = [(QUEUED, "queued"), (SENT, "sent"), (RETRYING, "retrying")];

/// The word for a state in requests and configuration; empty for none.
pub fn word(state: u32) -> &'static str {
    let mut known = WORDS.iter();
    let found = known.find(|(bit, _)| *bit == state);
    found.map_or("", |(_, word)| word)
}

/// The set of these words.
///
/// # Errors
/// The one that names no state, and the cure.
pub fn set<'a>(words: impl IntoIterator<Item = &'a str>) -> Result<u32, String> {
    words.into_iter().try_fold(0, |set, wanted| {
        let mut known = WORDS.iter();
        let found = known.find(|(_, word)| *word == wanted);
        let (bit, _) = found.ok_or_else(|| {
            format!("{wanted:?} is none of the states \"queued\", \"sent\" and \"retrying\"")
        })?;
        Ok(set | bit)
    })
}

/// Whether a set has any state in it.
pub fn any(set: u32) -> bool {
    set & ALL != 0
}

/// The place of a state among those of its message: a higher one is later. `attempt` led to it.
pub fn rank(state: u32, attempt: u32) -> u64 {
    match state {
        QUEUED => 0,
        // An attempt that timed out may be accepted after all.
        SENT => u64::from(attempt) * 2 + 1,
        _ => u64::from(attempt) * 2,
    }
}

/// That of the final state.
pub const FINAL_RANK: u64 = u64::MAX;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_and_a_wrong_one_is_named() {
        assert_eq!(set(["queued", "sent", "queued"]), Ok(QUEUED | SENT));
        assert_eq!(set([]), Ok(0));
        let said = set(["sent", "delivered"]).unwrap_err();
        assert!(said.contains("\"delivered\""), "{said}");
        for (bit, word) in WORDS {
            assert_eq!((set([word]), super::word(bit)), (Ok(bit), word));
        }
        assert!(any(CHOSEN | SENT) && !any(CHOSEN));
    }

    #[test]
    fn each_attempt_is_later_than_the_one_before_and_the_end_is_last() {
        let order = [
            rank(QUEUED, 0),
            rank(RETRYING, 1),
            rank(SENT, 1),
            rank(RETRYING, 2),
            rank(SENT, 2),
            FINAL_RANK,
        ];
        assert!(order.is_sorted_by(|one, next| one < next));
    }
}
