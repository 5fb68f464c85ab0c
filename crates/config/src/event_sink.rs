//! `[[event_sink]]`: who hears of what happens to messages and binds, by a broker.
//!
//! Compiled into the plan (`actors/context/plan/sinks.rs`); the actor Export publishes
//! (`actors/control/export/sinks.rs`). A subject is a template: [`EventSink::subject_for`] fills it in.

use std::path::PathBuf;
use std::time::Duration;

use super::NatsConnection;
use super::section::{choice, section};

choice! {
    /// The broker.
    pub enum SinkKind {
        /// A stream of NATS JetStream.
        Nats = "nats",
    }
}

choice! {
    /// What has happened.
    pub enum SinkEvent {
        /// A message of an account is stored.
        Accepted = "accepted",
        /// A message that an operator brought is stored.
        Mo = "mo",
        /// An operator has taken it, or an account its MO message.
        Sent = "sent",
        /// It is tried again later.
        Retry = "retry",
        /// It is in its final state: its call detail record.
        Ended = "ended",
        /// An operator has reported its end.
        Dlr = "dlr",
        /// An operator is bound, is not, or is again after others stood in.
        Health = "health",
    }
}

choice! {
    /// How an event is written.
    pub enum SinkFormat {
        /// A JSON object.
        Json = "json",
        /// `smsc.events.v1.Event`, as protobuf.
        Protobuf = "protobuf",
    }
}

choice! {
    /// By which id messages are named.
    pub enum SinkMessageId {
        /// Ours.
        Own = "own",
        /// What its sender calls it, such as the messageId of a command; ours where it has said nothing.
        Reference = "reference",
    }
}

section! {
    /// `[[event_sink]]`: a broker that gets events of messages and binds, each written in the transaction of what it tells: docs/events.md. The node that does the work for all nodes publishes them.
    pub struct EventSink {
        /// Its name in the API and in metrics: letters, digits, `-`, `_` and `.`.
        @required name: String = String::new(),
        /// The broker.
        kind: SinkKind = SinkKind::Nats,
        /// False: nothing is written for it, and nothing published; what waits stays.
        enabled: bool = true,
        /// Servers of one cluster, such as `["nats://nats.example:4222"]`, or `tls://…`.
        @required servers: Vec<String> = Vec::new(),
        /// File with a user's JWT and seed, as `nsc` writes it.
        credentials_file: Option<PathBuf> = None,
        /// The user who logs in with `password_file`.
        user: Option<String> = None,
        /// File with the password of `user`.
        password_file: Option<PathBuf> = None,
        /// File with a token to log in with.
        token_file: Option<PathBuf> = None,
        /// File with the authorities (PEM) that may issue the servers' certificates; without it, those that the machine trusts.
        ca_file: Option<PathBuf> = None,
        /// What it wants to hear of.
        events: Vec<SinkEvent> = vec![SinkEvent::Ended],
        /// Subject of an event; `{event}`, `{operator}` and `{account}` stand for its own, such as `"sms.events.{event}"`. A stream must take all of them in.
        subject: String = "sms.events.status".to_owned(),
        /// How an event is written.
        format: SinkFormat = SinkFormat::Json,
        /// What `messageId` is in the JSON of `dlr` events.
        message_id: SinkMessageId = SinkMessageId::Own,
        /// The servers count as unreachable when they have not acknowledged events for this time.
        timeout: Duration = Duration::from_secs(5),
    }
}

/// What stands for somebody in a subject where there is nobody.
const NOBODY: &str = "none";

// === impl EventSink ===

impl EventSink {
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

    /// The subject of an event about an operator and an account; each may be empty.
    pub fn subject_for(&self, event: SinkEvent, operator: &str, account: &str) -> String {
        if !self.subject.contains('{') {
            return self.subject.clone();
        }
        self.subject
            .replace("{event}", event.as_str())
            .replace("{operator}", &token(operator))
            .replace("{account}", &token(account))
    }
}

/// A name as one token of a subject.
fn token(name: &str) -> String {
    if name.is_empty() {
        return NOBODY.to_owned();
    }
    let is_plain = |sign: char| sign.is_ascii_graphic() && !".*>".contains(sign);
    let plain = |sign: char| if is_plain(sign) { sign } else { '_' };
    name.chars().map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_names_what_it_is_about() {
        let sink = |subject: &str| EventSink {
            subject: subject.to_owned(),
            ..EventSink::default()
        };
        let said = |subject: &str| sink(subject).subject_for(SinkEvent::Mo, "up.1 a", "");
        assert_eq!(said("sms.dlr.inbound"), "sms.dlr.inbound");
        assert_eq!(said("a.{event}.{operator}.{account}"), "a.mo.up_1_a.none");
    }
}
