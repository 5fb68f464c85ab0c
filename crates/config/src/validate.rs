//! Checks beyond types and single values: references between tables, keys that depend on others, duplicates.
//!
//! What a single value must be is a mark in its declaration (`mark.rs`). Each check names the key and what to write
//! instead; all of them run, so that one start reports everything. Warnings are for settings that work but are
//! probably not intended.

mod callback;
mod carrier;
mod compat;
mod event_sinks;
mod gsm;
mod http;
mod imsi;
mod kafka;
mod listeners;
mod local;
mod map;
mod mo_rules;
mod nats;
mod nats_sources;
mod number_ranges;
mod oidc;
mod peers;
mod policy;
mod prices;
mod resolver;
mod rewrite;
mod routes;
mod sharing;
mod stores;
mod words;

use std::collections::HashMap;
use std::path::PathBuf;

use super::mark::not_a_text;
use super::problem::{ConfigError, ConfigProblem, did_you_mean};
use super::resource::{ConfiguredResource as _, for_kind};
use super::setting::{Setting as _, join};
use super::{Config, Keyring, Retry, Smpp, show_duration};
use smsc_domain::settings::{ResourceKind, wrong_in_a_path};

/// password: 9 octets with the closing NUL (SMPP 3.4 §5.2.2).
const MAX_PASSWORD: usize = 8;

/// Problems and warnings while they are found.
#[derive(Default)]
struct Findings {
    problems: Vec<ConfigProblem>,
    warnings: Vec<ConfigProblem>,
}

/// Checks everything.
///
/// # Errors
/// [`ConfigError::Invalid`] with all problems; the warnings otherwise.
pub(super) fn validate(config: &Config) -> Result<Vec<ConfigProblem>, ConfigError> {
    let mut found = Findings::default();
    config.check("", &mut found.problems);
    check_names(config, &mut found);
    if let Err(message) = Keyring::new(&config.secrets) {
        found.problem("secrets.key", message);
    }
    check_smpp(&config.smpp, &mut found);
    http::check(config, &mut found);
    check_kept(config, &mut found);
    listeners::check_listeners(config, &mut found);
    local::check_local(config, &mut found);
    stores::check_cluster(config, &mut found);
    stores::check_redis(config, &mut found);
    stores::check_redis_platform(config, &mut found);
    carrier::check_listener(config, &mut found);
    event_sinks::check_event_sinks(config, &mut found);
    stores::check_archive(config, &mut found);
    compat::check_compat(config, &mut found);
    resolver::check_resolver(config, &mut found);
    imsi::check_imsi(config, &mut found);
    check_retry(&config.retry, "retry", &mut found);
    prices::check_prices(config, &mut found);
    peers::check_accounts(config, &mut found);
    peers::check_operators(config, &mut found);
    gsm::check_gsm(config, &mut found);
    routes::check_routes(config, &mut found);
    policy::check_policy(config, &mut found);
    nats_sources::check_nats_sources(config, &mut found);
    if found.problems.is_empty() {
        Ok(found.warnings)
    } else {
        Err(ConfigError::Invalid(found.problems))
    }
}

/// Each name of a kind only once; routes are compared by what they are made of. A name that no path of the API can have was
/// given before that refused it: what is called so works, but for requests about it.
fn check_names(config: &Config, found: &mut Findings) {
    for kind in ResourceKind::ALL {
        for_kind!(kind, One => {
            let mut owners = HashMap::new();
            let field = One::NAME_FIELD.unwrap_or_default();
            for (index, one) in One::list(config).iter().enumerate() {
                let name = one.resource_name();
                let key = || format!("{}[{index}].{field}", kind.as_str());
                if let Some(message) = wrong_in_a_path(&name) {
                    found.warn(key(), message);
                }
                let first = *owners.entry(name.clone()).or_insert(index);
                if first != index && !name.is_empty() && kind != ResourceKind::Route {
                    let message = format!("\"{name}\" is already {}[{first}]", kind.as_str());
                    found.problem(key(), message);
                }
            }
        });
    }
}

