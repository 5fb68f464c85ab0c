//! Rules for messages that operators bring, as the admin API shows them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::settings::Explanation;

/// `PATCH /v1/mo-rules`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct MoOrder {
    /// The names of all rules, that of the first one to be tried first.
    pub order: Vec<String>,
}

/// `GET /v1/mo-rules/explain`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct MoExplanation {
    /// As it is compared: without a leading plus.
    pub to: String,
    pub from: String,
    pub operator: String,
    /// Whether there is such an operator.
    pub operator_is_known: bool,
    /// The first word of the text, as a rule without keywords has it in `{{keyword}}`.
    pub keyword: String,
    /// The account that has the address; null if none has.
    pub owner: Option<String>,
    /// The text is a keyword for opt-outs, to the address of an account: no rule is asked.
    pub is_opt_out: bool,
    /// The rule that takes the message; null if none does.
    pub rule: Option<String>,
    /// What becomes of the message, in words.
    pub outcome: String,
    /// Every rule that was asked, in order; the last one takes the message if one does.
    pub asked: Vec<AskedRule>,
    /// How many rules come after the one that takes the message.
    pub others: u64,
    /// Where the message goes without a rule; null if a rule takes it.
    pub otherwise: Option<Explanation>,
}

/// One rule, and why it takes the message or not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AskedRule {
    pub name: String,
    pub order: u32,
    /// In words.
    pub rule: String,
    pub why: String,
}
