//! Kannel's parameters as messages.

use actix_web::test::TestRequest;

use super::*;
use crate::content::text_of;
use crate::domain::callback::states;

const NOW: i64 = 2_000_000_000_000;

fn read(parameters: &str) -> Result<Order, String> {
    let request = TestRequest::with_uri(&format!("/cgi-bin/sendsms?{parameters}"));
    let args = Args::of_form(&request.to_http_request(), b"").unwrap();
    let account = AccountPlan::with_callback_hosts(&["host"]);
    Order::read(&args, &account, NOW).map_err(|failure| failure.said)
}

#[test]
fn every_data_coding_has_its_place_in_the_standard() {
    let dcs = |parameters: &str| {
        let order = read(&format!("to=447700900123&{parameters}")).unwrap();
        order.messages[0].data_coding
    };
    for (parameters, expected) in [
        ("text=x", 0x00),
        ("text=x&coding=1", 0x04),
        ("text=%00x&coding=2", 0x08),
        ("text=x&udh=%00", 0x04),
        ("text=x&udh=%00&coding=0", 0x00),
        ("text=x&mclass=0", 0xF0),
        ("text=x&coding=1&mclass=2", 0xF6),
        ("text=%00x&coding=2&mclass=3&alt-dcs=1", 0x1B),
        ("text=x&alt-dcs=1", 0xF1),
        ("text=x&alt-dcs=0", 0x00),
        ("text=x&coding=1&mclass=3&alt-dcs=1", 0xF7),
        ("text=x&mwi=3", 0xDB),
        ("mwi=3", 0xCB),
        ("text=%00x&coding=2&mwi=0", 0xE8),
        ("text=x&mwi=4", 0xC0),
        // A difference: Kannel says that UCS-2 is the 7-bit alphabet here.
        ("text=%00x&coding=2&mwi=6", 0xE2),
    ] {
        assert_eq!(dcs(parameters), expected, "{parameters}");
    }
}

#[test]
fn texts_are_what_their_charset_says() {
    for (parameters, text) in [
        ("text=h%C3%A9llo", "héllo"),
        ("text=h%E9llo&charset=ISO-8859-1", "héllo"),
        ("text=%EF%F0%E8&charset=cp1251&coding=2", "при"),
        ("text=%04%3F&coding=2", "п"),
        ("text=%FF%FE%3F%04&coding=2", "п"),
        ("text=%EF%BB%BFh%C3%A9llo", "héllo"),
        ("text=%D0%BF%E2%82%AC", "?€"),
    ] {
        let order = read(&format!("to=447700900123&{parameters}")).unwrap();
        assert_eq!(
            text_of(&order.messages[0]).as_deref(),
            Some(text),
            "{parameters}"
        );
    }
    for parameters in ["text=%E9", "text=x&coding=2", "text=x&charset=klingon"] {
        let said = read(&format!("to=447700900123&{parameters}")).unwrap_err();
        assert_eq!(said, "Charset or body misformed, rejected", "{parameters}");
    }
}

#[test]
fn reports_go_with_the_message_or_are_refused() {
    let asks = |parameters: &str| read(&format!("to=447700900123&text=x&{parameters}"));
    for parameters in [
        "dlr-mask=0&dlr-url=https%3A%2F%2Fhost%2F",
        "dlr-url=HTTP%3A%2F%2Fhost%2F",
        "dlr-mask=-1",
    ] {
        let message = asks(parameters).unwrap().messages.remove(0);
        assert_eq!(
            (message.client_data, message.registered_delivery),
            (None, 0)
        );
    }
    let order = asks("dlr-mask=31&dlr-url=https%3A%2F%2Fhost%2F%3Ftype%3D%25d&account=shop");
    let message = order.unwrap().messages.remove(0);
    assert_eq!(message.registered_delivery, 1);
    let client = *message.client_data.unwrap();
    assert_eq!(client.callback, "https://host/?type=%d");
    assert_eq!(client.callback_form(), CallbackForm::Kannel);
    assert_eq!((client.dlr_mask, client.reference.as_str()), (31, "shop"));
    for (mask, reported) in [
        (4, states::QUEUED),
        (8, states::SENT),
        (12, states::QUEUED | states::SENT),
        (3, 0),
    ] {
        let order = asks(&format!("dlr-mask={mask}&dlr-url=https%3A%2F%2Fhost%2F"));
        let message = order.unwrap().messages.remove(0);
        assert_eq!(message.report_states, states::CHOSEN | reported, "{mask}");
    }
    for (parameters, why) in [
        (
            "dlr-mask=32&dlr-url=https%3A%2F%2Fhost%2F",
            "asks for nothing",
        ),
        ("dlr-mask=1", "there is no URL"),
        ("dlr-mask=1&dlr-url=https%3A%2F%2Felse%2F", "callback_hosts"),
        ("dlr-mask=1&dlr-url=http%3A%2F%2Fhost%2F", "https://"),
    ] {
        let said = asks(parameters).unwrap_err();
        assert!(said.contains(why), "{parameters}: {said}");
    }
}
