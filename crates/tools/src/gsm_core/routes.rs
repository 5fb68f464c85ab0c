//! Which connection of a simulated core has which name, and what that brings it.
//!
//! An HLR finds the way to an SMSC by its IPA name, also for answers: whoever has the name gets them, whoever has asked.
//! Held by the phones. Invariant: a name leads to one connection at most.

use std::collections::HashMap;

use bytes::Bytes;
use tokio::sync::mpsc;

use super::connection::ConnectionOrder;
use smsc_gsup::message::GsupMessage;

/// What becomes of two connections of one name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Namesakes {
    /// The first one has the name, and after its end none, as with OsmoHLR (`gsup_route_add`).
    #[default]
    FirstCounts,
    /// The last one has it; the others stay connected, and get nothing.
    LastCounts,
    /// The last one has it, and the others are closed.
    LastCloses,
}

/// All connections that have said their names.
#[derive(Debug, Default)]
pub(super) struct CoreRoutes {
    pub(super) namesakes: Namesakes,
    connections: Vec<NamedConnection>,
    /// The connection that a name leads to.
    routes: HashMap<Bytes, u64>,
    made: u64,
    most_of_a_name: usize,
}

#[derive(Debug)]
struct NamedConnection {
    number: u64,
    name: Bytes,
    orders: mpsc::Sender<ConnectionOrder>,
}

// === impl CoreRoutes ===

impl CoreRoutes {
    /// A connection has said its name; its number.
    pub(super) fn came(&mut self, name: Bytes, orders: mpsc::Sender<ConnectionOrder>) -> u64 {
        self.made += 1;
        let number = self.made;
        if self.namesakes == Namesakes::LastCloses {
            let same = self.connections.iter().filter(|one| one.name == name);
            same.for_each(|one| one.order(ConnectionOrder::Cut));
        }
        match self.namesakes {
            Namesakes::FirstCounts => {
                self.routes.entry(name.clone()).or_insert(number);
            }
            Namesakes::LastCounts | Namesakes::LastCloses => {
                self.routes.insert(name.clone(), number);
            }
        }
        self.connections.push(NamedConnection {
            number,
            name: name.clone(),
            orders,
        });
        let same = self.connections.iter().filter(|one| one.name == name);
        self.most_of_a_name = self.most_of_a_name.max(same.count());
        number
    }

    pub(super) fn gone(&mut self, number: u64) {
        self.connections.retain(|one| one.number != number);
        self.routes.retain(|_, leads_to| *leads_to != number);
    }

    /// Whether the name of a connection leads to it.
    pub(super) fn leads_to(&self, number: u64) -> bool {
        self.routes.values().any(|leads_to| *leads_to == number)
    }

    /// Sends a message to whom a connection's name leads to; nowhere if that is nobody.
    pub(super) fn pass(&self, number: u64, message: GsupMessage) {
        let mut all = self.connections.iter();
        let name = all.find(|one| one.number == number).map(|one| &one.name);
        let leads_to = name.and_then(|name| self.routes.get(name));
        let mut all = self.connections.iter();
        if let Some(one) = all.find(|one| Some(&one.number) == leads_to) {
            one.order(ConnectionOrder::Send(Box::new(message)));
        }
    }

    /// The names that lead somewhere, in the order of their connections.
    pub(super) fn names(&self) -> Vec<String> {
        let name = |one: &NamedConnection| String::from_utf8_lossy(&one.name).into_owned();
        self.reachable().map(name).collect()
    }

    /// Sends a message to everyone that a name leads to.
    pub(super) fn to_all(&self, message: &GsupMessage) {
        self.reachable()
            .for_each(|one| one.order(ConnectionOrder::Send(Box::new(message.clone()))));
    }

    /// Sends a message to the first that a name leads to; false if there is none.
    pub(super) fn to_first(&self, message: GsupMessage) -> bool {
        let first = self.reachable().next();
        let order = ConnectionOrder::Send(Box::new(message));
        first.is_some_and(|one| one.orders.try_send(order).is_ok())
    }

    pub(super) fn cut(&self) {
        self.connections
            .iter()
            .for_each(|one| one.order(ConnectionOrder::Cut));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.routes.is_empty()
    }

    /// The most connections that a name has had at once.
    pub(super) fn most_of_a_name(&self) -> usize {
        self.most_of_a_name
    }

    /// How many connections have ever said their names.
    pub(super) fn made(&self) -> u64 {
        self.made
    }

    fn reachable(&self) -> impl Iterator<Item = &NamedConnection> {
        let all = self.connections.iter();
        all.filter(|one| self.leads_to(one.number))
    }
}

// === impl NamedConnection ===

impl NamedConnection {
    fn order(&self, order: ConnectionOrder) {
        // Who does not take its orders gets fewer.
        let _ = self.orders.try_send(order);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(namesakes: Namesakes) -> (CoreRoutes, [mpsc::Receiver<ConnectionOrder>; 2]) {
        let mut routes = CoreRoutes {
            namesakes,
            ..CoreRoutes::default()
        };
        let received = [1, 2].map(|number| {
            let (orders, received) = mpsc::channel(8);
            assert_eq!(routes.came(Bytes::from_static(b"SMSC"), orders), number);
            received
        });
        (routes, received)
    }

    /// Which of two connections of one name has it while both last, and when the first or the second one has ended.
    #[test]
    fn a_name_leads_to_one_connection() {
        let cases = [
            (Namesakes::FirstCounts, [true, false], [false, true]),
            (Namesakes::LastCounts, [false, true], [true, false]),
            (Namesakes::LastCloses, [false, true], [true, false]),
        ];
        for (namesakes, both, one_ended) in cases {
            let (mut routes, [first, _second]) = named(namesakes);
            assert_eq!([1, 2].map(|at| routes.leads_to(at)), both, "{namesakes:?}");
            assert_eq!(routes.most_of_a_name(), 2);
            assert_eq!(first.is_empty(), namesakes != Namesakes::LastCloses);
            routes.gone(1);
            assert_eq!(routes.leads_to(2), one_ended[0], "{namesakes:?}");
            let (mut routes, _received) = named(namesakes);
            routes.gone(2);
            assert_eq!(routes.leads_to(1), one_ended[1], "{namesakes:?}");
        }
    }
}
