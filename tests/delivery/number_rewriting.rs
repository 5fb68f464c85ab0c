//! Rules of accounts and operators rewrite TON, NPI and numbers in both directions (SMPP 3.4 §5.2.5,
//! §5.2.6), and an account only sees the numbers that it wrote.

use crate::harness::{
    FakeOperator, Peer, Simulator, Smsc, accept, answer, next_submit, stat_of, submit, until,
};
use bytes::Bytes;
use serde_json::json;
use smsc::smpp::{
    AlertNotification, Body, CancelSm, CommandStatus, Pdu, QuerySm, ReplaceSm, SubmitSm,
};

/// TON.
const UNKNOWN: u8 = 0;
const INTERNATIONAL: u8 = 1;
const NATIONAL: u8 = 2;
const NETWORK: u8 = 3;
const ALPHANUMERIC: u8 = 5;
/// NPI.
const ISDN: u8 = 1;
/// message_state.
const DELIVERED: u32 = 2;
const DELETED: u32 = 4;

/// National numbers of the account are stored in international form; its name becomes a number.
const SHOP: &str = r#"
rewrite_in = [
  { field = "destination", max_length = 6, set_ton = 3, set_npi = 0 },
  { field = "destination", prefix = "+", strip = 1, set_ton = 1, set_npi = 1 },
  { field = "destination", prefix = "00", strip = 2, set_ton = 1, set_npi = 1 },
  { field = "destination", prefix = "0", strip = 1, add = "44", set_ton = 1, set_npi = 1 },
  { field = "source", prefix = "ACME", replace = "447700900000", set_ton = 1, set_npi = 1 },
]
"#;

type Address = (u8, u8, String);

fn text(of: &str) -> Bytes {
    Bytes::copy_from_slice(of.as_bytes())
}

fn address(ton: u8, npi: u8, digits: &str) -> Address {
    (ton, npi, digits.to_owned())
}

fn from(pdu: &SubmitSm) -> Address {
    let digits = String::from_utf8(pdu.source_addr.to_vec()).unwrap();
    (pdu.source_addr_ton, pdu.source_addr_npi, digits)
}

fn to(pdu: &SubmitSm) -> Address {
    let digits = String::from_utf8(pdu.destination_addr.to_vec()).unwrap();
    (pdu.dest_addr_ton, pdu.dest_addr_npi, digits)
}

/// A message between two addresses that requests a receipt.
fn between(source: &Address, destination: &Address) -> SubmitSm {
    SubmitSm {
        source_addr_ton: source.0,
        source_addr_npi: source.1,
        source_addr: text(&source.2),
        dest_addr_ton: destination.0,
        dest_addr_npi: destination.1,
        destination_addr: text(&destination.2),
        ..submit("", "hello")
    }
}

fn status_of(peer: &mut Peer, body: Body) -> CommandStatus {
    let sequence = peer.request(body);
    peer.answer_to(sequence).status
}

fn receipt(link: &mut Peer, of: &str) {
    let text_of = format!(
        "id:{of} sub:001 dlvrd:001 submit date:2601010000 done date:2601010000 stat:DELIVRD err:000 text:"
    );
    link.request(Body::DeliverSm(SubmitSm {
        esm_class: 4,
        short_message: text(&text_of),
        ..SubmitSm::default()
    }));
}

