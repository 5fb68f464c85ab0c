//! Checks beyond types: ranges, references between tables, duplicates.
//!
//! Each check names the key and what to write instead; all of them run, so that one start reports
//! everything. Warnings are for settings that work but are probably not intended.

mod archive;
mod callback;
mod carrier;
mod carrier_client;
mod cluster;
mod compat;
mod event_sinks;
mod gsm;
mod http;
mod imsi;
mod kafka;
mod listeners;
mod local;
mod mo_rules;
mod nats;
mod nats_sources;
mod number_ranges;
mod oidc;
mod peers;
mod policy;
mod prices;
mod redis;
mod redis_platform;
mod resolver;
mod rewrite;
mod routes;
mod sharing;
mod words;

use std::time::Duration;

use secrecy::{ExposeSecret as _, SecretString};

use super::outputs::is_host_and_port;
use super::problem::{ConfigError, ConfigProblem};
use super::setting::join;
use super::{Config, Keyring, QueueConfig, Retry, Smpp, StoreConfig, Telemetry, show_duration};

/// system_id: 16 octets with the closing NUL (SMPP 3.4 §5.2.1).
const MAX_SYSTEM_ID: usize = 15;
/// password: 9 octets with the closing NUL (SMPP 3.4 §5.2.2).
const MAX_PASSWORD: usize = 8;
/// system_type: 13 octets with the closing NUL (SMPP 3.4 §5.2.3).
const MAX_SYSTEM_TYPE: usize = 12;
/// address_range: 41 octets with the closing NUL (SMPP 3.4 §5.2.7).
const MAX_ADDRESS_RANGE: usize = 40;
/// About a gigabyte.
const MAX_DUPLICATE_ENTRIES: usize = 10_000_000;
/// Beyond it a window no longer bounds anything.
const MAX_WINDOW: u32 = 65_535;

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
    check_server(config, &mut found);
    listeners::check_listeners(config, &mut found);
    local::check_local(config, &mut found);
    cluster::check_cluster(config, &mut found);
    redis::check_redis(config, &mut found);
    redis_platform::check_redis_platform(config, &mut found);
    carrier::check_listener(config, &mut found);
    event_sinks::check_event_sinks(config, &mut found);
    archive::check_archive(config, &mut found);
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

fn check_server(config: &Config, found: &mut Findings) {
    check_outputs(config, found);
    check_smpp(&config.smpp, found);
    http::check(config, found);
    check_store(&config.store, found);
    check_queue(&config.queue, found);
    check_messages(config, found);
}

/// Logs, secrets, traces and figures.
fn check_outputs(config: &Config, found: &mut Findings) {
    found.require(
        "log.level",
        !config.log.level.trim().is_empty(),
        "is empty; write \"info\"",
    );

    if let Err(message) = Keyring::new(&config.secrets) {
        found.problem("secrets.key", message);
    }
    check_telemetry(&config.telemetry, found);
    let statsd = &config.statsd;
    found.check_positive("statsd.interval", statsd.interval);
    let named = statsd.address.as_deref().is_none_or(is_host_and_port);
    found.require(
        "statsd.address",
        named,
        "is no address; write \"host:port\"",
    );
    let octets = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    found.require(
        "statsd.prefix",
        !statsd.prefix.is_empty() && statsd.prefix.chars().all(octets),
        "must be letters, digits, `-`, `_` and `.`",
    );
}

