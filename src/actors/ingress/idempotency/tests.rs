//! The guard, with Ingest and an embedded store.

use std::future::Future;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;

use super::*;
use crate::actors::billing::balance::NodePurses;
use crate::actors::ingress::ingest::{Accepted, Intake, Keys, accept, admit};
use crate::actors::routing::policy::PolicyState;
use crate::actors::test_support::{self, TestNode};
use crate::config::{Config, OnDuplicate};
use crate::pb::{Message, Submission, SubmitBatch};

struct Entrance {
    node: TestNode,
    intake: Arc<Intake>,
}

impl Entrance {
    async fn open(change: impl FnOnce(&mut Config)) -> Self {
        let node = test_support::node_with(1, None, change).await;
        let context = &node.context;
        let policy = Arc::new(PolicyState::new(&context.config().policy));
        let intake = Intake::new(
            Arc::clone(context),
            policy,
            Arc::default(),
            Arc::new(NodePurses::default()),
        );
        let intake = Arc::new(intake);
        Self { node, intake }
    }

    fn request(&self, key: &str, body: &str) -> Request {
        Request::new(self.node.account, key, "POST /v1/messages", body.as_bytes())
    }

    async fn begin(&self, key: &str, body: &str) -> Result<BegunRequest, NotOnce> {
        begin(&self.node.context, self.request(key, body)).await
    }

    async fn claim(&self, key: &str, body: &str) -> Box<IdempotencyClaim> {
        match self.begin(key, body).await {
            Ok(BegunRequest::New(claim)) => claim,
            other => panic!("{}", name(&other)),
        }
    }

    async fn submit(
        &self,
        claim: Box<IdempotencyClaim>,
        destinations: &[&str],
    ) -> Vec<SubmitResult> {
        let (batch, keys) = (self.batch(destinations), Keys::All(claim));
        results(admit(self.intake.clone(), batch, keys, Vec::new()).await)
    }

    fn batch(&self, destinations: &[&str]) -> SubmitBatch {
        let submission = |(sequence, destination): (usize, &&str)| Submission {
            sequence: sequence as u32,
            message: Some(Box::new(Message {
                source: Bytes::from_static(b"12345"),
                destination: Bytes::copy_from_slice(destination.as_bytes()),
                short_message: Bytes::from_static(b"hello"),
                ..Message::default()
            })),
        };
        SubmitBatch {
            sender: self.node.account,
            submissions: destinations.iter().enumerate().map(submission).collect(),
            ..SubmitBatch::default()
        }
    }
}

fn results(mut accepted: Accepted) -> Vec<SubmitResult> {
    let mut results = std::mem::take(&mut accepted.reply.results);
    results.sort_by_key(|result| result.sequence);
    results
}

fn name(begun: &Result<BegunRequest, NotOnce>) -> &'static str {
    match begun {
        Ok(BegunRequest::New(_)) => "new",
        Ok(BegunRequest::Again(_)) => "again",
        Err(NotOnce::OtherRequest) => "other request",
        Err(NotOnce::InProgress) => "in progress",
        Err(NotOnce::Full) => "full",
        Err(NotOnce::Unavailable(_) | NotOnce::Broken) => "no answer of the store",
    }
}

fn again(begun: Result<BegunRequest, NotOnce>) -> IdempotentAnswer {
    match begun {
        Ok(BegunRequest::Again(answer)) => answer,
        other => panic!("{}", name(&other)),
    }
}

fn with_duplicate_window(config: &mut Config) {
    config.account[0].duplicate_window = Duration::from_secs(60);
    config.account[0].duplicates = OnDuplicate::SameId;
}

#[actix::test]
async fn a_repetition_gets_the_answer_of_the_first() {
    let entrance = Entrance::open(|_| {}).await;
    let claim = entrance.claim("k", "body").await;
    let busy = entrance.begin("k", "body").await;
    assert_eq!(name(&busy), "in progress");
    // The second is no number.
    let first = entrance
        .submit(claim, &["447700900001", "", "447700900003"])
        .await;
    let accepted: Vec<bool> = first.iter().map(|result| result.status == 0).collect();
    assert_eq!(accepted, [true, false, true]);
    let answer = again(entrance.begin("k", "body").await);
    assert_eq!(answer.results, first);
    let other = entrance.begin("k", "other body").await;
    assert_eq!(name(&other), "other request");
    let another = entrance.begin("k2", "body").await;
    assert_eq!(name(&another), "new");
}

