//! A raw SMPP peer over a blocking socket: it sends exactly what the test says.
//!
//! Encodes and decodes with the project's own codec where that helps, and sends arbitrary octets for
//! malformed PDUs. Sends no response by itself, except that [`Peer::expect`] answers enquire_link.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use smsc::smpp::{
    BindRequest, Body, CommandId, CommandStatus, DEFAULT_MAX_PDU, Decoded, Leniency, Pdu, SubmitSm,
    SubmitSmResp, decode, next_frame, tag,
};

use super::PATIENCE;

/// How often a read returns to check its time limit.
const READ_STEP: Duration = Duration::from_millis(50);

/// One connection.
pub struct Peer {
    socket: TcpStream,
    input: BytesMut,
    /// PDUs that arrived while another one was awaited, in order.
    kept: VecDeque<Pdu>,
    sequence: u32,
    /// Errors in PDUs that are tolerated; none by default.
    leniency: Leniency,
}

/// Why no PDU arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PeerError {
    /// The other side closed or reset the connection.
    Closed,
    /// Nothing arrived in time.
    Silence,
}

/// A PDU with a sequence number, encoded.
pub fn pdu(sequence: u32, body: Body) -> Vec<u8> {
    let mut out = BytesMut::new();
    Pdu::request(sequence, body).encode(&mut out);
    out.to_vec()
}

/// A submit_sm from 12345 that requests a receipt.
pub fn submit(to: &str, text: &str) -> SubmitSm {
    SubmitSm {
        source_addr: Bytes::from_static(b"12345"),
        dest_addr_ton: 1,
        dest_addr_npi: 1,
        destination_addr: Bytes::copy_from_slice(to.as_bytes()),
        registered_delivery: 1,
        short_message: Bytes::copy_from_slice(text.as_bytes()),
        ..SubmitSm::default()
    }
}

/// A submit_sm without a receipt: the operator's response is the end.
pub fn submit_quietly(to: &str, text: &str) -> SubmitSm {
    SubmitSm {
        registered_delivery: 0,
        ..submit(to, text)
    }
}

/// A text in UCS-2.
pub fn ucs2(text: &str) -> Bytes {
    text.encode_utf16().flat_map(u16::to_be_bytes).collect()
}

/// A submit_sm with a text in UCS-2.
pub fn submit_ucs2(to: &str, text: &str) -> SubmitSm {
    SubmitSm {
        data_coding: 8,
        short_message: ucs2(text),
        ..submit(to, "")
    }
}

/// A submit_sm from another source address.
pub fn submit_from(source: &str, to: &str) -> SubmitSm {
    SubmitSm {
        source_addr: Bytes::copy_from_slice(source.as_bytes()),
        ..submit(to, "hello")
    }
}

/// Answers a submit_sm with ESME_ROK and this message id.
pub fn accept(bind: &mut Peer, sequence: u32, id: &str) {
    answer(bind, sequence, CommandStatus::ESME_ROK, id);
}

/// Answers a submit_sm.
pub fn answer(bind: &mut Peer, sequence: u32, status: CommandStatus, id: &str) {
    let body = Body::SubmitSmResp(SubmitSmResp {
        message_id: Bytes::copy_from_slice(id.as_bytes()),
        ..SubmitSmResp::default()
    });
    let mut out = BytesMut::new();
    Pdu::response(status, sequence, body).encode(&mut out);
    bind.send(&out);
}

/// Message id and message_state of a receipt.
pub fn stat_of(receipt: &SubmitSm) -> (String, u32) {
    let state = receipt.tlvs.get_uint(tag::MESSAGE_STATE).unwrap();
    (receipted(receipt), state)
}

/// Message id of a receipt.
pub fn receipted(receipt: &SubmitSm) -> String {
    let id = receipt.tlvs.get_c_string(tag::RECEIPTED_MESSAGE_ID);
    String::from_utf8(id.unwrap().to_vec()).unwrap()
}

// === impl Peer ===

impl Peer {
    /// Connects and sends nothing.
    pub fn connect(address: SocketAddr) -> Self {
        Self::over(TcpStream::connect(address).unwrap())
    }

    /// Wraps an accepted connection.
    pub fn over(socket: TcpStream) -> Self {
        socket.set_nodelay(true).unwrap();
        socket.set_read_timeout(Some(READ_STEP)).unwrap();
        socket.set_write_timeout(Some(PATIENCE)).unwrap();
        Self {
            socket,
            input: BytesMut::new(),
            kept: VecDeque::new(),
            sequence: 0,
            leniency: Leniency::strict(),
        }
    }

