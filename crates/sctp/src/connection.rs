//! An association: made, read and written.
//!
//! The two halves may be used at the same time, by one task or by two. Invariants: a message is given whole or not at all, and a
//! read that is given up loses nothing; what is written goes to the peer whole, in the order of its stream. The association
//! ends when both halves are gone: shut down if all was read, otherwise aborted, as the kernel does (RFC 6458 §4.1.8).

use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use socket2::{MsgHdr, Socket};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::address;
use super::notification::{AssociationChange, SctpNotification};
use super::options::{SctpOption, SctpOptions};
use super::path::{INFO, SctpPath};
use super::{MESSAGE_MAX, SctpEvent, SctpMessage, open, system};

/// The state ESTABLISHED of sctp_status.
const ESTABLISHED: i32 = 4;
/// Octets of sctp_status.
const STATUS: usize = 24 + INFO;
/// Addresses of a peer that are asked about at most.
const ADDRESSES: usize = 16;

/// An association that stands.
#[derive(Debug)]
pub struct SctpConnection {
    reader: SctpReader,
    writer: SctpWriter,
}

/// What comes.
#[derive(Debug)]
pub struct SctpReader {
    socket: Arc<AsyncFd<Socket>>,
    buffer: Vec<u8>,
    /// What has come of a message that the kernel gives in parts.
    partial: BytesMut,
    /// The association is over: the kernel says so once, and not every end is an end of what is read.
    ended: Option<AssociationChange>,
}

/// What goes.
#[derive(Debug, Clone)]
pub struct SctpWriter {
    socket: Arc<AsyncFd<Socket>>,
    /// Streams that the peer has granted, at least one.
    streams: u16,
    payload_protocol: u32,
}

// === impl SctpConnection ===

impl SctpConnection {
    /// Makes an association to the addresses of one peer, of which all have the same port, from these addresses of ours; from
    /// any without one. Port 0 of ours is a free one. Give it up by dropping it: the kernel needs minutes for a peer that does not answer.
    ///
    /// # Errors
    /// The kernel has no SCTP (kind `Unsupported`), an address of ours is not there or taken, the peer refuses or does not
    /// answer.
    pub async fn connect(
        local: &[SocketAddr],
        remote: &[SocketAddr],
        options: &SctpOptions,
    ) -> io::Result<Self> {
        if remote.is_empty() {
            let said = "an association needs an address of its peer";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, said));
        }
        let all: Vec<SocketAddr> = [local, remote].concat();
        let socket = open(address::domain_of(&all))?;
        configure(&socket, options)?;
        if !local.is_empty() {
            system::set(&socket, SctpOption::BindAddresses, &address::packed(local))?;
        }
        match system::set(&socket, SctpOption::Connect, &address::packed(remote)) {
            Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => return Err(error),
            _ => {}
        }
        let mut reader = SctpReader::new(Arc::new(system::register(socket)?));
        reader.established().await?;
        Self::standing(reader, options)
    }

    /// One that a listener has taken.
    pub(crate) fn accepted(socket: Socket, options: &SctpOptions) -> io::Result<Self> {
        set(&socket, SctpOptions::switches())?;
        Self::standing(
            SctpReader::new(Arc::new(system::register(socket)?)),
            options,
        )
    }

    fn standing(reader: SctpReader, options: &SctpOptions) -> io::Result<Self> {
        let status = status(reader.socket.get_ref())?;
        let writer = SctpWriter {
            socket: Arc::clone(&reader.socket),
            streams: status.outbound.max(1),
            payload_protocol: options.payload_protocol,
        };
        Ok(Self { reader, writer })
    }

    /// Both halves.
    pub fn split(self) -> (SctpReader, SctpWriter) {
        (self.reader, self.writer)
    }

    /// What comes next; see [`SctpReader::next`].
    pub async fn next(&mut self) -> io::Result<SctpEvent> {
        self.reader.next().await
    }

    /// Sends a message; see [`SctpWriter::send`].
    pub async fn send(&self, stream: u16, message: &[u8]) -> io::Result<()> {
        self.writer.send(stream, message).await
    }

    /// The half that writes.
    pub fn writer(&self) -> &SctpWriter {
        &self.writer
    }
}

/// Sets everything on a socket that has no association yet.
pub(crate) fn configure(socket: &Socket, options: &SctpOptions) -> io::Result<()> {
    set(socket, SctpOptions::switches())?;
    set(socket, options.parameters())
}

