//! What a message costs is what leaves, and what its record says: octets are counted, whatever a message calls itself, and
//! a replacement is not longer than what was paid for.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};
use smsc::smpp::{Body, CommandStatus, ReplaceSm, SubmitSm, Tlvs, tag};
use smsc::sms::udh::UserDataHeader;

use crate::harness::{
    Admin, FakeOperator, PATIENCE, Peer, Scene, Simulator, Smsc, accept, submit, taken, until,
};

/// For what may not come.
const SHORT: Duration = Duration::from_millis(50);
const CREDITS: i64 = 1_000_000;
const BINARY: u8 = 4;
const UDHI: u8 = 0x40;
/// Octets of a text: ten parts behind a header of 6 octets, eleven behind one of 7.
const OCTETS: usize = 1_340;

fn top_up(smsc: &Smsc, credits: i64) {
    let order = json!({ "add": credits, "reference": "first" });
    let (status, said) = (smsc.admin()).call("POST", "/v1/accounts/test/balance", Some(&order));
    assert_eq!(status, 200, "{said}");
}

fn credits(smsc: &Smsc) -> i64 {
    let balance = smsc.admin().get("/v1/accounts/test/balance");
    balance["credits"].as_i64().unwrap()
}

fn data() -> Vec<u8> {
    (0..OCTETS).map(|at| at as u8).collect()
}

/// Data in message_payload behind a header, with more parameters.
fn payload(to: &str, header: &[u8], more: &[(u16, &[u8])]) -> SubmitSm {
    let mut tlvs = Tlvs::new();
    more.iter().for_each(|(tag, value)| tlvs.push(*tag, value));
    tlvs.push(tag::MESSAGE_PAYLOAD, &[header, &data()].concat());
    SubmitSm {
        data_coding: BINARY,
        esm_class: if header.is_empty() { 0 } else { UDHI },
        registered_delivery: 0,
        tlvs,
        ..submit(to, "")
    }
}

