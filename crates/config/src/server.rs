//! The tables of this server: one struct per `[table]`.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use secrecy::SecretString;

use super::mark::MAX_SYSTEM_ID;
use super::oidc::Oidc;
use super::outputs::{SyslogFacility, SyslogTarget};
use super::section::{choice, section};
use super::value::Status;
use smsc_domain::command_status;
use smsc_domain::retry::{DEFAULT_DELAYS, RefusalClass, RetryPolicy, RetryRule};

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3_600);
const DAY: Duration = Duration::from_secs(86_400);

choice! {
    /// How log lines look.
    pub enum LogFormat {
        /// For people.
        Text = "text",
        /// One JSON object per line, for machines.
        Json = "json",
    }
}

section! {
    /// `[log]`
    pub struct LogConfig {
        /// `error`, `warn`, `info`, `debug` or `trace`, or a filter such as `info,smsc::smpp=debug`.
        @must(|level| !level.trim().is_empty(), "is empty; write \"info\"")
        level: String = "info".to_owned(),
        /// Text for people or JSON for machines.
        format: LogFormat = LogFormat::Text,
        /// Log lines are also sent there: `udp://host:port`, `tcp://host:port` (RFC 5424) or `unix:///dev/log`.
        syslog: Option<SyslogTarget> = None,
        /// The facility in syslog messages.
        syslog_facility: SyslogFacility = SyslogFacility::Daemon,
    }
}

choice! {
    /// Who may read `/metrics`.
    pub enum MetricsFor {
        /// Everybody, all of it.
        Everybody = "everybody",
        /// Everybody; series that name an account only with a token of the API.
        WithoutAccounts = "without_accounts",
        /// Only clients with a token of the API.
        Token = "token",
    }
}

choice! {
    /// How subscribers' numbers look in traces.
    pub enum NumberForm {
        /// Country and network, and the last digits: `4477*****123`.
        Masked = "masked",
        /// A keyed hash: equal numbers have equal hashes, which cannot be reversed.
        Hashed = "hashed",
        /// As they are.
        Full = "full",
    }
}

section! {
    /// `[telemetry]`: traces. They go to the collector of OTEL_EXPORTER_OTLP_ENDPOINT, without which there are none.
    pub struct Telemetry {
        /// Share of messages that are traced; messages that fail are traced in any case.
        @share trace_ratio: f64 = 0.01,
        /// A receipt that comes later than this after its message begins a new trace, linked with the old one.
        @positive trace_link_after: Duration = HOUR,
        /// URL of a trace, such as `https://grafana.example/trace/{trace_id}`; shown with the message.
        @must(|url| url.contains("{trace_id}"), "names no {trace_id}, which is where the trace's id goes")
        trace_url: Option<String> = None,
        /// How subscribers' numbers look in traces.
        numbers: NumberForm = NumberForm::Masked,
        /// Key of the hashes, the same on all nodes; without it each process has a random one.
        number_key: Option<SecretString> = None,
    }
}

choice! {
    /// The status of a bind that fails authentication.
    pub enum BindRefusals {
        /// Always ESME_RINVPASWD, so that clients cannot find out which accounts exist.
        Uniform = "uniform",
        /// ESME_RINVSYSID for an unknown or disabled account, ESME_RBINDFAIL for an address or a certificate that it may not use, ESME_RINVPASWD for a wrong password.
        Exact = "exact",
    }
}

