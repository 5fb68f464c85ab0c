//! Rules for messages that operators bring: which message a rule takes, and what becomes of it.
//!
//! Compiled by the configuration, kept in the plan, asked by Ingest and by the actor that gathers parts. Pure.
//! Guarantees that the first rule in order that fits is the one that is used, and that a text is looked at only
//! if a rule that fits otherwise wants a keyword.

mod keyword;
mod template;

use std::sync::Arc;
use std::time::Duration;

use super::address::{is_digits, normalise};
use super::policy::AddressSet;

pub use keyword::{Keyword, KeywordSplit, composed, words};
pub use template::{Template, TemplateValues};

/// Fewest digits of a number that may be answered; shorter ones are short codes.
const FEWEST_DIGITS: usize = 7;
/// What stands in the history of a message before the rule that moved it.
const NOTE: &str = "mo rule ";
/// And before the callback.
const TO: &str = " to callback ";

/// One rule. Conditions that are empty fit every message.
#[derive(Debug, Clone)]
pub struct CompiledMoRule {
    pub name: String,
    /// Destinations.
    pub to: Vec<Arc<AddressSet>>,
    /// Sources.
    pub from: Vec<Arc<AddressSet>>,
    /// The text begins with one of these.
    pub keywords: Vec<Keyword>,
    /// Only what this operator brings.
    pub operator: Option<String>,
    /// Only messages to addresses of this account.
    pub account: Option<String>,
    pub action: Action,
}

/// What becomes of a message that a rule takes.
#[derive(Debug, Clone)]
pub enum Action {
    /// This account gets it: as it gets everything, or by one of its stored callbacks.
    Deliver {
        account: String,
        callback: Option<String>,
    },
    /// Its sender gets an answer.
    Reply(MoReply),
    /// Nobody gets it.
    Drop,
}

/// The answer of a rule.
#[derive(Debug, Clone)]
pub struct MoReply {
    pub template: Template,
    /// The account that sends and pays it.
    pub account: String,
    /// Its source address; without it, the address that the message came to.
    pub from: Option<String>,
    /// Most answers to one sender within `per`.
    pub limit: u32,
    pub per: Duration,
}

/// All rules, in order.
#[derive(Debug, Default)]
pub struct CompiledMoRules {
    rules: Vec<CompiledMoRule>,
}

/// What rules compare of a message. A leading `+` of the addresses is ignored.
#[derive(Debug, Clone, Copy)]
pub struct MoRuleInput<'m> {
    pub destination: &'m [u8],
    pub source: &'m [u8],
    /// The id of the operator that brings it.
    pub operator: &'m str,
    /// The account that has the destination among its addresses.
    pub owner: Option<&'m str>,
}

/// The text of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MoText<'m> {
    /// As [`composed`] gives it.
    Known(&'m str),
    /// It has none, or none that can be read.
    Absent,
    /// It is that of another part, which has not come yet.
    Later,
}

/// What became of the search for a rule.
#[derive(Debug)]
pub enum MoRuleMatch<'r> {
    By(&'r CompiledMoRule),
    /// No rule fits.
    Nothing,
    /// It depends on a text that is not here yet.
    Later,
}

/// The first condition of a rule that a message does not fulfil.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Miss {
    Operator,
    Account,
    Destination,
    Source,
    Keyword,
    /// Its text is not here yet.
    Later,
}

named! {
    /// Why a message is not answered.
    /// Its words are those of metrics and of the history of the message.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum NoReplyReason, as_str {
        /// Its sender is no number.
        NotANumber: "not_a_number",
        /// Its sender is a short code.
        ShortCode: "short_code",
        /// Its sender is an address of an account, or one that a rule is for.
        OwnAddress: "own_address",
        /// It was written by a machine: an acknowledgement, or a text that a rule has written.
        Automatic: "automatic",
    }
}

/// The history's words for a move by a rule, to a callback if that is not empty.
pub fn note(rule: &str, callback: &str) -> String {
    match callback {
        "" => format!("{NOTE}{rule}"),
        callback => format!("{NOTE}{rule}{TO}{callback}"),
    }
}

