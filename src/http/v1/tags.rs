//! ETag, If-Match and If-None-Match of what has versions (RFC 9110 §8.8.3, §13.1).
//!
//! The tag of a resource is the version of the configuration that last changed it, in quotes. It
//! covers the settings, not the state that is shown with an operator.

use actix_web::http::header::{ETAG, HeaderName, IF_MATCH, IF_NONE_MATCH};
use actix_web::{HttpRequest, HttpResponseBuilder};

use crate::actors::control::settings::Condition;
use crate::http::problem::Problem;

/// Adds the tag of a version.
pub(super) fn tagged(mut answer: HttpResponseBuilder, version: u64) -> HttpResponseBuilder {
    answer.insert_header((ETAG, format!("\"{version}\"")));
    answer
}

/// What must hold before a change.
pub(super) fn condition(request: &HttpRequest) -> Result<Condition, Problem> {
    let mut condition = Condition::default();
    match header(request, &IF_MATCH)? {
        None => {}
        Some("*") => condition.exists = true,
        Some(tags) => {
            // A foreign tag matches nothing, which is no error.
            let version = |tag: &str| {
                tag.trim()
                    .strip_prefix('"')?
                    .strip_suffix('"')?
                    .parse()
                    .ok()
            };
            condition.is_one_of = Some(tags.split(',').filter_map(version).collect());
        }
    }
    match header(request, &IF_NONE_MATCH)? {
        None => {}
        Some("*") => condition.is_absent = true,
        Some(_) => {
            let detail =
                "a change takes `If-None-Match: *` only: it is made when there is nothing yet";
            return Err(Problem::bad_value("If-None-Match", detail));
        }
    }
    Ok(condition)
}

fn header<'a>(request: &'a HttpRequest, name: &HeaderName) -> Result<Option<&'a str>, Problem> {
    let Some(value) = request.headers().get(name) else {
        return Ok(None);
    };
    let text = value.to_str().map_err(|_| {
        let detail = format!("{name} must be tags in quotes, such as \"7\", or *");
        Problem::bad_value(name.as_str(), detail)
    })?;
    Ok(Some(text.trim()))
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;

    #[test]
    fn reads_what_clients_send() {
        let read = |name: &'static str, value: &str| {
            let request = TestRequest::default().insert_header((name, value));
            condition(&request.to_http_request())
        };
        assert_eq!(read("If-Match", "\"7\"").unwrap().is_one_of, Some(vec![7]));
        let several = read("If-Match", "\"7\", \"9\", W/\"8\", \"x\"").unwrap();
        assert_eq!(several.is_one_of, Some(vec![7, 9]));
        assert!(read("If-Match", "*").unwrap().exists);
        assert!(read("If-None-Match", "*").unwrap().is_absent);
        assert!(read("If-None-Match", "\"7\"").is_err());
        assert_eq!(read("Accept", "*/*").unwrap(), Condition::default());
    }
}
