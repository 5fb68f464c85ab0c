//! Programs of Kannel and Jasmin are called as they were: delivery reports at their `dlr-url`, messages from mobiles
//! at a `get-url` or by an HTTP connector.

use bytes::Bytes;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use smsc::smpp::{Body, CommandStatus, SubmitSm};

use crate::harness::hooks::{Hook, HookReply, Hooks};
use crate::harness::{FakeOperator, Scene, Smsc, receipt, send_receipt, taken, until};
use crate::plain::get;

fn hosts() -> &'static str {
    "callback_hosts = [\"127.0.0.1\"]\ncallback_allow_private = [\"127.0.0.1\"]\n"
}

fn quoted(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

fn serving(switch: &str, route: &str) -> Smsc {
    Smsc::new()
        .with_api_and(switch)
        .account_with("user", "word", hosts())
        .route("", route)
        .start()
}

/// The value of a parameter, still encoded.
fn value<'a>(parameters: &'a str, name: &str) -> &'a str {
    let mut pairs = parameters
        .split('&')
        .filter_map(|pair| pair.split_once('='));
    let found = pairs.find(|(key, _)| *key == name);
    found
        .unwrap_or_else(|| panic!("no {name} in {parameters}"))
        .1
}

fn query(hook: &Hook) -> &str {
    hook.path.split_once('?').unwrap().1
}

/// Submits as a program of Kannel that asks for these reports: as the user guide has it, with the program's own id, and
/// what Kannel fills in.
fn ask_as_kannel(smsc: &Smsc, hooks: &Hooks, mask: u32) {
    let url = format!(
        "{}?myid=123456&smsc=%i&type=%d&answer=%A&from=%p&to=%P&time=%T&account=%o",
        hooks.url("127.0.0.1")
    );
    let url = quoted(&url);
    let said = get(
        smsc.api_address(),
        &format!(
            "/cgi-bin/sendsms?user=user&pass=word&from=ACME&to=447700900123&text=hello&account=shop&dlr-mask={mask}&dlr-url={url}"
        ),
    );
    assert_eq!(said.brief(), (202, "0: Accepted for delivery"));
}

fn assert_report_of_kannel(one: &Hook, kind: &str) {
    assert_eq!((one.method.as_str(), one.octets.len()), ("GET", 0));
    let query = query(one);
    for (name, expected) in [
        ("myid", "123456"),
        ("type", kind),
        ("from", "447700900123"),
        ("to", "ACME"),
        ("account", "shop"),
    ] {
        assert_eq!(value(query, name), expected, "{query}");
    }
    let answer = if kind == "8" { "ACK%2F" } else { "stat%3A" };
    assert!(value(query, "answer").contains(answer), "{query}");
    assert!(value(query, "time").parse::<i64>().is_ok(), "{query}");
}

#[test]
fn a_dlr_url_of_kannel_is_fetched() {
    let hooks = Hooks::taking();
    for (route, mask, kind) in [
        ("test:delivered", 19, Some("1")),
        ("test:failed", 3, Some("2")),
        ("test:delivered", 2, None),
    ] {
        let before = hooks.came().len();
        let smsc = serving("kannel = true", route);
        ask_as_kannel(&smsc, &hooks, mask);
        let Some(kind) = kind else {
            let admin = smsc.admin();
            until("its end", || {
                let list = admin.get("/v1/messages");
                (list["messages"][0]["state"] == "DELIVERED").then_some(())
            });
            assert_eq!(hooks.came().len(), before, "it was not asked for");
            continue;
        };
        let came = hooks.wait_for(before + 1);
        assert_report_of_kannel(&came[before], kind);
    }
}

/// Each is waited for, because a report that a later one has overtaken is left out.
#[test]
fn a_dlr_url_of_kannel_is_fetched_for_each_step() {
    let (hooks, operator) = (Hooks::taking(), FakeOperator::listen());
    let smsc = Smsc::new()
        .with_api_and("kannel = true")
        .account_with("user", "word", hosts())
        .operator("up", operator.address())
        .route("", "up")
        .start();
    let mut bind = operator.accept_bind();
    smsc.wait_for_binds("up", 1);
    ask_as_kannel(&smsc, &hooks, 31);
    // It waits here.
    assert_report_of_kannel(&hooks.wait_for(1)[0], "4");
    // The operator has it.
    taken(&mut bind, "one");
    assert_report_of_kannel(&hooks.wait_for(2)[1], "8");
    let status = send_receipt(&mut bind, receipt("id:one stat:DELIVRD err:000"));
    assert_eq!(status, CommandStatus::ESME_ROK);
    assert_report_of_kannel(&hooks.wait_for(3)[2], "1");
}

