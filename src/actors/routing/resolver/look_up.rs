//! The look-up itself: from the messages of the queue to the answers for them.
//!
//! A number goes through what this node knows, Redis, and the sources in their order. Called by the actor
//! for what the queue gives it. Invariant: a number that waits is in line, is being asked for, or has a
//! timer that puts it in line.

use std::sync::Arc;
use std::time::Duration;

use actix::{ActorFutureExt, AsyncContext, Context, WrapFuture};
use tokio::time::Instant;

use super::question::{LookUpFailure, LookUpQuestion};
use super::source::LookupError;
use super::sources::SourcedQuestion;
use super::{BareNumber, Guarded, Resolver, TICK};
use crate::domain::address;
use crate::pb::{Message, Resolved};
use crate::store::redis::KnownAnswer;
use crate::telemetry::metrics::ResultLabel;

/// A number on its way through the sources.
struct Course {
    number: BareNumber,
    /// The source that is asked.
    at: usize,
    /// Whether one before it has failed.
    failed: bool,
    generation: u32,
    began: Instant,
}

// === impl Resolver ===

impl<Q: SourcedQuestion> Resolver<Q> {
    /// Answers messages about whose number something is known, and looks up the rest.
    pub(super) fn take(
        &mut self,
        messages: impl Iterator<Item = Message>,
        ctx: &mut Context<Self>,
    ) {
        let node = Arc::clone(&self.node);
        let plan = node.plan();
        let (mut resolved, mut fresh) = (Vec::new(), Vec::new());
        for message in messages {
            if let Some(answer) = self.known.look(&plan, &message.destination) {
                let origin = if answer.is_empty() {
                    "nobody knows it"
                } else {
                    "known"
                };
                self.count("cached");
                resolved.push(told::<Q>(message, &answer, origin));
                continue;
            }
            let number: BareNumber = address::normalise(&message.destination).into();
            let waiting = self.waiting.entry(number.clone()).or_default();
            if waiting.messages.is_empty() {
                fresh.push(number);
            }
            waiting.messages.push(message);
        }
        self.send(resolved, ctx);
        if !fresh.is_empty() {
            self.look_in_redis(fresh, ctx);
        }
    }

    fn look_in_redis(&mut self, numbers: Vec<BareNumber>, ctx: &mut Context<Self>) {
        if !self.known.is_shared() {
            self.line.extend(numbers);
            return self.pump(ctx);
        }
        let known = Arc::clone(&self.known);
        let work = async move {
            let found = known.shared(&numbers).await;
            (numbers, found)
        };
        let then = |(numbers, found): (Vec<BareNumber>, Vec<Option<KnownAnswer>>),
                    resolver: &mut Self,
                    ctx: &mut Context<Self>| {
            let mut found = found.into_iter();
            for number in numbers {
                match found.next().flatten() {
                    Some(known) => {
                        resolver.count("shared");
                        let life = known.life.min(resolver.life_of(&known.answer));
                        resolver.answered(&number, &known.answer, life, "shared cache", ctx);
                    }
                    None => resolver.line.push_back(number),
                }
            }
            resolver.pump(ctx);
        };
        ctx.spawn(work.into_actor(self).map(then));
    }

    /// Looks up numbers anew whose answer has turned out to be wrong.
    pub(super) fn renew(&mut self, ctx: &mut Context<Self>) {
        for number in self.known.take_doubted() {
            if self.renewing.insert(number.clone()) {
                self.count("doubted");
                self.line.push_back(number.clone());
            }
            let (node, known) = (Arc::clone(&self.node), Arc::clone(&self.known));
            // Before the answer comes: it takes longer.
            known.forget(Some(&number));
            let forget = async move {
                let forgotten = known.forget_elsewhere(&node, Some(&number)).await;
                if let Err(refusal) = forgotten {
                    tracing::warn!(
                        reason = refusal.detail,
                        question = Q::NAME,
                        "other nodes keep an answer that is wrong"
                    );
                }
            };
            ctx.spawn(forget.into_actor(self));
        }
        self.pump(ctx);
    }

