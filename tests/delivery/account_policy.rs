//! Policies of accounts: permitted senders and destinations, lists, limits, opt-outs.

mod opt_outs;

use std::fs;

use crate::harness::{Peer, PrivateRedis, Smsc, submit, until};
use bytes::Bytes;
use serde_json::{Value, json};
use smsc::smpp::{
    Body, CommandStatus, DataSm, DestAddress, Pdu, ReplaceSm, SubmitMulti, SubmitSm, Tlvs, tag,
};

const OK: CommandStatus = CommandStatus::ESME_ROK;
const SENDER: CommandStatus = CommandStatus::ESME_RINVSRCADR;
const DESTINATION: CommandStatus = CommandStatus::ESME_RINVDSTADR;
const THROTTLED: CommandStatus = CommandStatus::ESME_RTHROTTLED;

fn octets(text: &str) -> Bytes {
    Bytes::copy_from_slice(text.as_bytes())
}

fn answer(peer: &mut Peer, body: Body) -> Pdu {
    let sequence = peer.request(body);
    peer.answer_to(sequence)
}

fn from_to(from: &str, to: &str) -> SubmitSm {
    SubmitSm {
        source_addr: octets(from),
        registered_delivery: 0,
        ..submit(to, "hello")
    }
}

/// The status in the response to a submission.
fn sent(peer: &mut Peer, from: &str, to: &str) -> CommandStatus {
    answer(peer, Body::SubmitSm(from_to(from, to))).status
}

fn assert_verdicts(peer: &mut Peer, table: &[(&str, &str, CommandStatus)]) {
    for (from, to, status) in table {
        assert_eq!(sent(peer, from, to), *status, "{from} to {to}");
    }
}

fn refused(smsc: &Smsc, account: &str, reason: &str) -> f64 {
    let name = "smsc_submissions_refused_by_policy_total";
    let metric = format!("{name}{{account=\"{account}\",reason=\"{reason}\"}}");
    smsc.admin().metric(&metric).unwrap_or_default()
}

/// An account with a strict policy, one without, and a policy for all.
fn with_policies() -> Smsc {
    Smsc::new()
        .account_with(
            "shop",
            "shop",
            r#"senders = ["ACME", "4477*", "/^[A-Z]{3}-[0-9]$/"]
               destinations = ["44*", "list:friends"]
               blocked_destinations = ["4499*"]"#,
        )
        .account("free", "free")
        .toml(
            r#"[policy]
               blocked_senders = ["BANK", "list:spam"]
               blocked_destinations = ["447700900666"]
               [[list]]
               name = "friends"
               entries = ["33123*"]
               [[list]]
               name = "spam"
               file = "spam.txt""#,
        )
        .env("SMSC_LOG__LEVEL", "info")
        .route("", "test:delivered")
        .file("spam.txt", "# brands of others\n\nPAYPAL\n/(?i)^lotto/\n")
        .start()
}

#[test]
fn an_account_sends_from_and_to_what_it_may() {
    let smsc = with_policies();
    let mut shop = Peer::bind(smsc.smpp(), "shop", "shop");
    assert_verdicts(
        &mut shop,
        &[
            ("ACME", "447700900001", OK),
            ("+447712", "+447700900001", OK),
            ("ABC-1", "33123456", OK),
            ("acme", "447700900001", SENDER),
            ("", "447700900001", SENDER),
            ("ABC-12", "447700900001", SENDER),
            ("ACME", "33999", DESTINATION),
            ("ACME", "4499000", DESTINATION),
            ("ACME", "447700900666", DESTINATION),
            ("BANK", "447700900001", SENDER),
        ],
    );
    let mut free = Peer::bind(smsc.smpp(), "free", "free");
    assert_verdicts(
        &mut free,
        &[
            ("anything", "4499000", OK),
            ("BANK", "33999", SENDER),
            ("PAYPAL", "33999", SENDER),
            ("lottO 2000", "33999", SENDER),
            ("lot", "33999", OK),
            ("x", "447700900666", DESTINATION),
        ],
    );
    assert_eq!(refused(&smsc, "shop", "sender_not_allowed"), 3.0);
    assert_eq!(refused(&smsc, "shop", "sender_blocked"), 1.0);
    assert_eq!(refused(&smsc, "shop", "destination_not_allowed"), 1.0);
    assert_eq!(refused(&smsc, "shop", "destination_blocked"), 2.0);
    assert_eq!(refused(&smsc, "free", "sender_blocked"), 3.0);
    let log = smsc.log();
    assert!(
        log.contains("refused by policy") && !log.contains("33999"),
        "{log}"
    );
}

