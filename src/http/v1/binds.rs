//! `/v1/binds`: every session, inbound and outbound; the PDUs of one as they pass, and disconnecting it.

use actix_web::{HttpResponse, web};

use super::traces::{lasts, watch};
use super::{call, done};
use crate::actors::control::admin::{Whom, figures, watching};
use crate::api::{Bind, Binds, Done};
use crate::domain::access::AccessRole;
use crate::http::api_request::{ApiAnswer, ApiRequest};
use crate::http::audit;
use crate::http::auth::{permit, who};
use crate::http::problem::Problem;
use crate::http::query::Query;
use crate::pb::Disconnect;

/// Every SMPP session, inbound and outbound, of this node.
#[utoipa::path(get, path = "/v1/binds", tag = "binds",
    responses((status = 200, description = "Oldest first", body = Binds)))]
pub(super) async fn list(request: ApiRequest) -> ApiAnswer {
    Query::read(&request, &[])?;
    let binds = call(&request, figures::binds).await?;
    Ok(HttpResponse::Ok().json(Binds {
        binds: binds.into_iter().map(Bind::from).collect(),
    }))
}

/// One session of this node.
#[utoipa::path(get, path = "/v1/binds/{node}/{session}", tag = "binds",
    params(("node" = u8, Path, description = "The node that has it"),
        ("session" = u64, Path, description = "As in the list")),
    responses((status = 200, description = "The session", body = Bind)))]
pub(super) async fn one(request: ApiRequest, path: web::Path<(String, String)>) -> ApiAnswer {
    Query::read(&request, &[])?;
    let (node, session) = number(&path)?;
    let mut binds = call(&request, figures::binds).await?.into_iter();
    match binds.find(|bind| bind.node == u32::from(node) && bind.session == session) {
        Some(bind) => Ok(HttpResponse::Ok().json(Bind::from(bind))),
        None => Err(Problem::not_found(format!(
            "this node has no bind {node}/{session}; a bind that is made again has another number, and GET /v1/binds of the other nodes lists theirs"
        ))),
    }
}

/// The PDUs of one session, as they pass.
///
/// Server-sent events: `begun`, then `steps` with the PDUs since the one before, and `end`. Nothing is kept of what
/// nobody looks at. A bind to an operator over CMPP, SMGP or SGIP is shown in its own protocol, with results as statuses
/// of SMPP; a client over CMPP, and a program on the same machine, as the SMPP that they are translated to. No password is
/// shown.
#[utoipa::path(get, path = "/v1/binds/{node}/{session}/pdus", tag = "binds",
    params(("node" = u8, Path, description = "The node that has it"),
        ("session" = u64, Path, description = "As in the list"),
        ("for" = Option<String>, Query, description = "How long: `5m`, which is also the default; from 1 s to 1 h"),
        ("text" = Option<bool>, Query, description = "Show texts and octets; needs the role `operate`")),
    responses((status = 200, description = "Until its time is over, or the bind is gone", content_type = "text/event-stream", body = String)))]
pub(super) async fn pdus(request: ApiRequest, path: web::Path<(String, String)>) -> ApiAnswer {
    let query = Query::read(&request, &["for", "text"])?;
    let (node, session) = number(&path)?;
    let lasts = lasts(query.text("for"))?;
    let with_text = query.flag("text")?;
    if with_text {
        permit(&*request, AccessRole::Operate)?;
        audit::detail(&request, "the texts of its PDUs were read");
    }
    if request.method() == actix_web::http::Method::HEAD {
        // No client reads, so nothing would ever end it.
        return Ok(HttpResponse::Ok()
            .content_type("text/event-stream")
            .finish());
    }
    watch(&request, Whom::Bind { node, session }, lasts, with_text).await
}

/// Unbinds one session, on whichever node it is.
///
/// An ESME is unbound at once and may bind again; a bind to an operator finishes its window first, and is made again.
#[utoipa::path(post, path = "/v1/binds/{node}/{session}/disconnect", tag = "binds",
    params(("node" = u8, Path, description = "The node that has it"),
        ("session" = u64, Path, description = "As in the list")),
    responses((status = 202, description = "Ordered; its effect was not seen yet", body = Done)))]
pub(super) async fn disconnect(
    request: ApiRequest,
    path: web::Path<(String, String)>,
) -> ApiAnswer {
    Query::read(&request, &[])?;
    let (node, session) = number(&path)?;
    let order = Disconnect {
        node: node.into(),
        session,
        by: who(&request),
    };
    done(call(&request, |admin| watching::disconnect(admin, order)).await?)
}

fn number((node, session): &(String, String)) -> Result<(u8, u64), Problem> {
    match (node.parse(), session.parse()) {
        (Ok(node), Ok(session)) => Ok((node, session)),
        _ => Err(Problem::bad_value(
            "session",
            format!(
                "a bind is named by its node and its session, such as /v1/binds/0/17, not {node:?}/{session:?}"
            ),
        )),
    }
}
