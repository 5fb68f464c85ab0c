//! Checks of accounts and operators.

use std::collections::HashMap;
use std::time::Duration;

use rustls::pki_types::ServerName;
use secrecy::ExposeSecret;

use super::callback::check_callback;
use super::rewrite::check_rewrite;
use super::words;
use super::{
    Findings, MAX_ADDRESS_RANGE, MAX_PASSWORD, MAX_SYSTEM_ID, MAX_SYSTEM_TYPE, check_retry,
};
use crate::local::LOCAL;
use crate::outputs::is_host_and_port;
use crate::{
    Account, Config, OnDuplicate, OperatorConfig, OperatorProtocol, OutcomePolicy, ReceiptRequest,
    SendAs, ShownIdForm,
};
use smsc_domain::account;
use smsc_domain::address;
use smsc_domain::allow::IpNetwork;
use smsc_domain::certificate::WantedCertificate;
use smsc_sms::Language;

/// Beyond it a round over the accounts of a queue takes too long.
const MAX_WEIGHT: u32 = 100;

/// priority_flag 0-3 (SMPP 3.4 §5.2.14).
const MAX_PRIORITY: u8 = 3;
/// registered_delivery: bits 0-4 (SMPP 3.4 §5.2.17).
const MAX_REGISTERED_DELIVERY: u8 = 0x1F;
/// Longest name of an operator: it is part of metrics and file names.
const MAX_ID: usize = 64;
/// More binds than this to one operator is a slip of the finger.
const MAX_BINDS: u32 = 1_000;

pub(super) fn check_accounts(config: &Config, found: &mut Findings) {
    let mut names: HashMap<&str, usize> = HashMap::new();
    let mut owners: HashMap<&[u8], usize> = HashMap::new();
    for (index, account) in config.account.iter().enumerate() {
        let base = format!("account[{index}]");
        let key = |name: &str| format!("{base}.{name}");

        found.require(
            &key("system_id"),
            !account.system_id.is_empty(),
            "is missing",
        );
        found.check_text(&key("system_id"), &account.system_id, MAX_SYSTEM_ID);
        let first = *names.entry(account.system_id.as_str()).or_insert(index);
        if first != index && !account.system_id.is_empty() {
            let message = format!("\"{}\" is already account[{first}]", account.system_id);
            found.problem(key("system_id"), message);
        }
        check_passwords(&base, account, found);
        if let Some(system_type) = &account.system_type {
            found.check_text(&key("system_type"), system_type, MAX_SYSTEM_TYPE);
        }
        if let Some(share) = account.trace_ratio {
            found.check_share(&key("trace_ratio"), share);
        }
        found.at_least_one(&key("max_binds"), u64::from(account.max_binds));
        found.check_window(&key("window"), account.window);
        found.check_positive(&key("suspect_pause"), account.suspect_pause);
        found.check_rate(&base, account.rate, account.burst);
        for (at, entry) in account.allow.iter().enumerate() {
            if let Err(error) = entry.parse::<IpNetwork>() {
                found.problem(format!("{base}.allow[{at}]"), error.to_string());
            }
        }
        found.require(
            &key("weight"),
            (1..=MAX_WEIGHT).contains(&account.weight),
            "must be from 1 to 100",
        );
        check_certificates(&base, account, config, found);
        if let Some(max) = account.max_waiting {
            found.at_least_one(&key("max_waiting"), max);
        }
        for (at, pattern) in account.addresses.iter().enumerate() {
            let key = format!("{base}.addresses[{at}]");
            let pattern = address::normalise(pattern.as_bytes());
            let body = pattern.strip_suffix(b"*").unwrap_or(pattern);
            if pattern.is_empty() || !body.iter().all(u8::is_ascii_alphanumeric) {
                let message = "must be digits or letters, with a `*` at the end for a prefix";
                found.problem(key, message);
                continue;
            }
            let owner = *owners.entry(pattern).or_insert(index);
            if owner != index {
                found.problem(key, format!("already belongs to account[{owner}]"));
            }
        }
        check_duplicates(&base, account, found);
        check_lists(&base, account, found);
        check_outbind(&base, account, found);
        check_callback(&base, account, found);
        super::carrier_client::check_account(&base, account, config, found);
        if let Some(Err(error)) = account.country() {
            found.problem(key("country"), error.to_string());
        }
        check_id_length(&base, account, found);
        check_rewrite(&key("rewrite_in"), &account.rewrite_in, found);
        check_rewrite(&key("rewrite_out"), &account.rewrite_out, found);
        let version = account.interface_version.map(u8::from);
        if !version.is_none_or(is_known_version) {
            found.problem(key("interface_version"), UNKNOWN_VERSION);
        }
        let is_tag = account
            .reference_tlv
            .is_none_or(|tag| u16::try_from(tag).is_ok());
        found.require(
            &key("reference_tlv"),
            is_tag,
            "must be between 0 and 0xFFFF",
        );
        let sensible = account.priority_max <= MAX_PRIORITY;
        found.require(&key("priority_max"), sensible, "must be between 0 and 3");
        if account
            .registered_delivery
            .is_some_and(|flags| flags > MAX_REGISTERED_DELIVERY)
        {
            found.problem(key("registered_delivery"), "must be between 0 and 31");
        }
    }
}

