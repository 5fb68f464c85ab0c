//! The end of an operator's session: an SMSC to it, whose messages a program delivers, one at a time.
//!
//! Speaks SMPP 3.4 with the session, which is ours. What the program says becomes submit_sm_resp, receipts and
//! deliver_sm.

use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::sync::oneshot;
use tokio::time::interval;

use super::ends::{Brought, Ends, Handled};
use crate::clock;
use crate::domain::state;
use crate::pb::local::{
    Delivered, FromPeer, Reason, Report, Short, ToPeer, from_smsc, not_delivered, to_smsc,
};
use crate::smpp::receipt::{ReceiptText, format, state_word};
use crate::smpp::session::{Event, Role, Session, SessionConfig};
use crate::smpp::timers::Timers;
use crate::smpp::{
    Body, CommandStatus, DEFAULT_MAX_PDU, SubmitSm, Tlvs, encode_deliver_sm, encode_error_resp,
    encode_submit_sm_resp, next_frame, tag,
};

/// How often the clock is looked at.
const TICK: Duration = Duration::from_millis(500);
/// Requests of the program that may be under way: more are bounded before.
const WINDOW: usize = 4_096;
/// esm_class of a receipt, and its bit of a user data header (SMPP 3.4 §5.2.12).
const RECEIPT: u8 = 0x04;
const UDHI: u8 = 0x40;
/// registered_delivery: the bits that ask for a receipt (§5.2.17).
const RECEIPT_BITS: u8 = 0b11;
/// Longest short_message (§5.2.22).
const SHORT: usize = 254;
/// Longest id of the program.
const MAX_ID: usize = 64;

/// One session.
struct Peer<'e> {
    ends: &'e mut Ends,
    /// Requests to the session have the number of the program's; 0 for receipts that nobody waits for.
    session: Session<u64>,
    out: BytesMut,
    /// The message that the program has.
    under_way: Option<UnderWay>,
    /// To tell the ids that we give apart, in this process and from those of others.
    since: i64,
    given: u64,
}

struct UnderWay {
    sequence: u32,
    destination: Bytes,
    wants_receipt: bool,
    answer: oneshot::Receiver<Handled>,
}

/// Serves a session until it is over.
pub(super) async fn serve(mut stream: UnixStream, ends: &mut Ends) {
    let config = SessionConfig {
        role: Role::Server,
        window: WINDOW,
        timers: Timers {
            inactivity: Duration::ZERO,
            ..Timers::default()
        },
        system_id: Bytes::from_static(b"local"),
        ..SessionConfig::default()
    };
    let mut peer = Peer {
        ends,
        session: Session::new(config, Instant::now()),
        out: BytesMut::new(),
        under_way: None,
        since: clock::now_ms(),
        given: 0,
    };
    let mut read = BytesMut::new();
    let mut tick = interval(TICK);
    loop {
        if stream.write_all_buf(&mut peer.out).await.is_err() {
            return;
        }
        let goes_on = tokio::select! {
            octets = stream.read_buf(&mut read) => match octets {
                Ok(0) | Err(_) => false,
                Ok(_) => peer.on_octets(&mut read),
            },
            handled = answer_of(&mut peer.under_way) => peer.handled(handled),
            brought = peer.ends.brought.recv() => match brought {
                Some(brought) => peer.bring(brought),
                None => false,
            },
            _ = tick.tick() => peer.session.on_tick(Instant::now(), &mut peer.out).close.is_none(),
        };
        if !goes_on {
            // The last words of a session, such as an unbind_resp.
            let _ = stream.write_all_buf(&mut peer.out).await;
            return;
        }
    }
}

/// What the program has done; never, if it has nothing to do.
async fn answer_of(under_way: &mut Option<UnderWay>) -> Option<Handled> {
    match under_way {
        Some(one) => (&mut one.answer).await.ok(),
        None => std::future::pending().await,
    }
}

// === impl Peer ===

