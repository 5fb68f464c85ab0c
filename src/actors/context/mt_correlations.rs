//! The MT correlation ids that this node knows: those that it gives in place of IMSIs, and those of other nodes.
//!
//! Home routing gives one and tells it to the other nodes by an order ([`super::remote_command`]) before it is
//! answered, because the message for it may come to any of them. They are not stored: whoever brings a message for one that
//! nobody knows any more is to ask again.

use std::sync::Mutex;

use crate::actors::runtime::locks::lock;
use crate::map::{CorrelationWish, MtCorrelation, MtCorrelations};
use crate::pb::order::What;
use crate::pb::{CorrelationGiven, CorrelationsGiven};

/// The ids of all networks of this node.
#[derive(Default)]
pub struct KnownCorrelations(Mutex<MtCorrelations>);

// === impl KnownCorrelations ===

impl KnownCorrelations {
    /// An id for who asks at `now` (Unix milliseconds); `None` when there is no room.
    pub fn give(&self, wish: &CorrelationWish<'_>, now: i64) -> Option<MtCorrelation> {
        lock(&self.0).give(wish, now, rand::random::<u64>)
    }

    /// What an id stands for at `now` (Unix milliseconds).
    pub fn find(&self, id: &str, now: i64) -> Option<MtCorrelation> {
        lock(&self.0).find(id, now).cloned()
    }

    /// Takes what another node has given.
    pub fn learn(&self, given: CorrelationsGiven, now: i64) {
        let mut known = lock(&self.0);
        for one in given.all {
            let CorrelationGiven {
                id,
                msisdn,
                asked_by,
                until,
            } = one;
            let given = MtCorrelation {
                id,
                msisdn,
                asked_by,
                until,
            };
            known.learn(given, now);
        }
    }
}

/// The order that tells other nodes of ids.
pub fn order_of<'a>(given: impl Iterator<Item = &'a MtCorrelation>) -> What {
    let all = given.map(|one| CorrelationGiven {
        id: one.id.clone(),
        msisdn: one.msisdn.clone(),
        asked_by: one.asked_by.clone(),
        until: one.until,
    });
    What::CorrelationsGiven(CorrelationsGiven { all: all.collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_of_one_node_is_known_to_another_that_is_told() {
        let (here, there) = (KnownCorrelations::default(), KnownCorrelations::default());
        let wish = CorrelationWish {
            network: "26201",
            msisdn: "4917012345",
            asked_by: "33600",
            until: 2_000,
            most: 10,
        };
        let given = here.give(&wish, 1_000).expect("room");
        assert_eq!(there.find(&given.id, 1_000), None);
        let What::CorrelationsGiven(order) = order_of([&given].into_iter()) else {
            panic!("another order");
        };
        there.learn(order, 1_000);
        assert_eq!(there.find(&given.id, 1_999), Some(given.clone()));
        assert_eq!(there.find(&given.id, 2_000), None);
    }
}