fn check_passwords(base: &str, account: &Account, found: &mut Findings) {
    let key = format!("{base}.password");
    let password = account.password.expose_secret();
    let given = !password.is_empty() || account.password_file.is_some();
    found.require(&key, given, "is missing; set it or `password_file`");
    check_password(&key, password, found);
    let next = account.password_next.expose_secret();
    check_password(&format!("{base}.password_next"), next, found);
}

fn check_password(key: &str, password: &str, found: &mut Findings) {
    if !account::is_well_formed(password) {
        let message = "starts like an argon2id hash but is none; write $argon2id$v=19$…";
        found.problem(key, message);
    }
    if let Some(memory) = account::memory_kib(password).filter(|memory| *memory > MUCH_MEMORY) {
        let message = format!(
            "takes {} MiB for each check, as many at a time as there are cores; 19 MiB (m=19456) are enough",
            memory / 1024
        );
        found.warn(key, message);
    }
    if !account::is_hash(password) {
        warn_long_password(found, key.to_owned(), password);
        if (1..SHORT_PASSWORD).contains(&password.len()) {
            let message = format!(
                "has fewer than {SHORT_PASSWORD} characters and can be guessed; the standard \
                     allows {MAX_PASSWORD}"
            );
            found.warn(key, message);
        }
    }
}

fn check_certificates(base: &str, account: &Account, config: &Config, found: &mut Findings) {
    for (at, text) in account.certificates.iter().enumerate() {
        if WantedCertificate::parse(text).is_none() {
            let message =
                "must be a name, or sha256: and the 64 hexadecimal digits of a fingerprint";
            found.problem(format!("{base}.certificates[{at}]"), message);
        }
    }
    if !account.certificates.is_empty()
        && config
            .listener
            .iter()
            .all(|one| one.tls_client_ca.is_none())
    {
        let message = "no [[listener]] of this node has `tls_client_ca`: it cannot bind here";
        found.warn(format!("{base}.certificates"), message);
    }
}

/// Memory of a check of a password, in KiB, that is worth a warning, because any client can cause
/// checks.
const MUCH_MEMORY: u32 = 64 * 1024;
const UNKNOWN_VERSION: &str = "must be 0x33, 0x34 or 0x50";

fn is_known_version(version: u8) -> bool {
    matches!(version, 0x33 | 0x34 | 0x50)
}

/// Shorter ones are guessed, whatever slows guessing down.
const SHORT_PASSWORD: usize = 4;

/// Longer, and what people send twice on purpose is taken for a slip of the network.
const MAX_DUPLICATE_WINDOW: Duration = Duration::from_secs(600);

fn check_duplicates(base: &str, account: &Account, found: &mut Findings) {
    let window = account.duplicate_window;
    if window > MAX_DUPLICATE_WINDOW {
        let message = "must be at most 10m; \"0s\" never looks for duplicates";
        found.problem(format!("{base}.duplicate_window"), message);
    }
    if window.is_zero() && account.duplicates == OnDuplicate::SameId {
        let message = "means nothing without `duplicate_window`; set it, such as \"1m\"";
        found.warn(format!("{base}.duplicates"), message);
    }
}

/// dl_name has at most 20 octets (SMPP 3.4 §5.2.25), and so has an address.
const MAX_NAME: usize = 20;

