//! Configuration: typed, every key with a default, every error with the key and how to fix it.
//!
//! Called by the command line, once at start and once per SIGHUP. The structs are declared with
//! their documentation and defaults in `config/server.rs` and `config/peers.rs`; from the same
//! declaration come the reader, the checks of single values, `docs/configuration.md` and
//! `smsc check-config --defaults`.
//! A file comes first, then the environment (`SMSC_HTTP__ADMIN_TOKEN`) over it.

mod api;
mod archive;
mod carrier;
mod compat;
mod content;
mod event_sink;
mod events;
mod former;
mod gsm;
mod imsi;
mod kafka;
mod listener;
mod local;
mod map;
mod map_firewall;
mod mark;
mod mo_rule;
mod named;
mod nats;
mod nats_source;
mod number_range;
mod oidc;
mod outputs;
mod peers;
mod policy;
mod price;
mod problem;
mod redis_platform;
mod reference;
mod resolver;
mod resource;
mod rewrite;
mod schema;
mod sealing;
mod secret_files;
mod section;
mod server;
mod setting;
mod sharing;
mod source;
mod text;
mod validate;
mod value;
mod words;

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use section::settings;
use smsc_domain::retry::{RefusalClass, RetryPolicy};

pub use api::Api;
pub use archive::{ArchiveConfig, ArchiveFormat, ArchiveNumbers};
pub use carrier::{AccountCarrier, Carrier, CmppVersion, SgipConfig};
pub use compat::{
    Compat, SMPP_CONNECTOR, SmppConnector, smpp_connector_variables, stand_in_for_smpp_connector,
};
pub use content::{
    ContentConfig, DefaultAlphabet, LongMessages, PartReceipts, UnrepresentableRule,
};
pub use event_sink::{EventSink, SinkEventKind, SinkFormat, SinkKind, SinkMessageId};
pub use events::{CdrConfig, CdrFormat, HistoryConfig, IncidentConfig, OutboxConfig, UsageConfig};
pub use former::FORMER_NATS;
pub use gsm::Gsm;
pub use imsi::{ImsiConfig, ImsiSource};
pub use kafka::{KafkaConnection, KafkaLogin, SaslMechanism};
pub use listener::{ListenerConfig, ListenerProtocol};
pub use local::{LOCAL, Local};
pub use map::{
    GatewayTransport, GsmProtocol, MapConfig, MapGateway, MapHomeRouting, MapRoutedBy,
    MapServingNode, MapTrafficMode, point_code,
};
pub use map_firewall::{
    MapFirewall, MapFirewallAction, MapFirewallError, MapFirewallMode, MapFirewallNetwork,
    MapFirewallRule, MapFirewallRules,
};
pub use mo_rule::{MoRule, mo_rules};
pub use named::files_out_of_reach;
pub use nats::NatsConnection;
pub use nats_source::{NatsSource, SourceMode, SourceStart};
pub use number_range::{NumberClass, NumberRange, number_plan};
pub use oidc::{OIDC_CALLBACK, Oidc};
pub use outputs::{Statsd, SyslogFacility, SyslogTarget};
pub use peers::{
    Account, BindKind, CallbackFormat, DeliverAs, DeliverBy, MessageIdForm, NumberCheck,
    OnDuplicate, OperatorConfig, OperatorProtocol, OutcomePolicy, ReceiptDates, ReceiptForm,
    ReceiptRequest, RouteConfig, RouteStep, SendAs, ShownIdForm, TwoTexts, WhenFull,
};
pub use policy::{AddressList, CompiledPolicies, LimitConfig, LimitPer, PolicyConfig};
pub use price::PriceList;
pub use problem::{ConfigError, ConfigProblem};
pub use redis_platform::{PlatformRole, RedisPlatform, ReportForwarder};
pub use reference::{annotated_toml, markdown, reference};
pub use resolver::{LookupFailure, ResolverConfig};
pub use resource::{
    Candidate, ChangedKey, accept, document, fields, name_of, names_out_of_reach, shown,
};
pub use rewrite::{AddressField, RewriteRule, rules};
pub use schema::{ResourceSchema, SchemaGroup, resource_schema};
pub use sealing::{Keyring, SecretStorage, SecretsConfig, Unopened, is_secret};
pub use secret_files::{SecretFile, SecretLook};
pub use server::{
    AfterStepBack, BindRefusals, ClusterConfig, CorrelationConfig, HttpConfig, LimitMode,
    LogConfig, LogFormat, MetricsFor, NodeRole, NumberForm, Postgres, QueueConfig, ReceiptMeaning,
    RedisConfig, Retry, RetryClass, RetryStatus, Runtime, Smpp, StoreConfig, Telemetry,
    ValidityConfig,
};
pub use setting::{EntryShape, ReferenceEntry};
pub use sharing::{Costs, StepSharing};
pub use text::{is_default, page, read_page, typed};
pub use value::{DistributionLists, Hex, parse_duration, show_duration};
pub use words::Words;

