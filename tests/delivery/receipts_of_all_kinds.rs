//! Receipts as real operators send them: error codes reach the sender unchanged, odd forms are
//! understood, reused ids mean the newest message, and late or intermediate receipts end nothing.

use std::time::Duration;

use crate::harness::{
    self, Peer, PeerError, Scene, SmscBuilder, database, migrate, receipt, rows, send_receipt,
    stat_of, submit, until,
};
use bytes::Bytes;
use serde_json::Value;
use smsc::smpp::time::{format_receipt_date, parse_receipt_date};
use smsc::smpp::{Body, CommandId, CommandStatus, DataSm, SubmitSm, Tlvs, tag};

/// Long enough for a second receipt to arrive, if there were one.
const QUIET: Duration = Duration::from_millis(700);

const ENROUTE: u32 = 1;
const DELIVERED: u32 = 2;
const EXPIRED: u32 = 3;
const UNDELIVERABLE: u32 = 5;
const ACCEPTED: u32 = 6;
const UNKNOWN: u32 = 7;

fn text_of(told: &SubmitSm) -> String {
    String::from_utf8_lossy(&told.short_message).into_owned()
}

/// Sends a receipt that must be answered with ESME_ROK.
fn report(bind: &mut Peer, text: &str) {
    assert_eq!(send_receipt(bind, receipt(text)), CommandStatus::ESME_ROK);
}

#[test]
fn error_codes_are_kept_verbatim() {
    let mut scene = Scene::new("");
    for (theirs, code) in [("1", "0A1F"), ("2", "E-77"), ("3", "1000"), ("4", "00")] {
        let id = scene.submit_as(theirs);
        report(
            &mut scene.bind,
            &format!("id:{theirs} stat:UNDELIV err:{code} text:"),
        );
        let told = scene.esme.deliver();
        assert_eq!(stat_of(&told), (id.clone(), UNDELIVERABLE));
        let text = text_of(&told);
        assert!(text.contains(&format!(" err:{code} ")), "{text}");
        assert_eq!(scene.message(&id)["final"]["error"], code);
        until("the record of it", || {
            let records = scene.smsc.records();
            let record = records.iter().find(|record| record["id"] == *id)?;
            (record["error"] == code).then_some(())
        });
    }
    // A receipt that its account has not acknowledged is made again from the store.
    let id = scene.submit_as("5");
    scene.esme = Peer::connect(scene.smsc.smpp());
    report(&mut scene.bind, "id:5 stat:UNDELIV err:7F0b text:");
    assert_eq!(scene.smsc.wait_for_final(&id)["final"]["error"], "7F0b");
    scene.kill_and_start_again();
    let text = text_of(&scene.esme.deliver());
    assert!(text.contains(" err:7F0b "), "{text}");
}

#[test]
fn odd_forms_end_their_message() {
    let keys = "receipts_by_text = true\n\
        receipt_states = { ACCEPTD = \"ENROUTE\", SENT = \"DELIVERED\", \"err:0a99\" = \"EXPIRED\" }";
    let mut scene = Scene::new(keys);
    let text = |theirs: &str| format!("id:{theirs} stat:DELIVRD err:000");
    let bare = |tlvs: Tlvs| SubmitSm {
        tlvs,
        ..receipt("")
    };
    let tlv = |tag: u16, value: &[u8]| {
        let mut tlvs = Tlvs::new();
        tlvs.push(tag, value);
        tlvs
    };
    let mut only_tlvs = tlv(tag::RECEIPTED_MESSAGE_ID, b"tlvs\0");
    only_tlvs.push(tag::MESSAGE_STATE, &[2]);
    let ucs2: Vec<u8> = text("ucs2").bytes().flat_map(|octet| [0, octet]).collect();
    let forms = [
        (
            "payload",
            bare(tlv(tag::MESSAGE_PAYLOAD, text("payload").as_bytes())),
        ),
        ("tlvs", bare(only_tlvs)),
        (
            "ucs2",
            SubmitSm {
                data_coding: 8,
                short_message: ucs2.into(),
                ..receipt("")
            },
        ),
        (
            "unmarked",
            SubmitSm {
                esm_class: 0,
                ..receipt(&text("unmarked"))
            },
        ),
        ("nul", receipt("Id:nul Stat:delivrd Err:000\0")),
        ("sent", receipt("id:sent stat:SENT err:000")),
        ("counted", receipt("id:counted sub:001 dlvrd:001 err:000")),
    ];
    for (theirs, form) in forms {
        let id = scene.submit_as(theirs);
        assert_eq!(send_receipt(&mut scene.bind, form), CommandStatus::ESME_ROK);
        assert_eq!(stat_of(&scene.esme.deliver()), (id, DELIVERED), "{theirs}");
    }

    let id = scene.submit_as("data");
    let sequence = scene.bind.request(Body::DataSm(DataSm {
        source_addr: Bytes::from_static(b"447700900123"),
        destination_addr: Bytes::from_static(b"12345"),
        esm_class: 0x04,
        tlvs: tlv(tag::MESSAGE_PAYLOAD, text("data").as_bytes()),
        ..DataSm::default()
    }));
    let answer = scene.bind.answer_to(sequence);
    assert_eq!(answer.command_id(), CommandId::DATA_SM_RESP);
    assert_eq!(stat_of(&scene.esme.deliver()), (id, DELIVERED));

    let id = scene.submit_as("own");
    report(&mut scene.bind, "id:own stat:ACCEPTD err:000");
    assert_eq!(scene.message(&id)["state"], "ENROUTE");
    report(&mut scene.bind, "id:own stat:UNDELIV err:0A99");
    assert_eq!(stat_of(&scene.esme.deliver()), (id, EXPIRED));
}

