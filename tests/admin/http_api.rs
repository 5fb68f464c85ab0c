//! The HTTP side of a running SMSC: health, metrics, the admin API, and the commands that use it.

use crate::http_system::{System, TOKEN, run};

#[test]
fn health_and_metrics_need_no_token() {
    let mut system = System::start();
    assert_eq!(system.get_openly("/health/live").status, 200);

    // An operator that is down does not make the node unready: accepted messages wait.
    let ready = system.get_openly("/health/ready");
    assert_eq!(ready.status, 200, "{}", ready.body);
    assert_eq!(ready.json()["degraded"][0], "operator up: no bind is up");

    let metrics = system.get_openly("/metrics");
    assert_eq!(metrics.status, 200);
    assert!(
        metrics
            .header("content-type")
            .starts_with("application/openmetrics-text")
    );
    assert!(metrics.body.ends_with("# EOF\n"));
    for series in [
        "smsc_messages_accepted_total ",
        "smsc_queue_waiting{queue=\"operator:up\"} ",
        "smsc_store_commits_total ",
        "smsc_actor_restarts_total{actor=\"throttle\"} 0",
        "process_resident_memory_bytes ",
    ] {
        let found = metrics.body.lines().any(|line| line.starts_with(series));
        assert!(found, "{series} is not in\n{}", metrics.body);
    }

    let page = system.get_openly("/");
    assert!(page.header("content-type").starts_with("text/plain"));
    assert!(page.body.contains("/health/ready"));
    assert_eq!(system.stop(), Some(0), "SIGTERM ends it in good order");
}

#[test]
fn every_metric_is_documented() {
    let system = System::start();
    system.send("440012345", "hello");
    let page = smsc::http::metrics::markdown();
    let metrics = system.get_openly("/metrics").body;
    for line in metrics.lines() {
        let Some((name, kind)) = line
            .strip_prefix("# TYPE ")
            .and_then(|line| line.split_once(' '))
        else {
            continue;
        };
        let suffix = if kind == "counter" { "_total" } else { "" };
        assert!(
            page.contains(&format!("| `{name}{suffix}` | {kind} |")),
            "{line}"
        );
    }
}

#[test]
fn the_admin_api_wants_the_token() {
    let system = System::start();
    for path in ["/v1/queues", "/v1/nothing", "/v1/messages/1"] {
        let refused = system.get_openly(path);
        assert!(refused.problem(401).contains("Authorization: Bearer"));
        assert_eq!(refused.header("www-authenticate"), "Bearer realm=\"smsc\"");
    }
    let refused = system.get_with("/v1/queues", "Bearer nonsense");
    assert!(refused.problem(401).contains("wrong"));
    assert!(refused.header("www-authenticate").contains("invalid_token"));
    assert_eq!(
        system
            .get_with("/v1/queues", &format!("bearer {TOKEN}"))
            .status,
        200
    );
}

#[test]
fn mistakes_are_answered_with_their_cure() {
    let system = System::start();
    assert!(
        system
            .get("/v1/nothing")
            .problem(404)
            .contains("/v1/queues")
    );
    assert!(
        system
            .get_openly("/nothing")
            .problem(404)
            .contains("/v1/queues")
    );
    let refused = system.delete("/v1/queues");
    assert_eq!(
        refused.problem(405),
        "/v1/queues takes GET, HEAD, not DELETE"
    );
    assert_eq!(refused.header("allow"), "GET, HEAD");
    assert_eq!(
        system.get("/v1/queues/operator:up/suspend").header("allow"),
        "POST"
    );
    for (path, status, part) in [
        ("/v1/messages?limit=abc", 400, "from 1 to 1000"),
        ("/v1/messages?state=SENT", 400, "UNDELIVERABLE"),
        (
            "/v1/messages?form=1",
            400,
            "the names are to, from, account, operator, since, until, ended_since, ended_until, order, state, country, network, limit, before",
        ),
        ("/v1/messages/abc", 400, "a number as in submit_sm_resp"),
        ("/v1/messages/12345", 404, "12345"),
        ("/v1/queues?x=1", 400, "the names are scope"),
        ("/v1/binds?x=1", 400, "takes no query"),
        ("/v1/queues/operator:down", 404, "operator:down"),
        ("/v1/operators/down", 404, "down"),
    ] {
        let detail = system.get(path).problem(status);
        assert!(detail.contains(part), "{path}: {detail}");
    }
    for (path, part) in [
        ("/v1/queues/operator:up/drop", "suspend, resume, purge"),
        ("/v1/queues/operator:down/suspend", "operator:down"),
        ("/v1/operators/up/drop", "rebind, resume, suspend"),
        ("/v1/operators/down/rebind", "down"),
        ("/v1/messages/1/drop", "cancel, retry"),
        ("/v1/messages/1/cancel", "no message 1"),
    ] {
        let detail = system.post(path).problem(404);
        assert!(detail.contains(part), "{path}: {detail}");
    }
}

