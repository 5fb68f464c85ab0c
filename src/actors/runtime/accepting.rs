//! An actor that accepts connections, one after another, on TCP or a UNIX socket.

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, ActorContext, ActorFutureExt, AsyncContext, Context, WrapFuture};

/// After an accept error (out of file descriptors) the listener waits as long.
const PAUSE: Duration = Duration::from_millis(200);

/// A listener, and what it does with a connection.
pub trait Accepting: Actor<Context = Context<Self>> {
    /// The socket.
    type Socket: 'static;
    /// A connection, with whom it comes from.
    type Accepted: 'static;

    /// The setting that says where, for the log.
    const SETTING: &'static str;

    /// The next connection.
    fn accept(
        listener: Arc<Self::Socket>,
    ) -> impl Future<Output = io::Result<Self::Accepted>> + 'static;

    fn admit(&mut self, accepted: Self::Accepted);

    /// Accepts until the actor stops; stops it if there is no listener.
    fn listen(&self, listener: io::Result<Self::Socket>, ctx: &mut Self::Context) {
        match listener {
            Ok(listener) => self.accept_next(Arc::new(listener), ctx),
            Err(error) => {
                tracing::error!(%error, listener = Self::SETTING, "the listener cannot be used");
                ctx.stop();
            }
        }
    }

    fn accept_next(&self, listener: Arc<Self::Socket>, ctx: &mut Self::Context) {
        let accept = async move {
            let accepted = Self::accept(Arc::clone(&listener)).await;
            if let Err(error) = &accepted {
                tracing::warn!(%error, listener = Self::SETTING, "a connection could not be accepted");
                tokio::time::sleep(PAUSE).await;
            }
            (listener, accepted)
        };
        ctx.spawn(
            accept
                .into_actor(self)
                .map(|(listener, accepted), act, ctx| {
                    if let Ok(accepted) = accepted {
                        act.admit(accepted);
                    }
                    act.accept_next(listener, ctx);
                }),
        );
    }
}
