//! Sessions with operators, ESMEs and local programs, as JSON.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::copies::copies;
use super::{CallbackAttempt, time};
use smsc_proto as pb;

/// `GET /v1/binds`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Binds {
    pub binds: Vec<Bind>,
}

copies! {
    /// One SMPP session, to an operator or from an ESME.
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
    pub struct Bind from pb::BindSnapshot as bind {
        /// The node that has it; with `session` the number of the bind, as attempts and the log write it: `node/session`.
        #[serde(default)]
        pub node: u32,
        pub session: u64,
        /// The account or operator; empty before an ESME has bound.
        pub name: String,
        /// `in` from an ESME, `out` to an operator, `gsm` to a GSM network, `callback` for the callbacks of an account, `gateway` from the gateway of an operator over SGIP, `local` from a program on the same machine.
        pub direction: String = bind.direction().word().to_owned(),
        /// `transmitter`, `receiver`, `transceiver`, `gsup`, `map` or `callback`; `client` or `handler` for a program on the same machine.
        pub bind_type: String,
        /// `connecting`, `binding`, `bound`, `waiting`, `standby`, `paused` or `closed`.
        pub state: String = bind_state(bind.state()).to_owned(),
        /// Address and port of the other side; user and process of a program on the same machine.
        pub peer: String,
        /// Since when it is bound.
        #[schema(format = DateTime)]
        pub since: Option<String> = time(bind.since),
        pub window: u32,
        pub in_flight: u32,
        pub received_total: u64,
        pub sent_total: u64,
        pub errors_total: u64,
        /// Restarts after an internal failure, not after lost binds.
        pub restarts: u64,
        /// Failed connections since the last successful bind.
        pub reconnect_attempts: u32,
        #[schema(format = DateTime)]
        pub next_reconnect_at: Option<String> = time(bind.next_reconnect_at),
        pub last_error: String,
        /// As `3.4`; empty when the peer has sent none.
        pub interface_version: String = version(bind.interface_version),
        /// Moving mean of how long the other side takes to answer; null before its first answer.
        #[serde(default)]
        pub answer_ms: Option<f64> = (bind.answer_us > 0).then(|| bind.answer_us as f64 / 1000.0),
        /// Of callbacks: the last ten attempts, newest first. Otherwise absent.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub attempts: Vec<CallbackAttempt> = bind.attempts.into_iter().map(Into::into).collect(),
        /// Of callbacks: the queue that they come from. Otherwise absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub queue: Option<String> = (!bind.queue.is_empty()).then_some(bind.queue),
        /// Of callbacks: how many URLs there are, and how they are doing. Otherwise absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub urls: Option<CallbackUrls> = bind.urls.map(Into::into),
        /// To a GSM network over MAP: its signalling gateways. Otherwise absent.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub gateways: Vec<SignallingGateway> = bind.gateways.into_iter().map(Into::into).collect(),
    }

    /// The connection to a signalling gateway.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
    pub struct SignallingGateway from pb::GatewaySnapshot as gateway {
        /// Host and port.
        pub address: String,
        /// `connecting`, `waiting` for the next attempt, `down` and `inactive` while the gateway does not take us or our traffic, `standby` while another one carries it, or `active`.
        pub state: String = gateway_state(gateway.state()).to_owned(),
        /// Since when.
        #[schema(format = DateTime)]
        pub since: Option<String> = time(gateway.since),
        /// Failed connections since the last one that has lasted.
        pub attempts: u32,
        #[schema(format = DateTime)]
        pub next_at: Option<String> = time(gateway.next_at),
        /// Why the last connection ended, or was not made; empty once it is active.
        pub last_error: String,
        /// Messages of M3UA.
        pub received_total: u64,
        pub sent_total: u64,
    }

    /// The URLs that the callbacks of a queue go to.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
    pub struct CallbackUrls from pb::CallbackUrls as urls {
        /// That something was sent to, or waits for.
        pub known: u32,
        /// Of these: left alone for a while, because they or their host have failed.
        pub at_rest: u32,
        /// That have answered 410, and get nothing more until the queue is resumed.
        pub gone: u32,
    }
}

/// `GET /v1/accounts/{name}/last-login`: the last bind of an account; null before the first one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LastLogin {
    /// The system_id.
    pub account: String,
    #[schema(format = DateTime)]
    pub at: Option<String>,
    /// The IP address that it came from.
    pub address: Option<String>,
    /// `transmitter`, `receiver` or `transceiver`.
    pub bind_type: Option<String>,
    /// The node that it has bound to.
    pub node: Option<u32>,
}

/// The name of a signalling gateway's state in the API.
pub fn gateway_state(state: pb::GatewayState) -> &'static str {
    match state {
        pb::GatewayState::Unspecified | pb::GatewayState::Connecting => "connecting",
        pb::GatewayState::Waiting => "waiting",
        pb::GatewayState::Down => "down",
        pb::GatewayState::Inactive => "inactive",
        pb::GatewayState::Active => "active",
        pb::GatewayState::Standby => "standby",
    }
}

/// The name of a bind's state in the API and in metrics.
pub fn bind_state(state: pb::BindState) -> &'static str {
    match state {
        pb::BindState::Unspecified | pb::BindState::Connecting => "connecting",
        pb::BindState::Binding => "binding",
        pb::BindState::Bound => "bound",
        pb::BindState::Waiting => "waiting",
        pb::BindState::Paused => "paused",
        pb::BindState::Closed => "closed",
        pb::BindState::Standby => "standby",
    }
}

/// interface_version 0x34 is written 3.4 (SMPP 3.4 §5.2.4).
fn version(octet: u32) -> String {
    match octet {
        0 => String::new(),
        _ => format!("{}.{}", octet >> 4, octet & 15),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_written_as_people_do() {
        assert_eq!(version(0x34), "3.4");
        assert_eq!(version(0x50), "5.0");
        assert_eq!(version(0), "");
    }
}
