//! Rows that were changed behind the back of the SMSC: they are not used, people see them by REST and on the command line,
//! and forget them. On both stores.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::harness::{
    Database, Peer, PeerError, Scene, Smsc, database, execute, migrate, rows, submit, until,
};
use rusqlite::Connection;
use serde_json::{Value, json};
use smsc::smpp::SubmitSm;

const MESSAGES: usize = 6;
/// Long enough for another message to arrive, if there were one.
const QUIET: Duration = Duration::from_millis(700);

fn number_of(message: usize) -> String {
    format!("4477009001{message:02}")
}

/// Changes the number of one message and the text of another, while no SMSC runs.
fn damage(smsc: &Smsc, database: Option<&Database>, number: &str, text: &str) {
    let of_number = format!(
        "UPDATE msg SET destination = replace(destination, '4477', '4478') WHERE id = {number}"
    );
    match database {
        Some(database) => {
            let last = "length(body) - 1";
            execute(database.url(), &of_number);
            execute(
                database.url(),
                &format!(
                    "UPDATE msg SET body = set_byte(body, {last}, get_byte(body, {last}) # 1) WHERE id = {text}"
                ),
            );
        }
        None => {
            let store = Connection::open(smsc.data_dir().join("smsc.db")).unwrap();
            assert_eq!(store.execute(&of_number, []).unwrap(), 1);
            let of_text = format!("SELECT body FROM msg WHERE id = {text}");
            let mut body: Vec<u8> = store.query_row(&of_text, [], |row| row.get(0)).unwrap();
            *body.last_mut().unwrap() ^= 1;
            let of_text = format!("UPDATE msg SET body = ?1 WHERE id = {text}");
            assert_eq!(store.execute(&of_text, [body]).unwrap(), 1);
        }
    }
}

fn scene(database: Option<&Database>) -> Scene {
    Scene::with("", |builder| match database {
        Some(database) => {
            migrate(database.url());
            builder.toml(&format!("[postgres]\nurl = {:?}", database.url()))
        }
        None => builder,
    })
}

/// An SMSC with two damaged messages, whose ids are given, and four others that wait in a suspended queue.
fn with_damage(database: Option<&Database>) -> (Scene, [String; 2]) {
    let mut scene = scene(database);
    let admin = scene.smsc.admin();
    assert_eq!(admin.post("/v1/queues/operator:up/suspend").0, 200);
    let ids: Vec<String> = (0..MESSAGES)
        .map(|message| scene.esme.submit(submit(&number_of(message), "hello")))
        .collect();
    scene.smsc.terminate();
    let damaged = [ids[1].clone(), ids[4].clone()];
    damage(&scene.smsc, database, &damaged[0], &damaged[1]);
    scene.smsc.start_again();
    scene.bind = scene.operator.accept_bind();
    scene.esme = Peer::bind(scene.smsc.smpp(), "test", "test");
    until("the damaged rows to be listed and counted", || {
        let counted = scene.smsc.admin().metric("smsc_store_damaged_rows");
        (listed(&scene.smsc).len() == 2 && counted == Some(2.0)).then_some(())
    });
    (scene, damaged)
}

fn listed(smsc: &Smsc) -> Vec<Value> {
    let list = smsc.admin().get("/v1/damaged");
    list["rows"].as_array().unwrap().clone()
}

/// What is damaged is never sent and nobody is told, the others arrive.
fn only_sound_messages_are_sent(database: Option<&Database>) {
    let (mut scene, damaged) = with_damage(database);
    let admin = scene.smsc.admin();
    assert_eq!(admin.post("/v1/queues/operator:up/resume").0, 200);
    let arrived: BTreeSet<String> = (0..MESSAGES - damaged.len())
        .map(|number| recipient(&scene.take(&format!("up-{number}"))))
        .collect();
    let sound = [0, 2, 3, 5].map(number_of);
    assert_eq!(arrived, BTreeSet::from(sound));
    assert_eq!(scene.bind.next(QUIET), Err(PeerError::Silence), "sent");
    assert_eq!(scene.esme.next(QUIET), Err(PeerError::Silence), "told");
    let (_, ready) = admin.text("/health/ready").unwrap();
    assert!(ready.contains("2 rows are damaged"), "{ready}");
    assert_eq!(admin.metric("smsc_store_damaged_rows"), Some(2.0));

    for id in &damaged {
        let (status, problem) = admin.text(&format!("/v1/messages/{id}")).unwrap();
        assert_eq!(status, 404);
        assert!(
            problem.contains("is damaged and cannot be shown"),
            "{problem}"
        );
    }

    // A restart brings none of them back, and lists nothing twice.
    scene.kill_and_start_again();
    assert_eq!(scene.bind.next(QUIET), Err(PeerError::Silence), "sent");
    assert_eq!(listed(&scene.smsc).len(), 2);
    scene.smsc.assert_no_panic();
}

