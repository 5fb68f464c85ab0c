//! The plan: the configuration resolved into look-up tables for the actors. Immutable; a reload builds
//! a new plan and swaps it in.

mod build;
mod callbacks;
mod charging;
mod event_sinks;
mod gsm;
mod limits;
mod mo;
mod money;
mod names;
mod numbers;
mod sinks;
mod targets;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use secrecy::SecretString;

pub use self::callbacks::{Callbacks, form_of, states_in};
pub use self::charging::Charging;
pub use self::mo::TextSource;
pub use self::names::{
    ASSEMBLY, DIVIDED, IMSI, RESOLVE, RESPONDER, account_name, copies_name, gsm_name,
    operator_name, target_name, target_of,
};
pub use self::sinks::SinkPlan;
use crate::config::{
    Account, Config, Gsm, LimitMode, MessageIdForm, OperatorConfig, OutcomePolicy, PartReceipts,
    ReceiptRequest, SendAs,
};
use crate::content::handset::Handsets;
use crate::content::peer::PeerEncoding;
use crate::domain::ByQueue;
use crate::domain::allow::AllowList;
use crate::domain::cost::TargetTariff;
use crate::domain::culprit;
use crate::domain::mo_rule;
use crate::domain::number_plan::NumberPlan;
use crate::domain::policy::{AddressLimit, Keywords, Policy};
use crate::domain::queue_name::QueueName;
use crate::domain::receipt_states::ReceiptStates;
use crate::domain::retry::RetryPolicy;
use crate::domain::rewrite::CompiledRewriteRules;
use crate::domain::route::{MoTable, RouteTable};
use crate::domain::trace::Ratio;
use crate::domain::validity::Lifetime;
use crate::numbers::Numbers;
use crate::pb::Message;
use crate::sms::convert::Alphabet;
use crate::store::sinks::Wants;

/// The weights of accounts with a weight other than 1.
pub type Weights = HashMap<u32, u32, ahash::RandomState>;

pub struct Plan {
    pub config: Arc<Config>,
    accounts: HashMap<String, Arc<AccountPlan>>,
    /// The hash of an account's password, if any account has one.
    pub any_password_hash: Option<SecretString>,
    accounts_by_id: ByQueue<Arc<AccountPlan>>,
    operators: ByQueue<Arc<OperatorPlan>>,
    gsms: ByQueue<Arc<GsmPlan>>,
    routes: RouteTable<u32>,
    /// Routes for messages that operators bring and no account owns.
    transit: RouteTable<u32>,
    mo: MoTable<u32>,
    /// Rules for messages that operators bring, before that.
    mo_rules: mo_rule::CompiledMoRules,
    number_plan: NumberPlan,
    sinks: Vec<Arc<SinkPlan>>,
    /// The mirror in Redis, as a sink.
    mirror: Option<Wants>,
    retry: RetryPolicy,
    /// The longest pause between attempts of all operators, and of callbacks.
    pub longest_pause: Duration,
    rates: ByQueue<(f64, u32)>,
    /// Rules for messages that an account or operator brings.
    rewrite_in: ByQueue<CompiledRewriteRules>,
    /// Rates between addresses, from which a message takes tokens as well.
    limits: Vec<AddressLimit>,
    /// Texts to accounts that put their senders on opt-out lists or take them off.
    keywords: Keywords,
    /// Accounts with a quota or a balance.
    charging: ByQueue<Charging>,
    /// Of the accounts that prices apply to.
    tariffs: ByQueue<crate::domain::price::Tariff>,
    /// Accounts with other weights in shared queues.
    pub weights: Arc<Weights>,
    /// Accounts with a tracing ratio of their own.
    trace_ratios: ByQueue<Ratio>,
    trace_ratio: Ratio,
    /// Queues of routes with more than one target.
    alternatives: HashSet<u32>,
    shares: bool,
    /// Queues of the built-in targets.
    pub built_in: Vec<u32>,
    /// The queue of messages whose network is being looked up; `None` if look-ups were never
    /// configured.
    pub resolve_queue: Option<u32>,
    /// Accounts whose messages are looked up, whatever their route.
    resolving: HashSet<u32>,
    /// Whether any look-up is configured.
    resolves: bool,
    /// The queue of messages whose IMSI is being looked up; `None` if look-ups of IMSIs were never configured.
    pub imsi_queue: Option<u32>,
    /// Queues of GSM interfaces whose messages need the IMSI of the destination.
    handsets: HashSet<u32>,
    /// The queue in which parts wait for the rest of their message.
    pub assembly: u32,
    /// The queue of messages that a rule answers or drops; `None` if there was never such a rule.
    pub responder: Option<u32>,
    /// Stands for the parts that carry a divided message: a name, not a queue.
    pub divided: u32,
    names: ByQueue<String>,
    /// The second queue of accounts that get everything on two ways.
    copies: ByQueue<u32>,
    /// The second queues of all accounts that may have something in one, each with its account.
    copy_queues: Vec<(u32, u32)>,
    /// The queues of callbacks by hosts, with their accounts.
    callback_queues: ByQueue<u32>,
    /// Queues by the names that routes use.
    by_target: HashMap<String, u32>,
}

