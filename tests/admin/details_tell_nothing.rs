//! No log, span or metric has a password, a full number or a text, at no level, whichever way it came in; and no answer of
//! the admin API has a password, or a text that was not asked for.
//!
//! The role `operate` may have everything logged, so everything is, here.

mod networks;

use std::collections::BTreeSet;
use std::net::SocketAddr;

use serde_json::json;
use smsc::cmpp::Cmpp;
use smsc::smpp::{BindRequest, Body, CommandStatus, SubmitSm};

use self::networks::{IMSIS, NetworkAddresses, Networks};
use crate::harness::carrier_client::{
    self, CarrierClient, NUMBER, SECRET, free_listener, log_in, with_client,
};
use crate::harness::dispatch::Dispatch;
use crate::harness::{
    Admin, Cluster, FakeOperator, Peer, Smsc, SmscBuilder, receipt, send_receipt, submit, taken,
    until,
};
use crate::traces::collector::{Collector, traced};

/// A word of each text, and how octets of it are shown.
const TEXT: &str = "nightingale";
const TEXT_IN_HEX: &str = "6e6967687469";
const TEXT_IN_NUMBERS: &str = "110, 105, 103, 104, 116, 105";
const TEXT_IN_SEPTETS: &str = "eef4194d4fbb";
/// In each password but that of CMPP.
const PASSWORD: &str = "s3cr";
/// What each number begins with; a masked one has four digits of it.
const NUMBERS: &str = "4477009001";
/// The account over HTTP; its password is in URLs.
const USER: &str = "username=web&password=s3cr-web";
const SWITCHES: &str = "xml_rpc = true\nkannel = true\njasmin = true";

/// An SMSC with each entrance that a socket of the test can use.
fn configured(
    builder: SmscBuilder,
    operator: SocketAddr,
    carrier: SocketAddr,
    networks: NetworkAddresses,
    nats: &str,
) -> SmscBuilder {
    let builder = with_client(builder, carrier, "");
    let builder = networks.configure(builder);
    builder
        .with_api_and(SWITCHES)
        .toml("[telemetry]\ntrace_ratio = 1.0")
        .toml(nats)
        .account_with("test", "s3cr-tst", "addresses = [\"447700900199\"]")
        .account("web", "s3cr-web")
        .operator_with(
            "up",
            operator,
            // The test brings all messages before it answers the first one.
            "password = \"s3cr-op\"\nresponse_timeout = \"5m\"",
        )
        .route("", "up")
}

fn number(n: usize) -> String {
    format!("{NUMBERS}{n:02}")
}

fn text(way: &str) -> String {
    format!("{TEXT} by {way}")
}

/// Brings a message by each entrance; how many there were.
fn submit_by_all(smsc: &Smsc, api: &Admin, carrier: SocketAddr, dispatch: &Dispatch) -> usize {
    let mut wrong = Peer::connect(smsc.smpp());
    let answer = wrong.bind_as(
        Body::BindTransceiver as fn(BindRequest) -> Body,
        "test",
        "s3cr-no",
    );
    assert_ne!(answer, CommandStatus::ESME_ROK);
    let mut esme = Peer::bind(smsc.smpp(), "test", "s3cr-tst");
    esme.submit(SubmitSm {
        short_message: text("SMPP").into(),
        ..submit(&number(0), "")
    });
    let order = json!({"to": number(1), "text": text("HTTP")});
    assert_eq!(api.call("POST", "/v1/messages", Some(&order)).0, 202);
    assert_eq!(
        smsc.api("s3cr-no-key")
            .call("POST", "/v1/messages", Some(&order))
            .0,
        401
    );
    let get = |path: String| {
        let url = format!("http://{}{path}", smsc.api_address());
        let answer = ureq::get(url).call();
        assert!(answer.is_ok(), "{path}: {answer:?}");
    };
    let (to, said) = (number(2), text("Kannel").replace(' ', "+"));
    get(format!("/cgi-bin/sendsms?{USER}&to={to}&text={said}"));
    let (to, said) = (number(3), text("Jasmin").replace(' ', "+"));
    get(format!("/send?{USER}&to={to}&content={said}"));
    xml_rpc(smsc, api.token(), &number(8));
    xml_rpc(smsc, "s3cr-guess", &number(8));
    xml_rpc(smsc, api.token(), &format!("{}x", number(8)));
    dispatch.publish(&json!({"messageId": "c-1", "to": number(4), "text": text("NATS")}));
    // One that no message can be made of, and one whose number is none.
    dispatch.publish(
        &json!({"messageId": "c-2", "to": number(4).parse::<u64>().unwrap(), "text": text("NATS")}),
    );
    dispatch.publish(
        &json!({"messageId": "c-3", "to": format!("{}x", number(4)), "text": text("NATS")}),
    );
    dispatch.wait_until_done();
    assert_ne!(log_in(carrier, Cmpp::V30, "900001", "s3cr-no").0, 0);
    let mut client = CarrierClient::log_in(carrier, Cmpp::V30);
    let said = text("CMPP");
    let sequence = client.request(smsc::cmpp::Body::Submit(Box::new(carrier_client::message(
        &[NUMBER, &number(5)],
        0,
        said.as_bytes(),
    ))));
    assert_eq!(client.answer_to(sequence).0, 0);
    8
}

