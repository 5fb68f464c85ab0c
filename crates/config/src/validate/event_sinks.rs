//! `[[event_sink]]`: names, servers, events, subjects.

use super::Findings;
use super::nats::{check_needed_connection, is_subject};
use super::policy::check_names;
use crate::{Config, SinkEvent};

pub(super) fn check_event_sinks(config: &Config, found: &mut Findings) {
    let names = config.event_sink.iter().map(|sink| sink.name.as_str());
    check_names("event_sink", names, found);
    for (index, sink) in config.event_sink.iter().enumerate() {
        let base = format!("event_sink[{index}]");
        check_needed_connection(&base, &sink.connection(), found);
        found.require(
            &format!("{base}.events"),
            !sink.events.is_empty(),
            "is empty; write [\"ended\"], or `enabled = false`",
        );
        found.require(
            &format!("{base}.subject"),
            is_subject(&sink.subject_for(SinkEvent::Ended, "o", "a"))
                && !sink.subject_for(SinkEvent::Ended, "o", "a").contains(['{', '}']),
            "must be a subject without wildcards, such as \"sms.events.{event}\", and may have {event}, {operator} and {account}",
        );
    }
}
