//! Users as accounts, SMPP client connectors as operators.

use std::collections::BTreeMap;

use super::prices::PriceUnit;
use super::read::{Captured, Record};
use crate::draft::{ConfigDraft, DraftOperator, DraftTable, list};
use crate::{Advice, ConversionNotes, SourcePlace, must, nothing, should};

/// A user in filters.
#[derive(Debug)]
pub(super) struct JasminUser {
    pub uid: String,
    pub gid: String,
    /// Its account.
    pub system_id: String,
}

/// The operator of each connector.
pub(super) type Connectors = BTreeMap<String, JasminConnector>;

/// A connector in routes.
#[derive(Debug)]
pub(super) struct JasminConnector {
    /// The name of its operator.
    pub id: String,
    /// It does not only receive.
    pub sends: bool,
}

/// What a user may spend.
const BALANCE: &str = "mt_messaging_cred quota balance";

/// Keys of a connector that are converted, or that do not affect messages.
const CONNECTOR_USED: &[&str] = &[
    "cid",
    "host",
    "port",
    "username",
    "password",
    "systype",
    "bind",
    "bind_to",
    "res_to",
    "elink_interval",
    "con_loss_delay",
    "addr_range",
    "dlr_expiry",
    "dlr_msgid",
    "submit_throughput",
    "con_fail_delay",
    "pdu_red_to",
    "logfile",
    "loglevel",
    "ssl",
    "logrotate",
    "logprivacy",
];

/// What to do about another key of a connector.
fn connector_instead(key: &str) -> Option<Advice> {
    Some(match key {
        "con_loss_retry" | "con_fail_retry" => {
            nothing("it is always bound again; disable the operator to stop that")
        }
        "trx_to" => nothing("binds stay; enquire_link_interval says when enquire_link is sent"),
        "requeue_delay" => should("set `retry` of the operator: pauses after temporary refusals"),
        "src_addr" => should("senders are set by the application"),
        "src_ton" | "src_npi" | "dst_ton" | "dst_npi" => {
            nothing("types of numbers pass as the ESME sets them")
        }
        "bind_ton" | "bind_npi" => nothing("binds carry 0, unknown"),
        "validity" => should("set validity.default: the validity of messages that name none"),
        "priority" => nothing("priority_flag passes as the ESME sets it"),
        "proto_id" => nothing("protocol_id passes as the ESME sets it"),
        "coding" => nothing(
            "data_coding passes as the ESME sets it; `alphabet` says what 0 means to the operator",
        ),
        "def_msg_id" => nothing("sm_default_msg_id passes as the ESME sets it"),
        "ripf" => nothing("replace_if_present_flag passes as the ESME sets it"),
        "custom_tlvs" => nothing("optional parameters pass as the ESME sets them"),
        _ => return None,
    })
}

/// What to do about a key of a user.
fn user_instead(key: &str) -> Option<Advice> {
    Some(match key {
        BALANCE => must(
            "billing is in whole credits: set `prepaid = true` and prices, then `smsc balance add`",
        ),
        "mt_messaging_cred quota sms_count" => {
            must("set `prepaid = true` and `smsc balance add`, or `quota_per_day`")
        }
        "mt_messaging_cred quota early_percent" => {
            nothing("a message is paid for when it is accepted")
        }
        "mt_messaging_cred quota http_throughput" => should("messages come in by SMPP: set `rate`"),
        "mt_messaging_cred valuefilter src_addr" => {
            must("set `senders` of the account: prefixes (4477*) and expressions (/^[A-Z]+$/)")
        }
        "mt_messaging_cred valuefilter dst_addr" => {
            must("set `destinations` of the account: prefixes (4477*) and expressions (/^44/)")
        }
        "mt_messaging_cred valuefilter content" => should("content is not looked at"),
        "mt_messaging_cred valuefilter priority" => should("set `priority_max`"),
        "mt_messaging_cred valuefilter validity_period"
        | "mt_messaging_cred authorization validity_period" => should("set validity.max"),
        "mt_messaging_cred defaultvalue src_addr" | "mt_messaging_cred authorization src_addr" => {
            should("senders are set by the application")
        }
        "mt_messaging_cred authorization smpps_send" => {
            must("set `enabled = false`, or give it no route")
        }
        "mt_messaging_cred authorization priority" => should("set `priority_max = 0`"),
        "mt_messaging_cred authorization dlr_level" => {
            nothing("receipts are for messages that request them")
        }
        _ => return None,
    })
}

/// The value of a key that changes nothing.
fn harmless(key: &str) -> &'static str {
    match key {
        "con_loss_retry" | "con_fail_retry" => "yes",
        "trx_to" => "300",
        "requeue_delay" => "120",
        "src_ton" => "2",
        "src_npi" | "dst_ton" | "dst_npi" | "bind_npi" => "1",
        "bind_ton" | "priority" | "coding" | "def_msg_id" | "ripf" => "0",
        "mt_messaging_cred valuefilter src_addr"
        | "mt_messaging_cred valuefilter dst_addr"
        | "mt_messaging_cred valuefilter content" => ".*",
        "mt_messaging_cred valuefilter priority" => "^[0-3]$",
        "mt_messaging_cred valuefilter validity_period" => "^\\d+$",
        "mt_messaging_cred authorization smpps_send"
        | "mt_messaging_cred authorization src_addr"
        | "mt_messaging_cred authorization priority"
        | "mt_messaging_cred authorization validity_period"
        | "mt_messaging_cred authorization dlr_level" => "True",
        _ => "",
    }
}

