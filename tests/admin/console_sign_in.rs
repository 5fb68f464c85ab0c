//! Sign-in to the console by OpenID Connect, in a real browser at an issuer that nobody here wrote (npm's oidc-provider):
//! who gets in with which role, what attackers get, and what happens without the issuer.

use crate::console::pictures;
use crate::harness::{
    Client, Cluster, Smsc, SmscBuilder, browser_script, free_port, node_script, until,
};

const TOKEN: &str = "harness-token";
const CLIENT: &str = "smsc-console";
const SECRET: &str = "the secret of this client";

/// Keys of `[http]` for an issuer at this port, where browsers reach the console at that port.
fn keys(issuer: u16, console: &str, more: &str) -> String {
    format!(
        "oidc = {{ issuer = \"http://127.0.0.1:{issuer}\", client_id = {CLIENT:?}, client_secret = {SECRET:?}, \
         redirect_url = \"http://127.0.0.1:{console}/oidc/callback\", label = \"the tests\", \
         name_claim = \"preferred_username\", role_read = [\"staff\"], role_operate = [\"noc\"], \
         role_admin = [\"sms-admins\"]{more} }}"
    )
}

fn with_issuer(port: u16) -> SmscBuilder {
    with_keys(&keys(port, "{http_port}", ""))
}

fn with_keys(keys: &str) -> SmscBuilder {
    Smsc::new()
        .account("test", "test")
        .operator("up", ([127, 0, 0, 1], free_port()).into())
        .route("", "up")
        .http(keys)
}

/// The issuer at this port, whose client is the console at that port.
fn issuer(port: u16, console: u16) -> Client {
    let redirect = format!("http://127.0.0.1:{console}/oidc/callback");
    let port = port.to_string();
    let arguments = [port.as_str(), CLIENT, SECRET, &redirect];
    let mut issuer = Client::start("oidc-provider", node_script("oidc_issuer.js", &arguments));
    issuer.wait_for("listening", |_| true);
    issuer
}

fn url(port: u16) -> String {
    format!("http://127.0.0.1:{port}/")
}

/// Steps of oidc.js at this console.
fn browse(
    steps: &str,
    console: u16,
    issuer: u16,
    more: &[&str],
) -> (tempfile::TempDir, std::process::Command) {
    let folder = tempfile::tempdir().unwrap();
    let (base, issuer, pictures) = (url(console), url(issuer), pictures());
    let pictures = pictures.to_str().unwrap();
    let mut arguments = vec![steps, &base, &issuer, TOKEN, pictures];
    arguments.extend(more);
    let command = browser_script("oidc.js", &arguments, folder.path());
    (folder, command)
}

/// Any page on the web can have a browser ask for this, as for a picture: nobody at its address is locked out by it.
#[test]
fn answers_to_no_sign_in_lock_nobody_out() {
    let smsc = with_issuer(free_port()).start();
    let admin = smsc.admin();
    for _ in 0..150 {
        let answer = admin.text("/oidc/callback?code=1&state=2").unwrap();
        assert_eq!(answer.0, 400, "{}", answer.1);
    }
    let log = admin.get("/v1/audit").to_string();
    assert!(!log.contains("/oidc/callback"), "{log}");
}

