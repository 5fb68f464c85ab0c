//! `[imsi]`, and its use by routes.

use super::Findings;
use super::resolver::{MAX_CONCURRENCY, PLACE};
use crate::outputs::is_host_and_port;
use crate::{Config, ImsiSource, RouteConfig};
use smsc_domain::queue_name::QueueName;

pub(super) fn check_imsi(config: &Config, found: &mut Findings) {
    let imsi = &config.imsi;
    if let Some(address) = &imsi.hlr {
        found.require(
            "imsi.hlr",
            is_host_and_port(address),
            "is no address; write \"host:port\", such as \"127.0.0.1:4259\"",
        );
    }
    if let Some(url) = &imsi.url {
        let has_scheme = url.starts_with("http://") || url.starts_with("https://");
        found.require(
            "imsi.url",
            has_scheme && url.contains(PLACE),
            "must be an http or https URL with {msisdn} where the number goes; write \
             \"https://hlr.example/v1/{msisdn}\"",
        );
    }
    found.require(
        "imsi.pointer",
        imsi.pointer.is_empty() || imsi.pointer.starts_with('/'),
        "is no JSON pointer; write \"/imsi\", or \"\" when the whole answer is the IMSI",
    );
    found.require(
        "imsi.concurrency",
        (1..=MAX_CONCURRENCY).contains(&imsi.concurrency),
        "must be between 1 and 256",
    );
    found.require(
        "imsi.delays",
        !imsi.delays.is_empty(),
        "is empty; write the pauses between questions for a number, such as [\"1s\", \"5s\"]",
    );
    found.at_least_one("imsi.breaker_failures", u64::from(imsi.breaker_failures));
    found.at_least_one("imsi.cache", imsi.cache as u64);
    found.check_positive("imsi.timeout", imsi.timeout);
    found.check_positive("imsi.breaker_pause", imsi.breaker_pause);
    for (index, delay) in imsi.delays.iter().enumerate() {
        found.check_positive(&format!("imsi.delays[{index}]"), *delay);
    }
    if imsi.url.is_none() && imsi.token.is_some() {
        found.warn("imsi.token", "means nothing without imsi.url");
    }
    for (key, is_set, source) in [
        ("imsi.hlr", imsi.hlr.is_some(), ImsiSource::Hlr),
        ("imsi.url", imsi.url.is_some(), ImsiSource::Http),
    ] {
        if is_set && !imsi.ask.contains(&source) {
            found.warn(key, format!("is not asked; add \"{source}\" to imsi.ask"));
        }
    }
}

/// A route to a GSM interface needs somebody who knows IMSIs.
pub(super) fn check_targets(
    config: &Config,
    base: &str,
    route: &RouteConfig,
    found: &mut Findings,
) {
    let mut targets = route.to.iter().flat_map(|step| &step.shares);
    if !config.imsi.has_source()
        && targets.any(|share| QueueName::parse(&share.target).is_handsets())
    {
        found.problem(
            format!("{base}.to"),
            "leads to a GSM interface, which needs the IMSIs of numbers; set imsi.hlr, imsi.url, imsi.table or imsi.ask",
        );
    }
}
