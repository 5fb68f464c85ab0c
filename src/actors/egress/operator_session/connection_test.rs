//! Tries the connection to an operator: dials and binds as its sessions do, unbinds, and says in words what is wrong.
//!
//! Called by the Admin actor. It sends no message, and the binds that are there stay. What it says holds no password.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use secrecy::ExposeSecret as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpStream, lookup_host};
use tokio::time::{Instant, timeout, timeout_at};

use super::dial;
use crate::actors::context::NodeContext;
use crate::actors::runtime::link::{Wire, tune};
use crate::api::{ErrorInWords, OperatorTest};
use crate::config::{BindKind, OperatorConfig};
use crate::domain::error_meaning;
use crate::smpp::session::BindType;
use crate::smpp::{
    BindRequest, Body, CommandId, CommandStatus, DEFAULT_MAX_PDU, Decoded, Header, Leniency, Pdu,
    decode, encode_empty_resp, encode_error_resp, next_frame,
};

/// All steps together take no longer.
const WITHIN: Duration = Duration::from_secs(10);
/// How long the answer to unbind is waited for.
const FAREWELL: Duration = Duration::from_secs(1);
/// sequence_number of the bind, and of the unbind after it.
const BIND: u32 = 1;
const UNBIND: u32 = 2;
/// How an alert of TLS begins (RFC 8446 §5.1): what a port of TLS answers to a bind.
const TLS_ALERT: &[u8] = &[0x15, 0x03];

const NO_NAME: &str = "Check the name for a mistake, and that the DNS of this machine knows it.";
const NO_LISTENER: &str =
    "Check host and port, and that the operator has opened them for the address of this machine.";
const NO_PACKET: &str = "Ask the operator which of our addresses it lets in; a firewall or a missing VPN drops packets without an answer.";
const NO_TLS: &str = "Check the port: operators often have one for TLS and another one without. A private authority is named by `tls_ca_file`, another name of the certificate by `tls_name`.";
const NO_SMPP: &str = "Check the port, and whether the operator speaks SMPP there.";
const NO_ANSWER: &str = "Check the port, and whether it is one for TLS; else ask the operator what its log says of our bind.";
const OWN_STATUS: &str = "Ask the operator what this status means: it is not of the standard.";
const HANGS_UP: &str = "Ask the operator which of our addresses and which system_id it lets in, and whether the port is one for TLS.";

/// Why a step failed.
struct FailedStep {
    step: &'static str,
    detail: String,
    cure: Option<&'static str>,
    /// The status with which the bind was refused.
    status: Option<CommandStatus>,
}

/// An answer to the bind.
struct BindAnswer {
    status: CommandStatus,
    system_id: String,
}

/// Connects, binds and unbinds, within ten seconds.
pub async fn try_connection(node: &NodeContext, operator: &OperatorConfig) -> OperatorTest {
    let began = Instant::now();
    let until = began + WITHIN;
    let mut found = OperatorTest::default();
    let mut kind = match operator.bind_kind() {
        BindKind::Transceiver => BindType::Transceiver,
        BindKind::Transmitter | BindKind::TransmitterReceiver => BindType::Transmitter,
        BindKind::Receiver => BindType::Receiver,
    };
    let mut outcome = attempt(node, operator, kind, until, &mut found).await;
    let knows_no_transceiver = matches!(&outcome, Err(failed)
        if kind == BindType::Transceiver && failed.status == Some(CommandStatus::ESME_RINVCMDID));
    if knows_no_transceiver {
        // Sessions use a pair then.
        kind = BindType::Transmitter;
        outcome = attempt(node, operator, kind, until, &mut found).await;
    }
    kind.name().clone_into(&mut found.bind);
    match outcome {
        Ok(theirs) => {
            found.ok = true;
            found.detail = format!("the operator has taken a bind as {}", kind.name());
            found.system_id = Some(theirs);
        }
        Err(failed) => {
            found.failed = Some(failed.step.to_owned());
            found.detail = failed.detail;
            let status = failed.status;
            let meaning = status.and_then(|status| error_meaning::of_status(status.0));
            found.error = meaning.map(ErrorInWords::from);
            let cure = failed.cure.or(meaning.map(|words| words.cure));
            found.cure = Some(cure.unwrap_or(OWN_STATUS).to_owned());
        }
    }
    found.took_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    found
}

