//! A number, an account or an operator is traced live, a bind is looked into and disconnected; who may not see texts
//! sees none, and who may only read disconnects nobody.

use crate::harness::{Listener, Peer, Simulator, Smsc, submit, submit_quietly, until};
use serde_json::{Value, json};

fn start(operator: &Simulator) -> Smsc {
    let smsc = Smsc::new()
        .account("test", "test")
        .account("other", "other")
        .operator("up", operator.address())
        .route("", "up")
        .start();
    smsc.wait_for_binds("up", 1);
    smsc
}

fn bind_of(smsc: &Smsc, name: &str) -> String {
    let binds = smsc.admin().get("/v1/binds");
    let binds = binds["binds"].as_array().unwrap();
    let bind = binds.iter().find(|bind| bind["name"] == name).unwrap();
    format!("{}/{}", bind["node"], bind["session"])
}

fn kinds(steps: &[Value]) -> Vec<&str> {
    steps
        .iter()
        .map(|step| step["step"].as_str().unwrap())
        .collect()
}

#[test]
fn a_number_is_traced_from_its_submission_to_its_receipt() {
    let operator = Simulator::new().start();
    let smsc = start(&operator);
    let admin = smsc.admin();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let order = json!({ "number": "+447700900123", "for": "2m" });
    let mut trace = Listener::post(smsc.http(), admin.token(), "/v1/traces", &order);
    trace.wait_for("begun");
    esme.submit(submit("447700900999", "not this one"));
    let id = esme.submit(submit("447700900123", "a secret text"));
    esme.deliver();
    esme.deliver();
    let steps = trace.steps_until(|step| step["step"] == "receipt");
    assert_eq!(kinds(&steps), ["accepted", "attempt", "final", "receipt"]);
    for step in &steps {
        assert_eq!(step["message"], id.as_str(), "{step}");
        // A receipt comes from the number.
        let number = if step["step"] == "receipt" {
            "from"
        } else {
            "to"
        };
        assert_eq!(step[number], "447700900123", "{step}");
        assert!(!step.to_string().contains("secret"), "{step}");
    }
    assert_eq!(steps[0]["sender"], "account:test");
    assert_eq!(steps[1]["queue"], "operator:up");
    assert_eq!(steps[1]["status"], "ESME_ROK");
    assert_eq!(steps[2]["status"], "DELIVERED");
    assert_eq!(steps[2]["by"], "operator:up");
    assert_eq!(steps[3]["queue"], "account:test");
    // The trace of an operator and of an account, with what is refused before it has an id.
    let order = json!({ "account": "test" });
    let mut account = Listener::post(smsc.http(), admin.token(), "/v1/traces", &order);
    account.wait_for("begun");
    let order = json!({ "operator": "up" });
    let mut whole = Listener::post(smsc.http(), admin.token(), "/v1/traces", &order);
    whole.wait_for("begun");
    let mut wrong = submit("", "hello");
    wrong.destination_addr = Default::default();
    let sequence = esme.request(smsc::smpp::Body::SubmitSm(wrong));
    assert_ne!(
        esme.answer_to(sequence).status,
        smsc::smpp::CommandStatus::ESME_ROK
    );
    let refused = account.steps_until(|step| step["step"] == "refused");
    let refused = refused.last().unwrap();
    assert_eq!(
        (&refused["message"], &refused["sender"]),
        (&Value::Null, &json!("account:test"))
    );
    esme.submit(submit("447700900777", "hello"));
    esme.deliver();
    let steps = whole.steps_until(|step| step["step"] == "final");
    assert_eq!(steps.last().unwrap()["to"], "447700900777");
    // The log says who traced, and not whom.
    let log = admin.get("/v1/audit");
    let detail = "trace of number 4477*****123";
    assert!(log.to_string().contains(detail), "{log}");
    assert!(!log.to_string().contains("447700900123"), "{log}");
}

#[test]
fn a_trace_ends_by_itself_and_with_its_token() {
    let operator = Simulator::new().start();
    let smsc = start(&operator);
    let admin = smsc.admin();
    let short = json!({ "operator": "up", "for": "1s" });
    let mut trace = Listener::post(smsc.http(), admin.token(), "/v1/traces", &short);
    assert_eq!(trace.wait_for("end").1["reason"], "its time is over");
    assert!(
        trace
            .line()
            .is_none_or(|line| line.is_empty() || line == "0")
    );
    let night = admin.with_role("operate", "night");
    let order = json!({ "operator": "up" });
    let mut trace = Listener::post(smsc.http(), night.token(), "/v1/traces", &order);
    trace.wait_for("begun");
    assert_eq!(admin.call("DELETE", "/v1/tokens/night", None).0, 204);
    let end = trace.wait_for("end").1;
    assert!(end["reason"].as_str().unwrap().contains("token"), "{end}");
    let (status, said) = admin.call("POST", "/v1/traces", Some(&json!({ "for": "5m" })));
    assert_eq!(status, 400, "{said}");
}

