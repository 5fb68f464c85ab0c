//! `[compat.smpp_connector]`: what makes this node stand in for the service smpp-connector, and the names of that
//! service's environment variables.
//!
//! The section is read by the sessions with operators (`actors/egress/operator_session/managed.rs`), by the start
//! (`actors/control/settings.rs`) and by the listener (`http/smpp_connector.rs`). The variables are translated into ours
//! by `smsc serve --smpp-connector`, and are never looked at otherwise: DATABASE_URL means something to many programs.
//! Invariant: a variable of ours (`SMSC_…`) wins over the one that would be translated into it.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use secrecy::SecretString;

use super::section::settings;
use super::{
    Account, Config, EventSink, NatsSource, OperatorConfig, SinkEventKind, SinkMessageId,
    SourceMode,
};
use smsc_domain::settings::Resources;

settings! {
    /// `[compat]`: the faces of other programs, for what is built around them.
    pub struct Compat {
        /// The service smpp-connector: docs/coming-from.md.
        smpp_connector: SmppConnector = SmppConnector::default(),
    }

    /// `[compat.smpp_connector]`: docs/coming-from.md.
    pub struct SmppConnector {
        /// Address of `/health`, `/ready`, `/metrics` and `/sessions`, such as `127.0.0.1:3001`; not served without it. Everybody may read them; they contain no subscribers' numbers.
        listen: Option<SocketAddr> = None,
        /// URL of the credentials service for operators with `managed = true`; `/internal/operators/ID/smpp-credentials` is appended.
        management_url: Option<String> = None,
        /// Bearer token for the service.
        management_token: Option<SecretString> = None,
        /// File with `management_token`.
        management_token_file: Option<PathBuf> = None,
        /// PEM file of trusted CAs, instead of the system's. Read at each request.
        management_ca_file: Option<PathBuf> = None,
        /// PEM file of the client certificate chain. Read at each request.
        management_cert: Option<PathBuf> = None,
        /// PEM file of the certificate's key.
        management_key: Option<PathBuf> = None,
        /// The service counts as unreachable after this time without an answer.
        @positive management_timeout: Duration = Duration::from_secs(5),
        /// Operators created at start if missing, with `managed = true`.
        @name operators: Vec<String> = Vec::new(),
        /// Servers of one NATS cluster. With them, a `[[nats_source]]` with `mode = "operator"` per entry of `operators`, its account, and `[[event_sink]]`s of receipts and binds are created if missing.
        nats_servers: Vec<String> = Vec::new(),
    }
}

/// The default port of that service.
pub const SMPP_CONNECTOR: &str = "127.0.0.1:3001";

/// Variables of that service, and what each becomes here.
const VARIABLES: [(&str, &str); 6] = [
    ("OPERATOR_IDS", "SMSC_COMPAT__SMPP_CONNECTOR__OPERATORS"),
    ("DATABASE_URL", "SMSC_POSTGRES__URL"),
    ("REDIS_URL", "SMSC_REDIS__URL"),
    (
        "OPERATOR_MGMT_URL",
        "SMSC_COMPAT__SMPP_CONNECTOR__MANAGEMENT_URL",
    ),
    ("NATS_URL", "SMSC_COMPAT__SMPP_CONNECTOR__NATS_SERVERS"),
    ("LOG_LEVEL", "SMSC_LOG__LEVEL"),
];

/// The account whose messages the commands of NATS become.
const ACCOUNT: &str = "smpp-connector";
/// The hash of random octets: nobody has a password for it, so that nobody logs in as that account.
const NO_PASSWORD: &str = "$argon2id$v=19$m=19456,t=2,p=1$u2Nn5JtCtVhHbWq0p4v1xw$Q0m3S8y6bq7mS1cWkU8f3T5o2c9vXh0JtZp4Yd6LrEs";
/// Subjects of that service.
const COMMANDS: &str = "smpp.operator.";
const RECEIPTS: &str = "sms.dlr.inbound";
const HEALTH: &str = "operator.health";

/// What else is as that service has it, unless it is configured otherwise.
const DEFAULTS: [(&str, &str); 3] = [
    ("SMSC_POSTGRES__MESSAGE_CORRELATIONS", "true"),
    ("SMSC_REDIS__LIMIT", "fixed"),
    ("SMSC_LOG__FORMAT", "json"),
];

