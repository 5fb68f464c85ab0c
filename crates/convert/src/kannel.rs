//! Kannel: `kannel.conf` with everything it includes, and the box that serves ESMEs with its list
//! of logins.
//!
//! Operators come from `group = smsc` with `smsc = smpp` ([`smsc`]), accounts from the logins of an
//! opensmppbox and from `sendsms-user` ([`users`]), routes from what the connections say they want
//! ([`routing`]), rules for messages of mobiles from keywords with a text or a URL ([`services`]). Every key that is not taken over is noted.
//! What a bearerbox itself decides is in [`original`].

mod groups;
mod original;
mod routing;
mod services;
mod smsc;
mod users;

use super::draft::{ConfigDraft, list};
use super::{
    Advice, ConversionNotes, ConversionRefused, Converted, FileReader, SourceText, must, nothing,
    should,
};
use groups::KannelGroup;
pub use original::{KannelRouter, router};

/// What to do instead of a group that has no counterpart.
fn elsewhere_of(key: &str) -> Option<Advice> {
    Some(match key {
        "wapbox" | "wap-url-map" | "wap-user-map" | "wtls" => {
            must("there is no WAP here; keep Kannel for it")
        }
        "wap-push-user" | "ppg" => must("there is no WAP push here; keep Kannel for it"),
        "ota-setting" | "ota-bookmark" => {
            should("settings over the air are for the application to encode")
        }
        "modems" => {
            must("modems are not served; keep Kannel for them and bind to it as to an operator")
        }
        "dlr-db" => nothing("receipts are kept in the store itself; nothing to set"),
        database if database.ends_with("-connection") => {
            nothing("receipts are kept in the store itself; nothing to set")
        }
        "smpp-tlv" => nothing("optional parameters pass through as they are; nothing to set"),
        _ => return None,
    })
}

/// What to do instead of a key of `core` or `smsbox`.
fn core_instead(key: &str) -> Option<Advice> {
    Some(match key {
        "admin-port" | "admin-interface" => should("set http.listen: the admin API is there"),
        "admin-password" => should("set http.admin_token, or let it be generated"),
        "status-password" => nothing("/health and /metrics ask for none"),
        "admin-allow-ip" | "admin-deny-ip" => should("keep http.listen on a private address"),
        "log-file" => nothing("lines go to standard error; let the service manager keep them"),
        "log-level" => should("set log.level (\"info\" is the default)"),
        "syslog-level" | "syslog-facility" => should("set log.syslog"),
        "access-log" => nothing(
            "call detail records are in `cdr` in the data folder, one JSON object a message",
        ),
        "store-file" | "store-type" | "store-location" => {
            nothing("every accepted message is in the store in data_dir")
        }
        "dlr-storage" => nothing("receipts are kept in the store itself"),
        "unified-prefix" => should(
            "write rules in rewrite_in of accounts and operators; without them numbers stay as they come",
        ),
        "white-list" | "black-list" => must("let the application decide whom it sends to"),
        "sms-outgoing-queue-limit" => should("set queue.max_waiting, or max_waiting of an account"),
        "maximum-queue-length" => should("set queue.max_waiting"),
        "sms-combine-concatenated-mo" => should("parts are handed on one by one, as they come"),
        "http-timeout" => nothing("nothing calls URLs here"),
        "smsbox-port" => nothing("boxes do not connect here; ESMEs do, to smpp.listen"),
        "wapbox-port" => nothing("there is no WAP here"),
        "box-allow-ip" | "box-deny-ip" => should("set `allow` of accounts"),
        "sendsms-port" => must("set api.listen and api.kannel = true: see docs/coming-from.md"),
        "bearerbox-host" | "bearerbox-port" => nothing("it is one process; nothing to set"),
        "global-sender" => should("senders are set by the application"),
        _ => return None,
    })
}

/// Converts these files; included ones and lists of logins are read with `read`.
///
/// # Errors
/// There is no group in them, or a file that they include cannot be read.
pub fn convert(
    sources: Vec<SourceText>,
    read: &mut FileReader<'_>,
) -> Result<Converted, ConversionRefused> {
    let first = sources.first().map(|source| source.name.clone());
    let mut notes = ConversionNotes::default();
    let mut groups = Vec::new();
    for source in sources {
        groups::read(source, read, &mut groups, &mut notes, 0)?;
    }
    if groups.is_empty() {
        return Err(ConversionRefused {
            file: first.unwrap_or_default(),
            why: "there is no `group = …` in it; give kannel.conf".to_owned(),
        });
    }
    let mut draft = ConfigDraft::default();
    let mut senders = Vec::new();
    for group in &groups {
        match group.kind.as_str() {
            "core" => core(group, &mut draft, &mut notes),
            "smsbox" => note_rest(group, &[], core_instead, &mut notes),
            "opensmppbox" | "smppbox" => {
                users::smpp_box(group, &mut draft, &mut senders, read, &mut notes);
            }
            "sendsms-user" => users::http_user(group, &mut draft, &mut senders, &mut notes),
            // Below: those that need all accounts to be known.
            "smsc" | "smsbox-route" | "sms-service" => {}
            other => elsewhere(group, other, &mut notes),
        }
    }
    for group in groups.iter().filter(|group| group.kind == "smsbox-route") {
        users::short_codes(group, &mut draft, &senders, &mut notes);
    }
    let urls = services::accounts(&groups, &mut draft, &mut notes);
    let connections = smsc::connections(&groups, &mut draft, &mut notes);
    services::rules(
        &groups,
        &mut draft,
        &senders,
        &urls,
        &connections,
        &mut notes,
    );
    users::chosen_connections(&groups, &connections, &mut notes);
    let rules = routing::rules(&connections, &senders, &mut notes);
    notes.0.sort();
    Ok(Converted {
        toml: draft.write("Kannel", &rules),
        notes: notes.0,
    })
}

fn core(group: &KannelGroup, draft: &mut ConfigDraft, notes: &mut ConversionNotes) {
    if let Some(value) = group.number("sms-resend-freq", notes) {
        draft
            .retry
            .set("delays", list(&[format!("{}s", value.max(1))]));
    }
    if let Some(entry) = group.get("sms-resend-retry") {
        // -1 means for ever, as without the key here; 0 resends is one attempt.
        if let Ok(resends) = entry.value.parse::<u32>() {
            draft.retry.set("max_attempts", resends.saturating_add(1));
        }
    }
    let used = ["sms-resend-freq", "sms-resend-retry"];
    note_rest(group, &used, core_instead, notes);
}

fn elsewhere(group: &KannelGroup, kind: &str, notes: &mut ConversionNotes) {
    let unknown = "this group is not known; look for its purpose in docs/configuration.md";
    let advice = elsewhere_of(kind).unwrap_or(must(unknown));
    notes.advise(&group.place, format!("group {kind}"), advice);
}

/// Notes every key that is not among the used ones.
fn note_rest(
    group: &KannelGroup,
    used: &[&str],
    instead: fn(&str) -> Option<Advice>,
    notes: &mut ConversionNotes,
) {
    for entry in &group.entries {
        if used.contains(&entry.key.as_str()) {
            continue;
        }
        let what = format!("{} of group {}", entry.key, group.kind);
        let advice = instead(&entry.key).unwrap_or(should("it has no counterpart"));
        notes.advise(&entry.place, what, advice);
    }
}

#[cfg(test)]
mod tests;
