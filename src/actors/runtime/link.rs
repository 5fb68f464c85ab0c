//! A socket inside an actor: octets in and out, in pieces as large as possible.
//!
//! Both halves are futures of the actor's own context, so there is no task, channel or copy between the
//! socket and the session. Handlers append to the [`Outbox`]; the writer is woken once and writes
//! everything in it. Memory is bounded: a peer that does not read is disconnected when its outbox
//! exceeds the limit.

mod wire;

use std::cell::RefCell;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context as TaskContext, Poll, Waker, ready};

use actix::fut::ActorFuture;
use actix::{Actor, AsyncContext, Context};
use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::io::poll_read_buf;

pub use self::wire::{Wire, relay, tune};

/// Most octets read at a time.
const READ: usize = 64 * 1024;
/// Initial size of a read buffer, to which it returns when little arrives: a thousand quiet binds must
/// not hold a thousand large buffers.
const READ_LEAST: usize = 2 * 1024;
/// A write buffer that is empty is freed when it has this many times what was needed lately, or this and more in all: a busy
/// bind keeps its own, and a thousand that were busy once give theirs back.
const WRITE_EXCESS: usize = 4;
const WRITE_KEPT: usize = 64 * 1024;
/// Reads before other actors of this thread get their turn.
const READS: usize = 4;

/// An actor that owns a socket.
pub trait Linked: Actor<Context = Context<Self>> {
    /// Octets have arrived; takes those that it can use.
    fn on_octets(&mut self, octets: &mut BytesMut, ctx: &mut Context<Self>);

    /// The peer has closed its sending side, but may still read.
    fn on_finished(&mut self, ctx: &mut Context<Self>);

    /// The socket is closed or broken; nothing more will come.
    fn on_closed(&mut self, error: Option<io::Error>, ctx: &mut Context<Self>);

    /// While true, nothing is read, because too many requests are pending. When the actor makes it
    /// false it calls [`Outbox::resume`], unless octets were written, which resumes reading, too.
    fn is_busy(&self) -> bool;

    /// Whether it is not known yet who the peer is: then it is read in small pieces, one in each turn, so that strangers
    /// take no time from others.
    fn is_strange(&self) -> bool {
        false
    }
}

/// Octets to be written, and the wakers of both halves.
#[derive(Clone)]
pub struct Outbox(Rc<RefCell<OutboxState>>);

/// One half of a socket, which [`Outbox::cut`] can drop.
type SocketHalf<S> = Rc<RefCell<Option<S>>>;

/// A half of any type.
trait Severed {
    fn sever(&self);
}

struct OutboxState {
    halves: [Rc<dyn Severed>; 2],
    octets: BytesMut,
    limit: usize,
    /// The most octets that have waited since the buffer was empty, or lately.
    needed: usize,
    /// Octets written so far.
    written: u64,
    writer: Option<Waker>,
    reader: Option<Waker>,
    /// Close the socket when everything is written.
    closing: bool,
}

struct SocketReader<R> {
    half: SocketHalf<R>,
    octets: BytesMut,
    outbox: Outbox,
    /// Size of the next read; adapts to the traffic.
    room: usize,
    /// The actor was busy; it gets the octets that it left again.
    paused: bool,
}

struct SocketWriter<W> {
    half: SocketHalf<W>,
    outbox: Outbox,
}

/// Attaches both halves of a connection to an actor. `limit`: most octets that may wait to be written.
fn attach<A, R, W>(ctx: &mut Context<A>, reader: R, writer: W, limit: usize) -> Outbox
where
    A: Linked,
    R: AsyncRead + Unpin + 'static,
    W: AsyncWrite + Unpin + 'static,
{
    let reader: SocketHalf<R> = Rc::new(RefCell::new(Some(reader)));
    let writer: SocketHalf<W> = Rc::new(RefCell::new(Some(writer)));
    let outbox = Outbox(Rc::new(RefCell::new(OutboxState {
        halves: [Rc::clone(&reader) as _, Rc::clone(&writer) as _],
        octets: BytesMut::new(),
        limit,
        needed: 0,
        written: 0,
        writer: None,
        reader: None,
        closing: false,
    })));
    ctx.spawn(SocketReader {
        half: reader,
        octets: BytesMut::new(),
        outbox: outbox.clone(),
        room: READ_LEAST,
        paused: false,
    });
    ctx.spawn(SocketWriter {
        half: writer,
        outbox: outbox.clone(),
    });
    outbox
}

// === impl Outbox ===

impl Outbox {
    /// Appends PDUs; they are written when the current handlers are done.
    #[inline(always)]
    pub fn write<T>(&self, append: impl FnOnce(&mut BytesMut) -> T) -> T {
        let mut inner = self.0.borrow_mut();
        let result = append(&mut inner.octets);
        inner.needed = inner.needed.max(inner.octets.len());
        if !inner.octets.is_empty()
            && let Some(waker) = inner.writer.take()
        {
            waker.wake();
        }
        result
    }

    /// Whether the outbox exceeds its limit, because the peer reads too slowly.
    pub fn is_over(&self) -> bool {
        let inner = self.0.borrow();
        inner.octets.len() > inner.limit
    }

    /// Whether octets wait and the peer has read none since the last call, which set `written`.
    pub fn is_stuck(&self, written: &mut u64) -> bool {
        let inner = self.0.borrow();
        let before = std::mem::replace(written, inner.written);
        !inner.octets.is_empty() && before == inner.written
    }

