//! Delivery to handsets by a program, in place of an HLR: one message of a subscriber at a time, in order.

use std::collections::HashMap;

use super::{
    Asked, Example, QUIET, Reason, Said, journal, settled, socket, with_roles, without_repetitions,
};
use crate::harness::local::Program;
use crate::harness::{Peer, Smsc, SmscBuilder, submit, submit_quietly, until};
use smsc::pb::local::{Delivered, FromHandset, NotDelivered, Ready, not_delivered};
use smsc::smpp::Body;
use smsc::sms::tpdu::{self, Tpdu, TpduKind};

const ROLE: &str = "gsm:home";
const ABSENT: u32 = 27;
const SUBSCRIBERS: usize = 10;

fn number(at: usize) -> String {
    format!("4916{at:04}")
}

fn imsi(at: usize) -> String {
    format!("00101{at:010}")
}

fn at_home(keys: &str) -> SmscBuilder {
    let table: String = (0..SUBSCRIBERS)
        .map(|at| format!("{},{}\n", number(at), imsi(at)))
        .collect();
    with_roles(ROLE)
        .toml(&format!(
            "[[gsm]]\nname = \"home\"\naddress = \"local\"\nsmsc_address = \"49160000\"\n\
             reconnect = [\"200ms\"]\nretry = {{ delays = [\"1h\"] }}\n{keys}\n\
             [imsi]\ntable = \"imsis.csv\"\n"
        ))
        .file("imsis.csv", &table)
        .toml("[[route]]\nprefix = \"4916\"\nto = [\"gsm:home\"]\n")
}

fn text_of(octets: &[u8]) -> String {
    match tpdu::decode(TpduKind::Deliver, &bytes::Bytes::copy_from_slice(octets)) {
        Ok(Tpdu::Deliver(deliver)) => deliver.user_data.text(deliver.data_coding).unwrap(),
        other => panic!("{other:?}"),
    }
}

/// The subscriber and the text of the next message.
fn next(program: &mut Program) -> (u64, String, String) {
    let (number, asked) = program.asked();
    let Said::ToHandset(to_handset) = asked else {
        panic!("{asked:?}");
    };
    assert_eq!(to_handset.smsc, "49160000");
    (number, to_handset.imsi, text_of(&to_handset.tpdu))
}

fn deliver(program: &mut Program, number: u64) {
    program.answer(number, Asked::Delivered(Delivered::default()));
}