impl Peer<'_> {
    /// False when the session is over.
    fn on_octets(&mut self, read: &mut BytesMut) -> bool {
        while let Ok(Some(frame)) = next_frame(read, DEFAULT_MAX_PDU) {
            let event = self.session.on_frame(Instant::now(), frame, &mut self.out);
            match event {
                Event::Bind { sequence, .. } => {
                    self.session
                        .accept_bind(Instant::now(), sequence, &mut self.out);
                }
                Event::Request(pdu) => match pdu.body {
                    Body::SubmitSm(message) => self.deliver(pdu.sequence, &message),
                    other => {
                        let status = CommandStatus::ESME_RINVCMDID;
                        encode_error_resp(&mut self.out, other.command_id(), pdu.sequence, status);
                    }
                },
                Event::Response { pdu, context, .. } => self.answered(context, pdu.status),
                Event::Unbind => {
                    self.session.answer_unbind(&mut self.out);
                    return false;
                }
                Event::Close(_) => return false,
                Event::Nothing | Event::BindResult { .. } | Event::Answered { .. } => {}
            }
        }
        true
    }

    /// A message for the peer.
    fn deliver(&mut self, sequence: u32, message: &SubmitSm) {
        if self.under_way.is_some() {
            // The session has given up the one before, and the program has not.
            return self.refuse(sequence, CommandStatus::ESME_RX_T_APPN);
        }
        let payload = message.tlvs.get(tag::MESSAGE_PAYLOAD);
        let text = |octets: &Bytes| String::from_utf8_lossy(octets).into_owned();
        let short = Short {
            from: text(&message.source_addr),
            from_ton: message.source_addr_ton.into(),
            from_npi: message.source_addr_npi.into(),
            to: text(&message.destination_addr),
            to_ton: message.dest_addr_ton.into(),
            to_npi: message.dest_addr_npi.into(),
            esm_class: message.esm_class.into(),
            protocol_id: message.protocol_id.into(),
            data_coding: message.data_coding.into(),
            octets: match payload {
                Some(payload) => Bytes::copy_from_slice(payload),
                None => message.short_message.clone(),
            },
        };
        let wants_receipt = message.registered_delivery & RECEIPT_BITS != 0;
        let what = from_smsc::What::ToPeer(ToPeer {
            message: Some(short),
            receipt: wants_receipt,
        });
        self.under_way = Some(UnderWay {
            sequence,
            destination: message.destination_addr.clone(),
            wants_receipt,
            answer: self.ends.ask(what),
        });
    }

    /// The program has answered; nothing when it is gone.
    fn handled(&mut self, handled: Option<Handled>) -> bool {
        let Some(one) = self.under_way.take() else {
            return true;
        };
        match handled {
            None => return false,
            Some(Handled::Delivered(delivered)) => self.delivered(&one, delivered),
            Some(Handled::NotDelivered(refused)) => {
                let status = match refused.cause {
                    Some(not_delivered::Cause::CommandStatus(status)) if status != 0 => {
                        CommandStatus(status)
                    }
                    _ => CommandStatus::ESME_RX_T_APPN,
                };
                self.refuse(one.sequence, status);
            }
            Some(Handled::Failed(detail)) => {
                tracing::debug!(detail, "a program has not delivered a message");
                self.refuse(one.sequence, CommandStatus::ESME_RX_T_APPN);
            }
        }
        true
    }

    fn delivered(&mut self, one: &UnderWay, delivered: Delivered) {
        let Delivered { mut id, later } = delivered;
        id.retain(|one| one.is_ascii_graphic());
        id.truncate(MAX_ID);
        if id.is_empty() {
            self.given += 1;
            id = format!("{:x}-{}", self.since, self.given);
        }
        let status = CommandStatus::ESME_ROK;
        encode_submit_sm_resp(&mut self.out, one.sequence, status, id.as_bytes());
        if one.wants_receipt && !later {
            let report = Report {
                id,
                state: state::DELIVERED.into(),
                error: String::new(),
            };
            self.tell(0, &report, one.destination.clone());
        }
    }

    fn refuse(&mut self, sequence: u32, status: CommandStatus) {
        encode_submit_sm_resp(&mut self.out, sequence, status, &[]);
    }

    /// What the program has brought.
    fn bring(&mut self, Brought { number, what }: Brought) -> bool {
        match what {
            to_smsc::What::Report(report) => match u8::try_from(report.state) {
                Ok(1..=8) if !report.id.is_empty() => self.tell(number, &report, Bytes::new()),
                _ => {
                    let detail = "a Report needs the id of a message, and a state";
                    self.ends.fail(number, Reason::BadValue, 0, detail);
                }
            },
            to_smsc::What::FromPeer(FromPeer {
                message: Some(short),
            }) => self.submit(number, short),
            _ => {
                let detail = "a handler of this role has no such request";
                self.ends.fail(number, Reason::Unsupported, 0, detail);
            }
        }
        true
    }

    /// A receipt to the session.
    fn tell(&mut self, number: u64, report: &Report, source_addr: Bytes) {
        let state = report.state as u8;
        let delivered = u32::from(state == state::DELIVERED);
        let mut error: String = report
            .error
            .chars()
            .filter(char::is_ascii_graphic)
            .collect();
        error.truncate(3);
        let now = clock::now_ms();
        let text = ReceiptText {
            id: Bytes::copy_from_slice(report.id.as_bytes()),
            sub: 1,
            dlvrd: delivered,
            submit_date_ms: None,
            done_date_ms: Some(now),
            stat: Bytes::from_static(state_word(state).as_bytes()),
            err: match error.is_empty() {
                true => Bytes::from_static(b"000"),
                false => Bytes::from(error),
            },
            text: Bytes::new(),
        };
        let mut tlvs = Tlvs::new();
        let id = [report.id.as_bytes(), b"\0"].concat();
        tlvs.push(tag::RECEIPTED_MESSAGE_ID, &id);
        tlvs.push(tag::MESSAGE_STATE, &[state]);
        let receipt = SubmitSm {
            source_addr,
            esm_class: RECEIPT,
            short_message: format(&text, true).into(),
            tlvs,
            ..SubmitSm::default()
        };
        self.send(number, &receipt);
    }

    /// A message of the peer.
    fn submit(&mut self, number: u64, short: Short) {
        let octet = |value: u32| value as u8;
        let mut message = SubmitSm {
            source_addr_ton: octet(short.from_ton),
            source_addr_npi: octet(short.from_npi),
            source_addr: Bytes::from(short.from),
            dest_addr_ton: octet(short.to_ton),
            dest_addr_npi: octet(short.to_npi),
            destination_addr: Bytes::from(short.to),
            // Only reports are receipts.
            esm_class: octet(short.esm_class) & UDHI,
            protocol_id: octet(short.protocol_id),
            data_coding: octet(short.data_coding),
            ..SubmitSm::default()
        };
        match short.octets.len() <= SHORT {
            true => message.short_message = short.octets,
            false => message.tlvs.push(tag::MESSAGE_PAYLOAD, &short.octets),
        }
        self.send(number, &message);
    }

    fn send(&mut self, number: u64, message: &SubmitSm) {
        let write = |out: &mut BytesMut, sequence| encode_deliver_sm(out, sequence, message);
        let sent = self
            .session
            .send(Instant::now(), number, &mut self.out, write);
        if sent.is_err() && number != 0 {
            let detail = "the session is not bound yet, or too much is under way";
            self.ends.fail(number, Reason::Unavailable, 0, detail);
        }
    }

    /// The session has answered a deliver_sm.
    fn answered(&mut self, number: u64, status: CommandStatus) {
        match (number, status.is_ok()) {
            (0, _) => {}
            (_, true) => self.ends.done(number),
            (_, false) => {
                let detail = format!("{status}");
                self.ends.fail(number, Reason::Refused, status.0, &detail);
            }
        }
    }
}
