//! The tables of this server: one struct per `[table]`.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use secrecy::SecretString;

use super::mark::MAX_SYSTEM_ID;
use super::oidc::Oidc;
use super::outputs::{SyslogFacility, SyslogTarget};
use super::section::settings;
use super::value::{DAY, HOUR, MINUTE, SECOND, Status};
use smsc_domain::command_status;
use smsc_domain::retry::{DEFAULT_DELAYS, RefusalClass, RetryPolicy, RetryRule};

settings! {
    /// Format of log lines.
    pub enum LogFormat {
        /// For people.
        Text = "text",
        /// One JSON object per line, for machines.
        Json = "json",
    }

    /// `[log]`
    pub struct LogConfig {
        /// `error`, `warn`, `info`, `debug` or `trace`, or a filter: `info,smsc::smpp=debug`.
        @must(|level| !level.trim().is_empty(), "is empty; write \"info\"")
        level: String = "info".to_owned(),
        /// Text or JSON.
        format: LogFormat = LogFormat::Text,
        /// Also log to `udp://host:port`, `tcp://host:port` (RFC 5424) or `unix:///dev/log`.
        syslog: Option<SyslogTarget> = None,
        /// Facility of syslog messages.
        syslog_facility: SyslogFacility = SyslogFacility::Daemon,
    }

    /// Who may read `/metrics`.
    pub enum MetricsFor {
        /// Everybody.
        Everybody = "everybody",
        /// Everybody; series that name an account need a token.
        WithoutAccounts = "without_accounts",
        /// Only clients with a token.
        Token = "token",
    }

    /// Form of subscribers' numbers in traces.
    pub enum NumberForm {
        /// Country, network and last digits: `4477*****123`.
        Masked = "masked",
        /// A keyed hash, which cannot be reversed.
        Hashed = "hashed",
        /// Complete.
        Full = "full",
    }

    /// `[telemetry]`: traces. They go to the collector of OTEL_EXPORTER_OTLP_ENDPOINT, without which there are none.
    pub struct Telemetry {
        /// Share of messages that are traced; failed messages always are.
        @share trace_ratio: f64 = 0.01,
        /// A receipt later than this after its message begins a new, linked trace.
        @positive trace_link_after: Duration = HOUR,
        /// URL of a trace, shown with the message: `https://grafana.example/trace/{trace_id}`.
        @must(|url| url.contains("{trace_id}"), "names no {trace_id}, which is where the trace's id goes")
        trace_url: Option<String> = None,
        /// Form of subscribers' numbers in traces.
        numbers: NumberForm = NumberForm::Masked,
        /// Key of the hashes, the same on all nodes; random per process without it.
        number_key: Option<SecretString> = None,
    }

    /// The status of a bind that fails authentication.
    pub enum BindRefusals {
        /// Always ESME_RINVPASWD, so that nobody learns which accounts exist.
        Uniform = "uniform",
        /// ESME_RINVSYSID for an unknown or disabled account, ESME_RBINDFAIL for a wrong address or certificate, ESME_RINVPASWD for a wrong password.
        Exact = "exact",
    }

    /// `[smpp]`: sessions with ESMEs and operators, and the plain listener for ESMEs.
    pub struct Smpp {
        /// Addresses without TLS: one, or a list; `[]` for none.
        listen: Vec<SocketAddr> = vec![SocketAddr::from((Ipv4Addr::LOCALHOST, 2775))],
        /// Host name or IP address for customers, shown on the sheet of an account; without it, the listener's address.
        @must(|host| is_public_host(host), "must be a host name or an IP address, without a port")
        public_host: Option<String> = None,
        /// system_id in our bind answers.
        @text(MAX_SYSTEM_ID) system_id: String = "smsc".to_owned(),
        /// Most connections of ESMEs, bound or not; more are closed at accept.
        @at_least(1) max_connections: usize = 5_000,
        /// Most unbound connections from one address (IPv6: /64); more are closed at accept. Without it, a quarter of `max_connections`, at least 32.
        @at_least(1) max_unbound_per_address: Option<usize> = None,
        /// Longest PDU; a longer one closes the session.
        @octets(1_024, 1 << 20) max_pdu: u32 = 65_536,
        /// A connection must bind within this time; the PROXY header and the TLS handshake get the same time each.
        @positive session_init_timeout: Duration = 30 * SECOND,
        /// Status of refused binds. The log and `smsc_binds_refused_by_reason_total` have the reason.
        bind_refusals: BindRefusals = BindRefusals::Uniform,
        /// Longest delay of a refusal. It doubles with each refusal of an account from the same address from the second on, and of the same address from the eleventh on; correct passwords are not delayed. Ten minutes without a refusal reset it; "0s" disables it.
        bind_refusal_delay: Duration = 5 * SECOND,
        /// A bind idle for this time gets an enquire_link; "0s" sends none.
        enquire_link_interval: Duration = 30 * SECOND,
        /// A bind that does not answer enquire_link within this time is closed.
        @positive enquire_link_timeout: Duration = 10 * SECOND,
        /// A bind that sends nothing, not even enquire_link, for this time is closed; "0s" never.
        inactivity_timeout: Duration = 150 * SECOND,
        /// Waiting time for the answer to a deliver_sm.
        @positive response_timeout: Duration = 30 * SECOND,
        /// Answer to a message without a route.
        @refusal("the message would be lost; write \"ESME_RINVDSTADR\"")
        no_route_status: u32 as Status = command_status::ESME_RINVDSTADR,
        /// Answer to a message beyond `account.quota_per_day`.
        @refusal("the message would be lost; write \"ESME_RTHROTTLED\"")
        quota_status: u32 as Status = command_status::ESME_RTHROTTLED,
        /// Answer to a prepaid message that the balance does not cover.
        @refusal("the message would be lost; write \"ESME_RSUBMITFAIL\"")
        balance_status: u32 as Status = command_status::ESME_RSUBMITFAIL,
        /// Answer to a duplicate (`account.duplicate_window`).
        @refusal("nobody would know the message again; write \"ESME_RSUBMITFAIL\", or `duplicates = \"same_id\"` at the account")
        duplicate_status: u32 as Status = command_status::ESME_RSUBMITFAIL,
        /// Most submissions that this node remembers to find duplicates, about 100 octets each; the oldest are dropped.
        @between(1, 10_000_000) duplicate_entries: usize = 100_000,
        /// Most KiB of unread answers per connection: reading pauses above a quarter; above this for `response_timeout`, the session ends.
        @at_least(1) write_buffer_kib: usize = 4_096,
        /// Most MiB of memory for submissions that are not yet durable. Each account and operator has a share and is read only as its messages become durable.
        @at_least(1) intake_mib: u64 = 128,
        /// The kernel probes an ESME's or operator's connection idle for this time; "0s" never.
        tcp_keepalive: Duration = 60 * SECOND,
        /// A connection whose data stay unacknowledged by TCP for this time is closed; "0s" leaves it to the kernel (15 minutes).
        tcp_user_timeout: Duration = 60 * SECOND,
        /// With `on_full = "replace"`, an idle bind must answer enquire_link within this time or is replaced.
        @positive takeover_timeout: Duration = 5 * SECOND,
        /// Time for open windows to be answered before the process stops.
        drain_timeout: Duration = 15 * SECOND,
    }

    /// `[http]`: the admin API, health and metrics.
    pub struct HttpConfig {
        /// Address of the admin API.
        listen: SocketAddr = SocketAddr::from((Ipv4Addr::LOCALHOST, 8080)),
        /// Additional address for `/health` only, served under any load.
        health_listen: Option<SocketAddr> = None,
        /// Bearer token of the admin API; without it, generated into the data folder.
        @filled("is empty; remove it to have one generated")
        admin_token: Option<SecretString> = None,
        /// File with `admin_token`.
        admin_token_file: Option<PathBuf> = None,
        /// PEM file of the certificate chain; it enables HTTPS. Reloaded when it changes.
        tls_cert: Option<PathBuf> = None,
        /// PEM file of the certificate's key.
        tls_key: Option<PathBuf> = None,
        /// Time for the TLS handshake.
        @positive tls_handshake_timeout: Duration = 30 * SECOND,
        /// Without TLS at an address other than 127.0.0.1: tokens and numbers may cross that network in clear, and nothing warns of it.
        in_clear: bool = false,
        /// Folder of the files that the API may name (`password_file`, `file` of a list, `tls_…`); without it, only files that the node's configuration names at the same key.
        files_dir: Option<PathBuf> = None,
        /// Most connections of one address without a valid token; another one closes the one idle longest.
        @at_least(1) strangers: usize = 64,
        /// IP addresses and CIDR blocks of load balancers whose X-Forwarded-For is trusted.
        @network proxy_from: Vec<String> = Vec::new(),
        /// Who may read `/metrics`. A token needs at least the role `read`.
        metrics: MetricsFor = MetricsFor::Everybody,
        /// Most concurrent requests of one token; more get status 429.
        @at_least(1) max_requests: usize = 32,
        /// Age at which audit entries are removed.
        @positive audit_retention: Duration = 365 * DAY,
        /// Threads of the HTTP server.
        @at_least(1) workers: usize = 1,
        /// Sign-in to the console by OpenID Connect.
        oidc: Oidc = Oidc::default(),
    }

    /// `[store]`: the embedded store in the data folder.
    pub struct StoreConfig {
        /// Pages (4 KiB) of the write-ahead log that start a checkpoint. The log may grow to sixteen times as many.
        @at_least(1) wal_autocheckpoint: u32 = 1_000,
        /// Most operations in one commit.
        @between(1, 100_000) batch_rows: usize = 1_024,
        /// Time that a commit waits for more rows; "0s" commits at once.
        @at_most(SECOND, "every answer waits for it")
        linger: Duration = Duration::ZERO,
        /// Time that attempts, final states and acknowledged receipts wait to be written together; new messages never wait. "0s" writes more and hands out receipts sooner.
        @at_most(Duration::from_millis(100), "receipts wait for it")
        results_linger: Duration = Duration::from_millis(5),
        /// Free disk space in MiB below which new messages get ESME_RMSGQFUL.
        min_free_mib: u64 = 512,
        /// Keep an index for searches by destination.
        search_index: bool = true,
        /// Age at which finished messages are removed.
        @positive retention: Duration = 30 * DAY,
        /// Age at which the text of finished messages is erased; without it, `retention`.
        @positive text_retention: Option<Duration> = None,
    }

    /// `[postgres]`: a store that many nodes share, instead of the embedded one.
    pub struct Postgres {
        /// Such as `postgres://smsc:secret@db.example/smsc?sslmode=require`; several hosts for standbys (cluster.md, "Failover"). Without it, the embedded store is used.
        @postgres_url url: Option<SecretString> = None,
        /// File with `url`.
        url_file: Option<PathBuf> = None,
        /// PEM file of trusted CAs, instead of the system's.
        ca_file: Option<PathBuf> = None,
        /// Writing connections; two suffice for two cores.
        @at_least(1) writers: usize = 2,
        /// Connections that read what messages need on their way.
        @at_least(1) readers: usize = 4,
        /// Connections for searches, lists and counts of administrators, which take none of the others; when they have all of them for three seconds, the admin API answers further ones 503.
        @at_least(1) admin_readers: usize = 3,
        /// Most rows in one commit.
        @between(1, 100_000) batch_rows: usize = 512,
        /// Longest run of a statement.
        @positive statement_timeout: Duration = 10 * SECOND,
        /// Longest wait of a statement for a lock.
        @positive lock_timeout: Duration = 5 * SECOND,
        /// New messages are refused when the database has not answered for this time. Also the connect timeout of a host, unless the URL has `connect_timeout`.
        @positive write_timeout: Duration = 5 * SECOND,
        /// Time that confirmed writes are kept in memory, to repeat them after a failover that lost them (cluster.md, "A database that went back in time").
        rewrite_for: Duration = 10 * SECOND,
        /// Most MiB of such writes.
        @between(1, 65_536) rewrite_mib: usize = 64,
        /// Waiting messages that may have been sent before a longer loss: `"hold"` until an administrator releases or cancels them, or `"send"`, perhaps twice.
        after_step_back: AfterStepBack = AfterStepBack::Hold,
        /// Keep the table smpp.message_correlations for other programs; costs throughput.
        message_correlations: bool = false,
    }

    /// Handling of messages that may have been sent before the database went back in time.
    pub enum AfterStepBack {
        /// Wait until an administrator releases or cancels them.
        Hold = "hold",
        /// Send, perhaps twice.
        Send = "send",
    }

    /// `[redis]`: what all nodes share and may lose: limits, and answers of the resolver.
    pub struct RedisConfig {
        /// Such as `redis://:secret@redis.example:6379/0`, or `rediss://…` with TLS; without it, each node enforces limits alone.
        url: Option<SecretString> = None,
        /// File with `url`.
        url_file: Option<PathBuf> = None,
        /// PEM file of trusted CAs, instead of the system's.
        ca_file: Option<PathBuf> = None,
        /// Counting of operators' rates that have no `rate_window`, also where nodes share them without Redis.
        limit: LimitMode = LimitMode::Strict,
        /// Pause of messages when a second's tokens are used up.
        @positive retry_in: Duration = Duration::from_millis(500),
        /// Redis counts as unreachable after this time without an answer.
        @at_most(SECOND, "the tokens of a second are worth nothing after it")
        @positive timeout: Duration = Duration::from_millis(500),
        /// Put operator ids in braces in key names, for Redis Cluster.
        hash_tags: bool = false,
    }

    /// How a shared rate is counted.
    pub enum LimitMode {
        /// Per second of the clock, in `tps:{operator}:{second}`: up to twice the rate at its turn.
        Fixed = "fixed",
        /// Never above the rate in any second.
        Strict = "strict",
    }

    /// What a node does.
    pub enum NodeRole {
        /// Listens for ESMEs and delivers to them.
        Smpp = "smpp",
        /// Binds to operators and owns their queues.
        Delivery = "delivery",
        /// Serves the admin API; without it, only health and metrics.
        Http = "http",
        /// May do the work that one node does for all.
        Janitor = "janitor",
        /// Serves the HTTP API for accounts, if `api.listen` is set.
        Api = "api",
    }

    /// `[cluster]`: this node among those that share a PostgreSQL store.
    pub struct ClusterConfig {
        /// Roles of this node.
        @filled("is empty; write [\"smpp\", \"delivery\", \"http\", \"janitor\"] or some of them")
        roles: Vec<NodeRole> = vec![NodeRole::Smpp, NodeRole::Delivery, NodeRole::Http, NodeRole::Janitor, NodeRole::Api],
        /// A node that has not renewed its lease for this time is dead.
        lease: Duration = 10 * SECOND,
        /// A node stops this long before its lease ends; others wait this long after it.
        @positive margin: Duration = 2 * SECOND,
        /// Interval at which a node renews its lease and checks the others.
        @positive heartbeat: Duration = SECOND,
        /// Interval at which a node looks for work of others, in case a notification was lost.
        @positive poll: Duration = SECOND,
    }

    /// `[queue]`: the queue of every destination.
    pub struct QueueConfig {
        /// Messages per queue and priority with bodies in RAM; each account may add four, and up to half as many of the newest. When an operator without `rate` takes 10,000 a second or more, new messages wait up to a second for room.
        @at_least(1) page: usize = 4_096,
        /// Most MiB for the bodies of all queues; each queue has a share and always keeps a few. The rest stays in the store.
        @at_least(1) page_mib: u64 = 256,
        /// Most messages in one queue; more get ESME_RMSGQFUL.
        @at_least(1) max_waiting: u64 = 20_000_000,
        /// Percentage of `max_waiting` that one account may take of a queue; more get ESME_RMSGQFUL.
        @must(|share| (1..=100).contains(share), "must be from 1 to 100")
        account_share: u32 = 90,
        /// Percentage of a queue's messages sent from lower priorities while higher ones wait; 0 sends them last.
        @at_most(50, "the higher priorities come first")
        low_share: u32 = 5,
        /// Most message ids per queue in RAM; the rest stays in the store.
        memory_items: usize = 4_000_000,
        /// Outage of a target after which its messages move to the next target of their route.
        failover_after: Duration = 30 * SECOND,
        /// Interval at which each node compares the store with its queues and requeues lost messages.
        @positive compare_every: Duration = 300 * SECOND,
    }
}

