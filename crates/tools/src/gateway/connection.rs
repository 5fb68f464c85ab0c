//! One SMSC at a simulated gateway: the login, its messages, and answers and reports in their time.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use smsc_carrier::fields::{Content, Varying, Widened};
use smsc_carrier::{Event, Session, SessionConfig};
use smsc_cmpp::bodies::{Connect, Deliver, Submit, SubmitResp};
use smsc_cmpp::{Body, Cmpp, Report, proof, session_config, status};
use smsc_host::clock;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};

use super::hub::{Fate, Hub};

/// How often the clock is looked at, and what waits for the window.
const TICK: Duration = Duration::from_millis(10);
/// Octets of one read.
const READ: usize = 64 * 1024;

/// What is due at a time.
#[derive(Debug)]
enum Due {
    Answer(u32, SubmitResp),
    Report(Deliver),
}

/// One connection while it lasts.
struct Connection {
    hub: Arc<Hub>,
    /// Each CMPP_DELIVER under way comes back with its answer, or is brought again.
    session: Session<Cmpp, Deliver>,
    out: BytesMut,
    due: BTreeMap<(Instant, u64), Due>,
    orders: u64,
}

/// Serves a connection until it ends.
pub(super) async fn serve(hub: Arc<Hub>, mut socket: TcpStream) {
    // Without it, small answers wait for the acknowledgement of those before.
    let _ = socket.set_nodelay(true);
    let config = SessionConfig {
        window: hub.options.window,
        ..session_config()
    };
    let now = Instant::now().into_std();
    let mut connection = Connection {
        hub,
        session: Session::server(config, Cmpp::V20, now),
        out: BytesMut::new(),
        due: BTreeMap::new(),
        orders: 0,
    };
    let mut octets = BytesMut::with_capacity(READ);
    let mut tick = interval(TICK);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        if socket.write_all_buf(&mut connection.out).await.is_err() {
            break;
        }
        let next = connection.due.first_key_value().map(|((at, _), _)| *at);
        let goes_on = tokio::select! {
            read = socket.read_buf(&mut octets) => match read {
                Ok(0) | Err(_) => false,
                Ok(_) => connection.on_octets(&mut octets),
            },
            () = sleep_until(next.unwrap_or_else(Instant::now)), if next.is_some() => true,
            _ = tick.tick() => connection.on_tick(),
        };
        connection.on_due();
        connection.bring();
        if !goes_on {
            let _ = socket.write_all_buf(&mut connection.out).await;
            break;
        }
    }
    connection.give_back();
}

// === impl Connection ===

impl Connection {
    fn on_octets(&mut self, octets: &mut BytesMut) -> bool {
        let now = Instant::now().into_std();
        self.session.receive(octets, now);
        octets.clear();
        while let Some(event) = self.session.next_event(now, &mut self.out) {
            match event {
                Event::Login(pdu) => {
                    let Body::Connect(connect) = &pdu.body else {
                        return false;
                    };
                    if !self.log_in(pdu.sequence, connect) {
                        return false;
                    }
                }
                Event::Request(pdu) => {
                    if let Body::Submit(submit) = &pdu.body {
                        self.take(pdu.sequence, submit);
                    }
                }
                Event::Response(deliver, Body::DeliverResp(resp)) => match resp.result.0 {
                    status::OK => self.hub.taken(),
                    _ => self.later(Duration::from_secs(1), Due::Report(deliver)),
                },
                Event::Response(deliver, _) => self.hub.bring([deliver]),
                Event::Malformed(_) | Event::Closed(_) => return false,
                Event::Stray(_) | Event::Opened(_) | Event::Refused(_) => {}
            }
        }
        true
    }