#[test]
fn every_operation_that_submits_is_judged() {
    let smsc = with_policies();
    let mut shop = Peer::bind(smsc.smpp(), "shop", "shop");
    let data = |from: &str, to: &str| {
        let mut tlvs = Tlvs::default();
        tlvs.push(tag::MESSAGE_PAYLOAD, b"hello");
        Body::DataSm(DataSm {
            source_addr: octets(from),
            destination_addr: octets(to),
            tlvs,
            ..DataSm::default()
        })
    };
    assert_eq!(answer(&mut shop, data("ACME", "447700900001")).status, OK);
    assert_eq!(
        answer(&mut shop, data("BANK", "447700900001")).status,
        SENDER
    );
    assert_eq!(answer(&mut shop, data("ACME", "33999")).status, DESTINATION);

    let to = |address: &str| DestAddress::Sme {
        dest_addr_ton: 1,
        dest_addr_npi: 1,
        destination_addr: octets(address),
    };
    let multi = Body::SubmitMulti(SubmitMulti {
        source_addr: octets("ACME"),
        dest_address: vec![to("447700900001"), to("33999"), to("4499")],
        short_message: octets("hello"),
        ..SubmitMulti::default()
    });
    match answer(&mut shop, multi).body {
        Body::SubmitMultiResp(answer) => {
            let failed = answer.unsuccess_sme.iter();
            let failed: Vec<_> = failed.map(|one| one.error_status_code).collect();
            assert_eq!(failed, [DESTINATION, DESTINATION]);
        }
        other => panic!("not an answer to submit_multi: {other:?}"),
    }

    // A waiting message, and one that would replace it; replace_sm changes no address.
    let later = SubmitSm {
        schedule_delivery_time: octets("000001000000000R"),
        ..from_to("ACME", "447700900001")
    };
    let id = shop.submit(later.clone());
    let instead = SubmitSm {
        replace_if_present_flag: 1,
        ..later
    };
    assert_eq!(
        answer(&mut shop, Body::SubmitSm(instead.clone())).status,
        OK
    );
    let elsewhere = SubmitSm {
        destination_addr: octets("33999"),
        ..instead
    };
    assert_eq!(
        answer(&mut shop, Body::SubmitSm(elsewhere)).status,
        DESTINATION
    );
    let replace = ReplaceSm {
        message_id: octets(&id),
        source_addr: octets("ACME"),
        short_message: octets("other"),
        ..ReplaceSm::default()
    };
    assert_eq!(answer(&mut shop, Body::ReplaceSm(replace)).status, OK);
}

#[test]
fn policies_change_while_the_account_is_bound() {
    let smsc = with_policies();
    let admin = smsc.admin();
    let mut free = Peer::bind(smsc.smpp(), "free", "free");
    assert_eq!(sent(&mut free, "OTHER", "33999"), OK);
    let mut account = admin.get("/v1/accounts/free")["settings"].clone();
    account["senders"] = json!(["ACME*"]);
    admin.put("/v1/accounts/free", &account);
    assert_eq!(sent(&mut free, "OTHER", "33999"), SENDER);
    assert_eq!(sent(&mut free, "ACME 1", "33999"), OK);
    // An unknown list and an invalid expression are reported and change nothing.
    account["senders"] = json!(["list:freinds", "/[/"]);
    let (status, said) = admin.call("PUT", "/v1/accounts/free", Some(&account));
    assert_eq!(status, 422, "{said}");
    let said = said.to_string();
    assert!(
        said.contains("friends") && said.contains("unclosed"),
        "{said}"
    );
    assert_eq!(sent(&mut free, "ACME 1", "33999"), OK);
    // A changed file takes effect at SIGHUP.
    fs::write(smsc.file("spam.txt"), "ACME 1\n").unwrap();
    assert_eq!(sent(&mut free, "ACME 1", "33999"), OK);
    smsc.reload();
    until("the list to be read again", || {
        (sent(&mut free, "ACME 1", "33999") == SENDER).then_some(())
    });
    assert_eq!(sent(&mut free, "ACME 2", "33999"), OK);
    // A file that cannot be used changes nothing.
    fs::write(smsc.file("spam.txt"), "ACME 2\n44*77\n").unwrap();
    smsc.reload();
    until("the mistake to be told", || {
        smsc.log()
            .contains("list[1].file: spam.txt: line 2")
            .then_some(())
    });
    assert_eq!(sent(&mut free, "ACME 1", "33999"), SENDER);
    assert_eq!(sent(&mut free, "ACME 2", "33999"), OK);
}

