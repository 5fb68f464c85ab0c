//! The only gateway dies and comes back, or says nothing any more; so does the network behind it.

use serde_json::json;

use super::{DELIVERED, MapTown, SHORT_TIMERS, SOON, is_active, numbered, queue};
use crate::harness::{stat_of, submit, until};

#[test]
fn without_the_gateway_messages_wait_and_go_out_in_order_when_it_is_back() {
    let mut town = MapTown::start(SOON, SHORT_TIMERS);
    let (number, imsi) = town.network.subscriber(1, json!({}));
    let mut esme = town.esme();
    esme.submit(submit(&number, "before"));
    town.network.wait_for(&imsi, 1);
    let gateway = town.recorder.address();
    town.stp.kill();
    until("no traffic", || {
        (!is_active(&town.smsc, gateway)).then_some(())
    });
    let texts = numbered(20);
    for text in &texts {
        esme.submit(submit(&number, text));
    }
    until("all of them to wait", || {
        (queue(&town.smsc)["waiting"] == 20).then_some(())
    });
    let shown = |town: &MapTown| town.smsc.admin().get("/v1/gsm/home");
    until("the network to be down", || {
        let shown = shown(&town);
        (shown["state"] == "down" && shown["connected"] == 0).then_some(())
    });
    town.stp.start_again();
    town.until_active();
    town.network.until_active(1);
    town.network.wait_for(&imsi, 21);
    assert_eq!(town.network.texts(&imsi)[1..], texts);
    assert_eq!(shown(&town)["state"], "up");
    let told: Vec<u32> = (0..21).map(|_| stat_of(&esme.deliver()).1).collect();
    assert_eq!(told, [DELIVERED; 21]);
    town.assert_content(&["before", "number 0", "number 19"]);
}

#[test]
fn a_gateway_that_is_killed_under_load_costs_no_message() {
    let mut town = MapTown::start(SOON, SHORT_TIMERS);
    let subscribers = town.network.subscribers(10);
    let mut esme = town.esme();
    let mut expected = vec![Vec::new(); subscribers.len()];
    for at in 0..200 {
        let text = format!("number {at}");
        let to = at % subscribers.len();
        esme.submit(submit(&subscribers[to].0, &text));
        expected[to].push(text);
        if at % 100 == 50 {
            let delivered = town.network.count("delivered");
            town.network.wait_for_count("delivered", delivered + 5);
            town.stp.kill();
            town.stp.start_again();
        }
    }
    for ((_, imsi), texts) in subscribers.iter().zip(&expected) {
        let mut got = super::all_of(&town.network, imsi, texts);
        // What was under way when it died may come again; its answer was lost.
        assert!(got.len() <= texts.len() + 2, "{got:?}");
        got.dedup();
        assert_eq!(&got, texts, "{imsi}");
    }
    town.assert_content(&["number 0", "number 199"]);
}

#[test]
fn a_gateway_that_does_not_answer_heartbeats_is_left() {
    let beats = "beat_interval = \"300ms\"\nbeat_timeout = \"500ms\"";
    let town = MapTown::start(SOON, &format!("{SHORT_TIMERS}\n{beats}"));
    let (number, imsi) = town.network.subscriber(1, json!({}));
    let mut esme = town.esme();
    town.stp.freeze();
    let gateway = town.recorder.address();
    until("no traffic", || {
        (!is_active(&town.smsc, gateway)).then_some(())
    });
    esme.submit(submit(&number, "hello"));
    town.stp.thaw();
    town.until_active();
    town.network.wait_for(&imsi, 1);
    // 3/3 and 3/6 are BEAT and BEAT ACK.
    let beats = "m3ua.message_class == 3 && m3ua.message_type == 3";
    assert!(town.reading().packets(beats) > 0);
    town.assert_content(&["hello"]);
}

#[test]
fn while_the_network_is_away_from_its_gateway_messages_wait() {
    let town = MapTown::start(SOON, SHORT_TIMERS);
    let (number, imsi) = town.network.subscriber(1, json!({}));
    let mut esme = town.esme();
    town.network.link(0, false);
    // The gateway says DUNA, class 2 type 1.
    until("the gateway to say so", || {
        let said = town.reading();
        (said.packets("m3ua.message_class == 2 && m3ua.message_type == 1") > 0).then_some(())
    });
    let id = esme.submit(submit(&number, "hello"));
    until("the message to wait", || {
        let queue = queue(&town.smsc);
        let waits = queue["waiting"] == 1 || queue["scheduled"] == 1;
        waits.then_some(())
    });
    town.network.link(0, true);
    town.network.until_active(1);
    town.network.wait_for(&imsi, 1);
    assert_eq!(stat_of(&esme.deliver()), (id, DELIVERED));
    town.assert_content(&["hello"]);
}
