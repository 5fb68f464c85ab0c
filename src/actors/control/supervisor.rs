//! The root actor: starts queues and outbound binds, and adapts them to the plan after each reload,
//! without touching those that have not changed.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use actix::{Actor, Addr, ArbiterHandle, Context, Handler, Supervised};

use crate::actors::callbacks::session::{CallbackOptions, CallbackScope};
use crate::actors::context::NodeContext;
use crate::actors::context::item::Seed;
use crate::actors::context::plan::{
    ASSEMBLY, IMSI, MakeQueues, OperatorPlan, Plan, RESOLVE, RESPONDER,
};
use crate::actors::context::ports::{QueueKind, QueuePort};
use crate::actors::egress::gsm_interface::GsmOptions;
use crate::actors::egress::operator_session::SlotOptions;
use crate::actors::egress::test_target::{Behaviour, TestTarget};
use crate::actors::ingress::ingest::Ingest;
use crate::actors::multipart::assembly::Assembly;
use crate::actors::queue::{self, Queue};
use crate::actors::routing::resolver::Imsis;
use crate::actors::runtime::supervise::{self, Escalate, Health};
use crate::config::{BindKind, DeliverBy, NodeRole, OperatorConfig};
use crate::domain::queue_name::QueueName;
use crate::pb::bind_command::Verb;
use crate::pb::{BindCommand, BindState, PlanChanged, SlotsChanged};
use crate::smpp::session::BindType;

pub struct Supervisor {
    node: Arc<NodeContext>,
    core: ArbiterHandle,
    lanes: Vec<(ArbiterHandle, Addr<Ingest>)>,
    escalate: Escalate,
    /// For the connections to GSM networks.
    imsis: Arc<Imsis>,
    /// Sessions of the started slots, by operator, slot and bind type.
    slots: HashMap<(u32, u32, BindType), u64>,
    /// Sessions of the connections to GSM networks, by queue.
    gsms: HashMap<u32, u64>,
    /// Sessions of the callbacks that were started, by queue.
    callbacks: HashMap<u32, u64>,
    applied: Option<Arc<Plan>>,
    next_lane: usize,
    seeds: HashMap<u32, Vec<Seed>>,
    /// By whose order the queues that are made now are suspended from their start; `None` for those that are not.
    suspended_by: Option<&'static str>,
}

// === impl Supervisor ===

impl Supervisor {
    /// Applies the plan for the first time, with every queue suspended until somebody resumes it.
    pub fn apply_suspended(&mut self, by: &'static str) {
        self.suspended_by = Some(by);
        self.apply();
        self.suspended_by = None;
    }

    /// `seeds`: the messages that the store had for each queue when the process started.
    pub fn new(
        node: Arc<NodeContext>,
        core: ArbiterHandle,
        lanes: Vec<(ArbiterHandle, Addr<Ingest>)>,
        escalate: Escalate,
        imsis: Arc<Imsis>,
        seeds: HashMap<u32, Vec<Seed>>,
    ) -> Self {
        Self {
            node,
            core,
            lanes,
            escalate,
            imsis,
            slots: HashMap::new(),
            gsms: HashMap::new(),
            callbacks: HashMap::new(),
            applied: None,
            next_lane: 0,
            seeds,
            suspended_by: None,
        }
    }

    /// Starts missing queues and binds, and notifies those that have changed. Before the first call
    /// returns, every queue with waiting messages exists.
    pub fn apply(&mut self) {
        let plan = self.node.full_plan();
        self.make_queues(&plan);
        for operator in plan.operators() {
            self.apply_operator(operator);
        }
        self.apply_gsm(&plan);
        self.apply_callbacks(&plan);
        if let Some(before) = self.applied.replace(Arc::clone(&plan)) {
            for operator in before.operators() {
                if plan.operator(operator.id).is_none() {
                    self.rebind(operator.id);
                }
            }
        }
    }

    /// Starts the queues that a plan can put messages into, and those that hold some already.
    fn make_queues(&mut self, plan: &Plan) {
        for id in &plan.built_in {
            self.ensure_queue(*id, plan.name_of(*id), QueueKind::Test);
        }
        if let Some(id) = plan.resolve_queue {
            self.ensure_queue(id, RESOLVE, QueueKind::Internal);
        }
        if let Some(id) = plan.imsi_queue {
            self.ensure_queue(id, IMSI, QueueKind::Internal);
        }
        if let Some(id) = plan.responder {
            self.ensure_queue(id, RESPONDER, QueueKind::Internal);
        }
        self.ensure_queue(plan.assembly, ASSEMBLY, QueueKind::Internal);
        for account in plan.accounts() {
            let of_hosts = account.callbacks.queues().map(|(_, queue)| queue);
            for id in of_hosts.chain([account.id]) {
                self.ensure_queue(id, plan.name_of(id), QueueKind::Account);
            }
        }
        for (_, queue) in plan.copy_queues() {
            self.ensure_queue(queue, plan.name_of(queue), QueueKind::Account);
        }
        for operator in plan.operators() {
            self.ensure_queue(operator.id, plan.name_of(operator.id), QueueKind::Operator);
        }
        for gsm in plan.gsms() {
            self.ensure_queue(gsm.id, plan.name_of(gsm.id), QueueKind::Operator);
        }
        // Messages to destinations that are no longer configured keep their queue: they wait for the
        // configuration to come back, or expire.
        let mut orphans: Vec<u32> = self.seeds.keys().copied().collect();
        if self.node.local_lease.is_shared() {
            // Only the store knows what waits there.
            orphans.extend(plan.destinations());
        }
        for id in orphans {
            self.ensure_orphan(plan, id);
        }
    }

