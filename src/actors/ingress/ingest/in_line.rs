//! Messages behind those that wait for the look-up of their number, although the answer is known by now.
//!
//! Called by the admission of a batch, in the order of ids: so the messages to one number are sent in the order in
//! which they were accepted, whichever of them had to wait for the answer.

use super::Intake;
use crate::actors::context::NodeContext;
use crate::actors::context::plan::Plan;
use crate::actors::routing::resolver::{KnownAnswers, LookUpQuestion};
use crate::clock;
use crate::pb::Message;

/// Enters a message that waits for a look-up in its line. One that does not have to, but has others before it,
/// waits behind them; an ordered target stays. Returns true if it is in line.
pub(super) fn wait_in_line(
    intake: &Intake,
    plan: &Plan,
    message: &mut Message,
    is_ordered: bool,
) -> bool {
    if !plan.is_look_up(message.queue) {
        let Some(look_up) = look_up_before(intake, plan, message, is_ordered) else {
            return false;
        };
        if is_ordered {
            message.towards = message.queue;
        }
        message.queue = look_up;
    }
    let node = &intake.node;
    let Some(line) = node.look_up_line(plan, message.queue) else {
        return false;
    };
    // What waits for its time of day joins when that has come.
    if message.due_at > clock::now_ms() {
        return false;
    }
    let part = node.part_of(message.queue, &message.destination);
    let part = node.held_as(message.queue, part);
    line.join(&message.destination, part, message.id);
    true
}

/// The look-up that others wait for whom this message must not overtake; it has to be asked again then.
fn look_up_before(
    intake: &Intake,
    plan: &Plan,
    message: &mut Message,
    is_ordered: bool,
) -> Option<u32> {
    let network = std::mem::take(&mut message.network);
    if !is_ordered
        && plan.wants_network(message)
        && let Some(look_up) = plan.resolve_queue
        && is_before(intake, plan, &intake.networks, look_up, message)
    {
        message.imsi.clear();
        return Some(look_up);
    }
    message.network = network;
    let imsi = std::mem::take(&mut message.imsi);
    if plan.wants_imsi(message.queue, message)
        && let Some(look_up) = plan.imsi_queue
        && is_before(intake, plan, &intake.imsis, look_up, message)
    {
        return Some(look_up);
    }
    message.imsi = imsi;
    None
}

/// Whether others to the same number may wait: the node that owns the number's partition of the look-up knows. Nobody
/// waits for what is in the table.
fn is_before<Q: LookUpQuestion>(
    intake: &Intake,
    plan: &Plan,
    known: &KnownAnswers<Q>,
    look_up: u32,
    message: &Message,
) -> bool {
    let (node, destination) = (&intake.node, &message.destination);
    let part = node.held_as(look_up, node.part_of(look_up, destination));
    let line = node.look_up_line(plan, look_up);
    line.is_some_and(|line| line.is_before(destination, part))
        || (node.local_lease.is_shared()
            && !known.is_fixed(plan, destination)
            && node.local_lease.hold().home(look_up, part).is_none())
}

/// These messages are not accepted.
pub(super) fn leave(node: &NodeContext, ids: &[u64]) {
    if ids.is_empty() {
        return;
    }
    let plan = node.plan();
    for look_up in [plan.resolve_queue, plan.imsi_queue].into_iter().flatten() {
        if let Some(line) = node.look_up_line(&plan, look_up) {
            ids.iter().for_each(|id| line.leave(*id));
        }
    }
}
