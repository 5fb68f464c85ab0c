//! Limits per client: concurrent requests by token, wrong tokens by address, and time.
//!
//! The counts are of this process. Guarantees that a client slows down only itself: each has its
//! own limit, and none of them can fill the Admin actor's mailbox.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use actix_web::body::BoxBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::StatusCode;
use actix_web::http::header::CONTENT_TYPE;
use actix_web::middleware::Next;
use actix_web::{HttpMessage, web};

use super::State;
use super::api_request::MiddlewareAnswer;
use super::bodies::BodyProgress;
use super::guard::MAX_DOCUMENT;
use super::problem::{CONTENT_TYPE as PROBLEM, LimitName, Problem};
use crate::actors::control::access::Bearer;
use crate::actors::runtime::locks::lock;
use crate::domain::penalty::Origin;

/// Every request is answered by then; the longest search takes half of it.
pub(super) const ANSWER_WITHIN: Duration = Duration::from_secs(30);
/// Wrong tokens of one address in a [`WINDOW`], after which it is not listened to until the next.
const MAX_WRONG: u32 = 100;
const WINDOW: Duration = Duration::from_secs(60);
/// Addresses that are remembered; beyond, all of them are forgotten.
const MAX_ADDRESSES: usize = 10_000;

/// Refused requests of a token in a [`WINDOW`] that are written into the audit log one by one.
const REFUSED: u32 = 20;

/// What clients are doing.
#[derive(Default)]
pub(super) struct Clients {
    /// Requests under way, by the name of the token.
    busy: Mutex<HashMap<String, usize>>,
    wrong: Mutex<HashMap<Origin, Wrong>>,
    /// Refused requests, by the name of the token.
    refused: Mutex<HashMap<String, Wrong>>,
}

/// How a refused request is recorded in the audit log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RefusalAudit {
    /// It is written.
    Write,
    /// It is counted; somebody sums up already.
    Count,
    /// It is counted, and is the first of them: to be summed up after this time.
    CountFor(Duration),
}

/// What was refused since a moment.
struct Wrong {
    since: Instant,
    count: u32,
}

/// A request under way.
pub(super) struct ServedRequest {
    clients: Arc<Clients>,
    name: String,
}

// === impl Clients ===

impl Clients {
    /// Room for one more request; `None` when `most` are under way.
    pub(super) fn begin(self: &Arc<Self>, name: &str, most: usize) -> Option<ServedRequest> {
        let mut busy = lock(&self.busy);
        let count = busy.entry(name.to_owned()).or_default();
        if *count >= most {
            return None;
        }
        *count += 1;
        Some(ServedRequest {
            clients: Arc::clone(self),
            name: name.to_owned(),
        })
    }

    /// Notes a wrong token.
    pub(super) fn was_wrong(&self, address: IpAddr, now: Instant) {
        let mut wrong = lock(&self.wrong);
        if wrong.len() >= MAX_ADDRESSES {
            wrong.clear();
        }
        let entry = wrong.entry(address.into()).or_insert(Wrong {
            since: now,
            count: 0,
        });
        if now.duration_since(entry.since) >= WINDOW {
            *entry = Wrong {
                since: now,
                count: 0,
            };
        }
        entry.count += 1;
    }

    /// Notes a request that was refused to a good token.
    pub(super) fn refused(&self, name: &str, now: Instant) -> RefusalAudit {
        let mut refused = lock(&self.refused);
        let fresh = Wrong {
            since: now,
            count: 0,
        };
        // What is counted beyond the limit stays until it is summed up.
        let is_over =
            |entry: &Wrong| entry.count <= REFUSED && now.duration_since(entry.since) >= WINDOW;
        refused.retain(|_, entry| !is_over(entry));
        let entry = refused.entry(name.to_owned()).or_insert(fresh);
        entry.count = entry.count.saturating_add(1);
        match entry.count {
            ..=REFUSED => RefusalAudit::Write,
            count if count == REFUSED + 1 => {
                let passed = now.duration_since(entry.since);
                RefusalAudit::CountFor(WINDOW.saturating_sub(passed))
            }
            _ => RefusalAudit::Count,
        }
    }

    /// How many were counted and not recorded; resets the count.
    pub(super) fn refused_besides(&self, name: &str) -> u32 {
        let entry = lock(&self.refused).remove(name);
        entry.map_or(0, |entry| entry.count.saturating_sub(REFUSED))
    }

    /// How long an address is not listened to, because it guesses tokens.
    pub(super) fn deaf_to(&self, address: IpAddr, now: Instant) -> Option<Duration> {
        let wrong = lock(&self.wrong);
        let entry = wrong.get(&address.into())?;
        let left = WINDOW.checked_sub(now.duration_since(entry.since))?;
        (entry.count >= MAX_WRONG && !left.is_zero()).then_some(left)
    }
}

impl Drop for ServedRequest {
    fn drop(&mut self) {
        let mut busy = lock(&self.clients.busy);
        if let Some(count) = busy.get_mut(&self.name) {
            *count -= 1;
            if *count == 0 {
                busy.remove(&self.name);
            }
        }
    }
}

