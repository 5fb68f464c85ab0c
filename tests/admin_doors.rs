//! What a client of the admin API can do to others, to this machine, or to what is written down about it.

mod harness;

use std::fs;
use std::process::Command;

use harness::{Smsc, until};
use serde_json::{Value, json};

/// A process that takes memory without end would take the whole machine with it.
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

    // As a program, this value has two to the power of eighty states.
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
    let path = |name: &str| smsc.file(name).to_str().unwrap().to_owned();
    fs::create_dir(smsc.file("files")).unwrap();
    for pipe in ["pipe", "files/pipe"] {
        let made = Command::new("mkfifo").arg(path(pipe)).status().unwrap();
        assert!(made.success());
    }
    let put = |resource: &str, body: Value| admin.call("PUT", resource, Some(&body));
    let operator = |more: Value| {
        let mut body = json!({ "address": "127.0.0.1:1", "system_id": "x", "enabled": false });
        body.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        body
    };

    // Nothing elsewhere: neither what is there is said, nor whether it is there.
    for file in ["private", "nothing", "pipe", "files/../private"].map(path) {
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
                operator(json!({ "password_file": file })),
            ),
            (
                "/v1/operators/a",
                "tls_ca_file",
                operator(json!({ "tls": true, "tls_ca_file": file })),
            ),
            (
                "/v1/operators/a",
                "tls_cert",
                operator(json!({ "tls": true, "tls_cert": file, "tls_key": file })),
            ),
        ] {
            let (status, answer) = put(resource, body);
            assert_eq!(status, 422, "{resource} {file}: {answer}");
            let said = answer.to_string();
            assert!(
                said.contains("http.files_dir") && said.contains(field),
                "{answer}"
            );
            assert!(!said.contains("hash-of-root"), "{answer}");
        }
    }
    let (status, answer) = put("/v1/lists/a", json!({ "file": "/dev/zero" }));
    assert_eq!(status, 422, "{answer}");

    // In its folder: regular files of a size that makes sense, and none of their lines.
    let inside = |name: &str, text: &str| fs::write(smsc.file("files").join(name), text).unwrap();
    inside("list", "331*\n");
    inside("secret", "pa55word\n");
    inside("lines", "hash-of-root:0*0\n");
    inside("expression", "/(hash-of-root/\n");
    inside("long", &"x".repeat(100_000));
    std::os::unix::fs::symlink(path("private"), path("files/link")).unwrap();
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
        let (status, answer) = put(resource, body);
        assert_eq!(status, 422, "{answer}");
        let said = answer.to_string();
        assert!(
            said.contains(words) && !said.contains("hash-of-root"),
            "{answer}"
        );
    }
    assert_eq!(put("/v1/lists/a", json!({ "file": "files/list" })).0, 201);
    assert_eq!(
        put(
            "/v1/accounts/a",
            json!({ "password_file": path("files/secret") })
        )
        .0,
        201
    );
    harness::Peer::bind(smsc.smpp(), "a", "pa55word");

    // Those of the node's own file are wherever it says, also when it says so only now.
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
    // At the place that it says: it may not be sent to an operator as a password.
    let (status, answer) = put(
        "/v1/operators/a",
        operator(json!({ "password_file": "own.txt" })),
    );
    assert_eq!(status, 422, "{answer}");
    smsc.assert_no_panic();
}
