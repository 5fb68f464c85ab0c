//! Finished messages in a second database: every row once, whatever is repeated.

use crate::harness::{database, rows};
use crate::http_system::System;

const TO: &str = "440012345678";
/// Goes to an operator where nothing listens: stays active until it is cancelled.
const WAITING: &str = "447700900123";

fn delivered(system: &System, to: &str, text: &str) -> String {
    let id = system.send(to, text);
    system.wait_for(&format!("/v1/messages/{id}"), |message| {
        message["state"] == "DELIVERED"
    });
    id
}

#[test]
fn a_range_is_exported_once_however_often_it_is_asked_for() {
    let system = System::start();
    let target = database();
    let first = delivered(&system, TO, "first");
    let waiting = system.send(WAITING, "second");
    let third = delivered(&system, TO, "third");
    let until = ((third.parse::<u64>().unwrap() >> 20) + 1).to_string();
    let export = |more: &[&str]| -> String {
        let all = [
            "export",
            "--since",
            "2020-01-01",
            "--until",
            &until,
            "--to-database",
            target.url(),
        ];
        let output = system.command(&[&all, more].concat());
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{said}");
        said
    };
    let table = || -> Vec<(String, String)> {
        let sql = "SELECT id::text, state FROM sms_archive ORDER BY id";
        let all = rows(target.url(), sql);
        all.iter().map(|row| (row.get(0), row.get(1))).collect()
    };
    let row = |id: &String, state: &str| (id.clone(), state.to_owned());

    let said = export(&[]);
    assert!(said.contains("2 messages exported"), "{said}");
    assert!(
        said.contains("1 messages of the range have not ended"),
        "{said}"
    );
    assert_eq!(
        table(),
        [row(&first, "DELIVERED"), row(&third, "DELIVERED")]
    );

    // The mark stays before the message that is not final.
    export(&[]);
    assert_eq!(table().len(), 2);
    let cancelled = system.post(&format!("/v1/messages/{waiting}/cancel"));
    assert!(cancelled.status < 300, "{}", cancelled.body);
    system.wait_for(&format!("/v1/messages/{waiting}"), |message| {
        message["state"] == "DELETED"
    });
    let said = export(&[]);
    assert!(
        said.contains("2 messages exported"),
        "it goes on there: {said}"
    );
    assert_eq!(table()[1], row(&waiting, "DELETED"));
    let said = export(&[]);
    assert!(said.contains("0 messages exported"), "all is there: {said}");

    // Times and numbers are unchanged; the text is exported only on request.
    let sql = "SELECT destination, (extract(epoch FROM accepted_at) * 1000)::bigint, attempts, text
               FROM sms_archive ORDER BY id";
    let bare = rows(target.url(), sql);
    assert_eq!(bare[0].get::<_, &str>(0), TO);
    let accepted = (first.parse::<u64>().unwrap() >> 20) as i64;
    assert_eq!(bare[0].get::<_, i64>(1), accepted);
    assert_eq!(bare[0].get::<_, i64>(2), 1);
    assert_eq!(bare[0].get::<_, Option<&str>>(3), None);
    export(&["--with-text"]);
    let full = rows(target.url(), sql);
    assert_eq!(full[2].get::<_, Option<&str>>(3), Some("third"));
    assert_eq!(full.len(), 3);
}