fn set(socket: &Socket, values: impl IntoIterator<Item = (SctpOption, Vec<u8>)>) -> io::Result<()> {
    values
        .into_iter()
        .try_for_each(|(option, value)| system::set(socket, option, &value))
}

/// What sctp_status says that is needed.
struct AssociationStatus {
    state: i32,
    outbound: u16,
}

fn status(socket: &Socket) -> io::Result<AssociationStatus> {
    let mut octets = [0; STATUS];
    system::get(socket, SctpOption::Status, &mut octets)?;
    Ok(AssociationStatus {
        state: i32::from_ne_bytes([octets[4], octets[5], octets[6], octets[7]]),
        outbound: u16::from_ne_bytes([octets[18], octets[19]]),
    })
}

// === impl SctpReader ===

impl SctpReader {
    fn new(socket: Arc<AsyncFd<Socket>>) -> Self {
        Self {
            socket,
            buffer: vec![0; MESSAGE_MAX],
            partial: BytesMut::new(),
            ended: None,
        }
    }

    /// What comes next. May be given up and called again: nothing is lost.
    ///
    /// # Errors
    /// The association is lost, or the peer has sent a message of more than [`MESSAGE_MAX`] octets. It is of no further use.
    pub async fn next(&mut self) -> io::Result<SctpEvent> {
        match self.ended {
            None => {}
            Some(AssociationChange::ShutDown) => return Ok(SctpEvent::Closed),
            Some(_) => return Err(self.error_or(io::ErrorKind::ConnectionReset)),
        }
        loop {
            let mut ready = self.socket.readable().await?;
            let read = ready.try_io(|socket| system::receive(socket.get_ref(), &mut self.buffer));
            let Ok(read) = read else {
                continue;
            };
            drop(ready);
            if let Some(event) = self.took(read?)? {
                return Ok(event);
            }
        }
    }

