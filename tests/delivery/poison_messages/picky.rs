//! Peers that end the session on some messages.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use smsc::smpp::{Body, CommandId, SubmitSm};

use super::counted;
use crate::harness::{FakeOperator, Peer, PeerError, accept};

/// Between two looks of a peer at its connections.
const LOOK: Duration = Duration::from_millis(10);

/// An operator that ends the session on some messages, and accepts all others.
pub struct Picky {
    pub address: SocketAddr,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    is_poison: Box<dyn Fn(&SubmitSm) -> bool + Send + Sync>,
    /// Whether it ends sessions at all.
    is_picky: AtomicBool,
    /// The texts that came, in order.
    came: Mutex<Vec<String>>,
    sessions: AtomicUsize,
    ended: AtomicBool,
}

impl Picky {
    /// One that ends the session on these.
    pub fn on(is_poison: impl Fn(&SubmitSm) -> bool + Send + Sync + 'static) -> Self {
        let operator = FakeOperator::listen();
        let address = operator.address();
        let shared = Arc::new(Shared {
            is_poison: Box::new(is_poison),
            is_picky: AtomicBool::new(true),
            came: Mutex::default(),
            sessions: AtomicUsize::new(0),
            ended: AtomicBool::new(false),
        });
        let theirs = Arc::clone(&shared);
        let thread = std::thread::spawn(move || theirs.serve(&operator));
        Self {
            address,
            shared,
            thread: Some(thread),
        }
    }

    /// One that ends the session on this text.
    pub fn on_text(text: &'static str) -> Self {
        Self::on(move |message| message.short_message == text.as_bytes())
    }

    /// How often each text came.
    pub fn came(&self) -> BTreeMap<String, usize> {
        counted(self.shared.came.lock().unwrap().iter().cloned())
    }

    /// The texts that came, in order.
    pub fn order(&self) -> Vec<String> {
        self.shared.came.lock().unwrap().clone()
    }

    /// How many sessions were bound.
    pub fn sessions(&self) -> usize {
        self.shared.sessions.load(Ordering::SeqCst)
    }

    /// From now on it ends no session.
    pub fn takes_everything(&self) {
        self.shared.is_picky.store(false, Ordering::SeqCst);
    }
}

impl Drop for Picky {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Shared {
    #[expect(clippy::disallowed_methods, reason = "a thread of its own")]
    fn serve(&self, operator: &FakeOperator) {
        let mut binds: Vec<Peer> = Vec::new();
        while !self.ended.load(Ordering::SeqCst) {
            binds.extend(operator.try_accept());
            if binds.is_empty() {
                std::thread::sleep(LOOK);
            }
            binds.retain_mut(|bind| self.attend(bind));
        }
    }

    /// Answers what has arrived; false when the session is over.
    fn attend(&self, bind: &mut Peer) -> bool {
        let pdu = match bind.next(LOOK) {
            Ok(pdu) => pdu,
            Err(PeerError::Silence) => return true,
            Err(PeerError::Closed) => return false,
        };
        match pdu.body {
            Body::BindTransceiver(_) => {
                self.sessions.fetch_add(1, Ordering::SeqCst);
                bind.acknowledge(CommandId::BIND_TRANSCEIVER_RESP, pdu.sequence);
            }
            Body::EnquireLink => bind.acknowledge(CommandId::ENQUIRE_LINK_RESP, pdu.sequence),
            Body::SubmitSm(message) => {
                let text = String::from_utf8_lossy(&message.short_message).into_owned();
                let mut came = self.came.lock().unwrap();
                came.push(text);
                if self.is_picky.load(Ordering::SeqCst) && (self.is_poison)(&message) {
                    return false;
                }
                accept(bind, pdu.sequence, &format!("id{}", came.len()));
            }
            _ => {}
        }
        true
    }
}

/// A session of an ESME that ends on some messages, and binds again, until it is told to end.
pub fn picky_esme(
    address: SocketAddr,
    came: Arc<Mutex<Vec<SubmitSm>>>,
    ended: Arc<AtomicBool>,
    is_poison: impl Fn(&SubmitSm) -> bool + Send + 'static,
) -> JoinHandle<()> {
    std::thread::spawn(move || {
        while !ended.load(Ordering::SeqCst) {
            let mut bind = Peer::bind(address, "test", "test").lenient();
            loop {
                match bind.next(LOOK) {
                    Err(PeerError::Silence) if ended.load(Ordering::SeqCst) => return,
                    Err(PeerError::Silence) => {}
                    Err(PeerError::Closed) => break,
                    Ok(pdu) => match pdu.body {
                        Body::DeliverSm(message) => {
                            came.lock().unwrap().push(message.clone());
                            if is_poison(&message) {
                                break;
                            }
                            bind.acknowledge(CommandId::DELIVER_SM_RESP, pdu.sequence);
                        }
                        Body::EnquireLink => {
                            bind.acknowledge(CommandId::ENQUIRE_LINK_RESP, pdu.sequence);
                        }
                        _ => {}
                    },
                }
            }
        }
    })
}
