//! Senders: the logins of an opensmppbox, and the users of the HTTP interface, both as accounts.

use super::groups::KannelGroup;
use super::note_rest;
use super::smsc::KannelConnection;
use crate::draft::{ConfigDraft, DraftTable, list};
use crate::{Advice, ConversionNotes, FileReader, SourcePlace, must, nothing, should};

/// An account in routes.
#[derive(Debug)]
pub(super) struct KannelSender {
    pub system_id: String,
    /// The connection that its messages select.
    pub smsc_id: Option<String>,
    /// What `smsbox-route` calls it.
    box_id: String,
    pub place: SourcePlace,
}

const BOX_USED: &[&str] = &[
    "opensmppbox-port",
    "smppbox-port",
    "our-system-id",
    "route-to-smsc",
    "smpp-logins",
    "enquire-link-interval",
    "use-systemid-as-smsboxid",
    "opensmppbox-id",
    "smppbox-id",
];

/// What to do instead of a key of a box.
fn box_instead(key: &str) -> Option<Advice> {
    Some(match key {
        "bearerbox-host" | "bearerbox-port" => nothing("it is one process; nothing to set"),
        "timeout" => should("set smpp.response_timeout and smpp.inactivity_timeout"),
        "log-file" => nothing("lines go to standard error; let the service manager keep them"),
        "log-level" => should("set log.level (\"info\" is the default)"),
        "alt-charset" => should(
            "set `alphabet` of the accounts: what data_coding 0 means in what they send and get",
        ),
        "mo-recode" => should("set `alphabet` of the accounts: texts are written in it"),
        "validityperiod" => should("set validity.default"),
        "throughput" => should("set `rate` of each account"),
        _ => return None,
    })
}

const USER_USED: &[&str] = &[
    "username",
    "password",
    "forced-smsc",
    "default-smsc",
    "user-allow-ip",
    "user-deny-ip",
    "name",
];

/// What to do instead of a key of a user.
fn user_instead(key: &str) -> Option<Advice> {
    Some(match key {
        "faked-sender" | "default-sender" => should("senders are set by the application"),
        "max-messages" | "concatenation" => {
            should("set long_messages of the operators: they get long texts in parts")
        }
        "dlr-url" => should("receipts come to the account by SMPP: ask with registered_delivery"),
        "allowed-prefix" => must("set `destinations` of the account: 4477* is a prefix"),
        "denied-prefix" => must("set `blocked_destinations` of the account: 4477* is a prefix"),
        _ => return None,
    })
}

/// `group = opensmppbox` with its list of logins.
pub(super) fn smpp_box(
    group: &KannelGroup,
    draft: &mut ConfigDraft,
    senders: &mut Vec<KannelSender>,
    read: &mut FileReader<'_>,
    notes: &mut ConversionNotes,
) {
    note_rest(group, BOX_USED, box_instead, notes);
    let port = group.number("opensmppbox-port", notes);
    if let Some(port) = port.or_else(|| group.number("smppbox-port", notes)) {
        draft.smpp.text("listen", &format!("0.0.0.0:{port}"));
    }
    match group.text("our-system-id") {
        "" => {}
        name if name.len() <= 15 => draft.smpp.text("system_id", name),
        name => {
            let place = group.place_of("our-system-id");
            notes.should(
                place,
                format!("our-system-id {name:?}"),
                "left out: at most 15 octets",
            );
        }
    }
    if let Some(seconds) = group.number("enquire-link-interval", notes) {
        draft.smpp.seconds("enquire_link_interval", seconds);
    }
    let Some(logins) = group.get("smpp-logins") else {
        notes.must(
            &group.place,
            "no smpp-logins",
            "no account is made; write [[account]]s",
        );
        return;
    };
    let source = match read(&logins.value, &logins.place.file) {
        Ok(source) => source,
        Err(error) => {
            let what = format!("smpp-logins {:?}: {error}", logins.value);
            notes.must(
                &logins.place,
                what,
                "put that file beside this one and convert again",
            );
            return;
        }
    };
    for (index, line) in source.text.lines().enumerate() {
        let place = SourcePlace {
            file: source.name.clone(),
            line: index + 1,
        };
        let words: Vec<&str> = line.split_whitespace().collect();
        let [system_id, password, system_type, rest @ ..] = words.as_slice() else {
            if !words.is_empty() && !line.trim_start().starts_with('#') {
                let what = "a login without system_id, password and system_type";
                notes.must(&place, what, "left out");
            }
            continue;
        };
        if system_id.starts_with('#') {
            continue;
        }
        let mut table = DraftTable::of(&place, "smpp-logins");
        table.system_type(system_type, &place, notes);
        allow(
            rest.first().copied().unwrap_or_default(),
            &mut table,
            &place,
            notes,
        );
        if draft.account(system_id, password, table, &place, notes) {
            let route = group.text("route-to-smsc");
            senders.push(KannelSender {
                system_id: (*system_id).to_owned(),
                smsc_id: (!route.is_empty()).then(|| route.to_owned()),
                box_id: if group.is_set("use-systemid-as-smsboxid") {
                    (*system_id).to_owned()
                } else {
                    (*system_type).to_owned()
                },
                place,
            });
        }
    }
}