fn check_smpp(smpp: &Smpp, found: &mut Findings) {
    found.check_text("smpp.system_id", &smpp.system_id, MAX_SYSTEM_ID);
    found.at_least_one("smpp.max_connections", smpp.max_connections as u64);
    if let Some(most) = smpp.max_unbound_per_address {
        found.at_least_one("smpp.max_unbound_per_address", most as u64);
        if most >= smpp.max_connections {
            let message = "is not below smpp.max_connections: one address can take all of them";
            found.warn("smpp.max_unbound_per_address", message);
        }
    }
    if smpp.bind_refusal_delay * 2 > smpp.session_init_timeout {
        let message = "is more than half of smpp.session_init_timeout, which ends the connection; half \
                       of it is what counts";
        found.warn("smpp.bind_refusal_delay", message);
    }
    let sensible_pdu = (1_024..=1 << 20).contains(&smpp.max_pdu);
    found.require(
        "smpp.max_pdu",
        sensible_pdu,
        "must be between 1024 and 1048576 octets",
    );
    found.at_least_one("smpp.write_buffer_kib", smpp.write_buffer_kib as u64);
    found.at_least_one("smpp.intake_mib", smpp.intake_mib);
    found.check_positive("smpp.session_init_timeout", smpp.session_init_timeout);
    found.check_positive("smpp.enquire_link_timeout", smpp.enquire_link_timeout);
    found.check_positive("smpp.response_timeout", smpp.response_timeout);
    found.check_positive("smpp.takeover_timeout", smpp.takeover_timeout);
    if smpp.no_route_status == 0 {
        let message = "must not be ESME_ROK: the message would be lost; write \"ESME_RINVDSTADR\"";
        found.problem("smpp.no_route_status", message);
    }
    if smpp.duplicate_status == 0 {
        let message = "must not be ESME_ROK: nobody would know the message again; write \
                       \"ESME_RSUBMITFAIL\", or `duplicates = \"same_id\"` at the account";
        found.problem("smpp.duplicate_status", message);
    }
    found.require(
        "smpp.duplicate_entries",
        (1..=MAX_DUPLICATE_ENTRIES).contains(&smpp.duplicate_entries),
        "must be between 1 and 10000000",
    );
    let inactivity = smpp.inactivity_timeout;
    if !inactivity.is_zero() && inactivity < smpp.enquire_link_interval {
        let interval = show_duration(smpp.enquire_link_interval);
        let message =
            format!("is shorter than smpp.enquire_link_interval ({interval}), which never fires");
        found.warn("smpp.inactivity_timeout", message);
    }
}

fn check_store(store: &StoreConfig, found: &mut Findings) {
    found.at_least_one(
        "store.wal_autocheckpoint",
        u64::from(store.wal_autocheckpoint),
    );
    let sensible_batch = (1..=100_000).contains(&store.batch_rows);
    found.require(
        "store.batch_rows",
        sensible_batch,
        "must be between 1 and 100000",
    );
    let short = store.linger <= Duration::from_secs(1);
    found.require(
        "store.linger",
        short,
        "must be at most \"1s\": every answer waits for it",
    );
    let short = store.results_linger <= Duration::from_millis(100);
    found.require(
        "store.results_linger",
        short,
        "must be at most \"100ms\": receipts wait for it",
    );
    found.check_positive("store.retention", store.retention);
    if let Some(text) = store.text_retention {
        found.check_positive("store.text_retention", text);
        found.require(
            "store.text_retention",
            text <= store.retention,
            "must be at most store.retention: the message goes with its text then",
        );
    }
}

fn check_queue(queue: &QueueConfig, found: &mut Findings) {
    found.at_least_one("queue.page", queue.page as u64);
    found.at_least_one("queue.page_mib", queue.page_mib);
    found.at_least_one("queue.max_waiting", queue.max_waiting);
    found.require(
        "queue.account_share",
        (1..=100).contains(&queue.account_share),
        "must be from 1 to 100",
    );
    found.require(
        "queue.low_share",
        queue.low_share <= 50,
        "must be at most 50: the higher priorities come first",
    );
    let holds_a_page = queue.memory_items >= queue.page;
    found.require(
        "queue.memory_items",
        holds_a_page,
        "must be at least queue.page",
    );

    found.check_positive("queue.compare_every", queue.compare_every);
}

/// How long messages, their parts, their receipts and their records are kept.
fn check_messages(config: &Config, found: &mut Findings) {
    let validity = &config.validity;
    found.check_positive("validity.default", validity.default);
    found.check_positive("validity.max", validity.max);
    if validity.default > validity.max {
        let max = show_duration(validity.max);
        found.problem(
            "validity.default",
            format!("is longer than validity.max ({max})"),
        );
    }
    found.check_positive("correlation.ttl", config.correlation.ttl);
    let content = &config.content;
    found.check_positive("content.reassembly_timeout", content.reassembly_timeout);
    found.at_least_one("content.reassembly_parts", content.reassembly_parts.into());
    found.check_positive("correlation.sweep", config.correlation.sweep);
    found.at_least_one("content.reassembly_mib", content.reassembly_mib);
    found.at_least_one("correlation.memory", config.correlation.memory as u64);
    found.at_least_one("correlation.parked_mib", config.correlation.parked_mib);
    found.at_least_one("cdr.rotate_mib", config.cdr.rotate_mib);
    found.check_positive("cdr.rotate_every", config.cdr.rotate_every);
    found.check_positive("cdr.wait_for_node", config.cdr.wait_for_node);
    found.check_positive("outbox.hold", config.outbox.hold);
}

