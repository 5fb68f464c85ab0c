//! Application contexts for short messages, their versions, and which version a peer understands.
//!
//! 3GPP TS 29.002 §17.3. A context's object identifier is 0.4.0.0.1.0, its number and its version; version 1 has no
//! dialogue portion and so no context. A peer that does not support a version says so when the dialogue begins, and is
//! asked again with an earlier one (§5.5); `PeerVersions` remembers that for a while.

use std::time::{Duration, Instant};

use ahash::AHashMap;
use smsc_tcap::ApplicationContext;

use crate::operation::MapOperationCode;

/// sendRoutingInfoForSM, reportSM-DeliveryStatus and informServiceCentre.
pub const SHORT_MSG_GATEWAY: u8 = 20;
/// mo-ForwardSM; of version 1 and 2 forwardSM.
pub const SHORT_MSG_MO_RELAY: u8 = 21;
/// alertServiceCentre.
pub const SHORT_MSG_ALERT: u8 = 23;
/// readyForSM.
pub const MWD_MNGT: u8 = 24;
/// mt-ForwardSM; of version 2 forwardSM. In version 1 both directions are of [`SHORT_MSG_MO_RELAY`].
pub const SHORT_MSG_MT_RELAY: u8 = 25;

/// Most peers whose version is remembered.
const PEERS_MAX: usize = 16_384;

/// A version of MAP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MapVersion {
    /// GSM phase 1: no dialogue portion.
    V1 = 1,
    /// GSM phase 2.
    V2 = 2,
    /// Phase 2+, with GPRS and reports of handsets.
    V3 = 3,
}

/// The latest version that peers understand, for those that do not understand the latest.
#[derive(Debug)]
pub(crate) struct PeerVersions {
    memory: Duration,
    /// By context and number of the peer.
    known: AHashMap<(u8, String), (MapVersion, Instant)>,
}

// === impl MapVersion ===

impl MapVersion {
    /// Of its number; `None` for what is no version here.
    #[must_use]
    pub fn of(number: u8) -> Option<Self> {
        let mut all = [Self::V1, Self::V2, Self::V3].into_iter();
        all.find(|version| version.number() == number)
    }

    /// Its number, 1 to 3.
    #[must_use]
    pub fn number(self) -> u8 {
        self as u8
    }

    /// The one before.
    #[must_use]
    pub fn earlier(self) -> Option<Self> {
        Self::of(self.number() - 1)
    }

    /// The application context of a dialogue in this version; `None` for version 1.
    #[must_use]
    pub fn context(self, context: u8) -> Option<ApplicationContext> {
        let version = self.number();
        (self > Self::V1).then_some(ApplicationContext { context, version })
    }

    /// The code of the operation that brings a message to a handset.
    #[must_use]
    pub fn mt_forward(self) -> MapOperationCode {
        match self {
            Self::V1 | Self::V2 => MapOperationCode::FORWARD_SM,
            Self::V3 => MapOperationCode::MT_FORWARD_SM,
        }
    }
}

/// The latest version in which we answer a context; `None` for those that we do not. With home routing we are the HLR and
/// the MSC of our own subscribers as well.
pub(crate) fn served(context: u8, routes_home: bool) -> Option<MapVersion> {
    match context {
        SHORT_MSG_MO_RELAY => Some(MapVersion::V3),
        SHORT_MSG_ALERT => Some(MapVersion::V2),
        SHORT_MSG_GATEWAY | SHORT_MSG_MT_RELAY if routes_home => Some(MapVersion::V3),
        _ => None,
    }
}

/// Which version to try next, when a peer does not support `refused` and offers `alternative`.
pub(crate) fn fallback(
    refused: MapVersion,
    alternative: Option<ApplicationContext>,
) -> Option<MapVersion> {
    let offered = alternative.and_then(|context| MapVersion::of(context.version));
    match offered {
        // What is not earlier would be refused again.
        Some(offered) if offered < refused => Some(offered),
        _ => refused.earlier(),
    }
}

// === impl PeerVersions ===

impl PeerVersions {
    pub(crate) fn new(memory: Duration) -> Self {
        Self {
            memory,
            known: AHashMap::new(),
        }
    }

    /// The version to begin with.
    pub(crate) fn of(
        &self,
        context: u8,
        peer: &str,
        latest: MapVersion,
        now: Instant,
    ) -> MapVersion {
        // A key of two owned parts cannot be looked up by borrowed ones; peers that fall back are few.
        if self.known.is_empty() {
            return latest;
        }
        match self.known.get(&(context, peer.to_owned())) {
            Some((version, until)) if *until > now => latest.min(*version),
            _ => latest,
        }
    }

    /// A peer does not support a later version than this.
    pub(crate) fn remember(&mut self, context: u8, peer: &str, version: MapVersion, now: Instant) {
        if self.memory.is_zero() {
            return;
        }
        let key = (context, peer.to_owned());
        if self.known.len() >= PEERS_MAX && !self.known.contains_key(&key) {
            self.known.retain(|_, (_, until)| *until > now);
            if self.known.len() >= PEERS_MAX {
                return;
            }
        }
        self.known.insert(key, (version, now + self.memory));
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.known.len()
    }
}

#[cfg(test)]
mod tests;
