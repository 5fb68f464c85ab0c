//! A receipt finds its message in whatever form the operator writes the id, on whichever bind it comes,
//! and whether it comes early, late or twice. The sender is notified exactly once.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::harness::{
    self, FakeOperator, Peer, PeerError, Scene, Simulator, Smsc, WallClock, accept, database,
    execute, migrate, rows, submit, until, within,
};
use bytes::Bytes;
use rusqlite::Connection;
use smsc::smpp::{Body, CommandId, CommandStatus, Pdu, SubmitSm};

const MESSAGES: usize = 40;
/// Long enough for a second receipt to arrive, if there were one.
const QUIET: Duration = Duration::from_millis(700);

/// Submits messages through a simulated operator; returns when each receipt has come once, with the
/// right id and DELIVRD, and nothing after it.
fn every_receipt_arrives_once(flags: &str, operator_keys: &str) -> Smsc {
    let operator = Simulator::new().flags(flags).start();
    let smsc = Smsc::new()
        .account("test", "test")
        .operator_with("up", operator.address(), operator_keys)
        .route("", "up")
        .start();
    // Two binds: while one waits for a submit_sm_resp, the other's receipts wait.
    let mut transmitter = Peer::transmitter(smsc.smpp(), "test", "test");
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let mut ids: Vec<String> = (0..MESSAGES)
        .map(|number| transmitter.submit(submit(&format!("4477009{number:05}"), "hello")))
        .collect();
    let mut told: Vec<String> = (0..MESSAGES).map(|_| receipted(&esme.deliver())).collect();
    ids.sort();
    told.sort();
    assert_eq!(told, ids, "with {flags:?}");
    assert_eq!(esme.next(QUIET), Err(PeerError::Silence), "with {flags:?}");
    for id in &ids {
        assert_eq!(smsc.wait_for_final(id)["state"], "DELIVERED");
    }
    smsc.assert_no_panic();
    smsc
}

/// The message id of a receipt with DELIVRD.
fn receipted(receipt: &SubmitSm) -> String {
    let text = String::from_utf8_lossy(&receipt.short_message).into_owned();
    assert!(text.contains("stat:DELIVRD"), "{text}");
    harness::receipted(receipt)
}

#[test]
fn ids_in_every_notation() {
    for form in [
        "decimal",
        "hex",
        "hex-upper",
        "decimal-zeros",
        "hex-in-receipt-decimal",
        "decimal-in-receipt-hex",
        "hex-zeros-in-receipt-hex-upper",
        "decimal-in-receipt-hex-upper-zeros",
    ] {
        every_receipt_arrives_once(&format!("--message-id-form {form}"), "");
    }
}

#[test]
fn the_notation_may_be_configured() {
    every_receipt_arrives_once(
        "--message-id-form hex-in-receipt-decimal",
        "message_id = \"decimal\"",
    );
    every_receipt_arrives_once(
        "--message-id-form decimal-in-receipt-hex",
        "message_id = \"hex\"",
    );
    every_receipt_arrives_once("--message-id-form hex-upper", "message_id = \"as_is\"");
}

#[test]
fn receipts_with_text_only() {
    every_receipt_arrives_once("--receipt-text-only", "");
    every_receipt_arrives_once(
        "--receipt-text-only --message-id-form hex-in-receipt-decimal",
        "",
    );
}

#[test]
fn pain_02_receipts_that_overtake_their_answer() {
    let smsc = every_receipt_arrives_once("--early-receipts", "binds = 2");
    let early = smsc.admin().metric("smsc_operator_receipts_early_total");
    assert!(
        early >= Some(1.0),
        "the simulator sent none early: {early:?}"
    );
}

#[test]
fn receipts_that_come_twice_or_late() {
    let smsc = every_receipt_arrives_once("--duplicate-receipts", "");
    until("each to have come twice", || {
        let repeated = smsc.admin().metric("smsc_operator_receipts_repeated_total");
        (repeated == Some(MESSAGES as f64)).then_some(())
    });
    every_receipt_arrives_once("--receipt-delay 300ms..800ms", "");
}

#[test]
fn receipts_on_the_receiver_of_a_pair() {
    every_receipt_arrives_once("", "bind = \"transmitter+receiver\"");
    every_receipt_arrives_once("--no-transceiver", "");
}