#[test]
fn people_sign_in_with_the_role_of_their_groups() {
    let port = free_port();
    let smsc = with_issuer(port).start();
    let console = smsc.http().port();
    let _issuer = issuer(port, console);
    let (_folder, command) = browse("in_and_out,nobody_without_a_role", console, port, &[]);
    Client::run(command);
    let admin = smsc.admin();
    let log = admin.get("/v1/audit");
    let said: Vec<String> = log["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| format!("{} {} {}", entry["token"], entry["path"], entry["detail"]))
        .collect();
    let has = |parts: [&str; 3]| {
        said.iter()
            .any(|line| parts.iter().all(|part| line.contains(part)))
    };
    assert!(
        has([
            "oidc:jane~",
            "/oidc/callback",
            "signed in as subject jane:staff,noc of http"
        ]),
        "{said:#?}"
    );
    assert!(
        has(["oidc:jane~", "/v1/queues/operator:up/suspend", ""]),
        "{said:#?}"
    );
    assert!(
        has(["oidc:jane~", "/oidc/sign-out", "signed out"]),
        "{said:#?}"
    );
    assert!(
        has(["nobody", "/oidc/callback", "none of your groups"]),
        "{said:#?}"
    );
    assert_eq!(admin.metric("smsc_console_sign_ins_total"), Some(1.0));
    let refused = "smsc_console_sign_ins_refused_total{reason=\"no_role\"}";
    assert_eq!(admin.metric(refused), Some(2.0));
    // The session has ended with the sign-out.
    assert_eq!(admin.get("/v1/tokens")["tokens"], serde_json::json!([]));
    smsc.assert_no_panic();
}

/// Whoever rotates the secret at the issuer changes the file, and nothing else.
#[test]
fn the_secret_of_the_client_is_that_of_its_file_now() {
    let port = free_port();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("secret");
    std::fs::write(&file, "the one before").unwrap();
    let (given, in_file) = (
        format!("client_secret = {SECRET:?}"),
        format!("client_secret_file = {file:?}"),
    );
    let smsc = with_keys(&keys(port, "{http_port}", "").replace(&given, &in_file)).start();
    let console = smsc.http().port();
    let _issuer = issuer(port, console);
    std::fs::write(&file, SECRET).unwrap();
    until("the file to be read", || {
        let log = smsc.log();
        log.contains("http.oidc.client_secret_file").then_some(())
    });
    let (_folder, command) = browse("in_and_out", console, port, &[]);
    Client::run(command);
    smsc.assert_no_panic();
}

#[test]
fn forged_answers_foreign_sessions_and_other_sites_open_nothing() {
    let port = free_port();
    let smsc = with_issuer(port).start();
    let console = smsc.http().port();
    let _issuer = issuer(port, console);
    let (_folder, command) = browse("forged_answers,foreign_sessions", console, port, &[]);
    Client::run(command);
    let admin = smsc.admin();
    let count = |reason: &str| {
        let name = format!("smsc_console_sign_ins_refused_total{{reason={reason:?}}}");
        admin.metric(&name).unwrap_or_default()
    };
    assert!(count("state") >= 5.0 && count("refused") >= 3.0);
    smsc.assert_no_panic();
}

#[test]
fn a_session_ends_by_itself_and_by_whoever_removes_it() {
    let port = free_port();
    let smsc = with_issuer(port).start();
    let console = smsc.http().port();
    let _issuer = issuer(port, console);
    let (_folder, command) = browse("ended", console, port, &[]);
    let mut browser = Client::start("oidc.js", command);
    browser.wait_for("signed in", |_| true);
    let admin = smsc.admin();
    let tokens = admin.get("/v1/tokens")["tokens"].clone();
    let token = &tokens[0];
    assert_eq!(token["role"], "operate");
    let by = token["created_by"].as_str().unwrap();
    assert!(
        by.starts_with("subject jane:noc of http://127.0.0.1:"),
        "{by}"
    );
    assert!(token["expires_at"].is_string(), "{token}");
    let name = token["name"].as_str().unwrap();
    let (status, _) = admin.call("DELETE", &format!("/v1/tokens/{name}"), None);
    assert_eq!(status, 204);
    browser.wait_for("ended", |_| true);
    smsc.assert_no_panic();
}

#[test]
fn without_the_issuer_tokens_still_work() {
    let port = free_port();
    let smsc = with_issuer(port).start();
    let console = smsc.http().port();
    let (_folder, command) = browse("issuer_is_away", console, port, &[]);
    Client::run(command);
    let refused = "smsc_console_sign_ins_refused_total{reason=\"unreachable\"}";
    until("it to be counted", || smsc.admin().metric(refused));
    // Without the table there is no such door.
    let plain = Smsc::new().start();
    let (status, _) = plain.admin().text("/oidc/sign-in").unwrap();
    assert_eq!(status, 404);
    assert_eq!(plain.admin().get("/oidc")["label"], serde_json::Value::Null);
}

#[test]
fn a_session_opens_every_node_whichever_has_finished_the_sign_in() {
    let (port, balancer) = (free_port(), free_port());
    let at = balancer.to_string();
    let cluster = Cluster::of(2)
        .each(move |node| node.http(&keys(port, &at, "")))
        .start();
    let _issuer = issuer(port, balancer);
    let nodes: Vec<String> = cluster
        .nodes
        .iter()
        .map(|node| url(node.http().port()))
        .collect();
    let (_folder, command) = browse("any_node", balancer, port, &[&nodes.join(",")]);
    Client::run(command);
    cluster.nodes.iter().for_each(|node| node.assert_no_panic());
}
