//! Repeated submissions, for accounts with `duplicate_window`: refused, or answered with the id of the
//! first; in one read, on many binds, after a reconnect, a restart and on another node.

use std::collections::HashSet;

use crate::harness::{Cluster, Peer, Smsc, SmscBuilder, pdu, submit_quietly, until};
use bytes::Bytes;
use smsc::smpp::{Body, CommandStatus, DestAddress, Pdu, SubmitMulti, SubmitSm, tag};

const REFUSED: CommandStatus = CommandStatus::ESME_RSUBMITFAIL;
const TO: &str = "447700900001";

/// A window longer than any test.
const REFUSE: &str = "duplicate_window = \"10m\"";
const SAME_ID: &str = "duplicate_window = \"10m\"\nduplicates = \"same_id\"";

fn guarded(keys: &str) -> SmscBuilder {
    Smsc::new()
        .account_with("test", "test", keys)
        .route("", "test:delivered")
}

fn status(esme: &mut Peer, message: SubmitSm) -> CommandStatus {
    let sequence = esme.request(Body::SubmitSm(message));
    esme.answer_to(sequence).status
}

fn id_of(answer: &Pdu) -> String {
    match &answer.body {
        Body::SubmitSmResp(answer) => String::from_utf8(answer.message_id.to_vec()).unwrap(),
        Body::SubmitMultiResp(answer) => String::from_utf8(answer.message_id.to_vec()).unwrap(),
        other => panic!("not an answer to a submission: {other:?}"),
    }
}

#[test]
fn a_repeated_submission_is_refused_and_one_that_differs_is_not() {
    let smsc = guarded(REFUSE).account("free", "free").start();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let first = submit_quietly(TO, "hello");
    assert_eq!(status(&mut esme, first.clone()), CommandStatus::ESME_ROK);
    assert_eq!(status(&mut esme, first.clone()), REFUSED);
    esme.unbind();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    assert_eq!(
        status(&mut esme, first.clone()),
        REFUSED,
        "after a reconnect"
    );

    let mut referenced = first.clone();
    referenced.tlvs.push(tag::USER_MESSAGE_REFERENCE, &[0, 1]);
    let mut by_payload = submit_quietly(TO, "");
    by_payload.tlvs.push(tag::MESSAGE_PAYLOAD, b"hello");
    let part = |number: u8| SubmitSm {
        esm_class: 0x40,
        short_message: Bytes::copy_from_slice(&[5, 0, 3, 7, 2, number, b'a']),
        ..submit_quietly(TO, "")
    };
    let others = [
        submit_quietly("447700900002", "hello"),
        submit_quietly(TO, "hello!"),
        SubmitSm {
            source_addr: Bytes::from_static(b"ACME"),
            ..first.clone()
        },
        SubmitSm {
            data_coding: 3,
            ..first.clone()
        },
        referenced,
        by_payload,
        part(1),
        part(2),
    ];
    for other in others {
        let first = status(&mut esme, other.clone());
        assert_eq!(first, CommandStatus::ESME_ROK, "{other:?}");
        assert_eq!(status(&mut esme, other.clone()), REFUSED, "{other:?}");
    }
    // Fields that do not distinguish submissions: schedule and priority.
    let urgent = SubmitSm {
        priority_flag: 2,
        validity_period: Bytes::from_static(b"000001000000000R"),
        ..first.clone()
    };
    assert_eq!(status(&mut esme, urgent), REFUSED);
    // An account without the setting may repeat itself.
    let mut free = Peer::bind(smsc.smpp(), "free", "free");
    for _ in 0..2 {
        assert_eq!(status(&mut free, first.clone()), CommandStatus::ESME_ROK);
    }
    let count = |result: &str| {
        let name = format!("smsc_submissions_duplicate_total{{result=\"{result}\"}}");
        smsc.admin().metric(&name)
    };
    assert_eq!(count("refused"), Some(11.0));
    assert_eq!(
        smsc.admin().metric("smsc_duplicate_guard_entries"),
        Some(9.0)
    );
    smsc.assert_no_panic();
}

