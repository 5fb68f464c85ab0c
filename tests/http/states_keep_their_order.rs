//! No state of a message is called back behind a later one, whatever fails meanwhile: the receiver, the process, a
//! node. What is left out for that is in the callback of the final state.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::json;

use crate::callbacks_for_each_state::{about, keys, kind, kinds, scene};
use crate::harness::hooks::{Hook, HookReply, Hooks};
use crate::harness::{
    Admin, Cluster, Scene, Simulator, Smsc, SmscBuilder, database, migrate, until, within,
};

/// From the end of the load to the last callback; it takes a fraction.
const LIMIT: Duration = Duration::from_secs(120);

fn superseded(smsc: &Smsc) -> f64 {
    let name = "smsc_callbacks_total{account=\"test\",result=\"superseded\"}";
    smsc.admin().metric(name).unwrap_or(0.0)
}

#[test]
fn a_state_that_failed_does_not_come_behind_the_final_one() {
    let hooks = Hooks::answering(|hook, _| {
        if hook.json()["type"] == "message.sent" {
            HookReply::status(500)
        } else {
            HookReply::ok()
        }
    });
    let mut scene = scene(&keys("callback", &["sent"], &hooks));
    let id = scene.submit_as("A1");
    hooks.wait_for(1);
    scene.report("A1", "DELIVRD");
    until("the state to be left out", || {
        (superseded(&scene.smsc) == 1.0).then_some(())
    });
    let came = hooks.came();
    let at = came
        .iter()
        .position(|hook| kind(hook) == "message.delivered")
        .unwrap();
    assert_eq!(at, came.len() - 1, "{:?}", kinds(&came));
    assert_eq!(about(&came[at]), id);
    assert!(
        came[at].json()["data"]["sent_at"].is_string(),
        "what was left out is here"
    );
    // It is done: nothing is tried any more, and nothing has failed.
    until_all_is_done(&scene.smsc);
    let failed = scene.smsc.admin().get("/v1/dead-letters");
    assert_eq!(failed["messages"], json!([]), "{failed}");
}

fn until_all_is_done(smsc: &Smsc) {
    until("empty queues", || {
        let queues = smsc.admin().get("/v1/queues");
        let mut queues = queues["queues"].as_array().unwrap().iter();
        queues
            .all(|queue| {
                queue["waiting"] == 0 && queue["scheduled"] == 0 && queue["in_flight"] == 0
            })
            .then_some(())
    });
}

fn no_state_comes_behind_the_final_one_after_a_kill(more: impl FnOnce(SmscBuilder) -> SmscBuilder) {
    let works = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&works);
    let hooks = Hooks::answering(move |_, _| {
        if seen.load(Ordering::Relaxed) {
            HookReply::ok()
        } else {
            HookReply::status(500)
        }
    });
    let keys = keys("callback", &["queued", "sent"], &hooks);
    let mut scene = Scene::of(&keys, "", |builder| more(builder.with_api()));
    let id = scene.submit_as("A1");
    let failed = |wanted: &str| {
        let came = hooks.came();
        came.iter().any(|hook| kind(hook) == wanted).then_some(())
    };
    until("a state that fails", || failed("message.sent"));
    scene.report("A1", "DELIVRD");
    until("the end that fails", || failed("message.delivered"));
    scene.smsc.kill();
    // What was under way when it was killed counts as come before.
    hooks.wait_until_idle();
    works.store(true, Ordering::Relaxed);
    let before = hooks.came().len();
    scene.smsc.start_again();
    scene.smsc.wait_until_told(&id);
    // One may have been left out before the kill.
    until_all_is_done(&scene.smsc);
    assert!(superseded(&scene.smsc) <= 2.0);
    let came = hooks.came();
    assert_eq!(kinds(&came[before..]), ["message.delivered"]);
    scene.smsc.assert_no_panic();
}

#[test]
fn after_a_kill_no_state_comes_behind_the_final_one() {
    no_state_comes_behind_the_final_one_after_a_kill(|builder| builder);
}

#[test]
fn after_a_kill_no_state_comes_behind_the_final_one_from_postgresql() {
    let database = database();
    migrate(database.url());
    let store = format!("[postgres]\nurl = {:?}", database.url());
    no_state_comes_behind_the_final_one_after_a_kill(|builder| builder.toml(&store));
}

/// The place of a callback among those of its message.
fn rank(hook: &Hook) -> u64 {
    let said = hook.json();
    let attempt = said["data"]["attempt"].as_u64().unwrap_or_default();
    match said["type"].as_str().unwrap() {
        "message.queued" => 0,
        "message.retrying" => attempt * 2,
        "message.sent" => attempt * 2 + 1,
        _ => u64::MAX,
    }
}

