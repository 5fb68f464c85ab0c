//! Validation of sources of commands.

use super::refused;

/// A source with these keys besides those that it needs.
fn source(keys: &str) -> String {
    let mut text = String::from("[[account]]\nsystem_id = 'a'\npassword = 'p'\n[[nats_source]]\n");
    for line in [
        "name = 'x'",
        "servers = ['nats://nats:4222']",
        "subject = 'smpp.operator.up'",
        "account = 'a'",
    ] {
        let (key, _) = line.split_once(' ').unwrap();
        if !keys.lines().any(|one| one.starts_with(key)) {
            text.push_str(line);
            text.push('\n');
        }
    }
    text + keys
}

#[test]
fn nats_sources() {
    for (keys, problem) in [
        ("name = ''", "name: is missing"),
        (
            "name = 'state'",
            "name: is the path of the state of all (/v1/nats-sources/state); choose another",
        ),
        (
            "servers = []",
            "servers: is missing; write [\"nats://nats.example:4222\"]",
        ),
        (
            "servers = ['http://nats']",
            "servers[0]: is no address of a NATS server",
        ),
        (
            "servers = ['nats://me:secret@nats']",
            "servers[0]: must hold no user",
        ),
        ("user = 'me'", "password_file: and `user` belong together"),
        ("timeout = '0s'", "timeout: must be longer than \"0s\""),
        ("stream = 'a.b'", "stream: must be a name without blanks"),
        (
            "consumer = 'a b'",
            "consumer: must be a name without blanks",
        ),
        (
            "subject = ''",
            "subject: is missing; write \"smpp.operator.up\"",
        ),
        (
            "subject = 'smpp..up'",
            "subject: must be a subject, such as",
        ),
        (
            "subject = 'smpp.>.up'",
            "subject: must be a subject, such as",
        ),
        (
            "dead_letters = 'smpp.*'",
            "dead_letters: must be a subject without wildcards",
        ),
        (
            "subject = 'smpp.>'\ndead_letters = 'smpp.dead'",
            "dead_letters: is in `subject`: what is refused would come again; choose another",
        ),
        ("account = ''", "account: is missing"),
        (
            "account = 'b'",
            "account: there is no account \"b\", known are: a",
        ),
        (
            "operator = 'up'",
            "operator: there is no operator \"up\", there is none",
        ),
        (
            "mode = 'operator'",
            "operator: is missing; `mode = \"operator\"` goes by its rate and binds",
        ),
        ("mode = 'never'", "mode: "),
        ("in_flight = 0", "in_flight: must be between 1 and 100000"),
        ("ack_wait = '0s'", "ack_wait: must be longer than \"0s\""),
        (
            "start = 'newest'",
            "start: must be \"all\", \"new\" or a time such as \"2036-11-21T09:00:00Z\"",
        ),
        ("nak_delay = '0s'", "nak_delay: must be longer than \"0s\""),
    ] {
        let problems = refused(&source(keys));
        let expected = format!("nats_source[0].{problem}");
        assert!(
            problems.iter().any(|found| found.starts_with(&expected)),
            "{expected} in {problems:?}"
        );
    }
    let twice = format!(
        "{}\n{}",
        source(""),
        source("").split_once("p'\n").unwrap().1
    );
    assert_eq!(
        refused(&twice),
        ["nats_source[1].name: \"x\" is already nats_source[0]"]
    );
}
