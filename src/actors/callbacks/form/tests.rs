//! Callbacks in the forms of other products.

use super::*;
use crate::pb::{ClientData, Kind, MessageState};
use crate::store::FinRow;

const AT: i64 = 1_700_000_000_000;

fn names() -> ShownNames<'static> {
    ShownNames {
        account: "acme",
        operator: "up",
    }
}

fn way(form: CallbackForm, url: &str) -> ReceiverInterface<'_> {
    ReceiverInterface { form, url }
}

fn submitted() -> Message {
    Message {
        id: 77,
        source: Bytes::from_static(b"ACME"),
        destination: Bytes::from_static(b"447700900123"),
        accepted_at: AT,
        client_data: Some(Box::new(ClientData {
            reference: "order 7".to_owned(),
            dlr_mask: 19,
            dlr_level: 3,
            ..ClientData::default()
        })),
        ..Message::default()
    }
}

fn receipt_of(way: &ReceiverInterface<'_>, state: MessageState) -> Callback {
    let message = submitted();
    let fin = FinRow {
        id: 77,
        at: AT + 5_000,
        state,
        error: Bytes::from_static(b"0A1"),
        operator: 3,
        tell: 1,
        done_at: 0,
        remote_item: Bytes::new(),
        remote_part: 0,
    };
    let text = "id:77 sub:001 dlvrd:001 submit date:2311142213 done date:2311142214 stat:DELIVRD \
                err:0A1 text:Hello foo";
    let deliver = Message {
        short_message: Bytes::from_static(text.as_bytes()),
        ..Message::default()
    };
    let ended = EndedMessage {
        message: &message,
        fin: &fin,
        deliver: &deliver,
        attempts: &[],
    };
    way.receipt(ended, names()).unwrap()
}

fn mo(data_coding: u32, esm_class: u32, octets: &'static [u8]) -> Message {
    Message {
        id: 78,
        kind: Kind::Mo.into(),
        source: Bytes::from_static(b"447700900123"),
        destination: Bytes::from_static(b"12345"),
        accepted_at: AT,
        data_coding,
        esm_class,
        short_message: Bytes::from_static(octets),
        ..Message::default()
    }
}

#[test]
fn a_dlr_url_is_filled_in_and_fetched() {
    let url = "https://host/dlr?type=%d&from=%p&to=%P&time=%T&ref=%o&smsc=%i&id=%F";
    let way = way(CallbackForm::Kannel, url);
    for (state, kind) in [
        (MessageState::Delivered, 1),
        (MessageState::Expired, 2),
        (MessageState::Rejected, 16),
    ] {
        let callback = receipt_of(&way, state);
        assert_eq!(callback.method, Method::GET);
        assert_eq!(
            callback.target.uri().to_string(),
            format!(
                "https://host/dlr?type={kind}&from=447700900123&to=ACME&time=1700000005&ref=order+7&smsc=up&id=77"
            )
        );
        assert_eq!(
            (callback.id.as_str(), callback.body.len()),
            ("receipt_77", 0)
        );
    }
    let answer = way_with_answer();
    assert!(answer.contains("stat%3ADELIVRD"), "{answer}");
}

fn way_with_answer() -> String {
    let way = way(CallbackForm::Kannel, "https://host/?a=%A");
    receipt_of(&way, MessageState::Delivered)
        .target
        .uri()
        .to_string()
}

#[test]
fn a_get_url_brings_a_message() {
    let way = way(
        CallbackForm::Kannel,
        "https://host/mo?from=%p&to=%P&text=%a&raw=%b&t=%t&c=%c&cs=%C&udh=%u",
    );
    let query = |message: &Message| {
        let callback = way
            .incoming(message, &CompiledRewriteRules::default(), names())
            .unwrap();
        callback.target.uri().query().unwrap().to_owned()
    };
    let base = "from=447700900123&to=12345&";
    assert_eq!(
        query(&mo(0, 0, b"NOP  x\x40")),
        format!("{base}text=NOP+x%C2%A1&raw=NOP++x%C2%A1&t=2023-11-14+22:13:20&c=0&cs=UTF-8&udh=")
    );
    assert_eq!(
        query(&mo(8, 0, b"\x04\x1f")),
        format!("{base}text=%04%1F&raw=%04%1F&t=2023-11-14+22:13:20&c=2&cs=UTF-16BE&udh=")
    );
    assert_eq!(
        query(&mo(4, 0x40, b"\x02\x70\x00\x01\xff")),
        format!("{base}text=%01%FF&raw=%01%FF&t=2023-11-14+22:13:20&c=1&cs=8-BIT&udh=%02p%00")
    );
}

#[test]
fn jasmin_s_reports_have_the_parameters_of_its_documentation() {
    let post = receipt_of(
        &way(CallbackForm::Jasmin, "https://host/dlr"),
        MessageState::Delivered,
    );
    let expected = "id=77&level=2&message_status=DELIVRD&connector=up&id_smsc=77&sub=001&dlvrd=001\
                    &subdate=2311142213&donedate=2311142214&err=0A1&text=Hello+foo";
    assert_eq!(std::str::from_utf8(&post.body).unwrap(), expected);
    assert_eq!(post.content_type, Some(FORM));
    assert_eq!(post.acknowledgement, Some("ACK/Jasmin"));
    let get = receipt_of(
        &way(CallbackForm::JasminGet, "https://host/dlr?a=b"),
        MessageState::Delivered,
    );
    assert_eq!(get.method, Method::GET);
    assert_eq!(get.target.uri().query().unwrap(), format!("a=b&{expected}"));
    assert_eq!(
        (get.body.len(), get.acknowledgement),
        (0, Some("ACK/Jasmin"))
    );
}

#[test]
fn jasmin_s_connector_gets_a_message() {
    let way = way(CallbackForm::Jasmin, "https://host/mo");
    let callback = way
        .incoming(
            &mo(8, 0, b"\x04\x1f"),
            &CompiledRewriteRules::default(),
            names(),
        )
        .unwrap();
    assert_eq!(
        std::str::from_utf8(&callback.body).unwrap(),
        "id=78&from=447700900123&to=12345&origin-connector=up&priority=0&coding=8&content=%04%1F&binary=041f"
    );
}

#[test]
fn callbacks_to_one_url_are_known_by_what_does_not_differ() {
    for (form, url, path) in [
        (CallbackForm::Kannel, "http://h:1/dlr/%d/x?id=%p", "/dlr/"),
        (CallbackForm::Kannel, "http://h/dlr?state=%d", "/dlr"),
        (CallbackForm::Kannel, "http://h/%d", "/"),
        (CallbackForm::JasminGet, "http://h/a%20b?x=1", "/a%20b"),
        (CallbackForm::Standard, "http://h", "/"),
    ] {
        let callback = receipt_of(&way(form, url), MessageState::Delivered);
        assert_eq!(&*callback.path, path, "{url}");
    }
}
