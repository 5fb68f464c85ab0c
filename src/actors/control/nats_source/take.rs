//! What becomes of one command, and how the stream is told.
//!
//! Acknowledged, when its message is durable (`mode = "durable"`) or its operator has answered it; back with a delay, when it
//! cannot be taken now; or into the dead letters, when it cannot be read or is refused for good. A crash between any two
//! steps has the command delivered again, and its id says how far it came.

use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_nats::jetstream::{AckKind, Message};
use tokio::time::sleep;

use super::admission::{self, OperatorStanding};
use super::command::{self, Command};
use super::source::{Line, Source};
use crate::actors::context::NodeContext;
use crate::actors::ingress::account_api::{self, Ids, NotOnce, Reason, Taken};
use crate::actors::runtime::locks::lock;
use crate::clock;
use crate::config::SourceMode;
use crate::content;
use crate::domain::trace::TraceContext;

/// Time is not asked for more often.
const LEAST_WAIT: Duration = Duration::from_millis(100);
/// Why a message is in the stream of dead letters, and where it was.
const REASON: &str = "Smsc-Reason";
const SOURCE: &str = "Smsc-Source";
const SUBJECT: &str = "Smsc-Subject";
const SEQUENCE: &str = "Smsc-Stream-Sequence";

/// What a command takes of the operator's rate.
struct Spent {
    rate: f64,
    parts: u32,
}

/// What is to be done with a command.
enum Verdict {
    Accepted(Taken),
    /// It cannot be taken now.
    Later(String),
    /// It will never be taken.
    Dead(String),
}

/// Works on one command until the stream knows what became of it, or the connection is lost.
pub(super) async fn take(source: &Source, line: &Line, message: Message) {
    let work = async {
        let verdict = decide(source, &message).await;
        if let Verdict::Accepted(taken) = &verdict
            && source.config.mode == SourceMode::Operator
        {
            source.answers.wait_for(taken.id).await;
        }
        verdict
    };
    let verdict = tokio::select! {
        verdict = work => verdict,
        never = ask_for_time(line, &message) => match never {},
    };
    let told = match &verdict {
        Verdict::Accepted(taken) => {
            let standing = &source.standing;
            count(match taken.again {
                true => &standing.repeated,
                false => &standing.accepted,
            });
            line.tell(&message, AckKind::Ack).await
        }
        Verdict::Later(why) => delay(source, line, &message, why).await,
        Verdict::Dead(why) => bury(source, line, &message, why).await,
    };
    if let Err(error) = told {
        // It comes again, and is recognised.
        tracing::debug!(source = source.config.name, %error, "a command may be delivered again");
    }
}

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// Tells the server that a command is worked on, for as long as this lasts.
async fn ask_for_time(line: &Line, message: &Message) -> Infallible {
    loop {
        sleep((line.ack_wait / 3).max(LEAST_WAIT)).await;
        // Should this fail, it may be delivered again, and waits there as well.
        let _ = message.ack_with(AckKind::Progress).await;
    }
}

async fn decide(source: &Source, message: &Message) -> Verdict {
    let later = |why: &str| Verdict::Later(why.to_owned());
    if source.api.is_draining() {
        return later("this node is about to stop");
    }
    let Some(account) = source.api.account(&source.config.account) else {
        return later("its account is disabled");
    };
    let header = |name: &str| {
        let headers = message.headers.as_ref()?;
        headers.get(name).map(|value| value.as_str().to_owned())
    };
    let content_type = header("Content-Type").unwrap_or_default();
    let is_protobuf = command::is_protobuf(&content_type);
    let read = command::read(
        &message.payload,
        is_protobuf,
        &account.numbers,
        clock::now_ms(),
    );
    let Command {
        id,
        message: mut made,
        has_expired,
    } = match read {
        Ok(command) => command,
        Err(unfit) => return Verdict::Dead(unfit.to_string()),
    };
    // One that was taken is acknowledged, however late it comes again.
    if has_expired {
        match source.api.has_taken(&account, Ids::Commands, &id).await {
            Ok(true) => {}
            Ok(false) => return Verdict::Dead("it has expired (expiresAt)".to_owned()),
            Err(error) => return not_decided(source, error),
        }
    }
    made.registered_delivery = u32::from(source.config.receipt);
    if source.node().traces.is_on()
        && let Some(trace) = header("traceparent").and_then(|text| TraceContext::parse(&text))
    {
        made.trace_context = trace.to_octets().to_vec();
    }
    let Some(mut to) = source.target() else {
        return later("its operator is disabled");
    };
    let mut spent = None;
    if source.config.mode == SourceMode::Operator {
        to = stand_in(source.node(), to).unwrap_or(to);
        match admit(source, to, content::segments(&made)) {
            Ok(admitted) => spent = admitted,
            Err(why) => return later(why),
        }
    }
    match source
        .submit(account_api::Command { id, message: made }, to)
        .await
    {
        Ok(Ok(taken)) => {
            // It was sent before, or is being sent: the rate of this second is for others.
            if let (true, Some(Spent { rate, parts })) = (taken.again, spent) {
                let mut paces = lock(&source.paces);
                let pace = paces.entry(to).or_default();
                pace.give_back(clock::now_ms(), rate, parts);
            }
            Verdict::Accepted(taken)
        }
        Ok(Err(refused)) => {
            let why = refused.detail();
            match refused.reason {
                Reason::Rate => Verdict::Later(why),
                Reason::Full | Reason::Unavailable => {
                    source.rest();
                    Verdict::Later(why)
                }
                Reason::Balance
                | Reason::Destination
                | Reason::Sender
                | Reason::Schedule
                | Reason::Expiry
                | Reason::Duplicate
                | Reason::Other => Verdict::Dead(why),
            }
        }
        Err(error) => not_decided(source, error),
    }
}

