//! How a session handles incoming PDUs (SMPP 3.4 §2.2, §4).
//!
//! Part of [`Session`]: decides by header and state first, and decodes a body only when it is needed.

use std::time::Instant;

use bytes::{Bytes, BytesMut};

use super::types::{BindType, CloseReason, Event, Role, SessionState};
use super::{FIRST_VERSION_WITH_TLVS, PendingRequest, Session, write_bare};
use crate::codec::{BadCommandLength, Decoded, decode};
use crate::encode::{encode_error_resp, encode_generic_nack};
use crate::timers::Phase;
use crate::{Body, CommandId, CommandStatus, Header, Pdu, tag};

impl<T: Clone> Session<T> {
    /// Takes one frame as cut by `next_frame`; writes the answers that need no decision.
    pub fn on_frame(&mut self, now: Instant, frame: Bytes, out: &mut BytesMut) -> Event<T> {
        self.watch.received(now);
        let Some(header) = Header::parse(&frame) else {
            return Event::Nothing;
        };
        if header.command_id.is_response() {
            return self.on_response(now, &header, &frame);
        }
        match header.command_id {
            CommandId::ENQUIRE_LINK => {
                write_bare(CommandId::ENQUIRE_LINK_RESP, header.sequence, out);
                Event::Nothing
            }
            CommandId::UNBIND => self.on_unbind(&header, out),
            CommandId::BIND_TRANSMITTER
            | CommandId::BIND_RECEIVER
            | CommandId::BIND_TRANSCEIVER => self.on_bind(&header, &frame, out),
            command_id if !command_id.is_known() => {
                refuse(&header, CommandStatus::ESME_RINVCMDID, out)
            }
            _ => self.on_request(&header, &frame, out),
        }
    }

    /// Answers a frame that cannot be cut (§4.3) and ends the session: flush, then close.
    pub fn on_bad_length(&mut self, bad: BadCommandLength, out: &mut BytesMut) -> CloseReason {
        let sequence = bad.header.map_or(0, |header| header.sequence);
        encode_generic_nack(out, sequence, CommandStatus::ESME_RINVCMDLEN);
        self.close();
        CloseReason::BadLength(bad.length)
    }

    fn on_bind(&mut self, header: &Header, frame: &Bytes, out: &mut BytesMut) -> Event<T> {
        if self.config.role == Role::Client {
            return refuse(header, CommandStatus::ESME_RINVBNDSTS, out);
        }
        match self.state {
            SessionState::Open => {}
            SessionState::Binding | SessionState::Bound(_) => {
                return refuse(header, CommandStatus::ESME_RALYBND, out);
            }
            SessionState::Unbinding | SessionState::Leaving | SessionState::Closed => {
                return refuse(header, CommandStatus::ESME_RINVBNDSTS, out);
            }
        }
        let pdu = match decode(frame, &self.config.leniency) {
            Decoded::Pdu(pdu) => pdu,
            Decoded::Malformed(malformed) => return refuse(header, malformed.status, out),
        };
        let (bind_type, bind) = match pdu.body {
            Body::BindTransmitter(bind) => (BindType::Transmitter, bind),
            Body::BindReceiver(bind) => (BindType::Receiver, bind),
            Body::BindTransceiver(bind) => (BindType::Transceiver, bind),
            _ => return refuse(header, CommandStatus::ESME_RINVCMDID, out),
        };
        self.peer_version = bind.interface_version;
        self.pending = Some(PendingRequest::Bind {
            sequence: pdu.sequence,
            bind_type,
        });
        self.state = SessionState::Binding;
        Event::Bind {
            sequence: pdu.sequence,
            bind_type,
            bind,
        }
    }

    fn on_unbind(&mut self, header: &Header, out: &mut BytesMut) -> Event<T> {
        if !matches!(self.state, SessionState::Bound(_) | SessionState::Unbinding) {
            return refuse(header, CommandStatus::ESME_RINVBNDSTS, out);
        }
        self.pending = Some(PendingRequest::PeerUnbind {
            sequence: header.sequence,
        });
        self.state = SessionState::Leaving;
        // The peer has no reason to send anything more, so it gets no enquire_link.
        self.watch.stop();
        Event::Unbind
    }

