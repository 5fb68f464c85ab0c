//! Rules for messages that operators bring: the first one that fits decides, before the addresses of accounts and
//! before routes; keywords for opt-outs come first; without a rule everything is as it was.

mod answers;
mod callback;
mod kept;
mod parts;

use std::time::Duration;

use crate::harness::hooks::Hooks;
use crate::harness::{FakeOperator, Peer, PeerError, Smsc, SmscBuilder, database, migrate, until};
use bytes::Bytes;
use serde_json::{Value, json};
use smsc::smpp::{Body, CommandStatus, SubmitSm};

const NUMBER: &str = "447700900123";
/// Long enough to see that nothing arrives.
const QUIET: Duration = Duration::from_millis(700);

/// A message of a subscriber, as an operator brings it.
fn mo(from: &str, to: &str, text: &str) -> SubmitSm {
    SubmitSm {
        source_addr_ton: 1,
        source_addr_npi: 1,
        source_addr: Bytes::copy_from_slice(from.as_bytes()),
        destination_addr: Bytes::copy_from_slice(to.as_bytes()),
        short_message: Bytes::copy_from_slice(text.as_bytes()),
        ..SubmitSm::default()
    }
}

/// A message of a subscriber in UCS-2, as an operator brings it.
fn in_ucs2(from: &str, to: &str, text: &str) -> SubmitSm {
    let octets: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
    SubmitSm {
        data_coding: 8,
        short_message: octets.into(),
        ..mo(from, to, "")
    }
}

fn bring(bind: &mut Peer, deliver: SubmitSm) -> CommandStatus {
    let sequence = bind.request(Body::DeliverSm(deliver));
    bind.answer_to(sequence).status
}

fn brought(bind: &mut Peer, deliver: SubmitSm) {
    assert_eq!(bring(bind, deliver), CommandStatus::ESME_ROK);
}

fn nothing(peer: &mut Peer) {
    assert_eq!(peer.next(QUIET).err(), Some(PeerError::Silence));
}

fn gets(peer: &mut Peer, text: &str) {
    assert_eq!(peer.deliver().short_message, text);
}

/// Accounts `shop`, which has the short code 12345, and `club`, which has none; an operator `up`, and one that
/// delivers whatever accounts submit.
fn two(rules: &str, operator: &FakeOperator) -> SmscBuilder {
    Smsc::new()
        .account_with("shop", "shop", "addresses = [\"12345\"]")
        .account("club", "club")
        .operator("up", operator.address())
        .route("", "test:delivered")
        .toml(rules)
}

/// A table `[[mo_rule]]`.
fn rule(name: &str, order: u32, keys: &str) -> String {
    format!("[[mo_rule]]\nname = {name:?}\norder = {order}\n{keys}\n")
}

/// Every message whose sender has this name, with the oldest first.
fn messages_of(smsc: &Smsc, sender: &str) -> Vec<Value> {
    let mut all = Vec::new();
    let mut path = format!("/v1/messages?account={sender}&limit=1000");
    loop {
        let page = smsc.admin().get(&path);
        all.extend(page["messages"].as_array().unwrap().iter().cloned());
        let Some(next) = page["next_before"].as_str() else {
            break;
        };
        path = format!("/v1/messages?account={sender}&limit=1000&before={next}");
    }
    all.reverse();
    all
}

fn one_of(smsc: &Smsc, sender: &str) -> Value {
    let found = messages_of(smsc, sender);
    assert_eq!(found.len(), 1, "{found:?}");
    let id = found[0]["id"].as_str().unwrap();
    smsc.wait_for_final(id)
}

fn matches(smsc: &Smsc, rule: &str, action: &str) -> f64 {
    let metric = format!("smsc_mo_rule_matches_total{{rule=\"{rule}\",action=\"{action}\"}}");
    smsc.admin().metric(&metric).unwrap_or_default()
}

/// A builder that keeps messages in PostgreSQL.
fn in_postgresql(builder: SmscBuilder, url: &str) -> SmscBuilder {
    migrate(url);
    builder.toml(&format!("[postgres]\nurl = {url:?}"))
}

