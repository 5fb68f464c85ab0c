//! Peers of SMPP 3.3, 3.4 and 5.0; alert_notification, outbind and cell broadcast.

use std::net::TcpListener;

use crate::harness::{FakeOperator, Peer, Simulator, Smsc, submit, until};
use bytes::Bytes;
use smsc::smpp::{
    AlertNotification, BindRequest, Body, BroadcastSm, CancelBroadcastSm, CancelSm, CommandId,
    CommandStatus, Pdu, QueryBroadcastSm, QuerySm, SubmitSm, Tlvs, tag,
};

const SOURCE: &str = "12345";
const SUBSCRIBER: &str = "447700900123";

fn text(of: &str) -> Bytes {
    Bytes::copy_from_slice(of.as_bytes())
}

/// Binds as transceiver with a version; returns sc_interface_version of the response.
fn bind_with(smsc: &Smsc, version: u8) -> (Peer, Option<u32>) {
    let mut peer = Peer::connect(smsc.smpp());
    let answer = answer(
        &mut peer,
        Body::BindTransceiver(BindRequest {
            system_id: text("test"),
            password: text("test"),
            interface_version: version,
            ..BindRequest::default()
        }),
    );
    assert_eq!(answer.status, CommandStatus::ESME_ROK);
    let Body::BindTransceiverResp(resp) = answer.body else {
        panic!("{answer:?}");
    };
    let version = resp.tlvs.get_uint(tag::SC_INTERFACE_VERSION);
    (peer, version)
}

fn answer(peer: &mut Peer, body: Body) -> Pdu {
    let sequence = peer.request(body);
    peer.answer_to(sequence)
}

#[test]
fn the_version_is_negotiated() {
    let smsc = Smsc::new().account("test", "test").start();
    for (bound_with, answered) in [
        (0x00, None),
        (0x33, None),
        (0x34, Some(0x34)),
        (0x40, Some(0x34)),
        (0x50, Some(0x50)),
        (0x51, Some(0x50)),
    ] {
        let (peer, version) = bind_with(&smsc, bound_with);
        assert_eq!(version, answered, "{bound_with:#x}");
        peer.unbind();
    }
    smsc.assert_no_panic();
}

#[test]
fn what_the_account_speaks_counts_more_than_what_its_bind_says() {
    for (configured, bound_with, answered, id_length) in [
        ("0x34", 0x00, Some(0x34), 19),
        ("0x50", 0x34, Some(0x50), 19),
        ("0x33", 0x34, None, 8),
    ] {
        let smsc = Smsc::new()
            .account_with("test", "test", &format!("interface_version = {configured}"))
            .route("", "test:delivered")
            .start();
        let (mut peer, version) = bind_with(&smsc, bound_with);
        assert_eq!(version, answered, "{configured} {bound_with:#x}");
        let id = peer.submit(submit(SUBSCRIBER, "hello"));
        assert_eq!(id.len(), id_length, "{id}");
        let receipt = peer.deliver();
        assert_eq!(receipt.tlvs.is_empty(), answered.is_none(), "{receipt:?}");
        peer.unbind();
    }
}

