//! The work on one message: whether it is answered, with what, and how it ends.

use std::sync::Arc;
use std::time::Duration;

use crate::actors::context::NodeContext;
use crate::actors::context::plan::{Plan, TextSource};
use crate::actors::context::traced;
use crate::actors::ingress::ingest::{Intake, Keys, admit};
use crate::actors::multipart::assembly::{CommitOutcome, move_on};
use crate::actors::receipts::final_state;
use crate::actors::routing::policy::BucketRequest;
use crate::clock;
use crate::content;
use crate::content::compose::{self, TextAlphabet};
use crate::domain::address::normalise;
use crate::domain::command_status;
use crate::domain::mo_rule::{Action, CompiledMoRule, MoReply, TemplateValues, composed, words};
use crate::domain::policy::{AddressLimit, Per};
use crate::pb::failed::Why;
use crate::pb::{Failed, Final, Message, MessageState, RuledBy, Submission, SubmitBatch};
use crate::smpp::CommandStatus;
use crate::store::WriteBatch;

/// Pause before the first new attempt at an answer that is refused for now; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(300);
/// esm_class: what kind of message it is (SMPP 3.4 §5.2.12); 0 is an ordinary one.
const MESSAGE_TYPE: u32 = 0x3C;
/// Statuses of an answer that may be accepted later.
const FOR_NOW: [CommandStatus; 3] = [
    CommandStatus::ESME_RTHROTTLED,
    CommandStatus::ESME_RMSGQFUL,
    CommandStatus::ESME_RSYSERR,
];

/// A message of the queue.
pub struct Job {
    pub message: Box<Message>,
    /// From 1.
    pub attempt: u32,
}

/// Answers a message, or ends it without an answer; `None` when it has ended, or is in another queue.
pub async fn carry_out(
    node: Arc<NodeContext>,
    intake: Arc<Intake>,
    mut job: Job,
) -> Option<Failed> {
    let plan = node.full_plan();
    let name = job
        .message
        .ruled_by
        .as_deref()
        .map(|ruled| ruled.rule.as_str());
    let rule = match name.and_then(|name| plan.mo_rules().get(name)) {
        Some(rule) if !matches!(rule.action, Action::Deliver { .. }) => Some(rule),
        // The rule has changed since.
        _ => {
            job.message.ruled_by = None;
            plan.rule(&mut job.message, TextSource::Here)
        }
    };
    match rule.map(|rule| (rule, &rule.action)) {
        Some((_, Action::Drop)) => {
            end(&node, job, "dropped").await;
            None
        }
        Some((rule, Action::Reply(reply))) => answer(node, intake, &plan, rule, reply, job).await,
        Some((_, Action::Deliver { .. })) | None => {
            let from = plan.responder.unwrap_or_default();
            let id = job.message.id;
            match move_on(node, from, vec![*job.message], true).await {
                CommitOutcome::Done => None,
                CommitOutcome::Not => Some(Failed::not_sent(id)),
            }
        }
    }
}

async fn answer(
    node: Arc<NodeContext>,
    intake: Arc<Intake>,
    plan: &Plan,
    rule: &CompiledMoRule,
    reply: &MoReply,
    job: Job,
) -> Option<Failed> {
    let text = content::text_of(&job.message).map(|text| composed(&text));
    if let Some(why) = unanswered(plan, &job.message, text.as_deref()) {
        node.metrics.replied(&rule.name, why);
        end(&node, job, why).await;
        return None;
    }
    let Some(account) = plan.account(&reply.account) else {
        // Rules without their account are not in the plan.
        return Some(Failed::not_sent(job.message.id));
    };
    let text = text.unwrap_or_default();
    let message = match written(rule, reply, &job.message, &text) {
        Ok(message) => message,
        Err(error) => {
            tracing::warn!(rule = %rule.name, %error, "an answer cannot be written");
            return give_up(&node, rule, job, "refused").await;
        }
    };
    let mut bucket = bucket(rule, reply, &job.message);
    let limiter = &intake.policy.limiter;
    if limiter.take(std::slice::from_ref(&bucket)).await == [0] {
        return give_up(&node, rule, job, "limited").await;
    }
    let mut ends = vec![ended(&job, MessageState::Delivered, "")];
    if final_state::complete(&node, &mut ends).await.is_err() {
        limiter.give_back(std::slice::from_ref(&bucket)).await;
        return Some(later(&node, rule, &job, CommandStatus::ESME_RSYSERR));
    }
    let batch = SubmitBatch {
        sender: account.id,
        submissions: vec![Submission {
            sequence: 0,
            message: Some(Box::new(message)),
        }],
        encoded: true,
        ..SubmitBatch::default()
    };
    let accepted = admit(Arc::clone(&intake), batch, Keys::None, ends).await;
    let result = accepted.reply.results.first();
    let status = CommandStatus(result.map_or(CommandStatus::ESME_RSYSERR.0, |one| one.status));
    let ended = accepted.ended;
    accepted.pass_on();
    if status.is_ok() {
        node.metrics.replied(&rule.name, "sent");
        return None;
    }
    bucket.wanted = 1;
    limiter.give_back(&[bucket]).await;
    if ended {
        // The store has refused the row of the answer alone.
        node.metrics.replied(&rule.name, "refused");
        return None;
    }
    if FOR_NOW.contains(&status) {
        return Some(later(&node, rule, &job, status));
    }
    let name = command_status::display(status.0);
    tracing::warn!(rule = %rule.name, account = %reply.account, status = %name, "an answer was refused");
    give_up(&node, rule, job, "refused").await
}