// === impl JasminUser ===

impl JasminUser {
    /// `gid`: as it is listed, with an exclamation mark when the group is disabled.
    fn new(uid: &str, gid: &str, username: &str) -> Self {
        Self {
            uid: uid.to_owned(),
            gid: gid.trim_start_matches('!').to_owned(),
            system_id: username.to_owned(),
        }
    }
}

/// Adds the accounts; those that are only listed, with the values of the list.
pub(super) fn accounts(
    captured: &Captured,
    unit: Option<PriceUnit>,
    draft: &mut ConfigDraft,
    notes: &mut ConversionNotes,
) -> Vec<JasminUser> {
    let mut users = Vec::new();
    for record in &captured.users {
        let gid = record.get("gid").unwrap_or_default();
        let username = record.get("username").unwrap_or(&record.name);
        let mut table = DraftTable::of(&record.place, "user");
        if let Some(rate) = positive(record, "mt_messaging_cred quota smpps_throughput") {
            table.set("rate", rate);
        }
        if let Some(binds) = record.given("smpps_cred quota max_bindings") {
            match binds.parse::<u32>() {
                Ok(binds) if binds > 0 => table.set("max_binds", binds),
                // Zero binds in Jasmin: it may not bind.
                _ => table.set("enabled", "false"),
            }
        }
        if is_refused(record, "smpps_cred authorization bind") {
            table.set("enabled", "false");
        }
        let is_charged = charge(record, username, unit, &mut table, notes);
        let instead = |key: &str| {
            let is_done = is_charged && key == BALANCE;
            user_instead(key).filter(|_| !is_done)
        };
        note_others(record, username, instead, notes);
        let password = record.given("password").unwrap_or_default();
        add(
            draft,
            &mut users,
            JasminUser::new(&record.name, gid, username),
            password,
            table,
            &record.place,
            notes,
        );
    }
    for row in &captured.user_rows {
        let words: Vec<&str> = row.text.split_whitespace().collect();
        let [uid, gid, username, ..] = words.as_slice() else {
            continue;
        };
        // A disabled user is shown with an exclamation mark.
        let disabled = uid.starts_with('!');
        let uid = uid.trim_start_matches('!');
        if let Some(user) = users.iter().find(|user| user.uid == uid) {
            if let Some(table) = draft.account_mut(&user.system_id).filter(|_| disabled) {
                table.set("enabled", "false");
            }
            continue;
        }
        let mut table = DraftTable::of(&row.place, "user");
        let throughput = words.last().and_then(|last| last.split_once('/'));
        if let Some(rate) = throughput.and_then(|(_, smpp)| smpp.parse::<f64>().ok())
            && rate > 0.0
        {
            table.set("rate", rate);
        }
        if disabled {
            table.set("enabled", "false");
        }
        let what = format!("the user {uid:?} is only listed");
        notes.must(
            &row.place,
            what,
            format!("capture `user -s {uid}` for its limits"),
        );
        let user = JasminUser::new(uid, gid, username);
        add(draft, &mut users, user, "", table, &row.place, notes);
    }
    users
}

/// Makes a user with a balance pay by it, where routes cost something; answers whether it does.
fn charge(
    record: &Record,
    username: &str,
    unit: Option<PriceUnit>,
    table: &mut DraftTable,
    notes: &mut ConversionNotes,
) -> bool {
    let balance = record
        .given(BALANCE)
        .and_then(|value| value.parse::<f64>().ok());
    let (Some(unit), Some(balance)) = (unit, balance) else {
        return false;
    };
    table.set("prepaid", "true");
    let credits = unit.credits(balance);
    notes.must(
        record.place_of(BALANCE),
        format!("{username}: {BALANCE} {balance}"),
        format!("`smsc balance add {username} {credits}`: it cannot send before"),
    );
    true
}

fn add(
    draft: &mut ConfigDraft,
    users: &mut Vec<JasminUser>,
    user: JasminUser,
    password: &str,
    table: DraftTable,
    place: &SourcePlace,
    notes: &mut ConversionNotes,
) {
    let username = &user.system_id;
    if !draft.account(username, password, table, place, notes) {
        return;
    }
    if password.is_empty() {
        let what = format!("the password of {username:?} is not shown by jcli");
        let instead = "write it into `password` and remove `enabled = false`";
        notes.must(place, what, instead);
    }
    users.push(user);
}

