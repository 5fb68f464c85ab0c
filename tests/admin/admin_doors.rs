//! What a client of the admin API can do to other clients, to this machine, and to the audit log.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::Command;

use crate::harness::{self, Admin, PATIENCE, Peer, Smsc, free_port, submit, until};
use serde_json::{Value, json};

/// Limits the memory of the process, so that a request cannot exhaust the machine's.
fn bound_memory(smsc: &Smsc) {
    let process = smsc.process();
    let octets = (process.memory_kib("VmSize") + 1024 * 1024) * 1024;
    let bound = [
        "--pid",
        &process.id().to_string(),
        &format!("--as={octets}"),
    ];
    let status = Command::new("prlimit").args(bound).status();
    assert!(status.unwrap().success());
}

#[test]
fn a_log_filter_neither_ends_the_process_nor_silences_the_audit() {
    let smsc = Smsc::new().account("test", "test").start();
    let operate = smsc.admin().with_role("operate", "night-shift");
    let set = |level: &str| operate.call("PUT", "/v1/log-level", Some(&json!({ "level": level })));
    bound_memory(&smsc);

    // Compiled, this expression has two to the power of eighty states.
    let value = format!("(a|b)*a{}", "(a|b)".repeat(80));
    let (status, answer) = set(&format!("info,[{{token={value}}}]=debug"));
    assert_eq!(status, 200, "{answer}");
    let level = smsc.admin().get("/v1/log-level");
    assert!(level["level"].as_str().unwrap().contains(&value), "{level}");

    assert_eq!(set("off").0, 200);
    let quiet = smsc.log().len();
    assert_eq!(operate.post("/v1/queues/account:test/suspend").0, 200);
    until("the audit line of a command", || {
        let log = smsc.log();
        (log[quiet..].contains("night-shift") && log[quiet..].contains("/suspend")).then_some(())
    });
    for silencing in ["info,audit=off", "off,audit[{token}]=off", "audit = error"] {
        let (status, answer) = set(silencing);
        assert_eq!(
            (status, &answer["field"]),
            (400, &json!("level")),
            "{answer}"
        );
    }
    smsc.assert_no_panic();
}

/// The settings of an operator that is not bound to, with more.
fn operator_with(more: Value) -> Value {
    let mut body = json!({ "address": "127.0.0.1:1", "system_id": "x", "enabled": false });
    body.as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    body
}

fn path(smsc: &Smsc, name: &str) -> String {
    smsc.file(name).to_str().unwrap().to_owned()
}

/// Files outside the folder: the response reveals neither their content nor whether they exist.
fn nothing_elsewhere_is_read(smsc: &Smsc, admin: &Admin) {
    for file in ["private", "nothing", "pipe", "files/../private"] {
        let file = path(smsc, file);
        for (resource, field, body) in [
            ("/v1/lists/a", "file", json!({ "file": file })),
            (
                "/v1/accounts/a",
                "password_file",
                json!({ "password_file": file }),
            ),
            (
                "/v1/operators/a",
                "password_file",
                operator_with(json!({ "password_file": file })),
            ),
            (
                "/v1/operators/a",
                "tls_ca_file",
                operator_with(json!({ "tls": true, "tls_ca_file": file })),
            ),
            (
                "/v1/operators/a",
                "tls_cert",
                operator_with(json!({ "tls": true, "tls_cert": file, "tls_key": file })),
            ),
        ] {
            let (status, answer) = admin.call("PUT", resource, Some(&body));
            assert_eq!(status, 422, "{resource} {file}: {answer}");
            let said = answer.to_string();
            assert!(
                said.contains("http.files_dir") && said.contains(field),
                "{answer}"
            );
            assert!(!said.contains("hash-of-root"), "{answer}");
        }
    }
    let (status, answer) = admin.call("PUT", "/v1/lists/a", Some(&json!({ "file": "/dev/zero" })));
    assert_eq!(status, 422, "{answer}");
}

