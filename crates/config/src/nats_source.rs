//! `[[nats_source]]`: streams of NATS JetStream whose commands become messages. Read by the task of NATS sources
//! (`actors/control/nats_source.rs`).

use std::path::PathBuf;
use std::time::Duration;

use super::nats::NatsConnection;
use super::section::{choice, section};
use smsc_domain::moment;

const SECOND: Duration = Duration::from_secs(1);

choice! {
    /// When a command is acknowledged.
    pub enum SourceMode {
        /// When its message is stored here: it waits here for its operator.
        Durable = "durable",
        /// When the operator has answered its message: above the operator's rate, or without a bind, it waits in the stream.
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

section! {
    /// `[[nats_source]]`: a stream of NATS JetStream whose commands become messages of an account: docs/events.md.
    pub struct NatsSource {
        /// Its name in the API and in metrics.
        @required @name name: String = String::new(),
        /// Commands are taken.
        enabled: bool = true,
        /// Servers of one cluster, such as `["nats://nats.example:4222"]`, or `tls://…`.
        @required servers: Vec<String> = Vec::new(),
        /// File with a user's JWT and seed, as `nsc` writes it.
        credentials_file: Option<PathBuf> = None,
        /// A user's name, with `password_file`.
        user: Option<String> = None,
        /// File with the password of `user`.
        password_file: Option<PathBuf> = None,
        /// File with a token to log in with.
        token_file: Option<PathBuf> = None,
        /// File with the authorities (PEM) that may issue the servers' certificates; without it, those that the machine trusts.
        ca_file: Option<PathBuf> = None,
        /// The servers count as unreachable when they have not answered for this time.
        @positive timeout: Duration = 5 * SECOND,
        /// The stream, which must exist.
        stream: String = "SMS_DISPATCH".to_owned(),
        /// The subject of its commands, such as `smpp.operator.up`; `*` and `>` stand for any.
        @required subject: String = String::new(),
        /// The durable consumer that all nodes share. One that exists is used as it is; otherwise it is created. Without it `smsc-` and the name of the source.
        consumer: Option<String> = None,
        /// Where the first consumer begins on a stream that already has commands: `all` of them, only `new` ones, or those since a time, such as `2036-11-21T09:00:00Z`. A consumer that exists goes on where it is, and one that has to be made again begins behind what was taken.
        @must(|start| is_start(start), "must be \"all\", \"new\" or a time such as \"2036-11-21T09:00:00Z\"")
        start: String = "all".to_owned(),
        /// The account whose messages the commands become: its policy, rate, price, limits and routes count.
        @required account: String = String::new(),
        /// The operator that gets them, whatever routes say; without it, routes decide.
        operator: Option<String> = None,
        /// When a command is acknowledged.
        mode: SourceMode = SourceMode::Durable,
        /// Whether the account gets receipts, on its binds or as callbacks. Operators are asked for them in any case.
        receipt: bool = false,
        /// Most commands that a node has under way, and, where the consumer is created, that all nodes have together.
        @between(1, 100_000) in_flight: u32 = 1_000,
        /// A command that was not acknowledged within this time is delivered again, where the consumer is created. What is under way asks for more time.
        @positive ack_wait: Duration = 30 * SECOND,
        /// A command that cannot be taken now is delivered again after this time.
        @positive nak_delay: Duration = Duration::from_millis(500),
        /// Where commands go that cannot be read, or are refused for good; a stream must take it in.
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
