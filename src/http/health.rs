//! `/health/live` and `/health/ready`, for whoever restarts the process and whoever sends it
//! connections.

use std::time::Duration;

use actix_web::{HttpResponse, web};
use serde_json::json;

use super::State;
use super::problem::Problem;
use crate::pb::CheckReadiness;

/// The core arbiter must answer by then; when it does not, the node is not ready.
const ANSWER_WITHIN: Duration = Duration::from_secs(2);

/// 200 while the process serves requests.
pub(super) async fn live() -> HttpResponse {
    HttpResponse::Ok().json(json!({ "live": true }))
}

/// 200, or 503 with what is in the way.
pub(super) async fn ready(state: web::Data<State>) -> Result<HttpResponse, Problem> {
    let asked = state.admin.send(CheckReadiness {}).timeout(ANSWER_WITHIN);
    let readiness = match asked.await {
        Ok(readiness) => readiness,
        Err(error) => {
            let reason = format!("actor admin: no answer ({error})");
            return Err(Problem::not_ready(&[reason], &[]));
        }
    };
    if readiness.not_ready.is_empty() {
        Ok(HttpResponse::Ok().json(json!({ "ready": true, "degraded": readiness.degraded })))
    } else {
        Err(Problem::not_ready(
            &readiness.not_ready,
            &readiness.degraded,
        ))
    }
}
