//! The page at `/`: says what this is and where to look.

use actix_web::HttpResponse;
use actix_web::http::header::ContentType;

const PAGE: &str = concat!(
    r#"<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>smsc</title>
<style>body{font:1rem/1.5 system-ui,sans-serif;max-width:40rem;margin:3rem auto;padding:0 1rem;color-scheme:light dark}code{font-size:.95em}</style>
</head>
<body>
<h1>smsc "#,
    env!("CARGO_PKG_VERSION"),
    r#"</h1>
<p>A store-and-forward Short Message Service Centre.</p>
<ul>
<li><a href="/health/ready">/health/ready</a>: whether this node can work, and what is in the way</li>
<li><a href="/health/live">/health/live</a>: whether the process answers</li>
<li><a href="/metrics">/metrics</a>: for Prometheus</li>
</ul>
<p>The admin API wants <code>Authorization: Bearer TOKEN</code>:</p>
<ul>
<li><a href="/v1/docs/">/v1/docs/</a>: every path of it, for people</li>
<li><a href="/v1/openapi.json">/v1/openapi.json</a>: the same for programs (OpenAPI 3.1)</li>
</ul>
<p>On the command line: <code>smsc queues</code>, <code>smsc binds</code>, <code>smsc message ID</code>.</p>
</body>
</html>
"#
);

/// The page.
pub(super) async fn root() -> HttpResponse {
    HttpResponse::Ok()
        .content_type(ContentType::html())
        .body(PAGE)
}
