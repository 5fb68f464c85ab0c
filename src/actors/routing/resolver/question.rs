//! What can be asked about a number: the network that it belongs to, or the IMSI of its subscriber.
//!
//! The resolver, its caches and its table are the same for every question; this says in what they
//! differ. Nothing is kept here.

use std::path::PathBuf;
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;

use crate::actors::context::plan::Plan;
use crate::config::{self, Config, LookupFailure};
use crate::domain::number_table::TableError;
use crate::domain::{imsi, network};
use crate::pb::{LookupQuestion, Message};
use crate::telemetry::metrics::{Metrics, ResultLabel};

/// A question about numbers.
pub trait LookUpQuestion: Unpin + Send + Sync + Sized + 'static {
    /// What is known of ranges of numbers without asking anybody.
    type Table: Default + Send + Sync + 'static;
    /// The section of the configuration.
    type Section: Clone + PartialEq + Unpin + Send + Sync + 'static;

    /// Its name in shared keys, paths and log lines.
    const NAME: &'static str;
    /// The kind of question, in messages between actors.
    const PROTO: LookupQuestion;
    /// The key of the table.
    const TABLE_KEY: &'static str;
    /// Whether the table is asked before anybody else; otherwise it counts for numbers about which the
    /// others know nothing.
    const TABLE_FIRST: bool;
    /// What it means that a source knows nothing about a number.
    const NOTHING: &'static str;
    /// The result of such a look-up, as a label.
    const NOTHING_LABEL: &'static str;

    /// Its part of the configuration.
    fn section(config: &Config) -> &Self::Section;

    /// Whether anybody can be asked, besides the table. Called for each message.
    fn has_source(config: &Config) -> bool;

    /// How it is looked up.
    fn settings(section: &Self::Section) -> LookUpSettings;

    /// The queue of messages that wait for the answer.
    fn queue(plan: &Plan) -> Option<u32>;

    /// Reads a table; returns the number of its lines, too.
    ///
    /// # Errors
    /// The first line that cannot be used.
    fn read(text: &str) -> Result<(Self::Table, usize), TableError>;

    /// What the table says about a number.
    fn in_table(table: &Self::Table, number: &[u8]) -> Option<String>;

    /// Whether a source may answer so.
    fn is_answer(text: &str) -> bool;

    /// Gives the answer to a message; an empty one when nobody knows anything.
    fn tell(message: &mut Message, answer: &str);

    /// The error code of a message that ends because nobody knows anything; `None` when it goes on.
    fn ends_with() -> Option<&'static str>;

    /// What counts look-ups.
    fn meters(metrics: &Metrics) -> Meters<'_>;
}

/// How a question is looked up.
#[derive(Debug, Clone, PartialEq)]
pub struct LookUpSettings {
    pub table: Option<PathBuf>,
    /// Most numbers that are being asked for.
    pub concurrency: usize,
    /// Pauses after the first, second, … failure of a number.
    pub delays: Vec<Duration>,
    pub failure: LookUpFailure,
    pub breaker_failures: u32,
    pub breaker_pause: Duration,
    /// Answers in memory.
    pub cache: usize,
    pub cache_for: Duration,
    /// How long it counts that a number is not known.
    pub cache_unknown_for: Duration,
}

/// What happens to messages whose number could not be looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LookUpFailure {
    /// After the last pause they go by the table, or without an answer.
    Route,
    /// After the last pause they end.
    Refuse,
    /// The last pause repeats until the answer comes or they expire.
    Wait,
}

/// The metrics of a question.
pub struct Meters<'m> {
    pub lookups: &'m Family<ResultLabel, Counter>,
    pub seconds: &'m Histogram,
    /// Where look-ups are given up.
    pub given_up: Option<&'m Family<ResultLabel, Counter>>,
    pub away: &'m Gauge,
}

/// Which network does the number belong to now (number portability)?
pub struct NetworkQuestion;

/// Which IMSI does the subscriber of the number have?
pub struct ImsiQuestion;

// === impl NetworkQuestion ===

impl LookUpQuestion for NetworkQuestion {
    type Table = network::NetworkTable;
    type Section = config::ResolverConfig;