/// Levels of that service's logger that ours has under another name.
const LEVELS: [(&str, &str); 4] = [
    ("fatal", "error"),
    ("verbose", "debug"),
    ("silly", "trace"),
    ("silent", "off"),
];

/// The environment with the variables of smpp-connector as ours, listening at `listen`.
pub fn smpp_connector_variables(
    variables: impl IntoIterator<Item = (String, String)>,
    listen: SocketAddr,
) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = variables.into_iter().collect();
    let ours: HashSet<String> = all.iter().map(|(name, _)| name.clone()).collect();
    let is_free = |name: &str| !ours.contains(name) && !ours.contains(&format!("{name}_FILE"));
    let mut more = vec![(
        "SMSC_COMPAT__SMPP_CONNECTOR__LISTEN".to_owned(),
        listen.to_string(),
    )];
    for (theirs, name) in VARIABLES {
        let value = all.iter().find(|(name, _)| name == theirs);
        if let Some((_, value)) = value.filter(|(_, value)| !value.trim().is_empty()) {
            more.push((name.to_owned(), translated(theirs, value.trim())));
        }
    }
    let has_database = ours.contains("DATABASE_URL");
    for (name, value) in DEFAULTS {
        if has_database || name != "SMSC_POSTGRES__MESSAGE_CORRELATIONS" {
            more.push((name.to_owned(), value.to_owned()));
        }
    }
    all.extend(more.into_iter().filter(|(name, _)| is_free(name)));
    all
}

fn translated(theirs: &str, value: &str) -> String {
    match theirs {
        "OPERATOR_IDS" | "NATS_URL" => {
            let items = value
                .split(',')
                .map(str::trim)
                .filter(|one| !one.is_empty());
            items.collect::<Vec<_>>().join(",")
        }
        "LOG_LEVEL" => {
            let level = value.to_ascii_lowercase();
            let known = LEVELS.iter().find(|(theirs, _)| *theirs == level);
            known.map_or(level.clone(), |(_, ours)| (*ours).to_owned())
        }
        _ => value.to_owned(),
    }
}

/// Where this process stands in for smpp-connector.
static STANDS_IN: OnceLock<SocketAddr> = OnceLock::new();

/// From now on, each reading of the process's environment understands the variables of smpp-connector. Called once by the
/// command line, before the first reading.
pub fn stand_in_for_smpp_connector(listen: SocketAddr) {
    // The first one counts: there is one command line.
    let _ = STANDS_IN.set(listen);
}

/// Where this process stands in for smpp-connector, if it does.
pub(super) fn stands_in() -> Option<SocketAddr> {
    STANDS_IN.get().copied()
}

// === impl SmppConnector ===

impl SmppConnector {
    /// `known` with the operators of `operators` that it lacks, and what connects them to NATS.
    pub fn with_resources(&self, known: &Resources) -> Resources {
        let operator = |id: &String| OperatorConfig {
            id: id.clone(),
            managed: true,
            ..OperatorConfig::default()
        };
        let is_on_nats = !self.nats_servers.is_empty() && !self.operators.is_empty();
        let mut config = Config {
            operator: self.operators.iter().map(operator).collect(),
            ..Config::default()
        };
        if is_on_nats {
            config.account.push(Account {
                system_id: ACCOUNT.to_owned(),
                password: NO_PASSWORD.into(),
                ..Account::default()
            });
            config.nats_source = self.operators.iter().map(|id| self.source(id)).collect();
            config.event_sink = vec![
                self.sink("smpp-connector-receipts", SinkEventKind::Dlr, RECEIPTS),
                self.sink("smpp-connector-health", SinkEventKind::Health, HEALTH),
            ];
        }
        let mut all = config.resources();
        all.extend(known.clone());
        all
    }

    /// The commands of an operator, by the consumer that smpp-connector has for it.
    fn source(&self, id: &str) -> NatsSource {
        NatsSource {
            name: id.to_owned(),
            servers: self.nats_servers.clone(),
            subject: format!("{COMMANDS}{id}"),
            consumer: Some(format!("{ACCOUNT}-{id}")),
            account: ACCOUNT.to_owned(),
            operator: Some(id.to_owned()),
            mode: SourceMode::Operator,
            // Its consumer goes on where it is; without one, commands that wait were sent by nobody.
            start: "all".to_owned(),
            ..NatsSource::default()
        }
    }

