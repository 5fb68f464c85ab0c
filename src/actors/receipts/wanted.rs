//! What the sender of a message wants to hear of it, and where.
//!
//! Asked where states are written and where they are told.

use crate::actors::context::NodeContext;
use crate::content;
use crate::domain::callback::kannel;
use crate::pb::{ClientData, Message, MessageState, Replay};

/// Whether the sender requested a receipt for this state, and knows the message.
pub fn wants_receipt(node: &NodeContext, message: &Message, state: MessageState) -> bool {
    requests_receipt(node, message, state) && !content::is_internal(message)
}

/// Whether the sender requested a receipt for this state (SMPP 3.4 §5.2.17, 5.0 §4.7.21: 1 success or
/// failure, 2 failure, 3 success), of this message or of one that it carries. Only accounts get receipts.
pub fn requests_receipt(node: &NodeContext, message: &Message, state: MessageState) -> bool {
    let good = matches!(state, MessageState::Delivered | MessageState::Accepted);
    let asked = match message.registered_delivery & 0x03 {
        1 => true,
        2 => !good,
        3 => good,
        _ => false,
    };
    // A replay has a receipt only if the administrator requested one.
    let is_quiet = |replay: &Replay| !replay.receipt;
    if message.replay_of.as_deref().is_some_and(is_quiet) {
        return false;
    }
    let client = message.client_data.as_deref();
    let reports = |client: &ClientData| {
        let mask = u8::try_from(client.dlr_mask).unwrap_or(u8::MAX);
        client.dlr_mask == 0 || kannel::reported(mask, state as i32 as u8).is_some()
    };
    asked && client.is_none_or(reports) && node.is_account(message.sender)
}

/// The queue that gets the receipt of a message: that of the account's binds or callbacks, or of the host that the message
/// has named; for a message of a handset that of its network.
pub fn receipt_queue(node: &NodeContext, message: &Message) -> u32 {
    if !message.source_imsi.is_empty()
        && let Some(gsm) = node.plan().gsm_of_handset(message)
    {
        return gsm;
    }
    let client = message.client_data.as_deref();
    let Some(client) = client.filter(|client| !client.callback.is_empty()) else {
        return message.sender;
    };
    let plan = node.plan();
    let account = plan.account_by_id(message.sender);
    let named = account.and_then(|account| {
        account
            .callbacks
            .queue(&client.callback, client.callback_form())
    });
    // What the account allows may have changed since.
    named.unwrap_or(message.sender)
}
