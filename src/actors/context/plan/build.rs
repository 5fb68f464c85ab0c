//! Builds a plan from a configuration.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};

use super::Weights;
use super::callbacks::{self, Callbacks};
use super::charging::{Charging, tariff_of};
use super::gsm;
use super::limits::limits;
use super::mo;
use super::numbers::number_plan;
use super::sinks::{mirror, sinks};
use super::{
    ASSEMBLY, AccountPlan, DIVIDED, GsmPlan, IMSI, OperatorPlan, Plan, RESOLVE, RESPONDER,
    account_name, copies_name, operator_name,
};
use crate::config::{self, CompiledPolicies, Config, DeliverBy, RouteConfig, TEST_TARGETS};
use crate::content::peer::PeerEncoding;
use crate::domain::ByQueue;
use crate::domain::account::is_hash;
use crate::domain::allow::AllowList;
use crate::domain::callback::pace;
use crate::domain::mo_rule::Action;
use crate::domain::policy::Keywords;
use crate::domain::price::{Prices, Tariff};
use crate::domain::queue_name::QueueName;
use crate::domain::retry::RetryPolicy;
use crate::domain::rewrite::CompiledRewriteRules;
use crate::domain::route::{MoTable, RouteTable};
use crate::domain::trace::Ratio;
use crate::store::{Store, StoreError};

/// Plan data of accounts and operators, by their ids.
#[derive(Default)]
struct PeerPlans {
    by_target: HashMap<String, u32>,
    rates: ByQueue<(f64, u32)>,
    rewrite_in: ByQueue<CompiledRewriteRules>,
    trace_ratios: ByQueue<Ratio>,
    weights: Weights,
    charging: ByQueue<Charging>,
    tariffs: ByQueue<Tariff>,
    resolving: HashSet<u32>,
    accounts: HashMap<String, Arc<AccountPlan>>,
    operators: ByQueue<Arc<OperatorPlan>>,
    gsms: ByQueue<Arc<GsmPlan>>,
    copies: ByQueue<u32>,
}

/// Routing tables, with ids in place of names.
struct RoutingTables {
    /// For messages of accounts.
    routes: RouteTable<u32>,
    /// For messages that operators bring for other peers.
    transit: RouteTable<u32>,
    /// Targets of routes with more than one target.
    alternatives: HashSet<u32>,
    /// Whether the targets of a step share messages.
    shares: bool,
}

impl Plan {
    /// Resolves a validated configuration; the store assigns ids to names. Blocks.
    pub fn build(config: Arc<Config>, store: &dyn Store) -> Result<Self, StoreError> {
        let mut peers = PeerPlans::default();
        let mut built_in = Vec::new();
        for target in TEST_TARGETS {
            let id = store.intern(target)?;
            built_in.push(id);
            peers.by_target.insert(target.to_owned(), id);
        }
        if config.resolver.has_source() {
            store.intern(RESOLVE)?;
        }
        if config.imsi.has_source() {
            store.intern(IMSI)?;
        }
        let assembly = store.intern(ASSEMBLY)?;
        let divided = store.intern(DIVIDED)?;
        peers.add_accounts(&config, store)?;
        peers.add_operators(&config, store)?;
        peers.gsms = gsm::networks(&config, &mut peers.by_target, store)?;
        peers.add_keys_of_gsms();
        let limits = limits(&config, &peers.by_target);
        let mo_rules = mo::rules(&config, &peers.by_target)?;
        if mo_rules
            .iter()
            .any(|rule| !matches!(rule.action, Action::Deliver { .. }))
        {
            store.intern(RESPONDER)?;
        }
        let number_plan = number_plan(&config)?;
        let sinks = sinks(&config, store)?;
        let mirror = mirror(&config, store)?;
        let longest_pause = longest_pause(&config, &peers);
        let RoutingTables {
            routes,
            transit,
            alternatives,
            shares,
        } = RoutingTables::of(&config, &peers.by_target);
        let names: ByQueue<String> = store.names()?.into_iter().collect();
        let copy_queues = peers.copy_queues(&names);
        let any_password_hash = peers.any_password_hash();
        let of_hosts = peers.accounts.values().flat_map(|account| {
            let queues = account.callbacks.queues();
            queues.map(|(_, queue)| (queue, account.id))
        });
        let callback_queues = of_hosts.collect();
        let named = |wanted: &str| {
            let known = names.iter().find(|(_, name)| *name == wanted);
            known.map(|(id, _)| *id)
        };
        Ok(Self {
            // Kept when nothing is configured that uses them, because messages may still wait there.
            resolve_queue: named(RESOLVE),
            imsi_queue: named(IMSI),
            handsets: handsets(&names, &peers.gsms),
            responder: named(RESPONDER),
            resolves: routes.has_networks()
                || transit.has_networks()
                || !peers.resolving.is_empty(),
            resolving: peers.resolving,
            longest_pause,
            retry: config.retry.policy(),
            accounts_by_id: peers
                .accounts
                .values()
                .map(|account| (account.id, Arc::clone(account)))
                .collect(),
            any_password_hash,
            mo: mo_table(&peers.accounts),
            mo_rules,
            number_plan,
            sinks,
            mirror,
            accounts: peers.accounts,
            operators: peers.operators,
            gsms: peers.gsms,
            routes,
            transit,
            rates: peers.rates,
            rewrite_in: peers.rewrite_in,
            limits,
            keywords: Keywords::new(
                &config.policy.opt_out_keywords,
                &config.policy.opt_in_keywords,
            ),
            charging: peers.charging,
            tariffs: peers.tariffs,
            trace_ratios: peers.trace_ratios,
            trace_ratio: Ratio::new(config.telemetry.trace_ratio),
            alternatives,
            shares,
            built_in,
            names,
            copies: peers.copies,
            copy_queues,
            callback_queues,
            assembly,
            divided,
            weights: Arc::new(peers.weights),
            by_target: peers.by_target,
            config,
        })
    }
}

