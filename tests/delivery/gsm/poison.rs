//! A message on which the HLR ends the connection is found, tried alone, later and later, and ends with a reason; the
//! others go on.

use super::*;

#[test]
fn a_message_on_which_the_hlr_ends_the_connection_is_given_up_and_the_others_arrive() {
    let core = FakeCore::slow("20ms");
    let smsc = serving(core.address(), "").start();
    core.wait_for_connections(1);
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let (poisoned, bad_imsi) = subscriber(7);
    core.set(&bad_imsi, Phone::Ends);
    let mut bad = String::new();
    for number in 0..20 {
        let id = esme.submit(submit(&subscriber(number).0, &format!("text {number}")));
        if number == 7 {
            bad = id;
        }
    }
    for number in (0..20).filter(|number| *number != 7) {
        let (_, imsi) = subscriber(number);
        assert_eq!(core.wait_for(&imsi, 1)[0].text, format!("text {number}"));
    }
    let ended = smsc.wait_for_final(&bad);
    assert_eq!(ended["state"], "UNDELIVERABLE", "{ended}");
    assert_eq!(ended["final"]["error"], "ended the session 3 times");
    let sendings = core.phones().arrived_so_far();
    let sendings = sendings.iter().filter(|one| one.imsi == bad_imsi).count();
    assert!((3..=5).contains(&sendings), "{sendings} sendings");
    // The connection is not taken for that of another program, and the subscriber gets what comes later.
    core.set(&bad_imsi, Phone::Here);
    esme.submit(submit(&poisoned, "later"));
    assert_eq!(core.wait_for(&bad_imsi, 1)[0].text, "later");
    smsc.assert_no_panic();
}
