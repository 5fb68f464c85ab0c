//! A program that is not ours is connected to a real HLR under our name.

use std::time::Duration;

use super::{NAME, SOON, Town};
use crate::harness::{Namesake, submit, until, within};

/// Long enough to see that nothing is sent.
const QUIET: Duration = Duration::from_millis(1500);

#[test]
fn a_program_with_our_name_gets_our_answers_and_nothing_is_sent_until_it_has_gone() {
    let mut town = Town::start(&format!("{SOON}\nping_timeout = \"1s\""));
    let (number, phone) = town.attached(1);
    town.smsc.kill();
    until("the HLR to miss it", || {
        (!town.core.is_connected(NAME)).then_some(())
    });
    let foreign = Namesake::start(town.core.gsup(), NAME, Duration::from_secs(1));
    until("the program to have our name", || {
        town.core.is_connected(NAME).then_some(())
    });
    town.smsc.start_again();
    let wait_for = |state: &str| {
        until(&format!("the network to be {state}"), || {
            let shown = town.smsc.admin().get("/v1/gsm/home");
            (shown["state"] == state).then_some(())
        });
    };
    wait_for("name taken");
    let id = town.esme().submit(submit(&number, "hello"));
    let tried = within(QUIET, || {
        let history = town.message(&id)["history"].as_array().map(Vec::len);
        (history != Some(0)).then_some(())
    });
    assert!(tried.is_none(), "it is tried while a program has our name");
    drop(foreign);
    until("the message", || (phone.texts() == ["hello"]).then_some(()));
    wait_for("up");
    until("its result", || {
        (town.message(&id)["state"] == "DELIVERED").then_some(())
    });
    assert_eq!(phone.texts(), ["hello"], "once");
}