fn check_lists(base: &str, account: &Account, found: &mut Findings) {
    for (name, members) in account.lists.iter() {
        let key = format!("{base}.lists.{name}");
        if name.is_empty() || name.len() > MAX_NAME || !name.is_ascii() {
            let message = format!("the name must have 1 to {MAX_NAME} ASCII characters");
            found.problem(key.clone(), message);
        }
        if members.is_empty() {
            found.problem(key.clone(), "is empty; write at least one number");
        }
        for member in members {
            let digits = address::normalise(member.as_bytes());
            if digits.is_empty() || digits.len() > MAX_NAME || !address::is_digits(digits) {
                let message = format!("{member:?} is not a number; write up to {MAX_NAME} digits");
                found.problem(key.clone(), message);
            }
        }
    }
}

/// message_id has at most 64 octets (SMPP 3.4 §5.2.23), and ours have 16 hexadecimal or 19 decimal
/// digits.
fn check_id_length(base: &str, account: &Account, found: &mut Findings) {
    const LONGEST: u32 = 64;
    let least = match account.message_id {
        ShownIdForm::Decimal => 19,
        ShownIdForm::Hex => 16,
    };
    let length = account.message_id_length;
    if length.is_some_and(|length| !(least..=LONGEST).contains(&length)) {
        let form = account.message_id;
        let message = format!("must be between {least} and {LONGEST} for {form} ids");
        found.problem(format!("{base}.message_id_length"), message);
    }
}

fn check_outbind(base: &str, account: &Account, found: &mut Findings) {
    let key = format!("{base}.outbind_password");
    match &account.outbind {
        Some(address) => check_address(&format!("{base}.outbind"), address, found),
        None if !account.outbind_password.expose_secret().is_empty() => {
            found.problem(
                key.clone(),
                "is without use; set `outbind` to host and port",
            );
        }
        None => {}
    }
    warn_long_password(found, key, account.outbind_password.expose_secret());
}

pub(super) fn check_operators(config: &Config, found: &mut Findings) {
    let mut names: HashMap<&str, usize> = HashMap::new();
    for (index, operator) in config.operator.iter().enumerate() {
        let base = format!("operator[{index}]");
        let key = |name: &str| format!("{base}.{name}");

        check_id(&key("id"), &operator.id, found);
        let first = *names.entry(operator.id.as_str()).or_insert(index);
        if first != index && !operator.id.is_empty() {
            found.problem(
                key("id"),
                format!("\"{}\" is already operator[{first}]", operator.id),
            );
        }
        let same = |account: &&crate::Account| account.system_id == operator.id;
        if !operator.id.is_empty() && config.account.iter().any(|account| same(&account)) {
            let message = format!(
                "\"{}\" is also an account; routes could not tell them apart, rename one",
                operator.id
            );
            found.problem(key("id"), message);
        }
        if operator.managed {
            super::compat::check_managed(&base, operator, found);
        } else {
            check_address(&key("address"), &operator.address, found);
        }
        check_tls(&base, operator, found);
        super::carrier::check_carrier(&base, operator, found);
        found.require(
            &key("system_id"),
            operator.is_local() || operator.managed || !operator.system_id.is_empty(),
            "is missing",
        );
        found.check_text(&key("system_id"), &operator.system_id, MAX_SYSTEM_ID);
        if operator.protocol == OperatorProtocol::Smpp {
            warn_long_password(found, key("password"), operator.password.expose_secret());
        }
        found.check_text(&key("system_type"), &operator.system_type, MAX_SYSTEM_TYPE);
        found.check_text(
            &key("address_range"),
            &operator.address_range,
            MAX_ADDRESS_RANGE,
        );
        if !(1..=MAX_BINDS).contains(&operator.binds) {
            found.problem(key("binds"), format!("must be between 1 and {MAX_BINDS}"));
        }
        found.check_window(&key("window"), operator.window);
        found.check_rate(&base, operator.rate, operator.burst);
        if !is_known_version(operator.interface_version) {
            found.problem(key("interface_version"), UNKNOWN_VERSION);
        }
        if operator.interface_version < 0x34 && operator.send_as == SendAs::DataSm {
            let message =
                "\"data_sm\" came with 3.4; set `interface_version = 0x34` or write \"submit_sm\"";
            found.problem(key("send_as"), message);
        }
        check_times(&base, operator, found);
        if operator.outcome_unknown == OutcomePolicy::Wait
            && operator.receipts == ReceiptRequest::Never
        {
            let message = "\"wait\" needs receipts, but `receipts` is \"never\"; write \"resend\"";
            found.problem(key("outcome_unknown"), message);
        }
        check_rewrite(&key("rewrite_in"), &operator.rewrite_in, found);
        check_rewrite(&key("rewrite_out"), &operator.rewrite_out, found);
        check_languages(&key("languages"), &operator.languages, found);
        if let Some(retry) = &operator.retry {
            check_retry(retry, &key("retry"), found);
        }
        words::check_statuses(&key("statuses"), &operator.statuses, found);
        words::check_receipt_states(&key("receipt_states"), operator, found);
        if operator.strict_order && operator.binds > 1 {
            let message = "is more than 1, and `strict_order` is kept by each node for itself: with one bind it is kept by all";
            found.warn(format!("{base}.binds"), message);
        }
        super::sharing::check_operator(&base, operator, found);
    }
}