/// `group = sendsms-user`.
pub(super) fn http_user(
    group: &KannelGroup,
    draft: &mut ConfigDraft,
    senders: &mut Vec<KannelSender>,
    notes: &mut ConversionNotes,
) {
    note_rest(group, USER_USED, user_instead, notes);
    let mut table = DraftTable::of(&group.place, "group = sendsms-user");
    match (group.text("user-deny-ip"), group.get("user-allow-ip")) {
        ("*.*.*.*", Some(allowed)) => allow(&allowed.value, &mut table, &allowed.place, notes),
        ("", _) => {}
        _ => notes.must(
            group.place_of("user-deny-ip"),
            "user-deny-ip",
            "write in `allow` of the account from where it may come",
        ),
    }
    let name = group.text("username");
    if !draft.account(name, group.text("password"), table, &group.place, notes) {
        return;
    }
    notes.must(
        &group.place,
        format!("{name:?} sends by HTTP"),
        "it is an account here: the application binds by SMPP with the same name and password, or sends as before to api.listen with api.kannel = true (docs/coming-from.md)",
    );
    let smsc_id = match group.text("forced-smsc") {
        "" => group.text("default-smsc"),
        forced => forced,
    };
    senders.push(KannelSender {
        system_id: name.to_owned(),
        smsc_id: (!smsc_id.is_empty()).then(|| smsc_id.to_owned()),
        box_id: String::new(),
        place: group.place.clone(),
    });
}

/// Names users whose requests may choose a connection with `smsc=`, which nothing looks at here.
pub(super) fn chosen_connections(
    groups: &[KannelGroup],
    connections: &[KannelConnection],
    notes: &mut ConversionNotes,
) {
    let [first, _, ..] = connections else {
        return;
    };
    for group in groups.iter().filter(|group| group.kind == "sendsms-user") {
        if !group.text("forced-smsc").is_empty() {
            continue;
        }
        let (user, id) = (group.text("username"), &first.id);
        notes.must(
            &group.place,
            format!("requests of {user:?} may choose a connection with smsc="),
            format!(
                "routes decide here, and `smsc` is not looked at: where applications name a connection, give them an account \
                 for each, with a route of its own (account = \"{user}-{id}\", to = [\"{id}\"])"
            ),
        );
    }
}

/// `group = smsbox-route`: short codes whose mobile-originated messages go to a box.
pub(super) fn short_codes(
    group: &KannelGroup,
    draft: &mut ConfigDraft,
    senders: &[KannelSender],
    notes: &mut ConversionNotes,
) {
    let (box_id, codes) = (group.text("smsbox-id"), group.list("shortcode"));
    let owner = senders
        .iter()
        .find(|sender| !box_id.is_empty() && sender.box_id == box_id)
        .and_then(|sender| draft.account_mut(&sender.system_id));
    match owner {
        Some(table) if !codes.is_empty() => {
            table.set("addresses", list(&codes));
            if group.get("smsc-id").is_some() {
                let what = "short codes of one connection only";
                let instead = "they are the account's whichever operator they come from";
                notes.should(group.place_of("smsc-id"), what, instead);
            }
        }
        Some(_) => notes.must(
            &group.place,
            "all messages of a connection go to one box",
            "write the numbers in `addresses` of the account",
        ),
        None => notes.must(
            &group.place,
            format!("messages go to the box {box_id:?}, which is no account"),
            "bind the application as an account and write the numbers in its `addresses`",
        ),
    }
}

/// `10.0.0.*;192.168.1.5` as networks; everywhere is no restriction.
fn allow(patterns: &str, table: &mut DraftTable, place: &SourcePlace, notes: &mut ConversionNotes) {
    let mut networks = Vec::new();
    for pattern in patterns.split([';', ',']).map(str::trim) {
        let parts: Vec<&str> = pattern.split('.').collect();
        let fixed = parts.iter().take_while(|part| **part != "*").count();
        let numbers = parts[..fixed].iter().all(|part| part.parse::<u8>().is_ok());
        let open = parts[fixed..].iter().all(|part| *part == "*");
        match (pattern, parts.len()) {
            ("", _) => {}
            (_, 4) if numbers && open && fixed == 0 => return,
            (_, 4) if numbers && fixed == 4 => networks.push(pattern.to_owned()),
            (_, 4) if numbers && open => {
                let address = pattern.replace('*', "0");
                networks.push(format!("{address}/{}", fixed * 8));
            }
            _ => {
                let what = format!("{pattern:?} is no address with * for its last parts");
                notes.must(place, what, "write it in `allow` of the account");
            }
        }
    }
    if !networks.is_empty() {
        table.set("allow", list(&networks));
    }
}
