//! The task of one signalling gateway: connects to it again and again, and carries M3UA between it and the interface.
//!
//! Each gateway has its own, under `supervise::start_task`, so that one that is away costs the others nothing. The protocol is
//! the interface's: it gets whole messages, a read at a time, and the next read waits until it has dealt with them; what it
//! writes comes by a channel, whose octets are counted. The task ends when the interface lets go of that channel. A panic
//! ends the connection, which the interface is told before the next one.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use actix::{ArbiterHandle, Recipient};
use bytes::Bytes;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, timeout};

use super::transport::{GatewayReader, GatewayWire, GatewayWriter, dial};
use crate::actors::context::NodeContext;
use crate::actors::runtime::supervise::{self, AfterStop, Escalate, Health, reconnect_after};
use crate::clock;
use crate::config::MapGateway;
use crate::sigtran::M3uaTransmit;

/// A connection that ends before this has failed.
const LASTING: Duration = Duration::from_secs(60);
/// How long what was written last may take when a connection is ended.
const FAREWELL: Duration = Duration::from_secs(1);
/// Most orders that are taken at a time.
const ORDERS: usize = 64;
/// Octets that may wait to be written; beyond it the gateway does not read.
const WRITE_LIMIT: usize = 4 * 1024 * 1024;

/// News of a gateway, for the interface; answered with whether they are wanted.
pub(in super::super) struct GatewayNews {
    /// Which of the interface's starts the task belongs to.
    pub(in super::super) start: u64,
    /// Place in the configuration.
    pub(in super::super) link: usize,
    pub(in super::super) what: GatewayChange,
}

/// What has happened.
pub(in super::super) enum GatewayChange {
    /// A connection is being made.
    Connecting,
    /// There is a connection, to this address.
    Connected(String),
    /// M3UA messages have come.
    Messages(Vec<Bytes>),
    /// The connection has ended.
    Ended { why: String },
    /// After so many failures the next attempt begins at this time, Unix milliseconds.
    Waits {
        why: String,
        failures: u32,
        next_at: i64,
    },
}

/// The interface's end of a task.
pub(in super::super) struct GatewayPort {
    orders: mpsc::UnboundedSender<GatewayOrder>,
    /// Octets that wait to be written.
    waiting: Arc<AtomicUsize>,
}

enum GatewayOrder {
    Write(M3uaTransmit),
    /// The connection is to be ended, and why.
    Close(String),
}

/// What it takes to start a task.
pub(in super::super) struct GatewayTaskOptions {
    pub(in super::super) node: Arc<NodeContext>,
    pub(in super::super) interface: Recipient<GatewayNews>,
    /// The interned name of the network.
    pub(in super::super) gsm: u32,
    pub(in super::super) gateway: MapGateway,
    pub(in super::super) start: u64,
    pub(in super::super) link: usize,
    /// True while nothing shall be read.
    pub(in super::super) is_busy: watch::Receiver<bool>,
}

/// The state of a task, which outlives its panics.
struct GatewayTask {
    options: GatewayTaskOptions,
    orders: mpsc::UnboundedReceiver<GatewayOrder>,
    waiting: Arc<AtomicUsize>,
    /// Connections in a row that were not made, or did not last.
    failures: u32,
    is_connected: bool,
}

/// The interface has let go of the task, or is gone.
struct NotWanted;

impl actix::Message for GatewayNews {
    type Result = bool;
}

// === impl GatewayTaskOptions ===

impl GatewayTaskOptions {
    /// Starts the task.
    pub(in super::super) fn start(
        self,
        arbiter: &ArbiterHandle,
        health: Arc<Health>,
        escalate: Escalate,
    ) -> GatewayPort {
        #[expect(
            clippy::disallowed_methods,
            reason = "its octets are counted; beyond WRITE_LIMIT the connection is closed"
        )]
        let (orders, receiver) = mpsc::unbounded_channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let port = GatewayPort {
            orders,
            waiting: Arc::clone(&waiting),
        };
        let mut task = GatewayTask {
            options: self,
            orders: receiver,
            waiting,
            failures: 0,
            is_connected: false,
        };
        let for_task = Arc::clone(&health);
        supervise::start_task(arbiter, health, escalate, async move || {
            let NotWanted = task.run().await;
            for_task.after_stop(AfterStop::End);
        });
        port
    }
}

// === impl GatewayPort ===

impl GatewayPort {
    /// Writes a message, if there is a connection; whether it is well: with too much that waits, the gateway does not read.
    pub(in super::super) fn write(&self, message: M3uaTransmit) -> bool {
        let octets = message.octets.len();
        let before = self.waiting.fetch_add(octets, Ordering::Relaxed);
        // A task that has ended is no harm: the interface has let go of it.
        let _ = self.orders.send(GatewayOrder::Write(message));
        before + octets <= WRITE_LIMIT
    }

    /// Ends the connection; the next one is made after a pause.
    pub(in super::super) fn close(&self, why: String) {
        let _ = self.orders.send(GatewayOrder::Close(why));
    }
}

// === impl GatewayTask ===

impl GatewayTask {
    async fn run(&mut self) -> NotWanted {
        match self.connect_for_ever().await {
            Ok(never) => match never {},
            Err(not_wanted) => not_wanted,
        }
    }

    async fn connect_for_ever(&mut self) -> Result<std::convert::Infallible, NotWanted> {
        if self.is_connected {
            let why = "an internal failure".to_owned();
            self.ended(why.clone()).await?;
            self.pause(why).await?;
        }
        loop {
            self.tell(GatewayChange::Connecting).await?;
            let why = match self.connect().await? {
                Ok(connection) => self.serve(connection).await?,
                Err(why) => why,
            };
            self.pause(why).await?;
        }
    }

