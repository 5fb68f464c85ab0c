//! Data on the disk: only the owner may read its files, and passwords are sealed.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use crate::harness::{
    FakeOperator, Finished, Peer, Smsc, SmscBuilder, binary, database, rows, run, submit, until,
};
use smsc::smpp::Body;

const OLD: &str = "0f0e0d0c0b0a09080706050403020100f0e0d0c0b0a090807060504030201000";
const NEW: &str = "A1A1A1A1A1A1A1A1A1A1A1A1A1A1A1A1B2B2B2B2B2B2B2B2B2B2B2B2B2B2B2B2";

/// Collects the modes of all files and folders below a path.
fn modes(path: &Path, found: &mut Vec<(String, u32)>) {
    let about = fs::metadata(path).unwrap();
    let mode = about.permissions().mode() & 0o7777;
    found.push((path.display().to_string(), mode));
    if about.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            modes(&entry.unwrap().path(), found);
        }
    }
}

fn assert_private(path: &Path) {
    let mut found = Vec::new();
    modes(path, &mut found);
    for (path, mode) in found {
        assert_eq!(mode & 0o077, 0, "others may read {path}: {mode:o}");
    }
}

#[test]
fn files_are_their_owners_alone_whatever_the_umask() {
    let mut smsc = Smsc::new()
        .account("test", "test")
        .route("", "test:delivered")
        .toml("[runtime]\nsession_threads = 1")
        .start();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let id = esme.submit(submit("447700900123", "hello"));
    smsc.wait_for_final(&id);
    until("a CDR", || (!smsc.records().is_empty()).then_some(()));
    assert_private(&smsc.data_dir());

    for (umask, number) in [("000", 1), ("022", 2), ("777", 3)] {
        let script = format!(
            "umask {umask}; '{smsc}' backup --data-dir data copy{number}.db && \
             '{smsc}' export --data-dir data --since 2020-01-01 --until 2020-01-02 --out out{number}.jsonl",
            smsc = binary().display()
        );
        let done = run(Command::new("sh")
            .args(["-c", &script])
            .current_dir(smsc.data_dir().parent().unwrap()));
        assert!(
            done.success,
            "umask {umask}: {}{}",
            done.stdout, done.stderr
        );
        for name in [format!("copy{number}.db"), format!("out{number}.jsonl")] {
            let mode = fs::metadata(smsc.file(&name)).unwrap().permissions().mode();
            assert_eq!(mode & 0o7777, 0o600, "umask {umask}: {name}: {mode:o}");
        }
    }

    // A start restricts files of an earlier release that others could read.
    assert!(smsc.terminate().success());
    let open = |path: &Path, mode: u32| {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    };
    open(&smsc.data_dir(), 0o755);
    open(&smsc.data_dir().join("smsc.db"), 0o644);
    for record in fs::read_dir(smsc.data_dir().join("cdr")).unwrap() {
        open(&record.unwrap().path(), 0o644);
    }
    smsc.start_again();
    assert_private(&smsc.data_dir());
}

/// Whether any file below a folder has these octets.
fn is_in_files(folder: &Path, octets: &str) -> bool {
    fs::read_dir(folder).unwrap().any(|entry| {
        let path = entry.unwrap().path();
        if path.is_dir() {
            is_in_files(&path, octets)
        } else {
            fs::read(&path)
                .unwrap()
                .windows(octets.len())
                .any(|part| part == octets.as_bytes())
        }
    })
}

/// Waits until the SMSC binds to an operator with this password.
fn bound_with(operator: &FakeOperator, password: &str) {
    loop {
        let mut bind = operator.accept();
        let pdu = bind.expect("a bind", |pdu| matches!(pdu.body, Body::BindTransceiver(_)));
        match pdu.body {
            Body::BindTransceiver(bind) if bind.password[..] == *password.as_bytes() => return,
            // A connection from before the change.
            _ => {}
        }
    }
}

fn reseal(smsc: &Smsc) -> Finished {
    smsc.command(&["config", "reseal"])
}

fn reseals(smsc: &Smsc) {
    let done = reseal(smsc);
    assert!(
        done.success && done.stdout.contains("sealed anew"),
        "{}{}",
        done.stdout,
        done.stderr
    );
}

/// The log says what is missing.
fn does_not_start_without_its_key(smsc: &Smsc) {
    fs::write(smsc.file("keys"), format!("{OLD}\n")).unwrap();
    let refused = smsc.run(&["serve", "--config", "smsc.toml"]);
    assert!(
        !refused.success && refused.stderr.contains("secrets.key_file"),
        "{}",
        refused.stderr
    );
    assert!(!refused.stderr.contains(OLD));
}

