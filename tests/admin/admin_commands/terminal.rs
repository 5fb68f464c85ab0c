//! Commands without a terminal, with one that is closed, and a server whose port is in use.

use super::*;
use crate::harness;

#[test]
fn what_cannot_be_taken_back_needs_yes_without_a_terminal() {
    let smsc = Smsc::new()
        .account("test", "test")
        .operator("up", Simulator::new().address())
        .route("", "up")
        .route("44", "test:failed")
        .start();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let waits = esme.submit(submit("33612345678", "hello"));
    let failed = esme.submit(submit("447700900123", "hello"));
    smsc.wait_for_final(&failed);
    let admin = smsc.admin();
    let message = |id: &str| admin.get(&format!("/v1/messages/{id}"));
    for (command, not_done) in [
        (&["queue", "purge", "operator:up"][..], "nothing was purged"),
        (
            &["message", "replay", "--account", "test"],
            "nothing was sent",
        ),
    ] {
        let refused = smsc.command(command);
        assert!(!refused.success, "{command:?}: {}", refused.stdout);
        for word in [not_done, "--yes"] {
            assert!(
                refused.stderr.contains(word),
                "{command:?}: {}",
                refused.stderr
            );
        }
    }
    assert_eq!(message(&waits)["state"], "ENROUTE");
    assert!(message(&failed)["changes"].as_array().unwrap().is_empty());
    for command in [
        &["message", "replay", "--account", "test"][..],
        &["queue", "purge", "operator:up"],
    ] {
        let done = smsc.run(&[command, &["--yes", "--config", "smsc.toml"]].concat());
        assert!(done.success, "{command:?}: {}", done.stderr);
    }
    assert_eq!(smsc.wait_for_final(&waits)["state"], "DELETED");
    assert_eq!(message(&failed)["changes"][0]["kind"], "replay");
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let mut smsc = Smsc::new().account("test", "test").start();
    let shell = |command: &str| {
        let script = format!(
            "{{ '{}' {command}; echo \"code $?\" >&2; }} | {{ exec <&-; sleep 2; }}",
            harness::binary().display()
        );
        let folder = smsc.data_dir().parent().unwrap().to_owned();
        harness::run(Command::new("sh").args(["-c", &script]).current_dir(folder)).stderr
    };
    assert_eq!(shell("queue list --config smsc.toml"), "code 0\n");
    assert_eq!(shell("check-config --defaults"), "code 0\n");
    smsc.terminate();
    let shell = |command: &str| {
        let script = format!(
            "{{ '{}' {command}; echo \"code $?\" >&2; }} | {{ exec <&-; sleep 2; }}",
            harness::binary().display()
        );
        let folder = smsc.data_dir().parent().unwrap().to_owned();
        harness::run(Command::new("sh").args(["-c", &script]).current_dir(folder)).stderr
    };
    assert_eq!(shell("fsck data"), "code 0\n");
    assert!(smsc.fsck().contains("OK"), "{}", smsc.fsck());
}

#[test]
fn a_taken_port_names_its_key() {
    let smsc = Smsc::new().account("test", "test").start();
    let other = smsc.config().replace("/data\"", "/other\"");
    let port = |address: std::net::SocketAddr| address.port().to_string();
    let free = free_port().to_string();
    for (key, config) in [
        ("smpp.listen", other.replace(&port(smsc.http()), &free)),
        ("http.listen", other.replace(&port(smsc.smpp()), &free)),
        (
            "listener[0].listen",
            other
                .replace(&port(smsc.http()), &free)
                .replace(&port(smsc.smpp()), &free_port().to_string())
                + &format!("[[listener]]\nlisten = \"{}\"\n", smsc.smpp()),
        ),
    ] {
        std::fs::write(smsc.file("other.toml"), config).unwrap();
        let refused = smsc.run(&["serve", "--config", "other.toml"]);
        assert!(!refused.success);
        assert!(
            refused.stderr.contains(&format!("{key}: ")),
            "{key}: {}",
            refused.stderr
        );
        assert!(
            refused.stderr.contains("another process has it"),
            "{}",
            refused.stderr
        );
    }
}

#[test]
fn the_demo_ends_with_its_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let start = |program: &[&str], data: &str| {
        let (smpp, http) = (free_port(), free_port());
        let mut command = Command::new(program[0]);
        command
            .args(&program[1..])
            .current_dir(folder.path())
            .env("SMSC_DATA_DIR", data)
            .env("SMSC_STORE__MIN_FREE_MIB", "1")
            .env("SMSC_SMPP__LISTEN", format!("127.0.0.1:{smpp}"))
            .env("SMSC_HTTP__LISTEN", format!("127.0.0.1:{http}"));
        let log = folder.path().join(format!("{data}.log"));
        let demo = Process::start("the demo", command, &log);
        until("the demo to be ready", || {
            demo.log().contains("Try it").then_some(())
        });
        demo
    };
    let binary = harness::binary();
    let binary = binary.to_str().unwrap();
    // Also where the tests themselves run with nohup.
    let with_hang_up = ["env", "--default-signal=HUP", binary, "serve"];
    let mut demo = start(&with_hang_up, "one");
    demo.signal("HUP");
    assert!(demo.wait().success(), "{}", demo.log());
    assert!(demo.log().contains("stopped"), "{}", demo.log());

    // With nohup the server survives the end of its terminal.
    let mut stays = start(&["nohup", binary, "serve"], "two");
    stays.signal("HUP");
    until("a line about it", || {
        stays.log().contains("nothing to reload").then_some(())
    });
    stays.assert_running();
    assert!(stays.terminate().success());
}
