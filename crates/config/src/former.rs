//! Sections of builds before, refused with what replaces them.

use figment::value::{Dict, Value};
use serde_json::Value as Json;

use super::event_sink::EventSink;
use super::setting::{Setting as _, SettingReader, Write};
use super::text::toml;

/// The section of events on NATS before there were event sinks, and the name of the sink that replaces it.
pub const FORMER_NATS: &str = "nats";

/// Takes such sections out, and says what to write instead.
pub(super) fn refuse(config: &mut Dict, reader: &mut SettingReader<'_>) {
    if let Some(section) = config.remove(FORMER_NATS)
        && let Some(message) = instead_of_nats(&section, reader)
    {
        reader.add(section.tag(), FORMER_NATS, message);
    }
}

/// The keys of the section are those of a sink.
fn instead_of_nats(section: &Value, reader: &mut SettingReader<'_>) -> Option<String> {
    let mut sink = EventSink::read(section, FORMER_NATS, reader)?;
    if sink.servers.is_empty() {
        return Some(
            "is no section any more, and published nothing without `servers`; remove it".to_owned(),
        );
    }
    sink.name = FORMER_NATS.to_owned();
    for server in &mut sink.servers {
        *server = without_login(server);
    }
    let Json::Object(keys) = sink.write(Write::KEPT)? else {
        return None;
    };
    let lines = keys
        .iter()
        .filter_map(|(key, value)| Some(format!("{key} = {}\n", toml(value)?)));
    Some(format!(
        "is no section any more; write in its place, and give it to the store by `smsc apply`:\n[[event_sink]]\n{}",
        lines.collect::<String>()
    ))
}

/// The address of a server, without a user and password that are there by mistake.
fn without_login(server: &str) -> String {
    let (scheme, address) = server.split_once("://").unwrap_or(("nats", server));
    let host = address.rsplit_once('@').map_or(address, |(_, host)| host);
    format!("{scheme}://{host}")
}
