//! Pools that several accounts or operators want: one that takes all it can leaves room for the others.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use bytes::Bytes;
use serde_json::json;
use smsc::smpp::{Body, SubmitSm, Tlvs};

use crate::harness::{Admin, FakeOperator, Peer, Smsc, pdu, receipt, submit, until};

const TO: &str = "447700900123";
/// Octets of the large messages here, as many as a PDU may have.
const LARGE: usize = 60_000;

fn send(api: &Admin, key: &str) -> u16 {
    let order = json!({ "to": [TO], "from": "ACME", "text": "hello" });
    let headers = [("Idempotency-Key", key)];
    api.request("POST", "/v1/messages", &headers, Some(&order))
        .status
}

#[test]
fn one_account_with_very_many_idempotency_keys_leaves_room_for_others() {
    let smsc = Smsc::new()
        .with_api_and("idempotency_keys = 16")
        .account("greedy", "greedy")
        .account("modest", "modest")
        .route("", "test:delivered")
        .start();
    let greedy = smsc.api_of("greedy", "both");
    let statuses: Vec<u16> = (0..20).map(|key| send(&greedy, &key.to_string())).collect();
    assert_eq!(statuses.iter().filter(|status| **status == 503).count(), 12);
    let modest = smsc.api_of("modest", "both");
    assert_eq!([1, 2].map(|key| send(&modest, &key.to_string())), [202; 2]);
    assert_eq!(send(&greedy, "0"), 202, "a repetition takes no room");
    assert_eq!(send(&greedy, "new"), 503);
    smsc.assert_no_panic();
}

#[test]
fn an_operator_whose_receipts_match_nothing_drops_none_of_others() {
    let (noisy, quiet) = (FakeOperator::listen(), FakeOperator::listen());
    let smsc = Smsc::new()
        .operator("noisy", noisy.address())
        .operator("quiet", quiet.address())
        .toml("[correlation]\nparked_max = 10\nearly_hold = \"10ms\"")
        .start();
    let (mut theirs, mut noise) = (quiet.accept_bind(), noisy.accept_bind());
    let report = |bind: &mut Peer, id: &str| {
        let text = format!(
            "id:{id} sub:001 dlvrd:001 submit date:2601010000 done date:2601010000 stat:DELIVRD err:000 text:"
        );
        let sequence = bind.request(Body::DeliverSm(receipt(&text)));
        assert!(bind.answer_to(sequence).status.is_ok());
    };
    report(&mut theirs, "ours");
    let list = || smsc.admin().get("/v1/receipts/unmatched").to_string();
    until("the receipt is parked", || {
        list().contains("ours").then_some(())
    });
    for number in 0..100 {
        report(&mut noise, &format!("noise{number}"));
    }
    until("the others are dropped", || {
        (smsc
            .admin()
            .metric("smsc_operator_receipts_dropped_total")?
            >= 91.0)
            .then_some(())
    });
    assert!(list().contains("\"ours\""), "{}", list());
    smsc.assert_no_panic();
}

/// The first of two parts of a text.
fn large(sequence: u32) -> Vec<u8> {
    let mut tlvs = Tlvs::default();
    tlvs.push(0x020C, &(sequence as u16).to_be_bytes());
    tlvs.push(0x020E, &[2]);
    tlvs.push(0x020F, &[1]);
    with_payload(sequence, TO, tlvs)
}

fn with_payload(sequence: u32, to: &str, mut tlvs: Tlvs) -> Vec<u8> {
    tlvs.push(0x0424, &vec![b'x'; LARGE]);
    let message = SubmitSm {
        tlvs,
        short_message: Bytes::new(),
        registered_delivery: 0,
        ..submit(to, "")
    };
    pdu(sequence, Body::SubmitSm(message))
}

/// Submits so many large messages.
fn submit_all(esme: &mut Peer, count: u32, large: impl Fn(u32) -> Vec<u8>) {
    for begin in (100..100 + count).step_by(100) {
        let some = begin..begin + 100;
        some.clone()
            .for_each(|sequence| esme.send(&large(sequence)));
        some.for_each(|sequence| assert!(esme.answer_to(sequence).status.is_ok()));
    }
}

/// The memory that the chart gives to a pod, in KiB.
fn limit_of_the_chart() -> u64 {
    let values = include_str!("../../helm/smsc/values.yaml");
    let limits = values.split("\n  limits:\n").nth(1).unwrap();
    let memory = limits
        .lines()
        .find_map(|line| line.trim().strip_prefix("memory: "));
    let gib = memory.unwrap().strip_suffix("Gi").unwrap();
    gib.parse::<u64>().unwrap() << 20
}

