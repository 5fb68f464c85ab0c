//! A live trace shows what every node sees, and a bind of another node is disconnected through any.

use crate::harness::{Cluster, Listener, Peer, Simulator, submit, until};
use serde_json::{Value, json};

#[test]
fn a_trace_on_one_node_sees_what_another_one_does() {
    let operator = Simulator::new().start();
    let cluster = Cluster::of_two(operator.address(), "");
    let [first, second] = [&cluster.nodes[0], &cluster.nodes[1]];
    let admin = first.admin();
    let order = json!({ "account": "test", "for": "5m" });
    let mut trace = Listener::post(first.http(), admin.token(), "/v1/traces", &order);
    trace.wait_for("begun");
    // The other node begins when it has read the order: messages are sent there until a step is seen.
    let mut esme = Peer::bind(second.smpp(), "test", "test");
    let numbers = |step: &Value| step["node"].as_u64().unwrap();
    let other = second.admin().get("/v1/binds")["binds"][0]["node"]
        .as_u64()
        .unwrap();
    let steps = std::thread::scope(|scope| {
        let seen = scope.spawn(|| {
            trace.steps_until(|step| step["step"] == "accepted" && numbers(step) == other)
        });
        let mut count = 0;
        while !seen.is_finished() {
            count += 1;
            esme.submit(submit(&format!("44770090{count:04}"), "a secret text"));
            esme.deliver();
        }
        seen.join().unwrap()
    });
    let accepted = steps.last().unwrap();
    assert_eq!(accepted["sender"], "account:test");
    assert!(!serde_json::to_string(&steps).unwrap().contains("secret"));

    // The PDUs of the bind on the other node, through this one; then it is unbound through this one.
    let session = second.admin().get("/v1/binds");
    let session = session["binds"].as_array().unwrap().iter();
    let session = session.clone().find(|bind| bind["name"] == "test").unwrap()["session"].clone();
    let bind = format!("{other}/{session}");
    let path = format!("/v1/binds/{bind}/pdus?text=true");
    let mut pdus = Listener::open(first.http(), admin.token(), &path);
    pdus.wait_for("begun");
    let seen = std::thread::scope(|scope| {
        let seen = scope.spawn(|| pdus.steps_until(|step| step["pdu"]["command"] == "submit_sm"));
        while !seen.is_finished() {
            esme.submit(submit("447700900001", "through the other"));
            esme.deliver();
        }
        seen.join().unwrap()
    });
    assert_eq!(seen.last().unwrap()["pdu"]["text"], "through the other");
    let (status, _) = admin.post(&format!("/v1/binds/{bind}/disconnect"));
    assert_eq!(status, 202);
    esme.expect("unbind", |pdu| matches!(pdu.body, smsc::smpp::Body::Unbind));
    until("the bind to be gone", || {
        let binds = second.admin().get("/v1/binds");
        let binds = binds["binds"].as_array().unwrap();
        drop(std::mem::replace(&mut esme, Peer::connect(second.smpp())));
        (!binds.iter().any(|bind| bind["session"] == session)).then_some(())
    });
    // A node that there is not.
    let (status, said) = admin.post("/v1/binds/99/1/disconnect");
    assert_eq!(status, 404, "{said}");
}
