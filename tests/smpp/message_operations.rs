//! query_sm, cancel_sm, replace_sm and replace_if_present_flag (SMPP 3.4 §4.8 - §4.10, §5.2.18): the
//! sender of a waiting message can query, cancel and replace it; nobody else can.

use std::time::Duration;

use crate::harness::{
    Cluster, FakeOperator, Peer, Scene, Simulator, Smsc, accept, next_submit, pdu, stat_of, submit,
    taken, until,
};
use bytes::Bytes;
use smsc::smpp::time::parse_time;
use smsc::smpp::{
    AlertNotification, BindRequest, Body, CancelSm, CommandStatus, Pdu, QuerySm, QuerySmResp,
    ReplaceSm, SubmitSm, Tlvs, tag,
};

const SCHEDULED: u8 = 0;
const ENROUTE: u8 = 1;
const DELIVERED: u8 = 2;
const DELETED: u8 = 4;
const SOURCE: &str = "12345";
const TO: &str = "447700900123";
/// Relative times (§7.1.1.2).
const IN_AN_HOUR: &str = "000000010000000R";
const NOW: &str = "000000000000000R";

fn text(of: &str) -> Bytes {
    Bytes::copy_from_slice(of.as_bytes())
}

fn query_from(peer: &mut Peer, id: &str, source: &str) -> Pdu {
    let sequence = peer.request(Body::QuerySm(QuerySm {
        message_id: text(id),
        source_addr: text(source),
        ..QuerySm::default()
    }));
    peer.answer_to(sequence)
}

fn query(peer: &mut Peer, id: &str) -> QuerySmResp {
    let answer = query_from(peer, id, SOURCE);
    assert_eq!(answer.status, CommandStatus::ESME_ROK);
    match answer.body {
        Body::QuerySmResp(resp) => resp,
        other => panic!("not an answer to query_sm: {other:?}"),
    }
}

fn cancel(peer: &mut Peer, cancel: CancelSm) -> CommandStatus {
    let sequence = peer.request(Body::CancelSm(cancel));
    let answer = peer.answer_to(sequence);
    assert_eq!(answer.body, Body::CancelSmResp);
    answer.status
}

fn by_id(id: &str) -> CancelSm {
    CancelSm {
        message_id: text(id),
        source_addr: text(SOURCE),
        ..CancelSm::default()
    }
}

fn replace(peer: &mut Peer, replace: ReplaceSm) -> CommandStatus {
    let sequence = peer.request(Body::ReplaceSm(replace));
    let answer = peer.answer_to(sequence);
    assert_eq!(answer.body, Body::ReplaceSmResp);
    answer.status
}

fn with_text(id: &str, new: &str) -> ReplaceSm {
    ReplaceSm {
        message_id: text(id),
        source_addr: text(SOURCE),
        registered_delivery: 1,
        short_message: text(new),
        ..ReplaceSm::default()
    }
}

/// An SMSC whose operator is down, and two accounts.
fn waiting() -> Smsc {
    Smsc::new()
        .account("test", "test")
        .account("other", "other")
        .operator("up", Simulator::new().address())
        .route("", "up")
        .start()
}

/// More than may wait, in one piece: what was read and had no room is taken although nothing more is read.
#[test]
fn all_of_many_queries_in_one_write_are_answered() {
    let mut scene = Scene::new("");
    let id = scene.esme.submit(submit(TO, "hello"));
    let queries: Vec<Vec<u8>> = (1_000..1_200)
        .map(|sequence| {
            let query = QuerySm {
                message_id: text(&id),
                source_addr: text(SOURCE),
                ..QuerySm::default()
            };
            pdu(sequence, Body::QuerySm(query))
        })
        .collect();
    scene.esme.send(&queries.concat());
    for sequence in 1_000..1_200 {
        let answer = scene.esme.answer_to(sequence);
        assert_eq!(answer.status, CommandStatus::ESME_ROK);
    }
}

