//! A TCP connection with its two buffers, as the tools use it: simulator, load generator, `send`.
//!
//! Reads take what the socket has (up to [`READ_CHUNK`]), all frames of a read are handled before
//! anything is written, and one write carries all results: at 50,000 messages a second system calls
//! are most of the cost. Invariant: while the peer does not read our octets, we do not read its
//! octets, so that both buffers stay bounded.

use std::io;

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::Interest;
use tokio::net::TcpStream;

use smsc_smpp::codec::{BadCommandLength, DEFAULT_MAX_PDU, next_frame};

/// Octets read from the socket at once: some 400 PDUs of the usual size.
const READ_CHUNK: usize = 64 * 1024;
/// Below this much free room the input buffer is renewed before the next read.
const READ_SPARE: usize = 16 * 1024;
/// Unsent octets above which nothing more is read.
const OUTPUT_HIGH: usize = 1024 * 1024;

/// One connection, bytes only: no bind state, no sequence numbers.
#[derive(Debug)]
pub struct SimulatorWire {
    stream: TcpStream,
    input: BytesMut,
    /// What the next flush writes; encoders append here.
    pub output: BytesMut,
}

// === impl SimulatorWire ===

impl SimulatorWire {
    /// Takes over a connected socket and turns off Nagle's algorithm: we batch ourselves.
    ///
    /// # Errors
    /// When the socket refuses the option, which means that it is already closed.
    pub fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            input: BytesMut::with_capacity(READ_CHUNK),
            output: BytesMut::with_capacity(READ_CHUNK),
        })
    }

    /// The next whole PDU that was received.
    ///
    /// # Errors
    /// [`BadCommandLength`] when the framing is broken; the connection is of no use any more.
    pub fn next_frame(&mut self) -> Result<Option<Bytes>, BadCommandLength> {
        next_frame(&mut self.input, DEFAULT_MAX_PDU)
    }

    /// Writes what the socket takes now; the rest goes out within [`Self::receive`].
    ///
    /// # Errors
    /// Those of the socket.
    pub fn flush(&mut self) -> io::Result<()> {
        while !self.output.is_empty() {
            match self.stream.try_write(&self.output) {
                Ok(written) => self.output.advance(written),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        if self.output.is_empty() {
            // Gives the room behind the read position back to the encoders.
            self.output.clear();
        }
        Ok(())
    }

    /// Writes what waits and returns when octets have arrived; `false` when the peer has closed.
    /// Dropping the future loses nothing.
    ///
    /// # Errors
    /// Those of the socket.
    pub async fn receive(&mut self) -> io::Result<bool> {
        loop {
            self.flush()?;
            let ready = self.stream.ready(self.interest()).await?;
            if !ready.is_readable() {
                continue;
            }
            if self.input.capacity() - self.input.len() < READ_SPARE {
                self.input.reserve(READ_CHUNK);
            }
            match self.stream.try_read_buf(&mut self.input) {
                Ok(octets) => return Ok(octets > 0),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Writes everything, waiting for the peer to take it.
    ///
    /// # Errors
    /// Those of the socket.
    pub async fn drain(&mut self) -> io::Result<()> {
        loop {
            self.flush()?;
            if self.output.is_empty() {
                return Ok(());
            }
            self.stream.writable().await?;
        }
    }

    fn interest(&self) -> Interest {
        if self.output.is_empty() {
            Interest::READABLE
        } else if self.output.len() < OUTPUT_HIGH {
            Interest::READABLE | Interest::WRITABLE
        } else {
            Interest::WRITABLE
        }
    }
}
