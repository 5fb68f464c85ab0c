//! One grammar on the command line: nouns, verbs and names, old forms with a hint, options in front of a command,
//! formats of lists, exit codes, why something is so, and the audit log.

use std::os::unix::fs::symlink;
use std::process::Command;
use std::{env, fs, iter};

use serde_json::Value;

use super::command_line::{printed, refused};
use crate::harness::{
    Peer, Simulator, Smsc, binary, fish_completing, free_port, run, submit, until, zsh_completing,
};

/// An SMSC whose operator is away, with a message that waits for it, one that has failed, and their ids.
fn waiting_and_failed() -> (Simulator, Smsc, Peer, [String; 2]) {
    let operator = Simulator::new();
    let smsc = Smsc::new()
        .account("test", "test")
        .account("38612345", "test")
        .operator("up", operator.address())
        .route("", "up")
        .route("44", "test:failed")
        .toml("[usage]\nenabled = true")
        .start();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let waits = esme.submit(submit("33612345678", "hello"));
    let failed = esme.submit(submit("447700900123", "hello"));
    smsc.wait_for_final(&failed);
    until("the queue to have the message", || {
        let queue = smsc.admin().get("/v1/queues/operator:up");
        (queue["waiting"] == 1).then_some(())
    });
    (operator, smsc, esme, [waits, failed])
}

#[test]
fn old_forms_do_what_new_ones_do_and_name_them() {
    let (_operator, smsc, _esme, [_, failed]) = waiting_and_failed();
    until("both lists to have the failed message", || {
        let lists = ["messages", "dead-letters"];
        let all = lists.iter().all(|list| {
            let found = smsc.admin().get(&format!("/v1/{list}?to=447700900123"));
            found["messages"][0]["id"] == failed.as_str()
        });
        all.then_some(())
    });
    for (old, new, named) in [
        (
            &["queues", "-o", "name"][..],
            &["queue", "list", "-o", "name"][..],
            "smsc queue list",
        ),
        (
            &["message", &failed, "-o", "json"],
            &["message", "show", &failed, "-o", "json"],
            "smsc message show",
        ),
        (
            &["message", "find", "--to", "447700900123", "-o", "json"],
            &["message", "list", "--to", "447700900123", "-o", "json"],
            "smsc message list",
        ),
        (
            &["dead-letters", "--destination", "447700900123", "-o", "csv"],
            &["dead-letter", "list", "--to", "447700900123", "-o", "csv"],
            "smsc dead-letter list --to 447700900123",
        ),
        (
            &["usage", "--from", "2020-01-01", "--to", "2020-01-02"],
            &["usage", "--since", "2020-01-01", "--until", "2020-01-02"],
            "--since 2020-01-01 --until 2020-01-02",
        ),
    ] {
        let (before, now) = (smsc.command(old), smsc.command(new));
        assert!(before.success && now.success, "{old:?}: {}", before.stderr);
        assert_eq!(before.stdout, now.stdout, "{old:?}");
        assert!(before.stderr.contains(named), "{old:?}: {}", before.stderr);
        assert_eq!(before.stderr.lines().count(), 1, "{old:?}");
        assert_eq!(now.stderr, "", "{new:?}");
    }
    // Commands, as well.
    assert!(printed(&smsc, &["queues", "operator:up", "suspend"]).contains("is suspended"));
    let suspended = |is: bool| smsc.admin().get("/v1/queues/operator:up")["suspended"] == is;
    assert!(suspended(true));
    assert!(printed(&smsc, &["queue", "resume", "operator:up"]).contains("is resumed"));
    assert!(suspended(false));
    let moved = ["queues", "operator:up", "move", "--to", "test:delivered"];
    let said = smsc.command(&moved);
    assert!(said.stderr.contains("--queue test:delivered"), "{said:?}");
    assert!(printed(&smsc, &["operator", "suspend", "up"]).contains("are suspended"));
    printed(&smsc, &["operator", "resume", "up"]);
}

