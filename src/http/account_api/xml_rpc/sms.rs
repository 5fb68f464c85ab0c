//! The methods `sms.*`: submit, follow and cancel messages of the account, and read its balance.

use super::aliases::{meant, submitted};
use super::answer::{Fault, members, of_json};
use super::arguments::{only, text_of, wrong_type};
use super::order;
use super::session::Session;
use crate::actors::ingress::account_api::MOST;
use crate::actors::ingress::account_api::{MessageStep, SeenMessage};
use crate::clock;
use crate::domain::moment;
use crate::http::account_api::auth::Caller;
use crate::http::account_api::messages::{Once, check_key, refuse_while_draining};
use crate::http::account_api::view::RecipientOutcome;
use crate::http::problem::Problem;
use crate::xml_rpc::{XmlRpcValue, response};

/// The argument under which a repeated call is carried out once.
const KEY: &str = "idempotency_key";
/// `report_state`: what is known of the delivery.
const DELIVERED: i64 = 0;
const WAITING: i64 = 1;
const FAILED: i64 = 2;
/// `result` of every message that has an id: it was accepted.
const ACCEPTED: i64 = 0;

/// Carries out a method of the table.
pub(super) async fn call(
    name: &str,
    session: &Session<'_>,
    caller: &Caller,
    params: Vec<XmlRpcValue>,
) -> Result<XmlRpcValue, Fault> {
    match name {
        "sms.send" => send(session, caller, params).await,
        "sms.sendBulk" => send_bulk(session, caller, params).await,
        "sms.status" => status(session, caller, params).await,
        "sms.cancel" => cancel(session, caller, params).await,
        "sms.balance" => balance(session, caller, params).await,
        other => Err(Problem::not_found(format!("{other} is not served")).into()),
    }
}

async fn send(
    session: &Session<'_>,
    caller: &Caller,
    params: Vec<XmlRpcValue>,
) -> Result<XmlRpcValue, Fault> {
    let [mut order] = only(params, ["message"])?;
    refuse_while_draining(&session.state.api)?;
    let key = match &mut order {
        XmlRpcValue::Struct(members) => {
            let at = members.iter().position(|(name, _)| name == KEY);
            at.map(|at| members.swap_remove(at).1)
        }
        _ => None,
    };
    let once = once("sms.send", key, &order)?;
    let drafts = order::drafts(order, clock::now_ms(), &caller.account.numbers)?;
    sent(submitted(session, caller, drafts, once).await?)
}

async fn send_bulk(
    session: &Session<'_>,
    caller: &Caller,
    mut params: Vec<XmlRpcValue>,
) -> Result<XmlRpcValue, Fault> {
    let key = match params.len() {
        2 => params.pop(),
        _ => None,
    };
    let [orders] = only(params, ["messages"])?;
    let once = once("sms.sendBulk", key, &orders)?;
    let XmlRpcValue::Array(orders) = orders else {
        return Err(wrong_type("messages", "array", &orders).into());
    };
    refuse_while_draining(&session.state.api)?;
    let now = clock::now_ms();
    let mut all = Vec::new();
    let mut counts: Vec<Result<usize, Fault>> = Vec::with_capacity(orders.len());
    for order in orders {
        let drafts = order::drafts(order, now, &caller.account.numbers);
        counts.push(drafts.map_err(Fault::from).map(|drafts| {
            let count = drafts.len();
            all.extend(drafts);
            count
        }));
        if all.len() > MOST || counts.len() > MOST {
            let detail = format!("there are more than {MOST} messages; divide the call");
            return Err(Problem::bad_value("messages", detail).into());
        }
    }
    let outcomes = submitted(session, caller, all, once).await?;
    let mut outcomes = outcomes.into_iter();
    let result = |count: Result<usize, Fault>| {
        let result = count.and_then(|count| sent(outcomes.by_ref().take(count).collect()));
        result.unwrap_or_else(XmlRpcValue::from)
    };
    Ok(XmlRpcValue::Array(counts.into_iter().map(result).collect()))
}

/// What a repetition of a call with an idempotency_key is recognised by; `what` are its other arguments.
fn once(
    target: &'static str,
    key: Option<XmlRpcValue>,
    what: &XmlRpcValue,
) -> Result<Option<Once>, Problem> {
    let key = match key {
        None | Some(XmlRpcValue::Nil) => return Ok(None),
        Some(key) => text_of(KEY, key)?,
    };
    check_key(&key)?;
    Ok(Some(Once {
        key,
        target,
        body: response(what).into(),
    }))
}