    fn sink(&self, name: &str, event: SinkEventKind, subject: &str) -> EventSink {
        EventSink {
            name: name.to_owned(),
            servers: self.nats_servers.clone(),
            events: vec![event],
            subject: subject.to_owned(),
            message_id: SinkMessageId::Reference,
            ..EventSink::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use smsc_domain::settings::ResourceKind;

    use super::*;

    fn of(variables: &[(&str, &str)]) -> Vec<(String, String)> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let listen = SMPP_CONNECTOR.parse().unwrap();
        smpp_connector_variables(variables.iter().map(owned), listen)
    }

    fn value<'a>(all: &'a [(String, String)], name: &str) -> Option<&'a str> {
        let mut named = all.iter().filter(|(one, _)| one == name);
        let found = named.next().map(|(_, value)| value.as_str());
        assert!(named.next().is_none(), "{name} is there twice");
        found
    }

    #[test]
    fn each_variable_becomes_one_of_ours() {
        let all = of(&[
            ("OPERATOR_IDS", " a , b,"),
            ("DATABASE_URL", "postgres://u:p@db/sms"),
            ("REDIS_URL", "redis://cache:6379"),
            ("OPERATOR_MGMT_URL", "https://ops:3000"),
            ("NATS_URL", "nats://one:4222, nats://two:4222"),
            ("LOG_LEVEL", "Verbose"),
        ]);
        for (name, wanted) in [
            ("SMSC_COMPAT__SMPP_CONNECTOR__OPERATORS", "a,b"),
            ("SMSC_POSTGRES__URL", "postgres://u:p@db/sms"),
            ("SMSC_POSTGRES__MESSAGE_CORRELATIONS", "true"),
            ("SMSC_REDIS__URL", "redis://cache:6379"),
            ("SMSC_REDIS__LIMIT", "fixed"),
            (
                "SMSC_COMPAT__SMPP_CONNECTOR__MANAGEMENT_URL",
                "https://ops:3000",
            ),
            (
                "SMSC_COMPAT__SMPP_CONNECTOR__NATS_SERVERS",
                "nats://one:4222,nats://two:4222",
            ),
            ("SMSC_COMPAT__SMPP_CONNECTOR__LISTEN", "127.0.0.1:3001"),
            ("SMSC_LOG__LEVEL", "debug"),
            ("SMSC_LOG__FORMAT", "json"),
        ] {
            assert_eq!(value(&all, name), Some(wanted), "{name}");
        }
    }

    #[test]
    fn our_own_variables_win() {
        let all = of(&[
            ("DATABASE_URL", "postgres://theirs"),
            ("SMSC_POSTGRES__URL_FILE", "/run/secrets/ours"),
            ("LOG_LEVEL", "info"),
            ("SMSC_LOG__LEVEL", "trace"),
            ("SMSC_LOG__FORMAT", "text"),
        ]);
        assert_eq!(value(&all, "SMSC_POSTGRES__URL"), None);
        assert_eq!(value(&all, "SMSC_LOG__LEVEL"), Some("trace"));
        assert_eq!(value(&all, "SMSC_LOG__FORMAT"), Some("text"));
    }

    #[test]
    fn commands_and_events_of_its_broker_are_connected_once() {
        let connector = SmppConnector {
            operators: vec!["a".to_owned(), "b".to_owned()],
            nats_servers: vec!["nats://one:4222".to_owned()],
            ..SmppConnector::default()
        };
        let all = connector.with_resources(&Resources::default());
        let mut of = HashMap::<ResourceKind, usize>::new();
        all.keys()
            .for_each(|key| *of.entry(key.kind).or_default() += 1);
        assert_eq!(of[&ResourceKind::Operator], 2);
        assert_eq!(of[&ResourceKind::Account], 1);
        assert_eq!(of[&ResourceKind::NatsSource], 2);
        assert_eq!(of[&ResourceKind::EventSink], 2);
        assert_eq!(connector.with_resources(&all), all);
        // Without a broker, and without an operator, there is nothing of it.
        let without = SmppConnector {
            nats_servers: Vec::new(),
            ..connector
        };
        let operators = without.with_resources(&Resources::default());
        assert_eq!(operators.len(), 2);
    }

    #[test]
    fn without_a_database_there_is_no_table() {
        let all = of(&[("OPERATOR_IDS", "a"), ("REDIS_URL", "")]);
        assert_eq!(value(&all, "SMSC_POSTGRES__MESSAGE_CORRELATIONS"), None);
        assert_eq!(value(&all, "SMSC_REDIS__URL"), None);
    }
}