    /// Whether the login is accepted.
    fn log_in(&mut self, sequence: u32, connect: &Connect) -> bool {
        let options = &self.hub.options;
        let source = &connect.source_addr.0;
        let secret = options.password.as_deref().unwrap_or_default().as_bytes();
        let is_right = || {
            options.password.is_none()
                || connect.authenticator_source == proof(source, secret, connect.timestamp)
        };
        let version = Cmpp::of(connect.version);
        let known = options.system_id.as_ref();
        let status = match version {
            None => 4,
            Some(_) if known.is_some_and(|known| known.as_bytes() != source) => 2,
            Some(_) if !is_right() => 3,
            Some(_) => status::OK,
        };
        let version = version.unwrap_or(Cmpp::V30);
        self.session.protocol = version;
        let resp = version.connect_resp(connect, secret, status);
        let now = Instant::now().into_std();
        let answered = self
            .session
            .answer_login(sequence, resp, now, &mut self.out);
        answered.is_ok() && status == status::OK
    }

    fn take(&mut self, sequence: u32, submit: &Submit) {
        let (msg_id, result, stat) = match self.hub.take(submit) {
            Fate::Silence => return,
            Fate::Refused(result) => (0, result, None),
            Fate::Accepted { msg_id, stat } => (msg_id, status::OK, stat),
        };
        let latency = self.hub.options.latency.draw();
        let result = Widened(result);
        self.later(
            latency,
            Due::Answer(sequence, SubmitResp { msg_id, result }),
        );
        let Some(stat) = stat else { return };
        let delay = latency + self.hub.options.receipt_delay.draw();
        if let Some(report) = report(self.session.protocol, submit, msg_id, stat) {
            self.later(delay, Due::Report(report));
        }
    }

    fn later(&mut self, delay: Duration, what: Due) {
        self.orders += 1;
        self.due.insert((Instant::now() + delay, self.orders), what);
    }

    fn on_due(&mut self) {
        let now = Instant::now();
        while let Some(first) = self.due.first_entry()
            && first.key().0 <= now
        {
            match first.remove() {
                Due::Answer(sequence, resp) => {
                    // Its fields always fit.
                    let _ = self
                        .session
                        .answer(sequence, Body::SubmitResp(resp), &mut self.out);
                }
                Due::Report(deliver) => self.hub.bring([deliver]),
            }
        }
    }

    /// Brings what waits, as far as there is room.
    fn bring(&mut self) {
        let now = Instant::now().into_std();
        while self.session.room() > 0
            && let Some(deliver) = self.hub.next()
        {
            let body = Body::Deliver(deliver.clone());
            let _ = self.session.send(body, deliver, now, &mut self.out);
        }
    }

    fn on_tick(&mut self) -> bool {
        let tick = self
            .session
            .on_tick(Instant::now().into_std(), &mut self.out);
        self.hub.bring(tick.expired);
        tick.closed.is_none()
    }

    /// What was not brought waits for the next connection.
    fn give_back(mut self) {
        self.hub.bring(self.session.take_lost());
        let due = std::mem::take(&mut self.due).into_values();
        self.hub.bring(due.filter_map(|due| match due {
            Due::Report(deliver) => Some(deliver),
            Due::Answer(..) => None,
        }));
    }
}

/// A CMPP_DELIVER with the report of a message.
fn report(version: Cmpp, submit: &Submit, msg_id: u64, stat: &str) -> Option<Deliver> {
    let number = submit.dest_terminal_id.0.first()?.clone();
    let now = jiff::Timestamp::from_millisecond(clock::now_ms()).ok()?;
    let now = now.strftime("%y%m%d%H%M").to_string();
    let report = Report {
        msg_id,
        stat: stat.into(),
        submit_time: now.as_str().into(),
        done_time: now.as_str().into(),
        dest_terminal_id: Varying(number.clone()),
        smsc_sequence: 0,
    };
    Some(Deliver {
        msg_id,
        dest_id: submit.src_id.clone(),
        service_id: submit.service_id.clone(),
        src_terminal_id: Varying(number),
        registered_delivery: 1,
        msg_content: Content(report.encode(version).ok()?),
        ..Deliver::default()
    })
}
