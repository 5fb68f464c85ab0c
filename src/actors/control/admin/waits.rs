//! Why a message waits, or its receipt: in a word for programs and a sentence for people.
//!
//! Called by the Admin actor for one message. It reads the rows of the message, and how its queue stands in the whole
//! cluster; the queue is asked only whether a session has the message.

use std::sync::Arc;

use super::whole;
use crate::actors::context::NodeContext;
use crate::actors::context::ports::QueueKind;
use crate::actors::context::remote_command;
use crate::actors::orders;
use crate::actors::receipts::wanted;
use crate::api::{Wait, time};
use crate::config::OutcomePolicy;
use crate::domain::command_status;
use crate::domain::queue_name::QueueName;
use crate::pb::queue_command::Verb;
use crate::pb::queue_command_reply::Outcome;
use crate::pb::{OperatorView, QueueCommand, QueueSnapshot};
use crate::store::{MessageHistory, SentRow};

/// How far a message has come that nobody holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UnheldStage {
    /// In its queue, or sent by a session and not answered yet.
    Waiting,
    /// In its queue, not due yet.
    Scheduled,
    /// The operator has it; its receipt is awaited.
    HandedOver,
    Final,
}

/// How a queue stands, as far as it keeps messages waiting.
#[derive(Default)]
struct Stand {
    name: String,
    queue: QueueSnapshot,
    /// Of a queue that we connect for.
    operator: Option<OperatorView>,
}

/// Why this message waits, or its receipt; `None` when nothing is awaited.
pub(super) async fn why(
    node: &Arc<NodeContext>,
    history: &MessageHistory,
    stage: UnheldStage,
    due_at: i64,
) -> Option<Wait> {
    let message = &history.stored.message;
    match stage {
        UnheldStage::Final => {
            let fin = history.stored.fin.as_ref()?;
            if fin.tell == 0 || history.told {
                return None;
            }
            let stand = stand(node, wanted::receipt_queue(node, message));
            let waits = of_queue(&stand);
            Some(Wait {
                text: format!("its receipt waits: {}", waits.text),
                ..waits
            })
        }
        UnheldStage::HandedOver => Some(said(
            "receipt",
            format!("{} has it; its receipt is awaited", taken_by(node, history)),
        )),
        UnheldStage::Scheduled => Some(scheduled(node, history, due_at)),
        UnheldStage::Waiting => Some(waiting(node, history).await),
    }
}

/// Why a message waits that is held, and what to do about it.
pub(super) fn held(since: i64) -> Wait {
    let text = format!(
        "it has been held since {}, because it may have been sent before the database went back in time: find out \
         whether it was, then cancel it, or release it to be sent (smsc held)",
        shown(since)
    );
    Wait {
        since: time(since),
        ..said("held", text)
    }
}

fn taken_by(node: &NodeContext, history: &MessageHistory) -> String {
    let attempt = history.accepted_attempt();
    attempt.map_or_else(String::new, |attempt| node.name_of(attempt.operator))
}

fn scheduled(node: &NodeContext, history: &MessageHistory, due_at: i64) -> Wait {
    let (reason, text) = match history.attempts.last() {
        None => (
            "schedule",
            format!("its sender wants it to be sent at {}", shown(due_at)),
        ),
        Some(last) => (
            "retry",
            format!(
                "it is tried again at {}, after {} of {}",
                shown(due_at),
                status(last),
                node.name_of(last.operator)
            ),
        ),
    };
    Wait {
        until: time(due_at),
        ..said(reason, text)
    }
}