/// The rule and the callback that such words name; neither has blanks in its name.
pub fn noted(by: &str) -> Option<(&str, &str)> {
    let noted = by.strip_prefix(NOTE)?;
    Some(noted.split_once(TO).unwrap_or((noted, "")))
}

// === impl CompiledMoRules ===

impl CompiledMoRules {
    /// Rules in the order in which they are tried.
    pub fn new(rules: Vec<CompiledMoRule>) -> Self {
        Self { rules }
    }

    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = &CompiledMoRule> {
        self.rules.iter()
    }

    pub fn get(&self, name: &str) -> Option<&CompiledMoRule> {
        self.rules.iter().find(|rule| rule.name == name)
    }

    /// The rule that takes a message. `text` is asked for at most once for each rule with keywords.
    pub fn find<'m>(
        &self,
        asked: &MoRuleInput<'_>,
        text: impl Fn() -> MoText<'m>,
    ) -> MoRuleMatch<'_> {
        for rule in &self.rules {
            match rule.misses(asked, &text) {
                None => return MoRuleMatch::By(rule),
                Some(Miss::Later) => return MoRuleMatch::Later,
                Some(_) => {}
            }
        }
        MoRuleMatch::Nothing
    }

    /// Why a message must not be answered automatically: its type of number and address, whether it is marked as an
    /// acknowledgement, and its text, as [`composed`] gives it. `owned` tells which addresses accounts have.
    pub fn unanswered(
        &self,
        source: &[u8],
        destination: &[u8],
        is_acknowledgement: bool,
        text: Option<&str>,
        owned: impl Fn(&[u8]) -> bool,
    ) -> Option<NoReplyReason> {
        let (source, destination) = (normalise(source), normalise(destination));
        if !is_digits(source) {
            return Some(NoReplyReason::NotANumber);
        }
        if source.len() < FEWEST_DIGITS {
            return Some(NoReplyReason::ShortCode);
        }
        let is_ruled = |rule: &CompiledMoRule| rule.to.iter().any(|set| set.contains(source));
        if source == destination || owned(source) || self.rules.iter().any(is_ruled) {
            return Some(NoReplyReason::OwnAddress);
        }
        let is_written = |rule: &CompiledMoRule| match (&rule.action, text) {
            (Action::Reply(reply), Some(text)) => reply.template.could_have_written(text),
            _ => false,
        };
        (is_acknowledgement || self.rules.iter().any(is_written))
            .then_some(NoReplyReason::Automatic)
    }
}

// === impl CompiledMoRule ===

impl CompiledMoRule {
    /// The first condition that a message does not fulfil; `None` if it fulfils all.
    pub fn misses<'m>(
        &self,
        asked: &MoRuleInput<'_>,
        text: impl Fn() -> MoText<'m>,
    ) -> Option<Miss> {
        let fits = |sets: &[Arc<AddressSet>], address: &[u8]| {
            let address = normalise(address);
            sets.is_empty() || sets.iter().any(|set| set.contains(address))
        };
        let is = |only: &Option<String>, given: Option<&str>| match only {
            Some(only) => given == Some(only),
            None => true,
        };
        if !is(&self.operator, Some(asked.operator)) {
            return Some(Miss::Operator);
        }
        if !is(&self.account, asked.owner) {
            return Some(Miss::Account);
        }
        if !fits(&self.to, asked.destination) {
            return Some(Miss::Destination);
        }
        if !fits(&self.from, asked.source) {
            return Some(Miss::Source);
        }
        if self.keywords.is_empty() {
            return None;
        }
        match text() {
            MoText::Later => Some(Miss::Later),
            MoText::Absent => Some(Miss::Keyword),
            MoText::Known(text) => {
                let begins = |keyword: &Keyword| keyword.begins(text).is_some();
                (!self.keywords.iter().any(begins)).then_some(Miss::Keyword)
            }
        }
    }
}

// === impl Action ===

impl Action {
    /// As in metrics.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Deliver { .. } => "deliver",
            Self::Reply(_) => "reply",
            Self::Drop => "drop",
        }
    }
}

#[cfg(test)]
mod tests;