#[test]
fn the_first_rule_that_fits_decides() {
    let rules = [
        rule(
            "late",
            200,
            "to = [\"12345\"]\nkeywords = [\"win\"]\ndeliver_to = \"shop\"",
        ),
        rule(
            "win",
            10,
            "to = [\"12345\"]\nkeywords = [\"WIN\", \"πληροφορίες\"]\ndeliver_to = \"club\"",
        ),
        rule("bilgi", 20, "keywords = [\"BİLGİ\"]\ndeliver_to = \"club\""),
        rule(
            "from",
            30,
            "to = [\"123*\"]\nfrom = [\"4915*\"]\ndeliver_to = \"club\"",
        ),
        rule(
            "elsewhere",
            40,
            "to = [\"777\"]\noperator = \"other\"\ndeliver_to = \"shop\"",
        ),
        rule(
            "code",
            50,
            "to = [\"777\"]\noperator = \"up\"\ndeliver_to = \"club\"",
        ),
        rule(
            "owned",
            60,
            "account = \"shop\"\nkeywords = [\"help\"]\ndeliver_to = \"club\"",
        ),
    ];
    let listener = FakeOperator::listen();
    let other = FakeOperator::listen();
    let smsc = two(&rules.concat(), &listener)
        .operator("other", other.address())
        .start();
    let mut up = listener.accept_bind();
    let mut shop = Peer::bind(smsc.smpp(), "shop", "shop");
    let mut club = Peer::bind(smsc.smpp(), "club", "club");
    brought(&mut up, mo(NUMBER, "12345", "win, 7"));
    gets(&mut club, "win, 7");
    brought(&mut up, mo(NUMBER, "12345", "winner"));
    gets(&mut shop, "winner");
    // A Turkish phone's capitals and a Greek one's, in UCS-2.
    for text in ["bilgi ver", "ΠΛΗΡΟΦΟΡΙΕΣ"] {
        let message = in_ucs2(NUMBER, "12345", text);
        brought(&mut up, message.clone());
        assert_eq!(club.deliver().short_message, message.short_message);
    }
    brought(&mut up, mo("4915112345678", "12345", ""));
    gets(&mut club, "");
    brought(&mut up, mo(NUMBER, "777", "anything"));
    gets(&mut club, "anything");
    brought(&mut up, mo(NUMBER, "12345", "HELP!"));
    gets(&mut club, "HELP!");
    // Data has no keyword.
    let data = SubmitSm {
        data_coding: 4,
        ..mo(NUMBER, "12345", "win")
    };
    brought(&mut up, data);
    gets(&mut shop, "win");
    // Nobody has the address, and no rule takes it.
    let homeless = bring(&mut up, mo(NUMBER, "888", "win"));
    assert_eq!(homeless, CommandStatus::ESME_RINVDSTADR);
    assert_eq!(matches(&smsc, "win", "deliver"), 2.0);
    assert_eq!(matches(&smsc, "late", "deliver"), 0.0);
    let message = &messages_of(&smsc, "up")[0];
    let message = smsc.wait_for_final(message["id"].as_str().unwrap());
    assert_eq!(message["kind"], "MO");
    assert_eq!(message["mo_rule"], "win");
    assert_eq!(message["queue"], "account:club");
    assert_eq!(message["state"], "DELIVERED");
    nothing(&mut shop);
    nothing(&mut club);
}

#[test]
fn a_rule_reaches_an_account_by_callback_and_survives_a_kill() {
    let hooks = Hooks::taking();
    let callback = format!(
        "deliver_by = \"callback\"\ncallback_url = {:?}\ncallback_allow_private = [\"127.0.0.1\"]\n\
         callback_secrets = \"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\"",
        hooks.url("127.0.0.1")
    );
    let listener = FakeOperator::listen();
    let rules = [
        rule("web", 10, "keywords = [\"web\"]\ndeliver_to = \"web\""),
        rule("rest", 20, "to = [\"777\"]\ndeliver_to = \"club\""),
    ];
    let mut smsc = two(&rules.concat(), &listener)
        .account_with("web", "web", &callback)
        .start();
    let mut up = listener.accept_bind();
    brought(&mut up, mo(NUMBER, "777", "WEB hello"));
    let came = hooks.wait_for(1);
    assert_eq!(came[0].json()["type"], "message.received");
    assert_eq!(came[0].json()["data"]["text"], "WEB hello");
    // Nobody of the club is bound: it waits in its queue, and still does after a kill.
    brought(&mut up, mo(NUMBER, "777", "later"));
    smsc.kill();
    smsc.start_again();
    let _up = listener.accept_bind();
    let mut club = Peer::bind(smsc.smpp(), "club", "club");
    gets(&mut club, "later");
}

#[test]
fn what_is_dropped_is_acknowledged_counted_and_kept_in_the_history() {
    for database in [None, Some(database())] {
        let listener = FakeOperator::listen();
        let keys = "from = [\"/^[0-9]{5}$/\"]\ndrop = true";
        let mut builder = two(&rule("spam", 10, keys), &listener);
        if let Some(database) = &database {
            builder = in_postgresql(builder, database.url());
        }
        let smsc = builder.start();
        let mut up = listener.accept_bind();
        let mut shop = Peer::bind(smsc.smpp(), "shop", "shop");
        brought(&mut up, mo("54321", "12345", "buy"));
        let message = one_of(&smsc, "up");
        assert_eq!(
            (&message["state"], &message["mo_rule"]),
            (&json!("DELETED"), &json!("spam"))
        );
        assert_eq!(message["final"]["error"], "dropped");
        assert_eq!(matches(&smsc, "spam", "drop"), 1.0);
        nothing(&mut shop);
    }
}

#[test]
fn keywords_for_opt_outs_come_first() {
    let rules = [
        rule("stop", 10, "keywords = [\"stop\"]\ndrop = true"),
        rule("code", 20, "to = [\"777\"]\ndeliver_to = \"club\""),
    ];
    let listener = FakeOperator::listen();
    let smsc = two(&rules.concat(), &listener)
        .toml("[policy]\nopt_out_keywords = [\"STOP\", \"END\"]\nopt_in_keywords = [\"START\"]")
        .start();
    let mut up = listener.accept_bind();
    let mut shop = Peer::bind(smsc.smpp(), "shop", "shop");
    let mut club = Peer::bind(smsc.smpp(), "club", "club");
    // To an account's address: its list has the number, and the account gets the text, whatever rules say.
    brought(&mut up, mo(NUMBER, "12345", "STOP"));
    gets(&mut shop, "STOP");
    // To an address of nobody: the list is that of the account that the rule names.
    brought(&mut up, mo(NUMBER, "777", "end"));
    gets(&mut club, "end");
    let listed = smsc.admin().get("/v1/opt-outs");
    let mut accounts: Vec<&str> = listed["opt_outs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["account"].as_str().unwrap())
        .collect();
    accounts.sort_unstable();
    assert_eq!(accounts, ["club", "shop"]);
    // More than the keyword is no opt-out.
    brought(&mut up, mo(NUMBER, "12345", "stop it"));
    until("the rule", || {
        (matches(&smsc, "stop", "drop") > 0.0).then_some(())
    });
    nothing(&mut shop);
}
