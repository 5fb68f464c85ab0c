//! `/metrics`: the counters of the process, and gauges read from the actors' snapshots at the
//! moment of the scrape. `docs/metrics.md` is made from the same tables.

mod gauges;
mod plain;
mod process;
pub mod push;
mod reference;

use std::time::Duration;

use actix::Addr;
use actix_web::http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, VARY};
use actix_web::{HttpRequest, HttpResponse, web};
use prometheus_client::encoding::text;
use prometheus_client::registry::Registry;

pub use reference::markdown;

use super::State;
use super::auth::authenticate;
use super::problem::Problem;
use crate::actors::control::admin::{Admin, AdminCall, figures};
use crate::config::MetricsFor;
use crate::domain::queue_name::QueueName;

/// The exposition format that prometheus-client writes.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// The core arbiter must answer by then; scrapers give up after ten seconds.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// All metrics, for Prometheus.
///
/// `http.metrics` decides who may read it, and whether it names accounts. Who accepts `text/plain` and not OpenMetrics gets
/// the older text format of Prometheus, which has no exemplars.
#[utoipa::path(get, path = "/metrics", tag = "health",
    responses((status = 200, description = "OpenMetrics text",
        content_type = "application/openmetrics-text", body = String)))]
pub(super) async fn scrape(
    request: HttpRequest,
    state: web::Data<State>,
) -> Result<HttpResponse, Problem> {
    let has_token = request.headers().contains_key(AUTHORIZATION);
    let all = match state.metrics {
        MetricsFor::Everybody => true,
        MetricsFor::WithoutAccounts if !has_token => false,
        MetricsFor::WithoutAccounts | MetricsFor::Token => {
            authenticate(&request).await?;
            true
        }
    };
    let page = page(&state.registry, &state.admin)
        .await
        .map_err(|error| Problem::unavailable(format!("the metrics cannot be written: {error}")))?;
    let page = if all { page } else { without_accounts(&page) };
    let accept = request.headers().get(ACCEPT);
    let is_plain = accept.is_some_and(|accept| accept.to_str().is_ok_and(plain::is_wanted));
    let (kind, page) = if is_plain {
        (plain::CONTENT_TYPE, plain::of_open_metrics(&page))
    } else {
        (OPEN_METRICS, page)
    };
    Ok(HttpResponse::Ok()
        .insert_header((CONTENT_TYPE, kind))
        .insert_header((VARY, "Accept"))
        .body(page))
}

/// A page without the series that name an account.
fn without_accounts(page: &str) -> String {
    let queue = |line: &str| {
        let (_, rest) = line.split_once("queue=\"")?;
        let (name, _) = rest.split_once('"')?;
        Some(QueueName::parse(name).is_of_account())
    };
    let names_one = |line: &&str| {
        line.contains("{account=\"") || line.contains(",account=\"") || queue(line) == Some(true)
    };
    let kept = page.split_inclusive('\n').filter(|line| !names_one(line));
    kept.collect()
}

/// Everything there is to know, as a scraper reads it.
async fn page(registry: &Registry, admin: &Addr<Admin>) -> Result<String, std::fmt::Error> {
    let mut page = String::with_capacity(32 * 1024);
    text::encode_registry(&mut page, registry)?;
    // Without an answer the counters are still useful, and missing gauges show the problem.
    let asked = admin
        .send(AdminCall(|admin| figures::collect(admin, true)))
        .timeout(ANSWER_WITHIN);
    if let Ok(node) = asked.await {
        gauges::write(&mut page, &node, crate::clock::now_ms());
    }
    process::write(&mut page);
    page.push_str("# EOF\n");
    Ok(page)
}