#[test]
fn pain_11_query_tells_state_date_and_error() {
    let mut scene = Scene::with("", |builder| builder.account("other", "other"));

    let id = scene.esme.submit(submit(TO, "hello"));
    let open = query(&mut scene.esme, &id);
    assert_eq!(
        (
            open.message_id.as_ref(),
            open.message_state,
            open.error_code
        ),
        (id.as_bytes(), ENROUTE, 0)
    );
    assert!(open.final_date.is_empty(), "{open:?}");

    scene.take("abc");
    assert_eq!(query(&mut scene.esme, &id).message_state, ENROUTE);
    scene.bind.request(Body::DeliverSm(SubmitSm {
        source_addr: text(TO),
        destination_addr: text(SOURCE),
        esm_class: 4,
        short_message: text(
            "id:abc sub:001 dlvrd:000 submit date:2601010000 done date:2601010000 stat:UNDELIV err:069 text:",
        ),
        ..SubmitSm::default()
    }));
    scene.esme.deliver();
    let done = query(&mut scene.esme, &id);
    assert_eq!((done.message_state, done.error_code), (5, 69));
    let date = parse_time(&done.final_date, 0).unwrap();
    assert!(date.is_some_and(|date| date > 0), "{done:?}");

    // It fails with another source, by another account, and for an unknown id.
    let fails = |peer: &mut Peer, id: &str, source: &str| {
        let answer = query_from(peer, id, source);
        assert_eq!(answer.body, Body::QuerySmResp(QuerySmResp::default()));
        answer.status
    };
    let mut other = Peer::bind(scene.smsc.smpp(), "other", "other");
    let failed = CommandStatus::ESME_RQUERYFAIL;
    let unknown = CommandStatus::ESME_RINVMSGID;
    assert_eq!(fails(&mut scene.esme, &id, "54321"), failed);
    assert_eq!(fails(&mut other, &id, SOURCE), failed);
    for wrong in ["", "0", "1", "nonsense", "99999999999999999999999"] {
        assert_eq!(fails(&mut scene.esme, wrong, SOURCE), unknown, "{wrong:?}");
    }
    scene.smsc.assert_no_panic();
}

#[test]
fn cancel_by_id_ends_it_deleted() {
    let mut smsc = waiting();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let mut other = Peer::bind(smsc.smpp(), "other", "other");
    let id = esme.submit(submit(TO, "hello"));

    let failed = CommandStatus::ESME_RCANCELFAIL;
    assert_eq!(cancel(&mut other, by_id(&id)), failed, "another's");
    let elsewhere = CancelSm {
        source_addr: text("54321"),
        ..by_id(&id)
    };
    assert_eq!(cancel(&mut esme, elsewhere), failed, "another source");
    let to_another = CancelSm {
        destination_addr: text("447700900999"),
        ..by_id(&id)
    };
    assert_eq!(cancel(&mut esme, to_another), failed, "another destination");
    assert_eq!(
        cancel(&mut esme, by_id("17")),
        CommandStatus::ESME_RINVMSGID
    );
    assert_eq!(query(&mut esme, &id).message_state, ENROUTE);

    assert_eq!(cancel(&mut esme, by_id(&id)), CommandStatus::ESME_ROK);
    assert_eq!(query(&mut esme, &id).message_state, DELETED);
    assert_eq!(stat_of(&esme.deliver()), (id.clone(), u32::from(DELETED)));
    assert_eq!(cancel(&mut esme, by_id(&id)), failed, "twice");
    let history = smsc.admin().get(&format!("/v1/messages/{id}"));
    assert_eq!(history["changes"][0]["by"], "account:test", "{history}");

    smsc.terminate();
    smsc.fsck();
    smsc.assert_no_panic();
}

#[test]
fn cancel_by_addresses_takes_all_that_wait() {
    let smsc = waiting();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let of_service = |to: &str, service: &str| SubmitSm {
        service_type: text(service),
        ..submit(to, "hello")
    };
    let all = |service: &str| CancelSm {
        service_type: text(service),
        source_addr: text(SOURCE),
        destination_addr: text(TO),
        ..CancelSm::default()
    };
    let first = esme.submit(of_service(TO, "A"));
    let second = esme.submit(of_service(TO, "B"));
    let third = esme.submit(of_service(TO, "A"));
    let away = esme.submit(of_service("447700900999", "A"));
    let states = |esme: &mut Peer, ids: &[&String]| -> Vec<u8> {
        ids.iter().map(|id| query(esme, id).message_state).collect()
    };
    let ids = [&first, &second, &third, &away];
    assert_eq!(
        cancel(&mut esme, all("C")),
        CommandStatus::ESME_RCANCELFAIL,
        "nothing of that service"
    );
    assert_eq!(cancel(&mut esme, all("A")), CommandStatus::ESME_ROK);
    assert_eq!(
        states(&mut esme, &ids),
        [DELETED, ENROUTE, DELETED, ENROUTE]
    );
    assert_eq!(cancel(&mut esme, all("")), CommandStatus::ESME_ROK);
    assert_eq!(
        states(&mut esme, &ids),
        [DELETED, DELETED, DELETED, ENROUTE]
    );
    assert_eq!(cancel(&mut esme, all("")), CommandStatus::ESME_RCANCELFAIL);
    let nowhere = CancelSm {
        destination_addr: Bytes::new(),
        ..all("")
    };
    assert_eq!(cancel(&mut esme, nowhere), CommandStatus::ESME_RINVDSTADR);

    // In one write: messages submitted before the cancel_sm are cancelled, later ones are not.
    let before = esme.request(Body::SubmitSm(submit(TO, "before")));
    let order = esme.request(Body::CancelSm(all("")));
    let after = esme.request(Body::SubmitSm(submit(TO, "after")));
    let id_of = |answer: Pdu| match answer.body {
        Body::SubmitSmResp(resp) => String::from_utf8(resp.message_id.to_vec()).unwrap(),
        other => panic!("{other:?}"),
    };
    let before = id_of(esme.answer_to(before));
    assert_eq!(esme.answer_to(order).status, CommandStatus::ESME_ROK);
    let after = id_of(esme.answer_to(after));
    assert_eq!(states(&mut esme, &[&before, &after]), [DELETED, ENROUTE]);
    smsc.assert_no_panic();
}

