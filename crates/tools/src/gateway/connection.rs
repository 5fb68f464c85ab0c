//! One SMSC at a simulated gateway: the login, its messages, and answers and reports in their time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use smsc_carrier::{Event, Session, SessionConfig};
use smsc_host::clock;
use smsc_smpp::CommandStatus;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::dialect::{Dialect, GatewayDelivery, GatewayMessageId, What};
use super::hub::GatewayHub;
use crate::minute::Minute;
use crate::network::unhurried;
use crate::table::{TimedTable, at};

/// How often the clock is looked at, and what waits for the window.
const TICK: Duration = Duration::from_millis(10);
/// When something that was refused is brought again.
const AGAIN: Duration = Duration::from_secs(1);
/// Octets of one read.
const READ: usize = 64 * 1024;

/// What is due at a time.
enum DueWork<D: Dialect> {
    Answer(D::Sequence, D::Body),
    Bring(GatewayDelivery),
}

/// One connection while it lasts.
struct GatewayConnection<D: Dialect> {
    hub: Arc<GatewayHub>,
    /// What is under way comes back with its answer, or is brought again.
    session: Session<D, GatewayDelivery>,
    receives: bool,
    out: BytesMut,
    due: TimedTable<DueWork<D>>,
    /// What was made in this turn and is to be brought at once.
    made: Vec<GatewayDelivery>,
    minute: Minute,
}

/// Serves a connection until it ends.
pub(super) async fn serve<D: Dialect>(hub: Arc<GatewayHub>, socket: TcpStream) {
    let now = now();
    let session = Session::server(config::<D>(&hub), D::new(), now);
    GatewayConnection::new(hub, session, BytesMut::new())
        .run(socket)
        .await;
}

/// Logs in on a connection that we have made, brings what there is, and serves it until it ends.
pub(super) async fn call<D: Dialect>(
    hub: Arc<GatewayHub>,
    socket: TcpStream,
    protocol: D,
    login: D::Body,
) {
    let mut out = BytesMut::new();
    let now = now();
    let config = config::<D>(&hub);
    // A login that cannot be written is not made.
    let Ok(session) = Session::client(config, protocol, login, now, &mut out) else {
        return;
    };
    GatewayConnection::new(hub, session, out).run(socket).await;
}

fn config<D: Dialect>(hub: &GatewayHub) -> SessionConfig {
    SessionConfig {
        window: hub.options.like.window,
        ..D::config()
    }
}

/// The time, also when a test has stopped the clock.
fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

// === impl GatewayConnection ===

impl<D: Dialect> GatewayConnection<D> {
    /// `out` is what is to be written first.
    fn new(hub: Arc<GatewayHub>, session: Session<D, GatewayDelivery>, out: BytesMut) -> Self {
        Self {
            hub,
            session,
            receives: false,
            out,
            due: TimedTable::default(),
            made: Vec::new(),
            minute: Minute::default(),
        }
    }

    async fn run(mut self, mut socket: TcpStream) {
        // Without it, small answers wait for the acknowledgement of those before.
        let _ = socket.set_nodelay(true);
        let mut octets = BytesMut::with_capacity(READ);
        let mut tick = unhurried(TICK);
        loop {
            if socket.write_all_buf(&mut self.out).await.is_err() {
                break;
            }
            let goes_on = tokio::select! {
                read = socket.read_buf(&mut octets) => match read {
                    Ok(0) | Err(_) => false,
                    Ok(_) => self.on_octets(&mut octets),
                },
                () = at(self.due.next_due()) => true,
                () = self.hub.filled(), if self.receives => true,
                _ = tick.tick() => self.on_tick(),
            };
            let now = now();
            self.on_due(now);
            self.bring(now);
            if !goes_on {
                let _ = socket.write_all_buf(&mut self.out).await;
                break;
            }
        }
        self.give_back();
    }

    fn on_octets(&mut self, octets: &mut BytesMut) -> bool {
        let now = now();
        self.session.receive(octets, now);
        octets.clear();
        while let Some(event) = self.session.next_event(now, &mut self.out) {
            match event {
                Event::Login(pdu) => {
                    if !self.log_in(pdu.sequence, &pdu.body) {
                        return false;
                    }
                }
                Event::Request(pdu) => self.take(pdu.sequence, pdu.body, now),
                Event::Response(brought, pdu) => self.brought(brought, &pdu.body),
                Event::Opened(_) => self.receives(),
                Event::Malformed(_) | Event::Closed(_) | Event::Refused(_) => return false,
                Event::Stray(_) => {}
            }
        }
        true
    }

