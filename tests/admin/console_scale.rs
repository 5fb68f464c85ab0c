//! Lists of a thousand: pages of the admin API, compressed answers, and the console in a real browser, whose pages stay
//! small and whose tabs take little from the server.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

use crate::console::pictures;
use crate::harness::{Client, Listener, Simulator, Smsc, browser_script};

const TOKEN: &str = "harness-token";
/// Longest silence of a server that was asked.
const SILENCE: Duration = Duration::from_secs(30);
const ACCOUNTS: usize = 1_000;
const OPERATORS: usize = 200;

/// So many accounts, called shop0000 and so on, each with an address of its own.
pub(super) fn with_accounts(count: usize) -> crate::harness::SmscBuilder {
    let mut smsc = Smsc::new();
    for at in 0..count {
        let keys = format!("addresses = [\"447700900{at:03}\"]");
        smsc = smsc.account_with(&format!("shop{at:04}"), "secret", &keys);
    }
    smsc
}

fn names(list: &Value, key: &str) -> Vec<String> {
    let entries = list.as_array().unwrap();
    let name = |entry: &Value| entry[key].as_str().unwrap().to_owned();
    entries.iter().map(name).collect()
}

/// Head and body of an answer, as they are on the wire.
fn raw(http: SocketAddr, path: &str, accept: &str) -> (String, Vec<u8>) {
    let mut socket = TcpStream::connect(http).unwrap();
    socket.set_read_timeout(Some(SILENCE)).unwrap();
    write!(
        socket,
        "GET {path} HTTP/1.1\r\nHost: smsc\r\nConnection: close\r\nAuthorization: Bearer {TOKEN}\r\n{accept}\r\n"
    )
    .unwrap();
    let mut answer = Vec::new();
    socket.read_to_end(&mut answer).unwrap();
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n");
    let body = answer.split_off(end.unwrap() + 4);
    (String::from_utf8(answer).unwrap().to_lowercase(), body)
}

#[test]
fn lists_come_in_pages_by_name_and_compressed() {
    let up = Simulator::new().start();
    let smsc = with_accounts(30)
        .operator("north", up.address())
        .operator("south", up.address())
        .route("", "north")
        .start();
    let admin = smsc.admin();
    // Without parameters it is as it was.
    let whole = admin.get("/v1/accounts");
    assert!(whole.get("total").is_none() && whole.get("next_after").is_none());
    let all = names(&whole["accounts"], "name");
    assert_eq!(all.len(), 30);
    let (mut paged, mut after) = (Vec::new(), String::new());
    loop {
        let page = admin.get(&format!("/v1/accounts?limit=7{after}"));
        assert_eq!(page["total"], 30);
        paged.extend(names(&page["accounts"], "name"));
        match page["next_after"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => break,
        }
    }
    assert_eq!(paged, all);
    for (path, list, key, wanted) in [
        ("accounts?find=shop000*", "accounts", "name", 10),
        ("accounts?find=447700900007", "accounts", "name", 1),
        ("queues?find=account:*7", "queues", "name", 3),
        ("queues?find=SHOP001", "queues", "name", 10),
        ("operators?find=nor", "operators", "id", 1),
        ("operators?find=nor*&limit=1", "operators", "id", 1),
        ("routes?find=north", "routes", "name", 1),
        // No character but the star stands for others.
        ("accounts?find=shop%25", "accounts", "name", 0),
        ("accounts?find=shop000_", "accounts", "name", 0),
        ("accounts?find=%5Cshop*", "accounts", "name", 0),
    ] {
        let found = admin.get(&format!("/v1/{path}"));
        assert_eq!(names(&found[list], key).len(), wanted, "{path}: {found}");
    }
    // In the order of any key, a page at a time.
    for (path, list, key, wanted) in [
        (
            "accounts?sort=-name&limit=2",
            "accounts",
            "name",
            ["shop0029", "shop0028"],
        ),
        (
            "accounts?sort=-addresses&limit=2&after=shop0028",
            "accounts",
            "name",
            ["shop0027", "shop0026"],
        ),
        (
            "operators?sort=-name",
            "operators",
            "id",
            ["south", "north"],
        ),
    ] {
        let found = admin.get(&format!("/v1/{path}"));
        assert_eq!(names(&found[list], key), wanted, "{path}: {found}");
    }
    let long = format!("accounts?find={}", "a".repeat(257));
    for path in ["queues?limit=0", "accounts?sort=colour", &long] {
        let (status, said) = admin.text(&format!("/v1/{path}")).unwrap();
        assert_eq!(status, 400, "{path}: {said}");
    }

    let (head, plain) = raw(smsc.http(), "/v1/accounts", "");
    assert!(!head.contains("content-encoding"), "{head}");
    let accept = "Accept-Encoding: gzip, deflate, br\r\n";
    let (head, pressed) = raw(smsc.http(), "/v1/accounts", accept);
    assert!(head.contains("content-encoding: gzip"), "{head}");
    assert!(head.contains("vary: accept-encoding"), "{head}");
    assert!(pressed.starts_with(&[0x1F, 0x8B]), "it is gzip");
    let lengths = (pressed.len(), plain.len());
    assert!(lengths.0 * 10 < lengths.1, "{lengths:?}");
    // A stream is, too, if that is wanted.
    let headers = format!("Authorization: Bearer {TOKEN}\r\nAccept-Encoding: gzip\r\n");
    let stream = Listener::connect(smsc.http(), "/v1/events", &headers);
    assert!(
        stream.head.contains("content-encoding: gzip"),
        "{}",
        stream.head
    );
    smsc.assert_no_panic();
}

