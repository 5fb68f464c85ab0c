//! Failures: counted by error, operator, account, country and hour, found by first digits and country, explained in words, and
//! replayed at a rate; over REST and on the command line, on both stores.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::harness::{
    Cluster, FakeOperator, Finished, Peer, Scene, Smsc, answer, next_submit, receipt, send_receipt,
    submit, taken,
};
use serde_json::{Value, json};
use smsc::smpp::CommandStatus;

/// Three messages to Germany and one to the United Kingdom: three are refused, and of one the operator reports a failure
/// with a code of its own.
struct FourFailures {
    refused_de: String,
    refused_gb: String,
    rejected_de: String,
    reported_de: String,
}

fn fail(smsc: &Smsc, esme: &mut Peer, link: &mut Peer) -> FourFailures {
    let mut refuse = |to: &str, status: CommandStatus| {
        let id = esme.submit(submit(to, "hello"));
        let (sequence, _) = next_submit(link);
        answer(link, sequence, status, "");
        smsc.wait_for_final(&id);
        id
    };
    let failures = FourFailures {
        refused_de: refuse("491701234567", CommandStatus::ESME_RINVDSTADR),
        refused_gb: refuse("447700900123", CommandStatus::ESME_RINVDSTADR),
        rejected_de: refuse("491701234568", CommandStatus::ESME_RX_P_APPN),
        reported_de: String::new(),
    };
    let id = esme.submit(submit("491701234569", "hello"));
    taken(link, "theirs");
    let status = send_receipt(link, receipt("id:theirs stat:UNDELIV err:069"));
    assert_eq!(status, CommandStatus::ESME_ROK);
    smsc.wait_for_final(&id);
    FourFailures {
        reported_de: id,
        ..failures
    }
}

/// The groups that this path shows, with their sizes.
fn groups(smsc: &Smsc, query: &str) -> BTreeMap<String, u64> {
    let report = smsc.admin().get(&format!("/v1/failures?{query}"));
    assert_eq!(report["complete"], true, "{report}");
    let groups = report["groups"].as_array().unwrap();
    let sizes = groups.iter().map(|group| {
        let key = group["key"].as_str().unwrap().to_owned();
        (key, group["messages"].as_u64().unwrap())
    });
    let sizes: BTreeMap<String, u64> = sizes.collect();
    let sum: u64 = sizes.values().sum();
    assert_eq!(report["messages"], sum, "{report}");
    let buckets = report["buckets"].as_array().unwrap();
    let in_buckets = buckets
        .iter()
        .map(|bucket| bucket["messages"].as_u64().unwrap());
    assert_eq!(in_buckets.sum::<u64>(), sum, "{report}");
    sizes
}

/// The ids that this path lists, sorted.
fn ids(smsc: &Smsc, path: &str) -> Vec<String> {
    let list = smsc.admin().get(path);
    let all = list["messages"].as_array().unwrap().iter();
    let mut ids: Vec<String> = all
        .map(|one| one["id"].as_str().unwrap().to_owned())
        .collect();
    ids.sort();
    ids
}

fn cli(smsc: &Smsc, arguments: &[&str]) -> Finished {
    let (url, admin) = (format!("http://{}", smsc.http()), smsc.admin());
    let whom = ["--url", &url, "--token", admin.token()];
    let finished = smsc.run(&[arguments, &whom].concat());
    assert!(finished.success, "{}", finished.stderr);
    finished
}

fn they_are_counted(smsc: &Smsc) {
    let sizes = |query: &str, wanted: &[(&str, u64)]| {
        let wanted: BTreeMap<String, u64> = wanted
            .iter()
            .map(|(key, size)| ((*key).to_owned(), *size))
            .collect();
        assert_eq!(groups(smsc, query), wanted, "{query}");
    };
    sizes("", &[("11", 2), ("101", 1), ("069", 1)]);
    sizes("by=country", &[("DE", 3), ("GB", 1)]);
    sizes("by=operator", &[("operator:up", 4)]);
    sizes("by=account&bucket=1h", &[("account:test", 4)]);
    assert_eq!(groups(smsc, "by=hour").values().sum::<u64>(), 4);
    sizes("to=49*", &[("11", 1), ("101", 1), ("069", 1)]);
    sizes("to=491701234568", &[("101", 1)]);
    sizes("country=gb", &[("11", 1)]);
    sizes("country=none", &[]);
    sizes("error=ESME_RINVDSTADR&by=country", &[("DE", 1), ("GB", 1)]);
    sizes("error=none", &[]);
    sizes("state=UNDELIVERABLE", &[("069", 1)]);
    sizes(
        "account=test&operator=up&by=country",
        &[("DE", 3), ("GB", 1)],
    );
    sizes("ended_until=2001-01-02&ended_since=2001-01-01", &[]);
}

