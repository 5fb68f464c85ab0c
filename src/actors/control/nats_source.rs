//! The task of NATS sources: takes commands from streams of NATS JetStream (`[[nats_source]]`, docs/events.md) and makes
//! messages of them.
//!
//! - [`command`]: what a command says, as a message;
//! - [`admission`]: whether an operator takes one now, for `mode = "operator"`;
//! - [`admit`]: which commands are within its rate;
//! - [`answers`]: waiting for operators' answers, for `mode = "operator"`;
//! - [`pull`]: the connection, its consumer, and taking commands within a bound;
//! - [`progress`]: how far commands were taken, where a consumer begins;
//! - [`source`]: what the work on commands of one source has in common;
//! - [`submit`]: batches of commands on their way to Ingest;
//! - [`burial`]: how often a dead letter is tried to be published;
//! - [`take`]: what becomes of one command, and how the stream is told;
//! - [`board`]: how each source stands, for the admin API and metrics.
//!
//! Runs on a thread of its own, started by `app` on every node, and follows the plan. In: messages of streams. Out:
//! submissions to [`AccountApi`], as those over HTTP; acknowledgements, and dead letters. Invariants: a command is
//! acknowledged only when its message is durable; one that is delivered again becomes no second message, because its id is
//! written with the message; one that is terminated is in the stream of dead letters, or, where
//! they cannot be published, counted, logged and listed.

mod admission;
mod admit;
mod answers;
mod board;
mod broken;
mod burial;
mod command;
mod progress;
mod pull;
mod source;
mod submit;
mod take;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::{AbortHandle, JoinSet};

pub use self::board::Board;

use self::source::Source;
use crate::actors::context::NodeContext;
use crate::actors::ingress::account_api::AccountApi;
use crate::actors::runtime::supervise::watch_for;
use crate::config::{Config, NatsSource, NodeRole, SourceMode};
use crate::store::redis::Redis;

/// How often the plan is looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// A source that commands are taken from.
struct RunningSource {
    config: NatsSource,
    task: AbortHandle,
}

/// Takes commands from the sources of the plan, whatever it is, without an end. What a source that is stopped has under
/// way goes on to its end. `redis`: where rates of operators are counted; `None` if this node counts them alone.
pub async fn take_commands(
    node: &NodeContext,
    api: &AccountApi,
    board: &Board,
    redis: Option<&Arc<Redis>>,
) {
    let mut running: HashMap<String, RunningSource> = HashMap::new();
    let mut tasks = JoinSet::new();
    loop {
        let config = node.config();
        let wanted = wanted(&config);
        running.retain(|name, source| {
            let stays = wanted.iter().any(|one| **one == source.config);
            if !stays {
                source.task.abort();
                board.remove(name);
            }
            stays
        });
        for one in wanted {
            if running.contains_key(&one.name) {
                continue;
            }
            let standing = board.add(&one.name);
            let (source, waiting, asked) =
                Source::new(api.clone(), one.clone(), standing, redis.cloned());
            // What is under way when the source is stopped goes on to its end, so these do.
            actix::spawn(submit::run(Arc::downgrade(&source), waiting));
            actix::spawn(answers::run(api.clone(), asked));
            let (config, task) = (one.clone(), tasks.spawn_local(source.run()));
            running.insert(one.name.clone(), RunningSource { config, task });
        }
        watch_for(LOOK_EVERY, &mut tasks).await;
    }
}

/// The sources that this node takes commands from. In mode `operator` that is for nodes that have binds.
fn wanted(config: &Config) -> Vec<&NatsSource> {
    let is_here = |source: &&NatsSource| {
        let role = match source.mode {
            SourceMode::Durable => NodeRole::Api,
            SourceMode::Operator => NodeRole::Delivery,
        };
        source.enabled && config.cluster.roles.contains(&role)
    };
    config.nats_source.iter().filter(is_here).collect()
}
