//! Charges the messages of one batch.
//!
//! Opened by Ingest when the messages are ready to be written. Invariant: charges that were not given
//! to the store are returned, however the batch ends.

use std::sync::Arc;
use std::time::Duration;

use super::{NodePurses, PurseShare};
use crate::actors::context::NodeContext;
use crate::actors::context::declined::Declined;
use crate::actors::context::plan::Charging;
use crate::clock;
use crate::content;
use crate::domain::price::{self, Purse};
use crate::pb::{Message, SubmitCause};
use crate::smpp::CommandStatus;
use crate::store::balance::ChargeRow;
use crate::store::{StoreError, WriteBatch};
use crate::telemetry::metrics::ReasonLabel;

/// How long to wait for a block.
const PATIENCE: Duration = Duration::from_secs(5);
/// Milliseconds until other nodes have given back what they hold of a purse and do not need.
const GIVEN_BACK_MS: i64 = 2_000;

/// The purses of one sender, and what its messages have taken from them.
#[derive(Default)]
pub struct Reservation {
    /// `None` for a sender that is not charged.
    charging: Option<Charging>,
    quota: Option<ChargedPurse>,
    balance: Option<ChargedPurse>,
    /// What all nodes together have left of the quota, about a second old; lowest with the embedded store, which has one
    /// node.
    on_all_nodes: i64,
    /// Set when a purse could not be read, so that its balance is unknown.
    unknown: bool,
    rows: Vec<ChargeRow>,
    /// Whether the store has the rows.
    is_with_store: bool,
}

/// A purse that is charged.
struct ChargedPurse {
    purse: Purse,
    held: Arc<PurseShare>,
    /// How far down the part held here may go: with blocks, not below zero.
    floor: i64,
}

// === impl Reservation ===

impl Reservation {
    /// The purses of a sender, filled for these messages if there is enough credit.
    pub async fn open(
        node: &NodeContext,
        balance: &NodePurses,
        sender: u32,
        messages: impl Iterator<Item = &Message>,
    ) -> Self {
        let Some(charging) = node.plan().charging(sender).cloned() else {
            return Self::default();
        };
        let charge = |purse: Purse| ChargedPurse {
            purse,
            held: balance.held(purse),
            floor: if node.cluster.is_some() {
                0
            } else {
                charging.floor(purse)
            },
        };
        let now = clock::now_ms();
        let mut reservation = Self {
            quota: charging.quota.map(|_| charge(Purse::quota(sender, now))),
            balance: charging
                .tariff
                .as_ref()
                .map(|_| charge(Purse::balance(sender))),
            charging: Some(charging),
            on_all_nodes: i64::MIN,
            unknown: false,
            rows: Vec::new(),
            is_with_store: false,
        };
        let Some(cluster) = &node.cluster else {
            return reservation;
        };
        if let Some(quota) = &reservation.quota {
            reservation.on_all_nodes = balance.on_all_nodes(quota.purse);
        }
        let prices: Vec<(i64, i64)> = messages.map(|message| reservation.cost(message)).collect();
        let segments = prices.iter().map(|(segments, _)| segments).sum();
        let credits = prices
            .iter()
            .fold(0_i64, |sum, (_, credits)| sum.saturating_add(*credits));
        for (charge, need) in [
            (&reservation.quota, segments),
            (&reservation.balance, credits),
        ] {
            let (Some(charge), Some(charging)) = (charge, &reservation.charging) else {
                continue;
            };
            let floor = charging.floor(charge.purse);
            let ensure = charge
                .held
                .ensure(cluster.as_ref(), charge.purse, need, floor);
            let failure = match tokio::time::timeout(PATIENCE, ensure).await {
                Ok(Ok(())) => continue,
                Ok(Err(error)) => error.to_string(),
                Err(_) => "the database is silent".to_owned(),
            };
            tracing::warn!(sender = %node.name_of(sender), error = failure, "a balance or quota cannot be read");
            reservation.unknown = true;
        }
        reservation
    }

    /// Whether the sender is charged.
    pub fn is_charged(&self) -> bool {
        self.charging.is_some()
    }

