//! `smsc context`: saved SMSCs that every command can ask by name, in a file of its owner's.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};

use crate::harness::{Smsc, binary};

/// Runs a command by a shell with umask 022, in a folder without an SMSC.
fn smsc(folder: &Path, arguments: &[&str]) -> Output {
    Command::new("sh")
        .args(["-c", "umask 022; exec \"$0\" \"$@\""])
        .arg(binary())
        .args(arguments)
        .current_dir(folder)
        .env("XDG_CONFIG_HOME", folder.join("config"))
        .env_remove("SMSC_CONTEXTS")
        .env_remove("SMSC_CONTEXT")
        .output()
        .unwrap()
}

fn says(output: &Output) -> String {
    let both = [&output.stdout[..], &output.stderr[..]].concat();
    String::from_utf8(both).unwrap()
}

#[test]
fn commands_ask_the_smsc_that_is_named_or_chosen() {
    let (live, test) = (Smsc::new().start(), Smsc::new().start());
    live.admin().post("/v1/queues/test:failed/suspend");
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| smsc(folder.path(), arguments);
    let url = |smsc: &Smsc| format!("http://{}", smsc.http());

    // Nothing is saved yet, and there is no SMSC here.
    assert!(says(&run(&["context", "list"])).contains("none is saved"));
    assert!(!run(&["queue", "list"]).status.success());

    std::fs::write(folder.path().join("live.token"), "harness-token\n").unwrap();
    let live_file = [
        "context",
        "add",
        "live",
        "--url",
        &url(&live),
        "--token-file",
        "live.token",
    ];
    assert!(
        run(&live_file).status.success(),
        "{}",
        says(&run(&live_file))
    );
    let added = run(&[
        "context",
        "add",
        "test",
        "--url",
        &url(&test),
        "--token",
        "harness-token",
    ]);
    assert!(added.status.success(), "{}", says(&added));
    let file = folder.path().join("config/smsc/contexts.json");
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);

    // Saved is not chosen.
    assert!(!run(&["queue", "list"]).status.success());
    assert!(run(&["context", "use", "live"]).status.success());
    let queues = says(&run(&["queue", "list"]));
    assert!(queues.contains("suspended"), "{queues}");
    let other = says(&run(&["queue", "list", "--context", "test"]));
    assert!(
        other.contains("test:failed") && !other.contains("suspended"),
        "{other}"
    );
    // What is said on the command line counts more.
    let by_url = says(&run(&[
        "queue",
        "list",
        "--url",
        &url(&test),
        "--token",
        "harness-token",
    ]));
    assert!(!by_url.contains("suspended"), "{by_url}");

    let list = says(&run(&["context", "list"]));
    assert!(list.contains("live*") && list.contains("saved"), "{list}");
    assert!(!list.contains("harness-token"), "{list}");

    assert!(run(&["context", "remove", "live"]).status.success());
    assert!(!run(&["queue", "list"]).status.success());
}

#[test]
fn what_is_wrong_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| smsc(folder.path(), arguments);
    for (arguments, wanted) in [
        (
            &["context", "use", "live"][..],
            "has no context live; none is saved",
        ),
        (
            &["queue", "list", "--context", "live"],
            "has no context live; none is saved",
        ),
        (
            &["context", "add", "live", "--url", "smsc:8080"],
            "begins with http:// or https://",
        ),
        (
            &["context", "add", "a/b", "--url", "http://a"],
            "letters, digits, dots",
        ),
        (
            &[
                "context",
                "add",
                "a",
                "--url",
                "http://a",
                "--token-file",
                "none",
            ],
            "none cannot be read",
        ),
        (
            &["queue", "list", "--context", "a", "--url", "http://a"],
            "cannot be used with",
        ),
    ] {
        let output = run(arguments);
        assert!(!output.status.success(), "{arguments:?}");
        let said = says(&output);
        assert!(said.contains(wanted), "{arguments:?}: {said}");
    }
    assert_eq!(run(&["context", "remove", "none"]).status.code(), Some(3));
    // Nothing was left behind by what failed.
    assert!(!folder.path().join("config/smsc/contexts.json").exists());
    std::fs::create_dir_all(folder.path().join("config/smsc")).unwrap();
    std::fs::write(folder.path().join("config/smsc/contexts.json"), "{").unwrap();
    let said = says(&run(&["context", "list"]));
    assert!(said.contains("contexts.json cannot be read"), "{said}");
}