#[test]
fn a_dlr_url_of_jasmin_is_called_until_it_acknowledges() {
    let hooks = Hooks::answering(|_, before| match before {
        0 => HookReply::ok(),
        1 => HookReply::Text("NACK"),
        _ => HookReply::Text("ACK/Jasmin"),
    });
    let smsc = serving("jasmin = true", "test:delivered");
    let url = quoted(&hooks.url("127.0.0.1"));
    let said = get(
        smsc.api_address(),
        &format!(
            "/send?username=user&password=word&to=447700900123&content=Hello+foo+bar&dlr=yes&dlr-level=2&dlr-url={url}"
        ),
    );
    let id = said.text.split('"').nth(1).unwrap().to_owned();
    let came = hooks.wait_for(3);
    smsc.wait_until_told(&id);
    assert_eq!(hooks.came().len(), 3, "and not again");
    for hook in &came {
        assert_eq!(hook.method, "POST");
        let form = std::str::from_utf8(&hook.octets).unwrap();
        for (name, expected) in [
            ("id", id.as_str()),
            ("id_smsc", &id),
            ("message_status", "DELIVRD"),
            ("level", "2"),
            ("sub", "001"),
            ("dlvrd", "001"),
            ("err", "000"),
            ("text", "Hello+foo+bar"),
        ] {
            assert_eq!(value(form, name), expected, "{form}");
        }
        assert_eq!(value(form, "subdate").len(), 10, "{form}");
        assert_eq!(value(form, "donedate").len(), 10, "{form}");
    }
    let nacks = "smsc_callbacks_total{account=\"user\",result=\"nack\"}";
    assert_eq!(smsc.admin().metric(nacks), Some(2.0));
}

fn bring(scene: &mut Scene, text: &'static [u8], data_coding: u8) {
    let mo = SubmitSm {
        source_addr: Bytes::from_static(b"447700900123"),
        destination_addr: Bytes::from_static(b"12345"),
        data_coding,
        short_message: Bytes::from_static(text),
        ..SubmitSm::default()
    };
    let sequence = scene.bind.request(Body::DeliverSm(mo));
    assert_eq!(
        scene.bind.answer_to(sequence).status,
        CommandStatus::ESME_ROK
    );
}

#[test]
fn a_get_url_of_kannel_is_fetched() {
    let hooks = Hooks::taking();
    let keys = format!(
        "deliver_by = \"callback\"\ncallback_format = \"kannel\"\naddresses = [\"12345\"]\n{}\
         callback_url = \"{}?from=%p&to=%P&text=%a&coding=%c&smsc=%i\"\n\
         callback_receipt_url = \"{}?type=%d\"\n",
        hosts(),
        hooks.url("127.0.0.1"),
        hooks.url("127.0.0.1"),
    );
    let mut scene = Scene::of(&keys, "", |builder| builder);
    bring(&mut scene, b"NOP  hello world", 0);
    let came = hooks.wait_for(1);
    assert_eq!(
        (came[0].method.as_str(), query(&came[0])),
        (
            "GET",
            "from=447700900123&to=12345&text=NOP+hello+world&coding=0&smsc=up"
        )
    );
    scene.submit_as("1");
    scene.report("1", "DELIVRD");
    let came = hooks.wait_for(2);
    assert_eq!(query(&came[1]), "type=1");
}

#[test]
fn a_connector_of_jasmin_gets_messages_until_it_acknowledges() {
    let hooks = Hooks::answering(|_, before| match before {
        0 => HookReply::ok(),
        _ => HookReply::Text("ACK/Jasmin\n"),
    });
    let keys = format!(
        "deliver_by = \"callback\"\ncallback_format = \"jasmin\"\naddresses = [\"12345\"]\n{}callback_url = {:?}\n",
        hosts(),
        hooks.url("127.0.0.1"),
    );
    let mut scene = Scene::of(&keys, "", |builder| builder);
    bring(&mut scene, b"\x04\x1f", 8);
    let came = hooks.wait_for(2);
    let form = std::str::from_utf8(&came[1].octets).unwrap();
    for (name, expected) in [
        ("from", "447700900123"),
        ("to", "12345"),
        ("origin-connector", "up"),
        ("coding", "8"),
        ("content", "%04%1F"),
        ("binary", "041f"),
        ("priority", "0"),
    ] {
        assert_eq!(value(form, name), expected, "{form}");
    }
    assert_eq!(came[0].octets, came[1].octets, "under one id");
    let id = value(form, "id").to_owned();
    assert_eq!(scene.smsc.wait_for_final(&id)["state"], "DELIVERED");
}