/// Starts the queues of a plan before actors get it, and queues that hold messages although no plan
/// names them.
///
/// Not protobuf: a plan is code as much as data.
pub struct MakeQueues {
    pub plan: Arc<Plan>,
    pub orphan: Option<u32>,
}

impl actix::Message for MakeQueues {
    type Result = ();
}

/// What routing knows about the targets of routes.
pub trait Targets {
    /// Whether a message put into this queue now would be sent soon.
    fn available(&self, queue: u32) -> bool;

    /// The work of a queue relative to what its target takes: comparable between targets.
    fn load(&self, queue: u32) -> f64;
}

/// An ESME's identity.
pub struct AccountPlan {
    /// Its interned name, which also names its queue.
    pub id: u32,
    pub config: Account,
    pub allow: AllowList,
    pub priority_max: u8,
    /// What it may send, and to whom; `None` allows everything.
    pub policy: Option<Policy>,
    pub peer_encoding: PeerEncoding,
    /// How it writes recipients over HTTP.
    pub numbers: Numbers,
    /// Rules for the addresses of messages that it is sent.
    pub rewrite_out: CompiledRewriteRules,
    /// Where receipts of its messages may go instead.
    pub callbacks: Callbacks,
    /// States before the final one that callbacks report, unless a message chooses its own.
    pub states: u32,
}

/// An upstream that we bind to.
pub struct OperatorPlan {
    pub id: u32,
    pub config: OperatorConfig,
    pub retry: Option<RetryPolicy>,
    /// The meaning of words and error codes in its receipts, where it differs from the standard.
    pub receipt_states: ReceiptStates,
    pub peer_encoding: PeerEncoding,
    tariff: TargetTariff,
    /// Rules for the addresses of messages that it is sent.
    pub rewrite_out: CompiledRewriteRules,
}

/// A GSM core network that we deliver to.
pub struct GsmPlan {
    /// Its interned name, which also names its queue.
    pub id: u32,
    pub config: Gsm,
    retry: Option<RetryPolicy>,
    /// How its handsets get their messages.
    pub handsets: Handsets,
    /// Whose messages those of its handsets are; `None` refuses them.
    pub account: Option<u32>,
    /// Rules for the source addresses of messages to its handsets.
    pub rewrite_out: CompiledRewriteRules,
}

// === impl Plan ===

impl Plan {
    /// The queue of a target by its name in routes; `None` if it is disabled.
    pub fn queue_of(&self, target: &str) -> Option<u32> {
        self.by_target.get(target).copied()
    }

    pub fn account(&self, system_id: &str) -> Option<&Arc<AccountPlan>> {
        self.accounts.get(system_id)
    }

    pub fn account_by_id(&self, id: u32) -> Option<&Arc<AccountPlan>> {
        self.accounts_by_id.get(&id)
    }

    pub fn accounts(&self) -> impl Iterator<Item = &Arc<AccountPlan>> {
        self.accounts.values()
    }

    pub fn operator(&self, id: u32) -> Option<&Arc<OperatorPlan>> {
        self.operators.get(&id)
    }

    pub fn operators(&self) -> impl Iterator<Item = &Arc<OperatorPlan>> {
        self.operators.values()
    }

    /// Interned names of all destinations of messages, configured or not.
    pub fn destinations(&self) -> impl Iterator<Item = u32> {
        let is_destination = |(_, name): &(_, &String)| {
            let name = QueueName::parse(name);
            name.is_of_account() || name.is_connected()
        };
        let destinations = self.names.iter().filter(is_destination);
        destinations.map(|(id, _)| *id)
    }

    /// The id of an account or operator, written `account:x`, `operator:x`, or just `x`.
    pub fn sender(&self, name: &str) -> Option<u32> {
        let wanted = [name.to_owned(), account_name(name), operator_name(name)];
        wanted.iter().find_map(|wanted| self.number_of(wanted))
    }

