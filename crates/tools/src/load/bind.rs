//! Connecting and binding as an ESME, with errors that say what to do, and unbinding.
//!
//! Used by every bind of a load run and by `smsc send`. What the SMSC sends right behind its bind
//! answer stays in the [`SimulatorWire`] for the caller.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::simulator::wire::SimulatorWire;
use smsc_smpp::codec::{Decoded, decode};
use smsc_smpp::{BindRequest, Body, CommandStatus, Leniency, Pdu};

/// How long connecting and binding may take, each.
const PATIENCE: Duration = Duration::from_secs(10);
/// SMPP 3.4.
const INTERFACE_VERSION: u8 = 0x34;
/// sequence_number of the bind; those of later requests may repeat it, it is answered by then.
const BIND_SEQUENCE: u32 = 1;

/// What a bind is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadBindRole {
    /// Submits and receives.
    Transceiver,
    /// Only submits.
    Transmitter,
    /// Only receives.
    Receiver,
}

/// Who binds where.
#[derive(Debug, Clone)]
pub struct BindTarget {
    /// Address and port of the SMSC.
    pub to: String,
    /// The account.
    pub system_id: String,
    /// Its password.
    pub password: String,
}

/// Why there is no bind.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// No server listens there.
    #[error("nobody listens on {to}: is the SMSC running? start it with `smsc serve`")]
    NotRunning {
        /// Where we wanted to connect.
        to: String,
    },
    /// Another error of the network.
    #[error("cannot connect to {to}: {source}; check the address")]
    Connect {
        /// Where we wanted to connect.
        to: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// Connected, but no answer to the bind in time.
    #[error("{to} accepts connections but does not answer a bind: is it an SMPP port?")]
    Silent {
        /// Where we wanted to bind.
        to: String,
    },
    /// The connection ended before the answer, or what came is not SMPP.
    #[error(
        "{to} closed the connection before the bind: is it an SMPP port, and is our address allowed?"
    )]
    Closed {
        /// Where we wanted to bind.
        to: String,
    },
    /// The SMSC refused the bind.
    #[error("the SMSC refuses the bind of `{system_id}`: {}", explain(*.status))]
    Refused {
        /// The account.
        system_id: String,
        /// Its answer.
        status: CommandStatus,
    },
}

fn explain(status: CommandStatus) -> String {
    let cure = match status {
        CommandStatus::ESME_RINVPASWD => {
            "wrong password, or no such account; check --password and --system-id"
        }
        CommandStatus::ESME_RINVSYSID => "no such account; check --system-id",
        CommandStatus::ESME_RALYBND => "too many binds of this account; close others or use fewer",
        CommandStatus::ESME_RBINDFAIL => {
            "check --system-id and --password, how many binds the account may have, and from where"
        }
        _ => "see its log for the reason",
    };
    format!("{status}, {cure}")
}

/// Connects and binds.
///
/// # Errors
/// [`BindError`], with what to do about it.
pub async fn connect(target: &BindTarget, role: LoadBindRole) -> Result<SimulatorWire, BindError> {
    let to = || target.to.clone();
    let connected = timeout(PATIENCE, TcpStream::connect(&target.to)).await;
    let stream = connected
        .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
        .and_then(SimulatorWire::new);
    let mut wire = match stream {
        Ok(wire) => wire,
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            return Err(BindError::NotRunning { to: to() });
        }
        Err(source) => return Err(BindError::Connect { to: to(), source }),
    };
    let bind = BindRequest {
        system_id: Bytes::copy_from_slice(target.system_id.as_bytes()),
        password: Bytes::copy_from_slice(target.password.as_bytes()),
        interface_version: INTERFACE_VERSION,
        ..BindRequest::default()
    };
    let body = match role {
        LoadBindRole::Transceiver => Body::BindTransceiver(bind),
        LoadBindRole::Transmitter => Body::BindTransmitter(bind),
        LoadBindRole::Receiver => Body::BindReceiver(bind),
    };
    Pdu::request(BIND_SEQUENCE, body).encode(&mut wire.output);
    match timeout(PATIENCE, answer(&mut wire)).await {
        Err(_) => Err(BindError::Silent { to: to() }),
        Ok(None) => Err(BindError::Closed { to: to() }),
        Ok(Some(status)) if !status.is_ok() => Err(BindError::Refused {
            system_id: target.system_id.clone(),
            status,
        }),
        Ok(Some(_)) => Ok(wire),
    }
}

/// The status of the bind's answer; `None` when the connection ends first.
async fn answer(wire: &mut SimulatorWire) -> Option<CommandStatus> {
    loop {
        while let Some(frame) = wire.next_frame().ok()? {
            let Decoded::Pdu(pdu) = decode(&frame, &Leniency::default()) else {
                return None;
            };
            if pdu.command_id().is_response() && pdu.sequence == BIND_SEQUENCE {
                return Some(pdu.status);
            }
        }
        if !wire.receive().await.ok()? {
            return None;
        }
    }
}

/// Unbinds and reads until the SMSC agrees; `None` when the connection ends first.
pub async fn farewell(wire: &mut SimulatorWire, sequence: u32) -> Option<()> {
    Pdu::request(sequence, Body::Unbind).encode(&mut wire.output);
    loop {
        while let Some(frame) = wire.next_frame().ok()? {
            if let Decoded::Pdu(pdu) = decode(&frame, &Leniency::default())
                && pdu.body == Body::UnbindResp
            {
                return Some(());
            }
        }
        if !wire.receive().await.ok()? {
            return None;
        }
    }
}
