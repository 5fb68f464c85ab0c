//! What the words and error codes of an operator's receipts mean, where they differ from SMPP 3.4
//! Appendix B.
//!
//! Built from `receipt_states` of an operator, used by `smpp::receipt::extract_with`.

/// Marks a key that is an error code.
const ERROR_KEY: &str = "err:";

/// States by the `stat` word or the `err` code of a receipt; empty for most operators.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReceiptStates {
    by_error: Vec<(Vec<u8>, u8)>,
    by_word: Vec<(Vec<u8>, u8)>,
}

// === impl ReceiptStates ===

impl ReceiptStates {
    /// From keys as they are configured: a word such as `ACCEPTD`, or `err:` and a code.
    pub fn new<'k>(entries: impl Iterator<Item = (&'k str, u8)>) -> Self {
        let mut states = Self::default();
        for (key, state) in entries {
            match key.strip_prefix(ERROR_KEY) {
                Some(code) => states.by_error.push((code.trim().into(), state)),
                None => states.by_word.push((key.trim().into(), state)),
            }
        }
        states
    }

    /// The `message_state` that was configured for this receipt, in any case of its letters; the
    /// error code counts before the word.
    pub fn of(&self, word: &[u8], error: &[u8]) -> Option<u8> {
        let find = |entries: &[(Vec<u8>, u8)], wanted: &[u8]| {
            entries
                .iter()
                .find(|(key, _)| key.eq_ignore_ascii_case(wanted))
                .map(|(_, state)| *state)
        };
        find(&self.by_error, error).or_else(|| find(&self.by_word, word))
    }
}
