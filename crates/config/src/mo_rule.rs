//! `[[mo_rule]]`: what becomes of messages that operators bring.
//!
//! [`mo_rules`] compiles the rules in their order; the validation calls it to report every error, the plan to use
//! the result. Files of address lists are read by [`CompiledPolicies`], which the caller has.

use std::time::Duration;

use super::mark::MAX_DIGITS;
use super::policy::CompiledPolicies;
use super::problem::ConfigProblem;
use super::section::settings;
use super::value::HOUR;
use super::{Config, show_duration};
use smsc_domain::mo_rule::{Action, CompiledMoRule, CompiledMoRules, Keyword, MoReply, Template};

settings! {
    /// `[[mo_rule]]`: what happens to messages from operators.
    pub struct MoRule {
        /// Name in the API, metrics and message histories.
        @required @name name: String = String::new(),
        /// Order of the rules, ascending, equal ones by name; the first match takes the message.
        order: u32 = 100,
        /// Destinations, such as short codes: `12345`, a prefix `4477*`, a regular expression `/^1[0-9]{4}$/`, or `list:NAME`; any if empty. Compared after `rewrite_in`.
        to: Vec<String> = Vec::new(),
        /// Sources, notation as `to`; any if empty.
        from: Vec<String> = Vec::new(),
        /// First words of the text, ignoring case and punctuation behind; if empty, any text, and data.
        keywords: Vec<String> = Vec::new(),
        /// Only messages from this operator.
        operator: Option<String> = None,
        /// Only messages to `addresses` of this account.
        account: Option<String> = None,
        /// Account that gets the message, by its `deliver_by`.
        deliver_to: Option<String> = None,
        /// Name in `callbacks` of that account, which gets the message whatever `deliver_by` is.
        callback: Option<String> = None,
        /// Text of an answer with `{{from}}`, `{{to}}`, `{{keyword}}` and `{{text}}` (what follows the keyword). Nobody gets the message itself.
        reply: Option<String> = None,
        /// Account that sends and pays answers; its rate, quota, balance, policy and routes apply.
        reply_account: Option<String> = None,
        /// Source address of answers; without it, the message's destination.
        @filled("is empty; leave it out")
        @text(MAX_DIGITS) reply_from: Option<String> = None,
        /// Most answers to one sender per `reply_limit_per`, refilled one by one. Further messages get no answer.
        reply_limit: u32 = 3,
        /// Period of `reply_limit`.
        reply_limit_per: Duration = HOUR,
        /// Nobody gets the message.
        drop: bool = false,
    }
}

/// Places of the rules, in the order in which they are tried.
fn in_order(rules: &[MoRule]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..rules.len()).collect();
    order.sort_by_key(|at| (rules[*at].order, &rules[*at].name));
    order
}

/// Compiles the rules; what is wrong with them goes to `problems`, and such rules are left out.
pub fn mo_rules(
    config: &Config,
    policies: &CompiledPolicies,
    problems: &mut Vec<ConfigProblem>,
) -> CompiledMoRules {
    let order = in_order(&config.mo_rule).into_iter();
    let compile = |at: usize| config.mo_rule[at].compile(at, policies, problems);
    CompiledMoRules::new(order.filter_map(compile).collect())
}

// === impl MoRule ===

impl MoRule {
    fn compile(
        &self,
        at: usize,
        policies: &CompiledPolicies,
        problems: &mut Vec<ConfigProblem>,
    ) -> Option<CompiledMoRule> {
        let key = |field: &str| format!("mo_rule[{at}].{field}");
        let before = problems.len();
        let to = policies.sets(&key("to"), &self.to, problems);
        let from = policies.sets(&key("from"), &self.from, problems);
        let mut keywords: Vec<Keyword> = Vec::new();
        for (place, word) in self.keywords.iter().enumerate() {
            let key = key(&format!("keywords[{place}]"));
            match Keyword::parse(word) {
                Ok(word) if keywords.iter().any(|known| known.equals(&word)) => {
                    problems.push(ConfigProblem::new(key, "is there twice; remove one"));
                }
                Ok(word) => keywords.push(word),
                Err(message) => problems.push(ConfigProblem::new(key, message)),
            }
        }
        let action = self.action(key, problems);
        if problems.len() > before {
            return None;
        }
        Some(CompiledMoRule {
            name: self.name.clone(),
            to,
            from,
            keywords,
            operator: self.operator.clone(),
            account: self.account.clone(),
            action: action?,
        })
    }

    fn action(
        &self,
        key: impl Fn(&str) -> String,
        problems: &mut Vec<ConfigProblem>,
    ) -> Option<Action> {
        let mut say = |field: &str, message: String| {
            problems.push(ConfigProblem::new(key(field), message));
            None
        };
        let keys = "`deliver_to`, `reply` and `drop`";
        let given = [self.deliver_to.is_some(), self.reply.is_some(), self.drop];
        match given.iter().filter(|given| **given).count() {
            0 => return say("deliver_to", format!("is missing; set one of {keys}")),
            1 => {}
            _ => {
                return say(
                    "deliver_to",
                    format!("is one too many; set only one of {keys}"),
                );
            }
        }
        if self.callback.is_some() && self.deliver_to.is_none() {
            let message =
                "means nothing without `deliver_to`; name the account whose callback it is";
            say("callback", message.to_owned());
        }
        let Some(text) = &self.reply else {
            for (field, given) in [
                ("reply_account", self.reply_account.is_some()),
                ("reply_from", self.reply_from.is_some()),
            ] {
                if given {
                    say(field, "means nothing without `reply`; remove it".to_owned());
                }
            }
            return Some(match &self.deliver_to {
                Some(account) => Action::Deliver {
                    account: account.clone(),
                    callback: self.callback.clone(),
                },
                None => Action::Drop,
            });
        };
        if self.reply_limit == 0 {
            let message = "must be at least 1; use `drop` to answer nobody".to_owned();
            say("reply_limit", message);
        }
        if self.reply_limit_per < Duration::from_secs(1) {
            let given = show_duration(self.reply_limit_per);
            say(
                "reply_limit_per",
                format!("is {given}; write \"1s\" or more"),
            );
        }
        let Some(account) = &self.reply_account else {
            let message = "is missing; name the account that sends the answers".to_owned();
            return say("reply_account", message);
        };
        match Template::parse(text) {
            Ok(template) => Some(Action::Reply(MoReply {
                template,
                account: account.clone(),
                from: self.reply_from.clone(),
                limit: self.reply_limit,
                per: self.reply_limit_per,
            })),
            Err(message) => say("reply", message),
        }
    }
}