    async fn tell(&self, what: GatewayChange) -> Result<(), NotWanted> {
        let (start, link) = (self.options.start, self.options.link);
        let news = GatewayNews { start, link, what };
        tokio::select! {
            answer = self.options.interface.send(news) => match answer {
                Ok(true) => Ok(()),
                Ok(false) | Err(_) => Err(NotWanted),
            },
            // An interface that is suspended would not answer before it is resumed.
            not_wanted = is_gone(self.options.is_busy.clone()) => Err(not_wanted),
        }
    }

    /// A connection, or why there is none.
    async fn connect(&mut self) -> Result<Result<GatewayWire, String>, NotWanted> {
        let node = Arc::clone(&self.options.node);
        let gateway = self.options.gateway.clone();
        let within = self.plan().connect_timeout;
        let smpp = node.config().smpp.clone();
        tokio::select! {
            dialled = timeout(within, dial(&gateway, within, &smpp)) => {
                Ok(dialled.unwrap_or_else(|_| Err("connect: no connection in time".to_owned())))
            }
            not_wanted = let_go(&mut self.orders, &self.waiting) => Err(not_wanted),
        }
    }

    /// Carries messages until the connection is over; why it is.
    async fn serve(&mut self, connection: GatewayWire) -> Result<String, NotWanted> {
        let began = Instant::now();
        let GatewayWire {
            mut reader,
            mut writer,
            peer,
        } = connection;
        self.is_connected = true;
        let why = match self.carry(peer, &mut reader, &mut writer).await {
            Ok(why) => why,
            Err(not_wanted) => {
                self.take_leave(&mut writer).await;
                return Err(not_wanted);
            }
        };
        if began.elapsed() >= LASTING {
            self.failures = 0;
        }
        self.ended(why.clone()).await?;
        Ok(why)
    }

    /// Carries messages; why that is over. Reading comes last, so that it never keeps anything from being written.
    async fn carry(
        &mut self,
        peer: String,
        reader: &mut GatewayReader,
        writer: &mut GatewayWriter,
    ) -> Result<String, NotWanted> {
        self.tell(GatewayChange::Connected(peer)).await?;
        let mut is_busy = self.options.is_busy.clone();
        let mut orders = Vec::new();
        loop {
            let may_read = !*is_busy.borrow_and_update();
            tokio::select! {
                biased;
                taken = self.orders.recv_many(&mut orders, ORDERS) => {
                    if taken == 0 {
                        return Err(NotWanted);
                    }
                    for order in orders.drain(..) {
                        match order {
                            GatewayOrder::Write(message) => writer.push(message),
                            GatewayOrder::Close(why) => return Ok(why),
                        }
                    }
                }
                written = writer.write(), if !writer.is_empty() => match written {
                    Ok(0) => return Ok("the gateway closed the connection".to_owned()),
                    Ok(written) => _ = self.waiting.fetch_sub(written, Ordering::Relaxed),
                    Err(error) => return Ok(error.to_string()),
                },
                messages = reader.messages(), if may_read => match messages {
                    Ok(messages) => self.tell(GatewayChange::Messages(messages)).await?,
                    Err(why) => return Ok(why),
                },
                changed = is_busy.changed(), if !may_read => {
                    changed.map_err(|_| NotWanted)?;
                }
            }
        }
    }

    /// Writes what was ordered before the interface has let go: what says good-bye is the last of it.
    async fn take_leave(&mut self, writer: &mut GatewayWriter) {
        while let Ok(order) = self.orders.try_recv() {
            if let GatewayOrder::Write(message) = order {
                writer.push(message);
            }
        }
        let _ = timeout(FAREWELL, writer.close()).await;
    }

    /// Tells that there is no connection any more; what was to be written to it is forgotten.
    async fn ended(&mut self, why: String) -> Result<(), NotWanted> {
        self.is_connected = false;
        self.tell(GatewayChange::Ended { why }).await?;
        // Whatever the interface has written before it knew.
        loop {
            match self.orders.try_recv() {
                Ok(_) => {}
                Err(mpsc::error::TryRecvError::Empty) => break,
                Err(mpsc::error::TryRecvError::Disconnected) => return Err(NotWanted),
            }
        }
        self.waiting.store(0, Ordering::Relaxed);
        Ok(())
    }

    async fn pause(&mut self, why: String) -> Result<(), NotWanted> {
        self.failures += 1;
        let pause = reconnect_after(&self.plan().reconnect, self.failures);
        let waits = GatewayChange::Waits {
            why,
            failures: self.failures,
            next_at: clock::now_ms() + pause.as_millis() as i64,
        };
        self.tell(waits).await?;
        tokio::select! {
            () = sleep(pause) => Ok(()),
            not_wanted = let_go(&mut self.orders, &self.waiting) => Err(not_wanted),
        }
    }

    /// The newest settings of the network.
    fn plan(&self) -> crate::config::Gsm {
        let plan = self.options.node.plan();
        let network = plan.gsm(self.options.gsm);
        network.map(|plan| plan.config.clone()).unwrap_or_default()
    }
}

/// Waits until the interface is gone, or has let go of all its gateways.
async fn is_gone(mut is_busy: watch::Receiver<bool>) -> NotWanted {
    while is_busy.changed().await.is_ok() {}
    NotWanted
}

/// Waits until the interface lets go; without a connection there is nothing to write to.
async fn let_go(
    orders: &mut mpsc::UnboundedReceiver<GatewayOrder>,
    waiting: &AtomicUsize,
) -> NotWanted {
    while orders.recv().await.is_some() {
        waiting.store(0, Ordering::Relaxed);
    }
    NotWanted
}