    const NAME: &'static str = "network";
    const PROTO: LookupQuestion = LookupQuestion::Network;
    const TABLE_KEY: &'static str = "resolver.table";
    const TABLE_FIRST: bool = false;
    const NOTHING: &'static str = "not ported";
    const NOTHING_LABEL: &'static str = "not_ported";

    fn section(config: &Config) -> &config::ResolverConfig {
        &config.resolver
    }

    fn has_source(config: &Config) -> bool {
        config.resolver.has_source()
    }

    fn settings(section: &config::ResolverConfig) -> LookUpSettings {
        LookUpSettings {
            table: section.table.clone(),
            concurrency: section.concurrency,
            delays: section.delays.clone(),
            failure: match section.on_failure {
                LookupFailure::Route => LookUpFailure::Route,
                LookupFailure::Refuse => LookUpFailure::Refuse,
            },
            breaker_failures: section.breaker_failures,
            breaker_pause: section.breaker_pause,
            cache: section.cache,
            cache_for: section.cache_for,
            cache_unknown_for: section.cache_unknown_for,
        }
    }

    fn queue(plan: &Plan) -> Option<u32> {
        plan.resolve_queue
    }

    fn read(text: &str) -> Result<(network::NetworkTable, usize), TableError> {
        let table = network::NetworkTable::parse(text)?;
        let lines = table.len();
        Ok((table, lines))
    }

    fn in_table(table: &network::NetworkTable, number: &[u8]) -> Option<String> {
        table.network_of(number).map(str::to_owned)
    }

    fn is_answer(text: &str) -> bool {
        network::is_name(text)
    }

    fn tell(message: &mut Message, answer: &str) {
        answer.clone_into(&mut message.network);
    }

    fn ends_with() -> Option<&'static str> {
        None
    }

    fn meters(metrics: &Metrics) -> Meters<'_> {
        Meters {
            lookups: &metrics.lookups,
            seconds: &metrics.lookup_seconds,
            given_up: Some(&metrics.lookups_given_up),
            away: &metrics.resolver_away,
        }
    }
}

// === impl ImsiQuestion ===

impl LookUpQuestion for ImsiQuestion {
    type Table = imsi::ImsiTable;
    type Section = config::ImsiConfig;

    const NAME: &'static str = "imsi";
    const PROTO: LookupQuestion = LookupQuestion::Imsi;
    const TABLE_KEY: &'static str = "imsi.table";
    const TABLE_FIRST: bool = true;
    const NOTHING: &'static str = "no such subscriber";
    const NOTHING_LABEL: &'static str = "unknown";

    fn section(config: &Config) -> &config::ImsiConfig {
        &config.imsi
    }

    fn has_source(config: &Config) -> bool {
        config.imsi.has_service()
    }

    fn settings(section: &config::ImsiConfig) -> LookUpSettings {
        LookUpSettings {
            table: section.table.clone(),
            concurrency: section.concurrency,
            delays: section.delays.clone(),
            failure: LookUpFailure::Wait,
            breaker_failures: section.breaker_failures,
            breaker_pause: section.breaker_pause,
            cache: section.cache,
            cache_for: section.cache_for,
            cache_unknown_for: section.cache_unknown_for,
        }
    }

    fn queue(plan: &Plan) -> Option<u32> {
        plan.imsi_queue
    }

    fn read(text: &str) -> Result<(imsi::ImsiTable, usize), TableError> {
        let table = imsi::ImsiTable::parse(text)?;
        let lines = table.len();
        Ok((table, lines))
    }

    fn in_table(table: &imsi::ImsiTable, number: &[u8]) -> Option<String> {
        table.imsi_of(number)
    }

    fn is_answer(text: &str) -> bool {
        imsi::is_imsi(text)
    }

    fn tell(message: &mut Message, answer: &str) {
        answer.clone_into(&mut message.imsi);
    }

    fn ends_with() -> Option<&'static str> {
        Some(imsi::UNKNOWN_SUBSCRIBER)
    }

    fn meters(metrics: &Metrics) -> Meters<'_> {
        Meters {
            lookups: &metrics.imsi_lookups,
            seconds: &metrics.imsi_lookup_seconds,
            given_up: None,
            away: &metrics.imsi_away,
        }
    }
}
