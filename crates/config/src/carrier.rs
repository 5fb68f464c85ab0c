//! `[operator.carrier]` and `[account.carrier]`: what an operator over CMPP, SMGP or SGIP is told with each message that
//! SMPP has no field for, and what of that differs for the messages of an account. `[sgip]`: where gateways connect to us.

use std::net::SocketAddr;
use std::path::PathBuf;

use secrecy::{ExposeSecret as _, SecretString};

use super::listener::ListenerConfig;
use super::peers::{Account, BindKind, OperatorConfig, OperatorProtocol};
use super::section::settings;

// Which operators carry the messages of an account is not known where it is checked: what it says to them is checked by
// what any of their protocols can hold, and a message that its operator's protocol cannot hold is refused when it is sent.

/// Octets of ServiceID, and of the number that pays, in all protocols (CMPP §8.4.3.1).
const MAX_SERVICE: usize = 10;
const MAX_NUMBER: usize = 21;

settings! {
    /// Version of CMPP.
    pub enum CmppVersion {
        /// CMPP 2.0.
        V2 = "2.0",
        /// CMPP 3.0: longer numbers, results of four octets.
        V3 = "3.0",
    }

    /// `[operator.carrier]`: fields of CMPP, SMGP or SGIP that SMPP does not have.
    pub struct Carrier {
        /// Version of CMPP.
        version: CmppVersion = CmppVersion::V2,
        /// Service_Id, ServiceID or ServiceType: service that the gateway bills.
        @text(MAX_SERVICE) service_id: String = String::new(),
        /// Msg_src or MsgSrc: source of the messages, at most 6 octets in CMPP and 8 in SMGP; without it, the system_id in CMPP, nothing in SMGP.
        msg_src: Option<String> = None,
        /// Fee_UserType, ChargeUserType or ChargeNumber: 0 the recipient pays, 1 the sender (not in SGIP), 2 the service provider, 3 `fee_number`.
        @between(0, 3) fee_payer: u8 = 2,
        /// Fee_terminal_Id, ChargeTermID or ChargeNumber, with `fee_payer = 3`.
        @text(MAX_NUMBER) fee_number: String = String::new(),
        /// FeeType: in CMPP 01 free, 02 per message, 03 monthly; in SMGP 00 free, 01 per message, 02 monthly; in SGIP 0 channel only, 1 free, 2 per message, 3 monthly, 4 collected by the service provider. Without it, free.
        fee_type: Option<String> = None,
        /// FeeCode or FeeValue: the fee in fen.
        @digits(6) fee_code: String = "0".to_owned(),
        /// FixedFee of SMGP: monthly fee in fen.
        @digits(6) fixed_fee: String = "0".to_owned(),
        /// Most requests under way on a connection; without it, 32 in SGIP (up to 100 recipients each), twice `window` in CMPP and SMGP.
        @at_least(1) requests: Option<u32> = None,
        /// SGIP: our node number, 3AAAAQQQQQ of area code and company.
        node: Option<u32> = None,
        /// CorpId of SGIP: the company.
        @text(5) corp_id: String = String::new(),
        /// GivenValue of SGIP: gift to the recipient in fen.
        @digits(6) given_value: String = "0".to_owned(),
        /// AgentFlag of SGIP: 0 the fee is due, 1 collected.
        @must(|flag| *flag <= 1, "must be 0 or 1")
        agent_flag: u8 = 0,
        /// MorelatetoMTFlag of SGIP: 0 first answer to a handset's message, 1 later answer, 2 not an answer, 3 of the system.
        @between(0, 3) mt_flag: u8 = 2,
        /// SGIP: login of the gateway at `sgip.listen`; without it, the system_id. The password is the operator's.
        @text(16) gateway_name: Option<String> = None,
        /// SGIP: addresses and networks of the gateway; any if empty.
        @network gateway_from: Vec<String> = Vec::new(),
        /// Send UCS-2 texts as GBK (Msg_Fmt 15) where possible.
        gbk: bool = false,
    }

    /// `[sgip]`: listener for gateways of operators with `protocol = "sgip"`, which bring reports and messages of handsets.
    pub struct SgipConfig {
        /// Addresses, by convention with port 8801; none if empty. Any listening node takes reports.
        listen: Vec<SocketAddr> = Vec::new(),
        /// Most connections; each address may use half of what the others leave.
        @at_least(1) max_connections: u32 = 128,
        /// PEM file of the certificate chain; it requires TLS. Reloaded when it changes; connections stay.
        tls_cert: Option<PathBuf> = None,
        /// PEM file of the certificate's key.
        tls_key: Option<PathBuf> = None,
        /// PEM file of CAs; it requires client certificates. Reloaded when it changes.
        tls_client_ca: Option<PathBuf> = None,
        /// PEM file of revocation lists, one per CA that signs client certificates. Reloaded when it changes; expired lists stay in use.
        tls_client_crl: Option<PathBuf> = None,
    }

    /// `[account.carrier]`: fields of carriers' protocols for messages of this account, overriding `[operator.carrier]`.
    pub struct AccountCarrier {
        /// Service_Id, ServiceID or ServiceType: service that the gateway bills.
        @text(MAX_SERVICE) service_id: Option<String> = None,
        /// Msg_src or MsgSrc: source of the messages, at most 6 octets in CMPP.
        @text(8) msg_src: Option<String> = None,
        /// Fee_UserType: 0 the recipient pays, 1 the sender, 2 the service provider, 3 `fee_number`.
        @between(0, 3) fee_payer: Option<u8> = None,
        /// Fee_terminal_Id, with `fee_payer = 3`.
        @text(MAX_NUMBER) fee_number: Option<String> = None,
        /// FeeType, as the operator's protocol writes it.
        @digits(2) fee_type: Option<String> = None,
        /// FeeCode or FeeValue: the fee in fen.
        @digits(6) fee_code: Option<String> = None,
    }
}