/// Four of one token, so that it leaves places for others, and sixteen in all. Closed connections are noticed, and make room.
#[test]
fn so_many_traces_run_at_once() {
    let operator = Simulator::new().start();
    let smsc = start(&operator);
    let order = json!({ "operator": "up" });
    let tokens: Vec<_> = (0..5)
        .map(|number| smsc.admin().with_role("operate", &format!("desk-{number}")))
        .collect();
    let begun = |at: usize| {
        let trace = Listener::try_post(smsc.http(), tokens[at].token(), "/v1/traces", &order);
        trace.head.starts_with("http/1.1 200").then_some(trace)
    };
    let refusal = |at: usize| {
        let (status, said) = tokens[at].call("POST", "/v1/traces", Some(&order));
        assert_eq!(status, 409, "{said}");
        said["detail"].to_string()
    };
    let mut all: Vec<Listener> = Vec::new();
    for at in 0..4 {
        all.extend((0..4).map(|_| begun(at).expect("a place for it")));
        if at == 0 {
            assert!(refusal(0).contains("this token has 4"));
        }
    }
    assert!(refusal(4).contains("16 traces"));
    drop(all);
    until("room for a trace", || begun(4).map(drop));
}

#[test]
fn a_bind_is_looked_into_and_disconnected() {
    let operator = Simulator::new().start();
    let smsc = start(&operator);
    let admin = smsc.admin();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let bind = bind_of(&smsc, "test");
    assert_eq!(admin.get(&format!("/v1/binds/{bind}"))["name"], "test");
    let path = format!("/v1/binds/{bind}/pdus?text=true");
    let mut pdus = Listener::open(smsc.http(), admin.token(), &path);
    pdus.wait_for("begun");
    let id = esme.submit(submit("447700900123", "a secret text"));
    let steps = pdus.steps_until(|step| step["pdu"]["command"] == "submit_sm_resp");
    let came = steps
        .iter()
        .find(|step| step["pdu"]["command"] == "submit_sm")
        .unwrap();
    assert_eq!(came["pdu"]["text"], "a secret text");
    assert_eq!(
        (&came["to"], &came["pdu"]["out"]),
        (&json!("447700900123"), &json!(false))
    );
    let answer = steps.last().unwrap();
    assert_eq!(
        (&answer["status"], &answer["pdu"]["message_id"]),
        (&json!("ESME_ROK"), &json!(id))
    );
    // A bind of ours: the password of the next bind is not shown.
    let ours = bind_of(&smsc, "up");
    let path = format!("/v1/binds/{ours}/pdus?text=true");
    let mut outwards = Listener::open(smsc.http(), admin.token(), &path);
    outwards.wait_for("begun");
    let (status, done) = admin.post(&format!("/v1/binds/{ours}/disconnect"));
    assert_eq!((status, &done["count"]), (202, &json!(1)), "{done}");
    let steps = outwards.steps_until(|step| {
        step["pdu"]["command"] == "bind_transceiver" && step["pdu"]["out"] == true
    });
    let again = &steps.last().unwrap()["pdu"]["octets"];
    assert_eq!(
        again.as_str().unwrap().len(),
        32,
        "the header alone: {again}"
    );
    smsc.wait_for_binds("up", 1);
    // An ESME is unbound, and the stream ends with its bind.
    let shown = smsc.command(&["bind", "list", "test"]);
    assert!(shown.stdout.contains(&bind), "{shown:?}");
    let unnamed = smsc.command(&["bind", "disconnect", "test"]);
    assert!(unnamed.stderr.contains("Give its number"), "{unnamed:?}");
    let told = smsc.command(&["bind", "disconnect", &bind]);
    assert_eq!(
        told.stdout,
        format!("bind {bind} is being unbound\n"),
        "{told:?}"
    );
    esme.expect("unbind", |pdu| matches!(pdu.body, smsc::smpp::Body::Unbind));
    drop(esme);
    assert_eq!(pdus.wait_for("end").1["reason"], "the bind is gone");
    let (status, said) = admin.post(&format!("/v1/binds/{bind}/disconnect"));
    assert_eq!(status, 404, "{said}");
    for wrong in ["x/1", "0/x", "300/1"] {
        assert_eq!(
            admin.post(&format!("/v1/binds/{wrong}/disconnect")).0,
            400,
            "{wrong}"
        );
    }
    let unknown = admin.call("GET", "/v1/binds/7/1", None);
    assert_eq!(unknown.0, 404, "{}", unknown.1);
}

