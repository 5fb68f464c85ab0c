//! Checks of operators over CMPP: what its fields can hold, and keys that mean nothing there.

use super::Findings;
use crate::{BindKind, Operator, Protocol, SendAs};

/// Octets of Source_Addr and Msg_src, Service_Id, Fee_terminal_Id and FeeCode (CMPP §8.4.1.1, §8.4.3.1).
const MAX_SOURCE: usize = 6;
const MAX_SERVICE: usize = 10;
const MAX_NUMBER: usize = 21;
const MAX_FEE: usize = 6;

pub(super) fn check_carrier(base: &str, operator: &Operator, found: &mut Findings) {
    let key = |name: &str| format!("{base}.{name}");
    if operator.protocol == Protocol::Smpp {
        if operator.carrier.is_some() {
            let message = "means nothing for SMPP; add `protocol = \"cmpp\"`, or remove it";
            found.problem(key("carrier"), message);
        }
        return;
    }
    found.check_text(&key("system_id"), &operator.system_id, MAX_SOURCE);
    found.require(
        &key("protocol"),
        !operator.is_local(),
        "is not possible with a program at local.socket",
    );
    if operator.bind != BindKind::Transceiver {
        let message = "has no meaning in CMPP, whose connections carry both directions; remove it";
        found.problem(key("bind"), message);
    }
    if operator.send_as != SendAs::SubmitSm {
        found.problem(key("send_as"), "has no meaning in CMPP; remove it");
    }
    let carrier = operator.carrier();
    let digits = |text: &str| text.bytes().all(|octet| octet.is_ascii_digit());
    let key = |name: &str| format!("{base}.carrier.{name}");
    found.check_text(&key("service_id"), &carrier.service_id, MAX_SERVICE);
    if let Some(source) = &carrier.msg_src {
        found.check_text(&key("msg_src"), source, MAX_SOURCE);
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
    found.require(
        &key("fee_type"),
        carrier.fee_type.len() == 2 && digits(&carrier.fee_type),
        "must be two digits",
    );
    found.require(
        &key("fee_code"),
        (1..=MAX_FEE).contains(&carrier.fee_code.len()) && digits(&carrier.fee_code),
        "must be up to 6 digits",
    );
}
