//! Accepting connections, one after another, on TCP or a UNIX socket.

use std::io;
use std::time::Duration;

/// After an accept error (out of file descriptors) the listener waits as long.
const PAUSE: Duration = Duration::from_millis(200);

/// Accepts connections and hands each to `admit`, without an end; returns only if there is no listener. `setting` says
/// where it listens, for the log.
pub async fn accept_all<S, C>(
    setting: &str,
    listener: io::Result<S>,
    accept: impl AsyncFn(&S) -> io::Result<C>,
    mut admit: impl FnMut(C),
) {
    let listener = match listener {
        Ok(listener) => listener,
        Err(error) => {
            return tracing::error!(%error, listener = setting, "the listener cannot be used");
        }
    };
    loop {
        match accept(&listener).await {
            Ok(accepted) => admit(accepted),
            Err(error) => {
                tracing::warn!(%error, listener = setting, "a connection could not be accepted");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}
