//! Messages that may have been sent before the database went back in time: the admin API with each role, the command
//! line and the console.

use crate::console::pictures;
use crate::harness::{
    Admin, Client, Cluster, Node, Peer, Simulator, browser_script, submit_quietly, until,
};
use serde_json::Value;

/// Since when messages are held here, and how that is shown.
const SINCE: (i64, &str) = (1_763_715_600_000, "2025-11-21T09:00:00.000Z");

/// A node that holds messages, as after a failover that it did not survive.
struct HeldScene {
    // Dropped before what it uses.
    cluster: Cluster,
    _operator: Simulator,
    /// The lowest id first.
    held: Vec<String>,
}

// === impl HeldScene ===

impl HeldScene {
    fn start(messages: usize) -> Self {
        let operator = Simulator::new().start();
        let address = operator.address();
        let mut cluster = Cluster::of(1)
            .each(move |smsc| {
                smsc.account("test", "test")
                    .operator("up", address)
                    .route("", "up")
            })
            .start();
        let admin = cluster.nodes[0].admin();
        assert_eq!(admin.post("/v1/queues/operator:up/suspend").0, 200);
        let mut esme = Peer::transmitter(cluster.nodes[0].smpp(), "test", "test");
        let quiet = |number: usize| submit_quietly(&format!("4477009{number:05}"), "perhaps sent");
        let mut held: Vec<String> = (0..messages).map(|one| esme.submit(quiet(one))).collect();
        held.sort_by_key(|id| id.parse::<u64>().unwrap());
        esme.unbind();
        cluster.nodes[0].terminate();
        let hold = format!("INSERT INTO held SELECT id, {} FROM msg", SINCE.0);
        cluster.postgres.execute(&hold);
        // What is released waits, so that what becomes of it is seen.
        cluster.nodes[0].start_again_with(&["--suspended"]);
        let scene = Self {
            cluster,
            _operator: operator,
            held,
        };
        scene.wait_until_counted(messages);
        scene
    }

    fn node(&self) -> &Node {
        &self.cluster.nodes[0]
    }

    fn wait_until_counted(&self, messages: usize) {
        let admin = self.node().admin();
        until("the held messages to be counted", || {
            (admin.metric("smsc_messages_held") == Some(messages as f64)).then_some(())
        });
    }

    fn resume(&self) {
        let (status, said) = self.node().admin().post("/v1/queues/operator:up/resume");
        assert_eq!(status, 200, "{said}");
    }
}

#[test]
fn each_role_may_do_with_held_messages_what_it_should() {
    let scene = HeldScene::start(4);
    let admin = scene.node().admin();
    let [read, operate] = ["read", "operate"].map(|role| admin.with_role(role, role));
    let [first, second] = [&scene.held[0], &scene.held[1]];
    let orders = [
        "/v1/held/release".to_owned(),
        "/v1/held/cancel".to_owned(),
        format!("/v1/held/{first}/release"),
        format!("/v1/held/{first}/cancel"),
    ];
    // Without a token nobody learns anything.
    let nobody = admin.bearer("");
    let list = ("GET", "/v1/held");
    let all = orders.iter().map(|path| ("POST", path.as_str()));
    for (method, path) in all.chain([list]) {
        let (status, answer) = nobody.call(method, path, None);
        assert_eq!(status, 401, "{method} {path}: {answer}");
    }
    for path in &orders {
        let (status, answer) = read.call("POST", path, None);
        assert_eq!(status, 403, "{path}: {answer}");
        assert_eq!(answer["role"], "operate", "{path}: {answer}");
        assert_eq!(answer["type"], "urn:smsc:problem:forbidden");
    }
    for reader in [&read, &operate, &admin] {
        let list = reader.get("/v1/held");
        assert_eq!(list["count"], 4, "nothing was done: {list}");
    }
    for (who, id, order) in [(&operate, first, "release"), (&admin, second, "cancel")] {
        let (status, done) = who.call("POST", &format!("/v1/held/{id}/{order}"), None);
        assert_eq!((status, &done["count"]), (200, &Value::from(1)), "{done}");
    }
    let state = |id: &str| admin.get(&format!("/v1/messages/{id}"))["state"].clone();
    assert_eq!([state(first), state(second)], ["ENROUTE", "DELETED"]);
    let (status, done) = operate.call("POST", "/v1/held/cancel", None);
    assert_eq!((status, &done["count"]), (200, &Value::from(2)), "{done}");
    let (status, done) = admin.call("POST", "/v1/held/release", None);
    assert_eq!((status, &done["count"]), (200, &Value::from(0)), "{done}");
    assert_eq!(admin.get("/v1/held")["count"], 0);
    let audit = admin.get("/v1/audit?limit=100").to_string();
    for path in [&orders[1], &orders[2]] {
        assert!(audit.contains(path), "{audit}");
    }
}

/// The field that a refusal names.
fn wrong_field(admin: &Admin, method: &str, path: &str) -> String {
    let answer = admin.request(method, path, &[], None);
    assert_eq!(answer.status, 400, "{method} {path}: {}", answer.body);
    assert_eq!(answer.body["type"], "urn:smsc:problem:bad-value");
    answer.body["field"].as_str().unwrap().to_owned()
}