#[test]
fn a_waiting_message_is_found_and_cancelled_once() {
    let system = System::start();
    let id = system.send("447700900123", "hello there");
    let path = format!("/v1/messages/{id}");
    let message = system.get(&path).json();
    assert_eq!(message["state"], "ENROUTE");
    assert_eq!(message["stage"], "waiting");
    assert_eq!(message["to"], "447700900123");
    assert_eq!(message["sender"], "account:test");
    assert_eq!(message["queue"], "operator:up");
    assert!(
        !message.to_string().contains("hello"),
        "the text is not asked for"
    );
    let asked = system.get(&format!("{path}?text=true")).json();
    assert_eq!(asked["content"]["text"], "hello there");

    for query in [
        "to=447700900123",
        "to=%2B447700900123",
        "state=ENROUTE",
        "limit=5",
    ] {
        let list = system.wait_for(&format!("/v1/messages?{query}"), |list| {
            list["messages"][0]["id"] == id.as_str()
        });
        assert_eq!(list["messages"].as_array().unwrap().len(), 1);
        assert!(list["next_before"].is_null());
    }

    assert_eq!(system.post(&format!("{path}/retry")).json()["count"], 1);
    let done = system.post(&format!("{path}/cancel"));
    assert_eq!((done.status, done.json()["count"].as_u64()), (200, Some(1)));
    let message = system.get(&path).json();
    assert_eq!(message["state"], "DELETED");
    assert_eq!(message["changes"][0]["kind"], "cancel");
    for verb in ["cancel", "retry"] {
        let detail = system.post(&format!("{path}/{verb}")).problem(409);
        assert_eq!(detail, format!("message {id} is final: DELETED"));
    }
}

#[test]
fn a_delivered_message_shows_its_attempt() {
    let system = System::start();
    let id = system.send("440012345", "hello");
    let message = system.wait_for(&format!("/v1/messages/{id}"), |message| {
        message["state"] == "DELIVERED"
    });
    assert_eq!(message["history"][0]["queue"], "test:delivered");
    assert_eq!(message["history"][0]["status"], "ESME_ROK");
    let pages = system.get("/v1/messages?limit=1").json();
    assert_eq!(pages["next_before"], id.as_str());
    let rest = system
        .get(&format!("/v1/messages?limit=1&before={id}"))
        .json();
    assert_eq!(rest["messages"].as_array().unwrap().len(), 0);
}

#[test]
fn a_queue_is_suspended_resumed_and_purged() {
    let system = System::start();
    let ids: Vec<String> = (0..3)
        .map(|n| system.send("447700900123", &n.to_string()))
        .collect();
    let waiting = |path: &str| system.wait_for(path, |queue| queue["waiting"] == 3);
    let queue = waiting("/v1/queues/operator:up");
    assert_eq!(queue["suspended"], false);
    assert!(queue["oldest_at"].is_string());
    waiting("/v1/queues/operator%3Aup");

    assert_eq!(system.post("/v1/queues/operator:up/suspend").status, 200);
    assert_eq!(
        system.get("/v1/queues/operator:up").json()["suspended"],
        true
    );
    let ready = system.get_openly("/health/ready").json();
    assert!(
        ready["degraded"]
            .to_string()
            .contains("queue operator:up: suspended")
    );
    assert_eq!(system.post("/v1/queues/operator%3Aup/resume").status, 200);
    assert_eq!(
        system.get("/v1/queues/operator:up").json()["suspended"],
        false
    );

    let purged = system.post("/v1/queues/operator:up/purge");
    assert_eq!(
        (purged.status, purged.json()["count"].as_u64()),
        (202, Some(3))
    );
    for id in ids {
        system.wait_for(&format!("/v1/messages/{id}"), |message| {
            message["state"] == "DELETED"
        });
    }
    system.wait_for("/v1/queues/operator:up", |queue| queue["waiting"] == 0);
}

