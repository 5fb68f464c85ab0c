//! Replays failed messages: each as a new message with the same content and sender.
//!
//! Called by the Admin actor. The new message passes Ingest like every submission (checks, routes,
//! limits; not the account's rate, against which the first one counted). It becomes durable together
//! with a `change` row of the failed one, so that each names the other. Invariant: a replayed message
//! is not replayed again unless that is requested; replays of all nodes run one after another.
//!
//! An order is short: whoever replays for an hour gives one after another, and each has a claim of its own. A claim ends with its
//! order or its node, and after a minute at the latest, by the clock of the store. So nothing is given to Ingest once its order
//! has lasted for [`NO_LONGER`], and a chunk takes one write, however many senders it has, and one wait for room, however many
//! queues are full.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::context::AdminContext;
use super::failed::{self, FailedFilter};
use super::unmatched;
use crate::actors::context::NodeContext;
use crate::actors::context::ports::QueueKind;
use crate::actors::ingress::ingest::{self, Intake};
use crate::actors::orders;
use crate::api::{ReplayReport, Replayed};
use crate::clock;
use crate::content;
use crate::domain::{command_status, state};
use crate::pb::{
    Composition, Message, MessageState, Refusal, Replay, ReplayOrder, Submission, SubmitBatch,
};
use crate::smpp::time::format_absolute;
use crate::store::Stored;
use crate::store::idempotency::{ABANDONED, Claimed, HASH, KeyClaim};

/// Messages given to Ingest at once.
const CHUNK: usize = 500;
/// After this time no further chunk begins: the answer says how many are left.
const NO_LONGER: Duration = Duration::from_secs(5);
/// So long an order waits for the end of another one: with its own time that is less than its caller waits.
const WAIT: Duration = Duration::from_secs(8);
/// An order asks again after this time whether that of another node is done.
const ASK_AGAIN: Duration = Duration::from_millis(100);
/// What a node claims to replay, as if it was the key of a request of no account.
const REPLAYS: [u8; HASH] = *b"replays run one after another...";

/// Checking whether a message was replayed, and replaying it, is one step.
static ONE_AT_A_TIME: Mutex<()> = Mutex::const_new(());

/// How messages are replayed.
#[derive(Debug, Clone, Default)]
pub struct Replaying {
    /// Name of the queue or operator to send them to; by their routes when empty.
    pub to: String,
    /// How long they are valid, milliseconds; as long as before when 0.
    pub validity_ms: i64,
    /// The senders get receipts.
    pub receipt: bool,
    /// Also messages that were replayed before.
    pub again: bool,
    /// Who ordered it.
    pub by: String,
}

/// Which failed messages are replayed, and how.
#[derive(Debug)]
pub struct ManyReplays {
    /// `limit` is how many at most.
    pub which: FailedFilter,
    pub how: Replaying,
    /// At most so many per second; as fast as it goes when absent.
    pub rate: Option<u32>,
    /// Only counts them.
    pub dry_run: bool,
}

/// A failed message, and its outcome: the new id, or why it was refused.
type Outcome = (u64, Result<u64, Refusal>);

/// Replays one failed message.
pub async fn one(admin: Arc<AdminContext>, id: u64, how: Replaying) -> Result<Replayed, Refusal> {
    let result = one_ordered(&admin.intake, id, &how).await;
    let what = format!("message {id}");
    unmatched::audit(&how.by, "replay", &what, result.as_ref().err());
    result
}

async fn one_ordered(intake: &Arc<Intake>, id: u64, how: &Replaying) -> Result<Replayed, Refusal> {
    let node = &intake.node;
    let to = target(node, &how.to)?;
    let replay = |started: Instant| async move {
        let stored = orders::history(node, id).await?.stored;
        if started.elapsed() >= NO_LONGER {
            return Err(Refusal::unavailable(
                "the store took too long to answer: the message is not sent again, try again",
            ));
        }
        match submit(intake, vec![stored], how, to).await.pop() {
            Some((_, outcome)) => outcome.map(|id| Replayed {
                message: id.to_string(),
            }),
            None => Err(Refusal::unavailable("the message got no answer")),
        }
    };
    alone(node, replay).await
}

/// Replays failed messages, the oldest of those found first.
pub async fn many(admin: Arc<AdminContext>, order: ManyReplays) -> Result<ReplayReport, Refusal> {
    let result = many_ordered(&admin.intake, &order).await;
    let counts = result.as_ref().map(|done| (done.replayed, done.matched));
    unmatched::audit_many(&order.how.by, "replay", counts, order.dry_run);
    result
}

async fn many_ordered(intake: &Arc<Intake>, order: &ManyReplays) -> Result<ReplayReport, Refusal> {
    let node = &intake.node;
    let to = target(node, &order.how.to)?;
    let replay = |started| many_now(intake, order, to, started);
    if order.dry_run {
        // It disturbs nobody.
        return replay(Instant::now()).await;
    }
    alone(node, replay).await
}

