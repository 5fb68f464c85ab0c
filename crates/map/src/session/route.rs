//! Where subscribers are, as their HLRs have said a moment ago.
//!
//! Held by the session. Of one run the route is known anyway; this spares the HLR where one run follows another.
//! Invariants: bounded in number and in time; what has failed is forgotten.

use std::time::{Duration, Instant};

use ahash::AHashMap;

use crate::routing::{RoutingInfoResult, ServingAddress, ServingNode};

/// Most subscribers.
const ROUTES_MAX: usize = 65_536;

/// Where a subscriber is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SubscriberRoute {
    /// Its IMSI.
    pub(super) imsi: String,
    /// The nodes that may be tried, in this order; one at least, two at most.
    pub(super) nodes: Vec<ServingAddress>,
    /// The HLR has noted that messages wait: it is to be told of one that arrives.
    pub(super) waits: bool,
}

/// Those that are known.
pub(super) struct KnownRoutes {
    memory: Duration,
    routes: AHashMap<String, (SubscriberRoute, Instant)>,
    /// When old ones are looked for again.
    sweep_at: Option<Instant>,
}

// === impl SubscriberRoute ===

impl SubscriberRoute {
    /// What an HLR has said; `None` when it names no node of the kinds that are tried.
    pub(super) fn of(result: &RoutingInfoResult, kinds: &[ServingNode]) -> Option<Self> {
        let of_kind = |kind: &ServingNode| {
            let number = result.number_of(*kind)?.clone();
            Some(ServingAddress {
                node: *kind,
                number,
            })
        };
        let nodes: Vec<ServingAddress> = kinds.iter().filter_map(of_kind).collect();
        let imsi = result.imsi.clone();
        (!nodes.is_empty()).then_some(Self {
            imsi,
            nodes,
            waits: false,
        })
    }
}

// === impl KnownRoutes ===

impl KnownRoutes {
    pub(super) fn new(memory: Duration) -> Self {
        Self {
            memory,
            routes: AHashMap::new(),
            sweep_at: None,
        }
    }

    pub(super) fn get(&self, msisdn: &str, now: Instant) -> Option<SubscriberRoute> {
        let (route, until) = self.routes.get(msisdn)?;
        (*until > now).then(|| route.clone())
    }

    pub(super) fn remember(&mut self, msisdn: &str, route: &SubscriberRoute, now: Instant) {
        if self.memory.is_zero() || self.routes.len() >= ROUTES_MAX {
            return;
        }
        let until = now + self.memory;
        self.routes
            .insert(msisdn.to_owned(), (route.clone(), until));
        self.sweep_at.get_or_insert(until);
    }

    pub(super) fn forget(&mut self, msisdn: &str) {
        self.routes.remove(msisdn);
    }

    /// Forgets what is too old, once per its age.
    pub(super) fn forget_old(&mut self, now: Instant) {
        if self.sweep_at.is_some_and(|at| at <= now) {
            self.routes.retain(|_, (_, until)| *until > now);
            self.sweep_at = (!self.routes.is_empty()).then(|| now + self.memory);
        }
    }
}

#[cfg(test)]
mod tests {
    use smsc_sms::tpdu::TpduAddress;

    use super::*;

    fn route() -> SubscriberRoute {
        let result = RoutingInfoResult {
            imsi: "262011234567890".to_owned(),
            node: Some(ServingAddress {
                node: ServingNode::Sgsn,
                number: TpduAddress::international("491710001"),
            }),
            lmsi: None,
            additional: Some(ServingAddress {
                node: ServingNode::Msc,
                number: TpduAddress::international("491710002"),
            }),
            waiting_set: None,
        };
        SubscriberRoute::of(&result, &[ServingNode::Msc, ServingNode::Sgsn]).unwrap()
    }

    #[test]
    fn nodes_are_tried_in_the_configured_order() {
        let numbers: Vec<String> = route().nodes.into_iter().map(|n| n.number.text).collect();
        assert_eq!(numbers, ["491710002", "491710001"]);
    }

    #[test]
    fn routes_are_known_for_a_while() {
        let (memory, now) = (Duration::from_secs(10), Instant::now());
        let mut routes = KnownRoutes::new(memory);
        routes.remember("1", &route(), now);
        assert_eq!(routes.get("1", now), Some(route()));
        assert_eq!(routes.get("2", now), None);
        assert_eq!(routes.get("1", now + memory), None);
        routes.forget_old(now + memory);
        assert!(routes.routes.is_empty() && routes.sweep_at.is_none());
        routes.remember("1", &route(), now);
        routes.forget("1");
        assert_eq!(routes.get("1", now), None);
    }

    #[test]
    fn memory_is_bounded() {
        let now = Instant::now();
        let mut routes = KnownRoutes::new(Duration::from_secs(10));
        for subscriber in 0..=ROUTES_MAX {
            routes.remember(&subscriber.to_string(), &route(), now);
        }
        assert_eq!(routes.routes.len(), ROUTES_MAX);
        let mut none = KnownRoutes::new(Duration::ZERO);
        none.remember("1", &route(), now);
        assert_eq!(none.get("1", now), None);
    }
}
