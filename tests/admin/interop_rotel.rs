//! An independent collector, Rotel, accepts the traces by gRPC and by HTTP.

use std::net::{SocketAddr, TcpStream};

use crate::harness::{Peer, Process, Simulator, Smsc, free_port, python_script, submit, until};

#[test]
fn rotel_takes_a_trace_by_grpc_and_by_http() {
    let folder = tempfile::tempdir().unwrap();
    let (grpc, http) = (free_port(), free_port());
    let ports = [grpc.to_string(), http.to_string()];
    let command = python_script("rotel_agent.py", &[&ports[0], &ports[1]]);
    let mut rotel = Process::start("rotel", command, &folder.path().join("rotel.log"));
    for port in [grpc, http] {
        until("rotel to listen", || {
            rotel.assert_running();
            TcpStream::connect(SocketAddr::from(([127, 0, 0, 1], port))).ok()
        });
    }
    let operator = Simulator::new().start();
    for (protocol, port) in [("grpc", grpc), ("http/protobuf", http)] {
        let smsc = Smsc::new()
            .toml("[telemetry]\ntrace_ratio = 1.0")
            .relaying_to(operator.address())
            .env(
                "OTEL_EXPORTER_OTLP_ENDPOINT",
                &format!("http://127.0.0.1:{port}"),
            )
            .env("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)
            .env("OTEL_BSP_SCHEDULE_DELAY", "20")
            .start();
        smsc.wait_for_binds("up", 1);
        let mut esme = Peer::bind(smsc.smpp(), "test", "test");
        let id = esme.submit(submit("447700900123", "hello"));
        esme.deliver();
        let view = smsc.admin().get(&format!("/v1/messages/{id}/trace"));
        let trace_id = view["trace_id"].as_str().unwrap().to_owned();
        // Nine spans, each printed with its trace id.
        let log = until("the whole trace to arrive", || {
            let log = rotel.log();
            (log.matches(&trace_id).count() >= 9).then_some(log)
        });
        for name in [
            "submit_sm operator:up",
            "route",
            "store",
            "queue operator:up",
            "answer",
            "deliver_sm operator:up",
            "queue account:test",
            "deliver_sm account:test",
        ] {
            let named = log.lines().any(|line| {
                line.split_once(':')
                    .is_some_and(|(key, value)| key.contains("Name") && value.trim() == name)
            });
            assert!(named, "{protocol}: no span {name} in\n{log}");
        }
        assert!(log.contains("messaging.message.id"), "{log}");
        assert!(log.contains(&id), "{log}");
    }
}
