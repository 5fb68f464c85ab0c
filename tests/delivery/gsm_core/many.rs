//! Many messages to many phones of a real core, some of which are away.

use super::{NEVER, Town};
use crate::harness::gsm::{Phone, assert_well_formed, overlaps};
use crate::harness::submit;

#[test]
fn messages_to_twenty_phones_keep_the_order_of_each_and_go_one_at_a_time() {
    const MESSAGES: usize = 200;
    const PHONES: usize = 20;
    const AWAY: usize = 3;
    let town = Town::start(NEVER);
    let phones: Vec<(String, Phone)> = (0..PHONES)
        .map(|number| {
            if number < AWAY {
                town.subscriber(number)
            } else {
                town.attached(number)
            }
        })
        .collect();
    let mut expected = vec![Vec::new(); PHONES];
    let mut esme = town.esme();
    for at in 0..MESSAGES {
        let text = format!("number {at}");
        esme.submit(submit(&phones[at % PHONES].0, &text));
        expected[at % PHONES].push(text);
    }
    let check = |at: usize| {
        let phone = &phones[at].1;
        phone.wait_for(expected[at].len());
        assert_eq!(phone.texts(), expected[at], "{}", phone.imsi());
    };
    (AWAY..PHONES).for_each(check);
    for (_, phone) in &phones[..AWAY] {
        assert_eq!(phone.texts().len(), 0);
        phone.attach();
        phone.memory_available().unwrap();
    }
    (0..AWAY).for_each(check);
    let (twice, sent) = overlaps(&town.recorder);
    assert_eq!(twice, [""; 0], "two under way to one subscriber");
    assert!(sent >= MESSAGES, "{sent}");
    assert_well_formed(&town.recorder, &["number 0", "number 199"]);
}
