//! Clients that speak CMPP to a listener of ours and submit as accounts: logins, messages, reports, messages of
//! handsets, and what happens when either side goes away in the middle.

mod cluster;
mod connection;
mod door;
mod fees;
mod interop;

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use smsc::cmpp::{Body, Cmpp, MessageId};
use smsc::smpp::{CommandStatus, SubmitSm, tag};

use crate::harness::carrier_client::{
    CarrierClient, NUMBER, SHORT_CODE, SOURCE, free_listener, message, with_client,
};
use crate::harness::{FakeOperator, Peer, Smsc, SmscBuilder, send_receipt, submit, taken, ucs2};

/// An operator over SMPP, an SMSC, and a client that is logged in there.
struct Scene {
    operator: FakeOperator,
    smsc: Smsc,
    bind: Peer,
    client: CarrierClient,
    address: SocketAddr,
}

impl Scene {
    fn new(version: Cmpp, keys: &str) -> Self {
        Self::of(Smsc::new(), version, keys)
    }

    fn of(builder: SmscBuilder, version: Cmpp, keys: &str) -> Self {
        let (operator, address) = (FakeOperator::listen(), free_listener());
        let smsc = with_client(builder, address, keys)
            .operator("up", operator.address())
            .route("", "up")
            .start();
        let bind = operator.accept_bind();
        smsc.wait_for_binds("up", 1);
        Self {
            operator,
            smsc,
            bind,
            client: CarrierClient::log_in(address, version),
            address,
        }
    }

    /// The operator reports what became of the message that it knows by this id.
    fn report(&mut self, theirs: &str, said: &str) {
        let text = format!("id:{theirs} done date:2611251632 {said}");
        let receipt = SubmitSm {
            esm_class: 0x04,
            short_message: text.into(),
            ..submit(SHORT_CODE, "")
        };
        let status = send_receipt(&mut self.bind, receipt);
        assert_eq!(status, CommandStatus::ESME_ROK);
    }

    /// A handset sends this to the client's number.
    fn send_from_handset(&mut self, message: SubmitSm) -> CommandStatus {
        let message = SubmitSm {
            source_addr: NUMBER.into(),
            registered_delivery: 0,
            ..message
        };
        send_receipt(&mut self.bind, message)
    }
}

#[test]
fn a_message_and_its_report_in_both_versions() {
    for version in [Cmpp::V20, Cmpp::V30] {
        let mut scene = Scene::new(version, "");
        let mut msg_ids = Vec::new();
        for (theirs, said, word) in [
            ("one", "stat:DELIVRD err:000", "DELIVRD"),
            ("two", "stat:EXPIRED err:000", "EXPIRED"),
            // The code of a gateway further on, as an operator over CMPP hands it on.
            ("three", "stat:UNDELIV err:MB0069", "MB:0069"),
        ] {
            let msg_id = scene.client.submit(message(&[NUMBER], 0, b"hello"));
            let sent = taken(&mut scene.bind, theirs);
            assert_eq!(
                (&sent.source_addr[..], &sent.short_message[..]),
                (SHORT_CODE.as_bytes(), &b"hello"[..])
            );
            assert_eq!(
                (sent.destination_addr, sent.data_coding),
                (Bytes::from(NUMBER), 0)
            );
            scene.report(theirs, said);
            let deliver = scene.client.deliver();
            assert_eq!(deliver.dest_id.0, SHORT_CODE);
            assert_eq!(deliver.src_terminal_id.0, NUMBER);
            let report = scene.client.report_in(&deliver);
            assert_eq!(
                (report.msg_id, &report.stat.0[..]),
                (msg_id, word.as_bytes())
            );
            assert_eq!(report.dest_terminal_id.0, NUMBER);
            // 16:32 in UTC is half past midnight in China, but not before the message was accepted.
            assert_eq!(report.done_time.0.len(), 10);
            assert_eq!(report.submit_time.0.len(), 10);
            assert!(report.done_time.0 >= report.submit_time.0, "{report:?}");
            let parts = MessageId::from_u64(msg_id);
            assert!(
                (1..=12).contains(&parts.month) && parts.second < 60,
                "{parts:?}"
            );
            msg_ids.push(msg_id);
        }
        msg_ids.dedup();
        assert_eq!(msg_ids.len(), 3);
        scene.smsc.assert_no_panic();
    }
}

