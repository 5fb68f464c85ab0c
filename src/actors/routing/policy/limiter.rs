//! The buckets of limits: this node's own, and the cluster's where Redis is configured.
//!
//! Called by ingest for messages that a limit is about. Keeps true that memory is bounded by
//! `policy.limit_addresses`, and that a Redis that does not answer is not waited for again and again:
//! then this node decides alone, as without it.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, OnceLock};

use futures_util::future::join_all;
use lru::LruCache;
use tokio::time::Instant;

use crate::actors::runtime::locks::lock;
use crate::domain::limit::{Gcra, Pace};
use crate::domain::policy::Limit;
use crate::store::redis::Redis;

/// Whoever is about to take tokens, and how many; or to give back.
#[derive(Debug, Clone, PartialEq)]
pub struct Bucket {
    /// `rule`, or `rule/address`.
    name: String,
    rate: f64,
    burst: u32,
    pub wanted: u32,
}

/// Buckets that were used lately.
pub struct Limiter {
    started: Instant,
    own: Mutex<LruCache<String, Kept>>,
    redis: OnceLock<Arc<Redis>>,
}

struct Kept {
    rate: f64,
    burst: u32,
    gcra: Gcra,
}

// === impl Bucket ===

impl Bucket {
    /// The bucket of a limit, which is one of an address or, for an empty one, the only one.
    pub fn new(limit: &Limit, address: &[u8]) -> Self {
        let name = match address.is_empty() {
            true => limit.name.clone(),
            // Octets that are no text share a bucket with their likes.
            false => format!("{}/{}", limit.name, String::from_utf8_lossy(address)),
        };
        Self {
            name,
            rate: limit.rate,
            burst: limit.burst,
            wanted: 0,
        }
    }

    fn pace(&self) -> Pace {
        Pace::bucket(self.rate, self.burst)
    }
}

// === impl Limiter ===

impl Default for Limiter {
    fn default() -> Self {
        Self {
            started: Instant::now(),
            own: Mutex::new(LruCache::new(NonZeroUsize::MIN)),
            redis: OnceLock::new(),
        }
    }
}

impl Limiter {
    /// Limits are the cluster's from now on.
    pub fn share(&self, redis: Arc<Redis>) {
        // A second one would be the same: it is made once per process.
        let _ = self.redis.set(redis);
    }

    /// Keeps as many buckets in memory.
    pub fn resize(&self, most: usize) {
        let most = NonZeroUsize::new(most).unwrap_or(NonZeroUsize::MIN);
        let mut own = lock(&self.own);
        if own.cap() != most {
            own.resize(most);
        }
    }

    /// Takes up to what each bucket wants; says how many each gave.
    pub async fn take(&self, buckets: &[Bucket]) -> Vec<u32> {
        let Some(redis) = self.redis.get().filter(|redis| redis.is_up()) else {
            return buckets.iter().map(|bucket| self.take_own(bucket)).collect();
        };
        // They pipeline on the one connection.
        let taken = buckets.iter().map(|bucket| async {
            let pace = bucket.pace();
            let answer = redis.take_of_limit(&bucket.name, &pace, bucket.wanted);
            match answer.await {
                Ok(shared) => shared.granted,
                Err(_) => self.take_own(bucket),
            }
        });
        join_all(taken).await
    }

    /// Gives back what was taken and not used; of what Redis has not granted it knows nothing.
    pub async fn give_back(&self, buckets: &[Bucket]) {
        let Some(redis) = self.redis.get().filter(|redis| redis.is_up()) else {
            let mut own = lock(&self.own);
            for bucket in buckets {
                if let Some(kept) = own.get_mut(&bucket.name) {
                    kept.gcra.give_back(bucket.wanted);
                }
            }
            return;
        };
        let given = buckets.iter().map(|bucket| async {
            let pace = bucket.pace();
            // Lost with Redis, and then the bucket is full again anyway.
            let _ = redis
                .give_back_to_limit(&bucket.name, &pace, bucket.wanted)
                .await;
        });
        join_all(given).await;
    }

    fn take_own(&self, bucket: &Bucket) -> u32 {
        let now = self.started.elapsed().as_nanos() as u64;
        let mut own = lock(&self.own);
        let kept = own.get_or_insert_mut(bucket.name.clone(), || Kept {
            rate: bucket.rate,
            burst: bucket.burst,
            gcra: Gcra::new(bucket.rate, bucket.burst),
        });
        if (kept.rate, kept.burst) != (bucket.rate, bucket.burst) {
            kept.gcra.reconfigure(now, bucket.rate, bucket.burst);
            (kept.rate, kept.burst) = (bucket.rate, bucket.burst);
        }
        kept.gcra.take(now, bucket.wanted).granted
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::domain::policy::Per;

    fn bucket(address: &str, wanted: u32) -> Bucket {
        let limit = Limit {
            name: "one".to_owned(),
            account: None,
            sender_prefix: (*b"").into(),
            destination_prefix: (*b"").into(),
            rate: 1.0,
            burst: 5,
            per: Per::Destination,
        };
        Bucket {
            wanted,
            ..Bucket::new(&limit, address.as_bytes())
        }
    }

    #[tokio::test(start_paused = true)]
    async fn each_address_has_its_tokens_and_the_least_used_is_forgotten() {
        let limiter = Limiter::default();
        limiter.resize(2);
        let take = async |address, wanted| limiter.take(&[bucket(address, wanted)]).await[0];
        assert_eq!(take("a", 7).await, 5);
        assert_eq!(take("b", 3).await, 3);
        assert_eq!(take("a", 1).await, 0);
        limiter.give_back(&[bucket("a", 2)]).await;
        assert_eq!(take("a", 9).await, 2);
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(take("a", 9).await, 1);
        // The third one takes the place of b, which has all its tokens when it is back.
        assert_eq!(take("c", 1).await, 1);
        assert_eq!(take("b", 9).await, 5);
    }

    #[tokio::test(start_paused = true)]
    async fn a_new_rate_counts_at_once() {
        let limiter = Limiter::default();
        let mut faster = bucket("", 100);
        assert_eq!(limiter.take(&[bucket("", 5)]).await, [5]);
        (faster.rate, faster.burst) = (100.0, 100);
        assert_eq!(
            limiter.take(std::slice::from_ref(&faster)).await,
            [0],
            "used up stays used up"
        );
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(limiter.take(&[faster]).await, [100]);
    }
}
