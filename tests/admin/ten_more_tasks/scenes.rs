//! The ten more tasks: what there is to do, how it is done by commands, and how it is seen that it was done.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::{Admin, Peer, Simulator, Smsc, WallClock, until, within};
use crate::tasks::desk::{Desk, days_ago, empty, now, numbers, submit_to};

/// What is usual is known after ten seconds, each half a window, with fifty answers.
const SHORT: &str = "[incidents]\nwindow = \"2s\"\nlook_every = \"500ms\"\nmin_messages = 10\n\
    slow_answer = \"200ms\"\n[history]\nwrite_every = \"1s\"\n";
const USUAL_AFTER: Duration = Duration::from_secs(14);
const BETWEEN: Duration = Duration::from_millis(20);
/// How `up` is: as usual, refusing everything, and slow.
const WELL: &str = "--password old";
const REFUSING: &str = "--password old --reject-percent 100 --reject-status ESME_RINVDSTADR";
const SLOW: &str = "--password old --latency 700ms";
const SLOW_MS: u64 = 700;
const WEEK_S: i64 = 7 * 86_400;
/// So many messages went a week ago.
const A_WEEK_AGO: usize = 137;
const PAUSED: [&str; 3] = ["north", "south", "west"];

/// Through the SMSC went something a week ago, and it is empty now.
pub fn open() -> Desk {
    let clock = WallClock::new();
    clock.set(-WEEK_S);
    let operator = Simulator::new().start();
    let mut former = clock.of(empty().toml(SHORT)).start();
    send_and_tidy_up(&former, &operator);
    assert!(former.terminate().success());
    let (data, backup) = (former.data_dir(), former.file("backup.db"));
    let [data, copy] = [&data, &backup].map(|path| path.to_str().unwrap());
    let copied = former.run(&["backup", "--data-dir", data, copy]);
    assert!(copied.success, "{}", copied.stderr);
    let now = empty().toml(SHORT).restored_from(&backup);
    Desk::open(now, "console_more_tasks.js")
}

fn send_and_tidy_up(smsc: &Smsc, operator: &Simulator) {
    let admin = smsc.admin();
    let made = json!({
        "address": operator.address().to_string(), "system_id": "smsc", "password": "secret",
    });
    admin.put("/v1/operators/up", &made);
    let route = json!({ "prefix": "4479", "to": ["up"] });
    admin.put("/v1/routes/4479", &route);
    admin.put("/v1/accounts/former", &json!({ "password": "pw" }));
    smsc.wait_for_binds("up", 1);
    let mut esme = Peer::bind(smsc.smpp(), "former", "pw");
    for to in numbers("447911906", A_WEEK_AGO) {
        let id = submit_to(&mut esme, &to);
        smsc.wait_for_final(&id);
    }
    esme.unbind();
    wait_for_history(&admin, A_WEEK_AGO as u64);
    for resource in ["accounts/former", "routes/4479", "operators/up"] {
        let (status, said) = admin.call("DELETE", &format!("/v1/{resource}"), None);
        assert_eq!(status, 200, "{resource}: {said}");
    }
}

/// Waits until so many messages that operators have accepted are in the history of the last day.
fn wait_for_history(admin: &Admin, accepted: u64) {
    until("the history", || {
        let history = admin.get("/v1/history");
        (history["total"]["accepted"] == accepted).then_some(())
    });
}

/// With one blank between words.
fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// All whole numbers of a text.
fn whole_numbers(text: &str) -> Vec<u64> {
    let text = text.replace(',', "");
    let parts = text.split(|one: char| !one.is_ascii_digit());
    parts.filter_map(|part| part.parse().ok()).collect()
}

/// Sends messages, and waits until they are final.
fn send(desk: &Desk, account: &str, numbers: &[String]) {
    for id in desk.submit(account, numbers) {
        desk.smsc.wait_for_final(&id);
    }
}

/// All that is listed there, page by page.
fn messages(desk: &Desk, path: &str) -> Vec<Value> {
    let (admin, mut all, mut before) = (desk.admin(), Vec::new(), String::new());
    loop {
        let found = admin.get(&format!("{path}{before}"));
        all.extend(found["messages"].as_array().unwrap().iter().cloned());
        let Some(next) = found["next_before"].as_str() else {
            return all;
        };
        before = format!("&before={next}");
    }
}

