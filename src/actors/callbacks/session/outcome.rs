//! What an answer means: for the callback, for others to its URL or host, and for its account.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use actix::{ActorFutureExt as _, AsyncContext as _, Context, WrapFuture as _};
use tokio::time::Instant;

use super::state::{CallbackSession, EndedRequest, ReadyCallback};
use crate::actors::callbacks::client::{CallbackResponse, NoAnswer};
use crate::actors::callbacks::receivers::{CallbackSaid, TakenCallback};
use crate::actors::context::NodeContext;
use crate::actors::context::remote_command;
use crate::actors::orders;
use crate::actors::runtime::supervise::jitter;
use crate::actors::session::bound::InFlight;
use crate::actors::session::core::TICK;
use crate::clock;
use crate::domain::callback::pace::{self, LONGEST_REST};
use crate::domain::command_status;
use crate::pb::order::What;
use crate::pb::queue_command::Verb;
use crate::pb::{CallbackAttempt, CommandQueue, Commanded};
use crate::telemetry::metrics::CallbackLabel;

/// A state that was not sent because a later one is known, as the metric names it.
pub(super) const SUPERSEDED: &str = "superseded";
/// One that was set aside because the history of its message cannot be read, as the metric names it.
pub(super) const UNREADABLE: &str = "unreadable";
/// Attempts that the administrator sees.
const SHOWN: usize = 10;

/// What becomes of a callback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CallbackVerdict {
    /// 2xx.
    Taken,
    /// The receiver wants none any more.
    Gone,
    /// It is sent again; its receiver may have said when.
    Later(Option<Duration>),
    /// It was not sent: nothing could be.
    Unreachable,
}

// === impl CallbackVerdict ===

impl CallbackVerdict {
    fn of(result: &Result<CallbackResponse, NoAnswer>) -> Self {
        match result {
            Ok(answer) if (200..300).contains(&answer.status) && !answer.lacks_acknowledgement => {
                Self::Taken
            }
            Ok(CallbackResponse { status: 410, .. }) => Self::Gone,
            Ok(answer) => Self::Later(answer.retry_after),
            Err(NoAnswer::TimedOut | NoAnswer::Broken(_)) => Self::Later(None),
            Err(NoAnswer::Forbidden(_) | NoAnswer::Unreachable(_)) => Self::Unreachable,
        }
    }
}

/// What a result says about others to the same URL. What is wrong with one callback (4xx) says nothing.
fn said_by(result: &Result<CallbackResponse, NoAnswer>) -> CallbackSaid {
    match result {
        Ok(answer) => match answer.status {
            200..300 if !answer.lacks_acknowledgement => CallbackSaid::Works,
            429 | 503 => CallbackSaid::Fails(answer.retry_after.unwrap_or_default()),
            408 | 425 => CallbackSaid::Fails(Duration::ZERO),
            400..500 => CallbackSaid::Nothing,
            _ => CallbackSaid::Fails(Duration::ZERO),
        },
        Err(NoAnswer::TimedOut | NoAnswer::Broken(_)) => CallbackSaid::Fails(Duration::ZERO),
        Err(NoAnswer::Forbidden(_) | NoAnswer::Unreachable(_)) => CallbackSaid::Unreachable,
    }
}

/// How a request ended, as the metric names it.
fn label(result: &Result<CallbackResponse, NoAnswer>) -> &'static str {
    match result {
        Ok(answer) if (200..300).contains(&answer.status) && answer.lacks_acknowledgement => "nack",
        Ok(answer) => match answer.status {
            410 => "gone",
            429 => "throttled",
            200..300 => "ok",
            300..400 => "redirect",
            400..500 => "4xx",
            _ => "5xx",
        },
        Err(NoAnswer::Forbidden(_)) => "forbidden",
        Err(NoAnswer::Unreachable(_)) => "unreachable",
        Err(NoAnswer::TimedOut) => "timeout",
        Err(NoAnswer::Broken(_)) => "broken",
    }
}

/// A result in words, for the history of a message and for the administrator.
fn words(result: &Result<CallbackResponse, NoAnswer>) -> String {
    match result {
        Ok(answer) if answer.lacks_acknowledgement => {
            format!("HTTP {} without ACK/Jasmin", answer.status)
        }
        Ok(answer) => format!("HTTP {}", answer.status),
        Err(error) => error.to_string(),
    }
}

/// What an attempt had for an outcome, for the administrator.
pub fn attempt(result: &Result<CallbackResponse, NoAnswer>, after: Duration) -> CallbackAttempt {
    let status = result.as_ref().ok().map(|answer| answer.status);
    let error = result.as_ref().err();
    CallbackAttempt {
        at: clock::now_ms(),
        status: status.map_or(0, u32::from),
        error: error.map_or_else(String::new, ToString::to_string),
        latency_ms: u32::try_from(after.as_millis()).unwrap_or(u32::MAX),
        said: result
            .as_ref()
            .map_or_else(|_| String::new(), |answer| answer.said.clone()),
    }
}

