//! From a configuration to its plan.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use super::Weights;
use super::charging::Charging;
use super::limits::limits;
use super::{
    ASSEMBLY, AccountPlan, DIVIDED, OperatorPlan, Plan, RESOLVE, account_name, operator_name,
};
use crate::config::{self, Config, Operator, Policies, Route, TEST_TARGETS};
use crate::content::peer::PeerEncoding;
use crate::domain::ByQueue;
use crate::domain::allow::AllowList;
use crate::domain::policy::Keywords;
use crate::domain::price::Prices;
use crate::domain::retry::RetryPolicy;
use crate::domain::route::{MoTable, RouteTable};
use crate::domain::trace::Ratio;
use crate::store::{Store, StoreError};

impl Plan {
    /// Resolves a validated configuration; names get their numbers from the store. Blocks.
    pub fn build(config: Arc<Config>, store: &dyn Store) -> Result<Self, StoreError> {
        let mut by_target: HashMap<String, u32> = HashMap::new();
        let mut rates = ByQueue::default();
        let mut rewrite_in = ByQueue::default();
        let mut trace_ratios = ByQueue::default();
        let mut weights = Weights::default();
        let mut built_in = Vec::new();
        for target in TEST_TARGETS {
            let id = store.intern(target)?;
            built_in.push(id);
            by_target.insert(target.to_owned(), id);
        }
        let mut charging = ByQueue::default();
        let prices = Arc::new(Prices::build(config.policy.prices.iter()));
        let mut resolving = HashSet::new();
        if config.resolver.url.is_some() {
            store.intern(RESOLVE)?;
        }
        let assembly = store.intern(ASSEMBLY)?;
        let divided = store.intern(DIVIDED)?;
        let mut wrong = Vec::new();
        let policies = Policies::read(&config, &mut wrong);
        let mut accounts = HashMap::new();
        for account in config.account.iter().filter(|account| account.enabled) {
            let id = store.intern(&account_name(&account.system_id))?;
            by_target.insert(account.system_id.clone(), id);
            if let Some(rate) = account.rate {
                rates.insert(
                    id,
                    (rate, account.burst.unwrap_or(rate.ceil() as u32).max(1)),
                );
            }
            if !account.rewrite_in.is_empty() {
                rewrite_in.insert(id, config::rules(&account.rewrite_in));
            }
            if let Some(charged) = Charging::of(account, &prices) {
                charging.insert(id, charged);
            }
            if account.weight != 1 {
                weights.insert(id, account.weight);
            }
            if account.resolve {
                resolving.insert(id);
            }
            if let Some(ratio) = account.trace_ratio {
                trace_ratios.insert(id, Ratio::new(ratio));
            }
            accounts.insert(
                account.system_id.clone(),
                Arc::new(AccountPlan {
                    id,
                    allow: AllowList::parse(&account.allow).unwrap_or_default(),
                    priority_max: account.priority_max,
                    policy: policies.of(&account.system_id, account, &mut wrong),
                    peer_encoding: PeerEncoding::of_account(account),
                    rewrite_out: config::rules(&account.rewrite_out),
                    config: account.clone(),
                }),
            );
        }
        let mut operators = ByQueue::default();
        for operator in config.operator.iter().filter(|operator| operator.enabled) {
            let id = store.intern(&operator_name(&operator.id))?;
            by_target.insert(operator.id.clone(), id);
            if let Some(rate) = operator.rate {
                rates.insert(
                    id,
                    (rate, operator.burst.unwrap_or(rate.ceil() as u32).max(1)),
                );
            }
            if !operator.rewrite_in.is_empty() {
                rewrite_in.insert(id, config::rules(&operator.rewrite_in));
            }
            operators.insert(
                id,
                Arc::new(OperatorPlan {
                    id,
                    retry: own_retry(&config, operator),
                    receipt_states: operator.own_states(),
                    peer_encoding: PeerEncoding::of_operator(operator),
                    tariff: operator.costs.tariff(operator.cost),
                    rewrite_out: config::rules(&operator.rewrite_out),
                    config: operator.clone(),
                }),
            );
        }
        // It was in order when it was checked; a file of a list may have been changed since.
        if let Some(problem) = wrong.first() {
            return Err(StoreError::Failed(problem.to_string()));
        }
        let limits = limits(&config, &by_target);
        let mut alternatives = HashSet::new();
        let mut shares = false;
        let mut resolved = |mobile_originated: bool| {
            let routes: Vec<crate::domain::route::Route<u32>> = config
                .route
                .iter()
                .filter(|route| route.mobile_originated == mobile_originated)
                .map(Route::to_domain)
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
        let mo = MoTable::build(accounts.values().flat_map(|account| {
            account
                .config
                .addresses
                .iter()
                .map(|address| (address.clone(), account.id))
                .collect::<Vec<_>>()
        }));
        let names: ByQueue<String> = store.names()?.into_iter().collect();
        Ok(Self {
            // Messages may have been left there, also when nothing is looked up any more.
            resolve_queue: names
                .iter()
                .find(|(_, name)| *name == RESOLVE)
                .map(|(id, _)| *id),
            resolves: routes.has_networks() || transit.has_networks() || !resolving.is_empty(),
            resolving,
            longest_pause: operators
                .values()
                .filter_map(|operator: &Arc<OperatorPlan>| operator.retry.as_ref())
                .map(RetryPolicy::longest_delay)
                .fold(config.retry.policy().longest_delay(), Duration::max),
            retry: config.retry.policy(),
            accounts_by_id: accounts
                .values()
                .map(|account| (account.id, Arc::clone(account)))
                .collect(),
            accounts,
            operators,
            routes,
            transit,
            mo,
            rates,
            rewrite_in,
            limits,
            keywords: Keywords::new(
                &config.policy.opt_out_keywords,
                &config.policy.opt_in_keywords,
            ),
            charging,
            trace_ratios,
            trace_ratio: Ratio::new(config.telemetry.trace_ratio),
            alternatives,
            shares,
            built_in,
            names,
            assembly,
            divided,
            weights: Arc::new(weights),
            by_target,
            config,
        })
    }
}

/// The retry schedule of an operator that has settings of its own, for its answers or its pauses.
fn own_retry(config: &Config, operator: &Operator) -> Option<RetryPolicy> {
    let classes = operator.classes();
    if operator.retry.is_none() && classes.is_empty() {
        return None;
    }
    let retry = operator.retry.as_ref().unwrap_or(&config.retry);
    Some(RetryPolicy {
        classes,
        ..retry.policy()
    })
}