#[test]
fn pain_03_a_receipt_on_another_bind_is_matched() {
    let operator = FakeOperator::listen();
    let smsc = Smsc::new()
        .account("test", "test")
        .operator_with("up", operator.address(), "binds = 2")
        .route("", "up")
        .start();
    let mut binds = [operator.accept_bind(), operator.accept_bind()];
    smsc.wait_for_binds("up", 2);
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let id = esme.submit(submit("447700900123", "hello"));

    let (sender, sequence) = first_submit(&mut binds);
    accept(&mut binds[sender], sequence, "abc-1");
    let status = send_receipt(&mut binds[1 - sender], "abc-1", "DELIVRD");
    assert_eq!(status, CommandStatus::ESME_ROK);
    assert_eq!(receipted(&esme.deliver()), id);
    assert_eq!(
        smsc.wait_for_final(&id)["final"]["reported_by"],
        "operator:up"
    );
}

#[test]
fn a_receipt_that_matches_nothing_is_parked_until_its_answer_comes() {
    let mut scene = Scene::new("");
    let status = send_receipt(&mut scene.bind, "7001", "DELIVRD");
    assert_eq!(status, CommandStatus::ESME_ROK, "an unknown id");
    let status = send_receipt(&mut scene.bind, "7002", "UNDELIV");
    assert_eq!(status, CommandStatus::ESME_ROK, "an unknown id");
    let admin = scene.smsc.admin();
    until("two parked receipts", || {
        (admin.metric("smsc_receipts_parked") == Some(2.0)).then_some(())
    });
    assert_eq!(
        admin.metric("smsc_operator_receipts_unmatched_total"),
        Some(2.0)
    );

    let id = scene.submit();
    scene.take("7001");
    assert_eq!(receipted(&scene.esme.deliver()), id);
    until("one of them to be matched", || {
        (admin.metric("smsc_receipts_parked") == Some(1.0)).then_some(())
    });
    scene.smsc.wait_until_told(&id);

    // A receipt answered with ESME_ROK is durable: the other one survives a kill.
    scene.kill_and_start_again();
    let id = scene.esme.submit(submit("447700900124", "hello"));
    scene.take("7002");
    assert_eq!(scene.smsc.wait_for_final(&id)["state"], "UNDELIVERABLE");
    let told = scene.esme.deliver();
    assert!(String::from_utf8_lossy(&told.short_message).contains("stat:UNDELIV"));
}

#[test]
fn an_id_of_a_message_before_a_restart_is_found() {
    let mut scene = Scene::new("");
    let id = scene.submit();
    scene.take("00FF");
    let admin = scene.smsc.admin();
    until("the answer to be on disk", || {
        let stage = admin.get(&format!("/v1/messages/{id}"))["stage"].clone();
        (stage == "handed over").then_some(())
    });
    scene.smsc.kill();
    drop((scene.bind, scene.esme));
    scene.smsc.start_again();
    scene.bind = scene.operator.accept_bind();
    // In decimal, too.
    assert_eq!(
        send_receipt(&mut scene.bind, "255", "DELIVRD"),
        CommandStatus::ESME_ROK
    );
    scene.esme = Peer::bind(scene.smsc.smpp(), "test", "test");
    assert_eq!(receipted(&scene.esme.deliver()), id);
}

#[test]
fn intermediate_states_end_nothing() {
    let mut scene = Scene::new("");
    let id = scene.submit();
    scene.take("31");
    assert_eq!(
        send_receipt(&mut scene.bind, "31", "ENROUTE"),
        CommandStatus::ESME_ROK
    );
    assert_eq!(scene.esme.next(QUIET), Err(PeerError::Silence));
    assert_eq!(
        send_receipt(&mut scene.bind, "31", "DELIVRD"),
        CommandStatus::ESME_ROK
    );
    assert_eq!(receipted(&scene.esme.deliver()), id);
}

/// The sender is told of these two, in any order.
fn both_are_told(scene: &mut Scene, both: &[String; 2]) {
    let told = [(); 2].map(|()| receipted(&scene.esme.deliver()));
    assert_eq!(BTreeSet::from(told), BTreeSet::from(both.clone()));
}

