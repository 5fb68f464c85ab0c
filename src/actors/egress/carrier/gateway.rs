//! What a protocol of a carrier must say so that [`super::bind`] can speak it.

use std::fmt::Debug;
use std::time::Duration;

use bytes::Bytes;

use crate::actors::session::smpp_terms::china;
use crate::carrier::outcome::Outcome;
use crate::carrier::{Pdu, Protocol, SessionConfig, Unwritable};
use crate::config::{Carrier, OperatorConfig};
use crate::pb::PduDialect;
use crate::smpp::CommandStatus;
use crate::smpp::session::BindType;

/// How often a silent gateway is asked whether it is there (CMPP §6.2: N = 3).
const PROBES: u32 = 3;
/// What precedes numbers of China.
const COUNTRY: &[u8] = b"86";
/// After how long a silence a connection that a gateway has made is closed, as SGIP recommends.
const IDLE: Duration = Duration::from_secs(60);

/// A message to handsets, in the terms that carriers have in common.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CarrierMessage {
    pub from: Bytes,
    pub wants_report: bool,
    pub protocol_id: u8,
    /// priority_flag: 0 to 3, the highest.
    pub priority: u8,
    /// The content begins with a header.
    pub has_header: bool,
    /// Msg_Fmt.
    pub format: u8,
    pub content: Bytes,
    /// How many parts the text has, and which of them this is, from 1.
    pub part: (u8, u8),
    /// Absolute times of SMPP, or empty.
    pub valid_until: Bytes,
    pub deliver_at: Bytes,
    /// LinkID: which message of a handset it answers; or empty.
    pub link_id: Bytes,
}

/// What a gateway has brought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Brought {
    /// What became of a message.
    Report {
        id: Bytes,
        outcome: Outcome,
        /// Why, as the gateway says it.
        error: Bytes,
        /// The recipient.
        number: Bytes,
    },
    /// A message of a handset.
    Message(Incoming),
    /// It cannot be read.
    Nothing,
    /// It is answered, and says nothing that is kept.
    Noted,
}

/// A message of a handset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Incoming {
    pub from: Bytes,
    pub to: Bytes,
    pub protocol_id: u8,
    /// The content begins with a header.
    pub has_header: bool,
    /// Msg_Fmt.
    pub format: u8,
    pub content: Bytes,
    /// LinkID, which answers repeat; or empty.
    pub link_id: Bytes,
}

/// A protocol of a carrier, on the client's side.
pub(super) trait Gateway: Protocol + Copy + 'static {
    /// What the answer to something brought repeats.
    type Came: Copy + Debug;

    /// Most recipients of one request.
    const MOST_RECIPIENTS: usize = 1;
    /// Most requests under way unless configured otherwise, where that is not what the operator's `window` says.
    const MOST_REQUESTS: Option<usize> = None;
    /// Whether a connection without work is closed, and made anew when there is some.
    const SLEEPS: bool = false;
    /// Whether ids of messages have their recipient in them.
    const IDS_HAVE_RECIPIENTS: bool = false;

    /// What its PDUs are written in.
    fn dialect(self) -> PduDialect;

    /// The protocol at this time, in milliseconds since 1970, where requests say when they are made.
    fn at(self, _: i64) -> Self {
        self
    }

    /// Our login for these directions at this time, in milliseconds since 1970.
    fn login(&self, operator: &OperatorConfig, bind: BindType, now_ms: i64) -> Self::Body;

    /// Why a login was refused.
    fn refused(body: &Self::Body) -> CommandStatus;

    /// A request that submits the message to these recipients.
    fn submit(
        &self,
        operator: &OperatorConfig,
        carrier: &Carrier,
        draft: CarrierMessage,
        to: Vec<Bytes>,
    ) -> Self::Body;

    /// How our request went; `None` if it is the response to another one.
    fn result(response: &Self::Body) -> Option<CommandStatus>;

    /// What reports call our message to this recipient, which was taken with this response.
    fn id_for(response: &Pdu<Self::Sequence, Self::Body>, to: &[u8]) -> Bytes;

    /// What a request brings; `None` if nothing is known about this request.
    fn brought(&self, body: &Self::Body) -> Option<(Self::Came, Brought)>;

    /// The answer to what was brought.
    fn answer(came: Self::Came, status: CommandStatus) -> Self::Body;
}

