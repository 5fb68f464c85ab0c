//! Finished messages: found by every filter, exported in every format, and erased.

use crate::harness;
use std::path::Path;

use crate::http_system::System;
use serde_json::Value;

const TO: &str = "440012345678";
const OTHER: &str = "440087654321";
/// Goes to an operator where nothing listens: stays active.
const WAITING: &str = "447700900123";

/// A system with messages to three destinations, and their ids; all but the last are final.
fn with_messages(store: &str) -> (System, Vec<String>) {
    let system = System::start_with(store);
    let ids: Vec<String> = [
        (TO, "first, with \"quotes\""),
        (OTHER, "second"),
        (TO, "third"),
        (WAITING, "fourth"),
    ]
    .map(|(to, text)| system.send(to, text))
    .to_vec();
    for id in &ids[..3] {
        system.wait_for(&format!("/v1/messages/{id}"), |message| {
            message["state"] == "DELIVERED"
        });
    }
    (system, ids)
}

fn ids(system: &System, query: &str) -> Vec<String> {
    let answer = system.get(&format!("/v1/messages?{query}"));
    assert_eq!(answer.status, 200, "{query}: {}", answer.body);
    let json = answer.json();
    let messages = json["messages"].as_array().unwrap();
    let id = |message: &Value| message["id"].as_str().unwrap().to_owned();
    messages.iter().map(id).collect()
}

/// Exports everything with more arguments; returns standard output and standard error.
fn export(system: &System, args: &[&str]) -> (String, String) {
    let all = [
        "export",
        "--since",
        "2020-01-01",
        "--until",
        "2100-01-01",
        "--include-active",
    ];
    let output = system.command(&[&all, args].concat());
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    (String::from_utf8(output.stdout).unwrap(), said)
}

#[test]
fn every_filter_finds_what_it_says() {
    let (system, all) = with_messages("");
    let newest: Vec<String> = all.iter().rev().cloned().collect();
    assert_eq!(ids(&system, "account=test"), newest);
    assert_eq!(ids(&system, "account=account:test&limit=2"), newest[..2]);
    assert_eq!(ids(&system, &format!("to=%2B{TO}")), [&*all[2], &*all[0]]);
    let source = system.get(&format!("/v1/messages/{}", all[0])).json()["from"].clone();
    let source = source.as_str().unwrap();
    assert_eq!(ids(&system, &format!("from={source}")), newest);
    assert!(ids(&system, "from=NOBODY").is_empty());
    assert_eq!(ids(&system, "account=test&state=ENROUTE"), [&*all[3]]);
    let together = format!(
        "to={TO}&from={source}&account=test&state=DELIVERED&before={}",
        all[2]
    );
    assert_eq!(ids(&system, &together), [&*all[0]]);
    // Times: the ids of this run contain the time of this run.
    let first = all[0].parse::<u64>().unwrap() >> 20;
    assert_eq!(ids(&system, &format!("since={first}")), newest);
    assert!(ids(&system, &format!("account=test&until={first}")).is_empty());
    assert!(ids(&system, "until=2026-01-01T00:00:00%2B01:00").is_empty());
    assert!(ids(&system, "since=2100-01-01").is_empty());
    for (query, field) in [("since=soon", "since"), ("until=2026-99-01", "until")] {
        let answer = system.get(&format!("/v1/messages?{query}"));
        assert!(answer.problem(400).contains("Unix milliseconds"));
        assert_eq!(answer.json()["field"], field);
    }
    let unknown = system.get("/v1/messages?account=nobody");
    assert!(unknown.problem(404).contains("nobody"));
}