async fn many_now(
    intake: &Arc<Intake>,
    order: &ManyReplays,
    to: u32,
    started: Instant,
) -> Result<ReplayReport, Refusal> {
    let (node, how) = (&intake.node, &order.how);
    let (mut found, next_before) = find(node, order, started).await?;
    let mut report = ReplayReport {
        dry_run: order.dry_run,
        matched: found.len() as u64,
        next_before: next_before.map(|before| before.to_string()),
        ..ReplayReport::default()
    };
    if order.dry_run {
        return Ok(report);
    }
    // However they were found, the oldest is to be first again.
    found.sort_unstable_by_key(|stored| stored.message.id);
    let chunk = order.rate.map_or(CHUNK, chunk_of);
    while !found.is_empty() && started.elapsed() < NO_LONGER {
        let began = Instant::now();
        let before = report.replayed;
        let rest = found.split_off(found.len().min(chunk));
        for (id, outcome) in submit(intake, std::mem::replace(&mut found, rest), how, to).await {
            match outcome {
                Ok(_) => report.replayed += 1,
                Err(refusal) => {
                    report.refused += 1;
                    unmatched::give_reason(&mut report.reasons, id, refusal);
                }
            }
        }
        // Also before the end of this request: the next one goes on at once. What was refused takes no time.
        let sent = (report.replayed - before) as usize;
        if let Some(rate) = order.rate.filter(|_| !found.is_empty()) {
            tokio::time::sleep_until(began + time_of(sent, rate)).await;
        }
    }
    report.left = found.len() as u64;
    Ok(report)
}

/// Does this while no other order replays, on this node or on another one. It is told since when that holds.
async fn alone<T, R>(
    node: &Arc<NodeContext>,
    replay: impl FnOnce(Instant) -> R,
) -> Result<T, Refusal>
where
    R: Future<Output = Result<T, Refusal>>,
{
    let until = Instant::now() + WAIT;
    let here = tokio::time::timeout_at(until, ONE_AT_A_TIME.lock()).await;
    let _here = here.map_err(|_| others_replay())?;
    let (claim, started) = claim(node, until).await?;
    let result = replay(started).await;
    if let Some(claim) = claim
        && let Err(error) = node.store.release_key(claim).await
    {
        tracing::warn!(%error, "no node can replay for a minute");
    }
    result
}

/// A claim that one node has at a time, and since when; it needs none where it is the only one.
async fn claim(node: &NodeContext, until: Instant) -> Result<(Option<KeyClaim>, Instant), Refusal> {
    loop {
        let started = Instant::now();
        if node.other_nodes().is_empty() {
            return Ok((None, started));
        }
        // Not this node's, which may be another one after the database's was set: no answer says whose the claim is.
        let at = node.store.now_ms().await?;
        let claim = KeyClaim {
            account: 0,
            key: REPLAYS,
            request: REPLAYS,
            at,
            since: at - 10 * ABANDONED,
        };
        match node.store.claim_key(claim.clone()).await? {
            Claimed::New => return Ok((Some(claim), started)),
            _ if Instant::now() < until => tokio::time::sleep(ASK_AGAIN).await,
            _ => return Err(others_replay()),
        }
    }
}

fn others_replay() -> Refusal {
    Refusal::conflict(
        "other orders send messages again: wait until they are done, or stop them, and try again",
    )
}

/// How many are given to Ingest at once at this rate: those of a quarter of a second.
fn chunk_of(rate: u32) -> usize {
    (rate as usize / 4).clamp(1, CHUNK)
}

/// How long it takes until as many may follow.
fn time_of(messages: usize, rate: u32) -> Duration {
    Duration::from_secs_f64(messages as f64 / f64::from(rate))
}

/// Up to the requested number, newest first, and where older ones continue.
async fn find(
    node: &Arc<NodeContext>,
    order: &ManyReplays,
    started: Instant,
) -> Result<(Vec<Stored>, Option<u64>), Refusal> {
    let mut search = failed::search(node, order.which.clone())?;
    if !order.how.again {
        search.replayed = Some(false);
    }
    let most = search.which.limit;
    let plan = node.full_plan();
    let mut found: Vec<Stored> = Vec::new();
    loop {
        search.which.limit = most - found.len();
        let page = node.store.failed(search.clone()).await?;
        let whole = |stored: &Stored| !failed::is_carried(&plan, stored);
        found.extend(page.messages.into_iter().filter(whole));
        match page.next_before {
            Some(next) if found.len() < most && started.elapsed() < NO_LONGER / 2 => {
                search.which.before = Some(next);
            }
            next => return Ok((found, next)),
        }
    }
}

