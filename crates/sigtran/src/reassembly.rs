//! Segments → data (ITU-T Q.714 §4.1.1.2.3), within bounds of number, octets and time.
//!
//! Segments of a message come in order; the first says how many follow and how large each may be. What does
//! not fit that ends the reassembly. When there are too many at a time, the oldest gives way. One peer has a
//! sixteenth of all at most, and its own oldest gives way first, so that it does not stop others by messages that
//! never end.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use ahash::AHashMap;
use bytes::Bytes;

use crate::address::SccpAddress;
use crate::point_code::PointCode;
use crate::sccp::Segmentation;

/// Most octets of a message.
pub const DATA_MAX: usize = 3_952;

/// Whose segments belong together.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ReassemblyKey {
    /// Whence it comes: the OPC.
    pub originating: PointCode,
    /// Whose it is.
    pub calling: SccpAddress,
    /// Which of theirs.
    pub reference: u32,
}

/// Who begins messages: the OPC, and the digits of the calling address.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct ReassemblyPeer {
    originating: PointCode,
    digits: Option<String>,
}

/// Why a segment is of no use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReassemblyFault {
    /// One whose message did not begin, or was given up.
    NotBegun,
    /// Others should have come before or after it.
    OutOfOrder,
    /// More octets than the first one allows.
    TooLong,
}

/// The messages of which some segments are here.
#[derive(Debug)]
pub struct Reassemblies {
    most: usize,
    most_of_peer: usize,
    timeout: Duration,
    begun: AHashMap<ReassemblyKey, BegunReassembly>,
    /// By age; what is complete is taken out of all three.
    order: BTreeMap<u64, ReassemblyKey>,
    /// Which of them each peer has begun.
    of_peers: AHashMap<ReassemblyPeer, BTreeSet<u64>>,
    serial: u64,
}

#[derive(Debug)]
struct BegunReassembly {
    serial: u64,
    deadline: Instant,
    /// Its own octets: slices would keep alive whatever the segments were read with.
    data: Vec<u8>,
    /// How many octets there may be in all.
    most: usize,
    /// How many segments are to come.
    remaining: u8,
}

// === impl ReassemblyPeer ===

impl ReassemblyPeer {
    fn of(key: &ReassemblyKey) -> Self {
        Self {
            originating: key.originating,
            digits: key.calling.digits().map(Into::into),
        }
    }
}

// === impl ReassemblyFault ===

impl ReassemblyFault {
    /// In words.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::NotBegun => "a segment of a message that did not begin",
            Self::OutOfOrder => "a segment out of order",
            Self::TooLong => "segments of too many octets",
        }
    }
}

// === impl Reassemblies ===

impl Reassemblies {
    /// At most `most` at a time, a sixteenth of them for each peer, each for `timeout`.
    #[must_use]
    pub fn new(most: usize, timeout: Duration) -> Self {
        Self {
            most: most.max(1),
            most_of_peer: (most / 16).max(1),
            timeout,
            begun: AHashMap::new(),
            order: BTreeMap::new(),
            of_peers: AHashMap::new(),
            serial: 0,
        }
    }

    /// Takes a segment; brings the data when it was the last one.
    ///
    /// # Errors
    /// Why its message was given up, or cannot be one.
    pub fn take(
        &mut self,
        key: ReassemblyKey,
        segmentation: Segmentation,
        data: &Bytes,
        now: Instant,
    ) -> Result<Option<Bytes>, ReassemblyFault> {
        if segmentation.is_first {
            // One with the same reference is not going to end.
            self.remove(&key);
            if segmentation.remaining == 0 {
                return Ok(Some(data.clone()));
            }
            return self
                .begin(key, segmentation.remaining, data, now)
                .map(|()| None);
        }
        self.go_on(&key, segmentation.remaining, data)
    }

    /// Gives up what takes too long; how many there were.
    pub fn expire(&mut self, now: Instant) -> usize {
        let mut expired = 0;
        // All have the same time, so the oldest ends first.
        while let Some((serial, oldest)) = self.order.first_key_value() {
            let serial = *serial;
            let begun = self.begun.get(oldest);
            if begun.is_some_and(|begun| begun.deadline > now) {
                break;
            }
            self.give_up(serial);
            expired += 1;
        }
        expired
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.begun.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.begun.is_empty()
    }

    fn begin(
        &mut self,
        key: ReassemblyKey,
        remaining: u8,
        data: &Bytes,
        now: Instant,
    ) -> Result<(), ReassemblyFault> {
        let most = (data.len() * (usize::from(remaining) + 1)).min(DATA_MAX);
        if data.is_empty() || data.len() > most {
            return Err(ReassemblyFault::TooLong);
        }
        let peer = ReassemblyPeer::of(&key);
        let of_peer = self.of_peers.get(&peer);
        let full = of_peer.filter(|serials| serials.len() >= self.most_of_peer);
        let oldest_of_peer = full.and_then(|serials| serials.first().copied());
        let is_full = self.begun.len() >= self.most;
        let oldest = self.order.keys().next().copied();
        if let Some(oldest) = oldest_of_peer.or(oldest.filter(|_| is_full)) {
            self.give_up(oldest);
        }
        self.serial += 1;
        self.order.insert(self.serial, key.clone());
        self.of_peers.entry(peer).or_default().insert(self.serial);
        let begun = BegunReassembly {
            serial: self.serial,
            deadline: now + self.timeout,
            data: data.to_vec(),
            most,
            remaining,
        };
        self.begun.insert(key, begun);
        Ok(())
    }

    fn go_on(
        &mut self,
        key: &ReassemblyKey,
        remaining: u8,
        data: &Bytes,
    ) -> Result<Option<Bytes>, ReassemblyFault> {
        let begun = self.begun.get_mut(key).ok_or(ReassemblyFault::NotBegun)?;
        let fault = if begun.remaining != remaining + 1 {
            Some(ReassemblyFault::OutOfOrder)
        } else if begun.data.len() + data.len() > begun.most {
            Some(ReassemblyFault::TooLong)
        } else {
            None
        };
        if let Some(fault) = fault {
            self.remove(key);
            return Err(fault);
        }
        begun.data.extend_from_slice(data);
        begun.remaining = remaining;
        if remaining > 0 {
            return Ok(None);
        }
        Ok(self.remove(key).map(|begun| begun.data.into()))
    }

    fn remove(&mut self, key: &ReassemblyKey) -> Option<BegunReassembly> {
        let begun = self.begun.remove(key)?;
        self.order.remove(&begun.serial);
        let peer = ReassemblyPeer::of(key);
        if let Some(serials) = self.of_peers.get_mut(&peer) {
            serials.remove(&begun.serial);
            if serials.is_empty() {
                self.of_peers.remove(&peer);
            }
        }
        Some(begun)
    }

    /// Takes one out by its age.
    fn give_up(&mut self, serial: u64) {
        if let Some(key) = self.order.remove(&serial) {
            self.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests;
