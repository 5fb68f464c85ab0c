//! Streams of events: that of the live events for `smsc top`, and that of a trace.

use std::io::{BufRead as _, BufReader, Read};

use anyhow::anyhow;
use serde_json::Value;
use ureq::http::Response;

use super::Client;

/// Longest line: an event is one line of JSON, with at most a few hundred entries.
const MAX_LINE: u64 = 4 << 20;

/// Puts lines of `text/event-stream` together (HTML Standard §9.2.6).
#[derive(Debug, Default)]
pub struct Parser {
    kind: String,
    data: String,
    /// Of the last event, to go on from.
    pub id: String,
}

// === impl Client ===

impl Client {
    /// `GET /v1/events`: the stream, which ends by itself after a while so that one that hangs is
    /// noticed; `last` is the id of the last event that was read, or empty.
    ///
    /// # Errors
    /// As [`Client::get`].
    pub fn events(&self, last: &str) -> anyhow::Result<impl Read + use<>> {
        let answer = self
            .agent
            .get(format!("{}/v1/events", self.url))
            .header("Authorization", self.bearer())
            .header("Last-Event-ID", last)
            .call();
        self.stream(answer)
    }

    /// `POST` with a body: each event of the stream that is answered, by its kind and its data, until the stream ends
    /// or `take` gives false.
    ///
    /// # Errors
    /// As [`Client::get`], and what `take` gives.
    pub fn follow(
        &self,
        path: &str,
        body: &Value,
        mut take: impl FnMut(&str, &str) -> anyhow::Result<bool>,
    ) -> anyhow::Result<()> {
        let answer = self
            .agent
            .post(format!("{}{path}", self.url))
            .header("Authorization", self.bearer())
            .config()
            // It lasts as long as its server says; that sends something every second.
            .timeout_global(None)
            .build()
            .send_json(body);
        let mut lines = BufReader::new(self.stream(answer)?);
        let mut parser = Parser::default();
        loop {
            let mut line = Vec::new();
            if Read::take(&mut lines, MAX_LINE).read_until(b'\n', &mut line)? == 0 {
                return Err(anyhow!("{} has ended the stream", self.url));
            }
            let line = String::from_utf8_lossy(&line);
            if let Some((kind, data)) = parser.line(line.trim_end_matches(['\r', '\n']))
                && !take(&kind, &data)?
            {
                return Ok(());
            }
        }
    }

    fn stream(
        &self,
        answer: Result<Response<ureq::Body>, ureq::Error>,
    ) -> anyhow::Result<ureq::BodyReader<'static>> {
        match answer {
            Ok(answer) if answer.status().as_u16() == 200 => Ok(answer.into_body().into_reader()),
            refused => Err(self
                .read(refused)
                .err()
                .unwrap_or_else(|| anyhow!("{} answered without a stream of events", self.url))),
        }
    }
}

// === impl Parser ===

impl Parser {
    /// Takes a line; the event that it completes, as kind and data.
    pub fn line(&mut self, line: &str) -> Option<(String, String)> {
        if line.is_empty() {
            let event = (
                std::mem::take(&mut self.kind),
                std::mem::take(&mut self.data),
            );
            return (!event.1.is_empty()).then_some(event);
        }
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "event" => value.clone_into(&mut self.kind),
            "id" => value.clone_into(&mut self.id),
            "data" => self.data.push_str(value),
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
        let event = |kind: &str, data: &str| (kind.to_owned(), data.to_owned());
        assert_eq!(events, [event("overview", "{\"a\":1}"), event("end", "{}")]);
        assert_eq!(parser.id, "1700");
    }
}
