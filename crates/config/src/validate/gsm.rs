//! Checks of `[[gsm]]`.

use super::Findings;
use super::map::{check_map, check_no_map};
use super::rewrite::check_rewrite;
use super::sharing::check_breaker;
use super::{accounts, check_retry, words};
use crate::outputs::is_host_and_port;
use crate::{AddressField, Config, Gsm};
use smsc_domain::queue_name::QueueName;

pub(super) fn check_gsm(config: &Config, found: &mut Findings) {
    for (index, one) in config.gsm.iter().enumerate() {
        let base = format!("gsm[{index}]");
        let key = |name: &str| format!("{base}.{name}");
        let target = QueueName::Gsm(&one.name).to_string();
        if config
            .account
            .iter()
            .any(|account| account.system_id == target)
        {
            let message = format!("{target:?} is also an account; rename one");
            found.problem(key("name"), message);
        }
        if one.is_map() {
            check_map(config, index, &base, found);
        } else {
            check_no_map(&base, one, found);
            check_gsup(config, index, &base, found);
        }
        check_account(config, &base, one, found);
        found.check_burst(&base, one.rate, one.burst);
        if let Some(retry) = &one.retry {
            check_retry(retry, &key("retry"), found);
        }
        words::check_statuses(&key("causes"), &one.causes, found);
        let (failures, share) = (one.breaker_failures, one.breaker_share);
        check_breaker(&base, failures, share, one.breaker_pause, found);
        check_rewrite(&key("rewrite_in"), &one.rewrite_in, found);
        check_rewrite(&key("rewrite_out"), &one.rewrite_out, found);
        let mut out = one.rewrite_out.iter();
        if let Some(at) = out.position(|rule| rule.field == Some(AddressField::Destination)) {
            let message = if one.is_map() {
                "means nothing: handsets are addressed by the number that was routed; write \"source\""
            } else {
                "means nothing: handsets are addressed by IMSI; write \"source\""
            };
            found.problem(key(&format!("rewrite_out[{at}].field")), message);
        }
    }
}

/// The HLR, and our name there.
fn check_gsup(config: &Config, index: usize, base: &str, found: &mut Findings) {
    let one = &config.gsm[index];
    let key = |name: &str| format!("{base}.{name}");
    if one.address.is_empty() {
        found.problem(key("address"), "is missing; write the host of the HLR");
    } else if !one.is_local() && !is_host_and_port(&one.hlr()) {
        let message = format!("{:?} is not an address; write \"host:port\"", one.address);
        found.problem(key("address"), message);
    }
    if config.postgres.url.is_some() && one.shares_name() {
        let message =
            "has no {node}: an HLR uses one connection of a name, so only one node is connected";
        found.warn(key("ipa_name"), message);
    }
    check_namesakes(config, index, found);
}

/// Two networks of one HLR under one name would take turns in having it.
fn check_namesakes(config: &Config, index: usize, found: &mut Findings) {
    let one = &config.gsm[index];
    let is_same = |other: &&Gsm| {
        let same = |node| one.ipa_name_of(node) == other.ipa_name_of(node);
        let is_there = other.enabled && !other.is_map() && !one.is_local();
        is_there && one.hlr() == other.hlr() && (0..=u8::MAX).any(same)
    };
    let before = config.gsm[..index].iter().find(is_same);
    if let Some(other) = before.filter(|_| one.enabled) {
        let message = format!(
            "is also that of {:?} at this HLR, which uses one connection of a name",
            other.name
        );
        found.warn(format!("gsm[{index}].ipa_name"), message);
    }
}

fn check_account(config: &Config, base: &str, one: &Gsm, found: &mut Findings) {
    let Some(account) = &one.account else { return };
    let key = format!("{base}.account");
    found.check_known(&key, "account", account, &accounts(config));
    let mut known = config.account.iter();
    if known.any(|known| known.system_id == *account && !known.enabled) {
        let message = format!("{account:?} is not enabled: messages of handsets are refused");
        found.warn(key, message);
    }
}
