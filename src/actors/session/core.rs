//! What a session has, whichever side it is on: the state of the protocol, the octets on their
//! way to the socket, the deliveries in its window, what waits for a commit, and the snapshot that the
//! administrator sees. `EsmeSession` and `OperatorSession` each hold one and decide what its events mean.

use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, Addr, Context, Handler};
use bytes::BytesMut;
use tokio::time::Instant;

use crate::actors::context::NodeContext;
use crate::actors::context::binds::BindPort;
use crate::actors::context::octets::HeldOctets;
use crate::actors::context::ports::QueuePort;
use crate::actors::runtime::link::Outbox;
use crate::actors::runtime::timed_mailbox::Timed;
use crate::actors::session::bound::{
    BoundProtocol, DeliveryOperation, InFlight, LiveView, WITH_TLVS,
};
use crate::actors::session::data_sm;
use crate::actors::session::outgoing::{Prepared, Serving};
use crate::content::door;
use crate::pb::delivery::What;
use crate::pb::{BindSnapshot, DeliverBatch, Message, ReportHeld, Submission, SubmitBatch};
use crate::smpp::codec::BadCommandLength;
use crate::smpp::session::CloseReason;
use crate::smpp::{CommandId, CommandStatus, DataSm, SubmitSm, encode_error_resp};

/// Interval of [`SessionCore::tick`].
pub const TICK: Duration = Duration::from_millis(250);
/// Grants and answers that may wait in the mailbox of one session.
pub const MAILBOX: usize = 1024;
/// Time for the peer to take a last answer before the connection is closed.
pub const LINGER: Duration = Duration::from_millis(500);

pub struct SessionCore<P> {
    pub node: Arc<NodeContext>,
    /// What its peer speaks.
    pub protocol: P,
    /// `None` while there is no connection.
    pub outbox: Option<Outbox>,
    /// The queue whose deliveries it sends, once it is bound to receive them.
    pub serving: Option<Serving>,
    pub port: Arc<BindPort>,
    pub snapshot: BindSnapshot,
    /// Requests that wait for their commit.
    pub intake: usize,
    /// Whether such requests of its peer take more memory than the share of one peer.
    crowded: bool,
    /// Submissions of the current socket read.
    pub submissions: Vec<Submission>,
    pub came_as: CameAs,
    /// Octets written as of the last tick.
    written: u64,
    stalled_since: Option<Instant>,
}

/// Submissions on their way to the store, until this is dropped.
pub struct Arriving {
    count: usize,
    sender: u32,
    held: HeldOctets,
}

/// Requests that are answered as another operation than the usual one of their session.
#[derive(Default)]
pub struct CameAs(Vec<(u32, CommandId)>);

// === impl CameAs ===

impl CameAs {
    pub fn note(&mut self, sequence: u32, command_id: CommandId) {
        self.0.push((sequence, command_id));
    }

    /// The operation that this request came as, when it is not the usual one; forgets it.
    pub fn take(&mut self, sequence: u32) -> Option<CommandId> {
        let at = self.0.iter().position(|(one, _)| *one == sequence)?;
        Some(self.0.swap_remove(at).1)
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }
}

// === impl SessionCore ===

impl<P: BoundProtocol> SessionCore<P> {
    pub fn new(
        node: Arc<NodeContext>,
        protocol: P,
        port: Arc<BindPort>,
        snapshot: BindSnapshot,
    ) -> Self {
        Self {
            node,
            protocol,
            outbox: None,
            serving: None,
            port,
            snapshot,
            intake: 0,
            crowded: false,
            submissions: Vec::new(),
            came_as: CameAs::default(),
            written: 0,
            stalled_since: None,
        }
    }

    /// Appends to what waits for the socket; `None` without a connection.
    pub fn write<T>(&mut self, append: impl FnOnce(&mut P, &mut BytesMut) -> T) -> Option<T> {
        let outbox = self.outbox.as_ref()?;
        let view = view_of(&self.node, &self.port, &self.protocol);
        let protocol = &mut self.protocol;
        Some(write_shown(view, outbox, |out| append(protocol, out)))
    }

    /// Takes the next event out of what the socket has brought. `None`: there is no whole one, or no
    /// connection any more.
    ///
    /// # Errors
    /// A command_length that cannot be: the octets cannot be divided into PDUs any more.
    // An event is large: each call that hands it on would copy it.
    #[inline(always)]
    pub fn next_event(
        &mut self,
        octets: &mut BytesMut,
        now: Instant,
    ) -> Result<Option<P::Event>, BadCommandLength> {
        let Some(outbox) = &self.outbox else {
            octets.clear();
            return Ok(None);
        };
        let view = view_of(&self.node, &self.port, &self.protocol);
        let protocol = &mut self.protocol;
        write_shown(view, outbox, |out| {
            protocol.next_event(octets, now.into_std(), out, view)
        })
    }

