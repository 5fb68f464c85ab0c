//! What changes make of a message: moves and replacements, in their order.
//!
//! Called by the readers of every adapter for the rows of `change`; those who move messages make their rows here.

use bytes::Bytes;
use prost::Message as _;

use crate::{ChangeKind, ChangeRow, SentRow, Stored};
use smsc_domain::{mo_rule, network};
use smsc_proto::{Kind, Message, Moved, Replacement, RuledBy};

// === impl ChangeRow ===

impl ChangeRow {
    /// Another queue owns the message from now on; `at` is Unix milliseconds. `by` is for people, and for the build before.
    pub fn moved(id: u64, at: i64, queue: u32, by: &str, moved: Moved) -> Self {
        let moved = Moved {
            is_whole: true,
            ..moved
        };
        Self {
            id,
            at,
            kind: ChangeKind::Move,
            queue,
            by: by.to_owned(),
            expires_at: 0,
            body: moved.encode_to_vec().into(),
        }
    }
}

// === impl Stored ===

impl Stored {
    /// Adds an attempt.
    pub(crate) fn attempted(&mut self, sent: &SentRow) {
        self.attempts = self.attempts.max(sent.attempt);
        if sent.status == 0 {
            self.sent_at = self.sent_at.max(sent.at);
        }
    }

    /// Changes it, in the order of the rows: the last of a kind wins.
    pub(crate) fn changed(&mut self, change: ChangeRow) {
        match change.kind {
            ChangeKind::Move => moved(self, &change),
            ChangeKind::Replace => replace(&mut self.message, change.body, change.expires_at),
            ChangeKind::Replay => self.replayed_as = change.replay(),
            ChangeKind::Retry | ChangeKind::Cancel | ChangeKind::GiveUp => {}
        }
    }
}

/// The effect of a move on the message: its queue, and the network, IMSI or rule that moved it.
fn moved(stored: &mut Stored, change: &ChangeRow) {
    let queue = change.queue;
    let moved = Moved::decode(change.body.clone()).unwrap_or_else(|error| {
        tracing::error!(id = stored.message.id, %error, "a move cannot be read");
        Moved::default()
    });
    stored.queue = queue;
    stored.message.towards = moved.towards;
    if !moved.imsi.is_empty() {
        stored.message.imsi = moved.imsi;
        stored.message.queue = queue;
    }
    let (rule, network) = if moved.is_whole {
        (moved.rule, moved.network)
    } else {
        in_words(&change.by)
    };
    if let Some(rule) = rule {
        stored.message.ruled_by = Some(Box::new(RuledBy { queue, ..rule }));
        stored.message.set_kind(Kind::Mo);
    } else if stored.message.waits_for_keyword() {
        // Whoever moved it did not wait.
        stored.message.ruled_by = None;
    }
    if let Some(network) = network {
        stored.message.network = network;
        // It had waited to be routed at all.
        stored.message.queue = queue;
    }
}

/// The rule and the network that moved a message, of a row that a build before has written or that was erased.
fn in_words(by: &str) -> (Option<RuledBy>, Option<String>) {
    let rule = mo_rule::noted(by).map(|(rule, callback)| RuledBy {
        rule: rule.to_owned(),
        callback: callback.to_owned(),
        ..RuledBy::default()
    });
    (rule, network::noted(by).map(str::to_owned))
}