/// Built-in targets of routes: every message is delivered, ends as accepted, is dropped, fails, or is unreachable.
pub const TEST_TARGETS: [&str; 5] = [
    "test:delivered",
    "test:accepted",
    "test:dropped",
    "test:failed",
    "test:unreachable",
];

settings! {
    /// Everything that can be configured.
    pub struct Config {
        /// Folder of the store, CDRs and generated secrets; created if missing.
        data_dir: PathBuf = PathBuf::from("./smsc-data"),
        /// Number of this node, in every message id; unique among the nodes of a store.
        node: u8 = 0,
        /// Logging.
        log: LogConfig = LogConfig::default(),
        /// Traces of messages, for a collector.
        telemetry: Telemetry = Telemetry::default(),
        /// Sessions with ESMEs and operators, and the plain listener for ESMEs.
        smpp: Smpp = Smpp::default(),
        /// Addresses for ESMEs with settings of their own, such as TLS.
        listener: Vec<ListenerConfig> = Vec::new(),
        /// The admin API, health and metrics.
        http: HttpConfig = HttpConfig::default(),
        /// The HTTP API for accounts.
        api: Api = Api::default(),
        /// A UNIX socket for programs on the same machine.
        local: Local = Local::default(),
        /// Where gateways of operators over SGIP connect to us.
        sgip: SgipConfig = SgipConfig::default(),
        /// The embedded store in the data folder.
        store: StoreConfig = StoreConfig::default(),
        /// How passwords are kept in the store.
        secrets: SecretsConfig = SecretsConfig::default(),
        /// A store that many nodes share, instead of the embedded one.
        postgres: Postgres = Postgres::default(),
        /// Limits that all nodes share.
        redis: RedisConfig = RedisConfig::default(),
        /// This node among those that share a PostgreSQL store.
        cluster: ClusterConfig = ClusterConfig::default(),
        /// The queue of every destination.
        queue: QueueConfig = QueueConfig::default(),
        /// How long messages live.
        validity: ValidityConfig = ValidityConfig::default(),
        /// When a refused message is tried again.
        retry: Retry = Retry::default(),
        /// Matching of receipts by the operator's message id.
        correlation: CorrelationConfig = CorrelationConfig::default(),
        /// What receipts of operators mean.
        receipts: ReceiptMeaning = ReceiptMeaning::default(),
        /// The network of a number (number portability).
        resolver: ResolverConfig = ResolverConfig::default(),
        /// IMSI of a number, for GSM networks.
        imsi: ImsiConfig = ImsiConfig::default(),
        /// Putting long messages together.
        content: ContentConfig = ContentConfig::default(),
        /// Call detail records.
        cdr: CdrConfig = CdrConfig::default(),
        /// Sums of messages, for invoices.
        usage: UsageConfig = UsageConfig::default(),
        /// Finished messages, copied elsewhere.
        archive: ArchiveConfig = ArchiveConfig::default(),
        /// Messages in Redis for programs of the Redis SMS platform.
        redis_platform: RedisPlatform = RedisPlatform::default(),
        /// The faces of other programs.
        compat: Compat = Compat::default(),
        /// Events of messages, for those who read them.
        outbox: OutboxConfig = OutboxConfig::default(),
        /// Operators and accounts that need a look.
        incidents: IncidentConfig = IncidentConfig::default(),
        /// What was sent, refused and delivered, by the minute and by the hour.
        history: HistoryConfig = HistoryConfig::default(),
        /// Metrics pushed to a StatsD daemon.
        statsd: Statsd = Statsd::default(),
        /// Threads.
        runtime: Runtime = Runtime::default(),
        /// ESMEs that may bind.
        account: Vec<Account> = Vec::new(),
        /// Upstreams that the SMSC binds to.
        operator: Vec<OperatorConfig> = Vec::new(),
        /// GSM core networks for deliveries to their handsets: docs/gsm.md.
        gsm: Vec<Gsm> = Vec::new(),
        /// Which messages go where.
        route: Vec<RouteConfig> = Vec::new(),
        /// Who may send what to whom, for every account.
        policy: PolicyConfig = PolicyConfig::default(),
        /// Named lists of addresses.
        list: Vec<AddressList> = Vec::new(),
        /// Rate limits by sender and destination.
        limit: Vec<LimitConfig> = Vec::new(),
        /// Rules for messages from operators, before `addresses` of accounts and routes with `mobile_originated`: docs/mo-rules.md. A rule has one of `deliver_to`, `reply` and `drop`.
        mo_rule: Vec<MoRule> = Vec::new(),
        /// Number plan: own numbers, numbers of peers, short codes, and their targets. Messages to a nonexistent number of a range are refused.
        number_range: Vec<NumberRange> = Vec::new(),
        /// Brokers for events of messages and binds: docs/events.md.
        event_sink: Vec<EventSink> = Vec::new(),
        /// Streams of NATS JetStream with commands to send: docs/events.md.
        nats_source: Vec<NatsSource> = Vec::new(),
    }
}

