//! Checks of `[redis_platform]`.

use std::time::Duration;

use super::Findings;
use crate::Config;

pub(super) fn check_redis_platform(config: &Config, found: &mut Findings) {
    found.require(
        "redis_platform.enabled",
        !config.redis_platform.enabled || config.redis.url.is_some(),
        "needs a Redis; set redis.url",
    );
    found.require(
        "redis_platform.keep_taken",
        config.redis_platform.keep_taken >= Duration::from_secs(1),
        "a pump takes an id first and then reads its keys; at least 1s",
    );
    found.require(
        "redis_platform.enabled",
        !config.redis_platform.enabled || !config.redis.hash_tags,
        "writes keys without hash tags; remove redis.hash_tags, or use a server that is not of a Redis Cluster",
    );
}