#[test]
fn texts_are_what_msg_fmt_says() {
    // What the account's own alphabet is counts for its binds over SMPP.
    let mut scene = Scene::new(Cmpp::V20, "alphabet = \"latin1\"");
    let chinese = ucs2("你好");
    for (format, content, data_coding, expected) in [
        // @ is another octet in the alphabet of GSM, which is the operator's.
        (0, &b"a@b"[..], 0, &[b'a', 0, b'b'][..]),
        (8, &chinese, 8, &chinese),
        (15, &[0xC4, 0xE3, 0xBA, 0xC3], 8, &chinese),
        (4, &[1, 2], 4, &[1, 2]),
        // The standard writes cards with it; to SMPP that is data, not Latin-1.
        (3, &[1, 2], 4, &[1, 2]),
        (0x18, &chinese, 0x18, &chinese),
    ] {
        scene.client.submit(message(&[NUMBER], format, content));
        let sent = taken(&mut scene.bind, "x");
        assert_eq!(
            (sent.data_coding, &sent.short_message[..]),
            (data_coding, expected),
            "{format}"
        );
    }
    // Parts of a long text, whose headers stay. They wait for one another: a character may be in two of them.
    let header = |number| [5, 0, 3, 7, 2, number];
    for number in [1, 2] {
        let gbk = [&header(number)[..], &[0xC4, 0xE3]].concat();
        scene.client.submit(smsc::cmpp::bodies::Submit {
            tp_udhi: 1,
            pk_total: 2,
            pk_number: number,
            ..message(&[NUMBER], 15, &gbk)
        });
    }
    for number in [1, 2] {
        let sent = taken(&mut scene.bind, "x");
        assert_eq!(sent.esm_class & 0x40, 0x40);
        let expected = [&header(number)[..], &ucs2("你")].concat();
        assert_eq!(sent.short_message[..], expected);
    }
    // A text in GBK that is longer than a short message in UCS-2.
    scene.client.submit(message(&[NUMBER], 15, &[b'a'; 140]));
    let sent = taken(&mut scene.bind, "x");
    assert_eq!(sent.tlvs.get(tag::MESSAGE_PAYLOAD).unwrap().len(), 280);
}

