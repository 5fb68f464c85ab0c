//! Submits the messages of commands that a broker may deliver again, on this node or another.
//!
//! Called by the sources of commands (`actors/control/nats_source.rs`) and for pending lists of Redis
//! (`actors/control/platform_intake.rs`), with as many as have come. A command's own id is its Idempotency-Key, in a space of its
//! own ([`Ids`]), so that it becomes one message however often and wherever it is delivered.

use actix::prelude::Request as Asked;

use super::{AccountApi, NotOnce, Refused, batch};
use crate::actors::context::plan::AccountPlan;
use crate::actors::ingress::idempotency::{self, BegunRequest, Request};
use crate::actors::ingress::ingest::{Ingest, Keys, Submit};
use crate::actors::runtime::timed_mailbox::Timed;
use crate::pb::Message;

/// Whose ids these are: keeps them apart from one another, and from the Idempotency-Keys of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ids {
    /// The messageId of commands.
    Commands,
    /// Those that programs of the Redis platform put into pending lists.
    RedisPlatform,
}

/// A command as a message.
pub struct Command {
    /// Its own id: another one with the same id is the same command, whatever it says.
    pub id: String,
    pub message: Box<Message>,
}

/// What became of a command that was accepted, now or before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommandTaken {
    /// The id of its message.
    pub id: u64,
    /// It had been accepted before.
    pub again: bool,
}

/// What became of a command: it was refused, and may be submitted again under the same id; or it was not decided, because
/// it is being submitted, or the store cannot remember it.
pub type CommandOutcome = Result<Result<CommandTaken, Refused>, NotOnce>;

/// Commands on their way to Ingest.
pub struct SentCommands {
    /// What is known of each already.
    outcomes: Vec<CommandOutcome>,
    /// Of those whose messages are submitted, in the order of these.
    places: Vec<usize>,
    answer: Option<Asked<Ingest, Timed<Submit>>>,
}

// === impl AccountApi ===

impl AccountApi {
    /// Submits the messages of commands, except of those that were accepted before. Returns once they are durable, with
    /// what became of each in their order. `ids`: whose they are; `to`: the queue that they go to, whatever routes say, 0 to use routes; `peer`:
    /// where they come from, for traces.
    pub async fn take_commands(
        &self,
        account: &AccountPlan,
        ids: Ids,
        to: u32,
        peer: &str,
        commands: Vec<Command>,
    ) -> Vec<CommandOutcome> {
        let sent = self.send_commands(account, ids, to, peer, commands).await;
        self.outcomes(account, sent).await
    }

    /// Sends commands, and returns once they are on their way: those of one account that are sent after these are accepted after
    /// them, too. [`Self::outcomes`] waits for what becomes of them.
    pub async fn send_commands(
        &self,
        account: &AccountPlan,
        ids: Ids,
        to: u32,
        peer: &str,
        commands: Vec<Command>,
    ) -> SentCommands {
        let begun = self.begin_all(account, ids, commands.iter().map(|one| &one.id[..]));
        let begun = begun.await;
        let (mut messages, mut claims, mut places) = (Vec::new(), Vec::new(), Vec::new());
        let mut outcomes = Vec::with_capacity(commands.len());
        for (command, begun) in commands.into_iter().zip(begun) {
            outcomes.push(match begun {
                Ok(BegunRequest::New(claim)) => {
                    places.push(outcomes.len());
                    messages.push(command.message);
                    claims.push(*claim);
                    // Until it is answered.
                    Err(NotOnce::InProgress)
                }
                Ok(BegunRequest::Again(answer)) => match answer.results.into_iter().next() {
                    Some(answer) => {
                        let verdict = self.verdict(answer, account);
                        Ok(verdict.map(|id| CommandTaken { id, again: true }))
                    }
                    None => Err(NotOnce::Unavailable("its answer is empty".to_owned())),
                },
                Err(error) => Err(error),
            });
        }
        let answer = (!messages.is_empty()).then(|| {
            let mut batch = batch(account, peer.to_owned(), messages);
            batch.to = to;
            let submit = Submit::timed(batch, Keys::Each(claims), self.node());
            // Always the same one for an account, which takes them in the order in which they are sent.
            let turn = account.id as usize % self.ingests.len();
            self.ingests[turn].send(submit)
        });
        SentCommands {
            outcomes,
            places,
            answer,
        }
    }

    /// What has become of commands that were sent, in their order, once their messages are durable.
    pub async fn outcomes(&self, account: &AccountPlan, sent: SentCommands) -> Vec<CommandOutcome> {
        let SentCommands {
            mut outcomes,
            places,
            answer,
        } = sent;
        let Some(answer) = answer else {
            return outcomes;
        };
        let answer = answer.await;
        if answer.is_err() {
            // Whether they were accepted is found out when they come again.
            for place in places {
                outcomes[place] = Err(NotOnce::Broken);
            }
            return outcomes;
        }
        let verdicts = self.verdicts(account, answer, places.len());
        for (place, verdict) in places.into_iter().zip(verdicts) {
            outcomes[place] = Ok(verdict.map(|id| CommandTaken { id, again: false }));
        }
        outcomes
    }

    /// Whether commands with these ids were accepted before, in their order; an error says that it is not known.
    pub async fn have_taken(
        &self,
        account: &AccountPlan,
        ids: Ids,
        of: impl Iterator<Item = &str>,
    ) -> Vec<Result<bool, NotOnce>> {
        let begun = self.begin_all(account, ids, of).await;
        let is_taken = |start| match start {
            // The claim ends with this.
            BegunRequest::New(_) => false,
            BegunRequest::Again(_) => true,
        };
        begun.into_iter().map(|one| one.map(is_taken)).collect()
    }

    async fn begin_all(
        &self,
        account: &AccountPlan,
        ids: Ids,
        of: impl Iterator<Item = &str>,
    ) -> Vec<Result<BegunRequest, NotOnce>> {
        let requests: Vec<Request> = of.map(|id| ids.request(account, id)).collect();
        let count = requests.len();
        let begun = idempotency::begin_all(&self.intake.node, requests).await;
        begun.unwrap_or_else(|error| (0..count).map(|_| Err(error.clone())).collect())
    }
}

// === impl Ids ===

impl Ids {
    /// The request that an id stands for: the id alone, whatever else is said, which may be gone when it comes again.
    fn request(self, account: &AccountPlan, id: &str) -> Request {
        match self {
            Self::Commands => Request::new(account.id, &format!("command {id}"), "command", &[]),
            Self::RedisPlatform => {
                let key = format!("MT:{id}");
                Request::new(account.id, &key, "redis_platform", id.as_bytes())
            }
        }
    }
}