section! {
    /// `[smpp]`: sessions with ESMEs and operators, and the plain listener for ESMEs.
    pub struct Smpp {
        /// Addresses to listen on without TLS: one, or a list; `[]` when every address has a `[[listener]]`.
        listen: Vec<SocketAddr> = vec![SocketAddr::from((Ipv4Addr::LOCALHOST, 2775))],
        /// The host name or IP address that customers connect to, as the sheet of an account says it; without it, the address of the listener, unless that is any address of the machine.
        @must(|host| is_public_host(host), "must be a host name or an IP address, without a port")
        public_host: Option<String> = None,
        /// Our system_id in bind answers.
        @text(MAX_SYSTEM_ID) system_id: String = "smsc".to_owned(),
        /// Most concurrent connections of ESMEs, bound or not; more are closed at accept.
        @at_least(1) max_connections: usize = 5_000,
        /// Most connections from one address that have not bound yet; more are closed at accept. An IPv6 address counts as its /64. Without it, a quarter of `max_connections`, but not less than 32, so that no single address can take all of them.
        @at_least(1) max_unbound_per_address: Option<usize> = None,
        /// Longest PDU in octets; a longer one closes the session.
        @octets(1_024, 1 << 20) max_pdu: u32 = 65_536,
        /// A connection that has not bound within this time is closed; a PROXY header and a TLS handshake get the same time.
        @positive session_init_timeout: Duration = 30 * SECOND,
        /// Answer to a bind that is refused because of an unknown or disabled account, a wrong password, or an address that its account may not bind from. The log and `smsc_binds_refused_by_reason_total` always have the reason.
        bind_refusals: BindRefusals = BindRefusals::Uniform,
        /// Longest delay of such a refusal. The delay doubles with each refusal of the same account from the same address, beginning with the second, and of the same address, beginning with the eleventh; a correct password is never delayed. After ten minutes without a refusal it is reset. "0s" never delays.
        bind_refusal_delay: Duration = 5 * SECOND,
        /// An enquire_link is sent on a bind that was silent for this time; "0s" sends none.
        enquire_link_interval: Duration = 30 * SECOND,
        /// A bind that does not answer enquire_link within this time is closed.
        @positive enquire_link_timeout: Duration = 10 * SECOND,
        /// A bind without any message for this time is closed; "0s" never closes it.
        inactivity_timeout: Duration = 150 * SECOND,
        /// Our deliver_sm counts as unanswered after this time.
        @positive response_timeout: Duration = 30 * SECOND,
        /// Answer to a message for which no route exists.
        @refusal("the message would be lost; write \"ESME_RINVDSTADR\"")
        no_route_status: u32 as Status = command_status::ESME_RINVDSTADR,
        /// Answer to a message beyond `account.quota_per_day`.
        @refusal("the message would be lost; write \"ESME_RTHROTTLED\"")
        quota_status: u32 as Status = command_status::ESME_RTHROTTLED,
        /// Answer to a message of a prepaid account that its balance does not cover.
        @refusal("the message would be lost; write \"ESME_RSUBMITFAIL\"")
        balance_status: u32 as Status = command_status::ESME_RSUBMITFAIL,
        /// Answer to a duplicate, for accounts with `duplicate_window`.
        @refusal("nobody would know the message again; write \"ESME_RSUBMITFAIL\", or `duplicates = \"same_id\"` at the account")
        duplicate_status: u32 as Status = command_status::ESME_RSUBMITFAIL,
        /// Most accepted submissions that this node remembers to find duplicates, about 100 octets each; the oldest are forgotten first.
        @between(1, 10_000_000) duplicate_entries: usize = 100_000,
        /// Answers that may wait for a slow reader, in KiB per connection; above this, nothing is read from it.
        @at_least(1) write_buffer_kib: usize = 4_096,
        /// Most MiB of memory for submissions that are not durable yet, of all sessions together; each account and operator has a share. One that is beyond it is read as its messages become durable.
        @at_least(1) intake_mib: u64 = 128,
        /// The kernel probes a connection (ESME or operator) without traffic after this time; "0s" never probes.
        tcp_keepalive: Duration = 60 * SECOND,
        /// A connection whose sent data TCP does not acknowledge for this time is closed; "0s" leaves this to the kernel, which waits for a quarter of an hour.
        tcp_user_timeout: Duration = 60 * SECOND,
        /// When an account with `on_full = "replace"` is full, a silent bind that does not answer enquire_link within this time is closed for the new one.
        @positive takeover_timeout: Duration = 5 * SECOND,
        /// When the process stops, windows in flight get this time to be answered; then it unbinds in any case.
        drain_timeout: Duration = 15 * SECOND,
    }
}