/// Middleware: one token's requests at once, and the time for each.
pub(super) async fn fair_share(request: ServiceRequest, next: Next<BoxBody>) -> MiddlewareAnswer {
    let name = request
        .extensions()
        .get::<Bearer>()
        .map_or_else(String::new, |bearer| bearer.name.clone());
    let state = request.app_data::<web::Data<State>>().cloned();
    let state = state.ok_or_else(|| Problem::unavailable("the server has no tokens"))?;
    let Some(_busy) = state.clients.begin(&name, state.max_requests) else {
        return Err(Problem::too_many(
            LimitName::Requests,
            Duration::from_secs(1),
            "this token has as many requests under way as http.max_requests allows",
        )
        .into());
    };
    let progress = BodyProgress::of(&request);
    in_time(progress, MAX_DOCUMENT, async {
        let served = state.bodies.serve_named(&name, request, next).await;
        served.unwrap_or_else(|_| {
            let said = "the bodies of requests that this token has under way are too long together";
            Err(Problem::too_many(LimitName::Memory, Duration::from_secs(1), said).into())
        })
    })
    .await
}

/// The answer to a request, unless it takes too long; its body may have `most` octets.
pub(super) async fn in_time(
    body: BodyProgress,
    most: u64,
    answer: impl Future<Output = MiddlewareAnswer>,
) -> MiddlewareAnswer {
    let Ok(answer) = tokio::time::timeout(ANSWER_WITHIN, answer).await else {
        if body.is_awaited() {
            return Err(Problem::body_too_slow(ANSWER_WITHIN).into());
        }
        return Err(Problem::unavailable(format!(
            "there is no answer after {} seconds; what was ordered may still be carried out",
            ANSWER_WITHIN.as_secs()
        ))
        .into());
    };
    answer.map(|answer| as_problem(answer, most))
}

/// What the framework refuses on its own account, as problem+json.
fn as_problem(answer: ServiceResponse<BoxBody>, most: u64) -> ServiceResponse<BoxBody> {
    let status = answer.status();
    let is_problem = answer
        .headers()
        .get(CONTENT_TYPE)
        .is_some_and(|kind| kind.as_bytes() == PROBLEM.as_bytes());
    if !status.is_client_error() && !status.is_server_error() || is_problem {
        return answer;
    }
    let request = answer.request().clone();
    let problem = match status {
        StatusCode::PAYLOAD_TOO_LARGE => Problem::too_large(most),
        status => Problem::refused(status),
    };
    ServiceResponse::new(request, actix_web::ResponseError::error_response(&problem))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_token_has_room_of_its_own() {
        let clients = Arc::new(Clients::default());
        let one = clients.begin("ci", 2).unwrap();
        let _two = clients.begin("ci", 2).unwrap();
        assert!(clients.begin("ci", 2).is_none());
        assert!(clients.begin("other", 2).is_some());
        drop(one);
        assert!(clients.begin("ci", 2).is_some());
    }

    #[actix_web::test]
    async fn who_waits_for_a_body_is_told_so() {
        tokio::time::pause();
        for (is_awaited, status) in [(true, 408), (false, 503)] {
            let body = BodyProgress::awaited(is_awaited);
            let error = in_time(body, 1, std::future::pending()).await.unwrap_err();
            assert_eq!(error.as_response_error().status_code().as_u16(), status);
        }
    }

    #[test]
    fn who_is_refused_often_is_summed_up() {
        let clients = Clients::default();
        let now = Instant::now();
        let later = now + WINDOW / 4;
        for _ in 0..REFUSED {
            assert_eq!(clients.refused("ci", now), RefusalAudit::Write);
        }
        assert_eq!(
            clients.refused("ci", later),
            RefusalAudit::CountFor(WINDOW * 3 / 4)
        );
        assert_eq!(clients.refused("ci", later), RefusalAudit::Count);
        assert_eq!(clients.refused("other", later), RefusalAudit::Write);
        // Who sums up comes late: nothing is lost.
        assert_eq!(clients.refused("ci", now + WINDOW * 2), RefusalAudit::Count);
        assert_eq!(clients.refused_besides("ci"), 3);
        assert_eq!(clients.refused("ci", now + WINDOW * 2), RefusalAudit::Write);
        assert_eq!(clients.refused("ci", now + WINDOW * 3), RefusalAudit::Write);
        assert_eq!(lock(&clients.refused)["ci"].count, 1, "a minute begins");
    }

    #[test]
    fn who_guesses_is_not_listened_to_for_a_while() {
        let clients = Clients::default();
        let (guesser, other) = ([127, 0, 0, 1].into(), [127, 0, 0, 2].into());
        let now = Instant::now();
        for _ in 0..MAX_WRONG {
            assert_eq!(clients.deaf_to(guesser, now), None);
            clients.was_wrong(guesser, now);
        }
        assert_eq!(clients.deaf_to(guesser, now), Some(WINDOW));
        assert_eq!(clients.deaf_to(other, now), None);
        let later = now + WINDOW;
        assert_eq!(clients.deaf_to(guesser, later), None);
        clients.was_wrong(guesser, later);
        assert_eq!(clients.deaf_to(guesser, later), None);
    }
}