#[test]
fn several_recipients_have_one_msg_id_and_a_report_each() {
    let mut scene = Scene::new(Cmpp::V30, "blocked_destinations = [\"8613800138009\"]");
    let others = ["8613800138001", "8613800138002", "8613800138009"];
    let msg_id = scene.client.submit(message(&others, 0, b"to all"));
    // The one that is refused has its report at once.
    let report = scene.client.report();
    assert_eq!(
        (report.msg_id, &report.stat.0[..]),
        (msg_id, &b"REJECTD"[..])
    );
    assert_eq!(report.dest_terminal_id.0, others[2]);
    for (at, recipient) in others[..2].iter().enumerate() {
        let sent = taken(&mut scene.bind, &format!("id{at}"));
        assert_eq!(sent.destination_addr, recipient);
        assert_eq!(sent.short_message, "to all");
    }
    for (at, recipient) in others[..2].iter().enumerate() {
        scene.report(&format!("id{at}"), "stat:DELIVRD err:000");
        let report = scene.client.report();
        assert_eq!(
            (report.msg_id, report.dest_terminal_id.0),
            (msg_id, Bytes::from(*recipient))
        );
    }
    // One more than the standard allows, as clients have it.
    let many: Vec<String> = (0..100)
        .map(|number| format!("86138001390{number:02}"))
        .collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let msg_id = scene.client.submit(message(&many, 0, b"to many"));
    for number in 0..100 {
        taken(&mut scene.bind, &format!("many{number}"));
    }
    for number in 0..100 {
        scene.report(&format!("many{number}"), "stat:DELIVRD err:000");
        assert_eq!(scene.client.report().msg_id, msg_id);
    }
    // What is no number is refused as others are, and never reaches an operator.
    let strange = [others[0], "13800abc", "HOTLINE"];
    let msg_id = scene.client.submit(message(&strange, 0, b"to one"));
    for recipient in &strange[1..] {
        let report = scene.client.report();
        assert_eq!(
            (report.msg_id, &report.stat.0[..]),
            (msg_id, &b"REJECTD"[..])
        );
        assert_eq!(report.dest_terminal_id.0, *recipient);
    }
    assert_eq!(taken(&mut scene.bind, "one").destination_addr, others[0]);
    // Refused for all: no message, no report.
    let refused = scene.client.refused(message(&strange[1..], 0, b"no"));
    assert_eq!(refused, 13);
    let refused = scene.client.refused(message(&["HOTLINE"], 0, b"no"));
    assert_eq!(refused, 13);
    assert_eq!(
        scene
            .client
            .refused(message(&[others[2], others[2]], 0, b"no")),
        13
    );
    assert!(scene.client.line.is_quiet(Duration::from_millis(300)));
}

#[test]
fn results_say_why_a_message_is_refused() {
    let keys =
        "rate = 1.0\nburst = 4\nsenders = [\"10655\"]\nblocked_destinations = [\"86138001389*\"]";
    let mut scene = Scene::new(Cmpp::V20, keys);
    let refused = |scene: &mut Scene, submit| scene.client.refused(submit);
    let from = |source: &str| smsc::cmpp::bodies::Submit {
        src_id: source.into(),
        ..message(&[NUMBER], 0, b"x")
    };
    assert_eq!(refused(&mut scene, from("99999")), 10);
    assert_eq!(
        refused(&mut scene, message(&["8613800138900"], 0, b"x")),
        13
    );
    // Half of a character is missing, of the text or behind a header.
    let cut = message(&[NUMBER], 8, b"\x4F\x60\x59");
    assert_eq!(refused(&mut scene, cut), 4);
    let cut = smsc::cmpp::bodies::Submit {
        tp_udhi: 1,
        ..message(&[NUMBER], 8, b"\x05\x00\x03\x07\x02\x01\x4F\x60\x59")
    };
    assert_eq!(refused(&mut scene, cut), 4);
    let mut late = message(&[NUMBER], 0, b"x");
    late.valid_time = "yesterday".into();
    assert_eq!(refused(&mut scene, late), 9);
    // Above the rate of the account.
    let sequences: Vec<u32> = (0..8)
        .map(|_| {
            scene
                .client
                .request(Body::Submit(Box::new(message(&[NUMBER], 0, b"x"))))
        })
        .collect();
    let results: Vec<u32> = sequences
        .iter()
        .map(|one| scene.client.answer_to(*one).0)
        .collect();
    assert!(results.contains(&8), "{results:?}");
}

#[test]
fn a_message_that_waits_is_cancelled_by_its_msg_id() {
    let address = free_listener();
    // Nobody is at the operator's address.
    let smsc = with_client(Smsc::new(), address, "")
        .account("other", "other")
        .operator("up", free_listener())
        .route("", "up")
        .start();
    let mut client = CarrierClient::log_in(address, Cmpp::V20);
    let one = client.submit(message(&[NUMBER], 0, b"never"));
    let many = client.submit(message(&[NUMBER, "8613800138001"], 0, b"never"));
    let mut other = Peer::bind(smsc.smpp(), "other", "other");
    let others = other.submit(submit(NUMBER, "of somebody else"));
    assert_eq!(client.cancel(one), 0);
    let report = client.report();
    assert_eq!((report.msg_id, &report.stat.0[..]), (one, &b"DELETED"[..]));
    assert_eq!(client.cancel(one), 1, "once is enough");
    assert_eq!(client.cancel(many), 0);
    for _ in 0..2 {
        assert_eq!(client.report().msg_id, many);
    }
    // Neither what it has not submitted, nor what nobody has.
    for none in [0, u64::MAX, one + 1] {
        assert_eq!(client.cancel(none), 1);
    }
    assert_eq!(
        smsc.admin().get(&format!("/v1/messages/{others}"))["state"],
        "ENROUTE"
    );
    smsc.assert_no_panic();
}

