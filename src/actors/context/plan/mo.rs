//! Rules for messages that operators bring, as the plan applies them.
//!
//! Called by Ingest for each such message, and by the assembly for parts that waited for their first one. A message
//! keeps the name of its rule and the queue that this gave it ([`RuledBy`]): the decision is made once.

use std::cell::OnceCell;
use std::collections::HashMap;

use super::{AccountPlan, Plan, target_of};
use crate::config::{self, CompiledPolicies, Config};
use crate::content;
use crate::domain::address::plain;
use crate::domain::mo_rule::{
    Action, CompiledMoRule, CompiledMoRules, MoRuleInput, MoRuleMatch, MoText, composed,
};
use crate::pb::{CallbackForm, Kind, Message, RuledBy};
use crate::store::StoreError;

/// Where the text of a message is, whose first word a rule may want.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextSource {
    /// In the message; if it is one of several parts, in one that may still come.
    HereOrLater,
    /// In the message.
    Here,
    /// In a part that did not come.
    Nowhere,
}

/// The rules of the configuration, without those that name an account or an operator that is not enabled. Reads
/// lists of addresses from files: blocks.
pub(super) fn rules(
    config: &Config,
    enabled: &HashMap<String, u32>,
) -> Result<CompiledMoRules, StoreError> {
    if config.mo_rule.is_empty() {
        return Ok(CompiledMoRules::default());
    }
    let mut wrong = Vec::new();
    let policies = CompiledPolicies::read(config, &mut wrong);
    let rules = config::mo_rules(config, &policies, &mut wrong);
    // It was valid when it was checked, but a list file may have changed since.
    if let Some(problem) = wrong.first() {
        return Err(StoreError::Failed(problem.to_string()));
    }
    let is_there =
        |name: &Option<String>| name.as_ref().is_none_or(|name| enabled.contains_key(name));
    let usable = |rule: &&CompiledMoRule| {
        let account = match &rule.action {
            Action::Deliver { account, .. } => Some(account.clone()),
            Action::Reply(reply) => Some(reply.account.clone()),
            Action::Drop => None,
        };
        is_there(&rule.operator) && is_there(&rule.account) && is_there(&account)
    };
    Ok(CompiledMoRules::new(
        rules.iter().filter(usable).cloned().collect(),
    ))
}

impl AccountPlan {
    /// The one address whose messages it gets.
    ///
    /// # Errors
    /// It has none, or several; in words for whoever has asked for its messages.
    pub fn only_number(&self) -> Result<String, String> {
        match &self.config.addresses[..] {
            [number] if !number.ends_with('*') => {
                let digits = plain(number.as_bytes());
                Ok(String::from_utf8_lossy(&digits).into_owned())
            }
            [] => Err("no messages come to this account: it has no addresses".to_owned()),
            several => Err(format!(
                "to is missing; it names one of the numbers of this account: {}",
                several.join(", ")
            )),
        }
    }
}

impl Plan {
    /// Rules for messages that operators bring.
    pub fn mo_rules(&self) -> &CompiledMoRules {
        &self.mo_rules
    }

    /// Finds the rule for a message that an operator brings, and notes it and its queue in the message. A part whose
    /// rule depends on a text that may still come is noted as one that waits, and there is no rule.
    pub fn rule(&self, message: &mut Message, said: TextSource) -> Option<&CompiledMoRule> {
        if self.mo_rules.is_empty() || !self.is_operator(message.sender) {
            return None;
        }
        let ruled = match self.found_rule(message, said) {
            MoRuleMatch::Nothing => return None,
            MoRuleMatch::Later => {
                message.ruled_by = Some(Box::new(RuledBy {
                    waits: true,
                    ..RuledBy::default()
                }));
                return None;
            }
            MoRuleMatch::By(rule) => rule,
        };
        self.note_rule(message, ruled).then_some(ruled)
    }

    /// Notes a rule in a message; false if the rule has no queue.
    pub fn note_rule(&self, message: &mut Message, rule: &CompiledMoRule) -> bool {
        let Some(queue) = self.queue_of_rule(rule) else {
            return false;
        };
        message.set_kind(Kind::Mo);
        let callback = match &rule.action {
            Action::Deliver { callback, .. } => callback.clone(),
            Action::Reply(_) | Action::Drop => None,
        };
        message.ruled_by = Some(Box::new(RuledBy {
            rule: rule.name.clone(),
            queue,
            callback: callback.unwrap_or_default(),
            ..RuledBy::default()
        }));
        true
    }

    fn found_rule(&self, message: &Message, said: TextSource) -> MoRuleMatch<'_> {
        let (sender, owner) = (
            self.name_of(message.sender),
            self.owner(&message.destination),
        );
        let known: OnceCell<Option<String>> = OnceCell::new();
        let known = || {
            let read = || content::text_of(message).map(|text| composed(&text));
            known.get_or_init(read).as_deref()
        };
        // Keywords for opt-outs come first, and the account whose address it is still gets the text.
        if owner.is_some()
            && !self.keywords.is_empty()
            && known().is_some_and(|text| self.keywords.choice(text).is_some())
        {
            return MoRuleMatch::Nothing;
        }
        let asked = MoRuleInput {
            destination: &message.destination,
            source: &message.source,
            operator: target_of(sender),
            owner,
        };
        let is_part = || content::part_of(message).is_some_and(|part| part.total > 1);
        self.mo_rules.find(&asked, || match said {
            TextSource::Nowhere => MoText::Absent,
            TextSource::HereOrLater if is_part() => MoText::Later,
            TextSource::HereOrLater | TextSource::Here => {
                known().map_or(MoText::Absent, MoText::Known)
            }
        })
    }

    /// The account that owns this address.
    pub fn mo_account(&self, destination: &[u8]) -> Option<u32> {
        self.mo.lookup(destination).copied()
    }

    /// The account that has this among its addresses, by name.
    pub fn owner(&self, destination: &[u8]) -> Option<&str> {
        let account = self.account_by_id(self.mo_account(destination)?)?;
        Some(&account.config.system_id)
    }

    /// The account whose opt-out list a mobile-originated message can change: that of its address, else that of its
    /// rule.
    pub fn hears(&self, message: &Message) -> Option<&str> {
        self.owner(&message.destination).or_else(|| {
            let rule = self.mo_rules.get(&message.ruled_by.as_deref()?.rule)?;
            match &rule.action {
                Action::Deliver { account, .. } => Some(account.as_str()),
                Action::Reply(reply) => Some(reply.account.as_str()),
                Action::Drop => None,
            }
        })
    }

    fn queue_of_rule(&self, rule: &CompiledMoRule) -> Option<u32> {
        match &rule.action {
            Action::Deliver { account, callback } => {
                let account = self.account(account)?;
                match callback {
                    // Those that are stored are in the standard form.
                    Some(name) => account.callbacks.queue(name, CallbackForm::Standard),
                    None => Some(account.id),
                }
            }
            Action::Reply(_) | Action::Drop => self.responder,
        }
    }

    /// The queue of a message that a rule has taken, or may take when its keyword is known. The account of the rule
    /// may be gone: then there is none, and the message goes as if no rule had taken it.
    pub(super) fn ruled_target(&self, message: &Message) -> Option<u32> {
        // Without rules only this comparison is made.
        message.ruled_by.as_deref()?;
        if message.waits_for_keyword() {
            return Some(self.assembly);
        }
        let queue = message.ruled_queue()?;
        let is_there = self.accounts_by_id.contains_key(&queue)
            || self.callback_queues.contains_key(&queue)
            || Some(queue) == self.responder;
        is_there.then_some(queue)
    }
}
