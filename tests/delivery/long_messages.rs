//! A text that needs several short messages arrives unchanged, however the operator and the account
//! want it carried, with one receipt for the whole; and no restart leaves half of it.

pub mod texts;

use std::time::Duration;

use crate::harness::{Peer, PeerError, Scene, accept, answer, next_submit, stat_of, submit, until};
use bytes::Bytes;
use smsc::smpp::time::parse_time;
use smsc::smpp::{Body, CommandStatus, SubmitSm, Tlvs, tag};
use texts::{in_parts, part_of, read, whole_of};

const NUMBER: &str = "447700900123";
/// Long enough to see that nothing arrives.
const QUIET: Duration = Duration::from_millis(700);

fn scene(operator_keys: &str, account_keys: &str) -> Scene {
    scene_with(operator_keys, account_keys, "")
}

fn scene_with(operator_keys: &str, account_keys: &str, more: &str) -> Scene {
    let keys = if operator_keys.contains("window") {
        operator_keys.to_owned()
    } else {
        format!("window = 50\n{operator_keys}")
    };
    let account = format!("window = 50\naddresses = [\"12345\"]\n{account_keys}");
    Scene::of(&account, &keys, |builder| builder.toml(more))
}

/// All parts of the next text, accepted under the ids `p1`, `p2`, ….
fn take_all(scene: &mut Scene) -> Vec<SubmitSm> {
    let first = scene.take("p1");
    let total = part_of(&first).map_or(1, |part| part.total);
    let mut all = vec![first];
    all.extend((2..=total).map(|number| scene.take(&format!("p{number}"))));
    all
}

fn nothing_more(scene: &mut Scene) {
    let none = |next: Result<_, PeerError>| assert_eq!(next.err(), Some(PeerError::Silence));
    none(scene.bind.next(QUIET));
    none(scene.esme.next(Duration::from_millis(1)));
}

fn send_receipt(bind: &mut Peer, id: &str, stat: &str) {
    let text = format!(
        "id:{id} sub:001 dlvrd:001 submit date:2601010000 done date:2601010000 stat:{stat} err:000 text:"
    );
    let receipt = SubmitSm {
        esm_class: 0x04,
        short_message: text.into(),
        ..SubmitSm::default()
    };
    bring(bind, receipt);
}

/// Turns a message around: what arrived at the operator comes back from its subscriber.
fn as_mo(pdu: &SubmitSm) -> SubmitSm {
    SubmitSm {
        source_addr: pdu.destination_addr.clone(),
        destination_addr: pdu.source_addr.clone(),
        registered_delivery: 0,
        validity_period: Bytes::new(),
        ..pdu.clone()
    }
}

fn bring(bind: &mut Peer, deliver: SubmitSm) {
    let sequence = bind.request(Body::DeliverSm(deliver));
    assert_eq!(bind.answer_to(sequence).status, CommandStatus::ESME_ROK);
}

/// Sends texts in both directions through an operator with this setting.
fn there_and_back(long_messages: &str, sixteen_bits: Option<bool>) {
    let keys = format!("long_messages = \"{long_messages}\"");
    let mut scene = scene(&keys, "long_messages = \"payload\"");
    for text in texts::all() {
        let id = scene.esme.submit(text.submit(NUMBER));
        let sent = take_all(&mut scene);
        let arrived = match sixteen_bits {
            Some(wide) => {
                assert!(sent.len() > 4, "{} in {} parts", text.name, sent.len());
                let header = if wide { 7 } else { 6 };
                let expected = if long_messages == "sar" { 0 } else { header };
                assert_eq!(part_of(&sent[0]).unwrap().header, expected);
                whole_of(&sent)
            }
            None => read(&sent[0].payload(), sent[0].data_coding),
        };
        assert_eq!(arrived, text.text, "{} through {long_messages}", text.name);
        for part in &sent {
            let left = parse_time(&part.validity_period, 0).unwrap().unwrap();
            assert!((1..=7_200_000).contains(&left), "in every part: {part:?}");
            let reference = part.tlvs.get(tag::USER_MESSAGE_REFERENCE);
            assert_eq!(reference, Some(&[0x12, 0x34][..]), "in every part");
            assert_eq!(part.registered_delivery & 1, 1);
        }
        for number in 1..=sent.len() {
            send_receipt(&mut scene.bind, &format!("p{number}"), "DELIVRD");
        }
        let receipt = scene.esme.deliver();
        assert_eq!(stat_of(&receipt), (id.clone(), 2), "one receipt");
        let told = String::from_utf8(receipt.short_message.to_vec()).unwrap();
        let count = format!("sub:{0:03} dlvrd:{0:03}", sent.len());
        assert!(told.contains(&count), "{told}");
        for part in sent.iter().rev() {
            bring(&mut scene.bind, as_mo(part));
        }
        let back = scene.esme.deliver();
        assert_eq!(
            read(&back.payload(), back.data_coding),
            text.text,
            "{} back from {long_messages}",
            text.name
        );
        assert_eq!(back.source_addr, NUMBER);
        nothing_more(&mut scene);
        assert_eq!(scene.smsc.wait_for_final(&id)["state"], "DELIVERED");
    }
}

