//! A service centre at the HLR, made of the session of the crate `gsup` and a blocking socket: for tests
//! of that crate and of the core itself.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use smsc::gsup::session::GsupCloseReason;
use smsc::gsup::{GsupEvent, GsupMessage, GsupRole, GsupSession, GsupSessionConfig, MessageType};

use crate::harness::until;

/// How long one look at the socket takes.
const LOOK: Duration = Duration::from_millis(20);

/// A connection; requests are numbered from 0.
pub struct ServiceCentre {
    stream: TcpStream,
    session: GsupSession<usize>,
    /// What came and was not asked for yet.
    events: Vec<GsupEvent<usize>>,
    requests: usize,
}

// === impl ServiceCentre ===

impl ServiceCentre {
    /// Connects with this IPA name; the handshake is over when this returns.
    pub fn connect(address: SocketAddr, name: &str) -> Self {
        let config = GsupSessionConfig {
            role: GsupRole::Client,
            name: Bytes::from(name.to_owned()),
            ping_every: Duration::from_secs(20),
            patience: Duration::from_secs(20),
            request_timeout: Duration::from_secs(20),
            late: Duration::from_secs(60),
            window: 100,
        };
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(LOOK)).unwrap();
        stream.set_nodelay(true).unwrap();
        let session = GsupSession::new(config, Instant::now(), &mut BytesMut::new());
        let mut this = Self {
            stream,
            session,
            events: Vec::new(),
            requests: 0,
        };
        this.wait("the handshake", |event| {
            matches!(event, GsupEvent::Ready(_)).then_some(())
        });
        this
    }

    /// Sends a request, and returns its number.
    pub fn send(&mut self, message: &GsupMessage) -> usize {
        let (number, mut out) = (self.requests, BytesMut::new());
        self.requests += 1;
        let sent = self.session.send(message, number, Instant::now(), &mut out);
        sent.unwrap_or_else(|error| panic!("{message:?}: {error:?}"));
        self.stream.write_all(&out).unwrap();
        number
    }

    /// Waits for the answer to a request.
    pub fn answer_to(&mut self, number: usize) -> GsupMessage {
        self.wait(
            &format!("the answer to request {number}"),
            |event| match event {
                GsupEvent::Answer(found, message) if *found == number => Some((**message).clone()),
                _ => None,
            },
        )
    }

    /// Waits for a message of this type that is no answer to ours.
    pub fn next(&mut self, wanted: MessageType) -> GsupMessage {
        self.wait(&format!("{wanted}"), |event| match event {
            GsupEvent::Message(message) if message.message_type == wanted => {
                Some((**message).clone())
            }
            _ => None,
        })
    }

    /// Sends an answer.
    pub fn answer(&mut self, message: &GsupMessage) {
        let mut out = BytesMut::new();
        self.session.notify(message, &mut out).unwrap();
        self.stream.write_all(&out).unwrap();
    }

    /// Its IPA name.
    pub fn name(&self) -> Bytes {
        self.session.name().clone()
    }

    /// Waits until the other end is gone.
    pub fn until_closed(mut self) {
        until("the end of the connection", || {
            let mut octet = [0];
            match self.stream.read(&mut octet) {
                Ok(0) => Some(()),
                Err(error) if error.kind() == ErrorKind::ConnectionReset => Some(()),
                _ => None,
            }
        });
    }

    /// Reads until an event fits, which is taken; the others stay, in order.
    fn wait<V>(&mut self, what: &str, fits: impl Fn(&GsupEvent<usize>) -> Option<V>) -> V {
        until(what, || {
            self.look();
            let found = self.events.iter().enumerate();
            let (at, value) = found
                .filter_map(|(at, event)| Some((at, fits(event)?)))
                .next()?;
            self.events.remove(at);
            Some(value)
        })
    }

    fn look(&mut self) {
        let mut piece = [0; 4096];
        match self.stream.read(&mut piece) {
            Ok(0) => panic!("the HLR closed the connection"),
            Ok(count) => self.session.receive(&piece[..count], Instant::now()),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(error) => panic!("the connection to the HLR: {error}"),
        }
        let mut out = BytesMut::new();
        while let Some(event) = self.session.next_event(&mut out) {
            if let GsupEvent::Closed(why) = &event {
                panic!("the session was closed: {why}");
            }
            self.events.push(event);
        }
        let tick = self.session.on_tick(Instant::now(), &mut out);
        assert_eq!(tick.closed, None::<GsupCloseReason>);
        assert_eq!(tick.expired, [0; 0], "requests without an answer");
        self.stream.write_all(&out).unwrap();
    }
}
