//! A Kannel as people have it, and common errors.

use std::io;

use super::*;
use crate::{Note, Urgency};

const CONF: &str = r#"
# The gateway
group = core
admin-port = 13000
admin-password = bar
smsbox-port = 13001
log-file = "/var/log/kannel/bearerbox.log"
sms-resend-freq = 30
sms-resend-retry = 4
dlr-storage = internal

include = "smsc.conf"

group = smsbox
bearerbox-host = localhost
sendsms-port = 13013

group = sendsms-user
username = shop
password = "s3cr\"et"
forced-smsc = premium
user-deny-ip = "*.*.*.*"
user-allow-ip = "10.0.0.*;192.168.1.5"

group = sms-service
keyword = default
text = "no"

group = opensmppbox
opensmppbox-port = 2345
our-system-id = Kannel
smpp-logins = "/etc/kannel/logins.txt"

group = smsbox-route
smsbox-id = VMA
shortcode = "12345;23456"
"#;

const SMSC: &str = r#"
group = smsc
smsc = smpp
smsc-id = acme
host = smpp.acme.example
port = 2775
transceiver-mode = true
smsc-username = gateway
smsc-password = secret
system-type = "VMA"
throughput = 12.5
max-pending-submits = 20
msg-id-type = 0x01
denied-prefix = "4477;4478"
denied-smsc-id = premium
source-addr-ton = 5

group = smsc
smsc = smpp
smsc-id = best
host = 192.0.2.7
port = 3700
receive-port = 3700
smsc-username = \
   us
smsc-password = them
allowed-prefix = "44;33"
preferred-prefix = 447
preferred-smsc-id = premium

group = smsc
smsc = at
modemtype = auto
device = /dev/ttyS0
"#;

const LOGINS: &str = "\
alice wonder VMA *.*.*.*
bob builder VMA 203.0.113.9
averyveryverylongname x VMA
";

/// Files by name.
fn files(wanted: &str) -> io::Result<SourceText> {
    let text = match wanted {
        "smsc.conf" => SMSC,
        "/etc/kannel/logins.txt" => LOGINS,
        "circle.conf" => "include = circle.conf\n",
        _ => return Err(io::ErrorKind::NotFound.into()),
    };
    Ok(SourceText {
        name: wanted.to_owned(),
        text: text.to_owned(),
    })
}

fn try_convert(text: &str) -> Result<Converted, ConversionRefused> {
    let source = SourceText {
        name: "kannel.conf".to_owned(),
        text: text.to_owned(),
    };
    convert(vec![source], &mut |name, _| files(name))
}

/// The table that has this line, without comments.
fn table_with<'a>(toml: &'a str, line: &str) -> Vec<&'a str> {
    let mut tables = toml.split("\n\n");
    let table = tables
        .find(|table| table.lines().any(|one| one == line))
        .unwrap_or_else(|| panic!("no {line} in:\n{toml}"));
    table
        .lines()
        .filter(|line| !line.starts_with('#'))
        .collect()
}

fn note<'a>(converted: &'a Converted, what: &str) -> &'a Note {
    converted
        .notes
        .iter()
        .find(|note| note.what.contains(what))
        .unwrap_or_else(|| panic!("no {what:?} in {:#?}", converted.notes))
}

#[test]
fn connections_become_operators() {
    let converted = try_convert(CONF).unwrap();
    assert_eq!(
        table_with(&converted.toml, "id = \"acme\""),
        [
            "[[operator]]",
            "id = \"acme\"",
            "address = \"smpp.acme.example:2775\"",
            "system_id = \"gateway\"",
            "password = \"secret\"",
            "system_type = \"VMA\"",
            "window = 20",
            "rate = 12.5",
            "message_id = \"decimal\"",
        ]
    );
    let best = table_with(&converted.toml, "id = \"best\"");
    assert!(
        best.contains(&"bind = \"transmitter+receiver\""),
        "{best:?}"
    );
    assert!(
        best.contains(&"system_id = \"us\""),
        "a line goes on: {best:?}"
    );
}

