//! `/cgi-bin/sendsms`: the same requests to a real Kannel and to the SMSC have the same answers and make the same
//! messages.

use argon2::{Algorithm, Argon2, Params, PasswordHasher, Version};
use serde_json::json;
use smsc::smpp::{Body, CommandStatus};

use crate::harness::{Kannel, Peer, Smsc, until};
use crate::plain::{Said, get, post, seen, with_sink};

const SWITCH: &str = "kannel = true";
const TO: &str = "447700900123";
const FORM: &str = "application/x-www-form-urlencoded";

fn send(smsc: &Smsc, parameters: &str) -> Said {
    let path = format!("/cgi-bin/sendsms?username=user&password=word&{parameters}");
    get(smsc.api_address(), &path)
}

fn accepted(smsc: &Smsc, parameters: &str) {
    let said = send(smsc, parameters);
    assert_eq!(
        said.brief(),
        (202, "0: Accepted for delivery"),
        "{parameters}"
    );
}

#[test]
fn kannel_and_the_smsc_make_the_same_of_a_request() {
    let (smsc, mut sink) = with_sink(SWITCH, "");
    let kannel = Kannel::start(&smsc, "http://127.0.0.1:9/", true);
    let admin = smsc.admin();
    until("the bind of bearerbox", || {
        let list = admin.get("/v1/binds").to_string();
        (list.matches("\"test\"").count() > 0).then_some(())
    });
    let mut different = Vec::new();
    for parameters in [
        "text=Hello+world",
        "text=",
        "text=10+%E2%82%AC+%5B%7B%C3%A9%C3%A0%5D",
        "text=%D0%BF%D1%80%D0%B8+%C3%AA",
        "text=caf%E9&charset=ISO-8859-1",
        "text=caf%E9&charset=latin1&coding=0",
        "text=%04%3F%04%40&coding=2",
        "text=%D0%BF%D1%80&coding=2&charset=UTF-8",
        "text=%3F%04&coding=2&charset=UTF-16LE",
        "text=%00%01%FF&coding=1",
        "text=data&udh=%06%05%04%0B%84%23%F0",
        "text=data&udh=%06%05%04%0B%84%23%F0&coding=1&pid=127&alt-dcs=1&mclass=3",
        "text=hello&mclass=0",
        "text=hello&mclass=2",
        "text=%04%3F&coding=2&mclass=0",
        "text=%04%3F&coding=2&mclass=1&alt-dcs=1",
        "text=hello&alt-dcs=1",
        "text=hello&mclass=0&alt-dcs=1",
        "text=mail&mwi=0",
        "text=&mwi=2",
        "text=%04%3F&coding=2&mwi=1",
        "text=&mwi=5",
        "text=hello&pid=65&rpi=1&priority=2&binfo=VMA",
        "text=hello&dlr-mask=0&dlr-url=http%3A%2F%2F127.0.0.1%2F",
        "text=hello&coding=&mclass=&validity=10&account=shop&smsc=ours&colour=red",
    ] {
        let path = format!("/cgi-bin/sendsms?user=user&pass=word&from=12345&to={TO}&{parameters}");
        let theirs = kannel.get(&path);
        assert!(
            theirs.ends_with("0: Accepted for delivery"),
            "{path}: {theirs}"
        );
        let theirs = seen(&sink.deliver());
        let ours = get(smsc.api_address(), &path);
        assert_eq!(ours.brief(), (202, "0: Accepted for delivery"), "{path}");
        let ours = seen(&sink.deliver());
        if ours != theirs {
            different.push(format!("{parameters}: {ours}, Kannel: {theirs}"));
        }
    }
    let fine = format!("from=12345&to={TO}&text=x");
    for parameters in [
        "username=user&password=wrong&from=1&to=2&text=x".to_owned(),
        "username=user&from=1&to=2&text=x".to_owned(),
        "username=nobody&password=word".to_owned(),
        "username=user&password=word&from=1&text=x".to_owned(),
        "username=user&password=word&from=1&to=&text=x".to_owned(),
        "username=user&password=word&from=1&to=abc&text=x".to_owned(),
        format!("username=user&password=word&{fine}&udh=%06%05"),
        format!(
            "username=user&password=word&{fine}&udh=%96{}",
            "a".repeat(150)
        ),
        format!("username=user&password=word&{fine}&account=a%5Bb"),
        format!(
            "username=user&password=word&{fine}&account={}",
            "a".repeat(65)
        ),
        format!("username=user&password=word&{fine}&dlr-mask=31&dlr-url=ftp%3A%2F%2Fhost%2F"),
        format!("username=user&password=word&{fine}&mclass=4"),
        format!("username=user&password=word&{fine}&pid=256"),
        format!("username=user&password=word&{fine}&rpi=3"),
        format!("username=user&password=word&{fine}&alt-dcs=2"),
        format!("username=user&password=word&{fine}&mwi=8"),
        format!("username=user&password=word&{fine}&coding=3"),
        format!("username=user&password=word&{fine}&validity=-2"),
        format!("username=user&password=word&{fine}&deferred=-2"),
        format!("username=user&password=word&{fine}&priority=4"),
        format!("username=user&password=word&{fine}&charset=klingon"),
    ] {
        let path = format!("/cgi-bin/sendsms?{parameters}");
        let theirs = kannel.get(&path);
        let (head, text) = theirs.split_once("\r\n\r\n").unwrap();
        let status: u16 = head.split(' ').nth(1).unwrap().parse().unwrap();
        let ours = get(smsc.api_address(), &path);
        if ours.brief() != (status, text) {
            different.push(format!(
                "{parameters}: {:?}, Kannel: {status} {text}",
                ours.brief()
            ));
        }
    }
    assert!(different.is_empty(), "{different:#?}");
}

