//! Requests of the peer that come once more under the sequence of an earlier one.
//!
//! A peer that misses a response sends its request again, as it was: what was taken is answered as before, and passed on once.
//! Another request under that sequence gets the result that the standard has for it. Kept by a session, or by all sessions
//! with one peer where its sequences are its own on every connection (SGIP). What was refused may come again, and what was under way when
//! its connection ended: nobody knows what became of it.

use std::collections::VecDeque;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ahash::{AHashMap, RandomState};

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
    /// The numbers of requests.
    by_sequence: AHashMap<P::Sequence, u64>,
    /// The oldest first; the sequence of some has another request now, or none.
    requests: VecDeque<CarriedRequest<P>>,
    /// Number of the oldest.
    first: u64,
    hasher: RandomState,
    /// Number of the last session.
    last_session: u64,
}

#[derive(Debug)]
struct CarriedRequest<P: Protocol> {
    sequence: P::Sequence,
    session: u64,
    content: u64,
    /// Absent while the request is under way.
    response: Option<P::Body>,
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
            by_sequence: AHashMap::new(),
            requests: VecDeque::new(),
            first: 0,
            hasher: RandomState::new(),
            last_session: 0,
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

// === impl RememberedRequests ===

impl<P: Protocol> RememberedRequests<P> {
    fn request(&mut self, sequence: P::Sequence) -> Option<&mut CarriedRequest<P>> {
        let number = *self.by_sequence.get(&sequence)?;
        self.requests.get_mut((number - self.first) as usize)
    }

    fn remember(&mut self, request: CarriedRequest<P>) {
        let number = self.first + self.requests.len() as u64;
        self.by_sequence.insert(request.sequence, number);
        self.requests.push_back(request);
        if self.requests.len() > self.most
            && let Some(oldest) = self.requests.pop_front()
        {
            let number = self.by_sequence.entry(oldest.sequence);
            if let Entry::Occupied(number) = number
                && *number.get() == self.first
            {
                number.remove();
            }
            self.first += 1;
        }
    }
}

// === impl SessionRepeats ===

impl<P: Protocol> SessionRepeats<P> {
    pub(crate) fn new() -> Self {
        Self::sharing(&Repeats::new(MOST))
    }

    pub(crate) fn sharing(repeats: &Repeats<P>) -> Self {
        let mut remembered = repeats.lock();
        remembered.last_session += 1;
        Self {
            repeats: repeats.clone(),
            session: remembered.last_session,
        }
    }

    /// Notes a request, and what it is.
    pub(crate) fn come(&self, sequence: P::Sequence, frame: &[u8]) -> CarrierRepeat<P::Body> {
        let mut remembered = self.repeats.lock();
        let content = remembered.hasher.hash_one(frame);
        match remembered.request(sequence) {
            Some(came) if came.content == content => {
                let response = came.response.clone();
                return response.map_or(CarrierRepeat::UnderWay, CarrierRepeat::Answered);
            }
            Some(came) if came.session == self.session => return CarrierRepeat::Another,
            // A peer that numbers each connection anew.
            Some(_) | None => {}
        }
        remembered.remember(CarriedRequest {
            sequence,
            session: self.session,
            content,
            response: None,
        });
        CarrierRepeat::New
    }

    /// Notes the response to a request.
    pub(crate) fn answered(&self, sequence: P::Sequence, response: P::Body) {
        let mut remembered = self.repeats.lock();
        let came = remembered.request(sequence);
        // Another connection may have another request under this sequence since.
        let Some(came) = came.filter(|came| came.session == self.session) else {
            return;
        };
        if P::takes(&response) {
            came.response = Some(response);
        } else {
            remembered.by_sequence.remove(&sequence);
        }
    }
}

impl<P: Protocol> Drop for SessionRepeats<P> {
    fn drop(&mut self) {
        let mut remembered = self.repeats.lock();
        let RememberedRequests {
            by_sequence,
            requests,
            first,
            ..
        } = &mut *remembered;
        by_sequence.retain(|_, number| {
            let came = &requests[(*number - *first) as usize];
            came.response.is_some() || came.session != self.session
        });
    }
}