section! {
    /// `[http]`: the admin API, health and metrics.
    pub struct HttpConfig {
        /// Address of the admin API.
        listen: SocketAddr = SocketAddr::from((Ipv4Addr::LOCALHOST, 8080)),
        /// Additional address for `/health` only, with its own thread, so that probes are answered under any load.
        health_listen: Option<SocketAddr> = None,
        /// Bearer token of the admin API; generated and kept in the data folder when it is not set.
        @filled("is empty; remove it to have one generated")
        admin_token: Option<SecretString> = None,
        /// File with the token, instead of `admin_token`.
        admin_token_file: Option<PathBuf> = None,
        /// File with the certificate chain (PEM); with it, the admin API, health and metrics are served by HTTPS. Read again when it changes.
        tls_cert: Option<PathBuf> = None,
        /// File with the key of the certificate (PEM).
        tls_key: Option<PathBuf> = None,
        /// A client that has not ended the TLS handshake within this time is disconnected.
        @positive tls_handshake_timeout: Duration = 30 * SECOND,
        /// Folder that must contain every file named through the API (`password_file`, `file` of a list, `tls_…`); without it, only files that the node's own configuration names at the same place.
        files_dir: Option<PathBuf> = None,
        /// Most connections of one address that have not shown a valid token; one more closes the one that has been idle for longest.
        @at_least(1) strangers: usize = 64,
        /// IP addresses and CIDR blocks of load balancers, whose X-Forwarded-For has the address of the client.
        @network proxy_from: Vec<String> = Vec::new(),
        /// Who may read `/metrics`, whose series name accounts. Any token of the admin API with at least the role `read` is accepted, as a bearer token.
        metrics: MetricsFor = MetricsFor::Everybody,
        /// Most concurrent requests of one token; more are answered with status 429.
        @at_least(1) max_requests: usize = 32,
        /// Entries of the audit log are removed after this time.
        @positive audit_retention: Duration = 365 * DAY,
        /// Threads of the HTTP server.
        @at_least(1) workers: usize = 1,
        /// Sign-in to the console by OpenID Connect.
        oidc: Oidc = Oidc::default(),
    }
}

section! {
    /// `[store]`: the embedded store in the data folder.
    pub struct StoreConfig {
        /// Pages (of 4 KiB) of the write-ahead log after which it is copied into the database, in parallel to commits. The log may grow to sixteen times as many.
        @at_least(1) wal_autocheckpoint: u32 = 1_000,
        /// Most operations in one commit.
        @between(1, 100_000) batch_rows: usize = 1_024,
        /// How long a commit waits for more rows; "0s" commits at once.
        @at_most(SECOND, "every answer waits for it")
        linger: Duration = Duration::ZERO,
        /// How long attempts, final states and acknowledged receipts wait to be written together while they are few; new messages never wait for it. "0s" writes more to the disk, and hands out receipts sooner.
        @at_most(Duration::from_millis(100), "receipts wait for it")
        results_linger: Duration = Duration::from_millis(5),
        /// Free space of the data folder's disk in MiB below which new messages are refused with ESME_RMSGQFUL.
        min_free_mib: u64 = 512,
        /// Keep the index that makes messages searchable by destination.
        search_index: bool = true,
        /// Finished messages are removed after this time.
        @positive retention: Duration = 30 * DAY,
        /// The text of finished messages is erased after this time, the other data stays; without it, the text is kept as long as the message.
        @positive text_retention: Option<Duration> = None,
    }
}

section! {
    /// `[postgres]`: a store that many nodes share, instead of the embedded one.
    pub struct Postgres {
        /// Such as `postgres://smsc:secret@db.example/smsc?sslmode=require`, with several hosts where there are standbys (cluster.md, "Failover"); without it the embedded store is used.
        @postgres_url url: Option<SecretString> = None,
        /// File with the URL, instead of `url`.
        url_file: Option<PathBuf> = None,
        /// File with the authorities (PEM) that may issue the server's certificate; without it, those that the machine trusts.
        ca_file: Option<PathBuf> = None,
        /// Connections that write; two are enough for two cores.
        @at_least(1) writers: usize = 2,
        /// Connections that read.
        @at_least(1) readers: usize = 4,
        /// Most rows in one commit.
        @between(1, 100_000) batch_rows: usize = 512,
        /// A statement that takes longer fails.
        @positive statement_timeout: Duration = 10 * SECOND,
        /// A statement that waits longer for a lock fails.
        @positive lock_timeout: Duration = 5 * SECOND,
        /// New messages are refused when the database has not answered for this time. Also how long a host may take to connect and log in, where the URL has no `connect_timeout`.
        @positive write_timeout: Duration = 5 * SECOND,
        /// What the database has confirmed is kept in memory for this time, and written again if it turns out to have gone back in time (cluster.md, "A database that went back in time").
        rewrite_for: Duration = 10 * SECOND,
        /// At most so much of it, in MiB.
        @between(1, 65_536) rewrite_mib: usize = 64,
        /// What becomes of waiting messages that may have been sent, where the database went back further than that: `"hold"` until an administrator releases or cancels them, `"send"` perhaps once more.
        after_step_back: AfterStepBack = AfterStepBack::Hold,
        /// Keep the table smpp.message_correlations for other programs; it costs throughput.
        message_correlations: bool = false,
    }
}

