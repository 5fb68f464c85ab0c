//! Requests over HTTP and the local socket in their caller's trace.

use smsc::pb::local::Submit;

use super::collector::Collector;
use super::{FAILURES_ONLY, names, one, smsc};
use crate::harness::local::{Asked, Program, Said, draft};
use crate::harness::{Client, Simulator, python_script, until};

#[test]
fn a_command_of_the_admin_api_is_a_span_below_its_caller() {
    const CALLER: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    const UNSAMPLED: &str = "00-4bf92f3577b34da6a3ce929d0e0e4737-00f067aa0ba902b7-00";
    let collector = Collector::grpc();
    let operator = Simulator::new().start();
    let smsc = collector
        .observe(smsc(FAILURES_ONLY, operator.address()))
        .start();
    let ask = |method, path: &str, headers: &[(&str, &str)]| {
        smsc.admin().request(method, path, headers, None).status
    };
    let from = |traceparent| [("traceparent", traceparent)];
    let suspend = "/v1/queues/operator:up/suspend";
    assert_eq!(ask("POST", suspend, &from(UNSAMPLED)), 200);
    assert_eq!(ask("GET", "/v1/queues", &[]), 200);
    let headers = [("traceparent", CALLER), ("x-request-id", "call-7")];
    assert_eq!(ask("POST", suspend, &headers), 200);
    assert_eq!(ask("GET", "/v1/queues/operator:nobody", &from(CALLER)), 404);
    assert_eq!(
        ask("DELETE", "/v1/subscribers/447700900123/messages", &[]),
        200
    );
    let spans = collector.wait_for(3);
    assert_eq!(
        names(&spans),
        [
            "DELETE /v1/subscribers/{msisdn}/messages",
            "GET /v1/queues/{name}",
            "POST /v1/queues/{name}/{verb}"
        ]
    );
    let command = one(&spans, "POST /v1/queues/{name}/{verb}");
    assert_eq!(command.trace_id, "4bf92f3577b34da6a3ce929d0e0e4736");
    assert_eq!(command.parent, "00f067aa0ba902b7");
    assert_eq!(command.kind, 2, "a server's");
    assert_eq!(command.get("smsc.request_id"), "call-7");
    assert_eq!(command.get("http.request.method"), "POST");
    assert_eq!(command.get("http.route"), "/v1/queues/{name}/{verb}");
    assert_eq!(command.numbers.get("http.response.status_code"), Some(&200));
    assert_eq!(command.get("url.scheme"), "http");
    assert_eq!(command.get("server.address"), "127.0.0.1");
    assert_eq!(command.resource["service.name"], "smsc-under-test");
    let look = one(&spans, "GET /v1/queues/{name}");
    assert_eq!(look.trace_id, command.trace_id);
    assert_eq!(look.get("http.response.status_code"), "404");
    let erasure = one(&spans, "DELETE /v1/subscribers/{msisdn}/messages");
    assert_eq!(erasure.parent, "", "a root of its own");
    assert!(!erasure.get("url.path").contains("447700900123"));
}

#[test]
fn a_call_by_xml_rpc_is_the_parent_of_its_messages() {
    const CALLER: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let collector = Collector::grpc();
    let operator = Simulator::new().start();
    let builder = smsc(FAILURES_ONLY, operator.address())
        .with_api()
        .env("SMSC_API__XML_RPC", "true");
    let smsc = collector.observe(builder).start();
    smsc.wait_for_binds("up", 1);
    let key = smsc.api_of("test", "both").token().to_owned();
    let url = format!("http://{}/RPC2", smsc.api_address());
    let arguments = [url.as_str(), &key, "traced", CALLER];
    let sent = Client::run(python_script("xml_rpc_client.py", &arguments));
    for id in [&sent["header"], &sent["session"]] {
        smsc.wait_for_final(id.as_str().unwrap());
    }
    let spans = until("the spans of the message", || {
        let spans = collector.wait_for(2);
        let is_there = |name: &str| spans.iter().any(|span| span.step() == name);
        (is_there("submit") && is_there("POST /RPC2")).then_some(spans)
    });
    // Who shows the key in the body is a stranger until it is read, and strangers make no spans: there is one.
    let (call, message) = (one(&spans, "POST /RPC2"), one(&spans, "submit"));
    assert_eq!(call.trace_id, "4bf92f3577b34da6a3ce929d0e0e4736");
    assert_eq!(call.parent, "00f067aa0ba902b7");
    assert_eq!(
        (&message.trace_id, &message.parent),
        (&call.trace_id, &call.id)
    );
}

#[test]
fn a_local_submission_is_the_parent_of_its_messages() {
    const CALLER: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let collector = Collector::grpc();
    let operator = Simulator::new().start();
    let uid = rustix::process::getuid().as_raw();
    let local = format!("[local]\nsocket = \"smsc.sock\"\nusers = {{ {uid} = \"test\" }}");
    let builder = smsc(FAILURES_ONLY, operator.address()).toml(&local);
    let smsc = collector.observe(builder).start();
    smsc.wait_for_binds("up", 1);
    let mut program = Program::open(&smsc.file("smsc.sock"));
    let mut submit = |traceparent: &str| {
        let order = Submit {
            messages: vec![draft("447700900123", "traced")],
            traceparent: traceparent.to_owned(),
            ..Submit::default()
        };
        match program.ask(Asked::Submit(order)) {
            Some(Said::Submitted(submitted)) => submitted.outcomes[0].id,
            other => panic!("{other:?}"),
        }
    };
    let untraced = submit("");
    let traced = submit(CALLER);
    for id in [untraced, traced] {
        smsc.wait_for_final(&id.to_string());
    }
    let spans = until("the spans of the message", || {
        let spans = collector.wait_for(2);
        let is_there = |name: &str| spans.iter().any(|span| span.step() == name);
        (is_there("submit") && is_there("smsc.local.v1/Submit")).then_some(spans)
    });
    let (call, message) = (one(&spans, "smsc.local.v1/Submit"), one(&spans, "submit"));
    assert_eq!(call.trace_id, "4bf92f3577b34da6a3ce929d0e0e4736");
    assert_eq!((&*call.parent, call.kind), ("00f067aa0ba902b7", 2));
    assert_eq!(call.get("network.transport"), "unix");
    assert_eq!(
        (&message.trace_id, &message.parent),
        (&call.trace_id, &call.id)
    );
}
