//! Replaces the content or the times of a waiting message of an account, as replace_sm does for ESMEs.
//!
//! The order goes the same way to the queue that holds the message. Invariant: a message stays as many short messages
//! as it was accepted with, or becomes fewer, because rates, quotas and the balance were charged for those.

use bytes::Bytes;

use super::{AccountApi, PATIENCE_MS, Refused};
use crate::actors::context::plan::AccountPlan;
use crate::actors::ingress::operations;
use crate::actors::ingress::operations::replace::{is_paid_for, is_single, replacement, times};
use crate::actors::orders;
use crate::clock;
use crate::content;
use crate::content::compose::{self, ComposedBody};
use crate::content::peer::CARRIERS;
use crate::pb::queue_command::Verb;
use crate::pb::{Alphabet, CommandMessage, Commanded, Message, Refusal};
use crate::smpp::Tlvs;

/// What of a message changes; what is `None` stays as it was. Times are Unix milliseconds.
#[derive(Debug, Clone, Default)]
pub struct MessageChange {
    pub body: Option<ComposedBody>,
    pub send_at: Option<i64>,
    pub expiry: Option<Expiry>,
    /// Whether the account gets a receipt.
    pub receipt: Option<bool>,
}

/// When a message expires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expiry {
    At(i64),
    /// So many milliseconds after it may be sent.
    After(i64),
}

/// Why a message was not replaced.
#[derive(Debug)]
pub enum NotReplaced {
    /// The new values are refused, as in a submission.
    Refused(Refused),
    /// There is no such message, it cannot be replaced any more, or its queue does not answer.
    Refusal(Refusal),
    /// The new content takes this many short messages, more than the message was accepted with.
    TooLong(u32),
}

// === impl AccountApi ===

impl AccountApi {
    /// Replaces what changes of a message of the account.
    ///
    /// # Errors
    /// See [`NotReplaced`]; then the message is as it was.
    pub async fn replace(
        &self,
        account: &AccountPlan,
        id: u64,
        change: MessageChange,
    ) -> Result<Commanded, NotReplaced> {
        let node = self.node();
        let admitted = operations::admit(node, account.id).await;
        admitted.map_err(|declined| NotReplaced::Refused(self.refused(declined, account)))?;
        let history = self.own(account, id).await?;
        let old = &history.stored.message;
        let parts = content::parts(old);
        // Its whole counts as handed over to what follows its parts.
        if parts > 1 && history.stored.fin.is_none() {
            return Err(Refusal::conflict(format!(
                "message {id} was divided into {parts} parts, which cannot be replaced; cancel it and submit another one"
            ))
            .into());
        }
        orders::message::refuse_when_over(node, &history)?;
        let begins = change.send_at.unwrap_or_else(|| history.due_at());
        let begins = begins.max(clock::now_ms());
        let valid_until = change.expiry.map(|expiry| expiry.from(begins));
        let times = times(node, &history, change.send_at, valid_until)
            .map_err(|status| NotReplaced::Refused(self.refused(status, account)))?;
        let mut new = changed(old, &change, valid_until);
        let queue = history.stored.queue;
        if change.body.is_some()
            && (!is_paid_for(node, queue, old, &mut new) || !is_single(node, queue, &new))
        {
            return Err(NotReplaced::TooLong(content::segments(&new)));
        }
        let order = CommandMessage {
            id,
            verb: Verb::Replace.into(),
            by: node.name_of(account.id),
            replacement: Some(replacement(node, new, times)),
            before: clock::now_ms() + PATIENCE_MS,
            ..CommandMessage::default()
        };
        Ok(orders::message::carry_out(node, &order).await?)
    }
}

/// The message with what changes.
fn changed(old: &Message, change: &MessageChange, valid_until: Option<i64>) -> Message {
    let mut new = old.clone();
    let mut wished = Message::default();
    compose::set_times(&mut wished, change.send_at, valid_until);
    if change.send_at.is_some() {
        new.schedule_delivery_time = wished.schedule_delivery_time;
    }
    if valid_until.is_some() {
        new.validity_period = wished.validity_period;
    }
    if let Some(receipt) = change.receipt {
        new.registered_delivery = u32::from(receipt);
    }
    if let Some(body) = &change.body {
        let tlvs = Tlvs::from_raw(std::mem::take(&mut new.tlvs)).without(CARRIERS);
        new.tlvs = tlvs.raw().clone();
        new.short_message = Bytes::new();
        new.esm_class &= !content::UDHI;
        new.set_alphabet(Alphabet::Gsm);
        body.carry(&mut new);
    }
    new
}

// === impl Expiry ===

impl Expiry {
    /// When a message expires that may be sent from this moment on.
    pub fn from(self, begins: i64) -> i64 {
        match self {
            Self::At(at) => at,
            Self::After(period) => begins.saturating_add(period),
        }
    }
}

// === impl NotReplaced ===

impl From<Refusal> for NotReplaced {
    fn from(refusal: Refusal) -> Self {
        Self::Refusal(refusal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::compose::text;
    use crate::content::text_of;

    fn message(written: &str) -> Message {
        let mut message = Message::default();
        let body = text(written, compose::TextAlphabet::Auto, false).unwrap();
        body.carry(&mut message);
        message
    }

    #[test]
    fn a_new_body_leaves_nothing_of_the_old_one() {
        let body = |written: &str| text(written, compose::TextAlphabet::Auto, false).unwrap();
        for (old, new) in [
            ("short", "я".repeat(200)),
            (&"я".repeat(200), "short".to_owned()),
        ] {
            let change = MessageChange {
                body: Some(body(&new)),
                ..MessageChange::default()
            };
            let changed = changed(&message(old), &change, None);
            assert_eq!(text_of(&changed).as_deref(), Some(&new[..]));
            assert_eq!(changed.short_message.is_empty(), new != "short");
            assert_eq!(changed.tlvs.is_empty(), new == "short");
        }
        // A header goes with its data.
        let header = Bytes::from_static(&[6, 5, 4, 0x0B, 0x84, 0x23, 0xF0]);
        let mut old = Message::default();
        compose::data(Bytes::from_static(b"x"), header, false)
            .unwrap()
            .carry(&mut old);
        let change = MessageChange {
            body: Some(body("hello")),
            ..MessageChange::default()
        };
        let new = changed(&old, &change, None);
        assert_eq!((new.esm_class, new.data_coding), (0, 0));
    }

    #[test]
    fn what_is_not_given_stays() {
        let old = Message {
            registered_delivery: 1,
            validity_period: b"361121110000000+".to_vec(),
            ..message("hello")
        };
        assert_eq!(changed(&old, &MessageChange::default(), None), old);
        let change = MessageChange {
            receipt: Some(false),
            send_at: Some(1_700_000_000_000),
            ..MessageChange::default()
        };
        let new = changed(&old, &change, None);
        assert_eq!(new.registered_delivery, 0);
        assert_eq!(&new.schedule_delivery_time[..], b"231114221320000+");
        assert_eq!(new.validity_period, old.validity_period);
        assert_eq!(text_of(&new).as_deref(), Some("hello"));
    }
}
