//! Beside the platform's own programs: its report forwarder and its data pump (`tests/clients/redis_platform.py`).

use std::collections::BTreeSet;

use rusqlite::Connection as Database;
use serde_json::Value;

use super::{ask, connect, finished, list};
use crate::harness::hooks::{Hook, HookReply, Hooks};
use crate::harness::{
    Peer, Process, RedisDatabase, Scene, Simulator, Smsc, database, migrate, python_script,
    redis_database, send_receipt, submit, submit_from, ucs2, until,
};

const MESSAGES: usize = 300;
const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// A program of the platform, which runs until this is dropped.
struct Program {
    process: Process,
    folder: tempfile::TempDir,
}

/// What a pump has put into its database.
#[derive(Debug)]
struct Pumped {
    id: String,
    mt: Value,
    report: Value,
    failed: Value,
}

impl Program {
    fn start(redis: &RedisDatabase, arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = redis.url();
        let address = url.strip_prefix("redis://").unwrap();
        let mut command = python_script("redis_platform.py", &[&[address], arguments].concat());
        command.current_dir(folder.path());
        let process = Process::start(arguments[0], command, &folder.path().join("log"));
        Self { process, folder }
    }

    fn forwarder(redis: &RedisDatabase, business: &Hooks) -> Self {
        Self::start(redis, &["forwarder", &business.url("127.0.0.1")])
    }

    fn pump(redis: &RedisDatabase, more: &[&str]) -> Self {
        Self::start(redis, &[&["pump", "history.db"], more].concat())
    }

    /// What is in the database of a pump, once it has so many rows.
    fn history(&mut self, count: usize) -> Vec<Pumped> {
        let path = self.folder.path().join("history.db");
        until(
            &format!("{count} messages in the platform's database"),
            || {
                self.process.assert_running();
                let rows = rows_of(&path).unwrap_or_default();
                (rows.len() >= count).then_some(rows)
            },
        )
    }
}

fn rows_of(path: &std::path::Path) -> rusqlite::Result<Vec<Pumped>> {
    let database = Database::open(path)?;
    let mut rows = database.prepare("SELECT id, mt, report, failed FROM history")?;
    let json = |text: String| serde_json::from_str(&text).unwrap();
    let rows = rows.query_map([], |row| {
        Ok(Pumped {
            id: row.get(0)?,
            mt: json(row.get(1)?),
            report: json(row.get(2)?),
            failed: json(row.get(3)?),
        })
    })?;
    rows.collect()
}

/// Waits until the platform's keys of all messages are gone; what is left are counters and our own.
fn all_keys_are_gone(redis: &RedisDatabase) {
    let mut connection = connect(&redis.url());
    let mut left = Vec::new();
    let kinds = [
        "MT:",
        "Mo:",
        "MT-seqno:",
        "MT-ts:",
        "Submit",
        "Report:",
        "set:",
        "list:",
    ];
    until("the keys of messages to be gone", || {
        left = ask::<Vec<String>>(&mut connection, &["KEYS", "*"]);
        left.retain(|key| kinds.iter().any(|kind| key.starts_with(kind)));
        left.is_empty().then_some(())
    });
}

