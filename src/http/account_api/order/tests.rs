//! Orders as customers write them, right and wrong.

use serde_json::json;

use super::*;
use crate::content::{segments, text_of};

const NOW: i64 = 1_700_000_000_000;

fn drafts(body: &Value) -> Result<Vec<DraftResult>, Problem> {
    read(body.to_string().as_bytes(), NOW, &Numbers::default())
}

fn only(body: &Value) -> Message {
    let mut drafts = drafts(body).unwrap();
    assert_eq!(drafts.len(), 1);
    drafts.remove(0).message.unwrap().message
}

fn wrong(body: &Value) -> String {
    match drafts(body) {
        Err(problem) => problem.to_string(),
        Ok(drafts) => {
            let problem = drafts.into_iter().find_map(|one| one.message.err());
            problem.expect("it is right").to_string()
        }
    }
}

#[test]
fn the_shortest_order_is_a_message() {
    let message = only(&json!({"to": "+44 7700 900-123", "from": "ACME", "text": "hello"}));
    assert_eq!(&message.destination[..], b"447700900123");
    assert_eq!((message.dest_ton, message.dest_npi), (1, 1));
    assert_eq!((message.source_ton, message.source_npi), (5, 0));
    assert_eq!(text_of(&message).as_deref(), Some("hello"));
    assert!(message.follow && message.divide);
    assert_eq!(
        (message.registered_delivery, message.client_data),
        (0, None)
    );
}

#[test]
fn senders_are_numbers_short_codes_and_names() {
    for (from, numbering, address) in [
        ("+447700900000", (1, 1), "447700900000"),
        ("12345", (0, 0), "12345"),
        ("ACME Shop", (5, 0), "ACME Shop"),
        ("", (0, 0), ""),
    ] {
        let found = source(from).unwrap();
        assert_eq!((found.ton, found.npi), numbering, "{from}");
        assert_eq!(found.digits, address, "{from}");
    }
    for from in [
        "ACME Shop Ltd",
        "Ünïcode",
        "123456789012345678901",
        "a\u{7}",
    ] {
        assert!(source(from).is_err(), "{from}");
    }
}

