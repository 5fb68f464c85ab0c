//! Submits the message of a command that a broker may deliver again, on this node or another.
//!
//! Called by the sources of commands (`actors/control/nats_source.rs`). The command's own id is its Idempotency-Key, in a
//! space of its own, so that a command becomes one message however often and wherever it is delivered.

use super::{AccountApi, NotOnce, Refused, batch};
use crate::actors::context::plan::AccountPlan;
use crate::actors::ingress::idempotency::{self, Begun, Request};
use crate::actors::ingress::ingest::SubmitOnce;
use crate::actors::runtime::timed_mailbox::Timed;
use crate::pb::{Message, SubmitResult};

/// Keeps ids of commands apart from the Idempotency-Keys of requests.
const TARGET: &str = "command";

/// A command as a message.
pub struct Command {
    /// Its own id: another one with the same id is the same command, whatever it says.
    pub id: String,
    pub message: Message,
    /// The queue that the message goes to, whatever routes say; 0 to use routes.
    pub to: u32,
    /// Where it comes from, for traces.
    pub peer: String,
}

/// What became of a command that was accepted, now or before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Taken {
    /// The id of its message.
    pub id: u64,
    /// It had been accepted before.
    pub again: bool,
}

// === impl AccountApi ===

impl AccountApi {
    /// Submits the message of a command, unless that was done before. Returns once it is durable, or why it was
    /// refused: then it may be submitted again under the same id.
    ///
    /// # Errors
    /// It was not decided: it is being submitted, or the store cannot remember it.
    pub async fn take_command(
        &self,
        account: &AccountPlan,
        command: Command,
    ) -> Result<Result<Taken, Refused>, NotOnce> {
        let key = format!("{TARGET} {}", command.id);
        let request = Request::new(account.id, &key, TARGET, &[]);
        let (answer, again) = match idempotency::begin(&self.intake.node, request).await {
            Ok(Begun::New(claim)) => {
                let mut batch = batch(account, command.peer, vec![command.message]);
                batch.to = command.to;
                let ask = SubmitOnce(batch, claim);
                let ask = Timed::new(ask, &self.node().mailboxes.ingest);
                let answer = self.ingest().send(ask).await;
                let verdict = self.verdicts(account, answer, 1).pop();
                return match verdict {
                    Some(verdict) => Ok(verdict.map(|id| Taken { id, again: false })),
                    None => Err(NotOnce::Unavailable("it was not answered".to_owned())),
                };
            }
            Ok(Begun::Again(answer)) => (answer.results.into_iter().next(), true),
            Ok(Begun::OtherRequest) => return Err(NotOnce::OtherRequest),
            Ok(Begun::InProgress) => return Err(NotOnce::InProgress),
            Ok(Begun::Full) => return Err(NotOnce::Full),
            Err(error) => return Err(NotOnce::Unavailable(error.to_string())),
        };
        let answer: Option<SubmitResult> = answer;
        let Some(answer) = answer else {
            return Err(NotOnce::Unavailable("its answer is empty".to_owned()));
        };
        let verdict = self.verdict(answer, account);
        Ok(verdict.map(|id| Taken { id, again }))
    }
}