    fn on_request(&mut self, header: &Header, frame: &Bytes, out: &mut BytesMut) -> Event<T> {
        if !self.may_receive(header.command_id) {
            let is_crossing =
                self.state == SessionState::Unbinding && self.config.role == Role::Server;
            if is_crossing || !header.command_id.has_response() {
                self.counters.dropped += 1;
                return Event::Nothing;
            }
            return refuse(header, CommandStatus::ESME_RINVBNDSTS, out);
        }
        match decode(frame, &self.config.leniency) {
            Decoded::Pdu(pdu) => Event::Request(pdu),
            Decoded::Malformed(malformed) if header.command_id.has_response() => {
                refuse(header, malformed.status, out)
            }
            Decoded::Malformed(_) => {
                self.counters.dropped += 1;
                Event::Nothing
            }
        }
    }

    fn on_response(&mut self, now: Instant, header: &Header, frame: &Bytes) -> Event<T> {
        match self.pending {
            Some(PendingRequest::Unbind { sequence }) if sequence == header.sequence => {
                self.close();
                return Event::Close(CloseReason::UnbindDone);
            }
            Some(PendingRequest::Bind { sequence, .. })
                if sequence == header.sequence && self.config.role == Role::Client =>
            {
                return self.on_bind_resp(now, header, frame);
            }
            _ => {}
        }
        // Any PDU has already reset the watch, so the answer needs no handling.
        if header.command_id == CommandId::ENQUIRE_LINK_RESP {
            return Event::Nothing;
        }
        let Some((entry, late)) = self.window.answered(header.sequence) else {
            self.counters.unsolicited += 1;
            return Event::Nothing;
        };
        let mut pdu = self.read_response(header, frame);
        if pdu.status.is_ok() && !accepts(header.command_id, entry.command_id) {
            self.counters.other_responses += 1;
            pdu.status = CommandStatus::ESME_RUNKNOWNERR;
        }
        Event::Response {
            pdu,
            context: entry.item,
            sent_at: entry.sent_at,
            late,
        }
    }

    fn on_bind_resp(&mut self, now: Instant, header: &Header, frame: &Bytes) -> Event<T> {
        let Some(bind_type) = self.take_pending_bind(header.sequence) else {
            return Event::Nothing;
        };
        let resp = match self.read_response(header, frame).body {
            Body::BindTransmitterResp(resp)
            | Body::BindReceiverResp(resp)
            | Body::BindTransceiverResp(resp) => Some(resp),
            _ => None,
        };
        // Only a bind_resp accepts the bind: a stray response with status 0 on this number does
        // not.
        let status = match &resp {
            None if header.status.is_ok() => CommandStatus::ESME_RBINDFAIL,
            _ => header.status,
        };
        if !status.is_ok() {
            self.state = SessionState::Open;
            self.watch.enter(Phase::Opening, now);
            return Event::BindResult { status, resp };
        }
        let version = resp
            .as_ref()
            .and_then(|resp| resp.tlvs.get_uint(tag::SC_INTERFACE_VERSION));
        self.peer_version = match version {
            Some(version) => u8::try_from(version).unwrap_or(FIRST_VERSION_WITH_TLVS),
            None => FIRST_VERSION_WITH_TLVS,
        }
        // What we did not bind with we do not speak.
        .min(self.config.interface_version);
        self.state = SessionState::Bound(bind_type);
        self.watch.enter(Phase::Bound, now);
        Event::BindResult { status, resp }
    }

    /// A response is worth its status even if its body is not readable: the request is settled.
    fn read_response(&mut self, header: &Header, frame: &Bytes) -> Pdu {
        match decode(frame, &self.config.leniency) {
            Decoded::Pdu(pdu) => pdu,
            Decoded::Malformed(_) => {
                self.counters.unreadable_responses += 1;
                let body = Body::empty(header.command_id).unwrap_or(Body::GenericNack);
                Pdu::response(header.status, header.sequence, body)
            }
        }
    }
}

/// Whether a response of this kind can accept a request: generic_nack says that it was not understood, whatever its
/// command_status (§4.3.1), and a response to another operation says nothing of it.
fn accepts(response: CommandId, request: u32) -> bool {
    request == 0 || response == CommandId(request).response()
}

/// Answers a request with an error and returns the answer.
fn refuse<T>(header: &Header, status: CommandStatus, out: &mut BytesMut) -> Event<T> {
    encode_error_resp(out, header.command_id, header.sequence, status);
    Event::Answered {
        command_id: header.command_id,
        status,
    }
}
