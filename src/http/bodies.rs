//! Memory for the bodies of requests, counted as they arrive.
//!
//! One mechanism for every entrance: a middleware counts the octets of a request for whoever sends it while they come.
//! The entrances for programs of other products have the password or the key in the body, so their requests count for an
//! address until they are answered; all others count for their account or token. What is announced and does not come
//! takes nothing. Invariants: bodies take no more than [`MOST`] of each pool; of that a part is kept for small requests, so
//! that no crowd of long bodies keeps out a short form, and a part for addresses from which somebody has logged in
//! lately, so that no crowd of strangers keeps those out that are known.

use std::cell::Cell;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use actix_web::HttpMessage as _;
use actix_web::body::BoxBody;
use actix_web::dev::{Payload, ServiceRequest};
use actix_web::error::PayloadError;
use actix_web::middleware::Next;
use futures_util::StreamExt as _;
use futures_util::stream::poll_fn;

use super::api_request::MiddlewareAnswer;
use super::peers;
use crate::actors::runtime::locks::lock;
use crate::domain::penalty::Origin;
use crate::domain::share::FairShares;

/// Octets of all requests of a pool.
const MOST: u64 = 64 * 1024 * 1024;
/// Of these, what longer bodies of strangers may take.
const LONG: u64 = MOST / 2;
/// Of these, what is kept for addresses from which somebody has logged in lately.
const KEPT: u64 = MOST / 4;
/// What each request counts, and a short body needs no more.
const SMALL: u64 = 16 * 1024;

/// Bodies that share memory.
#[derive(Default)]
pub(super) struct BodyPool(Mutex<FairShares<BodyOwner>>);

/// For whom a body counts.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum BodyOwner {
    /// Nobody has logged in yet.
    Address(Origin),
    /// An account or a token.
    Named(String),
}

/// How much of a pool there is for an owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OwnerTrust {
    Stranger,
    /// A stranger from where somebody has logged in lately.
    Familiar,
    Named,
}

/// How far the body of a request has come, for who waits for its answer.
#[derive(Debug, Clone, Default)]
pub(super) struct BodyProgress(Rc<Cell<bool>>);

/// The pool has no room for a request, whose owner has its share.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NoBodyRoom;

/// What a request has of a pool; given back when this is dropped.
struct RequestBodyRoom {
    pool: Arc<BodyPool>,
    owner: BodyOwner,
    trust: OwnerTrust,
    came: Cell<u64>,
    taken: Cell<u64>,
    has_overflown: Cell<bool>,
}

// === impl BodyPool ===

impl BodyPool {
    /// Carries out a request of nobody in particular: it counts for its address.
    ///
    /// # Errors
    /// There is no room for it.
    pub(super) async fn serve_stranger(
        self: &Arc<Self>,
        request: ServiceRequest,
        next: Next<BoxBody>,
    ) -> Result<MiddlewareAnswer, NoBodyRoom> {
        let client = peers::client(request.request());
        let address = client.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
        let trust = if peers::is_familiar(request.request(), address) {
            OwnerTrust::Familiar
        } else {
            OwnerTrust::Stranger
        };
        let owner = BodyOwner::Address(Origin::from(address));
        self.serve(owner, trust, request, next).await
    }

    /// Carries out a request of an account or a token.
    ///
    /// # Errors
    /// There is no room for it.
    pub(super) async fn serve_named(
        self: &Arc<Self>,
        name: &str,
        request: ServiceRequest,
        next: Next<BoxBody>,
    ) -> Result<MiddlewareAnswer, NoBodyRoom> {
        let owner = BodyOwner::Named(name.to_owned());
        self.serve(owner, OwnerTrust::Named, request, next).await
    }

    async fn serve(
        self: &Arc<Self>,
        owner: BodyOwner,
        trust: OwnerTrust,
        mut request: ServiceRequest,
        next: Next<BoxBody>,
    ) -> Result<MiddlewareAnswer, NoBodyRoom> {
        let room = Rc::new(self.enter(owner, trust).ok_or(NoBodyRoom)?);
        let body = request.take_payload();
        if !matches!(body, Payload::None) {
            let progress = request.extensions().get::<BodyProgress>().cloned();
            request.set_payload(room.counting(body, progress.unwrap_or_default()));
        }
        let answer = next.call(request).await;
        if room.has_overflown.get() {
            Err(NoBodyRoom)
        } else {
            Ok(answer)
        }
    }

    fn enter(self: &Arc<Self>, owner: BodyOwner, trust: OwnerTrust) -> Option<RequestBodyRoom> {
        let has_room = lock(&self.0).try_take(&owner, SMALL, trust.most(SMALL));
        has_room.then(|| RequestBodyRoom {
            pool: Arc::clone(self),
            owner,
            trust,
            came: Cell::new(0),
            taken: Cell::new(SMALL),
            has_overflown: Cell::new(false),
        })
    }
}

// === impl OwnerTrust ===

