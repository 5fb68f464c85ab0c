//! Explains which rule takes a message that an operator brings: every rule that is asked, from the current plan.
//!
//! Called by Admin. Asks the rules that real messages are compared with, and changes nothing.

use crate::actors::context::NodeContext;
use crate::actors::context::plan::Plan;
use crate::actors::routing::explain::{ExplainRoute, explain};
use crate::actors::routing::resolver::{Imsis, Networks};
use crate::api::{AskedRule, MoExplanation};
use crate::config::MoRule;
use crate::domain::address;
use crate::domain::mo_rule::{Action, Miss, MoRuleInput, MoText, composed, words};

/// A question about a message that an operator brings.
pub struct ExplainMo {
    pub to: String,
    pub from: String,
    pub operator: String,
    /// `None` for what is no text.
    pub text: Option<String>,
}

/// Explains the decision for a message that an operator brings.
pub fn explain_mo(
    node: &NodeContext,
    networks: &Networks,
    imsis: &Imsis,
    ask: &ExplainMo,
) -> MoExplanation {
    let plan = node.plan();
    let to = address::normalise(ask.to.as_bytes());
    let from = address::normalise(ask.from.as_bytes());
    let text = ask.text.as_deref().map(composed);
    let owner = plan.owner(to);
    let is_opt_out = owner.is_some()
        && (text.as_deref()).is_some_and(|text| plan.keywords().choice(text).is_some());
    let question = MoRuleInput {
        destination: to,
        source: from,
        operator: &ask.operator,
        owner,
    };
    let said = || text.as_deref().map_or(MoText::Absent, MoText::Known);
    let mut rules: Vec<&MoRule> = plan.config.mo_rule.iter().collect();
    rules.sort_by_key(|rule| (rule.order, &rule.name));
    let (mut asked, mut taken) = (Vec::new(), None);
    for configured in rules.iter().filter(|_| !is_opt_out) {
        let rule = plan.mo_rules().get(&configured.name);
        let miss = rule.map(|rule| rule.misses(&question, said));
        asked.push(AskedRule {
            name: configured.name.clone(),
            order: configured.order,
            rule: in_words(configured),
            why: match miss {
                None => "left out: an account or operator that it names is not enabled".to_owned(),
                Some(None) => "takes the message".to_owned(),
                Some(Some(miss)) => why_not(configured, miss),
            },
        });
        if miss == Some(None) {
            taken = rule;
            break;
        }
    }
    let otherwise = taken.is_none().then(|| {
        let route = ExplainRoute {
            to: ask.to.clone(),
            from: ask.from.clone(),
            account: String::new(),
            operator: ask.operator.clone(),
            network: String::new(),
        };
        explain(node, networks, imsis, &route)
    });
    let plain = |octets: &[u8]| String::from_utf8_lossy(octets).into_owned();
    MoExplanation {
        to: plain(to),
        from: plain(from),
        operator: ask.operator.clone(),
        operator_is_known: is_operator(&plan, &ask.operator),
        keyword: words(&[], text.as_deref().unwrap_or_default())
            .keyword
            .to_owned(),
        owner: owner.map(str::to_owned),
        is_opt_out,
        rule: taken.map(|rule| rule.name.clone()),
        outcome: match taken.map(|rule| &rule.action) {
            Some(Action::Deliver { account, callback }) => match callback {
                Some(name) => format!("goes to the callback {name} of the account {account}"),
                None => format!("goes to the account {account}"),
            },
            Some(Action::Reply(reply)) => format!(
                "is answered by the account {}, unless its sender is a machine or was answered too often",
                reply.account
            ),
            Some(Action::Drop) => "is dropped".to_owned(),
            None if is_opt_out => "is a keyword for opt-outs: no rule is asked".to_owned(),
            None => "no rule takes it".to_owned(),
        },
        others: if is_opt_out {
            0
        } else {
            (rules.len() - asked.len()) as u64
        },
        asked,
        otherwise,
    }
}

fn is_operator(plan: &Plan, name: &str) -> bool {
    plan.queue_of(name)
        .is_some_and(|id| plan.operator(id).is_some())
}

/// The conditions of a rule, and what it does.
fn in_words(rule: &MoRule) -> String {
    let lists = [
        ("to", &rule.to),
        ("from", &rule.from),
        ("keyword", &rule.keywords),
    ];
    let lists = lists.into_iter().filter(|(_, list)| !list.is_empty());
    let mut conditions: Vec<String> = lists
        .map(|(what, list)| format!("{what} {}", list.join(" or ")))
        .collect();
    let names = [
        ("brought by", &rule.operator),
        ("for an address of", &rule.account),
    ];
    conditions.extend(
        names
            .into_iter()
            .filter_map(|(what, name)| Some(format!("{what} {}", name.as_ref()?))),
    );
    if conditions.is_empty() {
        conditions.push("everything".to_owned());
    }
    let action = match (&rule.deliver_to, &rule.reply) {
        (Some(account), _) => match &rule.callback {
            Some(name) => format!("deliver to the callback {name} of {account}"),
            None => format!("deliver to {account}"),
        },
        (None, Some(text)) => format!("reply {text:?}"),
        (None, None) => "drop".to_owned(),
    };
    format!("{}: {action}", conditions.join(", "))
}

fn why_not(rule: &MoRule, miss: Miss) -> String {
    let named = |name: &Option<String>| name.clone().unwrap_or_default();
    match miss {
        Miss::Operator => format!("only what {:?} brings", named(&rule.operator)),
        Miss::Account => format!("only for addresses of {:?}", named(&rule.account)),
        Miss::Destination => format!("only messages to {}", rule.to.join(" or ")),
        Miss::Source => format!("only messages from {}", rule.from.join(" or ")),
        Miss::Keyword | Miss::Later => {
            format!("only texts that begin with {}", rule.keywords.join(" or "))
        }
    }
}