#[test]
fn a_message_that_names_another_is_no_receipt() {
    let mut scene = Scene::of("addresses = [\"12345\"]", "", |builder| builder);
    let id = scene.submit_as("asked");
    let mut tlvs = Tlvs::new();
    tlvs.push(tag::RECEIPTED_MESSAGE_ID, b"asked\0");
    let answer = SubmitSm {
        tlvs,
        esm_class: 0,
        ..receipt("yes, at eight")
    };
    assert_eq!(
        send_receipt(&mut scene.bind, answer),
        CommandStatus::ESME_ROK
    );
    let got = scene.esme.deliver();
    assert_eq!(got.short_message, "yes, at eight");
    assert_eq!(got.esm_class, 0);
    assert_eq!(scene.message(&id)["state"], "ENROUTE");
    assert_eq!(scene.metric("smsc_operator_receipts_dropped_total"), 0.0);
}

#[test]
fn a_receipt_that_cannot_be_read_is_kept_for_people() {
    let mut scene = Scene::new("");
    report(&mut scene.bind, "nothing that anybody knows");
    let unmatched = |scene: &Scene| {
        let list = scene.smsc.admin().get("/v1/receipts/unmatched?text=true");
        list["receipts"].clone()
    };
    let kept = unmatched(&scene);
    assert_eq!(kept[0]["text"], "nothing that anybody knows", "{kept}");
    // A receipt answered with ESME_ROK is durable.
    scene.kill_and_start_again();
    assert_eq!(unmatched(&scene), kept);
    // No later message is mistaken for the one that it is about.
    let id = scene.submit_as("1");
    assert_eq!(scene.esme.next(QUIET), Err(PeerError::Silence));
    assert_eq!(scene.message(&id)["state"], "ENROUTE");
}

#[test]
fn an_intermediate_state_may_overtake_its_answer() {
    let mut scene = Scene::with("binds = 2", |builder| {
        builder.toml("[correlation]\nearly_hold = \"60s\"")
    });
    let mut other = scene.operator.accept_bind();
    scene.smsc.wait_for_binds("up", 2);
    let id = scene.esme.submit(SubmitSm {
        registered_delivery: 0x11,
        ..submit("447700900123", "hello")
    });
    let mut binds = [&mut scene.bind, &mut other];
    let (sender, sequence) = until("a submit_sm", || {
        binds.iter_mut().enumerate().find_map(|(at, bind)| {
            let pdu = bind.next(Duration::from_millis(20)).ok()?;
            matches!(pdu.body, Body::SubmitSm(_)).then_some((at, pdu.sequence))
        })
    });
    let early = binds[1 - sender].request(Body::DeliverSm(receipt("id:e1 stat:ENROUTE err:0F03")));
    until("it to be held", || {
        let metrics = scene.smsc.admin();
        (metrics.metric("smsc_operator_receipts_early_total") == Some(1.0)).then_some(())
    });
    harness::accept(binds[sender], sequence, "e1");
    assert_eq!(
        binds[1 - sender].answer_to(early).status,
        CommandStatus::ESME_ROK
    );
    assert_eq!(stat_of(&scene.esme.deliver()), (id, ENROUTE));
}