/// Inside the folder: only regular files of a reasonable size, and errors quote none of their lines.
fn only_small_regular_files_are_read(smsc: &Smsc, admin: &Admin) {
    let inside = |name: &str, text: &str| fs::write(smsc.file("files").join(name), text).unwrap();
    inside("list", "331*\n");
    inside("secret", "pa55word\n");
    inside("lines", "hash-of-root:0*0\n");
    inside("expression", "/(hash-of-root/\n");
    inside("long", &"x".repeat(100_000));
    std::os::unix::fs::symlink(smsc.file("private"), smsc.file("files/link")).unwrap();
    for (resource, body, words) in [
        ("/v1/lists/a", json!({ "file": "files/lines" }), "line 1"),
        (
            "/v1/lists/a",
            json!({ "file": "files/expression" }),
            "expression",
        ),
        (
            "/v1/lists/a",
            json!({ "file": "files/pipe" }),
            "not a regular file",
        ),
        (
            "/v1/lists/a",
            json!({ "file": "files/link" }),
            "http.files_dir",
        ),
        (
            "/v1/accounts/a",
            json!({ "password_file": "files/long" }),
            "longer than",
        ),
        (
            "/v1/accounts/a",
            json!({ "password_file": "files/pipe" }),
            "not a regular file",
        ),
    ] {
        let (status, answer) = admin.call("PUT", resource, Some(&body));
        assert_eq!(status, 422, "{answer}");
        let said = answer.to_string();
        assert!(
            said.contains(words) && !said.contains("hash-of-root"),
            "{answer}"
        );
    }
}

#[test]
fn the_api_reads_no_files_but_those_of_its_folder() {
    let smsc = Smsc::new()
        .account("test", "test")
        .http("files_dir = \"files\"")
        .toml("[[list]]\nname = \"own\"\nfile = \"own.txt\"")
        .file("own.txt", "4477*\n")
        .file("private", "root:hash-of-root:0*0\n/(hash-of-root/\n")
        .start();
    bound_memory(&smsc);
    let admin = smsc.admin();
    fs::create_dir(smsc.file("files")).unwrap();
    for pipe in ["pipe", "files/pipe"] {
        let made = Command::new("mkfifo")
            .arg(smsc.file(pipe))
            .status()
            .unwrap();
        assert!(made.success());
    }
    let put = |resource: &str, body: Value| admin.call("PUT", resource, Some(&body));

    nothing_elsewhere_is_read(&smsc, &admin);
    only_small_regular_files_are_read(&smsc, &admin);
    assert_eq!(put("/v1/lists/a", json!({ "file": "files/list" })).0, 201);
    assert_eq!(
        put(
            "/v1/accounts/a",
            json!({ "password_file": path(&smsc, "files/secret") })
        )
        .0,
        201
    );
    harness::Peer::bind(smsc.smpp(), "a", "pa55word");

    // Files named in the node's own file may be anywhere, also when they were added to it only now.
    assert_eq!(put("/v1/accounts/b", json!({ "password": "test" })).0, 201);
    smsc.set_config(&format!(
        "{}[[list]]\nname = \"new\"\nfile = \"new.txt\"\n",
        smsc.config()
    ));
    fs::write(smsc.file("new.txt"), "4478*\n").unwrap();
    smsc.apply();
    let lists = admin.get("/v1/lists").to_string();
    assert!(
        lists.contains("own.txt") && lists.contains("new.txt"),
        "{lists}"
    );
    // Only in the same place of the file: it may not be sent to an operator as a password.
    let (status, answer) = put(
        "/v1/operators/a",
        operator_with(json!({ "password_file": "own.txt" })),
    );
    assert_eq!(status, 422, "{answer}");
    smsc.assert_no_panic();
}

