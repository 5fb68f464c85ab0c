//! What a carrier's protocol must say so that its gateway can be simulated: logins, messages, answers, reports.

use bytes::Bytes;
use smsc_carrier::{Protocol, SessionConfig};
use smsc_smpp::CommandStatus;

use crate::simulator::SimulatorOptions;

/// A protocol of a carrier, on the gateway's side.
pub(super) trait Dialect:
    Protocol<Sequence: Send, Body: Send> + Copy + Send + Sync + 'static
{
    /// How sessions begin, before the peer has said which version it speaks.
    fn new() -> Self;

    /// Times and limits of a session.
    fn config() -> SessionConfig;

    /// The answer to a login; `None` if it is none.
    fn log_in(login: &Self::Body, options: &SimulatorOptions) -> Option<LoginOutcome<Self>>;

    /// The message that a request submits; `None` if it is another request.
    fn submitted(body: Self::Body) -> Option<GatewaySubmission>;

    /// The id of the message that came under this sequence, where `number` counts the messages.
    fn id(number: u64, sequence: Self::Sequence) -> GatewayMessageId;

    /// The id for people.
    fn shown(id: &GatewayMessageId) -> String;

    /// The answer to a message.
    fn answer(&self, id: &GatewayMessageId, status: CommandStatus) -> Self::Body;

    /// The request that brings this in this minute (YYMMDDhhmm); `None` if it cannot be written.
    fn bring(&self, brought: &GatewayDelivery, minute: &str) -> Option<Self::Body>;

    /// Whether what was brought has been taken, as the answer says; `None` if it is another response.
    fn is_taken(body: &Self::Body) -> Option<bool>;
}

/// The id of a message: that of a shorter one is at the end.
pub(super) type GatewayMessageId = [u8; 12];

/// What becomes of a login.
pub(super) struct LoginOutcome<D: Dialect> {
    /// The protocol in the version of the peer.
    pub protocol: D,
    pub response: D::Body,
    pub is_accepted: bool,
    /// Whether reports and messages of handsets are brought on this connection.
    pub receives: bool,
}

/// A message that was submitted.
#[derive(Clone, Debug)]
pub(super) struct GatewaySubmission {
    pub from: Bytes,
    pub to: Vec<Bytes>,
    pub service: Bytes,
    pub text: Bytes,
    pub wants_report: bool,
}

/// What is to be brought to the SMSC.
#[derive(Clone, Debug)]
pub(super) struct GatewayDelivery {
    /// The id of the message, or of this one of a handset.
    pub id: GatewayMessageId,
    /// The handset.
    pub number: Bytes,
    /// The SP's number.
    pub to: Bytes,
    pub what: What,
    /// How often it was refused.
    pub refusals: u32,
}

#[derive(Clone, Debug)]
pub(super) enum What {
    Report { service: Bytes, stat: &'static str },
    Message { text: Bytes },
}

/// Why a login is refused.
pub(super) enum LoginRefusal {
    Name,
    Proof,
}

/// Compares a login with what is asked for: `is_proven` says whether it has this secret.
///
/// # Errors
/// What is wrong.
pub(super) fn check(
    options: &SimulatorOptions,
    name: &[u8],
    is_proven: impl Fn(&[u8]) -> bool,
) -> Result<(), LoginRefusal> {
    let known = options.system_id.as_ref();
    if known.is_some_and(|known| known.as_bytes() != name) {
        return Err(LoginRefusal::Name);
    }
    match &options.password {
        Some(secret) if !is_proven(secret.as_bytes()) => Err(LoginRefusal::Proof),
        _ => Ok(()),
    }
}

/// The id of the message with this number.
pub(super) fn id_of(number: u64) -> GatewayMessageId {
    let mut id = GatewayMessageId::default();
    id[4..].copy_from_slice(&number.to_be_bytes());
    id
}
