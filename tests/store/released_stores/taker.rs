//! An operator that accepts everything, and sends receipts for earlier and new messages.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use smsc::smpp::{Body, CommandId, CommandStatus, Pdu, SubmitSmResp};

use crate::harness::{FakeOperator, Peer, PeerError, pdu, receipt};

/// How often it checks whether to end.
const LOOK: Duration = Duration::from_millis(20);
/// Sequence numbers of receipts for new messages are above this.
const FIRST: u32 = 10_000;

/// The operator; stops when dropped.
pub struct Taker {
    address: SocketAddr,
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

// === impl Taker ===

impl Taker {
    /// Listens; `before` are its ids of messages that it has accepted before.
    pub fn start(name: &str, before: Vec<String>) -> Self {
        let operator = FakeOperator::listen();
        let address = operator.address();
        let ended = Arc::new(AtomicBool::new(false));
        let (name, for_thread) = (name.to_owned(), Arc::clone(&ended));
        let thread = std::thread::spawn(move || {
            let mut taken = 0;
            while !for_thread.load(Ordering::SeqCst) {
                let mut bind = operator.accept();
                // A change of the configuration may end a bind, which is followed by another one.
                let _ = serve(&mut bind, &name, &before, &mut taken, &for_thread);
            }
        });
        Self {
            address,
            ended,
            thread: Some(thread),
        }
    }

    /// Its address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Taker {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take()
            && !std::thread::panicking()
        {
            thread.join().expect("the operator");
        }
    }
}

/// Answers requests until it is stopped or the connection is closed. Receipts for earlier messages are
/// sent again on each bind.
fn serve(
    bind: &mut Peer,
    name: &str,
    before: &[String],
    taken: &mut u32,
    ended: &AtomicBool,
) -> io::Result<()> {
    while !ended.load(Ordering::SeqCst) {
        let pdu = match bind.next(LOOK) {
            Ok(pdu) => pdu,
            Err(PeerError::Silence) => continue,
            Err(PeerError::Closed) => break,
        };
        let respond = |bind: &mut Peer, body| {
            let mut out = BytesMut::new();
            Pdu::response(CommandStatus::ESME_ROK, pdu.sequence, body).encode(&mut out);
            bind.try_send(&out)
        };
        match pdu.body {
            Body::BindTransceiver(_) => {
                let answer = Body::empty(CommandId::BIND_TRANSCEIVER_RESP);
                respond(bind, answer.expect("a known command"))?;
                for (number, id) in (1..).zip(before) {
                    deliver(bind, number, id)?;
                }
            }
            Body::SubmitSm(_) => {
                *taken += 1;
                let id = format!("{name}-{taken}");
                let answer = SubmitSmResp {
                    message_id: Bytes::copy_from_slice(id.as_bytes()),
                    ..SubmitSmResp::default()
                };
                respond(bind, Body::SubmitSmResp(answer))?;
                deliver(bind, FIRST + *taken, &id)?;
            }
            Body::EnquireLink | Body::Unbind => {
                let is_unbind = pdu.body == Body::Unbind;
                let answer = if is_unbind {
                    CommandId::UNBIND_RESP
                } else {
                    CommandId::ENQUIRE_LINK_RESP
                };
                respond(bind, Body::empty(answer).expect("a known command"))?;
                if is_unbind {
                    break;
                }
            }
            // Responses to receipts.
            _ => {}
        }
    }
    Ok(())
}

/// Sends a receipt.
fn deliver(bind: &mut Peer, sequence: u32, id: &str) -> io::Result<()> {
    let told = receipt(&format!("id:{id} stat:DELIVRD err:000"));
    bind.try_send(&pdu(sequence, Body::DeliverSm(told)))
}
