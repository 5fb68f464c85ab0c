//! Messages to handsets wait for the IMSI of their number: one question per number, whoever waits; unknown
//! and unreachable are different things.

mod hlr;
mod order;

use crate::harness::{
    Cluster, FakeCore, Peer, Smsc, SmscBuilder, free_port, redis_database, stat_of, submit, until,
};
use hlr::{Hlr, Mood};
use serde_json::Value;
use smsc::gsm_core::Phone;

const NUMBER: &str = "49160001";
const IMSI: &str = "001010000000001";
const QUEUE: &str = "internal:imsi";
const GSM: &str = "gsm:home";
/// Keys with which a question is not asked once more because its answer takes long on a busy machine.
const ONE_QUESTION: &str = "timeout = \"60s\"\n";

/// Routes numbers that begin with 4916 to handsets whose HLR is away, and asks for IMSIs so.
fn asking(keys: &str) -> SmscBuilder {
    with_network(Smsc::new().account("test", "test"), keys)
}

fn with_network(smsc: SmscBuilder, keys: &str) -> SmscBuilder {
    with_network_at(smsc, "127.0.0.1:1", keys)
}

fn with_network_at(smsc: SmscBuilder, address: &str, keys: &str) -> SmscBuilder {
    smsc.toml(&format!(
        "[[gsm]]\nname = \"home\"\naddress = {address:?}\nsmsc_address = \"49160000\"\n\
         retry = {{ delays = [\"1s\"] }}\n[imsi]\n{keys}"
    ))
    .toml("[[route]]\nprefix = \"4916\"\nto = [\"gsm:home\"]\n")
}

fn of(hlr: &Hlr, keys: &str) -> String {
    format!("hlr = {:?}\n{keys}", hlr.address())
}

fn message(smsc: &Smsc, id: &str) -> Value {
    smsc.admin().get(&format!("/v1/messages/{id}"))
}

fn waiting(smsc: &Smsc, queue: &str) -> u64 {
    let queue = smsc.admin().get(&format!("/v1/queues/{queue}"));
    queue["waiting"].as_u64().unwrap() + queue["in_flight"].as_u64().unwrap()
}

/// Waits until a message has its IMSI and waits for the network.
fn found(smsc: &Smsc, id: &str) -> Value {
    until("the IMSI of a message", || {
        let shown = message(smsc, id);
        (shown["queue"] == GSM).then_some(shown)
    })
}

fn numbers(count: usize) -> Vec<String> {
    (0..count).map(|at| format!("4916{at:05}")).collect()
}

#[test]
fn a_message_to_a_handset_gets_the_imsi_of_its_number() {
    let hlr = Hlr::start(&[(NUMBER, IMSI)]);
    let smsc = asking(&of(&hlr, ONE_QUESTION)).start();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let id = esme.submit(submit(&format!("+{NUMBER}"), "hello"));
    let shown = found(&smsc, &id);
    assert_eq!(
        (&shown["imsi"], &shown["state"]),
        (&IMSI.into(), &"ENROUTE".into())
    );
    let changes = shown["changes"].as_array().unwrap();
    assert_eq!(changes.len(), 1);
    assert_eq!(changes[0]["by"], "resolver: IMSI (looked up)");
    // The IMSI is known by now: the message goes there at once, without a question.
    let again = esme.submit(submit(NUMBER, "again"));
    let shown = message(&smsc, &again);
    assert_eq!(
        (&shown["queue"], &shown["imsi"]),
        (&GSM.into(), &IMSI.into())
    );
    assert_eq!(shown["changes"], serde_json::json!([]));
    assert_eq!((hlr.asked(NUMBER), hlr.connections()), (1, 1));

    let explain = |number: &str| {
        let all = ["route", "explain", "--config", "smsc.toml", number];
        smsc.run(&all).stdout
    };
    let said = explain(NUMBER);
    assert!(
        said.contains("its IMSI is known") && !said.contains(IMSI),
        "{said}"
    );
    assert!(explain("49160002").contains("its IMSI is looked up first"));
    let log = smsc.log();
    assert!(!log.contains(IMSI), "{log}");
    smsc.assert_no_panic();
}

