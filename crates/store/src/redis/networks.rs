//! Networks of numbers recently looked up by any node: `network:{number}`.
//!
//! Written and read by the resolver; entries expire by themselves, and losing them costs look-ups.

use std::time::Duration;

use deadpool_redis::redis;

use super::{Redis, RedisError};

/// An answer of an earlier look-up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownNetwork {
    /// Empty: the number is not ported.
    pub network: String,
    /// How long it counts from now on.
    pub life: Duration,
}

// === impl Redis ===

impl Redis {
    /// The stored networks of these numbers, in their order, in one round trip.
    ///
    /// # Errors
    /// See [`RedisError`].
    pub async fn networks(
        &self,
        numbers: &[Box<[u8]>],
    ) -> Result<Vec<Option<KnownNetwork>>, RedisError> {
        let mut pipe = redis::pipe();
        for number in numbers {
            let key = self.network_key(number);
            pipe.get(&key).pttl(&key);
        }
        type Found = Vec<(Option<String>, i64)>;
        let found: Found = self
            .call(|mut connection| async move { pipe.query_async(&mut connection).await })
            .await?;
        let known = |(network, life): (Option<String>, i64)| {
            Some(KnownNetwork {
                network: network?,
                life: Duration::from_millis(u64::try_from(life).ok()?),
            })
        };
        Ok(found.into_iter().map(known).collect())
    }

    /// Keeps an answer for this time.
    ///
    /// # Errors
    /// See [`RedisError`].
    pub async fn keep_network(
        &self,
        number: &[u8],
        network: &str,
        life: Duration,
    ) -> Result<(), RedisError> {
        let mut command = redis::cmd("SET");
        command
            .arg(self.network_key(number))
            .arg(network)
            .arg("PX")
            .arg(u64::try_from(life.as_millis()).unwrap_or(u64::MAX).max(1));
        self.call(|mut connection| async move { command.query_async(&mut connection).await })
            .await
    }

    fn network_key(&self, number: &[u8]) -> String {
        self.key("network", &String::from_utf8_lossy(number))
    }
}
