//! What a handset hears of its own messages, and what it may order about them.

use super::{serving, subscriber};
use crate::harness::{
    FakeCore, FakeOperator, Peer, SmscBuilder, receipt, saying, send_receipt, taken, until,
};
use bytes::Bytes;
use smsc::smpp::CommandStatus;
use smsc::sms::tpdu::{SmsCommand, SmsSubmit, StatusReport, Tpdu, TpduAddress, TpduKind, decode};

/// To an operator, and nowhere else.
const ABROAD: &str = "33612345678";

fn submit(reference: u8, to: &str, status_report_request: bool) -> Bytes {
    let submit = SmsSubmit {
        message_reference: reference,
        status_report_request,
        destination_address: TpduAddress::international(to),
        ..SmsSubmit::default()
    };
    saying("hello", submit)
}

fn command(command_type: u8, message_number: u8) -> Bytes {
    let command = SmsCommand {
        message_reference: 99,
        command_type,
        message_number,
        destination_address: TpduAddress::international(ABROAD),
        ..SmsCommand::default()
    };
    Tpdu::Command(command).encode().unwrap().into()
}

/// The status reports that a handset has got, when there are so many.
fn reports(core: &FakeCore, imsi: &str, count: usize) -> Vec<StatusReport> {
    let arrived = core.wait_for(imsi, count);
    let report = |tpdu: &Bytes| match decode(TpduKind::StatusReport, tpdu) {
        Ok(Tpdu::StatusReport(report)) => report,
        other => panic!("{other:?}"),
    };
    arrived
        .iter()
        .map(|arrived| report(&arrived.tpdu))
        .collect()
}

fn abroad(builder: SmscBuilder, operator: &FakeOperator) -> SmscBuilder {
    builder
        .operator_with("up", operator.address(), "")
        .route("336", "up")
}

#[test]
fn a_handset_that_asked_gets_a_status_report() {
    let core = FakeCore::start();
    let smsc = serving(core.address(), "").start();
    core.wait_for_connections(1);
    let (sender, other) = (subscriber(1), subscriber(2));
    assert_eq!(core.sends(&sender, submit(7, &other.0, true)), 0);
    assert_eq!(core.wait_for(&other.1, 1)[0].text, "hello");
    let report = reports(&core, &sender.1, 1).remove(0);
    assert_eq!((report.message_reference, report.status), (7, 0));
    assert_eq!(
        report.recipient_address,
        TpduAddress::international(&*other.0)
    );
    assert!(!report.of_command && !report.more_messages);
    // Nobody asked about the second one; the third one is told with its own reference, to an ESME, too.
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    assert_eq!(core.sends(&sender, submit(8, &other.0, false)), 0);
    assert_eq!(core.sends(&sender, submit(9, "12345", true)), 0);
    let got = esme.deliver();
    assert_eq!(&got.short_message[..], b"hello");
    let reports = reports(&core, &sender.1, 2);
    assert_eq!((reports[1].message_reference, reports[1].status), (9, 0));
}

#[test]
fn of_two_networks_with_one_account_that_of_the_handset_tells() {
    let (home, away) = (FakeCore::start(), FakeCore::start());
    let second = format!(
        "[[gsm]]\nname = \"away\"\naddress = \"{}\"\nsmsc_address = \"49160000\"\naccount = \"handsets\"\n",
        away.address()
    );
    let _smsc = serving(home.address(), "").toml(&second).start();
    home.wait_for_connections(1);
    away.wait_for_connections(1);
    // Subscribers of both have the same numbers; only the network says which handset has asked.
    let (sender, other) = (subscriber(1), subscriber(2));
    for (reference, core) in [(7, &away), (8, &home)] {
        assert_eq!(core.sends(&sender, submit(reference, &other.0, true)), 0);
        let report = reports(core, &sender.1, 1).remove(0);
        assert_eq!((report.message_reference, report.status), (reference, 0));
    }
    assert_eq!(home.wait_for(&other.1, 2).len(), 2);
    assert_eq!(away.wait_for(&sender.1, 1).len(), 1, "nothing else");
}