    /// The interned number of a name.
    pub fn number_of(&self, name: &str) -> Option<u32> {
        let known = self.names.iter().find(|(_, known)| *known == name);
        known.map(|(number, _)| *number)
    }

    /// The name behind an interned id.
    pub fn name_of(&self, id: u32) -> &str {
        self.names.get(&id).map_or("", String::as_str)
    }

    /// The queue for the copies of what goes into this one, if an account gets everything on two ways.
    pub fn copies_of(&self, queue: u32) -> Option<u32> {
        // The usual case, and looked up for each message.
        if self.copies.is_empty() {
            return None;
        }
        self.copies.get(&queue).copied()
    }

    /// Accounts with a second queue, and that.
    pub fn copy_queues(&self) -> impl Iterator<Item = (u32, u32)> {
        self.copy_queues.iter().copied()
    }

    /// The account that gets what waits in a queue, there or at a host of its callbacks; also one that is not
    /// configured any more.
    pub fn account_of(&self, queue: u32) -> Option<u32> {
        if let Some(account) = self.callback_queues.get(&queue) {
            return Some(*account);
        }
        match QueueName::parse(self.name_of(queue)) {
            QueueName::Callbacks { account, .. } => self.number_of(&account_name(account)),
            QueueName::Account(_) => Some(queue),
            _ => None,
        }
    }

    /// Whether a message in this queue is carried by other messages of ours instead of an operator.
    pub fn is_carrier(&self, queue: u32) -> bool {
        queue == self.divided || queue == self.assembly
    }

    /// Tokens per second and burst of an account or operator, if it has a limit.
    pub fn rate_of(&self, id: u32) -> Option<(f64, u32)> {
        self.rates.get(&id).copied()
    }

    /// How the rate of an operator is counted where nodes share it.
    pub fn rate_window(&self, operator: &OperatorPlan) -> LimitMode {
        operator
            .config
            .rate_window
            .unwrap_or(self.config.redis.limit)
    }

    /// Most messages of one account that may wait in one queue; everything if there is no other
    /// account.
    pub fn most_of_one(&self) -> u64 {
        match self.accounts.len() {
            0 | 1 => self.config.queue.max_waiting,
            _ => self.config.queue.most_of_one(),
        }
    }

    /// The rules for addresses of messages that an account or operator brings, if any.
    pub fn rewrite_in(&self, id: u32) -> Option<&CompiledRewriteRules> {
        self.rewrite_in.get(&id)
    }

    /// The rules for addresses of what comes from a handset of this GSM network, 0 for none: the network's rules with those of its
    /// account behind them, where it has any.
    pub fn rewrite_in_from(&self, sender: u32, network: u32) -> Option<&CompiledRewriteRules> {
        let of_network = match network {
            0 => None,
            network => self.rewrite_in(network),
        };
        of_network.or_else(|| self.rewrite_in(sender))
    }

    /// Rates between addresses.
    pub fn limits(&self) -> &[AddressLimit] {
        &self.limits
    }

    /// Texts that put their senders on opt-out lists.
    pub fn keywords(&self) -> &Keywords {
        &self.keywords
    }

    /// Whether submissions need screening for limits and keywords after the checks of single messages.
    pub fn screens(&self) -> bool {
        !self.limits.is_empty() || !self.keywords.is_empty()
    }

    /// How a sender is charged, if it is an account with a quota or a balance.
    pub fn charging(&self, sender: u32) -> Option<&Charging> {
        self.charging.get(&sender)
    }

    /// Whether any account is charged.
    pub fn charges(&self) -> bool {
        !self.charging.is_empty()
    }

    /// The share of a sender's messages that is traced.
    pub fn trace_ratio(&self, sender: u32) -> Ratio {
        let own = self.trace_ratios.get(&sender);
        own.copied().unwrap_or(self.trace_ratio)
    }

    /// How the peer of a queue wants its messages encoded; `None` for a built-in target.
    pub fn peer_encoding_of(&self, queue: u32) -> Option<&PeerEncoding> {
        let operator = self
            .operators
            .get(&queue)
            .map(|operator| &operator.peer_encoding);
        let network = || Some(&self.gsms.get(&queue)?.handsets.encoding);
        operator.or_else(network).or_else(|| {
            let account = self.callback_queues.get(&queue).unwrap_or(&queue);
            let account = self.accounts_by_id.get(account);
            account.map(|account| &account.peer_encoding)
        })
    }

    /// The alphabet that data_coding 0 means in messages of an account or operator.
    pub fn alphabet_of(&self, sender: u32) -> Alphabet {
        self.peer_encoding_of(sender)
            .map_or(Alphabet::Gsm, |peer_encoding| peer_encoding.alphabet)
    }