// === impl PeerPlans ===

impl PeerPlans {
    fn add_accounts(&mut self, config: &Config, store: &dyn Store) -> Result<(), StoreError> {
        let prices = Arc::new(Prices::build(config.policy.prices.iter()));
        let any_prices = config.policy.prices.iter().next().is_some();
        let mut wrong = Vec::new();
        let policies = CompiledPolicies::read(config, &mut wrong);
        for account in config.account.iter().filter(|account| account.enabled) {
            let id = store.intern(&account_name(&account.system_id))?;
            self.by_target.insert(account.system_id.clone(), id);
            self.add_rate(id, account.rate, account.burst);
            if account.deliver_by == DeliverBy::Both {
                let copies = store.intern(&copies_name(&account.system_id))?;
                self.copies.insert(id, copies);
            }
            if !account.rewrite_in.is_empty() {
                self.rewrite_in
                    .insert(id, config::rules(&account.rewrite_in));
            }
            if let Some(charged) = Charging::of(account, &prices) {
                self.charging.insert(id, charged);
            }
            if let Some(tariff) = tariff_of(account, &prices, any_prices) {
                self.tariffs.insert(id, tariff);
            }
            if account.weight != 1 {
                self.weights.insert(id, account.weight);
            }
            if account.resolve {
                self.resolving.insert(id);
            }
            if let Some(ratio) = account.trace_ratio {
                self.trace_ratios.insert(id, Ratio::new(ratio));
            }
            let plan = AccountPlan {
                id,
                allow: AllowList::parse(&account.allow).unwrap_or_default(),
                priority_max: account.priority_max,
                policy: policies.of(&account.system_id, account, &mut wrong),
                peer_encoding: PeerEncoding::of_account(account),
                numbers: account.numbers(),
                rewrite_out: config::rules(&account.rewrite_out),
                callbacks: Callbacks::of(account, |name| store.intern(name))?,
                states: callbacks::states_of(account),
                config: account.clone(),
            };
            self.accounts
                .insert(account.system_id.clone(), Arc::new(plan));
        }
        // It was valid when it was checked, but a list file may have changed since.
        match wrong.first() {
            Some(problem) => Err(StoreError::Failed(problem.to_string())),
            None => Ok(()),
        }
    }

    /// The hash of an account's password, if any account has one.
    fn any_password_hash(&self) -> Option<SecretString> {
        let accounts = self.accounts.values();
        let mut passwords = accounts.flat_map(|account| account.config.passwords());
        passwords.find(|one| is_hash(one.expose_secret())).cloned()
    }

    /// Accounts with a queue for copies, also those that had one: something may wait there.
    fn copy_queues(&self, names: &ByQueue<String>) -> Vec<(u32, u32)> {
        let queues = names.iter().filter_map(|(queue, name)| {
            let QueueName::Copies(system_id) = QueueName::parse(name) else {
                return None;
            };
            Some((self.accounts.get(system_id)?.id, *queue))
        });
        queues.collect()
    }

