//! One connection to a simulated operator: socket, bind, and the PDUs that are not messages.
//!
//! Run by the accept loop, one task each. A turn reads what the socket has, handles every frame,
//! and writes once. Every well-framed request is answered, in the right state and on its sequence
//! number; only broken framing ends the connection. When it ends, receipts that were not
//! acknowledged go to the hub.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::net::TcpStream;

use super::SimulatorShared;
use super::counters::add;
use super::hub::Inbox;
use super::options::TcpBehaviour;
use super::traffic::{Now, SubmitOperation, Traffic};
use super::wire::SimulatorWire;
use crate::table::at;
use smsc_host::clock;
use smsc_smpp::codec::{Decoded, MalformedPdu, decode, encode_generic_nack};
use smsc_smpp::{
    BadCommandLength, BindRequest, BindResp, Body, CommandId, CommandStatus, Leniency, Pdu, Tlvs,
    encode_empty_resp, tag,
};

/// Our name in bind answers.
const SYSTEM_ID: &[u8] = b"simulator";
/// sc_interface_version: SMPP 3.4.
const INTERFACE_VERSION: u8 = 0x34;
/// How long a peer may take to read our last answers.
const FAREWELL: Duration = Duration::from_secs(1);

/// State of one connection.
struct SimulatorConnection {
    shared: Arc<SimulatorShared>,
    wire: SimulatorWire,
    bound: Option<Bound>,
    traffic: Traffic,
    leniency: Leniency,
    /// Answers written in this turn, which a cut takes with it.
    answers: u64,
}

/// What a successful bind allows.
struct Bound {
    system_id: Bytes,
    transmits: bool,
    /// Present on binds that receive.
    inbox: Option<Arc<Inbox>>,
}

/// Why a connection ends.
enum ConnectionEnd {
    /// Finished: closed by the peer, or by us.
    Now,
    /// After what is in the buffer has been written.
    AfterFlush,
}

/// Serves one connection until it ends.
pub(super) async fn serve(shared: Arc<SimulatorShared>, stream: TcpStream) {
    add(&shared.counters.connections, 1);
    if shared.options.door != TcpBehaviour::Open {
        return;
    }
    let Ok(wire) = SimulatorWire::new(stream) else {
        return;
    };
    let mut connection = SimulatorConnection {
        traffic: Traffic::new(shared.clone()),
        shared,
        wire,
        bound: None,
        leniency: Leniency::default(),
        answers: 0,
    };
    if let ConnectionEnd::AfterFlush = connection.run().await {
        // A peer that does not read our last words does not get them.
        let _ = tokio::time::timeout(FAREWELL, connection.wire.drain()).await;
    }
    connection.end();
}

// === impl SimulatorConnection ===

impl SimulatorConnection {
    async fn run(&mut self) -> ConnectionEnd {
        loop {
            let deadline = self.traffic.next_due();
            let inbox = self.bound.as_ref().and_then(|bound| bound.inbox.as_deref());
            let received = tokio::select! {
                received = self.wire.receive() => Some(received),
                () = filled(inbox) => None,
                () = at(deadline) => None,
            };
            let now = Now {
                instant: Instant::now(),
                unix_ms: clock::now_ms(),
            };
            self.answers = 0;
            let end = match received {
                Some(received) => self.on_received(now, received),
                None => None,
            };
            self.turn(now);
            if let Some(end) = end {
                return end;
            }
        }
    }

    /// Everything that a turn does besides reading frames.
    fn turn(&mut self, now: Now) {
        self.traffic.on_tick(now, &mut self.wire.output);
        match &self.bound {
            Some(Bound {
                inbox: Some(inbox), ..
            }) => {
                self.traffic.adopt(now, inbox.take());
                self.traffic.deliver(now, &mut self.wire.output);
            }
            Some(bound) => {
                let elsewhere = self.traffic.take_deliveries();
                self.shared.hub.forward(&bound.system_id, elsewhere);
            }
            None => {}
        }
        self.traffic.flush_journal();
    }

    fn on_received(&mut self, now: Now, received: io::Result<bool>) -> Option<ConnectionEnd> {
        if !received.unwrap_or(false) {
            return Some(ConnectionEnd::Now);
        }
        loop {
            match self.wire.next_frame() {
                Ok(Some(frame)) => {
                    if let Some(end) = self.on_frame(now, &frame) {
                        return Some(end);
                    }
                }
                Ok(None) => return None,
                Err(BadCommandLength { header, .. }) => {
                    add(&self.shared.counters.malformed, 1);
                    let sequence = header.map_or(0, |header| header.sequence);
                    let status = CommandStatus::ESME_RINVCMDLEN;
                    encode_generic_nack(&mut self.wire.output, sequence, status);
                    return Some(ConnectionEnd::AfterFlush);
                }
            }
        }
    }

