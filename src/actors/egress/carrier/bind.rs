//! A bind at a gateway: what [`BoundProtocol`](crate::actors::session::bound::BoundProtocol) asks, over CMPP, SMGP or SGIP.
//!
//! It is to the session as SMPP's is: a window of messages, answers, what the gateway brings. A message waits in
//! [`super::pending`] until the gateway may be sent another request, in which several may go together; what still waits
//! there when the bind ends was never sent, and is answered so. The connection is one that we have made, or one that the
//! gateway has made to bring what it has.

mod asked;
#[cfg(test)]
mod tests;
mod timers;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use bytes::{Bytes, BytesMut};

use super::gateway::{self, Brought, Gateway};
use super::pending::{Pending, SentRequest, Waiting};
use super::translate::deliver_of;
use crate::actors::context::NodeContext;
use crate::actors::context::plan::OperatorPlan;
use crate::actors::egress::operator_event::{BindEvent, BroughtContent};
use crate::actors::egress::upstream_protocol::UpstreamPeer as _;
use crate::actors::receipts::said::OperatorReport;
use crate::actors::session::bound::InFlight;
use crate::actors::session::smpp_terms::WINDOW;
use crate::carrier::session::Closed;
use crate::carrier::{self, NotSent, text};
use crate::clock;
use crate::config::Carrier;
use crate::smpp::CommandStatus;
use crate::smpp::session::{BindType, CloseReason, SessionState};
use crate::smpp::window::{LATE_MEMORY, LateWindow, Window};

/// What is brought under a sequence of the gateway.
type Came<G> = (<G as carrier::Protocol>::Sequence, <G as Gateway>::Came);

/// See the file's documentation.
pub(super) struct CarrierBind<G: Gateway> {
    protocol: G,
    /// Where the accounts are, whose messages it submits.
    node: Arc<NodeContext>,
    plan: Arc<OperatorPlan>,
    /// What the gateway is told beside what SMPP has.
    carrier: Arc<Carrier>,
    state: SessionState,
    bind_type: BindType,
    /// The connection, since the login; each request has what its answer is for.
    far: Option<carrier::Session<G, SentRequest>>,
    /// Messages that wait for an answer, sent or not.
    messages: LateWindow<InFlight>,
    pending: Pending,
    /// What waits for its answer to the gateway, for [`LATE_MEMORY`].
    came: Window<Came<G>>,
    /// What the session has not taken yet.
    events: VecDeque<BindEvent>,
    /// The second that `far` numbers its requests by, since 1970.
    second: i64,
    /// The answer to the login of a gateway that has connected to us, until the session is bound.
    welcome: Option<(G::Sequence, G::Body)>,
    /// Whether the gateway has connected to us.
    is_theirs: bool,
    /// When the gateway said something.
    heard_at: Instant,
    /// Since when it has been asked whether it is there, because a message is overdue.
    asked_at: Option<Instant>,
    /// When there was work.
    busy_at: Instant,
    /// When our logout was ordered.
    unbound_at: Instant,
    /// We have ended the connection because there is no work; some may come before the gateway has answered.
    is_retiring: bool,
    /// There is no connection, because there is no work.
    is_asleep: bool,
}

// === impl CarrierBind ===

impl<G: Gateway> CarrierBind<G> {
    /// For a connection that we have made.
    pub(super) fn new(protocol: G, node: Arc<NodeContext>, plan: Arc<OperatorPlan>) -> Self {
        let window = plan.config.most_unanswered() as usize;
        let now = Instant::now();
        let mut came = Window::new(WINDOW, LATE_MEMORY);
        // An answer to what another connection brought is for nothing of this one.
        came.start_at(rand::random::<u32>() >> 1);
        Self {
            protocol,
            node,
            carrier: Arc::new(plan.config.carrier()),
            state: SessionState::Open,
            bind_type: BindType::Transceiver,
            far: None,
            messages: LateWindow::new(window, plan.config.response_timeout()),
            plan,
            pending: Pending::default(),
            came,
            events: VecDeque::new(),
            second: 0,
            welcome: None,
            is_theirs: false,
            heard_at: now,
            asked_at: None,
            busy_at: now,
            unbound_at: now,
            is_retiring: false,
            is_asleep: false,
        }
    }

    /// For a connection that a gateway has made: its login, which is right, gets this answer when the session is bound.
    pub(super) fn of_gateway(
        session: carrier::Session<G, SentRequest>,
        node: Arc<NodeContext>,
        plan: Arc<OperatorPlan>,
        sequence: G::Sequence,
        answer: G::Body,
    ) -> Self {
        let protocol = session.protocol;
        Self {
            far: Some(session),
            welcome: Some((sequence, answer)),
            is_theirs: true,
            ..Self::new(protocol, node, plan)
        }
    }

    fn enter_bound(&mut self, now: Instant) {
        self.state = SessionState::Bound(self.bind_type);
        self.busy_at = now;
        let bound = BindEvent::BindResult(CommandStatus::ESME_ROK);
        self.events.push_back(bound);
    }