#[actix::test]
async fn a_key_is_free_again_when_nothing_was_accepted() {
    let entrance = Entrance::open(|_| {}).await;
    drop(entrance.claim("k", "one").await);
    let claim = entrance.claim("k", "two").await;
    let refused = entrance.submit(claim, &["", ""]).await;
    assert!(refused.iter().all(|result| result.status != 0));
    entrance.claim("k", "three").await;
}

#[actix::test]
async fn a_client_that_leaves_while_it_asks_keeps_no_key() {
    let entrance = Entrance::open(|_| {}).await;
    {
        let asking = begin(&entrance.node.context, entrance.request("k", "body"));
        let mut asking = Box::pin(asking);
        let mut once = Context::from_waker(Waker::noop());
        assert!(matches!(asking.as_mut().poll(&mut once), Poll::Pending));
    }
    let claimed = || entrance.node.context.store.stats().idempotency_keys;
    // It is asked all the same, by a task of its own.
    tokio::task::yield_now().await;
    assert_eq!(claimed(), 0);
    entrance.claim("k", "body").await;
}

#[actix::test]
async fn the_answer_has_the_outcome_of_duplicates_too() {
    let entrance = Entrance::open(with_duplicate_window).await;
    let claim = entrance.claim("k", "body").await;
    // The second repeats the first, whose outcome is not known when both are written.
    let number = "447700900001";
    let first = entrance.submit(claim, &[number, number]).await;
    assert_eq!(first[0].id, first[1].id);
    assert_eq!((first[0].status, first[1].status), (0, 0));
    assert_eq!(again(entrance.begin("k", "body").await).results, first);
}

#[actix::test]
async fn an_answer_of_nothing_but_duplicates_is_kept() {
    let entrance = Entrance::open(with_duplicate_window).await;
    let number = "447700900001";
    let batch = entrance.batch(&[number]);
    let before = results(accept(entrance.intake.clone(), batch).await);
    let claim = entrance.claim("k", "body").await;
    let first = entrance.submit(claim, &[number]).await;
    assert_eq!(first, before);
    assert_eq!(again(entrance.begin("k", "body").await).results, first);
}

#[actix::test]
async fn answers_of_many_requests_share_a_commit() {
    const REQUESTS: u64 = 8;
    let entrance = Entrance::open(|_| {}).await;
    let mut ended = Vec::new();
    for id in 1..=REQUESTS {
        let claim = entrance.claim(&format!("k{id}"), "body").await;
        let result = SubmitResult {
            id,
            ..SubmitResult::default()
        };
        ended.push((*claim, vec![result]));
    }
    let commits = || entrance.node.context.store.stats().commits;
    let before = commits();
    IdempotencyClaim::end_all(ended).await;
    assert!(commits() - before < REQUESTS / 2);
    for id in 1..=REQUESTS {
        let answer = again(entrance.begin(&format!("k{id}"), "body").await);
        assert_eq!(answer.results[0].id, id);
    }
}

#[test]
fn requests_differ_by_account_key_target_and_body() {
    let one = Request::new(1, "key", "POST /v1/messages", b"body");
    assert_eq!(one, Request::new(1, "key", "POST /v1/messages", b"body"));
    let others = [
        Request::new(2, "key", "POST /v1/messages", b"body"),
        Request::new(1, "kez", "POST /v1/messages", b"body"),
        Request::new(1, "key", "POST /v1/message", b"sbody"),
        Request::new(1, "key", "POST /v1/messages", b"bodz"),
    ];
    for other in others {
        assert_ne!(one, other);
    }
    let guess = Request::new(1, "kez", "POST /v1/messages", b"body");
    assert_ne!(one.request, guess.request, "without the key, no body fits");
}