    /// Octets that the connection has taken so far.
    pub fn written(&self) -> u64 {
        self.0.borrow().written
    }

    /// Whether reading should pause until more is written.
    pub fn is_filling(&self) -> bool {
        let inner = self.0.borrow();
        inner.octets.len() > inner.limit / 4
    }

    /// Makes the reader check again whether it may read.
    pub fn resume(&self) {
        if let Some(waker) = self.0.borrow_mut().reader.take() {
            waker.wake();
        }
    }

    /// Closes the socket once everything is written.
    pub fn close(&self) {
        let mut inner = self.0.borrow_mut();
        inner.closing = true;
        if let Some(waker) = inner.writer.take() {
            waker.wake();
        }
    }

    /// Closes the socket now, and forgets unwritten octets: an actor that sleeps until its next
    /// connection must not keep this one.
    pub fn cut(&self) {
        let mut inner = self.0.borrow_mut();
        inner.octets = BytesMut::new();
        inner.halves.iter().for_each(|half| half.sever());
    }
}

// === impl OutboxState ===

impl OutboxState {
    /// Everything is written: frees the buffer if it is much larger than what was needed lately.
    fn give_back(&mut self) {
        let excess = (self.needed * WRITE_EXCESS).max(WRITE_KEPT);
        if self.octets.try_reclaim(excess) {
            self.octets = BytesMut::new();
        }
        self.needed /= 2;
    }
}

impl<S> Severed for RefCell<Option<S>> {
    fn sever(&self) {
        self.borrow_mut().take();
    }
}

// === the two halves ===

impl<A: Linked, R: AsyncRead + Unpin> ActorFuture<A> for SocketReader<R> {
    type Output = ();

    fn poll(
        self: Pin<&mut Self>,
        act: &mut A,
        ctx: &mut Context<A>,
        cx: &mut TaskContext<'_>,
    ) -> Poll<()> {
        let this = self.get_mut();
        for _ in 0..READS {
            if act.is_busy() {
                this.paused = true;
                this.outbox.0.borrow_mut().reader = Some(cx.waker().clone());
                return Poll::Pending;
            }
            if std::mem::take(&mut this.paused) && !this.octets.is_empty() {
                act.on_octets(&mut this.octets, ctx);
                continue;
            }
            let is_strange = act.is_strange();
            let polled = match this.half.borrow_mut().as_mut() {
                None => return Poll::Ready(()),
                Some(half) => {
                    if is_strange {
                        this.room = READ_LEAST;
                    }
                    this.octets.reserve(this.room);
                    poll_read_buf(Pin::new(half), cx, &mut this.octets)
                }
            };
            if polled.is_pending() && this.octets.is_empty() {
                // Nothing to read for now: free the buffer.
                this.octets = BytesMut::new();
            }
            match ready!(polled) {
                Ok(0) => {
                    act.on_finished(ctx);
                    return Poll::Ready(());
                }
                Ok(read) => {
                    if read >= this.room {
                        this.room = (this.room * 4).min(READ);
                    } else if read < this.room / 8 {
                        this.room = (this.room / 2).max(READ_LEAST);
                    }
                    act.on_octets(&mut this.octets, ctx);
                    if is_strange {
                        // What it has left is taken in the next turn, also when it is not busy any more by then.
                        this.paused = act.is_busy();
                        break;
                    }
                }
                Err(error) => {
                    act.on_closed(Some(error), ctx);
                    return Poll::Ready(());
                }
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

impl<A: Linked, W: AsyncWrite + Unpin> ActorFuture<A> for SocketWriter<W> {
    type Output = ();

    fn poll(
        self: Pin<&mut Self>,
        act: &mut A,
        ctx: &mut Context<A>,
        cx: &mut TaskContext<'_>,
    ) -> Poll<()> {
        let this = self.get_mut();
        let mut wrote = false;
        let ended = loop {
            let mut half = this.half.borrow_mut();
            let Some(half) = half.as_mut() else {
                return Poll::Ready(());
            };
            let half = Pin::new(half);
            let mut inner = this.outbox.0.borrow_mut();
            if inner.octets.is_empty() {
                if inner.closing {
                    let _ = ready!(half.poll_shutdown(cx));
                    break None;
                }
                if wrote {
                    inner.give_back();
                }
                inner.writer = Some(cx.waker().clone());
                // Only octets written here make room. Waking the reader without need would wake this
                // same future again, without end.
                if wrote && let Some(reader) = inner.reader.take() {
                    reader.wake();
                }
                // TLS may buffer the last octets; a plain socket does not.
                match half.poll_flush(cx) {
                    Poll::Ready(Err(error)) => break Some(error),
                    _ => return Poll::Pending,
                }
            }
            match half.poll_write(cx, &inner.octets) {
                Poll::Ready(Ok(written)) if written > 0 => {
                    inner.octets.advance(written);
                    inner.written += written as u64;
                    wrote = true;
                }
                Poll::Ready(result) => break result.err(),
                Poll::Pending => {
                    if wrote && let Some(reader) = inner.reader.take() {
                        reader.wake();
                    }
                    return Poll::Pending;
                }
            }
        };
        act.on_closed(ended, ctx);
        Poll::Ready(())
    }
}

/// A request outlives the read buffer, so it gets its own octets.
pub fn keep(frame: Bytes) -> Bytes {
    let is_request = frame.get(4).is_some_and(|octet| octet & 0x80 == 0);
    if is_request {
        Bytes::copy_from_slice(&frame)
    } else {
        frame
    }
}

#[cfg(test)]
mod tests;