#[test]
fn an_operator_is_suspended_and_resumed() {
    let system = System::start();
    let state =
        |wanted: &str| system.wait_for("/v1/operators/up", |operator| operator["state"] == wanted);
    let operator = system.wait_for("/v1/operators/up", |operator| operator["last_error"] != "");
    assert_eq!(operator["state"], "down");
    assert_eq!(operator["configured"], 1);
    assert_eq!(operator["queue"]["name"], "operator:up");
    assert_eq!(system.get("/v1/binds").json()["binds"][0]["name"], "up");
    assert_eq!(system.post("/v1/operators/up/suspend").json()["count"], 1);
    state("paused");
    assert_eq!(system.post("/v1/operators/up/suspend").json()["count"], 0);
    assert_eq!(system.post("/v1/operators/up/resume").json()["count"], 1);
    state("down");
    assert_eq!(system.post("/v1/operators/up/rebind").status, 202);
}

#[test]
fn the_command_line_shows_and_commands() {
    let system = System::start();
    let id = system.send("447700900123", "hello");
    let shows = |args: &[&str], parts: &[&str]| {
        let output = system.command(args);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            output.status.success(),
            "{args:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        for part in parts {
            assert!(
                said.contains(part),
                "{args:?} does not show {part}:\n{said}"
            );
        }
    };
    shows(
        &["queue", "list"],
        &["operator:up", "account:test", "nobody bound"],
    );
    shows(
        &["queue", "suspend", "operator:up"],
        &["operator:up is suspended"],
    );
    shows(&["queue", "show", "operator:up"], &["suspended"]);
    shows(
        &["queue", "show", "operator:up", "--json"],
        &["\"suspended\": true"],
    );
    shows(&["bind", "list"], &["up", "0/1", "down"]);
    shows(&["operator", "suspend", "up"], &["1 binds are suspended"]);
    shows(
        &["message", "show", &id, "--text"],
        &["ENROUTE (waiting)", "447700900123", "hello"],
    );
    shows(&["message", "cancel", &id], &["is DELETED"]);
    shows(&["message", "show", &id], &["DELETED", "cancel"]);
}

#[test]
fn the_command_line_says_what_is_wrong() {
    let system = System::start();
    let fails = |args: &[&str], part: &str| {
        let output = run(args);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            !output.status.success() && said.contains(part),
            "{args:?}: {said}"
        );
    };
    let url = format!("http://127.0.0.1:{}", system.http);
    fails(
        &["queue", "list", "--url", &url, "--token", "x"],
        "token from --token",
    );
    fails(
        &[
            "queue",
            "list",
            "--url",
            "http://127.0.0.1:1",
            "--token",
            "x",
        ],
        "is the SMSC running?",
    );
    fails(
        &["queue", "list", "--url", &url, "--data-dir", "/nowhere"],
        "/nowhere/admin-token",
    );
    fails(
        &["queue", "list", "--url", "ftp://localhost", "--token", "x"],
        "an address begins with http:// or https://",
    );
    fails(
        &["message", "show", "1", "--url", &url, "--token", TOKEN],
        "there is no message 1",
    );
    fails(
        &["queue", "suspend", "up", "--url", &url, "--token", TOKEN],
        "there is no queue",
    );
}

#[test]
fn a_taken_port_is_an_error_at_start() {
    let system = System::start();
    // The same ports, another data folder.
    let text = std::fs::read_to_string(system.config()).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data").display().to_string();
    let text = text
        .lines()
        .map(|line| match line.trim() {
            line if line.starts_with("data_dir") => format!("data_dir = {data:?}"),
            line if line.contains(&system.smpp.to_string()) => {
                "listen = \"127.0.0.1:0\"".to_owned()
            }
            line => line.to_owned(),
        })
        .collect::<Vec<_>>()
        .join("\n");
    let config = dir.path().join("smsc.toml");
    std::fs::write(&config, text).unwrap();
    let output = run(&["serve", "--config", config.to_str().unwrap()]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        !output.status.success() && said.contains("http.listen"),
        "{said}"
    );
}