#[test]
fn an_unknown_subscriber_ends_the_message_and_is_remembered() {
    let hlr = Hlr::start(&[]);
    let keys = format!("{ONE_QUESTION}cache_unknown_for = \"1h\"");
    let smsc = asking(&of(&hlr, &keys)).start();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    for _ in 0..2 {
        let id = esme.submit(submit(NUMBER, "hello"));
        let shown = smsc.wait_for_final(&id);
        assert_eq!(shown["state"], "UNDELIVERABLE");
        assert_eq!(shown["final"]["error"], "1", "{shown}");
        let (told, state) = stat_of(&esme.deliver());
        assert_eq!((told, state), (id, 5));
    }
    assert_eq!(hlr.asked(NUMBER), 1);

    // Somebody gets the number: an order makes the SMSC forget that nobody had it.
    hlr.add(NUMBER, IMSI);
    let said = smsc.command(&["lookup", "forget", "imsi", NUMBER]).stdout;
    assert!(said.contains("1 answers forgotten"), "{said}");
    let id = esme.submit(submit(NUMBER, "hello"));
    assert_eq!(found(&smsc, &id)["imsi"], IMSI);
    // And another SIM.
    hlr.add(NUMBER, "001010000000009");
    let (status, all) = smsc.admin().call("DELETE", "/v1/lookups/imsi", None);
    assert_eq!((status, &all["forgotten"]), (200, &1.into()));
    let id = esme.submit(submit(NUMBER, "hello"));
    assert_eq!(found(&smsc, &id)["imsi"], "001010000000009");
    let listed = smsc.admin().get("/v1/lookups");
    let imsis = &listed["lookups"][1];
    assert_eq!(
        (&imsis["question"], &imsis["cached"]),
        (&"imsi".into(), &1.into())
    );
    assert_eq!(
        (&imsis["away"], &imsis["has_source"]),
        (&false.into(), &true.into())
    );
    let log = smsc.log();
    assert!(!log.contains(NUMBER), "{log}");
}

#[test]
fn a_thousand_messages_to_a_number_are_one_question() {
    const MESSAGES: usize = 1_000;
    let hlr = Hlr::start(&[(NUMBER, IMSI)]);
    hlr.set(Mood::Silent);
    let smsc = asking(&of(&hlr, ONE_QUESTION)).start();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let ids: Vec<String> = (0..MESSAGES)
        .map(|_| esme.submit(submit(NUMBER, "hello")))
        .collect();
    until("all of them to wait", || {
        (waiting(&smsc, QUEUE) == MESSAGES as u64).then_some(())
    });
    hlr.set(Mood::Good);
    until("all of them at the network", || {
        (waiting(&smsc, GSM) == MESSAGES as u64).then_some(())
    });
    assert_eq!(hlr.asked(NUMBER), 1);
    assert_eq!(found(&smsc, &ids[MESSAGES - 1])["imsi"], IMSI);
    smsc.assert_no_panic();
}

#[test]
fn an_hlr_that_lies_stammers_cuts_off_or_says_nothing_loses_nothing() {
    const NUMBERS: usize = 20;
    let hlr = Hlr::start(&[]);
    let all = numbers(NUMBERS);
    for (at, number) in all.iter().enumerate() {
        hlr.add(number, &format!("00101{at:010}"));
    }
    let keys = "timeout = \"300ms\"\ndelays = [\"100ms\"]\nbreaker_failures = 5\nbreaker_pause = \"200ms\"\n";
    let smsc = asking(&of(&hlr, keys)).start();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    for mood in [Mood::Lying, Mood::Garbled, Mood::CutOff, Mood::Silent] {
        hlr.set(mood);
        let ids: Vec<String> = (all.iter())
            .map(|number| esme.submit(submit(number, "hello")))
            .collect();
        until("the HLR to count as away", || {
            let away = smsc.admin().metric("smsc_imsi_source_away")? == 1.0;
            (away && waiting(&smsc, QUEUE) >= NUMBERS as u64).then_some(())
        });
        hlr.set(Mood::Good);
        for (at, id) in ids.iter().enumerate() {
            let shown = found(&smsc, id);
            assert_eq!(shown["imsi"], format!("00101{at:010}"), "{mood:?}");
        }
        smsc.admin().call("DELETE", "/v1/lookups/imsi", None);
        until("the HLR to count as there", || {
            (smsc.admin().metric("smsc_imsi_source_away")? == 0.0).then_some(())
        });
    }
    smsc.assert_no_panic();
}

