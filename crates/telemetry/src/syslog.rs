//! Log lines to a syslog server, besides standard error: RFC 5424 over UDP or TCP, and what the
//! machine's own daemon expects on its socket.
//!
//! A layer of the subscriber that `telemetry::logs` installs. Whoever logs only formats and puts the
//! line into a bounded queue; a thread of its own sends. Guarantees that a slow or unreachable
//! server blocks nothing: lines are dropped then, and their number is logged when it is back.

use std::fmt::{self, Write as _};
use std::io::{self, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _, UdpSocket};
use std::os::unix::net::UnixDatagram;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer};

use smsc_config::{LogConfig, SyslogFacility, SyslogTarget};
use smsc_domain::visible::visible;
use smsc_host::clock;

/// Lines that may wait for the server.
const WAITING: usize = 4096;
/// Longest line, in octets; what is longer is cut (RFC 5424 §6.1 lets receivers cut at 2048).
const LONGEST: usize = 2048;
/// A server that does not take a line within this time is away.
const PATIENCE: Duration = Duration::from_secs(5);
/// Pause between two attempts to reach one that is away.
const AGAIN: Duration = Duration::from_secs(1);

/// The layer.
pub struct Syslog {
    sender: SyncSender<String>,
    lost: Arc<AtomicU64>,
    head: Head,
}

/// What stands in front of every line.
struct Head {
    facility: u8,
    /// The daemon of the machine sets time and host itself.
    local: bool,
    host: String,
    pid: u32,
}

/// The sending side.
struct SyslogSender {
    target: SyslogTarget,
    open: Option<Socket>,
    tried: Option<Instant>,
    lost: Arc<AtomicU64>,
}

enum Socket {
    Udp(UdpSocket),
    Tcp(TcpStream),
    Unix(UnixDatagram),
}

/// The text of an event: the message, then its fields.
#[derive(Default)]
struct SyslogText {
    message: String,
    fields: String,
}

// === impl Syslog ===

impl Syslog {
    /// The configured layer, if any.
    pub fn configured(log: &LogConfig) -> Option<Self> {
        let target = log.syslog.as_ref()?;
        Self::start(target, log.syslog_facility)
            .inspect_err(|error| eprintln!("log.syslog: {target}: {error}"))
            .ok()
    }

    /// Starts the thread. The server need not be there yet.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn start(target: &SyslogTarget, facility: SyslogFacility) -> io::Result<Self> {
        let (sender, receiver) = sync_channel(WAITING);
        let lost = Arc::new(AtomicU64::new(0));
        let head = Head {
            facility: facility.code(),
            local: matches!(target, SyslogTarget::Unix(_)),
            host: rustix::system::uname()
                .nodename()
                .to_string_lossy()
                .into_owned(),
            pid: std::process::id(),
        };
        let sending = SyslogSender {
            target: target.clone(),
            open: None,
            tried: None,
            lost: Arc::clone(&lost),
        };
        let for_thread = Head {
            host: head.host.clone(),
            ..head
        };
        std::thread::Builder::new()
            .name("syslog".to_owned())
            .spawn(move || sending.run(&receiver, &for_thread))?;
        Ok(Self { sender, lost, head })
    }
}

impl<S: Subscriber> Layer<S> for Syslog {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut text = SyslogText::default();
        event.record(&mut text);
        let metadata = event.metadata();
        let body = format!("{}: {}{}", metadata.target(), text.message, text.fields);
        let line = self
            .head
            .line(severity(*metadata.level()), clock::now_ms(), &body);
        if self.sender.try_send(line).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// RFC 5424 §6.2.1.
fn severity(level: Level) -> u8 {
    match level {
        Level::ERROR => 3,
        Level::WARN => 4,
        Level::INFO => 6,
        _ => 7,
    }
}

// === impl Head ===

impl Head {
    /// One line stays one line wherever it is read.
    fn line(&self, severity: u8, at_ms: i64, body: &str) -> String {
        let priority = self.facility * 8 + severity;
        let mut line = if self.local {
            format!("<{priority}>smsc[{}]: ", self.pid)
        } else {
            let at = jiff::Timestamp::from_millisecond(at_ms).unwrap_or_default();
            format!("<{priority}>1 {at:.3} {} smsc {} - - ", self.host, self.pid)
        };
        let mut room = LONGEST.saturating_sub(line.len());
        for character in visible(body).chars() {
            let Some(left) = room.checked_sub(character.len_utf8()) else {
                break;
            };
            room = left;
            line.push(character);
        }
        line
    }
}

// === impl SyslogText ===

impl Visit for SyslogText {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let _ = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.fields, " {name}={value:?}"),
        };
    }
}

