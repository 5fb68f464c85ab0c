//! What a customer is told and what support asks first, by REST and on the command line: the sheet of an account, its last
//! login, and what was commanded of it.

use serde_json::{Value, json};

use super::command_line::{printed, refused};
use crate::harness::{Peer, Smsc, free_port, until};

#[test]
fn a_sheet_says_all_but_the_password() {
    let smsc = Smsc::new()
        .account_with(
            "shop",
            "s3cret99",
            "max_binds = 4\nrate = 50.0\nburst = 10\nquota_per_day = 1000\nsenders = [\"ACME\"]\nallow = [\"127.0.0.0/8\"]",
        )
        .smpp("public_host = \"smpp.example\"")
        .with_api()
        .start();
    let admin = smsc.admin();
    let sheet = admin.get("/v1/accounts/shop/sheet");
    assert_eq!(sheet["max_binds"], 4);
    let entrance = &sheet["entrances"][0];
    let port = smsc.smpp().port();
    assert_eq!(
        *entrance,
        json!({"protocol": "smpp", "host": "smpp.example", "port": port, "tls": false})
    );
    let text = sheet["text"].as_str().unwrap();
    let api = smsc.api_address().port();
    for part in [
        format!("host smpp.example, port {port}, without TLS"),
        format!("http://smpp.example:{api}"),
        "binds         4 at once".to_owned(),
        "50 messages per second, 10 at once".to_owned(),
        "1000 short messages".to_owned(),
        "ACME".to_owned(),
        "127.0.0.0/8".to_owned(),
        "bind_transceiver".to_owned(),
        sheet["password_words"].as_str().unwrap().to_owned(),
    ] {
        assert!(text.contains(&part), "{part}: {text}");
    }
    assert!(!sheet.to_string().contains("s3cret99"), "{sheet}");
    // One text, wherever it is asked for, and for whoever may look.
    let (status, plain) = admin.text("/v1/accounts/shop/sheet?format=text").unwrap();
    assert_eq!((status, plain.trim_end()), (200, text));
    let reader = admin.with_role("read", "reader");
    assert_eq!(reader.get("/v1/accounts/shop/sheet"), sheet);
    let line = printed(&smsc, &["account", "sheet", "shop"]);
    assert_eq!(line.trim_end(), text);
    let as_json = printed(&smsc, &["account", "sheet", "shop", "-o", "json"]);
    assert_eq!(serde_json::from_str::<Value>(&as_json).unwrap(), sheet);

    assert!(refused(&smsc, &["account", "sheet", "nobody"]).contains("there is no account"));
    let (status, said) = admin.text("/v1/accounts/shop/sheet?format=pdf").unwrap();
    assert!(status == 400 && said.contains("json or text"), "{said}");
}

#[test]
fn a_sheet_says_what_else_a_login_needs() {
    let smsc = Smsc::new()
        .account("shop", "secret99")
        .account_with(
            "901234",
            "secret99",
            "carrier_secret = \"shared99\"\ncertificates = [\"shop.example\"]",
        )
        .toml(&format!(
            "[[listener]]\nlisten = \"127.0.0.1:{}\"\nprotocol = \"cmpp\"",
            free_port()
        ))
        .start();
    let of = |account: &str| -> String {
        let sheet = smsc.admin().get(&format!("/v1/accounts/{account}/sheet"));
        sheet["text"].as_str().unwrap().to_owned()
    };
    let plain = of("shop");
    for other in ["cmpp", "shared secret", "certificate"] {
        assert!(!plain.contains(other), "{other}: {plain}");
    }
    let text = of("901234");
    for part in [
        "cmpp          host 127.0.0.1, port ",
        "shared secret for cmpp",
        "certificate   shop.example, over TLS",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("shared99"), "{text}");
}

#[test]
fn a_host_with_a_port_is_refused() {
    let smsc = Smsc::new().account("test", "test").start();
    let text = smsc.config();
    let wrong = text.replacen("[smpp]", "[smpp]\npublic_host = \"smpp.example:2775\"", 1);
    assert_ne!(text, wrong);
    smsc.set_config(&wrong);
    let said = refused(&smsc, &["check-config"]);
    assert!(
        said.contains("smpp.public_host") && said.contains("without a port"),
        "{said}"
    );
}

#[test]
fn the_last_login_is_kept() {
    let mut smsc = Smsc::new().account("test", "test").start();
    let path = "/v1/accounts/test/last-login";
    let never = smsc.admin().get(path);
    assert_eq!(never["at"], Value::Null);
    let esme = Peer::bind(smsc.smpp(), "test", "test");
    let login = smsc.admin().get(path);
    assert!(login["at"].is_string(), "{login}");
    assert_eq!(login["address"], "127.0.0.1");
    assert_eq!(login["bind_type"], "transceiver");
    esme.unbind();
    until("the login to be in the store", || {
        let store = rusqlite::Connection::open(smsc.data_dir().join("smsc.db")).unwrap();
        let count: i64 = store
            .query_row("SELECT count(*) FROM logins", [], |row| row.get(0))
            .unwrap();
        (count == 1).then_some(())
    });
    smsc.kill();
    smsc.start_again();
    assert_eq!(smsc.admin().get(path), login);
    let (status, said) = smsc.admin().text("/v1/accounts/nobody/last-login").unwrap();
    assert!(status == 404 && said.contains("nobody"), "{said}");
}

#[test]
fn the_audit_log_is_read_of_one_account() {
    let smsc = Smsc::new()
        .account("shop", "test")
        .account("shop2", "test")
        .start();
    let admin = smsc.admin();
    for account in ["shop", "shop2"] {
        let rate = json!({ "rate": 5.0 });
        let (status, said) =
            admin.call("PUT", &format!("/v1/accounts/{account}/rate"), Some(&rate));
        assert_eq!(status, 200, "{said}");
        // With the colon as it is, and as browsers write it.
        for (colon, verb) in [(":", "suspend"), ("%3A", "resume")] {
            let path = format!("/v1/queues/account{colon}{account}/{verb}");
            assert_eq!(admin.post(&path).0, 200);
        }
    }
    let found = admin.get("/v1/audit?about=accounts/shop");
    let paths: Vec<String> = found["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["path"].as_str().unwrap().replace("%3A", ":"))
        .collect();
    assert_eq!(
        paths,
        [
            "/v1/queues/account:shop/resume",
            "/v1/queues/account:shop/suspend",
            "/v1/accounts/shop/rate",
        ]
    );
    let (status, said) = admin.text("/v1/audit?about=shop").unwrap();
    assert!(
        status == 400 && said.contains("names no resource"),
        "{said}"
    );
}