impl QueueConfig {
    /// Most messages of one account that may wait in a queue that it shares with others.
    pub fn most_of_one(&self) -> u64 {
        let share = u128::from(self.max_waiting) * u128::from(self.account_share) / 100;
        u64::try_from(share).unwrap_or(u64::MAX).max(1)
    }
}

settings! {
    /// `[validity]`: how long messages live.
    pub struct ValidityConfig {
        /// Validity of messages without validity_period.
        @positive default: Duration = 10 * DAY,
        /// Longest validity; longer ones are shortened.
        @positive max: Duration = 10 * DAY,
        /// Time that a receipt waits for its account after the message's end before it is given up; "0s" keeps it for ever.
        receipts: Duration = 7 * DAY,
    }
}

impl ValidityConfig {
    /// Until when a receipt is kept whose message ended then; Unix milliseconds.
    pub fn of_receipt(&self, ended_at: i64) -> i64 {
        match i64::try_from(self.receipts.as_millis()) {
            Ok(0) | Err(_) => i64::MAX,
            Ok(kept) => ended_at.saturating_add(kept),
        }
    }
}

settings! {
    /// What a command_status means for the next attempt.
    pub enum RetryClass for RefusalClass {
        /// Try again later.
        Temporary = "temporary",
        /// Never again: REJECTED.
        Permanent = "permanent",
        /// Wait; does not count as an attempt.
        Throttled = "throttled",
    }

    /// `[[retry.status]]`: one command_status treated differently.
    pub struct RetryStatus {
        /// command_status, by name or number.
        @must(|status| *status != 0, "is missing; write a status other than ESME_ROK")
        @required status: u32 as Status = 0,
        /// Class of the status.
        class: RetryClass = RetryClass::Temporary,
        /// Own pauses, instead of `retry.delays`.
        @pauses @positive delays: Option<Vec<Duration>> = None,
    }

    /// `[retry]`: when a refused message is tried again.
    pub struct Retry {
        /// Pauses after the first, second, … attempt; the last one repeats.
        @pauses @positive delays: Vec<Duration> = DEFAULT_DELAYS.to_vec(),
        /// Pause of a message after a throttling status, and of the whole operator if its `adaptive` is false.
        @positive throttled_delay: Duration = Duration::from_millis(500),
        /// Attempts before a temporary refusal is final; without it, until the message expires.
        @at_least(1) max_attempts: Option<u32> = None,
        /// Statuses with another class.
        status: Vec<RetryStatus> = Vec::new(),
    }

    /// `[correlation]`: matching receipts with messages, by the operator's message id.
    pub struct CorrelationConfig {
        /// Waiting time for a receipt before a message ends UNKNOWN.
        @positive ttl: Duration = 72 * HOUR,
        /// Interval at which expired correlations and rows of `smpp.message_correlations` are removed.
        @positive sweep: Duration = 15 * MINUTE,
        /// Most correlations in RAM; older ones are in the index file.
        @at_least(1) memory: usize = 2_000_000,
        /// Time that an unmatched receipt is held in RAM before it is parked in the store.
        early_hold: Duration = Duration::from_millis(200),
        /// Most parked receipts. Beyond it or `parked_mib`, the oldest of the operator with most are dropped and counted.
        parked_max: usize = 1_000_000,
        /// Most MiB of memory for parked receipts.
        @at_least(1) parked_mib: u64 = 256,
        /// Recently sent messages whose bodies stay in RAM for their receipts.
        cache: usize = 50_000,
    }

    /// `[receipts]`: what receipts of operators mean.
    pub struct ReceiptMeaning {
        /// Time that UNKNOWN or ACCEPTD waits for another receipt before it ends the message, at most until `correlation.ttl`. "0s" ends it at once; states in `receipt_states` never wait.
        settle_after: Duration = HOUR,
    }

    /// `[runtime]`: threads.
    pub struct Runtime {
        /// Threads for SMPP sessions; 0 means one per core.
        session_threads: usize = 0,
    }
}

