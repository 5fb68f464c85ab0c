//! Checks of `[postgres]`, `[cluster]`, `[redis]`, `[redis_platform]` and `[archive]`: stores that are reached by URLs, and
//! leases that can be kept. The URLs hold passwords, so no message repeats any of them.

use deadpool_redis::redis::IntoConnectionInfo;
use secrecy::ExposeSecret;

use super::Findings;
use crate::{ArchiveFormat, Config, LimitMode};

pub(super) fn check_cluster(config: &Config, found: &mut Findings) {
    let postgres = &config.postgres;
    found.require(
        "postgres.url_file",
        postgres.url.is_none() || postgres.url_file.is_none(),
        "is set beside postgres.url; remove one",
    );
    let cluster = &config.cluster;
    let beats = cluster
        .heartbeat
        .saturating_mul(3)
        .saturating_add(cluster.margin);
    found.require(
        "cluster.lease",
        cluster.lease >= beats,
        "must be at least three times cluster.heartbeat and cluster.margin more: one lost heartbeat must not cost the lease",
    );
}

pub(super) fn check_redis(config: &Config, found: &mut Findings) {
    let redis = &config.redis;
    let Some(url) = &redis.url else {
        return;
    };
    let key = match redis.url_file {
        Some(_) => "redis.url_file",
        None => "redis.url",
    };
    let url = url.expose_secret();
    if redis.ca_file.is_some() && !url.starts_with("rediss:") {
        found.problem(
            "redis.ca_file",
            "means nothing without TLS; write the URL with \"rediss://\", or remove it",
        );
    }
    if url.into_connection_info().is_err() {
        let message = "is no URL of a Redis; write \"redis://:password@redis.example:6379/0\"";
        found.problem(key, message);
    }
    for (index, operator) in config.operator.iter().enumerate() {
        let window = operator.rate_window.unwrap_or(redis.limit);
        if window == LimitMode::Fixed && operator.burst.is_some() {
            let message = "means nothing while Redis counts by the second; \
                           remove it, or set rate_window = \"strict\"";
            found.warn(format!("operator[{index}].burst"), message);
        }
    }
}

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

pub(super) fn check_archive(config: &Config, found: &mut Findings) {
    let archive = &config.archive;
    let needs_url = archive.enabled && archive.format == ArchiveFormat::Database;
    found.require(
        "archive.database_url",
        archive.database_url.is_some() || !needs_url,
        "is missing, and archive.format is \"database\"",
    );
}
