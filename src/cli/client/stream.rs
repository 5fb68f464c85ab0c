//! The stream of live events, for `smsc top`.

use std::io::Read;

use anyhow::anyhow;

use super::Client;

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
        match answer {
            Ok(answer) if answer.status().as_u16() == 200 => Ok(answer.into_body().into_reader()),
            refused => Err(self
                .read(refused)
                .err()
                .unwrap_or_else(|| anyhow!("{} answered without a stream of events", self.url))),
        }
    }
}