/// From passwords in clear by a key to another key; `is_in_store` looks for octets where they are kept.
fn passwords_are_sealed(
    store: impl FnOnce(SmscBuilder) -> SmscBuilder,
    is_in_store: impl Fn(&Smsc, &str) -> bool,
) {
    let operator = FakeOperator::listen();
    let mut smsc = store(Smsc::new())
        .account_with(
            "test",
            "acc0unt",
            "outbind = \"127.0.0.1:1\"\noutbind_password = \"0utbind\"\n\
             callback_secrets = \"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\"",
        )
        .operator_with(
            "up",
            operator.address(),
            "password = \"0perat0r\"\nbind_timeout = \"500ms\"",
        )
        .route("", "up")
        .start();
    let passwords = [
        "acc0unt",
        "0utbind",
        "whsec_MfKQ9r8GKYqrTwjUPD8",
        "0perat0r",
    ];
    bound_with(&operator, "0perat0r");
    // Another version, so that the history has passwords, too.
    let admin = smsc.admin();
    let rate = serde_json::json!({ "rate": 5.0 });
    for resource in ["/v1/operators/up/rate", "/v1/accounts/test/rate"] {
        assert_eq!(admin.put(resource, &rate).status, 200);
    }
    assert!(
        smsc.log().contains("set secrets.key_file"),
        "{}",
        smsc.log()
    );
    let refused = reseal(&smsc);
    assert!(
        !refused.success && refused.stderr.contains("secrets.key_file"),
        "{}",
        refused.stderr
    );
    for password in passwords {
        assert!(is_in_store(&smsc, password), "{password} is kept in clear");
    }

    // With a key: passwords in clear can be read, and are sealed on request.
    smsc.set_config(&format!(
        "{}\n[secrets]\nkey_file = \"keys\"\n",
        smsc.config()
    ));
    fs::write(smsc.file("keys"), format!("{OLD}\n")).unwrap();
    let restart = |smsc: &mut Smsc| {
        assert!(smsc.terminate().success());
        smsc.start_again();
        bound_with(&operator, "0perat0r");
        Peer::bind(smsc.smpp(), "test", "acc0unt");
    };
    restart(&mut smsc);
    assert!(smsc.log().contains("smsc config reseal"), "{}", smsc.log());
    reseals(&smsc);
    let again = reseal(&smsc);
    assert!(
        again.stdout.contains("every password is sealed"),
        "{}",
        again.stdout
    );
    let are_sealed = |smsc: &Smsc| {
        for password in passwords {
            assert!(!is_in_store(smsc, password), "{password} is still there");
        }
    };
    are_sealed(&smsc);
    // A new password, and a rollback to the old one.
    let version = admin.get("/v1/config")["version"].as_u64().unwrap();
    let changed = serde_json::json!({
        "address": operator.address().to_string(), "system_id": "smsc", "password": "an0ther",
        "reconnect": ["200ms"], "bind_timeout": "500ms",
    });
    assert_eq!(admin.put("/v1/operators/up", &changed).status, 200);
    bound_with(&operator, "an0ther");
    assert!(!is_in_store(&smsc, "an0ther"));
    let shown = admin
        .get(&format!("/v1/config/versions/{}", version + 1))
        .to_string();
    assert!(
        shown.contains("(secret)") && !shown.contains("sealed:"),
        "{shown}"
    );
    assert_eq!(admin.post(&format!("/v1/config/rollback/{version}")).0, 200);
    bound_with(&operator, "0perat0r");
    are_sealed(&smsc);

    // A text that only looks sealed could never be opened.
    let mut odd = changed.clone();
    odd["password"] = "sealed:v1:00000000:AAAA".into();
    let (status, answer) = admin.call("PUT", "/v1/operators/up", Some(&odd));
    assert_eq!(status, 409, "{answer}");

    // Another key: first together with the old one, then alone.
    fs::write(smsc.file("keys"), format!("{NEW}\n{OLD}\n")).unwrap();
    restart(&mut smsc);
    reseals(&smsc);
    fs::write(smsc.file("keys"), format!("{NEW}\n")).unwrap();
    restart(&mut smsc);
    are_sealed(&smsc);
    smsc.terminate();

    does_not_start_without_its_key(&smsc);
}

#[test]
fn passwords_are_sealed_in_the_embedded_store() {
    passwords_are_sealed(
        |smsc| smsc,
        |smsc, octets| is_in_files(&smsc.data_dir(), octets),
    );
}

#[test]
fn passwords_are_sealed_in_the_shared_store() {
    let database = database();
    let config = tempfile::tempdir().unwrap();
    let file = config.path().join("smsc.toml");
    fs::write(&file, format!("[postgres]\nurl = {:?}\n", database.url())).unwrap();
    let migrate = ["migrate", "--config", file.to_str().unwrap()];
    let made = run(Command::new(binary()).args(migrate));
    assert!(made.success, "{}", made.stderr);
    let url = database.url().to_owned();
    passwords_are_sealed(
        |smsc| smsc.toml(&format!("[postgres]\nurl = {:?}", database.url())),
        |_, octets| {
            let tables = ["accounts", "operators", "config_versions"];
            tables.iter().any(|table| {
                let sql =
                    format!("SELECT 1 FROM {table} AS t WHERE strpos(t::text, '{octets}') > 0");
                !rows(&url, &sql).is_empty()
            })
        },
    );
}
