//! Notes on accounts and operators: by REST with each role, and on the command line.

use crate::admin_access::start;
use serde_json::{Value, json};

fn texts(page: &Value) -> Vec<&str> {
    let notes = page["notes"].as_array().unwrap().iter();
    notes.map(|note| note["text"].as_str().unwrap()).collect()
}

#[test]
fn notes_are_written_by_those_who_operate_and_read_by_all() {
    let mut smsc = start();
    let admin = smsc.admin();
    let [read, operate] = ["read", "operate"].map(|role| admin.with_role(role, role));
    let order = |about: &str, text: &str| json!({ "about": about, "text": text });
    let first = order("accounts/test", " call Ann\nnot Bob ");
    let (status, refused) = read.call("POST", "/v1/notes", Some(&first));
    assert_eq!((status, &refused["role"]), (403, &json!("operate")));
    let (status, made) = operate.call("POST", "/v1/notes", Some(&first));
    assert_eq!(status, 201, "{made}");
    assert_eq!(made["text"], "call Ann\nnot Bob");
    assert!(
        made["by"].as_str().unwrap().starts_with("operate from"),
        "{made}"
    );
    for (about, text) in [
        ("operators/up", "slow at noon"),
        ("accounts/test", "pays late"),
    ] {
        let (status, made) = admin.call("POST", "/v1/notes", Some(&order(about, text)));
        assert_eq!(status, 201, "{made}");
    }
    smsc.kill();
    smsc.start_again();
    let of_account = "/v1/notes?about=accounts%2Ftest";
    assert_eq!(
        texts(&read.get(of_account)),
        ["pays late", "call Ann\nnot Bob"]
    );
    assert_eq!(texts(&read.get("/v1/notes")).len(), 3);
    let page = read.get("/v1/notes?limit=2");
    assert_eq!(texts(&page), ["pays late", "slow at noon"]);
    let before = page["next_before"].as_str().unwrap();
    let page = read.get(&format!("/v1/notes?limit=2&before={before}"));
    assert_eq!(
        (texts(&page), &page["next_before"]),
        (vec!["call Ann\nnot Bob"], &Value::Null)
    );
    let one = format!("/v1/notes/{}", made["id"].as_str().unwrap());
    assert_eq!(read.call("DELETE", &one, None).0, 403);
    assert_eq!(operate.call("DELETE", &one, None).0, 204);
    assert_eq!(operate.call("DELETE", &one, None).0, 404);
    assert_eq!(texts(&read.get(of_account)), ["pays late"]);
    let audit = admin.get("/v1/audit?path=/v1/notes").to_string();
    assert!(
        audit.contains("about operators/up") && !audit.contains("slow at noon"),
        "{audit}"
    );
}

#[test]
fn what_is_wrong_with_a_note_is_named() {
    let smsc = start();
    let admin = smsc.admin();
    for (order, field) in [
        (json!({ "about": "accounts/test" }), "text"),
        (json!({ "about": "accounts/test", "text": " " }), "text"),
        (
            json!({ "about": "accounts/test", "text": "a\u{7}" }),
            "text",
        ),
        (
            json!({ "about": "accounts/test", "text": "x".repeat(2001) }),
            "text",
        ),
        (json!({ "about": "accounts/", "text": "x" }), "about"),
        (json!({ "about": "test", "text": "x" }), "about"),
    ] {
        let (status, said) = admin.call("POST", "/v1/notes", Some(&order));
        assert_eq!(
            (status, &said["field"]),
            (400, &json!(field)),
            "{order}: {said}"
        );
    }
    let gone = json!({ "about": "accounts/gone", "text": "x" });
    let (status, said) = admin.call("POST", "/v1/notes", Some(&gone));
    assert_eq!(status, 404, "{said}");
    assert!(
        said["detail"].as_str().unwrap().contains("accounts/gone"),
        "{said}"
    );
    assert_eq!(texts(&admin.get("/v1/notes")), Vec::<&str>::new());
}

#[test]
fn a_resource_has_so_many_notes_at_most() {
    let smsc = start();
    let admin = smsc.admin();
    let order = json!({ "about": "accounts/test", "text": "x" });
    for _ in 0..200 {
        assert_eq!(admin.call("POST", "/v1/notes", Some(&order)).0, 201);
    }
    let (status, said) = admin.call("POST", "/v1/notes", Some(&order));
    assert_eq!(status, 409, "{said}");
    assert!(
        said["detail"].as_str().unwrap().contains("remove"),
        "{said}"
    );
    let other = json!({ "about": "operators/up", "text": "x" });
    assert_eq!(admin.call("POST", "/v1/notes", Some(&other)).0, 201);
    let of_account = admin.get("/v1/notes?about=accounts/test&limit=1000");
    assert_eq!(texts(&of_account).len(), 200);
    let id = of_account["notes"][7]["id"].as_str().unwrap();
    assert_eq!(
        admin.call("DELETE", &format!("/v1/notes/{id}"), None).0,
        204
    );
    assert_eq!(admin.call("POST", "/v1/notes", Some(&order)).0, 201);
}

#[test]
fn notes_on_the_command_line() {
    let smsc = start();
    let added = smsc.command(&["operator", "notes", "up", "--add", "slow at noon"]);
    assert!(
        added.success && added.stdout.contains("operators/up has the note"),
        "{added:?}"
    );
    let list = smsc.command(&["operator", "notes", "up"]);
    assert!(list.stdout.contains("slow at noon"), "{list:?}");
    let none = smsc.command(&["account", "notes", "test"]);
    assert!(
        none.success && !none.stdout.contains("slow at noon"),
        "{none:?}"
    );
    let json = smsc.command(&["operator", "notes", "up", "-o", "json"]);
    let json: Value = serde_json::from_str(&json.stdout).unwrap();
    let id = json["notes"][0]["id"].as_str().unwrap();
    let removed = smsc.command(&["operator", "notes", "up", "--remove", id]);
    assert!(
        removed.success && removed.stdout.contains("is removed"),
        "{removed:?}"
    );
    let again = smsc.command(&["operator", "notes", "up", "--remove", id]);
    assert!(
        !again.success && again.stderr.contains("there is no note"),
        "{again:?}"
    );
}
