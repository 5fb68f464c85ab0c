//! Words that the API takes in paths and queries: read here, documented from here.

use serde::{Deserialize, Serialize};
use smsc_domain::access::{AccessRole, KeyRole};
use smsc_domain::state;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

/// Declares choices between words; each word is read and written as it stands here.
macro_rules! words {
    ($($(#[doc = $doc:literal])+ pub enum $name:ident { $( $variant:ident = $word:tt ),+ $(,)? })+) => {$(
        $(#[doc = $doc])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
        pub enum $name {
            $( #[serde(rename = $word)] $variant, )+
        }

        impl Word for $name {
            const ALL: &'static [(&'static str, Self)] = &[$( ($word, Self::$variant) ),+];
        }
    )+};
}

/// A choice between words.
pub trait Word: Copy + PartialEq + 'static {
    /// Every word and what it stands for.
    const ALL: &'static [(&'static str, Self)];

    /// What a word stands for.
    fn of(word: &str) -> Option<Self> {
        let known = Self::ALL.iter().find(|(known, _)| *known == word);
        known.map(|(_, meant)| *meant)
    }

    /// The word for this.
    fn word(self) -> &'static str {
        let known = Self::ALL.iter().find(|(_, meant)| *meant == self);
        known.map_or("", |(word, _)| word)
    }

    /// All words, for the answer to another one.
    fn list() -> String {
        let words: Vec<&str> = Self::ALL.iter().map(|(word, _)| *word).collect();
        words.join(", ")
    }
}

words! {
    /// Commands for a queue.
    pub enum QueueVerb {
        Suspend = "suspend",
        Resume = "resume",
        Purge = "purge",
    }

    /// What comes first in a list of messages: the latest acceptance, or the latest end.
    pub enum MessageListOrder {
        Accepted = "accepted",
        Ended = "ended",
    }

    /// What failures are counted by.
    pub enum FailureGrouping {
        Error = "error",
        Operator = "operator",
        Account = "account",
        Country = "country",
        Hour = "hour",
    }

    /// How long a point of the history is.
    pub enum HistoryStep {
        Minute = "minute",
        Hour = "hour",
    }

    /// What the history is divided by.
    pub enum HistoryGrouping {
        Operator = "operator",
        Account = "account",
        Error = "error",
    }

    /// The scope of the figures.
    pub enum Scope {
        Cluster = "cluster",
        Node = "node",
    }

    /// Commands for the binds of an operator.
    pub enum OperatorVerb {
        Rebind = "rebind",
        Resume = "resume",
        Suspend = "suspend",
    }

    /// What is looked up about numbers.
    pub enum LookupKind {
        Network = "network",
        Imsi = "imsi",
    }

    /// What can be done with a message that waits.
    pub enum MessageVerb {
        Cancel = "cancel",
        Retry = "retry",
    }
}

/// The schema of words that [`smsc_domain`] has.
macro_rules! documented {
    ($name:ident: $words:expr, $description:literal) => {
        #[doc = $description]
        #[derive(Debug)]
        pub struct $name;

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                ObjectBuilder::new()
                    .schema_type(Type::String)
                    .description(Some($description))
                    .enum_values(Some($words))
                    .into()
            }
        }

        impl ToSchema for $name {}
    };
}

documented! {
    RoleName: AccessRole::ALL.map(AccessRole::as_str),
    "What a token allows; each role includes the ones before."
}

documented! {
    KeyRoleName: KeyRole::ALL.map(KeyRole::as_str),
    "What an API key allows: to send, to read, or both."
}

documented! {
    StateName: state::names(),
    "A state of a message (SMPP 3.4 §5.2.28); ENROUTE means not final."
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_states_are_those_of_the_standard() {
        let names: Vec<&str> = (state::ENROUTE..=state::REJECTED)
            .map(state::name)
            .collect();
        let schema = serde_json::to_value(StateName::schema()).unwrap();
        assert_eq!(schema["enum"], serde_json::json!(names));
    }
}
