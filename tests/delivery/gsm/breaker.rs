//! A GSM network that fails is left alone for a while, as an operator is.

use super::*;

#[test]
fn a_network_that_fails_is_left_alone_and_tried_again() {
    let core = FakeCore::start();
    let keys = format!("breaker_failures = 3\nbreaker_pause = \"1s\"\n{NEVER}");
    let smsc = serving(core.address(), &keys)
        .toml("[[route]]\nprefix = \"49160\"\nto = [\"gsm:home\", \"test:delivered\"]")
        .start();
    core.wait_for_connections(1);
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let admin = smsc.admin();
    let breaker = || admin.get("/v1/gsm/home")["breaker"].clone();
    until("a breaker", || (breaker() == "closed").then_some(()));
    // Each of them moves to the other target, and counts.
    for at in 0..3 {
        let (number, imsi) = subscriber(at);
        core.set(&imsi, Phone::Unroutable);
        let id = esme.submit(submit(&number, "hello"));
        assert_eq!(smsc.wait_for_final(&id)["queue"], "test:delivered");
        assert_eq!(stat_of(&esme.deliver()), (id, DELIVERED));
    }
    until("the breaker to open", || {
        (admin.metric("smsc_operator_breaker_opened_total{queue=\"gsm:home\"}") >= Some(1.0))
            .then_some(())
    });
    assert!(smsc.log().contains("the breaker opens"));
    let mut sent = 3;
    until("the breaker to close", || {
        let (number, imsi) = subscriber(sent);
        sent += 1;
        let id = esme.submit(submit(&number, "hello"));
        let queue = smsc.wait_for_final(&id)["queue"].clone();
        let arrived = usize::from(queue == QUEUE);
        assert_eq!(core.texts(&imsi).len(), arrived, "{queue}");
        (breaker() == "closed").then_some(())
    });
    let network = admin.get("/v1/gsm/home");
    assert_eq!(network["available"], true, "{network}");
    smsc.assert_no_panic();
}