// === a network that fails ===

/// Everything to one country was refused; a few others were delivered, also those of another customer, or have failed as well.
pub fn a_failing_network(desk: &mut Desk) -> Value {
    let admin = desk.admin();
    admin.put("/v1/accounts/other", &json!({ "password": "pw" }));
    admin.put("/v1/routes/49", &json!({ "prefix": "49", "to": ["up"] }));
    desk.replace_and_bind_up(REFUSING);
    desk.ids = desk.submit("shop", &numbers("491701234", 6));
    desk.ends();
    desk.replace_and_bind_up(WELL);
    send(desk, "shop", &numbers("999123", 2));
    send(desk, "shop", &numbers("447700907", 2));
    send(desk, "other", &numbers("447700909", 3));
    until("the failures", || {
        let report = admin.get("/v1/failures?by=country");
        let mut groups = report["groups"].as_array()?.iter();
        let german = groups.find(|group| group["key"] == "DE")?;
        (report["messages"] == 8 && german["messages"] == 6).then_some(())
    });
    json!({ "minutes": 10 })
}

pub fn find_network(desk: &mut Desk, known: &Value) -> String {
    let since = format!("{}m", known["minutes"]);
    let how = ["failures", "--since", &since, "--by"];
    let countries = desk.tell(&[&how[..], &["country", "-o", "csv"]].concat());
    // Below the titles the most frequent one comes first.
    let country = countries.lines().nth(1).unwrap();
    let country = country.split(',').next().unwrap();
    let errors = desk.tell(&[&how[..], &["error", "--country", country]].concat());
    format!("{country}: {errors}")
}

pub fn is_that_network(desk: &mut Desk, learnt: &str) {
    for message in desk.ends() {
        let attempt = &message["history"][0];
        assert_eq!(attempt["status"], "ESME_RINVDSTADR", "{message}");
    }
    assert!(learnt.starts_with("DE"), "{learnt}");
    assert!(learnt.contains("ESME_RINVDSTADR"), "{learnt}");
}

// === the cause of one message ===

pub fn one_of_the_failed(desk: &mut Desk) -> Value {
    json!({ "message": desk.ids[0] })
}

pub fn find_cause(desk: &mut Desk, known: &Value) -> String {
    desk.tell(&["why", known["message"].as_str().unwrap()])
}

pub fn is_that_cause(desk: &mut Desk, learnt: &str) {
    let learnt = plain(learnt);
    let failed = messages(desk, "/v1/dead-letters?to=491701234000");
    let words = &failed[0]["final"]["in_words"];
    assert_eq!(words["name"], "ESME_RINVDSTADR");
    for part in ["name", "meaning", "cure"] {
        let part = words[part].as_str().unwrap();
        assert!(learnt.contains(&plain(part)), "{part}: {learnt}");
    }
}

// === one error again, slowly ===

pub fn failures_of_one_error(desk: &mut Desk) -> Value {
    json!({ "error": "ESME_RINVDSTADR", "count": desk.ids.len(), "rate": 2 })
}

pub fn replay_slowly(desk: &mut Desk, known: &Value) -> String {
    let (error, rate) = (known["error"].as_str().unwrap(), known["rate"].to_string());
    let which = ["message", "replay", "--error", error, "--rate", &rate];
    desk.tell(&[&which[..], &["--dry-run"]].concat());
    desk.tell(&[&which[..], &["--yes"]].concat())
}

pub fn are_replayed_slowly(desk: &mut Desk, learnt: &str) {
    assert!(learnt.contains("6 of 6"), "{learnt}");
    let failed = desk.ends().into_iter();
    desk.ids = failed
        .map(|message| message["replayed_as"].as_str().unwrap().to_owned())
        .collect();
    let copies = desk.ends();
    let began = copies.iter().map(|copy| {
        assert_eq!(copy["state"], "ACCEPTED", "{copy}");
        let at: jiff::Timestamp = copy["accepted_at"].as_str().unwrap().parse().unwrap();
        at.as_millisecond()
    });
    let began: Vec<i64> = began.collect();
    let took = began.iter().max().unwrap() - began.iter().min().unwrap();
    // Half a second for each but the first, and a little less for where the clock was read.
    assert!(took >= 2_000, "{began:?}");
    for other in messages(desk, "/v1/dead-letters?to=999123*") {
        assert!(other["replayed_as"].is_null(), "{other}");
    }
}

