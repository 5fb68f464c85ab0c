//! Administrators' commands: passed to their queue or binds, and logged.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::context::AdminContext;
use super::{lookups, messages, watching};
use crate::actors::context::NodeContext;
use crate::actors::context::addresses::post_to;
use crate::actors::context::binds::BindPort;
use crate::actors::context::remote_command;
use crate::actors::orders::{self, ask, audit};
use crate::actors::receipts::alert;
use crate::actors::receipts::notification;
use crate::actors::session::bind_permits;
use crate::clock;
use crate::pb::order::What;
use crate::pb::{
    BindCommand, BindState, CommandOperator, CommandQueue, Commanded, Order, QueueCommand, Refusal,
    bind_command, queue_command,
};

/// Suspends, resumes or purges a queue.
pub async fn queue(admin: Arc<AdminContext>, order: CommandQueue) -> Result<Commanded, Refusal> {
    let (node, verb) = (&admin.node, order.verb());
    let mut result = queue_ordered(node, &order, verb).await;
    audit(
        &order.by,
        verb.as_str_name(),
        &format!("queue {}", order.name),
        &result,
    );
    if let Ok(done) = &mut result {
        done.pending |= remote_command::to_others(node, What::Queue(order)).await?;
    }
    result
}

async fn queue_ordered(
    node: &NodeContext,
    order: &CommandQueue,
    verb: queue_command::Verb,
) -> Result<Commanded, Refusal> {
    let port = node
        .queues()
        .into_iter()
        .find(|port| port.name == order.name)
        .ok_or_else(|| Refusal::no_such("queue", &order.name, "queues"))?;
    let command = QueueCommand {
        verb: verb.into(),
        by: order.by.clone(),
        ..QueueCommand::default()
    };
    let reply = ask(&port, command).await?;
    Ok(Commanded {
        count: reply.count,
        // A purge continues in steps after its answer.
        pending: verb == queue_command::Verb::Purge && reply.count > 0,
    })
}

/// Executes an order of another node.
pub(super) async fn execute(admin: Arc<AdminContext>, order: Order) {
    let node = Arc::clone(&admin.node);
    match order.what {
        Some(What::Queue(order)) => {
            let result = queue_ordered(&node, &order, order.verb()).await;
            let what = format!("queue {}", order.name);
            audit(&order.by, order.verb().as_str_name(), &what, &result);
        }
        Some(What::Operator(order)) => {
            let result = operator_ordered(&node, &order, order.verb());
            let what = format!("operator {}", order.id);
            audit(&order.by, order.verb().as_str_name(), &what, &result);
        }
        Some(What::Move(order)) => {
            // Its result is logged here; the node that gave the order has answered already.
            let _ = orders::transfer::here(&node, &order).await;
        }
        Some(What::Message(order)) => {
            let result = orders::message::carry_out(&node, &order).await;
            let what = format!("message {}", order.id);
            audit(&order.by, order.verb().as_str_name(), &what, &result);
        }
        Some(What::Alert(forward)) if forward.notification.is_some() => {
            notification::arrived(&node, forward);
        }
        Some(What::ForgetParked(order)) => post_to(node.correlation.recipient(), order),
        Some(What::Alert(forward)) => alert::arrived(&node, &forward),
        Some(What::Subscriber(ready)) => alert::subscriber_ready(&node, ready),
        Some(What::CorrelationsGiven(given)) => {
            node.mt_correlations.learn(given, clock::now_ms());
        }
        // The API shows a configuration that cannot be applied here; it is tried again every second.
        Some(What::Settings(_)) => drop(admin.configuration.follow(false).await),
        Some(What::MakeRoom(order)) => {
            bind_permits::make_room(&node, order.account, Duration::from_millis(order.within_ms))
                .await;
        }
        Some(What::ForgetLookups(order)) => lookups::forget_here(&admin.intake, &order),
        Some(What::EraseRecords(order)) => {
            if let Err(error) = messages::erase_records(admin.records.clone(), order.msisdn).await {
                tracing::error!(%error, "a number could not be taken out of the CDRs");
            }
        }
        Some(What::Watch(order)) => watching::watch_for(&node, order),
        Some(What::Watched(watched)) => node.watches.bring(watched),
        Some(What::Disconnect(order)) => {
            // Its result is logged; the node that gave the order has answered already.
            let _ = watching::disconnect_here(&node, &order);
        }
        None => {}
    }
}

/// Sends a command to every bind of an operator.
pub async fn operator(
    admin: Arc<AdminContext>,
    order: CommandOperator,
) -> Result<Commanded, Refusal> {
    let (node, verb) = (&admin.node, order.verb());
    let mut result = operator_ordered(node, &order, verb);
    audit(
        &order.by,
        verb.as_str_name(),
        &format!("operator {}", order.id),
        &result,
    );
    if let Ok(done) = &mut result {
        done.pending |= remote_command::to_others(node, What::Operator(order)).await?;
    }
    result
}

