//! `/v1/audit`: what was commanded and changed, by whom.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::answer;
use super::notes::subject;
use crate::actors::control::admin::access::{self, AuditQuestion};
use crate::api::Audit;
use crate::domain::queue_name::QueueName;
use crate::domain::settings::{ResourceKey, ResourceKind};
use crate::http::api_request::{ApiAnswer, ApiRequest};
use crate::http::query::Query;

/// What browsers and our clients write as `%` and two digits in a segment of a path.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'!')
    .remove(b'~')
    .remove(b'*')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')');

/// A page of the audit log, newest first.
///
/// Every request with a valid token that did more than read, with the status of its answer. Refused
/// requests are included; of one token, those beyond twenty in a minute are one entry. Reading the text
/// of a message is an entry too. A dry run is none, unless its role was refused.
#[utoipa::path(get, path = "/v1/audit", tag = "access",
    params(
        ("token" = Option<String>, Query, description = "Name of the token; the configured one is `admin token`"),
        ("path" = Option<String>, Query, description = "Paths that begin so"),
        ("about" = Option<String>, Query, description = "What was commanded and changed of this one and its queue: `accounts/SYSTEM_ID`, `operators/ID`"),
        ("since" = Option<String>, Query, description = "At this time or later: RFC 3339, a day, or Unix milliseconds"),
        ("until" = Option<String>, Query, description = "Before then"),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 1000, description = "Entries per page; 50 without it"),
        ("before" = Option<String>, Query, pattern = "^[0-9]{1,19}$", description = "`next_before` of the previous page"),
    ),
    responses((status = 200, description = "A page", body = Audit)))]
pub(super) async fn list(request: ApiRequest) -> ApiAnswer {
    let query = Query::read(
        &request,
        &[
            "token", "path", "about", "since", "until", "limit", "before",
        ],
    )?;
    let page = query.page()?;
    let about = query.text("about").map(subject).transpose()?;
    let question = AuditQuestion {
        token: query.text("token").map(str::to_owned),
        path: query.text("path").map(str::to_owned),
        about: about.as_ref().map(own_path),
        queue: about.as_ref().and_then(queue_path),
        since: query.time("since")?.unwrap_or_default(),
        until: query.time("until")?.unwrap_or_default(),
        before: page.before,
        limit: page.limit,
    };
    answer(&request, |admin| access::audited(admin, question)).await
}

/// The path of a resource, as it is in requests.
fn own_path(key: &ResourceKey) -> String {
    let name = utf8_percent_encode(&key.name, ENCODED);
    format!("/v1/{}/{name}", key.kind.path())
}

/// The path of its queue, with the colon as it is.
fn queue_path(key: &ResourceKey) -> Option<String> {
    let name = utf8_percent_encode(&key.name, ENCODED).to_string();
    let queue = match key.kind {
        ResourceKind::Account => QueueName::Account(&name),
        ResourceKind::Operator => QueueName::Operator(&name),
        ResourceKind::Gsm => QueueName::Gsm(&name),
        _ => return None,
    };
    Some(format!("/v1/queues/{queue}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_has_a_path_and_an_operator_a_queue() {
        let key = ResourceKey::new(ResourceKind::Operator, "north 1");
        assert_eq!(own_path(&key), "/v1/operators/north%201");
        let queue = queue_path(&key);
        assert_eq!(queue.as_deref(), Some("/v1/queues/operator:north%201"));
        let key = ResourceKey::new(ResourceKind::MoRule, "stop");
        assert_eq!(own_path(&key), "/v1/mo-rules/stop");
        assert_eq!(queue_path(&key), None);
    }
}
