//! Memory for the bodies of requests that are read before it is known whose they are.
//!
//! The entrances for programs of other products have the password or the key in the body. Such requests share a budget of
//! octets in which each address has its share, so that bodies which never end, or which are sent in crowds, keep only
//! their own address out. What is announced counts from the beginning, whether it comes or not.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex};

use actix_web::HttpRequest;
use actix_web::http::header::{CONTENT_LENGTH, TRANSFER_ENCODING};

use super::peers;
use crate::actors::runtime::locks::lock;
use crate::domain::penalty::Origin;
use crate::domain::share::FairShares;

/// Octets of all such requests together.
const MOST: u64 = 64 * 1024 * 1024;
/// What a request counts beside its body.
const BARE: u64 = 16 * 1024;

/// Requests of which it is not known whose they are.
#[derive(Default)]
pub(super) struct Strangers(Mutex<FairShares<Origin>>);

/// Room for one of them; given back when this is dropped.
pub(super) struct StrangersRoom {
    strangers: Arc<Strangers>,
    origin: Origin,
    octets: u64,
}

// === impl Strangers ===

impl Strangers {
    /// Room for a request with a body of at most `longest` octets; `None` if its address has its share.
    pub(super) fn enter(
        self: &Arc<Self>,
        request: &HttpRequest,
        longest: usize,
    ) -> Option<StrangersRoom> {
        let headers = request.headers();
        let announced = headers.get(CONTENT_LENGTH);
        let announced = announced.and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
        let body = match announced {
            Some(length) => length.min(longest as u64),
            None if headers.contains_key(TRANSFER_ENCODING) => longest as u64,
            None => 0,
        };
        let address = peers::client(request).unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
        self.let_in(address, BARE + body)
    }

    fn let_in(self: &Arc<Self>, address: IpAddr, octets: u64) -> Option<StrangersRoom> {
        let origin = Origin::from(address);
        let has_room = lock(&self.0).try_take(&origin, octets, MOST);
        has_room.then(|| StrangersRoom {
            strangers: Arc::clone(self),
            origin,
            octets,
        })
    }
}

impl Drop for StrangersRoom {
    fn drop(&mut self) {
        lock(&self.strangers.0).give(&self.origin, self.octets);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_with_many_long_bodies_keeps_only_itself_out() {
        let strangers = Arc::<Strangers>::default();
        let long = |last| strangers.let_in([192, 0, 2, last].into(), BARE + (1 << 20));
        let crowds: Vec<Vec<StrangersRoom>> = (1..=3)
            .map(|last| std::iter::from_fn(|| long(last)).collect())
            .collect();
        assert!(crowds.iter().map(Vec::len).sum::<usize>() <= 64);
        assert!(long(1).is_none() && long(4).is_some());
        let small = strangers.let_in([192, 0, 2, 5].into(), BARE + 200);
        assert!(small.is_some());
        drop((crowds, small));
        assert_eq!(lock(&strangers.0).all(), 0);
    }
}