#[test]
fn json_lines_hold_every_message_once() {
    let (system, all) = with_messages("");
    let (lines, said) = export(&system, &["--with-text"]);
    assert!(
        said.contains("4 messages exported") && said.contains("1 of them"),
        "{said}"
    );
    let rows: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let exported: Vec<&str> = rows.iter().map(|row| row["id"].as_str().unwrap()).collect();
    assert_eq!(exported, all, "in the order of acceptance");
    assert_eq!(rows[0]["destination"], TO);
    assert_eq!(rows[0]["sender"], "account:test");
    assert_eq!(rows[0]["operator"], "test:delivered");
    assert_eq!(rows[0]["state"], "DELIVERED");
    assert_eq!(rows[0]["text"], "first, with \"quotes\"");
    assert_eq!(rows[1]["octets"], "7365636f6e64");
    assert_eq!(rows[0]["attempts"], 1);
    let api = system.get(&format!("/v1/messages/{}", all[0])).json();
    assert_eq!(rows[0]["accepted_at"], api["accepted_at"]);
    assert_eq!(rows[0]["final_at"], api["final"]["at"]);
    assert!(rows[0]["done_at"].is_string(), "{}", rows[0]);
    assert_eq!(rows[0]["done_at"], api["final"]["done_at"]);
    assert_eq!(rows[3]["state"], "ENROUTE");
    assert!(rows[3]["final_at"].is_null());
    // Without the option there is no trace of the text.
    let (bare, _) = export(&system, &[]);
    assert!(!bare.contains("text") && !bare.contains("second"), "{bare}");
}

#[test]
fn only_ended_messages_of_a_range_that_is_over_are_exported() {
    let (system, all) = with_messages("");
    let open = system.command(&["export", "--since", "2020-01-01", "--until", "2100-01-01"]);
    assert!(!open.status.success());
    let said = String::from_utf8_lossy(&open.stderr).into_owned();
    assert!(said.contains("not over yet"), "{said}");
    let until = ((all[3].parse::<u64>().unwrap() >> 20) + 1).to_string();
    let closed = system.command(&["export", "--since", "2020-01-01", "--until", &until]);
    let said = String::from_utf8_lossy(&closed.stderr).into_owned();
    assert!(said.contains("3 messages exported"), "{said}");
    assert!(
        said.contains("1 messages of the range have not ended"),
        "{said}"
    );
    let lines = String::from_utf8(closed.stdout).unwrap();
    assert_eq!(lines.lines().count(), 3);
}