// === a slow operator ===

/// `up` was quick, and is slow now; the messages of the task are those since then.
pub fn a_slow_operator(desk: &mut Desk) -> Value {
    let admin = desk.admin();
    let mut esme = Peer::bind(desk.smsc.smpp(), "shop", "pw");
    let mut send = || submit_to(&mut esme, "447700908123");
    let (mut last, began) = (send(), Instant::now());
    while began.elapsed() < USUAL_AFTER {
        within(BETWEEN, || None::<()>);
        last = send();
    }
    // What is without an answer when the bind is lost would wait for long.
    desk.smsc.wait_for_final(&last);
    desk.replace_and_bind_up(SLOW);
    desk.ids.clear();
    until("an operator to be named", || {
        desk.ids.push(send());
        let found = admin.get("/v1/incidents");
        let mut incidents = found["incidents"].as_array()?.iter();
        incidents
            .any(|one| one["kind"] == "slow_answers")
            .then_some(())
    });
    esme.unbind();
    Value::Null
}

pub fn find_slow(desk: &mut Desk, _: &Value) -> String {
    desk.tell(&["incident", "list"])
}

pub fn is_the_slow_one(desk: &mut Desk, learnt: &str) {
    assert!(learnt.contains("operator up answers in"), "{learnt}");
    for message in desk.ends() {
        assert_eq!(message["queue"], "operator:up");
        let took = message["history"][0]["latency_ms"].as_u64();
        assert!(took >= Some(SLOW_MS - 100), "{message}");
    }
    desk.replace_and_bind_up(WELL);
}

// === many at once ===

pub fn three_operators(desk: &mut Desk) -> Value {
    let (admin, place) = (desk.admin(), Simulator::new().start());
    let operator = json!({
        "address": place.address().to_string(), "system_id": "smsc", "password": "secret",
    });
    desk.backup = Some(place);
    for name in PAUSED {
        admin.put(&format!("/v1/operators/{name}"), &operator);
        desk.smsc.wait_for_binds(name, 1);
    }
    json!({ "operators": PAUSED })
}

pub fn pause(desk: &mut Desk, _: &Value) -> String {
    desk.tell(&[&["operator", "suspend"][..], &PAUSED].concat())
}

pub fn are_paused(desk: &mut Desk, _: &str) {
    let admin = desk.admin();
    let bound = |name: &str| {
        let binds = admin.get("/v1/binds");
        let mut binds = binds["binds"].as_array().unwrap().iter();
        binds.any(|bind| bind["name"] == name && bind["state"] == "bound")
    };
    for name in PAUSED {
        until("the binds to be closed", || (!bound(name)).then_some(()));
    }
    assert!(bound("up"), "nobody has paused it");
}

// === one customer's month ===

pub fn a_month_of_two_customers(desk: &mut Desk) -> Value {
    let admin = desk.admin();
    let sent = sent_by_shop(desk);
    until("the usage of all", || {
        let usage = admin.get("/v1/usage?account=shop&by=account");
        (usage["usage"][0]["messages"] == sent).then_some(())
    });
    let since = now().strftime("%Y-%m-01").to_string();
    json!({ "account": "shop", "since": since })
}

fn sent_by_shop(desk: &Desk) -> u64 {
    messages(desk, "/v1/messages?account=shop&limit=1000").len() as u64
}

pub fn count_month(desk: &mut Desk, known: &Value) -> String {
    let [account, since] = ["account", "since"].map(|key| known[key].as_str().unwrap());
    desk.tell(&[
        "usage",
        "--account",
        account,
        "--since",
        since,
        "--by",
        "account",
    ])
}

pub fn are_counted(desk: &mut Desk, learnt: &str) {
    let sent = sent_by_shop(desk);
    assert!(whole_numbers(learnt).contains(&sent), "{sent}: {learnt}");
    assert!(!learnt.contains("other"), "{learnt}");
}

// === the sheet for a customer ===

pub fn a_customer(_: &mut Desk) -> Value {
    json!({ "account": "shop" })
}

pub fn get_sheet(desk: &mut Desk, known: &Value) -> String {
    desk.tell(&["account", "sheet", known["account"].as_str().unwrap()])
}