fn recipient(message: &SubmitSm) -> String {
    String::from_utf8_lossy(&message.destination_addr).into_owned()
}

/// A message waits for its receipt, and its text is damaged: the receipt is answered when the end is durable, and the row listed.
fn a_receipt_ends_what_cannot_be_read(database: Option<&Database>) {
    let mut scene = scene(database);
    let [number, text] = ["up-1", "up-2"].map(|theirs| scene.submit_as(theirs));
    for id in [&number, &text] {
        until("the attempt to be stored", || {
            (!scene.attempts(id).is_empty()).then_some(())
        });
    }
    scene.smsc.kill();
    damage(&scene.smsc, database, &number, &text);
    scene.smsc.start_again();
    scene.bind = scene.operator.accept_bind();
    scene.report("up-1", "DELIVRD");
    scene.report("up-2", "DELIVRD");
    // At once: nobody has a second to do it in.
    scene.kill_and_start_again();
    let ids: BTreeSet<String> = (listed(&scene.smsc).iter())
        .map(|row| row["id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(ids, BTreeSet::from([number, text]));
    let unfinished =
        "SELECT count(*) FROM msg m WHERE NOT EXISTS(SELECT 1 FROM fin f WHERE f.id = m.id)";
    assert_eq!(count(&scene, database, unfinished), 0, "unfinished");
    scene.smsc.assert_no_panic();
}

/// Messages are damaged while their receipts wait for their sender: nobody is told, and nothing waits any longer.
fn a_receipt_that_cannot_be_made_leaves_nothing_unfinished(database: Option<&Database>) {
    let mut scene = scene(database);
    let [number, text] = ["up-1", "up-2"].map(|theirs| scene.submit_as(theirs));
    // Both are on their way, and are not acknowledged.
    for theirs in ["up-1", "up-2"] {
        scene.report(theirs, "DELIVRD");
    }
    scene.smsc.kill();
    damage(&scene.smsc, database, &number, &text);
    scene.smsc.start_again();
    scene.bind = scene.operator.accept_bind();
    scene.esme = Peer::bind(scene.smsc.smpp(), "test", "test");
    until("the damaged rows to be listed", || {
        (listed(&scene.smsc).len() == 2).then_some(())
    });
    let active = "SELECT count(*) FROM active";
    until("nothing to be unfinished", || {
        (count(&scene, database, active) == 0).then_some(())
    });
    assert_eq!(scene.esme.next(QUIET), Err(PeerError::Silence), "told");
    scene.smsc.assert_no_panic();
}

fn count(scene: &Scene, database: Option<&Database>, sql: &str) -> i64 {
    match database {
        Some(database) => rows(database.url(), sql)[0].get(0),
        None => Connection::open(scene.smsc.data_dir().join("smsc.db"))
            .unwrap()
            .query_row(sql, [], |row| row.get(0))
            .unwrap(),
    }
}

/// Who may read sees the list, who may operate forgets what is on it.
fn damage_is_listed_and_forgotten(database: Option<&Database>) {
    let (scene, [number, text]) = with_damage(database);
    let smsc = &scene.smsc;
    let reader = smsc.admin().with_role("read", "reader");
    let operator = smsc.admin().with_role("operate", "operator");

    let list = reader.get("/v1/damaged");
    let ids: Vec<&str> = (list["rows"].as_array().unwrap().iter())
        .map(|row| row["id"].as_str().unwrap())
        .collect();
    assert_eq!(ids, [&*text, &*number], "the last id first");
    assert_eq!(list["next_before"], Value::Null);
    for row in list["rows"].as_array().unwrap() {
        assert_eq!(row["table"], "msg");
        assert!(
            row["found_at"].is_string() && row["why"].is_string(),
            "{row}"
        );
    }
    let seems = list["rows"][1]["legible"].as_str().unwrap();
    assert!(
        seems.starts_with("from ") && seems.contains("4478"),
        "{seems}"
    );
    let said = list.to_string();
    assert!(
        !said.contains("44780090") && !said.contains("44770090"),
        "{said}"
    );

    // By id, and page by page.
    let one = reader.get(&format!("/v1/damaged?id={number}"));
    assert_eq!(one["rows"], json!([list["rows"][1]]));
    assert_eq!(reader.get("/v1/damaged?id=7")["rows"], json!([]));
    let first = reader.get("/v1/damaged?limit=1");
    assert_eq!(first["rows"], json!([list["rows"][0]]));
    let before = first["next_before"].as_str().unwrap();
    assert_eq!(before, format!("msg/{text}"));
    let second = reader.get(&format!("/v1/damaged?limit=1&before={before}"));
    assert_eq!(second["rows"], json!([list["rows"][1]]));
    for wrong in [
        "id=x",
        "id=-1",
        "limit=0",
        "before=7",
        "before=msg/x",
        "table=msg",
    ] {
        let (status, problem) = reader.text(&format!("/v1/damaged?{wrong}")).unwrap();
        assert_eq!(status, 400, "{wrong}: {problem}");
    }

    let of_number = format!("/v1/damaged/msg/{number}");
    for path in ["/v1/damaged", &of_number] {
        assert_eq!(reader.call("DELETE", path, None).0, 403, "{path}");
    }
    for (path, expected) in [
        ("/v1/damaged/msg/7", 404),
        ("/v1/damaged/no_table/7", 404),
        ("/v1/damaged/msg/x", 400),
        ("/v1/damaged/msg%00/7", 400),
        ("/v1/damaged/msg'/7", 400),
        ("/v1/damaged?all=yes", 400),
    ] {
        let (status, problem) = operator.call("DELETE", path, None);
        assert_eq!(status, expected, "{path}: {problem}");
    }
    assert_eq!(listed(smsc).len(), 2);
    let done = json!({"count": 1, "pending": false});
    assert_eq!(operator.call("DELETE", &of_number, None), (200, done));
    assert_eq!(operator.call("DELETE", &of_number, None).0, 404, "once");
    assert_eq!(listed(smsc).len(), 1);
    let audit = smsc.admin().get("/v1/audit?path=/v1/damaged").to_string();
    assert!(audit.contains(&of_number), "{audit}");

    the_command_line_forgets_the_rest(smsc, &text);
}

fn the_command_line_forgets_the_rest(smsc: &Smsc, id: &str) {
    let shown = smsc.command(&["damaged"]);
    let is_shown = shown.stdout.contains(id) && shown.stdout.contains("checksum");
    assert!(shown.success && is_shown, "{}", shown.stdout);
    let shown = smsc.command(&["damaged", "--id", id, "--json"]);
    let shown: Value = serde_json::from_str(&shown.stdout).unwrap();
    assert_eq!(shown["rows"][0]["id"], id);
    let refused = smsc.command(&["damaged", "forget", "--table", "fin", "--id", id]);
    assert!(
        !refused.success && refused.stderr.contains(id),
        "{}",
        refused.stderr
    );
    let told = smsc.command(&["damaged", "forget", "--all"]);
    assert!(
        told.stdout.contains("1 rows are forgotten"),
        "{}{}",
        told.stdout,
        told.stderr
    );
    let shown = smsc.command(&["damaged"]).stdout;
    assert!(shown.contains("nothing is damaged"), "{shown}");
    until("the metric to fall", || {
        (smsc.admin().metric("smsc_store_damaged_rows") == Some(0.0)).then_some(())
    });
}

#[test]
fn only_sound_messages_are_sent_from_the_embedded_store() {
    only_sound_messages_are_sent(None);
}

#[test]
fn only_sound_messages_are_sent_from_postgresql() {
    only_sound_messages_are_sent(Some(&database()));
}

#[test]
fn a_receipt_ends_what_cannot_be_read_in_the_embedded_store() {
    a_receipt_ends_what_cannot_be_read(None);
}

#[test]
fn a_receipt_ends_what_cannot_be_read_in_postgresql() {
    a_receipt_ends_what_cannot_be_read(Some(&database()));
}

#[test]
fn a_receipt_that_cannot_be_made_leaves_nothing_unfinished_in_the_embedded_store() {
    a_receipt_that_cannot_be_made_leaves_nothing_unfinished(None);
}

#[test]
fn a_receipt_that_cannot_be_made_leaves_nothing_unfinished_in_postgresql() {
    a_receipt_that_cannot_be_made_leaves_nothing_unfinished(Some(&database()));
}

#[test]
fn damage_of_the_embedded_store_is_listed_and_forgotten() {
    damage_is_listed_and_forgotten(None);
}

#[test]
fn damage_of_postgresql_is_listed_and_forgotten() {
    damage_is_listed_and_forgotten(Some(&database()));
}

#[test]
fn a_new_store_has_checksums_and_fsck_knows_it() {
    let mut scene = scene(None);
    scene.submit_as("theirs");
    scene.report("theirs", "DELIVRD");
    scene.esme.deliver();
    scene.smsc.terminate();
    let said = scene.smsc.fsck();
    assert!(!said.contains("no checksum"), "{said}");
}
