//! Where messages go: the route of a message, its first target, and the ones after it.

use super::{Plan, Targets};
use crate::domain::queue_name::QueueName;
use crate::domain::route::{Route, RouteQuestion, RouteTable, Sharing};
use crate::pb::{Kind, Message};

// === impl Plan ===

impl Plan {
    pub fn no_route_status(&self) -> u32 {
        self.config.smpp.no_route_status
    }

    /// Whether messages of this queue may have another target.
    pub fn has_alternative(&self, queue: u32) -> bool {
        self.alternatives.contains(&queue)
    }

    /// The price of a message to this destination at a target; infinite if it has none.
    pub fn cost_of(&self, queue: u32, destination: &[u8]) -> f64 {
        let operator = self.operators.get(&queue);
        operator.map_or(f64::INFINITY, |operator| operator.tariff.of(destination))
    }

    /// Whether any route shares messages between targets, by weight or another way.
    pub fn shares(&self) -> bool {
        self.shares
    }

    /// The queue that a message goes to first, `None` when no route matches.
    pub fn first_target(
        &self,
        message: &Message,
        hash: u64,
        targets: &impl Targets,
    ) -> Option<u32> {
        if let Some(queue) = self.ruled_target(message) {
            return Some(queue);
        }
        if message.kind() == Kind::Mo
            && let Some(account) = self.mo_account(&message.destination)
        {
            return Some(account);
        }
        let route = self.route(message)?;
        let rank = self.rank(route.sharing, message, targets);
        let available = |queue: &u32| targets.available(*queue);
        if route.targets().any(|target| self.is_back(message, *target)) {
            let onwards = route.map(|target| Some(*target).filter(|one| *one != message.sender));
            return onwards.choose(hash, available, rank).copied();
        }
        route.choose(hash, available, rank).copied()
    }

    /// The queue to try after `current` could not take the message.
    pub fn next_target(
        &self,
        message: &Message,
        current: u32,
        targets: &impl Targets,
    ) -> Option<u32> {
        if self.ruled_target(message).is_some() {
            return None;
        }
        let route = self.route(message)?;
        let rank = self.rank(route.sharing, message, targets);
        route
            .next_after(
                &current,
                |queue| !self.is_back(message, *queue) && targets.available(*queue),
                rank,
            )
            .copied()
            .filter(|next| *next != current)
    }

    /// The value by which the targets of a route are compared.
    fn rank(
        &self,
        sharing: Sharing,
        message: &Message,
        targets: &impl Targets,
    ) -> impl Fn(&u32) -> f64 {
        move |queue| match sharing {
            Sharing::Weight => 0.0,
            Sharing::LeastBusy => targets.load(*queue),
            Sharing::LeastCost => self.cost_of(*queue, &message.destination),
        }
    }

    /// Whether `next` comes after `current` on the message's route.
    pub fn is_later(&self, message: &Message, current: u32, next: u32) -> bool {
        self.route(message)
            .is_some_and(|route| route.is_later(&current, &next))
    }

    /// Whether a message for this target has to wait for a look-up of its IMSI.
    pub fn wants_imsi(&self, queue: u32, message: &Message) -> bool {
        // Without GSM interfaces only the first comparison is made.
        !self.handsets.is_empty() && message.imsi.is_empty() && self.handsets.contains(&queue)
    }

    /// The queue that a message for this target goes to now: that of the look-up while its IMSI is needed and not
    /// known.
    pub fn first_stop(&self, queue: u32, message: &Message) -> u32 {
        match self.imsi_queue {
            Some(look_up) if self.wants_imsi(queue, message) => look_up,
            _ => queue,
        }
    }

    /// Whether messages wait for a look-up in this queue.
    pub fn is_look_up(&self, queue: u32) -> bool {
        Some(queue) == self.resolve_queue || Some(queue) == self.imsi_queue
    }

    /// Whether a message has to wait for a look-up of its network before it can be routed: a route or
    /// its account needs the network, and it is unknown.
    pub fn wants_network(&self, message: &Message) -> bool {
        // Without look-ups only the first comparison is made.
        self.resolves
            && message.network.is_empty()
            && self.ruled_target(message).is_none()
            && (self.resolving.contains(&message.sender) || {
                let (table, question) = self.asked(message);
                table.asks_network(&question)
            })
            && !(message.kind() == Kind::Mo && self.mo_account(&message.destination).is_some())
    }

    /// The route table for messages of its sender, and the question to ask it.
    fn asked<'m>(&'m self, message: &'m Message) -> (&'m RouteTable<u32>, RouteQuestion<'m>) {
        let sender = QueueName::parse(self.name_of(message.sender));
        let table = match sender {
            QueueName::Operator(_) => &self.transit,
            _ => &self.routes,
        };
        let question = RouteQuestion {
            destination: &message.destination,
            source: &message.source,
            account: sender.id(),
            network: &message.network,
        };
        (table, question)
    }

    fn route<'m>(&'m self, message: &'m Message) -> Option<&'m Route<u32>> {
        let (table, question) = self.asked(message);
        table.lookup(&question)
    }

    /// Whether it is an operator, by the number of its name.
    pub fn is_operator(&self, sender: u32) -> bool {
        QueueName::parse(self.name_of(sender)).operator().is_some()
    }

    /// Whether an operator brought the message and a route sends it to another peer.
    pub fn is_transit(&self, message: &Message) -> bool {
        self.is_operator(message.sender)
            && message.ruled_queue().is_none()
            && self.mo_account(&message.destination).is_none()
    }

    /// Whether the target is the operator that brought the message.
    fn is_back(&self, message: &Message, target: u32) -> bool {
        target == message.sender && self.is_operator(target)
    }
}