#[test]
fn a_stream_brings_the_page_that_is_shown() {
    let up = Simulator::new().start();
    let smsc = with_accounts(300)
        .operator("north", up.address())
        .operator("south", up.address())
        .route("", "north")
        .start();
    smsc.wait_for_binds("south", 1);
    let listen = |query: &str| {
        let path = format!("/v1/events?{query}");
        Listener::open(smsc.http(), TOKEN, &path)
    };
    // Beyond the 256 queues that an event has for everybody.
    let mut queues = listen("kinds=queues&list=queues&limit=2&sort=-name&find=account:shop*");
    let (_, page) = queues.wait_for("queues");
    assert_eq!(
        names_of_queues(&page),
        ["account:shop0299", "account:shop0298"]
    );
    assert_eq!(page["omitted"], 298);
    // What belongs to the operators on the page comes with them.
    let mut operators = listen("kinds=operators,queues,binds&list=operators&limit=1&page=2");
    let (_, page) = operators.wait_for("operators");
    assert_eq!(names(&page["operators"], "id"), ["south"]);
    assert_eq!(page["total"], 2);
    let (_, page) = operators.wait_for("queues");
    assert_eq!(names_of_queues(&page), ["operator:south"]);
    let (_, page) = operators.wait_for("binds");
    assert_eq!(names(&page["binds"], "name"), ["south"]);
    let bind = format!(
        "{}/{}",
        page["binds"][0]["node"], page["binds"][0]["session"]
    );
    let mut one = listen(&format!("kinds=binds&list=binds&find={bind}"));
    let (_, page) = one.wait_for("binds");
    assert_eq!(names(&page["binds"], "name"), ["south"]);
    // Without parameters there is everything, up to 256 queues.
    let (_, page) = listen("kinds=queues").wait_for("queues");
    assert_eq!(names_of_queues(&page).len(), 256);
    let (status, said) = smsc
        .admin()
        .text("/v1/events?list=queues&sort=weight")
        .unwrap();
    assert_eq!(status, 400);
    assert!(said.contains("delivered_per_second"), "{said}");
    smsc.assert_no_panic();
}

fn names_of_queues(event: &Value) -> Vec<String> {
    names(&event["queues"], "name")
}

#[test]
fn the_console_stays_small_with_a_thousand_accounts() {
    let up = Simulator::new().start();
    let mut smsc = with_accounts(ACCOUNTS);
    for at in 0..OPERATORS {
        smsc = smsc.operator(&format!("carrier{at:03}"), up.address());
    }
    let smsc = smsc
        .route("", "carrier000")
        .toml("[usage]\nenabled = true")
        .start();
    smsc.wait_for_binds(&format!("carrier{:03}", OPERATORS - 1), 1);
    let folder = tempfile::tempdir().unwrap();
    let pictures = pictures();
    let base = format!("http://{}/", smsc.http());
    let steps = "pages_are_small,pages_are_painted_soon,tabs_take_little,every_queue_is_found,many_queues_are_suspended_together,who_was_refused_is_named,columns_and_views_are_kept,unseen_tabs_give_their_connection_back,every_account_is_found,new_tab_needs_no_token";
    let arguments = [steps, &base, TOKEN, pictures.to_str().unwrap()];
    Client::run(browser_script(
        "console_scale.js",
        &arguments,
        folder.path(),
    ));
    smsc.assert_no_panic();
}
