//! Every old form and what it is now; options in front of the command.

use super::*;
use crate::cli::command;

fn line(text: &str) -> RewrittenLine {
    let words = text.split_whitespace().map(str::to_owned).collect();
    rewritten(&command(), words)
}

/// Old forms, what clap reads, and what the hint names.
const OLD: &[(&str, &str, &str)] = &[
    ("queues", "queue list", "queue list"),
    (
        "queues --watch -o csv",
        "queue list --watch -o csv",
        "queue list",
    ),
    (
        "queues operator:up",
        "queue show operator:up",
        "queue show operator:up",
    ),
    (
        "queues operator:up suspend --token secret",
        "queue suspend operator:up --token secret",
        "queue suspend operator:up",
    ),
    (
        "queues operator:up resume",
        "queue resume operator:up",
        "queue resume operator:up",
    ),
    (
        "queues --yes operator:up purge",
        "queue purge operator:up --yes",
        "queue purge operator:up",
    ),
    (
        "queues operator:up move --to operator:other --account bank --since 2026-11-21",
        "queue move operator:up --queue operator:other --account bank --since 2026-11-21",
        "queue move operator:up --queue operator:other",
    ),
    ("binds", "bind list", "bind list"),
    (
        "binds up --url http://a:1",
        "bind list up --url http://a:1",
        "bind list up",
    ),
    (
        "binds up rebind",
        "operator rebind up",
        "operator rebind up",
    ),
    (
        "binds up resume",
        "operator resume up",
        "operator resume up",
    ),
    (
        "binds up suspend",
        "operator suspend up",
        "operator suspend up",
    ),
    (
        "binds 0/17 disconnect",
        "bind disconnect 0/17",
        "bind disconnect 0/17",
    ),
    ("nodes --watch=5", "node list --watch=5", "node list"),
    ("sources", "source list", "source list"),
    (
        "message find --to 44",
        "message list --to 44",
        "message list",
    ),
    (
        "message 17 --text",
        "message show 17 --text",
        "message show 17",
    ),
    (
        "message 17 cancel",
        "message cancel 17",
        "message cancel 17",
    ),
    ("message 17 retry", "message retry 17", "message retry 17"),
    (
        "message 17 move --to=operator:b",
        "message move 17 --queue=operator:b",
        "message move 17 --queue operator:b",
    ),
    (
        "dead-letters --destination 44 --source ACME",
        "dead-letter list --to 44 --from ACME",
        "dead-letter list --to 44 --from ACME",
    ),
    (
        "replay 17 --to b --validity 1h",
        "message replay 17 --queue b --validity 1h",
        "message replay 17 --queue b",
    ),
    // An operator may be called as a number is.
    (
        "--url http://a:1 replay 17 --to 44",
        "message replay 17 --url http://a:1 --queue 44",
        "message replay 17 --queue 44",
    ),
    (
        "replay --destination +44* --json",
        "message replay --to +44* --json",
        "message replay --to +44*",
    ),
    (
        "-ojson queues --watch -- operator:up",
        "queue show operator:up -ojson --watch",
        "queue show operator:up",
    ),
    (
        "replay --operator up --dry-run",
        "message replay --operator up --dry-run",
        "message replay",
    ),
    (
        "receipts match 12 17 -o json",
        "receipt match 12 17 -o json",
        "receipt match 12 17",
    ),
    (
        "receipts given-up --account a",
        "receipt given-up --account a",
        "receipt given-up",
    ),
    (
        "lookups forget imsi --all",
        "lookup forget imsi --all",
        "lookup forget imsi",
    ),
    (
        "load --to 127.0.0.1:1 --from 12345",
        "load --host 127.0.0.1:1 --from 12345",
        "load --host 127.0.0.1:1",
    ),
    // Its --json has a value.
    (
        "load --json out.json --to a:1",
        "load --json out.json --host a:1",
        "load --host a:1",
    ),
    (
        "queue move operator:up --to operator:b",
        "queue move operator:up --queue operator:b",
        "queue move --queue operator:b",
    ),
    (
        "bench --to a:1 --rounds 2",
        "bench --host a:1 --rounds 2",
        "bench --host a:1",
    ),
    (
        "usage --from 2026-11-01 --to 2026-11-30 --by day",
        "usage --since 2026-11-01 --until 2026-11-30 --by day",
        "usage --since 2026-11-01 --until 2026-11-30",
    ),
    (
        "export --from 2026-11-01 --to 2026-11-02 --to-database postgres://a",
        "export --since 2026-11-01 --until 2026-11-02 --to-database postgres://a",
        "export --since 2026-11-01 --until 2026-11-02",
    ),
    (
        "salvage --to ./new",
        "salvage --into ./new",
        "salvage --into ./new",
    ),
    (
        "migrate-store -c smsc.toml --from ./data",
        "migrate-store -c smsc.toml --data-dir ./data",
        "migrate-store --data-dir ./data",
    ),
];

#[test]
fn old_forms_become_new_ones_with_a_hint() {
    for (old, new, named) in OLD {
        let found = line(old);
        assert_eq!(found.words.join(" "), *new, "{old}");
        let hint = found.hint.unwrap_or_default();
        assert_eq!(
            hint,
            format!("hint: this is `smsc {named}` now; the old form works for two more releases")
        );
        // What it is now is a command line, and has a hint no more.
        let again = line(new);
        assert_eq!((again.words.join(" ").as_str(), again.hint), (*new, None));
        let words = ["smsc"].into_iter().chain(new.split(' '));
        let read = command().try_get_matches_from(words);
        assert!(read.is_ok(), "{new}: {}", read.unwrap_err());
    }
}

#[test]
fn every_old_form_is_tried() {
    for (form, _) in FORMS {
        let (first, last) = (form.split(' ').next(), form.split(' ').next_back());
        let is_tried = OLD.iter().any(|(old, ..)| {
            let words: Vec<&str> = old.split(' ').collect();
            let has_last =
                last.is_some_and(|last| words.contains(&last) || last == "…" || is_capitals(last));
            words.first().copied() == first && has_last
        });
        assert!(is_tried, "{form}");
    }
}

#[test]
fn options_of_most_commands_stand_before_the_command_or_behind_it() {
    for (given, read) in [
        (
            "--url http://a:1 --token x queue list --no-headers",
            "queue list --no-headers --url http://a:1 --token x",
        ),
        ("queue -o json list", "queue list -o json"),
        ("-ojson --watch=3 node list", "node list -ojson --watch=3"),
        (
            "-c smsc.toml serve --suspended",
            "serve --suspended -c smsc.toml",
        ),
        (
            "--context=live message cancel 17 -- x",
            "message cancel 17 --context=live -- x",
        ),
        ("--url http://a:1 queues", "queue list --url http://a:1"),
        // Without a command nothing is moved: it serves.
        ("--config smsc.toml", "--config smsc.toml"),
        ("", ""),
        ("--version", "--version"),
    ] {
        assert_eq!(line(given).words.join(" "), read, "{given}");
    }
}

#[test]
fn new_forms_are_left_alone() {
    for given in [
        "message replay --to 447700900123 --queue operator:b",
        "message replay --to 49* --error 88",
        "message replay --to ACME",
        "send --to 44 -- queues",
        "send --to 44 -- --from",
        "account show list",
        "account show -- -shop",
        "message list --to 44 --from ACME",
        "message cancel --operator up --yes",
        "message show 17",
        "send --to 44 --from ACME queues",
        "route explain 44 --from ACME",
        "trace --to 44",
        "held release --id 7",
    ] {
        let found = line(given);
        assert_eq!((found.words.join(" ").as_str(), found.hint), (given, None));
    }
}
