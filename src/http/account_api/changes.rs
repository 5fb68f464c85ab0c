//! `/v1/messages/{id}`: replace and cancel messages of the account that wait.

use actix_web::{HttpResponse, web};

use super::auth::caller;
use super::order::ChangeOrder;
use super::view::MessageDetails;
use super::{State, refusal};
use crate::actors::ingress::account_api::NotReplaced;
use crate::api::Done;
use crate::http::api_request::{ApiAnswer, ApiRequest};
use crate::http::problem::Problem;
use crate::http::query::Query;
use crate::http::v1::messages::message_id;

/// Replaces the content or the times of a message that waits. It keeps its id; what is not given stays as it was.
///
/// Possible until the message is handed to its operator. It may not take more short messages than it was accepted
/// with, and one that was divided cannot be replaced. Counts against the rate of the account, and costs nothing.
#[utoipa::path(patch, path = "/v1/messages/{id}", tag = "messages", request_body = ChangeOrder,
    params(("id" = String, Path, pattern = "^[0-9]{1,19}$", description = "As the submission was answered")),
    responses((status = 200, description = "The message as it is now", body = MessageDetails),
        (status = 202, description = "Ordered; its effect was not seen yet", body = MessageDetails),
        (status = 409, description = "It is final, handed over or divided"),
        (status = 422, description = "The new values were refused; `field` names the reason")))]
pub(super) async fn replace(
    request: ApiRequest<State>,
    id: web::Path<String>,
    octets: web::Bytes,
) -> ApiAnswer {
    Query::read(&request, &[])?;
    let account = caller(&request)?.account;
    let id = message_id(&id)?;
    let change = ChangeOrder::read(&octets)?;
    let done = request.state.api.replace(&account, id, change).await?;
    let mut answer = if done.pending {
        HttpResponse::Accepted()
    } else {
        HttpResponse::Ok()
    };
    let found = request.state.api.find(&account, id).await?;
    Ok(answer.json(MessageDetails::from(found)))
}

/// Cancels a message that waits: it ends DELETED.
#[utoipa::path(post, path = "/v1/messages/{id}/cancel", tag = "messages",
    params(("id" = String, Path, pattern = "^[0-9]{1,19}$", description = "As the submission was answered")),
    responses((status = 200, description = "Cancelled", body = Done),
        (status = 202, description = "Ordered; its effect was not seen yet", body = Done)))]
pub(super) async fn cancel(request: ApiRequest<State>, id: web::Path<String>) -> ApiAnswer {
    Query::read(&request, &[])?;
    let account = caller(&request)?.account;
    let done = request.state.api.cancel(&account, message_id(&id)?).await;
    crate::http::v1::done(done)
}

impl From<NotReplaced> for Problem {
    fn from(why: NotReplaced) -> Self {
        match why {
            NotReplaced::Refused(refused) => refusal::problem(&refused),
            NotReplaced::Refusal(refusal) => refusal.into(),
            NotReplaced::TooLong(parts) => {
                let detail = format!(
                    "the new text takes {parts} short messages, or would have to be divided for its operator; cancel the message and submit another one"
                );
                Self::refused_message("text", "ESME_RINVMSGLEN", &detail)
            }
        }
    }
}
