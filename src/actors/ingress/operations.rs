//! Operations of an ESME on messages that it has submitted: query_sm, cancel_sm, replace_sm and
//! submit_sm with replace_if_present_flag (SMPP 3.4 §4.8 - §4.10, §5.2.18).
//!
//! Called by its session, one after another. Invariants: an account sees and changes only its own
//! messages, and only with their source address; messages that a session holds cannot be changed; and
//! ESME_ROK follows the commit. The orders are those of the admin API, so they reach a message in
//! whatever queue it waits.

mod find;
pub mod handset;
pub(super) mod replace;

use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::join_all;

use self::find::Between;
pub use self::replace::{Replaced, replace_present, replace_sm};

use crate::actors::context::NodeContext;
use crate::actors::context::declined::Declined;
use crate::actors::ingress::ingest;
use crate::actors::orders;
use crate::actors::receipts::receipt;
use crate::clock;
use crate::domain::rewrite::TypedAddress;
use crate::pb::queue_command::Verb;
use crate::pb::{
    Alphabet, CommandMessage, MessageState, Refusal, Replacement, SubmitCause, refusal,
};
use crate::smpp::{CancelSm, CommandStatus, QuerySm, QuerySmResp, time};
use crate::store::{FinRow, MessageHistory, SentRow};

/// An order that is not executed by then is never executed (milliseconds).
const PATIENCE_MS: i64 = 5_000;
/// Orders of one request that are pending at once.
const AT_ONCE: usize = 64;
/// message_state of 5.0 for a message that is not due yet (5.0 §4.7.15).
const SCHEDULED: u8 = 0;
/// For an error that does not fit into error_code, which has one octet.
const OTHER_ERROR: u8 = 0xFF;

/// The ESME that sends the request.
#[derive(Clone)]
pub struct Asker {
    pub node: Arc<NodeContext>,
    /// Interned name of the account.
    pub account: u32,
    /// Interned name of the network of the handset that asks; 0 for an ESME.
    pub gsm: u32,
    /// As in its bind.
    pub interface_version: u8,
    /// The alphabet that its listener configures for data_coding 0.
    pub alphabet: Option<Alphabet>,
    /// Its protocol names a message by its id alone: the source need not be the same.
    pub any_source: bool,
}

/// The response to query_sm.
///
/// # Errors
/// ESME_RINVMSGID for an id of no message, ESME_RQUERYFAIL for another's message or another source,
/// ESME_RTHROTTLED above the account's rate, ESME_RSYSERR when the store does not answer.
pub async fn query_sm(asker: &Asker, query: &QuerySm) -> Result<QuerySmResp, CommandStatus> {
    asker.admit().await?;
    let fail = CommandStatus::ESME_RQUERYFAIL;
    let own = find::own(asker, &query.message_id, &query.source_addr, fail).await?;
    let answer = |state: u8, fin: Option<(i64, &FinRow)>, error_code| QuerySmResp {
        message_id: query.message_id.clone(),
        final_date: fin.map_or_else(Bytes::new, |(accepted_at, fin)| {
            time::format_absolute(receipt::done_at(accepted_at, fin)).into()
        }),
        message_state: state,
        error_code,
    };
    // Several messages are one submit_multi: pending as long as one of them is.
    let open = own.iter().find(|history| history.stored.fin.is_none());
    if let Some(history) = open {
        return Ok(answer(asker.open_state(history), None, last_error(history)));
    }
    let ended = own.iter().filter_map(|history| {
        let fin = history.stored.fin.as_ref()?;
        Some((history.stored.message.accepted_at, fin))
    });
    let (_, worst) = ended
        .clone()
        .find(|(_, fin)| fin.state != MessageState::Delivered)
        .or_else(|| ended.clone().next())
        .ok_or(fail)?;
    let last = ended.max_by_key(|(_, fin)| fin.at);
    Ok(answer(
        worst.state as i32 as u8,
        last,
        error_code(&worst.error),
    ))
}

/// Executes cancel_sm: one message by its id, or all waiting messages from a source to a destination.
///
/// # Errors
/// ESME_RINVMSGID for an id of no message, ESME_RCANCELFAIL when no message can be cancelled (any
/// more), else as [`query_sm`].
pub async fn cancel_sm(asker: &Asker, cancel: &CancelSm) -> Result<(), CommandStatus> {
    asker.admit().await?;
    let fail = CommandStatus::ESME_RCANCELFAIL;
    if !cancel.message_id.is_empty() {
        let own = find::own(asker, &cancel.message_id, &cancel.source_addr, fail).await?;
        // Of a submit_multi those to this destination; none means any (§4.9.1).
        let messages = own.iter().map(|history| &history.stored.message);
        let ids = messages
            .filter(|message| find::is_to(message, &cancel.destination_addr))
            .map(|message| message.id);
        return cancel_each(asker, ids.collect(), fail).await.map(drop);
    }
    if cancel.destination_addr.is_empty() {
        return Err(CommandStatus::ESME_RINVDSTADR);
    }
    let between = Between {
        source: TypedAddress {
            ton: cancel.source_addr_ton,
            npi: cancel.source_addr_npi,
            digits: cancel.source_addr.clone(),
        },
        destination: TypedAddress {
            ton: cancel.dest_addr_ton,
            npi: cancel.dest_addr_npi,
            digits: cancel.destination_addr.clone(),
        },
    };
    let mut cancelled = 0;
    let mut below = asker.node.ids.last().saturating_add(1);
    loop {
        let page = find::waiting(asker, &between, Some(below)).await?;
        let ids = page
            .messages
            .iter()
            .filter(|stored| {
                let of_service = &stored.message.service_type;
                cancel.service_type.is_empty() || *of_service == cancel.service_type
            })
            .map(|stored| stored.message.id)
            .collect();
        cancelled += cancel_each(asker, ids, fail).await.unwrap_or(0);
        match page.next_before {
            Some(next) => below = next,
            None if cancelled > 0 => return Ok(()),
            None => return Err(fail),
        }
    }
}

