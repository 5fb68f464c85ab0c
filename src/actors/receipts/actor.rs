//! The Receipts actor: when a message ends, it puts the receipt into the queue of the account that
//! requested it.
//!
//! Gets a `FinalBatch` after each commit that ended messages. `told` is written when the account has
//! acknowledged its receipt.

use std::borrow::Cow;
use std::sync::Arc;

use actix::{Actor, Context, Handler, Supervised};

use crate::actors::context::NodeContext;
use crate::actors::context::traced;
use crate::actors::receipts::final_state;
use crate::actors::receipts::just_ended::JustEnded;
use crate::actors::receipts::receipt;
use crate::actors::receipts::wanted;
use crate::actors::runtime::timed_mailbox::measured;
use crate::clock;
use crate::content;
use crate::domain::{ByQueue, address, command_status, state};
use crate::pb::{Final, FinalBatch, QueueItem};
use crate::telemetry::metrics::StateMeters;

/// Commits that may wait in the mailbox.
pub const MAILBOX: usize = 4096;

/// Gets every final state.
pub struct Receipts {
    node: Arc<NodeContext>,
    just_ended: Arc<JustEnded>,
    states: StateMeters,
}

// === impl Receipts ===

impl Receipts {
    pub fn new(node: Arc<NodeContext>, just_ended: Arc<JustEnded>) -> Self {
        Self {
            just_ended,
            states: node.metrics.states(),
            node,
        }
    }

    /// Counts what receipts of operators say that come soon, and how all messages have ended.
    fn count_outcomes(&self, finals: &[Final], now: i64) {
        self.node.outcomes.count(|log| {
            let since = log.prompt_since(now);
            for ended in finals {
                let Some(message) = ended.message.as_deref() else {
                    continue;
                };
                let number = ended.state() as i32 as u8;
                let is_good = matches!(number, state::DELIVERED | state::ACCEPTED);
                // Some do not know when their message was sent.
                let is_soon = ended.sent_at == 0 || ended.sent_at >= since;
                let is_receipt = ended.by_receipt && is_soon;
                // Who cancels a message knows that; it has not failed.
                let is_end = !content::is_internal(message) && number != state::DELETED;
                if !is_receipt && !is_end {
                    continue;
                }
                let mut pair = log.at(ended.operator, message.sender, now);
                if is_receipt {
                    pair.note_receipt((!is_good).then_some(number), !ended.unawaited);
                }
                if is_end {
                    let error = (!is_good).then(|| error_of(ended, number));
                    pair.note_end(error.as_deref());
                }
            }
        });
    }

    fn forward(&mut self, finals: Vec<Final>) {
        let now = clock::now_ms();
        self.count_outcomes(&finals, now);
        let mut by_queue: ByQueue<Vec<QueueItem>> = ByQueue::default();
        for ended in &finals {
            let Some(message) = &ended.message else {
                continue;
            };
            self.node.release(message.sender);
            if content::is_internal(message) {
                continue;
            }
            let trace = traced::trace_of_end(&self.node, ended);
            self.states
                .ended(ended.state(), now - message.accepted_at, trace);
            if !ended.handed_over && wanted::wants_receipt(&self.node, message, ended.state()) {
                let queue = wanted::receipt_queue(&self.node, message);
                let row = final_state::row(ended, queue);
                by_queue.entry(queue).or_default().push(QueueItem {
                    term: ended.term,
                    ..receipt::item_for(&self.node, message, &row)
                });
            }
        }
        // First: a message whose receipt is acknowledged may be erased.
        if self.node.local_lease.is_janitor() {
            self.just_ended.keep(finals);
        }
        for (queue, items) in by_queue {
            let count = items.len() as u64;
            if !self.node.enqueue(queue, items) {
                // The account was removed from the configuration. If it comes back, a start of the SMSC
                // enqueues the receipts again.
                self.node.metrics.receipts_homeless.inc_by(count);
            }
        }
    }
}

