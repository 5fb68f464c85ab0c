//! An id may be that of one message in decimal and of another in hexadecimal: the address in the receipt decides, and
//! without one nothing is guessed. No subscriber's message ends by the receipt of another.

use std::collections::HashMap;
use std::time::Duration;

use crate::harness::{PeerError, Scene, database, migrate, receipt, send_receipt, submit, until};
use bytes::Bytes;
use smsc::smpp::{CommandStatus, SubmitSm};

/// Long enough for a receipt to arrive, if there were one.
const QUIET: Duration = Duration::from_millis(700);

/// The ids in the answers, in hexadecimal: those of ten of them read like others in decimal.
const IDS: std::ops::RangeInclusive<u32> = 0xE..=0x25;

fn number(of: u32) -> String {
    format!("4477009001{of:02}")
}

/// Submits a message to each number; returns the numbers by our ids.
fn submit_all(scene: &mut Scene) -> HashMap<String, String> {
    let mut numbers = HashMap::new();
    for of in IDS {
        let id = scene.esme.submit(submit(&number(of), "hello"));
        scene.take(&format!("{of:X}"));
        numbers.insert(id, number(of));
    }
    numbers
}

/// The receipt with the id in decimal, from this address.
fn said(scene: &mut Scene, of: u32, source: &str) {
    let said = SubmitSm {
        source_addr: Bytes::copy_from_slice(source.as_bytes()),
        ..receipt(&format!("id:{of} stat:DELIVRD err:000"))
    };
    let status = send_receipt(&mut scene.bind, said);
    assert_eq!(status, CommandStatus::ESME_ROK, "{of}");
}

/// Each receipt that the account gets is about the message to the number that it came from, and in the right order.
fn all_are_right(scene: &mut Scene, order: &[u32], numbers: &HashMap<String, String>) {
    let mut told = Vec::new();
    for of in order {
        said(scene, *of, &number(*of));
    }
    for _ in order {
        let receipt = scene.esme.deliver();
        let id = crate::harness::receipted(&receipt);
        assert_eq!(receipt.source_addr, numbers[&id].as_bytes());
        told.push(numbers[&id].clone());
    }
    told.sort();
    let expected: Vec<String> = IDS.map(number).collect();
    assert_eq!(told, expected);
    // Every message ended by the receipt that named its subscriber.
    assert_eq!(scene.metric("smsc_operator_receipts_unmatched_total"), 0.0);
    assert_eq!(scene.metric("smsc_operator_receipts_repeated_total"), 0.0);
}

/// Of the messages whose receipts have come, and no others.
fn only_the_named_one_ends(mut scene: Scene) {
    let numbers = submit_all(&mut scene);
    let id_of = |of: u32| {
        let all = numbers.iter();
        let mut of_number = all.filter(|(_, to)| **to == number(of));
        of_number.next().unwrap().0.clone()
    };
    // 0x14 reads like the decimal form of 0xE.
    said(&mut scene, 0xE, &number(0xE));
    assert_eq!(scene.smsc.wait_for_final(&id_of(0xE))["state"], "DELIVERED");
    assert_eq!(scene.message(&id_of(0x14))["state"], "ENROUTE");
    scene.esme.deliver();
}

#[test]
fn the_address_in_a_receipt_says_which_message_it_is() {
    let orders: [fn(u32) -> u32; 2] = [|of| of, |of| 0x25 + 0xE - of];
    for order in orders {
        let mut scene = Scene::new("");
        let numbers = submit_all(&mut scene);
        let order: Vec<u32> = IDS.map(order).collect();
        all_are_right(&mut scene, &order, &numbers);
    }
    only_the_named_one_ends(Scene::new(""));
}

#[test]
fn the_address_in_a_receipt_says_which_message_it_is_in_postgresql() {
    let database = database();
    migrate(database.url());
    only_the_named_one_ends(Scene::with("", |builder| {
        builder.toml(&format!("[postgres]\nurl = {:?}", database.url()))
    }));
}

#[test]
fn after_a_restart_as_well() {
    let mut scene = Scene::new("");
    let numbers = submit_all(&mut scene);
    for id in numbers.keys() {
        until("the answer to be on disk", || {
            (scene.message(id)["stage"] == "handed over").then_some(())
        });
    }
    scene.kill_and_start_again();
    all_are_right(&mut scene, &IDS.collect::<Vec<u32>>(), &numbers);
}

#[test]
fn a_number_in_national_form_is_the_same_number() {
    let mut scene = Scene::new("");
    let numbers = submit_all(&mut scene);
    said(&mut scene, 0xE, &format!("0{}", &number(0xE)[2..]));
    let told = crate::harness::receipted(&scene.esme.deliver());
    assert_eq!(numbers[&told], number(0xE));
}

#[test]
fn without_an_address_nothing_is_guessed() {
    for source in ["", "12345"] {
        let mut scene = Scene::new("");
        let numbers = submit_all(&mut scene);
        said(&mut scene, 0xE, source);
        assert_eq!(
            scene.esme.next(QUIET),
            Err(PeerError::Silence),
            "{source:?}"
        );
        until("it to be parked", || {
            (scene.metric("smsc_receipts_parked") == 1.0).then_some(())
        });
        for id in numbers.keys() {
            assert_eq!(scene.message(id)["state"], "ENROUTE");
        }
        let told = |scene: &mut Scene| {
            let receipt = scene.esme.deliver();
            numbers[&crate::harness::receipted(&receipt)].clone()
        };
        // One that can be of one message only makes a form likely: that does not decide about others.
        said(&mut scene, 0x1A, source);
        assert_eq!(told(&mut scene), number(0x1A), "{source:?}");
        said(&mut scene, 0xF, source);
        until("both to be parked", || {
            (scene.metric("smsc_receipts_parked") == 2.0).then_some(())
        });
        // An address makes it sure, and then those without one are clear.
        said(&mut scene, 0x1B, &number(0x1B));
        let mut rest = [(); 3].map(|()| told(&mut scene));
        rest.sort();
        assert_eq!(rest, [number(0xE), number(0xF), number(0x1B)], "{source:?}");
    }
}
