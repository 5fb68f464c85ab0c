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
use crate::actors::ingress::account_api::{self, NotOnce, Reason, Taken};
use crate::actors::runtime::locks::lock;
use crate::clock;
use crate::config::SourceMode;
use crate::content;
use crate::domain::trace::TraceContext;
use crate::store::History;

/// Pauses between looks at a message that waits for its operator: from the first to the last.
const FIRST_LOOK: Duration = Duration::from_millis(20);
const LAST_LOOK: Duration = Duration::from_secs(1);
/// Time is not asked for more often.
const LEAST_WAIT: Duration = Duration::from_millis(100);
/// Why a message is in the stream of dead letters, and where it was.
const REASON: &str = "Smsc-Reason";
const SOURCE: &str = "Smsc-Source";
const SUBJECT: &str = "Smsc-Subject";
const SEQUENCE: &str = "Smsc-Stream-Sequence";

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
            answered(source.node(), taken.id).await;
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
        match source.api.has_taken(&account, &id).await {
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
    let Some(to) = source.target() else {
        return later("its operator is disabled");
    };
    if source.config.mode == SourceMode::Operator
        && let Some(why) = not_now(source, to, content::segments(&made))
    {
        return Verdict::Later(why);
    }
    match source
        .submit(account_api::Command { id, message: made })
        .await
    {
        Ok(Ok(taken)) => Verdict::Accepted(taken),
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

/// Why the operator does not take a text of so many parts now, if it does not.
fn not_now(source: &Source, queue: u32, parts: u32) -> Option<String> {
    let why = match admission::standing(source.node(), queue) {
        OperatorStanding::Takes(None) => return None,
        OperatorStanding::Takes(Some(rate)) => {
            let is_admitted = lock(&source.pace).admits(clock::now_ms(), rate, parts);
            if is_admitted {
                return None;
            }
            "above the rate of the operator"
        }
        OperatorStanding::Elsewhere => "other nodes are bound to the operator",
        OperatorStanding::Away => "the operator is not bound",
    };
    Some(why.to_owned())
}

/// Returns when a message has had an answer of its operator, or has ended. Of a text that was divided, each part.
async fn answered(node: &NodeContext, id: u64) {
    let mut waiting = vec![id];
    let mut pause = FIRST_LOOK;
    while let Some(id) = waiting.last().copied() {
        // No operator answers at once.
        sleep(pause).await;
        pause = (pause * 3 / 2).min(LAST_LOOK);
        match node.store.history(id).await {
            Ok(Some(history)) if !is_over(&history) => {
                if let Some(parts) = parts_of(&history) {
                    waiting.pop();
                    waiting.extend(parts);
                    continue;
                }
                if !history.attempts.is_empty() || history.retry.is_some() {
                    waiting.pop();
                    continue;
                }
            }
            // It has ended, and may be gone already.
            Ok(_) => {
                waiting.pop();
                continue;
            }
            Err(_) => {}
        }
    }
}

fn is_over(history: &History) -> bool {
    history.stored.fin.is_some()
}

/// The messages that are sent instead of a text that was divided.
fn parts_of(history: &History) -> Option<Vec<u64>> {
    let composition = history.stored.message.composition.as_deref()?;
    (!composition.sent_as.is_empty()).then(|| composition.sent_as.clone())
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