#[test]
fn what_an_operator_has_been_given_is_beyond_orders() {
    let mut scene = Scene::new("");
    let id = scene.esme.submit(submit(TO, "hello"));
    let (sequence, _) = next_submit(&mut scene.bind);
    let (no_cancel, no_replace) = (
        CommandStatus::ESME_RCANCELFAIL,
        CommandStatus::ESME_RREPLACEFAIL,
    );
    // While unanswered, and after the response.
    assert_eq!(cancel(&mut scene.esme, by_id(&id)), no_cancel);
    assert_eq!(replace(&mut scene.esme, with_text(&id, "new")), no_replace);
    accept(&mut scene.bind, sequence, "abc");
    assert_eq!(cancel(&mut scene.esme, by_id(&id)), no_cancel);
    assert_eq!(replace(&mut scene.esme, with_text(&id, "new")), no_replace);
    assert_eq!(query(&mut scene.esme, &id).message_state, ENROUTE);
    scene.smsc.assert_no_panic();
}

#[test]
fn the_last_replacement_wins_and_survives_a_restart() {
    let mut scene = Scene::with("", |builder| builder.account("other", "other"));
    let mut other = Peer::bind(scene.smsc.smpp(), "other", "other");
    let scheduled = SubmitSm {
        schedule_delivery_time: text(IN_AN_HOUR),
        ..submit(TO, "old")
    };
    let id = scene.esme.submit(scheduled.clone());
    let kept = scene.esme.submit(SubmitSm {
        destination_addr: text("447700900124"),
        ..scheduled
    });
    let failed = CommandStatus::ESME_RREPLACEFAIL;
    assert_eq!(replace(&mut other, with_text(&id, "x")), failed);
    assert_eq!(
        replace(&mut scene.esme, with_text("17", "x")),
        CommandStatus::ESME_RINVMSGID
    );
    let nonsense = ReplaceSm {
        validity_period: text("200101000000000+"),
        ..with_text(&id, "x")
    };
    assert_eq!(
        replace(&mut scene.esme, nonsense),
        CommandStatus::ESME_RINVEXPIRY
    );
    let ok = CommandStatus::ESME_ROK;
    assert_eq!(replace(&mut scene.esme, with_text(&id, "second")), ok);
    let last = ReplaceSm {
        validity_period: text("000005000000000R"),
        tlvs: {
            let mut tlvs = Tlvs::new();
            tlvs.push(tag::MESSAGE_PAYLOAD, b"third");
            tlvs
        },
        ..with_text(&id, "")
    };
    assert_eq!(replace(&mut scene.esme, last), ok);
    let before = scene.smsc.admin().get(&format!("/v1/messages/{id}"));
    assert_eq!(before["stage"], "scheduled", "{before}");

    scene.smsc.kill();
    drop(scene.bind);
    scene.smsc.start_again();
    scene.bind = scene.operator.accept_bind();
    scene.esme = Peer::bind(scene.smsc.smpp(), "test", "test");
    let after = scene.smsc.admin().get(&format!("/v1/messages/{id}"));
    for field in ["due_at", "expires_at", "stage"] {
        assert_eq!(after[field], before[field], "{field}: {before} {after}");
    }
    // Due now: replacing the schedule comes last.
    let now = ReplaceSm {
        schedule_delivery_time: text(NOW),
        ..with_text(&id, "")
    };
    assert_eq!(replace(&mut scene.esme, now), ok);
    let sent = scene.take("abc");
    assert_eq!(sent.payload(), "third");
    assert_eq!(query(&mut scene.esme, &kept).message_state, ENROUTE);

    scene.smsc.terminate();
    scene.smsc.fsck();
    scene.smsc.assert_no_panic();
}