    /// How the receipts of parts that were sent to a queue become one.
    pub fn part_receipts(&self, queue: u32) -> PartReceipts {
        self.operators
            .get(&queue)
            .map_or(PartReceipts::All, |operator| operator.config.part_receipts)
    }

    pub fn retry_of(&self, operator: u32) -> &RetryPolicy {
        let network = || self.gsms.get(&operator)?.retry.as_ref();
        self.operators
            .get(&operator)
            .and_then(|operator| operator.retry.as_ref())
            .or_else(network)
            .unwrap_or(&self.retry)
    }

    /// The longest pause that a message of this queue makes, which has ended so many sessions: what is due later was
    /// written by a clock that was wrong.
    pub fn longest_pause_of(&self, queue: u32, ended: u8) -> Duration {
        let has_policy = self.operators.contains_key(&queue) || self.gsms.contains_key(&queue);
        let longest = if has_policy {
            self.retry_of(queue).longest_delay()
        } else {
            self.longest_pause
        };
        if ended == 0 {
            return longest;
        }
        let (_, first) = self.suspects_of(queue);
        longest.max(culprit::pause(ended.into(), first, true))
    }

    pub fn outcome_policy(&self, operator: u32) -> OutcomePolicy {
        let network = || Some(self.gsms.get(&operator)?.config.outcome_unknown);
        self.operators
            .get(&operator)
            .map(|operator| operator.config.outcome_unknown)
            .or_else(network)
            .unwrap_or(OutcomePolicy::Resend)
    }

    /// How often a message of this queue is tried alone on which the peer ends the session, and the pause after the first
    /// time.
    pub fn suspects_of(&self, queue: u32) -> (u32, Duration) {
        if let Some(operator) = self.operators.get(&queue) {
            let config = &operator.config;
            return (config.suspect_attempts, config.suspect_pause);
        }
        match self.account_by_id(queue) {
            Some(account) => (
                account.config.suspect_attempts,
                account.config.suspect_pause,
            ),
            None => (3, Duration::from_secs(5)),
        }
    }

    /// Whether an operator gets one message at a time, in the order of acceptance.
    pub fn is_in_order(&self, operator: u32) -> bool {
        let operator = self.operators.get(&operator);
        operator.is_some_and(|operator| operator.config.strict_order)
    }

    pub fn correlation_ttl(&self, operator: u32) -> Duration {
        self.operators
            .get(&operator)
            .and_then(|operator| operator.config.correlation_ttl)
            .unwrap_or(self.config.correlation.ttl)
    }

    /// The longest time that receipts of any operator are waited for.
    pub fn longest_correlation_ttl(&self) -> Duration {
        let operators = self.operators.values();
        let own = operators.filter_map(|operator| operator.config.correlation_ttl);
        own.fold(self.config.correlation.ttl, Duration::max)
    }

    pub fn message_id_form(&self, operator: u32) -> MessageIdForm {
        self.operators
            .get(&operator)
            .map_or(MessageIdForm::Auto, |operator| operator.config.message_id)
    }

    /// What words and errors mean in an operator's receipts.
    pub fn receipt_states(&self, operator: u32) -> Option<&ReceiptStates> {
        let plan = self.operators.get(&operator);
        plan.map(|operator| &operator.receipt_states)
    }

    pub fn lifetime(&self) -> Lifetime {
        Lifetime {
            default: self.config.validity.default,
            max: self.config.validity.max,
        }
    }
}

// === impl OperatorPlan ===

impl OperatorPlan {
    /// The registered_delivery to request of the operator for a message, and whether a receipt will
    /// come.
    pub fn registered_delivery(&self, message: &Message) -> (u8, bool) {
        let asked = message.registered_delivery.to_le_bytes()[0];
        match self.config.receipts {
            ReceiptRequest::Never => (0, false),
            ReceiptRequest::Always => (asked & !0x03 | 0x01, true),
            // Whatever the sender requested, the SMSC must learn the final state.
            ReceiptRequest::WhenAsked if asked & 0x03 != 0 || message.follow => {
                (asked & !0x03 | 0x01, true)
            }
            ReceiptRequest::WhenAsked => (asked, false),
        }
    }

    /// The operation that carries messages to this operator on a bind of this interface_version.
    pub fn send_as(&self, version: u8) -> SendAs {
        match self.config.send_as {
            SendAs::DataSm if version < 0x34 => SendAs::SubmitSm,
            other => other,
        }
    }
}
