//! What becomes of commands, and how the stream is told.
//!
//! Acknowledged, when its message is durable (`mode = "durable"`) or its operator has answered it; back with a delay, when it
//! cannot be taken now; or into the dead letters, when it cannot be read or is refused for good. A crash between any two
//! steps has the command delivered again, and its id says how far it came.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_nats::connection::State;
use async_nats::jetstream::{AckKind, Message};
use tokio::time::{Instant, sleep};

use super::admission;
use super::admit::{self, RateSpent};
use super::broken::BrokenFate;
use super::burial::Unburied;
use super::command::{self, NatsCommand};
use super::source::{Line, Places, Source};
use crate::actors::context::plan::AccountPlan;
use crate::actors::ingress::account_api::{
    self, CommandOutcome, CommandTaken, Ids, NotOnce, Reason,
};
use crate::actors::runtime::locks::lock;
use crate::clock;
use crate::config::SourceMode;
use crate::domain::trace::TraceContext;

/// Time is not asked for more often.
const LEAST_WAIT: Duration = Duration::from_millis(100);
/// Why a message is in the stream of dead letters, and where it was.
const REASON: &str = "Smsc-Reason";
const SOURCE: &str = "Smsc-Source";
const SUBJECT: &str = "Smsc-Subject";
const SEQUENCE: &str = "Smsc-Stream-Sequence";

/// A command that may be submitted.
struct ReadyCommand {
    command: account_api::Command,
    /// Its place in the stream.
    sequence: u64,
    /// The queue that it goes to; 0 where routes decide.
    to: u32,
    /// Short messages that it becomes there.
    parts: u32,
    spent: Option<RateSpent>,
}

/// Commands to one queue.
#[derive(Default)]
struct QueueCommands {
    commands: Vec<account_api::Command>,
    /// The place of each among all and in the stream, and what it takes.
    taken: Vec<(usize, u64, Option<RateSpent>)>,
}

/// What is to be done with a command.
enum Verdict {
    Accepted(CommandTaken),
    /// It cannot be taken now.
    Later(String),
    /// It will never be taken.
    Dead(String),
}

/// Works on commands until the stream knows what became of each, or the connection is lost.
pub(super) async fn take(
    source: Arc<Source>,
    line: Arc<Line>,
    messages: Vec<Message>,
    mut places: Places,
) {
    let verdicts = tokio::select! {
        verdicts = decide(&source, &messages) => verdicts,
        never = ask_for_time(&line, &messages) => match never {},
    };
    for (message, verdict) in messages.into_iter().zip(verdicts) {
        match verdict {
            Verdict::Accepted(taken) if source.config.mode == SourceMode::Durable => {
                noted(&source, acknowledge(&source, &line, &message, taken).await);
            }
            verdict => {
                let place = places.split_one();
                let (source, line) = (Arc::clone(&source), Arc::clone(&line));
                actix::spawn(Box::pin(async move {
                    conclude(&source, &line, message, verdict).await;
                    drop(place);
                }));
            }
        }
    }
}

/// Does with a command what was decided, however long that takes.
async fn conclude(source: &Source, line: &Line, message: Message, verdict: Verdict) {
    let told = match &verdict {
        Verdict::Accepted(taken) => {
            if source.config.mode == SourceMode::Operator {
                tokio::select! {
                    () = source.answers.wait_for(taken.id) => {}
                    never = ask_for_time(line, std::slice::from_ref(&message)) => match never {},
                }
            }
            acknowledge(source, line, &message, *taken).await
        }
        Verdict::Later(why) => delay(source, line, &message, why).await,
        Verdict::Dead(why) => bury(source, line, &message, why).await,
    };
    noted(source, told);
}

async fn acknowledge(
    source: &Source,
    line: &Line,
    message: &Message,
    taken: CommandTaken,
) -> Result<(), async_nats::Error> {
    let standing = &source.standing;
    let counter = if taken.again {
        &standing.repeated
    } else {
        &standing.accepted
    };
    count(counter);
    line.tell(message, AckKind::Ack).await
}

fn noted(source: &Source, told: Result<(), async_nats::Error>) {
    if let Err(error) = told {
        // It comes again, and is recognised.
        tracing::debug!(source = source.config.name, %error, "a command may be delivered again");
    }
}

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// Tells the server that commands are worked on, for as long as this lasts.
async fn ask_for_time(line: &Line, messages: &[Message]) -> Infallible {
    loop {
        sleep((line.ack_wait / 3).max(LEAST_WAIT)).await;
        for message in messages {
            // Should this fail, it may be delivered again, and waits there as well.
            let _ = message.ack_with(AckKind::Progress).await;
        }
    }
}