// === impl SgipConfig ===

impl SgipConfig {
    /// What a connection of a gateway passes before SGIP begins, as at any listener.
    pub fn listener(&self) -> ListenerConfig {
        ListenerConfig {
            listen: self.listen.clone(),
            name: Some("sgip".to_owned()),
            tls_cert: self.tls_cert.clone(),
            tls_key: self.tls_key.clone(),
            tls_client_ca: self.tls_client_ca.clone(),
            tls_client_crl: self.tls_client_crl.clone(),
            ..ListenerConfig::default()
        }
    }
}

// === impl AccountCarrier ===

impl AccountCarrier {
    /// What an operator is told with a message of this account.
    pub fn over(&self, operator: &Carrier) -> Carrier {
        let text = |own: &Option<String>, other: &String| own.clone().unwrap_or(other.clone());
        Carrier {
            service_id: text(&self.service_id, &operator.service_id),
            msg_src: self.msg_src.clone().or_else(|| operator.msg_src.clone()),
            fee_payer: self.fee_payer.unwrap_or(operator.fee_payer),
            fee_number: text(&self.fee_number, &operator.fee_number),
            fee_type: self.fee_type.clone().or_else(|| operator.fee_type.clone()),
            fee_code: text(&self.fee_code, &operator.fee_code),
            ..operator.clone()
        }
    }
}

// === impl OperatorConfig ===

impl OperatorConfig {
    /// What an operator over a protocol of Chinese carriers is told with each message, or the defaults of that.
    pub fn carrier(&self) -> Carrier {
        self.carrier.clone().unwrap_or_default()
    }

    /// How we bind to it: in SGIP, our connections only send.
    pub fn bind_kind(&self) -> BindKind {
        match self.protocol {
            OperatorProtocol::Sgip => BindKind::Transmitter,
            _ => self.bind,
        }
    }
}

/// Those that are not empty.
fn given(secrets: [&SecretString; 2]) -> impl Iterator<Item = &SecretString> {
    let secrets = secrets.into_iter();
    secrets.filter(|secret| !secret.expose_secret().is_empty())
}

// === impl Account ===

impl Account {
    /// Whether it may log in at a listener for CMPP.
    pub fn has_carrier_secret(&self) -> bool {
        self.carrier_secrets().next().is_some()
    }

    /// The shared secrets it may log in with there.
    pub fn carrier_secrets(&self) -> impl Iterator<Item = &SecretString> {
        given([&self.carrier_secret, &self.carrier_secret_next])
    }

    /// The passwords, or hashes of them, it may bind with.
    pub fn passwords(&self) -> impl Iterator<Item = &SecretString> {
        given([&self.password, &self.password_next])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_changes_what_it_says_and_nothing_else() {
        let operator = Carrier {
            service_id: "SVC".to_owned(),
            fee_code: "10".to_owned(),
            gbk: true,
            ..Carrier::default()
        };
        let own = AccountCarrier {
            fee_code: Some("25".to_owned()),
            msg_src: Some("900002".to_owned()),
            ..AccountCarrier::default()
        };
        let expected = Carrier {
            fee_code: "25".to_owned(),
            msg_src: Some("900002".to_owned()),
            ..operator.clone()
        };
        assert_eq!(own.over(&operator), expected);
        assert_eq!(AccountCarrier::default().over(&operator), operator);
    }
}