    /// How long an answer is valid.
    fn life_of(&self, answer: &str) -> Duration {
        if answer.is_empty() {
            self.settings.cache_unknown_for
        } else {
            self.settings.cache_for
        }
    }

    /// Starts requests for waiting numbers, up to the configured concurrency.
    pub(super) fn pump(&mut self, ctx: &mut Context<Self>) {
        while self.asking.len() < self.settings.concurrency {
            let Some(number) = self.line.pop_front() else {
                return;
            };
            // It may have been given back, or have come again while it is asked for.
            let is_wanted = self.waiting.contains_key(&number) || self.renewing.contains(&number);
            if !is_wanted || !self.asking.insert(number.clone()) {
                continue;
            }
            let course = Course {
                number,
                at: 0,
                failed: false,
                generation: self.generation,
                began: Instant::now(),
            };
            self.ask(course, ctx);
        }
    }

    /// Asks the first source from this one on that may be asked; without one, the number stays unknown.
    fn ask(&mut self, mut course: Course, ctx: &mut Context<Self>) {
        while let Some(guarded) = self.sources.get_mut(course.at) {
            if guarded.breaker.admit(Instant::now().into_std()) {
                let question = guarded.source.ask(&course.number);
                let then = move |answer, resolver: &mut Self, ctx: &mut Context<Self>| {
                    resolver.heard(course, answer, ctx);
                };
                ctx.spawn(question.into_actor(self).map(then));
                return;
            }
            course.failed = true;
            course.at += 1;
        }
        self.asking.remove(&course.number);
        if course.failed || self.sources.is_empty() {
            self.not_answered(course.number, ctx);
        } else {
            self.count(Q::NOTHING_LABEL);
            self.found(course.number, String::new(), ctx);
        }
    }

    /// A source has answered or failed; if it knows nothing, the next one is asked.
    fn heard(
        &mut self,
        mut course: Course,
        answer: Result<String, LookupError>,
        ctx: &mut Context<Self>,
    ) {
        if course.generation != self.generation {
            // Others are asked now.
            self.asking.remove(&course.number);
            self.line.push_back(course.number);
            return self.pump(ctx);
        }
        let seconds = course.began.elapsed().as_secs_f64();
        Q::meters(&self.node.metrics).seconds.observe(seconds);
        self.note(&course, answer.as_ref().err());
        match answer {
            Ok(answer) if !answer.is_empty() => {
                self.asking.remove(&course.number);
                self.count("found");
                self.found(course.number, answer, ctx);
            }
            other => {
                course.failed |= other.is_err();
                course.at += 1;
                course.began = Instant::now();
                self.ask(course, ctx);
            }
        }
        self.pump(ctx);
    }

    /// Tells the breaker of a source how it went.
    fn note(&mut self, course: &Course, error: Option<&LookupError>) {
        let Some(Guarded { source, breaker }) = self.sources.get_mut(course.at) else {
            return;
        };
        let now = Instant::now().into_std();
        match error {
            None => {
                if breaker.is_open() {
                    tracing::info!(question = Q::NAME, "{} answers again", source.name());
                }
                breaker.succeeded(now);
            }
            Some(error) => {
                let number = address::mask(&course.number);
                tracing::debug!(%error, question = Q::NAME, %number, "a number was not looked up");
                if breaker.failed(now) {
                    let who = source.name();
                    tracing::warn!(%error, question = Q::NAME, "{who} fails and gets no requests for a while");
                }
                self.count("failed");
            }
        }
    }

