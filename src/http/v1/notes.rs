//! `/v1/notes`: what people write about accounts, operators and other resources, for each other.

use actix_web::{HttpResponse, web};
use serde::Deserialize;
use utoipa::ToSchema;

use super::{answer, body, call};
use crate::actors::control::admin::settings;
use crate::api::{ResourceNote, ResourceNotes};
use crate::domain::settings::ResourceKey;
use crate::http::api_request::{ApiAnswer, ApiRequest};
use crate::http::audit;
use crate::http::auth::who;
use crate::http::problem::Problem;
use crate::http::query::Query;

/// Longest text, in characters.
const MAX_TEXT: usize = 2_000;

/// A note to be written.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NoteOrder {
    /// What it is about: `accounts/SYSTEM_ID`, `operators/ID`, `routes/NAME`.
    about: String,
    /// May have several lines.
    #[schema(min_length = 1, max_length = 2000)]
    text: String,
}

/// Notes about resources, the newest first.
#[utoipa::path(get, path = "/v1/notes", tag = "configuration",
    params(
        ("about" = Option<String>, Query, description = "Only about this one: `accounts/SYSTEM_ID`, `operators/ID`"),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 1000, description = "Notes per page; 50 without it"),
        ("before" = Option<String>, Query, pattern = "^[0-9]{1,19}$", description = "`next_before` of the previous page"),
    ),
    responses((status = 200, description = "A page", body = ResourceNotes)))]
pub(super) async fn list(request: ApiRequest) -> ApiAnswer {
    let query = Query::read(&request, &["about", "limit", "before"])?;
    let page = query.page()?;
    let about = query.text("about").map(subject).transpose()?;
    answer(&request, move |admin| {
        settings::notes(admin, about, page.before, page.limit)
    })
    .await
}

/// Writes a note about an account, an operator or another resource.
#[utoipa::path(post, path = "/v1/notes", tag = "configuration", request_body = NoteOrder,
    responses((status = 201, description = "The note", body = ResourceNote),
        (status = 404, description = "There is no such resource"),
        (status = 409, description = "It has 200 notes already")))]
pub(super) async fn add(request: ApiRequest, octets: web::Bytes) -> ApiAnswer {
    Query::read(&request, &[])?;
    let NoteOrder { about, text } = body(&octets)?;
    let (about, text, by) = (subject(&about)?, checked(&text)?, who(&request));
    let added = call(&request, |admin| settings::add_note(admin, about, text, by));
    let note = added.await??;
    audit::detail(&request, format!("note {} about {}", note.id, note.about));
    Ok(HttpResponse::Created().json(note))
}

/// Removes a note.
#[utoipa::path(delete, path = "/v1/notes/{id}", tag = "configuration",
    params(("id" = String, Path, pattern = "^[0-9]{1,19}$", description = "As in the list")),
    responses((status = 204, description = "It is gone"), (status = 404)))]
pub(super) async fn remove(request: ApiRequest, id: web::Path<String>) -> ApiAnswer {
    Query::read(&request, &[])?;
    let number = id.parse().map_err(|_| {
        let detail = format!("id must be the number of a note, not {:?}", id.as_str());
        Problem::bad_value("id", detail)
    })?;
    let note = call(&request, move |admin| settings::remove_note(admin, number)).await??;
    audit::detail(&request, format!("note about {}", note.about));
    Ok(HttpResponse::NoContent().finish())
}

/// The resource that `about` of a request names.
pub(super) fn subject(about: &str) -> Result<ResourceKey, Problem> {
    let key: Result<ResourceKey, String> = about.parse();
    key.map_err(|detail| Problem::bad_value("about", detail))
}

/// The text without blanks around it, each line with an end of its own.
fn checked(text: &str) -> Result<String, Problem> {
    let text = text.trim().replace("\r\n", "\n");
    let is_hidden = |one: char| one.is_control() && one != '\n';
    if (1..=MAX_TEXT).contains(&text.chars().count()) && !text.contains(is_hidden) {
        return Ok(text);
    }
    let detail = format!("text must be 1 to {MAX_TEXT} characters in lines, all of them printable");
    Err(Problem::bad_value("text", detail))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_lines_and_an_end() {
        assert_eq!(checked(" call\r\nAnn ").unwrap(), "call\nAnn");
        for wrong in ["", " \n ", "a\u{7}", "a\tb", &"x".repeat(MAX_TEXT + 1)] {
            assert!(checked(wrong).is_err(), "{wrong:?}");
        }
    }
}