/// What cannot be sent to it any more would come back at once, and be handed to it again, for ten seconds.
#[test]
fn a_bind_that_does_not_answer_its_unbind_is_handed_nothing_more() {
    let smsc = Smsc::new()
        .account("test", "test")
        .route("", "test:delivered")
        .start();
    let admin = smsc.admin();
    let _silent = Peer::bind(smsc.smpp(), "test", "test");
    let path = format!("/v1/binds/{}", bind_of(&smsc, "test"));
    // Bound before that one is asked to go, because it is closed ten seconds later, whatever it has been handed.
    let mut other = Peer::transmitter(smsc.smpp(), "test", "test");
    let (status, said) = admin.post(&format!("{path}/disconnect"));
    assert_eq!(status, 202, "{said}");
    for _ in 0..3 {
        other.submit(submit("447700900123", "hello"));
    }
    until("the receipts to wait for another bind", || {
        let queue = admin.get("/v1/queues/account:test");
        (queue["waiting"] == 3).then_some(())
    });
    let handed = || admin.get(&path)["sent_total"].as_u64().unwrap();
    let most = (0..20).map(|_| handed()).max();
    assert_eq!(most, Some(0));
}

#[test]
fn who_may_only_read_sees_no_text_and_disconnects_nobody() {
    let operator = Simulator::new().start();
    let smsc = Smsc::new()
        .account("test", "test")
        .operator("up", operator.address())
        .route("", "up")
        .with_api()
        .start();
    smsc.wait_for_binds("up", 1);
    let read = smsc.admin().with_role("read", "looker");
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let bind = bind_of(&smsc, "test");
    // Looking is allowed, without texts and octets.
    let path = format!("/v1/binds/{bind}/pdus");
    let mut pdus = Listener::open(smsc.http(), read.token(), &path);
    pdus.wait_for("begun");
    esme.submit(submit("447700900123", "a secret text"));
    let steps = pdus.steps_until(|step| step["pdu"]["command"] == "submit_sm_resp");
    let all = serde_json::to_string(&steps).unwrap();
    let hidden = ["secret", "octets", "612073656372657420"];
    assert!(!hidden.iter().any(|one| all.contains(one)), "{all}");
    // Nothing else is.
    for (method, path) in [
        ("GET", format!("{path}?text=true")),
        ("GET", format!("{path}?text=1")),
        ("POST", format!("/v1/binds/{bind}/disconnect")),
        ("POST", "/v1/traces".to_owned()),
        ("POST", "/v1/messages/cancel".to_owned()),
        ("POST", "/v1/messages/replay".to_owned()),
    ] {
        let body = json!({ "number": "1", "filter": { "to": "1" } });
        let (status, said) = read.call(method, &path, (method == "POST").then_some(&body));
        let bad_flag = path.ends_with("text=1") && status == 400;
        assert!(
            status == 403 || bad_flag,
            "{method} {path}: {status} {said}"
        );
    }
    esme.assert_alive();
    // The key of an account is for another door: it opens none of these.
    let key = smsc.api_of("test", "both");
    let admin = smsc.admin().bearer(key.token());
    for path in [
        format!("/v1/binds/{bind}/disconnect"),
        "/v1/traces".to_owned(),
    ] {
        assert_eq!(admin.post(&path).0, 401, "{path}");
        let (status, _) = key.call("POST", &path, None);
        assert!([404, 405].contains(&status), "{path}: {status}");
    }
    esme.assert_alive();
}

#[test]
fn the_command_line_traces_a_number() {
    let operator = Simulator::new().start();
    let smsc = start(&operator);
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    // It lasts for a moment; messages are sent until it has seen one.
    let seen = std::thread::scope(|scope| {
        let trace = scope.spawn(|| smsc.command(&["trace", "--to", "447700900123", "--for", "5s"]));
        while !trace.is_finished() {
            esme.submit(submit_quietly("447700900123", "a secret text"));
        }
        trace.join().unwrap()
    });
    let text = seen.stdout;
    assert!(
        text.contains("447700900123  attempt 1 to operator:up: ESME_ROK"),
        "{text}"
    );
    assert!(text.contains("final: ACCEPTED"), "{text}");
    assert!(!text.contains("secret"), "{text}");
    let url = smsc.admin().base().to_owned();
    let said = smsc.run(&[
        "trace",
        "--account",
        "nobody",
        "--url",
        &url,
        "--token",
        smsc.admin().token(),
    ]);
    assert!(
        !said.success && said.stderr.contains("nobody"),
        "{}",
        said.stderr
    );
}
