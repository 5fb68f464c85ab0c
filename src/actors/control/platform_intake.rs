//! The actor PlatformIntake: takes in the ids that programs of the Redis SMS platform put into pending lists.
//!
//! On the node that does the work for all nodes, once a second, or at once when there is more. An id moves from its list
//! to `list:Processing`, its message is submitted as `redis_platform.account` by the way of the HTTP API, and the id
//! leaves `list:Processing` when that is durable. What a kill leaves there is taken first after it, and submitted with
//! the same idempotency key: it becomes the same message, on whichever node (docs/redis-platform.md).
//!
//! In: nothing. Out: submissions, and calls to Redis.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use actix::{Actor, AsyncContext, Context, Supervised, WrapFuture};

use super::export::REFERENCE;
use crate::actors::context::NodeContext;
use crate::actors::context::plan::AccountPlan;
use crate::actors::ingress::account_api::{AccountApi, NotOnce, Reason};
use crate::clock;
use crate::content::compose::{self, Alphabet};
use crate::pb::{ClientData, Message};
use crate::store::redis::{Pending, Redis, RedisError};

/// Ids that are taken at once.
const BATCH: usize = 64;
/// Between two looks at the lists, unless there is more.
const PAUSE: Duration = Duration::from_secs(1);
/// The longest id of a platform, in octets.
const LONGEST_ID: usize = 40;
/// What the idempotency keys are for.
const TARGET: &str = "redis_platform";

pub struct PlatformIntake {
    node: Arc<NodeContext>,
    api: AccountApi,
    redis: Arc<Redis>,
}

/// What becomes of an id.
#[derive(Debug, PartialEq, Eq)]
enum Became {
    Message(u64),
    Nothing(String),
    /// It is tried again.
    Later,
}

// === impl PlatformIntake ===

impl PlatformIntake {
    pub fn new(node: Arc<NodeContext>, api: AccountApi, redis: Arc<Redis>) -> Self {
        Self { node, api, redis }
    }
}

/// Takes ids once; true when there may be more that can be taken now.
async fn step(node: &NodeContext, api: &AccountApi, redis: &Redis) -> Result<bool, RedisError> {
    let config = node.config();
    let section = &config.redis_platform;
    let Some(account) = section
        .account
        .as_deref()
        .and_then(|name| api.account(name))
    else {
        return Ok(false);
    };
    if !node.local_lease.is_janitor() || node.draining.load(Ordering::Relaxed) || !redis.is_up() {
        return Ok(false);
    }
    let taken = redis.take_pending(section.pending_lists, BATCH).await?;
    let (mut settled, life) = (0, config.store.retention);
    for pending in &taken {
        let became = submit(api, &account, pending).await;
        let now = clock::now_ms();
        match &became {
            Became::Message(id) => {
                redis
                    .settle_pending(&pending.id, Ok(*id), life, now)
                    .await?
            }
            Became::Nothing(why) => {
                redis
                    .settle_pending(&pending.id, Err(why), life, now)
                    .await?;
            }
            Became::Later => continue,
        }
        settled += 1;
    }
    Ok(settled == BATCH)
}

async fn submit(api: &AccountApi, account: &AccountPlan, pending: &Pending) -> Became {
    let message = match draft(account, pending) {
        Ok(message) => message,
        Err(why) => return Became::Nothing(why),
    };
    // The id alone: what its message says may have expired since it was stored.
    let (key, body) = (format!("{REFERENCE}{}", pending.id), pending.id.as_bytes());
    let submitted = api.submit_once(account, String::new(), vec![message], &key, (TARGET, body));
    match submitted.await {
        Ok(results) => match results.into_iter().next() {
            Some(Ok(id)) => Became::Message(id),
            Some(Err(refused)) if is_passing(refused.reason) => Became::Later,
            Some(Err(refused)) => Became::Nothing(refused.command_status),
            None => Became::Later,
        },
        Err(NotOnce::OtherRequest) => Became::Nothing("the id was used before".to_owned()),
        Err(NotOnce::InProgress | NotOnce::Full | NotOnce::Unavailable(_)) => Became::Later,
    }
}

fn is_passing(reason: Reason) -> bool {
    matches!(reason, Reason::Rate | Reason::Full | Reason::Unavailable)
}

/// The message of an id; why there is none otherwise.
fn draft(account: &AccountPlan, pending: &Pending) -> Result<Message, String> {
    let Pending { id, from, to, text } = pending;
    let is_plain = |octet: u8| octet.is_ascii_alphanumeric() || b"-_.".contains(&octet);
    if id.is_empty() || id.len() > LONGEST_ID || !id.bytes().all(is_plain) {
        return Err("the id must be 1 to 40 letters, digits, -, _ and .".to_owned());
    }
    if to.is_empty() {
        return Err(format!("MT:{id} has no field to"));
    }
    let destination = (account.numbers.read(to)).map_err(|wrong| format!("to {wrong}"))?;
    let source = compose::sender(from).map_err(|wrong| format!("from {wrong}"))?;
    let body =
        compose::text(text, Alphabet::Auto, false).map_err(|wrong| format!("text: {wrong}"))?;
    let mut message = Message {
        client_data: Some(Box::new(ClientData {
            reference: format!("{REFERENCE}{id}"),
            ..ClientData::default()
        })),
        ..compose::between(source, destination.into())
    };
    body.carry(&mut message);
    Ok(message)
}

impl Actor for PlatformIntake {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        let (node, api, redis) = (
            Arc::clone(&self.node),
            self.api.clone(),
            Arc::clone(&self.redis),
        );
        let work = async move {
            loop {
                match step(&node, &api, &redis).await {
                    Ok(true) => continue,
                    Ok(false) => {}
                    Err(error) => tracing::warn!(%error, "pending lists cannot be read"),
                }
                tokio::time::sleep(PAUSE).await;
            }
        };
        ctx.spawn(work.into_actor(self));
    }
}

impl Supervised for PlatformIntake {}