#[test]
fn each_operator_gets_numbers_its_own_way() {
    let (first, second) = (FakeOperator::listen(), FakeOperator::listen());
    let smsc = Smsc::new()
        .account_with("shop", "shop", SHOP)
        .account("plain", "plain")
        .operator_with(
            "first",
            first.address(),
            r#"rewrite_out = [
              { field = "destination", ton = 1, prefix = "44", strip = 2, add = "0", set_ton = 2 },
              { field = "source", alphanumeric = true, replace = "12345", set_ton = 3, set_npi = 0 },
            ]"#,
        )
        .operator_with(
            "second",
            second.address(),
            r#"rewrite_out = [
              { field = "destination", ton = 1, add = "+" },
              { field = "source", ton = 1, min_length = 7, replace = "Shop", set_ton = 5, set_npi = 0 },
            ]"#,
        )
        .toml("[queue]\nfailover_after = \"1s\"\n\n[retry]\ndelays = [\"200ms\"]")
        .toml("[[route]]\nprefix = \"44\"\nto = [\"first\", \"second\"]")
        .toml("[[route]]\nto = [\"first\"]")
        .start();
    let (mut link, mut other) = (first.accept_bind(), second.accept_bind());
    let mut shop = Peer::bind(smsc.smpp(), "shop", "shop");
    let mut plain = Peer::bind(smsc.smpp(), "plain", "plain");

    let acme = address(ALPHANUMERIC, UNKNOWN, "ACME");
    let ours = address(INTERNATIONAL, ISDN, "447700900000");
    let national = address(NATIONAL, ISDN, "07700900123");
    let cases = [
        (&acme, &national, &ours, national.clone()),
        (
            &acme,
            &address(UNKNOWN, UNKNOWN, "00447700900123"),
            &ours,
            national.clone(),
        ),
        (
            &acme,
            &address(UNKNOWN, UNKNOWN, "+447700900123"),
            &ours,
            national.clone(),
        ),
        // Another country, and a short code.
        (
            &acme,
            &address(UNKNOWN, UNKNOWN, "0033123456789"),
            &ours,
            address(INTERNATIONAL, ISDN, "33123456789"),
        ),
        (
            &acme,
            &address(UNKNOWN, ISDN, "08001"),
            &ours,
            address(NETWORK, UNKNOWN, "08001"),
        ),
    ];
    for (source, destination, at_source, at_destination) in &cases {
        shop.submit(between(source, destination));
        let (sequence, sent) = next_submit(&mut link);
        assert_eq!(
            (from(&sent), to(&sent)),
            ((*at_source).clone(), at_destination.clone())
        );
        accept(&mut link, sequence, "a");
    }
    // Without rules of the account, only the operator's apply.
    plain.submit(between(&acme, &address(UNKNOWN, UNKNOWN, "0033123456789")));
    let (sequence, sent) = next_submit(&mut link);
    assert_eq!(from(&sent), address(NETWORK, UNKNOWN, "12345"));
    assert_eq!(to(&sent), address(UNKNOWN, UNKNOWN, "0033123456789"));
    accept(&mut link, sequence, "b");

    // After a failover the stored message is rewritten again.
    let id = shop.submit(between(&acme, &national));
    let (sequence, sent) = next_submit(&mut link);
    assert_eq!(to(&sent), national);
    answer(&mut link, sequence, CommandStatus::ESME_RSYSERR, "");
    drop((link, first));
    let (sequence, sent) = next_submit(&mut other);
    assert_eq!(from(&sent), address(ALPHANUMERIC, UNKNOWN, "Shop"));
    assert_eq!(to(&sent), address(INTERNATIONAL, ISDN, "+447700900123"));
    accept(&mut other, sequence, "c");
    receipt(&mut other, "c");
    let told = shop.deliver();
    assert_eq!(stat_of(&told), (id, DELIVERED));
    assert_eq!((from(&told), to(&told)), (national, acme));
    smsc.assert_no_panic();
}

