//! Jasmin's parameters as messages.

use actix_web::test::TestRequest;

use super::*;

fn args(parameters: &str) -> Args {
    let request = TestRequest::with_uri(&format!("/send?{parameters}"));
    Args::of_form(&request.to_http_request(), b"").unwrap()
}

#[test]
fn a_level_is_a_mask_of_states() {
    for (parameters, expected) in [
        ("dlr=yes", None),
        ("dlr=yes&dlr-level=3", None),
        ("dlr-url=http://h/", Some((8, 1, CallbackForm::Jasmin))),
        (
            "dlr-url=http://h/&dlr-level=2&dlr-method=get",
            Some((3, 2, CallbackForm::JasminGet)),
        ),
        (
            "dlr=no&dlr-url=http://h/&dlr-level=3",
            Some((27, 3, CallbackForm::Jasmin)),
        ),
    ] {
        let order = reports(&args(parameters));
        let order = order.map(|order| (order.mask, order.level, order.form));
        assert_eq!(order, expected, "{parameters}");
    }
}

#[test]
fn what_is_never_reported_is_refused() {
    let account = AccountPlan::with_callback_hosts(&["h"]);
    let asks = |parameters: &str| {
        let all = format!("to=447700900123&content=x&dlr=yes&{parameters}");
        message(&args(&all), &account, 0).map_err(|failure| failure.said)
    };
    let fine = asks("dlr-url=https://h/&dlr-level=3").unwrap();
    assert_eq!(fine.registered_delivery, 1);
    for (parameters, why) in [
        ("dlr-url=https://h/", "[dlr-level]: only final states"),
        (
            "dlr-url=https://h/&dlr-level=1",
            "[dlr-level]: only final states",
        ),
        (
            "dlr-url=https://else/&dlr-level=2",
            "[dlr-url]: the URL is at",
        ),
    ] {
        let said = asks(parameters).unwrap_err();
        assert!(said.contains(why), "{parameters}: {said}");
    }
}

#[test]
fn a_validity_of_centuries_is_none() {
    let account = AccountPlan::with_callback_hosts(&[]);
    let valid = |minutes: &str| {
        let all = format!("to=447700900123&content=x&validity-period={minutes}");
        message(&args(&all), &account, 0)
    };
    assert!(valid("1440").is_ok());
    assert!(valid("99999999").is_err() && valid("99999999999999999999").is_err());
}
