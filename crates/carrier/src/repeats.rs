//! Requests of the peer that come once more under the sequence of an earlier one.
//!
//! A peer that misses a response sends its request again, as it was: what was taken is answered as before, and passed on once.
//! Another request under that sequence gets the result that the standard has for it. Kept by a session, or by all sessions
//! with one peer where its sequences are its own on every connection (SGIP). What was refused may come again, and what was under way when
//! its connection ended: nobody knows what became of it.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::pdu::Protocol;

/// Requests that are remembered of a connection, and of a peer with several.
const MOST: usize = 256;
const MOST_OF_PEER: usize = 1_024;

/// The latest requests of a peer; clones are the same.
#[derive(Debug)]
pub struct Repeats<P: Protocol>(Arc<Mutex<RememberedRequests<P>>>);

#[derive(Debug)]
struct RememberedRequests<P: Protocol> {
    most: usize,
    by_sequence: HashMap<P::Sequence, CarriedRequest<P::Body>>,
    /// The oldest first, with their numbers; some may be gone.
    order: VecDeque<(P::Sequence, u64)>,
    hasher: RandomState,
    /// Numbers of requests and of sessions.
    last: u64,
}

#[derive(Debug)]
struct CarriedRequest<B> {
    number: u64,
    session: u64,
    content: u64,
    /// Absent while the request is under way.
    response: Option<B>,
}

/// What a request is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum CarrierRepeat<B> {
    /// None came under its sequence.
    New,
    /// It came before, and its response is still to come.
    UnderWay,
    /// It came before, and had this response.
    Answered(B),
    /// A request with other content had its sequence.
    Another,
}

/// What one session has to do with [`Repeats`].
#[derive(Debug)]
pub(crate) struct SessionRepeats<P: Protocol> {
    repeats: Repeats<P>,
    session: u64,
}

// === impl Repeats ===

impl<P: Protocol> Repeats<P> {
    /// For all connections with a peer.
    #[must_use]
    pub fn of_peer() -> Self {
        Self::new(MOST_OF_PEER)
    }

    fn new(most: usize) -> Self {
        Self(Arc::new(Mutex::new(RememberedRequests {
            most,
            by_sequence: HashMap::new(),
            order: VecDeque::new(),
            hasher: RandomState::new(),
            last: 0,
        })))
    }

    fn lock(&self) -> MutexGuard<'_, RememberedRequests<P>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<P: Protocol> Clone for Repeats<P> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

// === impl SessionRepeats ===

impl<P: Protocol> SessionRepeats<P> {
    pub(crate) fn new() -> Self {
        Self::sharing(&Repeats::new(MOST))
    }

    pub(crate) fn sharing(repeats: &Repeats<P>) -> Self {
        let mut remembered = repeats.lock();
        remembered.last += 1;
        Self {
            repeats: repeats.clone(),
            session: remembered.last,
        }
    }

    /// Notes a request, and what it is.
    pub(crate) fn come(&self, sequence: P::Sequence, frame: &[u8]) -> CarrierRepeat<P::Body> {
        let mut remembered = self.repeats.lock();
        let content = remembered.hasher.hash_one(frame);
        match remembered.by_sequence.get(&sequence) {
            Some(came) if came.content == content => {
                let response = came.response.clone();
                return response.map_or(CarrierRepeat::UnderWay, CarrierRepeat::Answered);
            }
            Some(came) if came.session == self.session => return CarrierRepeat::Another,
            // A peer that numbers each connection anew.
            Some(_) | None => {}
        }
        remembered.last += 1;
        let came = CarriedRequest {
            number: remembered.last,
            session: self.session,
            content,
            response: None,
        };
        remembered.order.push_back((sequence, came.number));
        remembered.by_sequence.insert(sequence, came);
        while remembered.order.len() > remembered.most
            && let Some((oldest, number)) = remembered.order.pop_front()
        {
            let is_same = |came: &CarriedRequest<P::Body>| came.number == number;
            if remembered.by_sequence.get(&oldest).is_some_and(is_same) {
                remembered.by_sequence.remove(&oldest);
            }
        }
        CarrierRepeat::New
    }

    /// Notes the response to a request.
    pub(crate) fn answered(&self, sequence: P::Sequence, response: P::Body) {
        let mut remembered = self.repeats.lock();
        if !P::takes(&response) {
            remembered.by_sequence.remove(&sequence);
        } else if let Some(came) = remembered.by_sequence.get_mut(&sequence) {
            came.response = Some(response);
        }
    }
}

impl<P: Protocol> Drop for SessionRepeats<P> {
    fn drop(&mut self) {
        let mut remembered = self.repeats.lock();
        let is_left = |came: &CarriedRequest<P::Body>| {
            came.response.is_some() || came.session != self.session
        };
        remembered.by_sequence.retain(|_, came| is_left(came));
    }
}
