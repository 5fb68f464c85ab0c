//! Call detail records: what the record of a message says, and its lines in JSON and CSV.
//!
//! Guarantees that a record is the same however often it is made, as long as the message and the names in the
//! plan are. New keys go to the end of a line: programs may read CSV by position.

use crate::actors::context::plan::Plan;
use crate::config::CdrFormat;
use crate::content;
use crate::domain::queue_name::QueueName;
use crate::domain::{address, network, state};
use crate::pb::{Kind, Message};
use crate::store::Stored;
use crate::store::outbox::CdrRow;

/// The first line of a CSV file.
pub(super) const CSV_HEADER: &[u8] = b"id,sender,queue,from,to,accepted_at,final_at,state,operator,\
attempts,data_coding,octets,parts,error,done_at,network,replay_of,account,kind,price,currency,mcc,mnc,\
client_reference\r\n";

/// The record of a message; `None` for one that has none: it is not final, or nobody submitted it.
pub(super) fn record(plan: &Plan, stored: &Stored) -> Option<CdrRow> {
    let message = &stored.message;
    let ended = stored.fin.as_ref()?;
    if content::is_internal(message) {
        return None;
    }
    let is_mo = message.kind() == Kind::Mo;
    let account = if is_mo {
        plan.account_of(stored.queue).unwrap_or_default()
    } else {
        message.sender
    };
    let account = QueueName::parse(plan.name_of(account)).account();
    let client = message.client_data.as_deref();
    Some(CdrRow {
        id: message.id,
        account: account.unwrap_or_default().to_owned(),
        is_mo,
        sender: plan.name_of(message.sender).to_owned(),
        queue: plan.name_of(message.queue).to_owned(),
        from: address::printable(&message.source),
        to: address::printable(&message.destination),
        accepted_at: message.accepted_at,
        final_at: ended.at,
        done_at: ended.done_at,
        state: ended.state,
        operator: plan.name_of(ended.operator).to_owned(),
        attempts: stored.attempts,
        data_coding: message.data_coding,
        octets: octets(message),
        parts: content::segments(message),
        error: address::printable(&ended.error),
        network: message.network.clone(),
        replay_of: message.replay_of.as_deref().map_or(0, |old| old.id),
        price: i64::try_from(message.price).unwrap_or(i64::MAX),
        currency: plan.currency_of(message.sender).to_owned(),
        client_reference: client.map_or_else(String::new, |client| client.reference.clone()),
    })
}

fn octets(message: &Message) -> u32 {
    u32::try_from(content::payload(message).len()).unwrap_or(u32::MAX)
}

/// Appends the line of a record.
pub(super) fn line(format: CdrFormat, out: &mut Vec<u8>, record: &CdrRow) {
    match format {
        CdrFormat::Csv => csv(out, record),
        CdrFormat::Jsonl | CdrFormat::Table => json(out, record),
    }
}

/// The record as a JSON object, without the end of the line.
pub(super) fn object(record: &CdrRow) -> Vec<u8> {
    let mut out = Vec::with_capacity(512);
    json(&mut out, record);
    out.pop();
    out
}

/// The id in a line; `None` for a line that is no record, such as a header.
pub(super) fn id_of(line: &[u8]) -> Option<u64> {
    let digits = line.strip_prefix(b"{\"id\":\"").unwrap_or(line);
    let end = digits.iter().position(|octet| !octet.is_ascii_digit())?;
    std::str::from_utf8(&digits[..end]).ok()?.parse().ok()
}

fn json(out: &mut Vec<u8>, record: &CdrRow) {
    // Keys are fixed and numbers need no quoting: a serialiser would cost more than everything else here.
    number(out, "{\"id\":\"", record.id);
    text(out, "\",\"sender\":", &record.sender);
    text(out, ",\"queue\":", &record.queue);
    text(out, ",\"from\":", &record.from);
    text(out, ",\"to\":", &record.to);
    number(out, ",\"accepted_at\":", record.accepted_at);
    number(out, ",\"final_at\":", record.final_at);
    text(out, ",\"state\":", state::name(record.state as u8));
    text(out, ",\"operator\":", &record.operator);
    number(out, ",\"attempts\":", record.attempts);
    number(out, ",\"data_coding\":", record.data_coding);
    number(out, ",\"octets\":", record.octets);
    number(out, ",\"parts\":", record.parts);
    text(out, ",\"error\":", &record.error);
    if record.done_at != 0 {
        number(out, ",\"done_at\":", record.done_at);
    }
    if !record.network.is_empty() {
        text(out, ",\"network\":", &record.network);
    }
    if record.replay_of != 0 {
        number(out, ",\"replay_of\":\"", record.replay_of);
        out.push(b'"');
    }
    text(out, ",\"account\":", &record.account);
    text(out, ",\"kind\":", record.kind());
    number(out, ",\"price\":", record.price);
    text(out, ",\"currency\":", &record.currency);
    if let Some((mcc, mnc)) = network::mcc_mnc(&record.network) {
        text(out, ",\"mcc\":", mcc);
        text(out, ",\"mnc\":", mnc);
    }
    if !record.client_reference.is_empty() {
        text(out, ",\"client_reference\":", &record.client_reference);
    }
    out.extend_from_slice(b"}\n");
}

