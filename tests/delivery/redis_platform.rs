//! Messages that have ended, mirrored in Redis under the keys of the Redis SMS platform.

mod ids;
mod programs;
mod roles;

use std::collections::BTreeSet;

use deadpool_redis::redis::{Client, Connection, FromRedisValue, cmd};
use serde_json::json;

use crate::harness::{
    Cluster, Peer, PrivateRedis, Scene, Smsc, database, migrate, redis_database, submit_quietly,
    until,
};
use smsc::smpp::{CommandStatus, SubmitSm};

const MIRROR: &str = "[redis_platform]\nenabled = true\n";

fn connect(url: &str) -> Connection {
    Client::open(url).unwrap().get_connection().unwrap()
}

fn ask<T: FromRedisValue>(redis: &mut Connection, words: &[&str]) -> T {
    let mut command = cmd(words[0]);
    words[1..].iter().for_each(|word| {
        command.arg(*word);
    });
    command.query(redis).unwrap()
}

/// The ids of a list, the newest first.
fn list(redis: &mut Connection, key: &str) -> Vec<String> {
    ask(redis, &["LRANGE", key, "0", "-1"])
}

fn finished(redis: &mut Connection, count: usize) -> Vec<String> {
    until(&format!("{count} finished messages in Redis"), || {
        let ids = list(redis, "list:Finish");
        (ids.len() >= count).then_some(ids)
    })
}

#[test]
fn ended_messages_have_the_keys_of_the_platform() {
    let database = redis_database();
    let toml = format!("[redis]\nurl = {:?}\n{MIRROR}", database.url());
    let mut scene = Scene::with("", |smsc| smsc.toml(&toml));
    let mut redis = connect(&database.url());
    let id = scene.submit_as("their-7");
    scene.report("their-7", "DELIVRD");
    let refused = scene.submit();
    scene.refuse(CommandStatus::ESME_RINVDSTADR);
    until("the report to wait for its account", || {
        (list(&mut redis, "list:report") == [id.as_str()]).then_some(())
    });
    assert_eq!(list(&mut redis, "list:Finish"), Vec::<String>::new());
    scene.esme.deliver();
    scene.esme.deliver();
    let ids: BTreeSet<String> = finished(&mut redis, 2).into_iter().collect();
    assert_eq!(ids, BTreeSet::from([id.clone(), refused.clone()]));

    let mut field = |key: &str, name: &str| -> Option<String> {
        ask(&mut redis, &["HGET", &format!("{key}:{id}"), name])
    };
    assert_eq!(field("MT", "to").as_deref(), Some("447700900123"));
    assert_eq!(field("MT", "account").as_deref(), Some("test"));
    assert_eq!(field("MT", "text").as_deref(), Some("hello"));
    assert_eq!(field("MT", "state").as_deref(), Some("DELIVERED"));
    assert_eq!(field("Report", "state").as_deref(), Some("DELIVERED"));
    assert_eq!(list(&mut redis, "list:report"), Vec::<String>::new());
    let seqno: String = ask(&mut redis, &["GET", &format!("MT-seqno:{id}")]);
    assert_eq!(seqno, "their-7");
    let ts: String = ask(&mut redis, &["GET", &format!("MT-ts:{id}")]);
    let back: String = ask(&mut redis, &["GET", &format!("Submit:{seqno}:{ts}")]);
    assert_eq!(back, id);
    let why: String = ask(&mut redis, &["GET", &format!("Submit-Failed:{refused}")]);
    assert_eq!(why, "ESME_RINVDSTADR");
    let failed: Vec<String> = ask(&mut redis, &["SMEMBERS", "set:Response-fail"]);
    assert_eq!(failed, [refused.as_str()]);
    let highest: String = ask(&mut redis, &["GET", "MT-gid"]);
    assert_eq!(highest, "4611686018427387904", "above all ids here");
    let life: i64 = ask(&mut redis, &["PTTL", &format!("MT:{id}")]);
    assert!(life > 0, "it goes with the message: {life}");
}

/// Waits until a set has exactly these.
fn members(redis: &mut Connection, set: &str, wanted: &[&str]) {
    until(&format!("{wanted:?} in {set}"), || {
        let found: Vec<String> = ask(redis, &["SMEMBERS", set]);
        (found == wanted).then_some(())
    });
}

