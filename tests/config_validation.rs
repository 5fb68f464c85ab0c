//! Every check of the configuration says which key, what is wrong and what to write.

use std::fs;

use smsc::config::{Config, Problem};

/// Problems of an otherwise complete configuration with `text` added.
fn refused(text: &str) -> Vec<String> {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("smsc.toml");
    fs::write(&file, text).unwrap();
    let error = Config::load_with(Some(&file), []).expect_err(text);
    let strip = |problem: &Problem| format!("{}: {}", problem.key, problem.message);
    error.problems().iter().map(strip).collect()
}

fn warnings(text: &str) -> Vec<String> {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("smsc.toml");
    fs::write(&file, text).unwrap();
    let config = Config::load_with(Some(&file), []).unwrap();
    config
        .validate()
        .unwrap()
        .iter()
        .map(ToString::to_string)
        .collect()
}

/// An account with these lines added.
fn account(lines: &str) -> Vec<String> {
    refused(&format!(
        "[[account]]\nsystem_id = 'acc'\npassword = 'pw'\n{lines}"
    ))
}

/// An operator with these lines added.
fn operator(lines: &str) -> Vec<String> {
    refused(&format!(
        "[[operator]]\nid = 'op'\naddress = 'h:2775'\nsystem_id = 's'\n{lines}"
    ))
}

/// A route between one account and two operators.
fn route(lines: &str) -> Vec<String> {
    refused(&format!(
        "[[account]]\nsystem_id = 'acc'\npassword = 'pw'\n\
         [[operator]]\nid = 'up'\naddress = 'h:1'\nsystem_id = 's'\n\
         [[operator]]\nid = 'rx'\naddress = 'h:1'\nsystem_id = 's'\nbind = 'receiver'\n\
         [[route]]\n{lines}"
    ))
}

#[test]
fn server_tables() {
    let cases = [
        (
            "telemetry.trace_ratio = 1.5",
            "telemetry.trace_ratio: must be between 0 (none) and 1 (all)",
        ),
        (
            "telemetry.trace_link_after = '0s'",
            "telemetry.trace_link_after: must be longer than \"0s\"",
        ),
        (
            "telemetry.trace_url = 'http://grafana'",
            "telemetry.trace_url: names no {trace_id}, which is where the trace's id goes",
        ),
        (
            "smpp.listen = []",
            "smpp.listen: is empty; write \"127.0.0.1:2775\", or a [[listener]]",
        ),
        (
            "smpp.system_id = '1234567890123456'",
            "smpp.system_id: has 16 octets; the standard allows 15",
        ),
        (
            "smpp.system_id = 'ä'",
            "smpp.system_id: must be printable ASCII",
        ),
        (
            "smpp.max_connections = 0",
            "smpp.max_connections: must be at least 1",
        ),
        (
            "smpp.max_pdu = 16",
            "smpp.max_pdu: must be between 1024 and 1048576 octets",
        ),
        (
            "smpp.response_timeout = '0s'",
            "smpp.response_timeout: must be longer than \"0s\"",
        ),
        (
            "smpp.no_route_status = 0",
            "smpp.no_route_status: must not be ESME_ROK: the message would be lost; write \
             \"ESME_RINVDSTADR\"",
        ),
        ("http.workers = 0", "http.workers: must be at least 1"),
        (
            "http.admin_token = ''",
            "http.admin_token: is empty; remove it to have one generated",
        ),
        (
            "store.batch_rows = 0",
            "store.batch_rows: must be between 1 and 100000",
        ),
        (
            "store.linger = '2s'",
            "store.linger: must be at most \"1s\": every answer waits for it",
        ),
        (
            "queue.memory_items = 5",
            "queue.memory_items: must be at least queue.page",
        ),
        (
            "redis.url = 'http://:hush@h'",
            "redis.url: is no URL of a Redis; write \"redis://:password@redis.example:6379/0\"",
        ),
        (
            "redis.url = 'redis://:hush@h'\nredis.ca_file = 'ca.pem'",
            "redis.ca_file: means nothing without TLS; write the URL with \"rediss://\", or remove it",
        ),
        (
            "resolver.url = 'http://mnp.example/'",
            "resolver.url: must be an http or https URL with {msisdn} where the number goes; write \
             \"https://mnp.example/v1/{msisdn}\"",
        ),
        (
            "resolver.pointer = 'network'",
            "resolver.pointer: is no JSON pointer; write \"/network\", or \"\" when the whole answer \
             is the network",
        ),
        (
            "redis.timeout = '2s'",
            "redis.timeout: must be at most \"1s\": the tokens of a second are worth nothing after \
             it",
        ),
        (
            "redis.retry_in = '0s'",
            "redis.retry_in: must be longer than \"0s\"",
        ),
        (
            "validity.max = '1d'",
            "validity.default: is longer than validity.max (24h)",
        ),
        (
            "retry.delays = []",
            "retry.delays: is empty; write at least one pause, such as [\"30m\"]",
        ),
        (
            "retry.delays = ['0s']",
            "retry.delays[0]: must be longer than \"0s\"",
        ),
        (
            "retry.max_attempts = 0",
            "retry.max_attempts: must be at least 1",
        ),
        (
            "[[retry.status]]\nclass = 'permanent'",
            "retry.status[0].status: is missing; write a status other than ESME_ROK",
        ),
        (
            "[[retry.status]]\nstatus = 8\n[[retry.status]]\nstatus = 'ESME_RSYSERR'",
            "retry.status[1].status: is already in status[0]; remove one",
        ),
        (
            "correlation.ttl = '0s'",
            "correlation.ttl: must be longer than \"0s\"",
        ),
        ("cdr.rotate_mib = 0", "cdr.rotate_mib: must be at least 1"),
        ("log.level = ''", "log.level: is empty; write \"info\""),
    ];
    for (text, message) in cases {
        assert_eq!(refused(text), [message], "{text}");
    }
}

