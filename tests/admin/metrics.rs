//! Metrics count attempts, latencies, queues, mailboxes, commits, throttling.

use std::collections::BTreeSet;

use crate::harness::{
    Peer, Simulator, Smsc, debian_tool, python_script, run_reading, submit, until,
};

const MESSAGES: usize = 40;

#[test]
fn traffic_is_counted_where_it_passes() {
    let operator = Simulator::new().start();
    let smsc = Smsc::new()
        .account("test", "test")
        // Slow enough that the queue has to pause.
        .operator_with("up", operator.address(), "rate = 50.0\nburst = 1")
        .route("", "up")
        .start();
    smsc.wait_for_binds("up", 1);
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    (0..MESSAGES).for_each(|_| drop(esme.submit(submit("447700900123", "hello"))));
    (0..MESSAGES).for_each(|_| drop(esme.deliver()));
    let admin = smsc.admin();
    let all = Some(MESSAGES as f64);
    until("the last acknowledgement to be counted", || {
        (admin.metric("smsc_receipts_acknowledged_total") == all).then_some(())
    });
    for name in [
        "smsc_attempts_total{queue=\"operator:up\",result=\"ok\"}",
        "smsc_attempts_total{queue=\"account:test\",result=\"ok\"}",
        "smsc_attempt_seconds_count{queue=\"operator:up\"}",
        "smsc_message_seconds_count{state=\"DELIVERED\"}",
        "smsc_messages_final_total{state=\"DELIVERED\"}",
        "smsc_receipt_seconds_count",
    ] {
        assert_eq!(admin.metric(name), all, "{name}");
    }
    // Snapshots are a moment behind.
    for name in [
        "smsc_queue_enqueued_total{queue=\"operator:up\"}",
        "smsc_queue_granted_total{queue=\"operator:up\"}",
        "smsc_queue_enqueued_total{queue=\"account:test\"}",
    ] {
        until(name, || (admin.metric(name) == all).then_some(()));
    }
    let receipts = "smsc_receipts_waiting{queue=\"account:test\"}";
    until(receipts, || {
        (admin.metric(receipts) == Some(0.0)).then_some(())
    });
    let window = "smsc_bind_window{name=\"up\",direction=\"out\"}";
    assert_eq!(admin.metric(window), Some(100.0));
    for actor in [
        "ingest",
        "queue",
        "session",
        "correlation",
        "receipts",
        "throttle",
    ] {
        let of = |name: &str| admin.metric(&format!("smsc_actor_{name}{{actor=\"{actor}\"}}"));
        let handled = of("handling_seconds_count");
        assert!(handled > Some(0.0), "{actor}: {handled:?}");
        assert!(of("mailbox_wait_seconds_count") >= handled, "{actor}");
        until(&format!("the mailbox of {actor} to be empty"), || {
            (of("mailbox_depth") == Some(0.0)).then_some(())
        });
    }
    let waits = admin.metric("smsc_throttle_waits_total");
    assert!(waits > Some(0.0), "{waits:?}");
    let commits = admin.metric("smsc_store_commit_latency_seconds_count");
    assert!(commits > Some(0.0), "{commits:?}");
    let rows = admin.metric("smsc_store_commit_rows_sum");
    assert!(rows >= Some(4.0 * MESSAGES as f64), "{rows:?}");
    smsc.assert_no_panic();
}

/// The older text format, for scrapers that know no other: promtool finds nothing wrong with it, and it has the same
/// series.
#[test]
fn who_asks_for_the_text_of_prometheus_gets_it() {
    let operator = Simulator::new().start();
    let smsc = Smsc::new().relaying_to(operator.address()).start();
    smsc.wait_for_binds("up", 1);
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    esme.submit(submit("447700900123", "hello"));
    esme.deliver();
    let get = |accept: &str| {
        let mut answer = ureq::get(format!("http://{}/metrics", smsc.http()))
            .header("Accept", accept)
            .header("Authorization", "Bearer harness-token")
            .call()
            .unwrap();
        let kind = answer.headers()["content-type"]
            .to_str()
            .unwrap()
            .to_owned();
        (kind, answer.body_mut().read_to_string().unwrap())
    };
    // Series that appear when something first happens are there.
    until("the end of the message to be read", || {
        smsc.admin()
            .metric("smsc_outbox_read_total{reader=\"cdr\"}")
    });
    let (kind, plain) = get("text/plain;version=0.0.4");
    assert_eq!(kind, "text/plain; version=0.0.4; charset=utf-8");
    let file = smsc.file("metrics.txt");
    std::fs::write(&file, &plain).unwrap();
    let mut promtool = debian_tool("promtool");
    let checked = run_reading(promtool.args(["check", "metrics"]), &file);
    assert!(checked.success, "{}{}", checked.stdout, checked.stderr);
    assert_eq!(checked.stderr, "");

    let (kind, open) =
        get("application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5");
    assert!(kind.starts_with("application/openmetrics-text"), "{kind}");
    let series = |page: &str| -> BTreeSet<String> {
        let samples = page.lines().filter(|line| !line.starts_with('#'));
        samples
            .filter_map(|line| line.split([' ', '{']).next().map(str::to_owned))
            .collect()
    };
    assert_eq!(series(&plain), series(&open));
}

/// The parser of the official Python client accepts the page, and buckets of latency name a trace that exists.
#[test]
fn histograms_have_exemplars_for_who_asks_for_open_metrics() {
    let operator = Simulator::new().start();
    let smsc = Smsc::new()
        .toml("[telemetry]\ntrace_ratio = 1.0")
        .relaying_to(operator.address())
        // Nobody listens there: spans are lost, and metrics do not care.
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
        .start();
    smsc.wait_for_binds("up", 1);
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let id = esme.submit(submit("447700900123", "hello"));
    esme.deliver();
    smsc.wait_for_final(&id);
    let trace = smsc.admin().get(&format!("/v1/messages/{id}/trace"));
    let known = [
        "smsc_attempt_seconds_bucket",
        "smsc_ingest_seconds_bucket",
        "smsc_message_seconds_bucket",
        "smsc_receipt_seconds_bucket",
    ];
    let read = until("every histogram to have an exemplar", || {
        let (_, page) = smsc.admin().text("/metrics").ok()?;
        let file = smsc.file("metrics.txt");
        std::fs::write(&file, &page).unwrap();
        let parsed = run_reading(&mut python_script("open_metrics.py", &[]), &file);
        assert!(parsed.success, "{}{page}", parsed.stderr);
        let read: serde_json::Value = serde_json::from_str(&parsed.stdout).unwrap();
        let exemplars = read["exemplars"].as_array().unwrap();
        let has = |name: &&str| exemplars.iter().any(|one| one["name"] == **name);
        known.iter().all(has).then(|| read.clone())
    });
    assert!(read["families"].as_u64() > Some(50), "{read}");
    for exemplar in read["exemplars"].as_array().unwrap() {
        assert_eq!(exemplar["trace_id"], trace["trace_id"], "{exemplar}");
        assert!(exemplar["value"].as_f64() >= Some(0.0), "{exemplar}");
    }
}