    fn log_in(&mut self, now: Instant, out: &mut BytesMut) {
        let operator = &self.plan.config;
        let config = gateway::session_of::<G>(operator);
        let now_ms = clock::now_ms();
        let protocol = self.protocol.at(now_ms);
        let login = protocol.login(operator, self.bind_type, now_ms);
        match carrier::Session::client(config, protocol, login, now, out) {
            Ok(mut session) => {
                // Sequences that say the time must differ from those of other connections in the same second.
                if G::SLEEPS {
                    session.start_at(rand::random::<u32>() >> 1);
                }
                self.far = Some(session);
            }
            Err(why) => {
                tracing::error!(operator = %operator.id, %why, "its login cannot be written");
                self.refused(CommandStatus::ESME_RINVSYSID);
            }
        }
    }

    /// Our login was refused.
    fn refused(&mut self, status: CommandStatus) {
        let event = match self.state {
            SessionState::Binding => BindEvent::BindResult(status),
            _ => BindEvent::Ended(format!("a further login was refused: {status}")),
        };
        self.state = SessionState::Closed;
        self.events.push_back(event);
    }

    /// The connection is to be closed.
    fn ended(&mut self, why: Closed) {
        let is_in_order = matches!(why, Closed::ByUs | Closed::ByPeer | Closed::Idle);
        let event = if is_in_order && self.sleep() {
            BindEvent::Asleep
        } else if why == Closed::ByUs {
            BindEvent::Close(CloseReason::UnbindDone)
        } else {
            BindEvent::Ended(why.to_string())
        };
        if !self.is_asleep {
            self.state = SessionState::Closed;
        }
        self.events.push_back(event);
    }

    // --- to the gateway ---

    /// What the gateway is told with a message: what its account says goes before what the operator's section says.
    fn carrier_of(&self, context: &InFlight) -> Arc<Carrier> {
        let plan = self.node.plan();
        let sender = context.message.as_ref().map(|message| message.sender);
        let account = sender.and_then(|sender| plan.account_by_id(sender));
        match account.and_then(|account| account.config.carrier.as_ref()) {
            Some(own) => Arc::new(own.over(&self.carrier)),
            None => Arc::clone(&self.carrier),
        }
    }

    /// Whether the gateway may be sent a request.
    fn has_room(&self) -> bool {
        self.far.as_ref().is_some_and(|far| far.room() > 0)
    }

    fn send_pending(&mut self, now: Instant, out: &mut BytesMut) {
        if self.pending.is_empty() {
            return;
        }
        let now_ms = clock::now_ms();
        let second = now_ms.div_euclid(1_000);
        if second != self.second
            && let Some(far) = &mut self.far
        {
            self.second = second;
            far.protocol = far.protocol.at(second * 1_000);
        }
        while self.has_room()
            && let Some(first) = self.pending.pop()
        {
            if first.has_expired(now_ms) {
                // It ends in its queue.
                self.refuse(vec![first]);
                continue;
            }
            let mut others = self.pending.take_sharing(&first, G::MOST_RECIPIENTS);
            let late = others.extract_if(.., |message| message.has_expired(now_ms));
            let late: Vec<_> = late.collect();
            self.refuse(late);
            if others.is_empty() {
                self.send_one(first, now, out);
            } else {
                others.insert(0, first);
                self.send_group(others, now, out);
            }
        }
    }

    fn send_one(&mut self, message: Waiting, now: Instant, out: &mut BytesMut) {
        self.busy_at = now;
        let Some(far) = &mut self.far else {
            return self.refuse(vec![message]);
        };
        let (number, operator) = (message.number, &self.plan.config);
        let to = if G::IDS_HAVE_RECIPIENTS {
            message.to.clone()
        } else {
            Bytes::new()
        };
        let request = SentRequest::One(number, to);
        let recipients = vec![message.to];
        let body = (self.protocol).submit(operator, &message.carrier, message.draft, recipients);
        let status = match far.send(body, request, now, out) {
            Ok(_) => return,
            Err(NotSent::Full(_) | NotSent::NotOpen(_)) => CommandStatus::ESME_RMSGQFUL,
            Err(NotSent::Unwritable(_, why)) => {
                tracing::info!(operator = %operator.id, %why, "a message cannot be written");
                gateway::unwritable(why)
            }
        };
        self.settle(number, status, Bytes::new(), true);
    }

    /// Sends messages that share a request.
    fn send_group(&mut self, group: Vec<Waiting>, now: Instant, out: &mut BytesMut) {
        self.busy_at = now;
        let (Some(far), Some(first)) = (&mut self.far, group.first()) else {
            return self.pending.give_back(group, false);
        };
        let to = group.iter().map(|message| message.to.clone()).collect();
        let (operator, draft) = (&self.plan.config, first.draft.clone());
        let body = (self.protocol).submit(operator, &first.carrier, draft, to);
        let (request, alone) = match far.send(body, SentRequest::Several(group), now, out) {
            Ok(_) => return,
            Err(NotSent::Full(request) | NotSent::NotOpen(request)) => (request, false),
            // One of the recipients may be the reason.
            Err(NotSent::Unwritable(request, _)) => (request, true),
        };
        if let SentRequest::Several(group) = request {
            self.pending.give_back(group, alone);
        }
    }

