//! The transport of a session's octets: plain TCP, TLS, a UNIX socket, or the connection of another actor.
//!
//! Made by the listener and by operators' sessions, and attached to their actor once: a plain
//! connection is read and written without any cost for TLS.

use std::cell::RefCell;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use actix::Context;
use bytes::Bytes;
use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::mpsc;
use tokio_rustls::TlsStream;
use tokio_util::io::InspectWriter;

use super::{Linked, Outbox, attach};
use crate::config::Smpp;
use crate::domain::certificate::ShownCertificate;
use crate::tls;

/// Unanswered keepalive probes before a connection is broken.
const PROBES: u32 = 3;

/// A connection, ready for its protocol.
pub enum Wire {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
    /// To a program on the same machine.
    Local(UnixStream),
    /// A pipe, whose other end a test has.
    #[cfg(test)]
    Memory(tokio::io::DuplexStream),
}

/// One of the two halves of the same stream. Both are futures of one actor: never polled at the same
/// time, and woken together.
struct StreamHalf<S>(Rc<RefCell<S>>);

/// Sets the socket options of a connection.
pub fn tune(socket: &TcpStream, smpp: &Smpp) {
    // A socket that refuses an option works without it.
    let _ = socket.set_nodelay(true);
    let socket = SockRef::from(socket);
    if !smpp.tcp_keepalive.is_zero() {
        // The kernel counts in whole seconds.
        let time = smpp.tcp_keepalive.max(Duration::from_secs(1));
        let keepalive = TcpKeepalive::new()
            .with_time(time)
            .with_interval((time / 6).max(Duration::from_secs(1)))
            .with_retries(PROBES);
        let _ = socket.set_tcp_keepalive(&keepalive);
    }
    if !smpp.tcp_user_timeout.is_zero() {
        let _ = socket.set_tcp_user_timeout(Some(smpp.tcp_user_timeout));
    }
}

/// Lets an actor write to whoever has the other end of this channel, in pieces that it wrote as a whole; the channel is closed
/// with the session. What comes from there comes as messages.
pub fn relay<A: Linked>(ctx: &mut Context<A>, to: mpsc::Sender<Bytes>) -> Outbox {
    // What is for nobody any more is dropped.
    let pass_on = move |octets: &[u8]| _ = to.try_send(Bytes::copy_from_slice(octets));
    let writer = InspectWriter::new(tokio::io::sink(), pass_on);
    let outbox = attach(ctx, tokio::io::empty(), writer, usize::MAX);
    outbox.0.borrow().halves[0].sever();
    outbox
}

// === impl Wire ===

impl Wire {
    /// The certificate that the peer has presented in the handshake, if one was requested.
    pub fn certificate(&self) -> Option<ShownCertificate> {
        let Self::Tls(stream) = self else {
            return None;
        };
        let chain = stream.get_ref().1.peer_certificates()?;
        chain.first().map(tls::shown)
    }

    /// Attaches the connection to an actor. `limit`: most octets that may wait to be written.
    pub fn attach<A: Linked>(self, ctx: &mut Context<A>, limit: usize) -> Outbox {
        match self {
            Self::Plain(socket) => {
                let (reader, writer) = socket.into_split();
                attach(ctx, reader, writer, limit)
            }
            Self::Local(socket) => {
                let (reader, writer) = socket.into_split();
                attach(ctx, reader, writer, limit)
            }
            #[cfg(test)]
            Self::Memory(pipe) => {
                let (reader, writer) = tokio::io::split(pipe);
                attach(ctx, reader, writer, limit)
            }
            Self::Tls(stream) => {
                let stream = Rc::new(RefCell::new(*stream));
                attach(
                    ctx,
                    StreamHalf(Rc::clone(&stream)),
                    StreamHalf(stream),
                    limit,
                )
            }
        }
    }
}

/// What is read and written.
trait OctetStream: AsyncRead + AsyncWrite + Unpin {}

impl<S: AsyncRead + AsyncWrite + Unpin> OctetStream for S {}

impl Wire {
    fn octets(self: Pin<&mut Self>) -> Pin<&mut dyn OctetStream> {
        match self.get_mut() {
            Self::Plain(socket) => Pin::new(socket),
            Self::Tls(stream) => Pin::new(stream),
            Self::Local(socket) => Pin::new(socket),
            #[cfg(test)]
            Self::Memory(pipe) => Pin::new(pipe),
        }
    }
}

/// For the few octets before an actor has the connection.
impl AsyncRead for Wire {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut TaskContext<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.octets().poll_read(cx, buffer)
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut TaskContext<'_>,
        octets: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.octets().poll_write(cx, octets)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<io::Result<()>> {
        self.octets().poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<io::Result<()>> {
        self.octets().poll_shutdown(cx)
    }
}

// === impl StreamHalf ===

impl<S: AsyncRead + Unpin> AsyncRead for StreamHalf<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut TaskContext<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0.borrow_mut()).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for StreamHalf<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut TaskContext<'_>,
        octets: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.0.borrow_mut()).poll_write(cx, octets)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0.borrow_mut()).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0.borrow_mut()).poll_shutdown(cx)
    }
}