#[test]
fn what_happens_before_the_end_is_there_at_once() {
    let database = redis_database();
    let toml = format!("[redis]\nurl = {:?}\n{MIRROR}", database.url());
    let mut scene = Scene::with("", |smsc| smsc.toml(&toml));
    let mut redis = connect(&database.url());
    let id = scene.submit();
    members(&mut redis, "set:submited", &[&id]);
    scene.take("their-7");
    members(&mut redis, "set:Response-succ", &[&id]);
    members(&mut redis, "set:submited", &[]);
    let mut field =
        |name: &str| -> Option<String> { ask(&mut redis, &["HGET", &format!("MT:{id}"), name]) };
    assert_eq!(field("state").as_deref(), Some("ENROUTE"));
    assert_eq!(field("text").as_deref(), Some("hello"));
    assert_eq!(field("finished"), None);
    let ts: String = ask(&mut redis, &["GET", &format!("MT-ts:{id}")]);
    let back: String = ask(&mut redis, &["GET", &format!("Submit:their-7:{ts}")]);
    assert_eq!(back, id);
    assert_eq!(list(&mut redis, "list:Finish"), Vec::<String>::new());
    scene.report("their-7", "DELIVRD");
    scene.esme.deliver();
    assert_eq!(finished(&mut redis, 1), [id.as_str()]);
    let left: Vec<String> = ask(&mut redis, &["SMEMBERS", "set:Response-succ"]);
    assert_eq!(left, Vec::<String>::new(), "the report is there");
}

/// A text of three parts is one message, which is taken when the last of its parts is.
fn a_divided_text_is_one(more: &str) {
    let database = redis_database();
    let url = database.url();
    let toml = format!("{more}\n[redis]\nurl = {url:?}\n{MIRROR}");
    let mut scene = Scene::with("long_messages = \"udh\"", |smsc| {
        smsc.with_api().toml(&toml)
    });
    let mut redis = connect(&url);
    let api = scene.smsc.api_of("test", "send");
    let text = "a long text that needs more than one message ".repeat(8);
    let order = json!({"to": "447700900123", "from": "12345", "text": text});
    let (status, said) = api.call("POST", "/v1/messages", Some(&order));
    assert_eq!(status, 202, "{said}");
    let id = said["messages"][0]["id"].as_str().unwrap().to_owned();
    members(&mut redis, "set:submited", &[&id]);
    scene.take("p1");
    scene.take("p2");
    members(&mut redis, "set:submited", &[&id]);
    members(&mut redis, "set:Response-succ", &[]);
    scene.take("p3");
    members(&mut redis, "set:Response-succ", &[&id]);
    members(&mut redis, "set:submited", &[]);
    let mut text = |key: &str| -> Option<String> { ask(&mut redis, &["GET", key]) };
    let mut belongs = || {
        let seqno = text(&format!("MT-seqno:{id}"));
        assert_eq!(seqno.as_deref(), Some("p3"));
        let ts = text(&format!("MT-ts:{id}")).unwrap();
        for part in ["p1", "p2", "p3"] {
            let of_part = text(&format!("Submit:{part}:{ts}"));
            assert_eq!(of_part.as_deref(), Some(&id[..]), "{part}");
        }
    };
    belongs();
    for part in ["p1", "p2", "p3"] {
        scene.report(part, "DELIVRD");
    }
    let mut other = connect(&url);
    assert_eq!(finished(&mut other, 1), [id.as_str()], "and no part");
    belongs();
    let field = |key: &str, name: &str| -> Option<String> {
        let mut redis = connect(&url);
        ask(&mut redis, &["HGET", &format!("{key}:{id}"), name])
    };
    assert_eq!(field("MT", "operator").as_deref(), Some("operator:up"));
    assert_eq!(field("Report", "state").as_deref(), Some("DELIVERED"));
    let waiting = list(&mut other, "list:report");
    assert_eq!(
        waiting,
        Vec::<String>::new(),
        "its account wants no receipt"
    );
    scene.smsc.assert_no_panic();
}

#[test]
fn a_divided_text_is_one_message_with_its_parts() {
    a_divided_text_is_one("");
}

#[test]
fn a_divided_text_is_one_message_with_its_parts_in_postgresql() {
    let database = database();
    migrate(database.url());
    a_divided_text_is_one(&format!("[postgres]\nurl = {:?}", database.url()));
}

#[test]
fn a_key_of_another_type_costs_its_own_entry_only() {
    let database = redis_database();
    let toml = format!("[redis]\nurl = {:?}\n{MIRROR}", database.url());
    let mut scene = Scene::with("", |smsc| smsc.toml(&toml));
    let mut redis = connect(&database.url());
    let _: String = ask(&mut redis, &["SET", "list:report", "not a list"]);
    let _: i64 = ask(&mut redis, &["LPUSH", "MT-gid", "not a text"]);
    let id = scene.submit_as("their-7");
    scene.report("their-7", "DELIVRD");
    scene.esme.deliver();
    assert_eq!(finished(&mut redis, 1), [id.as_str()]);
    let state: String = ask(&mut redis, &["HGET", &format!("Report:{id}"), "state"]);
    assert_eq!(state, "DELIVERED");
    until("the write that was left out to be counted", || {
        let refused = scene.metric("smsc_redis_platform_refused_writes_total");
        (refused > 0.0).then_some(())
    });
    let kept: String = ask(&mut redis, &["GET", "list:report"]);
    assert_eq!(kept, "not a list");
    assert_eq!(list(&mut redis, "MT-gid"), ["not a text"]);
}

