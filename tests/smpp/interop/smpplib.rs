//! Python's smpplib as an ESME: every bind operation; plain, UCS-2, long and concatenated messages;
//! receipts with TLVs, refusals, unbind.

use std::path::Path;

use crate::harness::{Client, Simulator, Smsc, python_in, python_script, run};
use serde_json::Value;

/// ESME_RINVPASWD.
const WRONG_PASSWORD: u64 = 0x0E;
/// message_state DELIVERED.
const DELIVERED: u64 = 2;

#[test]
fn smpplib_submits_and_is_told_how_it_ended() {
    let operator = Simulator::new().start();
    let smsc = Smsc::new().relaying_to(operator.address()).start();

    let (host, port) = (smsc.smpp().ip().to_string(), smsc.smpp().port().to_string());
    let seen = Client::run(python_script(
        "smpplib_esme.py",
        &[&host, &port, "test", "test"],
    ));

    let session = &seen["transceiver"];
    assert_eq!(session["bound_to"], "smsc");
    assert_eq!(session["unbind"], "unbind_resp");
    let ids = &session["ids"];
    let parts: Vec<&Value> = ids["parts"].as_array().unwrap().iter().collect();
    assert_eq!(parts.len(), 2);
    for id in [&ids["plain"], &ids["ucs2"], &ids["payload"]]
        .into_iter()
        .chain(parts)
    {
        assert_receipt(receipt_of(session, id), id);
    }
    assert_eq!(
        receipt_of(session, &ids["plain"])["user_message_reference"],
        4711
    );

    let pair = &seen["pair"];
    assert_receipt(&pair["receipt"], &pair["id"]);
    assert_eq!(seen["wrong_password"], WRONG_PASSWORD);
    // The status does not reveal which accounts exist.
    assert_eq!(seen["wrong_system_id"], WRONG_PASSWORD);

    let journal = operator.wait_for(6);
    let texts: Vec<&str> = journal.iter().map(|line| line.text.as_str()).collect();
    assert_eq!(journal.len(), 6, "{texts:?}");
    assert!(
        journal
            .iter()
            .all(|line| line.destination == "447700900123")
    );
    assert_eq!(texts[0], "hello smpplib");
    assert_eq!(journal[0].reference, Some(4711));
    assert_eq!(texts[1], r"\x00G\x00r\x00\xfc\x00\xdf\x00e");
    assert_eq!(texts[2], "p".repeat(40));
    assert!(texts[3].starts_with(r"\x05\x00\x03"), "{texts:?}");
    assert!(texts[4].starts_with(r"\x05\x00\x03"), "{texts:?}");
    assert_eq!(texts[5], "two binds");
    smsc.assert_no_panic();
}

#[test]
fn the_example_sends_and_is_told() {
    let smsc = Smsc::new()
        .account("test", "test")
        .route("", "test:delivered")
        .start();
    let (host, port) = (smsc.smpp().ip().to_string(), smsc.smpp().port().to_string());
    let mut example = python_in(
        Path::new(env!("CARGO_MANIFEST_DIR")),
        "examples/smpp/send.py",
    );
    // 200 characters of GSM 03.38: two parts.
    let text = "hello ".repeat(34);
    example.args([&host, &port, "test", "test", "447700900123", &text]);
    let sent = run(&mut example);
    assert!(sent.success, "{}{}", sent.stdout, sent.stderr);
    let ids: Vec<&str> = sent
        .stdout
        .lines()
        .filter_map(|line| line.strip_prefix("accepted as "))
        .collect();
    assert_eq!(ids.len(), 2, "{}", sent.stdout);
    for id in ids {
        let ended = format!("{id} ended as DELIVRD");
        assert!(sent.stdout.contains(&ended), "{}", sent.stdout);
    }
}

/// The receipt among those of a session that names this message.
fn receipt_of<'a>(session: &'a Value, id: &Value) -> &'a Value {
    let receipts = session["receipts"].as_array().unwrap();
    let mut of_this = receipts
        .iter()
        .filter(|receipt| receipt["receipted_message_id"] == *id);
    let receipt = of_this
        .next()
        .unwrap_or_else(|| panic!("no receipt of {id} in {session}"));
    assert!(
        of_this.next().is_none(),
        "two receipts of {id} in {session}"
    );
    receipt
}

/// A receipt of a delivered message: TLVs and text agree, addresses are swapped.
fn assert_receipt(receipt: &Value, id: &Value) {
    assert_eq!(receipt["esm_class"], 0x04, "{receipt}");
    assert_eq!(receipt["receipted_message_id"], *id, "{receipt}");
    assert_eq!(receipt["message_state"], DELIVERED, "{receipt}");
    assert_eq!(receipt["source"], "447700900123", "{receipt}");
    assert_eq!(receipt["destination"], "12345", "{receipt}");
    let text = receipt["text"].as_str().unwrap();
    assert!(
        text.starts_with(&format!("id:{} ", id.as_str().unwrap())),
        "{text}"
    );
    assert!(text.contains(" stat:DELIVRD "), "{text}");
}