choice! {
    /// What becomes of messages that may have been sent before the database went back in time.
    pub enum AfterStepBack {
        /// They wait until an administrator releases or cancels them.
        Hold = "hold",
        /// They are sent, perhaps once more.
        Send = "send",
    }
}

section! {
    /// `[redis]`: what all nodes share and may lose: limits, and answers of the resolver.
    pub struct RedisConfig {
        /// Such as `redis://:secret@redis.example:6379/0`, or `rediss://…` by TLS; without it each node enforces limits by itself.
        url: Option<SecretString> = None,
        /// File with the URL, instead of `url`.
        url_file: Option<PathBuf> = None,
        /// File with the authorities (PEM) that may issue the server's certificate; without it, those that the machine trusts.
        ca_file: Option<PathBuf> = None,
        /// How the rates of operators are counted, except of those that have a `rate_window`; also where nodes share them without Redis.
        limit: LimitMode = LimitMode::Strict,
        /// When the tokens of a second are used up, messages are due again after this time.
        @positive retry_in: Duration = Duration::from_millis(500),
        /// Redis counts as unreachable when it has not answered for this time.
        @at_most(SECOND, "the tokens of a second are worth nothing after it")
        @positive timeout: Duration = Duration::from_millis(500),
        /// Put the operator's id in braces in key names, so that Redis Cluster keeps its keys together.
        hash_tags: bool = false,
    }
}

choice! {
    /// How a shared rate is counted.
    pub enum LimitMode {
        /// Per second of the clock, in `tps:{operator}:{second}`: up to twice the rate around its turn.
        Fixed = "fixed",
        /// Never more than the rate in any second, wherever it begins.
        Strict = "strict",
    }
}

choice! {
    /// What a node does.
    pub enum NodeRole {
        /// Listens for ESMEs and delivers to them.
        Smpp = "smpp",
        /// Binds to operators and owns their queues.
        Delivery = "delivery",
        /// Serves the whole admin API; without it, health and metrics only.
        Http = "http",
        /// May do the work that one node does for all.
        Janitor = "janitor",
        /// Serves the HTTP API for accounts, if `api.listen` is set.
        Api = "api",
    }
}

section! {
    /// `[cluster]`: this node among those that share a PostgreSQL store.
    pub struct ClusterConfig {
        /// What this node does.
        @filled("is empty; write [\"smpp\", \"delivery\", \"http\", \"janitor\"] or some of them")
        roles: Vec<NodeRole> = vec![NodeRole::Smpp, NodeRole::Delivery, NodeRole::Http, NodeRole::Janitor, NodeRole::Api],
        /// A node that has not renewed its lease for this time is dead.
        lease: Duration = 10 * SECOND,
        /// A node stops this long before its lease ends; others wait as long after it.
        @positive margin: Duration = 2 * SECOND,
        /// How often a node renews its lease, and checks the other nodes without a notification.
        @positive heartbeat: Duration = SECOND,
        /// How often a node looks for work from other nodes, in case a notification was lost.
        @positive poll: Duration = SECOND,
    }
}

