//! The ten tasks: what there is to do, how it is done by commands, and how it is seen that it was done.

use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{Simulator, until, within};
use crate::tasks::desk::{Desk, days_ago, now, numbers};

pub fn nothing(_: &mut Desk) -> Value {
    Value::Null
}

// === why a message was not delivered ===

pub fn a_failed_message(desk: &mut Desk) -> Value {
    let number = "99912345";
    desk.ids = desk.submit("shop", &[number.to_owned()]);
    desk.ends();
    let admin = desk.admin();
    until("the index", || {
        let found = admin.get(&format!("/v1/messages?to={number}"));
        found["messages"][0].is_object().then_some(())
    });
    json!({ "number": number })
}

pub fn find_out_why(desk: &mut Desk, known: &Value) -> String {
    let number = known["number"].as_str().unwrap();
    let found = desk.tell(&["message", "list", "--to", number]);
    let mut words = found.split_whitespace();
    let is_id = |word: &&str| word.len() > 15 && word.bytes().all(|one| one.is_ascii_digit());
    desk.tell(&["message", "show", words.find(is_id).unwrap()])
}

pub fn says_why(desk: &mut Desk, learnt: &str) {
    let message = desk.ends().remove(0);
    let known = [&message["state"], &message["queue"], &message["id"]];
    for part in known.map(|one| one.as_str().unwrap().to_lowercase()) {
        assert!(learnt.to_lowercase().contains(&part), "{part}: {learnt}");
    }
    assert_eq!(message["state"], "UNDELIVERABLE");
}

// === another password of an operator ===

pub fn another_password(desk: &mut Desk) -> Value {
    desk.replace_up("--password new");
    json!({ "password": "new" })
}

pub fn rotate_password(desk: &mut Desk, _: &Value) -> String {
    let password = "password=new.password";
    desk.tell(&["operator", "edit", "up", "--set-file", password, "--yes"])
}

pub fn is_bound_again(desk: &mut Desk, _: &str) {
    desk.smsc.wait_for_binds("up", 1);
    desk.ids = desk.submit("shop", &numbers("447700901", 1));
    assert_eq!(desk.ends()[0]["state"], "ACCEPTED");
    assert_eq!(desk.up.wait_for(1)[0].destination, "447700901000");
}

// === a queue to another operator ===

pub fn a_queue_that_stands(desk: &mut Desk) -> Value {
    let backup = Simulator::new().start();
    let operator = json!({
        "address": backup.address().to_string(), "system_id": "smsc", "password": "secret",
    });
    desk.backup = Some(backup);
    let admin = desk.admin();
    admin.put("/v1/operators/backup", &operator);
    desk.smsc.wait_for_binds("backup", 1);
    assert_eq!(admin.post("/v1/queues/operator:up/suspend").0, 200);
    desk.ids = desk.submit("shop", &numbers("447700902", 5));
    json!({ "from": "operator:up", "to": "operator:backup", "count": 5 })
}

pub fn move_queue(desk: &mut Desk, known: &Value) -> String {
    let [from, to] = ["from", "to"].map(|key| known[key].as_str().unwrap());
    desk.tell(&["queue", "move", from, "--queue", to])
}

pub fn went_elsewhere(desk: &mut Desk, learnt: &str) {
    assert!(learnt.contains("5 messages"), "{learnt}");
    for message in desk.ends() {
        assert_eq!(message["state"], "ACCEPTED");
        assert_eq!(message["queue"], "operator:backup");
    }
    desk.backup.as_ref().unwrap().wait_for(5);
    let (status, said) = desk.admin().post("/v1/queues/operator:up/resume");
    assert_eq!(status, 200, "{said}");
}

// === the failures of one operator again ===

pub fn failures_of_an_operator(desk: &mut Desk) -> Value {
    let refuses = "--password new --reject-percent 100 --reject-status ESME_RINVDSTADR";
    desk.replace_and_bind_up(refuses);
    desk.ids = desk.submit("shop", &numbers("447700903", 4));
    desk.ends();
    desk.replace_and_bind_up("--password new");
    let admin = desk.admin();
    until("the dead letters", || {
        let found = admin.get("/v1/dead-letters?operator=up");
        (found["messages"].as_array()?.len() == 4).then_some(())
    });
    json!({ "operator": "up", "since": days_ago(1), "count": 4 })
}

pub fn replay_failures(desk: &mut Desk, known: &Value) -> String {
    let [operator, since] = ["operator", "since"].map(|key| known[key].as_str().unwrap());
    let which = [
        "message",
        "replay",
        "--operator",
        operator,
        "--since",
        since,
    ];
    desk.tell(&[&which[..], &["--dry-run"]].concat());
    desk.tell(&[&which[..], &["--yes"]].concat())
}

pub fn are_replayed(desk: &mut Desk, learnt: &str) {
    assert!(learnt.contains("4 of 4"), "{learnt}");
    let copies = desk.ends().into_iter();
    desk.ids = copies
        .map(|message| message["replayed_as"].as_str().unwrap().to_owned())
        .collect();
    for copy in desk.ends() {
        assert_eq!(copy["state"], "ACCEPTED", "{copy}");
        assert_eq!(copy["queue"], "operator:up");
    }
    desk.up.wait_for(4);
}