/// The assumed form of an operator's ids may be wrong: receipts find their messages nevertheless,
/// including parked ones, and the form learned in the end survives a kill.
fn another_form_than_the_first(mut scene: Scene) {
    let report = |scene: &mut Scene, theirs: &str, id: &str| {
        let status = send_receipt(&mut scene.bind, theirs, "DELIVRD");
        assert_eq!(status, CommandStatus::ESME_ROK);
        assert_eq!(receipted(&scene.esme.deliver()), id, "by {theirs}");
    };
    let on_disk = |scene: &Scene, id: &str| {
        until("the answer to be on disk", || {
            (scene.message(id)["stage"] == "handed over").then_some(())
        });
    };
    // An id that is the same in every form determines none.
    let id = scene.submit_as("7");
    report(&mut scene, "7", &id);
    let id = scene.submit_as("2a");
    report(&mut scene, "2A", &id);
    // Too early, and not in the assumed form: parked.
    let status = send_receipt(&mut scene.bind, "31", "DELIVRD");
    assert_eq!(status, CommandStatus::ESME_ROK);
    let early = scene.submit_as("1f");
    on_disk(&scene, &early);
    // The ids are in decimal after all.
    let id = scene.submit_as("3f");
    let status = send_receipt(&mut scene.bind, "63", "DELIVRD");
    assert_eq!(status, CommandStatus::ESME_ROK);
    // The parked one as well.
    let both = [early, id];
    both_are_told(&mut scene, &both);
    let changed = "smsc_operator_message_id_forms_changed_total";
    assert_eq!(scene.metric(changed), 1.0);
    let warned = "decimal in the receipt, hexadecimal in the answer";
    assert!(scene.smsc.log().contains(warned), "{}", scene.smsc.log());

    for id in both {
        scene.smsc.wait_until_told(&id);
    }
    scene.kill_and_start_again();
    let decimal = scene.submit_as("10");
    let same = scene.submit_as("16");
    on_disk(&scene, &same);
    // Of two messages, and no address says which: it waits until one confirms the form.
    let status = send_receipt(&mut scene.bind, "16", "DELIVRD");
    assert_eq!(status, CommandStatus::ESME_ROK);
    let confirming = SubmitSm {
        source_addr: Bytes::from_static(b"447700900123"),
        ..harness::receipt("id:22 stat:DELIVRD err:000")
    };
    let status = harness::send_receipt(&mut scene.bind, confirming);
    assert_eq!(status, CommandStatus::ESME_ROK);
    both_are_told(&mut scene, &[decimal, same]);
}

#[test]
fn another_form_than_the_first_in_the_embedded_store() {
    another_form_than_the_first(Scene::new(""));
}

#[test]
fn another_form_than_the_first_in_postgresql() {
    let database = database();
    migrate(database.url());
    another_form_than_the_first(Scene::with("", |builder| {
        builder.toml(&format!("[postgres]\nurl = {:?}", database.url()))
    }));
}

/// Sends the same receipt twice while `hold` keeps the store from committing; neither is answered before
/// `release`, and both are answered after it.
fn repeated_before_the_commit<T>(
    mut scene: Scene,
    hold: impl FnOnce(&Scene) -> T,
    release: impl FnOnce(T),
) {
    let id = scene.submit_as("4711");
    until("the answer to be on disk", || {
        (scene.message(&id)["stage"] == "handed over").then_some(())
    });
    let held = hold(&scene);
    let receipt = || Body::DeliverSm(harness::receipt("id:4711 stat:DELIVRD err:000"));
    let first = scene.bind.request(receipt());
    let second = scene.bind.request(receipt());
    assert_eq!(
        scene.bind.next(QUIET).map(|pdu| (pdu.sequence, pdu.status)),
        Err(PeerError::Silence),
        "answered before it was durable; the receipts were {first} and {second}"
    );
    assert_eq!(scene.message(&id)["state"], "ENROUTE", "not committed");
    release(held);
    for _ in [first, second] {
        let answer = scene.bind.expect("deliver_sm_resp", |pdu| {
            pdu.command_id() == CommandId::DELIVER_SM_RESP
        });
        assert!([first, second].contains(&answer.sequence));
        assert_eq!(answer.status, CommandStatus::ESME_ROK);
    }
    assert_eq!(receipted(&scene.esme.deliver()), id);
    assert_eq!(scene.esme.next(QUIET), Err(PeerError::Silence), "told once");
    assert_eq!(scene.metric("smsc_operator_receipts_repeated_total"), 1.0);
}

/// Two copies of a receipt in one segment, for a message that only the store knows: its sender gets one
/// receipt.
#[test]
fn both_copies_of_a_receipt_at_once() {
    let mut scene = Scene::with("", |smsc| smsc.toml("[correlation]\nmemory = 1024"));
    let id = scene.submit_as("4711");
    submit_beyond_memory(&mut scene);
    let receipt = || Body::DeliverSm(harness::receipt("id:4711 stat:DELIVRD err:000"));
    let copies = [harness::pdu(901, receipt()), harness::pdu(902, receipt())].concat();
    scene.bind.send(&copies);
    for _ in 0..2 {
        let answer = scene.bind.expect("deliver_sm_resp", |pdu| {
            pdu.command_id() == CommandId::DELIVER_SM_RESP
        });
        assert_eq!(answer.status, CommandStatus::ESME_ROK);
    }
    assert_eq!(receipted(&scene.esme.deliver()), id);
    assert_eq!(scene.esme.next(QUIET), Err(PeerError::Silence), "told once");
}

