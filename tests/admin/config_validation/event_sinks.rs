//! Validation of event sinks.

use smsc::config::Config;

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
        (
            sink("tls = true"),
            "event_sink[0].tls: is for `kind = \"kafka\"`; write tls:// in front of the servers",
        ),
        (
            sink("topic = 'sms'"),
            "event_sink[0].topic: is for `kind = \"kafka\"`; write `subject`",
        ),
    ] {
        let problems = refused(&text);
        assert!(
            problems.iter().any(|found| found.starts_with(problem)),
            "{problem} in {problems:?}"
        );
    }
}

#[test]
fn event_sinks_on_kafka() {
    let named = "[[event_sink]]\nname = 'x'\nkind = 'kafka'";
    let sink = |keys: &str| format!("{named}\nservers = ['h:9092']\n{keys}");
    let of_nats = "log in with `user` and `password_file`";
    for (text, problem) in [
        (
            named.to_owned(),
            "event_sink[0].servers: is missing; write [\"kafka.example:9092\"]".to_owned(),
        ),
        (
            format!("{named}\nservers = ['kafka://h:9092']"),
            "event_sink[0].servers[0]: is no address of a broker of Kafka; write \"kafka.example:9092\"".to_owned(),
        ),
        (
            format!("{named}\nservers = ['u:hush@h:9092']"),
            "event_sink[0].servers[0]: must hold no user; log in with event_sink[0].password_file".to_owned(),
        ),
        (
            sink("topic = 'sms.>'"),
            "event_sink[0].topic: must be up to 249 letters, digits, `.`, `-` and `_`".to_owned(),
        ),
        (
            sink("topic = 'sms.{message}'"),
            "event_sink[0].topic: must be up to 249 letters, digits, `.`, `-` and `_`".to_owned(),
        ),
        (
            sink("subject = 'sms.events'"),
            "event_sink[0].subject: is for `kind = \"nats\"`; write `topic`".to_owned(),
        ),
        (
            sink("token_file = 'a'"),
            format!("event_sink[0].token_file: is for `kind = \"nats\"`; {of_nats}"),
        ),
        (
            sink("credentials_file = 'a'"),
            format!("event_sink[0].credentials_file: is for `kind = \"nats\"`; {of_nats}"),
        ),
        (
            sink("user = 'u'"),
            "event_sink[0].password_file: and `user` belong together".to_owned(),
        ),
        (
            sink("tls = true\ncert_file = 'a'"),
            "event_sink[0].key_file: and `cert_file` belong together".to_owned(),
        ),
        (
            sink("ca_file = 'a'"),
            "event_sink[0].ca_file: is of use only with `tls = true`".to_owned(),
        ),
        (
            sink("sasl_mechanism = 'GSSAPI'"),
            "event_sink[0].sasl_mechanism: expected \"PLAIN\", \"SCRAM-SHA-256\" or \"SCRAM-SHA-512\"".to_owned(),
        ),
        (
            sink("timeout = '0s'"),
            "event_sink[0].timeout: must be longer than \"0s\"".to_owned(),
        ),
    ] {
        let problems = refused(&text);
        assert!(
            problems.iter().any(|found| found.starts_with(&problem)),
            "{problem} in {problems:?}"
        );
    }
}

#[test]
fn the_section_of_before_is_refused_with_the_sink_that_replaces_it() {
    let instead = |keys: &str| {
        [format!(
            "nats: is no section any more; write in its place, and give it to the store by `smsc apply`:\n\
             [[event_sink]]\n{keys}\n"
        )]
    };
    assert_eq!(
        refused(
            "[nats]\nservers = ['tls://a:4333', 'nats://user:hush@b']\ncredentials_file = '/c'\nca_file = '/a'\n\
             subject = 'sms.status'\ntimeout = '7s'"
        ),
        instead(
            "ca_file = \"/a\"\ncredentials_file = \"/c\"\nname = \"nats\"\n\
             servers = [\"tls://a:4333\", \"nats://b\"]\nsubject = \"sms.status\"\ntimeout = \"7s\""
        )
    );
    assert_eq!(
        refused("nats.subject = 'sms.status'"),
        ["nats: is no section any more, and published nothing without `servers`; remove it"]
    );
    let variable = [(
        "SMSC_NATS__SERVERS".to_owned(),
        "nats://a,nats://b".to_owned(),
    )];
    let error = Config::load_with(None, variable).unwrap_err();
    assert_eq!(
        error.problems()[0].message,
        instead("name = \"nats\"\nservers = [\"nats://a\", \"nats://b\"]")[0]["nats: ".len()..]
    );
}