#[test]
fn the_text_in_a_receipt_is_printable_and_cut_between_characters() {
    let mut scene = Scene::new("");
    let texts: [(&[u8], &str); 5] = [
        (b"a text of more than twenty", "a text of more than "),
        (
            b"\0\x1b\x65a\x7f\x02 this is longer than",
            "@?a?$ this is longer",
        ),
        (
            b"nineteen characters\x1b\x65 and more",
            "nineteen characters?",
        ),
        (b"twenty characters, \x1b\x65", "twenty characters, ?"),
        (b"line\nbreak\r", "line?break?"),
    ];
    for (number, (octets, expected)) in texts.into_iter().enumerate() {
        scene.esme.submit(SubmitSm {
            short_message: Bytes::from_static(octets),
            ..submit("447700900123", "")
        });
        let theirs = format!("text-{number}");
        scene.take(&theirs);
        report(
            &mut scene.bind,
            &format!("id:{theirs} stat:UNDELIV err:069"),
        );
        let told = scene.esme.deliver();
        let text = &told.short_message;
        assert!(
            text.iter().all(|octet| matches!(octet, b' '..=b'~')),
            "{text:?}"
        );
        let end = format!(" err:069 text:{expected}");
        assert!(text.ends_with(end.as_bytes()), "{text:?} and not {end:?}");
    }
    // In message_payload, too.
    let mut long = submit("447700900123", "");
    long.tlvs
        .push(tag::MESSAGE_PAYLOAD, b"a text of more than twenty");
    scene.esme.submit(long);
    scene.take("payload");
    report(&mut scene.bind, "id:payload stat:UNDELIV err:069");
    let text = text_of(&scene.esme.deliver());
    assert!(text.ends_with(" text:a text of more than "), "{text}");
}

/// Unix milliseconds of a time in a response of the API.
fn ms(time: &Value) -> i64 {
    let time: jiff::Timestamp = time.as_str().unwrap().parse().unwrap();
    time.as_millisecond()
}

/// The end is the arrival of the receipt. The operator's done date is stored beside it, as far as it is plausible, and is in
/// the sender's receipt.
fn the_end_and_the_done_date(scene: &mut Scene) -> String {
    let started = smsc::clock::now_ms();
    let id = scene.submit_as("ended");
    until("the answer to be on disk", || {
        (scene.message(&id)["stage"] == "handed over").then_some(())
    });
    // From a clock that is two hours slow, in whole minutes.
    let said = (started - 7_200_000) / 60_000 * 60_000;
    let done = format_receipt_date(said, false);
    report(
        &mut scene.bind,
        &format!("id:ended done date:{done} stat:DELIVRD err:000"),
    );
    let text = text_of(&scene.esme.deliver());
    let date = |key: &str| text.split_once(key).unwrap().1[..10].to_owned();
    assert_eq!(date("done date:"), date("submit date:"), "never before it");
    let message = scene.message(&id);
    let ended = &message["final"];
    let attempt = ms(&message["history"][0]["at"]);
    assert!(ms(&message["accepted_at"]) <= attempt, "{message}");
    assert!(attempt <= ms(&ended["at"]), "{message}");
    // That was before it was sent, which cannot be.
    assert!(said < attempt, "{message}");
    assert_eq!(ms(&ended["done_at"]), attempt, "{message}");
    let record = until("its record", || {
        let records = scene.smsc.records();
        records.into_iter().find(|record| record["id"] == *id)
    });
    assert_eq!(record["final_at"], ms(&ended["at"]));
    assert_eq!(record["done_at"], attempt);

    // Without a done date in the receipt, none is shown.
    let other = scene.submit_as("unsaid");
    report(&mut scene.bind, "id:unsaid stat:DELIVRD err:000");
    scene.esme.deliver();
    let message = scene.message(&other);
    assert!(message["final"]["done_at"].is_null(), "{message}");
    id
}