#[test]
fn through_an_operator_that_wants_an_8_bit_header() {
    there_and_back("udh", Some(false));
}

#[test]
fn through_an_operator_that_wants_a_16_bit_header() {
    there_and_back("udh16", Some(true));
}

#[test]
fn through_an_operator_that_wants_sar_parameters() {
    there_and_back("sar", Some(true));
}

#[test]
fn through_an_operator_that_wants_message_payload() {
    there_and_back("payload", None);
}

#[test]
fn parts_that_come_are_put_together_for_an_operator_that_wants_the_whole() {
    let mut scene = scene("long_messages = \"payload\"", "");
    let texts = texts::all();
    let (hindi, emoji) = (&texts[2], &texts[3]);
    // Two texts at once, out of order, one part twice.
    let (mut one, two) = (in_parts(hindi, 7), in_parts(emoji, 8));
    one.reverse();
    let mut ids: Vec<String> = Vec::new();
    let mut again = Vec::new();
    let mut repeated = String::new();
    for (first, second) in one.iter().zip(&two) {
        ids.push(scene.esme.submit(first.clone()));
        if repeated.is_empty() {
            // Recognised at once, because its text is not complete yet.
            repeated = scene.esme.submit(first.clone());
        }
        again.push(scene.esme.submit(second.clone()));
    }
    let rest = one.len().min(two.len());
    ids.extend(
        one[rest..]
            .iter()
            .map(|part| scene.esme.submit(part.clone())),
    );
    again.extend(
        two[rest..]
            .iter()
            .map(|part| scene.esme.submit(part.clone())),
    );
    let whole = [scene.take("w1"), scene.take("w2")];
    let mut arrived: Vec<String> = whole
        .iter()
        .map(|pdu| read(&pdu.payload(), pdu.data_coding))
        .collect();
    arrived.sort();
    let mut expected = vec![hindi.text.clone(), emoji.text.clone()];
    expected.sort();
    assert_eq!(arrived, expected);
    // Each part was acknowledged, and has its own receipt.
    let first_text = read(&whole[0].payload(), 8);
    let (first, second) = if first_text == hindi.text {
        (ids, again)
    } else {
        (again, ids)
    };
    let mut told = vec![stat_of(&scene.esme.deliver())];
    assert_eq!(told[0], (repeated, 6), "the repeated part is ACCEPTED");
    told.clear();
    send_receipt(&mut scene.bind, "w1", "DELIVRD");
    told.extend((0..first.len()).map(|_| stat_of(&scene.esme.deliver())));
    told.sort();
    let mut all: Vec<(String, u32)> = first.into_iter().map(|id| (id, 2)).collect();
    all.sort();
    assert_eq!(told, all);
    send_receipt(&mut scene.bind, "w2", "UNDELIV");
    for _ in &second {
        assert_eq!(stat_of(&scene.esme.deliver()).1, 5);
    }
    nothing_more(&mut scene);
    assert_eq!(scene.metric("smsc_messages_assembled_total"), 2.0);
    assert_eq!(scene.metric("smsc_parts_repeated_total"), 1.0);
}

#[test]
fn parts_with_a_header_become_parts_with_sar_parameters_without_waiting() {
    let mut scene = scene("long_messages = \"sar\"", "");
    let text = &texts::all()[1];
    let parts = in_parts(text, 9);
    // Only the second part, which does not wait for the first.
    scene.esme.submit(parts[1].clone());
    let sent = scene.take("p2");
    let seen = part_of(&sent).unwrap();
    assert_eq!((seen.reference, seen.sequence, seen.header), (9, 2, 0));
    assert_eq!(usize::from(seen.total), parts.len());
    assert_eq!(sent.esm_class & 0x40, 0);
    assert_eq!(seen.body, parts[1].short_message[6..]);
}

#[test]
fn parts_whose_rest_does_not_come_go_on_as_they_came() {
    let mut scene = scene_with(
        "long_messages = \"payload\"",
        "",
        "[content]\nreassembly_timeout = \"1s\"\n",
    );
    let parts = in_parts(&texts::all()[1], 3);
    let id = scene.esme.submit(parts[0].clone());
    let alone = scene.take("p1");
    assert_eq!(alone.short_message, parts[0].short_message);
    assert_eq!(alone.esm_class & 0x40, 0x40);
    send_receipt(&mut scene.bind, "p1", "DELIVRD");
    assert_eq!(stat_of(&scene.esme.deliver()), (id, 2));
    assert_eq!(scene.metric("smsc_parts_given_up_total"), 1.0);
}