#[test]
fn lists_limits_and_the_policy_come_by_the_admin_api() {
    let mut smsc = Smsc::new()
        .account("test", "test")
        .route("", "test:delivered")
        .start();
    let admin = smsc.admin();
    let mut test = Peer::bind(smsc.smpp(), "test", "test");
    assert_eq!(sent(&mut test, "BANK", "441"), OK);
    let put = |path: &str, body: Value| admin.call("PUT", path, Some(&body));

    let (status, said) = put(
        "/v1/policies/all",
        json!({"blocked_senders": ["list:brands"]}),
    );
    assert_eq!(
        (status, &said["problems"][0]["field"]),
        (422, &json!("blocked_senders[0]"))
    );
    assert_eq!(put("/v1/lists/brands", json!({"entries": ["BANK"]})).0, 201);
    let policy = json!({"blocked_senders": ["list:brands"], "prices": {"44": 3}});
    assert_eq!(put("/v1/policies/all", policy).0, 201);
    let limit = json!({"destination_prefix": "44", "rate": 0.0001, "burst": 2});
    assert_eq!(put("/v1/limits/few", limit).0, 201);
    assert_verdicts(
        &mut test,
        &[
            ("BANK", "441", SENDER),
            ("ACME", "441", OK),
            ("ACME", "442", OK),
            ("ACME", "443", THROTTLED),
            ("ACME", "331", OK),
        ],
    );
    let shown = admin.get("/v1/policies/all");
    assert_eq!(shown["settings"]["prices"], json!({"44": 3}));
    assert_eq!(
        admin.get("/v1/lists")["lists"][0]["settings"]["entries"],
        json!(["BANK"])
    );
    assert_eq!(admin.get("/v1/config")["limits"][0]["name"], "few");

    // The errors are named, and nothing changes.
    let (status, said) = admin.call("DELETE", "/v1/lists/brands", None);
    assert_eq!(status, 422, "{said}");
    assert_eq!(
        said["problems"][0]["field"],
        "policies/all.blocked_senders[0]"
    );
    for (path, body, field) in [
        ("/v1/policies/other", json!({}), "policies/other"),
        (
            "/v1/policies/all",
            json!({"blocked_sender": []}),
            "blocked_sender",
        ),
        ("/v1/limits/few", json!({"burst": 2}), "rate"),
        ("/v1/limits/a%20b", json!({"rate": 1}), "name"),
        (
            "/v1/lists/brands",
            json!({"entries": ["44*77"]}),
            "entries[0]",
        ),
        ("/v1/lists/brands", json!({"name": "others"}), "name"),
    ] {
        let (status, said) = put(path, body);
        assert_eq!(
            (status, &said["problems"][0]["field"]),
            (422, &json!(field)),
            "{path}: {said}"
        );
    }
    assert_eq!(sent(&mut test, "BANK", "331"), SENDER);

    // The change survives a restart, and can be rolled back.
    assert!(smsc.terminate().success());
    smsc.start_again();
    let mut test = Peer::bind(smsc.smpp(), "test", "test");
    assert_eq!(sent(&mut test, "BANK", "331"), SENDER);
    let admin = smsc.admin();
    assert_eq!(admin.call("DELETE", "/v1/policies/all", None).0, 200);
    assert_eq!(admin.call("DELETE", "/v1/lists/brands", None).0, 200);
    assert_eq!(sent(&mut test, "BANK", "331"), OK);
    assert_eq!(admin.post("/v1/config/rollback/4").0, 200);
    assert_eq!(sent(&mut test, "BANK", "331"), SENDER);
    // The same policy in a file.
    let config = smsc.config();
    smsc.set_config(&format!(
        "{config}[policy]\nblocked_senders = [\"list:brands\"]\n[[list]]\nname = \"brands\"\nentries = [\"SHOP\"]\n"
    ));
    let applied = smsc.run(&["apply", "-f", "smsc.toml", "--yes"]);
    assert!(applied.success, "{applied:?}");
    for line in ["~ lists/brands", "- limits/few", "~ policies/all"] {
        assert!(applied.stdout.contains(line), "{line}: {}", applied.stdout);
    }
    assert_eq!(sent(&mut test, "BANK", "331"), OK);
    assert_eq!(sent(&mut test, "SHOP", "331"), SENDER);
}

