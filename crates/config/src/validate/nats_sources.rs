//! `[[nats_source]]`: names, subjects, and an account and an operator that exist.

use super::nats::{check_connection, is_subject, is_token};
use super::{Findings, accounts};
use crate::{Config, NatsSource, SourceMode};

/// A path of the API (`/v1/nats-sources/state`).
const STATE: &str = "state";

pub(super) fn check_nats_sources(config: &Config, found: &mut Findings) {
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
    if source.account.is_empty() {
        found.problem(key("account"), "is missing");
    } else {
        found.check_known(
            &key("account"),
            "account",
            &source.account,
            &accounts(config),
        );
    }
    match &source.operator {
        None if source.mode == SourceMode::Operator => {
            let message = "is missing; `mode = \"operator\"` goes by its rate and binds";
            found.problem(key("operator"), message);
        }
        None => {}
        Some(operator) => {
            let known: Vec<&str> = config.operator.iter().map(|one| &*one.id).collect();
            found.check_known(&key("operator"), "operator", operator, &known);
        }
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