/// A message whose sender wants no receipt.
fn without_receipt() -> SubmitSm {
    submit_quietly("447700900123", "hello")
}

/// Waits until so many events were passed on since the process began.
fn read_from_outbox(smsc: &Smsc, count: f64) {
    let name = "smsc_outbox_read_total{reader=\"redis_platform\"}";
    until("the events to be read", || {
        (smsc.admin().metric(name) == Some(count)).then_some(())
    });
}

#[test]
fn messages_wait_while_redis_is_down_and_are_in_each_list_once() {
    let mut server = PrivateRedis::start();
    let mut smsc = Smsc::new()
        .account("test", "test")
        .route("", "test:delivered")
        .toml(&format!("[redis]\nurl = {:?}\n{MIRROR}", server.url()))
        .start();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let first = esme.submit(without_receipt());
    finished(&mut connect(&server.url()), 1);
    // A killed server would leave its event in the outbox, beside the one below.
    read_from_outbox(&smsc, 1.0);
    server.kill9();
    let second = esme.submit(without_receipt());
    smsc.wait_for_final(&second);
    smsc.kill();
    // What a lost answer leaves: the event is there although the message was mirrored.
    let store = rusqlite::Connection::open(smsc.data_dir().join("smsc.db")).unwrap();
    let octets = first.parse::<u64>().unwrap().to_be_bytes();
    let again = "INSERT INTO outbox(reader, kind, at, ids) VALUES(9, 1, 1, ?1)";
    store.execute(again, [octets.as_slice()]).unwrap();
    drop(store);
    server.restart();
    let mut redis = connect(&server.url());
    let own = format!("MT:{first}");
    let _: i64 = ask(&mut redis, &["HSET", &own, "finished", "1"]);
    let _: i64 = ask(&mut redis, &["LPUSH", "list:Finish", &first]);
    smsc.start_again();
    assert_eq!(finished(&mut redis, 2), [second, first]);
    read_from_outbox(&smsc, 2.0);
    assert_eq!(list(&mut redis, "list:Finish").len(), 2);
}

#[test]
fn one_of_three_nodes_mirrors_and_another_goes_on() {
    let database = redis_database();
    let toml = format!("[redis]\nurl = {:?}\n{MIRROR}", database.url());
    let mut cluster = Cluster::of(3).short_lease().delivering(toml).start();
    let mut redis = connect(&database.url());
    let mut esme = Peer::bind(cluster.nodes[2].smpp(), "test", "test");
    let mut sent: BTreeSet<String> = (0..5).map(|_| esme.submit(without_receipt())).collect();
    finished(&mut redis, 5);
    // The one that came first does the work for all.
    cluster.nodes[0].kill();
    sent.extend((0..5).map(|_| esme.submit(without_receipt())));
    let ids = finished(&mut redis, 10);
    assert_eq!(ids.len(), 10, "each once: {ids:?}");
    assert_eq!(ids.into_iter().collect::<BTreeSet<_>>(), sent);
}

/// Puts a message where a program of the platform would, and gives its id.
fn push(redis: &mut Connection, list: &str, to: &str) -> String {
    let id: u64 = ask(redis, &["INCR", "MT-gid"]);
    let id = id.to_string();
    let key = format!("MT:{id}");
    let _: i64 = ask(
        redis,
        &["HSET", &key, "from", "Bank", "to", to, "text", "hello"],
    );
    let _: i64 = ask(redis, &["LPUSH", list, &id]);
    id
}

