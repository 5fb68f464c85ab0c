//! Programs on this machine that do a part of the work: which of them are there, and for which role.
//!
//! A connection of the local socket enters its program when that says that its service is up. The resolver asks
//! through it, and sessions of operators and networks get a link with it. Invariants: a program serves one session at a time;
//! what is asked of one that goes away fails at once; either end of a link sees that the other one is gone.

use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use actix::Recipient;
use bytes::Bytes;
use tokio::sync::{mpsc, oneshot};

use crate::actors::context::addresses::post_to;
use crate::actors::runtime::locks::lock;
use crate::pb::local::ToSmsc;

/// The role of who knows IMSIs.
pub const IMSI: &str = "imsi";

/// What may be on its way over a link: more than may be under way, so that there is always room.
const LINK: usize = 1 << 17;

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
    pub is_taken: AtomicBool,
}

/// What is the IMSI of this number? Answered with an empty text if nobody has it.
#[derive(actix::Message)]
#[rtype(result = "()")]
pub struct ImsiRequest {
    pub msisdn: String,
    /// Dropped if the program goes away.
    pub answer: oneshot::Sender<Result<String, String>>,
}

/// The other end of the link of a session, for the connection of its program.
#[derive(actix::Message)]
#[rtype(result = "()")]
pub enum PeerLink {
    /// A network speaks GSUP over it.
    Gsup(UnixStream),
    /// An operator's session speaks in frames, as the program does.
    Frames(ProgramEnd),
}

/// A session's end of a link in frames.
pub struct SessionEnd {
    /// What the program says.
    pub said: mpsc::Receiver<ToSmsc>,
    /// What it is told: frames of `FromSmsc`, in each piece whole ones.
    pub told: mpsc::Sender<Bytes>,
}

/// The end of the program's connection: the other ends of both.
pub type ProgramEnd = (mpsc::Sender<ToSmsc>, mpsc::Receiver<Bytes>);

/// Both ends of a link in frames.
pub fn ends() -> (SessionEnd, ProgramEnd) {
    let (to_session, said) = mpsc::channel(LINK);
    let (told, to_program) = mpsc::channel(LINK);
    (SessionEnd { said, told }, (to_session, to_program))
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

    /// Gives a session a link with a program of its role that has none; with who that is.
    ///
    /// # Errors
    /// None is up.
    pub fn link(&self, role: &str) -> Result<(SessionEnd, String), String> {
        let (ours, theirs) = ends();
        let peer = self.take(role, PeerLink::Frames(theirs))?;
        Ok((ours, peer))
    }

    /// Connects a network to a program of its role that has none; with who that is.
    ///
    /// # Errors
    /// None is up, or the system gives no sockets.
    pub fn connect(&self, role: &str) -> Result<(UnixStream, String), String> {
        let why = |error: std::io::Error| format!("local: {error}");
        let (ours, theirs) = UnixStream::pair().map_err(why)?;
        for end in [&ours, &theirs] {
            end.set_nonblocking(true).map_err(why)?;
        }
        let peer = self.take(role, PeerLink::Gsup(theirs))?;
        Ok((ours, peer))
    }

    fn take(&self, role: &str, link: PeerLink) -> Result<String, String> {
        let up = lock(&self.up);
        let handler = up
            .iter()
            .filter(|handler| handler.role == role)
            .find(|handler| !handler.is_taken.swap(true, Ordering::AcqRel))
            .ok_or_else(|| format!("local: no program with the role {role} is up"))?;
        post_to(&handler.links, link);
        Ok(handler.peer.clone())
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
