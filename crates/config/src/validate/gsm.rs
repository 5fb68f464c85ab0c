//! Checks of `[[gsm]]`.

use super::Findings;
use super::peers::check_languages;
use super::policy::check_names;
use super::rewrite::check_rewrite;
use super::sharing::check_breaker;
use super::{check_retry, words};
use crate::outputs::is_host_and_port;
use crate::problem::did_you_mean;
use crate::{AddressField, Config, Gsm, LongMessages, OutcomePolicy};
use smsc_domain::address;
use smsc_domain::queue_name::QueueName;
use smsc_sms::tpdu::time::zone_of;

/// An IPA name is an element of at most 255 octets, with its closing NUL; the number of the node replaces six.
const MAX_IPA_NAME: usize = 200;
/// A number of E.164 has at most 15 digits; networks use up to 20 (TS 24.011 §8.2.5.1: 2 to 12 octets).
const MAX_NUMBER: usize = 20;
/// More in a row and nobody else has a turn.
const MAX_RUN: u32 = 100;

pub(super) fn check_gsm(config: &Config, found: &mut Findings) {
    let names = config.gsm.iter().map(|one| one.name.as_str());
    check_names("gsm", names, found);
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
        if one.address.is_empty() {
            found.problem(key("address"), "is missing; write the host of the HLR");
        } else if !one.is_local() && !is_host_and_port(&one.hlr()) {
            let message = format!("{:?} is not an address; write \"host:port\"", one.address);
            found.problem(key("address"), message);
        }
        check_ipa_name(config, &base, one, found);
        check_namesakes(config, index, found);
        let number = address::normalise(one.smsc_address.as_bytes());
        if number.is_empty() || number.len() > MAX_NUMBER || !address::is_digits(number) {
            let message = "must be the number of the SMSC, up to 20 digits, such as \"49160000\"";
            found.problem(key("smsc_address"), message);
        }
        check_account(config, &base, one, found);
        found.check_rate(&base, one.rate, one.burst);
        found.check_window(&key("window"), one.window);
        if !(1..=MAX_RUN).contains(&one.run) {
            found.problem(key("run"), format!("must be between 1 and {MAX_RUN}"));
        }
        for (name, duration) in [
            ("request_timeout", one.request_timeout),
            ("connect_timeout", one.connect_timeout),
            ("ping_interval", one.ping_interval),
            ("ping_timeout", one.ping_timeout),
        ] {
            found.check_positive(&key(name), duration);
        }
        found.check_delays(&key("reconnect"), &one.reconnect);
        if let Some(retry) = &one.retry {
            check_retry(retry, &key("retry"), found);
        }
        words::check_statuses(&key("causes"), &one.causes, found);
        let (failures, share) = (one.breaker_failures, one.breaker_share);
        check_breaker(&base, failures, share, one.breaker_pause, found);
        if one.outcome_unknown == OutcomePolicy::Wait {
            let message =
                "\"wait\" needs receipts, and handsets send none; write \"resend\" or \"fail\"";
            found.problem(key("outcome_unknown"), message);
        }
        check_rewrite(&key("rewrite_in"), &one.rewrite_in, found);
        check_rewrite(&key("rewrite_out"), &one.rewrite_out, found);
        let mut out = one.rewrite_out.iter();
        if let Some(at) = out.position(|rule| rule.field == Some(AddressField::Destination)) {
            let message = "means nothing: handsets are addressed by IMSI; write \"source\"";
            found.problem(key(&format!("rewrite_out[{at}].field")), message);
        }
        check_languages(&key("languages"), &one.languages, found);
        check_texts(&base, one, found);
    }
}

/// What handsets are told in, and how.
fn check_texts(base: &str, one: &Gsm, found: &mut Findings) {
    if !matches!(one.long_messages, LongMessages::Udh | LongMessages::Udh16) {
        let key = format!("{base}.long_messages");
        found.problem(key, "handsets know parts only; write \"udh\" or \"udh16\"");
    }
    if zone_of(&one.time_zone).is_none() {
        let key = format!("{base}.time_zone");
        let message =
            "must be an offset from UTC in quarters of an hour, up to 19:45, such as \"+01:00\"";
        found.problem(key, message);
    }
}

fn check_ipa_name(config: &Config, base: &str, one: &Gsm, found: &mut Findings) {
    let key = format!("{base}.ipa_name");
    let name = &one.ipa_name;
    let graphic = name.bytes().all(|octet| octet.is_ascii_graphic());
    if name.is_empty() || name.len() > MAX_IPA_NAME || !graphic {
        let message = format!("must be 1 to {MAX_IPA_NAME} characters of ASCII, without blanks");
        found.problem(key, message);
    } else if config.postgres.url.is_some() && one.shares_name() {
        let message =
            "has no {node}: an HLR uses one connection of a name, so only one node is connected";
        found.warn(key, message);
    }
}

/// Two networks of one HLR under one name would take turns in having it.
fn check_namesakes(config: &Config, index: usize, found: &mut Findings) {
    let one = &config.gsm[index];
    let is_same = |other: &&Gsm| {
        let same = |node| one.ipa_name_of(node) == other.ipa_name_of(node);
        other.enabled && !one.is_local() && one.hlr() == other.hlr() && (0..=u8::MAX).any(same)
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
    let accounts = || config.account.iter();
    match accounts().find(|known| known.system_id == *account) {
        Some(known) if known.enabled => {}
        Some(_) => {
            let message = format!("{account:?} is not enabled: messages of handsets are refused");
            found.warn(key, message);
        }
        None => {
            let known: Vec<&str> = accounts().map(|one| one.system_id.as_str()).collect();
            let hint = did_you_mean(account, &known);
            found.problem(key, format!("there is no account \"{account}\", {hint}"));
        }
    }
}
