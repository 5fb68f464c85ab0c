//! What an operator is told of a message's time: what is left of it, each time it is sent.

use bytes::Bytes;
use smsc::clock::now_ms;
use smsc::smpp::time::{format_absolute, is_standard, parse_time};
use smsc::smpp::{Body, CommandStatus, Pdu, SubmitSm, tag};

use crate::harness::{Scene, accept, answer, next_submit, submit};

const NUMBER: &str = "447700900123";
const HOUR_MS: i64 = 3_600_000;

fn valid(validity: &str) -> SubmitSm {
    SubmitSm {
        validity_period: Bytes::copy_from_slice(validity.as_bytes()),
        ..submit(NUMBER, "hello")
    }
}

/// The seconds that a relative time says.
fn seconds(told: &Bytes) -> i64 {
    assert!(told.ends_with(b"R") && is_standard(told), "{told:?}");
    // From the first of January on.
    parse_time(told, 0).unwrap().unwrap() / 1_000
}

/// What the operator is told next, which it accepts.
fn told(scene: &mut Scene) -> SubmitSm {
    let (sequence, pdu) = next_submit(&mut scene.bind);
    accept(&mut scene.bind, sequence, "x");
    pdu
}

#[test]
fn a_relative_validity_is_less_in_the_sixth_attempt() {
    let retry = "[retry]\ndelays = [\"1100ms\"]";
    let mut scene = Scene::with("", |builder| builder.toml(retry));
    scene.esme.submit(valid("000000000040000R"));
    let mut told = Vec::new();
    for _ in 0..6 {
        let (sequence, pdu) = next_submit(&mut scene.bind);
        told.push(seconds(&pdu.validity_period));
        let status = CommandStatus::ESME_RSYSERR;
        answer(&mut scene.bind, sequence, status, "");
    }
    assert!(told[0] <= 40, "{told:?}");
    assert!(told[5] <= told[0] - 5, "five pauses of 1.1 s: {told:?}");
}

#[test]
fn a_schedule_is_not_told_and_counts() {
    let mut scene = Scene::new("");
    scene.esme.submit(SubmitSm {
        schedule_delivery_time: Bytes::from_static(b"000000000003000R"),
        ..valid("000000000040000R")
    });
    let told = told(&mut scene);
    assert_eq!(told.schedule_delivery_time, "");
    assert!(seconds(&told.validity_period) <= 38);
}

#[test]
fn no_operator_is_told_more_than_the_longest_validity() {
    let max = "[validity]\ndefault = \"1h\"\nmax = \"1h\"";
    let mut scene = Scene::with("", |builder| builder.toml(max));
    scene.esme.submit(valid("000002000000000R"));
    let relative = told(&mut scene).validity_period;
    assert!(seconds(&relative) <= 3_600, "{relative:?}");
    for ahead in [48 * HOUR_MS, 10 * 365 * 24 * HOUR_MS] {
        let id = scene.esme.submit(valid(&format_absolute(now_ms() + ahead)));
        let absolute = told(&mut scene).validity_period;
        let at = parse_time(&absolute, 0).unwrap().unwrap();
        assert_eq!(at, scene.smsc.expires_at(&id) / 100 * 100, "{absolute:?}");
    }
}

#[test]
fn an_absolute_validity_stays_as_it_was_written_and_none_stays_none() {
    let mut scene = Scene::new("");
    let at = now_ms() + 30 * 60_000;
    // As in India.
    let local = format_absolute(at + 22 * 15 * 60_000).replace("00+", "22+");
    for (asked, expected) in [
        (local.clone(), local),
        (String::new(), String::new()),
        ("0000000000000000".to_owned(), String::new()),
    ] {
        scene.esme.submit(valid(&asked));
        assert_eq!(told(&mut scene).validity_period, expected, "{asked}");
    }
}

#[test]
fn a_time_that_the_standard_does_not_know_is_written_anew() {
    let mut scene = Scene::with("", |builder| builder);
    let at = (now_ms() + HOUR_MS) / 60_000 * 60_000;
    let twelve = &format_absolute(at)[..12];
    scene.esme.submit(valid(twelve));
    let told = told(&mut scene).validity_period;
    assert_eq!(told, format_absolute(at), "{twelve}");
}

#[test]
fn a_time_to_live_is_told_as_what_is_left_too() {
    let mut scene = Scene::new("");
    let mut message = valid("");
    message.schedule_delivery_time = Bytes::from_static(b"000000000003000R");
    message.tlvs.push(tag::QOS_TIME_TO_LIVE, &[0, 0, 1, 0]);
    scene.esme.submit(message);
    let left = told(&mut scene).tlvs.get_uint(tag::QOS_TIME_TO_LIVE);
    assert!(
        left.is_some_and(|left| (1..=254).contains(&left)),
        "{left:?}"
    );
}

#[test]
fn an_operator_of_data_sm_is_told_what_is_left() {
    let mut scene = Scene::new("send_as = \"data_sm\"");
    scene.esme.submit(SubmitSm {
        schedule_delivery_time: Bytes::from_static(b"000000000003000R"),
        ..valid("000000000040000R")
    });
    let is_data_sm = |pdu: &Pdu| matches!(pdu.body, Body::DataSm(_));
    let Body::DataSm(data) = scene.bind.expect("a data_sm", is_data_sm).body else {
        unreachable!("it is one");
    };
    let left = data.tlvs.get_uint(tag::QOS_TIME_TO_LIVE);
    assert!(
        left.is_some_and(|left| (1..=38).contains(&left)),
        "{left:?}"
    );
}