#[test]
fn an_account_hears_of_the_numbers_that_it_wrote() {
    let mut operator = Simulator::new();
    let mut smsc = Smsc::new()
        .account_with("shop", "shop", SHOP)
        .operator("up", operator.address())
        .route("44", "up")
        .start();
    let mut shop = Peer::bind(smsc.smpp(), "shop", "shop");
    let acme = address(ALPHANUMERIC, UNKNOWN, "ACME");
    let national = address(NATIONAL, ISDN, "07700900123");
    let id = shop.submit(between(&acme, &national));

    let shown = smsc.admin().get(&format!("/v1/messages/{id}"));
    assert_eq!(
        (&shown["from"], &shown["to"], &shown["original"]),
        (
            &json!("447700900000"),
            &json!("447700900123"),
            &json!({
                "from": { "address": "ACME", "ton": 5, "npi": 0 },
                "to": { "address": "07700900123", "ton": 2, "npi": 1 },
            })
        )
    );
    let told = smsc.command(&["message", "show", &id]);
    assert!(
        told.stdout.contains("07700900123 (TON 2, NPI 1)"),
        "{}{}",
        told.stdout,
        told.stderr
    );

    smsc.kill();
    smsc.start_again();
    let mut shop = Peer::bind(smsc.smpp(), "shop", "shop");
    let query = |source: &str| {
        Body::QuerySm(QuerySm {
            message_id: text(&id),
            source_addr: text(source),
            ..QuerySm::default()
        })
    };
    assert_eq!(status_of(&mut shop, query("ACME")), CommandStatus::ESME_ROK);
    let not_its_own = CommandStatus::ESME_RQUERYFAIL;
    assert_eq!(status_of(&mut shop, query("447700900000")), not_its_own);
    let replace = Body::ReplaceSm(ReplaceSm {
        message_id: text(&id),
        source_addr: acme.2.clone().into(),
        registered_delivery: 1,
        short_message: text("changed"),
        ..ReplaceSm::default()
    });
    assert_eq!(status_of(&mut shop, replace), CommandStatus::ESME_ROK);
    let instead = SubmitSm {
        replace_if_present_flag: 1,
        short_message: text("once more"),
        ..between(&acme, &national)
    };
    assert_eq!(shop.submit(instead), id, "the same message");

    // Cancelled by its addresses as they were written; another one is not.
    let kept = shop.submit(between(&acme, &address(UNKNOWN, UNKNOWN, "+447700900124")));
    let cancel = |destination: &Address| {
        Body::CancelSm(CancelSm {
            source_addr_ton: ALPHANUMERIC,
            source_addr: text("ACME"),
            dest_addr_ton: destination.0,
            dest_addr_npi: destination.1,
            destination_addr: text(&destination.2),
            ..CancelSm::default()
        })
    };
    let stored = address(INTERNATIONAL, ISDN, "447700900123");
    let nothing = CommandStatus::ESME_RCANCELFAIL;
    assert_eq!(status_of(&mut shop, cancel(&stored)), nothing);
    assert_eq!(
        status_of(&mut shop, cancel(&national)),
        CommandStatus::ESME_ROK
    );
    let told = shop.deliver();
    assert_eq!(stat_of(&told), (id, DELETED));
    assert_eq!((from(&told), to(&told)), (national, acme.clone()));

    operator.start_again();
    let told = shop.deliver();
    assert_eq!(stat_of(&told), (kept, DELIVERED));
    // A leading plus is part of the original address.
    assert_eq!(from(&told), address(UNKNOWN, UNKNOWN, "+447700900124"));
    assert_eq!(to(&told), acme);
    smsc.assert_no_panic();
}