#[test]
fn a_status_report_that_was_not_acknowledged_comes_after_a_restart() {
    let mut core = FakeCore::start();
    let operator = FakeOperator::listen();
    let mut smsc = abroad(serving(core.address(), ""), &operator).start();
    let mut bind = operator.accept_bind();
    core.wait_for_connections(1);
    let sender = subscriber(1);
    assert_eq!(core.sends(&sender, submit(7, ABROAD, true)), 0);
    let submitted = taken(&mut bind, "A1");
    assert_eq!(&submitted.destination_addr[..], ABROAD.as_bytes());
    core.stop();
    let text = "id:A1 sub:001 dlvrd:000 submit date:2611210530 done date:2611210531 stat:UNDELIV err:027 text:";
    assert_eq!(
        send_receipt(&mut bind, receipt(text)),
        CommandStatus::ESME_ROK
    );
    until("the final state", || {
        let found = smsc.admin().get("/v1/messages?state=UNDELIVERABLE");
        (found["messages"].as_array().map(Vec::len) == Some(1)).then_some(())
    });
    smsc.kill();
    core.start_again();
    smsc.start_again();
    let report = reports(&core, &sender.1, 1).remove(0);
    // Not obtainable (3GPP TS 23.040 section 9.2.3.15).
    assert_eq!((report.message_reference, report.status), (7, 0x43));
}

#[test]
fn a_handset_deletes_its_message_and_changes_its_mind_about_the_report() {
    let core = FakeCore::start();
    let operator = FakeOperator::listen();
    // Nobody binds: messages wait.
    let smsc = abroad(serving(core.address(), ""), &operator).start();
    core.wait_for_connections(1);
    let sender = subscriber(1);
    for reference in [7, 8] {
        assert_eq!(core.sends(&sender, submit(reference, ABROAD, false)), 0);
    }
    // A status report is wanted after all; then it is deleted, and there is none any more.
    assert_eq!(core.sends(&sender, command(3, 7)), 0);
    assert_eq!(core.sends(&sender, command(2, 7)), 0);
    assert_eq!(core.sends(&sender, command(2, 7)), 21);
    assert_eq!(core.sends(&sender, command(2, 6)), 21, "never sent");
    let other = subscriber(2);
    assert_eq!(core.sends(&other, command(2, 8)), 21, "of another");
    let report = reports(&core, &sender.1, 1).remove(0);
    assert_eq!((report.message_reference, report.status), (7, 0x47));
    let found = smsc.admin().get("/v1/messages?state=ENROUTE");
    let waiting = found["messages"].as_array().unwrap();
    assert_eq!(waiting.len(), 1);
    assert_eq!(waiting[0]["came_as"], "SMS-SUBMIT");
    let id = waiting[0]["id"].as_str().unwrap();
    let shown = smsc.admin().get(&format!("/v1/messages/{id}?text=true"));
    let tpdu: String = submit(8, ABROAD, false)
        .iter()
        .map(|octet| format!("{octet:02x}"))
        .collect();
    assert_eq!(shown["content"]["tpdu"], tpdu);
    // No such command (9.2.3.19).
    assert_eq!(core.sends(&sender, command(4, 8)), 69);
}

#[test]
fn a_handset_asks_what_became_of_its_message() {
    let core = FakeCore::start();
    let operator = FakeOperator::listen();
    let _smsc = abroad(serving(core.address(), ""), &operator).start();
    let mut bind = operator.accept_bind();
    core.wait_for_connections(1);
    let sender = subscriber(1);
    assert_eq!(core.sends(&sender, submit(7, ABROAD, true)), 0);
    taken(&mut bind, "A1");
    assert_eq!(core.sends(&sender, command(0, 7)), 0);
    // TP-ST 9.2.3.15: still trying, no response.
    let report = reports(&core, &sender.1, 1).remove(0);
    assert!(report.of_command, "TP-SRQ: it is about an SMS-COMMAND");
    assert_eq!((report.message_reference, report.status), (99, 0x22));
    assert_eq!(report.recipient_address, TpduAddress::international(ABROAD));
    let text = "id:A1 sub:001 dlvrd:001 submit date:2611210530 done date:2611210531 stat:DELIVRD err:000 text:";
    send_receipt(&mut bind, receipt(text));
    // The status report that it asked for when it submitted.
    assert!(!reports(&core, &sender.1, 2)[1].of_command);
    assert_eq!(core.sends(&sender, command(0, 7)), 0);
    assert_eq!(reports(&core, &sender.1, 3)[2].status, 0);
    // Never sent, and that of another: neither exists.
    assert_eq!(core.sends(&sender, command(0, 6)), 0);
    assert_eq!(reports(&core, &sender.1, 4)[3].status, 0x49);
    let other = subscriber(2);
    assert_eq!(core.sends(&other, command(0, 7)), 0);
    assert_eq!(reports(&core, &other.1, 1)[0].status, 0x49);
}