/// Tokens that are never refilled within a test.
const LIMITS: &str = r#"
    [[limit]]
    name = "all"
    account = "test"
    destination_prefix = "44"
    rate = 0.0001
    burst = 6
    [[limit]]
    name = "each"
    rate = 0.0001
    burst = 2
    sender_prefix = "AC"
    per = "destination"
    [[limit]]
    name = "by-sender"
    rate = 0.0001
    burst = 3
    destination_prefix = "33"
    per = "sender""#;

#[test]
fn limits_count_by_rule_sender_and_destination() {
    let smsc = Smsc::new()
        .account("test", "test")
        .account("other", "other")
        .toml(LIMITS)
        .route("", "test:delivered")
        .start();
    let mut test = Peer::bind(smsc.smpp(), "test", "test");
    let mut other = Peer::bind(smsc.smpp(), "other", "other");
    assert_verdicts(
        &mut test,
        &[
            ("ACME", "441", OK),
            ("ACME", "441", OK),
            ("ACME", "441", THROTTLED),
            ("ACME", "442", OK),
            ("BANK", "441", OK),
            // A message refused by one limit uses no tokens of others: four of six are used.
            ("X", "443", OK),
            ("X", "444", OK),
            ("X", "445", THROTTLED),
            ("X", "339", OK),
        ],
    );
    // One rule applies to a single account; the limit of a destination applies to all accounts.
    assert_verdicts(
        &mut other,
        &[
            ("X", "441", OK),
            ("ACME", "441", THROTTLED),
            ("ACME", "442", OK),
            ("ACME", "442", THROTTLED),
            ("Y", "331", OK),
            ("Y", "332", OK),
            ("Y", "333", OK),
            ("Y", "334", THROTTLED),
            ("Z", "334", OK),
        ],
    );
    assert_eq!(refused(&smsc, "test", "over_limit"), 2.0);
    // Parts are counted: two of the three tokens, and the whole bucket for a text with more parts than
    // it holds.
    let long = |from: &str, octets: usize| SubmitSm {
        short_message: "x".repeat(octets).into(),
        ..from_to(from, "33")
    };
    assert_eq!(
        answer(&mut other, Body::SubmitSm(long("L", 200))).status,
        OK
    );
    let again = answer(&mut other, Body::SubmitSm(long("L", 200)));
    assert_eq!(again.status, THROTTLED);
    assert_eq!(sent(&mut other, "L", "33"), OK);
    let mut huge = long("H", 0);
    huge.tlvs
        .push(tag::MESSAGE_PAYLOAD, "x".repeat(900).as_bytes());
    assert_eq!(answer(&mut other, Body::SubmitSm(huge)).status, OK);
    assert_eq!(sent(&mut other, "H", "33"), THROTTLED);
}

#[test]
fn nodes_share_limits_through_redis() {
    let redis = PrivateRedis::start();
    let node = || {
        Smsc::new()
            .account("test", "test")
            // As long as it may be: a node that gets no answer in time on a busy machine counts by itself.
            .toml(&format!(
                "[redis]\nurl = {:?}\ntimeout = \"1s\"\n{LIMITS}",
                redis.url()
            ))
            .route("", "test:delivered")
            .start()
    };
    let nodes = [node(), node()];
    nodes.iter().for_each(|node| {
        until("Redis", || {
            node.log().contains("Redis is connected").then_some(())
        });
    });
    let mut peers = nodes
        .each_ref()
        .map(|node| Peer::bind(node.smpp(), "test", "test"));
    assert_eq!(sent(&mut peers[0], "ACME", "441"), OK);
    assert_eq!(sent(&mut peers[1], "ACME", "441"), OK);
    assert_eq!(sent(&mut peers[0], "ACME", "441"), THROTTLED);
    assert_eq!(sent(&mut peers[1], "ACME", "441"), THROTTLED);
    // Refused messages have used no tokens of the rule: four of its six are left.
    for (at, status) in [
        (0, OK),
        (1, OK),
        (0, OK),
        (1, OK),
        (0, THROTTLED),
        (1, THROTTLED),
    ] {
        assert_eq!(sent(&mut peers[at], "X", "442"), status);
    }
}
