//! The stream of live events for the screen, and commands that do not block it.

use std::io::{BufRead, BufReader};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::time::Duration;

use crate::api::{Done, Hello, LiveBinds, LiveQueues, Nodes, Operators, Overview};
use crate::cli::client::{self, Client, Parser};

use super::model::Order;

/// Between two attempts to reach the server.
const AGAIN_AFTER: Duration = Duration::from_secs(2);
/// Longest line: an event is one line of JSON, with at most 256 queues or binds.
const MAX_LINE: u64 = 4 << 20;

/// Updates for the screen.
pub(super) enum News {
    Hello(Box<Hello>),
    Overview(Box<Overview>),
    Queues(LiveQueues),
    Binds(LiveBinds),
    Operators(Operators),
    Nodes(Nodes),
    /// The server cannot be reached, and why.
    Away(String),
    /// What came of a command.
    Said(Result<String, String>),
}

/// Reads the stream on a thread of its own, until the screen is gone.
///
/// # Errors
/// There is no thread to be had.
pub(super) fn start(
    client: Arc<Client>,
    sender: SyncSender<News>,
    stopped: Receiver<()>,
) -> std::io::Result<()> {
    let run = move || {
        let mut parser = Parser::default();
        loop {
            let end = match read(&client, &mut parser, &sender) {
                Ok(()) => continue,
                Err(Ended::NobodyLooks) => return,
                Err(Ended::Away(reason)) => sender.send(News::Away(reason)),
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
    client: &Arc<Client>,
    sender: &SyncSender<News>,
    order: Order,
) -> std::io::Result<()> {
    let (client, sender) = (Arc::clone(client), sender.clone());
    let run = move || {
        let done = client
            .post(&order.path)
            .and_then(client::decode::<Done>)
            .map(|_| order.done)
            .map_err(|error| format!("{error:#}"));
        // The screen may be closed by now.
        let _ = sender.send(News::Said(done));
    };
    std::thread::Builder::new()
        .name("command".to_owned())
        .spawn(run)
        .map(drop)
}

/// Why the stream is not read any more.
enum Ended {
    NobodyLooks,
    Away(String),
}

/// Reads one stream to its end. It is reopened from time to time, so that one that hangs is
/// noticed; the last id makes that seamless.
fn read(client: &Client, parser: &mut Parser, sender: &SyncSender<News>) -> Result<(), Ended> {
    let away = |error: anyhow::Error| Ended::Away(format!("{error:#}"));
    let body = client.events(&parser.id).map_err(away)?;
    let mut lines = BufReader::new(body);
    let mut heard = false;
    loop {
        let mut line = Vec::new();
        let read = std::io::Read::take(&mut lines, MAX_LINE).read_until(b'\n', &mut line);
        match read {
            Ok(0) if heard => return Ok(()),
            Ok(0) => return Err(Ended::Away("the stream of events is empty".to_owned())),
            Ok(_) => {}
            // The stream has had its time.
            Err(_) if heard => return Ok(()),
            Err(error) => return Err(Ended::Away(error.to_string())),
        }
        let Ok(line) = std::str::from_utf8(&line) else {
            continue;
        };
        let Some((kind, data)) = parser.line(line.trim_end_matches(['\r', '\n'])) else {
            continue;
        };
        heard = true;
        match news(&kind, &data) {
            Some(one) => sender.send(one).map_err(|_| Ended::NobodyLooks)?,
            None if kind == "end" => return Err(Ended::Away("the server is stopping".to_owned())),
            None => {}
        }
    }
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
