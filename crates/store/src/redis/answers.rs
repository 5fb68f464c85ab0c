//! Answers of recent look-ups by any node: `network:{number}`, `imsi:{number}`.
//!
//! Written and read by the resolvers; entries expire by themselves, and losing them costs look-ups.

use std::time::Duration;

use deadpool_redis::redis;

use super::{Redis, RedisError};

/// Keys that one step of a flush looks at.
const STEP: usize = 1_000;

/// An answer of an earlier look-up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownAnswer {
    /// Empty: the source knew nothing about the number.
    pub answer: String,
    /// How long it counts from now on.
    pub life: Duration,
}

// === impl Redis ===

impl Redis {
    /// The stored answers to a question about these numbers, in their order, in one round trip.
    ///
    /// # Errors
    /// See [`RedisError`].
    pub async fn answers(
        &self,
        question: &str,
        numbers: &[Box<[u8]>],
    ) -> Result<Vec<Option<KnownAnswer>>, RedisError> {
        let mut pipe = redis::pipe();
        for number in numbers {
            let key = self.answer_key(question, number);
            pipe.get(&key).pttl(&key);
        }
        type Found = Vec<(Option<String>, i64)>;
        let found: Found = self.send_all(pipe).await?;
        let known = |(answer, life): (Option<String>, i64)| {
            Some(KnownAnswer {
                answer: answer?,
                life: Duration::from_millis(u64::try_from(life).ok()?),
            })
        };
        Ok(found.into_iter().map(known).collect())
    }

    /// Keeps an answer for this time.
    ///
    /// # Errors
    /// See [`RedisError`].
    pub async fn keep_answer(
        &self,
        question: &str,
        number: &[u8],
        answer: &str,
        life: Duration,
    ) -> Result<(), RedisError> {
        let mut command = redis::cmd("SET");
        command
            .arg(self.answer_key(question, number))
            .arg(answer)
            .arg("PX")
            .arg(u64::try_from(life.as_millis()).unwrap_or(u64::MAX).max(1));
        self.send(command).await
    }

    /// Removes the answer about a number.
    ///
    /// # Errors
    /// See [`RedisError`].
    pub async fn forget_answer(&self, question: &str, number: &[u8]) -> Result<(), RedisError> {
        let mut command = redis::cmd("DEL");
        command.arg(self.answer_key(question, number));
        self.send(command).await
    }

    /// Removes every answer to a question, in steps; answers that are written meanwhile may stay.
    ///
    /// # Errors
    /// See [`RedisError`].
    pub async fn forget_answers(&self, question: &str) -> Result<(), RedisError> {
        let mut cursor = 0_u64;
        loop {
            let mut scan = redis::cmd("SCAN");
            scan.arg(cursor)
                .arg("MATCH")
                .arg(format!("{question}:*"))
                .arg("COUNT")
                .arg(STEP);
            let (next, keys): (u64, Vec<String>) = self.send(scan).await?;
            if !keys.is_empty() {
                // One by one: with hash tags they may be in different slots.
                let mut pipe = redis::pipe();
                keys.iter().for_each(|key| {
                    pipe.del(key).ignore();
                });
                self.send_all::<()>(pipe).await?;
            }
            cursor = next;
            if cursor == 0 {
                return Ok(());
            }
        }
    }

    fn answer_key(&self, question: &str, number: &[u8]) -> String {
        self.key(question, &String::from_utf8_lossy(number))
    }
}
