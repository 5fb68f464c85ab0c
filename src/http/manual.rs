//! The manual at `/docs/`: the pages of `docs/` in the frame of the console, with a list of contents and search.
//!
//! It holds no data, so it needs no token, like the console's page. There is no script in it but the one that
//! chooses light or dark.

use actix_web::http::header::{self, ContentType};
use actix_web::{HttpResponse, web};
use serde::Deserialize;

use super::console::{assets, read, wrong_method};
use super::problem::Problem;
use crate::manual::{Hit, Page, escaped, moved, page, parts, search};

const ROOT: &str = "/docs";
/// Files of this server, and a form that asks it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// The pictures of the pages: those of the console, which `scripts/screenshots` makes.
const PICTURES: &[(&str, &[u8])] = &[
    ("bind.png", include_bytes!("../../docs/images/bind.png")),
    (
        "message.png",
        include_bytes!("../../docs/images/message.png"),
    ),
    (
        "overview.png",
        include_bytes!("../../docs/images/overview.png"),
    ),
    ("trace.png", include_bytes!("../../docs/images/trace.png")),
];

/// The pages, their list and the search.
pub(super) fn register(app: &mut web::ServiceConfig) {
    let resource =
        |path: &str| web::resource(format!("{ROOT}{path}")).default_service(web::to(wrong_method));
    app.service(resource("").route(read().to(to_contents)))
        .service(resource("/").route(read().to(contents)))
        .service(resource("/search").route(read().to(found)))
        .service(resource("/images/{picture}").route(read().to(picture)))
        .service(resource("/{page}").route(read().to(one)));
}

/// `GET /docs/images/{picture}`
async fn picture(name: web::Path<String>) -> Result<HttpResponse, Problem> {
    let found = PICTURES.iter().find(|(known, _)| *known == name.as_str());
    let (_, octets) = found.ok_or_else(|| {
        Problem::not_found(format!("the manual has no picture {:?}", name.as_str()))
    })?;
    Ok(HttpResponse::Ok()
        .insert_header((header::CACHE_CONTROL, "max-age=3600"))
        .insert_header((header::CONTENT_SECURITY_POLICY, POLICY))
        .content_type(ContentType::png())
        .body(*octets))
}

async fn to_contents() -> HttpResponse {
    see("")
}

/// A redirect for ever to a place below the root of the manual.
fn see(place: &str) -> HttpResponse {
    HttpResponse::PermanentRedirect()
        .insert_header((header::LOCATION, format!("{ROOT}/{place}")))
        .finish()
}

/// `GET /docs/`: every page with its chapters.
async fn contents() -> HttpResponse {
    let mut main = String::from("<h1>Manual</h1>\n");
    for part in parts() {
        main += &format!(
            "<h2>{}</h2>\n<ul class=\"contents\">\n",
            escaped(part.title)
        );
        for page in &part.pages {
            main += &format!("<li>{}", link(page.name, &page.title));
            let chapters: Vec<String> = chapters(page)
                .map(|(anchor, title)| link(&format!("{}#{anchor}", page.name), title))
                .collect();
            if !chapters.is_empty() {
                main += &format!("<p>{}</p>", chapters.join(" · "));
            }
            main += "</li>\n";
        }
        main += "</ul>\n";
    }
    frame("Manual", "", "", &main, "")
}

/// `GET /docs/{page}`
async fn one(path: web::Path<String>) -> Result<HttpResponse, Problem> {
    if let Some(place) = moved(&path) {
        return Ok(see(place));
    }
    let page = page(&path).ok_or_else(|| {
        Problem::not_found(format!(
            "the manual has no page {path:?}; {ROOT}/ lists them"
        ))
    })?;
    let outline: String = chapters(page)
        .map(|(anchor, title)| link(&format!("#{anchor}"), title))
        .collect();
    Ok(frame(&page.title, page.name, "", &page.html, &outline))
}

#[derive(Deserialize)]
struct ManualQuestion {
    #[serde(default)]
    q: String,
}

/// `GET /docs/search?q=…`
async fn found(question: web::Query<ManualQuestion>) -> HttpResponse {
    let asked = question.q.trim();
    let hits = search(asked);
    let says = match (asked, hits.len()) {
        ("", _) => "Write a word or several into the field above.".to_owned(),
        (_, 0) => format!("Nothing has any of: {}", escaped(asked)),
        (_, 1) => "1 section".to_owned(),
        (_, count) => format!("{count} sections"),
    };
    let list: String = hits.iter().map(entry).collect();
    let main = format!(
        "<h1>Search</h1>\n<p class=\"quiet\" role=\"status\">{says}</p>\n<ol class=\"found\">\n{list}</ol>\n"
    );
    frame("Search", "", asked, &main, "")
}

fn entry(hit: &Hit) -> String {
    let to = format!("{}#{}", hit.page.name, hit.section.anchor);
    format!(
        "<li>{} <span class=\"quiet\">{}</span><p>{}</p></li>\n",
        link(&to, &hit.section.title),
        escaped(&hit.page.title),
        escaped(&hit.excerpt)
    )
}

/// Anchor and title of the headings below the title of a page.
fn chapters(page: &'static Page) -> impl Iterator<Item = (&'static str, &'static str)> {
    let chapters = page.sections.iter().filter(|section| section.level == 2);
    chapters.map(|section| (&*section.anchor, &*section.title))
}

/// `to` is a name of ours, without anything that must be escaped.
fn link(to: &str, text: &str) -> String {
    format!("<a href=\"{to}\">{}</a>", escaped(text))
}

/// A text as the value of an attribute; no place in the frame begins in it.
fn attribute(text: &str) -> String {
    escaped(text).replace('"', "&quot;").replace('{', "&#123;")
}

/// The whole page. `current` is the name of the page that is shown, `asked` what was searched for.
fn frame(title: &str, current: &str, asked: &str, main: &str, outline: &str) -> HttpResponse {
    let mut list = String::new();
    for part in parts() {
        list += &format!("<p>{}</p>\n", escaped(part.title));
        for page in &part.pages {
            let is_current = if page.name == current {
                " aria-current=\"page\""
            } else {
                ""
            };
            list += &format!(
                "<a href=\"{}\"{is_current}>{}</a>\n",
                page.name,
                escaped(&page.title)
            );
        }
    }
    let html = include_str!("console/manual.html")
        .replace("{{assets}}", &assets())
        .replace("{{title}}", &escaped(title))
        .replace("{{asked}}", &attribute(asked))
        .replace("{{list}}", &list)
        .replace("{{outline}}", outline)
        // Last: a page may have such words in its text.
        .replace("{{main}}", main);
    HttpResponse::Ok()
        .insert_header((header::CONTENT_SECURITY_POLICY, POLICY))
        .insert_header((header::REFERRER_POLICY, "no-referrer"))
        .content_type(ContentType::html())
        .body(html)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_picture_of_a_page_is_served() {
        let pages = parts().iter().flat_map(|part| &part.pages);
        let named: Vec<&str> = pages
            .flat_map(|page| page.html.split("src=\"images/").skip(1))
            .filter_map(|rest| rest.split('"').next())
            .collect();
        assert!(!named.is_empty());
        for name in named {
            assert!(PICTURES.iter().any(|(known, _)| *known == name), "{name}");
        }
        for (name, octets) in PICTURES {
            assert!(octets.len() < 150_000, "{name} is too large for a page");
        }
    }
}
