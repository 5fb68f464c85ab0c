//! The buckets of limits: on this node, or shared by the cluster where Redis is configured.
//!
//! Called by ingest for messages to which a limit applies. Invariants: memory is bounded by
//! `policy.limit_addresses`, and messages do not wait again and again for a Redis that does not answer:
//! this node then uses its own buckets, as without Redis.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, OnceLock};

use futures_util::future::join_all;
use lru::LruCache;
use tokio::time::Instant;

use crate::actors::runtime::locks::lock;
use crate::domain::limit::{Gcra, GcraParameters};
use crate::domain::policy::AddressLimit;
use crate::store::redis::Redis;

/// A bucket, and how many tokens to take from it or give back.
#[derive(Debug, Clone, PartialEq)]
pub struct BucketRequest {
    /// `rule`, or `rule/address`.
    name: String,
    rate: f64,
    burst: u32,
    pub wanted: u32,
}

/// Buckets that were used lately.
pub struct Limiter {
    started: Instant,
    own: Mutex<LruCache<String, BucketTable>>,
    redis: OnceLock<Arc<Redis>>,
}

struct BucketTable {
    rate: f64,
    burst: u32,
    gcra: Gcra,
}

// === impl BucketRequest ===

impl BucketRequest {
    /// The bucket of a limit for an address; an empty address means the only bucket.
    pub fn new(limit: &AddressLimit, address: &[u8]) -> Self {
        let name = if address.is_empty() {
            limit.name.clone()
        } else {
            // Addresses that are not UTF-8 may share a bucket.
            format!("{}/{}", limit.name, String::from_utf8_lossy(address))
        };
        Self {
            name,
            rate: limit.rate,
            burst: limit.burst,
            wanted: 0,
        }
    }

    /// Short messages per second.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    fn pace(&self) -> GcraParameters {
        GcraParameters::bucket(self.rate, self.burst)
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
    /// Shares limits with the cluster from now on.
    pub fn share(&self, redis: Arc<Redis>) {
        // A second one would be the same: one is made per process.
        let _ = self.redis.set(redis);
    }

    /// Sets how many buckets are kept in memory.
    pub fn resize(&self, most: usize) {
        let most = NonZeroUsize::new(most).unwrap_or(NonZeroUsize::MIN);
        let mut own = lock(&self.own);
        if own.cap() != most {
            own.resize(most);
        }
    }

    /// Takes up to the wanted tokens of each bucket; returns how many each gave.
    pub async fn take(&self, buckets: &[BucketRequest]) -> Vec<u32> {
        let Some(redis) = self.redis.get().filter(|redis| redis.is_up()) else {
            return buckets.iter().map(|bucket| self.take_own(bucket)).collect();
        };
        // The requests are pipelined on one connection.
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

    /// Gives back unused tokens; Redis does not know those that it has not granted.
    pub async fn give_back(&self, buckets: &[BucketRequest]) {
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
            // If Redis loses the bucket, it starts full anyway.
            let _ = redis
                .give_back_to_limit(&bucket.name, &pace, bucket.wanted)
                .await;
        });
        join_all(given).await;
    }

    fn take_own(&self, bucket: &BucketRequest) -> u32 {
        let now = self.started.elapsed().as_nanos() as u64;
        let mut own = lock(&self.own);
        let kept = own.get_or_insert_mut(bucket.name.clone(), || BucketTable {
            rate: bucket.rate,
            burst: bucket.burst,
            gcra: Gcra::new(bucket.rate, bucket.burst),
        });
        if (kept.rate, kept.burst) != (bucket.rate, bucket.burst) {
            kept.gcra
                .reconfigure(now, Gcra::new(bucket.rate, bucket.burst));
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

    fn bucket(address: &str, wanted: u32) -> BucketRequest {
        let limit = AddressLimit {
            name: "one".to_owned(),
            account: None,
            sender_prefix: (*b"").into(),
            destination_prefix: (*b"").into(),
            rate: 1.0,
            burst: 5,
            per: Per::Destination,
        };
        BucketRequest {
            wanted,
            ..BucketRequest::new(&limit, address.as_bytes())
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
        // The third one evicts b, which starts full when it comes back.
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