    /// For a peer that sends malformed octets and gets them back, for example in receipts.
    pub fn lenient(mut self) -> Self {
        self.leniency = Leniency::default();
        self
    }

    /// Connects and binds as transceiver.
    pub fn bind(address: SocketAddr, system_id: &str, password: &str) -> Self {
        Self::bound(Body::BindTransceiver, address, system_id, password)
    }

    /// Connects and binds as transmitter, which gets no receipts: they wait for another bind.
    pub fn transmitter(address: SocketAddr, system_id: &str, password: &str) -> Self {
        Self::bound(Body::BindTransmitter, address, system_id, password)
    }

    fn bound(
        kind: fn(BindRequest) -> Body,
        address: SocketAddr,
        system_id: &str,
        password: &str,
    ) -> Self {
        let mut peer = Self::connect(address);
        let answer = peer.bind_as(kind, system_id, password);
        assert_eq!(answer, CommandStatus::ESME_ROK, "the bind of {system_id}");
        peer
    }

    /// Binds as `Body::BindTransmitter`, `Body::BindReceiver` or `Body::BindTransceiver`.
    pub fn bind_as(
        &mut self,
        kind: fn(BindRequest) -> Body,
        system_id: &str,
        password: &str,
    ) -> CommandStatus {
        let request = kind(BindRequest {
            system_id: Bytes::copy_from_slice(system_id.as_bytes()),
            password: Bytes::copy_from_slice(password.as_bytes()),
            interface_version: 0x34,
            ..BindRequest::default()
        });
        let sequence = self.request(request);
        self.answer_to(sequence).status
    }

    /// Submits and returns the message id; panics if it is refused.
    pub fn submit(&mut self, message: SubmitSm) -> String {
        let sequence = self.request(Body::SubmitSm(message));
        let answer = self.answer_to(sequence);
        assert_eq!(answer.status, CommandStatus::ESME_ROK);
        match answer.body {
            Body::SubmitSmResp(resp) => String::from_utf8(resp.message_id.to_vec()).unwrap(),
            other => panic!("not an answer to submit_sm: {other:?}"),
        }
    }

    /// Waits for the next deliver_sm and acknowledges it.
    pub fn deliver(&mut self) -> SubmitSm {
        let pdu = self.expect("a deliver_sm", |pdu| matches!(pdu.body, Body::DeliverSm(_)));
        let Body::DeliverSm(deliver) = pdu.body else {
            unreachable!("just matched")
        };
        self.acknowledge(CommandId::DELIVER_SM_RESP, pdu.sequence);
        deliver
    }

    /// Acknowledges the deliver_sm and enquire_link that have arrived.
    pub fn acknowledge_all(&mut self) {
        while let Ok(pdu) = self.next(Duration::ZERO) {
            match pdu.body {
                Body::DeliverSm(_) => self.acknowledge(CommandId::DELIVER_SM_RESP, pdu.sequence),
                Body::EnquireLink => self.acknowledge(CommandId::ENQUIRE_LINK_RESP, pdu.sequence),
                other => panic!("neither deliver_sm nor enquire_link: {other:?}"),
            }
        }
    }

    /// Sends a request with the next sequence number and returns that number.
    pub fn request(&mut self, body: Body) -> u32 {
        self.sequence += 1;
        self.send(&pdu(self.sequence, body));
        self.sequence
    }

    /// Answers with ESME_ROK and an empty message id.
    pub fn acknowledge(&mut self, command_id: CommandId, sequence: u32) {
        self.respond(command_id, sequence, CommandStatus::ESME_ROK);
    }

    /// Answers with a status and an empty body.
    pub fn respond(&mut self, command_id: CommandId, sequence: u32, status: CommandStatus) {
        let body = Body::empty(command_id).expect("a known command");
        let mut out = BytesMut::new();
        let answer = Pdu {
            status,
            sequence,
            body,
        };
        answer.encode(&mut out);
        self.send(&out);
    }

    /// Sends octets unchanged.
    pub fn send(&mut self, octets: &[u8]) {
        self.try_send(octets).unwrap();
    }

    /// Sends octets to a peer that may have closed the connection.
    pub fn try_send(&mut self, octets: &[u8]) -> io::Result<()> {
        self.socket.write_all(octets)
    }

    /// Sends what the socket accepts at once; an error when it accepts nothing any more.
    pub fn try_send_now(&mut self, octets: &[u8]) -> io::Result<()> {
        self.socket
            .set_write_timeout(Some(Duration::from_secs(2)))?;
        self.try_send(octets)
    }