#[test]
fn ids_of_pending_lists_are_taken_in_once_whatever_is_killed() {
    const EACH: usize = 40;
    const KILLS: usize = 4;
    let database = redis_database();
    let section = "account = \"test\"\npending_lists = 2\n";
    let mut smsc = Smsc::new()
        .account("test", "test")
        .route("", "test:delivered")
        .toml(&format!(
            "[redis]\nurl = {:?}\n{MIRROR}{section}",
            database.url()
        ))
        .start();
    let mut redis = connect(&database.url());
    let mut pushed = BTreeSet::new();
    for kill in 1..=KILLS {
        for at in 0..EACH {
            let list = format!("list:Pending-{}", at % 2 + 1);
            pushed.insert(push(&mut redis, &list, "447700900123"));
        }
        until("some to be taken in", || {
            let left = list(&mut redis, "list:Pending-2").len();
            (left < EACH / 2).then_some(())
        });
        smsc.kill();
        if kill == 1 {
            // As if it had been killed between the commit and the end of the submission.
            let ids = pushed.iter().take(3);
            ids.for_each(|id| {
                let _: i64 = ask(&mut redis, &["LPUSH", "list:Processing", id]);
            });
        }
        smsc.start_again();
    }
    let bad = push(&mut redis, "list:Pending-1", "");
    pushed.insert(bad.clone());
    let ids = finished(&mut redis, pushed.len());
    assert_eq!(ids.len(), pushed.len(), "each once: {ids:?}");
    assert_eq!(ids.iter().cloned().collect::<BTreeSet<_>>(), pushed);
    until("nothing to be under way", || {
        list(&mut redis, "list:Processing").is_empty().then_some(())
    });
    let why: String = ask(&mut redis, &["GET", &format!("Submit-Failed:{bad}")]);
    assert_eq!(why, format!("MT:{bad} has no field to"));
    let submitted: Vec<String> = ask(&mut redis, &["SMEMBERS", "set:submited"]);
    assert_eq!(submitted, Vec::<String>::new(), "all have ended");
    let store = rusqlite::Connection::open(smsc.data_dir().join("smsc.db")).unwrap();
    let messages: i64 = store
        .query_row("SELECT count(*) FROM msg", [], |row| row.get(0))
        .unwrap();
    assert_eq!(
        messages as usize,
        pushed.len() - 1,
        "each became one message"
    );
}

#[test]
fn what_cannot_be_read_goes_to_the_dead_letters_and_stops_nothing() {
    let database = redis_database();
    let section = "account = \"test\"\npending_lists = 3\n";
    let mut redis = connect(&database.url());
    let _: String = ask(&mut redis, &["SET", "list:Pending-1", "no list"]);
    let _: String = ask(&mut redis, &["SET", "MT:77", "no hash"]);
    let mut octets = |key: &str, value: &[u8]| {
        let mut command = cmd("LPUSH");
        command.arg(key).arg(value);
        let _: i64 = command.query(&mut redis).unwrap();
    };
    octets("list:Pending-2", b"77");
    octets("list:Pending-2", &[0xff, 0xfe, b'1']);
    octets("list:Pending-2", &[b'9'; 100]);
    octets("list:Pending-2", &vec![b'8'; 4_000_000]);
    let huge = push(&mut redis, "list:Pending-2", "447700900123");
    let text = "x".repeat(4_000_000);
    let _: i64 = ask(&mut redis, &["HSET", &format!("MT:{huge}"), "text", &text]);
    let binary = push(&mut redis, "list:Pending-2", "447700900123");
    let mut command = cmd("HSET");
    command
        .arg(format!("MT:{binary}"))
        .arg("text")
        .arg(&[0xc3_u8, 0x28][..]);
    let _: i64 = command.query(&mut redis).unwrap();
    let good = push(&mut redis, "list:Pending-3", "447700900123");
    let smsc = Smsc::new()
        .account("test", "test")
        .route("", "test:delivered")
        .toml(&format!(
            "[redis]\nurl = {:?}\n{MIRROR}{section}",
            database.url()
        ))
        .start();
    let ids: BTreeSet<String> = finished(&mut redis, 3).into_iter().collect();
    assert_eq!(ids, BTreeSet::from([good, binary.clone(), huge.clone()]));
    let why: String = ask(&mut redis, &["GET", &format!("Submit-Failed:{huge}")]);
    assert_eq!(why, format!("text of MT:{huge} is too long to be read"));
    let why: String = ask(&mut redis, &["GET", &format!("Submit-Failed:{binary}")]);
    assert_eq!(why, "text is not in UTF-8");
    type Entry = (String, Vec<(Vec<u8>, Vec<u8>)>);
    let dead: Vec<Entry> = ask(&mut redis, &["XRANGE", "smsc:dead-letters", "-", "+"]);
    let mut dead: Vec<(Vec<u8>, String)> = dead
        .into_iter()
        .map(|(_, fields)| {
            (
                fields[0].1.clone(),
                String::from_utf8(fields[1].1.clone()).unwrap(),
            )
        })
        .collect();
    dead.sort();
    let no_id = "the id must be 1 to 40 letters, digits, -, _ and .".to_owned();
    let expected = [
        (
            b"77".to_vec(),
            "MT:77 is a string, and no JSON object".to_owned(),
        ),
        (
            vec![b'8'; 200],
            "the entry has 4000000 octets; an id has 40 at most".to_owned(),
        ),
        (vec![b'9'; 100], no_id.clone()),
        (vec![0xff, 0xfe, b'1'], no_id),
    ];
    assert_eq!(dead, expected);
    assert_eq!(list(&mut redis, "list:Processing"), Vec::<String>::new());
    let counted = smsc
        .admin()
        .metric("smsc_redis_platform_dead_letters_total");
    assert_eq!(counted, Some(4.0));
    // The connection is the one of the beginning.
    assert!(
        !smsc.log().contains("until Redis is back"),
        "{}",
        smsc.log()
    );
}
