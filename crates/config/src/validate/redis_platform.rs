//! Checks of `[redis_platform]`.

use super::Findings;
use crate::Config;

pub(super) fn check_redis_platform(config: &Config, found: &mut Findings) {
    found.require(
        "redis_platform.enabled",
        !config.redis_platform.enabled || config.redis.url.is_some(),
        "needs a Redis; set redis.url",
    );
    found.require(
        "redis_platform.enabled",
        !config.redis_platform.enabled || !config.redis.hash_tags,
        "writes keys without hash tags; remove redis.hash_tags, or use a server that is not of a Redis Cluster",
    );
}