/// Why a message is not answered at all, as in metrics.
fn unanswered(plan: &Plan, message: &Message, text: Option<&str>) -> Option<&'static str> {
    // The rest of its text did not come: the first part is answered, if it is there.
    if content::part_of(message).is_some_and(|part| part.sequence > 1) {
        return Some("part");
    }
    let (from, to) = (&message.source[..], &message.destination[..]);
    let is_acknowledgement = message.esm_class & MESSAGE_TYPE != 0;
    let owned = |address: &[u8]| plan.mo_account(address).is_some();
    let rules = plan.mo_rules();
    let why = rules.unanswered(from, to, is_acknowledgement, text, owned);
    why.map(|why| why.as_str())
}

/// The answer, as the account submits it.
fn written(
    rule: &CompiledMoRule,
    reply: &MoReply,
    message: &Message,
    text: &str,
) -> Result<Message, compose::ComposeRefusal> {
    let found = words(&rule.keywords, text);
    let (from, to) = (
        String::from_utf8_lossy(&message.source),
        String::from_utf8_lossy(&message.destination),
    );
    let values = TemplateValues {
        from: &from,
        to: &to,
        keyword: found.keyword,
        text: found.rest,
    };
    let body = compose::text(&reply.template.filled(values), TextAlphabet::Auto, false)?;
    let (source_ton, source_npi, source) = match &reply.from {
        Some(from) => {
            let own = compose::source(from);
            (u32::from(own.ton), u32::from(own.npi), own.digits)
        }
        None => (
            message.dest_ton,
            message.dest_npi,
            message.destination.clone(),
        ),
    };
    let mut answer = Message {
        source_ton,
        source_npi,
        source,
        dest_ton: message.source_ton,
        dest_npi: message.source_npi,
        destination: message.source.clone(),
        trace_context: traced::below_submission(message),
        ruled_by: Some(Box::new(RuledBy {
            rule: rule.name.clone(),
            answers: message.id,
            ..RuledBy::default()
        })),
        ..Message::default()
    };
    body.carry(&mut answer);
    Ok(answer)
}

/// The bucket of a rule's answers to one sender.
fn bucket(rule: &CompiledMoRule, reply: &MoReply, message: &Message) -> BucketRequest {
    let limit = AddressLimit {
        // No `[[limit]]` is called so.
        name: format!("mo_rule:{}", rule.name),
        account: None,
        sender_prefix: Box::default(),
        destination_prefix: Box::default(),
        rate: f64::from(reply.limit) / reply.per.as_secs_f64(),
        burst: reply.limit,
        per: Per::Sender,
    };
    let mut bucket = BucketRequest::new(&limit, normalise(&message.source));
    bucket.wanted = 1;
    bucket
}

/// Its answer is refused for now.
fn later(node: &NodeContext, rule: &CompiledMoRule, job: &Job, status: CommandStatus) -> Failed {
    node.metrics.replied(&rule.name, "later");
    let doubled = FIRST_PAUSE * 2_u32.pow(job.attempt.saturating_sub(1).min(16));
    Failed {
        id: job.message.id,
        why: Why::Later.into(),
        status: status.0,
        attempt: job.attempt,
        pause_ms: doubled.min(LONGEST_PAUSE).as_millis() as u64,
        ..Failed::default()
    }
}

async fn give_up(
    node: &Arc<NodeContext>,
    rule: &CompiledMoRule,
    job: Job,
    why: &'static str,
) -> Option<Failed> {
    node.metrics.replied(&rule.name, why);
    end(node, job, why).await;
    None
}

/// Ends a message that nobody gets and that is not answered.
async fn end(node: &Arc<NodeContext>, job: Job, why: &'static str) {
    let ended = ended(&job, MessageState::Deleted, why);
    final_state::write(node, WriteBatch::default(), vec![ended]).await;
}

fn ended(job: &Job, state: MessageState, why: &'static str) -> Final {
    Final {
        id: job.message.id,
        state: state.into(),
        error: why.into(),
        at: clock::now_ms(),
        message: Some(job.message.clone()),
        attempts: job.attempt.saturating_sub(1),
        ..Final::default()
    }
}
