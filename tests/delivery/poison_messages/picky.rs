//! Peers that end the session on some messages, or fall silent.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use smsc::smpp::{Body, CommandId, SubmitSm};

use super::counted;
use crate::harness::{FakeOperator, Peer, PeerError, accept, serve_binds};

/// Between two looks of a peer at its connections.
const LOOK: Duration = Duration::from_millis(10);
/// Most PDUs that are read of one connection before the others have their turn.
const TURN: usize = 100;

/// What a peer does with a message that it cannot read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    Closes,
    /// It keeps the connection, and answers nothing any more.
    FallsSilent,
}

/// When an operator answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerTime {
    AtOnce,
    /// When it has read all that has come.
    Late,
}

/// An operator that ends the session on some messages, and accepts all others.
pub struct Picky {
    pub address: SocketAddr,
    shared: Arc<PickyOperatorState>,
    thread: Option<JoinHandle<()>>,
}

struct PickyOperatorState {
    is_poison: Box<dyn Fn(&SubmitSm) -> bool + Send + Sync>,
    manner: Manner,
    answers: AnswerTime,
    /// Whether it ends sessions at all.
    is_picky: AtomicBool,
    /// The texts that came, in order.
    came: Mutex<Vec<String>>,
    sessions: AtomicUsize,
    /// Connections on which it is silent.
    silent: Mutex<Vec<Peer>>,
    ended: AtomicBool,
}

impl Picky {
    /// One that ends the session on these.
    pub fn on(is_poison: impl Fn(&SubmitSm) -> bool + Send + Sync + 'static) -> Self {
        Self::with(Manner::Closes, AnswerTime::AtOnce, is_poison)
    }

    /// One that ends the session on this text.
    pub fn on_text(text: &'static str) -> Self {
        Self::on(move |message| message.short_message == text.as_bytes())
    }

    pub fn with(
        manner: Manner,
        answers: AnswerTime,
        is_poison: impl Fn(&SubmitSm) -> bool + Send + Sync + 'static,
    ) -> Self {
        let operator = FakeOperator::listen();
        let address = operator.address();
        let shared = Arc::new(PickyOperatorState {
            is_poison: Box::new(is_poison),
            manner,
            answers,
            is_picky: AtomicBool::new(true),
            came: Mutex::default(),
            sessions: AtomicUsize::new(0),
            silent: Mutex::default(),
            ended: AtomicBool::new(false),
        });
        let theirs = Arc::clone(&shared);
        let thread = std::thread::spawn(move || {
            serve_binds(&operator, &theirs.ended, |bind| theirs.attend(bind));
        });
        Self {
            address,
            shared,
            thread: Some(thread),
        }
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

impl PickyOperatorState {
    /// Reads what has arrived, and answers it; gives the connection back unless the session is over.
    fn attend(&self, mut bind: Peer) -> Option<Peer> {
        let mut unanswered = Vec::new();
        for _ in 0..TURN {
            let pdu = match bind.next(LOOK) {
                Ok(pdu) => pdu,
                Err(PeerError::Silence) => break,
                Err(PeerError::Closed) => return None,
            };
            match pdu.body {
                Body::BindTransceiver(_) => {
                    self.sessions.fetch_add(1, Ordering::SeqCst);
                    bind.acknowledge(CommandId::BIND_TRANSCEIVER_RESP, pdu.sequence);
                }
                Body::EnquireLink => bind.acknowledge(CommandId::ENQUIRE_LINK_RESP, pdu.sequence),
                Body::SubmitSm(message) => {
                    let text = String::from_utf8_lossy(&message.short_message).into_owned();
                    self.came.lock().unwrap().push(text);
                    if self.is_picky.load(Ordering::SeqCst) && (self.is_poison)(&message) {
                        if self.manner == Manner::FallsSilent {
                            self.silent.lock().unwrap().push(bind);
                        }
                        return None;
                    }
                    unanswered.push(pdu.sequence);
                }
                _ => {}
            }
            if self.answers == AnswerTime::AtOnce {
                self.answer(&mut bind, &mut unanswered);
            }
        }
        self.answer(&mut bind, &mut unanswered);
        Some(bind)
    }

    fn answer(&self, bind: &mut Peer, unanswered: &mut Vec<u32>) {
        let came = self.came.lock().unwrap().len();
        for sequence in unanswered.drain(..) {
            accept(bind, sequence, &format!("id{came}-{sequence}"));
        }
    }
}

/// An ESME that ends its session on some messages, and binds again, until this is dropped.
pub struct PickyEsme {
    came: Arc<Mutex<Vec<SubmitSm>>>,
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl PickyEsme {
    pub fn on(
        address: SocketAddr,
        manner: Manner,
        is_poison: impl Fn(&SubmitSm) -> bool + Send + 'static,
    ) -> Self {
        let (came, ended) = (Arc::default(), Arc::new(AtomicBool::new(false)));
        let (theirs, told) = (Arc::clone(&came), Arc::clone(&ended));
        let thread = std::thread::spawn(move || {
            let mut silent = Vec::new();
            while !told.load(Ordering::SeqCst) {
                let bind = serve_esme(address, &theirs, &told, &is_poison);
                silent.extend((manner == Manner::FallsSilent).then_some(bind));
            }
        });
        Self {
            came,
            ended,
            thread: Some(thread),
        }
    }

    /// How often each text came.
    pub fn came(&self) -> BTreeMap<String, usize> {
        let came = self.came.lock().unwrap();
        let text = |one: &SubmitSm| String::from_utf8_lossy(&one.short_message).into_owned();
        counted(came.iter().map(text))
    }
}

impl Drop for PickyEsme {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Binds and answers until a message comes that is poison, the session is over, or it is told to end.
fn serve_esme(
    address: SocketAddr,
    came: &Mutex<Vec<SubmitSm>>,
    told: &AtomicBool,
    is_poison: impl Fn(&SubmitSm) -> bool,
) -> Peer {
    let mut bind = Peer::bind(address, "test", "test").lenient();
    loop {
        match bind.next(LOOK) {
            Err(PeerError::Silence) if !told.load(Ordering::SeqCst) => {}
            Err(_) => return bind,
            Ok(pdu) => match pdu.body {
                Body::DeliverSm(message) => {
                    came.lock().unwrap().push(message.clone());
                    if is_poison(&message) {
                        return bind;
                    }
                    bind.acknowledge(CommandId::DELIVER_SM_RESP, pdu.sequence);
                }
                Body::EnquireLink => bind.acknowledge(CommandId::ENQUIRE_LINK_RESP, pdu.sequence),
                _ => {}
            },
        }
    }
}
