//! Access to the admin API: tokens with roles, the rights of each role, the audit log, and limits.

use crate::harness::{Admin, Peer, Simulator, Smsc, submit, until};
use serde_json::{Value, json};

/// An SMSC whose operator is down, so that messages wait.
pub fn start() -> Smsc {
    Smsc::new()
        .account("test", "test")
        .operator("up", Simulator::new().address())
        .route("", "up")
        .start()
}

#[test]
fn a_role_includes_the_ones_before_and_nothing_more() {
    let smsc = start();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let id = esme.submit(submit("447700900123", "a secret"));
    let admin = smsc.admin();
    let [read, operate, all] = ["read", "operate", "admin"].map(|role| admin.with_role(role, role));
    let message = format!("/v1/messages/{id}");
    let cases = [
        ("GET", "/v1/queues", "read"),
        ("GET", "/v1/binds", "read"),
        ("GET", "/v1/nodes", "read"),
        ("GET", "/v1/messages?to=447700900123", "read"),
        ("GET", &message, "read"),
        ("GET", "/v1/drain", "read"),
        ("GET", &format!("{message}?text=true"), "operate"),
        ("POST", "/v1/queues/operator:up/suspend", "operate"),
        ("POST", "/v1/operators/up/suspend", "operate"),
        ("POST", &format!("{message}/retry"), "operate"),
        ("POST", &format!("{message}/move"), "operate"),
        ("PUT", "/v1/log-level", "operate"),
        ("POST", "/v1/drain", "operate"),
        ("DELETE", "/v1/drain", "operate"),
        ("GET", "/v1/tokens", "admin"),
        ("POST", "/v1/tokens", "admin"),
        ("DELETE", "/v1/tokens/nobody", "admin"),
        ("GET", "/v1/audit", "admin"),
        ("DELETE", "/v1/subscribers/447700900999/messages", "admin"),
    ];
    let rank = |role: &str| {
        ["read", "operate", "admin"]
            .iter()
            .position(|one| *one == role)
    };
    for (method, path, needed) in cases {
        for (role, bearer) in [("read", &read), ("operate", &operate), ("admin", &all)] {
            let (status, answer) = bearer.call(method, path, None);
            if rank(role) < rank(needed) {
                assert_eq!(status, 403, "{role}: {method} {path}: {answer}");
                assert_eq!(answer["role"], needed, "the role that is needed is named");
                assert_eq!(answer["type"], "urn:smsc:problem:forbidden");
            } else {
                assert!(
                    ![401, 403].contains(&status),
                    "{role}: {method} {path}: {answer}"
                );
            }
        }
    }
    // Every role that may read sees the number, only roles that may command see the text.
    let (_, seen) = read.call("GET", &message, None);
    assert_eq!(seen["to"], "447700900123");
    assert!(!seen.to_string().contains("a secret"), "{seen}");
    let (_, seen) = operate.call("GET", &format!("{message}?text=true"), None);
    assert_eq!(seen["content"]["text"], "a secret");
}

