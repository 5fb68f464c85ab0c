//! The metrics of smpp-connector, made of ours: the same counts under the names and labels of that service.
//!
//! Our own page is read line by line, so that nothing is counted twice and nothing is counted for this face alone; only
//! the current rate needs a look each second. What is not about an operator is left out.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use prometheus_client::encoding::text;
use prometheus_client::registry::Registry;

use super::sessions::{STATES, Session};
use crate::actors::context::NodeContext;
use crate::actors::runtime::locks::lock;
use crate::domain::queue_name::QueueName;

/// The window of the current rate.
const SECOND: Duration = Duration::from_secs(1);

/// A label of ours, the one of theirs, and what becomes of its value.
type Renamed = (&'static str, &'static str, fn(&str) -> &str);

/// One of our series: its name, what to keep of it, and the series that it is part of.
struct SeriesSource {
    ours: &'static str,
    theirs: usize,
    /// The label that names the operator.
    operator: &'static str,
    /// A label that must have this value.
    only: Option<(&'static str, &'static str)>,
    /// A label of ours that becomes one of theirs, by value.
    label: Option<Renamed>,
}

/// Name, type and help text of their metrics.
const THEIRS: [(&str, &str, &str); 12] = [
    ("sessions_total", "gauge", "Current sessions by state"),
    (
        "submit_sm_total",
        "counter",
        "submit_sm PDUs sent, by result",
    ),
    (
        "submit_sm_duration_seconds",
        "histogram",
        "Time from submit_sm to submit_sm_resp",
    ),
    (
        "dlr_received_total",
        "counter",
        "Delivery receipts received, by state",
    ),
    (
        "dlr_correlation_not_found_total",
        "counter",
        "Delivery receipts without a matching message",
    ),
    (
        "tps_throttle_total",
        "counter",
        "Messages that went back, and times that messages waited, for the rate limit",
    ),
    (
        "tps_current",
        "gauge",
        "Messages answered in the last second",
    ),
    (
        "reconnect_attempts_total",
        "counter",
        "Failed connections and lost binds",
    ),
    (
        "enquire_link_timeout_total",
        "counter",
        "enquire_link without an answer in time",
    ),
    ("pdu_bytes_sent_total", "counter", "Octets of SMPP sent"),
    (
        "pdu_bytes_received_total",
        "counter",
        "Octets of SMPP received",
    ),
    (
        "long_message_segments_total",
        "counter",
        "PDUs of long messages, by strategy",
    ),
];

const SOURCES: [SeriesSource; 13] = [
    SeriesSource {
        label: Some(("result", "status", result)),
        ..source("smsc_attempts_total", 1, "queue")
    },
    SeriesSource {
        label: Some(("le", "le", same)),
        ..source("smsc_attempt_seconds_bucket", 2, "queue")
    },
    source("smsc_attempt_seconds_sum", 2, "queue"),
    source("smsc_attempt_seconds_count", 2, "queue"),
    SeriesSource {
        label: Some(("state", "status", same)),
        ..source("smsc_operator_receipts_total", 3, "operator")
    },
    SeriesSource {
        only: Some(("result", "unmatched")),
        ..source("smsc_operator_receipts_total", 4, "operator")
    },
    source("smsc_operator_throttle_waits_total", 5, "queue"),
    source("smsc_operator_commands_throttled_total", 5, "queue"),
    source("smsc_operator_reconnects_total", 7, "operator"),
    source("smsc_operator_enquire_link_timeouts_total", 8, "operator"),
    SeriesSource {
        only: Some(("direction", "sent")),
        ..source("smsc_operator_octets_total", 9, "operator")
    },
    SeriesSource {
        only: Some(("direction", "received")),
        ..source("smsc_operator_octets_total", 10, "operator")
    },
    SeriesSource {
        label: Some(("form", "strategy", strategy)),
        ..source("smsc_operator_long_messages_total", 11, "operator")
    },
];

const fn source(ours: &'static str, theirs: usize, operator: &'static str) -> SeriesSource {
    SeriesSource {
        ours,
        theirs,
        operator,
        only: None,
        label: None,
    }
}

fn same(value: &str) -> &str {
    value
}

fn result(ours: &str) -> &str {
    match ours {
        "ok" => "success",
        "throttled" => "throttled",
        _ => "error",
    }
}

fn strategy(ours: &str) -> &str {
    match ours {
        "parts" => "csms",
        _ => "tlv",
    }
}

/// Answers of the last second, by operator; looked at each second.
#[derive(Debug, Default)]
pub struct Speeds(Mutex<HashMap<String, (u64, u64)>>);

