//! A server continues in PostgreSQL with the data of its embedded store: messages sent before the move
//! get their receipts after it, waiting messages are sent, and waiting receipts are delivered.

use crate::harness::{
    self, FakeOperator, Peer, Smsc, accept, database, next_submit, receipted, submit, taken, until,
};
use bytes::Bytes;
use smsc::smpp::{CommandStatus, SubmitSm};

/// Nobody listens there.
const NOWHERE: &str = "127.0.0.1:9";

#[test]
fn a_server_goes_on_where_its_embedded_store_ended() {
    let database = database();
    let operator = FakeOperator::listen();
    let late = FakeOperator::listen();
    let mut smsc = Smsc::new()
        .account("test", "test")
        .operator("up", operator.address())
        .operator("late", NOWHERE.parse().unwrap())
        .route("44", "up")
        .route("49", "late")
        .start();
    let mut bind = operator.accept_bind();
    smsc.wait_for_binds("up", 1);
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let sent = esme.submit(submit("447700900123", "hello"));
    taken(&mut bind, "00FF");
    until("the answer to be on disk", || {
        let message = smsc.admin().get(&format!("/v1/messages/{sent}"));
        (message["stage"] == "handed over").then_some(())
    });
    let waiting = esme.submit(submit("491701234567", "hello again"));
    let untold = esme.submit(submit("447700900124", "hello"));
    let sequence = next_submit(&mut bind).0;
    drop(esme);
    accept(&mut bind, sequence, "31");
    assert_eq!(send_receipt(&mut bind, "31"), CommandStatus::ESME_ROK);
    assert_eq!(smsc.wait_for_final(&untold)["state"], "DELIVERED");
    // The write-ahead log is left unmerged, too.
    smsc.kill();
    drop(bind);

    let config = smsc.config().replace(NOWHERE, &late.address().to_string());
    smsc.set_config(&format!("{config}[postgres]\nurl = {:?}\n", database.url()));
    for subcommand in ["migrate", "migrate-store"] {
        let finished = smsc.command(&[subcommand]);
        assert!(finished.success, "{}", finished.stderr);
    }
    smsc.start_again();
    // The configuration has moved, too; later changes of the file are applied.
    smsc.apply();

    let mut bind = operator.accept_bind();
    smsc.wait_for_binds("up", 1);
    // In decimal, while the answer had it in hexadecimal.
    assert_eq!(send_receipt(&mut bind, "255"), CommandStatus::ESME_ROK);
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let mut told = [receipted(&esme.deliver()), receipted(&esme.deliver())];
    told.sort();
    assert_eq!(told, [sent, untold]);
    let mut bind = late.accept_bind();
    let (sequence, message) = next_submit(&mut bind);
    assert_eq!(message.destination_addr, "491701234567");
    assert_eq!(message.short_message, "hello again");
    accept(&mut bind, sequence, "7");
    assert_eq!(send_receipt(&mut bind, "7"), CommandStatus::ESME_ROK);
    assert_eq!(receipted(&esme.deliver()), waiting);
    let fresh = esme.submit(submit("491701234568", "new"));
    assert!(fresh > waiting, "ids go on ascending");
    smsc.assert_no_panic();
}

/// Sends a receipt with DELIVRD, and returns the status of the response.
fn send_receipt(bind: &mut Peer, id: &str) -> CommandStatus {
    let text = format!(
        "id:{id} sub:001 dlvrd:001 submit date:2601010000 done date:2601010001 stat:DELIVRD err:000 text:"
    );
    let receipt = SubmitSm {
        esm_class: 0x04,
        short_message: Bytes::from(text),
        ..submit("12345", "")
    };
    harness::send_receipt(bind, receipt)
}
