//! Which commands are within the rate of their operator, for `mode = "operator"`.
//!
//! Where there is Redis, its counter decides, in which other programs count as well; what is admitted is counted there, and
//! the operator's queue sends it in the same second without counting it again. Without Redis this node counts by itself
//! ([`Pace`](super::admission::Pace)). What is admitted has the operator's rate before it once more, in its queue, which so
//! never holds more than about a second of it.

use std::sync::Arc;

use super::admission::{OperatorStanding, standing};
use super::source::Source;
use crate::actors::egress::throttle::rate::rate_in_redis;
use crate::actors::runtime::locks::lock;
use crate::clock;

/// What a command takes of an operator's rate.
pub(super) struct RateSpent {
    parts: u32,
    counted: RateCounted,
}

enum RateCounted {
    /// By this node, at this rate.
    Here(f64),
    /// In this second of Redis.
    InRedis(u64),
}

/// Which texts of so many parts the operator of this queue takes now, in this order, and what each takes of its rate, if there
/// is one; why it does not take the others.
pub(super) async fn admit(
    source: &Source,
    queue: u32,
    parts: &[u32],
) -> Vec<Result<Option<RateSpent>, &'static str>> {
    let all = |one: fn() -> Result<Option<RateSpent>, &'static str>| {
        parts.iter().map(|_| one()).collect()
    };
    let rate = match standing(source.node(), queue) {
        OperatorStanding::Takes(Some(rate)) => rate,
        OperatorStanding::Takes(None) => return all(|| Ok(None)),
        // Who stands in is bound elsewhere: its queue has the message, and its rate.
        OperatorStanding::Elsewhere if source.target() != Some(queue) => return all(|| Ok(None)),
        OperatorStanding::Elsewhere => return all(|| Err("other nodes are bound to the operator")),
        OperatorStanding::Away => return all(|| Err("the operator is not bound")),
    };
    let counted = match admit_in_redis(source, queue, rate.of_all_nodes, parts).await {
        Some(counted) => counted,
        None => admit_here(source, queue, rate.of_this_node, parts),
    };
    let above = counted.iter().filter(|one| one.is_none()).count();
    if above > 0
        && let Some(port) = source.node().queue(queue)
    {
        let throttled = source.node().metrics.commands_throttled_of(&port.name);
        throttled.inc_by(above as u64);
    }
    let answers = counted.into_iter().zip(parts).map(|(counted, parts)| {
        let spent = |counted| {
            Some(RateSpent {
                parts: *parts,
                counted,
            })
        };
        counted.map(spent).ok_or("above the rate of the operator")
    });
    answers.collect()
}

/// `None` where Redis decides nothing.
async fn admit_in_redis(
    source: &Source,
    queue: u32,
    rate: f64,
    parts: &[u32],
) -> Option<Vec<Option<RateCounted>>> {
    let redis = source.redis.as_ref().filter(|redis| redis.is_up())?;
    let (name, rate) = {
        let plan = source.node().plan();
        let operator = plan.operator(queue)?;
        let rate = rate_in_redis(source.node(), operator, rate);
        (operator.config.id.clone(), rate)
    };
    let answer = redis.admit_of_second(&name, rate, parts).await.ok()?;
    let counted = |fits: bool| fits.then_some(RateCounted::InRedis(answer.second));
    Some(answer.admitted.iter().copied().map(counted).collect())
}

fn admit_here(source: &Source, queue: u32, rate: f64, parts: &[u32]) -> Vec<Option<RateCounted>> {
    let mut paces = lock(&source.paces);
    let pace = paces.entry(queue).or_default();
    let now = clock::now_ms();
    let counted = |parts: &u32| {
        let fits = pace.admits(now, rate, *parts);
        fits.then_some(RateCounted::Here(rate))
    };
    parts.iter().map(counted).collect()
}

/// A command that was admitted is not sent: the rate of this second is for others.
pub(super) fn give_back(source: &Source, queue: u32, spent: RateSpent) {
    let RateSpent { parts, counted } = spent;
    match counted {
        RateCounted::Here(rate) => {
            let mut paces = lock(&source.paces);
            let pace = paces.entry(queue).or_default();
            pace.give_back(clock::now_ms(), rate, parts);
        }
        RateCounted::InRedis(second) => {
            let name = (source.node().plan().operator(queue)).map(|one| one.config.id.clone());
            let (Some(name), Some(redis)) = (name, source.redis.as_ref().map(Arc::clone)) else {
                return;
            };
            actix::spawn(async move {
                // Should this fail, it is over with the second.
                let _ = redis.take_back_of_second(&name, second, parts).await;
            });
        }
    }
}