/// A connection with a request, or an empty one.
fn connected(smsc: &Smsc, request: &str) -> TcpStream {
    let mut stream = TcpStream::connect(smsc.http()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    stream
}

#[test]
fn idle_connections_lock_nobody_out() {
    let smsc = Smsc::new().account("test", "test").start();
    let one = "GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n";
    let mut idle: Vec<TcpStream> = (0..600).map(|_| connected(&smsc, one)).collect();
    let half: Vec<TcpStream> = (0..100)
        .map(|_| connected(&smsc, "GET /metrics HTTP/1.1\r\n"))
        .collect();
    // From the same address: a new request need not wait until the others time out.
    let admin = smsc.admin();
    assert_eq!(admin.text("/health/live").unwrap().0, 200);
    assert_eq!(admin.text("/health/ready").unwrap().0, 200);
    assert_eq!(admin.call("GET", "/v1/queues", None).0, 200);
    // The oldest connections have been closed.
    let mut said = String::new();
    idle[0].read_to_string(&mut said).unwrap();
    drop((idle, half));
    smsc.assert_no_panic();
}

#[test]
fn health_has_an_address_of_its_own() {
    let port = free_port();
    let smsc = Smsc::new()
        .account("test", "test")
        .http(&format!("health_listen = \"127.0.0.1:{port}\""))
        .start();
    let health = Admin::new(([127, 0, 0, 1], port).into(), "none");
    assert_eq!(health.text("/health/live").unwrap().0, 200);
    assert_eq!(health.text("/health/ready").unwrap().0, 200);
    for elsewhere in ["/metrics", "/v1/queues", "/"] {
        assert_eq!(health.text(elsewhere).unwrap().0, 404, "{elsewhere}");
    }
    assert_eq!(smsc.admin().text("/health/live").unwrap().0, 200);
}

#[test]
fn a_good_token_is_not_refused_for_the_guesses_of_others() {
    let smsc = Smsc::new()
        .account("test", "test")
        .http("proxy_from = [\"127.0.0.1\"]")
        .start();
    let admin = smsc.admin();
    let guesser = admin.bearer("guess");
    let from = |client: &Admin, address: &str| {
        let headers = [("X-Forwarded-For", address)];
        let path = "/v1/queues/account:test/resume";
        client.request("POST", path, &headers, None).status
    };
    for _ in 0..100 {
        assert_eq!(from(&guesser, "203.0.113.7"), 401);
    }
    assert_eq!(from(&guesser, "203.0.113.7"), 429);
    assert_eq!(from(&admin, "203.0.113.7"), 200, "the token is good");
    assert_eq!(
        from(&guesser, "203.0.113.8"),
        401,
        "another client of the balancer"
    );
    // The address of the client, not of the load balancer.
    let entries = admin.get("/v1/audit");
    assert_eq!(entries["entries"][0]["address"], "203.0.113.7", "{entries}");
}

#[test]
fn a_stream_ends_with_its_token_and_one_token_has_not_all() {
    let smsc = Smsc::new().account("test", "test").start();
    let admin = smsc.admin();
    let [one, other] = ["one", "other"].map(|name| admin.with_role("read", name));
    let listen = |token: &Admin| {
        let request = format!(
            "GET /v1/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\n\r\n",
            token.token()
        );
        let stream = connected(&smsc, &request);
        let mut lines = BufReader::new(stream).lines();
        let status = lines.next().unwrap().unwrap();
        (status, lines)
    };
    let mut streams = Vec::new();
    for at in 0..64 {
        let (status, lines) = listen(&one);
        if !status.contains("200") {
            assert!(status.contains("503") && at >= 10, "{at}: {status}");
            break;
        }
        streams.push(lines);
    }
    assert!(streams.len() < 64, "one token took every place");
    let (status, _stays) = listen(&other);
    assert!(status.contains("200"), "{status}");

    assert_eq!(admin.call("DELETE", "/v1/tokens/one", None).0, 204);
    let mut rest = streams.remove(0).map_while(Result::ok);
    let why = rest.by_ref().skip_while(|line| line != "event: end");
    let why = why.skip(1).find(|line| line.starts_with("data:"));
    let why = why.expect("the stream ends, and says so");
    assert!(why.contains("the token was removed"), "{why}");
}

#[test]
fn the_audit_has_what_matters_and_is_not_filled_by_who_may_nothing() {
    let smsc = Smsc::new()
        .account("test", "test")
        .route("", "test:delivered")
        .start();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let id = esme.submit(submit("447700900123", "a secret"));
    let admin = smsc.admin();
    let [read, operate] =
        ["read", "operate"].map(|role| admin.with_role(role, &format!("a-{role}")));
    let message = format!("/v1/messages/{id}");
    assert_eq!(
        operate.call("GET", &format!("{message}?text=true"), None).0,
        200
    );
    assert_eq!(operate.call("GET", &message, None).0, 200);
    assert_eq!(
        read.call("GET", &format!("{message}?text=true"), None).0,
        403
    );
    for _ in 0..200 {
        assert_eq!(read.post("/v1/queues/account:test/suspend").0, 403);
    }
    let entries = admin.get("/v1/audit?limit=1000")["entries"].clone();
    let entries = entries.as_array().unwrap();
    let of = |token: &str| -> Vec<&Value> {
        entries
            .iter()
            .filter(|entry| entry["token"] == token)
            .collect()
    };
    let looks = of("a-operate");
    assert_eq!(looks.len(), 1, "{looks:?}");
    assert_eq!(
        (&looks[0]["path"], &looks[0]["method"]),
        (&json!(message), &json!("GET"))
    );
    assert_eq!(looks[0]["detail"], "its text was read");
    let made: Vec<&Value> = of("admin token")
        .iter()
        .map(|entry| &entry["detail"])
        .collect();
    assert_eq!(
        made,
        ["token a-operate, role operate", "token a-read, role read"]
    );
    let refused = of("a-read");
    assert_eq!(refused.len(), 20, "one by one up to a number");
    let lines = smsc.log().matches("a-read").count();
    assert!(lines < 100, "{lines} lines in the log");
}

#[test]
fn pages_and_metrics_say_no_more_than_they_should() {
    let smsc = |who: &str| {
        Smsc::new()
            .account("test", "test")
            .route("", "test:delivered")
            .http(&format!("metrics = \"{who}\""))
            .start()
    };
    let open = smsc("without_accounts");
    let admin = open.admin();
    let get = |path: &str| {
        let url = format!("http://{}{path}", open.http());
        ureq::get(url)
            .config()
            .http_status_as_error(false)
            .build()
            .call()
            .unwrap()
    };
    let named = "queue=\"account:test\"";
    let text = get("/metrics").body_mut().read_to_string().unwrap();
    assert!(
        text.contains("smsc_store_commits_total") && text.ends_with("# EOF\n"),
        "{text}"
    );
    assert!(
        !text.contains(named) && !text.contains("\"test\""),
        "{text}"
    );
    assert!(
        admin
            .with_role("read", "scraper")
            .text("/metrics")
            .unwrap()
            .1
            .contains(named)
    );
    assert_eq!(admin.bearer("wrong").text("/metrics").unwrap().0, 401);
    if cfg!(feature = "swagger-ui") {
        runs_only_scripts_of_this_server(get("/v1/docs/"));
    }
    let closed = smsc("token");
    let url = format!("http://{}/metrics", closed.http());
    let answer = ureq::get(url)
        .config()
        .http_status_as_error(false)
        .build()
        .call();
    assert_eq!(answer.unwrap().status(), 401);
    assert!(closed.admin().text("/metrics").unwrap().1.contains(named));
}

/// Checks that a page of the API allows only scripts of this server.
fn runs_only_scripts_of_this_server(mut page: ureq::http::Response<ureq::Body>) {
    let policy = page.headers()["content-security-policy"]
        .to_str()
        .unwrap()
        .to_owned();
    assert!(
        policy.contains("default-src 'none'") && policy.contains("script-src 'self';"),
        "{policy}"
    );
    let html = page.body_mut().read_to_string().unwrap();
    assert!(html.contains("swagger-ui"), "{html}");
    let scripts: Vec<&str> = html.split("<script").skip(1).collect();
    assert!(
        scripts.iter().all(|script| script.contains("src=")),
        "{html}"
    );
}
