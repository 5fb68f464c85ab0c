//! Secrets change while the SMSC runs: what files hold is read again, and an account has two passwords for a while.

use std::fs;
use std::path::Path;

use argon2::{Algorithm, Argon2, Params, PasswordHasher, Version};
use deadpool_redis::redis::{Client, cmd};
use serde_json::json;
use smsc::cmpp::Cmpp;
use smsc::smpp::{Body, CommandId, CommandStatus};

use crate::harness::carrier_client::{SECRET, SOURCE, free_listener, log_in, with_client};
use crate::harness::hooks::{HookReply, Hooks};
use crate::harness::{
    Database, FakeOperator, Peer, RedisDatabase, Smsc, SmscBuilder, database, redis_database, rows,
    submit, taken, until,
};

/// A Secret as Kubernetes mounts it: the name leads through a link to a folder, which is replaced as a whole.
struct Mounted<'a>(&'a Path);

impl Mounted<'_> {
    fn holds(&self, generation: &str, secrets: &[(&str, &str)]) {
        let folder = self.0.join(generation);
        fs::create_dir(&folder).unwrap();
        for (name, secret) in secrets {
            fs::write(folder.join(name), secret).unwrap();
            let link = self.0.join(name);
            let _ = fs::remove_file(&link);
            std::os::unix::fs::symlink(format!("..data/{name}"), link).unwrap();
        }
        let fresh = self.0.join("..data_tmp");
        std::os::unix::fs::symlink(generation, &fresh).unwrap();
        fs::rename(fresh, self.0.join("..data")).unwrap();
    }
}

fn serving(operator: &FakeOperator, folder: &Path) -> SmscBuilder {
    let at = |name: &str| folder.join(name).display().to_string();
    let address = operator.address();
    let account = format!("system_id = \"shop\"\npassword_file = {:?}", at("shop"));
    let operator = format!(
        "id = \"up\"\naddress = \"{address}\"\nsystem_id = \"us\"\npassword_file = {:?}\nreconnect = [\"200ms\"]",
        at("up")
    );
    let peers = format!("[[account]]\n{account}\n[[operator]]\n{operator}");
    Smsc::new().toml(&peers).route("", "up")
}

fn binds(smsc: &Smsc, password: &str) -> bool {
    let mut peer = Peer::connect(smsc.smpp());
    let status = peer.bind_as(Body::BindTransceiver, "shop", password);
    status == CommandStatus::ESME_ROK
}

/// The password of the next bind, which is accepted.
fn accepted(operator: &FakeOperator) -> (Peer, String) {
    let mut peer = operator.accept();
    let pdu = peer.expect("a bind", |pdu| matches!(pdu.body, Body::BindTransceiver(_)));
    peer.acknowledge(CommandId::BIND_TRANSCEIVER_RESP, pdu.sequence);
    let Body::BindTransceiver(bind) = pdu.body else {
        unreachable!("it was looked at");
    };
    (peer, String::from_utf8(bind.password.to_vec()).unwrap())
}

#[test]
fn a_file_with_another_content_is_used_without_a_command() {
    let folder = tempfile::tempdir().unwrap();
    let secrets = Mounted(folder.path());
    secrets.holds("..1", &[("shop", "old\n"), ("up", "first")]);
    let operator = FakeOperator::listen();
    let mut smsc = serving(&operator, folder.path()).start();
    let (mut bind, password) = accepted(&operator);
    assert_eq!(password, "first");
    smsc.wait_for_binds("up", 1);
    let mut lasting = Peer::bind(smsc.smpp(), "shop", "old");
    lasting.submit(submit("447700900123", "before"));
    assert_eq!(taken(&mut bind, "one").short_message, "before");

    secrets.holds("..2", &[("shop", "new"), ("up", "second")]);
    let (mut bind, password) = accepted(&operator);
    assert_eq!(password, "second", "with a bind of its own");
    until("the new password", || binds(&smsc, "new").then_some(()));
    assert!(!binds(&smsc, "old"));
    // Who is bound stays so, and what is under way goes on.
    smsc.wait_for_binds("up", 1);
    lasting.submit(submit("447700900124", "after"));
    assert_eq!(taken(&mut bind, "two").short_message, "after");
    let log = smsc.log();
    assert!(log.contains("accounts/shop.password_file"), "{log}");
    for secret in ["new", "second"] {
        assert!(!log.contains(&format!("={secret}")), "{log}");
    }

    // A command that changes nothing else does not wait for the node to look.
    secrets.holds("..3", &[("shop", "newest"), ("up", "second")]);
    let applied = smsc.run(&["apply", "--file", "smsc.toml", "--yes"]);
    assert!(applied.success, "{}", applied.stderr);
    assert!(binds(&smsc, "newest") && !binds(&smsc, "new"));
    let said = "read again: accounts/shop.password_file";
    let was_first = applied.stdout.contains(said);
    let log = smsc.log();
    let by_itself = log.matches("accounts/shop.password_file").count() > 1;
    assert!(was_first || by_itself, "{}", applied.stdout);
    // The store has none of them.
    let database = fs::read(smsc.data_dir().join("smsc.db")).unwrap();
    assert!(!database.windows(6).any(|some| some == b"newest"));
    assert!(smsc.terminate().success());
}