/// Gives the messages that can be replayed to Ingest, in this order.
async fn submit(
    intake: &Arc<Intake>,
    found: Vec<Stored>,
    how: &Replaying,
    to: u32,
) -> Vec<Outcome> {
    let node = &intake.node;
    let now = clock::now_ms();
    let mut outcomes = Vec::with_capacity(found.len());
    // The messages of each sender are a batch.
    let mut batches: BTreeMap<u32, Vec<Message>> = BTreeMap::new();
    for stored in found {
        let id = stored.message.id;
        match refuse(node, &stored, how) {
            Some(reason) => outcomes.push((id, Err(reason))),
            None => {
                let message = anew(stored.message, how, now);
                batches.entry(message.sender).or_default().push(message);
            }
        }
    }
    let order = ReplayOrder {
        to,
        by: how.by.clone(),
    };
    // Beside one another: each waits for a commit.
    let batches = batches
        .into_iter()
        .map(|(sender, messages)| submit_of(intake, sender, messages, order.clone()));
    outcomes.extend(join_all(batches).await.into_iter().flatten());
    outcomes
}

/// Gives the messages of one sender to Ingest.
async fn submit_of(
    intake: &Arc<Intake>,
    sender: u32,
    messages: Vec<Message>,
    order: ReplayOrder,
) -> Vec<Outcome> {
    let old: Vec<u64> = messages.iter().map(replayed_id).collect();
    let submissions = messages
        .into_iter()
        .enumerate()
        .map(|(at, message)| Submission {
            sequence: at as u32,
            message: Some(Box::new(message)),
        });
    let batch = SubmitBatch {
        sender,
        submissions: submissions.collect(),
        replay: Some(order),
        ..SubmitBatch::default()
    };
    let accepted = ingest::accept(Arc::clone(intake), batch).await;
    let mut outcomes = Vec::with_capacity(old.len());
    for result in &accepted.reply.results {
        let Some(id) = old.get(result.sequence as usize) else {
            continue;
        };
        let outcome = match result.status {
            0 => Ok(result.id),
            status => Err(Refusal::conflict(format!(
                "message {id} is refused as its submission would be: {}",
                command_status::display(status)
            ))),
        };
        let replayed = &intake.node.metrics.replayed;
        replayed.inc_by(u64::from(outcome.is_ok()));
        outcomes.push((*id, outcome));
    }
    accepted.pass_on();
    outcomes
}

fn replayed_id(message: &Message) -> u64 {
    message.replay_of.as_ref().map_or(0, |old| old.id)
}

/// Why a message is not replayed; `None` if it is.
fn refuse(node: &NodeContext, stored: &Stored, how: &Replaying) -> Option<Refusal> {
    let message = &stored.message;
    let id = message.id;
    let refused = |why: String| Some(Refusal::conflict(format!("message {id} {why}")));
    let Some(fin) = &stored.fin else {
        return refused("is not final: move it to another queue, or retry it".to_owned());
    };
    if matches!(fin.state, MessageState::Delivered | MessageState::Accepted) {
        let name = state::name(i32::from(fin.state) as u8);
        return refused(format!("has not failed: it is {name}"));
    }
    if let Some(parent) = content::parent_of(message) {
        return refused(format!("is a part of message {parent}: replay that"));
    }
    let plan = node.plan();
    if failed::is_carried(&plan, stored) {
        return refused(
            "is a part of a text that was put together: replay the message that it was sent as"
                .to_owned(),
        );
    }
    if message.text_erased {
        return refused("cannot be sent again: its text was erased".to_owned());
    }
    if stored.replayed_as != 0 && !how.again {
        return refused(format!(
            "was sent again as {}: \"again\": true sends it once more",
            stored.replayed_as
        ));
    }
    if node.is_account(message.sender) && plan.account_by_id(message.sender).is_none() {
        return refused(format!(
            "cannot be sent again: {} is not configured any more",
            node.name_of(message.sender)
        ));
    }
    None
}

/// The new message: what the sender had submitted, without later changes.
fn anew(old: Message, how: &Replaying, now: i64) -> Message {
    let began = old.waits_since();
    let validity = match how.validity_ms {
        // The validity that the sender had requested, if any; the default otherwise.
        0 if old.validity_period.is_empty() => 0,
        0 => old.expires_at - began,
        given => given,
    };
    let validity_period = match validity {
        ..=0 => String::new(),
        validity => format_absolute(now + validity),
    };
    let mut client_data = old.client_data;
    if let Some(client) = &mut client_data {
        // There it is another message.
        client.platform_id.clear();
    }
    Message {
        client_data,
        replay_of: Some(Box::new(Replay {
            id: old.id,
            receipt: how.receipt,
        })),
        id: 0,
        queue: old.copied.as_ref().map_or(0, |_| old.queue),
        schedule_delivery_time: Vec::new(),
        validity_period: validity_period.into(),
        replace_if_present: 0,
        trace_context: Vec::new(),
        network: String::new(),
        imsi: String::new(),
        // A part in GBK says it only so.
        composition: old
            .composition
            .filter(|one| !one.gbk.is_empty())
            .map(|one| {
                Box::new(Composition {
                    gbk: one.gbk,
                    ..Composition::default()
                })
            }),
        group_first: 0,
        group_size: 0,
        // The failed one has it.
        price: 0,
        ..old
    }
}

