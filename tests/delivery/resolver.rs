//! Numbers are looked up between the acceptance of a message and its routing: ported ones go to their
//! current network, and a look-up delays no response.

mod lookup;

use std::path::Path;

use crate::harness::{
    Cluster, Peer, Simulator, Smsc, SmscBuilder, free_port, redis_database, stat_of, submit, until,
};
use lookup::{Lookup, Mood};
use serde_json::Value;
use smsc::smpp::{Body, CommandStatus};

const PORTED: &str = "447700900123";
const STAYED: &str = "447700900124";
/// The network that has the range of both numbers.
const RANGE: &str = "23410";
const NEW: &str = "23415";
const QUEUE: &str = "internal:resolve";
/// Keys with which a question is not asked once more because its answer takes long on a busy machine.
const ONE_QUESTION: &str = "timeout = \"60s\"\n";

/// A configuration that looks up numbers beginning with 44, with a table beside it, and routes to these
/// targets.
fn resolving(url: &str, keys: &str, new: &str, range: &str) -> SmscBuilder {
    let builder = Smsc::new()
        .account("test", "test")
        .file("networks.csv", &format!("prefix,network\n447700,{RANGE}\n"))
        .toml(&format!(
            "[resolver]\nurl = {url:?}\ntable = \"networks.csv\"\ntoken = \"mnp-token\"\n\
             pointer = \"/mnp/network\"\n{keys}"
        ));
    routes(builder, new, range)
}

/// Routes by network, to these targets.
fn routes(builder: SmscBuilder, new: &str, range: &str) -> SmscBuilder {
    let route = |network: &str, to: &str| {
        format!("[[route]]\nprefix = \"44\"\nnetwork = {network:?}\nto = [{to:?}]\n")
    };
    builder
        .toml(&route(NEW, new))
        .toml(&route(RANGE, range))
        .route("", "test:failed")
}

fn message(smsc: &Smsc, id: &str) -> Value {
    smsc.admin().get(&format!("/v1/messages/{id}"))
}

fn waiting(smsc: &Smsc) -> u64 {
    let queue = smsc.admin().get(&format!("/v1/queues/{QUEUE}"));
    queue["waiting"].as_u64().unwrap() + queue["in_flight"].as_u64().unwrap()
}

fn numbers(count: usize) -> Vec<String> {
    (0..count).map(|at| format!("4477009{at:05}")).collect()
}

#[test]
fn pain_25_a_ported_number_goes_to_the_network_that_it_belongs_to_now() {
    let service = Lookup::start(&[(PORTED, NEW)]);
    let (new, range) = (Simulator::new().start(), Simulator::new().start());
    let smsc = resolving(&service.url(), ONE_QUESTION, "new", "range")
        .operator("new", new.address())
        .operator("range", range.address())
        .start();
    smsc.wait_for_binds("new", 1);
    smsc.wait_for_binds("range", 1);
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");

    let ported = esme.submit(submit(PORTED, "to the new one"));
    let stayed = esme.submit(submit(&format!("+{STAYED}"), "to the range's"));
    assert_eq!(new.wait_for(1)[0].text, "to the new one");
    assert_eq!(range.wait_for(1)[0].text, "to the range's");
    let shown = smsc.wait_for_final(&ported);
    assert_eq!(shown["state"], "DELIVERED");
    assert_eq!(
        (&shown["network"], &shown["queue"]),
        (&NEW.into(), &"operator:new".into())
    );
    let change = &shown["changes"][0];
    assert_eq!(
        (&change["kind"], &change["queue"]),
        (&"move".into(), &"operator:new".into())
    );
    assert_eq!(change["by"], format!("resolver: network {NEW} (looked up)"));
    let shown = smsc.wait_for_final(&stayed);
    assert_eq!(shown["network"], RANGE, "not ported: that of its range");

    // The network is known by now: the message is routed at once, without a request.
    let again = esme.submit(submit(PORTED, "again"));
    assert_eq!(smsc.wait_for_final(&again)["network"], NEW);
    assert_eq!(message(&smsc, &again)["changes"], serde_json::json!([]));
    assert_eq!((service.asked(PORTED), service.asked(STAYED)), (1, 1));

    // No route needs the network of this one.
    let other = esme.submit(submit("33612345678", "elsewhere"));
    assert_eq!(smsc.wait_for_final(&other)["network"], Value::Null);
    assert_eq!(service.asked_at_all(), 2);

    let said = smsc.command(&["message", "show", &ported]).stdout;
    assert!(said.contains(&format!("resolver: network {NEW}")), "{said}");
    let explain = |arguments: &[&str]| {
        let mut all = vec![
            "route",
            "explain",
            "--config",
            "smsc.toml",
            "--account",
            "test",
        ];
        all.extend(arguments);
        smsc.run(&all).stdout
    };
    let said = explain(&[PORTED]);
    assert!(
        said.contains("network 23415") && said.contains("goes to new"),
        "{said}"
    );
    let said = explain(&["447700900999"]);
    assert!(
        said.contains("looked up first") && said.contains("goes to test:failed"),
        "{said}"
    );
    let said = explain(&["447700900999", "--network", RANGE]);
    assert!(said.contains("goes to range"), "{said}");
    until("the records of both", || {
        let records = smsc.records();
        let of = |id: &str| records.iter().find(|one| one["id"] == id);
        (of(&ported)?["network"] == NEW && of(&stayed)?["network"] == RANGE).then_some(())
    });
    smsc.assert_no_panic();
}

