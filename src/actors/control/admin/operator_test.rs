//! Tests the connection to an operator: one of the configuration, or one as somebody would configure it.

use std::sync::Arc;

use serde_json::Value;

use super::context::AdminContext;
use super::whole;
use crate::actors::control::settings::SettingsError;
use crate::actors::egress::operator_session::connection_test::try_connection;
use crate::actors::orders::audit;
use crate::api::OperatorTest;
use crate::config::{self, ConfigProblem, OperatorConfig, OperatorProtocol};
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

/// An operator as a PUT of it would make it, but for a password that is left out: there is none then, so that a kept one
/// does not go to an address that somebody only tries.
///
/// # Errors
/// What is wrong with it; the store does not answer.
pub async fn given(
    admin: Arc<AdminContext>,
    id: String,
    given: Value,
) -> Result<OperatorConfig, SettingsError> {
    let key = ResourceKey::new(ResourceKind::Operator, id);
    let prefix = key.to_string();
    let body = config::accept(&key, &given, None).map_err(|found| {
        let below = |one: ConfigProblem| ConfigProblem {
            key: format!("{prefix}.{}", one.key),
            ..one
        };
        SettingsError::Invalid(found.into_iter().map(below).collect())
    })?;
    let mut resources = admin.configuration.read().await?.resources();
    resources.insert(key.clone(), body);
    let base = admin.node.config();
    // Reads the files that passwords stand in.
    let checked = tokio::task::spawn_blocking(move || base.with_resources(&resources)).await;
    let unusable = |message: String| {
        SettingsError::Invalid(vec![ConfigProblem {
            key: prefix.clone(),
            message,
            origin: None,
        }])
    };
    let candidate = checked.map_err(|error| unusable(error.to_string()))?;
    // What is wrong with others does not matter here.
    let own = |one: &ConfigProblem| {
        let rest = one.key.strip_prefix(&prefix);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let problems: Vec<ConfigProblem> = candidate.problems.into_iter().filter(own).collect();
    if !problems.is_empty() {
        return Err(SettingsError::Invalid(problems));
    }
    let mut operators = candidate.config.operator.into_iter();
    let found = operators.find(|one| one.id == key.name);
    found.ok_or_else(|| unusable("cannot be read".to_owned()))
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
        let what = format!(
            "connection to {} as {:?}: {}",
            operator.address,
            operator.system_id,
            found.failed.as_deref().unwrap_or("ok")
        );
        let done = Ok(Commanded {
            count: 1,
            pending: false,
        });
        audit(&by, "TEST", &what, &done);
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