#[test]
fn what_is_wrong_with_a_request_about_held_messages_is_named() {
    let scene = HeldScene::start(3);
    let admin = scene.node().admin();
    let id = &scene.held[0];
    for wrong in ["x", "0", "-1", "99999999999999999999", "%2B7", "1.5"] {
        for order in ["release", "cancel"] {
            let path = format!("/v1/held/{wrong}/{order}");
            assert_eq!(wrong_field(&admin, "POST", &path), "id", "{path}");
        }
    }
    for path in ["/v1/held/burn".to_owned(), format!("/v1/held/{id}/burn")] {
        assert_eq!(wrong_field(&admin, "POST", &path), "order", "{path}");
    }
    for (query, field) in [
        ("limit=0", "limit"),
        ("limit=1001", "limit"),
        ("limit=many", "limit"),
        ("after=x", "after"),
        ("after=-1", "after"),
        ("before=7", "before"),
    ] {
        let path = format!("/v1/held?{query}");
        assert_eq!(wrong_field(&admin, "GET", &path), field, "{path}");
    }
    let path = format!("/v1/held/{id}/release?force=true");
    assert_eq!(wrong_field(&admin, "POST", &path), "force");
    let (status, answer) = admin.call("POST", "/v1/held/7/release", None);
    assert_eq!(status, 404, "{answer}");
    assert!(answer["detail"].as_str().unwrap().contains("is not held"));
    // Nothing of this was carried out. Pages follow one another.
    let mut found = Vec::new();
    let mut path = "/v1/held?limit=2".to_owned();
    loop {
        let page = admin.get(&path);
        assert_eq!(
            (&page["count"], &page["partitions"]),
            (&3.into(), &0.into())
        );
        found.extend(page["messages"].as_array().unwrap().iter().cloned());
        match page["next_after"].as_str() {
            Some(after) => path = format!("/v1/held?limit=2&after={after}"),
            None => break,
        }
    }
    let ids: Vec<&str> = found.iter().filter_map(|one| one["id"].as_str()).collect();
    assert_eq!(ids, scene.held);
    let one = &found[0];
    assert_eq!(one["since"], SINCE.1);
    assert_eq!(one["sender"], "account:test");
    assert_eq!(one["queue"], "operator:up");
    assert!(one["to"].as_str().unwrap().starts_with("4477009"), "{one}");
    assert!(one["accepted_at"].is_string(), "{one}");
    assert!(!one.to_string().contains("perhaps sent"), "{one}");
}

#[test]
fn a_held_message_says_since_when_why_and_what_to_do() {
    let scene = HeldScene::start(2);
    let node = scene.node();
    let admin = node.admin();
    let path = format!("/v1/messages/{}", scene.held[0]);
    let message = admin.get(&path);
    assert_eq!(message["stage"], "held", "{message}");
    assert_eq!(message["waits"]["reason"], "held");
    assert_eq!(message["waits"]["since"], SINCE.1);
    let text = message["waits"]["text"].as_str().unwrap();
    for part in [SINCE.1, "may have been sent", "cancel", "release"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let shown = node.command(&["message", "show", &scene.held[0]]);
    assert!(
        shown.stdout.contains("ENROUTE (held)") && shown.stdout.contains(text),
        "{}",
        shown.stdout
    );
    let list = node.command(&["held"]);
    for part in ["operator:up", "2 messages are held", &scene.held[1]] {
        assert!(list.stdout.contains(part), "{part}: {}", list.stdout);
    }
    // Orders for messages in queues say where it is instead.
    for order in ["cancel", "retry"] {
        let (status, refused) = admin.call("POST", &format!("{path}/{order}"), None);
        assert_eq!(status, 409, "{refused}");
        let detail = refused["detail"].as_str().unwrap();
        assert!(
            detail.contains("is held") && detail.contains("smsc held"),
            "{detail}"
        );
    }
    let done = node.command(&["held", "release", "--all"]);
    assert!(
        done.stdout.contains("2 messages"),
        "{}{}",
        done.stdout,
        done.stderr
    );
    let released = admin.get(&path);
    assert_ne!(released["stage"], "held", "{released}");
    scene.resume();
    for id in &scene.held {
        assert_eq!(node.final_state(id), "ACCEPTED");
    }
    assert_eq!(admin.get(&path)["stage"], "final");
}

#[test]
fn held_messages_are_released_and_cancelled_in_the_console() {
    let scene = HeldScene::start(53);
    let folder = tempfile::tempdir().unwrap();
    let pictures = pictures();
    let admin = scene.node().admin();
    let reader = admin.with_role("read", "looker");
    let steps = "reader_sees_what_is_held,held_in_dark,held_message_says_why,held_messages_are_ordered_one_by_one_and_all";
    let base = format!("http://{}/", scene.node().http());
    let arguments = [
        steps,
        &base,
        admin.token(),
        pictures.to_str().unwrap(),
        reader.token(),
        &scene.held[0],
        &scene.held[1],
        SINCE.1,
    ];
    Client::run(browser_script("console_held.js", &arguments, folder.path()));
    let state = |id: &str| admin.get(&format!("/v1/messages/{id}"))["state"].clone();
    assert_eq!(state(&scene.held[1]), "DELETED", "cancelled on its page");
    scene.resume();
    assert_eq!(scene.node().final_state(&scene.held[0]), "ACCEPTED");
}