fn operator_ordered(
    node: &NodeContext,
    order: &CommandOperator,
    verb: bind_command::Verb,
) -> Result<Commanded, Refusal> {
    let plan = node.plan();
    // A GSM network by its name in routes.
    let gsm = || {
        plan.queue_of(&order.id)
            .filter(|id| plan.gsm(*id).is_some())
    };
    let owner = plan
        .operators()
        .find(|operator| operator.config.id == order.id)
        .map(|operator| operator.id)
        .or_else(gsm)
        .ok_or_else(|| Refusal::no_such("operator", &order.id, "operators"))?;
    if let Some(port) = node.queue(owner) {
        match verb {
            bind_command::Verb::Suspend => port.paused_by.set(order.by.clone()),
            bind_command::Verb::Resume | bind_command::Verb::Rebind => {
                port.paused_by.set(String::new());
            }
            _ => {}
        }
    }
    let own = node.binds.of_owner(owner).into_iter();
    let count = own.filter(|port| command_bind(port, verb)).count() as u64;
    Ok(Commanded {
        count,
        pending: count > 0,
    })
}

/// Gives a bind the command that its state calls for; false if there is none.
fn command_bind(port: &BindPort, verb: bind_command::Verb) -> bool {
    use bind_command::Verb;
    let sleeps = matches!(
        port.snapshot.get().state(),
        BindState::Waiting | BindState::Paused | BindState::Standby
    );
    match (verb, sleeps) {
        (Verb::Unspecified | Verb::Prove | Verb::Replace | Verb::Disconnect, _) => false,
        // It may be about to be suspended.
        (Verb::Resume, false) => {
            port.suspended.load(Ordering::Relaxed) && port.command(bind(Verb::Resume))
        }
        // For an outbound bind, resuming means binding again.
        (Verb::Rebind | Verb::Resume, true) => port.command(bind(Verb::Resume)),
        (Verb::Suspend, true) if port.snapshot.get().state() == BindState::Paused => false,
        (Verb::Suspend, true) | (Verb::Rebind | Verb::Suspend, false) => port.command(bind(verb)),
    }
}

fn bind(verb: bind_command::Verb) -> BindCommand {
    BindCommand { verb: verb.into() }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::actors::runtime::supervise::Health;
    use crate::pb::BindSnapshot;
    use bind_command::Verb;

    fn port(state: BindState) -> Arc<BindPort> {
        let port = BindPort::new(1, None);
        port.snapshot.set(BindSnapshot {
            state: state.into(),
            ..BindSnapshot::default()
        });
        port
    }

    /// Suspended a moment ago, it does not read its mailbox any more, and does not sleep yet.
    #[actix::test]
    async fn a_bind_that_is_about_to_sleep_is_woken_when_it_is_resumed() {
        struct Deaf;
        impl actix::Actor for Deaf {
            type Context = actix::Context<Self>;
        }
        impl actix::Handler<BindCommand> for Deaf {
            type Result = ();
            fn handle(&mut self, _: BindCommand, _: &mut Self::Context) {}
        }
        let health = Health::new("bind");
        let port = BindPort::new(1, Some(Arc::clone(&health)));
        port.listen(actix::Actor::start(Deaf).recipient());
        port.snapshot.set(BindSnapshot {
            state: BindState::Bound.into(),
            ..BindSnapshot::default()
        });
        assert!(command_bind(&port, Verb::Suspend));
        let wakes = health.wakes();
        assert!(command_bind(&port, Verb::Resume));
        assert!(!port.suspended.load(Ordering::Relaxed));
        assert_ne!(health.wakes(), wakes);
    }

    /// The verbs that a bind in each state receives.
    #[actix::test]
    async fn a_bind_hears_what_its_state_calls_for() {
        use std::sync::Mutex;

        struct Ear(Arc<Mutex<Vec<Verb>>>);
        impl actix::Actor for Ear {
            type Context = actix::Context<Self>;
        }
        impl actix::Handler<BindCommand> for Ear {
            type Result = ();
            fn handle(&mut self, command: BindCommand, _: &mut Self::Context) {
                self.0.lock().unwrap().push(command.verb());
            }
        }
        let heard = Arc::new(Mutex::new(Vec::new()));
        let ear = actix::Actor::start(Ear(Arc::clone(&heard)));
        let cases = [
            (BindState::Bound, Verb::Resume, false, None),
            (BindState::Bound, Verb::Rebind, true, Some(Verb::Rebind)),
            (BindState::Bound, Verb::Suspend, true, Some(Verb::Suspend)),
            // A sleeping bind is woken and checks its port; its mailbox stays empty.
            (BindState::Waiting, Verb::Rebind, true, None),
            (BindState::Waiting, Verb::Suspend, true, None),
            (BindState::Paused, Verb::Resume, true, None),
            (BindState::Paused, Verb::Suspend, false, None),
            (BindState::Bound, Verb::Unspecified, false, None),
        ];
        for (state, verb, carried_out, expected) in cases {
            let port = port(state);
            port.listen(ear.clone().recipient());
            assert_eq!(command_bind(&port, verb), carried_out, "{state:?} {verb:?}");
            let suspended = port.suspended.load(Ordering::Relaxed);
            assert_eq!(
                suspended,
                carried_out && verb == Verb::Suspend,
                "{state:?} {verb:?}"
            );
            // The mailbox is read in order: an answered request means the command was handled.
            tokio::task::yield_now().await;
            tokio::time::sleep(Duration::from_millis(5)).await;
            assert_eq!(heard.lock().unwrap().pop(), expected, "{state:?} {verb:?}");
        }
    }
}
