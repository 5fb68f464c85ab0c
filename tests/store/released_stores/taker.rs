//! An operator that accepts everything, and sends receipts: for what it had accepted before, and for
//! what it accepts now.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use smsc::smpp::{Body, CommandId, CommandStatus, Pdu, SubmitSmResp};

use crate::harness::{FakeOperator, Peer, PeerError, pdu, receipt};

/// How often it looks whether it is to end.
const LOOK: Duration = Duration::from_millis(20);
/// Sequence numbers of receipts for what is accepted now begin above this.
const FIRST: u32 = 10_000;

/// Ends with its value.
pub struct Taker {
    address: SocketAddr,
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

// === impl Taker ===

impl Taker {
    /// Listens; its receipts are for `before`, its own ids of what it has accepted already.
    pub fn start(name: &str, before: Vec<String>) -> Self {
        let operator = FakeOperator::listen();
        let address = operator.address();
        let ended = Arc::new(AtomicBool::new(false));
        let (name, for_thread) = (name.to_owned(), Arc::clone(&ended));
        let thread = std::thread::spawn(move || {
            let mut taken = 0;
            while !for_thread.load(Ordering::SeqCst) {
                let mut bind = operator.accept();
                // A bind may end, as the configuration changes: then there is another one.
                let _ = serve(&mut bind, &name, &before, &mut taken, &for_thread);
            }
        });
        Self {
            address,
            ended,
            thread: Some(thread),
        }
    }

    /// Where it listens.
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

/// Answers what comes, until it is to end or the connection has gone. Receipts for earlier messages are
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
                let answer = match is_unbind {
                    true => CommandId::UNBIND_RESP,
                    false => CommandId::ENQUIRE_LINK_RESP,
                };
                respond(bind, Body::empty(answer).expect("a known command"))?;
                if is_unbind {
                    break;
                }
            }
            // Answers to receipts.
            _ => {}
        }
    }
    Ok(())
}

/// A receipt.
fn deliver(bind: &mut Peer, sequence: u32, id: &str) -> io::Result<()> {
    let told = receipt(&format!("id:{id} stat:DELIVRD err:000"));
    bind.try_send(&pdu(sequence, Body::DeliverSm(told)))
}
