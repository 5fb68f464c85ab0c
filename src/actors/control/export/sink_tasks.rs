//! The tasks that publish for event sinks: those of the plan, whatever it was before. Run by the actor Export.

use std::sync::Arc;

use actix::{AsyncContext, Context, WrapFuture};

use super::Export;
use super::sinks::{Publisher, RunningSink, sink_backlog};
use crate::actors::context::plan::SinkPlan;
use crate::clock;

// === impl Export ===

impl Export {
    /// Starts, ends and restarts tasks so that they are those of the plan.
    pub(super) fn adapt_sinks(&mut self, ctx: &mut Context<Self>) {
        let plan = self.node.full_plan();
        let is_same = |one: &SinkPlan, other: &SinkPlan| {
            (one.wants, &one.config) == (other.wants, &other.config)
        };
        let over: Vec<String> = (self.sinks.0.iter())
            .filter(|(_, running)| !plan.sinks().iter().any(|one| is_same(one, &running.plan)))
            .map(|(name, _)| name.clone())
            .collect();
        for name in over {
            if let Some(running) = self.sinks.0.remove(&name) {
                ctx.cancel_future(running.task);
            }
            self.states.forget(&name);
            self.node.metrics.forget_sink(&name);
        }
        for sink in plan.sinks() {
            let name = &sink.config.name;
            if self.sinks.0.contains_key(name) {
                continue;
            }
            let publisher = Publisher::new(Arc::clone(sink), Arc::clone(&self.states));
            let work = publisher.publish(Arc::clone(&self.node));
            let running = RunningSink {
                plan: Arc::clone(sink),
                task: ctx.spawn(work.into_actor(self)),
            };
            self.node.metrics.know_sink(name);
            self.sinks.0.insert(name.clone(), running);
        }
    }

    /// Shows what waits for each sink.
    pub(super) fn count_sinks(&self, ctx: &mut Context<Self>) {
        let node = Arc::clone(&self.node);
        let work = async move {
            let waiting = if node.local_lease.is_janitor() {
                sink_backlog(&node).await
            } else {
                Ok(Vec::new())
            };
            match waiting {
                Ok(waiting) => {
                    for sink in node.plan().sinks() {
                        let one = waiting.iter().find(|one| one.reader == sink.wants.reader);
                        let age = one.map_or(0, |one| clock::now_ms() - one.oldest_at);
                        let events = one.map_or(0, |one| one.events);
                        node.metrics.sink_waiting(&sink.config.name, events, age);
                    }
                }
                Err(error) => tracing::warn!(%error, "events of sinks could not be counted"),
            }
        };
        ctx.spawn(work.into_actor(self));
    }
}