#[test]
fn accounts() {
    assert_eq!(
        refused("[[account]]\nwindow = 5"),
        [
            "account[0].system_id: is missing",
            "account[0].password: is missing; set it or `password_file`",
        ]
    );
    let cases = [
        (
            "[[account]]\nsystem_id = 'acc'\npassword = 'x'",
            "account[1].system_id: \"acc\" is already account[0]",
        ),
        (
            "window = 0",
            "account[0].window: must be between 1 and 65535",
        ),
        (
            "window = 70000",
            "account[0].window: must be between 1 and 65535",
        ),
        ("max_binds = 0", "account[0].max_binds: must be at least 1"),
        (
            "trace_ratio = -0.1",
            "account[0].trace_ratio: must be between 0 (none) and 1 (all)",
        ),
        (
            "rate = 0",
            "account[0].rate: must be above 0; remove the key for no limit",
        ),
        (
            "rate = -1.5",
            "account[0].rate: must be above 0; remove the key for no limit",
        ),
        (
            "rate = nan",
            "account[0].rate: must be above 0; remove the key for no limit",
        ),
        (
            "burst = 10",
            "account[0].burst: means nothing without `rate`; set both",
        ),
        (
            "rate = 5\nburst = 0",
            "account[0].burst: must be at least 1",
        ),
        (
            "allow = ['192.0.2.0/24', 'localhost']",
            "account[0].allow[1]: \"localhost\" is neither an IP address nor a CIDR block such as \
             192.0.2.0/24",
        ),
        (
            "max_waiting = 0",
            "account[0].max_waiting: must be at least 1",
        ),
        (
            "addresses = ['44 77']",
            "account[0].addresses[0]: must be digits or letters, with a `*` at the end for a prefix",
        ),
        (
            "addresses = ['1*']\n[[account]]\nsystem_id = 'b'\npassword = 'x'\naddresses = ['1*']",
            "account[1].addresses[0]: already belongs to account[0]",
        ),
        (
            "lists = { team = [] }",
            "account[0].lists.team: is empty; write at least one number",
        ),
        (
            "lists = { team = ['bob'] }",
            "account[0].lists.team: \"bob\" is not a number; write up to 20 digits",
        ),
        (
            "lists = { a-name-with-more-than-twenty = ['447700900001'] }",
            "account[0].lists.a-name-with-more-than-twenty: the name must have 1 to 20 ASCII characters",
        ),
        (
            "lists = { team = '447700900001' }",
            "account[0].lists: expected a table of lists of text, found a table; write { name = [\"447700900001\", \"447700900002\"] }",
        ),
        (
            "outbind = 'there'",
            "account[0].outbind: \"there\" is not an address; write \"host:port\"",
        ),
        (
            "outbind_password = 'knock'",
            "account[0].outbind_password: is without use; set `outbind` to host and port",
        ),
        (
            "priority_max = 4",
            "account[0].priority_max: must be between 0 and 3",
        ),
        (
            "registered_delivery = 32",
            "account[0].registered_delivery: must be between 0 and 31",
        ),
        (
            "system_type = '1234567890123'",
            "account[0].system_type: has 13 octets; the standard allows 12",
        ),
    ];
    for (text, message) in cases {
        assert_eq!(account(text), [message], "{text}");
    }
    assert_eq!(
        refused("[[account]]\nsystem_id = 'a'\npassword = '$argon2id$x'"),
        ["account[0].password: starts like an argon2id hash but is none; write $argon2id$v=19$…"]
    );
}