    /// Whether the login is accepted.
    fn log_in(&mut self, sequence: D::Sequence, body: &D::Body) -> bool {
        let Some(login) = D::log_in(body, &self.hub.options.like) else {
            return false;
        };
        self.session.protocol = login.protocol;
        let now = now();
        let answered = self
            .session
            .answer_login(sequence, login.response, now, &mut self.out);
        let is_in = answered.is_ok() && login.is_accepted;
        if is_in && login.receives {
            self.receives();
        }
        is_in
    }

    fn receives(&mut self) {
        self.receives = true;
        self.hub.receives(true);
    }

    fn take(&mut self, sequence: D::Sequence, body: D::Body, now: Instant) {
        let Some(taken) = D::submitted(body) else {
            return;
        };
        let protocol = self.session.protocol;
        let latency = self.hub.options.like.latency.draw();
        let Some(status) = self.hub.answer() else {
            return;
        };
        if !status.is_ok() {
            self.hub.refuse();
            let refusal = protocol.answer(&GatewayMessageId::default(), status);
            return self.later(now, latency, DueWork::Answer(sequence, refusal));
        }
        let id = D::id(self.hub.accept(), sequence);
        self.hub.write(&taken, || D::shown(&id));
        let answer = protocol.answer(&id, CommandStatus::ESME_ROK);
        self.later(now, latency, DueWork::Answer(sequence, answer));
        for number in taken.to {
            let Some(stat) = self.hub.stat().filter(|_| taken.wants_report) else {
                continue;
            };
            let report = GatewayDelivery {
                id,
                number,
                to: taken.from.clone(),
                what: What::Report {
                    service: taken.service.clone(),
                    stat,
                },
                refusals: 0,
            };
            let delay = latency + self.hub.options.like.receipt_delay.draw();
            self.later(now, delay, DueWork::Bring(report));
        }
    }

    /// Something brought has been answered.
    fn brought(&mut self, mut brought: GatewayDelivery, body: &D::Body) {
        match D::is_taken(body) {
            Some(true) => self.hub.taken(),
            Some(false) if self.hub.refused(&mut brought) => {
                self.later(now(), AGAIN, DueWork::Bring(brought))
            }
            Some(false) => {}
            None => self.hub.bring([brought]),
        }
    }

    fn later(&mut self, now: Instant, delay: Duration, what: DueWork<D>) {
        if delay.is_zero() {
            self.act(what);
        } else {
            self.due.enter(now + delay, what);
        }
    }

    fn on_due(&mut self, now: Instant) {
        while let Some(due) = self.due.pop_due(now) {
            self.act(due);
        }
    }

    fn act(&mut self, due: DueWork<D>) {
        match due {
            DueWork::Answer(sequence, body) => {
                // Its fields always fit.
                let _ = self.session.answer(sequence, body, &mut self.out);
            }
            DueWork::Bring(brought) => self.made.push(brought),
        }
    }

    /// Brings what waits, as far as there is room; what is left is for other connections.
    fn bring(&mut self, now: Instant) {
        let room = if self.receives {
            self.session.room()
        } else {
            0
        };
        let minute = self.minute.text(clock::now_ms());
        for brought in self.hub.exchange(&mut self.made, room) {
            // What cannot be written is not brought at all.
            if let Some(body) = self.session.protocol.bring(&brought, minute) {
                let _ = self.session.send(body, brought, now, &mut self.out);
            }
        }
    }

    fn on_tick(&mut self) -> bool {
        let tick = self.session.on_tick(now(), &mut self.out);
        self.hub.bring(tick.expired);
        tick.closed.is_none()
    }

    /// What was not brought waits for the next connection.
    fn give_back(mut self) {
        if self.receives {
            self.hub.receives(false);
        }
        self.hub.bring(self.made);
        self.hub.bring(self.session.take_lost());
        let due = self.due.extract(|_| true).into_iter();
        self.hub.bring(due.filter_map(|due| match due {
            DueWork::Bring(brought) => Some(brought),
            DueWork::Answer(..) => None,
        }));
    }
}
