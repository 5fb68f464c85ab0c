//! A socket inside an actor, without a network: how often it is polled, and how it ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use actix::{Addr, Handler, Message};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, split};

use super::*;

/// Octets that may wait to be written.
const LIMIT: usize = 4_000;
/// Octets that the pipe between the two ends holds.
const PIPE: usize = 1_000;

/// What the test sees of its actor.
#[derive(Default)]
struct Seen {
    /// Polls of the reader: each asks whether the actor is busy.
    looks: AtomicUsize,
    octets: AtomicUsize,
    finished: AtomicBool,
    closed: AtomicBool,
}

struct Probe {
    socket: Option<DuplexStream>,
    outbox: Option<Outbox>,
    busy: bool,
    seen: Arc<Seen>,
}

/// Code to run inside the actor.
struct Do(Box<dyn FnOnce(&mut Probe) + Send>);

impl Message for Do {
    type Result = ();
}

impl Handler<Do> for Probe {
    type Result = ();

    fn handle(&mut self, Do(what): Do, _: &mut Self::Context) {
        what(self);
    }
}

impl Actor for Probe {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        let (reader, writer) = split(self.socket.take().unwrap());
        self.outbox = Some(attach(ctx, reader, writer, LIMIT));
    }
}

impl Linked for Probe {
    fn on_octets(&mut self, octets: &mut BytesMut, _: &mut Context<Self>) {
        self.seen.octets.fetch_add(octets.len(), Ordering::SeqCst);
        octets.clear();
    }

    fn on_finished(&mut self, _: &mut Context<Self>) {
        self.seen.finished.store(true, Ordering::SeqCst);
    }

    fn on_closed(&mut self, _: Option<io::Error>, _: &mut Context<Self>) {
        self.seen.closed.store(true, Ordering::SeqCst);
    }

    fn is_busy(&self) -> bool {
        self.seen.looks.fetch_add(1, Ordering::SeqCst);
        self.busy || self.outbox.as_ref().is_some_and(Outbox::is_filling)
    }
}

impl Probe {
    fn start(busy: bool) -> (Addr<Self>, DuplexStream, Arc<Seen>) {
        let (ours, theirs) = tokio::io::duplex(PIPE);
        let seen = Arc::new(Seen::default());
        let probe = Self {
            socket: Some(ours),
            outbox: None,
            busy,
            seen: Arc::clone(&seen),
        };
        (probe.start(), theirs, seen)
    }

    fn write(&self, octets: usize) {
        self.outbox
            .as_ref()
            .unwrap()
            .write(|out| out.extend_from_slice(&vec![b'x'; octets]));
    }
}

async fn order(actor: &Addr<Probe>, what: impl FnOnce(&mut Probe) + Send + 'static) {
    actor.send(Do(Box::new(what))).await.unwrap();
}

/// Lets all other tasks run many times.
async fn settle() {
    for _ in 0..1_000 {
        tokio::task::yield_now().await;
    }
}

fn count(of: &AtomicUsize) -> usize {
    of.load(Ordering::SeqCst)
}

#[actix::test]
async fn a_paused_reader_is_left_alone_until_it_is_resumed() {
    let (actor, mut peer, seen) = Probe::start(true);
    peer.write_all(b"hello").await.unwrap();
    settle().await;
    let looks = count(&seen.looks);
    assert!(looks <= 4, "a busy loop: {looks} looks for one pause");
    assert_eq!(count(&seen.octets), 0);
    // A written answer makes the reader check again, once.
    order(&actor, |probe| probe.write(10)).await;
    settle().await;
    let more = count(&seen.looks) - looks;
    assert!(more <= 4, "{more} looks for one answer");
    order(&actor, |probe| {
        probe.busy = false;
        probe.outbox.as_ref().unwrap().resume();
    })
    .await;
    settle().await;
    assert_eq!(count(&seen.octets), 5);
}

#[actix::test]
async fn a_reader_that_waits_for_room_goes_on_when_the_peer_reads() {
    let (actor, mut peer, seen) = Probe::start(false);
    order(&actor, |probe| probe.write(3_500)).await;
    settle().await;
    peer.write_all(b"hello").await.unwrap();
    settle().await;
    let looks = count(&seen.looks);
    assert!(looks <= 6, "{looks} looks while the peer does not read");
    assert_eq!(count(&seen.octets), 0, "read although answers pile up");
    let mut taken = vec![0; 3_500];
    peer.read_exact(&mut taken).await.unwrap();
    settle().await;
    assert_eq!(count(&seen.octets), 5);
}

#[actix::test]
async fn who_says_no_more_still_gets_what_is_written() {
    let (actor, mut peer, seen) = Probe::start(false);
    peer.shutdown().await.unwrap();
    settle().await;
    assert!(seen.finished.load(Ordering::SeqCst));
    assert!(!seen.closed.load(Ordering::SeqCst));
    order(&actor, |probe| {
        probe.write(7);
        probe.outbox.as_ref().unwrap().close();
    })
    .await;
    let mut taken = Vec::new();
    peer.read_to_end(&mut taken).await.unwrap();
    assert_eq!(taken.len(), 7);
    assert!(seen.closed.load(Ordering::SeqCst));
}

#[actix::test]
async fn a_socket_that_is_cut_is_gone_though_its_actor_lives() {
    let (actor, mut peer, seen) = Probe::start(false);
    order(&actor, |probe| probe.outbox.as_ref().unwrap().cut()).await;
    let mut taken = Vec::new();
    peer.read_to_end(&mut taken).await.unwrap();
    assert!(taken.is_empty());
    assert!(actor.connected() && !seen.closed.load(Ordering::SeqCst));
}