// === impl SyslogSender ===

impl SyslogSender {
    fn run(mut self, lines: &Receiver<String>, head: &Head) {
        while let Ok(line) = lines.recv() {
            let lost = self.lost.swap(0, Ordering::Relaxed);
            let all_sent = match lost {
                0 => true,
                lost => {
                    let body = format!("{lost} lines lost: the syslog server was away or slow");
                    self.send(&head.line(severity(Level::WARN), clock::now_ms(), &body))
                }
            };
            if !all_sent {
                self.lost.fetch_add(lost, Ordering::Relaxed);
            }
            // Without the server the queue empties at the speed of its senders.
            if !all_sent || !self.send(&line) {
                self.lost.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Whether the line was sent. A datagram may still be lost without notice.
    fn send(&mut self, line: &str) -> bool {
        if self.open.is_none() {
            if self.tried.is_some_and(|tried| tried.elapsed() < AGAIN) {
                return false;
            }
            self.tried = Some(Instant::now());
            self.open = Socket::open(&self.target).ok();
        }
        let sent = self
            .open
            .as_mut()
            .is_some_and(|socket| socket.send(line).is_ok());
        if !sent {
            self.open = None;
        }
        sent
    }
}

// === impl Socket ===

impl Socket {
    fn open(target: &SyslogTarget) -> io::Result<Self> {
        match target {
            SyslogTarget::Udp(address) => {
                let to = address
                    .to_socket_addrs()?
                    .next()
                    .ok_or(io::ErrorKind::NotFound)?;
                let any = if to.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
                let socket = UdpSocket::bind(any)?;
                socket.connect(to)?;
                Ok(Self::Udp(socket))
            }
            SyslogTarget::Tcp(address) => {
                let to = address
                    .to_socket_addrs()?
                    .next()
                    .ok_or(io::ErrorKind::NotFound)?;
                let stream = TcpStream::connect_timeout(&to, PATIENCE)?;
                stream.set_write_timeout(Some(PATIENCE))?;
                Ok(Self::Tcp(stream))
            }
            SyslogTarget::Unix(path) => {
                let socket = UnixDatagram::unbound()?;
                socket.connect(path)?;
                socket.set_write_timeout(Some(PATIENCE))?;
                Ok(Self::Unix(socket))
            }
        }
    }

    fn send(&mut self, line: &str) -> io::Result<()> {
        match self {
            Self::Udp(socket) => socket.send(line.as_bytes()).map(drop),
            Self::Tcp(stream) => stream.write_all(format!("{} {line}", line.len()).as_bytes()),
            Self::Unix(socket) => socket.send(line.as_bytes()).map(drop),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(local: bool) -> Head {
        Head {
            facility: SyslogFacility::Local0.code(),
            local,
            host: "node1".to_owned(),
            pid: 7,
        }
    }

    #[test]
    fn lines_are_as_rfc_5424_wants_them() {
        assert_eq!(
            head(false).line(
                severity(Level::INFO),
                1_700_000_000_123,
                "smsc::app: ready\nnow\u{202e}"
            ),
            "<134>1 2023-11-14T22:13:20.123Z node1 smsc 7 - - smsc::app: ready\\nnow\\u{202e}"
        );
        assert_eq!(head(true).line(3, 0, "x"), "<131>smsc[7]: x");
    }

    #[test]
    fn long_lines_are_cut_between_characters() {
        let line = head(true).line(3, 0, &"é".repeat(LONGEST));
        assert!(line.len() <= LONGEST && line.len() > LONGEST - 2);
    }
}
