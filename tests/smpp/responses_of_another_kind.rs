//! A request is accepted by the response to it, with ESME_ROK, and by nothing else: generic_nack is a refusal whatever its
//! command_status, and so is the response to another operation (SMPP 3.4 §4.3.1, §5.1.2).

use std::time::Duration;

use crate::harness::{Peer, PeerError, Scene, next_submit, stat_of};
use bytes::BytesMut;
use smsc::smpp::{Body, CommandId, CommandStatus, Pdu};

/// Long enough for something to arrive, if it did.
const QUIET: Duration = Duration::from_millis(700);

/// Answers with ESME_ROK, and with this kind of response.
fn answer_as(bind: &mut Peer, sequence: u32, kind: CommandId) {
    let mut out = BytesMut::new();
    let body = Body::empty(kind).unwrap_or(Body::GenericNack);
    Pdu::response(CommandStatus::ESME_ROK, sequence, body).encode(&mut out);
    bind.send(&out);
}

const OTHERS: [CommandId; 4] = [
    CommandId::GENERIC_NACK,
    CommandId::DELIVER_SM_RESP,
    CommandId::DATA_SM_RESP,
    CommandId::QUERY_SM_RESP,
];

#[test]
fn an_operator_accepts_a_submit_sm_by_its_response_only() {
    for kind in OTHERS {
        let mut scene = Scene::with("", |builder| builder.toml("[retry]\ndelays = [\"100ms\"]"));
        let id = scene.submit();
        let (sequence, _) = next_submit(&mut scene.bind);
        answer_as(&mut scene.bind, sequence, kind);
        // It is tried again, and its sender is told nothing of the first attempt.
        let (again, _) = next_submit(&mut scene.bind);
        assert_eq!(scene.message(&id)["state"], "ENROUTE", "{kind:?}");
        crate::harness::accept(&mut scene.bind, again, "theirs");
        scene.report("theirs", "DELIVRD");
        assert_eq!(stat_of(&scene.esme.deliver()), (id.clone(), 2), "{kind:?}");
        assert_eq!(
            scene.attempts(&id),
            ["ESME_RUNKNOWNERR", "ESME_ROK"],
            "{kind:?}"
        );
    }
}

#[test]
fn an_account_takes_a_receipt_by_its_response_only() {
    for kind in [CommandId::GENERIC_NACK, CommandId::SUBMIT_SM_RESP] {
        let mut scene = Scene::with("", |builder| builder.toml("[retry]\ndelays = [\"100ms\"]"));
        let id = scene.submit_as("theirs");
        scene.report("theirs", "DELIVRD");
        let deliver = |pdu: &Pdu| matches!(pdu.body, Body::DeliverSm(_));
        let first = scene.esme.expect("a receipt", deliver);
        answer_as(&mut scene.esme, first.sequence, kind);
        // It comes again until it is taken.
        assert_eq!(stat_of(&scene.esme.deliver()).0, id, "{kind:?}");
        scene.smsc.wait_until_told(&id);
        assert_eq!(scene.esme.next(QUIET), Err(PeerError::Silence), "{kind:?}");
    }
}
