//! `docs/metrics.md`, made from what is exposed.

use prometheus_client::encoding::text;
use prometheus_client::registry::Registry;

use super::gauges::{self, push};
use super::process;
use crate::domain::policy::PolicyRefusal;
use crate::pb::MessageState;
use crate::telemetry::metrics::{
    ApiLabel, CallbackLabel, LocalLabel, Metrics, OperationLabel, ReasonLabel, ResultLabel,
    status_label,
};

const INTRODUCTION: &str = "\
# Metrics

`GET /metrics` answers in OpenMetrics, or in the text format of Prometheus (0.0.4) to clients that accept only `text/plain`;
by default without a token. Written by `SMSC_BLESS=1 cargo test --test docs docs_metrics`.

Series of a counter end in `_total`; a histogram has `_bucket`, `_sum` and `_count`. No label holds a subscriber's number.

In OpenMetrics, `smsc_attempt_seconds`, `smsc_ingest_seconds`, `smsc_message_seconds` and `smsc_receipt_seconds` have
exemplars (`trace_id`): see [Traces](day-two.md#traces).

";

const HEAD: &str = "| Metric | Kind | Labels | Meaning |\n|---|---|---|---|\n";

/// The page.
pub fn markdown() -> String {
    let mut page = INTRODUCTION.to_owned();
    page.push_str("## Counted as it happens\n\n");
    page.push_str(HEAD);
    let exposed = exposed();
    for (name, help) in Metrics::reference() {
        let (kind, labels) = kind_and_labels(&exposed, name);
        row(&mut page, name, kind, &labels, help);
    }
    page.push_str("\n## Read when they are scraped\n\n");
    page.push_str(HEAD);
    for family in gauges::FAMILIES {
        row(
            &mut page,
            family.name,
            family.kind.name(),
            family.labels,
            family.help,
        );
    }
    page.push_str("\n## About the process\n\nFrom `/proc/self`, on Linux.\n\n");
    page.push_str(HEAD);
    for family in process::FAMILIES {
        row(&mut page, family.name, family.kind.name(), "", family.help);
    }
    page
}

fn row(page: &mut String, name: &str, kind: &str, labels: &str, help: &str) {
    let suffix = if kind == "counter" { "_total" } else { "" };
    push(
        page,
        format_args!("| `{name}{suffix}` | {kind} | {labels} | {help} |\n"),
    );
}

/// The registry's page with one sample of every family: a family without samples is left out.
fn exposed() -> String {
    let mut registry = Registry::default();
    let metrics = Metrics::new(&mut registry);
    metrics.refused(0);
    metrics.states();
    metrics.mailbox("ingest");
    metrics.attempts_of("operator:up");
    metrics.operator("up");
    metrics.receipts_of("up", MessageState::Delivered, "matched", 0);
    metrics.waits_of("operator:up");
    metrics.commands_throttled_of("operator:up");
    metrics.attempt_refused("operator:up", 0x08);
    metrics.not_served("home", "refused", 1);
    let mut home = metrics.gsm("home");
    home.answered_handset(0);
    home.screened("none", "pass");
    home.home_routed("questions_answered");
    for family in [
        &metrics.traces,
        &metrics.spans_dropped,
        &metrics.connections_failed,
        &metrics.local_connections_ended,
        &metrics.binds_refused_by_reason,
        &metrics.console_sign_ins_refused,
        &metrics.not_covered,
    ] {
        family.get_or_create_owned(&ReasonLabel { reason: "full" });
    }
    metrics.events_read("cdr", 1, 0);
    metrics.events_waiting("cdr", 1, 0);
    metrics.know_sink("billing");
    let callback = CallbackLabel {
        account: "test".to_owned(),
        result: "ok",
    };
    metrics.callbacks.get_or_create(&callback).inc();
    let operation = OperationLabel {
        operation: "query_sm",
        status: status_label(0).status,
    };
    metrics.operations.get_or_create(&operation).inc();
    let request = ApiLabel {
        method: "POST",
        route: "/v1/messages".to_owned(),
        status: 202,
    };
    metrics.api_requests.get_or_create(&request).inc();
    let request = LocalLabel {
        request: "submit",
        result: "ok",
    };
    metrics.local_requests.get_or_create(&request).inc();
    metrics.policy_refused("test", PolicyRefusal::OverLimit);
    metrics.ruled("info", "deliver");
    metrics.replied("info", "sent");
    metrics.no_such_number("local");
    for family in [
        &metrics.lookups,
        &metrics.lookups_given_up,
        &metrics.imsi_lookups,
        &metrics.duplicates,
        &metrics.idempotency,
    ] {
        family.get_or_create_owned(&ResultLabel { result: "found" });
    }
    metrics.binds_refused.get_or_create(&status_label(0)).inc();
    metrics.malformed.get_or_create(&status_label(0)).inc();
    let mut page = String::new();
    // Writing to a String cannot fail.
    let _ = text::encode_registry(&mut page, &registry);
    page
}

/// The kind of a family, and its label names as its first sample shows them.
fn kind_and_labels<'a>(exposed: &'a str, name: &str) -> (&'a str, String) {
    let mut lines = exposed.lines();
    let kind = lines
        .by_ref()
        .find_map(|line| {
            line.strip_prefix("# TYPE ")?
                .strip_prefix(name)?
                .strip_prefix(' ')
        })
        .unwrap_or_default();
    let sample = lines.next().unwrap_or_default();
    let labels: Vec<&str> = sample
        .split_once('{')
        .map_or("", |(_, labels)| labels)
        .split(',')
        .filter_map(|pair| pair.split_once('=').map(|(label, _)| label))
        .collect();
    (kind, labels.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_has_a_kind() {
        let page = markdown();
        for (name, _) in Metrics::reference() {
            assert!(page.contains(&format!("| `{name}")), "{name} is missing");
        }
        assert!(!page.contains("` |  |"), "a metric without a kind:\n{page}");
        assert!(
            page.contains("| `smsc_messages_final_total` | counter | state |"),
            "{page}"
        );
    }
}
