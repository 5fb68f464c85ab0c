//! Problems of limits: which one it is, when it lets the request pass, and the size that fits.

use std::time::Duration;

use actix_web::http::StatusCode;
use serde::Serialize;
use serde_json::json;

use super::{Problem, ProblemType};
use crate::clock;
use crate::domain::moment;

const RETRY_AT: &str = "retry_at";
/// When to come back if a queue or the disk is full.
const FULL_FOR: Duration = Duration::from_secs(30);

/// A limit, by the word that `limit` of a problem says. More may be added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum LimitName {
    /// `rate` and `burst` of the account.
    Rate,
    /// A limit between addresses.
    Policy,
    /// `quota_per_day` of the account.
    Quota,
    /// The prepaid balance.
    Balance,
    /// Messages that wait in a queue.
    Queue,
    /// `max_waiting` of the account.
    Waiting,
    /// Free space of the disk.
    Disk,
    /// Memory for submissions that are not durable, or for bodies of requests.
    Memory,
    /// Requests of a key or token at once.
    Requests,
    /// Connections that have shown no valid key or token.
    Connections,
    /// Wrong keys, tokens or passwords from an address.
    WrongKeys,
}

// === impl Problem ===

impl Problem {
    /// A client that asks for more than its share; it may come again after this time.
    pub(crate) fn too_many(limit: LimitName, wait: Duration, detail: &str) -> Self {
        let wait_ms = i64::try_from(wait.as_millis()).unwrap_or(i64::MAX);
        let at = clock::now_ms().saturating_add(wait_ms);
        Self::too_many_until(limit, Some(at), detail)
    }

    /// A refusal by a limit that lets the request pass from this moment on, Unix milliseconds, if that is known.
    pub(crate) fn too_many_until(limit: LimitName, at: Option<i64>, detail: &str) -> Self {
        let problem = Self::over_limit(detail).of_limit(limit);
        match at {
            Some(at) => problem.until(at),
            None => problem.retry_after(1_000),
        }
    }

    /// A request that has more than its account may ever submit at once: `most` fits.
    pub(crate) fn too_big_a_batch(detail: &str, most: u32) -> Self {
        let problem = Self::over_limit(detail).of_limit(LimitName::Rate);
        problem.with("most", json!(most))
    }

    /// A connection that was closed, because there are too many.
    pub(crate) fn too_many_connections(detail: &str) -> Self {
        Self::unavailable(detail).of_limit(LimitName::Connections)
    }

    /// Something is full; when it will have room is not known.
    pub(crate) fn full(limit: Option<LimitName>, detail: &str) -> Self {
        let problem = Self::later(StatusCode::INSUFFICIENT_STORAGE, FULL_FOR, detail);
        limit.into_iter().fold(problem, Self::of_limit)
    }

    /// A message that the account cannot pay.
    pub(crate) fn payment_required(detail: &str) -> Self {
        Self::new(ProblemType::PaymentRequired, detail).of_limit(LimitName::Balance)
    }

    /// Moves the moment at which to come back, if the problem has one, to this one at the earliest, Unix milliseconds.
    pub(crate) fn not_before(self, at: Option<i64>) -> Self {
        match at {
            Some(at) if self.more.contains_key(RETRY_AT) => self.until(at),
            _ => self,
        }
    }

    fn over_limit(detail: &str) -> Self {
        Self::new(ProblemType::TooManyRequests, detail)
    }

    fn of_limit(self, limit: LimitName) -> Self {
        self.with("limit", json!(limit))
    }

    /// Says when to come back.
    fn until(self, at: i64) -> Self {
        let left_ms = at.saturating_sub(clock::now_ms()).max(1).unsigned_abs();
        self.retry_after(left_ms)
            .with(RETRY_AT, json!(moment::text(at)))
    }

    fn retry_after(self, wait_ms: u64) -> Self {
        self.with_header("Retry-After", wait_ms.div_ceil(1_000).to_string())
    }
}

#[cfg(test)]
mod tests {
    use actix_web::ResponseError as _;

    use super::*;

    fn retry_after(problem: &Problem) -> u64 {
        let answer = problem.error_response();
        let said = answer.headers().get("Retry-After").unwrap();
        said.to_str().unwrap().parse().unwrap()
    }

    #[test]
    fn a_limit_says_when_it_ends() {
        let hours = Duration::from_secs(8 * 3600);
        let problem = Problem::too_many(LimitName::Quota, hours, "used up");
        assert_eq!(retry_after(&problem), 8 * 3600);
        assert_eq!(problem.details().limit.as_deref(), Some("quota"));
        assert!(problem.details().retry_at.is_some());
        let soon = Problem::too_many(LimitName::Rate, Duration::ZERO, "too fast");
        assert_eq!(retry_after(&soon), 1, "never at once");
        let wrong = Problem::too_many(LimitName::WrongKeys, hours, "too many");
        assert_eq!(wrong.details().limit.as_deref(), Some("wrong-keys"));
    }

    #[test]
    fn what_never_fits_says_what_does() {
        let details = Problem::too_big_a_batch("too many", 5).details();
        assert_eq!((details.most, details.retry_at), (Some(5), None));
        assert_eq!(details.r#type, "urn:smsc:problem:too-many-requests");
    }
}