#[test]
fn the_status_is_configured_and_the_window_ends() {
    let smsc = guarded("duplicate_window = \"500ms\"")
        .smpp("duplicate_status = \"ESME_RMSGQFUL\"")
        .start();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let first = esme.submit(submit_quietly(TO, "hello"));
    // A pause of the machine for longer than the window must not fail this.
    let mut answers = Vec::new();
    let again = until("the end of the window", || {
        let sequence = esme.request(Body::SubmitSm(submit_quietly(TO, "hello")));
        let answer = esme.answer_to(sequence);
        answers.push(answer.status);
        answer.status.is_ok().then(|| id_of(&answer))
    });
    assert_ne!(again, first);
    answers.pop();
    let full = CommandStatus::ESME_RMSGQFUL;
    assert!(answers.iter().all(|status| *status == full), "{answers:?}");
}

#[test]
fn the_first_id_is_the_answer_across_a_crash() {
    let mut smsc = guarded(SAME_ID).start();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let first = esme.submit(submit_quietly(TO, "hello"));
    assert_eq!(esme.submit(submit_quietly(TO, "hello")), first);
    smsc.kill();
    smsc.start_again();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    assert_eq!(esme.submit(submit_quietly(TO, "hello")), first);
    let other = esme.submit(submit_quietly(TO, "another"));
    assert_ne!(other, first);
    assert_eq!(esme.submit(submit_quietly(TO, "another")), other);
    let listed = smsc.admin().get("/v1/messages");
    assert_eq!(listed["messages"].as_array().unwrap().len(), 2, "{listed}");
    // Two responses, but one accepted message.
    let accepted = smsc.admin().metric("smsc_messages_accepted_total");
    assert_eq!(accepted, Some(1.0), "since the crash");
}

#[test]
fn of_many_at_once_one_is_stored() {
    let smsc = guarded(SAME_ID).start();
    let mut binds: Vec<Peer> = (0..4)
        .map(|_| Peer::bind(smsc.smpp(), "test", "test"))
        .collect();
    let mut ids = HashSet::new();
    for round in 0..20 {
        // Three in one write, so that one read gets them, on each of four binds.
        let text = format!("round {round}");
        let sequences: Vec<u32> = (0..3).map(|number| 1_000 + round * 3 + number).collect();
        let request = |sequence: &u32| pdu(*sequence, Body::SubmitSm(submit_quietly(TO, &text)));
        let octets: Vec<u8> = sequences.iter().flat_map(request).collect();
        binds.iter_mut().for_each(|bind| bind.send(&octets));
        let mut told = HashSet::new();
        for bind in &mut binds {
            for sequence in &sequences {
                let answer = bind.answer_to(*sequence);
                assert_eq!(answer.status, CommandStatus::ESME_ROK);
                told.insert(id_of(&answer));
            }
        }
        assert_eq!(told.len(), 1, "{told:?}");
        ids.extend(told);
    }
    assert_eq!(ids.len(), 20);
    let listed = smsc.admin().get("/v1/messages");
    assert_eq!(listed["messages"].as_array().unwrap().len(), 20);
}

#[test]
fn a_duplicate_of_what_was_not_stored_gets_the_same_error() {
    let mut smsc = guarded(SAME_ID).start();
    smsc.terminate();
    let config = smsc.config();
    let floor =
        |mib: &str| config.replace("min_free_mib = 1\n", &format!("min_free_mib = {mib}\n"));
    smsc.set_config(&floor("99999999999"));
    smsc.start_again_unready();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let both =
        [1, 2].map(|sequence| pdu(sequence + 100, Body::SubmitSm(submit_quietly(TO, "hello"))));
    esme.send(&both.concat());
    for sequence in [101, 102] {
        let answer = esme.answer_to(sequence);
        assert_eq!(answer.status, CommandStatus::ESME_RMSGQFUL);
    }
    assert_eq!(
        status(&mut esme, submit_quietly(TO, "hello")),
        CommandStatus::ESME_RMSGQFUL,
        "what was refused is not remembered"
    );
}

