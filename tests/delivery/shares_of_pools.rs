//! Pools that several accounts or operators want: one that takes all it can leaves room for the others.

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
    tlvs.push(0x0424, &vec![b'x'; LARGE]);
    let part = SubmitSm {
        tlvs,
        short_message: Bytes::new(),
        registered_delivery: 0,
        ..submit(TO, "")
    };
    pdu(sequence, Body::SubmitSm(part))
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
    for begin in (100..100 + PARTS).step_by(100) {
        let some = begin..begin + 100;
        some.clone()
            .for_each(|sequence| esme.send(&large(sequence)));
        some.for_each(|sequence| assert!(esme.answer_to(sequence).status.is_ok()));
    }
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