/// One bind; gives what the operator calls itself.
async fn attempt(
    node: &NodeContext,
    operator: &OperatorConfig,
    kind: BindType,
    until: Instant,
    found: &mut OperatorTest,
) -> Result<String, FailedStep> {
    let addresses = resolved(operator, until).await?;
    let socket = connected(operator, &addresses, until).await?;
    tune(&socket, &node.config().smpp);
    found.peer = socket.peer_addr().ok().map(|peer| peer.to_string());
    let mut wire = secured(operator, socket, until).await?;
    let mut octets = BytesMut::new();
    let answer = timeout_at(until, bound(&mut wire, operator, kind, &mut octets)).await;
    let answer = answer.unwrap_or_else(|_| {
        let detail = "it is connected, and the operator does not answer the bind in time";
        Err(FailedStep::new("bind", detail, NO_ANSWER))
    })?;
    if !answer.status.is_ok() {
        return Err(FailedStep {
            step: "bind",
            detail: format!("the operator refuses the bind with {}", answer.status),
            cure: None,
            status: Some(answer.status),
        });
    }
    // Whether the operator says good-bye does not matter.
    let _ = timeout(FAREWELL, unbound(&mut wire, &mut octets)).await;
    Ok(answer.system_id)
}

async fn resolved(
    operator: &OperatorConfig,
    until: Instant,
) -> Result<Vec<SocketAddr>, FailedStep> {
    let address = &operator.address;
    let fail = |why: &str| {
        let detail = format!("{address} is not resolved: {why}");
        FailedStep::new("resolve", detail, NO_NAME)
    };
    let found = timeout_at(until, lookup_host(address.as_str())).await;
    let found = found.map_err(|_| fail("the DNS does not answer in time"))?;
    let addresses: Vec<SocketAddr> = found.map_err(|error| fail(&error.to_string()))?.collect();
    if addresses.is_empty() {
        return Err(fail("the name has no address"));
    }
    Ok(addresses)
}

async fn connected(
    operator: &OperatorConfig,
    addresses: &[SocketAddr],
    until: Instant,
) -> Result<TcpStream, FailedStep> {
    let address = &operator.address;
    let result = timeout_at(until, TcpStream::connect(addresses)).await;
    let fail = |detail: String, cure| Err(FailedStep::new("connect", detail, cure));
    match result {
        Ok(Ok(socket)) => Ok(socket),
        Ok(Err(error)) if error.kind() == io::ErrorKind::ConnectionRefused => fail(
            format!("{address} refuses the connection: nothing listens there for us"),
            NO_LISTENER,
        ),
        Ok(Err(error)) => fail(
            format!("{address} cannot be connected to: {error}"),
            NO_PACKET,
        ),
        Err(_) => fail(
            format!("{address} does not answer: no connection in time"),
            NO_PACKET,
        ),
    }
}

async fn secured(
    operator: &OperatorConfig,
    socket: TcpStream,
    until: Instant,
) -> Result<Wire, FailedStep> {
    if !operator.tls {
        return Ok(Wire::Plain(socket));
    }
    let secure = async {
        let (config, _) = dial::client_config(operator).await?;
        dial::handshake(operator, config, socket).await
    };
    let secured = timeout_at(until, secure).await.unwrap_or_else(|_| {
        Err("TLS: the operator does not answer the handshake in time".to_owned())
    });
    secured.map_err(|why| FailedStep::new("tls", why, NO_TLS))
}