#[test]
fn logins_and_http_users_become_accounts() {
    let converted = try_convert(CONF).unwrap();
    let alice = table_with(&converted.toml, "system_id = \"alice\"");
    assert!(
        alice.contains(&"addresses = [\"12345\", \"23456\"]"),
        "{alice:?}"
    );
    assert!(
        !alice.iter().any(|line| line.starts_with("allow")),
        "{alice:?}"
    );
    let bob = table_with(&converted.toml, "system_id = \"bob\"");
    assert!(bob.contains(&"allow = [\"203.0.113.9\"]"), "{bob:?}");
    let shop = table_with(&converted.toml, "system_id = \"shop\"");
    assert!(shop.contains(&"password = \"s3cr\\\"et\""), "{shop:?}");
    assert!(
        shop.contains(&"allow = [\"10.0.0.0/24\", \"192.168.1.5\"]"),
        "{shop:?}"
    );
    assert!(converted.toml.contains("listen = \"0.0.0.0:2345\""));
    assert!(
        converted
            .toml
            .contains("delays = [\"30s\"]\nmax_attempts = 5")
    );
}

#[test]
fn routes_are_what_the_connections_take() {
    let converted = try_convert(CONF).unwrap();
    let routes: Vec<String> = converted
        .toml
        .split("\n\n")
        .filter(|table| table.contains("[[route]]"))
        .map(|table| {
            let lines = table.lines().filter(|line| !line.starts_with(['#', '[']));
            lines.collect::<Vec<_>>().join(" ")
        })
        .collect();
    assert_eq!(
        routes,
        [
            // acme takes everything but 4477 and 4478, best only 44 and 33.
            "prefix = \"\" to = [\"acme\"]",
            // acme denies the shop's smsc-id, best alone is left, and only for its prefixes.
            "prefix = \"\" account = \"shop\" to = [\"test:failed\"]",
            "prefix = \"33\" to = [{ \"acme\" = 1, \"best\" = 1 }]",
            "prefix = \"33\" account = \"shop\" to = [\"best\"]",
            "prefix = \"44\" to = [{ \"acme\" = 1, \"best\" = 1 }]",
            "prefix = \"44\" account = \"shop\" to = [\"best\"]",
            // best prefers 447; acme is second, or denies it.
            "prefix = \"447\" to = [\"best\", \"acme\"]",
            "prefix = \"447\" account = \"shop\" to = [\"best\"]",
            "prefix = \"4477\" to = [\"best\"]",
            "prefix = \"4478\" to = [\"best\"]",
        ]
    );
    assert!(
        note(
            &converted,
            "no connection takes messages to anywhere from shop"
        )
        .instead
        .contains("test:failed")
    );
}

#[test]
fn what_has_no_counterpart_is_named_with_its_line() {
    let converted = try_convert(CONF).unwrap();
    let port = note(&converted, "admin-port");
    assert_eq!(port.place.to_string(), "kannel.conf:4");
    assert!(port.instead.contains("http.listen"));
    assert_eq!(
        note(&converted, "source-addr-ton").place.to_string(),
        "smsc.conf:16"
    );
    assert!(
        note(&converted, "kind \"at\"")
            .instead
            .contains("only SMPP")
    );
    assert!(
        note(&converted, "sms-service")
            .instead
            .contains("[[mo_rule]]")
    );
    assert_eq!(
        note(&converted, "averyveryverylongname").place.to_string(),
        "/etc/kannel/logins.txt:3"
    );
    assert!(note(&converted, "sends by HTTP").instead.contains("SMPP"));
}

const SERVICES: &str = r#"
group = smsc
smsc = smpp
smsc-id = acme
host = h
port = 1
transceiver-mode = true
smsc-username = u
smsc-password = p

group = smsc
smsc = smpp
smsc-id = best
host = i
port = 1
transceiver-mode = true
smsc-username = u
smsc-password = p

group = sendsms-user
username = shop
password = secret

group = sms-service
keyword = info
aliases = "INFO;help"
text = "You wrote %r, %p. 100%%"
faked-sender = 12345
accepted-smsc = acme

group = sms-service
keyword = price
get-url = "http://example.com/?q=%r"

group = sms-service
keyword = best
get-url = "https://example.com/best?from=%p"
max-messages = 0

group = sms-service
keyword = prices
aliases = tariff
get-url = "http://example.com/?q=%r"

group = sms-service
keyword = login
get-url = "http://user@example.com/"

group = sms-service
keyword = posted
post-url = "http://example.com/post"

group = sms-service
keyword = strange
text = "%S"

group = sms-service
keyword = default
text = "No such service"
"#;

