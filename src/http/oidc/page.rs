//! What a browser is told when a sign-in fails. No script, and nothing of what came from elsewhere is markup.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::http::header::{CONTENT_SECURITY_POLICY, ContentType, REFERRER_POLICY, SET_COOKIE};

use super::cookie::Cookies;
use crate::http::console;
use crate::manual::escaped;

const POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The page with what has happened, and what to do.
pub(super) fn failed(cookies: Cookies, status: StatusCode, said: &str, cure: &str) -> HttpResponse {
    let (assets, said, cure) = (console::assets(), escaped(said), escaped(cure));
    let body = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>Not signed in · smsc</title>\n\
         <link rel=\"icon\" href=\"{assets}/icon.svg\" type=\"image/svg+xml\">\n\
         <link rel=\"stylesheet\" href=\"{assets}/console.css\">\n</head>\n<body>\n\
         <main class=\"door-page\"><div class=\"door\">\n<h1>Not signed in</h1>\n\
         <p class=\"problem\" role=\"alert\">{said}</p>\n<p>{cure}</p>\n\
         <p><a href=\"/\">To the sign-in</a></p>\n</div></main>\n</body>\n</html>\n"
    );
    HttpResponse::build(status)
        .insert_header((CONTENT_SECURITY_POLICY, POLICY))
        .insert_header((REFERRER_POLICY, "no-referrer"))
        .append_header((SET_COOKIE, cookies.end_under_way()))
        .content_type(ContentType::html())
        .body(body)
}