/// Cancels those messages that can be cancelled; returns how many, or the failure if none was.
async fn cancel_each(
    asker: &Asker,
    ids: Vec<u64>,
    fail: CommandStatus,
) -> Result<usize, CommandStatus> {
    let mut cancelled = 0;
    let mut trouble = fail;
    for some in ids.chunks(AT_ONCE) {
        let orders = some.iter().map(|id| asker.order(*id, Verb::Cancel, None));
        for result in join_all(orders).await {
            match result {
                Ok(()) => cancelled += 1,
                Err(Some(status)) => trouble = status,
                Err(None) => {}
            }
        }
    }
    if cancelled > 0 {
        Ok(cancelled)
    } else {
        Err(trouble)
    }
}

// === impl Asker ===

impl Asker {
    /// The alphabet that data_coding 0 means in its submissions.
    fn alphabet(&self) -> Alphabet {
        ingest::alphabet_of(&self.node, self.account, self.alphabet.map(Into::into))
    }

    /// Counts the request against the account's rate, like a message.
    async fn admit(&self) -> Result<(), CommandStatus> {
        let admitted = admit(&self.node, self.account).await;
        admitted.map_err(|declined| declined.status)
    }

    /// Gives an order and waits until it is durable. The error is a status if the problem is on our
    /// side, and `None` if the order is no longer possible.
    async fn order(
        &self,
        id: u64,
        verb: Verb,
        replacement: Option<Replacement>,
    ) -> Result<(), Option<CommandStatus>> {
        let order = CommandMessage {
            id,
            verb: verb.into(),
            by: self.node.name_of(self.account),
            replacement,
            before: clock::now_ms() + PATIENCE_MS,
            ..CommandMessage::default()
        };
        match orders::message::carry_out(&self.node, &order).await {
            Ok(done) if !done.pending => Ok(()),
            Ok(_) => Err(None),
            Err(refusal) => {
                tracing::debug!(id, by = %order.by, reason = %refusal.detail, "an order was refused");
                Err(trouble(&refusal))
            }
        }
    }

    /// message_state of a message that is not final.
    fn open_state(&self, history: &MessageHistory) -> u8 {
        let scheduled = history.stored.attempts == 0 && history.due_at() > clock::now_ms();
        if scheduled && self.interface_version >= 0x50 {
            SCHEDULED
        } else {
            MessageState::Enroute as i32 as u8
        }
    }
}

/// Counts a request about messages against the rate of its account, like a message.
pub(super) async fn admit(node: &NodeContext, account: u32) -> Result<(), Declined> {
    let limit = node.plan().rate_of(account);
    let Some((rate, _)) = limit else {
        return Ok(());
    };
    match ingest::take_tokens(node, account, 1).await {
        Some(taken) if taken.granted > 0 => Ok(()),
        _ => Err(Declined::by_rate(SubmitCause::Rate, 1, rate)),
    }
}

/// A status for problems on our side, or `None` if the message itself is the reason.
fn trouble(refusal: &Refusal) -> Option<CommandStatus> {
    (refusal.reason() == refusal::Reason::Unavailable).then_some(CommandStatus::ESME_RSYSERR)
}

/// Why the last attempt failed; 0 without one.
fn last_error(history: &MessageHistory) -> u8 {
    match history.attempts.last() {
        Some(attempt) if attempt.status == SentRow::NO_ANSWER => OTHER_ERROR,
        Some(attempt) => u8::try_from(attempt.status).unwrap_or(OTHER_ERROR),
        None => 0,
    }
}

/// The operator's error as one octet for query_sm_resp (§4.8.2).
fn error_code(error: &[u8]) -> u8 {
    let text = std::str::from_utf8(error).unwrap_or_default().trim();
    if text.is_empty() {
        return 0;
    }
    text.parse().unwrap_or(OTHER_ERROR)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_one_octet() {
        for (error, code) in [
            ("", 0),
            ("000", 0),
            ("069", 69),
            ("255", 255),
            ("1024", 255),
            ("00A1", 255),
        ] {
            assert_eq!(error_code(error.as_bytes()), code, "{error}");
        }
    }
}