fn a_group_leads_to_its_messages(smsc: &Smsc, failures: &FourFailures) {
    let sorted = |wanted: &[&String]| {
        let mut wanted: Vec<String> = wanted.iter().map(|id| (*id).clone()).collect();
        wanted.sort();
        wanted
    };
    let germans = sorted(&[
        &failures.refused_de,
        &failures.rejected_de,
        &failures.reported_de,
    ]);
    for list in ["dead-letters", "messages"] {
        for filter in ["to=49*", "to=%2B49*", "to=491*", "country=DE", "country=de"] {
            let path = format!("/v1/{list}?{filter}");
            assert_eq!(ids(smsc, &path), germans, "{path}");
        }
        let path = format!("/v1/{list}?country=GB&to=4477*");
        assert_eq!(ids(smsc, &path), sorted(&[&failures.refused_gb]), "{path}");
        for filter in ["to=49", "network=26201", "country=FR", "country=none"] {
            let path = format!("/v1/{list}?{filter}");
            assert!(ids(smsc, &path).is_empty(), "{path}");
        }
    }
    // The buckets with messages, with the filter of the largest group.
    let report = smsc.admin().get("/v1/failures");
    let error = report["groups"][0]["key"].as_str().unwrap();
    let mut found = Vec::new();
    for bucket in report["buckets"].as_array().unwrap() {
        if bucket["of_groups"][0] == 0 {
            continue;
        }
        let (since, until) = (&bucket["since"], &bucket["until"]);
        let (since, until) = (since.as_str().unwrap(), until.as_str().unwrap());
        let path =
            format!("/v1/dead-letters?error={error}&ended_since={since}&ended_until={until}");
        let of_bucket = ids(smsc, &path);
        assert_eq!(of_bucket.len() as u64, bucket["of_groups"][0], "{path}");
        found.extend(of_bucket);
    }
    found.sort();
    let wanted = sorted(&[&failures.refused_de, &failures.refused_gb]);
    assert_eq!(found, wanted);
}

fn errors_are_explained(smsc: &Smsc, failures: &FourFailures) {
    let report = smsc.admin().get("/v1/failures");
    let words = |error: &str| {
        let groups = report["groups"].as_array().unwrap();
        let group = groups.iter().find(|group| group["key"] == error).unwrap();
        group["in_words"].clone()
    };
    assert_eq!(words("11")["name"], "ESME_RINVDSTADR");
    assert_eq!(words("101")["name"], "ESME_RX_P_APPN");
    assert!(words("11")["cure"].as_str().unwrap().ends_with('.'));
    // Its meaning is in the operator's documentation.
    assert_eq!(words("069"), Value::Null);
    let message = |id: &str| smsc.admin().get(&format!("/v1/messages/{id}"));
    let refused = message(&failures.refused_gb);
    assert_eq!(refused["final"]["in_words"], words("11"), "{refused}");
    assert_eq!(refused["history"][0]["in_words"], words("11"), "{refused}");
    let reported = message(&failures.reported_de);
    for place in [&reported["final"], &reported["history"][0]] {
        assert!(place.get("in_words").is_none(), "{reported}");
    }
    let listed = smsc.admin().get("/v1/dead-letters?error=101");
    let of_list = &listed["messages"][0]["final"]["in_words"];
    assert_eq!(*of_list, words("101"), "{listed}");
    let shown = cli(smsc, &["message", "show", &failures.refused_gb]);
    for part in ["means", "ESME_RINVDSTADR: The operator", "usually helps"] {
        assert!(shown.stdout.contains(part), "{part}: {}", shown.stdout);
    }
}

fn lies_are_told_by_their_field(smsc: &Smsc) {
    let admin = smsc.admin();
    for (query, field) in [
        ("failures?by=week", "by"),
        ("failures?to=4*9", "to"),
        ("failures?to=*", "to"),
        ("failures?country=Germany", "country"),
        ("failures?state=SENT", "state"),
        ("failures?state=DELIVERED", "state"),
        ("failures?ended_since=soon", "ended_since"),
        ("failures?ended_since=2100-01-01", "ended_since"),
        ("failures?bucket=1s", "bucket"),
        ("failures?bucket=often", "bucket"),
        ("failures?limit=5", "limit"),
        ("dead-letters?to=ACME*", "to"),
        ("dead-letters?country=XX", "country"),
        ("messages?to=49**", "to"),
        ("messages?country=49", "country"),
    ] {
        let (status, said) = admin.call("GET", &format!("/v1/{query}"), None);
        assert_eq!((status, &said["field"]), (400, &json!(field)), "{query}");
        assert_eq!(said["type"], "urn:smsc:problem:bad-value", "{query}");
    }
    for query in ["account=nobody", "operator=nobody"] {
        let (status, said) = admin.call("GET", &format!("/v1/failures?{query}"), None);
        assert_eq!(status, 404, "{said}");
    }
    let reader = admin.with_role("read", "reader");
    assert_eq!(reader.call("GET", "/v1/failures", None).0, 200);
    assert_eq!(
        admin.bearer("none").call("GET", "/v1/failures", None).0,
        401
    );
}

