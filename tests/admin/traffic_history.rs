//! The history of messages: counted by operator, account and error, shown by REST and on the command line, and kept over a
//! restart.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use smsc::smpp::CommandStatus;

use crate::harness::{Admin, Scene, Smsc, receipt, send_receipt, until};

/// The minutes of a test are seconds.
const SHORT: &str = "[history]\nwrite_every = \"1s\"\n";

fn history(admin: &Admin, query: &str) -> Value {
    admin.get(&format!("/v1/history?{query}"))
}

/// accepted, refused, delivered and failed.
fn counts(of: &Value) -> [u64; 4] {
    ["accepted", "refused", "delivered", "failed"].map(|name| of[name].as_u64().unwrap())
}

/// The counts of the groups of an answer.
fn groups(history: &Value) -> BTreeMap<&str, [u64; 4]> {
    let groups = history["groups"].as_array().unwrap().iter();
    groups
        .map(|group| (group["key"].as_str().unwrap(), counts(&group["messages"])))
        .collect()
}

fn wait_for(admin: &Admin, expected: [u64; 4]) {
    until("everything to be counted", || {
        let now = history(admin, "");
        (counts(&now["total"]) == expected).then_some(())
    });
}

fn it_is_divided(admin: &Admin) {
    for step in ["minute", "hour"] {
        let all = history(admin, &format!("step={step}&by=operator"));
        assert_eq!(counts(&all["total"]), [3, 1, 2, 2], "{all}");
        assert_eq!(all["step"], step);
        assert!(all["total"]["answer_ms"].as_f64().unwrap() >= 0.0, "{all}");
        let points = all["points"].as_array().unwrap().iter();
        let sum: u64 = points.map(|point| counts(&point["messages"])[0]).sum();
        assert_eq!(sum, 3, "{all}");
        assert_eq!(
            groups(&all),
            BTreeMap::from([("operator:up", [3, 1, 2, 2])])
        );
        assert_eq!(all["nodes"].as_array().unwrap().len(), 1, "{all}");
    }
    let accounts = history(admin, "by=account");
    let expected = BTreeMap::from([("account:test", [3, 1, 2, 2])]);
    assert_eq!(groups(&accounts), expected);
    let errors = history(admin, "by=error");
    let expected = BTreeMap::from([("ESME_RINVDSTADR", [0, 1, 0, 1]), ("069", [0, 0, 0, 1])]);
    assert_eq!(groups(&errors), expected);
}

fn what_is_asked_for_together_is_what_failed(admin: &Admin) {
    let of_operator = history(admin, "operator=up&by=error");
    assert_eq!(counts(&of_operator["total"]), [3, 1, 2, 2]);
    assert_eq!(
        (
            &of_operator["only_failed"],
            &of_operator["groups_only_failed"]
        ),
        (&json!(false), &json!(true))
    );
    let expected = BTreeMap::from([("ESME_RINVDSTADR", [0, 0, 0, 1]), ("069", [0, 0, 0, 1])]);
    assert_eq!(groups(&of_operator), expected);
    let both = history(admin, "account=test&error=069&operator=up");
    assert_eq!(counts(&both["total"]), [0, 0, 0, 1]);
    assert_eq!(both["only_failed"], true);
    let before = history(admin, "since=2001-01-01&until=2001-01-02");
    assert_eq!(counts(&before["total"]), [0; 4]);
    assert_eq!(before["points"].as_array().unwrap().len(), 24);
}

fn lies_are_told_by_their_field(admin: &Admin) {
    for (query, field) in [
        ("by=country", "by"),
        ("step=day", "step"),
        ("since=soon", "since"),
        ("since=2001-01-01", "since"),
        ("limit=5", "limit"),
    ] {
        let (status, said) = admin.call("GET", &format!("/v1/history?{query}"), None);
        assert_eq!((status, &said["field"]), (400, &json!(field)), "{query}");
    }
    for query in ["account=nobody", "operator=nobody"] {
        let (status, said) = admin.call("GET", &format!("/v1/history?{query}"), None);
        assert_eq!(status, 404, "{said}");
    }
    let reader = admin.with_role("read", "reader");
    assert_eq!(reader.call("GET", "/v1/history", None).0, 200);
    let nobody = admin.bearer("none").call("GET", "/v1/history", None);
    assert_eq!(nobody.0, 401);
}