    /// Runs the timers of the protocol, and settles what has not been answered in time. Says why the
    /// session has to end; `None` without a connection.
    pub fn tick(&mut self, now: Instant) -> Option<Option<CloseReason>> {
        let tick = self.write(|protocol, out| protocol.on_tick(now.into_std(), out))?;
        if let Some(serving) = &mut self.serving {
            for expired in tick.expired {
                serving.unanswered(&expired);
            }
            serving.flush();
        }
        Some(tick.close)
    }

    /// Whether octets wait that the peer has taken none of since the last call.
    pub fn is_stuck(&mut self) -> bool {
        let written = &mut self.written;
        self.outbox
            .as_ref()
            .is_some_and(|outbox| outbox.is_stuck(written))
    }

    /// Whether the session has been `stalled` at each call for longer than an answer may take.
    pub fn has_stalled(&mut self, stalled: bool, now: Instant) -> bool {
        if !stalled {
            self.stalled_since = None;
            return false;
        }
        let since = *self.stalled_since.get_or_insert(now);
        now.duration_since(since) > self.protocol.messages().timeout()
    }

    /// Begins to take the deliveries of this queue.
    pub fn join<A>(&mut self, queue: Arc<QueuePort>, session: &Addr<A>)
    where
        A: Actor<Context = Context<A>> + Handler<Timed<DeliverBatch>> + Handler<ReportHeld>,
    {
        self.serving = Some(Serving::join(
            &self.node,
            self.port.session,
            queue,
            session,
            self.protocol.room() as u32,
            &self.snapshot.peer,
            DeliveryOperation::DELIVER_SM.name,
        ));
    }

    /// Whether the peer knows optional parameters (3.4 §3.2.4).
    pub fn with_tlvs(&self) -> bool {
        self.protocol.peer_version() >= WITH_TLVS
    }

    /// Sends a batch as `operation`, prepared one by one, without optional parameters for a peer that
    /// does not know them. A session that has left its queue ignores it: the queue has already taken back
    /// what it granted.
    pub fn deliver(
        &mut self,
        batch: DeliverBatch,
        operation: DeliveryOperation,
        mut prepare: impl FnMut(&Message, What) -> Prepared,
    ) {
        let with_tlvs = self.with_tlvs();
        let address = match operation.name {
            "data_sm" => door::ADDRESS_OF_DATA_SM,
            _ => door::ADDRESS,
        };
        let (Some(serving), Some(outbox)) = (&mut self.serving, &self.outbox) else {
            return;
        };
        if !serving.is_granted(&batch) {
            return;
        }
        self.snapshot.sent_total += batch.deliveries.len() as u64;
        let view = view_of(&self.node, &self.port, &self.protocol);
        let protocol = &mut self.protocol;
        let mut changed = 0;
        let prepare = |message: &Message, what| {
            let mut prepared = prepare(message, what);
            changed += prepared.characters_changed;
            if let Err(unfit) = door::leave(&mut prepared.pdu, address) {
                prepared.refused.get_or_insert(unfit);
            }
            if !with_tlvs && !data_sm::without_tlvs(&mut prepared.pdu) {
                let unfit = CommandStatus::ESME_RINVMSGLEN;
                prepared.refused.get_or_insert(unfit);
            }
            prepared
        };
        let now = Instant::now().into_std();
        write_shown(view, outbox, |out| {
            serving.deliver(protocol, batch, now, out, operation, prepare);
        });
        self.node.metrics.characters_changed.inc_by(changed as u64);
    }

    /// What a data_sm carries, as a submit_sm or deliver_sm; its answer will be data_sm_resp. One that
    /// cannot go on is answered here.
    pub fn take_data_sm(&mut self, sequence: u32, data: DataSm) -> Option<SubmitSm> {
        if let Err(status) = data_sm::check(&data) {
            self.refuse(CommandId::DATA_SM, sequence, status);
            return None;
        }
        self.came_as.note(sequence, CommandId::DATA_SM);
        Some(data_sm::into_message(data))
    }

    /// Writes answers to requests of the peer. Nothing without a connection.
    pub fn answer(&mut self, answer: impl FnOnce(&mut P, &mut CameAs, &mut BytesMut)) {
        let Some(outbox) = &self.outbox else {
            return;
        };
        let view = view_of(&self.node, &self.port, &self.protocol);
        let (protocol, came_as) = (&mut self.protocol, &mut self.came_as);
        write_shown(view, outbox, |out| answer(protocol, came_as, out));
    }

