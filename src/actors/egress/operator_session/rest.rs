//! A bind without a connection: where the protocol lets it, one without work is closed, and made anew when there is some.

use std::sync::Arc;

use actix::{ActorFutureExt, AsyncContext, Context, WrapFuture};
use tokio::time::Instant;

use super::{BindRest, OperatorSession, WRITE_LIMIT, dial};
use crate::actors::runtime::link::Wire;
use crate::actors::session::core::LINGER;

impl OperatorSession {
    /// The connection has ended: whether the bind stays without one until there is work.
    pub(super) fn sleeps(&mut self) -> bool {
        (self.core.protocol.other()).is_some_and(|bind| bind.sleep())
    }

    /// Closes the connection when everything is written; the bind stays.
    pub(super) fn go_to_rest(&mut self, ctx: &mut Context<Self>) {
        let Some(outbox) = self.core.outbox.clone() else {
            return;
        };
        if self.rest != BindRest::Awake {
            return;
        }
        outbox.close();
        self.rest = BindRest::Closing;
        // A peer that does not take its last answers is not waited for.
        ctx.run_later(LINGER, |session, ctx| {
            if session.rest == BindRest::Closing {
                session.lie_down(ctx);
            }
        });
    }

    /// The connection is closed.
    pub(super) fn lie_down(&mut self, ctx: &mut Context<Self>) {
        self.count_octets();
        if let Some(outbox) = &self.core.outbox {
            outbox.cut();
        }
        self.rest = BindRest::Resting;
        self.wake(ctx);
    }

    /// Makes the connection anew if it rests and there is work.
    pub(super) fn wake(&mut self, ctx: &mut Context<Self>) {
        let other = self.core.protocol.other();
        if self.rest != BindRest::Resting || !other.is_some_and(|bind| bind.wants_connection()) {
            return;
        }
        let Some(plan) = self.plan.clone() else {
            return;
        };
        self.rest = BindRest::Awake;
        let node = Arc::clone(&self.core.node);
        let connect = async move {
            let dialled = dial::dial(&node, &plan.config);
            let dialled = tokio::time::timeout(plan.config.bind_timeout, dialled).await;
            dialled.unwrap_or_else(|_| Err("connect: no connection in time".to_owned()))
        };
        ctx.spawn(
            connect
                .into_actor(self)
                .map(|connected, session, ctx| match connected {
                    Ok((wire, _)) => session.awake(wire, ctx),
                    Err(why) => session.come_back(&why, ctx),
                }),
        );
    }

    fn awake(&mut self, wire: Wire, ctx: &mut Context<Self>) {
        if self.farewell.is_some() {
            // Ended by order meanwhile.
            return;
        }
        self.rest = BindRest::Awake;
        self.count_octets();
        self.octets_counted = 0;
        self.core.outbox = Some(wire.attach(ctx, WRITE_LIMIT));
        let now = Instant::now().into_std();
        self.core.write(|protocol, out| {
            if let Some(bind) = protocol.other() {
                bind.wake(now, out);
            }
        });
        self.take_news(ctx);
    }
}
