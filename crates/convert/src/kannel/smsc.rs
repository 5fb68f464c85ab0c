//! `group = smsc`, `smsc = smpp`: operators. Groups that are one connection of the same kind to the
//! same place become one operator with several binds, a transmitter and a receiver become a pair.

use super::groups::KannelGroup;
use super::note_rest;
use super::routing::Preferences;
use crate::draft::{ConfigDraft, DraftOperator, DraftTable, list};
use crate::{Advice, ConversionNotes, SourcePlace, must, nothing, should};

/// What a connection is in routes.
#[derive(Debug)]
pub(super) struct KannelConnection {
    /// The name of the operator.
    pub id: String,
    /// What it takes; nothing when it only receives.
    pub preferences: Option<Preferences>,
    /// Where it comes from.
    pub place: SourcePlace,
}

/// In which direction a connection goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KannelDirection {
    Both,
    Sends,
    Receives,
    Pair,
}

/// A connection while groups are joined.
struct FoundConnection<'a> {
    group: &'a KannelGroup,
    direction: KannelDirection,
    /// smsc-id, host, port, user name.
    same: [&'a str; 4],
    binds: u64,
}

/// Keys that are taken over.
const USED: &[&str] = &[
    "smsc",
    "smsc-id",
    "host",
    "port",
    "receive-port",
    "smsc-username",
    "smsc-password",
    "system-type",
    "address-range",
    "transceiver-mode",
    "throughput",
    "max-pending-submits",
    "enquire-link-interval",
    "reconnect-delay",
    "wait-ack",
    "interface-version",
    "msg-id-type",
    "use-ssl",
    "ssl-client-certkey-file",
    "alt-charset",
    "no-dlr",
    "dead-start",
    "instances",
    "allowed-smsc-id",
    "denied-smsc-id",
    "preferred-smsc-id",
    "allowed-prefix",
    "denied-prefix",
    "preferred-prefix",
];

/// What to do instead of a key that has no counterpart.
fn connection_instead(key: &str) -> Option<Advice> {
    Some(match key {
        "alt-host" | "alt-port" => {
            must("write a second [[operator]] and name it after the first one in `to`")
        }
        "connection-timeout" => should("set enquire_link_timeout: how long its answer may take"),
        "idle-timeout" => {
            nothing("binds stay; enquire_link_interval says when enquire_link is sent")
        }
        "wait-ack-expire" => should("set outcome_unknown (\"resend\", \"wait\" or \"fail\")"),
        "alt-addr-charset" | "my-number" => nothing("addresses pass as they are"),
        "source-addr-ton" | "dest-addr-ton" => should(
            "write a rule with set_ton in rewrite_out of the operator; without it the ESME's passes",
        ),
        "source-addr-npi" | "dest-addr-npi" => should(
            "write a rule with set_npi in rewrite_out of the operator; without it the ESME's passes",
        ),
        "source-addr-autodetect" => nothing("types of numbers pass as the ESME sets them"),
        "bind-addr-ton" | "bind-addr-npi" => nothing("binds carry 0, unknown"),
        "service-type" => nothing("service_type passes as the ESME sets it"),
        "esm-class" => nothing("esm_class passes as the ESME sets it"),
        "priority" => nothing("priority_flag passes as the ESME sets it"),
        "validityperiod" => should("set validity.default: the validity of messages that name none"),
        "unified-prefix" => nothing("numbers are taken as they come; a leading + is ignored"),
        "log-file" => nothing("there is one log; its lines name the operator"),
        "log-level" => nothing("there is one log; set log.level"),
        "smsc-admin-id" => nothing("the id itself is used in the admin API"),
        "our-host" => nothing("connections leave from the address that the system chooses"),
        "reroute" => must("write a [[route]]"),
        "reroute-smsc-id" => must("write a [[route]] whose `to` is the other operator"),
        "reroute-receiver" => must("write a [[route]] with that prefix"),
        "reroute-dlr" => nothing("receipts always go to the account that sent the message"),
        "allowed-smsc-id-regex" | "denied-smsc-id-regex" | "preferred-smsc-id-regex" => {
            must("write the ids out in routes with `account`")
        }
        "allowed-prefix-regex" | "denied-prefix-regex" | "preferred-prefix-regex" => {
            must("write the prefixes out as routes")
        }
        "max-sms-octets" => should(
            "set long_messages of the operator: how a long text travels, in parts of 140 octets",
        ),
        _ => return None,
    })
}