/// Why a callback is given up, and the same as an error code of three digits, which receipts have room for.
fn reason(result: &Result<CallbackResponse, NoAnswer>) -> (String, String) {
    let code = result.as_ref().map(|answer| answer.status.to_string());
    (
        format!("callback: {}", words(result)),
        code.unwrap_or_default(),
    )
}

impl CallbackSession {
    /// A request has ended.
    pub(super) fn ended(&mut self, ended: EndedRequest, ctx: &mut Context<Self>) {
        let EndedRequest {
            taken,
            result,
            after,
        } = ended;
        let work = &taken.item;
        self.sending.retain(|id| *id != work.context.id);
        self.count(&result, after);
        let verdict = CallbackVerdict::of(&result);
        let is_over = self.is_over(&work.context);
        let goes_on = match verdict {
            CallbackVerdict::Taken | CallbackVerdict::Later(_) => false,
            // It has been tried itself, so it is not given up for another one.
            CallbackVerdict::Unreachable => !is_over,
            CallbackVerdict::Gone => true,
        };
        let key = taken.key.clone();
        // Those behind it may be as old, and each is tried itself.
        let longest = match (verdict, is_over) {
            (CallbackVerdict::Unreachable, true) => Duration::ZERO,
            (_, true) => TICK,
            (_, false) => Duration::MAX,
        };
        if verdict == CallbackVerdict::Gone {
            self.gone(taken, ctx);
        } else if goes_on {
            self.receivers.put_back(taken);
        } else {
            self.receivers.finished(&key, taken.turn, &taken.subscriber);
            self.settle(&work.context, verdict, &result, after);
        }
        let said = said_by(&result);
        self.receivers.note(&key, said, longest, Instant::now());
    }

    /// Nothing more is wanted there. Where all goes there, that suspends the queue.
    fn gone(&mut self, taken: TakenCallback<ReadyCallback>, ctx: &mut Context<Self>) {
        if self.has_one_url() {
            self.receivers.put_back(taken);
            return self.suspend(ctx);
        }
        let target = &taken.item.callback.target;
        if self.gone.insert(target.uri().to_string()) {
            let (queue, host) = (&self.queue.name, target.host());
            // The rest of the URL may be a secret of the receiver.
            tracing::error!(%queue, host, port = target.port(), "a receiver of callbacks answered 410 Gone: its URL gets nothing more until the queue is resumed");
        }
        let (key, turn) = (&taken.key, taken.turn);
        self.receivers.finished(key, turn, &taken.subscriber);
        self.hold_up(&taken.item, LONGEST_REST);
    }

    /// Tells the queue what became of a callback that was sent. One that was not taken is sent again after a pause,
    /// or given up if it has been tried for long enough.
    fn settle(
        &mut self,
        context: &InFlight,
        verdict: CallbackVerdict,
        result: &Result<CallbackResponse, NoAnswer>,
        after: Duration,
    ) {
        let is_over = self.is_over(context);
        // To the history of an MO message it is what an ESME would have said.
        let status = result.is_ok().then_some(command_status::ESME_RX_T_APPN);
        self.served.note(|serving| match verdict {
            CallbackVerdict::Later(_) | CallbackVerdict::Unreachable if is_over => {
                let (reason, error) = reason(result);
                serving.give_up(context, status, after, reason, error);
            }
            CallbackVerdict::Later(asked) => {
                let pause = jitter(pace::pause(context.attempt, asked));
                let pause = pause.max(asked.unwrap_or_default());
                serving.later(context, status, after, pause);
            }
            _ => serving.done(context, after, false),
        });
    }

    /// Whether it has been tried for as long as it may be.
    fn is_over(&self, context: &InFlight) -> bool {
        self.plan.as_ref().is_some_and(|plan| {
            let tried_for = clock::now_ms().saturating_sub(context.since);
            let tried_for = u64::try_from(tried_for).unwrap_or_default();
            Duration::from_millis(tried_for) >= plan.config.callback_retry_for
        })
    }

    /// Suspends the account's queue on every node; an administrator resumes it.
    fn suspend(&mut self, ctx: &mut Context<Self>) {
        if self.queue.suspended.swap(true, Ordering::Relaxed) {
            return;
        }
        let (node, name) = (Arc::clone(&self.node), self.queue.name.clone());
        tracing::error!(queue = %name, "the receiver of callbacks answered 410 Gone: its queue is suspended until it is resumed");
        let queue = self.queue.id;
        let tell = async move {
            if let Err(error) = node.store.set_paused(queue, true).await {
                tracing::error!(queue = %name, %error, "after a restart it is tried again");
            }
            suspend_elsewhere(&node, name).await;
        };
        ctx.spawn(tell.into_actor(self).map(|(), _, _| ()));
    }