impl OwnerTrust {
    /// Most octets of the pool that are taken for such an owner's request of this size.
    fn most(self, size: u64) -> u64 {
        match self {
            Self::Stranger if size > SMALL => LONG,
            Self::Stranger => MOST - KEPT,
            Self::Familiar | Self::Named => MOST,
        }
    }
}

// === impl BodyProgress ===

impl BodyProgress {
    /// Follows the body of a request from now on.
    pub(super) fn of(request: &ServiceRequest) -> Self {
        let progress = Self::default();
        request.extensions_mut().insert(progress.clone());
        progress
    }

    #[cfg(test)]
    pub(super) fn awaited(is_awaited: bool) -> Self {
        Self(Rc::new(Cell::new(is_awaited)))
    }

    /// Whether its handler waits for more of it.
    pub(super) fn is_awaited(&self) -> bool {
        self.0.get()
    }
}

// === impl RequestBodyRoom ===

impl RequestBodyRoom {
    /// The body, which ends where there is no room for it.
    fn counting(self: &Rc<Self>, mut body: Payload, progress: BodyProgress) -> Payload {
        let room = Rc::clone(self);
        let counted = poll_fn(move |context| {
            let next = body.poll_next_unpin(context);
            progress.0.set(next.is_pending());
            next.map(|octets| match octets? {
                Ok(octets) if !room.arrived(octets.len() as u64) => {
                    let error = io::ErrorKind::OutOfMemory.into();
                    Some(Err(PayloadError::Io(error)))
                }
                octets => Some(octets),
            })
        });
        Payload::Stream {
            payload: Box::pin(counted),
        }
    }

    /// Counts what has come; whether there was room for it.
    fn arrived(&self, octets: u64) -> bool {
        let came = self.came.get() + octets;
        self.came.set(came);
        let more = came.saturating_sub(self.taken.get());
        let most = self.trust.most(came);
        let has_room = more == 0 || lock(&self.pool.0).try_take(&self.owner, more, most);
        if has_room {
            self.taken.set(self.taken.get() + more);
        } else {
            self.has_overflown.set(true);
        }
        has_room
    }
}

impl Drop for RequestBodyRoom {
    fn drop(&mut self) {
        lock(&self.pool.0).give(&self.owner, self.taken.get());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(number: u32) -> BodyOwner {
        let address = IpAddr::from((0x7f00_0000 | number).to_be_bytes());
        BodyOwner::Address(Origin::from(address))
    }

    /// A request from there with so many octets; `None` if there is no room for it.
    fn come(
        pool: &Arc<BodyPool>,
        number: u32,
        trust: OwnerTrust,
        octets: u64,
    ) -> Option<RequestBodyRoom> {
        let room = pool.enter(address(number), trust)?;
        let chunk = 4 * 1024;
        let has_room = (0..octets / chunk).all(|_| room.arrived(chunk));
        (has_room && room.arrived(octets % chunk)).then_some(room)
    }

    #[test]
    fn what_does_not_come_takes_nothing_of_others() {
        let pool = Arc::<BodyPool>::default();
        let silent: Vec<RequestBodyRoom> = (0..512)
            .map(|at| come(&pool, at, OwnerTrust::Stranger, 0).unwrap())
            .collect();
        assert!(come(&pool, 1_000, OwnerTrust::Stranger, 1 << 20).is_some());
        drop(silent);
        assert_eq!(lock(&pool.0).all(), 0);
    }

    #[test]
    fn crowds_with_long_bodies_keep_out_no_short_ones_and_no_crowd_those_that_are_known() {
        let pool = Arc::<BodyPool>::default();
        let long: Vec<RequestBodyRoom> = (0..400)
            .filter_map(|at| come(&pool, at, OwnerTrust::Stranger, 1 << 20))
            .collect();
        assert!((20..=32).contains(&long.len()), "{}", long.len());
        let short = |at| come(&pool, at, OwnerTrust::Stranger, SMALL);
        assert!(short(1).is_some() && short(1_000).is_some());
        let many: Vec<RequestBodyRoom> = (0..4_000).filter_map(short).collect();
        assert!(short(5_000).is_none(), "of strangers there are too many");
        assert!(lock(&pool.0).all() <= MOST - KEPT);
        for trust in [OwnerTrust::Familiar, OwnerTrust::Named] {
            assert!(come(&pool, 6_000, trust, 1 << 20).is_some());
        }
        drop((long, many));
        assert_eq!(lock(&pool.0).all(), 0);
    }

    #[test]
    fn one_owner_has_no_more_than_its_share() {
        let pool = Arc::<BodyPool>::default();
        let own = || come(&pool, 1, OwnerTrust::Named, 1 << 20);
        let crowd: Vec<RequestBodyRoom> = std::iter::from_fn(own).collect();
        assert_eq!(crowd.len(), 32);
        assert!(come(&pool, 2, OwnerTrust::Named, 1 << 20).is_some());
    }
}