#[test]
fn a_program_delivers_to_handsets_and_says_who_is_there_again() {
    let smsc = at_home("").start();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let mut program = Program::handler(&socket(&smsc), ROLE);
    let ids: Vec<String> = ["one", "two", "three"]
        .iter()
        .map(|text| esme.submit(submit(&number(0), text)))
        .collect();
    let (asked, who, text) = next(&mut program);
    assert_eq!((who, text.as_str()), (imsi(0), "one"));
    program.hears_nothing(QUIET);
    let cause = Some(not_delivered::Cause::RpCause(ABSENT));
    program.answer(asked, Asked::NotDelivered(NotDelivered { cause }));
    // Another subscriber does not wait for that.
    esme.submit(submit(&number(1), "other"));
    let (asked, who, _) = next(&mut program);
    assert_eq!(who, imsi(1));
    deliver(&mut program, asked);
    until("the refusal to be stored", || {
        let shown = smsc.admin().get(&format!("/v1/messages/{}", ids[0]));
        (shown.to_string())
            .contains("RP_DESTINATION_OUT_OF_ORDER")
            .then_some(())
    });

    let ready = Ready {
        imsi: imsi(0),
        has_memory: false,
    };
    let mut asked = program.request(Asked::Ready(ready));
    let mut texts = Vec::new();
    while texts.len() < 3 || asked != 0 {
        let (number, said) = program.asked();
        match said {
            Said::Done(_) => {
                assert_eq!(number, asked);
                asked = 0;
            }
            Said::ToHandset(to_handset) => {
                texts.push(text_of(&to_handset.tpdu));
                deliver(&mut program, number);
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(texts, ["one", "two", "three"]);
    for id in &ids {
        assert_eq!(smsc.wait_for_final(id)["state"], "DELIVERED");
    }
    smsc.assert_no_panic();
}

#[test]
fn a_program_brings_messages_of_handsets() {
    let smsc = at_home("account = \"test\"")
        .account_with("shop", "shop", "addresses = [\"12345\"]")
        .start();
    let mut shop = Peer::bind(smsc.smpp(), "shop", "shop");
    let mut program = Program::handler(&socket(&smsc), ROLE);
    // SMS-SUBMIT to 12345, "hello" (3GPP TS 23.040 §9.2.2.2).
    let tpdu = |reference: u8| {
        vec![
            0x01, reference, 0x05, 0x81, 0x21, 0x43, 0xF5, 0x00, 0x00, 0x05, 0xE8, 0x32, 0x9B,
            0xFD, 0x06,
        ]
    };
    let brought = |octets: Vec<u8>| {
        Asked::FromHandset(FromHandset {
            imsi: imsi(3),
            msisdn: number(3),
            smsc: "49160000".to_owned(),
            reference: 7,
            tpdu: octets.into(),
        })
    };
    until("the interface to be up", || {
        let said = program.ask(brought(tpdu(1)));
        matches!(said, Some(Said::Done(_))).then_some(())
    });
    let came = shop.deliver();
    assert_eq!(
        (&came.source_addr[..], &came.short_message[..]),
        (number(3).as_bytes(), &b"hello"[..])
    );
    let refused = program.ask(brought(vec![0x01, 0x02]));
    let Some(Said::Failure(failure)) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!((failure.reason(), failure.code), (Reason::Refused, 96));
    smsc.assert_no_panic();
}

/// What the journal of the example has, by subscriber.
fn written(smsc: &Smsc) -> HashMap<String, Vec<usize>> {
    let mut all: HashMap<String, Vec<usize>> = HashMap::new();
    for line in journal(&smsc.file("journal")) {
        let hex = line["tpdu"].as_str().unwrap();
        let octets: Vec<u8> = (0..hex.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap())
            .collect();
        let imsi = line["imsi"].as_str().unwrap().to_owned();
        all.entry(imsi)
            .or_default()
            .push(text_of(&octets).parse().unwrap());
    }
    all
}

#[test]
fn each_subscriber_keeps_its_order_when_the_program_is_killed() {
    const EACH: usize = 30;
    let mut smsc = at_home("").start();
    let file = smsc.file("journal");
    let mut example = Some(Example::start(&smsc, ROLE, &file));
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    for text in 0..EACH {
        for at in 0..SUBSCRIBERS {
            esme.request(Body::SubmitSm(submit_quietly(
                &number(at),
                &text.to_string(),
            )));
        }
    }
    let count = |smsc: &Smsc| written(smsc).values().map(Vec::len).sum::<usize>();
    for kill in 1..=3 {
        let some = kill * EACH * SUBSCRIBERS / 5;
        until("some to be written", || {
            (count(&smsc) >= some).then_some(())
        });
        if kill == 2 {
            smsc.kill();
            smsc.start_again();
        } else {
            example.take();
            settled(&smsc, "gsm:home");
            example = Some(Example::start(&smsc, ROLE, &file));
        }
    }
    until("all to be written", || {
        let all = written(&smsc);
        let is_done =
            |at: usize| all.get(&imsi(at)).and_then(|texts| texts.last()) == Some(&(EACH - 1));
        (0..SUBSCRIBERS).all(is_done).then_some(())
    });
    let wanted: Vec<usize> = (0..EACH).collect();
    for (imsi, texts) in written(&smsc) {
        let (texts, repeated) = without_repetitions(texts);
        assert_eq!(texts, wanted, "{imsi}");
        assert!(repeated <= 3, "{imsi}: one for each end, not {repeated}");
    }
    drop(example);
    smsc.assert_no_panic();
}