    /// Charges a message, which has its id already.
    ///
    /// # Errors
    /// How it is refused; nothing is charged.
    pub fn charge(&mut self, node: &NodeContext, message: &Message) -> Result<(), Declined> {
        let (segments, credits) = self.cost(message);
        let refuse = |reason: &'static str, declined: Declined| {
            node.metrics
                .not_covered
                .get_or_create_owned(&ReasonLabel { reason })
                .inc();
            if self.unknown {
                CommandStatus::ESME_RSYSERR.into()
            } else {
                declined
            }
        };
        if let Some(quota) = &self.quota
            && !quota.held.spend(segments, quota.floor)
        {
            let status = CommandStatus(node.plan().config.smpp.quota_status);
            let end = self.more_at(quota.purse, segments);
            let declined = Declined::until(SubmitCause::Quota, status, end);
            return Err(refuse("quota", declined));
        }
        if let Some(balance) = &self.balance
            && !balance.held.spend(credits, balance.floor)
        {
            if let Some(quota) = &self.quota {
                quota.held.put(segments);
            }
            let status = CommandStatus(node.plan().config.smpp.balance_status);
            let declined = Declined::by(SubmitCause::Balance, status);
            return Err(refuse("balance", declined));
        }
        for (charge, amount) in [(&self.quota, segments), (&self.balance, credits)] {
            if let Some(charge) = charge.as_ref().filter(|_| amount != 0) {
                self.rows.push(ChargeRow {
                    id: message.id,
                    purse: charge.purse,
                    amount,
                    epoch: charge.held.epoch,
                });
            }
        }
        Ok(())
    }

    /// From when on a quota may have so many segments: when other nodes have given back what they do not need, or when the
    /// day ends.
    fn more_at(&self, purse: Purse, segments: i64) -> i64 {
        let now = clock::now_ms();
        let floor = self.charging.as_ref().map_or(0, |one| one.floor(purse));
        if self.on_all_nodes.saturating_sub(segments) >= floor {
            now.saturating_add(GIVEN_BACK_MS)
        } else {
            price::end_of_day(now)
        }
    }

    /// The rows for the batch that stores the messages. From now on charges are returned only after an
    /// answer of the store.
    pub fn take_rows(&mut self) -> Vec<ChargeRow> {
        self.is_with_store = true;
        self.rows.clone()
    }

    /// The store has refused the whole batch.
    pub fn refused(&mut self, error: &StoreError) {
        // The blocks of a fenced node are no longer its own; the next start reads what a closed store
        // has written; what is undecided comes back by the purse.
        self.is_with_store = matches!(
            error,
            StoreError::Fenced | StoreError::Closed | StoreError::Undecided { .. }
        );
    }

    /// The store has refused one message. `charged`: its row was written, and so was its charge.
    pub fn give_back(&self, node: &Arc<NodeContext>, id: u64, charged: bool) {
        let own = self.rows.iter().filter(|row| row.id == id);
        if !charged {
            own.for_each(|row| self.put(row));
            return;
        }
        let charge: Vec<ChargeRow> = own
            .map(|row| ChargeRow {
                amount: -row.amount,
                ..row.clone()
            })
            .collect();
        if charge.is_empty() {
            return;
        }
        let purses: Vec<(Arc<PurseShare>, i64)> = charge
            .iter()
            .filter_map(|row| {
                Some((
                    Arc::clone(&self.charged_purse(row.purse)?.held),
                    -row.amount,
                ))
            })
            .collect();
        let ticket = node.store.write(WriteBatch {
            charge,
            ..WriteBatch::default()
        });
        actix::spawn(async move {
            match ticket.await {
                Ok(_) => purses.iter().for_each(|(held, amount)| held.put(*amount)),
                Err(error) => {
                    tracing::error!(id, %error, "a refused message stays charged");
                }
            }
        });
    }

    fn put(&self, row: &ChargeRow) {
        if let Some(charge) = self.charged_purse(row.purse) {
            charge.held.put(row.amount);
        }
    }

    fn charged_purse(&self, purse: Purse) -> Option<&ChargedPurse> {
        [&self.quota, &self.balance]
            .into_iter()
            .flatten()
            .find(|charge| charge.purse == purse)
    }

    /// Segments of a message, and the credits that they cost.
    fn cost(&self, message: &Message) -> (i64, i64) {
        let segments = i64::from(content::segments(message));
        let tariff = self
            .charging
            .as_ref()
            .and_then(|charging| charging.tariff.as_ref());
        let price = tariff.map_or(0, |tariff| tariff.price(&message.destination));
        (segments, segments.saturating_mul(i64::from(price)))
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if !self.is_with_store {
            self.rows.iter().for_each(|row| self.put(row));
        }
    }
}
