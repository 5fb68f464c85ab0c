//! What a program may ask for that speaks for an account: submit messages, cancel, list and get its own.
//!
//! Called by the connection for each request; what it needs is done by [`AccountApi`], so that messages pass the same
//! Ingest as those of SMPP and HTTP, and an account has its own messages only. A submission is answered when the
//! accepted messages are durable.

mod traced;

use std::sync::Arc;

use prost::Message as _;

use super::LocalContext;
use super::draft::{self, Drafted};
use crate::actors::context::plan::AccountPlan;
use crate::actors::ingress::account_api::{
    self, AccountApi, Filter, MAX_KEY, MOST, NotOnce, NotSubmitted, Refused, SeenMessage,
};
use crate::clock;
use crate::domain::state;
use crate::pb;
use crate::pb::local::from_smsc::What;
use crate::pb::local::{
    Cancel, Cancelled, Cause, Details, Failure, Get, List, Message, Outcome, Page, Reason, Refusal,
    State, Step, Submit, Submitted,
};
use crate::pb::refusal;

/// Messages of a page, if a request does not say.
const PAGE: u32 = 50;
/// Most messages of a page: its frame stays below a mebibyte.
const MAX_PAGE: u32 = 1_000;
/// What a repeated request is for, beside its octets.
const SUBMISSION: &str = "local Submit";

/// An account that programs of a user speak for.
pub(super) struct Client {
    /// The key of `local.users`.
    user: String,
    system_id: String,
}

/// A request.
pub(super) enum LocalRequest {
    Submit(Submit),
    Cancel(Cancel),
    List(List),
    Get(Get),
}

// === impl Client ===

impl Client {
    pub(super) fn new(user: String, system_id: String) -> Self {
        Self { user, system_id }
    }

    pub(super) fn system_id(&self) -> &str {
        &self.system_id
    }

    /// The account as it is now; `None` if it is gone or disabled, or if the user may not speak for it any more.
    pub(super) fn account(&self, door: &LocalContext) -> Option<Arc<AccountPlan>> {
        let config = door.node.config();
        let named = config.local.users.get(&self.user)?;
        let is_same = named == self.system_id;
        is_same.then(|| door.api.account(&self.system_id)).flatten()
    }

    /// Why it has no account.
    pub(super) fn gone(&self) -> String {
        format!(
            "account {:?} of user {} does not exist, is disabled, or is not in local.users any more",
            self.system_id, self.user
        )
    }
}

// === impl LocalRequest ===

impl LocalRequest {
    /// As metrics have it.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Submit(_) => "submit",
            Self::Cancel(_) => "cancel",
            Self::List(_) => "list",
            Self::Get(_) => "get",
        }
    }

    /// Does it; gives its answer.
    pub(super) async fn carry_out(self, api: AccountApi, account: Arc<AccountPlan>) -> What {
        let answered = match self {
            Self::Submit(mut order) => {
                // A repetition has another trace, and is the same request.
                let caller = std::mem::take(&mut order.traceparent);
                let submit = |trace_context| submit(&api, &account, order, trace_context);
                traced::in_span("Submit", &caller, api.node(), submit).await
            }
            Self::Cancel(order) => cancel(&api, &account, order).await,
            Self::List(order) => list(&api, &account, order).await,
            Self::Get(order) => get(&api, &account, order).await,
        };
        answered.unwrap_or_else(What::Failure)
    }
}

fn bad_value(detail: impl Into<String>) -> Failure {
    Failure::new(Reason::BadValue, detail)
}

/// Submits the messages that can be made, in one batch.
async fn submit(
    api: &AccountApi,
    account: &AccountPlan,
    order: Submit,
    trace_context: Vec<u8>,
) -> Result<What, Failure> {
    if api.is_draining() {
        return Err(Failure::new(Reason::Stopping, "this node is about to stop"));
    }
    let count = order.messages.len();
    if !(1..=MOST).contains(&count) {
        let detail = format!("messages has {count} entries; 1 to {MOST} are possible");
        return Err(bad_value(detail));
    }
    let key = order.idempotency_key.clone();
    if key.len() > MAX_KEY || !key.is_ascii() {
        let detail = format!("idempotency_key must be at most {MAX_KEY} ASCII characters");
        return Err(bad_value(detail));
    }
    let body = (!key.is_empty()).then(|| order.encode_to_vec());
    let now = clock::now_ms();
    let mut outcomes = Vec::with_capacity(count);
    let (mut messages, mut places) = (Vec::new(), Vec::new());
    for draft in order.messages {
        match draft::read(draft, now, &account.numbers) {
            Ok(Drafted {
                mut message,
                alphabet,
                parts,
            }) => {
                message.trace_context.clone_from(&trace_context);
                places.push(outcomes.len());
                messages.push(message);
                outcomes.push(Outcome {
                    parts,
                    alphabet: alphabet.to_owned(),
                    ..Outcome::default()
                });
            }
            Err(detail) => outcomes.push(Outcome {
                refusal: Some(Refusal {
                    cause: Cause::BadValue.into(),
                    detail,
                    ..Refusal::default()
                }),
                ..Outcome::default()
            }),
        }
    }
    // A UNIX socket has no address for traces.
    let peer = String::new();
    let results = match body {
        _ if messages.is_empty() => Vec::new(),
        None => {
            let submitted = api.submit(account, peer, messages);
            submitted.await.map_err(not_submitted)?
        }
        Some(body) => {
            let submitted = api.submit_once(account, peer, messages, &key, SUBMISSION, &body);
            submitted.await.map_err(not_submitted)?
        }
    };
    for (place, result) in places.into_iter().zip(results) {
        match result {
            Ok(id) => outcomes[place].id = id,
            Err(refused) => outcomes[place].refusal = Some(refusal_of(refused)),
        }
    }
    Ok(What::Submitted(Submitted { outcomes }))
}

