//! Every check of the configuration reports the key, what is wrong and what to write.

mod callbacks;
mod carriers;
mod compat;
mod event_sinks;
mod gsm;
mod listeners;
mod map;
mod mo_rules;
mod nats_sources;
mod number_ranges;
mod oidc;
mod peers;
mod policy;

use std::fs;

use smsc::config::{Config, ConfigProblem};

/// Problems of an otherwise complete configuration with `text` added.
fn refused(text: &str) -> Vec<String> {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("smsc.toml");
    fs::write(&file, text).unwrap();
    let error = Config::load_with(Some(&file), []).expect_err(text);
    let strip = |problem: &ConfigProblem| format!("{}: {}", problem.key, problem.message);
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

#[test]
#[expect(clippy::too_many_lines, reason = "a table of mistakes")]
fn server_tables() {
    let cases = [
        (
            "api.idempotency = \"30s\"",
            "api.idempotency: must be between 1m and 7d",
        ),
        (
            "local.socket = \"/run/..\"",
            "local.socket: is no file; write a path such as \"/run/smsc/smsc.sock\"",
        ),
        (
            "local.socket = \"/run/0123456789/0123456789/0123456789/0123456789/0123456789/0123456789/0123456789/0123456789/0123456\"",
            "local.socket: is too long for a UNIX socket; write a path of at most 99 octets",
        ),
        (
            "local.mode = \"1777\"",
            "local.mode: must be permissions such as \"0600\" or \"0660\"",
        ),
        (
            "local.users = { \"007\" = \"test\" }",
            "local.users.007: is no user; write the number or the name of a user of this machine",
        ),
        (
            "local.users = { \"a b\" = \"test\" }",
            "local.users.a b: is no user; write the number or the name of a user of this machine",
        ),
        (
            "local.users = { root = \"\" }",
            "local.users.root: is empty; write the name of an account",
        ),
        (
            "local.max_connections = 0",
            "local.max_connections: must be at least 1",
        ),
        (
            "local.max_requests = 0",
            "local.max_requests: must be at least 1",
        ),
        (
            "local.max_frame = 100",
            "local.max_frame: must be between 1024 and 16777216 octets",
        ),
        (
            "local.frame_timeout = \"0s\"",
            "local.frame_timeout: must be longer than \"0s\"",
        ),
        (
            "api.idempotency_keys = 0",
            "api.idempotency_keys: must be between 1 and 50000000",
        ),
        (
            "api.cors_origins = ['https://app.example.com/']",
            "api.cors_origins[0]: is no origin: write scheme, host and port as browsers do, such as \
             \"https://app.example.com\"",
        ),
        (
            "history.retention = '1h'",
            "history.retention: must be between 24h and 400d",
        ),
        (
            "history.write_every = '5m'",
            "history.write_every: must be between 1s and 1m",
        ),
        (
            "incidents.window = '1s'",
            "incidents.window: must be between 2s and 1h",
        ),
        (
            "incidents.look_every = '0s'",
            "incidents.look_every: must be between 500ms and 1h",
        ),
        (
            "incidents.min_messages = 0",
            "incidents.min_messages: must be at least 1",
        ),
        (
            "incidents.refused_share = 2",
            "incidents.refused_share: must be between 0 (none) and 1 (all)",
        ),
        (
            "incidents.slow_answer = '0s'",
            "incidents.slow_answer: must be longer than \"0s\"",
        ),
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
        ("smpp.intake_mib = 0", "smpp.intake_mib: must be at least 1"),
        ("queue.page_mib = 0", "queue.page_mib: must be at least 1"),
        (
            "content.reassembly_mib = 0",
            "content.reassembly_mib: must be at least 1",
        ),
        (
            "correlation.parked_mib = 0",
            "correlation.parked_mib: must be at least 1",
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
        (
            "smpp.quota_status = 0",
            "smpp.quota_status: must not be ESME_ROK: the message would be lost; write \
             \"ESME_RTHROTTLED\"",
        ),
        (
            "smpp.balance_status = 'ESME_ROK'",
            "smpp.balance_status: must not be ESME_ROK: the message would be lost; write \
             \"ESME_RSUBMITFAIL\"",
        ),
        (
            "[policy.prices]\n'+44' = 2",
            "policy.prices.+44: \"+44\" is no prefix; write up to 20 digits without a plus, or `default`",
        ),
        (
            "[policy.prices]\n44 = 1.5",
            "policy.prices: expected a table of whole numbers by prefix, found a table; write \
             { default = 1, 44 = 2, 4477 = 3 }",
        ),
        (
            "smpp.duplicate_status = 0",
            "smpp.duplicate_status: must not be ESME_ROK: nobody would know the message again; write \
             \"ESME_RSUBMITFAIL\", or `duplicates = \"same_id\"` at the account",
        ),
        (
            "smpp.duplicate_entries = 0",
            "smpp.duplicate_entries: must be between 1 and 10000000",
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
            "store.results_linger = '1s'",
            "store.results_linger: must be at most \"100ms\": receipts wait for it",
        ),
        (
            "queue.account_share = 0",
            "queue.account_share: must be from 1 to 100",
        ),
        (
            "queue.low_share = 51",
            "queue.low_share: must be at most 50: the higher priorities come first",
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
            "resolver.enum_zone = 'e164..arpa'",
            "resolver.enum_zone: is no domain name; write \"e164.arpa\"",
        ),
        (
            "resolver.enum_parameter = ''",
            "resolver.enum_parameter: is no parameter of a URI; write \"rn\"",
        ),
        (
            "imsi.hlr = 'hlr.example'",
            "imsi.hlr: is no address; write \"host:port\", such as \"127.0.0.1:4259\"",
        ),
        (
            "imsi.url = 'http://hlr.example/'",
            "imsi.url: must be an http or https URL with {msisdn} where the number goes; write \
             \"https://hlr.example/v1/{msisdn}\"",
        ),
        (
            "imsi.pointer = 'imsi'",
            "imsi.pointer: is no JSON pointer; write \"/imsi\", or \"\" when the whole answer is the IMSI",
        ),
        (
            "imsi.concurrency = 0",
            "imsi.concurrency: must be between 1 and 256",
        ),
        (
            "imsi.delays = []",
            "imsi.delays: is empty; write the pauses between questions for a number, such as [\"1s\", \"5s\"]",
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
        (
            "redis_platform.enabled = true",
            "redis_platform.enabled: needs a Redis; set redis.url",
        ),
        (
            "redis_platform.keep_taken = \"0s\"",
            "redis_platform.keep_taken: a pump takes an id first and then reads its keys; at least 1s",
        ),
        (
            "archive.rotate_mib = 0",
            "archive.rotate_mib: must be at least 1",
        ),
        (
            "archive.wait_for_node = \"0s\"",
            "archive.wait_for_node: must be longer than \"0s\"",
        ),
        (
            "archive.database_url = \"mysql://x\"",
            "archive.database_url: is no such URL; write \"postgres://user:password@host/database\"",
        ),
        (
            "[archive]\nenabled = true\nformat = \"database\"",
            "archive.database_url: is missing, and archive.format is \"database\"",
        ),
        (
            "outbox.hold = \"0s\"",
            "outbox.hold: must be longer than \"0s\"",
        ),
        (
            "policy.currency = \"\"",
            "policy.currency: must be 1 to 16 letters and digits, such as \"EUR\"",
        ),
        ("log.level = ''", "log.level: is empty; write \"info\""),
    ];
    for (text, message) in cases {
        assert_eq!(refused(text), [message], "{text}");
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
    assert_eq!(
        warnings("[local]\nsocket = '/run/smsc.sock'"),
        ["local.users: names nobody, so all are refused; write { \"1000\" = \"ACCOUNT\" }"]
    );
    assert_eq!(
        warnings("[local]\nsocket = '/run/smsc.sock'\nusers = { 65534 = 'a' }"),
        [
            "local.users.65534: is what the users of other namespaces look like, too: all of them get \
             this account"
        ]
    );
    let hash = "$argon2id$v=19$m=8,t=1,p=1$c29tZXNhbHQ$xVkYoqjDUPeQ2pLrgmWpYPW1MHMAKqv5eI1zdDxfDTA";
    let hashed = format!("[[account]]\nsystem_id = 'a'\npassword = '{hash}'\n[[route]]\nto = 'a'");
    assert_eq!(warnings(&hashed), [""; 0]);
    let heavy = hashed.replace("m=8,", "m=1048576,");
    assert_eq!(
        warnings(&heavy),
        [
            "account[0].password: takes 1024 MiB for each check, as many at a time as there are \
             cores; 19 MiB (m=19456) are enough"
        ]
    );
    let doors = "max_connections = 50\nmax_unbound_per_address = 50\nbind_refusal_delay = '20s'";
    assert_eq!(
        warnings(&format!("[smpp]\n{doors}\n{hashed}")),
        [
            "smpp.max_unbound_per_address: is not below smpp.max_connections: one address can take \
             all of them",
            "smpp.bind_refusal_delay: is more than half of smpp.session_init_timeout, which ends \
             the connection; half of it is what counts"
        ]
    );
    assert_eq!(
        warnings("[[account]]\nsystem_id = 'a'\npassword = 'x'"),
        [
            "account[0].password: has fewer than 4 characters and can be guessed; the standard \
             allows 8",
            "route: there is none: every message is refused; add a [[route]]"
        ]
    );
    let open = |keys: &str| warnings(&format!("[http]\n{keys}"));
    assert_eq!(
        open("admin_token = 'x'"),
        [
            "http.admin_token: has fewer than 8 characters and can be guessed; remove it to have \
             one generated"
        ]
    );
    assert!(open("listen = '0.0.0.0:8080'")[0].contains("in clear at 0.0.0.0:8080"));
    for closed in [
        "listen = '127.0.0.1:8080'",
        "listen = '[::1]:8080'",
        "listen = '0.0.0.0:8080'\nproxy_from = ['10.0.0.0/8']",
        "listen = '0.0.0.0:8080'\nin_clear = true",
        "listen = '0.0.0.0:8080'\ntls_cert = 'a'\ntls_key = 'b'",
    ] {
        assert_eq!(open(closed), [""; 0], "{closed}");
    }
    let disabled = "[[operator]]\nid = 'o'\naddress = 'h:1'\nsystem_id = 's'\nenabled = false\n\
                    [[route]]\nto = 'o'";
    assert_eq!(warnings(disabled), ["route[0].to[0]: \"o\" is not enabled"]);
    assert_eq!(
        warnings(
            "[redis]\nurl = 'redis://:hush@h'\nlimit = 'fixed'\n[[operator]]\nid = 'o'\naddress = 'h:1'\n\
             system_id = 's'\nrate = 5.0\nburst = 2\n[[route]]\nto = 'o'"
        ),
        [
            "operator[0].burst: means nothing while Redis counts by the second; remove it, or set \
             rate_window = \"strict\""
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