/// The names of the accounts.
fn accounts(config: &Config) -> Vec<&str> {
    config.account.iter().map(|one| &*one.system_id).collect()
}

fn check_smpp(smpp: &Smpp, found: &mut Findings) {
    if (smpp.max_unbound_per_address).is_some_and(|most| most >= smpp.max_connections) {
        let message = "is not below smpp.max_connections: one address can take all of them";
        found.warn("smpp.max_unbound_per_address", message);
    }
    if smpp.bind_refusal_delay * 2 > smpp.session_init_timeout {
        let message = "is more than half of smpp.session_init_timeout, which ends the connection; half \
                       of it is what counts";
        found.warn("smpp.bind_refusal_delay", message);
    }
    let inactivity = smpp.inactivity_timeout;
    if !inactivity.is_zero() && inactivity < smpp.enquire_link_interval {
        let interval = show_duration(smpp.enquire_link_interval);
        let message =
            format!("is shorter than smpp.enquire_link_interval ({interval}), which never fires");
        found.warn("smpp.inactivity_timeout", message);
    }
}

/// What is kept, and for how long.
fn check_kept(config: &Config, found: &mut Findings) {
    let (store, queue, validity) = (&config.store, &config.queue, &config.validity);
    found.require(
        "store.text_retention",
        store
            .text_retention
            .is_none_or(|text| text <= store.retention),
        "must be at most store.retention: the message goes with its text then",
    );
    found.require(
        "queue.memory_items",
        queue.memory_items >= queue.page,
        "must be at least queue.page",
    );
    let max = show_duration(validity.max);
    let message = format!("is longer than validity.max ({max})");
    found.require(
        "validity.default",
        validity.default <= validity.max,
        &message,
    );
}

/// Each status only once.
fn check_retry(retry: &Retry, key: &str, found: &mut Findings) {
    for (index, rule) in retry.status.iter().enumerate() {
        let mut before = retry.status[..index].iter();
        if let Some(first) = before.position(|other| other.status == rule.status) {
            let key = join(key, &format!("status[{index}].status"));
            found.problem(key, format!("is already in status[{first}]; remove one"));
        }
    }
}

// === impl Findings ===

impl Findings {
    fn problem(&mut self, key: impl Into<String>, message: impl Into<String>) {
        self.problems.push(ConfigProblem::new(key, message));
    }

    fn warn(&mut self, key: impl Into<String>, message: impl Into<String>) {
        self.warnings.push(ConfigProblem::new(key, message));
    }

    fn require(&mut self, key: &str, holds: bool, otherwise: &str) {
        if !holds {
            self.problem(key, otherwise);
        }
    }

    /// A C-octet string of the standard, of a length that other keys say.
    fn check_text(&mut self, key: &str, text: &str, max: usize) {
        if let Some(message) = not_a_text(text, max) {
            self.problem(key, message);
        }
    }

    /// What another resource is called, of a kind of which these are there.
    fn check_known(&mut self, key: &str, kind: &str, name: &str, known: &[&str]) {
        if !known.contains(&name) {
            let hint = did_you_mean(name, known);
            self.problem(key, format!("there is no {kind} \"{name}\", {hint}"));
        }
    }

    /// A certificate has a key; `base` stands before the keys of both.
    fn check_pair(&mut self, base: &str, cert: &Option<PathBuf>, key: &Option<PathBuf>) {
        for (name, given, other, other_given) in [
            ("tls_key", key.is_some(), "tls_cert", cert.is_some()),
            ("tls_cert", cert.is_some(), "tls_key", key.is_some()),
        ] {
            let message = format!("is missing; set it beside {other}");
            self.require(&format!("{base}{name}"), given || !other_given, &message);
        }
    }

    fn check_burst(&mut self, key: &str, rate: Option<f64>, burst: Option<u32>) {
        let message = "means nothing without `rate`; set both";
        self.require(
            &join(key, "burst"),
            burst.is_none() || rate.is_some(),
            message,
        );
    }
}
