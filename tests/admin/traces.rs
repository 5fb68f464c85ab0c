//! One trace per message: through sessions, queues, the operator and back, over restarts and nodes.
//!
//! Spans go over OTLP to a collector inside the test; `tests/admin/interop_rotel.rs` uses another one.

pub mod collector;
mod conventions;
mod requests;
mod secure;

use std::net::TcpListener;
use std::time::{Duration, Instant};

use crate::harness::{
    self, Cluster, FakeOperator, Peer, Simulator, Smsc, SmscBuilder, free_port, submit, until,
};
use bytes::{Bytes, BytesMut};
use collector::{Collector, Span, traced};
use smsc::smpp::{Body, CommandStatus, Pdu, SubmitSm, SubmitSmResp};

const ALL: &str = "[telemetry]\ntrace_ratio = 1.0";
const FAILURES_ONLY: &str = "[telemetry]\ntrace_ratio = 0.0";
const NUMBER: &str = "447700900123";
/// The spans of a delivered message with a receipt.
const STEPS: [&str; 9] = [
    "answer", "attempt", "forward", "queue", "queue", "receipt", "route", "store", "submit",
];

fn smsc(telemetry: &str, operator: std::net::SocketAddr) -> SmscBuilder {
    Smsc::new().toml(telemetry).relaying_to(operator)
}

/// The only span of this step.
fn one<'s>(spans: &'s [Span], name: &str) -> &'s Span {
    let mut found = spans.iter().filter(|span| span.step() == name);
    let span = found
        .next()
        .unwrap_or_else(|| panic!("no {name} in {spans:#?}"));
    assert!(found.next().is_none(), "two of {name} in {spans:#?}");
    span
}

fn names(spans: &[Span]) -> Vec<&str> {
    let mut names: Vec<&str> = spans.iter().map(Span::step).collect();
    names.sort_unstable();
    names
}

/// Checks the tree of a message that was delivered at the first attempt and whose receipt was
/// acknowledged.
fn assert_is_whole(spans: &[Span], id: &str) {
    assert_eq!(names(spans), STEPS);
    let trace = &spans[0].trace_id;
    assert_eq!(trace.len(), 32);
    let submit = one(spans, "submit");
    assert_eq!(submit.parent, "", "the root");
    let attempt = one(spans, "attempt");
    let receipt = one(spans, "receipt");
    for span in spans {
        assert_eq!(span.trace_id, *trace, "{span:?}");
        assert!(span.links.is_empty() && !span.is_error, "{span:?}");
        assert!(span.start <= span.end, "{span:?}");
        assert_eq!(span.resource["service.name"], "smsc-under-test");
        let parent = match span.step() {
            "submit" => "",
            "route" | "store" | "attempt" => &submit.id,
            "answer" | "receipt" => &attempt.id,
            "forward" => &receipt.id,
            _ => continue,
        };
        assert_eq!(span.parent, parent, "{span:?}");
    }
    let mut waits: Vec<&str> = spans
        .iter()
        .filter(|span| span.step() == "queue")
        .map(|span| span.parent.as_str())
        .collect();
    waits.sort_unstable();
    let mut expected = [submit.id.as_str(), receipt.id.as_str()];
    expected.sort_unstable();
    assert_eq!(waits, expected);
    for span in [submit, attempt, receipt, one(spans, "forward")] {
        assert_eq!(span.get("messaging.system"), "smpp", "{span:?}");
        assert_eq!(span.get("messaging.message.id"), id, "{span:?}");
    }
    let kinds = ["submit", "attempt", "receipt", "forward", "store"];
    assert_eq!(kinds.map(|name| one(spans, name).kind), [5, 3, 5, 3, 1]);
}

#[test]
fn a_message_is_one_trace_by_grpc() {
    one_message(&Collector::grpc());
}

#[test]
fn a_message_is_one_trace_by_http() {
    one_message(&Collector::http());
}

