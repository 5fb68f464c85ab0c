//! The number plan: a number that does not exist is refused at once, whoever submits; the others go where their
//! range says; an explanation says what a number is; changes hold at once.

use crate::harness::{FakeOperator, Peer, Smsc, SmscBuilder, submit};
use bytes::Bytes;
use serde_json::{Value, json};
use smsc::smpp::{Body, CommandStatus, SubmitSm};

const KNOWN: &str = "447700900123";
const UNKNOWN: &str = "447700900999";
const NUMBERS: &str = "# our own\n447700900123\n4477009002*\n";

/// Local numbers in a file, which go to the account `handsets`; a peer behind us, the account `partner`; short codes
/// and the rest of the world, which go to the operator `uplink`.
fn planned(uplink: &FakeOperator) -> SmscBuilder {
    let mut builder = Smsc::new()
        .account_with("shop", "shop", "addresses = [\"447700900500\"]")
        .account("handsets", "handsets")
        .account("partner", "partner")
        .operator("uplink", uplink.address())
        .file("numbers", NUMBERS);
    for (name, class, keys) in [
        (
            "home",
            "local",
            "prefixes = [\"4477009\"]\nnumbers = [\"list:known\"]\nto = [\"handsets\"]",
        ),
        (
            "partner",
            "downstream",
            "prefixes = [\"4477111\", \"4477112\"]\nto = [\"partner\"]",
        ),
        (
            "codes",
            "short_code",
            "prefixes = [\"\"]\nmin_digits = 5\nmax_digits = 6\nto = [\"uplink\"]",
        ),
        ("world", "outside", "prefixes = [\"\"]\nto = [\"uplink\"]"),
    ] {
        builder = builder.toml(&format!(
            "[[number_range]]\nname = {name:?}\nclass = {class:?}\n{keys}"
        ));
    }
    builder
}

fn start(builder: SmscBuilder) -> Smsc {
    let list = "[[list]]\nname = \"known\"\nfile = \"numbers\"";
    builder.toml(list).start()
}

/// The answer to a submission.
fn answer(esme: &mut Peer, to: &str) -> CommandStatus {
    let sequence = esme.request(Body::SubmitSm(submit(to, "hello")));
    esme.answer_to(sequence).status
}

fn brought(bind: &mut Peer, to: &str) -> CommandStatus {
    let sequence = bind.request(Body::DeliverSm(SubmitSm {
        source_addr: Bytes::from_static(b"33612345678"),
        destination_addr: Bytes::copy_from_slice(to.as_bytes()),
        short_message: Bytes::from_static(b"hello"),
        ..SubmitSm::default()
    }));
    bind.answer_to(sequence).status
}

#[test]
fn numbers_go_where_their_range_says_and_those_that_do_not_exist_are_refused() {
    let uplink = FakeOperator::listen();
    let smsc = start(planned(&uplink));
    let mut bind = uplink.accept_bind();
    let mut shop = Peer::bind(smsc.smpp(), "shop", "shop");
    for (to, queue) in [
        (KNOWN, "account:handsets"),
        ("+447700900234", "account:handsets"),
        ("447711123456", "account:partner"),
        ("447711345678", "operator:uplink"),
        ("12345", "operator:uplink"),
        ("33612345678", "operator:uplink"),
    ] {
        let id = shop.submit(submit(to, "hello"));
        assert_eq!(smsc.queue_of(&id), queue, "{to}");
    }
    assert_eq!(answer(&mut shop, UNKNOWN), CommandStatus::ESME_RINVDSTADR);
    let refused = "smsc_submissions_to_unknown_numbers_total{range=\"home\"}";
    assert_eq!(smsc.admin().metric(refused), Some(1.0));
    assert!(!smsc.log().contains(UNKNOWN), "the number is masked");

    // What the upstream brings: for our own numbers, for those of accounts, and never back to it.
    assert_eq!(brought(&mut bind, KNOWN), CommandStatus::ESME_ROK);
    assert_eq!(brought(&mut bind, "447700900500"), CommandStatus::ESME_ROK);
    assert_eq!(brought(&mut bind, UNKNOWN), CommandStatus::ESME_RINVDSTADR);
    assert_eq!(
        brought(&mut bind, "33612345678"),
        CommandStatus::ESME_RINVDSTADR
    );
    assert_eq!(shop.deliver().destination_addr, "447700900500");
}