/// Times that cannot be are not believed, and the minute of a receipt's arrival says no more than the arrival.
#[test]
fn times_are_those_that_can_be() {
    let mut scene = Scene::of("receipt_dates = \"seconds\"", "", SmscBuilder::with_api);
    let api = scene.smsc.api_of("test", "both");
    let minute = 60_000;
    // From a clock of another time zone, and of the same minute.
    for (theirs, ahead) in [
        ("ahead", 180 * minute),
        ("now", 0),
        ("behind", -180 * minute),
    ] {
        let (id, _) = submit_asking(&mut scene, 0x11, theirs);
        until("the answer to be on disk", || {
            (scene.message(&id)["stage"] == "handed over").then_some(())
        });
        let began = smsc::clock::now_ms();
        let done = format_receipt_date(began + ahead, false);
        let note = SubmitSm {
            esm_class: 0x20,
            ..receipt(&format!(
                "id:{theirs} done date:{done} stat:ENROUTE err:000"
            ))
        };
        assert_eq!(send_receipt(&mut scene.bind, note), CommandStatus::ESME_ROK);
        let shown = |told: &SubmitSm| {
            let text = text_of(told);
            let date = text.split_once("done date:").unwrap().1[..12].to_owned();
            parse_receipt_date(date.as_bytes()).unwrap()
        };
        let note = scene.esme.deliver();
        assert_eq!(note.esm_class, 0x20);
        assert!(shown(&note) <= smsc::clock::now_ms(), "{theirs}: {note:?}");
        let sent = smsc::clock::now_ms();
        report(
            &mut scene.bind,
            &format!("id:{theirs} done date:{done} stat:DELIVRD err:000"),
        );
        let told = scene.esme.deliver();
        let message = scene.message(&id);
        let attempt = ms(&message["history"][0]["at"]);
        let (done_at, at) = (
            ms(&message["final"]["done_at"]),
            ms(&message["final"]["at"]),
        );
        assert!((attempt..=at).contains(&done_at), "{theirs}: {message}");
        if ahead >= 0 {
            assert!((sent..=at).contains(&done_at), "{theirs}: its arrival");
        }
        assert_eq!(shown(&told), done_at / 1000 * 1000, "{theirs}");
        let own = api.get(&format!("/v1/messages/{id}"));
        assert!(ms(&own["ended_at"]) >= attempt, "{theirs}: {own} {message}");
    }
}

#[test]
fn a_message_ends_when_its_receipt_arrives() {
    let mut scene = Scene::new("");
    the_end_and_the_done_date(&mut scene);
}

#[test]
fn a_message_ends_when_its_receipt_arrives_for_other_programs_too() {
    let database = database();
    migrate(database.url());
    let mut scene = Scene::with("", |builder| {
        let url = database.url();
        builder.toml(&format!(
            "[postgres]\nurl = {url:?}\nmessage_correlations = true"
        ))
    });
    the_end_and_the_done_date(&mut scene);
    let rows = rows(
        database.url(),
        "SELECT dlr_received_at >= submitted_at FROM smpp.message_correlations
         WHERE status = 'DLR_RECEIVED'",
    );
    assert_eq!(rows.len(), 2);
    assert!(rows.iter().all(|row| row.get(0)));
}

#[test]
fn an_id_may_be_missing_or_long() {
    let mut scene = Scene::new("");
    let id = scene.submit_as("");
    let told = scene.esme.deliver();
    assert_eq!(
        stat_of(&told),
        (id.clone(), ACCEPTED),
        "no receipt can come"
    );
    assert_eq!(scene.attempts(&id), ["ESME_ROK"]);

    let long = "a1B2".repeat(30);
    let id = scene.submit_as(&long);
    report(&mut scene.bind, &format!("id:{long} stat:DELIVRD err:000"));
    assert_eq!(stat_of(&scene.esme.deliver()), (id.clone(), DELIVERED));
    let theirs = &scene.message(&id)["history"][0]["operator_message_id"];
    assert_eq!(*theirs, long.as_str());
}

#[test]
fn an_id_that_is_given_again_belongs_to_the_newest_message() {
    let mut scene = Scene::new("");
    // The first is final when the id is used again, and no longer matches.
    let first = scene.submit_as("00ff");
    report(&mut scene.bind, "id:255 stat:DELIVRD err:000");
    assert_eq!(stat_of(&scene.esme.deliver()), (first, DELIVERED));
    let second = scene.submit_as("00FF");
    report(&mut scene.bind, "id:255 stat:DELIVRD err:000");
    assert_eq!(stat_of(&scene.esme.deliver()), (second, DELIVERED));

    // Two that wait at the same time: the newest first, whichever form the id has.
    let older = scene.submit_as("0a");
    let newer = scene.submit_as("0A");
    report(&mut scene.bind, "id:10 stat:DELIVRD err:000");
    assert_eq!(stat_of(&scene.esme.deliver()), (newer, DELIVERED));
    report(&mut scene.bind, "id:10 stat:EXPIRED err:000");
    assert_eq!(stat_of(&scene.esme.deliver()), (older, EXPIRED));
    report(&mut scene.bind, "id:10 stat:UNDELIV err:000");
    assert_eq!(scene.esme.next(QUIET), Err(PeerError::Silence));
    assert_eq!(scene.metric("smsc_operator_receipts_repeated_total"), 1.0);
    assert_eq!(scene.metric("smsc_operator_message_ids_reused_total"), 1.0);

    // The same after a restart, when only the store knows them.
    let older = scene.submit_as("7f");
    let newer = scene.submit_as("7F");
    for id in [&older, &newer] {
        until("the answer to be on disk", || {
            (scene.message(id)["stage"] == "handed over").then_some(())
        });
    }
    scene.kill_and_start_again();
    report(&mut scene.bind, "id:127 stat:DELIVRD err:000");
    assert_eq!(stat_of(&scene.esme.deliver()), (newer, DELIVERED));
    report(&mut scene.bind, "id:127 stat:DELIVRD err:000");
    assert_eq!(stat_of(&scene.esme.deliver()), (older, DELIVERED));
}

