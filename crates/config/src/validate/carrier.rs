//! Checks of operators over CMPP, SMGP and SGIP: what the fields can hold, and keys that mean nothing there; and of
//! accounts that log in by CMPP.

use secrecy::ExposeSecret as _;

use super::Findings;
use super::listeners::check_tls;
use crate::{
    Account, BindKind, Carrier, CmppVersion, Config, ListenerProtocol, OperatorConfig,
    OperatorProtocol, SendAs,
};

/// Octets of Login Password (SGIP).
const MAX_LOGIN: usize = 16;
/// Octets of Source_Addr in the login (CMPP §8.4.1.1).
const MAX_SOURCE: usize = 6;

/// How long names are in a protocol.
struct NameLimits {
    name: &'static str,
    /// Source_Addr (CMPP §8.4.1.1), ClientID (SMGP).
    client: usize,
    /// Msg_src (CMPP §8.4.3.1), MsgSrc (SMGP).
    source: usize,
}

fn limits(protocol: OperatorProtocol) -> Option<NameLimits> {
    let (name, client, source) = match protocol {
        OperatorProtocol::Smpp => return None,
        OperatorProtocol::Cmpp => ("CMPP", 6, 6),
        OperatorProtocol::Smgp => ("SMGP", 8, 8),
        // Login Name of SGIP; it has no field for the source, so any is refused.
        OperatorProtocol::Sgip => ("SGIP", 16, usize::MAX),
    };
    Some(NameLimits {
        name,
        client,
        source,
    })
}

pub(super) fn check_carrier(base: &str, operator: &OperatorConfig, found: &mut Findings) {
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
    if operator.bind != BindKind::Transceiver && operator.protocol != OperatorProtocol::Smgp {
        let name = limits.name;
        let message = match operator.protocol {
            OperatorProtocol::Sgip => {
                "has no meaning in SGIP, where we only send; remove it".to_owned()
            }
            _ => format!(
                "has no meaning in {name}, whose connections carry both directions; remove it"
            ),
        };
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
        protocol != OperatorProtocol::Cmpp && carrier.version != CmppVersion::V2,
        "version",
    );
    without_use(
        protocol != OperatorProtocol::Smgp && carrier.fixed_fee != "0",
        "fixed_fee",
    );
    if protocol == OperatorProtocol::Sgip {
        without_use(carrier.msg_src.is_some(), "msg_src");
        let password = operator.password.expose_secret().len();
        found.require(
            &format!("{base}.password"),
            password <= MAX_LOGIN,
            "has more than the 16 octets of Login Password",
        );
        return check_sgip(base, &carrier, found);
    }
    for (is_used, key) in [
        (carrier.node.is_some(), "node"),
        (!carrier.corp_id.is_empty(), "corp_id"),
        (carrier.given_value != "0", "given_value"),
        (carrier.agent_flag != 0, "agent_flag"),
        (carrier.mt_flag != 2, "mt_flag"),
        (carrier.gateway_name.is_some(), "gateway_name"),
        (!carrier.gateway_from.is_empty(), "gateway_from"),
    ] {
        without_use(is_used, key);
    }
}

/// What is not about one operator.
pub(super) fn check_listener(config: &Config, found: &mut Findings) {
    check_tls("sgip.", &config.sgip.listener(), found);
    let mut operators = config.operator.iter();
    if config.sgip.listen.is_empty() && operators.any(|one| one.protocol == OperatorProtocol::Sgip)
    {
        let message = "is empty, so that gateways bring reports to other nodes, if any";
        found.warn("sgip.listen", message);
    }
}

/// An account that logs in by CMPP.
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

fn check_sgip(base: &str, carrier: &Carrier, found: &mut Findings) {
    let key = |name: &str| format!("{base}.carrier.{name}");
    found.require(
        &key("node"),
        carrier.node.is_some(),
        "is missing; the gateway's owner assigns it: 3, area code, company",
    );
    found.require(
        &key("fee_payer"),
        carrier.fee_payer != 1,
        "must be 0, 2 or 3 in SGIP",
    );
}

fn check_keys(base: &str, carrier: &Carrier, limits: &NameLimits, found: &mut Findings) {
    let digits = |text: &str| text.bytes().all(|octet| octet.is_ascii_digit());
    let key = |name: &str| format!("{base}.{name}");
    if let Some(source) = &carrier.msg_src {
        found.check_text(&key("msg_src"), source, limits.source);
    }
    found.require(
        &key("fee_number"),
        carrier.fee_payer != 3 || !carrier.fee_number.is_empty(),
        "is missing; it pays with `fee_payer = 3`",
    );
    if let Some(fee_type) = &carrier.fee_type {
        let (is_right, otherwise) = match limits.name {
            "SGIP" => (
                matches!(fee_type.as_str(), "0" | "1" | "2" | "3" | "4"),
                "must be a digit between 0 and 4",
            ),
            _ => (
                fee_type.len() == 2 && digits(fee_type),
                "must be two digits",
            ),
        };
        found.require(&key("fee_type"), is_right, otherwise);
    }
}