#[test]
fn a_peer_of_3_3_gets_no_tlv_and_short_ids() {
    let operator = Simulator::new().start();
    let smsc = Smsc::new()
        .account_with("test", "test", "addresses = [\"12345\"]")
        .operator("up", operator.address())
        .operator("away", Simulator::new().address())
        .route("", "up")
        .route("33", "away")
        .start();
    smsc.wait_for_binds("up", 1);
    let (mut old, _) = bind_with(&smsc, 0x33);
    let id = old.submit(submit(SUBSCRIBER, "hello"));
    assert_eq!(id.len(), 8, "{id}");
    assert!(id.bytes().all(|digit| digit.is_ascii_hexdigit()), "{id}");
    let receipt = old.deliver();
    assert!(receipt.tlvs.is_empty(), "{receipt:?}");
    let said = String::from_utf8(receipt.short_message.to_vec()).unwrap();
    assert!(said.starts_with(&format!("id:{id} ")), "{said}");

    // It may query and cancel by that id.
    let ask = |peer: &mut Peer, id: &str| {
        let query = QuerySm {
            message_id: text(id),
            source_addr: text(SOURCE),
            ..QuerySm::default()
        };
        let answer = answer(peer, Body::QuerySm(query));
        match answer.body {
            Body::QuerySmResp(resp) => (answer.status, resp.message_state),
            other => panic!("{other:?}"),
        }
    };
    let ok = CommandStatus::ESME_ROK;
    assert_eq!(ask(&mut old, &id), (ok, 2));
    let unknown = CommandStatus::ESME_RINVMSGID;
    assert_eq!(ask(&mut old, "00000000"), (unknown, 0));
    let waits = old.submit(submit("33100000000", "hello"));
    let cancel = CancelSm {
        message_id: text(&waits),
        source_addr: text(SOURCE),
        ..CancelSm::default()
    };
    assert_eq!(answer(&mut old, Body::CancelSm(cancel)).status, ok);
    assert_eq!(ask(&mut old, &waits), (ok, 4));
    old.deliver();

    smsc.assert_no_panic();
}

#[test]
fn the_payload_of_an_mo_message_reaches_a_peer_of_3_3() {
    let operator = FakeOperator::listen();
    let smsc = Smsc::new()
        .account_with("test", "test", "addresses = [\"12345\"]")
        .operator("up", operator.address())
        .route("", "up")
        .start();
    let mut link = operator.accept_bind();
    let (mut old, _) = bind_with(&smsc, 0x33);
    let mo = |length: usize| {
        let mut tlvs = Tlvs::new();
        tlvs.push(tag::MESSAGE_PAYLOAD, &vec![b'x'; length]);
        tlvs.push(tag::USER_MESSAGE_REFERENCE, &[0, 1]);
        Body::DeliverSm(SubmitSm {
            source_addr: text(SUBSCRIBER),
            destination_addr: text(SOURCE),
            tlvs,
            ..SubmitSm::default()
        })
    };
    assert!(answer(&mut link, mo(200)).status.is_ok());
    let got = old.deliver();
    assert!(got.tlvs.is_empty(), "{got:?}");
    assert_eq!(got.short_message.len(), 200);
    smsc.assert_no_panic();
}

#[test]
fn a_busy_smsc_tells_peers_of_5_0() {
    let smsc = Smsc::new()
        .account_with("test", "test", "rate = 0.01\nburst = 1")
        .operator("up", Simulator::new().address())
        .route("", "up")
        .start();
    let congestion = |peer: &mut Peer| {
        let answer = answer(peer, Body::SubmitSm(submit(SUBSCRIBER, "hello")));
        match answer.body {
            Body::SubmitSmResp(resp) => (answer.status, resp.tlvs.get_uint(tag::CONGESTION_STATE)),
            other => panic!("{other:?}"),
        }
    };
    let (mut new, _) = bind_with(&smsc, 0x50);
    let throttled = CommandStatus::ESME_RTHROTTLED;
    assert_eq!(congestion(&mut new), (CommandStatus::ESME_ROK, None));
    assert_eq!(congestion(&mut new), (throttled, Some(100)));
    let (mut old, _) = bind_with(&smsc, 0x34);
    assert_eq!(congestion(&mut old), (throttled, None));
    // Queries cost as much as messages.
    let query = answer(&mut old, Body::QuerySm(QuerySm::default()));
    assert_eq!(query.status, throttled);
    smsc.assert_no_panic();
}