/// Settings of our session with this operator's gateway.
pub(super) fn session_of<G: Gateway>(operator: &OperatorConfig) -> SessionConfig {
    let configured = operator.carrier().requests.map(|most| most as usize);
    SessionConfig {
        // The bind keeps the window and the time for an answer; a late answer is still told.
        window: configured
            .or(G::MOST_REQUESTS)
            .unwrap_or(2 * operator.window as usize),
        response: 2 * operator.response_timeout(),
        login: operator.bind_timeout,
        probe_every: operator.enquire_link_interval,
        probe: operator.enquire_link_timeout,
        probes: PROBES,
        idle: Duration::ZERO,
        logout: operator.enquire_link_timeout,
    }
}

/// Settings of the session with a gateway that has connected to us and shall log in within this time.
pub(super) fn session_of_theirs(login: Duration) -> SessionConfig {
    SessionConfig {
        window: 1,
        response: Duration::ZERO,
        login,
        probe_every: Duration::ZERO,
        probe: Duration::ZERO,
        probes: PROBES,
        idle: IDLE,
        logout: IDLE,
    }
}

/// The status of a message that has a field which the protocol cannot hold.
pub(super) fn unwritable(why: Unwritable) -> CommandStatus {
    match why.field {
        "Msg_Content" | "MsgContent" | "MessageContent" => CommandStatus::ESME_RINVMSGLEN,
        "Src_Id" | "SrcTermID" | "SPNumber" => CommandStatus::ESME_RINVSRCADR,
        "Dest_terminal_Id" | "DestTermID" | "UserNumber" => CommandStatus::ESME_RINVDSTADR,
        _ => CommandStatus::ESME_RSUBMITFAIL,
    }
}

/// What a word in a report says, and its error: gateways have codes of their own, as MK:0012, which are failures as well
/// as those of the standards. `error` is what the report says beside the word.
pub(super) fn outcome_of(word: &Bytes, error: &Bytes) -> (Outcome, Bytes) {
    let is_code = word.contains(&b':');
    let unlisted = if is_code {
        Outcome::Undeliverable
    } else {
        Outcome::Unknown
    };
    let outcome = Outcome::of(word).unwrap_or(unlisted);
    let error = match (is_code, &error[..]) {
        (true, _) => word,
        (false, b"" | b"000") => return (outcome, Bytes::from_static(b"000")),
        (false, _) => error,
    };
    // In the text of a receipt, a colon ends the name of a field.
    let error = error.iter().copied().filter(|octet| *octet != b':');
    (outcome, error.collect())
}

/// A number without what precedes those of China, which some gateways leave out in reports.
pub(super) fn national(number: &[u8]) -> &[u8] {
    let number = number.strip_prefix(b"+").unwrap_or(number);
    number.strip_prefix(COUNTRY).unwrap_or(number)
}

/// Keeps octets of a PDU without the rest of what was read with it.
pub(super) fn kept(octets: &Bytes) -> Bytes {
    Bytes::copy_from_slice(octets)
}

/// A text of the configuration, or what stands for none.
pub(super) fn text_or(own: Option<&str>, none: &'static str) -> Bytes {
    own.map_or(Bytes::from_static(none.as_bytes()), |own| {
        Bytes::copy_from_slice(own.as_bytes())
    })
}

/// The status of a refused login; what has none of its own is a failed bind.
pub(super) fn refusal(status: CommandStatus) -> CommandStatus {
    match status {
        CommandStatus::ESME_RUNKNOWNERR => CommandStatus::ESME_RBINDFAIL,
        known => known,
    }
}

/// The time as the number MMDDhhmmss, in China, where gateways are.
pub(super) fn timestamp(now_ms: i64) -> u32 {
    let now = jiff::Timestamp::from_millisecond(now_ms).unwrap_or_default();
    let now = now.to_zoned(china());
    [
        now.month(),
        now.day(),
        now.hour(),
        now.minute(),
        now.second(),
    ]
    .into_iter()
    .fold(0, |number, part| {
        number * 100 + u32::from(part.unsigned_abs())
    })
}

#[cfg(test)]
mod tests {
    use super::timestamp;

    #[test]
    fn the_time_of_a_login_is_that_of_china() {
        // 2026-11-25T16:31:59Z
        assert_eq!(timestamp(1_795_624_319_000), 1_126_003_159);
    }
}