    /// Counts a callback by its result.
    pub(super) fn count_as(&self, result: &'static str) {
        let label = CallbackLabel {
            account: self.snapshot.name.clone(),
            result,
        };
        self.node.metrics.callbacks.get_or_create(&label).inc();
    }

    fn count(&mut self, result: &Result<CallbackResponse, NoAnswer>, after: Duration) {
        self.count_as(label(result));
        if result.is_ok() {
            self.snapshot.answered(after);
        }
        let attempts = &mut self.snapshot.attempts;
        attempts.truncate(SHOWN - 1);
        attempts.insert(0, attempt(result, after));
        let is_taken = CallbackVerdict::of(result) == CallbackVerdict::Taken;
        if is_taken {
            self.snapshot.last_error.clear();
        } else {
            self.snapshot.errors_total += 1;
            self.snapshot.last_error = words(result);
        }
    }
}

/// Leaves the other nodes the command to suspend a queue, and the audit log a line.
async fn suspend_elsewhere(node: &NodeContext, name: String) {
    let by = "callback: HTTP 410".to_owned();
    let what = format!("queue {name}");
    let order = CommandQueue {
        name,
        verb: Verb::Suspend.into(),
        by: by.clone(),
    };
    let told = remote_command::to_others(node, What::Queue(order)).await;
    let result = told.map(|pending| Commanded { count: 1, pending });
    orders::audit(&by, Verb::Suspend.as_str_name(), &what, &result);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, retry_after: Option<u64>) -> Result<CallbackResponse, NoAnswer> {
        Ok(CallbackResponse {
            status,
            retry_after: retry_after.map(Duration::from_secs),
            said: String::new(),
            lacks_acknowledgement: false,
        })
    }

    #[test]
    fn a_receiver_of_jasmin_s_must_say_so() {
        let result = answer(200, None).map(|answer| CallbackResponse {
            lacks_acknowledgement: true,
            ..answer
        });
        assert_eq!(CallbackVerdict::of(&result), CallbackVerdict::Later(None));
        assert_eq!(said_by(&result), CallbackSaid::Fails(Duration::ZERO));
        assert_eq!(label(&result), "nack");
    }

    #[test]
    fn only_2xx_takes_and_only_410_ends() {
        let later = CallbackVerdict::Later(None);
        for (status, verdict) in [
            (200, CallbackVerdict::Taken),
            (204, CallbackVerdict::Taken),
            (299, CallbackVerdict::Taken),
            (301, later),
            (307, later),
            (400, later),
            (404, later),
            (410, CallbackVerdict::Gone),
            (429, later),
            (500, later),
            (503, later),
        ] {
            assert_eq!(
                CallbackVerdict::of(&answer(status, None)),
                verdict,
                "{status}"
            );
        }
    }

    #[test]
    fn a_receiver_that_names_a_time_is_left_alone_only_when_it_is_overloaded() {
        let asked = Duration::from_secs(9);
        for (status, said) in [
            (429, CallbackSaid::Fails(asked)),
            (503, CallbackSaid::Fails(asked)),
            (500, CallbackSaid::Fails(Duration::ZERO)),
            (404, CallbackSaid::Nothing),
        ] {
            let answer = answer(status, Some(9));
            assert_eq!(
                CallbackVerdict::of(&answer),
                CallbackVerdict::Later(Some(asked))
            );
            assert_eq!(said_by(&answer), said, "{status}");
        }
    }

    #[test]
    fn what_is_wrong_with_one_callback_says_nothing_of_others() {
        for status in [400, 401, 403, 404, 410, 413, 422, 451] {
            assert_eq!(said_by(&answer(status, None)), CallbackSaid::Nothing);
        }
        for status in [301, 408, 425, 429, 500, 502, 503, 504] {
            let fails = CallbackSaid::Fails(Duration::ZERO);
            assert_eq!(said_by(&answer(status, None)), fails, "{status}");
        }
        assert_eq!(said_by(&answer(204, None)), CallbackSaid::Works);
    }

    #[test]
    fn what_was_never_sent_is_not_an_attempt() {
        let text = String::new;
        for (error, verdict) in [
            (NoAnswer::Forbidden(text()), CallbackVerdict::Unreachable),
            (NoAnswer::Unreachable(text()), CallbackVerdict::Unreachable),
        ] {
            assert_eq!(CallbackVerdict::of(&Err(error)), verdict);
        }
        for error in [NoAnswer::TimedOut, NoAnswer::Broken(text())] {
            assert_eq!(
                CallbackVerdict::of(&Err(error)),
                CallbackVerdict::Later(None)
            );
        }
    }
}