    fn ensure_orphan(&mut self, plan: &Plan, id: u32) {
        let name = plan.name_of(id).to_owned();
        let kind = if QueueName::parse(&name).is_of_account() {
            QueueKind::Account
        } else {
            QueueKind::Operator
        };
        self.ensure_queue(id, &name, kind);
    }

    fn apply_operator(&mut self, operator: &Arc<OperatorPlan>) {
        let before = self
            .applied
            .as_ref()
            .and_then(|plan| plan.operator(operator.id));
        if before.is_some_and(|before| needs_rebind(&before.config, &operator.config)) {
            self.rebind(operator.id);
        }
        let types: &[BindType] = match operator.config.bind_kind() {
            BindKind::Transceiver => &[BindType::Transceiver],
            BindKind::Transmitter => &[BindType::Transmitter],
            BindKind::Receiver => &[BindType::Receiver],
            BindKind::TransmitterReceiver => &[BindType::Transmitter, BindType::Receiver],
        };
        let local_lease = Arc::clone(&self.node.local_lease);
        for slot in
            (0..operator.config.binds).filter(|slot| local_lease.holds_bind(operator.id, *slot))
        {
            for bind_type in types {
                self.ensure_slot(operator.id, slot, *bind_type);
            }
        }
    }

    /// Starts the connections to GSM networks, where messages are delivered. They follow the plan by themselves, and end
    /// when it has them no more.
    fn apply_gsm(&mut self, plan: &Plan) {
        if !plan.config.cluster.roles.contains(&NodeRole::Delivery) {
            return;
        }
        for gsm in plan.gsms() {
            let session = self.gsms.get(&gsm.id);
            if session.is_some_and(|session| self.node.binds.contains(*session)) {
                continue;
            }
            let (arbiter, ingest) = &self.lanes[self.next_lane % self.lanes.len()];
            self.next_lane += 1;
            let session = GsmOptions {
                node: Arc::clone(&self.node),
                ingest: ingest.clone(),
                imsis: Arc::clone(&self.imsis),
                gsm: gsm.id,
                escalate: Arc::clone(&self.escalate),
            }
            .start(arbiter);
            self.gsms.insert(gsm.id, session);
        }
    }

    /// Starts the callbacks of accounts that have some, where queues of accounts may be. They end by themselves.
    fn apply_callbacks(&mut self, plan: &Plan) {
        if !plan.config.cluster.roles.contains(&NodeRole::Smpp) {
            return;
        }
        for account in plan.accounts() {
            if account.config.deliver_by == DeliverBy::Callback {
                self.ensure_callbacks(account.id, account.id, CallbackScope::Own);
            }
            for (host, queue) in account.callbacks.queues() {
                self.ensure_callbacks(account.id, queue, CallbackScope::Host(host.to_owned()));
            }
        }
        for (id, queue) in plan.copy_queues() {
            let account = plan.account_by_id(id);
            if account.is_some_and(|account| account.config.callback_url.is_some()) {
                self.ensure_callbacks(id, queue, CallbackScope::Second);
            }
        }
    }

    fn ensure_callbacks(&mut self, account: u32, queue: u32, way: CallbackScope) {
        let session = self.callbacks.get(&queue);
        if session.is_some_and(|session| self.node.binds.contains(*session)) {
            return;
        }
        let Some(port) = self.node.queue(queue) else {
            return;
        };
        let (arbiter, _) = &self.lanes[self.next_lane % self.lanes.len()];
        self.next_lane += 1;
        let session = CallbackOptions {
            node: Arc::clone(&self.node),
            account,
            way,
            queue: port,
            escalate: Arc::clone(&self.escalate),
        }
        .start(arbiter);
        self.callbacks.insert(queue, session);
    }

    fn ensure_slot(&mut self, operator: u32, slot: u32, bind_type: BindType) {
        let key = (operator, slot, bind_type);
        if self
            .slots
            .get(&key)
            .is_some_and(|session| self.node.binds.contains(*session))
        {
            return;
        }
        let (arbiter, ingest) = &self.lanes[self.next_lane % self.lanes.len()];
        self.next_lane += 1;
        let session = SlotOptions {
            node: Arc::clone(&self.node),
            ingest: ingest.clone(),
            operator,
            slot,
            bind_type,
            paired: false,
            escalate: Arc::clone(&self.escalate),
        }
        .start(arbiter);
        self.slots.insert(key, session);
    }

