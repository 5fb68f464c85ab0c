//! A message reaches a handset: the HLR says where it is, the MSC takes the message.

use serde_json::json;

use super::{DELIVERED, MapTown, NEVER, attempts};
use crate::harness::map::{CENTRE, HLR, MSC, ROUTING};
use crate::harness::{stat_of, submit};

#[test]
fn a_message_reaches_the_handset_and_its_sender_hears_of_it() {
    let town = MapTown::start(NEVER, "");
    let (number, imsi) = town.network.subscriber(1, json!({}));
    let mut esme = town.esme();
    let id = esme.submit(submit(&number, "hello"));
    let got = town.network.wait_for(&imsi, 1).remove(0);
    assert_eq!(
        (got.text.as_str(), got.from.as_str(), got.node.as_str()),
        ("hello", "12345", MSC)
    );
    assert_eq!((got.version, got.more), (3, false));
    assert_eq!(stat_of(&esme.deliver()), (id.clone(), DELIVERED));
    let shown = town.smsc.wait_for_final(&id);
    assert_eq!(shown["state"], "DELIVERED");
    assert_eq!(attempts(&shown), ["ESME_ROK"]);

    let dialogues = town.network.dialogues();
    let contexts: Vec<_> = dialogues.iter().map(|one| one.context).collect();
    assert_eq!(contexts, [Some((20, 3)), Some((25, 3))]);
    assert!(dialogues.iter().all(|one| one.peer == CENTRE));
    assert!(
        dialogues
            .iter()
            .all(|one| one.ended.as_deref() == Some("answered"))
    );
    town.assert_content(&["hello"]);
}

#[test]
fn the_hlr_is_asked_for_each_run_unless_its_answer_is_remembered() {
    for (route_cache, asked) in [("0s", 3), ("1h", 1)] {
        let town = MapTown::start(NEVER, &format!("route_cache = \"{route_cache}\""));
        let (number, imsi) = town.network.subscriber(1, json!({}));
        let mut esme = town.esme();
        for at in 1..=3 {
            esme.submit(submit(&number, "hello"));
            town.network.wait_for(&imsi, at);
            esme.deliver();
        }
        assert_eq!(town.network.asked(HLR, ROUTING), asked);
        assert_eq!(town.network.dialogues_with(MSC).len(), 3);
        town.assert_content(&["hello"]);
    }
}

#[test]
fn a_subscriber_who_has_moved_is_found_although_the_answer_is_remembered() {
    let town = MapTown::start(super::SOON, "route_cache = \"1h\"");
    let other = "491700009";
    town.network.node(other, json!({ "kind": "msc" }));
    let (number, imsi) = town.network.subscriber(1, json!({}));
    let mut esme = town.esme();
    esme.submit(submit(&number, "at home"));
    town.network.wait_for(&imsi, 1);
    town.network.subscriber(1, json!({ "msc": other }));
    let id = esme.submit(submit(&number, "abroad"));
    let got = town.network.wait_for(&imsi, 2);
    assert_eq!(
        (got[1].text.as_str(), got[1].node.as_str()),
        ("abroad", other)
    );
    // The first one does not know it any more, which is no attempt: the HLR is asked again.
    assert_eq!(attempts(&town.smsc.wait_for_final(&id)), ["ESME_ROK"]);
    assert_eq!(town.network.asked(HLR, ROUTING), 2);
    town.assert_content(&["at home", "abroad"]);
}

#[test]
fn each_subscriber_has_one_message_under_way_and_gets_all_in_order() {
    let town = MapTown::start(&format!("window = 8\n{NEVER}"), "");
    let subscribers = town.network.subscribers(20);
    town.network.node(MSC, json!({ "delay": 0.01 }));
    let mut esme = town.esme();
    let mut expected = vec![Vec::new(); subscribers.len()];
    for at in 0..200 {
        let text = format!("number {at}");
        let to = at % subscribers.len();
        esme.submit(submit(&subscribers[to].0, &text));
        expected[to].push(text);
    }
    for ((_, imsi), texts) in subscribers.iter().zip(&expected) {
        town.network.wait_for(imsi, texts.len());
        assert_eq!(&town.network.texts(imsi), texts, "{imsi}");
    }
    let counted = |what| town.network.count(what);
    assert_eq!((counted("delivered"), counted("overlaps")), (200, 0));
    town.assert_content(&["number 0", "number 199"]);
}