fn hash(password: &str) -> String {
    let params = Params::new(8, 1, 1, None).unwrap();
    let hash = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
    hash.hash_password(password.as_bytes()).unwrap().to_string()
}

#[test]
fn an_account_may_have_two_passwords_while_its_owner_changes_them() {
    let carrier = free_listener();
    let smsc = with_client(Smsc::new(), carrier, "")
        .with_api_and("kannel = true")
        .account("shop", "old")
        .route("", "test:delivered")
        .start();
    let over_http = |password: &str| {
        let path = "cgi-bin/sendsms?user=shop&to=447700900123&text=hello";
        let url = format!("http://{}/{path}&pass={password}", smsc.api_address());
        ureq::get(url).call().is_ok()
    };
    let by_proof = |secret: &str| log_in(carrier, Cmpp::V30, SOURCE, secret).0 == 0;
    let set = |account: &str, given: &serde_json::Value| {
        let path = format!("/v1/accounts/{account}");
        let mut settings = smsc.admin().get(&path)["settings"].clone();
        for (key, value) in given.as_object().unwrap() {
            settings[key] = value.clone();
        }
        let (status, answer) = smsc.admin().call("PUT", &path, Some(&settings));
        assert_eq!(status, 200, "{answer}");
        assert!(!answer.to_string().contains("fresh"), "{answer}");
    };
    assert!(!binds(&smsc, "fresh") && !over_http("fresh") && !by_proof("fresh"));
    let (plain, hashed) = ("fresh".to_owned(), hash("fresh"));
    for fresh in [&plain, &hashed] {
        set("shop", &json!({"password_next": fresh}));
        for password in ["old", "fresh", "old", "fresh"] {
            assert!(binds(&smsc, password) && over_http(password), "{password}");
        }
        assert!(!binds(&smsc, fresh) || fresh == "fresh");
    }
    set(SOURCE, &json!({"carrier_secret_next": "fresh"}));
    assert!(by_proof(SECRET) && by_proof("fresh") && !by_proof("other"));
    let shown = smsc.admin().get("/v1/accounts/shop").to_string();
    assert!(!shown.contains("argon2id"), "{shown}");

    // The second one becomes the first, and there is no second one any more.
    set("shop", &json!({"password": "fresh", "password_next": ""}));
    let of_carrier = json!({"carrier_secret": "fresh", "carrier_secret_next": ""});
    set(SOURCE, &of_carrier);
    assert!(binds(&smsc, "fresh") && over_http("fresh") && by_proof("fresh"));
    assert!(!binds(&smsc, "old") && !over_http("old") && !by_proof(SECRET));
    assert!(!binds(&smsc, ""), "an empty one is none");
    smsc.assert_no_panic();
}