// === a token for a colleague ===

pub fn give_token(desk: &mut Desk, _: &Value) -> String {
    desk.tell(&[
        "token",
        "add",
        "colleague",
        "--role",
        "read",
        "--days",
        "30",
    ])
}

pub fn only_reads(desk: &mut Desk, learnt: &str) {
    let theirs = desk.admin().bearer(learnt.trim());
    let queue = theirs.get("/v1/queues/operator:up");
    assert_eq!(queue["suspended"], false);
    assert_eq!(theirs.post("/v1/queues/operator:up/suspend").0, 403);
}

// === a bad route ===

pub fn a_bad_route(desk: &mut Desk) -> Value {
    let bad = json!({ "prefix": "447", "to": ["test:failed"] });
    desk.admin().put("/v1/routes/447", &bad);
    json!({ "route": "447" })
}

pub fn roll_back(desk: &mut Desk, _: &Value) -> String {
    let resource = ["--resource", "routes/447"];
    let versions = desk.tell(&[&["config", "versions"][..], &resource, &["-o", "csv"]].concat());
    // Below the titles the newest is the bad one.
    let good = versions.lines().nth(2).unwrap();
    let good = good.split(',').next().unwrap();
    desk.tell(&[&["config", "rollback", good, "--yes"][..], &resource].concat())
}

pub fn goes_where_it_went(desk: &mut Desk, _: &str) {
    desk.ids = desk.submit("shop", &numbers("447700904", 1));
    let message = desk.ends().remove(0);
    assert_eq!(
        (&message["state"], &message["queue"]),
        (&json!("ACCEPTED"), &json!("operator:up"))
    );
}

// === the noisy account ===

pub fn a_noisy_account(desk: &mut Desk) -> Value {
    let admin = desk.admin();
    admin.put("/v1/accounts/loud", &json!({ "password": "pw" }));
    desk.ids = desk.submit("loud", &numbers("447700905", 60));
    desk.ends();
    until("the usage of all", || {
        let usage = admin.get("/v1/usage?account=loud&by=account");
        (usage["usage"][0]["messages"] == 60).then_some(())
    });
    Value::Null
}

pub fn find_noisy(desk: &mut Desk, _: &Value) -> String {
    let usage = desk.tell(&["usage", "--by", "account", "-o", "json"]);
    let usage: Value = serde_json::from_str(&usage).unwrap();
    let sums = usage["usage"].as_array().unwrap().iter();
    let most = sums.max_by_key(|sum| sum["messages"].as_u64()).unwrap();
    most["account"].as_str().unwrap().to_owned()
}

pub fn is_the_noisy_one(_: &mut Desk, learnt: &str) {
    assert_eq!(learnt, "loud");
}

// === a node out of service ===

pub fn a_watched_node(desk: &mut Desk) -> Value {
    let admin = desk.admin();
    desk.watch = Some(std::thread::spawn(move || {
        // Time enough for a browser to start and come as far as that.
        within(Duration::from_secs(180), || {
            (admin.text("/health/ready").ok()?.0 == 503).then_some(())
        })
        .is_some()
    }));
    Value::Null
}

pub fn drain(desk: &mut Desk, _: &Value) -> String {
    let said = desk.tell(&["drain"]);
    // It is seen before the next command, which makes the node ready again.
    let watch = desk.watch.as_ref().unwrap();
    until("the node not to be ready", || {
        watch.is_finished().then_some(())
    });
    desk.tell(&["drain", "--resume"]);
    said
}

pub fn was_drained(desk: &mut Desk, learnt: &str) {
    assert!(learnt.contains("drained"), "{learnt}");
    let watch = desk.watch.take().unwrap();
    assert!(watch.join().unwrap(), "it was not ready for a while");
    let admin = desk.admin();
    until("it to be ready again", || {
        (admin.text("/health/ready").ok()?.0 == 200).then_some(())
    });
    assert_eq!(admin.get("/v1/drain")["draining"], false);
    desk.smsc.wait_for_binds("up", 1);
}

// === the last week ===

pub fn a_week(desk: &mut Desk) -> Value {
    let file = desk.smsc.file("week.csv");
    json!({ "since": days_ago(7), "file": file.display().to_string() })
}

pub fn export(desk: &mut Desk, known: &Value) -> String {
    let [since, file] = ["since", "file"].map(|key| known[key].as_str().unwrap());
    let now = now().to_string();
    desk.tell(&[
        "export", "--since", since, "--until", &now, "--format", "csv", "--out", file,
    ]);
    file.to_owned()
}

pub fn has_all(desk: &mut Desk, learnt: &str) {
    let text = std::fs::read_to_string(learnt).unwrap();
    let all = desk.admin().get("/v1/messages?limit=1000");
    let all = all["messages"].as_array().unwrap();
    assert!(all.len() > 70, "{} messages", all.len());
    for message in all {
        let id = message["id"].as_str().unwrap();
        let row = text.lines().find(|line| line.starts_with(id));
        let state = message["state"].as_str().unwrap();
        assert!(row.is_some_and(|row| row.contains(state)), "{id}: {row:?}");
    }
    assert_eq!(text.lines().count(), all.len() + 1, "{text}");
}
