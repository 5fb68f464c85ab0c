//! Reading the configuration: file, environment over it, unknown keys, wrong types, secrets.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use secrecy::ExposeSecret;
use smsc::config::{
    BindKind, Config, ConfigError, OperatorProtocol, OutcomePolicy, ReceiptRequest, RetryClass,
    SendAs,
};

const EXAMPLE: &str = r#"
data_dir = "./smsc-store"

[smpp]
listen = "127.0.0.1:2775"

[http]
listen = "127.0.0.1:8080"
admin_token = "change-me"

[[account]]
system_id = "test"
password = "test"
max_binds = 16
window = 1000
addresses = ["12345"]          # MO to these goes to this account

[[operator]]
id = "up"
protocol = "smpp"
address = "127.0.0.1:2776"
system_id = "smsc"
password = "secret"
bind = "transceiver"
binds = 2
window = 500

[[route]]
prefix = ""
to = ["up"]
"#;

fn load(text: &str, variables: &[(&str, &str)]) -> Result<Config, ConfigError> {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("smsc.toml");
    fs::write(&file, text).unwrap();
    let variables = variables
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    Config::load_with(Some(&file), variables)
}

/// All problems of a text, without the folder of the file.
fn problems(text: &str, variables: &[(&str, &str)]) -> Vec<String> {
    load(text, variables)
        .expect_err("must be refused")
        .problems()
        .iter()
        .map(|problem| {
            let text = problem.to_string();
            match text.split_once(" (in /") {
                Some((message, path)) => {
                    assert!(path.ends_with("smsc.toml)"), "{text}");
                    format!("{message} (in smsc.toml)")
                }
                None => text,
            }
        })
        .collect()
}

#[test]
fn the_example_of_the_readme_loads() {
    let readme = include_str!("../../README.md");
    let (_, example) = readme.split_once("```toml\n").unwrap();
    let (example, _) = example.split_once("```").unwrap();
    let config = load(example, &[]).unwrap();
    assert_eq!(config, load(EXAMPLE, &[]).unwrap());
    let demo = Config::default().data_dir;
    assert_ne!(config.data_dir, demo, "the store of the demo would be used");
    assert_eq!(config.data_dir, PathBuf::from("./smsc-store"));
    assert_eq!(config.cdr_dir(), PathBuf::from("./smsc-store/cdr"));
    assert_eq!(config.smpp.listen, ["127.0.0.1:2775".parse().unwrap()]);
    assert_eq!(config.http.listen, "127.0.0.1:8080".parse().unwrap());
    let token = config.http.admin_token.as_ref().unwrap();
    assert_eq!(token.expose_secret(), "change-me");

    let [account] = config.account.as_slice() else {
        panic!("one account");
    };
    assert_eq!(account.system_id, "test");
    assert_eq!(account.password.expose_secret(), "test");
    assert_eq!((account.max_binds, account.window), (16, 1000));
    assert_eq!(account.addresses, ["12345"]);
    assert!(account.enabled);

    let [operator] = config.operator.as_slice() else {
        panic!("one operator");
    };
    assert_eq!(operator.id, "up");
    assert_eq!(operator.protocol, OperatorProtocol::Smpp);
    assert_eq!(operator.address, "127.0.0.1:2776");
    assert_eq!(operator.bind, BindKind::Transceiver);
    assert_eq!((operator.binds, operator.window), (2, 500));
    assert_eq!(operator.send_as, SendAs::SubmitSm);
    assert_eq!(operator.receipts, ReceiptRequest::WhenAsked);
    assert_eq!(operator.outcome_unknown, OutcomePolicy::Resend);

    let [route] = config.route.as_slice() else {
        panic!("one route");
    };
    assert_eq!(route.prefix, "");
    assert_eq!(route.to_domain().to_string(), "to \"*\": up");
    assert_eq!(config.validate().unwrap(), []);
}

