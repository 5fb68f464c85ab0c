//! Programs on this machine that do a part of the work: which of them are there, and for which role.
//!
//! A connection of the local socket enters its program when that says that its service is up. The resolver asks
//! through it, and sessions of operators and networks get their connection from it. Invariants: a program serves one
//! session at a time; what is asked of one that goes away fails at once.

use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use actix::Recipient;
use tokio::sync::oneshot;

use crate::actors::context::addresses::post_to;
use crate::actors::runtime::locks::lock;

/// The role of who knows IMSIs.
pub const IMSI: &str = "imsi";

/// The programs that are up.
#[derive(Default)]
pub struct Handlers {
    up: Mutex<Vec<Arc<Handler>>>,
}

/// A program whose service is up.
pub struct Handler {
    /// The session number of its connection.
    pub session: u64,
    /// `imsi`, or the name of a queue: `operator:ID`, `gsm:NAME`.
    pub role: String,
    /// Who it is, for people.
    pub peer: String,
    pub questions: Recipient<ImsiRequest>,
    pub links: Recipient<PeerLink>,
    /// Whether a session has it.
    is_taken: AtomicBool,
}

/// What is the IMSI of this number? Answered with an empty text if nobody has it.
#[derive(actix::Message)]
#[rtype(result = "()")]
pub struct ImsiRequest {
    pub msisdn: String,
    /// Dropped if the program goes away.
    pub answer: oneshot::Sender<Result<String, String>>,
}

/// The other end of the connection of a session, which speaks the protocol of its peer over it.
#[derive(actix::Message)]
#[rtype(result = "()")]
pub struct PeerLink(pub UnixStream);

// === impl Handler ===

impl Handler {
    pub fn new(
        session: u64,
        role: String,
        peer: String,
        questions: Recipient<ImsiRequest>,
        links: Recipient<PeerLink>,
    ) -> Self {
        Self {
            session,
            role,
            peer,
            questions,
            links,
            is_taken: AtomicBool::new(false),
        }
    }

    /// Its session is over: it may have another one.
    pub fn is_free_again(&self) {
        self.is_taken.store(false, Ordering::Release);
    }
}

// === impl Handlers ===

impl Handlers {
    /// The service of a program is up.
    pub fn came(&self, handler: Arc<Handler>) {
        lock(&self.up).push(handler);
    }

    /// The service of a program is gone, or its connection.
    pub fn left(&self, session: u64) {
        lock(&self.up).retain(|handler| handler.session != session);
    }

    /// Connects a session to a program of its role that has none; with who that is.
    ///
    /// # Errors
    /// None is up, or the system gives no sockets.
    pub fn connect(&self, role: &str) -> Result<(UnixStream, String), String> {
        let why = |error: std::io::Error| format!("local: {error}");
        let (ours, theirs) = UnixStream::pair().map_err(why)?;
        for end in [&ours, &theirs] {
            end.set_nonblocking(true).map_err(why)?;
        }
        let Some(handler) = self.take(role) else {
            return Err(format!("local: no program with the role {role} is up"));
        };
        post_to(&handler.links, PeerLink(theirs));
        Ok((ours, handler.peer.clone()))
    }

    fn take(&self, role: &str) -> Option<Arc<Handler>> {
        let up = lock(&self.up);
        up.iter()
            .filter(|handler| handler.role == role)
            .find(|handler| !handler.is_taken.swap(true, Ordering::AcqRel))
            .cloned()
    }

    /// Asks for the IMSI of a number.
    ///
    /// # Errors
    /// Why that is not known now.
    pub async fn ask(&self, msisdn: String) -> Result<String, String> {
        let (answer, answered) = oneshot::channel();
        {
            let up = lock(&self.up);
            let Some(handler) = up.iter().find(|handler| handler.role == IMSI) else {
                return Err("no program with the role imsi is up".to_owned());
            };
            post_to(&handler.questions, ImsiRequest { msisdn, answer });
        }
        let gone = |_| Err("the program has gone away".to_owned());
        answered.await.unwrap_or_else(gone)
    }
}