#[test]
fn messages_of_handsets_come_as_cmpp_has_them() {
    let mut scene = Scene::new(Cmpp::V30, "");
    let from_handset = |data_coding, octets: &[u8]| SubmitSm {
        data_coding,
        short_message: Bytes::copy_from_slice(octets),
        ..submit(SHORT_CODE, "")
    };
    for (message, format, content) in [
        (from_handset(0, &[b'a', 0]), 0, Bytes::from("a@")),
        // ASCII has no é.
        (from_handset(0, &[5]), 8, ucs2("é")),
        (from_handset(8, &ucs2("你")), 8, ucs2("你")),
        (from_handset(4, &[1, 2]), 4, Bytes::from_static(&[1, 2])),
    ] {
        assert_eq!(scene.send_from_handset(message), CommandStatus::ESME_ROK);
        let deliver = scene.client.deliver();
        assert_eq!((deliver.msg_fmt, deliver.msg_content.0), (format, content));
        assert_eq!((deliver.registered_delivery, deliver.tp_udhi), (0, 0));
        assert_eq!(deliver.src_terminal_id.0, NUMBER);
        assert_eq!(deliver.dest_id.0, SHORT_CODE);
    }
    // A long one is divided.
    let long = "0123456789".repeat(30);
    let mut message = from_handset(0, b"");
    message.tlvs.push(tag::MESSAGE_PAYLOAD, long.as_bytes());
    assert_eq!(scene.send_from_handset(message), CommandStatus::ESME_ROK);
    let mut whole = Vec::new();
    for part in 1..=2 {
        let deliver = scene.client.deliver();
        assert_eq!(deliver.tp_udhi, 1);
        assert_eq!(deliver.msg_content.0[4..6], [2, part]);
        whole.extend_from_slice(&deliver.msg_content.0[6..]);
    }
    assert_eq!(whole, long.as_bytes());
}

#[test]
fn numbers_of_a_day_are_those_of_usage() {
    let address = free_listener();
    let smsc = with_client(Smsc::new(), address, "")
        .toml("[usage]\nenabled = true")
        .route("86", "test:delivered")
        .route("44", "test:failed")
        .start();
    let mut client = CarrierClient::log_in(address, Cmpp::V20);
    for to in [NUMBER, NUMBER, "447700900123"] {
        client.submit(message(&[to], 0, b"counted"));
        client.report();
    }
    let day = |offset: i64| {
        let now = jiff::Timestamp::from_millisecond(smsc::clock::now_ms()).unwrap();
        let today = now.to_zoned(jiff::tz::TimeZone::UTC).date();
        today
            .saturating_add(jiff::Span::new().days(offset))
            .strftime("%Y%m%d")
            .to_string()
    };
    let counted = crate::harness::until("three ended messages", || {
        let found = [day(-1), day(0)].map(|day| client.query(&day));
        found.into_iter().find(|found| found.mt_tlmsg == 3)
    });
    assert_eq!((counted.mt_tlusr, counted.mt_scs, counted.mt_fl), (3, 2, 1));
    assert_eq!(client.query("20200101").mt_tlmsg, 0);
    assert_eq!(client.query("no day").mt_tlmsg, 0);
    assert_eq!(
        smsc.admin().get("/v1/usage?by=account")["usage"][0]["account"],
        SOURCE
    );
}
