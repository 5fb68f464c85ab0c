//! What an answer means: for the callback, for the receiver's pace, and for its account.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use actix::{ActorFutureExt as _, AsyncContext as _, Context, WrapFuture as _};
use tokio::time::Instant;

use super::state::{CallbackSession, Ended};
use crate::actors::callbacks::client::{Answer, NoAnswer};
use crate::actors::context::NodeContext;
use crate::actors::context::remote_command;
use crate::actors::orders;
use crate::actors::runtime::supervise::jitter;
use crate::actors::session::outgoing::InFlight;
use crate::clock;
use crate::domain::callback::pace;
use crate::domain::command_status;
use crate::pb::order::What;
use crate::pb::queue_command::Verb;
use crate::pb::{CallbackAttempt, CommandQueue, Commanded};
use crate::telemetry::metrics::CallbackLabel;

/// A state that was not sent because a later one is known, as the metric names it.
pub(super) const SUPERSEDED: &str = "superseded";
/// Attempts that the administrator sees.
const SHOWN: usize = 10;

/// What becomes of a callback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    /// 2xx.
    Taken,
    /// The receiver wants none any more.
    Gone,
    /// It is sent again; the receiver may have said when, and may want nothing else before.
    Later { asked: Option<Duration>, all: bool },
    /// It was not sent: nothing could be.
    Unreachable,
}

// === impl Verdict ===

impl Verdict {
    fn of(result: &Result<Answer, NoAnswer>) -> Self {
        match result {
            Ok(answer) if (200..300).contains(&answer.status) && !answer.lacks_acknowledgement => {
                Self::Taken
            }
            Ok(Answer { status: 410, .. }) => Self::Gone,
            Ok(answer) => Self::Later {
                asked: answer.retry_after,
                all: matches!(answer.status, 429 | 503) && answer.retry_after.is_some(),
            },
            Err(NoAnswer::TimedOut | NoAnswer::Broken(_)) => Self::Later {
                asked: None,
                all: false,
            },
            Err(NoAnswer::Forbidden(_) | NoAnswer::Unreachable(_)) => Self::Unreachable,
        }
    }
}

/// How a request ended, as the metric names it.
fn label(result: &Result<Answer, NoAnswer>) -> &'static str {
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

/// The same in words, for the history of a message and for the administrator.
fn words(result: &Result<Answer, NoAnswer>) -> String {
    match result {
        Ok(answer) if answer.lacks_acknowledgement => {
            format!("HTTP {} without ACK/Jasmin", answer.status)
        }
        Ok(answer) => format!("HTTP {}", answer.status),
        Err(error) => error.to_string(),
    }
}

