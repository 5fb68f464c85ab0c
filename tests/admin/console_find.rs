//! One box of the console for numbers, ids, accounts, operators, errors, keys and the manual: by REST, and in a real browser
//! with a thousand accounts.

use serde_json::Value;

use super::console_scale::with_accounts;
use crate::console::pictures;
use crate::harness::{Client, Simulator, browser_script};

const TOKEN: &str = "harness-token";
const ACCOUNTS: usize = 1_005;

/// The names of one kind among what was found.
fn of_kind(found: &Value, kind: &str) -> Vec<String> {
    let all = found["found"].as_array().unwrap().iter();
    let own = all.filter(|one| one["kind"] == kind);
    own.map(|one| one["name"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn a_word_finds_a_few_of_each_kind() {
    let up = Simulator::new().start();
    let smsc = with_accounts(30).operator("north", up.address()).start();
    let admin = smsc.admin();
    let found = admin.get("/v1/find?text=SHOP");
    let first = ["shop0000", "shop0001", "shop0002", "shop0003", "shop0004"];
    assert_eq!(of_kind(&found, "accounts"), first);
    let found = admin.get("/v1/find?text=op0029&limit=1");
    assert_eq!(of_kind(&found, "accounts"), ["shop0029"]);
    let found = admin.get("/v1/find?text=nor*");
    assert_eq!(of_kind(&found, "operators"), ["north"]);
    let found = admin.get("/v1/find?text=throttled");
    assert_eq!(of_kind(&found, "error"), ["ESME_RTHROTTLED"]);
    let found = admin.get("/v1/find?text=quota_per_day");
    assert_eq!(of_kind(&found, "key"), ["accounts.quota_per_day"]);
    assert!(!of_kind(&found, "manual").is_empty(), "{found}");
    // Who may only look finds the same.
    let reader = admin.with_role("read", "reader");
    assert_eq!(reader.get("/v1/find?text=quota_per_day"), found);
    for (query, part) in [("", "text must be"), ("text=a&limit=21", "1 to 20")] {
        let (status, said) = admin.text(&format!("/v1/find?{query}")).unwrap();
        assert!(status == 400 && said.contains(part), "{query}: {said}");
    }
    smsc.assert_no_panic();
}

#[test]
fn the_box_is_used_by_keyboard_and_on_a_phone() {
    let up = Simulator::new().start();
    let smsc = with_accounts(ACCOUNTS)
        .account("northern", "secret")
        .operator("north", up.address())
        .route("", "north")
        .toml("[usage]\nenabled = true")
        .start();
    smsc.wait_for_binds("north", 1);
    let folder = tempfile::tempdir().unwrap();
    let pictures = pictures();
    let base = format!("http://{}/", smsc.http());
    let steps = "everything_is_found_by_keyboard,arrows_choose_and_the_focus_comes_back,a_late_answer_leads_nowhere,\
                 manual_is_opened,a_phone_has_a_button";
    let arguments = [steps, &base, TOKEN, pictures.to_str().unwrap()];
    Client::run(browser_script("console_find.js", &arguments, folder.path()));
    smsc.assert_no_panic();
}