fn one_message(collector: &Collector) {
    let operator = Simulator::new().start();
    let telemetry = format!("{ALL}\ntrace_url = \"http://grafana/t/{{trace_id}}\"");
    let builder = smsc(&telemetry, operator.address())
        .toml("[log]\nformat = \"json\"\nlevel = \"info,smsc::traced=debug\"");
    let smsc = collector.observe(builder).start();
    smsc.wait_for_binds("up", 1);
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let id = esme.submit(submit(NUMBER, "a secret text"));
    esme.deliver();
    let spans = collector.wait_for(STEPS.len());
    assert_is_whole(&spans, &id);

    conventions::are_followed(&spans, operator.address().port());
    let attempt = one(&spans, "attempt");
    assert_eq!(attempt.get("smsc.command_status"), "ESME_ROK");
    assert_eq!(one(&spans, "submit").get("smsc.account"), "account:test");
    let journal = operator.wait_for(1);
    let answer = one(&spans, "answer");
    assert_eq!(answer.get("smsc.operator_message_id"), journal[0].id);
    let shown = format!("{spans:?}");
    assert!(shown.contains("4477*****123"), "{shown}");
    assert!(
        !shown.contains(NUMBER) && !shown.contains("secret"),
        "{shown}"
    );

    // The admin API and log lines contain the trace id.
    let trace_id = &spans[0].trace_id;
    let view = smsc.admin().get(&format!("/v1/messages/{id}/trace"));
    assert_eq!(view["trace_id"], **trace_id);
    assert_eq!(view["url"], format!("http://grafana/t/{trace_id}"));
    let root = &one(&spans, "submit").id;
    assert_eq!(view["traceparent"], format!("00-{trace_id}-{root}-01"));
    let message = smsc.admin().get(&format!("/v1/messages/{id}"));
    assert_eq!(message["trace"], view);
    let told = smsc.command(&["message", "show", &id]).stdout;
    assert!(told.contains(trace_id.as_str()), "{told}");
    let line = |span: &Span| {
        let log = smsc.log();
        let found = log.lines().find(|line| line.contains(&span.id));
        let line = found.unwrap_or_else(|| panic!("no line of {span:?} in {log}"));
        serde_json::from_str::<serde_json::Value>(line).unwrap()
    };
    let line = line(attempt);
    assert_eq!(line["trace_id"], **trace_id, "{line}");
    assert_eq!(line["node"], 0, "{line}");
    until("the exported spans to be counted", || {
        let exported = smsc.admin().metric("smsc_trace_spans_exported_total")?;
        (exported >= 9.0).then_some(())
    });
    let head = smsc.admin().metric("smsc_traces_total{reason=\"head\"}");
    assert_eq!(head, Some(1.0));
    smsc.assert_no_panic();
}

#[test]
fn what_is_not_picked_leaves_nothing_unless_its_account_wants_it() {
    let collector = Collector::grpc();
    let operator = Simulator::new().start();
    let builder = smsc(FAILURES_ONLY, operator.address()).account_with(
        "traced",
        "traced",
        "trace_ratio = 1.0",
    );
    let mut smsc = collector.observe(builder).start();
    smsc.wait_for_binds("up", 1);
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let ids: Vec<String> = (0..20)
        .map(|_| esme.submit(submit(NUMBER, "hello")))
        .collect();
    ids.iter().for_each(|_| drop(esme.deliver()));
    let (status, _) = smsc
        .admin()
        .text(&format!("/v1/messages/{}/trace", ids[0]))
        .unwrap();
    assert_eq!(status, 404);
    let mut other = Peer::bind(smsc.smpp(), "traced", "traced");
    let id = other.submit(submit(NUMBER, "hello"));
    other.deliver();
    other.unbind();
    esme.unbind();
    // The last spans are sent before it ends.
    assert!(smsc.terminate().success());
    assert_is_whole(&collector.spans(), &id);
}