/// A row of an hour cannot be divided, so the sum of minutes is not, either.
fn the_last_hour_is_whole(admin: &Admin) {
    let all = history(admin, "step=hour");
    let mut points = all["points"].as_array().unwrap().iter().rev();
    let last = points.find(|point| counts(&point["messages"]) != [0; 4]);
    let at = last.unwrap()["at"].as_str().unwrap();
    let just_begun = at.replace(":00.000Z", ":01.000Z");
    let cut = history(admin, &format!("step=hour&until={just_begun}"));
    assert_eq!(counts(&cut["total"]), counts(&all["total"]), "{cut}");
}

/// More than are answered at once: the others wait for their turn.
fn questions_have_their_turn(admin: &Admin) {
    std::thread::scope(|scope| {
        for _ in 0..12 {
            scope.spawn(|| {
                let all = history(admin, "step=hour&by=account");
                assert_eq!(counts(&all["total"]), [3, 1, 2, 2], "{all}");
            });
        }
    });
}

fn the_command_line_shows_the_same(smsc: &Smsc) {
    let shown = smsc.command(&["history", "--by", "error"]);
    assert!(shown.success, "{}", shown.stderr);
    for part in ["ESME_RINVDSTADR", "069", "3 accepted, 1 refused"] {
        assert!(shown.stdout.contains(part), "{part}: {}", shown.stdout);
    }
    let csv = smsc.command(&["history", "--by", "account", "-o", "csv"]);
    let lines: Vec<&str> = csv.stdout.lines().collect();
    assert_eq!(lines.len(), 2, "{}", csv.stdout);
    assert!(lines[1].starts_with("account:test,3,1,2,2,"), "{lines:?}");
}

#[test]
fn messages_are_counted_by_the_minute_and_the_hour_and_outlive_the_process() {
    let mut scene = Scene::with("", |builder| builder.toml(SHORT));
    for theirs in ["a", "b"] {
        let id = scene.submit_as(theirs);
        scene.report(theirs, "DELIVRD");
        scene.smsc.wait_for_final(&id);
    }
    let refused = scene.submit();
    scene.refuse(CommandStatus::ESME_RINVDSTADR);
    scene.smsc.wait_for_final(&refused);
    let failed = scene.submit_as("c");
    let status = send_receipt(&mut scene.bind, receipt("id:c stat:UNDELIV err:069"));
    assert_eq!(status, CommandStatus::ESME_ROK);
    scene.smsc.wait_for_final(&failed);
    let admin = scene.smsc.admin();
    wait_for(&admin, [3, 1, 2, 2]);
    it_is_divided(&admin);
    what_is_asked_for_together_is_what_failed(&admin);
    lies_are_told_by_their_field(&admin);
    the_last_hour_is_whole(&admin);
    questions_have_their_turn(&admin);
    the_command_line_shows_the_same(&scene.smsc);

    // What was counted last is written when the process stops.
    let last = scene.submit_as("d");
    scene.report("d", "DELIVRD");
    scene.smsc.wait_for_final(&last);
    let Scene {
        mut smsc,
        bind,
        esme,
        operator: _operator,
    } = scene;
    drop((bind, esme));
    smsc.terminate();
    smsc.start_again();
    let admin = smsc.admin();
    wait_for(&admin, [4, 1, 3, 2]);
    until("the rows to be measured", || {
        let measured = ["rows", "octets"].map(|what| admin.metric(&format!("smsc_history_{what}")));
        measured
            .iter()
            .all(|value| *value > Some(0.0))
            .then_some(())
    });
    smsc.assert_no_panic();
}
