//! Streams of events: that of the live events for `smsc top` and `smsc events`, and that of a trace.

use std::io::{BufRead as _, BufReader, Read};

use anyhow::{anyhow, bail};
use serde_json::Value;
use ureq::Agent;
use ureq::http::Response;

use super::AdminClient;

/// Longest line: an event is one line of JSON, with at most a few hundred entries.
const MAX_LINE: u64 = 4 << 20;

/// One event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StreamEvent {
    pub kind: String,
    /// JSON.
    pub data: String,
    /// To go on from.
    pub id: String,
}

/// The events of one connection.
pub struct EventStream {
    lines: BufReader<Box<dyn Read>>,
    parser: Parser,
    has_heard: bool,
}

/// Puts lines of `text/event-stream` together (HTML Standard §9.2.6).
#[derive(Debug, Default)]
struct Parser(StreamEvent);

// === impl AdminClient ===

impl AdminClient {
    /// `GET /v1/events`: the stream, which ends by itself after a while so that one that hangs is
    /// noticed; `kinds` as the API has them, `last` is the id of the last event that was read, or empty.
    ///
    /// # Errors
    /// As [`AdminClient::get`].
    pub fn events(&self, kinds: &str, last: &str) -> anyhow::Result<EventStream> {
        let path = format!("/v1/events?kinds={}", super::segment(kinds));
        let request = self.request(Agent::get, &path);
        self.stream(request.header("Last-Event-ID", last).call())
    }

    /// `POST` with a body: each event of the stream that is answered, by its kind and its data, until the stream ends
    /// or `take` gives false.
    ///
    /// # Errors
    /// As [`AdminClient::get`], and what `take` gives.
    pub fn follow(
        &self,
        path: &str,
        body: &Value,
        mut take: impl FnMut(&str, &str) -> anyhow::Result<bool>,
    ) -> anyhow::Result<()> {
        let answer = self
            .request(Agent::post, path)
            .config()
            // It lasts as long as its server says; that sends something every second.
            .timeout_global(None)
            .build()
            .send_json(body);
        let mut events = self.stream(answer)?;
        while let Some(event) = events.next_event()? {
            if !take(&event.kind, &event.data)? {
                return Ok(());
            }
        }
        Err(anyhow!("{} has ended the stream", self.url))
    }

    fn stream(
        &self,
        answer: Result<Response<ureq::Body>, ureq::Error>,
    ) -> anyhow::Result<EventStream> {
        match answer {
            Ok(answer) if answer.status().as_u16() == 200 => Ok(EventStream {
                lines: BufReader::new(Box::new(answer.into_body().into_reader())),
                parser: Parser::default(),
                has_heard: false,
            }),
            refused => Err(self
                .read(refused)
                .err()
                .unwrap_or_else(|| anyhow!("{} answered without a stream of events", self.url))),
        }
    }
}

// === impl EventStream ===

impl EventStream {
    /// The next event; `None` when the stream has had its time and another one goes on where it ended.
    ///
    /// # Errors
    /// The stream ends without any event.
    pub fn next_event(&mut self) -> anyhow::Result<Option<StreamEvent>> {
        loop {
            let mut line = Vec::new();
            let read = Read::take(&mut self.lines, MAX_LINE).read_until(b'\n', &mut line);
            match read {
                Ok(0) if self.has_heard => return Ok(None),
                Ok(0) => bail!("the stream of events is empty"),
                Ok(_) => {}
                Err(_) if self.has_heard => return Ok(None),
                Err(error) => return Err(error.into()),
            }
            let Ok(line) = std::str::from_utf8(&line) else {
                continue;
            };
            if let Some(event) = self.parser.line(line.trim_end_matches(['\r', '\n'])) {
                self.has_heard = true;
                return Ok(Some(event));
            }
        }
    }
}

// === impl Parser ===

impl Parser {
    /// Takes a line; the event that it completes.
    fn line(&mut self, line: &str) -> Option<StreamEvent> {
        if line.is_empty() {
            let id = self.0.id.clone();
            let event = std::mem::replace(
                &mut self.0,
                StreamEvent {
                    id,
                    ..StreamEvent::default()
                },
            );
            return (!event.data.is_empty()).then_some(event);
        }
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "event" => value.clone_into(&mut self.0.kind),
            "id" => value.clone_into(&mut self.0.id),
            "data" => self.0.data.push_str(value),
            // Comments, which keep the connection alive, and `retry`, which is ignored.
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_become_events() {
        let mut parser = Parser::default();
        let mut events = Vec::new();
        for line in [
            "retry: 2000",
            "event: overview",
            "id: 1700",
            "data: {\"a\":",
            "data: 1}",
            "",
            ":",
            "",
            "event: end",
            "data:{}",
            "",
        ] {
            events.extend(parser.line(line));
        }
        let event = |kind: &str, data: &str| StreamEvent {
            kind: kind.to_owned(),
            data: data.to_owned(),
            id: "1700".to_owned(),
        };
        assert_eq!(events, [event("overview", "{\"a\":1}"), event("end", "{}")]);
    }
}