#[test]
fn a_failure_is_always_traced() {
    let collector = Collector::http();
    let operator = FakeOperator::listen();
    let smsc = collector
        .observe(smsc(FAILURES_ONLY, operator.address()))
        .start();
    let mut link = operator.accept_bind();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let id = esme.submit(submit(NUMBER, "hello"));
    let request = link.expect("a submit_sm", is_submit);
    answer(&mut link, &request, CommandStatus::ESME_RINVDSTADR, "");
    esme.deliver();
    let spans = collector.wait_for(6);
    let expected = ["attempt", "finish", "forward", "queue", "queue", "submit"];
    assert_eq!(names(&spans), expected);
    let attempt = one(&spans, "attempt");
    assert!(attempt.is_error);
    assert_eq!(attempt.get("error.type"), "ESME_RINVDSTADR");
    let finish = one(&spans, "finish");
    assert!(finish.is_error);
    assert_eq!(finish.get("error.type"), "REJECTED");
    assert_eq!(finish.get("messaging.message.id"), id);
    let submit = one(&spans, "submit");
    assert_eq!((submit.parent.as_str(), &finish.parent), ("", &submit.id));
    assert_eq!(one(&spans, "forward").parent, finish.id);
    assert!(spans.iter().all(|span| span.trace_id == submit.trace_id));
    let view = smsc.admin().get(&format!("/v1/messages/{id}/trace"));
    assert_eq!(view["trace_id"], *submit.trace_id);
    let metric = "smsc_traces_total{reason=\"failure\"}";
    assert_eq!(smsc.admin().metric(metric), Some(1.0));
}

#[test]
fn a_retry_is_another_attempt_of_the_same_trace() {
    let collector = Collector::grpc();
    let operator = FakeOperator::listen();
    let builder = smsc(ALL, operator.address()).toml("[retry]\ndelays = [\"100ms\"]");
    let smsc = collector.observe(builder).start();
    let mut link = operator.accept_bind();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    esme.submit(submit(NUMBER, "hello"));
    let first = link.expect("a submit_sm", is_submit);
    answer(&mut link, &first, CommandStatus::ESME_RSYSERR, "");
    let second = link.expect("a submit_sm", is_submit);
    answer(&mut link, &second, CommandStatus::ESME_ROK, "theirs");
    let spans = collector.wait_until("two attempts and their waits", |spans| {
        names(spans).iter().filter(|name| **name == "queue").count() == 2
            && spans.iter().any(|span| span.step() == "answer")
    });
    let attempts: Vec<&Span> = spans
        .iter()
        .filter(|span| span.step() == "attempt")
        .collect();
    let numbers = attempts.iter().map(|span| span.get("smsc.attempt"));
    assert_eq!(numbers.collect::<Vec<_>>(), ["1", "2"]);
    assert_eq!((attempts[0].is_error, attempts[1].is_error), (true, false));
    let root = &one(&spans, "submit").id;
    assert!(attempts.iter().all(|span| span.parent == *root));
    assert_eq!(one(&spans, "answer").parent, attempts[1].id);
    assert_eq!(
        smsc.admin().metric("smsc_traces_total{reason=\"head\"}"),
        Some(1.0)
    );
}

#[test]
fn a_restart_between_submission_and_receipt_keeps_the_trace() {
    let collector = Collector::grpc();
    let operator = FakeOperator::listen();
    let mut smsc = collector.observe(smsc(ALL, operator.address())).start();
    let id = {
        let mut link = operator.accept_bind();
        let mut esme = Peer::bind(smsc.smpp(), "test", "test");
        let id = esme.submit(submit(NUMBER, "hello"));
        let request = link.expect("a submit_sm", is_submit);
        answer(&mut link, &request, CommandStatus::ESME_ROK, "theirs");
        until("it to be handed over", || {
            let message = smsc.admin().try_get(&format!("/v1/messages/{id}")).ok()?;
            (message["stage"] == "handed over").then_some(())
        });
        collector.wait_for(6);
        id
    };
    smsc.kill();
    smsc.start_again();
    let mut link = operator.accept_bind();
    link.request(Body::DeliverSm(receipt("theirs")));
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    esme.deliver();
    assert_is_whole(&collector.wait_for(STEPS.len()), &id);
}