async fn waiting(node: &Arc<NodeContext>, history: &MessageHistory) -> Wait {
    let (message, queue) = (&history.stored.message, history.stored.queue);
    let plan = node.full_plan();
    let is_unsure = history.attempts.last().is_some_and(|last| {
        last.status == SentRow::NO_ANSWER
            && plan.outcome_policy(last.operator) == OutcomePolicy::Wait
    });
    if is_unsure {
        return said(
            "outcome unknown",
            "no answer came to its last attempt: it waits for a receipt, and is not sent meanwhile",
        );
    }
    if Some(queue) == plan.resolve_queue {
        return said(
            "lookup",
            "the network of its destination is being looked up",
        );
    }
    if Some(queue) == plan.imsi_queue {
        return said("lookup", "the IMSI of its destination is being looked up");
    }
    if queue == plan.assembly {
        return said("parts", "the other parts of its text are awaited");
    }
    if node.store.is_stalled() {
        return said(
            "store",
            "the store cannot write, so nothing is sent: the disk is full, or the database does not answer",
        );
    }
    if let Some(port) = node.queue(queue)
        && remote_command::owner_of(node, queue, message).is_none()
    {
        let look = QueueCommand {
            verb: Verb::Look.into(),
            id: message.id,
            ..QueueCommand::default()
        };
        match orders::ask(&port, look).await {
            Ok(reply) if reply.outcome() == Outcome::InFlight => {
                return said(
                    "answer",
                    format!("it is sent, and {} has not answered yet", port.name),
                );
            }
            Ok(_) => {}
            Err(refusal) => return said("queue", refusal.detail),
        }
        if port.kind == QueueKind::Internal {
            return said("turn", format!("{} passes it on", port.name));
        }
    }
    of_queue(&stand(node, queue))
}

fn stand(node: &NodeContext, queue: u32) -> Stand {
    let name = node.name_of(queue);
    let found = |queue: &QueueSnapshot| queue.name == name;
    let list = match QueueName::parse(&name) {
        QueueName::Gsm(_) => whole::gsms(node),
        QueueName::Operator(_) => whole::operators(node),
        _ => Vec::new(),
    };
    let operator = list
        .into_iter()
        .find(|operator| operator.queue.as_ref().is_some_and(found));
    let queue = whole::queues(node).into_iter().find(found);
    Stand {
        queue: queue.unwrap_or_default(),
        operator,
        name,
    }
}

/// Why a message waits that is due, and that no session has.
fn of_queue(stand: &Stand) -> Wait {
    let (name, queue) = (&stand.name, &stand.queue);
    if queue.name.is_empty() {
        return said(
            "no queue",
            format!("there is no queue {name} any more: move the message to another"),
        );
    }
    if queue.suspended {
        return said(
            "suspended",
            format!("{name} is suspended{}", by(&queue.suspended_by)),
        );
    }
    if let Some(operator) = stand.operator.as_ref().filter(|one| one.paused) {
        let id = &operator.id;
        return said(
            "paused",
            format!(
                "every bind to {id} is paused{}, until it is resumed",
                by(&queue.paused_by)
            ),
        );
    }
    if queue.sessions == 0 && !QueueName::parse(name).is_test() {
        return no_session(stand);
    }
    match queue.breaker.as_str() {
        "open" => {
            return said(
                "failing",
                format!("{name} fails: it is left alone for a while"),
            );
        }
        "half open" => {
            return said(
                "failing",
                format!("{name} has failed: a few messages probe it"),
            );
        }
        _ => {}
    }
    if queue.on_hold || queue.slowed {
        let pace = if queue.slowed {
            format!("it is sent {:.1} messages per second", queue.rate)
        } else {
            "nothing is sent for a moment".to_owned()
        };
        return said("throttled", format!("{name} throttles: {pace}"));
    }
    if queue.room == 0 {
        return said(
            "window",
            format!("the windows of all binds of {name} are full: it answers slowly"),
        );
    }
    if queue.rate > 0.0 {
        return said(
            "rate",
            format!(
                "the rate of {name} is {} per second, and {} messages wait for it",
                queue.rate, queue.waiting
            ),
        );
    }
    said(
        "turn",
        format!(
            "{} messages wait in {name}, and leave in turn",
            queue.waiting
        ),
    )
}

fn no_session(stand: &Stand) -> Wait {
    let Some(operator) = &stand.operator else {
        let name = QueueName::parse(&stand.name)
            .account()
            .unwrap_or(&stand.name);
        return said("no bind", format!("{name} is not bound to receive"));
    };
    let why = match operator.last_error.as_str() {
        "" => String::new(),
        error => format!(": {error}"),
    };
    let next = operator.binds.iter().map(|bind| bind.next_reconnect_at);
    let until = next.filter(|at| *at > 0).min().unwrap_or_default();
    let again = match until {
        0 => String::new(),
        until => format!("; it is tried again at {}", shown(until)),
    };
    Wait {
        until: time(until),
        ..said(
            "no bind",
            format!("no bind to {} is up{why}{again}", operator.id),
        )
    }
}

/// " by" and whose order it was, without from where; empty if that is not known.
pub(super) fn by(whom: &str) -> String {
    match whom.split_once(" from ").map_or(whom, |(name, _)| name) {
        "" => String::new(),
        name => format!(" by {name}"),
    }
}