#[test]
fn options_stand_in_front_and_lists_have_formats() {
    let (_operator, smsc, _esme, _) = waiting_and_failed();
    let url = format!("http://{}", smsc.http());
    let front = ["--url", &url, "--token", "harness-token", "-o", "name"];
    let names = smsc.run(&[&front[..], &["queue", "list"]].concat());
    assert!(names.success, "{}", names.stderr);
    let all: Vec<&str> = names.stdout.lines().collect();
    assert!(
        all.contains(&"operator:up") && !all.contains(&"queue"),
        "{names:?}"
    );
    let between = smsc.run(&["queue", "--url", &url, "--token", "harness-token", "list"]);
    assert!(between.success, "{}", between.stderr);

    let lines = printed(&smsc, &["queue", "list", "-o", "jsonl"]);
    let read: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(read.len(), all.len());
    assert!(read.iter().any(|queue| queue["name"] == "operator:up"));

    // A list in each line, also where an answer has two; one thing is one line.
    let binds = printed(&smsc, &["bind", "list", "-o", "jsonl"]);
    let csv = printed(&smsc, &["bind", "list", "-o", "csv", "--no-headers"]);
    assert_eq!(binds.lines().count(), csv.lines().count(), "{binds}");
    let one = printed(&smsc, &["queue", "show", "operator:up", "-o", "jsonl"]);
    let one: Value = serde_json::from_str(&one).unwrap();
    assert_eq!(one["name"], "operator:up");

    let sorted = [
        "queue",
        "list",
        "-o",
        "csv",
        "--sort-by",
        "waiting",
        "--no-headers",
    ];
    let sorted = printed(&smsc, &sorted);
    assert!(sorted.lines().last().unwrap().starts_with("operator:up,"));
    assert!(!sorted.contains("queue,state"), "{sorted}");
    let wrong = refused(&smsc, &["queue", "list", "--sort-by", "depth"]);
    assert!(wrong.contains("the columns are queue"), "{wrong}");
}

#[test]
fn times_are_said_as_people_say_them() {
    let (_operator, smsc, _esme, [waits, _]) = waiting_and_failed();
    let found = |since: &str| {
        let line = ["message", "list", "--since", since, "-o", "name"];
        printed(&smsc, &line).contains(&waits)
    };
    until("the index", || found("10m").then_some(()));
    assert!(found("yesterday") && found("yesterday 00:00 UTC"));
    let none = ["message", "list", "--until", "10m", "-o", "name"];
    assert!(!printed(&smsc, &none).contains(&waits));
    assert_eq!(
        smsc.command(&["message", "list", "--since", "soon"]).code,
        Some(2)
    );
    let backwards = smsc.command(&["message", "list", "--since", "1h", "--until", "2h"]);
    assert_eq!(backwards.code, Some(2), "{backwards:?}");
    assert!(
        backwards.stderr.contains("--until is before --since"),
        "{backwards:?}"
    );
}