#[test]
fn a_receipt_of_an_old_trace_begins_a_new_one_with_a_link() {
    let collector = Collector::grpc();
    let operator = FakeOperator::listen();
    let telemetry = format!("{ALL}\ntrace_link_after = \"1ms\"");
    let smsc = collector
        .observe(smsc(&telemetry, operator.address()))
        .start();
    let mut link = operator.accept_bind();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    esme.submit(submit(NUMBER, "hello"));
    let request = link.expect("a submit_sm", is_submit);
    answer(&mut link, &request, CommandStatus::ESME_ROK, "theirs");
    let began = Instant::now();
    collector.wait_for(6);
    until("the trace to be old", || {
        (began.elapsed() > Duration::from_millis(10)).then_some(())
    });
    link.request(Body::DeliverSm(receipt("theirs")));
    let request = esme.expect("a receipt", |pdu| matches!(pdu.body, Body::DeliverSm(_)));
    let waited = Instant::now();
    until("the receipt to be old too", || {
        (waited.elapsed() > Duration::from_millis(10)).then_some(())
    });
    esme.acknowledge(smsc::smpp::CommandId::DELIVER_SM_RESP, request.sequence);
    let spans = collector.wait_for(STEPS.len());
    assert_eq!(names(&spans), STEPS);
    let (attempt, receipt) = (one(&spans, "attempt"), one(&spans, "receipt"));
    assert_ne!(receipt.trace_id, attempt.trace_id);
    assert_eq!(receipt.parent, "", "the root of its trace");
    let to = |span: &Span| vec![(span.trace_id.clone(), span.id.clone())];
    assert_eq!(receipt.links, to(attempt));
    let forward = one(&spans, "forward");
    assert_ne!(forward.trace_id, receipt.trace_id);
    assert_eq!(forward.links, to(receipt));
    let waits: Vec<&Span> = spans.iter().filter(|span| span.step() == "queue").collect();
    assert!(
        waits.iter().any(|span| span.parent == forward.id),
        "{waits:?}"
    );
}

#[test]
fn three_nodes_make_one_trace() {
    let collector = Collector::grpc();
    let (address, operator) = (collector.address(), Simulator::new().start());
    let up = operator.address();
    let cluster = Cluster::of(3)
        .roles(0, &["smpp", "http"])
        .roles(1, &["delivery", "http", "janitor"])
        .roles(2, &["smpp", "http"])
        .each(move |builder| {
            let builder = builder.toml(ALL).relaying_to(up);
            traced(builder, address, "grpc")
        })
        .start();
    cluster.nodes[1].wait_for_binds("up", 1);
    let mut receiver = Peer::connect(cluster.nodes[2].smpp());
    let bound = receiver.bind_as(Body::BindReceiver, "test", "test");
    assert_eq!(bound, CommandStatus::ESME_ROK);
    let mut transmitter = Peer::connect(cluster.nodes[0].smpp());
    let bound = transmitter.bind_as(Body::BindTransmitter, "test", "test");
    assert_eq!(bound, CommandStatus::ESME_ROK);
    let id = transmitter.submit(submit(NUMBER, "hello"));
    receiver.deliver();
    let spans = collector.wait_for(STEPS.len());
    assert_is_whole(&spans, &id);
    let mut nodes: Vec<&str> = ["submit", "attempt", "forward"]
        .map(|name| one(&spans, name).resource["service.instance.id"].as_str())
        .to_vec();
    nodes.sort_unstable();
    nodes.dedup();
    assert_eq!(nodes.len(), 3, "{nodes:?}");
    // Every node can show the trace.
    for node in &cluster.nodes {
        let view = node.admin().get(&format!("/v1/messages/{id}/trace"));
        assert_eq!(view["trace_id"], *spans[0].trace_id);
    }
}

#[test]
fn a_collector_that_is_away_or_hangs_costs_nothing_but_spans() {
    // One that refuses connections, and one that accepts them and never answers.
    let hanging = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let away = ([127, 0, 0, 1], free_port()).into();
    for (collector, protocol) in [
        (away, "grpc"),
        (away, "http/protobuf"),
        (hanging.local_addr().unwrap(), "http/protobuf"),
    ] {
        let operator = Simulator::new().start();
        let builder = traced(smsc(ALL, operator.address()), collector, protocol)
            .env("OTEL_BSP_MAX_QUEUE_SIZE", "256");
        let mut smsc = builder.start();
        smsc.wait_for_binds("up", 1);
        let count = 500;
        let finished = smsc.run(&[
            "load",
            "--host",
            &smsc.smpp().to_string(),
            "--count",
            &count.to_string(),
        ]);
        let said = format!("{}{}", finished.stdout, finished.stderr);
        assert!(finished.success, "{protocol}: {said}");
        assert_eq!(operator.wait_for(count).len(), count);
        until("lost spans to be counted", || {
            let lost = smsc
                .admin()
                .metric("smsc_trace_spans_dropped_total{reason=\"full\"}")?;
            (lost > 0.0).then_some(())
        });
        assert!(smsc.terminate().success());
        let log = smsc.log();
        let complaints = log
            .lines()
            .filter(|line| line.contains("the collector does not take"));
        assert!(complaints.count() <= 2, "{log}");
        smsc.assert_no_panic();
    }
}

