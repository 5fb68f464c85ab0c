//! Checks of operators over CMPP and SMGP: what the fields can hold, and keys that mean nothing there.

use super::Findings;
use crate::{BindKind, Carrier, CmppVersion, Operator, Protocol, SendAs};

/// Octets of ServiceID, of the number that pays, and of fees, in all protocols (CMPP §8.4.3.1).
const MAX_SERVICE: usize = 10;
const MAX_NUMBER: usize = 21;
const MAX_FEE: usize = 6;

/// How long names are in a protocol.
struct Limits {
    name: &'static str,
    /// Source_Addr (CMPP §8.4.1.1), ClientID (SMGP).
    client: usize,
    /// Msg_src (CMPP §8.4.3.1), MsgSrc (SMGP).
    source: usize,
}

fn limits(protocol: Protocol) -> Option<Limits> {
    let (name, client, source) = match protocol {
        Protocol::Smpp => return None,
        Protocol::Cmpp => ("CMPP", 6, 6),
        Protocol::Smgp => ("SMGP", 8, 8),
    };
    Some(Limits {
        name,
        client,
        source,
    })
}

pub(super) fn check_carrier(base: &str, operator: &Operator, found: &mut Findings) {
    let key = |name: &str| format!("{base}.{name}");
    let Some(limits) = limits(operator.protocol) else {
        if operator.carrier.is_some() {
            let message =
                "means nothing for SMPP; add `protocol = \"cmpp\"` or another, or remove it";
            found.problem(key("carrier"), message);
        }
        return;
    };
    found.check_text(&key("system_id"), &operator.system_id, limits.client);
    found.require(
        &key("protocol"),
        !operator.is_local(),
        "is not possible with a program at local.socket",
    );
    // A login of SMGP says which directions it is for.
    if operator.bind != BindKind::Transceiver && operator.protocol != Protocol::Smgp {
        let name = limits.name;
        let message =
            format!("has no meaning in {name}, whose connections carry both directions; remove it");
        found.problem(key("bind"), message);
    }
    if operator.send_as != SendAs::SubmitSm {
        let message = format!("has no meaning in {}; remove it", limits.name);
        found.problem(key("send_as"), message);
    }
    let carrier = operator.carrier();
    check_keys(&format!("{base}.carrier"), &carrier, &limits, found);
    let mut without_use = |is_used: bool, key: &str| {
        if is_used {
            let message = format!("has no meaning in {}; remove it", limits.name);
            found.problem(format!("{base}.carrier.{key}"), message);
        }
    };
    let protocol = operator.protocol;
    without_use(
        protocol != Protocol::Cmpp && carrier.version != CmppVersion::V2,
        "version",
    );
    without_use(
        protocol != Protocol::Smgp && carrier.fixed_fee != "0",
        "fixed_fee",
    );
}

fn check_keys(base: &str, carrier: &Carrier, limits: &Limits, found: &mut Findings) {
    let digits = |text: &str| text.bytes().all(|octet| octet.is_ascii_digit());
    let key = |name: &str| format!("{base}.{name}");
    found.check_text(&key("service_id"), &carrier.service_id, MAX_SERVICE);
    if let Some(source) = &carrier.msg_src {
        found.check_text(&key("msg_src"), source, limits.source);
    }
    found.check_text(&key("fee_number"), &carrier.fee_number, MAX_NUMBER);
    found.require(
        &key("fee_payer"),
        carrier.fee_payer <= 3,
        "must be between 0 and 3",
    );
    found.require(
        &key("fee_number"),
        carrier.fee_payer != 3 || !carrier.fee_number.is_empty(),
        "is missing; it pays with `fee_payer = 3`",
    );
    if let Some(fee_type) = &carrier.fee_type {
        found.require(
            &key("fee_type"),
            fee_type.len() == 2 && digits(fee_type),
            "must be two digits",
        );
    }
    for (name, fee) in [
        ("fee_code", &carrier.fee_code),
        ("fixed_fee", &carrier.fixed_fee),
    ] {
        found.require(
            &key(name),
            (1..=MAX_FEE).contains(&fee.len()) && digits(fee),
            "must be up to 6 digits",
        );
    }
}
