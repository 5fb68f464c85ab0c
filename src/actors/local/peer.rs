//! The end of an operator's session: an SMSC to it, whose messages a program delivers, one at a time.
//!
//! Speaks SMPP 3.4 with the session, which is ours. What the program says becomes submit_sm_resp, receipts and
//! deliver_sm.

use std::time::Instant;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::sync::oneshot;
use tokio::time::interval;

use super::ends::{Brought, Ends, Handled};
use crate::actors::session::server_end::{
    READ, TICK, carrying, config, esm_class, receipt, wants_receipt,
};
use crate::clock;
use crate::content::compose::LONGEST;
use crate::pb::local::{
    Delivered, FromPeer, Reason, Report, Short, ToPeer, from_smsc, not_delivered, to_smsc,
};
use crate::smpp::session::{Event, Session};
use crate::smpp::{
    Body, CommandStatus, DEFAULT_MAX_PDU, SubmitSm, encode_deliver_sm, encode_error_resp,
    encode_submit_sm_resp, next_frame,
};

/// Longest error of a receipt (SMPP 3.4 appendix B).
const MAX_ERROR: usize = 3;
/// Longest address (§5.2.8).
const MAX_ADDRESS: usize = 20;
/// Longest id of the program.
const MAX_ID: usize = 64;

/// One session.
struct Peer<'e> {
    ends: &'e mut Ends,
    /// Requests to the session have the number of the program's.
    session: Session<u64>,
    out: BytesMut,
    /// The message that the program has.
    under_way: Option<UnderWay>,
}

struct UnderWay {
    sequence: u32,
    answer: oneshot::Receiver<Handled>,
}

