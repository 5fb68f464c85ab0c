//! Adds ended messages to the sums of usage.

use std::collections::HashMap;
use std::sync::Arc;

use super::step::{ABANDONED, BATCH, Events, ExportError};
use crate::actors::context::NodeContext;
use crate::actors::context::plan::Plan;
use crate::actors::receipts::just_ended::JustEnded;
use crate::content;
use crate::domain::country;
use crate::domain::period::DAY_MS;
use crate::domain::queue_name::QueueName;
use crate::pb::Kind;
use crate::store::Stored;
use crate::store::outbox::{EventReader, ReaderOutcome};
use crate::store::usage::UsageRow;

/// TON of numbers that begin with a country code, and of those that do not say (SMPP 3.4 §5.2.5).
const INTERNATIONAL: [u32; 2] = [1, 0];

/// The reader that counts.
pub(super) struct Usage {
    events: Events,
}

// === impl Usage ===

impl Usage {
    pub(super) fn new(node: u8, just_ended: Arc<JustEnded>) -> Self {
        Self {
            events: Events::new(EventReader::Usage, format!("node:{node}"), just_ended),
        }
    }

    /// Reads events once; false when there are no more.
    pub(super) async fn step(&mut self, node: &NodeContext) -> Result<bool, ExportError> {
        let Some(taken) = self.events.take(node, BATCH, ABANDONED).await? else {
            return Ok(false);
        };
        let ended = self.events.messages(node, &taken.ids).await?;
        let sums = sums(&node.plan(), ended.iter().flatten().map(AsRef::as_ref));
        // Another node may have taken these over: it counts them instead.
        let outcome = ReaderOutcome::Usage(sums);
        (self.events.finish(node, taken.claim, outcome, &ended)).await?;
        Ok(taken.is_full)
    }
}

/// The sums of these messages. Messages without a call detail record do not count.
fn sums<'s>(plan: &Plan, all: impl Iterator<Item = &'s Stored>) -> Vec<UsageRow> {
    let mut sums: HashMap<_, UsageRow, ahash::RandomState> = HashMap::default();
    for stored in all {
        let Some(row) = row(plan, stored) else {
            continue;
        };
        let key = (row.day, row.account, row.operator, row.country.clone());
        let sum = sums.entry((key, row.state, row.is_mo, row.currency.clone()));
        let sum = sum.or_insert_with(|| UsageRow {
            messages: 0,
            parts: 0,
            price: 0,
            ..row.clone()
        });
        sum.messages += row.messages;
        sum.parts += row.parts;
        sum.price = sum.price.saturating_add(row.price);
    }
    sums.into_values().collect()
}

/// What one message adds.
fn row(plan: &Plan, stored: &Stored) -> Option<UsageRow> {
    let message = &stored.message;
    let ended = stored.fin.as_ref()?;
    if content::is_internal(message) {
        return None;
    }
    let is_mo = message.kind() == Kind::Mo;
    let is_operator = |number: &u32| QueueName::parse(plan.name_of(*number)).is_connected();
    let is_account = |number: &u32| QueueName::parse(plan.name_of(*number)).account().is_some();
    // Who is counted is not always who reported the end: an expired message was still its operator's.
    let (from, to) = (message.sender, stored.queue);
    let operator = if is_mo {
        Some(from).filter(is_operator)
    } else {
        [ended.operator, to].into_iter().find(is_operator)
    };
    let account = if is_mo {
        plan.account_of(to)
    } else {
        Some(from).filter(is_account)
    };
    let (ton, subscriber) = if is_mo {
        (message.source_ton, &message.source)
    } else {
        (message.dest_ton, &message.destination)
    };
    let country = if INTERNATIONAL.contains(&ton) {
        country::of_number(subscriber)
    } else {
        ""
    };
    Some(UsageRow {
        day: i32::try_from(ended.at.div_euclid(DAY_MS)).unwrap_or_default(),
        account: account.unwrap_or_default(),
        operator: operator.unwrap_or_default(),
        country: country.to_owned(),
        state: u8::try_from(i32::from(ended.state)).unwrap_or_default(),
        is_mo,
        currency: plan.currency_of(message.sender).to_owned(),
        messages: 1,
        parts: content::segments(message).into(),
        price: i64::try_from(message.price).unwrap_or(i64::MAX),
    })
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::actors::test_support;
    use crate::pb::{Composition, Message, MessageState};
    use crate::store::FinRow;

    /// A message that has ended on the second day of 1970.
    fn ended(sender: u32, queue: u32, message: Message) -> Stored {
        Stored {
            queue,
            fin: Some(FinRow {
                id: 1,
                at: DAY_MS + 5,
                state: MessageState::Delivered,
                error: Bytes::new(),
                operator: 0,
                tell: 0,
                done_at: 0,
                remote_item: Bytes::new(),
                remote_part: 0,
            }),
            message: Message { sender, ..message },
            attempts: 1,
            replayed_as: 0,
            sent_at: 0,
        }
    }

    fn to(number: &'static str) -> Message {
        Message {
            dest_ton: 1,
            destination: Bytes::from_static(number.as_bytes()),
            price: 3,
            ..Message::default()
        }
    }

    #[actix::test]
    async fn sums_say_of_whom_by_whom_and_where() {
        let node = test_support::node(1, None).await;
        let (account, operator) = (node.account, node.operator);
        let divided = Composition {
            sent_as: vec![7, 8],
            ..Composition::default()
        };
        let part = Composition {
            parent: 1,
            ..Composition::default()
        };
        let with = |composition: Composition| Message {
            composition: Some(Box::new(composition)),
            ..to("447700900123")
        };
        let mo = Message {
            kind: Kind::Mo.into(),
            source_ton: 1,
            source: Bytes::from_static(b"41791234567"),
            ..Message::default()
        };
        let national = Message {
            dest_ton: 2,
            ..to("7700900123")
        };
        let all = [
            ended(account, operator, to("447700900123")),
            ended(account, operator, with(divided)),
            ended(account, operator, with(part)),
            ended(account, operator, national),
            ended(operator, account, mo),
        ];
        let mut sums = sums(&node.context.plan(), all.iter());
        sums.sort_by(|left, right| left.country.cmp(&right.country));
        let sum = |country: &str, messages, parts, price| UsageRow {
            day: 1,
            account,
            operator,
            country: country.to_owned(),
            state: 2,
            is_mo: country == "CH",
            currency: "credits".to_owned(),
            messages,
            parts,
            price,
        };
        assert_eq!(
            sums,
            [sum("", 1, 1, 3), sum("CH", 1, 1, 0), sum("GB", 2, 3, 6)]
        );
    }
}