/// The same for the administrator.
pub fn attempt(result: &Result<Answer, NoAnswer>, after: Duration) -> CallbackAttempt {
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
fn reason(result: &Result<Answer, NoAnswer>) -> (String, String) {
    let code = result.as_ref().map(|answer| answer.status.to_string());
    (
        format!("callback: {}", words(result)),
        code.unwrap_or_default(),
    )
}

impl CallbackSession {
    /// A request has ended.
    pub(super) fn ended(&mut self, ended: Ended, ctx: &mut Context<Self>) {
        let Ended {
            came,
            work,
            subscriber,
            result,
            after,
        } = ended;
        self.sending.retain(|id| *id != work.context.id);
        self.count(&result, after);
        let verdict = Verdict::of(&result);
        match verdict {
            Verdict::Gone | Verdict::Unreachable => self.lanes.put_back(came, subscriber, work),
            Verdict::Taken | Verdict::Later { .. } => {
                self.lanes.finished(&subscriber);
                self.settle(&work.context, verdict, &result, after);
            }
        }
        match verdict {
            Verdict::Taken => self.pace.succeeded(),
            Verdict::Gone => self.suspend(ctx),
            Verdict::Later { asked, all } => {
                let rest = self.pace.failed();
                self.rest(rest.max(asked.filter(|_| all).unwrap_or_default()));
            }
            Verdict::Unreachable => {
                let rest = self.pace.unreachable();
                // Those that follow may be as old: they are looked at at once.
                if !self.give_up_old(&result) {
                    self.rest(rest);
                }
            }
        }
    }

    /// Tells the queue what became of a callback that was sent. One that was not taken is sent again after a pause,
    /// or given up if it has been tried for long enough.
    fn settle(
        &mut self,
        context: &InFlight,
        verdict: Verdict,
        result: &Result<Answer, NoAnswer>,
        after: Duration,
    ) {
        let is_over = self.is_over(context);
        let Some(serving) = &mut self.serving else {
            return;
        };
        // To the history of an MO message it is what an ESME would have said.
        let status = result.is_ok().then_some(command_status::ESME_RX_T_APPN);
        match verdict {
            Verdict::Later { .. } if is_over => {
                serving.give_up(context, status, after, reason(result));
            }
            Verdict::Later { asked, .. } => {
                let pause = jitter(pace::pause(context.attempt, asked));
                serving.later(context, status, after, pause);
            }
            _ => serving.done(context, after, false),
        }
    }

    /// Gives up what waits for a receiver that cannot be reached and has been tried for as long as it may be. False
    /// when there was nothing.
    fn give_up_old(&mut self, result: &Result<Answer, NoAnswer>) -> bool {
        if !self.lanes.iter().any(|work| self.is_over(&work.context)) {
            return false;
        }
        for (subscriber, work) in self.lanes.drain() {
            if !self.is_over(&work.context) {
                self.lanes.push(subscriber, work);
            } else if let Some(serving) = &mut self.serving {
                serving.give_up(&work.context, None, Duration::ZERO, reason(result));
            }
        }
        true
    }

    /// Whether it has been tried for as long as it may be.
    fn is_over(&self, context: &InFlight) -> bool {
        self.plan.as_ref().is_some_and(|plan| {
            let tried_for = clock::now_ms().saturating_sub(context.since);
            let tried_for = u64::try_from(tried_for).unwrap_or_default();
            Duration::from_millis(tried_for) >= plan.config.callback_retry_for
        })
    }

    /// Leaves the receiver alone; what waits for it keeps its place.
    fn rest(&mut self, rest: Duration) {
        if rest.is_zero() {
            return;
        }
        let until = Instant::now() + jitter(rest);
        self.rest_until = Some(self.rest_until.map_or(until, |before| before.max(until)));
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

    fn count(&mut self, result: &Result<Answer, NoAnswer>, after: Duration) {
        self.count_as(label(result));
        if result.is_ok() {
            self.snapshot.answered(after);
        }
        let attempts = &mut self.snapshot.attempts;
        attempts.truncate(SHOWN - 1);
        attempts.insert(0, attempt(result, after));
        let is_taken = Verdict::of(result) == Verdict::Taken;
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

    fn answer(status: u16, retry_after: Option<u64>) -> Result<Answer, NoAnswer> {
        Ok(Answer {
            status,
            retry_after: retry_after.map(Duration::from_secs),
            said: String::new(),
            lacks_acknowledgement: false,
        })
    }

    #[test]
    fn a_receiver_of_jasmin_s_must_say_so() {
        let result = answer(200, None).map(|answer| Answer {
            lacks_acknowledgement: true,
            ..answer
        });
        assert!(matches!(Verdict::of(&result), Verdict::Later { .. }));
        assert_eq!(label(&result), "nack");
    }

    #[test]
    fn only_2xx_takes_and_only_410_ends() {
        let later = Verdict::Later {
            asked: None,
            all: false,
        };
        for (status, verdict) in [
            (200, Verdict::Taken),
            (204, Verdict::Taken),
            (299, Verdict::Taken),
            (301, later),
            (307, later),
            (400, later),
            (404, later),
            (410, Verdict::Gone),
            (429, later),
            (500, later),
            (503, later),
        ] {
            assert_eq!(Verdict::of(&answer(status, None)), verdict, "{status}");
        }
    }

    #[test]
    fn a_receiver_that_names_a_time_is_left_alone_only_when_it_is_overloaded() {
        let asked = Some(Duration::from_secs(9));
        for (status, all) in [(429, true), (503, true), (500, false), (404, false)] {
            let verdict = Verdict::of(&answer(status, Some(9)));
            assert_eq!(verdict, Verdict::Later { asked, all }, "{status}");
        }
    }

    #[test]
    fn what_was_never_sent_is_not_an_attempt() {
        let text = String::new;
        for (error, verdict) in [
            (NoAnswer::Forbidden(text()), Verdict::Unreachable),
            (NoAnswer::Unreachable(text()), Verdict::Unreachable),
        ] {
            assert_eq!(Verdict::of(&Err(error)), verdict);
        }
        for error in [NoAnswer::TimedOut, NoAnswer::Broken(text())] {
            assert!(matches!(Verdict::of(&Err(error)), Verdict::Later { .. }));
        }
    }
}
