//! The console at `/`, and the text that programs get there instead.
//!
//! Plain files below `src/http/console/`, embedded in the binary; nothing is built and nothing is
//! loaded from elsewhere. They are served below a path with a hash of them all, so that browsers
//! keep them for ever and a new release is never mixed with an old one. The page itself needs no
//! token, like `/health`: it holds no data, and calls `/v1` with the token that the user enters.

use std::hash::Hasher as _;
use std::sync::LazyLock;

use actix_web::http::header::{self, ContentType, HeaderValue};
use actix_web::{HttpRequest, HttpResponse, Route, guard, web};
use siphasher::sip::SipHasher;

use super::problem::Problem;

/// Only files of this server, and no script or style inside the page.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const FOR_EVER: &str = "public, max-age=31536000, immutable";
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// A module below `console/`.
macro_rules! script {
    ($name:literal) => {
        ($name, SCRIPT, include_str!(concat!("console/", $name)))
    };
}

/// Name, content type and text of every file but the page.
const FILES: &[(&str, &str, &str)] = &[
    (
        "console.css",
        "text/css; charset=utf-8",
        include_str!("console/console.css"),
    ),
    (
        "config.css",
        "text/css; charset=utf-8",
        include_str!("console/config.css"),
    ),
    (
        "icon.svg",
        "image/svg+xml",
        include_str!("console/icon.svg"),
    ),
    (
        "manual.css",
        "text/css; charset=utf-8",
        include_str!("console/manual.css"),
    ),
    script!("api.js"),
    script!("balance.js"),
    script!("bars.js"),
    script!("bulk.js"),
    script!("changes.js"),
    script!("columns.js"),
    script!("csv.js"),
    script!("curves.js"),
    script!("dialog.js"),
    script!("dom.js"),
    script!("drawing.js"),
    script!("events.js"),
    script!("find_box.js"),
    script!("form.js"),
    script!("format.js"),
    script!("graph.js"),
    script!("inputs.js"),
    script!("kinds.js"),
    script!("live.js"),
    script!("live_page.js"),
    script!("main.js"),
    script!("operator_test.js"),
    script!("pages.js"),
    script!("place.js"),
    script!("saved_views.js"),
    script!("schema.js"),
    script!("sheet.js"),
    script!("spark.js"),
    script!("states.js"),
    script!("steps.js"),
    script!("targets.js"),
    script!("theme.js"),
    script!("this_node.js"),
    script!("ticks.js"),
    script!("traffic_charts.js"),
    script!("view_account.js"),
    script!("view_audit.js"),
    script!("view_bind.js"),
    script!("view_binds.js"),
    script!("view_callbacks.js"),
    script!("view_compose.js"),
    script!("view_config.js"),
    script!("view_damaged.js"),
    script!("view_dead_letters.js"),
    script!("view_event_sinks.js"),
    script!("view_failures.js"),
    script!("view_first_steps.js"),
    script!("view_gsm.js"),
    script!("view_held.js"),
    script!("view_history.js"),
    script!("view_incidents.js"),
    script!("view_keys.js"),
    script!("view_message.js"),
    script!("view_messages.js"),
    script!("view_mo_rules.js"),
    script!("view_nats_sources.js"),
    script!("view_nodes.js"),
    script!("view_number_plan.js"),
    script!("view_object.js"),
    script!("view_operator.js"),
    script!("view_operators.js"),
    script!("view_overview.js"),
    script!("view_queues.js"),
    script!("view_receipts.js"),
    script!("view_routes.js"),
    script!("view_subscribers.js"),
    script!("view_tokens.js"),
    script!("view_trace.js"),
    script!("view_usage.js"),
    script!("view_versions.js"),
    script!("whole.js"),
];

/// For curl and for nodes without the API.
const TEXT: &str = concat!(
    "smsc ",
    env!("CARGO_PKG_VERSION"),
    ", a store-and-forward Short Message Service Centre

/              the console, in a browser
/docs/         the manual, in a browser
/health/ready  whether this node can work, and what is in the way
/health/live   whether the process answers
/metrics       for Prometheus
/v1/...        the admin API; it wants \"Authorization: Bearer TOKEN\"
/v1/docs/      every path of it, for people; /v1/openapi.json for programs
/v1/events     queues, binds and operators as they change (server-sent events)

On the command line: smsc top, smsc queue list, smsc bind list, smsc message show ID.
"
);
const WITHOUT_API: &str = "
This node has no role http: it serves neither the console nor /v1. Another node does, or set
cluster.roles.
";

/// A hash of all files, as it is in their path.
static HASH: LazyLock<String> = LazyLock::new(|| {
    let mut hasher = SipHasher::new();
    hasher.write(include_bytes!("console/index.html"));
    for (name, _, text) in FILES {
        hasher.write(name.as_bytes());
        hasher.write(text.as_bytes());
    }
    format!("{:016x}", hasher.finish())
});

/// The page with the path of its files.
static PAGE: LazyLock<String> =
    LazyLock::new(|| include_str!("console/index.html").replace("{{assets}}", &assets()));

/// Below which path the files are.
pub(super) fn assets() -> String {
    format!("/console/{}", *HASH)
}