/// 300 messages, of which an operator reports each.
fn none_of_300_reports_is_lost(more: &str) {
    let redis = redis_database();
    let operator = Simulator::new().start();
    let business = Hooks::taking();
    let mut forwarder = Program::forwarder(&redis, &business);
    let mut pump = Program::pump(&redis, &[]);
    let url = redis.url();
    let smsc = Smsc::new()
        .relaying_to(operator.address())
        .toml(&format!(
            "{more}\n[redis]\nurl = {url:?}\n[redis_platform]\nenabled = true\nforwarder = \"platform\"\n"
        ))
        .start();
    smsc.wait_for_binds("up", 1);
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    for _ in 0..MESSAGES {
        esme.submit(submit("447700900123", "hello"));
    }
    let history = pump.history(MESSAGES);
    let forwarded: BTreeSet<String> = (business.came().iter())
        .map(Hook::json)
        .filter(|posted| {
            posted["report"]["state"] == "DELIVERED" && posted["mt"]["text"] == "hello"
        })
        .map(|posted| posted["id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(forwarded.len(), MESSAGES, "none is lost");
    let ids: BTreeSet<String> = history.iter().map(|one| one.id.clone()).collect();
    assert_eq!(ids, forwarded);
    for one in history {
        assert_eq!(one.report["state"], "DELIVERED", "{one:?}");
        assert_eq!(one.mt["text"], "hello", "{one:?}");
        assert_eq!(one.failed, Value::Null);
    }
    forwarder.process.assert_running();
    all_keys_are_gone(&redis);
    smsc.assert_no_panic();
}

#[test]
fn no_report_is_lost_beside_the_platforms_own_forwarder_and_pump() {
    none_of_300_reports_is_lost("");
}

#[test]
fn no_report_is_lost_beside_them_with_postgresql() {
    let database = database();
    migrate(database.url());
    none_of_300_reports_is_lost(&format!("[postgres]\nurl = {:?}", database.url()));
}

/// Where we forward, an id comes into list:Finish when the business system has its report: here by a callback.
#[test]
fn no_id_is_finished_before_we_have_forwarded_its_report() {
    let redis = redis_database();
    let operator = Simulator::new().start();
    let url = redis.url();
    let business = Hooks::answering(move |hook, _| {
        let told = hook.json();
        let finished = list(&mut connect(&url), "list:Finish");
        if finished
            .iter()
            .any(|id| told["data"]["message_id"] == id[..])
        {
            HookReply::Status(400, String::new())
        } else {
            HookReply::ok()
        }
    });
    let callback = format!(
        "deliver_by = \"callback\"\ncallback_url = {:?}\ncallback_secrets = \"{SECRET}\"\ncallback_allow_private = [\"127.0.0.1\"]",
        business.url("127.0.0.1")
    );
    let url = redis.url();
    let smsc = Smsc::new()
        .account_with("test", "test", &callback)
        .operator("up", operator.address())
        .route("", "up")
        .toml(&format!(
            "[redis]\nurl = {url:?}\n[redis_platform]\nenabled = true\n"
        ))
        .start();
    smsc.wait_for_binds("up", 1);
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let ids: BTreeSet<String> = (0..20)
        .map(|_| esme.submit(submit("447700900123", "hello")))
        .collect();
    let mut connection = connect(&redis.url());
    let found: BTreeSet<String> = finished(&mut connection, ids.len()).into_iter().collect();
    assert_eq!(found, ids);
    let came = business.came();
    let told: BTreeSet<&str> = (came.iter().map(Hook::id)).collect();
    assert_eq!(
        (came.len(), told.len()),
        (ids.len(), ids.len()),
        "each at the first attempt"
    );
    let waiting = list(&mut connection, "list:report");
    assert_eq!(waiting, Vec::<String>::new(), "all are forwarded");
}

/// A pump that takes ids and leaves the keys: they go by themselves.
#[test]
fn keys_go_when_the_pump_has_taken_them() {
    let redis = redis_database();
    let url = redis.url();
    let toml =
        format!("[redis]\nurl = {url:?}\n[redis_platform]\nenabled = true\nkeep_taken = \"5s\"\n");
    let mut scene = Scene::with("", |smsc| smsc.toml(&toml));
    let id = scene.submit_as("their-7");
    scene.report("their-7", "DELIVRD");
    scene.esme.deliver();
    let refused = scene.submit();
    scene.refuse(smsc::smpp::CommandStatus::ESME_RINVDSTADR);
    scene.esme.deliver();
    let mut connection = connect(&url);
    let ids: BTreeSet<String> = finished(&mut connection, 2).into_iter().collect();
    assert_eq!(ids, BTreeSet::from([id.clone(), refused.clone()]));
    let there: i64 = ask(&mut connection, &["EXISTS", &format!("MT:{id}")]);
    assert_eq!(there, 1, "nobody has taken it");
    let mut pump = Program::pump(&redis, &["--only-takes"]);
    let history = pump.history(2);
    let of = |id: &str| history.iter().find(|one| one.id == *id).unwrap();
    assert_eq!(of(&id).report["state"], "DELIVERED");
    assert_eq!(of(&refused).failed, "ESME_RINVDSTADR");
    all_keys_are_gone(&redis);
    until("the ids to be counted", || {
        let counted = scene.metric("smsc_redis_platform_pumped_total");
        (counted >= 2.0).then_some(())
    });
}

/// A program that stores each message as a string, and puts its id into the list with the number 0.
#[test]
fn messages_may_be_strings_in_the_list_with_the_number_0() {
    let redis = redis_database();
    let url = redis.url();
    let toml = format!(
        "[redis]\nurl = {url:?}\n[redis_platform]\nenabled = true\naliases = true\naccount = \"test\"\nforwarder = \"platform\"\n"
    );
    let texts = [
        r#"{"sp_number": "10655", "user_numbers": ["8613000000001"], "content": "你好", "report_flag": 1}"#,
        r#"{"from": "10655", "to": "8613000000002", "text": "hello"}"#,
        r#"{"sp_number": "10655", "user_numbers": ["1", "2"], "content": "to two"}"#,
    ];
    let put = Program::start(
        &redis,
        &[&["submit", "list:Pending-0"], &texts[..]].concat(),
    );
    let mut connection = connect(&url);
    until("the program to have put them", || {
        (list(&mut connection, "list:Pending-0").len() == texts.len()).then_some(())
    });
    drop(put);
    let mut scene = Scene::with("", |smsc| smsc.toml(&toml));
    let mut taken: Vec<_> = (0..2)
        .map(|at| scene.take(&format!("their-{at}")))
        .collect();
    taken.sort_by_key(|one| one.destination_addr.clone());
    assert_eq!(taken[0].destination_addr, "8613000000001");
    assert_eq!(taken[0].source_addr, "10655");
    assert_eq!(
        (taken[0].data_coding, taken[0].short_message.clone()),
        (8, ucs2("你好"))
    );
    assert_eq!(taken[1].short_message, "hello");
    let why: String = until("the third to be refused", || {
        ask(&mut connection, &["GET", "Submit-Failed:3"])
    });
    assert_eq!(why, "user_numbers of MT:3 is not one text");
    for theirs in ["their-0", "their-1"] {
        scene.report(theirs, "DELIVRD");
    }
    let business = Hooks::taking();
    let _forwarder = Program::forwarder(&redis, &business);
    let mut pump = Program::pump(&redis, &[]);
    let mut history = pump.history(3);
    history.sort_by(|one, other| one.id.cmp(&other.id));
    for (one, text) in history.iter().zip(texts) {
        assert_eq!(one.mt, text, "as it was stored");
    }
    assert_eq!(history[0].report["state"], "DELIVERED");
    assert_eq!(history[2].failed, why);
    all_keys_are_gone(&redis);
}

/// A message of a handset goes the way of a report.
#[test]
fn a_message_of_a_handset_waits_for_the_platforms_forwarder() {
    let redis = redis_database();
    let url = redis.url();
    let toml = format!(
        "[redis]\nurl = {url:?}\n[redis_platform]\nenabled = true\nforwarder = \"platform\"\n"
    );
    let mut scene = Scene::of("addresses = [\"12345\"]", "", |smsc| smsc.toml(&toml));
    let status = send_receipt(&mut scene.bind, submit_from("447700900123", "12345"));
    assert_eq!(status, smsc::smpp::CommandStatus::ESME_ROK);
    scene.esme.deliver();
    let mut connection = connect(&url);
    let id = until("the end of the message", || {
        let ids = list(&mut connection, "list:MO-ID");
        let id = ids.into_iter().next()?;
        let state: Option<String> = ask(&mut connection, &["HGET", &format!("Mo:{id}"), "state"]);
        (state.as_deref() == Some("DELIVERED")).then_some(id)
    });
    assert_eq!(list(&mut connection, "list:Finish"), Vec::<String>::new());
    let _: String = ask(&mut connection, &["RPOPLPUSH", "list:MO-ID", "list:Finish"]);
    let highest: String = ask(&mut connection, &["GET", "mo-gid"]);
    assert_eq!(highest, id);
}