/// Adds all operators and gives them for routing.
pub(super) fn connections(
    groups: &[KannelGroup],
    draft: &mut ConfigDraft,
    notes: &mut ConversionNotes,
) -> Vec<KannelConnection> {
    let mut found: Vec<FoundConnection<'_>> = Vec::new();
    for group in groups.iter().filter(|group| group.kind == "smsc") {
        let kind = group.text("smsc");
        if kind != "smpp" {
            let what = format!("a connection of the kind {kind:?}");
            let instead = "only SMPP is spoken here; keep Kannel for it, and bind to it by SMPP";
            notes.must(&group.place, what, instead);
            continue;
        }
        note_rest(group, USED, connection_instead, notes);
        if let Some(one) = one(group, notes) {
            join(one, &mut found);
        }
    }
    let mut connections = Vec::new();
    for one in &found {
        let group = one.group;
        let wanted = match group.text("smsc-id") {
            "" => group.text("host"),
            id => id,
        };
        let id = draft.operator_id(wanted);
        if id != wanted {
            let what = format!("the connection {wanted:?} is called {id:?} here");
            notes.should(
                group.place_of("smsc-id"),
                what,
                "use that name in routes and commands",
            );
        }
        let table = table(one, notes);
        let operator = DraftOperator {
            id: &id,
            host: group.text("host"),
            port: one.same[2],
            system_id: group.text("smsc-username"),
        };
        if draft.operator(operator, table, &group.place, notes) {
            connections.push(KannelConnection {
                id,
                preferences: (one.direction != KannelDirection::Receives)
                    .then(|| Preferences::of(group)),
                place: group.place.clone(),
            });
        }
    }
    connections
}

fn one<'a>(group: &'a KannelGroup, notes: &mut ConversionNotes) -> Option<FoundConnection<'a>> {
    let given = |key: &str| !["", "0"].contains(&group.text(key));
    let (sends, receives) = (given("port"), given("receive-port"));
    let (direction, port) = match (group.is_set("transceiver-mode"), sends, receives) {
        (true, ..) => (KannelDirection::Both, "port"),
        (false, true, true) => (KannelDirection::Pair, "port"),
        (false, true, false) => (KannelDirection::Sends, "port"),
        (false, false, true) => (KannelDirection::Receives, "receive-port"),
        (false, false, false) => {
            notes.must(
                &group.place,
                "a connection without a port",
                "left out; write its `port`",
            );
            return None;
        }
    };
    if direction == KannelDirection::Pair && group.text("port") != group.text("receive-port") {
        let what = "transmitter and receiver are at different ports";
        let instead = "both go to `port` here; if the operator insists, write a second [[operator]] \
                       with bind = \"receiver\", but receipts that come on it match nothing";
        notes.should(group.place_of("receive-port"), what, instead);
    }
    Some(FoundConnection {
        group,
        direction,
        same: [
            group.text("smsc-id"),
            group.text("host"),
            group.text(port),
            group.text("smsc-username"),
        ],
        binds: group.number("instances", notes).unwrap_or(1).clamp(1, 1000),
    })
}

fn join<'a>(one: FoundConnection<'a>, found: &mut Vec<FoundConnection<'a>>) {
    for other in found.iter_mut().filter(|other| other.same == one.same) {
        match (other.direction, one.direction) {
            (KannelDirection::Sends, KannelDirection::Receives)
            | (KannelDirection::Receives, KannelDirection::Sends) => {
                other.direction = KannelDirection::Pair;
                // Throughput, window and prefixes are those of the side that sends.
                if one.direction == KannelDirection::Sends {
                    other.group = one.group;
                }
                return;
            }
            (a, b) if a == b => {
                other.binds += one.binds;
                return;
            }
            _ => {}
        }
    }
    found.push(one);
}