/// All at once that has taken gigabytes: a queue with large messages for an operator that is not there, parts whose rest does
/// not come, and forms of very many parameters from one address. Bounds in octets, what comes, and what the chart's limit leaves
/// to them are an eighth of what they are; what an SMSC takes that does nothing is not less for it.
#[test]
fn nobody_takes_more_memory_than_the_chart_gives() {
    const OF_EACH_KIND: u32 = 2_500;
    const EIGHTH: u64 = 8;
    let nowhere = "127.0.0.1:9".parse().unwrap();
    let smsc = Smsc::new()
        .with_api_and("kannel = true")
        .account("test", "test")
        .operator_with("up", nowhere, "long_messages = \"payload\"")
        .operator("down", nowhere)
        .route("", "up")
        .route("4478", "down")
        .env("SMSC_CONTENT__REASSEMBLY_MIB", "16")
        .env("SMSC_QUEUE__PAGE_MIB", "32")
        .env("SMSC_SMPP__INTAKE_MIB", "16")
        .env("SMSC_CORRELATION__PARKED_MIB", "32")
        .start();
    let idle = smsc.process().memory_kib("VmHWM");
    let address = smsc.api_address();
    let form = "a&".repeat(512 * 1024);
    let head = format!(
        "POST /cgi-bin/sendsms HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n",
        form.len()
    );
    let post = || {
        let mut stream = TcpStream::connect(address).unwrap();
        // It may be answered before all of it is written.
        let _ = stream.write_all(head.as_bytes());
        let _ = stream.write_all(form.as_bytes());
        let _ = stream.read(&mut [0; 12]);
    };
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| (0..25).for_each(|_| post()));
        }
        let mut esme = Peer::bind(smsc.smpp(), "test", "test");
        submit_all(&mut esme, OF_EACH_KIND, |sequence| {
            with_payload(sequence, "447800900123", Tlvs::default())
        });
        submit_all(&mut esme, OF_EACH_KIND, large);
    });
    let most = smsc.process().memory_kib("VmHWM");
    let limit = idle + (limit_of_the_chart() - idle) / EIGHTH;
    println!(
        "VmHWM {} MiB of {} MiB, {} of them idle",
        most >> 10,
        limit >> 10,
        idle >> 10
    );
    assert!(most < limit, "{} of {} MiB", most >> 10, limit >> 10);
    smsc.assert_no_panic();
}

/// Parts whose rest does not come, for an operator that is not there: they fill the reassembly, then its queue. All that
/// was accepted is read again at the start.
#[test]
fn large_messages_take_the_memory_they_may_and_no_more() {
    const PARTS: u32 = 3_000;
    const MIB: u64 = 1_024;
    let mut smsc = Smsc::new()
        .account("test", "test")
        .operator_with(
            "up",
            "127.0.0.1:9".parse().unwrap(),
            "long_messages = \"payload\"",
        )
        .route("", "up")
        .env("SMSC_CONTENT__REASSEMBLY_MIB", "8")
        .env("SMSC_QUEUE__PAGE_MIB", "8")
        .env("SMSC_SMPP__INTAKE_MIB", "8")
        .start();
    let before = smsc.process().memory_kib("VmHWM");
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    submit_all(&mut esme, PARTS, large);
    let waiting = |smsc: &Smsc| {
        let queues = smsc.admin().get("/v1/queues");
        let queues = queues["queues"].as_array().cloned().unwrap_or_default();
        let counts = queues.iter().filter_map(|queue| queue["waiting"].as_u64());
        counts.sum::<u64>()
    };
    let grown = smsc.process().memory_kib("VmHWM") - before;
    assert!(
        grown < 110 * MIB,
        "{} MiB more for {PARTS} parts",
        grown / MIB
    );
    smsc.kill();
    smsc.start_again();
    until("all of them wait again", || {
        (waiting(&smsc) >= u64::from(PARTS) - 300).then_some(())
    });
    // What the reassembly holds is granted to it, and it gives up the oldest again.
    let grown = smsc.process().memory_kib("VmHWM").saturating_sub(before);
    assert!(
        grown < 110 * MIB,
        "{} MiB more after a restart",
        grown / MIB
    );
    smsc.assert_no_panic();
}
