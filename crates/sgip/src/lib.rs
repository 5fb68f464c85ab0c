//! SGIP 1.2 and 1.3, China Unicom's protocol between an SP and its gateway (SMG). Pure: octets in, PDUs out.
//!
//! Called by `smsc decode`, and by whatever moves the octets of a connection; sessions are those of
//! [`smsc_carrier::Session`] with [`Sgip`] as their protocol. Both sides connect: the SP to submit, the SMG to
//! deliver and to report.
//!
//! ```text
//! ┌────────────────┬───────────┬──────────────────────────────────┬──────┐
//! │ Message Length │ CommandID │ node, MMDDhhmmss, counter        │ body │
//! └───────4────────┴─────4─────┴────────────────12────────────────┴──────┘
//! ```
//!
//! | file | idea |
//! |---|---|
//! | [`bodies`] | the fields of every PDU |
//! | [`status`] | result and error codes, and what they are in SMPP |
//!
//! The commands between gateways and their name server (AddSP to DeleteSMG) are read as unknown ones: an SP never
//! sees them.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use smsc_carrier::pdu::{length_and_command, with_length};
use smsc_carrier::{Kind, Malformed, Protocol, Reader, SessionConfig, Unwritable, Writer};

pub mod bodies;
pub mod status;
#[cfg(test)]
mod tests;

pub use bodies::Body;

/// Port of an SP and of a gateway.
pub const PORT: u16 = 8801;

/// A PDU.
pub type Pdu = smsc_carrier::Pdu<Sequence, Body>;

/// The sequence in a header. A report names that of its Submit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Sequence {
    /// The source: an SP is 3AAAAQQQQQ, area code and company, which is more than fits into 31 bits.
    pub node: u32,
    /// The time as the number MMDDhhmmss, without a year.
    pub time: u32,
    /// A number that counts up.
    pub counter: u32,
}

// === impl Sequence ===

impl Sequence {
    /// As it is in a header.
    #[must_use]
    pub fn octets(self) -> [u8; 12] {
        let parts = [self.node, self.time, self.counter].map(u32::to_be_bytes);
        let mut octets = [0; 12];
        octets.copy_from_slice(parts.as_flattened());
        octets
    }

    /// Of the octets in a header.
    #[must_use]
    pub fn of(octets: [u8; 12]) -> Self {
        let [node, time, counter] = [0, 4, 8].map(|at| {
            u32::from_be_bytes([octets[at], octets[at + 1], octets[at + 2], octets[at + 3]])
        });
        Self {
            node,
            time,
            counter,
        }
    }
}

/// Which version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// SGIP 1.2.
    V12 = 0x20,
    /// SGIP 1.3: its Trace_Resp is wider.
    V13 = 0x30,
}

/// The protocol, with what goes into the sequences of our requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sgip {
    /// The version.
    pub version: Version,
    /// Our node.
    pub node: u32,
    /// The time now, as the number MMDDhhmmss in Beijing; the caller keeps it.
    pub time: u32,
}

/// What the standard recommends: 32 requests under way, 30 s for a response, 60 s of silence.
#[must_use]
pub fn session_config() -> SessionConfig {
    let half = Duration::from_secs(30);
    SessionConfig {
        window: 32,
        login: half,
        response: half,
        probe_every: Duration::ZERO,
        probe: Duration::ZERO,
        probes: 1,
        idle: 2 * half,
        logout: half,
    }
}

/// Reads the header and the body; the reader is at the beginning of a PDU of `whole` octets.
///
/// # Errors
/// The first field that is wrong.
pub fn read(reader: &mut Reader, whole: usize) -> Result<Pdu, Malformed> {
    let command = length_and_command(reader, whole)?;
    let sequence = Sequence {
        node: reader.field("Sequence Number (node)")?,
        time: reader.field("Sequence Number (time)")?,
        counter: reader.field("Sequence Number (counter)")?,
    };
    let body = Body::read(command, reader)?;
    Ok(Pdu { sequence, body })
}

impl Protocol for Sgip {
    type Sequence = Sequence;
    type Body = Body;

    const HEADER: usize = 20;
    const LONGEST: usize = 8192;

    fn decode(&self, frame: &Bytes) -> Result<Pdu, Malformed> {
        read(&mut Reader::new(frame, 0, self.version as u8), frame.len())
    }

    fn encode(&self, pdu: &Pdu, out: &mut BytesMut) -> Result<(), Unwritable> {
        with_length(out, |out| {
            let mut writer = Writer::new(out, self.version as u8);
            writer.field("CommandID", &pdu.body.command())?;
            writer.field("Sequence Number (node)", &pdu.sequence.node)?;
            writer.field("Sequence Number (time)", &pdu.sequence.time)?;
            writer.field("Sequence Number (counter)", &pdu.sequence.counter)?;
            pdu.body.write(&mut writer)
        })
    }

    fn kind(body: &Body) -> Kind {
        match body {
            Body::Bind(_) => Kind::Login,
            Body::BindResp(resp) => Kind::LoginResponse(resp.result == status::OK),
            Body::Unbind(_) => Kind::Logout,
            Body::UnbindResp(_) => Kind::LogoutResponse,
            other if other.command() & 0x8000_0000 == 0 => Kind::Request,
            _ => Kind::Response,
        }
    }

    fn sequence(&self, number: u32) -> Sequence {
        Sequence {
            node: self.node,
            time: self.time,
            counter: number,
        }
    }

    fn number(sequence: Sequence) -> u32 {
        sequence.counter
    }

    fn probe() -> Option<Body> {
        None
    }

    fn reply(kind: Kind) -> Option<Body> {
        (kind == Kind::Logout).then(|| Body::UnbindResp(bodies::UnbindResp {}))
    }

    fn logout() -> Body {
        Body::Unbind(bodies::Unbind {})
    }

    fn refuse_sequence(request: &Body) -> Option<Body> {
        let refused = bodies::ResultResp::of(status::SEQUENCE);
        Some(match request {
            Body::Submit(_) => Body::SubmitResp(refused),
            Body::Deliver(_) => Body::DeliverResp(refused),
            Body::Report(_) => Body::ReportResp(refused),
            Body::UserRpt(_) => Body::UserRptResp(refused),
            _ => return None,
        })
    }

    fn takes(response: &Body) -> bool {
        match response {
            Body::SubmitResp(resp)
            | Body::DeliverResp(resp)
            | Body::ReportResp(resp)
            | Body::UserRptResp(resp) => resp.result == status::OK,
            _ => false,
        }
    }
}