#[test]
fn the_examples_of_the_user_guide() {
    let (smsc, mut sink) = with_sink(SWITCH, "");
    let address = smsc.api_address();
    // The first one, with the credentials of the test.
    let said = get(
        address,
        "/cgi-bin/sendsms?username=user&password=word&to=0123456&text=Hello+world",
    );
    assert_eq!(said.brief(), (202, "0: Accepted for delivery"));
    assert!(
        said.head.contains("content-type: text/plain"),
        "{}",
        said.head
    );
    let message = sink.deliver();
    assert_eq!(&message.short_message[..], b"Hello world");
    assert_eq!(&message.destination_addr[..], b"0123456");
    // A form.
    let body = "username=user&password=word&from=ACME&to=%2B447700900123&text=Hello+form";
    let said = post(address, "/cgi-bin/sendsms", FORM, body);
    assert_eq!(said.brief(), (202, "0: Accepted for delivery"));
    let message = sink.deliver();
    assert_eq!(&message.source_addr[..], b"ACME");
    assert_eq!(&message.destination_addr[..], TO.as_bytes());
    // The number of waiting voicemails.
    accepted(
        &smsc,
        &format!("to={TO}&mwi=0&coding=0&udh=%04%01%02%00%05"),
    );
    let message = sink.deliver();
    assert_eq!(
        (message.data_coding, message.esm_class & 0x40),
        (0xC8, 0x40)
    );
    let said = post(address, "/cgi-bin/sendsms", "text/xml", "<message/>");
    assert_eq!(said.brief(), (415, "Unsupported content-type, rejected"));
    assert_eq!(
        get(address, "/send?username=user").status,
        404,
        "not switched on"
    );
}

#[test]
fn several_receivers_and_long_texts() {
    let (smsc, mut sink) = with_sink(SWITCH, "destinations = [\"44*\"]");
    accepted(
        &smsc,
        "to=447700900001+447700900002%20%2B447700900001&text=x",
    );
    let mut to = [sink.deliver(), sink.deliver()]
        .map(|message| String::from_utf8_lossy(&message.destination_addr).into_owned());
    to.sort();
    assert_eq!(to, ["447700900001", "447700900002"], "each once");
    let said = send(&smsc, "to=447700900001+abc+49170000002&text=x");
    assert_eq!(
        said.brief(),
        (
            202,
            "0: Accepted for delivery. Denied receivers are: abc 49170000002"
        )
    );
    sink.deliver();
    let said = send(&smsc, "to=49170000002&text=x");
    assert_eq!(said.brief(), (403, "Not routable. Do not try again."));
    let many: Vec<String> = (0..1_001).map(|n| format!("44770090{n:04}")).collect();
    let said = send(&smsc, &format!("to={}&text=x", many.join("+")));
    assert_eq!(said.brief(), (400, "More than 1000 receivers, rejected"));
    let text = "0123456789".repeat(30);
    accepted(&smsc, &format!("to={TO}&text={text}"));
    let message = smsc.api_of("user", "read").get("/v1/messages?limit=10");
    assert_eq!(message["messages"][0]["parts"], 2, "{message}");
}

#[test]
fn deferred_and_valid_for_minutes() {
    let (smsc, _sink) = with_sink(SWITCH, "");
    let said = send(
        &smsc,
        &format!("to={TO}&text=x&deferred=60&validity=120&account=till+3"),
    );
    assert_eq!(said.brief(), (202, "3: Queued for later delivery"));
    let listed = smsc.api_of("user", "read").get("/v1/messages");
    let message = &listed["messages"][0];
    assert_eq!(message["reference"], "till 3");
    let moment = |key: &str| smsc::domain::moment::parse(message[key].as_str().unwrap()).unwrap();
    let (accepted, due, expires) = (
        moment("accepted_at"),
        moment("due_at"),
        moment("expires_at"),
    );
    let minutes = |span: i64| (span + 30_000) / 60_000;
    assert_eq!(
        (minutes(due - accepted), minutes(expires - accepted)),
        (60, 120)
    );
    for (parameters, field) in [
        ("deferred=60&validity=30", "Validity"),
        ("validity=0", "Validity"),
        ("deferred=99999999", "Deferred"),
        ("validity=soon", "Validity"),
    ] {
        let said = send(&smsc, &format!("to={TO}&text=x&{parameters}"));
        let expected = format!("{field} field misformed, rejected");
        assert_eq!(said.brief(), (400, expected.as_str()), "{parameters}");
    }
}