/// Adds the operators.
pub(super) fn operators(
    captured: &Captured,
    draft: &mut ConfigDraft,
    notes: &mut ConversionNotes,
) -> Connectors {
    let stopped: Vec<&str> = captured
        .connector_rows
        .iter()
        .filter(|row| row.text.split_whitespace().nth(1) == Some("stopped"))
        .filter_map(|row| row.text.split_whitespace().next())
        .collect();
    let mut connectors = Connectors::new();
    for record in &captured.connectors {
        if connectors.contains_key(&record.name) {
            continue;
        }
        let id = draft.operator_id(&record.name);
        if id != record.name {
            let what = format!("the connector {:?} is called {id:?} here", record.name);
            notes.should(&record.place, what, "use that name in routes and commands");
        }
        let mut table = operator_table(record, notes);
        if stopped.contains(&record.name.as_str()) {
            table.set("enabled", "false");
        }
        note_others(record, &record.name, connector_instead, notes);
        // Jasmin's own defaults for a connector.
        let or = |key: &str, default: &'static str| record.get(key).unwrap_or(default).to_owned();
        let (host, port) = (or("host", "127.0.0.1"), or("port", "2775"));
        let username = or("username", "smppclient");
        let operator = DraftOperator {
            id: &id,
            host: &host,
            port: &port,
            system_id: &username,
        };
        if draft.operator(operator, table, &record.place, notes) {
            let sends = record.given("bind") != Some("receiver");
            connectors.insert(record.name.clone(), JasminConnector { id, sends });
        }
    }
    for row in &captured.connector_rows {
        let name = row.text.split_whitespace().next().unwrap_or_default();
        if !captured.connectors.iter().any(|record| record.name == name) {
            let what = format!("the connector {name:?} is only listed");
            notes.must(&row.place, what, format!("capture `smppccm -s {name}` too"));
        }
    }
    connectors
}

fn operator_table(record: &Record, notes: &mut ConversionNotes) -> DraftTable {
    let mut table = DraftTable::of(&record.place, "smppccm");
    table.text("password", record.get("password").unwrap_or("password"));
    if let Some(system_type) = record.given("systype") {
        table.system_type(system_type, record.place_of("systype"), notes);
    }
    match record.given("bind") {
        Some("transmitter") => table.text("bind", "transmitter"),
        Some("receiver") => table.text("bind", "receiver"),
        _ => {}
    }
    let ssl = record.given("ssl").unwrap_or("no");
    if ["yes", "true", "1"].contains(&ssl.to_lowercase().as_str()) {
        table.set("tls", "true");
        notes.should(
            record.place_of("ssl"),
            format!(
                "{}: ssl {ssl}: the operator's certificate is verified here",
                record.name
            ),
            "set tls_ca_file where the machine does not trust its authority, tls_name where it is \
             for another name",
        );
    }
    // Jasmin's own default is one message per second; 0 is without a limit.
    let throughput = record.get("submit_throughput").unwrap_or("1");
    if let Ok(rate) = throughput.parse::<f64>()
        && rate > 0.0
    {
        table.set("rate", rate);
    }
    if let Some(range) = record.given("addr_range") {
        table.text("address_range", range);
    }
    let seconds = |key: &str| {
        record
            .given(key)
            .and_then(|value| value.parse::<f64>().ok())
    };
    for (key, ours) in [
        ("res_to", "response_timeout"),
        ("bind_to", "bind_timeout"),
        ("elink_interval", "enquire_link_interval"),
        ("dlr_expiry", "correlation_ttl"),
    ] {
        if let Some(value) = seconds(key).filter(|value| *value >= 1.0) {
            table.seconds(ours, value as u64);
        }
    }
    if let Some(value) = seconds("con_loss_delay").filter(|value| *value >= 1.0) {
        table.set("reconnect", list(&[format!("{}s", value as u64)]));
    }
    match record.given("dlr_msgid") {
        Some("1") => table.text("message_id", "decimal"),
        Some("2") => table.text("message_id", "hex"),
        _ => {}
    }
    table
}

/// Notes keys whose value is not the one that changes nothing.
fn note_others(
    record: &Record,
    name: &str,
    instead: impl Fn(&str) -> Option<Advice>,
    notes: &mut ConversionNotes,
) {
    for (key, value, place) in &record.keys {
        let value = match value.as_str() {
            "None" | "none" | "ND" => "",
            value => value,
        };
        let is_user = record.kind == "user"
            || record.get("username").is_some() && record.get("cid").is_none();
        let advice = match instead(key) {
            Some(_) if value == harmless(key) => continue,
            Some(advice) => advice,
            // What else a user has concerns HTTP or was taken over.
            None if is_user || CONNECTOR_USED.contains(&key.as_str()) => continue,
            None => should("it has no counterpart"),
        };
        notes.advise(place, format!("{name}: {key} {value}"), advice);
    }
}

fn positive(record: &Record, key: &str) -> Option<f64> {
    let value: f64 = record.given(key)?.parse().ok()?;
    (value > 0.0).then_some(value)
}

fn is_refused(record: &Record, key: &str) -> bool {
    let value = record.get(key).unwrap_or_default().to_lowercase();
    ["false", "0", "f", "n", "no"].contains(&value.as_str())
}