    /// Closes the sending direction; the other direction stays open.
    pub fn finish(&self) {
        let _ = self.socket.shutdown(Shutdown::Write);
    }

    /// Waits for the response with this sequence number.
    pub fn answer_to(&mut self, sequence: u32) -> Pdu {
        self.expect(&format!("the answer to {sequence}"), |pdu| {
            pdu.command_id().is_response() && pdu.sequence == sequence
        })
    }

    /// Waits for a matching PDU; keeps others for later, and answers enquire_link.
    pub fn expect(&mut self, what: &str, fits: impl Fn(&Pdu) -> bool) -> Pdu {
        self.try_expect(fits)
            .unwrap_or_else(|error| panic!("{error:?} instead of {what}"))
    }

    /// Like [`Peer::expect`], for a connection that may be closed instead.
    pub fn try_expect(&mut self, fits: impl Fn(&Pdu) -> bool) -> Result<Pdu, PeerError> {
        if let Some(at) = self.kept.iter().position(&fits) {
            return Ok(self.kept.remove(at).expect("just found"));
        }
        let until = Instant::now() + PATIENCE;
        loop {
            match self.read(until.saturating_duration_since(Instant::now())) {
                Ok(pdu) if fits(&pdu) => return Ok(pdu),
                Ok(pdu) if pdu.body == Body::EnquireLink => {
                    self.acknowledge(CommandId::ENQUIRE_LINK_RESP, pdu.sequence);
                }
                Ok(other) => self.kept.push_back(other),
                Err(error) => return Err(error),
            }
        }
    }

    /// The next PDU of any kind.
    pub fn next(&mut self, limit: Duration) -> Result<Pdu, PeerError> {
        match self.kept.pop_front() {
            Some(pdu) => Ok(pdu),
            None => self.read(limit),
        }
    }

    /// Waits for a matching PDU, with its octets as they came; forgets others.
    pub fn expect_octets(&mut self, what: &str, fits: impl Fn(&Pdu) -> bool) -> (Bytes, Pdu) {
        let until = Instant::now() + PATIENCE;
        loop {
            match self.read_octets(until.saturating_duration_since(Instant::now())) {
                Ok((octets, pdu)) if fits(&pdu) => return (octets, pdu),
                Ok(_) => {}
                Err(error) => panic!("{error:?} instead of {what}"),
            }
        }
    }

    /// The next PDU of the connection.
    fn read(&mut self, limit: Duration) -> Result<Pdu, PeerError> {
        self.read_octets(limit).map(|(_, pdu)| pdu)
    }

    fn read_octets(&mut self, limit: Duration) -> Result<(Bytes, Pdu), PeerError> {
        let until = Instant::now() + limit;
        loop {
            if let Some(frame) =
                next_frame(&mut self.input, DEFAULT_MAX_PDU).expect("a sane length")
            {
                match decode(&frame, &self.leniency) {
                    Decoded::Pdu(pdu) => return Ok((frame, pdu)),
                    Decoded::Malformed(malformed) => panic!("malformed from smsc: {malformed:?}"),
                }
            }
            let mut piece = [0; 16 * 1024];
            match self.socket.read(&mut piece) {
                Ok(0) => return Err(PeerError::Closed),
                Ok(count) => self.input.extend_from_slice(&piece[..count]),
                Err(error) if is_silence(&error) => {
                    if Instant::now() >= until {
                        return Err(PeerError::Silence);
                    }
                }
                Err(_) => return Err(PeerError::Closed),
            }
        }
    }

    /// Waits until the other side closes; returns PDUs that arrive before.
    pub fn until_closed(&mut self) -> Vec<Pdu> {
        let until = Instant::now() + PATIENCE;
        let mut seen = Vec::new();
        loop {
            match self.next(until.saturating_duration_since(Instant::now())) {
                Ok(pdu) => seen.push(pdu),
                Err(PeerError::Closed) => return seen,
                Err(PeerError::Silence) => {
                    panic!("the connection was not closed; it said {seen:?}")
                }
            }
        }
    }

    /// Sends enquire_link and waits for the response: the session is alive.
    pub fn assert_alive(&mut self) {
        let sequence = self.request(Body::EnquireLink);
        assert_eq!(self.answer_to(sequence).body, Body::EnquireLinkResp);
    }

    /// Sends unbind, waits for the response and the end of the connection.
    pub fn unbind(mut self) {
        let sequence = self.request(Body::Unbind);
        assert_eq!(self.answer_to(sequence).status, CommandStatus::ESME_ROK);
        self.until_closed();
    }
}

fn is_silence(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted
    )
}
