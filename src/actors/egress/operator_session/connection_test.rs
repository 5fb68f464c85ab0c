//! Tries the connection to an operator: dials and binds as its sessions do, unbinds, and says in words what is wrong.
//!
//! Called by the Admin actor. It sends no message, and the binds that are there stay. What it says holds no password, and of
//! what a stranger at the address has sent only the system_id of who takes the bind and the names of its certificate.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpStream, lookup_host};
use tokio::time::{Instant, timeout_at};

use super::binding::bind_request;
use super::dial;
use crate::actors::context::NodeContext;
use crate::actors::runtime::link::{Wire, tune};
use crate::api::{ErrorInWords, OperatorTest, OperatorTestStep};
use crate::config::{BindKind, OperatorConfig, show_duration};
use crate::domain::error_meaning;
use crate::smpp::session::BindType;
use crate::smpp::{
    Body, CommandId, CommandStatus, DEFAULT_MAX_PDU, Decoded, Header, Leniency, Pdu, decode,
    encode_error_resp, next_frame,
};

/// All steps together take no longer, and no longer than `bind_timeout` of the operator.
const WITHIN: Duration = Duration::from_secs(10);
/// How long the answer to unbind is waited for at most.
const FAREWELL: Duration = Duration::from_secs(1);
/// sequence_number of the bind, and of the unbind after it.
const BIND: u32 = 1;
const UNBIND: u32 = 2;
/// The answers that can take a bind.
const BIND_RESPS: [CommandId; 3] = [
    CommandId::BIND_TRANSCEIVER_RESP,
    CommandId::BIND_TRANSMITTER_RESP,
    CommandId::BIND_RECEIVER_RESP,
];
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

// With TLS 1.3 who dials hears only after the handshake that its certificate is missing or refused.
const HANGS_UP_TLS: &str = "Ask the operator which of our addresses and which system_id it lets in, and whether it wants a certificate of ours (`tls_cert` and `tls_key`).";

/// Why a step failed.
struct FailedStep {
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

/// A test while it goes on.
struct ConnectionTrial<'a> {
    operator: &'a OperatorConfig,
    deadline: Deadline,
    found: OperatorTest,
}

/// Until when all steps must be done.
#[derive(Clone, Copy)]
struct Deadline {
    at: Instant,
    within: Duration,
}

/// What a step gives, and what it has found, in words.
type StepResult<T> = Result<(T, String), FailedStep>;

/// Connects, binds and unbinds, within ten seconds and the `bind_timeout` of the operator.
pub async fn try_connection(node: &NodeContext, operator: &OperatorConfig) -> OperatorTest {
    let began = Instant::now();
    let within = WITHIN.min(operator.bind_timeout);
    let mut trial = ConnectionTrial {
        operator,
        deadline: Deadline {
            at: began + within,
            within,
        },
        found: OperatorTest {
            node: node.ids.node().into(),
            ..OperatorTest::default()
        },
    };
    let mut kind = match operator.bind_kind() {
        BindKind::Transceiver => BindType::Transceiver,
        BindKind::Transmitter | BindKind::TransmitterReceiver => BindType::Transmitter,
        BindKind::Receiver => BindType::Receiver,
    };
    let mut outcome = trial.attempt(node, kind).await;
    let knows_no_transceiver = matches!(&outcome, Err(failed)
        if kind == BindType::Transceiver && failed.status == Some(CommandStatus::ESME_RINVCMDID));
    if knows_no_transceiver {
        // Sessions use a pair then.
        kind = BindType::Transmitter;
        outcome = trial.attempt(node, kind).await;
    }
    let mut found = trial.found;
    match outcome {
        Ok(theirs) => {
            found.ok = true;
            found.detail = format!("the operator has taken a bind as {}", kind.name());
            found.system_id = Some(theirs);
        }
        Err(failed) => {
            found.failed = found.steps.last().map(|step| step.step.clone());
            found.detail = failed.detail;
            let status = failed.status;
            let meaning = status.and_then(|status| error_meaning::of_status(status.0));
            found.error = meaning.map(ErrorInWords::from);
            let of_status = status.and_then(cure_of).or(meaning.map(|words| words.cure));
            let cure = failed.cure.or(of_status).unwrap_or(OWN_STATUS);
            found.cure = Some(cure.to_owned());
        }
    }
    found.took_ms = millis_since(began);
    found
}