// === impl Speeds ===

impl Speeds {
    /// Looks for as long as the process runs.
    pub async fn run(self: Arc<Self>, node: Arc<NodeContext>) {
        let mut each_second = tokio::time::interval(SECOND);
        loop {
            each_second.tick().await;
            let queues = node.queues();
            let totals = queues.iter().filter_map(|queue| {
                let id = QueueName::parse(&queue.name).operator()?;
                Some((id.to_owned(), queue.attempts.total()))
            });
            self.look(totals);
        }
    }

    fn look(&self, totals: impl Iterator<Item = (String, u64)>) {
        let mut known = lock(&self.0);
        *known = totals
            .map(|(id, total)| {
                let before = known.get(&id).map_or(total, |(before, _)| *before);
                (id, (total, total.saturating_sub(before)))
            })
            .collect();
    }

    fn of(&self, id: &str) -> u64 {
        lock(&self.0).get(id).map_or(0, |(_, speed)| *speed)
    }
}

/// The whole page.
pub fn page(
    registry: &Registry,
    operators: &[Session],
    speeds: &Speeds,
) -> Result<String, fmt::Error> {
    let mut ours = String::with_capacity(32 * 1024);
    text::encode_registry(&mut ours, registry)?;
    let mut all = translated(&ours);
    for one in operators {
        let id = &one.operator_id;
        for state in STATES {
            let labels = format!("operator_id=\"{id}\",state=\"{state}\"");
            let is = u8::from(one.state == state);
            // Both of a pair.
            *all.entry((0, String::new(), labels)).or_default() += f64::from(is);
        }
        let labels = format!("operator_id=\"{id}\"");
        let key = (6, String::new(), labels);
        all.insert(key, speeds.of(id) as f64);
    }
    Ok(written(&all))
}

/// Their series by the index of the metric, the ending of the name, and the labels. Series of ours that become the same
/// one are added up.
type Series = BTreeMap<(usize, String, String), f64>;

fn translated(ours: &str) -> Series {
    let mut all = Series::new();
    for line in ours.lines().filter(|line| !line.starts_with('#')) {
        let Some((name, rest)) = line.split_once('{') else {
            continue;
        };
        for source in SOURCES.iter().filter(|source| source.ours == name) {
            if let Some((labels, value)) = read(source, rest) {
                let ending = match source.theirs {
                    2 => name.trim_start_matches("smsc_attempt_seconds").to_owned(),
                    _ => String::new(),
                };
                *all.entry((source.theirs, ending, labels)).or_default() += value;
            }
        }
    }
    all
}

/// The labels as theirs, and the value; `None` for what is not meant.
fn read(source: &SeriesSource, rest: &str) -> Option<(String, f64)> {
    // A label of an account may have any character; those of operators have no brace.
    let (labels, value) = rest.rsplit_once("} ")?;
    let value = value.split(' ').next()?.parse().ok()?;
    let named = |wanted: &str| {
        let mut pairs = labels.split(',').filter_map(|pair| pair.split_once('='));
        let (_, value) = pairs.find(|(name, _)| *name == wanted)?;
        Some(value.trim_matches('"'))
    };
    let id = named(source.operator)?;
    let id = match source.operator {
        "queue" => QueueName::parse(id).operator()?,
        _ => id,
    };
    if let Some((label, value)) = source.only
        && named(label) != Some(value)
    {
        return None;
    }
    let mut theirs = format!("operator_id=\"{id}\"");
    if let Some((ours, name, by)) = source.label {
        theirs.push_str(&format!(",{name}=\"{}\"", by(named(ours)?)));
    }
    Some((theirs, value))
}

fn written(all: &Series) -> String {
    let mut page = String::new();
    for (index, (name, kind, help)) in THEIRS.iter().enumerate() {
        let name = format!("smpp_connector_{name}");
        page.push_str(&format!("# HELP {name} {help}\n# TYPE {name} {kind}\n"));
        let own = all.iter().filter(|((theirs, ..), _)| *theirs == index);
        let mut own: Vec<_> = own.collect();
        // Buckets of one operator ascend, as in any exposition.
        own.sort_by(|((_, ending, labels), _), ((_, other_ending, other), _)| {
            let operator = |labels: &str| labels.split(',').next().map(str::to_owned);
            (operator(labels), ending)
                .cmp(&(operator(other), other_ending))
                .then(bound(labels).total_cmp(&bound(other)))
        });
        for ((_, ending, labels), value) in own {
            page.push_str(&format!("{name}{ending}{{{labels}}} {value}\n"));
        }
    }
    page
}