/// A file that is gone and a wrong key are nobody else's business, whatever is changed meanwhile.
#[test]
fn what_cannot_be_used_holds_up_nothing_else() {
    const KEY: &str = "0f0e0d0c0b0a09080706050403020100f0e0d0c0b0a090807060504030201000";
    const WRONG: &str = "a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2";
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let write = |name: &str, text: &str| fs::write(at(name), text).unwrap();
    write("keys", KEY);
    let peers = ["shop", "gone", "odd"].map(|name| {
        write(name, "old");
        format!(
            "[[account]]\nsystem_id = {name:?}\npassword_file = {:?}\n",
            at(name)
        )
    });
    let smsc = Smsc::new()
        .toml(&format!("[secrets]\nkey_file = {:?}", at("keys")))
        .toml(&peers.concat())
        .account("sealed", "in the store")
        .start();
    fs::remove_file(at("gone")).unwrap();
    write("odd", "$argon2id$nothing");
    write("keys", WRONG);
    write("shop", "new");
    let admin = smsc.admin();
    let mut window = 1;
    until("the new password", || {
        // None of these is refused: not for a file that is not theirs, nor for a key that is not used.
        window = window % 90 + 1;
        let changed = json!({"password": format!("other {window}"), "window": window});
        let (status, answer) = admin.call("PUT", "/v1/accounts/busy", Some(&changed));
        assert!(status < 300, "{status} {answer}");
        binds(&smsc, "new").then_some(())
    });
    let log = || smsc.log();
    for said in [
        "accounts/gone.password_file",
        "accounts/odd.password_file",
        "secrets.key_file",
    ] {
        until(&format!("a line about {said}"), || {
            log().contains(said).then_some(())
        });
    }
    assert!(!log().contains(WRONG) && !log().contains("$argon2id$nothing"));
    let mut kept = Peer::connect(smsc.smpp());
    let status = kept.bind_as(Body::BindTransceiver, "gone", "old");
    assert_eq!(status, CommandStatus::ESME_ROK);
    // And back again.
    write("keys", &format!("{KEY}\n{WRONG}"));
    write("gone", "back");
    until("the file that is back", || {
        let mut peer = Peer::connect(smsc.smpp());
        let status = peer.bind_as(Body::BindTransceiver, "gone", "back");
        (status == CommandStatus::ESME_ROK).then_some(())
    });
    let readable = smsc.admin().get("/v1/config");
    assert!(readable.to_string().contains("sealed"), "{readable}");
    smsc.assert_no_panic();
}

#[test]
fn a_second_password_ends_with_its_line_in_the_file() {
    let smsc = Smsc::new()
        .account_with("shop", "first", "password_next = \"second\"")
        .start();
    assert!(binds(&smsc, "first") && binds(&smsc, "second"));
    let without = smsc.config().replace("password_next = \"second\"\n", "");
    smsc.set_config(&without);
    smsc.apply();
    assert!(binds(&smsc, "first") && !binds(&smsc, "second"));
    // Or by a command.
    for (flag, given, is_valid) in [
        ("--set", "password_next=third", true),
        ("--unset", "password_next", false),
    ] {
        let edit = ["account", "edit", "shop", "--yes", flag, given];
        let edited = smsc.command(&edit);
        assert!(edited.success, "{}", edited.stderr);
        assert_eq!(binds(&smsc, "third"), is_valid, "{}", edited.stdout);
    }
}

/// Submits one message after another until this holds.
fn submit_until(esme: &mut Peer, what: &str, holds: impl Fn() -> bool) {
    until(what, || {
        esme.submit(submit("447700900123", "hello"));
        holds().then_some(())
    });
}

/// Whether limits are counted in this database of Redis.
fn counts_in(redis: &RedisDatabase) -> bool {
    let client = Client::open(redis.url()).unwrap();
    let mut connection = client.get_connection().unwrap();
    let keys: Vec<String> = cmd("KEYS").arg("*").query(&mut connection).unwrap();
    // The probe of a new connection is no limit.
    keys.iter().any(|key| key != "smsc:probe")
}