/// Serves a session until it is over.
pub(super) async fn serve(mut stream: UnixStream, ends: &mut Ends) {
    let mut peer = Peer {
        ends,
        session: Session::new(config(Bytes::from_static(b"local")), Instant::now()),
        out: BytesMut::new(),
        under_way: None,
    };
    let mut read = BytesMut::new();
    let mut tick = interval(TICK);
    loop {
        if stream.write_all_buf(&mut peer.out).await.is_err() {
            return;
        }
        read.reserve(READ);
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
            _ = tick.tick() => peer.tick(),
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
        loop {
            let frame = match next_frame(read, DEFAULT_MAX_PDU) {
                Ok(Some(frame)) => frame,
                Ok(None) => return true,
                // Where the next one begins is not known.
                Err(_) => return false,
            };
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
    }

    /// A message for the peer.
    fn deliver(&mut self, sequence: u32, message: &SubmitSm) {
        if self.under_way.is_some() {
            // The session has given up the one before, and the program has not.
            return self.refuse(sequence, CommandStatus::ESME_RX_T_APPN);
        }
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
            octets: message.payload(),
        };
        let what = from_smsc::What::ToPeer(ToPeer {
            message: Some(short),
            receipt: wants_receipt(message),
        });
        self.under_way = Some(UnderWay {
            sequence,
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
            Some(Handled::Failed) => {
                // What it says about that may repeat a number or a text.
                tracing::debug!("a program has not delivered a message");
                self.refuse(one.sequence, CommandStatus::ESME_RX_T_APPN);
            }
        }
        true
    }

    fn delivered(&mut self, one: &UnderWay, delivered: Delivered) {
        // An answer without an id is the end of a message: no report can name it.
        let id = if delivered.later {
            known_as(delivered.id)
        } else {
            String::new()
        };
        let status = CommandStatus::ESME_ROK;
        encode_submit_sm_resp(&mut self.out, one.sequence, status, id.as_bytes());
    }

    fn refuse(&mut self, sequence: u32, status: CommandStatus) {
        encode_submit_sm_resp(&mut self.out, sequence, status, &[]);
    }

    /// What the program has brought.
    fn bring(&mut self, Brought { number, what }: Brought) -> bool {
        match what {
            to_smsc::What::Report(report) => match receipt_of(report) {
                Some(receipt) => self.send(number, &receipt),
                None => {
                    let detail = "a Report needs the id of a message, and a state";
                    self.ends.fail(number, Reason::BadValue, 0, detail);
                }
            },
            to_smsc::What::FromPeer(FromPeer {
                message: Some(short),
            }) => match message_of(short) {
                Ok(message) => self.send(number, &message),
                Err(detail) => self.ends.fail(number, Reason::BadValue, 0, detail),
            },
            _ => {
                let detail = "a handler of this role has no such request";
                self.ends.fail(number, Reason::Unsupported, 0, detail);
            }
        }
        true
    }

    /// False when the session is over.
    fn tick(&mut self) -> bool {
        let tick = self.session.on_tick(Instant::now(), &mut self.out);
        for number in tick.expired {
            self.ends.unanswered(number);
        }
        tick.close.is_none()
    }

    fn send(&mut self, number: u64, message: &SubmitSm) {
        let write = |out: &mut BytesMut, sequence| encode_deliver_sm(out, sequence, message);
        let sent = self
            .session
            .send(Instant::now(), number, &mut self.out, write);
        if sent.is_err() {
            let detail = "the session is not bound yet, or too much is under way";
            self.ends.fail(number, Reason::Unavailable, 0, detail);
        }
    }

    /// The session has answered a deliver_sm.
    fn answered(&mut self, number: u64, status: CommandStatus) {
        if status.is_ok() {
            self.ends.done(number);
        } else {
            let detail = status.to_string();
            self.ends.fail(number, Reason::Refused, status.0, &detail);
        }
    }
}

/// The id of a program's own as the store has it, and a Report finds it again.
fn known_as(mut id: String) -> String {
    id.retain(|one| one.is_ascii_graphic());
    id.truncate(MAX_ID);
    id
}

/// What a report says, as a receipt; `None` if it names no message or no state.
fn receipt_of(report: Report) -> Option<SubmitSm> {
    let id = known_as(report.id);
    let state = u8::try_from(report.state).ok();
    let state = state.filter(|state| (1..=8).contains(state) && !id.is_empty())?;
    let mut error = report.error;
    error.retain(|one| one.is_ascii_graphic());
    error.truncate(MAX_ERROR);
    let error = if error.is_empty() {
        Bytes::from_static(b"000")
    } else {
        Bytes::from(error)
    };
    Some(receipt(&id, state, error, Bytes::new(), clock::now_ms()))
}

/// What a program has brought as deliver_sm, or which field is wrong.
fn message_of(short: Short) -> Result<SubmitSm, &'static str> {
    let octet = |value: u32| u8::try_from(value).map_err(|_| "a number is above 255");
    let is_address = |text: &str| text.len() <= MAX_ADDRESS && !text.contains('\0');
    if !is_address(&short.from) || !is_address(&short.to) {
        return Err("from and to have at most 20 characters");
    }
    if short.octets.len() > LONGEST {
        return Err("octets are more than 60000");
    }
    let message = SubmitSm {
        source_addr_ton: octet(short.from_ton)?,
        source_addr_npi: octet(short.from_npi)?,
        source_addr: Bytes::from(short.from),
        dest_addr_ton: octet(short.to_ton)?,
        dest_addr_npi: octet(short.to_npi)?,
        destination_addr: Bytes::from(short.to),
        // Only reports are receipts.
        esm_class: octet(short.esm_class)? & esm_class(true),
        protocol_id: octet(short.protocol_id)?,
        data_coding: octet(short.data_coding)?,
        ..SubmitSm::default()
    };
    Ok(carrying(message, short.octets))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_names_a_message_as_it_was_taken() {
        let report = |id: &str, state| Report {
            id: id.to_owned(),
            state,
            error: "A 12345".to_owned(),
        };
        let long = "x".repeat(100);
        for id in ["fax 1", &long] {
            let receipt = receipt_of(report(id, 2)).unwrap();
            let found = crate::smpp::receipt::extract(&receipt, 0).unwrap();
            assert_eq!(found.message_id, known_as(id.to_owned()));
            assert_eq!((found.state, &found.error[..]), (2, &b"A12"[..]));
        }
        for (id, state) in [("", 2), (" ", 2), ("1", 0), ("1", 9), ("1", 300), ("1", -1)] {
            assert_eq!(receipt_of(report(id, state)), None, "{id:?} {state}");
        }
    }

    #[test]
    fn what_does_not_fit_is_refused_and_not_cut() {
        let short = || Short {
            from: "447700900123".to_owned(),
            to: "12345".to_owned(),
            ..Short::default()
        };
        assert!(message_of(short()).is_ok());
        for (wrong, said) in [
            (
                Short {
                    from_ton: 257,
                    ..short()
                },
                "above 255",
            ),
            (
                Short {
                    data_coding: 256,
                    ..short()
                },
                "above 255",
            ),
            (
                Short {
                    to: "1".repeat(21),
                    ..short()
                },
                "20 characters",
            ),
            (
                Short {
                    from: "1\x002".to_owned(),
                    ..short()
                },
                "20 characters",
            ),
            (
                Short {
                    octets: vec![0; LONGEST + 1].into(),
                    ..short()
                },
                "60000",
            ),
        ] {
            let error = message_of(wrong).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
    }
}