/// Submits messages to so many numbers; their ids.
fn submit_many(api: &Admin, numbers: Range<usize>) -> Vec<String> {
    let to: Vec<String> = numbers
        .map(|number| format!("4477009{number:05}"))
        .collect();
    let order = json!({ "to": to, "from": "ACME", "text": "hello", "receipt": true });
    let (status, said) = api.call("POST", "/v1/messages", Some(&order));
    assert_eq!(status, 202, "{said}");
    let messages = said["messages"].as_array().unwrap().iter();
    messages
        .map(|one| one["id"].as_str().unwrap().to_owned())
        .collect()
}

/// Waits until the end of every message was reported, and checks the order of what came about each and that each
/// callback has one id. How many states came before the final ones.
fn check_order(hooks: &Hooks, ids: &[String]) -> usize {
    let by_message = within(LIMIT, || {
        let mut by_message: HashMap<String, Vec<(u64, String)>> = HashMap::new();
        for hook in hooks.came() {
            let place = (rank(&hook), hook.id().to_owned());
            by_message.entry(about(&hook)).or_default().push(place);
        }
        let is_over = |id: &String| {
            let came = by_message.get(id);
            came.is_some_and(|came| came.iter().any(|(rank, _)| *rank == u64::MAX))
        };
        ids.iter().all(is_over).then_some(by_message)
    });
    let by_message = by_message.expect("every message is reported to have ended");
    assert_eq!(by_message.len(), ids.len(), "a callback about no message");
    let mut states = 0;
    for (id, came) in &by_message {
        assert!(came.is_sorted_by_key(|(rank, _)| *rank), "{id}: {came:?}");
        let mut by_rank = HashMap::new();
        for (rank, delivery) in came {
            let same = by_rank.entry(rank).or_insert(delivery);
            assert_eq!(*same, delivery, "{id}: one id for each callback");
        }
        states += by_rank.len() - 1;
    }
    states
}

#[test]
fn kills_at_full_load_change_no_order_and_lose_no_end() {
    const KILLS: usize = 3;
    const BATCHES_BETWEEN: usize = 6;
    const BATCH: usize = 100;
    let operator = Simulator::new().flags("--receipt-delay 20ms").start();
    // One in seven fails.
    let hooks = Hooks::answering(|_, before| match before % 7 {
        3 => HookReply::status(500),
        _ => HookReply::ok(),
    });
    let keys = keys("callback", &["queued", "sent", "retrying"], &hooks);
    let mut smsc = Smsc::new()
        .with_api()
        .account_with("test", "test", &keys)
        .operator("up", operator.address())
        .route("", "up")
        .start();
    let api = smsc.api_of("test", "both");
    let mut ids = Vec::new();
    for _ in 0..KILLS {
        for _ in 0..BATCHES_BETWEEN {
            ids.extend(submit_many(&api, ids.len()..ids.len() + BATCH));
        }
        smsc.kill();
        smsc.start_again();
        until("the key after a start", || api.try_get("/v1/balance").ok());
    }
    let states = check_order(&hooks, &ids);
    // How many depends on the machine: what waits until its message has ended is left out.
    assert!(states > 0, "no state came before an end");
    smsc.assert_no_panic();
}

#[test]
fn one_of_three_nodes_is_killed_and_no_order_changes() {
    const BATCHES: usize = 8;
    const BATCH: usize = 50;
    let operator = Simulator::new().flags("--receipt-delay 200ms").start();
    let hooks = Hooks::taking();
    let keys = keys("callback", &["queued", "sent", "retrying"], &hooks);
    let address = operator.address();
    let configured = move |smsc: SmscBuilder| {
        smsc.with_api()
            .account_with("test", "test", &keys)
            .operator_with("up", address, "binds = 2")
            .route("", "up")
    };
    let mut cluster = Cluster::of(3).short_lease().each(configured).start();
    cluster.wait_until_held_by(0, &[0, 1, 2], "operator:up", 2);
    let token = cluster.nodes[0].api_of("test", "both").token().to_owned();
    let doors: Vec<Admin> = (cluster.nodes.iter().take(2))
        .map(|node| node.api(&token))
        .collect();
    for door in &doors {
        until("the key on all nodes", || door.try_get("/v1/balance").ok());
    }
    let mut ids = Vec::new();
    for batch in 0..BATCHES {
        let numbers = ids.len()..ids.len() + BATCH;
        ids.extend(submit_many(&doors[batch % doors.len()], numbers));
        if batch == BATCHES / 2 {
            cluster.nodes[2].kill();
        }
    }
    let states = check_order(&hooks, &ids);
    // How many depends on the machine: what waits until its message has ended is left out.
    assert!(states > 0, "no state came before an end");
    cluster.nodes[..2]
        .iter()
        .for_each(|node| node.assert_no_panic());
}
