//! Which messages the events of a batch tell of: read for sinks and for the mirror in Redis.
//!
//! A text that was divided is sent as several messages, and a text that was put together as one: an operator knows those,
//! and an account those that it has submitted. One event tells of what was submitted, with all that carries it: `sent` when
//! the last of its parts was taken, and a report with the operator's ids of all of them.

use std::collections::HashMap;

use crate::actors::context::plan::Plan;
use crate::content;
use crate::domain::address;
use crate::pb::{EarlyEvent, EarlyKind, Message};
use crate::store::sinks::SinkEvent;
use crate::store::{SentRow, Store, StoreError, Stored};

/// The messages of a batch of events, and those that carry them.
#[derive(Default)]
pub(super) struct EventMessages {
    pub(super) messages: HashMap<u64, Stored>,
    /// Accepted attempts of those that have ended, and of what carries messages.
    attempts: HashMap<u64, SentRow>,
}

/// A message that an event tells of, and the operator's ids of all messages that carry it, if they are several.
pub(super) struct ToldMessage<'k> {
    pub(super) stored: &'k Stored,
    pub(super) ids: Vec<String>,
}

// === impl EventMessages ===

impl EventMessages {
    /// What the store knows of the messages of these events; also how many it has no more. `reports`: the attempts of
    /// those that have ended as well.
    pub(super) async fn read(
        store: &dyn Store,
        plan: &Plan,
        events: &[SinkEvent],
        reports: bool,
    ) -> Result<(Self, usize), StoreError> {
        let id_of = |event: &SinkEvent| match event {
            // About the row of a receipt.
            SinkEvent::Early(_, early) if early.kind() == EarlyKind::Unmatched => 0,
            SinkEvent::Ended(id) | SinkEvent::Early(id, _) => *id,
        };
        let mut ids: Vec<u64> = events.iter().map(id_of).filter(|id| *id != 0).collect();
        ids.sort_unstable();
        ids.dedup();
        let mut found = Self::default();
        if ids.is_empty() {
            return Ok((found, 0));
        }
        let read = store.read_ended(ids.clone()).await?;
        for (id, stored) in ids.iter().zip(read) {
            if let Some(stored) = stored {
                found.messages.insert(*id, stored);
            }
        }
        let lost = ids.len() - found.messages.len();
        found.add_carriers(store, plan, events, reports).await?;
        Ok((found, lost))
    }

    /// Adds what carries the messages of these events, or is carried by them.
    async fn add_carriers(
        &mut self,
        store: &dyn Store,
        plan: &Plan,
        events: &[SinkEvent],
        reports: bool,
    ) -> Result<(), StoreError> {
        let (mut ended, mut carriers, mut submitted) = (Vec::new(), Vec::new(), Vec::new());
        for event in events {
            let (id, early) = match event {
                SinkEvent::Ended(id) if reports => (id, None),
                SinkEvent::Early(id, early) if early.kind() == EarlyKind::Sent => (id, Some(early)),
                _ => continue,
            };
            let Some(composition) = (self.messages.get(id)).and_then(composition_of) else {
                ended.extend(early.is_none().then_some(*id));
                continue;
            };
            match early {
                None if composition.sent_as.is_empty() => ended.push(*id),
                None => carriers.extend(&composition.sent_as),
                Some(_) if composition.parent != 0 => submitted.push(composition.parent),
                Some(_) => submitted.extend(&composition.made_of),
            }
        }
        submitted.retain(|id| !self.messages.contains_key(id));
        if !submitted.is_empty() {
            let read = store.read_ended(submitted.clone()).await?;
            let found = submitted.into_iter().zip(read);
            self.messages
                .extend(found.filter_map(|(id, stored)| Some((id, stored?))));
        }
        for event in events {
            if let SinkEvent::Early(id, _) = event
                && let Some(whole) = self.whole_of(*id)
            {
                carriers.extend(sent_as(&whole.message));
            }
        }
        self.read_attempts(store, ended).await?;
        // A part that an account has submitted names the text that it was put into.
        let put_into = self.attempts.values().filter_map(|row| whole_in(plan, row));
        carriers.extend(put_into.collect::<Vec<u64>>());
        self.read_attempts(store, carriers).await
    }

