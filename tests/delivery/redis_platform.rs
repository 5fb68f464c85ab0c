//! Messages that have ended, mirrored in Redis under the keys of the Redis SMS platform.

use std::collections::BTreeSet;

use deadpool_redis::redis::{Client, Connection, FromRedisValue, cmd};

use crate::harness::{Cluster, Peer, PrivateRedis, Scene, Smsc, redis_database, submit, until};
use smsc::smpp::CommandStatus;

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
    assert_eq!(list(&mut redis, "list:report"), [id.as_str()]);
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

#[test]
fn messages_wait_while_redis_is_down_and_are_in_each_list_once() {
    let mut server = PrivateRedis::start();
    let mut smsc = Smsc::new()
        .account("test", "test")
        .route("", "test:delivered")
        .toml(&format!("[redis]\nurl = {:?}\n{MIRROR}", server.url()))
        .start();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let first = esme.submit(submit("447700900123", "hello"));
    finished(&mut connect(&server.url()), 1);
    server.kill9();
    let second = esme.submit(submit("447700900123", "hello"));
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
    until("no event to wait", || {
        let waiting = smsc
            .admin()
            .metric("smsc_outbox_read_total{reader=\"redis_platform\"}");
        (waiting == Some(2.0)).then_some(())
    });
    assert_eq!(list(&mut redis, "list:Finish").len(), 2);
}

#[test]
fn one_of_three_nodes_mirrors_and_another_goes_on() {
    let database = redis_database();
    let toml = format!("[redis]\nurl = {:?}\n{MIRROR}", database.url());
    let mut cluster = Cluster::of(3)
        .short_lease()
        .each(move |smsc| {
            smsc.account("test", "test")
                .route("", "test:delivered")
                .toml(&toml)
        })
        .start();
    let mut redis = connect(&database.url());
    let mut esme = Peer::bind(cluster.nodes[2].smpp(), "test", "test");
    let mut sent: BTreeSet<String> = (0..5)
        .map(|_| esme.submit(submit("447700900123", "hello")))
        .collect();
    finished(&mut redis, 5);
    // The one that came first does the work for all.
    cluster.nodes[0].kill();
    sent.extend((0..5).map(|_| esme.submit(submit("447700900123", "hello"))));
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