#[test]
fn a_receipt_that_comes_too_late_changes_nothing() {
    let mut scene = Scene::with("correlation_ttl = \"300ms\"", |builder| {
        builder.toml("[correlation]\nsweep = \"200ms\"")
    });
    let id = scene.submit_as("late");
    assert_eq!(stat_of(&scene.esme.deliver()), (id.clone(), UNKNOWN));
    report(&mut scene.bind, "id:late stat:DELIVRD err:000");
    until("it to be counted", || {
        (scene.metric("smsc_operator_receipts_late_total") == 1.0).then_some(())
    });
    assert_eq!(scene.esme.next(QUIET), Err(PeerError::Silence), "told once");
    assert_eq!(scene.message(&id)["state"], "UNKNOWN");
    assert_eq!(scene.metric("smsc_operator_receipts_repeated_total"), 0.0);
}

/// Submits with this registered_delivery; also returns the one that the operator got.
fn submit_asking(scene: &mut Scene, asked: u8, theirs: &str) -> (String, u8) {
    let id = scene.esme.submit(SubmitSm {
        registered_delivery: asked,
        ..submit("447700900123", "hello")
    });
    let taken = scene.take(theirs);
    (id, taken.registered_delivery)
}

#[test]
fn an_intermediate_notification_goes_to_who_asked_for_it() {
    let mut scene = Scene::new("");
    let (silent, upstream) = submit_asking(&mut scene, 0x01, "one");
    assert_eq!(upstream, 0x01);
    let (curious, upstream) = submit_asking(&mut scene, 0x11, "two");
    assert_eq!(upstream, 0x11);
    report(&mut scene.bind, "id:one stat:ENROUTE err:0F01");
    let notification = SubmitSm {
        esm_class: 0x20,
        ..receipt("id:two stat:ENROUTE err:0F02")
    };
    assert_eq!(
        send_receipt(&mut scene.bind, notification),
        CommandStatus::ESME_ROK
    );
    let told = scene.esme.deliver();
    assert_eq!(told.esm_class, 0x20);
    assert_eq!(stat_of(&told), (curious.clone(), ENROUTE));
    let text = text_of(&told);
    assert!(text.contains("stat:ENROUTE err:0F02 "), "{text}");
    assert_eq!(scene.message(&curious)["state"], "ENROUTE");

    for (id, theirs) in [(&curious, "two"), (&silent, "one")] {
        report(
            &mut scene.bind,
            &format!("id:{theirs} stat:DELIVRD err:000"),
        );
        let told = scene.esme.deliver();
        assert_eq!(told.esm_class, 0x04);
        assert_eq!(stat_of(&told), (id.clone(), DELIVERED));
    }
    // After the final state, intermediate states are not passed on.
    report(&mut scene.bind, "id:two stat:ENROUTE err:000");
    assert_eq!(scene.esme.next(QUIET), Err(PeerError::Silence));
    assert_eq!(
        scene.metric("smsc_intermediate_notifications_forwarded_total"),
        1.0
    );
    assert_eq!(
        scene.metric("smsc_intermediate_notifications_dropped_total"),
        0.0
    );

    // Without a receiver: counted, and not stored.
    let (id, _) = submit_asking(&mut scene, 0x11, "three");
    scene.esme = Peer::connect(scene.smsc.smpp());
    until("the receiver to be gone", || {
        let binds = scene.smsc.admin().get("/v1/binds").to_string();
        (!binds.contains("\"test\"")).then_some(())
    });
    report(&mut scene.bind, "id:three stat:ENROUTE err:000");
    until("it to be dropped", || {
        let dropped = scene.metric("smsc_intermediate_notifications_dropped_total");
        (dropped == 1.0).then_some(())
    });
    report(&mut scene.bind, "id:three stat:DELIVRD err:000");
    scene.esme = Peer::bind(scene.smsc.smpp(), "test", "test");
    assert_eq!(stat_of(&scene.esme.deliver()), (id, DELIVERED));
}