#[test]
fn what_waits_while_the_hlr_is_away_can_be_cancelled_and_goes_on_when_it_is_back() {
    const NUMBERS: usize = 200;
    let address = format!("127.0.0.1:{}", free_port());
    let keys = format!(
        "hlr = {address:?}\ndelays = [\"100ms\"]\nbreaker_failures = 3\nbreaker_pause = \"200ms\"\n"
    );
    let mut smsc = asking(&keys).start();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let all = numbers(NUMBERS);
    let ids: Vec<String> = (all.iter())
        .map(|number| esme.submit(submit(number, number)))
        .collect();
    let in_flight = |smsc: &Smsc| {
        let queue = smsc.admin().get(&format!("/v1/queues/{QUEUE}"));
        queue["in_flight"].as_u64().unwrap()
    };
    until("all but one to wait in the queue", || {
        let away = smsc.admin().metric("smsc_imsi_source_away")? == 1.0;
        (away && in_flight(&smsc) <= 1).then_some(())
    });
    let last = &ids[NUMBERS - 1];
    smsc.admin().post(&format!("/v1/messages/{last}/cancel"));
    assert_eq!(smsc.wait_for_final(last)["state"], "DELETED");

    // A kill in between loses nothing either.
    smsc.kill();
    let hlr = Hlr::start(&[]);
    for (at, number) in all.iter().enumerate() {
        hlr.add(number, &format!("00101{at:010}"));
    }
    smsc.set_config(&smsc.config().replace(&address, &hlr.address()));
    smsc.start_again();
    until("all of them at the network", || {
        (waiting(&smsc, GSM) == NUMBERS as u64 - 1).then_some(())
    });
    for (at, id) in ids.iter().enumerate().take(NUMBERS - 1) {
        assert_eq!(message(&smsc, id)["imsi"], format!("00101{at:010}"));
    }
    smsc.kill();
    smsc.start_again();
    let shown = message(&smsc, &ids[0]);
    assert_eq!(
        (&shown["imsi"], &shown["queue"]),
        (&"001010000000000".into(), &GSM.into())
    );
    smsc.terminate();
    smsc.fsck();
}

#[test]
fn the_table_comes_first_and_an_old_hlr_and_a_service_know_the_rest() {
    let hlr = Hlr::start(&[("49160003", "001010000000003")]);
    hlr.set(Mood::Old);
    let keys = of(&hlr, "table = \"imsis.csv\"\n");
    let smsc = asking(&keys)
        .file(
            "imsis.csv",
            "number,imsi\n49160001,001010000000001\n49169*,0010199*\n",
        )
        .start();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    for (number, imsi, asked) in [
        ("49160001", "001010000000001", 0),
        ("49169123", "0010199123", 0),
        // Asked for `.imsi`, then for `.info`.
        ("49160003", "001010000000003", 2),
    ] {
        let id = esme.submit(submit(number, "hello"));
        assert_eq!(found(&smsc, &id)["imsi"], imsi);
        assert_eq!(hlr.asked(number), asked, "{number}");
    }
}

#[test]
fn a_number_whose_imsi_the_network_does_not_know_is_looked_up_anew() {
    const NEW: &str = "001010000000009";
    let (hlr, core) = (Hlr::start(&[(NUMBER, IMSI)]), FakeCore::start());
    core.set(IMSI, Phone::Away(0x02));
    let smsc = Smsc::new().account("test", "test");
    let smsc = with_network_at(smsc, &core.address().to_string(), &of(&hlr, "")).start();
    core.wait_for_connections(1);
    // The subscriber has got another SIM, which is known only after the message is on its way.
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let id = esme.submit(submit(NUMBER, "hello"));
    core.wait_for_attempts(IMSI, 1);
    hlr.add(NUMBER, NEW);
    assert_eq!(core.wait_for(NEW, 1)[0].text, "hello");
    assert_eq!(smsc.wait_for_final(&id)["state"], "DELIVERED");
    // Later messages go there at once.
    let asked = hlr.asked(NUMBER);
    let id = esme.submit(submit(NUMBER, "again"));
    assert_eq!(core.wait_for(NEW, 2)[1].text, "again");
    assert_eq!(smsc.wait_for_final(&id)["state"], "DELIVERED");
    assert_eq!(hlr.asked(NUMBER), asked);
    smsc.assert_no_panic();
}