/// Calls `sms.send` with the key as its first argument.
fn xml_rpc(smsc: &Smsc, key: &str, to: &str) {
    let said = text("XML-RPC");
    let members = [
        ("user_numbers", to),
        ("sp_number", "ACME"),
        ("content", &said),
    ]
    .map(|(name, value)| format!("<member><name>{name}</name><value>{value}</value></member>"));
    let call = format!(
        "<methodCall><methodName>sms.send</methodName><params><param><value>{key}</value></param>\
         <param><value><struct>{}</struct></value></param></params></methodCall>",
        members.concat()
    );
    let url = format!("http://{}/RPC2", smsc.api_address());
    let sent = ureq::post(url)
        .header("content-type", "text/xml")
        .send(call);
    assert!(sent.is_ok(), "{sent:?}");
}

/// Takes so many messages as an operator, reports half of them, and brings a message and a report of none.
fn serve(bind: &mut Peer, messages: usize) {
    for n in 0..messages {
        let id = format!("theirs-{n}");
        let sent = taken(bind, &id);
        let state = ["stat:DELIVRD err:000", "stat:UNDELIV err:001"][n % 2];
        let status = send_receipt(
            bind,
            SubmitSm {
                source_addr: sent.destination_addr.clone(),
                ..receipt(&format!("id:{id} {state} text:{TEXT}"))
            },
        );
        assert!(status.is_ok());
    }
    let unknown = SubmitSm {
        source_addr: number(6).into(),
        ..receipt(&format!("id:nobodys stat:DELIVRD err:000 text:{TEXT}"))
    };
    assert!(send_receipt(bind, unknown).is_ok());
    let mo = SubmitSm {
        source_addr: number(7).into(),
        short_message: text("MO").into(),
        ..submit(&number(99), "")
    };
    let sequence = bind.request(Body::DeliverSm(mo));
    assert!(bind.answer_to(sequence).status.is_ok());
}

/// What an administrator does about it all.
fn look_at_all(smsc: &Smsc) -> String {
    let admin = smsc.admin();
    let account = json!({"password": "s3cr-new"});
    assert!(admin.call("PUT", "/v1/accounts/new", Some(&account)).0 < 300);
    let stranger = admin
        .bearer("s3cr-no-token")
        .call("GET", "/v1/accounts", None);
    assert_eq!(stranger.0, 401);
    let paths = [
        format!("/v1/messages?to={}", number(0)),
        "/v1/messages".to_owned(),
        "/v1/accounts".to_owned(),
        "/v1/operators".to_owned(),
        "/v1/config/versions".to_owned(),
        "/v1/receipts/unmatched".to_owned(),
        "/v1/nats-sources/state".to_owned(),
        "/v1/audit".to_owned(),
    ];
    let guess = admin.bearer("s3cr-no-token");
    for (caller, beginning, status) in [
        (&admin, "/nope", 404),
        (&admin, "/v1/nope", 404),
        (&guess, "/v1/nope", 401),
        (&guess, "/v1/subscribers", 401),
    ] {
        let stray = format!("{beginning}/{}/{TEXT}", number(0));
        let answered = caller.call("GET", &stray, None).0;
        assert_eq!(answered, status, "{beginning}");
    }
    let answers = paths.iter().map(|path| admin.text(path).unwrap().1);
    answers.collect()
}

