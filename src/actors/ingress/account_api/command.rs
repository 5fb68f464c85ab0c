//! Submits the messages of commands that a broker may deliver again, on this node or another.
//!
//! Called by the sources of commands (`actors/control/nats_source.rs`) and for pending lists of Redis
//! (`actors/control/platform_intake.rs`), with as many as have come. A command's own id is its Idempotency-Key, in a space of its
//! own ([`Ids`]), so that it becomes one message however often and wherever it is delivered.

use futures_util::future::join_all;

use super::{AccountApi, NotOnce, Refused, Start, batch};
use crate::actors::context::plan::AccountPlan;
use crate::actors::ingress::idempotency::Request;
use crate::actors::ingress::ingest::SubmitEach;
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
pub struct Taken {
    /// The id of its message.
    pub id: u64,
    /// It had been accepted before.
    pub again: bool,
}

/// What became of a command: it was refused, and may be submitted again under the same id; or it was not decided, because
/// it is being submitted, or the store cannot remember it.
pub type Outcome = Result<Result<Taken, Refused>, NotOnce>;

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
    ) -> Vec<Outcome> {
        let begin = |command: &Command| self.begin(ids.request(account, &command.id));
        let begun = join_all(commands.iter().map(begin)).await;
        let (mut messages, mut claims, mut places) = (Vec::new(), Vec::new(), Vec::new());
        let mut outcomes = Vec::with_capacity(commands.len());
        for (command, begun) in commands.into_iter().zip(begun) {
            outcomes.push(match begun {
                Ok(Start::New(claim)) => {
                    places.push(outcomes.len());
                    messages.push(command.message);
                    claims.push(*claim);
                    // Until it is answered.
                    Err(NotOnce::InProgress)
                }
                Ok(Start::Again(answer)) => match answer.results.into_iter().next() {
                    Some(answer) => {
                        let verdict = self.verdict(answer, account);
                        Ok(verdict.map(|id| Taken { id, again: true }))
                    }
                    None => Err(NotOnce::Unavailable("its answer is empty".to_owned())),
                },
                Err(error) => Err(error),
            });
        }
        if messages.is_empty() {
            return outcomes;
        }
        let count = messages.len();
        let mut batch = batch(account, peer.to_owned(), messages);
        batch.to = to;
        let ask = Timed::new(SubmitEach(batch, claims), &self.node().mailboxes.ingest);
        let answer = self.ingest().send(ask).await;
        for (place, verdict) in places
            .into_iter()
            .zip(self.verdicts(account, answer, count))
        {
            outcomes[place] = Ok(verdict.map(|id| Taken { id, again: false }));
        }
        outcomes
    }

    /// Whether the command with this id was accepted before.
    ///
    /// # Errors
    /// It is not known.
    pub async fn has_taken(
        &self,
        account: &AccountPlan,
        ids: Ids,
        id: &str,
    ) -> Result<bool, NotOnce> {
        match self.begin(ids.request(account, id)).await? {
            // The claim ends with this.
            Start::New(_) => Ok(false),
            Start::Again(_) => Ok(true),
        }
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