/// Why a request was not carried out as a whole.
fn not_submitted(why: NotSubmitted) -> Failure {
    match why {
        NotSubmitted::OverBurst(over) => bad_value(over.to_string()),
        NotSubmitted::NotOnce(why) => not_once(why),
    }
}

/// Why a request with an idempotency_key was not carried out.
fn not_once(why: NotOnce) -> Failure {
    match why {
        NotOnce::OtherRequest => Failure::new(
            Reason::KeyReused,
            "another request had this idempotency_key",
        ),
        NotOnce::InProgress => Failure::new(
            Reason::InProgress,
            "the request with this idempotency_key is being carried out; repeat it later",
        ),
        NotOnce::Full => Failure::new(
            Reason::Unavailable,
            "no more keys can be remembered (api.idempotency_keys); send it without one, or later",
        ),
        NotOnce::Unavailable(error) => Failure::new(Reason::Unavailable, error),
        NotOnce::Broken => Failure::new(
            Reason::Unavailable,
            "it has failed by an error of the SMSC; repeat it",
        ),
    }
}

fn refusal_of(refused: Refused) -> Refusal {
    use account_api::Reason;
    let cause = match refused.reason {
        Reason::Rate => Cause::Rate,
        Reason::Full => Cause::Full,
        Reason::Unavailable => Cause::Unavailable,
        Reason::Balance => Cause::Balance,
        Reason::Destination => Cause::Destination,
        Reason::Sender => Cause::Sender,
        Reason::Schedule => Cause::Schedule,
        Reason::Expiry => Cause::Expiry,
        Reason::Duplicate => Cause::Duplicate,
        Reason::Text | Reason::Other => Cause::Other,
    };
    Refusal {
        cause: cause.into(),
        detail: refused.detail(),
        command_status: refused.command_status,
    }
}

async fn cancel(api: &AccountApi, account: &AccountPlan, order: Cancel) -> Result<What, Failure> {
    let done = api.cancel(account, order.id).await.map_err(not_done)?;
    Ok(What::Cancelled(Cancelled {
        pending: done.pending,
    }))
}

async fn list(api: &AccountApi, account: &AccountPlan, order: List) -> Result<What, Failure> {
    if order.limit > MAX_PAGE {
        let detail = format!("limit is {}; at most {MAX_PAGE} is possible", order.limit);
        return Err(bad_value(detail));
    }
    let state = match State::try_from(order.state) {
        Ok(State::Unspecified) => None,
        Ok(_) => pb::MessageState::try_from(order.state).ok(),
        Err(_) => return Err(bad_value(format!("state {} is unknown", order.state))),
    };
    let address = |text: String| {
        let digits = text.trim().trim_start_matches('+').to_owned();
        (!digits.is_empty()).then_some(digits)
    };
    let given = |at: i64| (at != 0).then_some(at);
    let mut to = address(order.to);
    if order.received && to.is_none() {
        to = Some(account.only_number().map_err(bad_value)?);
    }
    let filter = Filter {
        to,
        received: order.received,
        texts: order.texts,
        from: address(order.from),
        since: given(order.since),
        until: given(order.until),
        state,
        before: (order.before != 0).then_some(order.before),
        limit: match order.limit {
            0 => PAGE,
            limit => limit,
        } as usize,
    };
    let page = api.search(account, filter).await.map_err(not_done)?;
    Ok(What::Page(Page {
        messages: page.messages.into_iter().map(message_of).collect(),
        next_before: page.next_before.unwrap_or_default(),
    }))
}

async fn get(api: &AccountApi, account: &AccountPlan, order: Get) -> Result<What, Failure> {
    let (seen, steps) = api.find(account, order.id).await.map_err(not_done)?;
    let steps = steps.into_iter().map(|(at, what)| Step { at, what });
    Ok(What::Details(Details {
        message: Some(message_of(seen)),
        steps: steps.collect(),
    }))
}

fn not_done(refusal: pb::Refusal) -> Failure {
    let reason = match refusal.reason() {
        refusal::Reason::NotFound => Reason::NotFound,
        refusal::Reason::Conflict => Reason::Conflict,
        refusal::Reason::Unavailable | refusal::Reason::Unspecified => Reason::Unavailable,
    };
    Failure::new(reason, refusal.detail)
}

fn message_of(seen: SeenMessage) -> Message {
    Message {
        id: seen.id,
        from: seen.from,
        to: seen.to,
        // The numbers are those of the standard in both.
        state: state::from_exact_name(seen.state).map_or(0, i32::from),
        parts: seen.parts,
        accepted_at: seen.accepted_at,
        due_at: seen.due_at.unwrap_or_default(),
        expires_at: seen.expires_at,
        ended_at: seen.ended_at.unwrap_or_default(),
        error: seen.error.unwrap_or_default(),
        reference: seen.reference.unwrap_or_default(),
        text: seen.text.unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_have_the_numbers_of_the_standard() {
        for number in 1..=8 {
            let named = State::try_from(number).unwrap();
            let name = named.as_str_name().trim_start_matches("STATE_");
            assert_eq!(state::from_exact_name(name), Some(number as u8), "{name}");
            let stored = pb::MessageState::try_from(number).unwrap();
            assert_eq!(
                stored.as_str_name().trim_start_matches("MESSAGE_STATE_"),
                name
            );
        }
    }
}