#[test]
fn a_text_that_begins_like_the_one_before_it_is_not_taken_for_a_repetition() {
    // Both parts of a text come within this time, on a busy machine too.
    let mut scene = scene_with(
        "long_messages = \"payload\"",
        "",
        "[content]\nreassembly_timeout = \"10s\"\n",
    );
    let part = |sequence, text: &str| SubmitSm {
        esm_class: 0x40,
        short_message: [&[5, 0, 3, 1, 2, sequence], text.as_bytes()]
            .concat()
            .into(),
        ..submit(NUMBER, "")
    };
    for (end, theirs) in [("one", "w1"), ("two", "w2"), ("two", "w3")] {
        scene.esme.submit(part(1, "Your code is "));
        scene.esme.submit(part(2, end));
        let whole = scene.take(theirs);
        assert_eq!(whole.short_message, format!("Your code is {end}"));
    }
    // A part of a text that has been sent, whose response was lost: it is not sent again.
    let again = scene.esme.submit(part(2, "two"));
    assert_eq!(stat_of(&scene.esme.deliver()), (again, 6), "ACCEPTED");
    assert_eq!(scene.metric("smsc_parts_repeated_total"), 1.0);
    nothing_more(&mut scene);
}

#[test]
fn the_oldest_parts_make_room_for_new_ones() {
    let mut scene = scene_with(
        "long_messages = \"payload\"",
        "",
        "[content]\nreassembly_parts = 2\n",
    );
    let part = |reference, sequence| SubmitSm {
        esm_class: 0x40,
        short_message: vec![5, 0, 3, reference, 2, sequence, reference, sequence].into(),
        ..submit(NUMBER, "")
    };
    for reference in 1..=3 {
        scene.esme.submit(part(reference, 1));
    }
    let oldest = scene.take("p1");
    assert_eq!(oldest.short_message, part(1, 1).short_message);
    assert_eq!(scene.metric("smsc_parts_given_up_total"), 1.0);
    // The others still wait for their remaining parts.
    for reference in [3, 2] {
        scene.esme.submit(part(reference, 2));
        let whole = scene.take(&format!("w{reference}"));
        assert_eq!(whole.short_message, vec![reference, 1, reference, 2]);
    }
}

#[test]
fn a_cancel_of_the_whole_reaches_its_parts() {
    let mut scene = scene("long_messages = \"udh\"", "");
    let admin = scene.smsc.admin();
    assert_eq!(admin.post("/v1/queues/operator:up/suspend").0, 200);
    let id = scene.esme.submit(texts::all()[0].submit(NUMBER));
    let message = admin.get(&format!("/v1/messages/{id}"));
    let parts = message["parts"]["sent_as"].as_array().unwrap().clone();
    assert!(parts.len() > 4);
    let (status, answer) = admin.post(&format!("/v1/messages/{id}/cancel"));
    assert_eq!((status, &answer["count"]), (200, &1.into()), "{answer}");
    assert_eq!(stat_of(&scene.esme.deliver()), (id.clone(), 4), "DELETED");
    for part in &parts {
        let part = admin.get(&format!("/v1/messages/{}", part.as_str().unwrap()));
        assert_eq!(
            (&part["state"], &part["parts"]["message"]),
            (&"DELETED".into(), &id.as_str().into())
        );
    }
    nothing_more(&mut scene);
}

#[test]
fn pain_09_references_of_one_pair_differ_and_count_for_each_pair() {
    let mut scene = scene("long_messages = \"udh16\"", "");
    let mut seen = std::collections::HashSet::new();
    for _ in 0..20 {
        scene.esme.submit(texts::all()[0].submit(NUMBER));
        let sent = take_all(&mut scene);
        assert!(seen.insert(part_of(&sent[0]).unwrap().reference));
    }
}

#[test]
fn each_policy_makes_one_receipt_of_those_of_the_parts() {
    for (policy, reports, told_after, state) in [
        ("all", ["DELIVRD", "UNDELIV", "DELIVRD"], 3, 5),
        ("all", ["DELIVRD", "DELIVRD", "DELIVRD"], 3, 2),
        ("worst", ["DELIVRD", "EXPIRED", "DELIVRD"], 2, 3),
        ("worst", ["DELIVRD", "DELIVRD", "DELIVRD"], 3, 2),
        ("first", ["DELIVRD", "UNDELIV", "DELIVRD"], 1, 2),
    ] {
        let keys = format!("long_messages = \"udh\"\npart_receipts = \"{policy}\"");
        let mut scene = scene(&keys, "");
        let mut tlvs = Tlvs::default();
        tlvs.push(tag::MESSAGE_PAYLOAD, &[b'x'; 400]);
        let id = scene.esme.submit(SubmitSm {
            tlvs,
            ..submit(NUMBER, "")
        });
        assert_eq!(take_all(&mut scene).len(), 3);
        for (number, stat) in reports.iter().enumerate() {
            send_receipt(&mut scene.bind, &format!("p{}", number + 1), stat);
            if number + 1 == told_after {
                assert_eq!(
                    stat_of(&scene.esme.deliver()),
                    (id.clone(), state),
                    "{policy}"
                );
            } else {
                let none = scene.esme.next(Duration::from_millis(200));
                assert_eq!(
                    none.err(),
                    Some(PeerError::Silence),
                    "{policy} after {number}"
                );
            }
        }
        nothing_more(&mut scene);
    }
}