#[test]
fn a_token_opens_until_it_is_removed_or_ends() {
    let mut smsc = start();
    let admin = smsc.admin();
    // Longer than it takes to use it and to list it.
    let soon = smsc::clock::now_ms() + 15_000;
    let ends = jiff::Timestamp::from_millisecond(soon).unwrap().to_string();
    let order = json!({ "name": "short", "role": "read", "expires_at": ends });
    let (status, made) = admin.call("POST", "/v1/tokens", Some(&order));
    assert_eq!(status, 201, "{made}");
    assert_eq!(
        made["token"]["created_by"]
            .as_str()
            .unwrap()
            .split(" from")
            .next(),
        Some("admin token")
    );
    let short = admin.bearer(made["secret"].as_str().unwrap());
    assert_eq!(short.call("GET", "/v1/queues", None).0, 200);
    let (status, twice) = admin.call("POST", "/v1/tokens", Some(&order));
    assert_eq!(status, 409, "{twice}");

    // The command line prints only the secret.
    let url = format!("http://{}", smsc.http());
    let said = smsc.command(&["token", "add", "cli", "--role", "read"]);
    assert!(said.success, "{}", said.stderr);
    let secret = said.stdout.trim().to_owned();
    let queues = smsc.run(&["queue", "list", "--url", &url, "--token", &secret]);
    assert!(queues.stdout.contains("operator:up"), "{}", queues.stderr);
    let refused = smsc.run(&[
        "queue",
        "suspend",
        "operator:up",
        "--url",
        &url,
        "--token",
        &secret,
    ]);
    assert!(refused.stderr.contains("operate"), "{}", refused.stderr);
    let listed = smsc.command(&["token", "list"]);
    assert!(
        listed.stdout.contains("cli") && listed.stdout.contains("short"),
        "{}",
        listed.stdout
    );
    assert!(!listed.stdout.contains(&secret), "a secret is said once");

    // The token survives a kill; only its hash is on the disk.
    smsc.kill();
    smsc.start_again();
    let cli = admin.bearer(&secret);
    until("the token to be known after the start", || {
        (cli.call("GET", "/v1/queues", None).0 == 200).then_some(())
    });
    let stored = std::fs::read(smsc.data_dir().join("smsc.db")).unwrap();
    assert!(
        !stored
            .windows(secret.len())
            .any(|part| part == secret.as_bytes())
    );

    until("the short one to end", || {
        (short.call("GET", "/v1/queues", None).0 == 401).then_some(())
    });
    let removed = smsc.command(&["token", "remove", "cli"]);
    assert!(removed.success, "{}", removed.stderr);
    let (status, answer) = cli.call("GET", "/v1/queues", None);
    assert_eq!(status, 401, "{answer}");
    assert_eq!(admin.call("DELETE", "/v1/tokens/cli", None).0, 404);
    for wrong in [
        json!({}),
        json!({ "name": "a b", "role": "read" }),
        json!([1]),
    ] {
        let (status, answer) = admin.call("POST", "/v1/tokens", Some(&wrong));
        assert_eq!(status, 400, "{answer}");
        assert!(answer["field"].is_string(), "{answer}");
    }
}

/// All entries of the audit log, two per page.
fn pages(admin: &Admin, filter: &str) -> Vec<Value> {
    let mut entries = Vec::new();
    let mut before = String::new();
    loop {
        let page = admin.get(&format!("/v1/audit?limit=2{filter}{before}"));
        entries.extend(page["entries"].as_array().unwrap().iter().cloned());
        match page["next_before"].as_str() {
            Some(next) => before = format!("&before={next}"),
            None => return entries,
        }
    }
}

#[test]
fn what_is_done_is_written_down() {
    let mut smsc = start();
    let admin = smsc.admin();
    let operate = admin.with_role("operate", "night-shift");
    assert_eq!(operate.post("/v1/queues/operator:up/suspend").0, 200);
    assert_eq!(operate.post("/v1/queues/operator:none/suspend").0, 404);
    assert_eq!(
        operate.call("GET", "/v1/tokens", None).0,
        403,
        "a look is not written down"
    );
    assert_eq!(operate.call("DELETE", "/v1/tokens/x", None).0, 403);
    let number = "/v1/subscribers/447700900123/messages";
    assert_eq!(admin.call("DELETE", number, None).0, 200);
    assert_eq!(admin.bearer("nonsense").post("/v1/drain").0, 401);

    let seen: Vec<String> = pages(&admin, "")
        .iter()
        .map(|entry| {
            assert_eq!(entry["address"], "127.0.0.1");
            assert!(entry["at"].as_str().unwrap().ends_with('Z'));
            let text = |key: &str| entry[key].as_str().unwrap().to_owned();
            let what = [text("token"), text("role"), text("method"), text("path")];
            format!("{} {}", what.join(" "), entry["status"])
        })
        .collect();
    assert_eq!(
        seen,
        [
            "admin token admin DELETE /v1/subscribers/4477*****123/messages 200",
            "night-shift operate DELETE /v1/tokens/x 403",
            "night-shift operate POST /v1/queues/operator:none/suspend 404",
            "night-shift operate POST /v1/queues/operator:up/suspend 200",
            "admin token admin POST /v1/tokens 201",
        ]
    );
    assert_eq!(pages(&admin, "&token=night-shift").len(), 3);
    assert_eq!(pages(&admin, "&path=/v1/tokens").len(), 2);
    assert_eq!(pages(&admin, "&until=2020-01-01").len(), 0);
    assert_eq!(pages(&admin, "&since=2020-01-01").len(), 5);
    assert!(
        smsc.log().contains("night-shift"),
        "it is in the log as well"
    );
    smsc.kill();
    smsc.start_again();
    assert_eq!(pages(&admin, "").len(), 5);
    smsc.terminate();
    smsc.fsck();
}