#[test]
fn a_hundred_messages_to_a_number_are_one_question() {
    const MESSAGES: usize = 100;
    let service = Lookup::start(&[(PORTED, NEW)]);
    service.set(Mood::Silent);
    let smsc = resolving(
        &service.url(),
        ONE_QUESTION,
        "test:delivered",
        "test:failed",
    )
    .start();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    // Every submission is answered although the service does not respond.
    let ids: Vec<String> = (0..MESSAGES)
        .map(|_| esme.submit(submit(PORTED, "hello")))
        .collect();
    until("all of them to wait for the answer", || {
        (waiting(&smsc) == MESSAGES as u64).then_some(())
    });
    let shown = message(&smsc, &ids[0]);
    assert_eq!(
        (&shown["queue"], &shown["state"]),
        (&QUEUE.into(), &"ENROUTE".into())
    );
    service.set(Mood::Good);
    for id in &ids {
        let shown = smsc.wait_for_final(id);
        assert_eq!(
            (&shown["state"], &shown["network"]),
            (&"DELIVERED".into(), &NEW.into())
        );
    }
    assert_eq!(service.asked(PORTED), 1);
    assert_eq!(waiting(&smsc), 0);
    smsc.assert_no_panic();
}

#[test]
fn without_the_service_messages_go_by_the_table_or_are_refused() {
    const MESSAGES: usize = 50;
    let nowhere = format!("http://127.0.0.1:{}/{{msisdn}}", free_port());
    let keys = "delays = [\"50ms\", \"100ms\"]\nbreaker_failures = 5\nbreaker_pause = \"1h\"\n";
    let smsc = resolving(&nowhere, keys, "test:failed", "test:delivered").start();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    for number in numbers(MESSAGES) {
        let id = esme.submit(submit(&number, "hello"));
        let shown = smsc.wait_for_final(&id);
        assert_eq!(
            (&shown["state"], &shown["network"]),
            (&"DELIVERED".into(), &RANGE.into())
        );
        let by = shown["changes"][0]["by"].as_str().unwrap();
        assert_eq!(by, format!("resolver: network {RANGE} (table; no answer)"));
    }
    let metric = |name: &str| smsc.admin().metric(name).unwrap_or_default();
    let given_up = metric("smsc_resolver_given_up_total{result=\"routed\"}");
    assert_eq!(given_up, MESSAGES as f64);
    until("the service to count as away", || {
        (metric("smsc_resolver_service_away") == 1.0).then_some(())
    });
    let failed = metric("smsc_resolver_lookups_total{result=\"failed\"}");
    assert_eq!(failed, 5.0, "then it is left alone");

    let strict = format!("{keys}on_failure = \"refuse\"");
    let smsc = resolving(&nowhere, &strict, "test:failed", "test:delivered").start();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let id = esme.submit(submit(PORTED, "hello"));
    assert_eq!(smsc.wait_for_final(&id)["state"], "UNDELIVERABLE");
    let refused = smsc
        .admin()
        .metric("smsc_resolver_given_up_total{result=\"refused\"}");
    assert_eq!(refused, Some(1.0));
}