#[test]
fn what_has_not_gone_out_is_called_back_when_a_part_is_refused() {
    let mut scene = scene("long_messages = \"udh\"\nwindow = 1", "");
    let id = scene.esme.submit(texts::all()[0].submit(NUMBER));
    let (sequence, first) = next_submit(&mut scene.bind);
    assert!(part_of(&first).unwrap().total > 3);
    answer(
        &mut scene.bind,
        sequence,
        CommandStatus::ESME_RINVDSTADR,
        "",
    );
    // The second part is on its way before the end of the first is known; the others wait for its
    // response.
    let total = part_of(&first).unwrap().total;
    let second = next_submit(&mut scene.bind).0;
    let parts = scene.message(&id)["parts"]["sent_as"].clone();
    let last = parts[usize::from(total) - 1].as_str().unwrap();
    assert_eq!(scene.smsc.wait_for_final(last)["state"], "DELETED");
    accept(&mut scene.bind, second, "p2");
    send_receipt(&mut scene.bind, "p2", "DELIVRD");
    assert_eq!(scene.bind.next(QUIET), Err(PeerError::Silence));
    assert_eq!(stat_of(&scene.esme.deliver()), (id, 8), "REJECTED");
    nothing_more(&mut scene);
}

#[test]
fn a_kill_with_parts_in_flight_leaves_no_half_message() {
    let mut scene = scene("long_messages = \"udh\"\nwindow = 2", "");
    let text = &texts::all()[0];
    let id = scene.esme.submit(text.submit(NUMBER));
    let first = scene.take("p1");
    let total = part_of(&first).unwrap().total;
    // The response is durable once the next part has taken its place in the window.
    let (_, second) = next_submit(&mut scene.bind);
    let (_, third) = next_submit(&mut scene.bind);
    let answered = |scene: &Scene| {
        let message = scene.smsc.admin().get(&format!("/v1/messages/{id}"));
        let parts = message["parts"]["sent_as"].as_array().unwrap();
        let first = parts[0].as_str().unwrap();
        let part = scene.smsc.admin().get(&format!("/v1/messages/{first}"));
        (part["attempts"] == 1).then_some(())
    };
    until("the first answer to be durable", || answered(&scene));
    scene.smsc.kill();
    scene.smsc.start_again();
    scene.bind = scene.operator.accept_bind();
    scene.esme = Peer::bind(scene.smsc.smpp(), "test", "test");
    // Parts in flight are sent again, the rest for the first time.
    let mut all = vec![first];
    for number in 2..=total {
        all.push(scene.take(&format!("p{number}")));
    }
    assert_eq!(part_of(&all[1]), part_of(&second));
    assert_eq!(part_of(&all[2]), part_of(&third));
    assert_eq!(whole_of(&all), text.text);
    for number in 1..=total {
        send_receipt(&mut scene.bind, &format!("p{number}"), "DELIVRD");
    }
    assert_eq!(stat_of(&scene.esme.deliver()), (id, 2));
    nothing_more(&mut scene);
    scene.smsc.terminate();
    scene.smsc.fsck();
}

#[test]
fn a_kill_with_parts_waiting_for_the_rest_loses_none() {
    let mut scene = scene("long_messages = \"payload\"", "");
    let text = &texts::all()[3];
    let parts = in_parts(text, 5);
    let (last, first) = parts.split_last().unwrap();
    let mut ids: Vec<String> = first
        .iter()
        .map(|part| scene.esme.submit(part.clone()))
        .collect();
    scene.smsc.kill();
    scene.smsc.start_again();
    scene.bind = scene.operator.accept_bind();
    scene.esme = Peer::bind(scene.smsc.smpp(), "test", "test");
    ids.push(scene.esme.submit(last.clone()));
    let whole = scene.take("w");
    assert_eq!(read(&whole.payload(), whole.data_coding), text.text);
    send_receipt(&mut scene.bind, "w", "DELIVRD");
    let mut told: Vec<String> = (0..ids.len())
        .map(|_| stat_of(&scene.esme.deliver()).0)
        .collect();
    told.sort();
    ids.sort();
    assert_eq!(told, ids);
    nothing_more(&mut scene);
}
