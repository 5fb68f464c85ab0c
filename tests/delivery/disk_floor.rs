//! Below the free-space floor new messages are refused, while accepted ones continue to their end:
//! results can be written.

use crate::harness::{Peer, Simulator, Smsc, submit, until};
use smsc::smpp::{Body, CommandStatus};

#[test]
fn new_messages_are_refused_and_old_ones_end() {
    let mut operator = Simulator::new();
    let mut smsc = Smsc::new().relaying_to(operator.address()).start();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let id = esme.submit(submit("447700900123", "accepted before"));
    esme.unbind();
    smsc.terminate();

    // More than any disk has, which is like a full disk.
    let config = smsc.config();
    smsc.set_config(&config.replace("min_free_mib = 1\n", "min_free_mib = 99999999999\n"));
    smsc.start_again_unready();
    operator.start_again();
    let message = smsc.wait_for_final(&id);
    assert_eq!(message["state"], "DELIVERED");

    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let receipt = esme.deliver();
    assert_eq!(receipt.esm_class, 0x04, "the receipt is told");
    let sequence = esme.request(Body::SubmitSm(submit("447700900123", "refused")));
    let answer = esme.answer_to(sequence);
    assert_eq!(answer.status, CommandStatus::ESME_RMSGQFUL);
    esme.assert_alive();

    let (status, text) = until("an answer of the health check", || {
        smsc.admin().text("/health/ready").ok()
    });
    assert_eq!(status, 503, "{text}");
    assert!(
        text.contains("min_free_mib") || text.contains("store"),
        "names what is not ready: {text}"
    );

    // The exit code of the health check for containers agrees.
    let health = |arguments: &[&str]| smsc.run(&[&["health"], arguments].concat());
    let config = ["--config", "smsc.toml"];
    let ready = health(&config);
    assert!(
        !ready.success && ready.stderr.contains("min_free_mib"),
        "{}",
        ready.stderr
    );
    let live = health(&[&config[..], &["--live"]].concat());
    assert!(live.success && live.stdout == "live\n", "{}", live.stderr);
    let nobody = health(&["--url", "http://127.0.0.1:1"]);
    assert!(
        !nobody.success && nobody.stderr.contains("127.0.0.1:1"),
        "{}",
        nobody.stderr
    );
}
