//! Pages of lists; of messages the store filters by some things only, and a page is read on until it is full.
//!
//! Called for the lists of the admin API and of accounts. Invariant: a page of messages has fewer entries than were asked for only if
//! it is the last one, or if it has been read for [`READ_FOR`]; then its `next_before` goes on.

use std::time::Duration;

use tokio::time::Instant;

use crate::store::{FoundMessages, StoreError, Stored};

/// Messages that are read at once when the first ones did not fill the page.
const READ_AT_ONCE: usize = 500;
const READ_FOR: Duration = Duration::from_secs(3);

/// Ids of a page are below this one; `before` is 0 for the first page.
pub fn below(before: u64) -> u64 {
    match before {
        0 => u64::MAX,
        before => before,
    }
}

/// `before` of the next page, where this one is full and there may be one.
pub fn next_before<T>(rows: &[T], limit: usize, key: impl Fn(&T) -> String) -> Option<String> {
    rows.last().filter(|_| rows.len() >= limit).map(key)
}

/// The newest messages below `before` that fit, at most so many. `read`: the page of the store below an id, with so many
/// at most.
///
/// # Errors
/// The store does not answer.
pub async fn full_page(
    mut before: Option<u64>,
    most: usize,
    read: impl AsyncFn(Option<u64>, usize) -> Result<FoundMessages, StoreError>,
    fits: impl Fn(&Stored) -> bool,
) -> Result<FoundMessages, StoreError> {
    let started = Instant::now();
    let mut messages = Vec::new();
    let mut at_once = most;
    loop {
        let found = read(before, at_once).await?;
        let is_all = found.next_before.is_none();
        let mut fitting = found.messages.into_iter().filter(|stored| fits(stored));
        messages.extend(fitting.by_ref().take(most - messages.len()));
        let next_before = match messages.last() {
            Some(_) if messages.len() == most && is_all && fitting.next().is_none() => None,
            Some(last) if messages.len() == most => Some(last.message.id),
            _ => found.next_before,
        };
        let goes_on = messages.len() < most && started.elapsed() < READ_FOR;
        match next_before {
            Some(next) if goes_on => {
                before = Some(next);
                at_once = most.max(READ_AT_ONCE);
            }
            next_before => {
                return Ok(FoundMessages {
                    messages,
                    next_before,
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pb::Message;

    /// A store of messages with the ids 1 to 100, every tenth of which fits; a page of it is cut at `at_most`.
    async fn pages(most: usize, at_most: usize) -> Vec<(Vec<u64>, Option<u64>)> {
        let read = async |before: Option<u64>, limit: usize| {
            let ids = (1..before.unwrap_or(101)).rev();
            let messages: Vec<Stored> = ids
                .take(limit.min(at_most))
                .map(|id| Stored {
                    message: Message {
                        id,
                        ..Message::default()
                    },
                    queue: 0,
                    fin: None,
                    attempts: 0,
                    replayed_as: 0,
                    sent_at: 0,
                })
                .collect();
            let last = messages.last().map(|stored| stored.message.id);
            Ok(FoundMessages {
                messages,
                next_before: last.filter(|id| *id > 1),
            })
        };
        let (mut all, mut before) = (Vec::new(), None);
        loop {
            let fits = |stored: &Stored| stored.message.id.is_multiple_of(10);
            let page = full_page(before, most, read, fits).await.unwrap();
            let ids = page.messages.iter().map(|stored| stored.message.id);
            all.push((ids.collect(), page.next_before));
            before = page.next_before;
            if before.is_none() {
                return all;
            }
        }
    }

    #[tokio::test]
    async fn a_page_is_full_unless_it_is_the_last() {
        for at_most in [1, 7, 1_000] {
            for most in [1, 3, 4] {
                let pages = pages(most, at_most).await;
                let (last, full) = pages.split_last().unwrap();
                assert!(full.iter().all(|(ids, _)| ids.len() == most), "{pages:?}");
                assert!(last.0.len() <= most);
                let ids: Vec<u64> = pages.into_iter().flat_map(|(ids, _)| ids).collect();
                assert_eq!(ids, [100, 90, 80, 70, 60, 50, 40, 30, 20, 10]);
            }
        }
    }
}