#[test]
fn operators() {
    assert_eq!(
        refused("[[operator]]"),
        [
            "operator[0].id: is missing",
            "operator[0].address: is missing; write \"host:port\"",
            "operator[0].system_id: is missing",
        ]
    );
    let cases = [
        (
            "[[operator]]\nid = 'op'\naddress = 'h:1'\nsystem_id = 's'",
            "operator[1].id: \"op\" is already operator[0]",
        ),
        (
            "[[account]]\nsystem_id = 'op'\npassword = 'x'\n[[route]]\nto = 'op'",
            "operator[0].id: \"op\" is also an account; routes could not tell them apart, rename one",
        ),
        ("binds = 0", "operator[0].binds: must be between 1 and 1000"),
        (
            "window = 0",
            "operator[0].window: must be between 1 and 65535",
        ),
        (
            "rate = 0",
            "operator[0].rate: must be above 0; remove the key for no limit",
        ),
        (
            "reconnect = []",
            "operator[0].reconnect: is empty; write at least one pause, such as [\"30m\"]",
        ),
        (
            "interface_version = 4",
            "operator[0].interface_version: must be 0x33, 0x34 or 0x50",
        ),
        (
            "bind_timeout = '0s'",
            "operator[0].bind_timeout: must be longer than \"0s\"",
        ),
        (
            "correlation_ttl = '0s'",
            "operator[0].correlation_ttl: must be longer than \"0s\"",
        ),
        (
            "outcome_unknown = 'wait'\nreceipts = 'never'",
            "operator[0].outcome_unknown: \"wait\" needs receipts, but `receipts` is \"never\"; write \
             \"resend\"",
        ),
        (
            "retry.delays = []",
            "operator[0].retry.delays: is empty; write at least one pause, such as [\"30m\"]",
        ),
    ];
    for (text, message) in cases {
        assert_eq!(operator(text), [message], "{text}");
    }
    for address in [
        "host",
        ":2775",
        "host:",
        "host:0",
        "host:99999",
        "a b:1",
        "http://h:1",
        "::1:5",
    ] {
        let text = format!("[[operator]]\nid = 'a'\nsystem_id = 's'\naddress = '{address}'");
        let message =
            format!("operator[0].address: {address:?} is not an address; write \"host:port\"");
        assert_eq!(refused(&text), [message]);
    }
    assert_eq!(
        refused("[[operator]]\nid = 'test:up'\naddress = 'h:1'\nsystem_id = 's'"),
        ["operator[0].id: must be up to 64 letters, digits, `-`, `_` or `.`"]
    );
}

#[test]
fn routes() {
    let cases = [
        (
            "prefix = '44'",
            "route[0].to: is missing; write a list of targets",
        ),
        (
            "to = ['upp']",
            "route[0].to[0]: there is no target \"upp\", did you mean `up`?",
        ),
        (
            "to = ['test:deliverd']",
            "route[0].to[0]: there is no target \"test:deliverd\", did you mean `test:delivered`?",
        ),
        (
            "to = ['up', 'up']",
            "route[0].to[1]: \"up\" is in this route twice",
        ),
        ("to = [{ up = 0 }]", "route[0].to[0]: has no weight above 0"),
        (
            "to = ['rx']",
            "route[0].to[0]: \"rx\" binds as receiver and cannot send",
        ),
        (
            "to = 'up'\nprefix = '44x'",
            "route[0].prefix: \"44x\" must be up to 20 digits, or empty",
        ),
        (
            "to = 'up'\naccount = 'ac'",
            "route[0].account: there is no account \"ac\", did you mean `acc`?",
        ),
        (
            "to = 'up'\nsource_prefix = '123456789012345678901'",
            "route[0].source_prefix: has 21 octets; the standard allows 20",
        ),
        (
            "prefix = '44'\nto = 'up'\n[[route]]\nprefix = '+44'\nto = 'acc'",
            "route[1]: has the same conditions as route[0]; join their targets",
        ),
    ];
    for (text, message) in cases {
        assert_eq!(route(text), [message], "{text}");
    }
}