#[test]
fn nothing_new_is_called_as_clients_take_out_of_paths() {
    let smsc = start();
    let admin = smsc.admin();
    let account = json!({ "password": "secret12" });
    for (path, field) in [
        ("/v1/accounts/%2E", "system_id"),
        ("/v1/accounts/%2E%2E?dry_run=true", "system_id"),
        ("/v1/lists/%2E%2E", "name"),
    ] {
        let body = if field == "name" {
            json!({ "entries": ["4477*"] })
        } else {
            account.clone()
        };
        let (status, refused) = admin.call("PUT", path, Some(&body));
        assert_eq!(status, 422, "{path}: {refused}");
        assert_eq!(refused["problems"][0]["field"], field, "{refused}");
        let said = refused["problems"][0]["message"].as_str().unwrap();
        assert!(said.contains("choose another name"), "{refused}");
    }
    let token = json!({ "name": "..", "role": "read" });
    let (status, refused) = admin.call("POST", "/v1/tokens", Some(&token));
    assert_eq!(status, 400, "{refused}");
    assert_eq!(refused["field"], "name", "{refused}");
    // What only looks like them is a name as others.
    for path in ["/v1/accounts/...", "/v1/accounts/.a"] {
        assert_eq!(admin.call("PUT", path, Some(&account)).0, 201, "{path}");
    }
}

#[test]
fn a_dry_run_is_not_written_down_and_a_change_leads_to_its_version() {
    let smsc = start();
    let admin = smsc.admin();
    let read = admin.with_role("read", "looker");
    let account = json!({ "password": "secret12", "max_binds": 3 });
    let rehearsed = "/v1/accounts/shop?dry_run=true";
    assert_eq!(admin.call("PUT", rehearsed, Some(&account)).0, 200);
    assert_eq!(read.call("PUT", rehearsed, Some(&account)).0, 403);
    let wrong = json!({ "max_binds": 0 });
    assert_eq!(admin.call("PUT", rehearsed, Some(&wrong)).0, 422);
    let (status, changed) = admin.call("PUT", "/v1/accounts/shop", Some(&account));
    assert_eq!(status, 201, "{changed}");
    // The same again changes nothing, and makes no version.
    let same = json!({ "max_binds": 3 });
    assert_eq!(admin.call("PUT", "/v1/accounts/shop", Some(&same)).0, 200);
    for (path, dry_run) in [("replay", true), ("cancel", true), ("cancel", false)] {
        let order = json!({ "filter": { "account": "test" }, "dry_run": dry_run });
        let path = format!("/v1/messages/{path}");
        assert_eq!(admin.call("POST", &path, Some(&order)).0, 200, "{path}");
    }
    let text = |entry: &Value, key: &str| entry[key].as_str().unwrap().to_owned();
    let said: Vec<String> = pages(&admin, "")
        .iter()
        .map(|entry| {
            let (what, detail) = (text(entry, "what"), text(entry, "detail"));
            let (status, version) = (&entry["status"], &entry["version"]);
            format!("{what} {status} {detail} {version}")
        })
        .collect();
    let version = &changed["version"];
    assert_eq!(
        said,
        [
            "cancel messages that wait 200  null".to_owned(),
            "set account shop 200 nothing changed null".to_owned(),
            format!("set account shop 201 account shop added {version}"),
            "set account shop 403 a dry run null".to_owned(),
            "make a token 201 token looker, role read null".to_owned(),
        ]
    );
    let made = admin.get(&format!("/v1/config/versions/{version}"));
    assert_eq!(made["changes"][0]["resource"], "accounts/shop");
}

#[test]
fn whoever_guesses_tokens_is_not_listened_to() {
    let smsc = start();
    let guesser = smsc.admin().bearer("guess");
    let (mut refused, mut limited) = (0, 0);
    for _ in 0..110 {
        match guesser.call("GET", "/v1/queues", None) {
            (401, _) => refused += 1,
            (429, answer) => {
                limited += 1;
                assert_eq!(answer["type"], "urn:smsc:problem:too-many-requests");
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((refused, limited), (100, 10));
    // Health probes come from the same address, and need no token.
    assert_eq!(smsc.admin().text("/health/live").unwrap().0, 200);
}

#[test]
fn bodies_are_bounded() {
    let smsc = start();
    let large = json!({ "name": "x".repeat(20_000), "role": "read" });
    let (status, answer) = smsc.admin().call("POST", "/v1/tokens", Some(&large));
    assert_eq!(
        (status, &answer["type"]),
        (413, &json!("urn:smsc:problem:too-large"))
    );
}
