//! Automatic answers: what is said, who pays, who is never answered; and none lost or said twice by a kill.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use super::{brought, in_postgresql, messages_of, mo, one_of, rule, two};
use crate::harness::{
    Answerer, Cluster, FakeOperator, Peer, PeerError, Smsc, SmscBuilder, database, next_submit,
    submit, until, within,
};
use serde_json::{Value, json};
use smsc::smpp::{Body, CommandStatus};

const NUMBER: &str = super::NUMBER;
const KILLS: usize = 3;
/// Messages that the operator brings between two kills.
const BETWEEN: usize = 150;
/// Unanswered ones at most.
const WINDOW: usize = 30;
const LIMIT: Duration = Duration::from_secs(120);

/// A rule that answers whatever comes to 777 or 12345.
fn answering(keys: &str) -> String {
    let text = "Dear {{from}}, your {{keyword}} about '{{text}}' came to {{to}}";
    rule(
        "hello",
        10,
        &format!("to = [\"777\", \"12345\"]\nreply = {text:?}\nreply_account = \"shop\"\n{keys}"),
    )
}

fn replies(smsc: &Smsc, result: &str) -> f64 {
    let metric = format!("smsc_mo_replies_total{{rule=\"hello\",result=\"{result}\"}}");
    smsc.admin().metric(&metric).unwrap_or_default()
}

#[test]
fn an_answer_is_a_message_of_its_account() {
    for database in [None, Some(database())] {
        let listener = FakeOperator::listen();
        let rules = format!(
            "{}[[route]]\nprefix = \"4477\"\nto = [\"up\"]\n",
            answering("")
        );
        let mut builder = two(&rules, &listener);
        if let Some(database) = &database {
            builder = in_postgresql(builder, database.url());
        }
        let smsc = builder.start();
        let mut up = listener.accept_bind();
        brought(&mut up, mo(NUMBER, "777", "ASK: the weather"));
        let (sequence, answer) = next_submit(&mut up);
        crate::harness::accept(&mut up, sequence, "theirs");
        let text = "Dear 447700900123, your ASK about 'the weather' came to 777";
        assert_eq!(answer.short_message, text);
        assert_eq!(
            (&answer.source_addr[..], &answer.destination_addr[..]),
            (&b"777"[..], NUMBER.as_bytes())
        );
        assert_eq!((answer.dest_addr_ton, answer.dest_addr_npi), (1, 1));
        let message = one_of(&smsc, "up");
        assert_eq!(
            (&message["kind"], &message["state"]),
            (&json!("MO"), &json!("DELIVERED"))
        );
        let sent = messages_of(&smsc, "shop");
        assert_eq!(sent.len(), 1, "{sent:?}");
        assert_eq!(
            (&sent[0]["kind"], &sent[0]["mo_rule"]),
            (&json!("MT"), &json!("hello"))
        );
        assert_eq!(sent[0]["answer_to"], message["id"]);
        assert_eq!(replies(&smsc, "sent"), 1.0);
        let shown = smsc.command(&["message", "show", sent[0]["id"].as_str().unwrap()]);
        assert!(shown.stdout.contains("answer to"), "{}", shown.stdout);
    }
}

#[test]
fn an_answer_counts_against_its_account_and_waits_for_its_rate() {
    let listener = FakeOperator::listen();
    let rules = answering("reply_from = \"Weather\"\nreply_limit = 100");
    let smsc = two(&rules, &listener).start();
    let admin = smsc.admin();
    let with = |keys: Value| {
        let mut shop = json!({"addresses": ["12345"]});
        shop.as_object_mut()
            .unwrap()
            .extend(keys.as_object().unwrap().clone());
        let (status, said) = admin.call("PUT", "/v1/accounts/shop", Some(&shop));
        assert_eq!(status, 200, "{said}");
    };
    let mut up = listener.accept_bind();
    // The second message comes long before its account may send again.
    with(json!({"rate": 0.1, "burst": 1}));
    brought(&mut up, mo("447700900001", "777", "one"));
    brought(&mut up, mo("447700900002", "777", "two"));
    until("both answers", || {
        (messages_of(&smsc, "shop").len() == 2).then_some(())
    });
    assert!(
        replies(&smsc, "later") >= 1.0,
        "the second one waited for the rate"
    );
    let sent = messages_of(&smsc, "shop");
    assert_eq!(sent[0]["from"], "Weather");
    // Who does not want to hear of the account is not answered, and neither is who is not covered.
    let opted = admin.call("PUT", "/v1/opt-outs/447700900003?account=shop", None);
    assert_eq!(opted.0, 200);
    with(json!({}));
    brought(&mut up, mo("447700900003", "777", "three"));
    until("the refusal", || {
        (replies(&smsc, "refused") == 1.0).then_some(())
    });
    with(json!({"prepaid": true}));
    brought(&mut up, mo("447700900004", "777", "four"));
    until("the refusal", || {
        (replies(&smsc, "refused") == 2.0).then_some(())
    });
    assert_eq!(messages_of(&smsc, "shop").len(), 2);
    let all = messages_of(&smsc, "up");
    let last = smsc.wait_for_final(all[3]["id"].as_str().unwrap());
    assert_eq!(
        (&last["state"], &last["final"]["error"]),
        (&json!("DELETED"), &json!("refused"))
    );
}