    fn on_frame(&mut self, now: Now, frame: &Bytes) -> Option<ConnectionEnd> {
        let pdu = match decode(frame, &self.leniency) {
            Decoded::Pdu(pdu) => pdu,
            Decoded::Malformed(malformed) => {
                self.on_malformed(&malformed);
                return None;
            }
        };
        match &pdu.body {
            Body::SubmitSm(message) => {
                return self.on_message(now, SubmitOperation::SubmitSm, &pdu, message);
            }
            Body::DeliverSm(message) => {
                return self.on_message(now, SubmitOperation::DeliverSm, &pdu, message);
            }
            Body::DeliverSmResp(_) | Body::GenericNack => {
                self.traffic
                    .on_delivery_answer(now, pdu.sequence, pdu.status);
            }
            Body::EnquireLink => {
                add(&self.shared.counters.enquire_links, 1);
                self.answer_empty(
                    CommandId::ENQUIRE_LINK,
                    pdu.sequence,
                    CommandStatus::ESME_ROK,
                );
            }
            Body::Unbind => {
                self.answer_empty(CommandId::UNBIND, pdu.sequence, CommandStatus::ESME_ROK);
                return Some(ConnectionEnd::AfterFlush);
            }
            Body::BindTransmitter(bind)
            | Body::BindReceiver(bind)
            | Body::BindTransceiver(bind) => self.on_bind(&pdu, bind),
            other => {
                let command_id = other.command_id();
                if !command_id.is_response() {
                    self.answer_empty(command_id, pdu.sequence, CommandStatus::ESME_RINVCMDID);
                }
            }
        }
        None
    }

    fn on_message(
        &mut self,
        now: Now,
        operation: SubmitOperation,
        pdu: &Pdu,
        message: &smsc_smpp::SubmitSm,
    ) -> Option<ConnectionEnd> {
        if !self.bound.as_ref().is_some_and(|bound| bound.transmits) {
            let status = CommandStatus::ESME_RINVBNDSTS;
            self.answer_empty(pdu.command_id(), pdu.sequence, status);
            return None;
        }
        self.answers += 1;
        let out = &mut self.wire.output;
        if self
            .traffic
            .on_message(now, operation, pdu.sequence, message, out)
        {
            return None;
        }
        add(&self.shared.counters.cuts, 1);
        Some(ConnectionEnd::Now)
    }

    fn on_bind(&mut self, pdu: &Pdu, bind: &BindRequest) {
        let (transmits, receives) = match pdu.body {
            Body::BindTransmitter(_) => (true, false),
            Body::BindReceiver(_) => (false, true),
            _ => (true, true),
        };
        let status = self.judge_bind(bind, transmits && receives);
        let counters = &self.shared.counters;
        if !status.is_ok() {
            add(&counters.binds_refused, 1);
            return self.answer_empty(pdu.command_id(), pdu.sequence, status);
        }
        add(&counters.binds, 1);
        // The name is kept for as long as the bind lasts: not in the read buffer.
        let system_id = Bytes::copy_from_slice(&bind.system_id);
        let mut tlvs = Tlvs::new();
        tlvs.push(tag::SC_INTERFACE_VERSION, &[INTERFACE_VERSION]);
        let answer = BindResp {
            system_id: Bytes::from_static(SYSTEM_ID),
            tlvs,
        };
        let body = match pdu.body {
            Body::BindTransmitter(_) => Body::BindTransmitterResp(answer),
            Body::BindReceiver(_) => Body::BindReceiverResp(answer),
            _ => Body::BindTransceiverResp(answer),
        };
        Pdu::response(status, pdu.sequence, body).encode(&mut self.wire.output);
        self.bound = Some(Bound {
            inbox: receives.then(|| self.shared.hub.join(&system_id)),
            system_id,
            transmits,
        });
    }

    fn judge_bind(&self, bind: &BindRequest, transceiver: bool) -> CommandStatus {
        let options = &self.shared.options;
        let differs = |wanted: &Option<String>, given: &Bytes| {
            wanted
                .as_ref()
                .is_some_and(|wanted| wanted.as_bytes() != given)
        };
        if self.bound.is_some() {
            CommandStatus::ESME_RALYBND
        } else if transceiver && !options.transceiver {
            CommandStatus::ESME_RINVCMDID
        } else if differs(&options.system_id, &bind.system_id) {
            CommandStatus::ESME_RINVSYSID
        } else if differs(&options.password, &bind.password) {
            CommandStatus::ESME_RINVPASWD
        } else {
            CommandStatus::ESME_ROK
        }
    }

    fn on_malformed(&mut self, malformed: &MalformedPdu) {
        add(&self.shared.counters.malformed, 1);
        let header = malformed.header;
        if !header.command_id.is_response() {
            self.answer_empty(header.command_id, header.sequence, malformed.status);
        }
    }

    /// An answer that is its header; generic_nack for a request that has none of its own.
    fn answer_empty(&mut self, request: CommandId, sequence: u32, status: CommandStatus) {
        let command_id = match request.response() {
            known if known.is_known() => known,
            _ => CommandId::GENERIC_NACK,
        };
        encode_empty_resp(&mut self.wire.output, command_id, sequence, status);
    }

    fn end(mut self) {
        let mut lost = self.traffic.answers_waiting() as u64;
        if !self.wire.output.is_empty() {
            lost += self.answers;
        }
        add(&self.shared.counters.answers_lost, lost);
        let left = self.traffic.take_deliveries();
        match self.bound {
            Some(Bound {
                system_id,
                inbox: Some(inbox),
                ..
            }) => self.shared.hub.leave(&system_id, &inbox, left),
            Some(bound) => self.shared.hub.forward(&bound.system_id, left),
            None => {}
        }
    }
}

/// Waits for others to put something in, for ever on binds that do not receive.
async fn filled(inbox: Option<&Inbox>) {
    match inbox {
        Some(inbox) => inbox.filled().await,
        None => std::future::pending().await,
    }
}