/// How the history calls the error of a message that failed: a command_status by its name, another code as the operator has
/// written it, and the state where there is no code. Usual ones are not copied: this is asked for each message that failed.
fn error_of(ended: &Final, state: u8) -> Cow<'_, str> {
    if ended.error.iter().all(|octet| *octet == b'0') {
        return Cow::Borrowed(state::name(state));
    }
    let is_plain = |octet: &u8| matches!(*octet, 0x20..=0x7E) && *octet != b'\\';
    let code = match std::str::from_utf8(&ended.error) {
        Ok(code) if ended.error.iter().all(is_plain) => Cow::Borrowed(code),
        _ => Cow::Owned(address::printable(&ended.error)),
    };
    let status = code.parse::<u32>().ok();
    let status = status.filter(|_| !ended.by_receipt);
    let Some(status) = status else {
        return code;
    };
    let name = command_status::name(status).map(Cow::Borrowed);
    name.unwrap_or_else(|| Cow::Owned(command_status::display(status)))
}

measured!(Receipts: FinalBatch);

impl Actor for Receipts {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(MAILBOX);
    }
}

impl Supervised for Receipts {}

impl Handler<FinalBatch> for Receipts {
    type Result = ();

    fn handle(&mut self, batch: FinalBatch, _: &mut Self::Context) {
        self.forward(batch.finals);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actors::test_support;
    use crate::pb::{Message, MessageState};

    const MINUTE: i64 = 60_000;

    #[test]
    fn errors_have_the_names_that_filters_of_failures_take() {
        let name = |error: &'static str, by_receipt| {
            let ended = Final {
                error: error.into(),
                by_receipt,
                ..Final::default()
            };
            error_of(&ended, state::EXPIRED).into_owned()
        };
        assert_eq!(name("10", false), "ESME_RINVSRCADR");
        assert_eq!(name("10", true), "10", "the operator's own code");
        assert_eq!(name("0A1", false), "0A1");
        assert_eq!(name("1025", false), "0x00000401", "without a name");
        assert_eq!(name("a\\\n", true), "a\\\\\\x0a", "as it is printed");
        for nothing in ["", "000"] {
            assert_eq!(name(nothing, true), "EXPIRED");
        }
    }

    #[actix::test]
    async fn receipts_count_that_come_soon_and_are_missed_by_whoever_sent_the_message() {
        let test = test_support::node(1, None).await;
        let node = &test.context;
        let receipts = Receipts::new(Arc::clone(node), Arc::new(JustEnded::new(&[])));
        let now = clock::now_ms();
        let ended = |sent_at: i64, state: MessageState| Final {
            state: state.into(),
            operator: test.operator,
            by_receipt: true,
            sent_at,
            message: Some(Box::new(Message {
                sender: test.account,
                ..Message::default()
            })),
            ..Final::default()
        };
        let of_other_node = Final {
            unawaited: true,
            ..ended(now - MINUTE, MessageState::Undeliverable)
        };
        let by_queue = Final {
            by_receipt: false,
            ..ended(now, MessageState::Rejected)
        };
        let late = ended(now - 30 * MINUTE, MessageState::Undeliverable);
        let soon = ended(now - MINUTE, MessageState::Delivered);
        let unknown = ended(0, MessageState::Delivered);
        let finals = [late, soon, unknown, of_other_node, by_queue];
        receipts.count_outcomes(&finals, now);
        let pairs = node.outcomes.look(now);
        assert_eq!(pairs.len(), 1);
        let counts = pairs[0].seen.now();
        assert_eq!((counts.receipts, counts.failed), (3, 1));
        assert_eq!(counts.own_receipts, 2);

        // The history has all that ended, also what is not counted for incidents.
        let told = node.outcomes.take_traffic();
        let told = told.into_block(|_| true, |_| true);
        let of_account = told.of_account(test.account).unwrap();
        assert_eq!((of_account.delivered, of_account.failed), (2, 3));
        assert_eq!(told.of_error("UNDELIVERABLE").unwrap().failed, 2);
        assert_eq!(told.of_error("REJECTED").unwrap().failed, 1);
    }
}
