//! `[[nats_source]]`: streams of NATS JetStream whose commands become messages. Read by the task of NATS sources
//! (`actors/control/nats_source.rs`).

use std::path::PathBuf;
use std::time::Duration;

use super::nats::NatsConnection;
use super::section::settings;
use super::value::SECOND;
use smsc_domain::moment;

settings! {
    /// When a command is acknowledged.
    pub enum SourceMode {
        /// When its message is stored here, where it waits for the operator.
        Durable = "durable",
        /// When the operator has answered; above the operator's rate, or without a bind, it waits in the stream.
        Operator = "operator",
    }
}

/// Where the first consumer begins on a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceStart {
    /// At the oldest command that is there.
    All,
    /// Behind all that are there.
    New,
    /// At the first one since this time, Unix milliseconds.
    Since(i64),
}

settings! {
    /// `[[nats_source]]`: a stream of NATS JetStream whose commands become messages of an account: docs/events.md.
    pub struct NatsSource {
        /// Name in the API and metrics.
        @required @name name: String = String::new(),
        /// Take commands.
        enabled: bool = true,
        /// Servers of one cluster: `["nats://nats.example:4222"]`, or `tls://…`.
        @required servers: Vec<String> = Vec::new(),
        /// Credentials file of a user, as `nsc` writes it.
        credentials_file: Option<PathBuf> = None,
        /// User for `password_file`.
        user: Option<String> = None,
        /// File with the password of `user`.
        password_file: Option<PathBuf> = None,
        /// File with a login token.
        token_file: Option<PathBuf> = None,
        /// PEM file of trusted CAs, instead of the system's.
        ca_file: Option<PathBuf> = None,
        /// Servers count as unreachable after this time without an answer.
        @positive timeout: Duration = 5 * SECOND,
        /// The stream, which must exist.
        stream: String = "SMS_DISPATCH".to_owned(),
        /// Subject of the commands, such as `smpp.operator.up`; `*` and `>` are wildcards.
        @required subject: String = String::new(),
        /// Durable consumer shared by all nodes, created if missing; without it, `smsc-` and the source's name.
        consumer: Option<String> = None,
        /// Where a new consumer begins: `all` commands, only `new` ones, or those since a time such as `2036-11-21T09:00:00Z`. A recreated consumer continues behind what was taken.
        @must(|start| is_start(start), "must be \"all\", \"new\" or a time such as \"2036-11-21T09:00:00Z\"")
        start: String = "all".to_owned(),
        /// Account of the messages: its policy, rate, price, limits and routes apply.
        @required account: String = String::new(),
        /// Operator of the messages; without it, routes decide.
        operator: Option<String> = None,
        /// When a command is acknowledged.
        mode: SourceMode = SourceMode::Durable,
        /// Give the account receipts. Operators are asked for them in any case.
        receipt: bool = false,
        /// Most commands under way per node and, for a consumer created here, over all nodes.
        @between(1, 100_000) in_flight: u32 = 1_000,
        /// Redelivery time of unacknowledged commands, for a consumer created here; commands under way extend it.
        @positive ack_wait: Duration = 30 * SECOND,
        /// Redelivery time of commands that cannot be taken now.
        @positive nak_delay: Duration = Duration::from_millis(500),
        /// Subject for commands that are unreadable or finally refused; a stream must cover it.
        dead_letters: String = "sms.outbound.deadletter".to_owned(),
    }
}

// === impl NatsSource ===

impl NatsSource {
    /// How its servers are reached.
    pub fn connection(&self) -> NatsConnection {
        NatsConnection {
            servers: self.servers.clone(),
            credentials_file: self.credentials_file.clone(),
            user: self.user.clone(),
            password_file: self.password_file.clone(),
            token_file: self.token_file.clone(),
            ca_file: self.ca_file.clone(),
            timeout: self.timeout,
        }
    }

    /// Where its first consumer begins; what is none of these is refused by the checks.
    pub fn start(&self) -> SourceStart {
        match self.start.as_str() {
            "new" => SourceStart::New,
            time => moment::parse(time).map_or(SourceStart::All, SourceStart::Since),
        }
    }

    /// The name of its consumer.
    pub fn consumer(&self) -> String {
        match &self.consumer {
            Some(name) => name.clone(),
            // A name of a consumer has no full stop.
            None => format!("smsc-{}", self.name.replace('.', "_")),
        }
    }
}

/// Whether it says where a consumer begins.
fn is_start(text: &str) -> bool {
    ["all", "new"].contains(&text) || moment::parse(text).is_some()
}
