//! Checks of accounts that log in by CMPP, and of what accounts say to operators over protocols of carriers.
//!
//! Which operators carry the messages of an account is not known here, so what it says to them is checked by what any of
//! their protocols can hold; a message with a field that its operator's protocol cannot hold is refused when it is sent.

use super::Findings;
use crate::{Account, AccountCarrier, Config, ListenerProtocol};

/// Octets of Source_Addr in the login (CMPP §8.4.1.1).
const MAX_SOURCE: usize = 6;
/// Octets of the fields in the protocol with the longest one.
const MAX_MSG_SRC: usize = 8;
const MAX_SERVICE: usize = 10;
const MAX_NUMBER: usize = 21;
const MAX_FEE_TYPE: usize = 2;
const MAX_FEE: usize = 6;

pub(super) fn check_account(base: &str, account: &Account, config: &Config, found: &mut Findings) {
    if let Some(own) = &account.carrier {
        check_own(&format!("{base}.carrier"), own, found);
    }
    if !account.has_carrier_secret() {
        return;
    }
    let key = format!("{base}.system_id");
    found.check_text(&key, &account.system_id, MAX_SOURCE);
    let mut listeners = config.listener.iter();
    if !listeners.any(|listener| listener.protocol == ListenerProtocol::Cmpp) {
        let message =
            "no [[listener]] of this node has `protocol = \"cmpp\"`: it cannot log in here";
        found.warn(format!("{base}.carrier_secret"), message);
    }
}

fn check_own(base: &str, own: &AccountCarrier, found: &mut Findings) {
    let key = |name: &str| format!("{base}.{name}");
    for (name, text, most) in [
        ("service_id", &own.service_id, MAX_SERVICE),
        ("msg_src", &own.msg_src, MAX_MSG_SRC),
        ("fee_number", &own.fee_number, MAX_NUMBER),
    ] {
        if let Some(text) = text {
            found.check_text(&key(name), text, most);
        }
    }
    let payer = own.fee_payer.unwrap_or_default();
    found.require(&key("fee_payer"), payer <= 3, "must be between 0 and 3");
    for (name, number, most) in [
        ("fee_type", &own.fee_type, MAX_FEE_TYPE),
        ("fee_code", &own.fee_code, MAX_FEE),
    ] {
        let Some(number) = number else { continue };
        let is_number = number.bytes().all(|octet| octet.is_ascii_digit());
        let fits = (1..=most).contains(&number.len()) && is_number;
        found.require(&key(name), fits, &format!("must be up to {most} digits"));
    }
}