#[test]
fn csv_is_read_back() {
    let (system, all) = with_messages("");
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("out.csv");
    let out = file.to_str().unwrap();
    export(&system, &["--with-text", "--format", "csv", "--out", out]);
    let csv = std::fs::read_to_string(&file).unwrap();
    let lines: Vec<&str> = csv.split_terminator("\r\n").collect();
    assert!(lines[0].starts_with("id,accepted_at,kind,sender,source,destination,operator,"));
    assert!(lines[0].ends_with(",text,octets"));
    assert_eq!(lines.len(), 5);
    let fields = lines[0].split(',').count();
    assert_eq!(
        lines[2].split(',').count(),
        fields,
        "no commas in these values"
    );
    assert!(lines[1].starts_with(&format!("{},", all[0])));
    assert!(
        lines[1].contains(",\"first, with \"\"quotes\"\"\","),
        "{}",
        lines[1]
    );
    assert!(
        lines[4].contains(",ENROUTE,,,"),
        "null is empty: {}",
        lines[4]
    );
    let again = system.command(&["export", "--since", "0", "--until", "1", "--out", out]);
    assert!(!again.status.success(), "a file is not overwritten");
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_is_read_back() {
    use parquet::record::Field;
    let (system, all) = with_messages("");
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("out.parquet");
    let out = file.to_str().unwrap();
    export(
        &system,
        &["--with-text", "--format", "parquet", "--out", out],
    );
    let rows = parquet_rows(&file);
    assert_eq!(rows.len(), 4);
    let get = |row: usize, name: &str| -> Field {
        let found = rows[row].iter().find(|(column, _)| column == name);
        found
            .unwrap_or_else(|| panic!("no column {name}"))
            .1
            .clone()
    };
    assert_eq!(get(0, "id"), Field::Long(all[0].parse().unwrap()));
    assert_eq!(get(0, "destination"), Field::Str(TO.to_owned()));
    assert_eq!(get(1, "text"), Field::Str("second".to_owned()));
    let accepted = (all[0].parse::<u64>().unwrap() >> 20) as i64;
    assert_eq!(get(0, "accepted_at"), Field::TimestampMillis(accepted));
    assert_eq!(get(3, "state"), Field::Str("ENROUTE".to_owned()));
    assert_eq!(get(3, "final_at"), Field::Null);
    assert_eq!(get(0, "parts"), Field::Null);
}

#[cfg(feature = "parquet")]
fn parquet_rows(file: &Path) -> Vec<Vec<(String, parquet::record::Field)>> {
    use parquet::file::reader::{FileReader as _, SerializedFileReader};
    let reader = SerializedFileReader::new(std::fs::File::open(file).unwrap()).unwrap();
    let rows = reader.get_row_iter(None).unwrap();
    rows.map(|row| row.unwrap().into_columns()).collect()
}

#[test]
fn a_subscriber_is_forgotten() {
    let (system, all) = with_messages("");
    assert_eq!(
        system.delete("/v1/subscribers/ACME/messages").json()["field"],
        "msisdn"
    );
    assert_eq!(
        system.get("/v1/subscribers/1/messages").header("allow"),
        "DELETE"
    );
    let refused = system.command(&["erase", "--msisdn", TO]);
    assert!(!refused.status.success(), "it asks first");
    let done = system.command(&["erase", "--msisdn", TO, "--yes"]);
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(
        said.contains("erased in 2 messages") && !said.contains("active"),
        "{said}"
    );
    let message = system
        .get(&format!("/v1/messages/{}?text=true", all[0]))
        .json();
    assert_eq!(message["to"], "(erased)");
    assert_eq!(message["note"], "text erased");
    assert_eq!(message["state"], "DELIVERED");
    assert!(!message.to_string().contains("quotes") && !message.to_string().contains(TO));
    assert!(ids(&system, &format!("to={TO}")).is_empty());
    assert_eq!(ids(&system, &format!("to={OTHER}")), [&*all[1]]);
    let waiting = system.delete(&format!("/v1/subscribers/%2B{WAITING}/messages"));
    assert_eq!(waiting.json()["erased"], 0);
    assert_eq!(waiting.json()["active"], 1);
    assert_eq!(ids(&system, &format!("to={WAITING}")), [&*all[3]]);
    // Exports contain none of it.
    let (lines, _) = export(&system, &["--with-text"]);
    assert!(!lines.contains(TO) && !lines.contains("third"), "{lines}");
    assert!(lines.contains("second") && lines.contains("fourth"));
}

/// Which file below a folder has these octets, if any.
fn file_with(folder: &Path, octets: &str) -> Option<String> {
    std::fs::read_dir(folder).unwrap().find_map(|entry| {
        let path = entry.unwrap().path();
        if path.is_dir() {
            return file_with(&path, octets);
        }
        let content = std::fs::read(&path).unwrap();
        let mut parts = content.windows(octets.len());
        let found = parts.any(|part| part == octets.as_bytes());
        found.then(|| path.display().to_string())
    })
}

#[test]
fn nothing_of_a_forgotten_subscriber_is_left_in_the_files() {
    let (system, all) = with_messages("");
    let data = system.config().parent().unwrap().join("data");
    harness::until("the records of calls", || {
        file_with(&data.join("cdr"), &all[2])
    });
    let done = system.command(&["erase", "--msisdn", TO, "--yes"]);
    assert!(done.status.success(), "{done:?}");
    for gone in [TO, "quotes", "third"] {
        assert_eq!(file_with(&data, gone), None, "{gone}");
    }
    for stays in [OTHER, "second", WAITING, "fourth"] {
        assert!(file_with(&data, stays).is_some(), "{stays}");
    }
    // The records still exist, and more are added.
    assert!(file_with(&data.join("cdr"), &all[2]).is_some());
    let next = system.send(OTHER, "fifth");
    harness::until("another record", || file_with(&data.join("cdr"), &next));
}

#[test]
fn texts_go_before_their_messages() {
    let (mut system, all) = with_messages("text_retention = \"1ms\"");
    let path = format!("/v1/messages/{}?text=true", all[2]);
    // Texts are checked at start, and once a minute.
    system.restart();
    let message = system.wait_for(&path, |message| message["note"] == "text erased");
    assert_eq!(message["to"], TO, "the rest stays");
    assert_eq!(message["state"], "DELIVERED");
    let active = system
        .get(&format!("/v1/messages/{}?text=true", all[3]))
        .json();
    assert_eq!(active["content"]["text"], "fourth");
    assert!(active.get("note").is_none());
}