/// Who opens a few binds at once must not be taken for somebody who keeps others out.
const LEAST_UNBOUND: usize = 32;

/// Whether this can be a host; more than one colon is of an IPv6 address.
fn is_public_host(host: &str) -> bool {
    let is_sign = |sign: char| sign.is_ascii_alphanumeric() || "-.:".contains(sign);
    !host.is_empty() && host.chars().all(is_sign) && host.matches(':').count() != 1
}

// === impl Smpp ===

impl Smpp {
    /// Connections of one origin that may wait for their bind.
    pub fn max_unbound_per_address(&self) -> usize {
        let share = || (self.max_connections / 4).max(LEAST_UNBOUND);
        self.max_unbound_per_address.unwrap_or_else(share)
    }
}

// === impl Runtime ===

impl Runtime {
    /// The number of session threads, at least 1.
    pub fn session_threads(&self) -> usize {
        match self.session_threads {
            0 => std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            threads => threads,
        }
    }
}

// === impl RetryClass ===

impl RetryClass {
    /// Every class.
    pub const ALL: [Self; 3] = [Self::Temporary, Self::Permanent, Self::Throttled];

    /// The class of a word.
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|class| class.as_str() == word)
    }

    /// As the domain has it.
    pub fn class(self) -> RefusalClass {
        self.into()
    }
}

// === impl Retry ===

impl Retry {
    /// The schedule as the domain uses it.
    pub fn policy(&self) -> RetryPolicy {
        let rules = self.status.iter().map(|rule| {
            let class = rule.class.class();
            let delays = rule.delays.clone().unwrap_or_default();
            (rule.status, RetryRule { class, delays })
        });
        RetryPolicy {
            delays: self.delays.clone(),
            throttled_delay: self.throttled_delay,
            max_attempts: self.max_attempts,
            rules: rules.collect(),
            classes: Vec::new(),
        }
    }
}