/// Fails if what nobody may see is in there.
fn assert_hidden(what: &str, shown: &str, hidden: &[&str]) {
    for word in hidden {
        let line = shown.lines().find(|line| line.contains(word));
        assert_eq!(line, None, "{what} have {word}");
    }
}

fn nothing_is_told(
    smsc: &Smsc,
    operator: &FakeOperator,
    carrier: SocketAddr,
    dispatch: &Dispatch,
    collector: &Collector,
    networks: &Networks,
) {
    let mut bind = operator.accept_bind();
    smsc.wait_for_binds("up", 1);
    let operate = smsc.admin().with_role("operate", "curious");
    let level = json!({"level": "trace,tokio_postgres=trace"});
    assert_eq!(operate.call("PUT", "/v1/log-level", Some(&level)).0, 200);
    let api = smsc.api_of("web", "both");
    networks.bring_all(smsc);
    let messages = 1 + submit_by_all(smsc, &api, carrier, dispatch);
    serve(&mut bind, messages);
    let answers = look_at_all(smsc);
    until("all of them to end", || {
        let list = smsc.admin().get("/v1/messages?limit=1000");
        let all = list["messages"].as_array().unwrap();
        let ended = all.iter().filter(|one| one["state"] != "ENROUTE").count();
        // Each network has got one as well.
        (ended >= messages + 4).then_some(())
    });
    let spans = collector.wait_until("a trace of each", |spans| {
        let attempts = spans.iter().filter(|span| span.step() == "attempt");
        let traces: BTreeSet<&str> = attempts.map(|span| span.trace_id.as_str()).collect();
        traces.len() >= messages
    });
    let log = smsc.log();
    assert!(log.contains("DEBUG"), "nothing is logged at these levels");
    let texts = [TEXT, TEXT_IN_HEX, TEXT_IN_NUMBERS, TEXT_IN_SEPTETS];
    let secrets = [PASSWORD, SECRET, api.token()];
    let subscribers = [NUMBERS, NUMBER, IMSIS];
    let all = [&texts[..], &secrets, &subscribers].concat();
    assert_hidden("the logs", &log, &all);
    assert_hidden("the spans", &format!("{spans:#?}"), &all);
    let (_, metrics) = smsc.admin().text("/metrics").unwrap();
    assert_hidden("the metrics", &metrics, &all);
    // Administrators see numbers.
    let hidden = [&texts[..], &secrets].concat();
    assert_hidden("the answers of the API", &answers, &hidden);
}

#[test]
fn with_the_embedded_store() {
    let (operator, carrier) = (FakeOperator::listen(), free_listener());
    let (dispatch, collector) = (Dispatch::start(), Collector::http());
    let networks = Networks::start();
    let smsc = configured(
        Smsc::new(),
        operator.address(),
        carrier,
        networks.addresses(),
        &dispatch.source(""),
    );
    let smsc = collector.observe(smsc).start();
    nothing_is_told(&smsc, &operator, carrier, &dispatch, &collector, &networks);
}

#[test]
fn with_postgresql_and_redis() {
    let (operator, carrier) = (FakeOperator::listen(), free_listener());
    let (dispatch, collector) = (Dispatch::start(), Collector::http());
    let (address, source) = (collector.address(), dispatch.source(""));
    let (to, networks) = (operator.address(), Networks::start());
    let at = networks.addresses();
    let cluster = Cluster::of(1)
        .redis()
        .each(move |smsc| {
            let smsc = configured(smsc, to, carrier, at, &source)
                .env("SMSC_POSTGRES__MESSAGE_CORRELATIONS", "true");
            traced(smsc, address, "http/protobuf")
        })
        .start();
    let node = &cluster.nodes[0];
    nothing_is_told(node, &operator, carrier, &dispatch, &collector, &networks);
}