/// Appends a text in quotes behind `key`.
fn text(out: &mut Vec<u8>, key: &str, value: &str) {
    out.extend_from_slice(key.as_bytes());
    // Many octets at once, so none is looked at by itself.
    let plain = |octet: u8| (b' '..=b'~').contains(&octet) & (octet != b'"') & (octet != b'\\');
    if value.bytes().fold(true, |all, octet| all & plain(octet)) {
        out.push(b'"');
        out.extend_from_slice(value.as_bytes());
        out.push(b'"');
    } else {
        out.extend_from_slice(serde_json::Value::from(value).to_string().as_bytes());
    }
}

/// Appends a number behind `key`.
fn number(out: &mut Vec<u8>, key: &str, number: impl itoa::Integer) {
    out.extend_from_slice(key.as_bytes());
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

fn csv(out: &mut Vec<u8>, record: &CdrRow) {
    let some = |number: i64| match number {
        0 => String::new(),
        number => number.to_string(),
    };
    let (mcc, mnc) = network::mcc_mnc(&record.network).unwrap_or_default();
    let replay_of = (record.replay_of != 0).then(|| record.replay_of.to_string());
    let fields = [
        &record.id.to_string(),
        &record.sender,
        &record.queue,
        &record.from,
        &record.to,
        &record.accepted_at.to_string(),
        &record.final_at.to_string(),
        state::name(record.state as u8),
        &record.operator,
        &record.attempts.to_string(),
        &record.data_coding.to_string(),
        &record.octets.to_string(),
        &record.parts.to_string(),
        &record.error,
        &some(record.done_at),
        &record.network,
        replay_of.as_deref().unwrap_or_default(),
        &record.account,
        record.kind(),
        &record.price.to_string(),
        &record.currency,
        mcc,
        mnc,
        &record.client_reference,
    ];
    for (at, field) in fields.into_iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        put_field(out, field);
    }
    out.extend_from_slice(b"\r\n");
}

/// Appends a field of CSV (RFC 4180). Line breaks become blanks: a record is one line.
pub(super) fn put_field(out: &mut Vec<u8>, field: &str) {
    if !field.contains(['"', ',', '\r', '\n']) {
        out.extend_from_slice(field.as_bytes());
        return;
    }
    out.push(b'"');
    for octet in field.bytes() {
        match octet {
            b'"' => out.extend_from_slice(b"\"\""),
            b'\r' | b'\n' => out.push(b' '),
            octet => out.push(octet),
        }
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pb::MessageState;

    fn odd() -> CdrRow {
        CdrRow {
            id: 18_000_000_000_000_000_000,
            account: "test".to_owned(),
            from: address::printable(b"Caf\xe9 \"x\""),
            to: "447700900123".to_owned(),
            state: MessageState::Delivered,
            network: "23415".to_owned(),
            price: 3,
            currency: "EUR".to_owned(),
            client_reference: "a,\"b\"\n\u{e9}".to_owned(),
            ..CdrRow::default()
        }
    }

    #[test]
    fn odd_texts_are_valid_json() {
        let mut out = Vec::new();
        line(CdrFormat::Jsonl, &mut out, &odd());
        assert_eq!(id_of(&out), Some(odd().id));
        let value: serde_json::Value = serde_json::from_slice(&out).expect("valid JSON");
        assert_eq!(value["from"], "Caf\\xe9 \"x\"");
        assert_eq!(value["client_reference"], odd().client_reference);
        assert_eq!(
            (&value["mcc"], &value["mnc"]),
            (&"234".into(), &"15".into())
        );
        assert_eq!(value["price"], 3);
    }

    #[test]
    fn a_record_is_one_line_of_csv_with_a_field_for_each_of_the_header() {
        let mut out = Vec::new();
        line(CdrFormat::Csv, &mut out, &odd());
        let text = String::from_utf8(out).expect("text");
        assert_eq!(id_of(text.as_bytes()), Some(odd().id));
        assert!(
            text.ends_with(",234,15,\"a,\"\"b\"\" \u{e9}\"\r\n"),
            "{text}"
        );
        assert_eq!(text.lines().count(), 1);
        let header = String::from_utf8_lossy(CSV_HEADER);
        // One comma is in a quoted field.
        let commas = |text: &str| text.matches(',').count();
        assert_eq!(commas(&text), commas(&header) + 1);
        assert_eq!(id_of(CSV_HEADER), None);
    }
}
