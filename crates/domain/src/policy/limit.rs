//! Which limits a message counts against, and in which bucket of each.
//!
//! Called by ingest for every message of an account if there are limits at all; the buckets
//! themselves are kept by `actors/policy/limiter.rs`.

use crate::address::normalise;

/// Whose messages share a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Per {
    /// All that the limit is about.
    Rule,
    /// Those from one source address.
    Sender,
    /// Those to one destination address.
    Destination,
}

/// A rate for messages between some addresses.
#[derive(Debug, Clone, PartialEq)]
pub struct AddressLimit {
    /// Unique.
    pub name: String,
    /// Interned name of the account; every account without it.
    pub account: Option<u32>,
    /// Source addresses begin so, without a leading plus.
    pub sender_prefix: Box<[u8]>,
    /// Destination addresses begin so, without a leading plus.
    pub destination_prefix: Box<[u8]>,
    /// Short messages per second.
    pub rate: f64,
    /// Short messages at once, at least 1.
    pub burst: u32,
    pub per: Per,
}

// === impl AddressLimit ===

impl AddressLimit {
    /// What distinguishes the bucket of a message from the limit's other ones: an address, or
    /// nothing. `None` when the limit does not apply to it.
    pub fn bucket_of<'m>(
        &self,
        account: u32,
        source: &'m [u8],
        destination: &'m [u8],
    ) -> Option<&'m [u8]> {
        let (source, destination) = (normalise(source), normalise(destination));
        let applies = self.account.is_none_or(|own| own == account)
            && source.starts_with(&self.sender_prefix)
            && destination.starts_with(&self.destination_prefix);
        applies.then_some(match self.per {
            Per::Rule => &[],
            Per::Sender => source,
            Per::Destination => destination,
        })
    }
}