#[test]
fn mobile_originated_messages_are_rewritten_on_both_sides() {
    let operator = FakeOperator::listen();
    let smsc = Smsc::new()
        .account_with(
            "shop",
            "shop",
            r#"
addresses = ["441234*"]
rewrite_out = [
  { field = "source", ton = 1, prefix = "44", strip = 2, add = "0", set_ton = 2 },
  { field = "destination", replace = "SHOP", set_ton = 5, set_npi = 0 },
]"#,
        )
        .operator_with(
            "up",
            operator.address(),
            r#"rewrite_in = [
              { field = "source", ton = 2, add = "44", set_ton = 1, set_npi = 1 },
              { field = "destination", prefix = "0", strip = 1, add = "44", set_ton = 1 },
              { field = "destination", prefix = "9", add = "99999999" },
            ]"#,
        )
        .start();
    let mut link = operator.accept_bind();
    let mut shop = Peer::bind(smsc.smpp(), "shop", "shop");
    let brought = |link: &mut Peer, destination: &Address| -> Pdu {
        let source = address(NATIONAL, ISDN, "7700900123");
        let sequence = link.request(Body::DeliverSm(SubmitSm {
            registered_delivery: 0,
            ..between(&source, destination)
        }));
        link.answer_to(sequence)
    };
    let own = address(NATIONAL, ISDN, "01234567");
    // An alert is rewritten like a message.
    link.request(Body::AlertNotification(AlertNotification {
        source_addr_ton: NATIONAL,
        source_addr_npi: ISDN,
        source_addr: text("7700900123"),
        esme_addr_ton: own.0,
        esme_addr_npi: own.1,
        esme_addr: text(&own.2),
        ..AlertNotification::default()
    }));
    let pdu = shop.expect("an alert", |pdu| {
        matches!(pdu.body, Body::AlertNotification(_))
    });
    let Body::AlertNotification(alert) = pdu.body else {
        unreachable!("just matched")
    };
    assert_eq!(
        (&alert.source_addr[..], &alert.esme_addr[..]),
        (&b"07700900123"[..], &b"SHOP"[..])
    );

    assert_eq!(brought(&mut link, &own).status, CommandStatus::ESME_ROK);
    let got = shop.deliver();
    assert_eq!(from(&got), address(NATIONAL, ISDN, "07700900123"));
    assert_eq!(to(&got), address(ALPHANUMERIC, UNKNOWN, "SHOP"));
    let found = smsc.admin().get("/v1/messages?to=441234567");
    let message = &found["messages"][0];
    assert_eq!(
        (&message["kind"], &message["from"]),
        (&json!("MO"), &json!("447700900123"))
    );

    let too_long = address(NATIONAL, ISDN, "9123456789012");
    let refused = brought(&mut link, &too_long).status;
    assert_eq!(refused, CommandStatus::ESME_RINVDSTADR);
    smsc.assert_no_panic();
}

#[test]
fn rules_come_by_the_admin_api_too_and_hold_at_once() {
    let smsc = Smsc::new()
        .account("shop", "shop")
        .operator("up", Simulator::new().address())
        .route("44", "up")
        .start();
    let admin = smsc.admin();
    let mut shop = Peer::bind(smsc.smpp(), "shop", "shop");
    let national = between(
        &address(UNKNOWN, UNKNOWN, "12345"),
        &address(NATIONAL, ISDN, "07700900123"),
    );
    assert_eq!(
        status_of(&mut shop, Body::SubmitSm(national.clone())),
        CommandStatus::ESME_RINVDSTADR,
        "no route"
    );
    let account = |rules: serde_json::Value| json!({ "password": "shop", "rewrite_in": rules });
    let right = json!({ "field": "destination", "prefix": "0", "strip": 1, "add": "44" });
    admin.put("/v1/accounts/shop", &account(json!([right])));
    until("the rule to hold", || {
        let status = status_of(&mut shop, Body::SubmitSm(national.clone()));
        status.is_ok().then_some(())
    });
    let shown = &admin.get("/v1/accounts/shop")["settings"]["rewrite_in"][0];
    assert_eq!(
        (&shown["add"], &shown["set_ton"]),
        (&json!("44"), &json!(null))
    );

    for (wrong, key) in [
        (json!({ "prefix": "0" }), "rewrite_in[1].field"),
        (json!({ "field": "sender" }), "rewrite_in[1].field"),
        (
            json!({ "field": "source", "set_ton": 256 }),
            "rewrite_in[1].set_ton",
        ),
        (
            json!({ "field": "source", "replace": "A", "strip": 1 }),
            "rewrite_in[1].replace",
        ),
        (
            json!({ "field": "source", "strip": 21 }),
            "rewrite_in[1].strip",
        ),
        (
            json!({ "field": "source", "colour": 1 }),
            "rewrite_in[1].colour",
        ),
    ] {
        let body = account(json!([right, wrong]));
        let (status, refused) = admin.call("PUT", "/v1/accounts/shop", Some(&body));
        assert_eq!(status, 422, "{refused}");
        assert!(refused.to_string().contains(key), "{refused}");
    }
}