#[test]
fn too_little_room_shows_and_the_oldest_go_first() {
    let smsc = guarded(REFUSE).smpp("duplicate_entries = 2").start();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    for text in ["one", "two", "three"] {
        esme.submit(submit_quietly(TO, text));
    }
    assert_eq!(status(&mut esme, submit_quietly(TO, "three")), REFUSED);
    assert_eq!(status(&mut esme, submit_quietly(TO, "two")), REFUSED);
    assert_eq!(
        status(&mut esme, submit_quietly(TO, "one")),
        CommandStatus::ESME_ROK
    );
    let forgotten = smsc.admin().metric("smsc_duplicate_guard_forgotten_total");
    assert_eq!(forgotten, Some(2.0));
}

#[test]
fn a_submit_multi_is_known_again() {
    let smsc = guarded(SAME_ID).start();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let mut submit_to = |numbers: &[&str]| {
        let to = |number: &&str| DestAddress::Sme {
            dest_addr_ton: 1,
            dest_addr_npi: 1,
            destination_addr: Bytes::copy_from_slice(number.as_bytes()),
        };
        let sequence = esme.request(Body::SubmitMulti(SubmitMulti {
            source_addr: Bytes::from_static(b"12345"),
            dest_address: numbers.iter().map(to).collect(),
            short_message: Bytes::from_static(b"hello"),
            ..SubmitMulti::default()
        }));
        esme.answer_to(sequence)
    };
    let first = submit_to(&["447700900001", "447700900002"]);
    let again = submit_to(&["447700900001", "447700900002"]);
    assert_eq!(id_of(&again), id_of(&first));
    // The response has room for one id: that of the new message.
    let mixed = submit_to(&["447700900002", "447700900003"]);
    assert_ne!(id_of(&mixed), id_of(&first));
    let Body::SubmitMultiResp(answer) = &mixed.body else {
        panic!("{mixed:?}")
    };
    let failures: Vec<_> = answer.unsuccess_sme.iter().collect();
    assert_eq!(failures.len(), 1, "{failures:?}");
    assert_eq!(&failures[0].destination_addr[..], b"447700900002");
    assert_eq!(failures[0].error_status_code, REFUSED);
}

#[test]
fn nodes_know_each_others_submissions() {
    let mut cluster = Cluster::of(2)
        .redis()
        .each(|smsc| {
            smsc.account_with("test", "test", SAME_ID)
                .route("", "test:delivered")
        })
        .start();
    let unshared = |cluster: &Cluster, node: usize| {
        let admin = cluster.nodes[node].admin();
        admin.metric("smsc_duplicate_guard_unshared_total").unwrap()
    };
    let bind =
        |cluster: &Cluster, node: usize| Peer::bind(cluster.nodes[node].smpp(), "test", "test");
    let (mut one, mut other) = (bind(&cluster, 0), bind(&cluster, 1));
    // The connection to Redis is made in the background.
    let mut number = 0;
    for node in 0..2 {
        let peer = if node == 0 { &mut one } else { &mut other };
        until("a node that shares", || {
            let before = unshared(&cluster, node);
            number += 1;
            peer.submit(submit_quietly(TO, &format!("warm {number}")));
            (unshared(&cluster, node) == before).then_some(())
        });
    }
    let first = one.submit(submit_quietly(TO, "hello"));
    // The other node sees it as pending until it has its id.
    let again = until("the id of the first on the other node", || {
        let sequence = other.request(Body::SubmitSm(submit_quietly(TO, "hello")));
        let answer = other.answer_to(sequence);
        match answer.status {
            CommandStatus::ESME_ROK => Some(id_of(&answer)),
            CommandStatus::ESME_RTHROTTLED => None,
            status => panic!("{status:?}"),
        }
    });
    assert_eq!(again, first);

    // Without Redis each node decides alone, and counts that.
    cluster.redis.as_mut().unwrap().kill9();
    let alone = one.submit(submit_quietly(TO, "alone"));
    assert_eq!(one.submit(submit_quietly(TO, "alone")), alone);
    assert!(unshared(&cluster, 0) > 0.0);
    // A node that starts reads what the others have stored.
    cluster.nodes[1].terminate();
    cluster.nodes[1].start_again();
    let mut other = bind(&cluster, 1);
    assert_eq!(other.submit(submit_quietly(TO, "alone")), alone);
    assert_eq!(other.submit(submit_quietly(TO, "hello")), first);
}