#[test]
fn a_service_that_is_broken_for_a_moment_is_asked_again() {
    let service = Lookup::start(&[(PORTED, NEW)]);
    service.set(Mood::Broken);
    // It is asked often enough to be found good again, however late this test heals it.
    let keys = format!("delays = {:?}\nbreaker_failures = 1000\n", ["200ms"; 100]);
    let smsc = resolving(&service.url(), &keys, "test:delivered", "test:failed").start();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let id = esme.submit(submit(PORTED, "hello"));
    until("the first question", || {
        (service.asked(PORTED) >= 1).then_some(())
    });
    service.set(Mood::Good);
    assert_eq!(smsc.wait_for_final(&id)["network"], NEW);
}

#[test]
fn a_long_text_is_divided_for_the_peer_that_it_turns_out_to_be_for() {
    let service = Lookup::start(&[(PORTED, NEW)]);
    let new = Simulator::new().start();
    let smsc = resolving(&service.url(), ONE_QUESTION, "new", "test:failed")
        .operator_with("new", new.address(), "long_messages = \"udh\"")
        .start();
    smsc.wait_for_binds("new", 1);
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    // The first one waits for its network, that of the second one is known.
    for parts in [2, 4] {
        let id = esme.submit(submit(PORTED, &"a".repeat(200)));
        assert_eq!(new.wait_for(parts).len(), parts);
        let shown = smsc.wait_for_final(&id);
        assert_eq!(shown["state"], "DELIVERED");
        assert_eq!(shown["network"], NEW);
        let (told, state) = stat_of(&esme.deliver());
        assert_eq!((told, state), (id, 2));
    }
    assert_eq!(service.asked(PORTED), 1);
    smsc.assert_no_panic();
}

#[test]
fn nothing_that_waits_for_an_answer_is_lost_by_a_kill() {
    const MESSAGES: usize = 200;
    let service = Lookup::start(&[]);
    service.set(Mood::Silent);
    let operator = Simulator::new().start();
    let mut smsc = resolving(&service.url(), "", "test:failed", "up")
        .operator("up", operator.address())
        .start();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    for number in numbers(MESSAGES) {
        esme.submit(submit(&number, &number));
    }
    until("the first questions", || {
        (service.asked_at_all() > 0).then_some(())
    });
    smsc.kill();
    service.set(Mood::Good);
    smsc.start_again();
    let journal = operator.wait_for(MESSAGES);
    let mut texts: Vec<String> = journal.into_iter().map(|line| line.text).collect();
    texts.sort();
    assert_eq!(texts, numbers(MESSAGES));
    until("nothing to wait any more", || {
        (waiting(&smsc) == 0).then_some(())
    });
    smsc.terminate();
    smsc.fsck();
}

#[test]
fn what_waits_for_an_answer_holds_up_no_stop() {
    let service = Lookup::start(&[(PORTED, NEW)]);
    service.set(Mood::Silent);
    let keys = "timeout = \"1s\"\ndelays = [\"60s\"]\n";
    let mut smsc = resolving(&service.url(), keys, "test:delivered", "test:failed").start();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let id = esme.submit(submit(PORTED, "hello"));
    until("the question", || {
        (service.asked(PORTED) == 1).then_some(())
    });
    esme.unbind();
    assert!(smsc.terminate().success());
    assert!(!smsc.log().contains("cannot be kept alive"));
    service.set(Mood::Good);
    smsc.start_again();
    assert_eq!(smsc.wait_for_final(&id)["network"], NEW);
}

