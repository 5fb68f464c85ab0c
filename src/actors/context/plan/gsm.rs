//! GSM networks in the plan: what delivering to their handsets needs to know of each.

use std::collections::HashMap;
use std::sync::Arc;

use super::{GsmPlan, Plan, gsm_name};
use crate::config::{self, Config};
use crate::content::handset::Handsets;
use crate::domain::ByQueue;
use crate::pb::Message;
use crate::store::{Store, StoreError};

/// The enabled networks; `by_target` has the accounts, and gets the networks.
pub(super) fn networks(
    config: &Config,
    by_target: &mut HashMap<String, u32>,
    store: &dyn Store,
) -> Result<ByQueue<Arc<GsmPlan>>, StoreError> {
    let mut networks = ByQueue::default();
    for one in config.gsm.iter().filter(|one| one.enabled) {
        let name = gsm_name(&one.name);
        let id = store.intern(&name)?;
        let account = one.account.as_ref();
        let plan = GsmPlan {
            id,
            retry: config.own_retry(one.retry.as_ref(), one.classes()),
            handsets: Handsets::of_gsm(one),
            account: account.and_then(|account| by_target.get(account).copied()),
            rewrite_out: config::rules(&one.rewrite_out),
            config: one.clone(),
        };
        by_target.insert(name, id);
        networks.insert(id, Arc::new(plan));
    }
    Ok(networks)
}

// === impl Plan ===

impl Plan {
    /// The GSM network of a queue.
    pub fn gsm(&self, id: u32) -> Option<&Arc<GsmPlan>> {
        self.gsms.get(&id)
    }

    /// The queue of the network that a message of a handset came from. Where that is not known, or not configured any more:
    /// of the networks whose handsets send as its account, the one that is configured first.
    pub fn gsm_of_handset(&self, message: &Message) -> Option<u32> {
        match self.gsm(message.source_gsm) {
            Some(gsm) => Some(gsm.id),
            None => self.gsm_of_account(message.sender),
        }
    }

    fn gsm_of_account(&self, account: u32) -> Option<u32> {
        let config = &self.config.gsm;
        let of_account = |gsm: &&Arc<GsmPlan>| gsm.account == Some(account);
        let place = |gsm: &&Arc<GsmPlan>| config.iter().position(|one| one.name == gsm.config.name);
        let first = self.gsms().filter(of_account).min_by_key(place)?;
        Some(first.id)
    }

    /// Every GSM network.
    pub fn gsms(&self) -> impl Iterator<Item = &Arc<GsmPlan>> {
        self.gsms.values()
    }
}