/// Gives a message the values of a `change` row's body. One that cannot be read changes nothing: erased texts are empty.
fn replace(message: &mut Message, body: Bytes, expires_at: i64) {
    message.expires_at = expires_at;
    if body.is_empty() {
        return;
    }
    match Replacement::decode(body) {
        Ok(new) => {
            if message.short_message != new.short_message || message.tlvs != new.tlvs {
                // It has the text that was replaced.
                message.tpdu.clear();
                (message.composition.iter_mut()).for_each(|one| one.gbk.clear());
            }
            message.note_short_messages(new.short_messages);
            message.due_at = new.due_at;
            message.esm_class = new.esm_class;
            message.protocol_id = new.protocol_id;
            message.registered_delivery = new.registered_delivery;
            message.data_coding = new.data_coding;
            message.alphabet = new.alphabet;
            message.sm_default_msg_id = new.sm_default_msg_id;
            message.short_message = new.short_message;
            message.tlvs = new.tlvs;
            message.schedule_delivery_time = new.schedule_delivery_time.into();
            message.validity_period = new.validity_period.into();
        }
        Err(error) => tracing::error!(id = message.id, %error, "a replacement cannot be read"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use smsc_domain::imsi;
    use smsc_proto::PayloadKind;

    #[test]
    fn a_replaced_text_takes_the_tpdu_along() {
        let text = Bytes::from_static;
        let mut message = Message {
            short_message: text(b"old"),
            tpdu: vec![1, 0, 4],
            payload_kind: PayloadKind::SmsSubmit.into(),
            composition: Some(Box::default()),
            ..Message::default()
        };
        let new = Replacement {
            short_message: message.short_message.clone(),
            tlvs: message.tlvs.clone(),
            ..Replacement::default()
        };
        replace(&mut message, new.encode_to_vec().into(), 9);
        assert!(!message.tpdu.is_empty(), "the same text");
        let mut new = Replacement::default();
        (new.short_message, new.short_messages) = (text(b"new"), 2);
        replace(&mut message, new.encode_to_vec().into(), 9);
        assert_eq!(&message.short_message[..], b"new");
        let noted = message.composition.as_ref().map(|one| one.short_messages);
        assert_eq!((message.tpdu.is_empty(), noted), (true, Some(2)));
        assert_eq!(
            message.payload_kind(),
            PayloadKind::SmsSubmit,
            "what it came as stays"
        );
    }

    fn move_to(queue: u32, by: &str, body: Bytes) -> ChangeRow {
        ChangeRow {
            kind: ChangeKind::Move,
            queue,
            body,
            ..ChangeRow::replayed(1, 0, by, 0)
        }
    }

    fn stored(message: Message) -> Stored {
        Stored {
            queue: 3,
            ..Stored::new(message)
        }
    }

    #[test]
    fn an_imsi_stays_with_the_message_through_later_moves() {
        let mut stored = stored(Message {
            queue: 3,
            ..Message::default()
        });
        let body = |imsi: &str, towards| {
            let moved = Moved {
                imsi: imsi.to_owned(),
                towards,
                ..Moved::default()
            };
            Bytes::from(moved.encode_to_vec())
        };
        moved(&mut stored, &move_to(4, "alice", body("", 7)));
        assert_eq!((stored.queue, stored.message.towards), (4, 7));
        assert_eq!(stored.message.queue, 3);
        let found = move_to(7, &imsi::note("looked up"), body("234150123456789", 0));
        moved(&mut stored, &found);
        assert_eq!((stored.queue, stored.message.queue), (7, 7));
        moved(&mut stored, &move_to(8, "alice", Bytes::new()));
        assert_eq!(stored.message.imsi, "234150123456789");
        assert_eq!((stored.queue, stored.message.towards), (8, 0));
    }

    #[test]
    fn a_move_by_a_rule_is_kept_and_any_other_ends_the_waiting() {
        let moved = |stored: &mut Stored, queue, by: &str| {
            moved(stored, &move_to(queue, by, Bytes::new()));
        };
        let waits = || {
            stored(Message {
                ruled_by: Some(Box::new(RuledBy {
                    waits: true,
                    ..RuledBy::default()
                })),
                ..Message::default()
            })
        };
        let mut stored = waits();
        moved(&mut stored, 9, &mo_rule::note("info", "crm"));
        assert_eq!(stored.message.ruled_queue(), Some(9));
        assert_eq!(stored.message.kind(), Kind::Mo);
        moved(&mut stored, 10, "alice");
        let ruled = stored.message.ruled_by.unwrap();
        assert_eq!((&*ruled.rule, &*ruled.callback), ("info", "crm"));
        let mut stored = waits();
        moved(&mut stored, 9, "internal:assembly");
        assert_eq!(stored.message.ruled_by, None);
    }

    #[test]
    fn what_moved_a_message_is_said_by_fields_and_by_words_only_in_old_rows() {
        let by = network::note("26201", "table");
        let mut old = stored(Message::default());
        moved(&mut old, &move_to(4, &by, Bytes::new()));
        assert_eq!((&*old.message.network, old.message.queue), ("26201", 4));
        let mut new = stored(Message::default());
        let said = Moved {
            network: Some("26202".to_owned()),
            rule: Some(RuledBy {
                rule: "info".to_owned(),
                ..RuledBy::default()
            }),
            ..Moved::default()
        };
        moved(&mut new, &ChangeRow::moved(1, 5, 4, &by, said));
        let ruled = new.message.ruled_by.as_deref().unwrap();
        assert_eq!((&*ruled.rule, ruled.queue), ("info", 4));
        assert_eq!(new.message.network, "26202");
        // A token may have any name.
        let mut ordered = stored(Message::default());
        moved(
            &mut ordered,
            &ChangeRow::moved(1, 5, 9, &by, Moved::default()),
        );
        assert_eq!((&*ordered.message.network, ordered.queue), ("", 9));
    }
}
