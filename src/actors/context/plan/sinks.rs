//! Event sinks in the plan: which reader of the outbox each is, and what it wants. The mirror in Redis reads what happens
//! before the end of messages like a sink.

use std::sync::Arc;

use crate::config::{Config, EventSink, SinkEventKind};
use crate::pb::EarlyKind;
use crate::store::sinks::{ENDED, Wants, bit, reader_of};
use crate::store::{Store, StoreError};

/// An enabled sink.
#[derive(Debug)]
pub struct SinkPlan {
    pub config: EventSink,
    /// Its reader in the outbox.
    pub wants: Wants,
}

/// The enabled sinks.
pub(super) fn sinks(config: &Config, store: &dyn Store) -> Result<Vec<Arc<SinkPlan>>, StoreError> {
    let enabled = config.event_sink.iter().filter(|one| one.enabled);
    let plan = |config: &EventSink| {
        let number = store.intern(&format!("sink:{}", config.name))?;
        let reader = reader_of(number).ok_or_else(|| {
            StoreError::Failed(format!("too many names for the event sink {}", config.name))
        })?;
        let kinds = config
            .events
            .iter()
            .fold(0, |kinds, one| kinds | kinds_of(*one));
        Ok(Arc::new(SinkPlan {
            wants: Wants { reader, kinds },
            config: config.clone(),
        }))
    };
    enabled.map(plan).collect()
}

/// The mirror in Redis as a sink; `None` where there is none.
pub(super) fn mirror(config: &Config, store: &dyn Store) -> Result<Option<Wants>, StoreError> {
    if !config.redis_platform.enabled || !config.redis_platform.states {
        return Ok(None);
    }
    // No name of a sink has a blank.
    let number = store.intern("sink: redis_platform")?;
    let reader = reader_of(number);
    let reader = reader
        .ok_or_else(|| StoreError::Failed("too many names for redis_platform.states".to_owned()))?;
    let kinds = [EarlyKind::Accepted, EarlyKind::Mo, EarlyKind::Sent];
    let kinds = kinds.into_iter().fold(0, |kinds, one| kinds | bit(one));
    Ok(Some(Wants { reader, kinds }))
}

/// What is written into the outbox for an event.
fn kinds_of(event: SinkEventKind) -> u32 {
    match event {
        SinkEventKind::Accepted => bit(EarlyKind::Accepted),
        SinkEventKind::Mo => bit(EarlyKind::Mo),
        SinkEventKind::Sent => bit(EarlyKind::Sent),
        SinkEventKind::Retry => bit(EarlyKind::Retry),
        SinkEventKind::Ended => ENDED,
        SinkEventKind::Dlr => ENDED | bit(EarlyKind::Unmatched),
        SinkEventKind::Health => {
            bit(EarlyKind::Bound) | bit(EarlyKind::Unbound) | bit(EarlyKind::Failback)
        }
    }
}
