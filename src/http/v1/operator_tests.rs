//! `/v1/operators/{id}/test`: a connection to an operator that is made only to try it.

use std::time::Duration;

use actix_web::{HttpResponse, web};
use tokio::sync::Semaphore;

use super::call;
use super::settings::given_settings;
use crate::actors::control::admin::operator_test;
use crate::api::{OperatorTest, Resource};
use crate::domain::settings::{ResourceKey, ResourceKind};
use crate::http::api_request::{ApiAnswer, ApiRequest};
use crate::http::audit;
use crate::http::auth::who;
use crate::http::problem::{LimitName, Problem};
use crate::http::query::Query;

/// Most tests at once, so that nobody looks for open ports with them, or has many binds refused.
const AT_ONCE: usize = 4;

static ROOM: Semaphore = Semaphore::const_new(AT_ONCE);

/// Resolves the address of an operator, connects, does TLS where it is on, binds and unbinds, within ten seconds and its
/// `bind_timeout`, and says what is wrong.
///
/// Without a body, of the operator as it is configured. With one, of the operator that a PUT of this body would make, which
/// need not be there yet; a password that is left out is empty. Nothing is stored, no message is sent, and the binds that
/// are there stay. While any of them is up, with this address and system_id, that is the answer, unless `force` asks for
/// another connection: an operator may allow just one bind. The node that answers makes the connection.
#[utoipa::path(post, path = "/v1/operators/{id}/test", tag = "operators", request_body = Resource,
    params(("id" = String, Path, description = "As in the configuration"),
        ("force" = Option<bool>, Query, description = "Connect also while binds to it are up")),
    responses((status = 200, description = "What came of it, also where the operator is not reached or refuses", body = OperatorTest),
        (status = 422, description = "The body is no operator; `problems` names the keys")))]
pub(super) async fn test(
    request: ApiRequest,
    id: web::Path<String>,
    octets: web::Bytes,
) -> ApiAnswer {
    let force = Query::read(&request, &["force"])?.flag("force")?;
    let id = id.into_inner();
    let operator = if octets.is_empty() {
        call(&request, move |admin| operator_test::configured(admin, id)).await??
    } else {
        let given = given_settings(&octets)?;
        let key = ResourceKey::new(ResourceKind::Operator, id.clone());
        call(&request, move |admin| {
            operator_test::given(admin, id, given)
        })
        .await?
        .map_err(|error| Problem::settings(error, Some(&key)))?
    };
    let Ok(room) = ROOM.try_acquire() else {
        return Err(Problem::too_many(
            LimitName::Requests,
            Duration::from_secs(1),
            "as many connections are tested as may be at once; wait until one of them is done",
        ));
    };
    let by = who(&request);
    let target = operator_test::target(&operator);
    // Until the test is over, also when the client goes away.
    let tested = call(&request, move |admin| async move {
        let _room = room;
        operator_test::test(admin, operator, force, by).await
    });
    let tested = tested.await??;
    let said = if tested.live {
        format!("not tested, because it is bound: {target}")
    } else {
        let outcome = tested.failed.as_deref().unwrap_or("ok");
        format!("tested {target}: {outcome}")
    };
    audit::detail(&request, said);
    Ok(HttpResponse::Ok().json(tested))
}