#[test]
fn answers_outlive_the_process_in_redis() {
    let service = Lookup::start(&[(PORTED, NEW)]);
    let redis = redis_database();
    let mut smsc = resolving(&service.url(), "", "test:delivered", "test:failed")
        // As long as it may be: an answer that comes too late on a busy machine would not be shared.
        .toml(&format!(
            "[redis]\nurl = {:?}\ntimeout = \"1s\"",
            redis.url()
        ))
        .start();
    let connected = |smsc: &Smsc| {
        until("Redis to be connected", || {
            (smsc.admin().metric("smsc_throttle_redis_up")? == 1.0).then_some(())
        });
    };
    connected(&smsc);
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    for number in [PORTED, STAYED] {
        let id = esme.submit(submit(number, "hello"));
        smsc.wait_for_final(&id);
    }
    drop(esme);
    smsc.terminate();
    smsc.start_again();
    connected(&smsc);
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    for (number, network, by) in [
        (
            PORTED,
            NEW,
            format!("resolver: network {NEW} (shared cache)"),
        ),
        (
            STAYED,
            RANGE,
            format!("resolver: network {RANGE} (table; not ported, shared cache)"),
        ),
    ] {
        let id = esme.submit(submit(number, "hello"));
        let shown = smsc.wait_for_final(&id);
        assert_eq!(shown["network"], network);
        assert_eq!(shown["changes"][0]["by"], by);
        assert_eq!(service.asked(number), 1);
    }
}

#[test]
fn the_table_alone_decides_at_once_and_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("networks.csv");
    std::fs::write(&table, format!("447700,{RANGE}\n")).unwrap();
    let resolver = format!("[resolver]\ntable = {table:?}\n");
    let builder = Smsc::new()
        .account_with("test", "test", "resolve = true")
        .toml(&resolver);
    let smsc = routes(builder, "test:delivered", "test:failed").start();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let id = esme.submit(submit(PORTED, "hello"));
    let shown = message(&smsc, &id);
    assert_eq!(
        (&shown["queue"], &shown["network"]),
        (&"test:failed".into(), &RANGE.into())
    );
    assert_eq!(shown["changes"], serde_json::json!([]));
    // The account requires the network, although no route for this prefix does.
    let id = esme.submit(submit("33612345678", "hello"));
    assert_eq!(message(&smsc, &id)["network"], Value::Null);

    std::fs::write(&table, format!("447700,{NEW}\n33,orange\n")).unwrap();
    until("the new table to count", || {
        let id = esme.submit(submit("33612345678", "hello"));
        (message(&smsc, &id)["network"] == "orange").then_some(())
    });
    let id = esme.submit(submit(PORTED, "hello"));
    assert_eq!(smsc.wait_for_final(&id)["state"], "DELIVERED");

    std::fs::write(&table, "nonsense\n44x,1\n").unwrap();
    until("the mistake to be named", || {
        smsc.log().contains("networks.csv: line 2").then_some(())
    });
    let id = esme.submit(submit(PORTED, "hello"));
    assert_eq!(
        message(&smsc, &id)["network"],
        NEW,
        "the table before stays in force"
    );
}

/// Adds the configuration of a cluster to that of the harness; `folder` is for the table.
fn asking(
    service: &Lookup,
    operator: &Simulator,
    folder: &Path,
) -> impl Fn(SmscBuilder) -> SmscBuilder + use<> {
    let table = folder.join("networks.csv");
    std::fs::write(&table, format!("447700,{RANGE}\n")).unwrap();
    let (url, address) = (service.url(), operator.address());
    move |smsc| {
        let smsc = smsc.account("test", "test").toml(&format!(
            "[resolver]\nurl = {url:?}\ntable = {table:?}\ntoken = \"mnp-token\"\n\
             pointer = \"/mnp/network\"\ntimeout = \"60s\"\n"
        ));
        routes(smsc, "test:failed", "up").operator_with("up", address, "binds = 3")
    }
}