#[test]
fn an_empty_file_and_no_file_are_the_defaults() {
    assert_eq!(load("", &[]).unwrap(), Config::default());
    assert_eq!(Config::load_with(None, []).unwrap(), Config::default());
}

#[test]
fn every_form_of_value_is_read() {
    let text = r#"
        [smpp]
        listen = ["0.0.0.0:2775", "[::1]:2776"]
        no_route_status = 0x0A
        inactivity_timeout = "0s"
        [retry]
        delays = ["30s", "5m", "1h"]
        max_attempts = 7
        [[retry.status]]
        status = "ESME_RINVDSTADR"
        class = "temporary"
        delays = ["1m"]
        [[retry.status]]
        status = 1025
        class = "throttled"
        [[operator]]
        id = "a"
        address = "smsc.example.net:2775"
        system_id = "x"
        bind = "transmitter+receiver"
        rate = 30
        correlation_ttl = "1d"
        retry.delays = ["10s"]
        [[operator]]
        id = "b"
        address = "[2001:db8::1]:2775"
        system_id = "x"
        [[route]]
        to = [{ a = 70, b = 30 }, "test:failed"]
        [[route]]
        prefix = "44"
        to = "a"
    "#;
    let config = load(text, &[]).unwrap();
    assert_eq!(config.smpp.listen.len(), 2);
    assert_eq!(config.smpp.no_route_status, 0x0A);
    assert_eq!(config.smpp.inactivity_timeout, Duration::ZERO);
    assert_eq!(config.retry.delays.len(), 3);
    assert_eq!(config.retry.max_attempts, Some(7));
    assert_eq!(config.retry.status[0].status, 0x0B);
    assert_eq!(config.retry.status[1].class, RetryClass::Throttled);
    assert_eq!(
        config.retry.policy().rules[&0x0B].delays,
        [Duration::from_secs(60)]
    );
    let operator = &config.operator[0];
    assert_eq!(operator.bind, BindKind::TransmitterReceiver);
    assert_eq!(operator.rate, Some(30.0));
    assert_eq!(operator.correlation_ttl, Some(Duration::from_secs(86_400)));
    assert_eq!(
        operator.retry.as_ref().unwrap().delays,
        [Duration::from_secs(10)]
    );
    let shown = config.route[0].to_domain().to_string();
    assert_eq!(shown, "to \"*\": a (70) + b (30), then test:failed");
    assert_eq!(config.route[1].to.len(), 1);
}

