//! Tests the connection to an operator: one of the configuration, or one as somebody would configure it.

use std::sync::Arc;

use serde_json::Value;

use super::context::AdminContext;
use super::whole;
use crate::actors::control::settings::SettingsError;
use crate::actors::egress::operator_session::connection_test::try_connection;
use crate::actors::orders::audit;
use crate::api::OperatorTest;
use crate::config::{OperatorConfig, OperatorProtocol};
use crate::domain::settings::{ResourceKey, ResourceKind};
use crate::pb::{Commanded, Refusal};

/// The operator with this id as this node has it, enabled or not.
///
/// # Errors
/// There is none.
pub async fn configured(admin: Arc<AdminContext>, id: String) -> Result<OperatorConfig, Refusal> {
    let config = admin.node.config();
    let found = config.operator.iter().find(|one| one.id == id);
    found.cloned().ok_or_else(|| {
        Refusal::not_found(format!(
            "there is no operator {id:?}; GET /v1/operators lists them, and a body with settings tests one that is not there yet"
        ))
    })
}

/// An operator as a PUT of it would make it, but that no kept secret goes to an address that somebody only tries.
///
/// # Errors
/// What is wrong with it; the store does not answer.
pub async fn given(
    admin: Arc<AdminContext>,
    id: String,
    given: Value,
) -> Result<OperatorConfig, SettingsError> {
    let key = ResourceKey::new(ResourceKind::Operator, id);
    admin.configuration.tried_operator(key, given).await
}

/// Where a test connects and with what, for the audit log: also which file leaves the machine as a password.
pub fn target(operator: &OperatorConfig) -> String {
    let file = operator.password_file.as_ref();
    let file = file.map_or_else(String::new, |file| {
        format!(", password from {}", file.display())
    });
    format!("{} as {:?}{file}", operator.address, operator.system_id)
}

/// Tries its connection. While binds to the operator of this id are up, on any node, with this address and system_id, that
/// is the answer unless `force` says to make another connection: an operator may allow just one bind. What was tried is in
/// the audit log also when nobody waits for the answer any more.
///
/// # Errors
/// It has none that can be tried.
pub async fn test(
    admin: Arc<AdminContext>,
    operator: OperatorConfig,
    force: bool,
    by: String,
) -> Result<OperatorTest, Refusal> {
    let id = &operator.id;
    let all = whole::operators(&admin.node);
    let config = admin.node.config();
    // Binds of what is configured say nothing of another address or system_id.
    let is_bound_so = config.operator.iter().any(|one| {
        one.id == *id && one.address == operator.address && one.system_id == operator.system_id
    });
    let live = all
        .iter()
        .find(|one| is_bound_so && one.id == *id && one.bound > 0);
    let said =
        live.map(|live| format!("{} of {} binds to {id} are up", live.bound, live.configured));
    if let Some(said) = said.as_ref().filter(|_| !force) {
        return Ok(OperatorTest {
            node: admin.node.ids.node().into(),
            ok: true,
            live: true,
            detail: format!(
                "{said}, so no other connection was made: an operator may allow just so many; ask with force=true for one"
            ),
            ..OperatorTest::default()
        });
    }
    let why = if operator.managed {
        "its address and credentials are fetched before each bind"
    } else if operator.is_local() {
        "it is a program at the local socket, which connects to us"
    } else if operator.protocol != OperatorProtocol::Smpp {
        "only connections by SMPP are tested"
    } else {
        let mut found = try_connection(&admin.node, &operator).await;
        let outcome = found.failed.as_deref().unwrap_or("ok");
        let what = format!("connection to {}: {outcome}", target(&operator));
        audit(&by, "TEST", &what, &Ok(Commanded::done(1)));
        if let (Some(said), Some("bind")) = (said, found.failed.as_deref()) {
            found.detail = format!(
                "{}; {said}, and the operator may allow no more",
                found.detail
            );
        }
        return Ok(found);
    };
    Err(Refusal::conflict(format!(
        "the connection to {id:?} is not tested: {why}; `smsc bind list {id}` shows its last error"
    )))
}