#[test]
fn a_submission_may_replace_what_waits() {
    let smsc = waiting();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let instead = |to: &str, body: &str, service: &str| SubmitSm {
        replace_if_present_flag: 1,
        service_type: text(service),
        ..submit(to, body)
    };
    let first = esme.submit(instead(TO, "one", ""));
    assert_eq!(esme.submit(instead(TO, "two", "")), first, "in its place");
    let service = esme.submit(instead(TO, "three", "X"));
    assert_ne!(service, first, "another service_type");
    assert_ne!(esme.submit(submit(TO, "four")), first, "without the flag");
    assert_ne!(esme.submit(instead("447700900999", "five", "")), first);

    // In one write: the second replaces the first.
    let one = esme.request(Body::SubmitSm(instead("447700900555", "one", "")));
    let two = esme.request(Body::SubmitSm(instead("447700900555", "two", "")));
    let (one, two) = (esme.answer_to(one).body, esme.answer_to(two).body);
    assert_eq!(one, two);

    let shown = smsc.admin().get(&format!("/v1/messages/{first}?text=true"));
    assert_eq!(shown["content"]["text"], "two", "{shown}");
    assert_eq!(shown["changes"][0]["kind"], "replace", "{shown}");
    smsc.assert_no_panic();
}

#[test]
fn a_scheduled_message_is_scheduled_to_peers_of_5_0() {
    let smsc = waiting();
    for (interface_version, expected) in [(0x34, ENROUTE), (0x50, SCHEDULED)] {
        let mut esme = Peer::connect(smsc.smpp());
        let bind = esme.request(Body::BindTransceiver(BindRequest {
            system_id: text("test"),
            password: text("test"),
            interface_version,
            ..BindRequest::default()
        }));
        assert_eq!(esme.answer_to(bind).status, CommandStatus::ESME_ROK);
        let id = esme.submit(SubmitSm {
            schedule_delivery_time: text(IN_AN_HOUR),
            ..submit(TO, "later")
        });
        assert_eq!(query(&mut esme, &id).message_state, expected);
        let id = esme.submit(submit(TO, "now"));
        assert_eq!(query(&mut esme, &id).message_state, ENROUTE);
    }
}

#[test]
fn another_node_owns_the_message() {
    let operator = FakeOperator::listen();
    let address = operator.address();
    let cluster = Cluster::of(3)
        .roles(0, &["smpp", "http"])
        .roles(1, &["delivery", "http", "janitor"])
        .roles(2, &["smpp", "http"])
        .each(move |smsc| smsc.relaying_to(address))
        .start();
    let mut link = operator.accept_bind();
    cluster.nodes[1].wait_for_binds("up", 1);
    let scheduled = |to: &str| SubmitSm {
        schedule_delivery_time: text(IN_AN_HOUR),
        ..submit(to, "old")
    };
    let mut here = Peer::bind(cluster.nodes[0].smpp(), "test", "test");
    let mut there = Peer::bind(cluster.nodes[2].smpp(), "test", "test");
    let dropped = here.submit(scheduled(TO));
    let changed = here.submit(scheduled("447700900124"));
    assert_eq!(query(&mut there, &changed).message_state, ENROUTE);
    assert_eq!(cancel(&mut there, by_id(&dropped)), CommandStatus::ESME_ROK);
    assert_eq!(query(&mut here, &dropped).message_state, DELETED);
    let now = ReplaceSm {
        schedule_delivery_time: text(NOW),
        ..with_text(&changed, "new")
    };
    assert_eq!(
        replace(&mut here, with_text(&changed, "x")),
        CommandStatus::ESME_ROK
    );
    assert_eq!(replace(&mut there, now), CommandStatus::ESME_ROK);
    assert_eq!(taken(&mut link, "abc").short_message, "new");
    until("the answer to be stored", || {
        let failed = CommandStatus::ESME_RCANCELFAIL;
        (cancel(&mut there, by_id(&changed)) == failed).then_some(())
    });

    // By addresses, and by a submission that replaces another.
    let old = here.submit(SubmitSm {
        replace_if_present_flag: 1,
        ..scheduled(TO)
    });
    let same = there.submit(SubmitSm {
        replace_if_present_flag: 1,
        ..scheduled(TO)
    });
    assert_eq!(old, same);
    let all = CancelSm {
        source_addr: text(SOURCE),
        destination_addr: text(TO),
        ..CancelSm::default()
    };
    assert_eq!(cancel(&mut there, all), CommandStatus::ESME_ROK);
    assert_eq!(query(&mut here, &old).message_state, DELETED);
    assert_ne!(query(&mut here, &changed).message_state, DELIVERED);

    // An alert on one node reaches a receiver on another.
    link.request(Body::AlertNotification(AlertNotification {
        source_addr: text("447700900124"),
        esme_addr: text(SOURCE),
        ..AlertNotification::default()
    }));
    let mut receivers = [here, there];
    until("the alert", || {
        let mut next = receivers
            .iter_mut()
            .filter_map(|peer| peer.next(Duration::from_millis(50)).ok());
        next.find(|pdu| matches!(pdu.body, Body::AlertNotification(_)))
    });
}
