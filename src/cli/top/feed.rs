//! The stream of live events for the screen, and commands that do not block it.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::time::Duration;

use anyhow::anyhow;

use crate::api::{Done, Hello, LiveBinds, LiveQueues, Nodes, Operators, Overview};
use crate::cli::client::{self, AdminClient};
use crate::cli::said;

use super::model::ChosenCommand;

/// Between two attempts to reach the server.
const AGAIN_AFTER: Duration = Duration::from_secs(2);
/// What is shown.
const KINDS: &str = "overview,queues,binds,operators,nodes";

/// Updates for the screen.
pub(super) enum News {
    Hello(Box<Hello>),
    Overview(Box<Overview>),
    Queues(LiveQueues),
    Binds(LiveBinds),
    Operators(Operators),
    Nodes(Nodes),
    /// The server cannot be reached, and why.
    Away(anyhow::Error),
    /// What came of a command.
    Said(Result<String, String>),
}

/// Reads the stream on a thread of its own, until the screen is gone.
///
/// # Errors
/// There is no thread to be had.
pub(super) fn start(
    client: Arc<AdminClient>,
    sender: SyncSender<News>,
    stopped: Receiver<()>,
) -> std::io::Result<()> {
    let run = move || {
        let mut last = String::new();
        loop {
            let end = match read(&client, &mut last, &sender) {
                Ok(()) => continue,
                Err(FeedEnd::NobodyLooks) => return,
                Err(FeedEnd::Away(reason)) => sender.send(News::Away(reason)),
            };
            let pause = stopped.recv_timeout(AGAIN_AFTER);
            if end.is_err() || pause != Err(RecvTimeoutError::Timeout) {
                return;
            }
        }
    };
    std::thread::Builder::new()
        .name("events".to_owned())
        .spawn(run)
        .map(drop)
}

/// Carries out a command on a thread of its own.
///
/// # Errors
/// There is no thread to be had.
pub(super) fn command(
    client: &Arc<AdminClient>,
    sender: &SyncSender<News>,
    order: ChosenCommand,
) -> std::io::Result<()> {
    let (client, sender) = (Arc::clone(client), sender.clone());
    let run = move || {
        let done = client
            .post(&order.path)
            .and_then(client::decode::<Done>)
            .map(|_| order.done)
            .map_err(|error| said(&error));
        // The screen may be closed by now.
        let _ = sender.send(News::Said(done));
    };
    std::thread::Builder::new()
        .name("command".to_owned())
        .spawn(run)
        .map(drop)
}

/// Why the stream is not read any more.
enum FeedEnd {
    NobodyLooks,
    Away(anyhow::Error),
}

/// Reads one stream to its end. It is reopened from time to time, so that one that hangs is
/// noticed; the last id makes that seamless.
fn read(client: &AdminClient, last: &mut String, sender: &SyncSender<News>) -> Result<(), FeedEnd> {
    let mut events = client.events(KINDS, last).map_err(FeedEnd::Away)?;
    while let Some(event) = events.next_event().map_err(FeedEnd::Away)? {
        *last = event.id;
        match news(&event.kind, &event.data) {
            Some(one) => sender.send(one).map_err(|_| FeedEnd::NobodyLooks)?,
            None if event.kind == "end" => {
                return Err(FeedEnd::Away(anyhow!("the server is stopping")));
            }
            None => {}
        }
    }
    Ok(())
}

/// An event as news; `None` for one that this release does not know.
fn news(kind: &str, data: &str) -> Option<News> {
    fn decode<T: serde::de::DeserializeOwned>(data: &str) -> Option<T> {
        serde_json::from_str(data).ok()
    }
    match kind {
        "hello" => decode(data).map(News::Hello),
        "overview" => decode(data).map(News::Overview),
        "queues" => decode(data).map(News::Queues),
        "binds" => decode(data).map(News::Binds),
        "operators" => decode(data).map(News::Operators),
        "nodes" => decode(data).map(News::Nodes),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_events_are_passed_over() {
        assert!(news("weather", "{}").is_none());
        assert!(news("nodes", "no json").is_none());
        assert!(matches!(
            news("nodes", "{\"nodes\":[],\"as_of\":null}"),
            Some(News::Nodes(_))
        ));
    }
}
