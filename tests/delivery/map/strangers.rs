//! Another network floods the SMSC with what it never ends, or with what the SMSC does not do: memory stays bounded, and
//! nobody else notices.

use serde_json::json;

use super::{DELIVERED, MapTown, SOON};
use crate::harness::{from_handset, stat_of, submit, until};

/// Twice what the table of dialogues of others has room for.
const FLOOD: usize = 20_000;
/// Messages to handsets and from them meanwhile.
const MEANWHILE: usize = 20;
/// What the tables of half-open dialogues and segments may take, with what a flooded process of a debug build keeps.
const MORE_KIB: u64 = 192 * 1024;

/// A stranger sends so many of a kind while handsets get and send messages.
fn flooded_with(kind: &str) {
    let town = MapTown::start(SOON, "");
    let (number, imsi) = town.network.subscriber(1, json!({}));
    let mut esme = town.esme();
    let id = esme.submit(submit(&number, "before"));
    assert_eq!(stat_of(&esme.deliver()), (id, DELIVERED));
    let before = town.smsc.process().memory_kib("VmRSS");
    std::thread::scope(|scope| {
        let flood = json!({ "kind": kind, "count": FLOOD });
        let flood = scope.spawn(|| town.network.order("flood", flood));
        for at in 0..MEANWHILE {
            esme.submit(submit(&number, &format!("to a handset {at}")));
            let tpdu = from_handset("12345", &format!("from a handset {at}"));
            let answer = town.network.submit(&number, &tpdu, 3);
            assert_eq!(answer["dialogue"], "end", "{answer}");
            assert!(answer.get("error").is_none(), "{answer}");
        }
        town.network.wait_for(&imsi, 1 + MEANWHILE);
        flood.join().expect("the flood");
    });
    let after = town.smsc.process().memory_kib("VmRSS");
    assert!(
        after < before + MORE_KIB,
        "{before} KiB became {after} KiB under {kind}"
    );
    // Everybody else has got everything, in both directions.
    esme.submit(submit(&number, "after"));
    let texts = town.network.wait_for(&imsi, 2 + MEANWHILE);
    assert_eq!(texts.last().unwrap().text, "after");
    town.network.assert_content();
    town.smsc.assert_no_panic();
}

#[test]
fn dialogues_that_nobody_ends_leave_room_for_everybody_else() {
    flooded_with("dialogues");
}

#[test]
fn segments_of_messages_that_never_get_whole_leave_room_for_everybody_else() {
    flooded_with("segments");
}

#[test]
fn questions_that_only_an_hlr_answers_are_refused_in_measure_and_stop_no_message() {
    const MESSAGES: usize = 200;
    let town = MapTown::start(SOON, "");
    let subscribers = town.network.subscribers(20);
    let mut esme = town.esme();
    std::thread::scope(|scope| {
        let flood = json!({ "kind": "questions", "count": FLOOD });
        let flood = scope.spawn(|| town.network.order("flood", flood));
        for at in 0..MESSAGES {
            let (number, _) = &subscribers[at % subscribers.len()];
            esme.submit(submit(number, &format!("meanwhile {at}")));
        }
        for (_, imsi) in &subscribers {
            town.network.wait_for(imsi, MESSAGES / subscribers.len());
        }
        flood.join().expect("the flood");
    });
    let counted = |result: &str| {
        let metric = format!("smsc_gsm_unserved_total{{gsm=\"home\",result=\"{result}\"}}");
        town.smsc.admin().metric(&metric).unwrap_or(0.0)
    };
    until("the flood to be counted", || {
        let (refused, unanswered) = (counted("refused"), counted("unanswered"));
        (refused >= 100.0 && unanswered > refused).then_some(())
    });
    assert_eq!(town.network.count("delivered"), MESSAGES as u64);
    town.network.assert_content();
    town.smsc.assert_no_panic();
}
