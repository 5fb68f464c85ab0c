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
        ("dlr-url=http://h/", Some((SENT | REJECTED, Method::POST))),
        (
            "dlr-url=http://h/&dlr-level=2&dlr-method=get",
            Some((DELIVERED | FAILED, Method::GET)),
        ),
        (
            "dlr=no&dlr-url=http://h/&dlr-level=3",
            Some((DELIVERED | FAILED | SENT | REJECTED, Method::POST)),
        ),
    ] {
        let order = reports(&args(parameters)).map(|order| (order.mask, order.method));
        assert_eq!(order, expected, "{parameters}");
    }
}

#[test]
fn a_validity_of_centuries_is_none() {
    let valid = |minutes: &str| {
        message(
            &args(&format!(
                "to=447700900123&content=x&validity-period={minutes}"
            )),
            0,
            &Numbers::default(),
        )
    };
    assert!(valid("1440").is_ok());
    assert!(valid("99999999").is_err() && valid("99999999999999999999").is_err());
}