// === impl ConnectionTrial ===

impl ConnectionTrial<'_> {
    /// One bind; gives what the operator calls itself.
    async fn attempt(&mut self, node: &NodeContext, kind: BindType) -> Result<String, FailedStep> {
        let (operator, deadline) = (self.operator, self.deadline);
        let addresses = self.step("resolve", resolved(operator, deadline)).await?;
        let connecting = connected(operator, &addresses, deadline);
        let socket = self.step("connect", connecting).await?;
        tune(&socket, &node.config().smpp);
        self.found.peer = socket.peer_addr().ok().map(|peer| peer.to_string());
        let mut wire = if operator.tls {
            self.step("tls", secured(operator, socket, deadline))
                .await?
        } else {
            Wire::Plain(socket)
        };
        self.found.bind = Some(kind.name().to_owned());
        let mut octets = BytesMut::new();
        let binding = accepted(&mut wire, operator, kind, &mut octets, deadline);
        let theirs = self.step("bind", binding).await?;
        let leaving = left(&mut wire, &mut octets, deadline);
        self.step("unbind", leaving).await?;
        Ok(theirs)
    }

    /// Does a step, and notes what came of it and how long it took.
    async fn step<T>(
        &mut self,
        step: &str,
        work: impl Future<Output = StepResult<T>>,
    ) -> Result<T, FailedStep> {
        let began = Instant::now();
        let outcome = work.await;
        let (ok, detail) = match &outcome {
            Ok((_, detail)) => (true, detail.clone()),
            Err(failed) => (false, failed.detail.clone()),
        };
        self.found.steps.push(OperatorTestStep {
            step: step.to_owned(),
            ok,
            detail,
            took_ms: millis_since(began),
        });
        outcome.map(|(found, _)| found)
    }
}

async fn resolved(operator: &OperatorConfig, deadline: Deadline) -> StepResult<Vec<SocketAddr>> {
    let address = &operator.address;
    let fail = |why: &str| FailedStep::new(format!("{address} is not resolved: {why}"), NO_NAME);
    let found = timeout_at(deadline.at, lookup_host(address.as_str())).await;
    let late = |_| fail(&format!("the DNS does not answer {}", deadline.in_words()));
    let found = found.map_err(late)?;
    let addresses: Vec<SocketAddr> = found.map_err(|error| fail(&error.to_string()))?.collect();
    if addresses.is_empty() {
        return Err(fail("the name has no address"));
    }
    let said: Vec<String> = addresses.iter().map(ToString::to_string).collect();
    Ok((addresses, said.join(", ")))
}

async fn connected(
    operator: &OperatorConfig,
    addresses: &[SocketAddr],
    deadline: Deadline,
) -> StepResult<TcpStream> {
    let address = &operator.address;
    let result = timeout_at(deadline.at, TcpStream::connect(addresses)).await;
    let (detail, cure) = match result {
        Ok(Ok(socket)) => return Ok((socket, format!("{address} takes the connection"))),
        Ok(Err(error)) if error.kind() == io::ErrorKind::ConnectionRefused => (
            format!("{address} refuses the connection: nothing listens there for us"),
            NO_LISTENER,
        ),
        Ok(Err(error)) => (
            format!("{address} cannot be connected to: {error}"),
            NO_PACKET,
        ),
        Err(_) => (
            format!("{address} does not answer {}", deadline.in_words()),
            NO_PACKET,
        ),
    };
    Err(FailedStep::new(detail, cure))
}

async fn secured(
    operator: &OperatorConfig,
    socket: TcpStream,
    deadline: Deadline,
) -> StepResult<Wire> {
    let secure = async {
        let (config, _) = dial::client_config(operator).await?;
        dial::handshake(operator, config, socket).await
    };
    let secured = timeout_at(deadline.at, secure).await.unwrap_or_else(|_| {
        let within = deadline.in_words();
        Err(format!(
            "TLS: the operator does not answer the handshake {within}"
        ))
    });
    let wire = secured.map_err(|why| FailedStep::new(why, NO_TLS))?;
    Ok((wire, "the certificate is trusted".to_owned()))
}