#[test]
fn a_variable_that_cannot_be_understood_stops_the_start() {
    let mut command = std::process::Command::new(harness::binary());
    let folder = tempfile::tempdir().unwrap();
    command
        .arg("serve")
        .current_dir(folder.path())
        .env("SMSC_SMPP__LISTEN", format!("127.0.0.1:{}", free_port()))
        .env("SMSC_HTTP__LISTEN", format!("127.0.0.1:{}", free_port()))
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318")
        .env("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json");
    let finished = harness::run(&mut command);
    assert!(!finished.success);
    let said = format!("{}{}", finished.stdout, finished.stderr);
    assert!(said.contains("OTEL_EXPORTER_OTLP_PROTOCOL"), "{said}");
}

// === an operator by hand ===

fn is_submit(pdu: &Pdu) -> bool {
    matches!(pdu.body, Body::SubmitSm(_))
}

fn answer(link: &mut Peer, request: &Pdu, status: CommandStatus, theirs: &str) {
    let body = Body::SubmitSmResp(SubmitSmResp {
        message_id: Bytes::copy_from_slice(theirs.as_bytes()),
        ..SubmitSmResp::default()
    });
    let mut octets = BytesMut::new();
    Pdu::response(status, request.sequence, body).encode(&mut octets);
    link.send(&octets);
}

/// A receipt without a done date.
fn receipt(theirs: &str) -> SubmitSm {
    SubmitSm {
        source_addr: Bytes::from_static(NUMBER.as_bytes()),
        destination_addr: Bytes::from_static(b"12345"),
        esm_class: 0x04,
        short_message: Bytes::from(format!("id:{theirs} stat:DELIVRD err:000")),
        ..SubmitSm::default()
    }
}

#[test]
fn an_automatic_answer_is_in_the_trace_of_its_message() {
    let collector = Collector::grpc();
    let listener = FakeOperator::listen();
    let rule = "[[mo_rule]]\nname = \"hello\"\nreply = \"hi\"\nreply_account = \"test\"";
    let builder = smsc(ALL, listener.address()).toml(rule);
    let _smsc = collector.observe(builder).start();
    let mut bind = listener.accept_bind();
    let message = SubmitSm {
        source_addr: Bytes::from_static(NUMBER.as_bytes()),
        registered_delivery: 0,
        ..submit("12345", "hello")
    };
    let sequence = bind.request(Body::DeliverSm(message));
    assert_eq!(bind.answer_to(sequence).status, CommandStatus::ESME_ROK);
    harness::taken(&mut bind, "theirs");
    let submits = |spans: &[Span]| {
        let submits = spans.iter().filter(|span| span.step() == "submit");
        submits.cloned().collect::<Vec<_>>()
    };
    let spans = collector.wait_until("both messages", |spans| submits(spans).len() == 2);
    let of = |key: &str| {
        let found = submits(&spans)
            .into_iter()
            .find(|span| !span.get(key).is_empty());
        found.unwrap_or_else(|| panic!("nothing of {key} in {spans:#?}"))
    };
    let (came, answer) = (of("smsc.operator"), of("smsc.account"));
    assert_eq!(answer.trace_id, came.trace_id);
    assert_eq!(answer.parent, came.id);
    for span in [&came, &answer] {
        assert_eq!(span.get("smsc.mo_rule"), "hello", "{span:?}");
    }
    assert_eq!(came.get("messaging.destination.name"), "internal:responder");
}
