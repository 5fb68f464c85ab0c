//! Pages use the API from a browser only where `api.cors_origins` has their origin (Fetch Standard, "CORS protocol").

use super::plain;
use crate::harness::{Simulator, Smsc};

const PAGE: &str = "https://app.example.com";

/// What a browser asks before it sends a POST with a key and a JSON body for a page.
fn preflight(smsc: &Smsc, origin: &str) -> plain::Said {
    let request = format!(
        "OPTIONS /v1/messages HTTP/1.0\r\nHost: x\r\nOrigin: {origin}\r\n\
         Access-Control-Request-Method: POST\r\n\
         Access-Control-Request-Headers: authorization,content-type,idempotency-key\r\n\r\n"
    );
    plain::exchange(smsc.api_address(), request.as_bytes())
}

fn balance(smsc: &Smsc, origin: &str) -> plain::Said {
    let request = format!(
        "GET /v1/balance HTTP/1.0\r\nHost: x\r\nOrigin: {origin}\r\nAuthorization: Bearer wrong\r\n\r\n"
    );
    plain::exchange(smsc.api_address(), request.as_bytes())
}

fn smsc(keys: &str) -> Smsc {
    let operator = Simulator::new().start();
    Smsc::new()
        .with_api_and(keys)
        .relaying_to(operator.address())
        .start()
}

#[test]
fn a_listed_origin_may_and_no_other() {
    let smsc = smsc(&format!("cors_origins = ['{PAGE}']"));
    let allowed = format!("access-control-allow-origin: {PAGE}");

    let said = preflight(&smsc, PAGE);
    assert_eq!(said.status, 200, "{said:?}");
    for header in [&allowed, "access-control-allow-methods:", "idempotency-key"] {
        assert!(said.head.contains(header), "{header}: {said:?}");
    }
    assert!(!said.head.contains("allow-credentials"), "{said:?}");
    let said = balance(&smsc, PAGE);
    assert_eq!(said.status, 401, "the key still decides: {said:?}");
    assert!(
        said.head.contains(&allowed),
        "a page must be able to read it: {said:?}"
    );

    for other in ["https://evil.example.com", "http://app.example.com", "null"] {
        let said = preflight(&smsc, other);
        assert!(
            !said.head.contains("access-control-allow-origin"),
            "{other}: {said:?}"
        );
        let said = balance(&smsc, other);
        assert!(
            !said.head.contains("access-control-allow-origin"),
            "{other}: {said:?}"
        );
    }
}

#[test]
fn without_a_list_no_page_may() {
    let smsc = smsc("");
    for said in [preflight(&smsc, PAGE), balance(&smsc, PAGE)] {
        assert!(!said.head.contains("access-control-"), "{said:?}");
    }
}