/// The upper bound of a bucket; 0 for what is none.
fn bound(labels: &str) -> f64 {
    let le = labels.split("le=\"").nth(1).unwrap_or_default();
    match le.trim_end_matches('"') {
        "+Inf" => f64::INFINITY,
        le => le.parse().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::sessions::ConnectorBindMode;
    use super::*;
    use crate::pb::MessageState;
    use crate::telemetry::metrics::Metrics;

    #[test]
    fn our_counts_have_their_names() {
        let mut registry = Registry::default();
        let metrics = Metrics::new(&mut registry);
        let meter = metrics.operator("up");
        meter.reconnects.inc();
        meter.octets_sent.inc_by(70);
        meter.octets_received.inc_by(33);
        meter.parts.inc_by(3);
        meter.payloads.inc();
        metrics.receipts_of("up", MessageState::Delivered, "matched", 2);
        metrics.receipts_of("up", MessageState::Delivered, "unmatched", 1);
        metrics.waits_of("operator:up").inc();
        metrics.commands_throttled_of("operator:up").inc_by(3);
        metrics.waits_of("account:esme").inc();
        metrics.attempts_of("operator:up");
        let session = Session {
            operator_id: "up".to_owned(),
            operator_name: "up".to_owned(),
            state: "BOUND",
            bind_mode: ConnectorBindMode::Transceiver,
            last_bound_at: None,
            reconnect_attempts: 0,
        };
        let speeds = Speeds::default();
        speeds.look([("up".to_owned(), 5)].into_iter());
        speeds.look([("up".to_owned(), 12)].into_iter());
        let page = page(&registry, &[session], &speeds).unwrap_or_default();
        let lines: Vec<&str> = page.lines().collect();
        for line in [
            "# TYPE smpp_connector_submit_sm_duration_seconds histogram",
            "smpp_connector_sessions_total{operator_id=\"up\",state=\"BOUND\"} 1",
            "smpp_connector_sessions_total{operator_id=\"up\",state=\"UNBOUND\"} 0",
            "smpp_connector_submit_sm_total{operator_id=\"up\",status=\"success\"} 0",
            "smpp_connector_submit_sm_total{operator_id=\"up\",status=\"error\"} 0",
            "smpp_connector_submit_sm_duration_seconds_count{operator_id=\"up\"} 0",
            "smpp_connector_submit_sm_duration_seconds_bucket{operator_id=\"up\",le=\"+Inf\"} 0",
            "smpp_connector_dlr_received_total{operator_id=\"up\",status=\"DELIVERED\"} 3",
            "smpp_connector_dlr_correlation_not_found_total{operator_id=\"up\"} 1",
            "smpp_connector_tps_throttle_total{operator_id=\"up\"} 4",
            "smpp_connector_tps_current{operator_id=\"up\"} 7",
            "smpp_connector_reconnect_attempts_total{operator_id=\"up\"} 1",
            "smpp_connector_enquire_link_timeout_total{operator_id=\"up\"} 0",
            "smpp_connector_pdu_bytes_sent_total{operator_id=\"up\"} 70",
            "smpp_connector_pdu_bytes_received_total{operator_id=\"up\"} 33",
            "smpp_connector_long_message_segments_total{operator_id=\"up\",strategy=\"csms\"} 3",
            "smpp_connector_long_message_segments_total{operator_id=\"up\",strategy=\"tlv\"} 1",
        ] {
            assert!(lines.contains(&line), "{line} is not in\n{page}");
        }
        assert!(!page.contains("esme"), "accounts are not named");
    }

    #[test]
    fn buckets_ascend() {
        let ours = "smsc_attempt_seconds_bucket{le=\"10.0\",queue=\"operator:up\"} 1\n\
                    smsc_attempt_seconds_bucket{le=\"+Inf\",queue=\"operator:up\"} 1\n\
                    smsc_attempt_seconds_bucket{le=\"2.5\",queue=\"operator:up\"} 1\n\
                    smsc_attempt_seconds_bucket{le=\"0.5\",queue=\"operator:up\"} 0\n";
        let page = written(&translated(ours));
        let bounds: Vec<f64> = page
            .lines()
            .filter(|line| line.contains("le="))
            .map(bound_of)
            .collect();
        assert_eq!(bounds, [0.5, 2.5, 10.0, f64::INFINITY]);
    }

    fn bound_of(line: &str) -> f64 {
        bound(line.split('}').next().unwrap_or_default())
    }
}