#[test]
fn what_is_not_done_is_refused() {
    let (smsc, _sink) = with_sink(SWITCH, "");
    for (parameters, part) in [
        (
            "dlr-mask=31&dlr-url=http%3A%2F%2F127.0.0.1%2Fdlr",
            "callback_hosts",
        ),
        ("dlr-mask=1", "there is no URL"),
        (
            "dlrmask=32&dlrurl=http%3A%2F%2F127.0.0.1%2Fdlr",
            "it asks for nothing that is reported",
        ),
        ("compress=1", "Compress is not supported"),
        ("meta-data=%3Fsmpp%3Fa%3D1", "Meta-data is not supported"),
        ("binfo=toolong", "Binfo field misformed"),
        ("coding=1&mwi=1", "MWI field misformed"),
    ] {
        let said = send(&smsc, &format!("to={TO}&text=x&{parameters}"));
        assert_eq!(said.status, 400, "{parameters}");
        assert!(said.text.contains(part), "{parameters}: {}", said.text);
    }
    let listed = smsc.api_of("user", "read").get("/v1/messages");
    assert_eq!(listed["messages"], json!([]), "nothing was accepted");
}

#[test]
fn passwords_keys_addresses_and_certificates() {
    let params = Params::new(8, 1, 1, None).unwrap();
    let hash = Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
        .hash_password(b"s3cret")
        .unwrap()
        .to_string();
    let smsc = Smsc::new()
        .with_api_and(SWITCH)
        .account("user", &hash)
        .account("other", "other-1")
        .account_with("far", "s3cret", "allow = [\"192.0.2.0/24\"]")
        .account_with("off", "s3cret", "enabled = false")
        .route("", "test:delivered")
        .toml("[log]\nlevel = \"trace\"")
        .start();
    let enter = |name: &str, password: &str| {
        let path =
            format!("/cgi-bin/sendsms?username={name}&password={password}&to={TO}&text=t0psecret");
        get(smsc.api_address(), &path).status
    };
    let key = |account: &str, role: &str| smsc.api_of(account, role).token().to_owned();
    for (name, password, status) in [
        ("user", "s3cret", 202),
        ("user", "s3cret", 202),
        ("user", "wr0ng", 403),
        ("user", "", 403),
        ("far", "s3cret", 403),
        ("off", "s3cret", 403),
        ("nobody", "s3cret", 403),
        ("user", &key("user", "send"), 202),
        ("user", &key("user", "both"), 202),
        ("user", &key("user", "read"), 403),
        ("user", &key("other", "send"), 403),
        ("user", "smsck_unknown", 403),
        ("user", "s3cret", 202),
    ] {
        assert_eq!(enter(name, password), status, "{name} {password}");
    }
    // A wrong password over SMPP and one over HTTP are two of one account: the second is delayed.
    assert_eq!(enter("other", "other-1"), 202);
    let mut peer = Peer::connect(smsc.smpp());
    let status = peer.bind_as(Body::BindTransceiver, "other", "wr0ng");
    assert_eq!(status, CommandStatus::ESME_RINVPASWD);
    assert_eq!(enter("other", "wr0ng"), 403);
    let log = smsc.log();
    let line = log.lines().find(|line| {
        line.contains("login over HTTP refused: wrong password") && line.contains("system_id=other")
    });
    let line = line.unwrap_or_else(|| panic!("no refusal in the log"));
    assert!(!line.contains("delay_ms=0"), "{line}");
    for secret in ["s3cret", "wr0ng", "t0psecret", "smsck_", "argon2id"] {
        assert!(!smsc.log().contains(secret), "{secret} in the log");
    }
    smsc.assert_no_panic();
}

#[test]
fn the_account_has_its_rate_and_balance_here_too() {
    let (smsc, _sink) = with_sink(SWITCH, "prepaid = true\nrate = 1.0\nburst = 3");
    let order = format!("to={TO}&text=x");
    assert_eq!(
        send(&smsc, &order).brief(),
        (403, "Not enough credits. Do not try again.")
    );
    let top_up = json!({ "add": 100, "reference": "1" });
    let path = "/v1/accounts/user/balance";
    assert_eq!(smsc.admin().call("POST", path, Some(&top_up)).0, 200);
    until("the rate is used up", || {
        let said = send(&smsc, &order);
        let is_over = said.brief() == (503, "Temporal failure, try again later.");
        assert!(is_over || said.status == 202, "{said:?}");
        assert!(!is_over || said.head.contains("retry-after"), "{said:?}");
        is_over.then_some(())
    });
}