#[test]
fn the_environment_overrides_the_file() {
    let variables = [
        ("SMSC_HTTP__ADMIN_TOKEN", "0123"),
        ("SMSC_HTTP__WORKERS", "3"),
        ("SMSC_DATA_DIR", "/var/lib/smsc"),
        ("SMSC_NODE", "7"),
        ("SMSC_SMPP__LISTEN", "0.0.0.0:2775, [::]:2776"),
        ("SMSC_STORE__LINGER", "2ms"),
        ("SMSC_STORE__SEARCH_INDEX", "false"),
        ("SMSC_RETRY__DELAYS", r#"["1m", "2m"]"#),
        ("SMSC_SMPP__NO_ROUTE_STATUS", "0x14"),
        ("SMSC_LOG__FORMAT", "json"),
        // Variables of other programs are ignored.
        ("SMSC_PORT", "tcp://10.0.0.1:2775"),
        ("SMSC_SERVICE_HOST", "10.0.0.1"),
        ("HTTP__WORKERS", "99"),
    ];
    let config = load(EXAMPLE, &variables).unwrap();
    let token = config.http.admin_token.as_ref().unwrap();
    assert_eq!(token.expose_secret(), "0123", "text stays text");
    assert_eq!(config.http.workers, 3);
    assert_eq!(
        config.http.listen,
        "127.0.0.1:8080".parse().unwrap(),
        "from the file"
    );
    assert_eq!(config.data_dir, PathBuf::from("/var/lib/smsc"));
    assert_eq!(config.node, 7);
    assert_eq!(config.smpp.listen.len(), 2);
    assert_eq!(config.store.linger, Duration::from_millis(2));
    assert!(!config.store.search_index);
    assert_eq!(config.retry.delays.len(), 2);
    assert_eq!(config.smpp.no_route_status, 0x14);
    assert_eq!(config.log.format.as_str(), "json");
}

#[test]
fn mistakes_in_the_environment_name_the_variable() {
    let variables = [
        ("SMSC_ACCOUNT__0__PASSWORD", "x"),
        ("SMSC_HTTP_WORKERS", "2"),
        ("SMSC_HTTP__WORKER", "2"),
        ("SMSC_NODE", "300"),
    ];
    assert_eq!(
        problems("", &variables),
        [
            "SMSC_ACCOUNT__0__PASSWORD: accounts come from the file; remove the variable",
            "SMSC_HTTP_WORKERS: unknown variable, did you mean `SMSC_HTTP__WORKERS`?",
            "node: expected a whole number up to 255, found the text \"300\"; write a number \
             without quotes (in the environment, SMSC_NODE)",
            "http.worker: unknown key, did you mean `workers`? (in the environment, \
             SMSC_HTTP__WORKER)",
        ]
    );
}

#[test]
fn unknown_keys_name_the_nearest_known_one() {
    let text = r#"
        data_dirr = "x"
        [smpp]
        lisen = "127.0.0.1:2775"
        [qwxyz]
        a = 1
        [[operators]]
        id = "up"
        [[account]]
        system_id = "a"
        password = "b"
        max_bind = 3
        [[retry.status]]
        status = 8
        clas = "permanent"
    "#;
    let found = problems(text, &[]);
    let expected = [
        "data_dirr: unknown key, did you mean `data_dir`? (in smsc.toml)",
        "operators: unknown key, did you mean `operator`? (in smsc.toml)",
        "smpp.lisen: unknown key, did you mean `listen`? (in smsc.toml)",
        "retry.status[0].clas: unknown key, did you mean `class`? (in smsc.toml)",
        "account[0].max_bind: unknown key, did you mean `max_binds`? (in smsc.toml)",
    ];
    for line in expected {
        assert!(
            found.contains(&line.to_owned()),
            "{line}\nnot in {found:#?}"
        );
    }
    let unlike = found.iter().find(|line| line.starts_with("qwxyz")).unwrap();
    assert!(
        unlike.contains("unknown key, known are: data_dir, node, log, "),
        "{unlike}"
    );
    assert_eq!(found.len(), 6);
}

#[test]
fn wrong_types_name_the_key_and_the_cure() {
    let text = r#"
        node = "one"
        smpp = { max_connections = -5, session_init_timeout = 30, listen = "localhost" }
        log = "debug"
        [http]
        admin_token = 12345
        listen = ":8080"
        [store]
        search_index = "yes"
        linger = "2 seconds"
        [account]
        system_id = "a"
        [[operator]]
        id = "a"
        address = 2775
        system_id = "x"
        bind = "tranceiver"
        rate = "fast"
        [[route]]
        to = ["a", 5, { a = "x" }]
    "#;
    let expected = [
        "node: expected a whole number up to 255, found the text \"one\"; write a number without quotes",
        "log: expected a table, found the text \"debug\"",
        "smpp.listen: expected an IP address with port, found the text \"localhost\"; write \
         \"127.0.0.1:2775\" or \"[::]:2775\"",
        "smpp.max_connections: expected a whole number, found the number -5; write a number without \
         quotes",
        "smpp.session_init_timeout: expected a duration, found the number 30; write \"500ms\", \
         \"30s\", \"15m\", \"72h\" or \"10d\"",
        "http.listen: expected an IP address with port, found the text \":8080\"; write \
         \"127.0.0.1:2775\" or \"[::]:2775\"",
        "http.admin_token: expected secret text, found a number without quotes; write it in quotes",
        "store.linger: expected a duration, found the text \"2 seconds\"; write \"500ms\", \"30s\", \
         \"15m\", \"72h\" or \"10d\"",
        "store.search_index: expected true or false, found the text \"yes\"; write true or false, \
         without quotes",
        "account: expected a list of tables, found a table; write [[account]]",
        "operator[0].address: expected text, found the number 2775; write it in quotes",
        "operator[0].bind: expected \"transceiver\", \"transmitter\", \"receiver\" or \
         \"transmitter+receiver\", found the text \"tranceiver\"; write one of them, in quotes",
        "operator[0].rate: expected a number, found the text \"fast\"; write a number without quotes",
        "route[0].to[1]: expected a target, or a table of targets with weights, found the number 5; \
         write \"name\" or { name = 70, other = 30 }",
        "route[0].to[2]: expected a target, or a table of targets with weights, found a table; write \
         \"name\" or { name = 70, other = 30 }",
    ];
    let found = problems(text, &[]);
    for line in expected {
        assert!(
            found.contains(&format!("{line} (in smsc.toml)")),
            "{line}\nnot in {found:#?}"
        );
    }
    assert_eq!(
        found.len(),
        expected.len(),
        "nothing that only follows: {found:#?}"
    );
}

#[test]
fn what_is_not_toml_says_where() {
    let error = load("[smpp\nlisten = 1", &[]).unwrap_err().to_string();
    assert!(error.contains("smsc.toml is not valid TOML"), "{error}");
    assert!(error.contains("line 1"), "{error}");
    let secret = load("[http]\nadmin_token = \"hush hush", &[])
        .unwrap_err()
        .to_string();
    assert!(
        secret.contains("line 2") && !secret.contains("hush"),
        "{secret}"
    );
    let missing = PathBuf::from("/nonexistent/smsc.toml");
    let error = Config::load_with(Some(&missing), [])
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("cannot read the configuration /nonexistent/smsc.toml"),
        "{error}"
    );
}