fn the_command_line_shows_the_same(smsc: &Smsc) {
    let shown = cli(smsc, &["failures", "--by", "error"]);
    for part in ["ESME_RINVDSTADR", "4 messages have failed"] {
        assert!(shown.stdout.contains(part), "{part}: {}", shown.stdout);
    }
    let csv = cli(smsc, &["failures", "--by", "country", "-o", "csv"]);
    assert_eq!(csv.stdout.trim_end(), "country,messages\nDE,3\nGB,1");
    let german = ["failures", "--to", "49*", "--error", "none"];
    let none = cli(smsc, &german);
    let said = "nothing that fits has failed in this time";
    assert!(none.stdout.contains(said), "{}", none.stdout);
    let list = cli(
        smsc,
        &["dead-letter", "list", "--country", "GB", "-o", "csv"],
    );
    assert_eq!(list.stdout.lines().count(), 2, "{}", list.stdout);
    let found = cli(smsc, &["message", "find", "--to", "49*", "-o", "csv"]);
    assert_eq!(found.stdout.lines().count(), 4, "{}", found.stdout);
}

/// More than are answered at once: the others wait for their turn.
fn questions_have_their_turn(smsc: &Smsc) {
    let admin = smsc.admin();
    std::thread::scope(|scope| {
        for _ in 0..12 {
            scope.spawn(|| {
                let report = admin.get("/v1/failures?by=country");
                assert_eq!(report["messages"], 4, "{report}");
            });
        }
    });
}

fn all_of_it(smsc: &Smsc, failures: &FourFailures) {
    they_are_counted(smsc);
    questions_have_their_turn(smsc);
    a_group_leads_to_its_messages(smsc, failures);
    errors_are_explained(smsc, failures);
    the_command_line_shows_the_same(smsc);
    lies_are_told_by_their_field(smsc);
    smsc.assert_no_panic();
}

#[test]
fn failures_are_counted_and_explained() {
    let Scene {
        smsc,
        mut bind,
        mut esme,
        operator: _operator,
    } = Scene::new("");
    let failures = fail(&smsc, &mut esme, &mut bind);
    all_of_it(&smsc, &failures);
}

#[test]
fn failures_are_counted_and_explained_on_postgresql() {
    let operator = FakeOperator::listen();
    let address = operator.address();
    let cluster = Cluster::of(1)
        .each(move |smsc| smsc.relaying_to(address))
        .start();
    let mut link = operator.accept_bind();
    let smsc = &cluster.nodes[0];
    smsc.wait_for_binds("up", 1);
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let failures = fail(smsc, &mut esme, &mut link);
    all_of_it(smsc, &failures);
}

#[test]
fn a_replay_keeps_its_rate() {
    const MESSAGES: u32 = 7;
    let mut scene = Scene::new("");
    for _ in 0..MESSAGES {
        let id = scene.submit();
        scene.refuse(CommandStatus::ESME_RINVDSTADR);
        scene.smsc.wait_for_final(&id);
    }
    let admin = scene.smsc.admin();
    let order = |rate: u32| json!({ "filter": { "error": "11", "to": "44*" }, "rate": rate });
    for rate in [0, 10_001] {
        let (status, said) = admin.call("POST", "/v1/messages/replay", Some(&order(rate)));
        assert_eq!((status, &said["field"]), (400, &json!("rate")), "{said}");
    }
    let mut tried = order(2);
    tried["dry_run"] = json!(true);
    let (_, report) = admin.call("POST", "/v1/messages/replay", Some(&tried));
    assert_eq!(report["matched"], MESSAGES, "{report}");
    let (rate, began) = (2, Instant::now());
    let mut replayed = 0;
    while replayed < u64::from(MESSAGES) {
        let (status, report) = admin.call("POST", "/v1/messages/replay", Some(&order(rate)));
        assert_eq!((status, &report["refused"]), (200, &json!(0)), "{report}");
        let (done, left) = (&report["replayed"], &report["left"]);
        assert!(done.as_u64() > Some(0), "{report}");
        replayed += done.as_u64().unwrap();
        assert_eq!(
            left.as_u64(),
            Some(u64::from(MESSAGES) - replayed),
            "{report}"
        );
    }
    // One at once, and half a second for each of the others.
    assert!(began.elapsed() >= Duration::from_millis(500) * (MESSAGES - 1));
    let again = [
        "message", "replay", "--error", "11", "--rate", "100", "--yes",
    ];
    let done = cli(&scene.smsc, &again);
    assert!(done.stdout.contains("0 messages fit"), "{}", done.stdout);
    scene.smsc.assert_no_panic();
}

#[test]
fn a_slow_replay_keeps_its_limit() {
    let mut scene = Scene::new("");
    for _ in 0..8 {
        let id = scene.submit();
        scene.refuse(CommandStatus::ESME_RINVDSTADR);
        scene.smsc.wait_for_final(&id);
    }
    // More than one request sends: older messages are not the next ones.
    let slow = [
        "replay", "--error", "11", "--limit", "6", "--rate", "1", "--yes",
    ];
    let done = cli(&scene.smsc, &slow);
    assert!(done.stdout.contains("6 of 6 messages"), "{}", done.stdout);
    let left = cli(&scene.smsc, &["replay", "--error", "11", "--dry-run"]);
    assert!(left.stdout.contains("2 messages fit"), "{}", left.stdout);
    scene.smsc.assert_no_panic();
}