#[test]
fn exit_codes_tell_errors_apart() {
    let (_operator, smsc, _esme, _) = waiting_and_failed();
    let (url, smpp) = (format!("http://{}", smsc.http()), smsc.smpp().to_string());
    let nowhere = format!("127.0.0.1:{}", free_port());
    let nobody = format!("http://{nowhere}");
    let send = |host: &str, password: &str| {
        let whom = ["--system-id", "test", "--password", password];
        let line = ["send", "--host", host, "--to", "447700900123", "hello"];
        smsc.run(&[&line[..], &whom].concat())
    };
    for (told, code) in [
        (smsc.command(&["message", "show", "1"]), 3),
        (smsc.command(&["account", "show", "nobody"]), 3),
        (smsc.command(&["sink", "show", "none"]), 3),
        (smsc.command(&["bind", "list", "nobody"]), 3),
        (smsc.command(&["firewall", "list", "nobody"]), 3),
        (smsc.command(&["firewall", "list", "--rule", "nothing"]), 2),
        (smsc.command(&["message", "list", "--state", "GONE"]), 4),
        (smsc.command(&["queue", "list", "--sort-by", "depth"]), 2),
        (smsc.command(&["message", "cancel"]), 2),
        (
            smsc.run(&["queue", "list", "--url", &url, "--token", "x"]),
            4,
        ),
        (
            smsc.run(&["queue", "list", "--url", &nobody, "--token", "x"]),
            5,
        ),
        (smsc.run(&["health", "--url", &nobody]), 5),
        (
            smsc.run(&["top", "--once", "--url", &nobody, "--token", "x"]),
            5,
        ),
        (smsc.run(&["events", "--url", &nobody, "--token", "x"]), 5),
        (send(&nowhere, "test"), 5),
        (send(&smpp, "wrong"), 4),
        (send(&smpp, "test"), 6),
        (smsc.run(&["queue", "empty"]), 2),
        (smsc.run(&["load", "--window", "0"]), 2),
        (smsc.run(&["load", "--length", "1"]), 2),
        (smsc.run(&["bench", "--rate", "0"]), 2),
        (smsc.run(&["export", "--since", "2h", "--until", "3h"]), 2),
        (
            smsc.run(&["export", "--since", "2h", "--until", "2100-01-01"]),
            2,
        ),
        (smsc.run(&["send", "--to", "nobody", "hello"]), 2),
        (
            smsc.run(&["queue", "list", "--url", "smsc:8080", "--token", "x"]),
            2,
        ),
        // Its operator is away.
        (smsc.run(&["health", "--url", &url]), 0),
    ] {
        assert_eq!(told.code, Some(code), "{told:?}");
    }
    let help = smsc.run(&["--help"]).stdout;
    for part in [
        "Exit codes:",
        "Commands for messages:",
        "Options of most commands",
    ] {
        assert!(help.contains(part), "{part}: {help}");
    }
    // What to do is a command.
    let said = refused(&smsc, &["queue", "show", "none"]);
    assert!(
        said.contains("smsc queue list") && !said.contains("/v1"),
        "{said}"
    );
}

/// What bash offers at the end of a line, whose program is this one.
fn offered(smsc: &Smsc, line: &str) -> Vec<String> {
    let binary = binary();
    let binary = binary.to_str().unwrap();
    let script = "source <(\"$1\" completions bash); COMP_LINE=$2; COMP_POINT=${#2}; COMP_WORDS=(\"$1\"); COMP_CWORD=0; \
                  _smsc smsc '' ''; printf '%s\\n' \"${COMPREPLY[@]}\"";
    let mut bash = Command::new("bash");
    bash.args(["-c", script, "bash", binary, line])
        .current_dir(smsc.file("."))
        .env("SMSC_CONTEXTS", smsc.file("contexts.json"));
    let told = run(&mut bash);
    assert!(told.success, "{line}: {}", told.stderr);
    told.stdout.lines().map(str::to_owned).collect()
}

#[test]
fn a_shell_completes_names() {
    let (_operator, smsc, _esme, _) = waiting_and_failed();
    let asking = format!("--url http://{} --token harness-token", smsc.http());
    for (line, names) in [
        // Bash goes on behind the colon.
        (format!("smsc {asking} queue suspend operator:"), vec!["up"]),
        (
            format!("smsc queue show {asking} oper"),
            vec!["operator:up"],
        ),
        (format!("smsc operator rebind {asking} "), vec!["up"]),
        (format!("smsc account show {asking} te"), vec!["test"]),
        (
            format!("smsc message list {asking} --account "),
            vec!["38612345", "test", "up"],
        ),
    ] {
        assert_eq!(offered(&smsc, &line), names, "{line}");
    }
    // What cannot be asked is completed as before, without a word.
    let nobody = format!("smsc --url http://127.0.0.1:{} --token x", free_port());
    let options = offered(&smsc, &format!("{nobody} queue show oper"));
    assert!(!options.contains(&"operator:up".to_owned()), "{options:?}");
    let wrong = format!("http://{}", smsc.http());
    let line = ["complete-names", "--", "--url", &wrong, "--token", "wrong"];
    let told = smsc.run(&[&line[..], &["queue", "show", "oper"]].concat());
    assert_eq!((told.code, told.stdout.as_str()), (Some(0), ""), "{told:?}");
    assert_eq!(told.stderr, "");
}

