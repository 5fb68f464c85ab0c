//! The SMSC dies while messages to phones of a real core are under way.

use super::{SOON, Town};
use crate::harness::gsm::Phone;
use crate::harness::{submit, until};

#[test]
fn killed_in_the_middle_nothing_is_lost_and_at_most_one_comes_twice_to_each_phone() {
    const MESSAGES: usize = 200;
    const PHONES: usize = 20;
    const KILLS: usize = 2;
    let mut town = Town::start(&format!("{SOON}\nwindow = 5"));
    let phones: Vec<(String, Phone)> = (0..PHONES).map(|number| town.attached(number)).collect();
    let mut expected = vec![Vec::new(); PHONES];
    let mut esme = town.esme();
    for at in 0..MESSAGES {
        let text = format!("number {at}");
        esme.submit(submit(&phones[at % PHONES].0, &text));
        expected[at % PHONES].push(text);
    }
    let arrived = || -> usize { phones.iter().map(|(_, phone)| phone.texts().len()).sum() };
    for kill in 1..=KILLS {
        until("some of them to arrive", || {
            (arrived() > kill * 20).then_some(())
        });
        town.smsc.kill();
        until("the HLR to miss it", || {
            (!town.core.is_connected(super::NAME)).then_some(())
        });
        town.smsc.start_again();
        town.until_connected();
    }
    for ((_, phone), expected) in phones.iter().zip(&expected) {
        until(&format!("everything at {}", phone.imsi()), || {
            let got = phone.texts();
            expected.iter().all(|text| got.contains(text)).then_some(())
        });
        let mut got = phone.texts();
        assert!(got.len() <= expected.len() + KILLS, "{got:?}");
        got.dedup();
        assert_eq!(&got, expected, "{}", phone.imsi());
    }
}