/// Whoever does what it says is bound.
pub fn leads_to_a_bind(_: &mut Desk, learnt: &str) {
    let sheet = plain(learnt);
    let (_, smpp) = sheet.split_once(" smpp host ").unwrap();
    let (host, rest) = smpp.split_once(", port ").unwrap();
    let (port, _) = rest.split_once(", without TLS").unwrap();
    let (_, login) = sheet.split_once(" system_id ").unwrap();
    let (system_id, _) = login.split_once(' ').unwrap();
    let address = format!("{host}:{port}").parse().unwrap();
    Peer::bind(address, system_id, "pw").unbind();
}

// === today, and a week ago ===

pub fn today_and_a_week_ago(desk: &mut Desk) -> Value {
    let accepted = accepted_now(desk);
    let last = *accepted.iter().max().unwrap();
    // The page has whole minutes, of which the last one was over five seconds ago.
    let is_shown = within(Duration::from_secs(90), || {
        let until = (now().as_millisecond() - 5_000).div_euclid(60_000) * 60_000;
        (until > last + 2_000).then_some(())
    });
    assert!(is_shown.is_some());
    wait_for_history(&desk.admin(), accepted.len() as u64);
    let [today, then, after] = [0, 7, 6].map(days_ago);
    json!({ "today": today, "then": then, "after": after, "operator": "operator:up" })
}

/// When operators accepted messages since yesterday: each that is listed so has gone there once. Unix milliseconds.
fn accepted_now(desk: &Desk) -> Vec<i64> {
    let all = messages(
        desk,
        &format!("/v1/messages?limit=1000&since={}", days_ago(1)),
    );
    let accepted = all.iter().filter(|message| {
        let queue = message["queue"].as_str().unwrap();
        let is_good = ["ACCEPTED", "DELIVERED"].contains(&message["state"].as_str().unwrap());
        is_good && queue.starts_with("operator:")
    });
    let times = accepted.map(|message| {
        let at = message["final"]["at"].as_str().unwrap();
        at.parse::<jiff::Timestamp>().unwrap().as_millisecond()
    });
    times.collect()
}

pub fn compare(desk: &mut Desk, known: &Value) -> String {
    let [today, then, after] = ["today", "then", "after"].map(|key| known[key].as_str().unwrap());
    let now = desk.tell(&["history", "--by", "operator", "--since", today]);
    let before = [
        "history", "--by", "operator", "--since", then, "--until", after,
    ];
    now + &desk.tell(&before)
}

pub fn has_both(desk: &mut Desk, learnt: &str) {
    let (learnt, now) = (whole_numbers(learnt), accepted_now(desk).len());
    for count in [now, A_WEEK_AGO] {
        assert!(learnt.contains(&(count as u64)), "{count}: {learnt:?}");
    }
}

// === what broke it ===

/// Somebody has changed the route; another change came after that.
pub fn a_change_that_broke_a_route(desk: &mut Desk) -> Value {
    let admin = desk.admin();
    let anna = admin.with_role("admin", "anna");
    let bad = json!({ "prefix": "447", "to": ["test:failed"] });
    anna.put("/v1/routes/447", &bad);
    let innocent = json!({ "password": "pw", "max_binds": 3 });
    admin.put("/v1/accounts/other", &innocent);
    json!({ "route": "447" })
}

pub fn find_change(desk: &mut Desk, known: &Value) -> String {
    let resource = format!("routes/{}", known["route"].as_str().unwrap());
    let versions = desk.tell(&["config", "versions", "--resource", &resource, "-o", "csv"]);
    // Below the titles the newest comes first.
    let newest = versions.lines().nth(1).unwrap();
    desk.tell(&["config", "show", newest.split(',').next().unwrap()])
}

pub fn is_that_change(desk: &mut Desk, learnt: &str) {
    let log = desk.admin().get("/v1/audit?path=/v1/routes/447&token=anna");
    let version = &log["entries"][0]["version"];
    assert!(version.is_u64(), "{log}");
    let (learnt, version) = (learnt.to_lowercase(), format!("version {version}"));
    for part in [version.as_str(), "anna", "route 447 changed", "test:failed"] {
        assert!(learnt.contains(part), "{part}: {learnt}");
    }
}