#[test]
fn all_problems_come_at_once() {
    let text = "node = 999\n[http]\nworkers = 0\n[[operator]]\nid = 'a'\n[[route]]\nto = ['b']";
    let keys: Vec<String> = refused(text)
        .iter()
        .filter_map(|line| line.split_once(": ").map(|(key, _)| key.to_owned()))
        .collect();
    assert_eq!(
        keys,
        [
            "node",
            "http.workers",
            "operator[0].address",
            "operator[0].system_id",
            "route[0].to[0]"
        ]
    );
}

#[test]
fn oddities_are_warnings() {
    let long = "[[account]]\nsystem_id = 'a'\npassword = '123456789'\n[[route]]\nto = 'a'";
    assert_eq!(
        warnings(long),
        [
            "account[0].password: is longer than the 8 octets of the standard; some peers cut or \
             refuse it"
        ]
    );
    let hash = "$argon2id$v=19$m=8,t=1,p=1$c29tZXNhbHQ$xVkYoqjDUPeQ2pLrgmWpYPW1MHMAKqv5eI1zdDxfDTA";
    let hashed = format!("[[account]]\nsystem_id = 'a'\npassword = '{hash}'\n[[route]]\nto = 'a'");
    assert_eq!(warnings(&hashed), [""; 0]);
    assert_eq!(
        warnings("[[account]]\nsystem_id = 'a'\npassword = 'x'"),
        ["route: there is none: every message is refused; add a [[route]]"]
    );
    let disabled = "[[operator]]\nid = 'o'\naddress = 'h:1'\nsystem_id = 's'\nenabled = false\n\
                    [[route]]\nto = 'o'";
    assert_eq!(warnings(disabled), ["route[0].to[0]: \"o\" is not enabled"]);
    assert_eq!(
        warnings(
            "[redis]\nurl = 'redis://:hush@h'\n[[operator]]\nid = 'o'\naddress = 'h:1'\n\
             system_id = 's'\nrate = 5.0\nburst = 2\n[[route]]\nto = 'o'"
        ),
        [
            "operator[0].burst: means nothing while Redis counts by the second; remove it, or set \
             redis.limit = \"strict\""
        ]
    );
    assert_eq!(
        warnings("[smpp]\ninactivity_timeout = '10s'"),
        [
            "smpp.inactivity_timeout: is shorter than smpp.enquire_link_interval (30s), which never \
             fires"
        ]
    );
}

#[test]
fn listeners() {
    let listener = |lines: &str| refused(&format!("[[listener]]\n{lines}"));
    let cases = [
        (
            "",
            "listener[0].listen: is missing; write an address such as \"0.0.0.0:3550\"",
        ),
        (
            "listen = '127.0.0.1:2775'",
            "listener[0].listen: 127.0.0.1:2775 is already in smpp.listen; choose another, or \
             write smpp.listen = []",
        ),
        (
            "listen = '127.0.0.1:3550'\ntls_cert = 'a.pem'",
            "listener[0].tls_key: is missing; set it beside tls_cert",
        ),
        (
            "listen = '127.0.0.1:3550'\ntls_client_ca = 'a.pem'",
            "listener[0].tls_client_ca: means nothing without `tls_cert` and `tls_key`; set all \
             three",
        ),
        (
            "listen = '127.0.0.1:3550'\nproxy_from = ['balancer']",
            "listener[0].proxy_from[0]: \"balancer\" is neither an IP address nor a CIDR block \
             such as 192.0.2.0/24",
        ),
    ];
    for (lines, problem) in cases {
        assert_eq!(listener(lines), [problem], "{lines}");
    }
    let without_tls = "operator[0].tls_name: means nothing without TLS; add `tls = true`";
    assert_eq!(operator("tls_name = 'a.example'"), [without_tls]);
    let no_name = "operator[0].tls_name: \"a b\" is neither a host name nor an IP address";
    assert_eq!(operator("tls = true\ntls_name = 'a b'"), [no_name]);
}
