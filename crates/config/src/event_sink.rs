//! `[[event_sink]]`: who hears of what happens to messages and binds, by a broker.
//!
//! Compiled into the plan (`actors/context/plan/sinks.rs`); the task Export publishes
//! (`actors/control/export/sinks.rs`). A subject or topic is a template: [`EventSink::destination_for`] fills it in.

use std::path::PathBuf;
use std::time::Duration;

use super::section::settings;
use super::{KafkaConnection, KafkaLogin, NatsConnection, SaslMechanism};

settings! {
    /// The broker.
    pub enum SinkKind {
        /// A stream of NATS JetStream.
        Nats = "nats",
        /// Topics of a Kafka cluster.
        Kafka = "kafka",
    }

    /// An event.
    pub enum SinkEventKind {
        /// A message of an account is stored.
        Accepted = "accepted",
        /// A message that an operator brought is stored.
        Mo = "mo",
        /// An operator took a message, or an account its MO message.
        Sent = "sent",
        /// A message will be retried.
        Retry = "retry",
        /// A message's call detail record, in its final state.
        Ended = "ended",
        /// An operator has reported the end of a message.
        Dlr = "dlr",
        /// An operator is bound, unbound, or back after a failover.
        Health = "health",
    }

    /// Format of events.
    pub enum SinkFormat {
        /// A JSON object.
        Json = "json",
        /// `smsc.events.v1.Event`, as protobuf.
        Protobuf = "protobuf",
    }

    /// Id of messages in events.
    pub enum SinkMessageId {
        /// The SMSC's id.
        Own = "own",
        /// The sender's id, such as the messageId of a command; else ours.
        Reference = "reference",
    }

    /// `[[event_sink]]`: a broker for events of messages and binds: docs/events.md. One node publishes for all.
    pub struct EventSink {
        /// Name in the API and metrics.
        @required @name name: String = String::new(),
        /// The broker.
        kind: SinkKind = SinkKind::Nats,
        /// If false, no events are written or published; waiting ones stay.
        enabled: bool = true,
        /// Servers of one cluster: `["nats://nats.example:4222"]` or `tls://…` of NATS; `["kafka.example:9092"]` of Kafka.
        @required servers: Vec<String> = Vec::new(),
        /// Credentials file of a NATS user, as `nsc` writes it.
        credentials_file: Option<PathBuf> = None,
        /// User for `password_file`; SASL with Kafka.
        user: Option<String> = None,
        /// File with the password of `user`.
        password_file: Option<PathBuf> = None,
        /// SASL mechanism for Kafka. PLAIN without `tls` exposes the password to the network.
        sasl_mechanism: SaslMechanism = SaslMechanism::ScramSha512,
        /// File with a login token for NATS.
        token_file: Option<PathBuf> = None,
        /// Use TLS to Kafka; for NATS, write `tls://…`.
        tls: bool = false,
        /// PEM file of trusted CAs, instead of the system's.
        ca_file: Option<PathBuf> = None,
        /// PEM file of our certificate for Kafka.
        cert_file: Option<PathBuf> = None,
        /// PEM file of the key of `cert_file`.
        key_file: Option<PathBuf> = None,
        /// Events to publish.
        @filled("is empty; write [\"ended\"], or `enabled = false`")
        events: Vec<SinkEventKind> = vec![SinkEventKind::Ended],
        /// NATS subject with `{event}`, `{operator}` and `{account}`: `"sms.events.{event}"`. A stream must cover all of them.
        subject: String = DEFAULT_SUBJECT.to_owned(),
        /// Kafka topic with the same placeholders. Topics must exist.
        topic: String = DEFAULT_TOPIC.to_owned(),
        /// Format of events.
        format: SinkFormat = SinkFormat::Json,
        /// Meaning of `messageId` in the JSON of `dlr` events.
        message_id: SinkMessageId = SinkMessageId::Own,
        /// Servers count as unreachable after this time without an acknowledgement.
        @positive timeout: Duration = Duration::from_secs(5),
    }
}

/// Where events go when nothing is said.
pub(super) const DEFAULT_SUBJECT: &str = "sms.events.status";
pub(super) const DEFAULT_TOPIC: &str = "sms.events";
/// What stands for somebody in a subject or topic where there is nobody.
const NOBODY: &str = "none";

// === impl EventSink ===

impl EventSink {
    /// How its servers of NATS are reached.
    pub fn nats_connection(&self) -> NatsConnection {
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

    /// How its brokers of Kafka are reached.
    pub fn kafka_connection(&self) -> KafkaConnection {
        let login = |(user, password_file): (&String, &PathBuf)| KafkaLogin {
            mechanism: self.sasl_mechanism,
            user: user.clone(),
            password_file: password_file.clone(),
        };
        KafkaConnection {
            servers: self.servers.clone(),
            login: self
                .user
                .as_ref()
                .zip(self.password_file.as_ref())
                .map(login),
            tls: self.tls,
            ca_file: self.ca_file.clone(),
            cert_file: self.cert_file.clone(),
            key_file: self.key_file.clone(),
            timeout: self.timeout,
        }
    }

    /// The subject or topic of its events, before it is filled in.
    pub fn destination(&self) -> &str {
        match self.kind {
            SinkKind::Nats => &self.subject,
            SinkKind::Kafka => &self.topic,
        }
    }

    /// The subject or topic of an event about an operator and an account; each may be empty.
    pub fn destination_for(&self, event: SinkEventKind, operator: &str, account: &str) -> String {
        let template = self.destination();
        if !template.contains('{') {
            return template.to_owned();
        }
        template
            .replace("{event}", event.as_str())
            .replace("{operator}", &self.token(operator))
            .replace("{account}", &self.token(account))
    }

    /// A name as one word of a subject or topic.
    fn token(&self, name: &str) -> String {
        if name.is_empty() {
            return NOBODY.to_owned();
        }
        let is_plain = |sign: char| match self.kind {
            SinkKind::Nats => sign.is_ascii_graphic() && !".*>".contains(sign),
            SinkKind::Kafka => sign.is_ascii_alphanumeric() || "-_".contains(sign),
        };
        let plain = |sign: char| if is_plain(sign) { sign } else { '_' };
        name.chars().map(plain).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_destination_names_what_it_is_about() {
        let said = |kind, written: &str| {
            let sink = EventSink {
                kind,
                subject: written.to_owned(),
                topic: written.to_owned(),
                ..EventSink::default()
            };
            sink.destination_for(SinkEventKind::Mo, "up.1 ä+", "")
        };
        let names = "a.{event}.{operator}.{account}";
        assert_eq!(said(SinkKind::Nats, "sms.dlr.inbound"), "sms.dlr.inbound");
        assert_eq!(said(SinkKind::Nats, names), "a.mo.up_1__+.none");
        assert_eq!(said(SinkKind::Kafka, names), "a.mo.up_1___.none");
    }
}