#[test]
fn an_erasure_takes_the_imsi_too() {
    let hlr = Hlr::start(&[(NUMBER, IMSI)]);
    let mut smsc = asking(&of(&hlr, "")).start();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let id = esme.submit(submit(NUMBER, "hello"));
    assert_eq!(found(&smsc, &id)["imsi"], IMSI);
    smsc.admin().post(&format!("/v1/messages/{id}/cancel"));
    assert_eq!(smsc.wait_for_final(&id)["imsi"], IMSI);
    assert_eq!(stat_of(&esme.deliver()).0, id);
    until("the message to be erased", || {
        let erased = smsc.command(&["erase", "--msisdn", NUMBER, "--yes"]).stdout;
        erased.contains("erased in 1 messages").then_some(())
    });
    let shown = message(&smsc, &id);
    assert_eq!(
        (&shown["imsi"], &shown["to"]),
        (&Value::Null, &"(erased)".into())
    );
    assert_eq!(smsc.admin().get("/v1/lookups")["lookups"][1]["cached"], 0);
    smsc.terminate();
    smsc.fsck();
}

#[test]
fn imsis_are_shared_and_forgotten_by_all_nodes() {
    let hlr = Hlr::start(&[(NUMBER, IMSI)]);
    let keys = of(&hlr, "");
    let cluster = Cluster::of(2)
        .redis()
        .each(move |smsc| with_network(smsc.account("test", "test"), &keys))
        .start();
    cluster.wait_until_held_by(0, &[0, 1], QUEUE, 0);
    for node in &cluster.nodes {
        until("Redis to be connected", || {
            (node.admin().metric("smsc_throttle_redis_up")? == 1.0).then_some(())
        });
    }
    let mut peers: Vec<Peer> = (cluster.nodes.iter())
        .map(|node| Peer::bind(node.smpp(), "test", "test"))
        .collect();
    for (node, peer) in cluster.nodes.iter().zip(&mut peers) {
        let id = peer.submit(submit(NUMBER, "hello"));
        assert_eq!(found(node, &id)["imsi"], IMSI);
    }
    assert_eq!(hlr.asked(NUMBER), 1, "one node asks for a number");
    hlr.add(NUMBER, "001010000000009");
    let path = format!("/v1/lookups/imsi/{NUMBER}");
    cluster.nodes[0].admin().call("DELETE", &path, None);
    for (node, peer) in cluster.nodes.iter().zip(&mut peers) {
        until("the node to have forgotten it", || {
            let id = peer.submit(submit(NUMBER, "hello"));
            (found(node, &id)["imsi"] == "001010000000009").then_some(())
        });
    }
    assert_eq!(hlr.asked_at_all(), 2);
}

#[test]
fn imsis_outlive_the_process_in_redis() {
    let hlr = Hlr::start(&[(NUMBER, IMSI)]);
    let redis = redis_database();
    let mut smsc = asking(&of(&hlr, ""))
        // As long as it may be: an answer that comes too late on a busy machine would not be shared.
        .toml(&format!(
            "[redis]\nurl = {:?}\ntimeout = \"1s\"",
            redis.url()
        ))
        .start();
    for by in ["looked up", "shared cache"] {
        until("Redis to be connected", || {
            (smsc.admin().metric("smsc_throttle_redis_up")? == 1.0).then_some(())
        });
        let mut esme = Peer::bind(smsc.smpp(), "test", "test");
        let id = esme.submit(submit(NUMBER, "hello"));
        let shown = found(&smsc, &id);
        assert_eq!(shown["changes"][0]["by"], format!("resolver: IMSI ({by})"));
        drop(esme);
        smsc.terminate();
        smsc.start_again();
    }
    assert_eq!(hlr.asked(NUMBER), 1);
}