    /// Ends every bind of the operator; those that are still configured come back with the new plan.
    fn rebind(&self, operator: u32) {
        for port in self.node.binds.of_owner(operator) {
            port.command(BindCommand {
                verb: Verb::Rebind.into(),
            });
        }
    }

    /// Ends binds that wait to connect again with a slot that this node has lost: should the slot come back,
    /// its next bind is tried at once, not at the end of a long pause.
    fn end_waiting(&self, plan: &Plan) {
        for port in self.node.binds.all() {
            let (owner, slot) = (
                port.owner.load(Ordering::Relaxed),
                port.slot.load(Ordering::Relaxed),
            );
            let is_woken = match port.snapshot.get().state() {
                BindState::Waiting => {
                    plan.operator(owner).is_some() && !self.node.local_lease.holds_bind(owner, slot)
                }
                // It looks whether it has the name of its network now.
                BindState::Standby => true,
                _ => false,
            };
            if is_woken {
                port.wake();
            }
        }
    }

    fn ensure_queue(&mut self, id: u32, name: &str, kind: QueueKind) {
        if self.node.queue(id).is_some() {
            return;
        }
        let (addr, slot) = supervise::slot::<Queue>(queue::MAILBOX);
        let port = Arc::new(QueuePort::new(
            id,
            name.to_owned(),
            kind,
            addr.into(),
            Arc::clone(&self.node.local_lease),
            &self.node.metrics,
        ));
        // Before the queue, or a target of it, can take anything.
        if let Some(by) = self.suspended_by
            && kind != QueueKind::Internal
        {
            port.suspended_by.set(by.to_owned());
            port.suspended.store(true, Ordering::Relaxed);
        }
        self.node.watch(Arc::clone(&port.health));
        self.node.add_queue(Arc::clone(&port));
        let seeds = self.seeds.remove(&id).unwrap_or_default();
        let node = Arc::clone(&self.node);
        let health = Arc::clone(&port.health);
        let for_actor = Arc::clone(&port);
        slot.start(&self.core, health, Arc::clone(&self.escalate), move || {
            Queue::new(node, for_actor, seeds)
        });
        if name == ASSEMBLY {
            let (_, slot) = supervise::slot::<Assembly>(queue::MAILBOX);
            let node = Arc::clone(&self.node);
            let health = Health::new("assembly");
            self.node.watch(Arc::clone(&health));
            slot.start(&self.core, health, Arc::clone(&self.escalate), move || {
                Assembly::new(node, port)
            });
        } else if let Some(behaviour) = Behaviour::of(name) {
            let (_, slot) = supervise::slot::<TestTarget>(queue::MAILBOX);
            let node = Arc::clone(&self.node);
            let health = Health::new(format!("target {name}"));
            slot.start(&self.core, health, Arc::clone(&self.escalate), move || {
                TestTarget::new(node, port, behaviour)
            });
        }
    }
}

/// Whether a bind has to be made again for this change. Everything else is read from the plan while the
/// bind stays: the rate, the retry schedule, receipts, the number of binds.
fn needs_rebind(before: &OperatorConfig, after: &OperatorConfig) -> bool {
    let alike = OperatorConfig {
        binds: after.binds,
        rate: after.rate,
        burst: after.burst,
        rate_window: after.rate_window,
        receipts: after.receipts,
        alphabet: after.alphabet,
        long_messages: after.long_messages,
        part_receipts: after.part_receipts,
        unrepresentable: after.unrepresentable,
        languages: after.languages.clone(),
        message_id: after.message_id,
        outcome_unknown: after.outcome_unknown,
        suspect_attempts: after.suspect_attempts,
        suspect_pause: after.suspect_pause,
        correlation_ttl: after.correlation_ttl,
        reconnect: after.reconnect.clone(),
        retry: after.retry.clone(),
        // The location of the password does not tell whether it has changed.
        password_file: after.password_file.clone(),
        ..before.clone()
    };
    alike != *after
}

impl Actor for Supervisor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(16);
        self.apply();
    }
}

impl Supervised for Supervisor {}

impl Handler<SlotsChanged> for Supervisor {
    type Result = ();

    fn handle(&mut self, _: SlotsChanged, _: &mut Self::Context) {
        self.end_waiting(&self.node.full_plan());
        self.apply();
    }
}

impl Handler<MakeQueues> for Supervisor {
    type Result = ();

    fn handle(&mut self, make: MakeQueues, _: &mut Self::Context) {
        self.make_queues(&make.plan);
        if let Some(orphan) = make.orphan {
            self.ensure_orphan(&make.plan, orphan);
        }
    }
}

impl Handler<PlanChanged> for Supervisor {
    type Result = ();

    fn handle(&mut self, _: PlanChanged, _: &mut Self::Context) {
        self.apply();
        for queue in self.node.queues() {
            // One whose mailbox is full does not rest.
            let _ = queue.try_send(PlanChanged {});
        }
    }
}

#[cfg(test)]
mod tests;
