//! Recent submissions of all nodes: `duplicate:{key}`, an id, or empty while the message is being
//! stored.
//!
//! Written and read by the duplicate guard; entries expire by themselves; without them a duplicate
//! on another node is not recognised.

use std::time::Duration;

use deadpool_redis::redis;

use super::{Redis, RedisError};

/// Redis' answer to the mark of a submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Marked {
    /// There was none: it is ours.
    Now,
    /// Another node is about to store it.
    Pending,
    /// It was accepted under this id.
    Accepted(u64),
}

// === impl Redis ===

impl Redis {
    /// Marks submissions as pending for this time unless they are marked already, in one round
    /// trip. Answers in their order.
    ///
    /// # Errors
    /// See [`RedisError`].
    pub async fn mark_submissions(
        &self,
        keys: &[u128],
        life: Duration,
    ) -> Result<Vec<Marked>, RedisError> {
        let mut pipe = redis::pipe();
        for key in keys {
            let key = self.submission_key(*key);
            let mut set = redis::cmd("SET");
            set.arg(&key).arg("").arg("NX").arg("PX");
            pipe.add_command(set.arg(life.as_millis() as u64).clone());
            pipe.get(&key);
        }
        type Found = Vec<(Option<String>, Option<String>)>;
        let found: Found = self.send_all(pipe).await?;
        let mark = |(set, value): (Option<String>, Option<String>)| match (set, value) {
            (Some(_), _) | (None, None) => Marked::Now,
            (None, Some(id)) => id.parse().map_or(Marked::Pending, Marked::Accepted),
        };
        Ok(found.into_iter().map(mark).collect())
    }

    /// Stores the ids of accepted submissions, each for this many milliseconds.
    ///
    /// # Errors
    /// See [`RedisError`].
    pub async fn publish_submissions(&self, marks: &[(u128, u64, i64)]) -> Result<(), RedisError> {
        let mut pipe = redis::pipe();
        for (key, id, life) in marks {
            let mut set = redis::cmd("SET");
            set.arg(self.submission_key(*key)).arg(id).arg("PX");
            pipe.add_command(set.arg(life.max(&1)).clone()).ignore();
        }
        self.send_all(pipe).await
    }

    /// Removes a mark.
    ///
    /// # Errors
    /// See [`RedisError`].
    pub async fn withdraw_submission(&self, key: u128) -> Result<(), RedisError> {
        let mut command = redis::cmd("DEL");
        command.arg(self.submission_key(key));
        self.send(command).await
    }

    fn submission_key(&self, key: u128) -> String {
        self.key("duplicate", &format!("{key:032x}"))
    }
}
