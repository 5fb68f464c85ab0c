//! Ids in calls and answers: where the Redis SMS platform makes them, those of its counter, otherwise ours.

use super::super::messages::{Once, outcomes};
use super::super::order::DraftResult;
use super::super::view::RecipientOutcome;
use super::session::Session;
use crate::http::account_api::auth::Caller;
use crate::http::problem::Problem;
use crate::http::v1::messages::message_id;

/// Submits drafts. Returns what became of each, in their order, with the ids that the caller is told.
pub(super) async fn submitted(
    session: &Session<'_>,
    caller: &Caller,
    mut drafts: Vec<DraftResult>,
    once: Option<Once>,
) -> Result<Vec<RecipientOutcome>, Problem> {
    let (api, account) = (&session.state.api, &caller.account);
    let messages = drafts
        .iter_mut()
        .filter_map(|one| one.message.as_mut().ok());
    let messages = messages.map(|draft| &mut draft.message).collect();
    api.give_aliases(messages).await;
    let (mut all, _) = outcomes(session.request, api, account, drafts, once).await?;
    let own = |one: &RecipientOutcome| one.id.as_ref().and_then(|id| id.parse().ok());
    let ids: Vec<u64> = all.iter().filter_map(own).collect();
    // Those of a call that is carried out again are of the first time.
    let mut names = api.aliases_of(&ids).await?;
    for outcome in &mut all {
        if let Some(name) = own(outcome).and_then(|id| names.remove(&id)) {
            outcome.id = Some(name);
        }
    }
    Ok(all)
}

/// The message that a caller means.
pub(super) async fn meant(session: &Session<'_>, id: &str) -> Result<u64, Problem> {
    match session.state.api.message_of_alias(id).await? {
        Some(message) => Ok(message),
        None => message_id(id),
    }
}