#[test]
fn a_repeated_receipt_is_answered_when_the_first_is_durable() {
    let hold = |scene: &Scene| {
        let store = Connection::open(scene.smsc.data_dir().join("smsc.db")).unwrap();
        store.execute_batch("BEGIN IMMEDIATE").unwrap();
        store
    };
    let release = |store: Connection| store.execute_batch("ROLLBACK").unwrap();
    repeated_before_the_commit(Scene::new(""), hold, release);
}

#[test]
fn a_repeated_receipt_is_answered_when_postgresql_has_the_first() {
    let database = database();
    let url = database.url().to_owned();
    migrate(&url);
    // The commit outlasts the lock, which is held for longer than all looks take on a busy machine.
    let patient = "lock_timeout = \"60s\"\nstatement_timeout = \"60s\"\nwrite_timeout = \"60s\"";
    let scene = Scene::with("", |builder| {
        builder.toml(&format!("[postgres]\nurl = {url:?}\n{patient}"))
    });
    let hold = |_: &Scene| {
        let lock = "BEGIN; LOCK TABLE fin IN EXCLUSIVE MODE; SELECT pg_sleep(10); COMMIT";
        let held = std::thread::spawn({
            let url = url.clone();
            move || execute(&url, lock)
        });
        until("the lock", || {
            let locks = "SELECT 1 FROM pg_locks WHERE relation = 'fin'::regclass AND granted
                         AND mode = 'ExclusiveLock'";
            (!rows(&url, locks).is_empty()).then_some(())
        });
        held
    };
    repeated_before_the_commit(scene, hold, |held| held.join().unwrap());
}

/// The next submit_sm on either bind: the bind, and its sequence number.
fn first_submit(binds: &mut [Peer; 2]) -> (usize, u32) {
    until("a submit_sm on one of two binds", || {
        binds.iter_mut().enumerate().find_map(|(number, bind)| {
            match bind.next(Duration::from_millis(20)) {
                Ok(Pdu {
                    body: Body::SubmitSm(_),
                    sequence,
                    ..
                }) => Some((number, sequence)),
                _ => None,
            }
        })
    })
}

/// Sends a receipt and returns the status of the response.
fn send_receipt(bind: &mut Peer, id: &str, stat: &str) -> CommandStatus {
    let text = format!(
        "id:{id} sub:001 dlvrd:001 submit date:2601010000 done date:2601010001 stat:{stat} err:000 text:"
    );
    let receipt = SubmitSm {
        esm_class: 0x04,
        short_message: Bytes::from(text),
        ..submit("12345", "")
    };
    harness::send_receipt(bind, receipt)
}

#[test]
fn an_id_out_of_memory_is_kept_as_long_as_its_operator_is_waited_for() {
    let clock = WallClock::new();
    let table = "[correlation]\nmemory = 1024\nttl = \"1h\"\nsweep = \"100ms\"";
    let mut scene = Scene::with("correlation_ttl = \"12h\"", |smsc| {
        clock.of(smsc.toml(table))
    });
    let first = scene.submit_as("first");
    submit_beyond_memory(&mut scene);
    // Their hour is over, and so is the TTL of other receipts.
    clock.set(3 * 3_600);
    let index = Connection::open(scene.smsc.data_dir().join("index.db")).unwrap();
    let hours = || {
        let sql = "SELECT count(*) FROM sqlite_master WHERE name GLOB 'corr_*'";
        index
            .query_row(sql, [], |row| row.get::<_, i64>(0))
            .unwrap()
    };
    let dropped = within(Duration::from_secs(3), || (hours() == 0).then_some(()));
    assert_eq!(dropped, None, "a receipt of them may still come");
    scene.report("first", "DELIVRD");
    assert_eq!(harness::receipted(&scene.esme.deliver()), first);
}

/// Submits more messages than the smallest `correlation.memory` holds, so that earlier ids are on disk.
fn submit_beyond_memory(scene: &mut Scene) {
    for number in 0..1_100 {
        scene.submit_as(&format!("another-{number}"));
    }
    until("ids to leave the memory", || {
        (scene.metric("smsc_correlations_spilled") > 0.0).then_some(())
    });
}