#[test]
fn what_waits_for_an_answer_goes_with_its_partition() {
    const NUMBERS: usize = 20;
    let service = Lookup::start(&[]);
    let folder = tempfile::tempdir().unwrap();
    let operator = Simulator::new().start();
    let mut cluster = Cluster::of(2)
        .each(asking(&service, &operator, folder.path()))
        .start();
    assert!(cluster.nodes[1].terminate().success());
    cluster.wait_until_held_by(0, &[0], QUEUE, 3);
    service.set(Mood::Silent);
    let mut esme = Peer::bind(cluster.nodes[0].smpp(), "test", "test");
    let ids: Vec<String> = (numbers(NUMBERS).iter())
        .map(|number| esme.submit(submit(number, number)))
        .collect();
    until("every number to be asked for", || {
        (service.asked_at_all() >= NUMBERS).then_some(())
    });
    cluster.nodes[1].start_again();
    until("the other node to ask for its share", || {
        (service.asked_at_all() > NUMBERS).then_some(())
    });
    cluster.wait_until_held_by(0, &[0, 1], QUEUE, 3);
    let forced = cluster.nodes[0].log_lines_with("given back with unanswered messages");
    assert_eq!(forced, 0, "nothing is given back and kept as well");
    service.set(Mood::Good);
    for id in &ids {
        assert_eq!(cluster.nodes[0].wait_for_final(id)["state"], "DELIVERED");
    }
    // An operator writes its journal a moment after its responses.
    let mut texts: Vec<String> = operator
        .wait_for(NUMBERS)
        .into_iter()
        .map(|line| line.text)
        .collect();
    texts.sort();
    assert_eq!(texts, numbers(NUMBERS), "each once");
    cluster.nodes.iter().for_each(|node| node.assert_no_panic());
}

#[test]
fn three_nodes_ask_once_and_the_death_of_one_loses_nothing() {
    const NUMBERS: usize = 20;
    let service = Lookup::start(&[]);
    let folder = tempfile::tempdir().unwrap();
    let operator = Simulator::new().start();
    let mut cluster = Cluster::of(3)
        .short_lease()
        .redis()
        .each(asking(&service, &operator, folder.path()))
        .start();
    cluster.wait_until_held_by(0, &[0, 1, 2], QUEUE, 3);
    let mut peers: Vec<Peer> = cluster
        .nodes
        .iter()
        .map(|node| Peer::bind(node.smpp(), "test", "test"))
        .collect();
    // Three nodes accept messages to the same numbers; one node looks each number up.
    for number in numbers(NUMBERS) {
        for (node, peer) in peers.iter_mut().enumerate() {
            peer.submit(submit(&number, &format!("{node} {number}")));
        }
    }
    operator.wait_for(3 * NUMBERS);
    for number in numbers(NUMBERS) {
        assert_eq!(service.asked(&number), 1, "{number}");
    }

    service.set(Mood::Silent);
    let fresh: Vec<String> = (0..NUMBERS).map(|at| format!("4477008{at:05}")).collect();
    for number in &fresh {
        let sequence = peers[0].request(Body::SubmitSm(submit(number, number)));
        assert_eq!(peers[0].answer_to(sequence).status, CommandStatus::ESME_ROK);
    }
    until("every number to be asked for", || {
        (service.asked_at_all() == 2 * NUMBERS).then_some(())
    });
    cluster.nodes[2].kill();
    cluster.wait_until_held_by(0, &[0, 1], QUEUE, 3);
    service.set(Mood::Good);
    let journal = until("all of them at the operator", || {
        let journal = operator.journal();
        let has = |number: &String| journal.iter().any(|line| line.text == *number);
        fresh.iter().all(has).then_some(journal)
    });
    assert!(journal.len() >= 4 * NUMBERS);
    // Receipts wait for peers that do not read.
    until("every message to be finished", || {
        let rows = cluster
            .postgres
            .rows("SELECT count(*) FROM active WHERE stage <> 'untold'");
        (rows[0].get::<_, i64>(0) == 0).then_some(())
    });
}