/// The others complete a program by its name, which they find on the PATH.
#[test]
fn zsh_and_fish_complete_names_and_commands() {
    let (_operator, smsc, _esme, _) = waiting_and_failed();
    let home = smsc.file("home");
    fs::create_dir(&home).unwrap();
    symlink(binary(), home.join("smsc")).unwrap();
    let known = env::var_os("PATH").unwrap_or_default();
    let folders = iter::once(home.clone()).chain(env::split_paths(&known));
    let path = env::join_paths(folders).unwrap();
    let [for_zsh, for_fish] = ["zsh", "fish"].map(|shell| {
        let file = home.join(shell);
        fs::write(&file, smsc.run(&["completions", shell]).stdout).unwrap();
        file
    });
    let told = |mut shell: Command| {
        shell
            .env("PATH", &path)
            .env("HOME", &home)
            .env("SMSC_CONTEXTS", smsc.file("contexts.json"));
        let told = run(&mut shell);
        assert!(told.success, "{shell:?}: {}", told.stderr);
        told.stdout
    };
    let asking = format!("--url 'http://{}' --token harness-token", smsc.http());
    for (line, begun, word) in [
        (format!("smsc {asking} account show"), "te", "test"),
        (
            format!("smsc queue suspend {asking}"),
            "operator:",
            "operator:up",
        ),
        // Options of most commands may stand in front.
        (format!("smsc {asking} queue"), "susp", "suspend"),
        ("smsc".to_owned(), "accou", "account"),
    ] {
        let begun = format!("{line} {begun}");
        let completed = told(zsh_completing(&for_zsh, &begun));
        assert_eq!(completed.trim_end(), format!("{line} {word}"));
        let offered = told(fish_completing(&for_fish, &begun));
        // What it means stands behind it.
        let words: Vec<&str> = offered
            .lines()
            .filter_map(|line| line.split('\t').next())
            .collect();
        assert_eq!(words, [word], "{begun}");
    }
}

#[test]
fn it_says_why_and_who() {
    let (_operator, smsc, _esme, [waits, failed]) = waiting_and_failed();
    printed(&smsc, &["queue", "suspend", "operator:up"]);
    let why = printed(&smsc, &["why", &waits]);
    for part in ["ENROUTE", "suspended", "smsc queue resume operator:up"] {
        assert!(why.contains(part), "{part}: {why}");
    }
    let why = printed(&smsc, &["why", &failed]);
    assert!(
        why.contains(&format!("smsc message replay {failed}")),
        "{why}"
    );
    let json: Value =
        serde_json::from_str(&printed(&smsc, &["why", &failed, "-o", "json"])).unwrap();
    assert_eq!(json["message"]["id"], failed.as_str());

    until("the failure to be listed by its number", || {
        let why = printed(&smsc, &["why", "+447700900123"]);
        (why.contains("test:failed") && why.contains(&failed)).then_some(())
    });
    let why = printed(&smsc, &["why", "test"]);
    for part in ["prepaid", "account:test", "bound", &failed] {
        assert!(why.contains(part), "{part}: {why}");
    }
    // An account that is called as a number is, and the number.
    assert!(printed(&smsc, &["why", "38612345"]).contains("it is not bound"));
    assert!(!printed(&smsc, &["why", "+38612345"]).contains("it is not bound"));
    assert_eq!(smsc.command(&["why", "nobody"]).code, Some(3));

    let audit = printed(&smsc, &["audit", "queues", "--since", "10m"]);
    assert!(audit.contains("suspend queue operator:up"), "{audit}");
    let none = printed(&smsc, &["audit", "--until", "2020-01-01"]);
    assert!(none.contains("no command fits"), "{none}");
}