fn check_telemetry(telemetry: &Telemetry, found: &mut Findings) {
    found.check_share("telemetry.trace_ratio", telemetry.trace_ratio);
    found.check_positive("telemetry.trace_link_after", telemetry.trace_link_after);
    if let Some(url) = &telemetry.trace_url {
        found.require(
            "telemetry.trace_url",
            url.contains("{trace_id}"),
            "names no {trace_id}, which is where the trace's id goes",
        );
    }
}

fn check_retry(retry: &Retry, key: &str, found: &mut Findings) {
    found.check_delays(&join(key, "delays"), &retry.delays);
    found.check_positive(&join(key, "throttled_delay"), retry.throttled_delay);
    if let Some(attempts) = retry.max_attempts {
        found.at_least_one(&join(key, "max_attempts"), u64::from(attempts));
    }
    for (index, rule) in retry.status.iter().enumerate() {
        let key = join(key, &format!("status[{index}]"));
        let status_key = join(&key, "status");
        found.require(
            &status_key,
            rule.status != 0,
            "is missing; write a status other than ESME_ROK",
        );
        if let Some(delays) = &rule.delays {
            found.check_delays(&join(&key, "delays"), delays);
        }
        let first = retry
            .status
            .iter()
            .position(|other| other.status == rule.status);
        if let Some(first) = first.filter(|first| *first < index) {
            found.problem(
                status_key,
                format!("is already in status[{first}]; remove one"),
            );
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

    fn at_least_one(&mut self, key: &str, value: u64) {
        self.require(key, value >= 1, "must be at least 1");
    }

    fn check_share(&mut self, key: &str, share: f64) {
        self.require(
            key,
            (0.0..=1.0).contains(&share),
            "must be between 0 (none) and 1 (all)",
        );
    }

    fn check_positive(&mut self, key: &str, duration: Duration) {
        self.require(key, !duration.is_zero(), "must be longer than \"0s\"");
    }

    /// The URL itself is never shown: it holds a password.
    fn check_postgres_url(&mut self, key: &str, url: &SecretString) {
        let url = url.expose_secret();
        self.require(
            key,
            url.starts_with("postgres://") || url.starts_with("postgresql://"),
            "is no such URL; write \"postgres://user:password@host/database\"",
        );
    }

    fn check_delays(&mut self, key: &str, delays: &[Duration]) {
        self.require(
            key,
            !delays.is_empty(),
            "is empty; write at least one pause, such as [\"30m\"]",
        );
        for (index, delay) in delays.iter().enumerate() {
            self.check_positive(&format!("{key}[{index}]"), *delay);
        }
    }

    /// A C-octet string of the standard: printable, not too long.
    fn check_text(&mut self, key: &str, text: &str, max: usize) {
        if text.len() > max {
            self.problem(
                key,
                format!("has {} octets; the standard allows {max}", text.len()),
            );
        }
        if !text.bytes().all(|octet| (0x20..0x7F).contains(&octet)) {
            self.problem(key, "must be printable ASCII");
        }
    }

    fn check_window(&mut self, key: &str, window: u32) {
        if !(1..=MAX_WINDOW).contains(&window) {
            self.problem(key, format!("must be between 1 and {MAX_WINDOW}"));
        }
    }

    fn check_rate(&mut self, key: &str, rate: Option<f64>, burst: Option<u32>) {
        let rate_key = join(key, "rate");
        if rate.is_some_and(|rate| !(rate > 0.0 && rate.is_finite())) {
            self.problem(rate_key, "must be above 0; remove the key for no limit");
        }
        if let Some(burst) = burst {
            let burst_key = join(key, "burst");
            self.at_least_one(&burst_key, u64::from(burst));
            self.require(
                &burst_key,
                rate.is_some(),
                "means nothing without `rate`; set both",
            );
        }
    }
}