#[test]
fn a_number_that_does_not_exist_is_a_problem_over_http() {
    let uplink = FakeOperator::listen();
    let smsc = start(planned(&uplink).with_api());
    let api = smsc.api_of("shop", "both");
    let order = json!({"to": format!("+{UNKNOWN}"), "from": "ACME", "text": "hello"});
    let (status, problem) = api.call("POST", "/v1/messages", Some(&order));
    assert_eq!(status, 422, "{problem}");
    assert!(problem.to_string().contains("ESME_RINVDSTADR"), "{problem}");
}

#[test]
fn an_explanation_says_what_a_number_is() {
    let uplink = FakeOperator::listen();
    let smsc = start(planned(&uplink));
    let admin = smsc.admin();
    let explained = |to: &str| admin.get(&format!("/v1/routes/explain?to={to}&account=shop"));
    for (to, class, range, exists) in [
        (KNOWN, "local", json!("home"), true),
        (UNKNOWN, "local", json!("home"), false),
        ("447711123456", "downstream", json!("partner"), true),
        ("12345", "short_code", json!("codes"), true),
        ("33612345678", "outside", json!("world"), true),
    ] {
        let planned = json!({"class": class, "range": range, "exists": exists});
        let answer = explained(to);
        assert_eq!(answer["number_plan"], planned, "{to}");
        let goes_nowhere = answer["goes_to"] == json!([]);
        assert_eq!(goes_nowhere, !exists, "{answer}");
    }
    let printed = smsc.command(&["route", "explain", UNKNOWN, "--account", "shop"]);
    assert!(printed.success, "{}", printed.stderr);
    for line in [
        "number plan: local, of the range home",
        "refused: there is no such number; the answer is ESME_RINVDSTADR",
    ] {
        assert!(printed.stdout.contains(line), "{}", printed.stdout);
    }
    let printed = smsc.command(&["route", "explain", "12345"]).stdout;
    assert!(printed.contains("* range:codes:"), "{printed}");
    assert!(printed.contains("goes to uplink"), "{printed}");
}

#[test]
fn the_plan_changes_while_messages_flow() {
    let uplink = FakeOperator::listen();
    let smsc = start(planned(&uplink));
    let admin = smsc.admin();
    let mut shop = Peer::bind(smsc.smpp(), "shop", "shop");
    let mut home: Value = admin.get("/v1/number-ranges/home")["settings"].clone();
    assert_eq!(home["class"], "local");
    home["numbers"] = json!(["list:known", UNKNOWN]);
    assert_eq!(admin.put("/v1/number-ranges/home", &home).status, 200);
    let id = shop.submit(submit(UNKNOWN, "hello"));
    assert_eq!(smsc.queue_of(&id), "account:handsets");

    let reader = admin.with_role("read", "reader");
    assert_eq!(reader.call("GET", "/v1/number-ranges", None).0, 200);
    assert_eq!(reader.call("DELETE", "/v1/number-ranges/home", None).0, 403);
    assert_eq!(admin.call("DELETE", "/v1/number-ranges/home", None).0, 200);
    let names: Vec<Value> = admin.get("/v1/number-ranges")["number_ranges"]
        .as_array()
        .unwrap()
        .iter()
        .map(|range| range["name"].clone())
        .collect();
    assert_eq!(names, ["codes", "partner", "world"]);
    // It is one of the outside world now.
    let id = shop.submit(submit("447700900777", "hello"));
    assert_eq!(smsc.queue_of(&id), "operator:uplink");
    let (status, problem) = admin.call(
        "PUT",
        "/v1/number-ranges/codes",
        Some(&json!({"prefixes": [""], "min_digits": 9, "max_digits": 3})),
    );
    assert_eq!(status, 422, "{problem}");
    assert_eq!(problem["problems"][0]["field"], "min_digits", "{problem}");
}