#[test]
fn redis_is_the_one_that_its_file_names_now() {
    let (first, second) = (redis_database(), redis_database());
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("redis-url");
    fs::write(&file, first.url()).unwrap();
    let smsc = Smsc::new()
        .account_with("test", "test", "rate = 1000.0")
        .route("", "test:delivered")
        .toml(&format!("[redis]\nurl_file = {file:?}\ntimeout = \"1s\""))
        .start();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    submit_until(&mut esme, "limits to be counted there", || {
        counts_in(&first)
    });
    // What is none leaves the one before.
    fs::write(&file, "no URL").unwrap();
    until("the log to say so", || {
        smsc.log().contains("redis.url_file").then_some(())
    });
    until("Redis to count as up", || {
        (smsc.admin().metric("smsc_throttle_redis_up")? == 1.0).then_some(())
    });
    assert!(!counts_in(&second));
    fs::write(&file, second.url()).unwrap();
    submit_until(&mut esme, "limits to be counted there", || {
        counts_in(&second)
    });
    smsc.assert_no_panic();
}

#[test]
fn the_archive_goes_to_the_database_that_its_file_names_now() {
    let (first, second) = (database(), database());
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("archive-url");
    fs::write(&file, first.url()).unwrap();
    let smsc = Smsc::new()
        .account("test", "test")
        .route("", "test:delivered")
        .toml(&format!(
            "[archive]\nenabled = true\nformat = \"database\"\ndatabase_url_file = {file:?}"
        ))
        .start();
    let has_rows = |target: &Database| {
        let made = "SELECT 1 FROM pg_tables WHERE tablename = 'sms_archive'";
        !rows(target.url(), made).is_empty()
            && !rows(target.url(), "SELECT 1 FROM sms_archive LIMIT 1").is_empty()
    };
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    submit_until(&mut esme, "rows of messages", || has_rows(&first));
    fs::write(&file, second.url()).unwrap();
    submit_until(&mut esme, "rows of messages", || has_rows(&second));
    // A number is erased where the rows are now.
    let path = "/v1/subscribers/447700900123/messages";
    let (status, answer) = smsc.admin().call("DELETE", path, None);
    assert!(status < 300, "{status} {answer}");
    let left = |target: &Database| {
        let sql = "SELECT 1 FROM sms_archive WHERE destination LIKE '%447700900123'";
        rows(target.url(), sql).len()
    };
    assert!(left(&first) > 0);
    until("none to be left", || (left(&second) == 0).then_some(()));
    smsc.assert_no_panic();
}

#[test]
fn tokens_of_look_ups_are_those_of_their_files() {
    let service = Hooks::answering(|_, _| {
        HookReply::Text(r#"{"network": "23415", "imsi": "001010000000001"}"#)
    });
    let address = service.address();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    fs::write(&file, "first").unwrap();
    let smsc = Smsc::new()
        .account("test", "test")
        .toml(&format!(
            "[resolver]\nurl = \"http://{address}/network/{{msisdn}}\"\ntoken_file = {file:?}\n\
             [imsi]\nurl = \"http://{address}/imsi/{{msisdn}}\"\ntoken_file = {file:?}\n\
             [[gsm]]\nname = \"home\"\naddress = \"127.0.0.1:1\"\nsmsc_address = \"49160000\"\n\
             [[route]]\nprefix = \"44\"\nnetwork = \"23415\"\nto = [\"test:delivered\"]\n\
             [[route]]\nprefix = \"4916\"\nto = [\"gsm:home\"]\n"
        ))
        .route("", "test:failed")
        .start();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let mut number = 0;
    let mut are_asked_with = |token: &str| {
        let bearer = format!("Bearer {token}");
        until("questions with this token", || {
            // An answer is kept, so each time another number.
            number += 1;
            esme.submit(submit(&format!("4477009{number:05}"), "hello"));
            esme.submit(submit(&format!("4916{number:05}"), "hello"));
            let asked = service.came();
            let has = |path: &str| {
                let mut of_path = asked.iter().filter(|one| one.path.starts_with(path));
                of_path.any(|one| one.headers.get("authorization") == Some(&bearer))
            };
            (has("/network/") && has("/imsi/")).then_some(())
        });
    };
    are_asked_with("first");
    fs::write(&file, "second").unwrap();
    are_asked_with("second");
    let log = smsc.log();
    for said in ["resolver.token_file", "imsi.token_file"] {
        assert!(log.contains(said), "{log}");
    }
    assert!(!log.contains("after a restart"), "{log}");
    smsc.assert_no_panic();
}