    /// Tells the session how a message went.
    fn settle(&mut self, number: u32, status: CommandStatus, message_id: Bytes, unsent: bool) {
        let messages = &mut self.messages;
        let settled = BindEvent::settled(messages, number, status, message_id, unsent);
        self.events.extend(settled);
    }

    /// Gives back what was never sent.
    fn refuse(&mut self, messages: Vec<Waiting>) {
        for message in messages {
            let status = CommandStatus::ESME_RMSGQFUL;
            self.settle(message.number, status, Bytes::new(), true);
        }
    }

    fn reply(&mut self, (sequence, came): Came<G>, status: CommandStatus, out: &mut BytesMut) {
        if let Some(far) = &mut self.far {
            // Its fields always fit.
            let _ = far.answer(sequence, G::answer(came, status), out);
        }
    }

    // --- from the gateway ---

    fn on_event(
        &mut self,
        event: carrier::Event<G::Sequence, G::Body, SentRequest>,
        now: Instant,
        out: &mut BytesMut,
    ) {
        match event {
            carrier::Event::Opened(_) if self.state == SessionState::Binding => {
                self.enter_bound(now)
            }
            carrier::Event::Refused(body) => self.refused(G::refused(&body)),
            carrier::Event::Request(pdu) => self.on_request(pdu.sequence, &pdu.body, now, out),
            carrier::Event::Response(messages, pdu) => self.submitted(messages, &pdu, now),
            carrier::Event::Malformed(why) => {
                // It would bring the same again on the next connection.
                tracing::warn!(operator = %self.plan.config.id, %why, "a gateway sends what cannot be read");
            }
            carrier::Event::Closed(why) => self.ended(why),
            carrier::Event::Opened(_) | carrier::Event::Stray(_) | carrier::Event::Login(_) => {}
        }
    }

    fn submitted(
        &mut self,
        request: SentRequest,
        pdu: &carrier::Pdu<G::Sequence, G::Body>,
        now: Instant,
    ) {
        self.busy_at = now;
        let Some(status) = G::result(&pdu.body) else {
            return;
        };
        let messages = match request {
            SentRequest::One(number, to) => return self.answered(number, &to, status, pdu),
            SentRequest::Several(messages) => messages,
        };
        // A result is for the whole request: each message gets its own one if it goes alone.
        let is_about_one = !matches!(
            status,
            CommandStatus::ESME_ROK | CommandStatus::ESME_RTHROTTLED | CommandStatus::ESME_RMSGQFUL
        );
        if is_about_one {
            // What has expired meanwhile is in its queue again.
            let is_due = |message: &Waiting| self.messages.get(message.number).is_some();
            let due = messages.into_iter().filter(is_due).collect();
            return self.pending.give_back(due, true);
        }
        for message in messages {
            self.answered(message.number, &message.to, status, pdu);
        }
    }

    fn answered(
        &mut self,
        number: u32,
        to: &[u8],
        status: CommandStatus,
        pdu: &carrier::Pdu<G::Sequence, G::Body>,
    ) {
        let id = if status.is_ok() {
            G::id_for(pdu, to)
        } else {
            Bytes::new()
        };
        self.settle(number, status, id, false);
    }

    fn on_request(
        &mut self,
        sequence: G::Sequence,
        body: &G::Body,
        now: Instant,
        out: &mut BytesMut,
    ) {
        let Some((came, brought)) = self.protocol.brought(body) else {
            tracing::debug!(operator = %self.plan.config.id, "a gateway asks for what a client does not do");
            return;
        };
        self.busy_at = now;
        let came = (sequence, came);
        let content = match brought {
            Brought::Nothing => {
                tracing::warn!(operator = %self.plan.config.id, "a report that cannot be read is dropped");
                return self.reply(came, CommandStatus::ESME_ROK, out);
            }
            Brought::Noted => return self.reply(came, CommandStatus::ESME_ROK, out),
            Brought::Report {
                id,
                outcome,
                error,
                number,
            } => BroughtContent::Report(OperatorReport {
                id,
                state: outcome as u8,
                error,
                number,
            }),
            Brought::Message(message) => {
                let (format, has_header) = (message.format, message.has_header);
                let gbk = text::part_in_gbk(format, &message.content, has_header);
                let deliver = Box::new(deliver_of(message));
                BroughtContent::Message { deliver, gbk }
            }
        };
        let is_taken = matches!(self.state, SessionState::Bound(bind_type) if bind_type.receives());
        let number = is_taken.then(|| self.came.insert(now, came).ok()).flatten();
        match number {
            Some(number) => {
                let brought = BindEvent::Brought(number, content);
                self.events.push_back(brought);
            }
            // Too much is under way, or the session is ending: the gateway brings it again.
            None => self.reply(came, CommandStatus::ESME_RMSGQFUL, out),
        }
    }
}