/// How a message is submitted: the same octets, under many names.
enum By<'h> {
    Smpp { header: &'h [u8], sar: bool },
    Http { header: &'h str },
    Kannel { header: &'h str },
}

fn submitted(smsc: &Smsc, esme: &mut Peer, api: &Admin, to: &str, by: &By) -> String {
    match by {
        By::Smpp { header, sar } => {
            let only_one: &[(u16, &[u8])] = &[
                (tag::SAR_MSG_REF_NUM, &[0, 7]),
                (tag::SAR_TOTAL_SEGMENTS, &[1]),
                (tag::SAR_SEGMENT_SEQNUM, &[1]),
            ];
            esme.submit(payload(to, header, if *sar { only_one } else { &[] }))
        }
        By::Http { header } => {
            let data: String = data().iter().map(|octet| format!("{octet:02x}")).collect();
            let mut order = json!({ "to": to, "from": "12345", "data": data, "receipt": false });
            if !header.is_empty() {
                order["header"] = json!(header);
            }
            let before = credits(smsc);
            let (status, estimate) = api.call("POST", "/v1/messages/estimate", Some(&order));
            assert_eq!(status, 200, "{estimate}");
            let (status, said) = api.call("POST", "/v1/messages", Some(&order));
            assert_eq!(status, 202, "{said}");
            assert_eq!(estimate["parts"], before - credits(smsc), "{estimate}");
            said["messages"][0]["id"].as_str().unwrap().to_owned()
        }
        By::Kannel { header } => {
            let text: String = data().iter().map(|octet| format!("%{octet:02X}")).collect();
            let path = format!(
                "/cgi-bin/sendsms?username=test&password=test&from=12345&to={to}&coding=1&udh={header}&text={text}"
            );
            // GET without the harness's encoding: a header is octets.
            let mut socket = TcpStream::connect(smsc.api_address()).unwrap();
            socket.set_read_timeout(Some(PATIENCE)).unwrap();
            write!(socket, "GET {path} HTTP/1.0\r\nHost: test\r\n\r\n").unwrap();
            let mut said = String::new();
            socket.read_to_string(&mut said).unwrap();
            assert!(said.contains("0: Accepted for delivery"), "{said}");
            until("the message", || {
                let found = smsc.admin().get(&format!("/v1/messages?to={to}"));
                // The oldest: parts come after their whole.
                let whole = found["messages"].as_array()?.last()?;
                whole["id"].as_str().map(str::to_owned)
            })
        }
    }
}

/// The record of a message.
fn record(smsc: &Smsc, id: &str) -> Value {
    until("its record", || {
        let mut records = smsc.records().into_iter();
        records.find(|record| record["id"] == *id)
    })
}

/// The data of a submit_sm, without its header.
fn body(sent: &SubmitSm) -> Vec<u8> {
    let octets = sent.payload();
    match sent.esm_class & UDHI {
        0 => octets.to_vec(),
        _ => UserDataHeader::split(&octets).unwrap().1.to_vec(),
    }
}

#[test]
fn what_is_charged_is_what_leaves_and_what_the_record_says() {
    let forms = ["as_is", "udh", "udh16", "sar", "payload"];
    let operators: Vec<FakeOperator> = forms.iter().map(|_| FakeOperator::listen()).collect();
    let mut builder =
        Smsc::new()
            .with_api_and("kannel = true")
            .account_with("test", "test", "prepaid = true");
    for ((at, form), operator) in forms.iter().enumerate().zip(&operators) {
        let keys = format!("long_messages = \"{form}\"");
        builder = builder
            .operator_with(form, operator.address(), &keys)
            .route(&format!("44{at}"), form);
    }
    let smsc = builder.start();
    let mut binds: Vec<Peer> = operators.iter().map(FakeOperator::accept_bind).collect();
    forms.iter().for_each(|form| smsc.wait_for_binds(form, 1));
    top_up(&smsc, CREDITS);
    let api = smsc.api_of("test", "both");
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let ways = [
        By::Smpp {
            header: &[],
            sar: false,
        },
        By::Smpp {
            header: &[],
            sar: true,
        },
        By::Smpp {
            header: &[5, 0, 3, 7, 1, 1],
            sar: false,
        },
        By::Smpp {
            header: &[6, 8, 4, 0, 7, 1, 1],
            sar: false,
        },
        By::Http { header: "" },
        By::Http {
            header: "050003070101",
        },
        By::Http {
            header: "06080400070101",
        },
        By::Kannel { header: "" },
        By::Kannel {
            header: "%05%00%03%07%01%01",
        },
    ];
    let mut left = CREDITS;
    let mut charges = Vec::new();
    for ((at, form), bind) in forms.iter().enumerate().zip(&mut binds) {
        for (number, by) in ways.iter().enumerate() {
            let to = format!("44{at}770090012{number}");
            let id = submitted(&smsc, &mut esme, &api, &to, by);
            let mut received = Vec::new();
            let mut sent = 0;
            while received.len() < OCTETS {
                received.extend(body(&taken(bind, "")));
                sent += 1;
            }
            assert_eq!(received, data(), "{form}, {number}");
            let charged = left - credits(&smsc);
            left -= charged;
            let parts = match *form {
                "udh16" => 11,
                _ => 10,
            };
            // What goes on whole is divided by the operator.
            let is_whole = ["as_is", "payload"].contains(form);
            // Over HTTP the SMSC divides for an operator that does not say how.
            let is_divided = !is_whole || sent > 1;
            assert_eq!(charged, parts, "{form}, {number}");
            assert_eq!(sent, if is_divided { parts } else { 1 }, "{form}, {number}");
            charges.push((id, charged, format!("{form}, {number}")));
        }
    }
    // Records are written once a second, those of all together.
    for (id, charged, said) in charges {
        let record = record(&smsc, &id);
        assert_eq!(record["parts"], charged, "{said}: {record}");
        assert_eq!(record["price"], charged, "{said}: {record}");
    }
    smsc.assert_no_panic();
}

/// Texts that their operator gets in its own alphabet are charged as what it gets.
#[test]
fn a_text_is_charged_in_the_alphabet_in_which_it_leaves() {
    let forms = [
        ("ascii", "alphabet = \"ascii\""),
        (
            "question",
            "alphabet = \"ascii\"\nunrepresentable = \"replace\"",
        ),
        ("latin", "alphabet = \"latin1\"\nlong_messages = \"udh16\""),
        ("turkish", "languages = [\"turkish\"]"),
        ("utf", "alphabet = \"utf8\"\nlong_messages = \"payload\""),
    ];
    let operators: Vec<FakeOperator> = forms.iter().map(|_| FakeOperator::listen()).collect();
    let mut builder = Smsc::new()
        .account_with("test", "test", "prepaid = true\nalphabet = \"utf8\"")
        .account_with(
            "slow",
            "slow",
            "alphabet = \"utf8\"\nrate = 0.0001\nburst = 3",
        );
    for ((at, (name, keys)), operator) in forms.iter().enumerate().zip(&operators) {
        builder = builder
            .operator_with(name, operator.address(), keys)
            .route(&format!("44{at}"), name);
    }
    let smsc = builder.start();
    let mut binds: Vec<Peer> = operators.iter().map(FakeOperator::accept_bind).collect();
    (forms.iter()).for_each(|(name, _)| smsc.wait_for_binds(name, 1));
    top_up(&smsc, CREDITS);
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    // What one handset gets: in the GSM alphabet, with question marks, in a national table, in UCS-2.
    let texts = [
        ("a".repeat(153), [1, 1, 1, 1, 1]),
        ("\u{e9}".repeat(100), [2, 1, 1, 1, 1]),
        ("\u{131}".repeat(100), [2, 1, 2, 1, 2]),
        ("{".repeat(100), [2, 2, 2, 2, 2]),
    ];
    let mut left = CREDITS;
    for ((at, (name, _)), bind) in forms.iter().enumerate().zip(&mut binds) {
        for (text, figures) in &texts {
            let to = format!("44{at}7009001234");
            let mut message = submit(&to, "");
            message.registered_delivery = 0;
            message.short_message = Bytes::copy_from_slice(text.as_bytes());
            let id = esme.submit(message);
            let said = format!("{name}, {text:.3}");
            let (record, sent) = record_once_taken(&smsc, bind, &id);
            assert_eq!(left - credits(&smsc), figures[at], "{said}");
            left = credits(&smsc);
            assert_eq!(record["parts"], figures[at], "{said}: {record}");
            assert_eq!(record["price"], figures[at], "{said}: {record}");
            // Only one of them is divided for.
            let is_divided = *name == "latin";
            assert_eq!(sent, if is_divided { figures[at] } else { 1 }, "{said}");
        }
    }
    // A rate counts the same: of a bucket of three, the second text of two finds one.
    let mut slow = Peer::bind(smsc.smpp(), "slow", "slow");
    let mut submitted = |to: &str, text: &str| {
        let mut message = submit(to, "");
        message.short_message = Bytes::copy_from_slice(text.as_bytes());
        let sequence = slow.request(Body::SubmitSm(message));
        slow.answer_to(sequence).status
    };
    let accented = "\u{e9}".repeat(100);
    assert_eq!(
        submitted("4407009001234", &accented),
        CommandStatus::ESME_ROK
    );
    let throttled = submitted("4407009001234", &accented);
    assert_eq!(throttled, CommandStatus::ESME_RTHROTTLED);
    smsc.assert_no_panic();
}

/// Answers what leaves of a message until its record is there; returns that, and how many PDUs left.
fn record_once_taken(smsc: &Smsc, bind: &mut Peer, id: &str) -> (Value, i64) {
    let mut sent = 0;
    let record = until("its record", || {
        while let Ok(pdu) = bind.next(SHORT) {
            if matches!(pdu.body, Body::SubmitSm(_)) {
                accept(bind, pdu.sequence, "");
                sent += 1;
            }
        }
        let mut records = smsc.records().into_iter();
        records.find(|record| record["id"] == *id)
    });
    (record, sent)
}

/// SMPP 3.4 knows 254 octets of short_message, and 5.0 one more.
#[test]
fn an_octet_too_many_leaves_in_message_payload() {
    let mut scene = Scene::new("");
    for length in [254, 255] {
        let text = vec![b'a'; length];
        let mut message = submit("447700900123", "");
        message.short_message = Bytes::from(text.clone());
        scene.esme.submit(message);
        let sent = scene.take("");
        assert_eq!(
            sent.short_message.len(),
            if length == 254 { 254 } else { 0 }
        );
        assert_eq!(sent.payload(), text);
    }
}

/// What a subscriber acknowledges is a text as well.
#[test]
fn an_acknowledgement_is_written_in_the_alphabet_of_its_operator() {
    let mut scene = Scene::new("alphabet = \"latin1\"");
    for esm_class in [0x00, 0x08, 0x10] {
        let mut message = submit("447700900123", "");
        message.esm_class = esm_class;
        // An e with an acute accent in the GSM alphabet.
        message.short_message = Bytes::from_static(&[0x05]);
        scene.esme.submit(message);
        let sent = scene.take("");
        assert_eq!(sent.short_message, &[0xE9][..], "{esm_class:#04x}");
    }
}

#[test]
fn a_part_costs_what_its_octets_take() {
    let mut scene = Scene::of("prepaid = true", "", |builder| builder);
    top_up(&scene.smsc, CREDITS);
    let second_of_two: &[(u16, &[u8])] = &[
        (tag::SAR_MSG_REF_NUM, &[0, 7]),
        (tag::SAR_TOTAL_SEGMENTS, &[2]),
        (tag::SAR_SEGMENT_SEQNUM, &[2]),
    ];
    let to = "447700900123";
    let small = SubmitSm {
        esm_class: UDHI,
        registered_delivery: 0,
        short_message: Bytes::from([&[5, 0, 3, 7, 2, 2][..], &[b'a'; 153]].concat()),
        ..submit(to, "")
    };
    let mut left = CREDITS;
    for (message, segments) in [
        (small, 1),
        (payload(to, &[5, 0, 3, 7, 2, 2], &[]), 10),
        (payload(to, &[6, 8, 4, 0, 7, 2, 2], &[]), 11),
        (payload(to, &[], second_of_two), 10),
    ] {
        let id = scene.esme.submit(message);
        scene.take("");
        left -= segments;
        assert_eq!(credits(&scene.smsc), left, "{segments}");
        assert_eq!(record(&scene.smsc, &id)["parts"], segments);
    }
}

#[test]
fn a_replacement_is_not_longer_than_what_was_paid_for() {
    let smsc = Smsc::new()
        .account_with("test", "test", "prepaid = true")
        .operator("up", Simulator::new().address())
        .route("", "up")
        .start();
    top_up(&smsc, 3);
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let of = |length: usize| {
        let mut tlvs = Tlvs::new();
        tlvs.push(tag::MESSAGE_PAYLOAD, &vec![b'x'; length]);
        tlvs
    };
    // Two segments and one.
    let long = esme.submit(SubmitSm {
        tlvs: of(300),
        ..submit("447700900123", "")
    });
    let short = esme.submit(submit("447700900124", "hello"));
    assert_eq!(credits(&smsc), 0);
    let replace = |esme: &mut Peer, id: &str, length: usize| {
        let sequence = esme.request(Body::ReplaceSm(ReplaceSm {
            message_id: Bytes::copy_from_slice(id.as_bytes()),
            source_addr: Bytes::from_static(b"12345"),
            tlvs: of(length),
            ..ReplaceSm::default()
        }));
        esme.answer_to(sequence).status
    };
    let submit_over = |esme: &mut Peer, to: &str, length: usize| {
        let sequence = esme.request(Body::SubmitSm(SubmitSm {
            replace_if_present_flag: 1,
            tlvs: of(length),
            ..submit(to, "")
        }));
        esme.answer_to(sequence).status
    };
    let refused = CommandStatus::ESME_RINVMSGLEN;
    for length in [307, 30_000] {
        assert_eq!(replace(&mut esme, &long, length), refused);
        assert_eq!(submit_over(&mut esme, "447700900123", length), refused);
    }
    assert_eq!(replace(&mut esme, &short, 161), refused);
    assert_eq!(submit_over(&mut esme, "447700900124", 161), refused);
    // The old ones are as they were.
    let octets = |id: &str| {
        let shown = smsc.admin().get(&format!("/v1/messages/{id}?text=true"));
        shown["content"]["octets"].as_str().unwrap().len() / 2
    };
    assert_eq!((octets(&long), octets(&short)), (300, 5));
    for ok in [
        replace(&mut esme, &long, 306),
        submit_over(&mut esme, "447700900123", 306),
        replace(&mut esme, &short, 160),
        submit_over(&mut esme, "447700900124", 160),
    ] {
        assert_eq!(ok, CommandStatus::ESME_ROK);
    }
    assert_eq!((octets(&long), octets(&short)), (306, 160));
    assert_eq!(credits(&smsc), 0);
    smsc.assert_no_panic();
}