    /// Answers a request with an error.
    pub fn refuse(&mut self, command_id: CommandId, sequence: u32, status: CommandStatus) {
        self.snapshot.errors_total += 1;
        self.write(|_, out| encode_error_resp(out, command_id, sequence, status));
    }

    /// Adds a message to what the current socket read submits.
    pub fn submit(&mut self, sequence: u32, message: Message) {
        self.submissions.push(Submission {
            sequence,
            message: Some(Box::new(message)),
        });
    }

    /// The submissions of one socket read as a batch for Ingest, with their sequence numbers; they count
    /// as waiting from now on, until [`SessionCore::answered`]. `None` when there are none.
    pub fn take_batch(&mut self, sender: u32) -> Option<(SubmitBatch, Vec<u32>, Arriving)> {
        if self.submissions.is_empty() {
            return None;
        }
        let submissions = std::mem::take(&mut self.submissions);
        let sequences = submissions.iter().map(|one| one.sequence).collect();
        let arriving = self.arriving(sender, &submissions);
        let batch = SubmitBatch {
            sender,
            submissions,
            peer: self.snapshot.peer.clone(),
            ..SubmitBatch::default()
        };
        Some((batch, sequences, arriving))
    }

    /// Counts submissions that go to Ingest.
    pub fn arriving(&mut self, sender: u32, submissions: &[Submission]) -> Arriving {
        let messages = submissions.iter().filter_map(|one| one.message.as_ref());
        let octets = messages.map(|message| message.weight()).sum();
        let most = self.node.config().smpp.intake_mib << 20;
        let (held, is_within) = self.node.arriving.hold(sender, octets, most);
        self.crowded = !is_within;
        self.intake += submissions.len();
        Arriving {
            count: submissions.len(),
            sender,
            held,
        }
    }

    /// They are durable, or refused.
    pub fn answered(&mut self, arriving: Arriving) {
        self.intake = self.intake.saturating_sub(arriving.count);
        drop(arriving.held);
        if self.crowded {
            let most = self.node.config().smpp.intake_mib << 20;
            self.crowded = !self.node.arriving.is_within(arriving.sender, most);
        }
    }

    /// Whether so much waits for its commit that nothing more is read: of this session, or of its peer on all its
    /// sessions. One that waits for nothing is read, so that an answer of its own always ends this.
    pub fn has_enough(&self, most: usize) -> bool {
        self.intake > most || (self.crowded && self.intake > 0)
    }

    /// Says what is in the window, to a queue that has restarted. What has been sent cannot be given back.
    pub fn report(&self, ask: &ReportHeld) {
        if ask.give_back.is_empty()
            && let Some(serving) = &self.serving
        {
            serving.report(ask, &self.protocol);
        }
    }

    /// Leaves the queue and settles what is still unanswered, each by `settle`; idempotent.
    pub fn give_back(&mut self, settle: fn(&mut Serving, &InFlight)) {
        if let Some(mut serving) = self.serving.take() {
            for lost in self.protocol.take_lost() {
                settle(&mut serving, &lost);
            }
            serving.flush();
        }
    }

    /// Gives the connection up: nothing waits for an answer on it any more. Idempotent.
    pub fn disconnect(&mut self) {
        if let Some(outbox) = self.outbox.take() {
            outbox.cut();
        }
        self.written = 0;
        self.stalled_since = None;
        self.intake = 0;
    }

    /// Shows the session's figures to the administrator.
    pub fn publish(&mut self) {
        self.snapshot.window = self.protocol.messages().limit() as u32;
        self.snapshot.in_flight = self.protocol.in_flight() as u32;
        self.snapshot.interface_version = u32::from(self.protocol.peer_version());
        self.port.snapshot.update(&self.snapshot);
    }
}

/// Where the PDUs of a bind are shown that speaks this protocol.
fn view_of<'v>(
    node: &'v NodeContext,
    port: &'v BindPort,
    protocol: &impl BoundProtocol,
) -> LiveView<'v> {
    LiveView {
        node,
        port,
        dialect: protocol.dialect(),
    }
}

/// Appends PDUs to what waits for the socket of a bind, and shows them to those who watch it.
#[inline(always)]
fn write_shown<T>(
    view: LiveView<'_>,
    outbox: &Outbox,
    append: impl FnOnce(&mut BytesMut) -> T,
) -> T {
    outbox.write(|out| {
        let before = out.len();
        let result = append(out);
        view.see(true, &out[before..]);
        result
    })
}