/// What is to be done with each of these commands.
async fn decide(source: &Source, messages: &[Message]) -> Vec<Verdict> {
    let all_later = |why: &str| {
        let later = || Verdict::Later(why.to_owned());
        messages.iter().map(|_| later()).collect()
    };
    if source.api.is_draining() {
        return all_later("this node is about to stop");
    }
    let Some(account) = source.api.account(&source.config.account) else {
        return all_later("its account is disabled");
    };
    let read = messages.iter().map(|message| read(&account, message));
    let mut read: Vec<Result<NatsCommand, Verdict>> = read.collect();
    take_expired_out(source, &account, &mut read).await;
    let ready = read.into_iter().zip(messages);
    let mut ready: Vec<Result<ReadyCommand, Verdict>> = ready
        .map(|(command, message)| {
            let command = command?;
            guarded("to be submitted", || prepare(source, command, message))
        })
        .collect();
    if source.config.mode == SourceMode::Operator {
        keep_back(source, &mut ready).await;
    }
    submit(source, ready).await
}

/// Reads a command.
///
/// # Errors
/// It is none.
fn read(account: &AccountPlan, message: &Message) -> Result<NatsCommand, Verdict> {
    let content_type = header(message, "Content-Type").unwrap_or_default();
    let is_protobuf = command::is_protobuf(content_type);
    let (octets, now) = (&message.payload, clock::now_ms());
    guarded("to be read", || {
        let read = command::read(octets, is_protobuf, &account.numbers, now);
        read.map_err(|unfit| Verdict::Dead(unfit.to_string()))
    })
}

/// Work on one command: a panic is about that, and not about those that have come with it.
fn guarded<T>(what: &str, work: impl FnOnce() -> Result<T, Verdict>) -> Result<T, Verdict> {
    let done = catch_unwind(AssertUnwindSafe(work));
    done.unwrap_or_else(|_| Err(Verdict::Dead(broken(what))))
}

/// Why a command ends that an error of the SMSC is about.
fn broken(what: &str) -> String {
    format!("it failed {what} by an error of the SMSC")
}

fn header<'m>(message: &'m Message, name: &str) -> Option<&'m str> {
    let headers = message.headers.as_ref()?;
    headers.get(name).map(|value| value.as_str())
}

/// Decides about commands whose time is over. One that was taken is acknowledged, however late it comes again.
async fn take_expired_out(
    source: &Source,
    account: &AccountPlan,
    read: &mut [Result<NatsCommand, Verdict>],
) {
    let expired = read
        .iter_mut()
        .filter(|one| one.as_ref().is_ok_and(|command| command.has_expired));
    let expired: Vec<&mut Result<NatsCommand, Verdict>> = expired.collect();
    if expired.is_empty() {
        return;
    }
    let ids = expired.iter().flat_map(|one| one.as_ref().ok());
    let ids = ids.map(|command| &command.id[..]);
    let taken = source.api.have_taken(account, Ids::Commands, ids).await;
    for (one, taken) in expired.into_iter().zip(taken) {
        match taken {
            Ok(true) => {}
            Ok(false) => *one = Err(Verdict::Dead("it has expired (expiresAt)".to_owned())),
            Err(error) => *one = Err(not_decided(source, error)),
        }
    }
}

/// Finds out where a command goes.
///
/// # Errors
/// Nowhere now.
fn prepare(
    source: &Source,
    command: NatsCommand,
    message: &Message,
) -> Result<ReadyCommand, Verdict> {
    let later = |why: &str| Verdict::Later(why.to_owned());
    let NatsCommand {
        id,
        message: mut made,
        ..
    } = command;
    made.registered_delivery = u32::from(source.config.receipt);
    if source.node().traces.is_on()
        && let Some(trace) = header(message, "traceparent").and_then(TraceContext::parse)
    {
        made.trace_context = trace.to_octets().to_vec();
    }
    let mut to = source
        .target()
        .ok_or_else(|| later("its operator is disabled"))?;
    let mut parts = 0;
    if source.config.mode == SourceMode::Operator {
        to = admission::stand_in(source.node(), to).unwrap_or(to);
        parts = source.node().plan().segments_at(to, &made);
    }
    let command = account_api::Command { id, message: made };
    let sequence = message.info().map_or(0, |info| info.stream_sequence);
    Ok(ReadyCommand {
        command,
        sequence,
        to,
        parts,
        spent: None,
    })
}

/// Leaves out what its operator does not take now.
async fn keep_back(source: &Source, ready: &mut [Result<ReadyCommand, Verdict>]) {
    let mut by_queue: BTreeMap<u32, Vec<&mut Result<ReadyCommand, Verdict>>> = BTreeMap::new();
    for one in ready {
        if let Ok(ReadyCommand { to, .. }) = *one {
            by_queue.entry(to).or_default().push(one);
        }
    }
    for (to, commands) in by_queue {
        let parts = commands.iter().flat_map(|one| one.as_ref().ok());
        let parts: Vec<u32> = parts.map(|ready| ready.parts).collect();
        let admitted = admit::admit(source, to, &parts).await;
        for (one, admitted) in commands.into_iter().zip(admitted) {
            match (admitted, &mut *one) {
                (Ok(spent), Ok(ready)) => ready.spent = spent,
                (Ok(_), Err(_)) => {}
                (Err(why), _) => *one = Err(Verdict::Later(why.to_owned())),
            }
        }
    }
}