    fn add_operators(&mut self, config: &Config, store: &dyn Store) -> Result<(), StoreError> {
        for operator in config.operator.iter().filter(|operator| operator.enabled) {
            let id = store.intern(&operator_name(&operator.id))?;
            self.by_target.insert(operator.id.clone(), id);
            self.add_rate(id, operator.rate, operator.burst);
            if !operator.rewrite_in.is_empty() {
                self.rewrite_in
                    .insert(id, config::rules(&operator.rewrite_in));
            }
            let plan = OperatorPlan {
                id,
                retry: config.own_retry(operator.retry.as_ref(), operator.classes()),
                receipt_states: operator.own_states(),
                peer_encoding: PeerEncoding::of_operator(operator),
                tariff: operator.costs.tariff(operator.cost),
                rewrite_out: config::rules(&operator.rewrite_out),
                config: operator.clone(),
            };
            self.operators.insert(id, Arc::new(plan));
        }
        Ok(())
    }

    /// Their rates, and their rules with those of their accounts behind them.
    fn add_keys_of_gsms(&mut self) {
        let gsms: Vec<Arc<GsmPlan>> = self.gsms.values().cloned().collect();
        for gsm in gsms {
            self.add_rate(gsm.id, gsm.config.rate, gsm.config.burst);
            if gsm.config.rewrite_in.is_empty() {
                continue;
            }
            let mut rules = config::rules(&gsm.config.rewrite_in);
            if let Some(of_account) = gsm.account.and_then(|id| self.rewrite_in.get(&id)) {
                rules.source.extend_from_slice(&of_account.source);
                rules.destination.extend_from_slice(&of_account.destination);
            }
            self.rewrite_in.insert(gsm.id, rules);
        }
    }

    fn add_rate(&mut self, id: u32, rate: Option<f64>, burst: Option<u32>) {
        if let Some(rate) = rate {
            let burst = burst.unwrap_or(rate.ceil() as u32).max(1);
            self.rates.insert(id, (rate, burst));
        }
    }
}

// === impl RoutingTables ===

impl RoutingTables {
    fn of(config: &Config, by_target: &HashMap<String, u32>) -> Self {
        let mut alternatives = HashSet::new();
        let mut shares = false;
        let all = config.all_routes();
        let mut resolved = |mobile_originated: bool| {
            let routes: Vec<crate::domain::route::Route<u32>> = all
                .iter()
                .filter(|route| route.mobile_originated == mobile_originated)
                .map(RouteConfig::to_domain)
                .map(|route| route.map(|name| by_target.get(name).copied()))
                .collect();
            for route in &routes {
                let targets: Vec<u32> = route.targets().copied().collect();
                if targets.len() > 1 {
                    alternatives.extend(targets);
                    shares |= route.steps.iter().any(|step| step.shares.len() > 1);
                }
            }
            RouteTable::build(routes)
        };
        let (routes, transit) = (resolved(false), resolved(true));
        Self {
            routes,
            transit,
            alternatives,
            shares,
        }
    }
}

/// The queues of GSM interfaces whose messages need an IMSI, also of those that are not configured any more. Over MAP the
/// network finds it itself.
fn handsets(names: &ByQueue<String>, gsms: &ByQueue<Arc<GsmPlan>>) -> HashSet<u32> {
    let is_of_map = |queue: &u32| gsms.get(queue).is_some_and(|gsm| gsm.config.is_map());
    let needs_imsi = |(queue, name): &(&u32, &String)| {
        QueueName::parse(name).is_handsets() && !is_of_map(queue)
    };
    let queues = names.iter().filter(needs_imsi);
    queues.map(|(queue, _)| *queue).collect()
}

/// Which account owns which address, for mobile-originated messages.
fn mo_table(accounts: &HashMap<String, Arc<AccountPlan>>) -> MoTable<u32> {
    MoTable::build(accounts.values().flat_map(|account| {
        let addresses = account.config.addresses.iter();
        addresses.map(|address| (address.clone(), account.id))
    }))
}

/// The longest pause of all retry schedules and of callbacks.
fn longest_pause(config: &Config, peers: &PeerPlans) -> Duration {
    let mut accounts = peers.accounts.values();
    let with_callback = accounts.any(|account| {
        account.config.callback_url.is_some() || account.callbacks.queues().next().is_some()
    });
    let of_callbacks = if with_callback {
        pace::LONGEST.mul_f64(1.25)
    } else {
        Duration::ZERO
    };
    let operators = peers.operators.values().map(|one| one.retry.as_ref());
    let gsms = peers.gsms.values().map(|one| one.retry.as_ref());
    (operators.chain(gsms))
        .flatten()
        .map(RetryPolicy::longest_delay)
        .fold(config.retry.policy().longest_delay(), Duration::max)
        .max(of_callbacks)
}
