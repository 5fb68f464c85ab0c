//! A program that is not ours, with our IPA name at an HLR: it gets what is meant for us, and answers nothing.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use smsc::gsup::session::{GsupRole, GsupSession, GsupSessionConfig, GsupSessionState};

const HOUR: Duration = Duration::from_secs(3600);

/// It comes back after a moment when it is closed, and ends when it is dropped.
pub struct Namesake {
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

// === impl Namesake ===

impl Namesake {
    /// Connects under this name, and comes back after this time when it is closed.
    pub fn start(hlr: SocketAddr, name: &'static str, back_after: Duration) -> Self {
        let ends = Arc::new(AtomicBool::new(false));
        let for_thread = Arc::clone(&ends);
        let thread = std::thread::spawn(move || {
            while !for_thread.load(Ordering::Relaxed) {
                if let Ok(socket) = TcpStream::connect(hlr) {
                    // An end by the HLR is what it waits for.
                    let _ = stay(socket, name, &for_thread);
                }
                std::thread::sleep(back_after);
            }
        });
        Self {
            ends,
            thread: Some(thread),
        }
    }
}

/// Says its name, until the connection is closed.
fn stay(mut socket: TcpStream, name: &'static str, ends: &AtomicBool) -> std::io::Result<()> {
    socket.set_read_timeout(Some(super::LOOK_AGAIN))?;
    let config = GsupSessionConfig {
        role: GsupRole::Client,
        name: Bytes::from_static(name.as_bytes()),
        ping_every: HOUR,
        patience: HOUR,
        request_timeout: HOUR,
        late: HOUR,
        window: 1,
    };
    let mut out = BytesMut::new();
    let mut session: GsupSession<()> = GsupSession::new(config, Instant::now(), &mut out);
    let mut read = [0; 4096];
    while !ends.load(Ordering::Relaxed) && session.state() != GsupSessionState::Closed {
        match socket.read(&mut read) {
            Ok(0) => break,
            Ok(count) => session.receive(&read[..count], Instant::now()),
            Err(error) if is_timeout(&error) => {}
            Err(error) => return Err(error),
        }
        while session.next_event(&mut out).is_some() {}
        socket.write_all(&out.split())?;
    }
    socket.shutdown(Shutdown::Both)
}

fn is_timeout(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{TimedOut, WouldBlock};
    matches!(error.kind(), TimedOut | WouldBlock)
}

impl Drop for Namesake {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
