//! CMPP 2.0 and 3.0, China Mobile's protocol between an SP and its gateway (ISMG). Pure: octets in, PDUs out.
//!
//! Called by `smsc decode`, and by whatever moves the octets of a connection; sessions are those of
//! [`smsc_carrier::Session`] with [`Cmpp`] as their protocol.
//!
//! ```text
//! ┌──────────────┬────────────┬─────────────┬──────┐
//! │ Total_Length │ Command_Id │ Sequence_Id │ body │
//! └──────4───────┴─────4──────┴──────4──────┴──────┘
//! ```
//!
//! | file | idea |
//! |---|---|
//! | [`bodies`] | the fields of every PDU |
//! | [`report`] | what a CMPP_DELIVER with Registered_Delivery 1 says |
//! | [`message_id`] | Msg_Id, by which a report finds its message |
//! | [`status`] | result codes, and what they are in SMPP |
//!
//! Section numbers are those of "China Mobile Point to Point", version 3.0.0.

use bytes::{Bytes, BytesMut};
use smsc_carrier::pdu::{length_and_command, with_length};
use smsc_carrier::{Kind, Malformed, Protocol, Reader, SessionConfig, Unwritable, Writer, login};

pub mod bodies;
pub mod message_id;
pub mod report;
pub mod status;
#[cfg(test)]
mod tests;

pub use bodies::Body;
pub use message_id::MessageId;
pub use report::Report;

/// Port of a gateway for connections that stay.
pub const PORT: u16 = 7890;

/// A PDU.
pub type Pdu = smsc_carrier::Pdu<u32, Body>;

/// The protocol in a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cmpp {
    /// CMPP 2.0.
    V20 = 0x20,
    /// CMPP 3.0.
    V30 = 0x30,
}

/// What the standard recommends (§5, §6): a window of 16; 60 s for a response; after 3 minutes of silence up to 3
/// tests of the connection.
#[must_use]
pub fn session_config() -> SessionConfig {
    SessionConfig::of_cmpp()
}

// === impl Cmpp ===

impl Cmpp {
    /// The version that a peer names in CMPP_CONNECT: the minor number is in the low four bits.
    #[must_use]
    pub fn of(version: u8) -> Option<Self> {
        match version >> 4 {
            2 => Some(Self::V20),
            3 => Some(Self::V30),
            _ => None,
        }
    }

    /// The login of a client at this time, as the number MMDDhhmmss.
    #[must_use]
    pub fn connect(self, source: &str, secret: &[u8], timestamp: u32) -> Body {
        Body::Connect(bodies::Connect {
            source_addr: source.into(),
            authenticator_source: proof(source.as_bytes(), secret, timestamp),
            version: self as u8,
            timestamp,
        })
    }

    /// The response to a login. One that refuses proves nothing: with a digest of the secret, whoever asks could try
    /// secrets at home.
    #[must_use]
    pub fn connect_resp(self, connect: &bodies::Connect, secret: &[u8], status: u32) -> Body {
        // The status as it is in the PDU: one octet in 2.0, four in 3.0.
        let width = match self {
            Self::V20 => 1,
            Self::V30 => 4,
        };
        let proof = match status {
            status::OK => login::server(&[0; 4][..width], &connect.authenticator_source.0, secret),
            _ => [0; 16],
        };
        Body::ConnectResp(bodies::ConnectResp {
            status: smsc_carrier::fields::Widened(status),
            authenticator_ismg: smsc_carrier::fields::Raw(proof),
            version: self as u8,
        })
    }
}

/// AuthenticatorSource (§8.4.1.1).
#[must_use]
pub fn proof(source: &[u8], secret: &[u8], timestamp: u32) -> smsc_carrier::fields::Raw<16> {
    smsc_carrier::fields::Raw(login::client(source, 9, secret, timestamp))
}

/// Reads the header and the body; the reader is at the beginning of a PDU of `whole` octets.
///
/// # Errors
/// The first field that is wrong.
pub fn read(reader: &mut Reader, whole: usize) -> Result<Pdu, Malformed> {
    let command = length_and_command(reader, whole)?;
    let sequence = reader.field("Sequence_Id")?;
    let body = Body::read(command, reader)?;
    Ok(Pdu { sequence, body })
}

impl Protocol for Cmpp {
    type Sequence = u32;
    type Body = Body;

    const HEADER: usize = 12;
    const LONGEST: usize = 4096;

    fn decode(&self, frame: &Bytes) -> Result<Pdu, Malformed> {
        read(&mut Reader::new(frame, 0, *self as u8), frame.len())
    }

    fn encode(&self, pdu: &Pdu, out: &mut BytesMut) -> Result<(), Unwritable> {
        with_length(out, |out| {
            let mut writer = Writer::new(out, *self as u8);
            writer.field("Command_Id", &pdu.body.command())?;
            writer.field("Sequence_Id", &pdu.sequence)?;
            pdu.body.write(&mut writer)
        })
    }

    fn kind(body: &Body) -> Kind {
        match body {
            Body::Connect(_) => Kind::Login,
            Body::ConnectResp(resp) => Kind::LoginResponse(resp.status.0 == status::OK),
            Body::ActiveTest(_) => Kind::Probe,
            Body::ActiveTestResp(_) => Kind::ProbeResponse,
            Body::Terminate(_) => Kind::Logout,
            Body::TerminateResp(_) => Kind::LogoutResponse,
            other if other.command() & 0x8000_0000 == 0 => Kind::Request,
            _ => Kind::Response,
        }
    }

    fn sequence(&self, number: u32) -> u32 {
        number
    }

    fn number(sequence: u32) -> u32 {
        sequence
    }

    fn probe() -> Option<Body> {
        Some(Body::ActiveTest(bodies::ActiveTest {}))
    }

    fn reply(kind: Kind) -> Option<Body> {
        match kind {
            Kind::Probe => Some(Body::ActiveTestResp(bodies::ActiveTestResp::default())),
            Kind::Logout => Some(Body::TerminateResp(bodies::TerminateResp {})),
            _ => None,
        }
    }

    fn logout() -> Body {
        Body::Terminate(bodies::Terminate {})
    }

    fn refuse_sequence(request: &Body) -> Option<Body> {
        let refused = |msg_id| bodies::MessageResp {
            msg_id,
            result: smsc_carrier::fields::Widened(status::SEQUENCE),
        };
        match request {
            Body::Submit(_) => Some(Body::SubmitResp(refused(0))),
            Body::Deliver(deliver) => Some(Body::DeliverResp(refused(deliver.msg_id))),
            _ => None,
        }
    }

    fn takes(response: &Body) -> bool {
        match response {
            Body::SubmitResp(resp) | Body::DeliverResp(resp) => resp.result.0 == status::OK,
            _ => false,
        }
    }
}
