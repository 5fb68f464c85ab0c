//! M3UA (RFC 4666) over TCP, as Osmocom's STP takes it: a BSC registers the point code it has and then
//! exchanges SCCP messages with the MSC.
//!
//! ```text
//! ┌─────────┬──────────┬───────┬──────┬────────┬─────────────────────────┐
//! │ version │ reserved │ class │ type │ length │ tag length value pad …  │
//! └────1────┴────1─────┴───1───┴──1───┴───4────┴──2────2─────────────────┘
//! ```

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};

/// Signalling point codes: 0.23.1 and 0.23.3 in the form 3-8-3.
pub(super) const MSC_POINT_CODE: u32 = 185;
pub(super) const BSC_POINT_CODE: u32 = 187;

/// Class and type of messages (RFC 4666 §3.1.2).
const DATA: (u8, u8) = (1, 1);
const ASP_UP: (u8, u8) = (3, 1);
const BEAT: (u8, u8) = (3, 3);
const ASP_UP_ACK: (u8, u8) = (3, 4);
const BEAT_ACK: (u8, u8) = (3, 6);
const ASP_ACTIVE: (u8, u8) = (4, 1);
const ASP_ACTIVE_ACK: (u8, u8) = (4, 3);
const REGISTRATION: (u8, u8) = (9, 1);
const REGISTRATION_RESPONSE: (u8, u8) = (9, 2);

/// Tags of parameters (RFC 4666 §3.2).
const ROUTING_CONTEXT: u16 = 0x0006;
const ROUTING_KEY: u16 = 0x0207;
const REGISTRATION_RESULT: u16 = 0x0208;
const LOCAL_ROUTING_KEY: u16 = 0x020A;
const DESTINATION: u16 = 0x020B;
const PROTOCOL_DATA: u16 = 0x0210;

/// Octets before the parameters.
const HEAD: usize = 8;
/// Octets before the payload of [`PROTOCOL_DATA`]: two point codes, SI, NI, MP, SLS.
const LABEL: usize = 12;
/// Service indicator of SCCP.
const SCCP: u8 = 3;

/// One direction's use of the connection; clones read or write the same.
pub(super) struct Link {
    stream: TcpStream,
    routing_context: Vec<u8>,
}

type Parameters = Vec<(u16, Vec<u8>)>;

// === impl Link ===

impl Link {
    /// Connects, registers the BSC's point code, and becomes active.
    pub(super) fn connect(address: SocketAddr) -> Self {
        let mut link = Self {
            stream: TcpStream::connect(address).unwrap(),
            routing_context: Vec::new(),
        };
        link.stream.set_nodelay(true).unwrap();
        link.send(ASP_UP, &[]).unwrap();
        link.wait_for(ASP_UP_ACK);
        let key = [
            parameter(LOCAL_ROUTING_KEY, &1_u32.to_be_bytes()),
            parameter(DESTINATION, &BSC_POINT_CODE.to_be_bytes()),
        ];
        link.send(REGISTRATION, &[(ROUTING_KEY, key.concat())])
            .unwrap();
        let response = link.wait_for(REGISTRATION_RESPONSE);
        let result = parameters(&value(&response, REGISTRATION_RESULT));
        link.routing_context = value(&result, ROUTING_CONTEXT);
        let context = (ROUTING_CONTEXT, link.routing_context.clone());
        link.send(ASP_ACTIVE, &[context]).unwrap();
        link.wait_for(ASP_ACTIVE_ACK);
        link
    }

    /// This connection for another thread.
    pub(super) fn again(&self) -> Self {
        Self {
            stream: self.stream.try_clone().unwrap(),
            routing_context: self.routing_context.clone(),
        }
    }

    /// Sends an SCCP message to the MSC.
    pub(super) fn send_data(&mut self, sccp: &[u8]) -> io::Result<()> {
        let mut data = Vec::new();
        data.extend(BSC_POINT_CODE.to_be_bytes());
        data.extend(MSC_POINT_CODE.to_be_bytes());
        // The international network, priority 0, one link.
        data.extend([SCCP, 0, 0, 0]);
        data.extend(sccp);
        let context = (ROUTING_CONTEXT, self.routing_context.clone());
        self.send(DATA, &[context, (PROTOCOL_DATA, data)])
    }

    /// The next SCCP message; heartbeats are answered on the way.
    pub(super) fn next_data(&mut self) -> io::Result<Vec<u8>> {
        loop {
            let (kind, found) = self.receive()?;
            match kind {
                DATA => return Ok(value(&found, PROTOCOL_DATA).split_off(LABEL)),
                BEAT => self.send(BEAT_ACK, &found)?,
                // What the STP tells of others.
                _ => {}
            }
        }
    }

    /// Ends the connection, for all who use it.
    pub(super) fn close(&self) {
        let _ = self.stream.shutdown(std::net::Shutdown::Both);
    }

    fn wait_for(&mut self, wanted: (u8, u8)) -> Parameters {
        loop {
            let (kind, found) = self.receive().unwrap();
            if kind == wanted {
                return found;
            }
        }
    }

    fn send(&mut self, kind: (u8, u8), parameters: &[(u16, Vec<u8>)]) -> io::Result<()> {
        let body: Vec<u8> = parameters
            .iter()
            .flat_map(|(tag, value)| parameter(*tag, value))
            .collect();
        let mut message = vec![1, 0, kind.0, kind.1];
        message.extend(((HEAD + body.len()) as u32).to_be_bytes());
        message.extend(body);
        self.stream.write_all(&message)
    }

    fn receive(&mut self) -> io::Result<((u8, u8), Parameters)> {
        let mut head = [0; HEAD];
        self.stream.read_exact(&mut head)?;
        let length = u32::from_be_bytes([head[4], head[5], head[6], head[7]]) as usize;
        let mut body = vec![0; length - HEAD];
        self.stream.read_exact(&mut body)?;
        Ok(((head[2], head[3]), parameters(&body)))
    }
}

/// A parameter: its length counts its head, and not the octets that fill it up to four.
fn parameter(tag: u16, value: &[u8]) -> Vec<u8> {
    let mut out = tag.to_be_bytes().to_vec();
    out.extend(((4 + value.len()) as u16).to_be_bytes());
    out.extend(value);
    out.resize(out.len().next_multiple_of(4), 0);
    out
}

fn parameters(mut octets: &[u8]) -> Parameters {
    let mut found = Vec::new();
    while let [a, b, c, d, ..] = octets {
        let length = usize::from(u16::from_be_bytes([*c, *d])).max(4);
        found.push((u16::from_be_bytes([*a, *b]), octets[4..length].to_vec()));
        octets = octets.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    found
}

fn value(parameters: &Parameters, wanted: u16) -> Vec<u8> {
    let mut found = parameters.iter().filter(|(tag, _)| *tag == wanted);
    let (_, value) = found
        .next()
        .unwrap_or_else(|| panic!("no parameter {wanted:#06x} in {parameters:x?}"));
    value.clone()
}