    /// An answer from the sources, empty if none of them knows anything: it is shared, kept and told.
    fn found(&mut self, number: BareNumber, answer: String, ctx: &mut Context<Self>) {
        let life = self.life_of(&answer);
        self.answered(&number, &answer, life, "looked up", ctx);
        if self.known.is_shared() {
            let known = Arc::clone(&self.known);
            let keep = async move { known.share_answer(&number, &answer, life).await };
            ctx.spawn(keep.into_actor(self));
        }
    }

    fn answered(
        &mut self,
        number: &BareNumber,
        answer: &str,
        life: Duration,
        from: &str,
        ctx: &mut Context<Self>,
    ) {
        self.known.keep(number, &answer.into(), life);
        self.renewing.remove(number);
        let Some(waiting) = self.waiting.remove(number) else {
            return;
        };
        let settled = self.known.settle(answer, number);
        let origin = match (answer.is_empty(), settled.is_empty()) {
            (false, _) => from.to_owned(),
            (true, false) => format!("table; {}, {from}", Q::NOTHING),
            (true, true) => format!("{}, {from}", Q::NOTHING),
        };
        let messages = waiting.messages.into_iter();
        let told: Vec<Resolved> = messages
            .map(|message| told::<Q>(message, &settled, &origin))
            .collect();
        self.send(told, ctx);
    }

    /// A look-up failed: it is tried again after a pause, or given up.
    fn not_answered(&mut self, number: BareNumber, ctx: &mut Context<Self>) {
        let failure = self.settings.failure;
        let is_open = self.sources.iter().any(|one| one.breaker.is_open());
        // Without a message it is not worth another question.
        self.renewing.remove(&number);
        let Some(waiting) = self.waiting.get_mut(&number) else {
            return;
        };
        waiting.failures += 1;
        let delays = &self.settings.delays;
        let pause = delays.get(waiting.failures - 1).copied();
        let pause = match failure {
            LookUpFailure::Route if is_open => None,
            // The one that is tried while a source is away must not come too late.
            LookUpFailure::Wait if is_open => Some(self.settings.breaker_pause),
            LookUpFailure::Wait => pause.or(delays.last().copied()).or(Some(TICK)),
            LookUpFailure::Route | LookUpFailure::Refuse => pause,
        };
        match pause {
            Some(pause) => {
                ctx.run_later(pause, move |resolver, ctx| {
                    resolver.line.push_back(number);
                    resolver.pump(ctx);
                });
            }
            None => self.give_up(&number, failure == LookUpFailure::Refuse, ctx),
        }
    }

    /// Lets the messages to a number go without an answer, or ends them.
    fn give_up(&mut self, number: &BareNumber, refused: bool, ctx: &mut Context<Self>) {
        let messages = self.waiting.remove(number).unwrap_or_default().messages;
        let result = if refused { "refused" } else { "routed" };
        if let Some(given_up) = Q::meters(&self.node.metrics).given_up {
            given_up
                .get_or_create(&ResultLabel { result })
                .inc_by(messages.len() as u64);
        }
        let answer = if refused {
            String::new()
        } else {
            self.known.settle("", number)
        };
        let origin = if answer.is_empty() {
            "no answer"
        } else {
            "table; no answer"
        };
        let told = |message| Resolved {
            refused,
            ..told::<Q>(message, &answer, origin)
        };
        let resolved: Vec<Resolved> = messages.into_iter().map(told).collect();
        self.send(resolved, ctx);
    }

    fn count(&self, result: &'static str) {
        let lookups = Q::meters(&self.node.metrics).lookups;
        lookups.get_or_create(&ResultLabel { result }).inc();
    }
}

/// The result for a message: it has the answer, or ends where it cannot go on without one.
fn told<Q: LookUpQuestion>(mut message: Message, answer: &str, origin: &str) -> Resolved {
    Q::tell(&mut message, answer);
    let error = Q::ends_with().filter(|_| answer.is_empty());
    Resolved {
        message: Some(Box::new(message)),
        origin: origin.to_owned(),
        refused: error.is_some(),
        error: error.unwrap_or_default().to_owned(),
    }
}