// === impl Config ===

impl Config {
    /// Reads the file (if any) and the process's environment, and validates the result.
    ///
    /// # Errors
    /// See [`ConfigError`]: everything that is wrong, at once.
    pub fn load(path: Option<&Path>) -> Result<Self, ConfigError> {
        let text = |name: std::ffi::OsString| name.to_string_lossy().into_owned();
        let variables = std::env::vars_os().map(|(name, value)| (text(name), text(value)));
        match compat::stands_in() {
            None => Self::load_with(path, variables),
            Some(listen) => Self::load_with(path, smpp_connector_variables(variables, listen)),
        }
    }

    /// [`Config::load`] with the given environment instead of the process's.
    ///
    /// # Errors
    /// See [`ConfigError`].
    pub fn load_with(
        path: Option<&Path>,
        variables: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, ConfigError> {
        let (config, problems) = source::read(path, variables)?;
        config.checked(problems, path)
    }

    /// Reads a text as [`Config::load`] reads a file, without the environment, and validates it.
    ///
    /// # Errors
    /// See [`ConfigError`].
    pub fn of_text(text: &str) -> Result<Self, ConfigError> {
        let (config, problems) = source::read_text(text)?;
        config.checked(problems, None)
    }

    /// Itself, unless something is wrong; `problems` are those found before.
    fn checked(
        self,
        mut problems: Vec<ConfigProblem>,
        path: Option<&Path>,
    ) -> Result<Self, ConfigError> {
        if let Err(ConfigError::Invalid(more)) = self.validate() {
            // A key that could not be read has its default now; what follows from that is noise.
            let unread: Vec<String> = problems.iter().map(|one| one.key.clone()).collect();
            let follows = |key: &str| unread.iter().any(|unread| is_part_of(unread, key));
            let file = path.map(|path| path.display().to_string());
            problems.extend(
                more.into_iter()
                    .filter(|one| !follows(&one.key))
                    .map(|one| ConfigProblem {
                        origin: file.clone(),
                        ..one
                    }),
            );
        }
        if problems.is_empty() {
            Ok(self)
        } else {
            Err(ConfigError::Invalid(problems))
        }
    }

    /// Checks what types cannot: references, ranges, duplicates. Answers the warnings.
    ///
    /// # Errors
    /// [`ConfigError::Invalid`] with all problems.
    pub fn validate(&self) -> Result<Vec<ConfigProblem>, ConfigError> {
        validate::validate(self)
    }

    /// Addresses where this node listens for ESMEs, each with its key: none without that role.
    pub fn esme_listeners(&self) -> Vec<(String, ListenerConfig)> {
        if !self.cluster.roles.contains(&NodeRole::Smpp) {
            return Vec::new();
        }
        let plain = ListenerConfig {
            listen: self.smpp.listen.clone(),
            ..ListenerConfig::default()
        };
        let plain = Some(plain).filter(|plain| !plain.listen.is_empty());
        let plain = plain.map(|plain| ("smpp.listen".to_owned(), plain));
        let own = self.listener.iter().enumerate();
        let own = own.map(|(at, listener)| (format!("listener[{at}].listen"), listener.clone()));
        plain.into_iter().chain(own).collect()
    }

    /// The retry schedule of a target that has pauses or classes of its own.
    pub fn own_retry(
        &self,
        retry: Option<&Retry>,
        classes: Vec<(RangeInclusive<u32>, RefusalClass)>,
    ) -> Option<RetryPolicy> {
        if retry.is_none() && classes.is_empty() {
            return None;
        }
        let retry = retry.unwrap_or(&self.retry);
        Some(RetryPolicy {
            classes,
            ..retry.policy()
        })
    }

    /// Folder of the files of the archive.
    pub fn archive_dir(&self) -> PathBuf {
        let own = self.archive.dir.clone();
        own.unwrap_or_else(|| self.data_dir.join("archive"))
    }

    /// Folder of the CDR files.
    pub fn cdr_dir(&self) -> PathBuf {
        self.cdr
            .dir
            .clone()
            .unwrap_or_else(|| self.data_dir.join("cdr"))
    }
}

/// Whether `part` is `key` or a value below it.
fn is_part_of(part: &str, key: &str) -> bool {
    part.strip_prefix(key)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}