section! {
    /// `[queue]`: the queue of every destination.
    pub struct QueueConfig {
        /// Messages of a queue whose bodies are in RAM, ready to be sent, for each priority; each account may have four more, and up to half as
        /// many of the newest messages. While more wait for an operator without a rate that takes 10,000 a second and more, new messages wait for room, a second at most.
        @at_least(1) page: usize = 4_096,
        /// Most MiB of memory for the bodies of all queues together, of which each queue has a share; the rest stays in the store. A queue always has a few.
        @at_least(1) page_mib: u64 = 256,
        /// Most messages waiting in one queue; more are refused with ESME_RMSGQFUL.
        @at_least(1) max_waiting: u64 = 20_000_000,
        /// Share of `max_waiting` that the messages of one account may take of one queue, in percent; further ones are refused with ESME_RMSGQFUL.
        @must(|share| (1..=100).contains(share), "must be from 1 to 100")
        account_share: u32 = 90,
        /// Share of a queue's messages that go from lower priorities while there are higher ones, in percent; at 0 the lower ones wait until there are no higher ones.
        @at_most(50, "the higher priorities come first")
        low_share: u32 = 5,
        /// Most ids of waiting messages kept in RAM per queue; the rest stays in the store.
        memory_items: usize = 4_000_000,
        /// Messages move to the next target of their route when theirs has been unavailable for this time.
        failover_after: Duration = 30 * SECOND,
        /// How often each node compares the store with its queues, slowly, and puts back messages that are in none of them.
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

section! {
    /// `[validity]`: how long messages live.
    pub struct ValidityConfig {
        /// For messages without a validity_period.
        @positive default: Duration = 10 * DAY,
        /// Longer validity periods are shortened to this.
        @positive max: Duration = 10 * DAY,
        /// How long after the end of its message a receipt waits for an account that has no receiver bound, or does not acknowledge it; then it is dropped. "0s" keeps it for ever.
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

choice! {
    /// What a command_status means for the next attempt.
    pub enum RetryClass for RefusalClass {
        /// Try again later.
        Temporary = "temporary",
        /// Never again: REJECTED.
        Permanent = "permanent",
        /// Wait; it does not count as an attempt.
        Throttled = "throttled",
    }
}

section! {
    /// `[[retry.status]]`: one command_status treated differently.
    pub struct RetryStatus {
        /// The command_status, by name or number.
        @must(|status| *status != 0, "is missing; write a status other than ESME_ROK")
        @required status: u32 as Status = 0,
        /// What it means.
        class: RetryClass = RetryClass::Temporary,
        /// Pauses of its own instead of `retry.delays`.
        @pauses @positive delays: Option<Vec<Duration>> = None,
    }
}

section! {
    /// `[retry]`: when a refused message is tried again.
    pub struct Retry {
        /// Pauses after the first, second, … attempt; the last one repeats.
        @pauses @positive delays: Vec<Duration> = DEFAULT_DELAYS.to_vec(),
        /// Pause of a message after a throttling status, and of all other messages to that operator if its `adaptive` is false.
        @positive throttled_delay: Duration = Duration::from_millis(500),
        /// Attempts before a temporary refusal is final; without it, until the message expires.
        @at_least(1) max_attempts: Option<u32> = None,
        /// Statuses that mean something else than usual.
        status: Vec<RetryStatus> = Vec::new(),
    }
}

section! {
    /// `[correlation]`: matching receipts with messages, by the operator's message id.
    pub struct CorrelationConfig {
        /// How long a sent message waits for its receipt before it ends UNKNOWN.
        @positive ttl: Duration = 72 * HOUR,
        /// How often expired correlations and expired rows of `smpp.message_correlations` are removed.
        @positive sweep: Duration = 15 * MINUTE,
        /// Most correlations in RAM; older ones are found in the index file.
        @at_least(1) memory: usize = 2_000_000,
        /// How long a receipt that matches nothing is held in RAM before it is parked in the store.
        early_hold: Duration = Duration::from_millis(200),
        /// Most parked receipts. Beyond it and `parked_mib`, the oldest of the operator that has the most are dropped and counted.
        parked_max: usize = 1_000_000,
        /// Most MiB of memory for parked receipts.
        @at_least(1) parked_mib: u64 = 256,
        /// Messages sent last whose bodies stay in memory for their receipts.
        cache: usize = 50_000,
    }
}

section! {
    /// `[receipts]`: what receipts of operators mean.
    pub struct ReceiptMeaning {
        /// How long a state that may not be the last one, UNKNOWN or ACCEPTD, waits for another receipt before it ends its message; at the end of `correlation.ttl` it does so as well. "0s" ends the message at once. What `receipt_states` of an operator says is never waited for.
        settle_after: Duration = HOUR,
    }
}

section! {
    /// `[runtime]`: threads.
    pub struct Runtime {
        /// Threads that read and write SMPP sessions; 0 means one per core.
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