    /// Waits until the association stands, or cannot be made.
    async fn established(&mut self) -> io::Result<()> {
        loop {
            // A failure makes the socket readable, not writable.
            let interest = Interest::READABLE | Interest::WRITABLE;
            let mut ready = self.socket.ready(interest).await?;
            let read = ready.try_io(|socket| system::receive(socket.get_ref(), &mut self.buffer));
            drop(ready);
            match read {
                Ok(read) => match self.took(read?)? {
                    Some(SctpEvent::Notification(SctpNotification::Association {
                        change, ..
                    })) => match change {
                        AssociationChange::Up => return Ok(()),
                        _ => return Err(self.error_or(io::ErrorKind::ConnectionRefused)),
                    },
                    Some(SctpEvent::Closed) => {
                        return Err(self.error_or(io::ErrorKind::ConnectionRefused));
                    }
                    // The paths are told of as well.
                    _ => {}
                },
                Err(_would_block) => {
                    if let Some(error) = self.socket.get_ref().take_error()? {
                        return Err(error);
                    }
                    if status(self.socket.get_ref()).is_ok_and(|now| now.state == ESTABLISHED) {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// The error of the socket, or one of this kind.
    fn error_or(&self, kind: io::ErrorKind) -> io::Error {
        match self.socket.get_ref().take_error() {
            Ok(Some(error)) | Err(error) => error,
            Ok(None) => kind.into(),
        }
    }

    /// One read of the buffer: an event when it is whole.
    fn took(&mut self, read: system::ReadInfo) -> io::Result<Option<SctpEvent>> {
        let octets = self.buffer.get(..read.octets).unwrap_or_default();
        if read.is_notification {
            // None needs more than the buffer, so each is whole; what is not read is of no use.
            let notification = SctpNotification::read(octets);
            if let Some(SctpNotification::Association { change, .. }) = notification {
                self.partial.clear();
                if change.is_end() {
                    self.ended = Some(change);
                }
            }
            return Ok(notification.map(SctpEvent::Notification));
        }
        if octets.is_empty() {
            return Ok(Some(SctpEvent::Closed));
        }
        if self.partial.len() + octets.len() > MESSAGE_MAX {
            let said = format!("the peer has sent a message of more than {MESSAGE_MAX} octets");
            return Err(io::Error::new(io::ErrorKind::InvalidData, said));
        }
        let octets = if read.ends && self.partial.is_empty() {
            Bytes::copy_from_slice(octets)
        } else {
            self.partial.extend_from_slice(octets);
            if !read.ends {
                return Ok(None);
            }
            self.partial.split().freeze()
        };
        Ok(Some(SctpEvent::Message(SctpMessage {
            stream: read.stream,
            payload_protocol: read.payload_protocol,
            octets,
        })))
    }
}

// === impl SctpWriter ===

impl SctpWriter {
    /// Sends a message on a stream, when there is room for it. Stream 0 is stream 0; the others share what the peer has granted
    /// beside it, so that the order of what has one number holds (RFC 4666 §1.4.7). May be given up: the message is then sent
    /// whole or not at all.
    ///
    /// # Errors
    /// The association is over, or the message is longer than what the socket holds.
    pub async fn send(&self, stream: u16, message: &[u8]) -> io::Result<()> {
        let info = self.send_info(granted(stream, self.streams));
        loop {
            let mut ready = self.socket.writable().await?;
            if let Ok(sent) = ready.try_io(|socket| write(socket.get_ref(), &info, message)) {
                return sent;
            }
        }
    }

    /// Ends the association in order: what was sent still arrives, nothing more is taken (RFC 9260 §9.2).
    ///
    /// # Errors
    /// The association is over already.
    pub fn shut_down(&self) -> io::Result<()> {
        self.socket.get_ref().shutdown(std::net::Shutdown::Write)
    }

    /// From now on the association ends by ABORT when both halves are gone, and what was not sent is lost (RFC 9260 §9.1). The
    /// kernel has no other way for sockets of one association (RFC 6458 §8.1.4).
    ///
    /// # Errors
    /// Those of the system call.
    pub fn abort_when_dropped(&self) -> io::Result<()> {
        self.socket.get_ref().set_linger(Some(Duration::ZERO))
    }

    /// How many streams we may write.
    pub fn streams(&self) -> u16 {
        self.streams
    }

    /// The addresses of the peer, and how each of them is.
    ///
    /// # Errors
    /// The association is over.
    pub fn paths(&self) -> io::Result<Vec<SctpPath>> {
        let socket = self.socket.get_ref();
        // sctp_getaddrs: the association, and how many follow.
        let mut list = [0; 8 + ADDRESSES * 28];
        let length = system::get(socket, SctpOption::PeerAddresses, &mut list)?;
        let count = u32::from_ne_bytes([list[4], list[5], list[6], list[7]]) as usize;
        let list = list.get(8..length).unwrap_or_default();
        let ask = |address| {
            let mut octets = SctpPath::question(address);
            let length = system::get(socket, SctpOption::PathInfo, &mut octets).ok()?;
            SctpPath::read(address, octets.get(..length)?)
        };
        let addresses = address::unpacked(list, count.min(ADDRESSES));
        Ok(addresses.into_iter().filter_map(ask).collect())
    }

    /// sctp_sndinfo as a control message: stream, flags, protocol, context, association.
    fn send_info(&self, stream: u16) -> Vec<u8> {
        let mut octets = Vec::with_capacity(16);
        octets.extend_from_slice(&stream.to_ne_bytes());
        octets.extend_from_slice(&[0; 2]);
        octets.extend_from_slice(&self.payload_protocol.to_be_bytes());
        octets.extend_from_slice(&[0; 8]);
        system::control_message(libc::SCTP_SNDINFO, &octets)
    }
}

fn write(socket: &Socket, info: &[u8], message: &[u8]) -> io::Result<()> {
    let parts = [IoSlice::new(message)];
    let header = MsgHdr::new().with_buffers(&parts).with_control(info);
    // A message is taken whole or not at all. No signal when the association is over.
    socket.sendmsg(&header, libc::MSG_NOSIGNAL).map(|_| ())
}

/// Which of the streams that there are carries what is meant for one of those that we would like.
fn granted(stream: u16, streams: u16) -> u16 {
    match (stream, streams) {
        (0, _) | (_, 0 | 1) => 0,
        (stream, streams) => 1 + (stream - 1) % (streams - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_that_were_not_granted_share_those_that_were() {
        assert_eq!([0, 1, 2, 9].map(|stream| granted(stream, 10)), [0, 1, 2, 9]);
        assert_eq!(
            [0, 1, 2, 3, 4].map(|stream| granted(stream, 3)),
            [0, 1, 2, 1, 2]
        );
        assert_eq!([0, 1, 9].map(|stream| granted(stream, 2)), [0, 1, 1]);
        assert_eq!([0, 1, 9].map(|stream| granted(stream, 1)), [0, 0, 0]);
        assert_eq!(granted(65_535, 65_535), 1);
        assert_eq!(STATUS, 176, "sctp_status");
    }
}