fn table(one: &FoundConnection<'_>, notes: &mut ConversionNotes) -> DraftTable {
    let group = one.group;
    let mut table = DraftTable::of(&group.place, "group = smsc");
    table.text("password", group.text("smsc-password"));
    if let Some(entry) = group.get("system-type") {
        table.system_type(&entry.value, &entry.place, notes);
    }
    match one.direction {
        KannelDirection::Both => {}
        KannelDirection::Sends => table.text("bind", "transmitter"),
        KannelDirection::Receives => table.text("bind", "receiver"),
        KannelDirection::Pair => table.text("bind", "transmitter+receiver"),
    }
    if one.binds > 1 {
        table.set("binds", one.binds);
    }
    if let Some(window) = group.number("max-pending-submits", notes) {
        table.set("window", window.clamp(1, 65_535));
    }
    if let Some(entry) = group.get("throughput") {
        match entry.value.parse::<f64>() {
            // Ours is over all binds, Kannel's of one connection; 0 is without a limit.
            Ok(rate) if rate > 0.0 && rate.is_finite() => {
                table.set("rate", rate * one.binds as f64)
            }
            Ok(_) => {}
            Err(_) => {
                let what = format!("throughput = {:?} is no number", entry.value);
                notes.should(&entry.place, what, "left out; there is no limit without it");
            }
        }
    }
    if !group.text("address-range").is_empty() {
        table.text("address_range", group.text("address-range"));
    }
    if let Some(seconds) = group.number("enquire-link-interval", notes) {
        table.seconds("enquire_link_interval", seconds);
    }
    if let Some(seconds) = group.number("reconnect-delay", notes) {
        table.set("reconnect", list(&[format!("{}s", seconds.max(1))]));
    }
    if let Some(seconds) = group.number("wait-ack", notes) {
        table.seconds("response_timeout", seconds.max(1));
    }
    versions(group, &mut table, notes);
    encryption(group, &mut table, notes);
    if let Some(entry) = group.get("alt-charset") {
        match alphabet(&entry.value) {
            Some(alphabet) => table.text("alphabet", alphabet),
            None => {
                let what = format!("alt-charset = {:?}", entry.value);
                let instead = "left out; `alphabet` of an operator is gsm, gsm_packed, latin1, \
                               ascii, utf8 or ucs2";
                notes.should(&entry.place, what, instead);
            }
        }
    }
    if group.is_set("no-dlr") {
        table.text("receipts", "never");
    }
    if group.is_set("dead-start") {
        table.set("enabled", "false");
    }
    table
}

/// TLS, as Kannel has it: one file with certificate and key, and authorities in `group = core`.
fn encryption(group: &KannelGroup, table: &mut DraftTable, notes: &mut ConversionNotes) {
    if !group.is_set("use-ssl") {
        if let Some(entry) = group.get("ssl-client-certkey-file") {
            notes.should(
                &entry.place,
                "ssl-client-certkey-file without use-ssl",
                "left out; set tls, tls_cert and tls_key of the operator to show it",
            );
        }
        return;
    }
    table.set("tls", "true");
    let file = group.text("ssl-client-certkey-file");
    if !file.is_empty() {
        table.text("tls_cert", file);
        table.text("tls_key", file);
    }
    notes.should(
        group.place_of("use-ssl"),
        "use-ssl: the operator's certificate is verified here",
        "set tls_ca_file where the machine does not trust its authority, tls_name where it is for \
         another name",
    );
}

/// What data_coding 0 means to a connection, by the name of its character set.
fn alphabet(charset: &str) -> Option<&'static str> {
    match charset.to_uppercase().as_str() {
        "GSM" | "GSM7" | "GSM-03.38" => Some("gsm"),
        "ISO-8859-1" | "ISO8859-1" | "ISO_8859-1" | "LATIN1" | "LATIN-1" | "WINDOWS-1252" => {
            Some("latin1")
        }
        "ASCII" | "US-ASCII" => Some("ascii"),
        "UTF-8" | "UTF8" => Some("utf8"),
        "UTF-16BE" | "UCS-2" | "UCS2" | "UCS-2BE" => Some("ucs2"),
        _ => None,
    }
}

/// Numbers that mean something.
fn versions(group: &KannelGroup, table: &mut DraftTable, notes: &mut ConversionNotes) {
    match group.text("interface-version") {
        "" | "34" => {}
        "33" => table.set("interface_version", "0x33"),
        "50" => table.set("interface_version", "0x50"),
        other => {
            let what = format!("interface-version = {other:?}");
            let place = group.place_of("interface-version");
            notes.should(place, what, "left out: 33, 34 and 50 are known");
        }
    }
    // Bit 0: the answer is hexadecimal. Bit 1: the receipt is.
    match group.text("msg-id-type") {
        "0x01" | "1" => table.text("message_id", "decimal"),
        "0x02" | "2" => table.text("message_id", "hex"),
        // Both the same, or compared as text: detected automatically.
        _ => {}
    }
}