/// The id of the queue that messages shall go to; 0 to route them.
fn target(node: &NodeContext, name: &str) -> Result<u32, Refusal> {
    if name.is_empty() {
        return Ok(0);
    }
    let id = node
        .plan()
        .queue_of(name)
        .or_else(|| node.plan().sender(name));
    let port = id.and_then(|id| node.queue(id));
    let port = port.ok_or_else(|| Refusal::no_such("queue", name, "queues"))?;
    match port.kind {
        QueueKind::Operator | QueueKind::Test => Ok(port.id),
        QueueKind::Account | QueueKind::Internal => Err(Refusal::conflict(format!(
            "messages are sent again to operators and test targets, not to {name}"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    const NOW: i64 = 1_700_000_000_000;
    const HOUR: i64 = 3_600_000;

    fn old() -> Message {
        Message {
            id: 7,
            sender: 3,
            queue: 4,
            accepted_at: NOW - 10 * HOUR,
            due_at: NOW - 9 * HOUR,
            expires_at: NOW - 8 * HOUR,
            validity_period: b"000000020000000R".to_vec(),
            schedule_delivery_time: b"000000010000000R".to_vec(),
            short_message: Bytes::from_static(b"hello"),
            registered_delivery: 1,
            trace_context: b"t".to_vec(),
            network: "23415".to_owned(),
            imsi: "234150123456789".to_owned(),
            payload_kind: 3,
            tpdu: b"t".to_vec(),
            composition: Some(Box::new(Composition {
                sent_as: vec![8, 9],
                ..Composition::default()
            })),
            group_first: 6,
            group_size: 2,
            ..Message::default()
        }
    }

    #[test]
    fn chunks_keep_the_rate() {
        for (rate, chunk, ms) in [
            (1, 1, 1_000),
            (3, 1, 333),
            (100, 25, 250),
            (10_000, CHUNK, 50),
        ] {
            assert_eq!(chunk_of(rate), chunk, "{rate}");
            assert_eq!(time_of(chunk, rate).as_millis(), ms, "{rate}");
        }
    }

    #[test]
    fn keeps_what_was_submitted_and_nothing_else() {
        let new = anew(old(), &Replaying::default(), NOW);
        assert_eq!(
            new.replay_of.as_ref().map(|one| (one.id, one.receipt)),
            Some((7, false))
        );
        assert_eq!((new.id, new.queue, new.sender), (0, 0, 3));
        assert_eq!(&new.short_message[..], b"hello");
        assert_eq!(new.registered_delivery, 1);
        assert!(new.composition.is_none() && new.trace_context.is_empty());
        assert!(new.network.is_empty() && new.schedule_delivery_time.is_empty());
        assert!(new.imsi.is_empty(), "the subscriber may have another card");
        assert_eq!((new.payload_kind, &new.tpdu[..]), (3, &b"t"[..]));
        assert_eq!((new.group_first, new.group_size), (0, 0));
    }

    #[test]
    fn a_part_in_gbk_keeps_its_octets() {
        let gbk = Bytes::from_static(b"\xC4");
        let part = Message {
            composition: Some(Box::new(Composition {
                gbk: gbk.clone(),
                short_messages: 2,
                ..Composition::default()
            })),
            ..old()
        };
        let new = anew(part, &Replaying::default(), NOW);
        let kept = Composition {
            gbk,
            ..Composition::default()
        };
        assert_eq!(new.composition.as_deref(), Some(&kept));
    }

    #[test]
    fn is_valid_as_long_as_asked_or_as_before() {
        let until = |message: Message, validity_ms| {
            let how = Replaying {
                validity_ms,
                ..Replaying::default()
            };
            let new = anew(message, &how, NOW);
            crate::smpp::time::parse_time(&new.validity_period, NOW).unwrap()
        };
        assert_eq!(until(old(), 0), Some(NOW + HOUR));
        assert_eq!(until(old(), 2 * HOUR), Some(NOW + 2 * HOUR));
        let without = Message {
            validity_period: Vec::new(),
            ..old()
        };
        assert_eq!(until(without.clone(), 0), None, "the default");
        assert_eq!(until(without, HOUR), Some(NOW + HOUR));
        let backwards = Message {
            expires_at: 0,
            ..old()
        };
        assert_eq!(until(backwards, 0), None);
    }
}