/// Each names a national language table.
pub(super) fn check_languages(key: &str, languages: &[String], found: &mut Findings) {
    for (at, name) in languages.iter().enumerate() {
        if name.parse::<Language>().is_err() {
            let known: Vec<&str> = Language::ALL[1..].iter().map(|one| one.name()).collect();
            let message = format!("{name:?} has no table; write one of {}", known.join(", "));
            found.problem(format!("{key}[{at}]"), message);
        }
    }
}

fn check_tls(base: &str, operator: &OperatorConfig, found: &mut Findings) {
    let key = |name: &str| format!("{base}.{name}");
    match (&operator.tls_cert, &operator.tls_key) {
        (Some(_), None) => found.problem(key("tls_key"), "is missing; set it beside tls_cert"),
        (None, Some(_)) => found.problem(key("tls_cert"), "is missing; set it beside tls_key"),
        _ => {}
    }
    if operator.is_local() && operator.tls {
        found.problem(key("tls"), "is not possible with a program at local.socket");
    }
    let without_tls = [
        ("tls_name", operator.tls_name.is_some()),
        ("tls_ca_file", operator.tls_ca_file.is_some()),
        ("tls_cert", operator.tls_cert.is_some()),
    ];
    for (name, given) in without_tls {
        if given && !operator.tls {
            found.problem(key(name), "means nothing without TLS; add `tls = true`");
        }
    }
    if let Some(name) = &operator.tls_name
        && ServerName::try_from(name.as_str()).is_err()
    {
        let message = format!("{name:?} is neither a host name nor an IP address");
        found.problem(key("tls_name"), message);
    }
}

fn check_times(base: &str, operator: &OperatorConfig, found: &mut Findings) {
    let key = |name: &str| format!("{base}.{name}");
    found.check_positive(&key("response_timeout"), operator.response_timeout());
    found.check_positive(&key("suspect_pause"), operator.suspect_pause);
    found.check_positive(&key("bind_timeout"), operator.bind_timeout);
    found.check_positive(&key("enquire_link_timeout"), operator.enquire_link_timeout);
    found.check_delays(&key("reconnect"), &operator.reconnect);
    if let Some(ttl) = operator.correlation_ttl {
        found.check_positive(&key("correlation_ttl"), ttl);
    }
}

pub(super) fn check_id(key: &str, id: &str, found: &mut Findings) {
    let allowed = |octet: u8| octet.is_ascii_alphanumeric() || b"-_.".contains(&octet);
    if id.is_empty() {
        found.problem(key, "is missing");
    } else if id.len() > MAX_ID || !id.bytes().all(allowed) {
        let message = format!("must be up to {MAX_ID} letters, digits, `-`, `_` or `.`");
        found.problem(key, message);
    }
}

/// `host:port`; names are resolved at each connect, not here.
fn check_address(key: &str, address: &str, found: &mut Findings) {
    if address.is_empty() {
        found.problem(key, "is missing; write \"host:port\"");
        return;
    }
    if address != LOCAL && !is_host_and_port(address) {
        let message = format!("{address:?} is not an address; write \"host:port\"");
        found.problem(key, message);
    }
}

fn warn_long_password(found: &mut Findings, key: String, password: &str) {
    if password.len() > MAX_PASSWORD {
        let message = format!(
            "is longer than the {MAX_PASSWORD} octets of the standard; some peers cut or refuse it"
        );
        found.warn(key, message);
    }
}