#[test]
fn secrets_come_from_files_too() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, content: &str| {
        let path = dir.path().join(name);
        fs::write(&path, content).unwrap();
        path.display().to_string()
    };
    let (token, password) = (file("token", "tok en\n"), file("password", "s3cret\r\n"));
    let text = format!(
        "[http]\nadmin_token_file = '{token}'\n[[account]]\nsystem_id = 'a'\n\
         password_file = '{password}'\n[[operator]]\nid = 'o'\naddress = 'h:1'\nsystem_id = 'x'\n\
         password_file = '{password}'\n"
    );
    let config = load(&text, &[]).unwrap();
    assert_eq!(
        config.http.admin_token.as_ref().unwrap().expose_secret(),
        "tok en"
    );
    assert_eq!(config.account[0].password.expose_secret(), "s3cret");
    assert_eq!(config.operator[0].password.expose_secret(), "s3cret");
    let shown = format!("{config:?}");
    assert!(
        !shown.contains("s3cret") && !shown.contains("tok en"),
        "{shown}"
    );

    let empty = file("empty", "\n");
    let text = format!(
        "[[account]]\nsystem_id = 'a'\npassword = 'x'\npassword_file = '{password}'\n\
         [[account]]\nsystem_id = 'b'\npassword_file = '{empty}'\n"
    );
    let found = problems(&text, &[]);
    assert_eq!(
        found,
        [
            "account[0].password_file: set either this or `password`, not both".to_owned(),
            format!("account[1].password_file: cannot use {empty}: it is empty"),
        ]
    );
}

#[test]
fn a_changed_secret_is_a_changed_account() {
    let before = load(EXAMPLE, &[]).unwrap();
    let after = load(&EXAMPLE.replace("\"test\"\nmax", "\"text\"\nmax"), &[]).unwrap();
    assert_ne!(before.account, after.account);
    assert_eq!(before.operator, after.operator);
}
