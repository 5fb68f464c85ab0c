//! SMGP 3.0, China Telecom's protocol between an SP and its gateway (SMGW). Pure: octets in, PDUs out.
//!
//! Called by `smsc decode`, and by whatever moves the octets of a connection; sessions are those of
//! [`smsc_carrier::Session`] with [`Smgp`] as their protocol.
//!
//! ```text
//! ┌──────────────┬───────────┬────────────┬──────┐
//! │ PacketLength │ RequestID │ SequenceID │ body │
//! └──────4───────┴─────4─────┴─────4──────┴──────┘
//! ```
//!
//! | file | idea |
//! |---|---|
//! | [`bodies`] | the fields of every PDU, and the optional ones at their end |
//! | [`report`] | what a Deliver with IsReport 1 says |
//! | [`status`] | status codes, and what they are in SMPP |

use bytes::{Bytes, BytesMut};
use smsc_carrier::fields::Raw;
use smsc_carrier::pdu::{length_and_command, with_length};
use smsc_carrier::{Kind, Malformed, Protocol, Reader, SessionConfig, Unwritable, Writer, login};

pub mod bodies;
pub mod report;
pub mod status;
#[cfg(test)]
mod tests;

pub use bodies::Body;
pub use report::Report;

/// Port of a gateway.
pub const PORT: u16 = 8890;
/// ClientVersion.
pub const VERSION: u8 = 0x30;

/// A PDU.
pub type Pdu = smsc_carrier::Pdu<u32, Body>;

/// The protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Smgp;

/// The times of CMPP, which the standard leaves to the gateways.
#[must_use]
pub fn session_config() -> SessionConfig {
    SessionConfig::of_cmpp()
}

/// The login of a client at this time, as the number MMDDhhmmss; mode 0 sends, 1 receives, 2 does both.
#[must_use]
pub fn login(client: &str, secret: &[u8], mode: u8, timestamp: u32) -> Body {
    Body::Login(bodies::Login {
        client_id: client.into(),
        authenticator_client: Raw(login::client(client.as_bytes(), 7, secret, timestamp)),
        login_mode: mode,
        timestamp,
        client_version: VERSION,
    })
}

/// The response to a login. One that refuses proves nothing: with a digest of the secret, whoever asks could try secrets
/// at home.
#[must_use]
pub fn login_resp(login: &bodies::Login, secret: &[u8], status: u32) -> Body {
    let of_client = &login.authenticator_client.0;
    let proof = match status {
        status::OK => login::server(&[0; 4], of_client, secret),
        _ => [0; 16],
    };
    Body::LoginResp(bodies::LoginResp {
        status,
        authenticator_server: Raw(proof),
        server_version: VERSION,
    })
}

/// Reads the header and the body; the reader is at the beginning of a PDU of `whole` octets.
///
/// # Errors
/// The first field that is wrong.
pub fn read(reader: &mut Reader, whole: usize) -> Result<Pdu, Malformed> {
    let command = length_and_command(reader, whole)?;
    let sequence = reader.field("SequenceID")?;
    let body = Body::read(command, reader)?;
    Ok(Pdu { sequence, body })
}

impl Protocol for Smgp {
    type Sequence = u32;
    type Body = Body;

    const HEADER: usize = 12;
    const LONGEST: usize = 4096;

    fn decode(&self, frame: &Bytes) -> Result<Pdu, Malformed> {
        read(&mut Reader::new(frame, 0, VERSION), frame.len())
    }

    fn encode(&self, pdu: &Pdu, out: &mut BytesMut) -> Result<(), Unwritable> {
        with_length(out, |out| {
            let mut writer = Writer::new(out, VERSION);
            writer.field("RequestID", &pdu.body.command())?;
            writer.field("SequenceID", &pdu.sequence)?;
            pdu.body.write(&mut writer)
        })
    }

    fn kind(body: &Body) -> Kind {
        match body {
            Body::Login(_) => Kind::Login,
            Body::LoginResp(resp) => Kind::LoginResponse(resp.status == status::OK),
            Body::ActiveTest(_) => Kind::Probe,
            Body::ActiveTestResp(_) => Kind::ProbeResponse,
            Body::Exit(_) => Kind::Logout,
            Body::ExitResp(_) => Kind::LogoutResponse,
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
            Kind::Probe => Some(Body::ActiveTestResp(bodies::ActiveTestResp {})),
            Kind::Logout => Some(Body::ExitResp(bodies::ExitResp {})),
            _ => None,
        }
    }

    fn logout() -> Body {
        Body::Exit(bodies::Exit {})
    }

    fn refuse_sequence(request: &Body) -> Option<Body> {
        let refused = |msg_id| bodies::MessageResp {
            msg_id,
            status: status::SEQUENCE,
        };
        match request {
            Body::Submit(_) => Some(Body::SubmitResp(refused(Raw::default()))),
            Body::Deliver(deliver) => Some(Body::DeliverResp(refused(deliver.msg_id))),
            _ => None,
        }
    }

    fn takes(response: &Body) -> bool {
        match response {
            Body::SubmitResp(resp) | Body::DeliverResp(resp) => resp.status == status::OK,
            _ => false,
        }
    }
}
