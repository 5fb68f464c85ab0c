//! A table of text whose keys people choose: `statuses` and `receipt_states` of an operator, `causes` of a GSM
//! network, `users` of the local socket.
//!
//! Read as it is written; what the words mean is checked in `validate/words.rs` and `validate/local.rs`, key by key, and
//! used by the plan through `classes` of operators and GSM networks and [`OperatorConfig::own_states`].

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use super::setting::Leaf;
use super::value::table_by_name;
use super::{OperatorConfig, RetryClass};
use smsc_domain::command_status::{self, RefusalClass};
use smsc_domain::receipt_states::ReceiptStates;
use smsc_domain::state;

/// Words by key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Words(BTreeMap<String, String>);

// === impl Words ===

impl Words {
    /// Every key with its word.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0
            .iter()
            .map(|(key, word)| (key.as_str(), word.as_str()))
    }

    /// The word of a key.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<(String, String)> for Words {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(words: I) -> Self {
        Self(words.into_iter().collect())
    }
}

table_by_name!(
    Words of String,
    "a table of text",
    "{ \"key\" = \"word\" }",
    <String as Leaf>::parse
);

/// The classes of statuses that a table names, the narrowest range first.
pub(super) fn classes_of(words: &Words) -> Vec<(RangeInclusive<u32>, RefusalClass)> {
    let mut classes: Vec<_> = words
        .iter()
        .filter_map(|(key, word)| {
            Some((
                command_status::parse_range(key)?,
                RetryClass::of(word)?.class(),
            ))
        })
        .collect();
    classes.sort_by_key(|(range, _)| range.end() - range.start());
    classes
}

// === impl OperatorConfig ===

impl OperatorConfig {
    /// `statuses`, the narrowest range first.
    pub fn classes(&self) -> Vec<(RangeInclusive<u32>, RefusalClass)> {
        classes_of(&self.statuses)
    }

    /// `receipt_states`, for reading its receipts.
    pub fn own_states(&self) -> ReceiptStates {
        let entry = |(key, word)| Some((key, state::from_exact_name(word)?));
        ReceiptStates::new(self.receipt_states.iter().filter_map(entry))
    }
}