#[test]
fn nobody_is_answered_too_often_and_machines_never() {
    let listener = FakeOperator::listen();
    let smsc = two(
        &answering("reply_limit = 2\nreply_limit_per = \"1h\""),
        &listener,
    )
    .start();
    let mut up = listener.accept_bind();
    for _ in 0..5 {
        brought(&mut up, mo(NUMBER, "777", "hi"));
    }
    until("the limit", || {
        (replies(&smsc, "limited") == 3.0).then_some(())
    });
    until("two answers", || {
        (replies(&smsc, "sent") == 2.0).then_some(())
    });
    brought(&mut up, mo("447700900124", "777", "hi"));
    until("another sender", || {
        (replies(&smsc, "sent") == 3.0).then_some(())
    });
    for (from, text, why) in [
        ("Bank", "hi", "not_a_number"),
        ("54321", "hi", "short_code"),
        ("12345", "hi", "short_code"),
        (
            "447700900777",
            "Dear 1, your hi about '' came to 777",
            "automatic",
        ),
    ] {
        brought(&mut up, mo(from, "777", text));
        until(why, || (replies(&smsc, why) >= 1.0).then_some(()));
    }
    let acknowledgement = smsc::smpp::SubmitSm {
        esm_class: 0x10,
        ..mo("447700900778", "777", "hi")
    };
    brought(&mut up, acknowledgement);
    until("an acknowledgement", || {
        (replies(&smsc, "automatic") == 2.0).then_some(())
    });
    assert_eq!(messages_of(&smsc, "shop").len(), 3);
}

/// Brings messages of different subscribers, a window of them at a time, and gives back those that were not
/// acknowledged when the connection ended.
fn bring_all(
    bind: &mut Peer,
    mut numbers: Vec<usize>,
    acked: &mut HashSet<usize>,
    until: usize,
) -> Vec<usize> {
    let mut open: HashMap<u32, usize> = HashMap::new();
    numbers.reverse();
    while !(numbers.is_empty() && open.is_empty()) && acked.len() < until {
        while open.len() < WINDOW
            && let Some(number) = numbers.pop()
        {
            let deliver = mo(&format!("447700{number:06}"), "777", "hi");
            open.insert(bind.request(Body::DeliverSm(deliver)), number);
        }
        let answer = bind.next(LIMIT).expect("an answer");
        assert_eq!(answer.status, CommandStatus::ESME_ROK);
        acked.extend(open.remove(&answer.sequence));
    }
    numbers.extend(open.into_values());
    numbers
}