    async fn read_attempts(
        &mut self,
        store: &dyn Store,
        mut ids: Vec<u64>,
    ) -> Result<(), StoreError> {
        ids.sort_unstable();
        ids.dedup();
        if !ids.is_empty() {
            let rows = store.accepted_attempts(ids).await?;
            self.attempts
                .extend(rows.into_iter().map(|row| (row.id, row)));
        }
        Ok(())
    }

    /// The text that this message is a part of.
    fn whole_of(&self, part: u64) -> Option<&Stored> {
        let parent = content::parent_of(&self.messages.get(&part)?.message)?;
        self.messages.get(&parent)
    }

    /// The messages that an event before the end is told of.
    pub(super) fn told_of(&self, id: u64, early: &EarlyEvent) -> Vec<ToldMessage<'_>> {
        let Some(stored) = self.messages.get(&id) else {
            return Vec::new();
        };
        let own = |stored| ToldMessage {
            stored,
            ids: Vec::new(),
        };
        let Some(composition) = composition_of(stored).filter(|_| early.kind() == EarlyKind::Sent)
        else {
            return vec![own(stored)];
        };
        if composition.parent != 0 {
            return self.told_by_parts(id, early).into_iter().collect();
        }
        if composition.made_of.is_empty() {
            vec![own(stored)]
        } else {
            (composition.made_of.iter())
                .filter_map(|id| Some(own(self.messages.get(id)?)))
                .collect()
        }
    }

    /// The text that has been sent with this attempt of a part: the last of all of its parts.
    fn told_by_parts(&self, part: u64, early: &EarlyEvent) -> Option<ToldMessage<'_>> {
        let stored = self.whole_of(part)?;
        let rows: Option<Vec<&SentRow>> = sent_as(&stored.message)
            .iter()
            .map(|id| self.attempts.get(id))
            .collect();
        let rows = rows?;
        let last = rows.iter().max_by_key(|row| (row.at, row.id))?;
        ((last.id, last.at) == (part, early.at)).then(|| ToldMessage {
            stored,
            ids: ids_of(&rows),
        })
    }

    /// The accepted attempt of a message that has ended, or the last of what carries it, and the operator's ids if they are
    /// several.
    pub(super) fn taken(&self, plan: &Plan, message: &Message) -> Option<(&SentRow, Vec<String>)> {
        let rows: Vec<&SentRow> = (sent_as(message).iter())
            .filter_map(|id| self.attempts.get(id))
            .collect();
        if let Some(last) = rows.last() {
            return Some((last, ids_of(&rows)));
        }
        let own = self.attempts.get(&message.id)?;
        let carrier = whole_in(plan, own).and_then(|whole| self.attempts.get(&whole));
        Some((carrier.unwrap_or(own), Vec::new()))
    }
}

fn composition_of(stored: &Stored) -> Option<&crate::pb::Composition> {
    stored.message.composition.as_deref()
}

fn sent_as(message: &Message) -> &[u64] {
    let composition = message.composition.as_deref();
    composition.map_or(&[], |composition| &composition.sent_as)
}

/// The message that a part was put into, as its attempt says.
fn whole_in(plan: &Plan, row: &SentRow) -> Option<u64> {
    let is_put = row.operator == plan.assembly;
    let text = std::str::from_utf8(&row.operator_message_id).ok()?;
    text.parse().ok().filter(|_| is_put)
}

fn ids_of(rows: &[&SentRow]) -> Vec<String> {
    let ids = rows
        .iter()
        .map(|row| address::printable(&row.operator_message_id));
    ids.collect()
}
