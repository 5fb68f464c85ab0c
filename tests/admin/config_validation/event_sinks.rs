//! Validation of event sinks.

use super::refused;

#[test]
fn event_sinks() {
    let servers = "servers = ['nats://h']";
    let sink = |keys: &str| format!("[[event_sink]]\nname = 'x'\n{servers}\n{keys}");
    for (text, problem) in [
        (
            format!("[[event_sink]]\n{servers}"),
            "event_sink[0].name: is missing",
        ),
        (
            format!("{}\n{}", sink(""), sink("")),
            "event_sink[1].name: \"x\" is already event_sink[0]",
        ),
        (
            "[[event_sink]]\nname = 'x'".to_owned(),
            "event_sink[0].servers: is missing; write [\"nats://nats.example:4222\"]",
        ),
        (
            "[[event_sink]]\nname = 'x'\nservers = ['nats://u:hush@h']".to_owned(),
            "event_sink[0].servers[0]: must hold no user; log in with event_sink[0].credentials_file",
        ),
        (
            sink("events = []"),
            "event_sink[0].events: is empty; write [\"ended\"], or `enabled = false`",
        ),
        (
            sink("subject = 'sms.>'"),
            "event_sink[0].subject: must be a subject without wildcards, such as \"sms.events.{event}\", \
             and may have {event}, {operator} and {account}",
        ),
        (
            sink("subject = 'sms.{message}'"),
            "event_sink[0].subject: must be a subject without wildcards, such as \"sms.events.{event}\", \
             and may have {event}, {operator} and {account}",
        ),
        (
            sink("timeout = '0s'"),
            "event_sink[0].timeout: must be longer than \"0s\"",
        ),
        (
            sink("user = 'u'"),
            "event_sink[0].password_file: and `user` belong together",
        ),
        (
            sink("token_file = 'a'\ncredentials_file = 'b'"),
            "event_sink[0].credentials_file: is not the only login: choose `credentials_file`, `user` with \
             `password_file`, or `token_file`",
        ),
    ] {
        let problems = refused(&text);
        assert!(
            problems.iter().any(|found| found.starts_with(problem)),
            "{problem} in {problems:?}"
        );
    }
}
