//! The fields RateLimit-Policy and RateLimit of answers (draft-ietf-httpapi-ratelimit-headers-10): what the account may
//! submit, and what is left of it.
//!
//! Answers to requests that submit or change something have them; reading is limited by the number of requests at once
//! only. Units are short messages, for which the draft has no word, so no unit is named.

use std::fmt::Write as _;

use actix_web::body::BoxBody;
use actix_web::dev::ServiceRequest;
use actix_web::error::InternalError;
use actix_web::http::Method;
use actix_web::http::header::{HeaderMap, HeaderName, HeaderValue};
use actix_web::middleware::Next;
use actix_web::web;

use super::State;
use super::auth::caller;
use crate::actors::ingress::account_api::LimitState;
use crate::http::api_request::MiddlewareAnswer;

pub(super) const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
pub(super) const LEFT: HeaderName = HeaderName::from_static("ratelimit");

/// Middleware: says of the account what it may still submit.
pub(super) async fn tell(request: ServiceRequest, next: Next<BoxBody>) -> MiddlewareAnswer {
    let reads = [Method::GET, Method::HEAD].contains(request.method());
    let state = request.app_data::<web::Data<State>>().cloned();
    let (false, Some(state)) = (reads, state) else {
        return next.call(request).await;
    };
    let account = caller(request.request())?.account;
    let answer = next.call(request).await;
    let limits = state.api.limits(&account).await;
    match answer {
        Ok(mut answer) => {
            write(answer.headers_mut(), &limits);
            Ok(answer)
        }
        Err(error) => {
            let mut answer = error.error_response();
            write(answer.headers_mut(), &limits);
            Err(InternalError::from_response(error, answer).into())
        }
    }
}

fn write(headers: &mut HeaderMap, limits: &[LimitState]) {
    let (mut policy, mut left) = (String::new(), String::new());
    for limit in limits {
        let comma = if policy.is_empty() { "" } else { ", " };
        let LimitState { name, quota, .. } = limit;
        // Writing to a string does not fail.
        let _ = write!(policy, "{comma}\"{name}\";q={quota};w={}", limit.window);
        let _ = write!(
            left,
            "{comma}\"{name}\";r={};t={}",
            limit.left, limit.resets_in
        );
    }
    for (name, value) in [(POLICY, policy), (LEFT, left)] {
        if let Some(value) = HeaderValue::try_from(value)
            .ok()
            .filter(|one| !one.is_empty())
        {
            headers.insert(name, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_limit_has_an_entry_in_both_fields() {
        let rate = LimitState {
            name: "rate",
            quota: 5,
            window: 1,
            left: 2,
            resets_in: 1,
        };
        let quota = LimitState {
            name: "quota",
            quota: 1_000,
            window: 86_400,
            left: 0,
            resets_in: 28_800,
        };
        let mut headers = HeaderMap::new();
        write(&mut headers, &[rate, quota]);
        assert_eq!(
            headers.get(POLICY).unwrap(),
            "\"rate\";q=5;w=1, \"quota\";q=1000;w=86400"
        );
        assert_eq!(
            headers.get(LEFT).unwrap(),
            "\"rate\";r=2;t=1, \"quota\";r=0;t=28800"
        );
        let mut none = HeaderMap::new();
        write(&mut none, &[]);
        assert!(none.is_empty());
    }
}