/// Binds; gives what the operator calls itself.
async fn accepted(
    wire: &mut Wire,
    operator: &OperatorConfig,
    kind: BindType,
    octets: &mut BytesMut,
    deadline: Deadline,
) -> StepResult<String> {
    let answer = timeout_at(deadline.at, bound(wire, operator, kind, octets)).await;
    let answer = answer.unwrap_or_else(|_| {
        let within = deadline.in_words();
        let detail = format!("it is connected, and the operator does not answer the bind {within}");
        Err(FailedStep::new(detail, NO_ANSWER))
    })?;
    let bind = kind.name();
    if answer.status.is_ok() {
        let detail = format!("taken as {bind} with {}", answer.status);
        return Ok((answer.system_id, detail));
    }
    Err(FailedStep {
        detail: format!(
            "the operator refuses the bind as {bind} with {}",
            answer.status
        ),
        cure: None,
        status: Some(answer.status),
    })
}

/// Sends the bind and reads its answer; `octets` keeps what comes after it.
async fn bound(
    wire: &mut Wire,
    operator: &OperatorConfig,
    kind: BindType,
    octets: &mut BytesMut,
) -> Result<BindAnswer, FailedStep> {
    let mut out = BytesMut::new();
    Pdu::request(BIND, kind.request(bind_request(operator))).encode(&mut out);
    let hung_up = |how: &str| {
        let detail = format!("the connection ends before the bind is answered: {how}");
        let cure = if operator.tls { HANGS_UP_TLS } else { HANGS_UP };
        FailedStep::new(detail, cure)
    };
    let sent = send(wire, &out).await;
    sent.map_err(|error| hung_up(&error.to_string()))?;
    loop {
        while let Some(frame) = next_frame(octets, DEFAULT_MAX_PDU).map_err(|_| no_smpp(octets))? {
            let Some(header) = Header::parse(&frame) else {
                continue;
            };
            let is_nack = header.command_id == CommandId::GENERIC_NACK;
            let is_answer = header.command_id.is_response() && header.sequence == BIND;
            if !is_nack && !is_answer {
                continue;
            }
            // As for a session: a stray response with ESME_ROK takes no bind.
            if header.status.is_ok() && !BIND_RESPS.contains(&header.command_id) {
                let detail = "the operator answers the bind with a response to something else";
                return Err(FailedStep::new(detail, NO_SMPP));
            }
            return Ok(BindAnswer {
                status: header.status,
                system_id: name_in(&frame),
            });
        }
        match wire.read_buf(octets).await {
            Ok(0) => return Err(hung_up("the operator closes it")),
            Ok(_) => {}
            Err(error) => return Err(hung_up(&error.to_string())),
        }
    }
}

/// Unbinds. Whether the operator answers does not matter: it has taken the bind.
async fn left(wire: &mut Wire, octets: &mut BytesMut, deadline: Deadline) -> StepResult<()> {
    let until = deadline.at.min(Instant::now() + FAREWELL);
    let detail = match timeout_at(until, unbound(wire, octets)).await {
        Ok(Ok(())) => "the connection is closed",
        Ok(Err(_)) | Err(_) => "the operator does not answer; the connection is closed",
    };
    Ok(((), detail.to_owned()))
}

/// Unbinds. What the operator sends before its answer is refused for now: it sends that again to a bind that stays.
async fn unbound(wire: &mut Wire, octets: &mut BytesMut) -> io::Result<()> {
    let mut out = BytesMut::new();
    Pdu::request(UNBIND, Body::Unbind).encode(&mut out);
    send(wire, &out).await?;
    loop {
        // What is no PDU ends it, and is not collected without an end.
        while let Some(frame) = next_frame(octets, DEFAULT_MAX_PDU).map_err(|_| no_pdu())? {
            let Some(header) = Header::parse(&frame) else {
                continue;
            };
            if header.command_id.is_response() && header.sequence == UNBIND {
                return wire.shutdown().await;
            }
            if header.command_id.has_response() {
                let status = match header.command_id {
                    CommandId::ENQUIRE_LINK | CommandId::UNBIND => CommandStatus::ESME_ROK,
                    _ => CommandStatus::ESME_RX_T_APPN,
                };
                out.clear();
                encode_error_resp(&mut out, header.command_id, header.sequence, status);
                send(wire, &out).await?;
            }
        }
        if wire.read_buf(octets).await? == 0 {
            return Ok(());
        }
    }
}