#[test]
fn keywords_with_a_text_become_rules() {
    let converted = try_convert(SERVICES).unwrap();
    assert_eq!(
        table_with(&converted.toml, "name = \"keyword-info\""),
        [
            "[[mo_rule]]",
            "name = \"keyword-info\"",
            "keywords = [\"info\", \"help\"]",
            "operator = \"acme\"",
            "reply = \"You wrote {{text}}, {{from}}. 100%\"",
            "reply_account = \"shop\"",
            "reply_from = \"12345\"",
        ]
    );
    let default = table_with(&converted.toml, "name = \"keyword-default\"");
    assert!(default.contains(&"order = 1000"), "{default:?}");
    for (what, instead) in [
        ("sms-service \"price\"", "/cgi-bin/sendsms"),
        ("sms-service \"login\"", "without a user"),
        ("sms-service \"posted\"", "get-url"),
        ("sms-service \"strange\"", "escapes"),
    ] {
        let found = note(&converted, what);
        assert!(found.instead.contains(instead), "{found:?}");
        assert_eq!(found.urgency, Urgency::Must);
    }
    let chosen = note(&converted, "\"shop\" may choose a connection with smsc=");
    assert!(
        chosen.instead.contains("account = \"shop-acme\""),
        "{chosen:?}"
    );
}

#[test]
fn keywords_with_a_url_become_rules_for_an_account_that_calls_it() {
    let converted = try_convert(SERVICES).unwrap();
    assert_eq!(
        table_with(&converted.toml, "system_id = \"price\""),
        [
            "[[account]]",
            "system_id = \"price\"",
            "deliver_by = \"callback\"",
            "callback_url = \"http://example.com/?q=%r\"",
            "callback_format = \"kannel\"",
            "callback_allow_private = [\"example.com\"]",
            "long_messages = \"payload\"",
            &format!("password = \"{}\"", crate::draft::NO_PASSWORD),
        ]
    );
    // Both keywords are of one URL.
    for (name, keywords) in [
        ("keyword-price", "keywords = [\"price\"]"),
        ("keyword-prices", "keywords = [\"prices\", \"tariff\"]"),
    ] {
        let rule = table_with(&converted.toml, &format!("name = \"{name}\""));
        assert_eq!(rule[2..], [keywords, "deliver_to = \"price\""], "{name}");
    }
    // The account was there before the connection that has its name.
    let best = table_with(&converted.toml, "name = \"keyword-best\"");
    assert!(best.contains(&"deliver_to = \"best\""), "{best:?}");
    assert!(converted.toml.contains("id = \"best-2\""));
    let quiet = note(&converted, "sms-service \"best\"");
    assert_eq!(quiet.urgency, Urgency::Nothing);
    for gone in ["keyword-login", "keyword-posted"] {
        assert!(!converted.toml.contains(gone), "{gone}");
    }
}

#[test]
fn the_urgent_comes_first() {
    let converted = try_convert(CONF).unwrap();
    assert!(converted.notes.is_sorted_by_key(|note| note.urgency));
    for (what, urgency) in [
        ("averyveryverylongname", Urgency::Must),
        ("kind \"at\"", Urgency::Must),
        ("admin-port", Urgency::Should),
        ("smsbox-port", Urgency::Nothing),
        ("dlr-storage", Urgency::Nothing),
    ] {
        assert_eq!(note(&converted, what).urgency, urgency, "{what}");
    }
}

#[test]
fn groups_for_one_place_are_one_operator() {
    let tx = "group = smsc\nsmsc = smpp\nsmsc-id = a\nhost = h\nport = 1\nsmsc-username = u\nsmsc-password = p\n";
    let rx = tx.replace("\nport", "\nreceive-port");
    let pair = try_convert(&format!("{tx}\n{rx}")).unwrap().toml;
    assert!(pair.contains("bind = \"transmitter+receiver\""), "{pair}");
    assert_eq!(pair.matches("[[operator]]").count(), 1);
    let twice = try_convert(&format!("{tx}\n{tx}")).unwrap().toml;
    assert!(twice.contains("binds = 2"), "{twice}");
    let elsewhere = try_convert(&format!("{tx}\n{}", tx.replace("host = h", "host = i"))).unwrap();
    assert!(
        elsewhere.toml.contains("id = \"a-2\""),
        "{}",
        elsewhere.toml
    );
    assert!(
        elsewhere.toml.contains("{ \"a\" = 1, \"a-2\" = 1 }"),
        "{}",
        elsewhere.toml
    );
}

#[test]
fn what_is_no_configuration_is_refused() {
    let refused = try_convert("hello\n").unwrap_err();
    assert!(refused.why.contains("kannel.conf"), "{refused}");
    let refused = try_convert("include = \"gone.conf\"\n").unwrap_err();
    assert!(
        refused.to_string().contains("kannel.conf:1") && refused.why.contains("gone.conf"),
        "{refused}"
    );
    let refused = try_convert("include = circle.conf\n").unwrap_err();
    assert!(refused.why.contains("circle"), "{refused}");
}
