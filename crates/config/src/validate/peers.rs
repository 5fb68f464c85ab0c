//! Checks of accounts and operators.

use std::collections::HashMap;

use secrecy::ExposeSecret;

use super::callback::check_callback;
use super::rewrite::check_rewrite;
use super::words;
use super::{Findings, MAX_PASSWORD, check_retry};
use crate::local::LOCAL;
use crate::outputs::is_host_and_port;
use crate::{
    Account, Config, OnDuplicate, OperatorConfig, OperatorProtocol, OutcomePolicy, ReceiptRequest,
    SendAs, ShownIdForm,
};
use smsc_domain::account;
use smsc_domain::address;

pub(super) fn check_accounts(config: &Config, found: &mut Findings) {
    let mut owners: HashMap<&[u8], usize> = HashMap::new();
    for (index, account) in config.account.iter().enumerate() {
        let base = format!("account[{index}]");
        let key = |name: &str| format!("{base}.{name}");

        check_passwords(&base, account, found);
        found.check_burst(&base, account.rate, account.burst);
        check_certificates(&base, account, config, found);
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
        if account.duplicate_window.is_zero() && account.duplicates == OnDuplicate::SameId {
            let message = "means nothing without `duplicate_window`; set it, such as \"1m\"";
            found.warn(key("duplicates"), message);
        }
        check_lists(&base, account, found);
        check_outbind(&base, account, found);
        check_callback(&base, account, found);
        super::carrier::check_account(&base, account, config, found);
        check_id_length(&base, account, found);
        check_rewrite(&key("rewrite_in"), &account.rewrite_in, found);
        check_rewrite(&key("rewrite_out"), &account.rewrite_out, found);
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
/// Shorter ones are guessed, whatever slows guessing down.
const SHORT_PASSWORD: usize = 4;

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
    for (index, operator) in config.operator.iter().enumerate() {
        let base = format!("operator[{index}]");
        let key = |name: &str| format!("{base}.{name}");

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
        if operator.protocol == OperatorProtocol::Smpp {
            warn_long_password(found, key("password"), operator.password.expose_secret());
        }
        found.check_burst(&base, operator.rate, operator.burst);
        if operator.interface_version < 0x34 && operator.send_as == SendAs::DataSm {
            let message =
                "\"data_sm\" came with 3.4; set `interface_version = 0x34` or write \"submit_sm\"";
            found.problem(key("send_as"), message);
        }
        if operator.outcome_unknown == OutcomePolicy::Wait
            && operator.receipts == ReceiptRequest::Never
        {
            let message = "\"wait\" needs receipts, but `receipts` is \"never\"; write \"resend\"";
            found.problem(key("outcome_unknown"), message);
        }
        check_rewrite(&key("rewrite_in"), &operator.rewrite_in, found);
        check_rewrite(&key("rewrite_out"), &operator.rewrite_out, found);
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

fn check_tls(base: &str, operator: &OperatorConfig, found: &mut Findings) {
    let key = |name: &str| format!("{base}.{name}");
    found.check_pair(&key(""), &operator.tls_cert, &operator.tls_key);
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