#[test]
fn everything_an_order_may_say() {
    let message = only(&json!({
        "to": ["0044 7700 900123"], "from": "12345", "text": "я".repeat(80),
        "flash": true, "send_at": "2036-11-21T09:00:00Z", "valid_for": "2h", "priority": 3,
        "receipt": true, "reference": "order-7", "metadata": {"shop": 1},
    }));
    assert_eq!((message.priority, message.registered_delivery), (3, 1));
    assert_eq!(message.data_coding, 0x18);
    assert_eq!(segments(&message), 2);
    assert_eq!(&message.schedule_delivery_time[..], b"361121090000000+");
    assert_eq!(&message.validity_period[..], b"361121110000000+");
    let client = message.client_data.unwrap();
    assert_eq!(
        (client.reference.as_str(), client.metadata.as_str()),
        ("order-7", r#"{"shop":1}"#)
    );
}

#[test]
fn data_has_a_header() {
    let message = only(&json!({
        "to": "447700900123", "from": "1", "data": "0102fF", "header": "0605040B8423F0",
    }));
    assert_eq!((message.data_coding, message.esm_class), (4, 0x40));
    assert_eq!(message.short_message.len(), 10);
}

#[test]
fn each_recipient_has_its_values() {
    let orders = json!({"from": "ACME", "text": "Dear {{ name }}, {{code}}", "reference": "all", "to": [
        {"number": "447700900001", "values": {"name": "Ann {{code}}", "code": "17"}},
        {"number": "447700900002", "values": {"name": "Bob"}},
        {"number": "447700900003", "values": {"name": "Cy", "code": "19"}, "reference": "own"},
    ]});
    let found = drafts(&orders).unwrap();
    let text = |at: usize| {
        let draft = found[at].message.as_ref().ok()?;
        text_of(&draft.message)
    };
    assert_eq!(text(0).as_deref(), Some("Dear Ann {{code}}, 17"));
    assert_eq!(text(1), None, "there is no code");
    assert_eq!(text(2).as_deref(), Some("Dear Cy, 19"));
    assert_eq!(found[0].reference.as_deref(), Some("all"));
    assert_eq!(found[2].reference.as_deref(), Some("own"));
}

#[test]
fn one_wrong_item_harms_no_other() {
    let orders = json!({"messages": [
        {"to": "447700900001", "from": "A", "text": "1"},
        {"to": "nobody", "from": "A", "text": "2"},
        {"to": "447700900003", "from": "A", "text": "3", "colour": "red"},
        {"to": ["447700900004", "447700900005"], "from": "A", "text": "4"},
    ]});
    let found = drafts(&orders).unwrap();
    let right: Vec<bool> = found.iter().map(|one| one.message.is_ok()).collect();
    assert_eq!(right, [true, false, false, true, true]);
    assert_eq!(
        (found[1].to.as_str(), found[2].to.as_str()),
        ("nobody", "447700900003")
    );
}

#[test]
fn what_is_wrong_is_named() {
    let with = |key: &str, value: Value| {
        let mut order = json!({"to": "447700900123", "from": "ACME", "text": "hello"});
        order[key] = value;
        wrong(&order)
    };
    for (key, value, part) in [
        ("to", json!("12"), "international form"),
        ("to", json!("44770090O123"), "international form"),
        ("to", json!([]), "no recipient"),
        ("to", Value::Null, "to is missing"),
        ("to", json!(7), "in quotes"),
        ("to", json!(vec!["447700900123"; 1_001]), "1001 recipients"),
        ("from", json!("far too long a name"), "from must be"),
        ("text", Value::Null, "text is missing"),
        ("text", json!("{{name"), "without }}"),
        ("text", json!("{{name}}"), "no value for {{name}}"),
        ("data", json!("00"), "either text or data"),
        ("header", json!("00"), "belongs to data"),
        ("alphabet", json!("ebcdic"), "gsm"),
        ("send_at", json!("tomorrow"), "send_at must be"),
        ("valid_until", json!("tomorrow"), "valid_until must be"),
        ("send_at", json!("2100-01-01T00:00:00Z"), "send_at must be"),
        ("valid_for", json!("long"), "valid_for must be"),
        ("priority", json!(4), "0 to 3"),
        ("reference", json!("x".repeat(101)), "at most 100"),
        ("metadata", json!({"x": "y".repeat(1_024)}), "1024 octets"),
        ("colour", json!("red"), "colour"),
    ] {
        let said = with(key, value.clone());
        assert!(said.contains(part), "{key} {value}: {said}");
    }
    assert!(wrong(&json!([])).contains("JSON object"));
    assert!(wrong(&json!({"messages": 1})).contains("must be a list"));
    assert!(wrong(&json!({"messages": [], "from": "A"})).contains("does not belong"));
    assert!(wrong(&json!({"messages": []})).contains("no recipient"));
    assert!(read(b"{", NOW, &Numbers::default()).is_err());
}

/// An order whose text has about `octets` octets for each of so many recipients.
fn filling(octets: usize, recipients: usize) -> Value {
    let to = |n| json!({"number": format!("4477009{n:05}"), "values": {"n": "x"}});
    let to: Vec<Value> = (0..recipients).map(to).collect();
    json!({"from": "ACME", "text": format!("{}{{{{n}}}}", "x".repeat(octets - 1)), "to": to})
}

/// How many drafts are messages; every other one must be refused because of its text.
fn accepted(drafts: &[DraftResult]) -> usize {
    let refused = drafts.iter().filter_map(|one| one.message.as_ref().err());
    for problem in refused.clone() {
        assert_eq!(problem.details().field.as_deref(), Some("text"));
        assert!(
            problem.to_string().contains("values are filled in"),
            "{problem}"
        );
    }
    drafts.len() - refused.count()
}

#[test]
fn texts_with_values_share_the_room_of_their_request() {
    let octets = 50_000;
    let fit = MAX_FILLED / octets;
    let one = drafts(&filling(octets, fit + 7)).unwrap();
    assert_eq!((accepted(&one), one.len()), (fit, fit + 7));
    // Of a request with several orders together, whichever they are in.
    let half = filling(octets, fit / 2 + 3);
    let plain = json!({"to": "447700900123", "from": "ACME", "text": "hello"});
    let many = drafts(&json!({"messages": [half, half, plain]})).unwrap();
    assert_eq!(
        accepted(&many),
        fit + 1,
        "a text without values needs none of it"
    );
    assert!(many.last().unwrap().message.is_ok());
    // A text that fits exactly.
    let exact = drafts(&filling(MAX_FILLED / 128, 128)).unwrap();
    assert_eq!(accepted(&exact), 128);
}