/// What only reads.
pub(super) fn read() -> Route {
    web::route().guard(guard::Any(guard::Get()).or(guard::Head()))
}

/// The page and its files; without the API only the text for programs.
pub(super) fn register(app: &mut web::ServiceConfig, with_api: bool) {
    let root = web::resource("/").default_service(web::to(wrong_method));
    if with_api {
        app.service(root.route(read().to(page))).service(
            web::resource("/console/{hash}/{file}")
                .route(read().to(file))
                .default_service(web::to(wrong_method)),
        );
    } else {
        app.service(root.route(read().to(text_without_api)));
    }
}

/// `GET /`: the console for a browser, a text for everything else.
async fn page(request: HttpRequest) -> HttpResponse {
    let accept = request.headers().get(header::ACCEPT);
    if !accept.is_some_and(wants_html) {
        return text(TEXT.to_owned());
    }
    let tag = format!("\"{}\"", *HASH);
    let is_known = request
        .headers()
        .get(header::IF_NONE_MATCH)
        .is_some_and(|known| known.as_bytes() == tag.as_bytes());
    let mut answer = if is_known {
        HttpResponse::NotModified()
    } else {
        HttpResponse::Ok()
    };
    answer
        .insert_header((header::CACHE_CONTROL, "no-cache"))
        .insert_header((header::ETAG, tag))
        .insert_header((header::VARY, "Accept"))
        .insert_header((header::CONTENT_SECURITY_POLICY, POLICY))
        .insert_header((header::REFERRER_POLICY, "no-referrer"))
        .insert_header(("Cross-Origin-Opener-Policy", "same-origin"));
    if is_known {
        answer.finish()
    } else {
        answer.content_type(ContentType::html()).body(PAGE.as_str())
    }
}

async fn text_without_api() -> HttpResponse {
    text(format!("{TEXT}{WITHOUT_API}"))
}

fn text(text: String) -> HttpResponse {
    HttpResponse::Ok()
        .insert_header((header::VARY, "Accept"))
        .content_type(ContentType::plaintext())
        .body(text)
}

/// `GET /console/{hash}/{file}`. With the hash of another release, as there is for a moment while
/// nodes are updated one by one, the file is served and not kept.
async fn file(path: web::Path<(String, String)>) -> Result<HttpResponse, Problem> {
    let (hash, name) = path.into_inner();
    let (_, kind, text) = FILES
        .iter()
        .find(|(known, _, _)| *known == name)
        .ok_or_else(|| Problem::not_found(format!("the console has no file {name:?}")))?;
    let keep = if hash == *HASH { FOR_EVER } else { "no-store" };
    Ok(HttpResponse::Ok()
        .insert_header((header::CACHE_CONTROL, keep))
        .insert_header((header::CONTENT_SECURITY_POLICY, POLICY))
        .content_type(*kind)
        .body(*text))
}

pub(super) async fn wrong_method(request: HttpRequest) -> Result<&'static str, Problem> {
    Err(Problem::method_not_allowed(
        request.method().as_str(),
        request.path(),
        "GET, HEAD".to_owned(),
    ))
}

/// Browsers send text/html; curl and scrapers do not, and `*/*` does not count.
fn wants_html(accept: &HeaderValue) -> bool {
    accept.to_str().is_ok_and(|accept| {
        accept
            .split(',')
            .filter_map(|part| part.split(';').next())
            .any(|kind| kind.trim().eq_ignore_ascii_case("text/html"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_that_is_named_is_there() {
        let names: Vec<&str> = FILES.iter().map(|(name, _, _)| *name).collect();
        for (from, _, text) in FILES {
            let imports = text.lines().filter_map(|line| {
                let (_, rest) = line.strip_prefix("import ")?.split_once("from \"./")?;
                rest.split('"').next()
            });
            for import in imports {
                assert!(names.contains(&import), "{from} imports {import}");
            }
        }
        for line in PAGE.lines().filter(|line| line.contains("/console/")) {
            let (_, rest) = line.split_once(HASH.as_str()).unwrap();
            let name = rest.trim_start_matches('/').split('"').next().unwrap();
            assert!(names.contains(&name), "{line}");
        }
        assert!(!PAGE.contains("{{"));
    }

    #[test]
    fn the_page_holds_no_script_and_names_no_other_server() {
        assert!(!PAGE.contains("style=") && !PAGE.contains("<style"));
        assert!(
            PAGE.split("<script")
                .skip(1)
                .all(|script| script.contains("src="))
        );
        for (name, _, text) in FILES {
            let elsewhere = text.split('"').any(|part| {
                (part.starts_with("http:") || part.starts_with("https:"))
                    && !part.contains("www.w3.org")
            });
            assert!(!elsewhere, "{name}");
        }
    }

    #[test]
    fn a_page_is_for_browsers() {
        let wants = |accept| wants_html(&HeaderValue::from_static(accept));
        assert!(wants("text/html,application/xhtml+xml,*/*;q=0.8"));
        assert!(wants("application/xml;q=0.9, TEXT/HTML;q=0.8"));
        assert!(!wants("*/*") && !wants("application/json") && !wants("text/plain"));
    }
}
