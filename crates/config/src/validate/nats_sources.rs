//! `[[nats_source]]`: names, subjects, and an account and an operator that exist.

use super::Findings;
use super::nats::{check_connection, is_subject, is_token};
use super::policy::check_names;
use crate::problem::did_you_mean;
use crate::{Config, NatsSource, SourceMode};

/// Most commands under way: each is in memory.
const MAX_IN_FLIGHT: u32 = 100_000;
/// A path of the API (`/v1/nats-sources/state`).
const STATE: &str = "state";

pub(super) fn check_nats_sources(config: &Config, found: &mut Findings) {
    let names = config.nats_source.iter().map(|one| one.name.as_str());
    check_names("nats_source", names, found);
    for (index, source) in config.nats_source.iter().enumerate() {
        let base = format!("nats_source[{index}]");
        check_stream(&base, source, found);
        check_targets(config, &base, source, found);
        let key = |field: &str| format!("{base}.{field}");
        if source.name == STATE {
            let message =
                "is the path of the state of all (/v1/nats-sources/state); choose another";
            found.problem(key("name"), message);
        }
        if !(1..=MAX_IN_FLIGHT).contains(&source.in_flight) {
            let message = format!("must be between 1 and {MAX_IN_FLIGHT}");
            found.problem(key("in_flight"), message);
        }
        let is_known = ["all", "new"].contains(&&*source.start);
        let is_time = smsc_domain::moment::parse(&source.start).is_some();
        let message = "must be \"all\", \"new\" or a time such as \"2036-11-21T09:00:00Z\"";
        found.require(&key("start"), is_known || is_time, message);
        found.check_positive(&key("ack_wait"), source.ack_wait);
        found.check_positive(&key("nak_delay"), source.nak_delay);
        check_connection(&base, &source.connection(), found);
    }
}

fn check_stream(base: &str, source: &NatsSource, found: &mut Findings) {
    let key = |field: &str| format!("{base}.{field}");
    // Names of streams and consumers are tokens of subjects of JetStream's API.
    let is_name = |name: &str| is_token(name) && !name.contains(['/', '\\']);
    let message = "must be a name without blanks, `.`, `*`, `>`, `/` and `\\`";
    found.require(&key("stream"), is_name(&source.stream), message);
    found.require(&key("consumer"), is_name(&source.consumer()), message);
    if source.subject.is_empty() {
        found.problem(key("subject"), "is missing; write \"smpp.operator.up\"");
    } else {
        let message = "must be a subject, such as \"smpp.operator.up\"";
        found.require(&key("subject"), is_filter(&source.subject), message);
    }
    let is_plain = is_subject(&source.dead_letters);
    let message = "must be a subject without wildcards, such as \"sms.outbound.deadletter\"";
    found.require(&key("dead_letters"), is_plain, message);
    if is_plain && takes(&source.subject, &source.dead_letters) {
        let message = "is in `subject`: what is refused would come again; choose another";
        found.problem(key("dead_letters"), message);
    }
}

fn check_targets(config: &Config, base: &str, source: &NatsSource, found: &mut Findings) {
    let key = |field: &str| format!("{base}.{field}");
    let accounts: Vec<&str> = (config.account.iter().map(|one| &*one.system_id)).collect();
    let operators: Vec<&str> = config.operator.iter().map(|one| &*one.id).collect();
    if source.account.is_empty() {
        found.problem(key("account"), "is missing");
    } else if !accounts.contains(&&*source.account) {
        let hint = did_you_mean(&source.account, &accounts);
        let message = format!("there is no account \"{}\", {hint}", source.account);
        found.problem(key("account"), message);
    }
    match &source.operator {
        None if source.mode == SourceMode::Operator => {
            let message = "is missing; `mode = \"operator\"` goes by its rate and binds";
            found.problem(key("operator"), message);
        }
        Some(operator) if !operators.contains(&&**operator) => {
            let hint = did_you_mean(operator, &operators);
            found.problem(
                key("operator"),
                format!("there is no operator \"{operator}\", {hint}"),
            );
        }
        _ => {}
    }
}

/// A subject in which `*` stands for a word, and a last `>` for the rest.
fn is_filter(subject: &str) -> bool {
    let mut words = subject.split('.').peekable();
    while let Some(word) = words.next() {
        let is_last = words.peek().is_none();
        if !(is_token(word) || word == "*" || (word == ">" && is_last)) {
            return false;
        }
    }
    true
}

/// Whether a filter takes a subject.
fn takes(filter: &str, subject: &str) -> bool {
    let mut words = subject.split('.');
    for part in filter.split('.') {
        match (part, words.next()) {
            (">", Some(_)) => return true,
            ("*", Some(_)) => {}
            (part, Some(word)) if part == word => {}
            _ => return false,
        }
    }
    words.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_take_subjects_as_the_server_does() {
        for (filter, subject, is_taken) in [
            ("a.b", "a.b", true),
            ("a.*", "a.b", true),
            ("a.>", "a.b.c", true),
            (">", "a", true),
            ("a.*", "a.b.c", false),
            ("a.>", "a", false),
            ("a.b", "a", false),
            ("a", "a.b", false),
        ] {
            assert_eq!(takes(filter, subject), is_taken, "{filter} {subject}");
        }
        for (filter, is_one) in [
            ("a.*.>", true),
            ("a.>.b", false),
            ("a..b", false),
            ("a b", false),
        ] {
            assert_eq!(is_filter(filter), is_one, "{filter}");
        }
    }
}