fn status(attempt: &SentRow) -> String {
    match attempt.status {
        SentRow::NO_ANSWER => "no answer".to_owned(),
        status => command_status::display(status),
    }
}

fn shown(at: i64) -> String {
    time(at).unwrap_or_else(|| "an unknown time".to_owned())
}

fn said(reason: &str, text: impl Into<String>) -> Wait {
    Wait {
        reason: reason.to_owned(),
        text: text.into(),
        until: None,
        since: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pb::BindSnapshot;

    fn bound() -> Stand {
        Stand {
            name: "operator:up".to_owned(),
            queue: QueueSnapshot {
                name: "operator:up".to_owned(),
                sessions: 2,
                room: 5,
                waiting: 30,
                ..QueueSnapshot::default()
            },
            operator: Some(OperatorView {
                id: "up".to_owned(),
                bound: 2,
                ..OperatorView::default()
            }),
        }
    }

    fn reason(change: impl FnOnce(&mut Stand)) -> (String, String) {
        let mut stand = bound();
        change(&mut stand);
        let waits = of_queue(&stand);
        (waits.reason, waits.text)
    }

    #[test]
    fn the_first_thing_in_the_way_is_named() {
        let (word, text) = reason(|_| {});
        assert_eq!(word, "turn");
        assert!(text.contains("30 messages"), "{text}");
        let (word, text) = reason(|stand| stand.queue.rate = 10.0);
        assert_eq!(word, "rate");
        assert!(text.contains("is 10 per second"), "{text}");
        assert_eq!(reason(|stand| stand.queue.room = 0).0, "window");
        let (word, text) = reason(|stand| {
            stand.queue.rate = 2.5;
            stand.queue.slowed = true;
        });
        assert_eq!(word, "throttled");
        assert!(text.contains("2.5 messages per second"), "{text}");
        assert_eq!(
            reason(|stand| stand.queue.breaker = "open".to_owned()).0,
            "failing"
        );
    }

    #[test]
    fn what_is_held_says_since_when_why_and_what_to_do() {
        let waits = held(7);
        let since = "1970-01-01T00:00:00.007Z";
        assert_eq!(waits.reason, "held");
        assert_eq!(waits.since.as_deref(), Some(since));
        for part in [
            since,
            "may have been sent",
            "cancel",
            "release",
            "smsc held",
        ] {
            assert!(waits.text.contains(part), "{part}: {}", waits.text);
        }
    }

    #[test]
    fn who_has_stopped_it_is_named_without_an_address() {
        let (word, text) = reason(|stand| {
            stand.queue.suspended = true;
            stand.queue.suspended_by = "anna from 10.0.0.7:5123".to_owned();
        });
        assert_eq!(
            (word.as_str(), text.as_str()),
            ("suspended", "operator:up is suspended by anna")
        );
        let (word, text) = reason(|stand| {
            stand.queue.sessions = 0;
            stand.queue.paused_by = "anna from 10.0.0.7:5123".to_owned();
            if let Some(operator) = &mut stand.operator {
                operator.paused = true;
            }
        });
        assert_eq!(word, "paused");
        assert!(text.contains("paused by anna, until"), "{text}");
    }

    #[test]
    fn a_bind_that_is_down_says_why_and_when_it_is_tried_again() {
        let mut stand = bound();
        stand.queue.sessions = 0;
        if let Some(operator) = &mut stand.operator {
            operator.last_error = "connect: refused".to_owned();
            operator.binds = vec![BindSnapshot {
                next_reconnect_at: 7,
                ..BindSnapshot::default()
            }];
        }
        let waits = of_queue(&stand);
        assert_eq!(waits.reason, "no bind");
        assert_eq!(waits.until.as_deref(), Some("1970-01-01T00:00:00.007Z"));
        assert_eq!(
            waits.text,
            "no bind to up is up: connect: refused; it is tried again at 1970-01-01T00:00:00.007Z"
        );
        let account = Stand {
            name: "account:test".to_owned(),
            queue: QueueSnapshot {
                name: "account:test".to_owned(),
                ..QueueSnapshot::default()
            },
            operator: None,
        };
        assert_eq!(of_queue(&account).text, "test is not bound to receive");
        assert_eq!(of_queue(&Stand::default()).reason, "no queue");
    }
}
