//! Jasmin's parameters as messages.

use actix_web::test::TestRequest;

use super::*;
use crate::domain::callback::states;

fn args(parameters: &str) -> Args {
    let request = TestRequest::with_uri(&format!("/send?{parameters}"));
    Args::of_form(&request.to_http_request(), b"").unwrap()
}

#[test]
fn a_level_is_a_mask_of_states() {
    for (parameters, expected) in [
        ("dlr=yes", None),
        ("dlr=yes&dlr-level=3", None),
        ("dlr-url=http://h/", Some((24, 1, CallbackForm::Jasmin))),
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
fn levels_are_states_and_a_host_that_is_not_allowed_is_refused() {
    let account = AccountPlan::with_callback_hosts(&["h"]);
    let asks = |parameters: &str| {
        let all = format!("to=447700900123&content=x&dlr=yes&{parameters}");
        message(&args(&all), &account, 0).map_err(|failure| failure.said)
    };
    for (level, reported) in [(1, states::SENT), (2, 0), (3, states::SENT)] {
        let fine = asks(&format!("dlr-url=https://h/&dlr-level={level}")).unwrap();
        assert_eq!(fine.registered_delivery, 1);
        assert_eq!(fine.report_states, states::CHOSEN | reported, "{level}");
    }
    let said = asks("dlr-url=https://else/&dlr-level=2").unwrap_err();
    assert!(said.contains("[dlr-url]: the URL is at"), "{said}");
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
