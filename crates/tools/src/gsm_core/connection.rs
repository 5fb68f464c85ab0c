//! One SMSC at a simulated core: the handshake, its requests, and answers in their time.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::{Instant, interval};

use super::NAME;
use super::phones::Phones;
use crate::table::{TimedTable, at};
use smsc_gsup::message::GsupMessage;
use smsc_gsup::message_type::MessageType;
use smsc_gsup::session::{GsupEvent, GsupRole, GsupSession, GsupSessionConfig};

/// How often the clock is looked at.
const TICK: Duration = Duration::from_millis(500);
/// Silence before a ping, and until a connection is given up.
const PATIENCE: Duration = Duration::from_secs(20);

/// Octets of one read.
const READ: usize = 64 * 1024;

/// Messages of phones that may wait for one connection; more are not sent.
const ORDERS: usize = 4096;

/// What a connection is told to do.
#[derive(Debug)]
pub(super) enum ConnectionOrder {
    Send(Box<GsupMessage>),
    Cut,
}

/// One connection while it lasts.
struct GsmCoreConnection {
    phones: Arc<Phones>,
    session: GsupSession<()>,
    out: BytesMut,
    due: TimedTable<GsupMessage>,
    /// Its number among the connections, once it has a name.
    number: Option<u64>,
    orders: mpsc::Sender<ConnectionOrder>,
}

/// Serves a connection until it ends.
pub(super) async fn serve(phones: Arc<Phones>, mut socket: TcpStream) {
    // Without it, small answers wait for the acknowledgement of those before.
    let _ = socket.set_nodelay(true);
    let (orders, mut ordered) = mpsc::channel(ORDERS);
    let mut out = BytesMut::new();
    let config = GsupSessionConfig {
        role: GsupRole::Server,
        name: Bytes::from_static(NAME.as_bytes()),
        ping_every: PATIENCE,
        patience: PATIENCE,
        request_timeout: PATIENCE,
        late: PATIENCE,
        window: usize::MAX,
    };
    let session = GsupSession::new(config, Instant::now().into_std(), &mut out);
    let mut connection = GsmCoreConnection {
        phones,
        session,
        out,
        due: TimedTable::default(),
        number: None,
        orders,
    };
    let mut read = BytesMut::new();
    let mut tick = interval(TICK);
    loop {
        if socket.write_all_buf(&mut connection.out).await.is_err() {
            break;
        }
        // Otherwise it reads what little room there is, an answer goes out for each request, and the SMSC spends its time
        // on small reads.
        read.reserve(READ);
        let goes_on = tokio::select! {
            octets = socket.read_buf(&mut read) => match octets {
                Ok(0) | Err(_) => false,
                Ok(_) => connection.on_octets(&read.split()),
            },
            order = ordered.recv() => match order {
                Some(ConnectionOrder::Send(message)) => {
                    connection.send(&message);
                    true
                }
                Some(ConnectionOrder::Cut) | None => false,
            },
            () = at(connection.due.next_due()) => {
                connection.answer_due();
                true
            }
            _ = tick.tick() => {
                let now = Instant::now().into_std();
                connection.session.on_tick(now, &mut connection.out).closed.is_none()
            }
        };
        if !goes_on {
            break;
        }
    }
    // These are not answered any more.
    for answer in connection.due.items() {
        connection.phones.is_free(&answer.imsi);
    }
    if let Some(number) = connection.number {
        connection.phones.gone(number);
    }
}

// === impl GsmCoreConnection ===

impl GsmCoreConnection {
    /// False when the connection is to be closed.
    fn on_octets(&mut self, octets: &[u8]) -> bool {
        self.session.receive(octets, Instant::now().into_std());
        while let Some(event) = self.session.next_event(&mut self.out) {
            match event {
                GsupEvent::Ready(name) => {
                    let name = name.unwrap_or_default();
                    self.number = Some(self.phones.came(name, self.orders.clone()));
                }
                GsupEvent::Message(message) => {
                    self.on_message(&message);
                    if message.message_type == MessageType::MT_FORWARD_SM_REQUEST
                        && self.phones.ends(&message.imsi)
                    {
                        return false;
                    }
                }
                // We make no requests that are waited for.
                GsupEvent::Answer((), _) | GsupEvent::Malformed(_) => {}
                GsupEvent::Closed(_) => return false,
            }
        }
        true
    }

    fn on_message(&mut self, message: &GsupMessage) {
        match message.message_type {
            MessageType::MT_FORWARD_SM_REQUEST => {
                let name = Bytes::from_static(NAME.as_bytes());
                if let Some((answer, after)) = self.phones.arrived(message, &name) {
                    let due = Instant::now().into_std() + after;
                    self.due.enter(due, answer);
                    // At once means in the order of requests.
                    self.answer_due();
                }
            }
            MessageType::MO_FORWARD_SM_RESULT
            | MessageType::MO_FORWARD_SM_ERROR
            | MessageType::READY_FOR_SM_RESULT => self.phones.answered(message),
            _ => {}
        }
    }

    fn answer_due(&mut self) {
        let now = Instant::now().into_std();
        while let Some(answer) = self.due.pop_due(now) {
            self.phones.is_free(&answer.imsi);
            if let Some(answer) = self.phones.pass(self.number, answer) {
                self.send(&answer);
            }
        }
    }

    fn send(&mut self, message: &GsupMessage) {
        // What cannot be written is a mistake of the test that has made it.
        let sent = self.session.notify(message, &mut self.out);
        debug_assert!(sent.is_ok(), "{sent:?}");
    }
}