/// Submits those that may be, and says what has become of all.
async fn submit(source: &Source, ready: Vec<Result<ReadyCommand, Verdict>>) -> Vec<Verdict> {
    let mut verdicts: Vec<Option<Verdict>> = Vec::with_capacity(ready.len());
    // By queue; those that have failed before each in one of its own.
    let mut batches: BTreeMap<(u32, Option<u64>), QueueCommands> = BTreeMap::new();
    for (place, one) in ready.into_iter().enumerate() {
        verdicts.push(match one {
            Ok(ready) => {
                let sequence = ready.sequence;
                let alone = lock(&source.broken).has(sequence).then_some(sequence);
                let batch = batches.entry((ready.to, alone)).or_default();
                batch.commands.push(ready.command);
                batch.taken.push((place, sequence, ready.spent));
                None
            }
            Err(verdict) => Some(verdict),
        });
    }
    let mut asked = Vec::with_capacity(batches.len());
    for ((to, alone), QueueCommands { commands, taken }) in batches {
        let answer = source.submit(commands, to, alone.is_some()).await;
        asked.push((to, alone.is_some(), taken, answer));
    }
    for (to, was_alone, taken, answer) in asked {
        let mut outcomes = answer.await.unwrap_or_default().into_iter();
        for (place, sequence, spent) in taken {
            let outcome = outcomes.next().unwrap_or(Err(NotOnce::Broken));
            verdicts[place] = Some(match outcome {
                Err(NotOnce::Broken) => failed(source, sequence, was_alone),
                outcome => {
                    if was_alone && outcome.is_ok() {
                        lock(&source.broken).passed(sequence);
                    }
                    verdict(source, to, outcome, spent)
                }
            });
        }
    }
    verdicts.into_iter().flatten().collect()
}

/// What is to be done with a command whose submission has failed by an error of the SMSC.
fn failed(source: &Source, sequence: u64, was_alone: bool) -> Verdict {
    match lock(&source.broken).failed(sequence, was_alone) {
        BrokenFate::Alone => Verdict::Later(broken("to be submitted")),
        BrokenFate::Ends => Verdict::Dead(broken("to be submitted")),
    }
}

/// What is to be done with a command that was submitted.
fn verdict(source: &Source, to: u32, outcome: CommandOutcome, spent: Option<RateSpent>) -> Verdict {
    match outcome {
        Ok(Ok(taken)) => {
            // It was sent before, or is being sent: the rate of this second is for others.
            if let (true, Some(spent)) = (taken.again, spent) {
                admit::give_back(source, to, spent);
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
                | Reason::Text
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
        NotOnce::Broken => Verdict::Later(broken("to be looked up")),
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

/// Puts it into the stream of dead letters, and only then takes it out of its own. If that cannot be done, it ends after a
/// few tries all the same: it must not keep the places of commands that live.
async fn bury(
    source: &Source,
    line: &Line,
    message: &Message,
    why: &str,
) -> Result<(), async_nats::Error> {
    let name = &source.config.name;
    let Err(error) = publish_dead(source, line, message, why).await else {
        if lock(&source.burials).published() {
            source.standing.works_again();
        }
        count(&source.standing.dead);
        // The reason may repeat a number or a text, which logs must not have.
        tracing::warn!(
            source = name,
            "a command goes to the dead letters, with the reason in its header"
        );
        return line.tell(message, AckKind::Term).await;
    };
    if line.client.connection_state() != State::Connected {
        return delay(source, line, message, why).await;
    }
    let sequence = message.info()?.stream_sequence;
    let pause = source.config.nak_delay;
    let failed = lock(&source.burials).failed(sequence, pause, Instant::now());
    let subject = &source.config.dead_letters;
    let trouble = format!("a dead letter cannot be published on {subject}: {error}");
    source.standing.failed(&trouble);
    match failed {
        Unburied::Again(pause) => {
            count(&source.standing.delayed);
            tracing::debug!(source = name, trouble, "a command is delayed");
            line.tell(message, AckKind::Nak(Some(pause))).await
        }
        Unburied::Ends => {
            source.standing.ended(sequence, why);
            if let Some(commands) = lock(&source.burials).next_count(Instant::now()) {
                tracing::error!(
                    source = name,
                    commands,
                    sequence,
                    trouble,
                    "commands end without a dead letter: `smsc source list` says which"
                );
            }
            line.tell(message, AckKind::Term).await
        }
    }
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
