//! `/v1/subscribers`: erases the data of a subscriber.

use actix_web::web;

use super::answer;
use crate::actors::control::admin::messages;
use crate::api::ErasedMessages;
use crate::domain::address::{is_digits, normalise};
use crate::http::api_request::{ApiAnswer, ApiRequest};
use crate::http::auth::who;
use crate::http::problem::Problem;
use crate::http::query::Query;

/// Digits of the longest number (E.164 has 15, some networks add a prefix).
const MAX_DIGITS: usize = 20;

/// Erases a subscriber's number and texts from finished messages.
#[utoipa::path(delete, path = "/v1/subscribers/{msisdn}/messages", tag = "subscribers",
    params(("msisdn" = String, Path, description = "Digits, with or without a plus", pattern = "^\\+?[0-9]{1,20}$")),
    responses((status = 200, description = "What was erased, and what is still active", body = ErasedMessages)))]
pub(super) async fn erase(request: ApiRequest, msisdn: web::Path<String>) -> ApiAnswer {
    Query::read(&request, &[])?;
    let (msisdn, by) = (digits("msisdn", &msisdn)?, who(&request));
    answer(&request, |admin| messages::erase(admin, msisdn, by)).await
}

/// A subscriber's number without a plus; `name` is what the answer to a wrong one calls it.
pub(super) fn digits(name: &str, given: &str) -> Result<String, Problem> {
    let digits = normalise(given.trim().as_bytes());
    if is_digits(digits) && digits.len() <= MAX_DIGITS {
        return Ok(String::from_utf8_lossy(digits).into_owned());
    }
    Err(Problem::bad_value(
        name,
        format!("{name} must be a number of at most {MAX_DIGITS} digits, not {given:?}"),
    ))
}

#[cfg(test)]
mod tests {
    use super::digits;

    #[test]
    fn a_number_is_digits() {
        assert_eq!(digits("msisdn", "+447700900123").unwrap(), "447700900123");
        for wrong in [
            "",
            "+",
            "ACME",
            "44 7700",
            "(erased)",
            "123456789012345678901",
        ] {
            assert!(digits("msisdn", wrong).is_err(), "{wrong}");
        }
    }
}