/// What was acknowledged is answered once, whatever is killed when.
fn killed_with_answers(mut smsc: Smsc, listener: &FakeOperator) {
    let total = (KILLS + 1) * BETWEEN;
    let mut rest: Vec<usize> = (0..total).collect();
    let mut acked = HashSet::new();
    let mut repeated = 0;
    for kill in 1..=KILLS + 1 {
        let mut up = listener.accept_bind();
        rest = bring_all(&mut up, rest, &mut acked, kill * BETWEEN);
        if kill <= KILLS {
            smsc.kill();
            repeated += WINDOW;
            smsc.start_again();
        }
    }
    assert!(rest.is_empty() && acked.len() == total);
    let is_final = |message: &Value| message["stage"] == "final";
    let all = within(LIMIT, || {
        let brought = messages_of(&smsc, "up");
        brought.iter().all(is_final).then_some(brought)
    });
    let brought = all.expect("every message ends");
    let numbers: HashSet<&str> = brought
        .iter()
        .map(|one| one["from"].as_str().unwrap())
        .collect();
    assert_eq!(numbers.len(), total, "each acknowledged message is stored");
    assert!(
        brought.len() <= total + repeated,
        "{} of {total}",
        brought.len()
    );
    let answers = within(LIMIT, || {
        let answers = messages_of(&smsc, "shop");
        answers.iter().all(is_final).then_some(answers)
    });
    let mut answered: HashMap<String, usize> = HashMap::new();
    for answer in answers.expect("every answer ends") {
        assert_eq!(answer["state"], "ACCEPTED");
        *answered
            .entry(answer["answer_to"].as_str().unwrap().to_owned())
            .or_default() += 1;
    }
    for message in &brought {
        assert_eq!(message["state"], "DELIVERED", "{message}");
        assert_eq!(
            answered.get(message["id"].as_str().unwrap()),
            Some(&1),
            "{message}"
        );
    }
    assert_eq!(answered.len(), brought.len());
    smsc.assert_no_panic();
}

/// What accounts submit goes to an operator that takes it and reports no more.
fn answering_to(out: &Answerer, listener: &FakeOperator) -> SmscBuilder {
    Smsc::new()
        .account_with("shop", "shop", "addresses = [\"12345\"]")
        .operator("up", listener.address())
        .operator_with("out", out.address(), "receipts = \"never\"")
        .route("", "out")
        .toml(&answering(""))
}

#[test]
fn a_kill_loses_no_answer_and_repeats_none() {
    let (listener, out) = (FakeOperator::listen(), Answerer::start());
    killed_with_answers(answering_to(&out, &listener).start(), &listener);
}

#[test]
fn a_kill_loses_no_answer_and_repeats_none_with_postgresql() {
    let database = database();
    let (listener, out) = (FakeOperator::listen(), Answerer::start());
    let builder = in_postgresql(answering_to(&out, &listener), database.url());
    killed_with_answers(builder.start(), &listener);
}

#[test]
fn any_node_answers_what_any_node_took() {
    let listener = FakeOperator::listen();
    let address = listener.address();
    let cluster = Cluster::of(2)
        .each(move |builder| {
            builder
                .account_with("shop", "shop", "addresses = [\"12345\"]")
                .operator("up", address)
                .route("", "test:delivered")
                .toml(&answering(""))
        })
        .start();
    let mut up = listener.accept_bind();
    for number in 0..20 {
        // Codes of both rules' kinds, so that several partitions are used.
        let to = if number % 2 == 0 { "777" } else { "12345" };
        brought(&mut up, mo(&format!("44770090{number:04}"), to, "hi"));
    }
    let node = &cluster.nodes[0];
    until("all answers", || {
        (messages_of(node, "shop").len() == 20).then_some(())
    });
    let answers = messages_of(node, "shop");
    let to: HashSet<&Value> = answers.iter().map(|one| &one["answer_to"]).collect();
    assert_eq!(to.len(), 20);
}

#[test]
fn a_rule_that_is_gone_meanwhile_lets_its_messages_go() {
    let listener = FakeOperator::listen();
    let smsc = two(&answering(""), &listener).start();
    let mut up = listener.accept_bind();
    let mut shop = Peer::bind(smsc.smpp(), "shop", "shop");
    let suspended = smsc.command(&["queue", "suspend", "internal:responder"]);
    assert_eq!(suspended.code, Some(0), "{}", suspended.stderr);
    brought(&mut up, mo(NUMBER, "12345", "hi"));
    assert_eq!(
        smsc.admin().call("DELETE", "/v1/mo-rules/hello", None).0,
        200
    );
    assert_eq!(shop.next(super::QUIET).err(), Some(PeerError::Silence));
    smsc.command(&["queue", "resume", "internal:responder"]);
    // Its address is the account's.
    assert_eq!(shop.deliver().short_message, "hi");
    assert_eq!(shop.submit(submit(NUMBER, "an answer by hand")).len(), 19);
}
