//! `/health/live` and `/health/ready`, for service managers and load balancers.

use std::time::Duration;

use super::State;
use super::problem::Problem;
use crate::actors::control::admin::CheckReadiness;
use crate::api::{Live, ProblemDetails, Ready};
use crate::domain::queue_name::QueueName;
use actix_web::{HttpResponse, web};

/// The core arbiter must answer by then; when it does not, the node is not ready.
const ANSWER_WITHIN: Duration = Duration::from_secs(2);

/// Whether the process answers.
#[utoipa::path(get, path = "/health/live", tag = "health",
    responses((status = 200, description = "The process runs", body = Live)))]
pub(super) async fn live() -> HttpResponse {
    HttpResponse::Ok().json(Live { live: true })
}

/// Whether this node is ready, and if not, why.
#[utoipa::path(get, path = "/health/ready", tag = "health",
    responses(
        (status = 200, description = "Ready", body = Ready),
        (status = 503, description = "Not ready; `not_ready` says why",
            content_type = "application/problem+json", body = ProblemDetails),
    ))]
pub(super) async fn ready(state: web::Data<State>) -> Result<HttpResponse, Problem> {
    let asked = state.admin.send(CheckReadiness).timeout(ANSWER_WITHIN);
    let readiness = match asked.await {
        Ok(readiness) => readiness,
        Err(error) => {
            let reason = format!("actor admin: no answer ({error})");
            return Err(Problem::not_ready(&[reason], &[]));
        }
    };
    let mut degraded = readiness.degraded;
    // Whoever asks needs no token, so accounts are not named.
    let incidents = readiness.incidents.into_iter();
    let of_operators =
        incidents.filter(|incident| !QueueName::parse(&incident.about).is_of_account());
    degraded.extend(of_operators.map(|incident| incident.text));
    if readiness.not_ready.is_empty() {
        Ok(HttpResponse::Ok().json(Ready {
            ready: true,
            degraded,
        }))
    } else {
        Err(Problem::not_ready(&readiness.not_ready, &degraded))
    }
}
