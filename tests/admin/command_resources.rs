//! `smsc account`, `smsc operator` and `smsc route`: resources changed from the command line, and by whom not.

use super::command_line::{in_terminal, plain, printed, refused};
use crate::harness::{FakeOperator, Peer, Smsc};

#[test]
fn accounts_operators_and_routes_are_changed_key_by_key() {
    let smsc = Smsc::new()
        .account("test", "test")
        .route("", "test:delivered")
        .start();
    std::fs::write(smsc.file("secret"), "12345678\n").unwrap();
    let line = [
        "account",
        "add",
        "shop",
        "--set-file",
        "password=secret",
        "--set",
        "addresses=12345,4477*",
        "--set",
        "rate=5",
    ];
    // Only looked at, and not without being asked.
    assert!(printed(&smsc, &[&line[..], &["--dry-run"]].concat()).contains("+ accounts/shop"));
    assert!(refused(&smsc, &line).contains("give --yes"));
    assert!(!printed(&smsc, &["account", "list"]).contains("shop"));
    let added = printed(&smsc, &[&line[..], &["--yes"]].concat());
    assert!(
        added.contains("addresses = [\"12345\",\"4477*\"]")
            && added.contains("account shop is added"),
        "{added}"
    );
    assert!(!added.contains("12345678"), "{added}");
    Peer::bind(smsc.smpp(), "shop", "12345678");
    assert!(refused(&smsc, &[&line[..], &["--yes"]].concat()).contains("exists"));

    let shown = printed(&smsc, &["account", "show", "shop"]);
    assert!(
        shown.contains("12345, 4477*") && !shown.contains("max_binds"),
        "{shown}"
    );
    assert!(printed(&smsc, &["account", "show", "shop", "--all"]).contains("max_binds"));

    let edited = printed(
        &smsc,
        &[
            "account",
            "edit",
            "shop",
            "--set",
            "window=50",
            "--unset",
            "rate",
            "--yes",
        ],
    );
    assert!(
        edited.contains("rate: 5 → (not set)") && edited.contains("window: 10 → 50"),
        "{edited}"
    );
    // The password is the one that it was.
    Peer::bind(smsc.smpp(), "shop", "12345678");

    let route = [
        "route",
        "add",
        "uk",
        "--set",
        "prefix=44",
        "--set",
        "to=test:failed",
        "--yes",
    ];
    printed(&smsc, &route);
    assert!(printed(&smsc, &["route", "explain", "447700900123"]).contains("test:failed"));
    assert!(printed(&smsc, &["route", "list", "-o", "csv"]).contains("uk,44,,test:failed,"));
    let wrong = refused(
        &smsc,
        &["route", "edit", "uk", "--set", "to=nobody", "--yes"],
    );
    assert!(wrong.contains("nobody"), "{wrong}");
    assert!(printed(&smsc, &["route", "remove", "uk", "--yes"]).contains("- routes/uk"));
    assert!(refused(&smsc, &["route", "show", "uk"]).contains("there is no route"));
}

#[test]
fn an_operator_is_added_from_a_file_and_its_password_rotated() {
    let operator = FakeOperator::listen();
    let smsc = Smsc::new()
        .account("test", "test")
        .route("", "test:delivered")
        .start();
    let file = format!(
        "address = \"{}\"\nsystem_id = \"smsc\"\npassword = \"first\"\n",
        operator.address()
    );
    std::fs::write(smsc.file("up.toml"), file).unwrap();
    printed(&smsc, &["operator", "add", "up", "-f", "up.toml", "--yes"]);
    drop(operator.accept_bind());
    std::fs::write(smsc.file("new"), "second").unwrap();
    let said = printed(
        &smsc,
        &[
            "operator",
            "edit",
            "up",
            "--set-file",
            "password=new",
            "--yes",
        ],
    );
    assert!(
        said.contains("password") && !said.contains("second"),
        "{said}"
    );
    let list = printed(&smsc, &["operator", "list"]);
    assert!(
        list.contains("up") && list.contains(&operator.address().to_string()),
        "{list}"
    );
}

#[test]
fn keys_are_edited_in_an_editor() {
    let smsc = Smsc::new()
        .account("test", "test")
        .route("", "test:delivered")
        .start();
    let editor = smsc.file("editor.sh");
    // The first time wrong, the second time right.
    let script = "#!/bin/sh\nif grep -q '^window = many' \"$1\"; then sed -i 's/^window = many/window = 77/' \"$1\"\n\
        else sed -i 's/^window = 100/window = many/' \"$1\"; fi\n";
    std::fs::write(&editor, script).unwrap();
    let command = format!("sh {}", editor.display());
    let (said, code) = in_terminal(
        &smsc,
        100,
        "y\ny\n",
        &["account", "edit", "test"],
        &[("EDITOR", &command), ("VISUAL", "")],
    );
    assert_eq!(code, 0, "{said}");
    assert!(
        said.contains("TOML") && plain(&said).contains("window: 100 → 77"),
        "{said}"
    );
    assert_eq!(
        smsc.admin().get("/v1/accounts/test")["settings"]["window"],
        77
    );
    // Without a terminal there is no editor.
    assert!(refused(&smsc, &["account", "edit", "test"]).contains("nothing to change"));
}

#[test]
fn a_read_token_changes_nothing() {
    let smsc = Smsc::new()
        .account("test", "test")
        .route("", "test:delivered")
        .start();
    let token = printed(&smsc, &["token", "add", "colleague", "--role", "read"]);
    let token = token.trim();
    for line in [
        &["account", "edit", "test", "--set", "window=1", "--yes"][..],
        &["account", "add", "new", "--set", "password=x", "--yes"],
        &["route", "remove", "default", "--yes"],
        &["queue", "suspend", "test:delivered"],
    ] {
        let said = refused(&smsc, &[line, &["--token", token]].concat());
        assert!(said.contains("role"), "{line:?}: {said}");
    }
    let shown = printed(
        &smsc,
        &["account", "show", "test", "--all", "--token", token],
    );
    assert!(!shown.contains("password  "), "{shown}");
}
