//! A connection that an operator's gateway has made to us: handed from the listener to the session that serves it.
//!
//! Invariant: it counts against the share of its address of `sgip.max_connections` as long as the session is there.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use super::upstream_protocol::UpstreamProtocol;
use crate::actors::runtime::link::Wire;
use crate::actors::runtime::locks::lock;
use crate::carrier::Repeats;
use crate::domain::penalty::Origin;
use crate::domain::share::FairShares;
use crate::sgip::Sgip;

/// Connections that are told at a time that there are too many, however few are served: who asks again at once must not
/// find a connection that is closed without a word.
const TURNED_AWAY: u32 = 64;

/// See the file's documentation.
pub struct Given {
    pub(super) wire: Wire,
    /// The address of the gateway.
    pub(super) peer: String,
    pub(super) protocol: UpstreamProtocol,
    pub(super) counted: GatewayConnectionPlace,
}

/// Connections by the addresses that they come from.
type ByOrigin = Arc<Mutex<FairShares<Origin>>>;

/// The connections of gateways at all addresses of this node.
#[derive(Clone, Default)]
pub struct Gateways {
    served: ByOrigin,
    /// Those that are told that there are too many.
    turned_away: ByOrigin,
    /// What gateways have brought lately, by operator: they make connections as they need them.
    brought: Arc<Mutex<HashMap<u32, Repeats<Sgip>>>>,
}

/// A connection counts until this is dropped.
pub struct GatewayConnectionPlace {
    among: ByOrigin,
    origin: Origin,
}

// === impl Gateways ===

impl Gateways {
    /// What the gateways of an operator have brought lately.
    pub fn brought_of(&self, operator: u32) -> Repeats<Sgip> {
        let mut brought = lock(&self.brought);
        let of_operator = brought.entry(operator).or_insert_with(Repeats::of_peer);
        of_operator.clone()
    }

    /// Counts one more connection, and whether it can be served; `None` if it is not even told that it is not. Of `most`,
    /// as of [`TURNED_AWAY`], an address has half of what the others leave.
    pub fn come(&self, address: IpAddr, most: u32) -> Option<(GatewayConnectionPlace, bool)> {
        let origin = Origin::from(address);
        let count = |among: &ByOrigin, most: u32| {
            let has_room = lock(among).try_take(&origin, 1, u64::from(most));
            has_room.then(|| GatewayConnectionPlace {
                among: Arc::clone(among),
                origin,
            })
        };
        let served = count(&self.served, most).map(|counted| (counted, true));
        served.or_else(|| count(&self.turned_away, TURNED_AWAY).map(|counted| (counted, false)))
    }
}

impl Drop for GatewayConnectionPlace {
    fn drop(&mut self) {
        lock(&self.among).give(&self.origin, 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_with_very_many_connections_leaves_room_for_others() {
        let gateways = Gateways::default();
        let come = |last| gateways.come(IpAddr::from([192, 0, 2, last]), 8);
        let crowd: Vec<(GatewayConnectionPlace, bool)> = std::iter::from_fn(|| come(1)).collect();
        assert_eq!(crowd.iter().filter(|(_, is_served)| *is_served).count(), 4);
        assert_eq!(crowd.len(), 4 + 32);
        assert!(come(2).is_some_and(|(_, is_served)| is_served));
        drop(crowd);
        assert_eq!(lock(&gateways.served).all(), 0);
    }
}