#[test]
fn cell_broadcast_is_refused_by_its_own_statuses() {
    let smsc = Smsc::new().account("test", "test").start();
    let requests = || {
        [
            (
                Body::BroadcastSm(BroadcastSm::default()),
                CommandId::BROADCAST_SM_RESP,
                CommandStatus::ESME_RBCASTFAIL,
            ),
            (
                Body::QueryBroadcastSm(QueryBroadcastSm::default()),
                CommandId::QUERY_BROADCAST_SM_RESP,
                CommandStatus::ESME_RBCASTQUERYFAIL,
            ),
            (
                Body::CancelBroadcastSm(CancelBroadcastSm::default()),
                CommandId::CANCEL_BROADCAST_SM_RESP,
                CommandStatus::ESME_RBCASTCANCELFAIL,
            ),
        ]
    };
    let (mut new, _) = bind_with(&smsc, 0x50);
    let (mut old, _) = bind_with(&smsc, 0x34);
    for (request, command_id, status) in requests() {
        let refused = answer(&mut new, request.clone());
        assert_eq!((refused.command_id(), refused.status), (command_id, status));
        let unknown = answer(&mut old, request);
        assert_eq!(unknown.status, CommandStatus::ESME_RINVCMDID);
    }
    new.assert_alive();
    old.assert_alive();
}

fn alert(for_esme: &str) -> Body {
    let mut tlvs = Tlvs::new();
    tlvs.push(tag::MS_AVAILABILITY_STATUS, &[0]);
    Body::AlertNotification(AlertNotification {
        source_addr_ton: 1,
        source_addr_npi: 1,
        source_addr: text(SUBSCRIBER),
        esme_addr: text(for_esme),
        tlvs,
        ..AlertNotification::default()
    })
}

#[test]
fn an_alert_goes_to_who_waits_for_the_subscriber() {
    let operator = FakeOperator::listen();
    let smsc = Smsc::new()
        .account_with("test", "test", "addresses = [\"777\"]")
        .account("other", "other")
        .operator("up", operator.address())
        .route("", "up")
        .start();
    let mut link = operator.accept_bind();
    let mut test = Peer::bind(smsc.smpp(), "test", "test");
    let mut other = Peer::bind(smsc.smpp(), "other", "other");
    let alerted = |peer: &mut Peer, esme: &str| {
        let pdu = peer.expect("an alert_notification", |pdu| {
            matches!(pdu.body, Body::AlertNotification(_))
        });
        assert_eq!(pdu.body, alert(esme));
        assert_ne!(pdu.sequence, 0);
    };
    // By the address of an account, and by its last message to that subscriber.
    link.request(alert("777"));
    alerted(&mut test, "777");
    other.submit(submit(SUBSCRIBER, "hello"));
    link.request(alert(SOURCE));
    alerted(&mut other, SOURCE);
    // For no account: there is no response, and the bind stays.
    link.request(alert("999"));
    until("the alert to be counted", || {
        let (_, metrics) = smsc.admin().text("/metrics").ok()?;
        metrics
            .contains("smsc_alerts_dropped_total 1\n")
            .then_some(())
    });
    link.assert_alive();
    smsc.assert_no_panic();
}

#[test]
fn an_account_is_called_when_something_waits_for_it() {
    let esme = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = esme.local_addr().unwrap();
    let operator = FakeOperator::listen();
    let smsc = Smsc::new()
        .smpp("system_id = \"centre\"")
        .account_with(
            "test",
            "test",
            &format!(
                "addresses = [\"12345\"]\noutbind = \"{address}\"\noutbind_password = \"knock\""
            ),
        )
        .operator("up", operator.address())
        .route("", "up")
        .start();
    let mut link = operator.accept_bind();
    let mo = Body::DeliverSm(SubmitSm {
        source_addr: text(SUBSCRIBER),
        destination_addr: text(SOURCE),
        short_message: text("are you there?"),
        ..SubmitSm::default()
    });
    assert!(answer(&mut link, mo).status.is_ok());

    let mut called = Peer::over(esme.accept().unwrap().0);
    let outbind = called.expect("an outbind", |pdu| matches!(pdu.body, Body::Outbind(_)));
    let Body::Outbind(outbind) = outbind.body else {
        unreachable!("just matched")
    };
    assert_eq!(
        (outbind.system_id.as_ref(), outbind.password.as_ref()),
        (&b"centre"[..], &b"knock"[..])
    );
    let status = called.bind_as(Body::BindReceiver, "test", "test");
    assert_eq!(status, CommandStatus::ESME_ROK);
    assert_eq!(called.deliver().short_message, "are you there?");
    called.unbind();
    smsc.assert_no_panic();
}
