//! A number that the HLR does not know ends its messages; so does one that may not have short messages.

use serde_json::json;

use super::{MapTown, NEVER, UNDELIVERABLE, attempts};
use crate::harness::{stat_of, submit};

#[test]
fn a_number_that_nobody_has_ends_its_messages_and_the_sender_is_told_why() {
    let town = MapTown::start(NEVER, "");
    let mut esme = town.esme();
    let id = esme.submit(submit("4916999998", "to nobody"));
    let receipt = esme.deliver();
    assert_eq!(stat_of(&receipt), (id.clone(), UNDELIVERABLE));
    let text = String::from_utf8_lossy(&receipt.short_message).into_owned();
    // unknownSubscriber is error 1 of MAP.
    assert!(
        text.contains("stat:UNDELIV") && text.contains("err:001"),
        "{text}"
    );
    let shown = town.smsc.wait_for_final(&id);
    assert_eq!(attempts(&shown), ["MAP_UNKNOWN_SUBSCRIBER"]);
    // No MSC was asked, and nobody waits.
    assert_eq!(town.network.count("messages"), 0);
    assert!(town.network.reports().is_empty());
    town.assert_content(&[]);
}

#[test]
fn what_the_hlr_refuses_for_good_ends_each_message_of_the_run() {
    let cases = [
        ("teleservice", "MAP_TELESERVICE_NOT_PROVISIONED", "err:011"),
        ("illegal", "MAP_ILLEGAL_SUBSCRIBER", "err:009"),
    ];
    let town = MapTown::start(NEVER, "");
    let mut esme = town.esme();
    for (at, (outcome, status, err)) in cases.into_iter().enumerate() {
        let which = if outcome == "illegal" {
            "forward"
        } else {
            "sri"
        };
        let (number, _) = town.network.subscriber(at, json!({ which: [outcome] }));
        let id = esme.submit(submit(&number, "hello"));
        let receipt = esme.deliver();
        assert_eq!(stat_of(&receipt), (id.clone(), UNDELIVERABLE));
        let text = String::from_utf8_lossy(&receipt.short_message).into_owned();
        assert!(text.contains(err), "{text}");
        assert_eq!(attempts(&town.smsc.wait_for_final(&id)), [status]);
    }
    town.assert_content(&[]);
}
