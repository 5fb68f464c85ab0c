//! The bearer token of `/v1` (RFC 6750), compared in constant time.

use actix_web::body::MessageBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::AUTHORIZATION;
use actix_web::middleware::Next;
use actix_web::{Error, HttpRequest, web};
use secrecy::{ExposeSecret, SecretString};
use subtle::ConstantTimeEq;

use super::State;
use super::problem::Problem;

const CHALLENGE: &str = "Bearer realm=\"smsc\"";
const CHALLENGE_WRONG: &str = "Bearer realm=\"smsc\", error=\"invalid_token\"";

/// Middleware: lets requests with the right token pass.
pub(super) async fn require_token(
    request: ServiceRequest,
    next: Next<impl MessageBody>,
) -> Result<ServiceResponse<impl MessageBody>, Error> {
    let given = request
        .headers()
        .get(AUTHORIZATION)
        .map(|value| value.as_bytes());
    let state = request.app_data::<web::Data<State>>();
    match state {
        Some(state) => check(given, &state.token)?,
        None => return Err(Problem::unavailable("the server has no token to compare with").into()),
    }
    next.call(request).await
}

/// Who gives a command, for the audit log: there is one token, so the address tells more.
pub(super) fn who(request: &HttpRequest) -> String {
    let peer = request
        .peer_addr()
        .map_or_else(|| "unknown".to_owned(), |peer| peer.to_string());
    format!("admin token from {peer}")
}

fn check(given: Option<&[u8]>, token: &SecretString) -> Result<(), Problem> {
    let Some(given) = given else {
        return Err(Problem::unauthorized(
            CHALLENGE,
            "send the header \"Authorization: Bearer TOKEN\" with http.admin_token, or the token in the file admin-token of the data folder",
        ));
    };
    let Some(given) = bearer(given) else {
        return Err(Problem::unauthorized(
            CHALLENGE,
            "the Authorization header must be \"Bearer\" and the token",
        ));
    };
    if bool::from(given.ct_eq(token.expose_secret().as_bytes())) {
        return Ok(());
    }
    Err(Problem::unauthorized(
        CHALLENGE_WRONG,
        "the token is wrong; it is http.admin_token, or the file admin-token in the data folder",
    ))
}

/// The token of `Bearer TOKEN`; the scheme is case-insensitive (RFC 9110 §11.1).
fn bearer(header: &[u8]) -> Option<&[u8]> {
    const SCHEME: &[u8] = b"bearer ";
    let (scheme, token) = header.split_at_checked(SCHEME.len())?;
    let token = token.trim_ascii();
    (scheme.eq_ignore_ascii_case(SCHEME) && !token.is_empty()).then_some(token)
}

#[cfg(test)]
mod tests {
    use actix_web::ResponseError;

    use super::*;

    #[test]
    fn only_the_right_token_passes() {
        let token = SecretString::from("change-me");
        assert!(check(Some(b"Bearer change-me"), &token).is_ok());
        assert!(check(Some(b"bearer  change-me "), &token).is_ok());
        for wrong in [
            &b"Bearer change-m"[..],
            b"Bearer change-me2",
            b"Bearer ",
            b"Bearer",
            b"Basic change-me",
            b"change-me",
            b"\xff\xfe",
            b"",
        ] {
            let problem = check(Some(wrong), &token).unwrap_err();
            assert_eq!(problem.status_code(), 401, "{wrong:?}");
        }
        assert_eq!(check(None, &token).unwrap_err().status_code(), 401);
    }

    #[test]
    fn the_challenge_says_whether_a_token_was_wrong() {
        let token = SecretString::from("change-me");
        let challenge = |given: Option<&[u8]>| {
            let answer = check(given, &token).unwrap_err().error_response();
            answer
                .headers()
                .get("www-authenticate")
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned()
        };
        assert_eq!(challenge(None), CHALLENGE);
        assert_eq!(challenge(Some(b"Basic x")), CHALLENGE);
        assert_eq!(challenge(Some(b"Bearer x")), CHALLENGE_WRONG);
    }
}
