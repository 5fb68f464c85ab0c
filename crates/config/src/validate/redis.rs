//! Checks of `[redis]`. The URL holds a password, so no message repeats any of it.

use deadpool_redis::redis::IntoConnectionInfo;
use secrecy::ExposeSecret;

use super::Findings;
use crate::{Config, LimitMode};

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
