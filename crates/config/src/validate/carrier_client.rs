//! Checks of accounts that log in by CMPP.

use super::Findings;
use crate::{Account, Config, ListenerProtocol};

/// Octets of Source_Addr in the login (CMPP §8.4.1.1).
const MAX_SOURCE: usize = 6;

pub(super) fn check_account(base: &str, account: &Account, config: &Config, found: &mut Findings) {
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