/// What is to be done with a command of which it is not known whether it was taken.
fn not_decided(source: &Source, error: NotOnce) -> Verdict {
    let later = |why: &str| Verdict::Later(why.to_owned());
    match error {
        NotOnce::OtherRequest => Verdict::Dead("its id was used for something else".to_owned()),
        NotOnce::InProgress => later("it is being taken elsewhere"),
        NotOnce::Full => {
            source.rest();
            later("no more ids of commands can be remembered (api.idempotency_keys)")
        }
        NotOnce::Unavailable(error) => {
            source.rest();
            Verdict::Later(error)
        }
    }
}

/// The queue of who stands in for an operator that is not bound, where the management service names somebody who is.
/// Whose binds are elsewhere takes the message in its queue, as from a route.
fn stand_in(node: &NodeContext, queue: u32) -> Option<u32> {
    if admission::standing(node, queue) != OperatorStanding::Away {
        return None;
    }
    let backup = node.managed.of(queue)?.backup?;
    let other = node.plan().queue_of(&backup)?;
    (admission::standing(node, other) != OperatorStanding::Away).then_some(other)
}

/// Whether the operator takes a text of so many parts now, and what it takes of its rate, if there is one.
///
/// # Errors
/// Why it does not.
fn admit(source: &Source, queue: u32, parts: u32) -> Result<Option<Spent>, &'static str> {
    match admission::standing(source.node(), queue) {
        OperatorStanding::Takes(None) => Ok(None),
        OperatorStanding::Takes(Some(rate)) => {
            let mut paces = lock(&source.paces);
            let pace = paces.entry(queue).or_default();
            match pace.admits(clock::now_ms(), rate, parts) {
                true => Ok(Some(Spent { rate, parts })),
                false => Err("above the rate of the operator"),
            }
        }
        // Who stands in is bound elsewhere: its queue has the message, and its rate.
        OperatorStanding::Elsewhere if source.target() != Some(queue) => Ok(None),
        OperatorStanding::Elsewhere => Err("other nodes are bound to the operator"),
        OperatorStanding::Away => Err("the operator is not bound"),
    }
}

/// Has the stream deliver it again after a while.
async fn delay(
    source: &Source,
    line: &Line,
    message: &Message,
    why: &str,
) -> Result<(), async_nats::Error> {
    count(&source.standing.delayed);
    tracing::debug!(source = source.config.name, why, "a command is delayed");
    let what = AckKind::Nak(Some(source.config.nak_delay));
    line.tell(message, what).await
}

/// Puts it into the stream of dead letters, and only then takes it out of its own.
async fn bury(
    source: &Source,
    line: &Line,
    message: &Message,
    why: &str,
) -> Result<(), async_nats::Error> {
    let published = publish_dead(source, line, message, why).await;
    let name = &source.config.name;
    if let Err(error) = published {
        let trouble = format!("a dead letter cannot be published: {error}");
        tracing::warn!(source = name, trouble, "a command is delayed");
        source.standing.failed(&trouble);
        return delay(source, line, message, why).await;
    }
    count(&source.standing.dead);
    // The reason may repeat a number or a text, which logs must not have.
    tracing::warn!(
        source = name,
        "a command goes to the dead letters, with the reason in its header"
    );
    line.tell(message, AckKind::Term).await
}

async fn publish_dead(
    source: &Source,
    line: &Line,
    message: &Message,
    why: &str,
) -> Result<(), async_nats::Error> {
    let mut headers = message.headers.clone().unwrap_or_default();
    let info = message.info()?;
    // The same whenever it is published: the stream drops a second one.
    let id = format!("{}.{}.dead", info.stream, info.stream_sequence);
    headers.insert("Nats-Msg-Id", id);
    // A header is one line.
    headers.insert(REASON, why.replace(['\r', '\n'], " "));
    headers.insert(SOURCE, source.config.name.as_str());
    headers.insert(SUBJECT, message.subject.as_str());
    headers.insert(SEQUENCE, info.stream_sequence.to_string());
    let subject = source.config.dead_letters.clone();
    let body = message.payload.clone();
    let sent = line.context.publish_with_headers(subject, headers, body);
    sent.await?.await?;
    Ok(())
}