/// Sends the bind and reads its answer; `octets` keeps what comes after it.
async fn bound(
    wire: &mut Wire,
    operator: &OperatorConfig,
    kind: BindType,
    octets: &mut BytesMut,
) -> Result<BindAnswer, FailedStep> {
    let text = |text: &str| Bytes::copy_from_slice(text.as_bytes());
    let bind = BindRequest {
        system_id: text(&operator.system_id),
        password: text(operator.password.expose_secret()),
        system_type: text(&operator.system_type),
        interface_version: operator.interface_version,
        addr_ton: 0,
        addr_npi: 0,
        address_range: text(&operator.address_range),
    };
    let mut out = BytesMut::new();
    Pdu::request(BIND, kind.request(bind)).encode(&mut out);
    send(wire, &out).await.map_err(|error| hung_up(&error))?;
    loop {
        while let Some(frame) = next_frame(octets, DEFAULT_MAX_PDU).map_err(|_| no_smpp(octets))? {
            let Some(header) = Header::parse(&frame) else {
                continue;
            };
            let is_nack = header.command_id == CommandId::GENERIC_NACK;
            let is_answer = header.command_id.is_response() && header.sequence == BIND;
            if is_nack && header.status.is_ok() {
                let detail = "the operator answers the bind with a generic_nack without a status";
                return Err(FailedStep::new("bind", detail, NO_SMPP));
            }
            if is_nack || is_answer {
                return Ok(BindAnswer {
                    status: header.status,
                    system_id: name_in(&frame),
                });
            }
        }
        match wire.read_buf(octets).await {
            Ok(0) => {
                let detail = "the operator closes the connection without an answer to the bind";
                return Err(FailedStep::new("bind", detail, HANGS_UP));
            }
            Ok(_) => {}
            Err(error) => return Err(hung_up(&error)),
        }
    }
}

/// Unbinds. What the operator sends before its answer is refused for now: it sends that again to a bind that stays.
async fn unbound(wire: &mut Wire, octets: &mut BytesMut) -> io::Result<()> {
    let mut out = BytesMut::new();
    encode_empty_resp(&mut out, CommandId::UNBIND, UNBIND, CommandStatus::ESME_ROK);
    send(wire, &out).await?;
    loop {
        while let Ok(Some(frame)) = next_frame(octets, DEFAULT_MAX_PDU) {
            let Some(header) = Header::parse(&frame) else {
                continue;
            };
            if header.command_id.is_response() && header.sequence == UNBIND {
                return wire.shutdown().await;
            }
            if header.command_id.has_response() {
                out.clear();
                let busy = CommandStatus::ESME_RX_T_APPN;
                encode_error_resp(&mut out, header.command_id, header.sequence, busy);
                send(wire, &out).await?;
            }
        }
        if wire.read_buf(octets).await? == 0 {
            return Ok(());
        }
    }
}

async fn send(wire: &mut Wire, octets: &[u8]) -> io::Result<()> {
    wire.write_all(octets).await?;
    wire.flush().await
}

/// What the operator calls itself in its answer to a bind; empty without one.
fn name_in(frame: &Bytes) -> String {
    let Decoded::Pdu(pdu) = decode(frame, &Leniency::default()) else {
        return String::new();
    };
    match pdu.body {
        Body::BindTransceiverResp(resp)
        | Body::BindTransmitterResp(resp)
        | Body::BindReceiverResp(resp) => String::from_utf8_lossy(&resp.system_id).into_owned(),
        _ => String::new(),
    }
}

fn hung_up(error: &io::Error) -> FailedStep {
    let detail = format!("the connection ends before the bind is answered: {error}");
    FailedStep::new("bind", detail, HANGS_UP)
}

fn no_smpp(octets: &[u8]) -> FailedStep {
    if octets.starts_with(TLS_ALERT) {
        let detail = "the operator answers the bind with an alert of TLS";
        return FailedStep::new("bind", detail, "Switch `tls` on: the port is one for TLS.");
    }
    let detail = "the operator answers the bind with something else than SMPP";
    FailedStep::new("bind", detail, NO_SMPP)
}

// === impl FailedStep ===

impl FailedStep {
    fn new(step: &'static str, detail: impl Into<String>, cure: &'static str) -> Self {
        Self {
            step,
            detail: detail.into(),
            cure: Some(cure),
            status: None,
        }
    }
}