/// The result of an order; the fault of its first message if none was accepted.
fn sent(outcomes: Vec<RecipientOutcome>) -> Result<XmlRpcValue, Fault> {
    let fault = |outcome: &RecipientOutcome| outcome.error.as_ref().map(Fault::from);
    let count = outcomes.len();
    let Some(id) = outcomes.iter().find_map(|one| one.id.clone()) else {
        let first = outcomes.iter().find_map(fault);
        return Err(first.unwrap_or_else(|| Problem::unavailable("nothing was accepted").into()));
    };
    let accepted = outcomes.iter().filter(|one| one.id.is_some()).count();
    let message = |outcome: RecipientOutcome| {
        let mut told = match (fault(&outcome), outcome.id) {
            (_, Some(id)) => members([
                ("id", XmlRpcValue::String(id)),
                ("parts", XmlRpcValue::Int(outcome.parts.unwrap_or(1).into())),
                ("alphabet", outcome.alphabet.unwrap_or_default().into()),
            ]),
            (Some(fault), None) => match fault.into() {
                XmlRpcValue::Struct(members) => members,
                other => vec![("fault".to_owned(), other)],
            },
            (None, None) => Vec::new(),
        };
        told.insert(
            0,
            ("user_number".to_owned(), XmlRpcValue::String(outcome.to)),
        );
        XmlRpcValue::Struct(told)
    };
    let messages = outcomes.into_iter().map(message).collect();
    Ok(XmlRpcValue::Struct(members([
        ("id", XmlRpcValue::String(id)),
        ("accepted", count_of(accepted)),
        ("refused", count_of(count - accepted)),
        ("messages", XmlRpcValue::Array(messages)),
    ])))
}

fn count_of(count: usize) -> XmlRpcValue {
    XmlRpcValue::Int(i64::try_from(count).unwrap_or(i64::MAX))
}

async fn status(
    session: &Session<'_>,
    caller: &Caller,
    params: Vec<XmlRpcValue>,
) -> Result<XmlRpcValue, Fault> {
    let id = id(params)?;
    let message = meant(session, &id).await?;
    let found = session.state.api.find(&caller.account, message).await;
    let (seen, steps) = found.map_err(Problem::from)?;
    Ok(shown(id, seen, steps))
}

/// `id`: as the caller has named it.
fn shown(id: String, seen: SeenMessage, steps: Vec<MessageStep>) -> XmlRpcValue {
    let report_state = match (seen.ended_at, seen.state) {
        (None, _) => WAITING,
        (Some(_), "DELIVERED" | "ACCEPTED") => DELIVERED,
        (Some(_), _) => FAILED,
    };
    let step = |(at, what): MessageStep| {
        let step = members([
            ("at", XmlRpcValue::DateTime(at)),
            ("what", XmlRpcValue::String(what)),
        ]);
        XmlRpcValue::Struct(step)
    };
    let mut told = members([
        ("id", XmlRpcValue::String(id)),
        ("state", seen.state.into()),
        ("result", XmlRpcValue::Int(ACCEPTED)),
        ("report_state", XmlRpcValue::Int(report_state)),
        (
            "error_code",
            XmlRpcValue::String(seen.error.unwrap_or_default()),
        ),
        ("sp_number", XmlRpcValue::String(seen.from)),
        ("user_number", XmlRpcValue::String(seen.to)),
        ("parts", XmlRpcValue::Int(seen.parts.into())),
        ("accepted_at", XmlRpcValue::DateTime(seen.accepted_at)),
        ("expire_time", XmlRpcValue::DateTime(seen.expires_at)),
        (
            "timeline",
            XmlRpcValue::Array(steps.into_iter().map(step).collect()),
        ),
    ]);
    let metadata = seen
        .metadata
        .and_then(|text| serde_json::from_str(&text).ok());
    let more = [
        ("schedule_time", seen.due_at.map(XmlRpcValue::DateTime)),
        ("ended_at", seen.ended_at.map(XmlRpcValue::DateTime)),
        ("reference", seen.reference.map(XmlRpcValue::String)),
        ("metadata", metadata.map(of_json)),
    ];
    let present = |(name, value): (&str, Option<XmlRpcValue>)| Some((name.to_owned(), value?));
    told.extend(more.into_iter().filter_map(present));
    XmlRpcValue::Struct(told)
}

async fn cancel(
    session: &Session<'_>,
    caller: &Caller,
    params: Vec<XmlRpcValue>,
) -> Result<XmlRpcValue, Fault> {
    let id = id(params)?;
    let message = meant(session, &id).await?;
    let done = session.state.api.cancel(&caller.account, message).await;
    let done = done.map_err(Problem::from)?;
    Ok(XmlRpcValue::Struct(members([
        ("id", XmlRpcValue::String(id)),
        ("done", XmlRpcValue::Boolean(!done.pending)),
    ])))
}

async fn balance(
    session: &Session<'_>,
    caller: &Caller,
    params: Vec<XmlRpcValue>,
) -> Result<XmlRpcValue, Fault> {
    let [] = only(params, [])?;
    let left = session.state.api.balance(&caller.account).await;
    let left = left.map_err(Problem::from)?;
    let resets_at = left.resets_at.as_deref().and_then(moment::parse);
    let mut told = members([
        ("account", XmlRpcValue::String(left.account)),
        ("prepaid", XmlRpcValue::Boolean(left.prepaid)),
        ("credits", XmlRpcValue::Int(left.credits)),
        ("reserved", XmlRpcValue::Int(left.reserved)),
        ("quota_used_today", XmlRpcValue::Int(left.quota_used_today)),
        (
            "resets_at",
            XmlRpcValue::DateTime(resets_at.unwrap_or_default()),
        ),
    ]);
    if let Some(quota) = left.quota_per_day {
        told.push(("quota_per_day".to_owned(), XmlRpcValue::Int(quota)));
    }
    Ok(XmlRpcValue::Struct(told))
}

fn id(params: Vec<XmlRpcValue>) -> Result<String, Problem> {
    let [id] = only(params, ["id"])?;
    text_of("id", id)
}
