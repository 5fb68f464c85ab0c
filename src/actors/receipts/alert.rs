//! alert_notification of an operator, passed on to the ESME that is waiting for the subscriber
//! (SMPP 3.4 §4.12).
//!
//! The alert goes to the account that owns the address in it. If no account does, it goes to the
//! account that last sent a message from that address to the subscriber. An alert_notification has no
//! response and is not stored: without a receiver it is counted and dropped, as the standard allows.
//!
//! What waits in the operator's queue for a retry to this subscriber is tried at once.

use std::sync::{Arc, LazyLock, Mutex};

use actix::Recipient;
use bytes::{Bytes, BytesMut};

use crate::actors::context::NodeContext;
use crate::actors::context::addresses::post_to;
use crate::actors::context::remote_command;
use crate::actors::routing::rewrite;
use crate::actors::runtime::locks::lock;
use crate::content;
use crate::content::door::ADDRESS_OF_DATA_SM;
use crate::domain::address::normalise;
use crate::domain::share::FairShares;
use crate::pb::{ForwardAlert, SubscriberReady, order};
use crate::smpp::{AlertNotification, Body, Pdu};
use crate::store::Search;

/// How many of the newest messages to a subscriber are searched for their sender.
const NEWEST: usize = 10;
/// Alerts whose receivers are looked for at the same time. An operator sends them without waiting for a response.
const MOST: u64 = 1_000;
/// How many each operator has under way.
static UNDER_WAY: LazyLock<Mutex<FairShares<u32>>> = LazyLock::new(Mutex::default);

/// The place of an alert of this operator; given back when it is dropped.
struct AlertPlace(u32);

/// Passes an alert of an operator on, in a task of its own.
pub fn pass_on(node: &Arc<NodeContext>, operator: u32, mut alert: AlertNotification) {
    let node = Arc::clone(node);
    if alert.source_addr.len().max(alert.esme_addr.len()) > ADDRESS_OF_DATA_SM {
        tracing::debug!("an alert_notification has an address for which none has room");
        node.metrics.alerts_dropped.inc();
        return;
    }
    if let Some(rules) = node.plan().rewrite_in(operator) {
        rewrite::alert(rules, &mut alert);
    }
    let ready = SubscriberReady {
        queue: operator,
        msisdn: String::from_utf8_lossy(&alert.source_addr).into_owned(),
        ..SubscriberReady::default()
    };
    subscriber_ready(&node, ready.clone());
    remote_command::tell_ready(&node, ready);
    let Some(place) = AlertPlace::take(operator) else {
        node.metrics.alerts_dropped.inc();
        return;
    };
    actix::spawn(async move {
        let _place = place;
        let Some(account) = address(&node, &mut alert).await else {
            tracing::debug!("an alert_notification is for no account");
            node.metrics.alerts_dropped.inc();
            return;
        };
        let mut octets = BytesMut::new();
        Pdu::request(0, Body::AlertNotification(alert)).encode(&mut octets);
        let forward = ForwardAlert {
            account,
            pdu: octets.freeze(),
            notification: None,
        };
        if !deliver(&node, &forward) && !send_to_other_node(&node, forward).await {
            node.metrics.alerts_dropped.inc();
        }
    });
}

// === impl AlertPlace ===

impl AlertPlace {
    /// `None` while the operator has half of what the others leave.
    fn take(operator: u32) -> Option<Self> {
        let may = lock(&UNDER_WAY).try_take(&operator, 1, MOST);
        may.then(|| Self(operator))
    }
}

impl Drop for AlertPlace {
    fn drop(&mut self) {
        lock(&UNDER_WAY).give(&self.0, 1);
    }
}

/// What waits for a subscriber in a queue of this node is tried at once.
pub fn subscriber_ready(node: &NodeContext, ready: SubscriberReady) {
    if let Some(queue) = node.queue(ready.queue) {
        queue.post_ready(ready);
    }
}

/// Handles an alert that another node has left for a receiver on this one.
pub fn arrived(node: &NodeContext, forward: &ForwardAlert) {
    if !deliver(node, forward) {
        node.metrics.alerts_dropped.inc();
    }
}

/// Gives an alert to a receiver of its account on this node; false if there is none.
fn deliver(node: &NodeContext, forward: &ForwardAlert) -> bool {
    let Some(recipient) = receiver(node, forward.account) else {
        return false;
    };
    post_to(&recipient, forward.clone());
    node.metrics.alerts.inc();
    true
}

/// A receiver of an account on this node.
pub fn receiver(node: &NodeContext, account: u32) -> Option<Recipient<ForwardAlert>> {
    let sessions = node.queue(account)?.sessions();
    node.binds
        .all()
        .iter()
        .filter(|bind| sessions.iter().any(|(session, _)| *session == bind.session))
        .find_map(|bind| lock(&bind.alerts).clone())
}

/// Finds the account that an alert is for, and sets the addresses to those that this account knows.
async fn address(node: &NodeContext, alert: &mut AlertNotification) -> Option<u32> {
    let own = node.plan().mo_account(&alert.esme_addr);
    if let Some(account) = own {
        if let Some(account) = node.plan().account_by_id(account) {
            rewrite::alert(&account.rewrite_out, alert);
        }
        return Some(account);
    }
    let text = |address: &Bytes| String::from_utf8(normalise(address).to_vec()).ok();
    let search = Search {
        to: Some(text(&alert.source_addr)?),
        from: Some(text(&alert.esme_addr).filter(|from| !from.is_empty())?),
        limit: NEWEST,
        ..Search::default()
    };
    let page = node.store.search(search).await.ok()?;
    let message = page
        .messages
        .into_iter()
        .map(|stored| stored.message)
        .find(|message| !content::is_internal(message) && node.is_account(message.sender))?;
    rewrite::alert_about(&message, alert);
    Some(message.sender)
}

/// Leaves an alert for a node that has a receiver of its account; false if there is none.
pub async fn send_to_other_node(node: &NodeContext, forward: ForwardAlert) -> bool {
    let own = node.ids.node();
    let serving = node
        .local_lease
        .cluster_view()
        .view
        .nodes
        .iter()
        .find(|node| node.node != own && node.card.serving.contains(&forward.account))
        .map(|node| node.node);
    match serving {
        Some(other) => remote_command::to_node(node, other, order::What::Alert(forward))
            .await
            .unwrap_or(false),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::AlertPlace;

    #[test]
    fn alerts_of_one_operator_leave_places_for_those_of_others() {
        let [busy, other] = [u32::MAX, u32::MAX - 1];
        let places: Vec<AlertPlace> = std::iter::from_fn(|| AlertPlace::take(busy)).collect();
        assert!(places.len() > 100 && AlertPlace::take(busy).is_none());
        assert!(AlertPlace::take(other).is_some());
        drop(places);
        assert!(AlertPlace::take(busy).is_some());
    }
}