fn no_pdu() -> io::Error {
    io::ErrorKind::InvalidData.into()
}

async fn send(wire: &mut Wire, octets: &[u8]) -> io::Result<()> {
    wire.write_all(octets).await?;
    wire.flush().await
}

/// What usually helps against the refusal of a bind; none where the words for every status say it.
fn cure_of(status: CommandStatus) -> Option<&'static str> {
    Some(match status {
        CommandStatus::ESME_RINVPASWD => {
            "Ask the operator for the password of this system_id, and write it letter by letter: most take no more than 8 octets."
        }
        CommandStatus::ESME_RINVSYSID => {
            "Ask the operator which system_id it has given us, and whether it is switched on."
        }
        CommandStatus::ESME_RINVSYSTYP => {
            "Ask the operator which `system_type` it wants; most want an empty one."
        }
        CommandStatus::ESME_RALYBND => {
            "Ask the operator how many binds it allows for this system_id, and whether a connection of an earlier system is still bound."
        }
        CommandStatus::ESME_RBINDFAIL => {
            "Ask the operator why: usually system_id, password or our address are not those that it expects, or it allows no more binds."
        }
        CommandStatus::ESME_RINVCMDID => {
            "Set `bind` to a kind that the operator knows, such as `transmitter+receiver`."
        }
        _ => return None,
    })
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

fn no_smpp(octets: &[u8]) -> FailedStep {
    if octets.starts_with(TLS_ALERT) {
        let detail = "the operator answers the bind with an alert of TLS";
        return FailedStep::new(detail, "Switch `tls` on: the port is one for TLS.");
    }
    let detail = "the operator answers the bind with something else than SMPP";
    FailedStep::new(detail, NO_SMPP)
}

fn millis_since(began: Instant) -> u64 {
    u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX)
}

// === impl FailedStep ===

impl FailedStep {
    fn new(detail: impl Into<String>, cure: &'static str) -> Self {
        Self {
            detail: detail.into(),
            cure: Some(cure),
            status: None,
        }
    }
}

// === impl Deadline ===

impl Deadline {
    fn in_words(self) -> String {
        format!("within {}", show_duration(self.within))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_of_a_bind_have_a_cure_of_their_own() {
        for status in [
            CommandStatus::ESME_RINVPASWD,
            CommandStatus::ESME_RINVSYSID,
            CommandStatus::ESME_RINVSYSTYP,
            CommandStatus::ESME_RALYBND,
            CommandStatus::ESME_RBINDFAIL,
            CommandStatus::ESME_RINVCMDID,
        ] {
            let cure = cure_of(status).unwrap();
            assert!(cure.ends_with('.'), "{cure}");
        }
        assert_eq!(cure_of(CommandStatus::ESME_RSYSERR), None);
    }

    #[test]
    fn what_is_no_smpp_is_told_apart() {
        let alert = no_smpp(&[0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 0x46]);
        assert!(alert.cure.unwrap().contains("`tls`"), "{}", alert.detail);
        let ssh = no_smpp(b"SSH-2.0-OpenSSH_9.2\r\n");
        assert_eq!(ssh.cure, Some(NO_SMPP));
        assert!(!ssh.detail.contains("SSH"), "nothing of it is told");
    }

    #[test]
    fn the_name_of_the_operator_is_in_its_answer() {
        let mut out = BytesMut::new();
        let resp = crate::smpp::BindResp {
            system_id: Bytes::from_static(b"theirs"),
            ..crate::smpp::BindResp::default()
        };
        Pdu::request(BIND, Body::BindTransceiverResp(resp)).encode(&mut out);
        assert_eq!(name_in(&out.freeze()), "theirs");
        assert_eq!(name_in(&Bytes::from_static(b"short")), "");
    }
}
