//! Carries out the SMS-COMMANDs of handsets about messages that they have submitted (3GPP TS 23.040 §9.2.3.19), and looks
//! for a message that one submits again (§9.2.3.25).
//!
//! Called by the interface of a GSM network. A handset names a message by its own reference and the address that it went
//! to; of several the newest one counts, because references come again after 256. Only messages that wait can be changed,
//! as for ESMEs.

use super::find::{self, Between};
use super::{Asker, replace};
use crate::actors::orders;
use crate::clock;
use crate::content::handset::{CommandType, address, is_about};
use crate::pb::queue_command::Verb;
use crate::pb::{Message, MessageState};
use crate::smpp::CommandStatus;
use crate::sms::tpdu::SmsCommand;

/// registered_delivery: a receipt for the final state, whichever (SMPP 3.4 §5.2.17).
const RECEIPT: u32 = 0x01;
const NO_RECEIPT: u32 = 0x00;

/// Deletes a message, or changes whether the handset gets a status report about it.
///
/// # Errors
/// ESME_RCANCELFAIL or ESME_RREPLACEFAIL when no such message waits (any more), ESME_RTHROTTLED above the account's rate,
/// ESME_RSYSERR when the store does not answer, ESME_RINVCMDID for any other order.
pub async fn carry_out(
    asker: &Asker,
    order: CommandType,
    command: &SmsCommand,
    msisdn: &str,
) -> Result<(), CommandStatus> {
    asker.admit().await?;
    match order {
        CommandType::Delete => {
            let fail = CommandStatus::ESME_RCANCELFAIL;
            let message = newest(asker, command, msisdn).await?.ok_or(fail)?;
            let cancelled = asker.order(message.id, Verb::Cancel, None).await;
            cancelled.map_err(|status| status.unwrap_or(fail))
        }
        CommandType::WantReport => ask_for_receipt(asker, command, msisdn, RECEIPT).await,
        CommandType::CancelReport => ask_for_receipt(asker, command, msisdn, NO_RECEIPT).await,
        CommandType::Enquire | CommandType::Unknown(_) => Err(CommandStatus::ESME_RINVCMDID),
    }
}

/// A message that a handset asks about, its state, and since when that is known (Unix milliseconds).
pub type Present = (Message, MessageState, i64);

/// The newest message that the command is about, final or not; `None` when the store has none, or has so many between the
/// two numbers that it is not among the newest.
///
/// # Errors
/// ESME_RTHROTTLED above the account's rate, ESME_RSYSERR when the store does not answer.
pub async fn enquire(
    asker: &Asker,
    command: &SmsCommand,
    msisdn: &str,
) -> Result<Option<Present>, CommandStatus> {
    asker.admit().await?;
    let page = find::in_state(asker, &between(command, msisdn), None, None).await?;
    let about = page
        .messages
        .into_iter()
        .filter(|stored| is_about(command, msisdn, &stored.message));
    let newest = about.max_by_key(|stored| stored.message.id);
    Ok(newest.map(|stored| match stored.fin {
        Some(fin) => (stored.message, fin.state, fin.at),
        None => (stored.message, MessageState::Enroute, clock::now_ms()),
    }))
}

/// Whether a message of the same handset that `like` would be about has not ended.
///
/// # Errors
/// ESME_RSYSERR when the store does not answer.
pub async fn is_held(
    asker: &Asker,
    like: &SmsCommand,
    msisdn: &str,
) -> Result<bool, CommandStatus> {
    let between = between(like, msisdn);
    let is_it = |message: &Message| {
        // Networks may have the same numbers; that of messages of earlier releases is not known.
        [0, asker.gsm].contains(&message.source_gsm) && is_about(like, msisdn, message)
    };
    let mut below = None;
    loop {
        let state = Some(MessageState::Enroute);
        let page = find::in_state(asker, &between, below, state).await?;
        if page.messages.iter().any(|stored| is_it(&stored.message)) {
            return Ok(true);
        }
        if page.next_before.is_none() {
            return Ok(false);
        }
        below = page.next_before;
    }
}

async fn ask_for_receipt(
    asker: &Asker,
    command: &SmsCommand,
    msisdn: &str,
    registered_delivery: u32,
) -> Result<(), CommandStatus> {
    let fail = CommandStatus::ESME_RREPLACEFAIL;
    let found = newest(asker, command, msisdn).await?.ok_or(fail)?;
    let history = orders::history(&asker.node, found.id).await;
    let history = history.map_err(|refusal| super::trouble(&refusal).unwrap_or(fail))?;
    let times = replace::times(&asker.node, &history, None, None)?;
    let message = Message {
        registered_delivery,
        ..history.stored.message
    };
    let id = message.id;
    let new = replace::replacement(&asker.node, message, times);
    let replaced = asker.order(id, Verb::Replace, Some(new)).await;
    replaced.map_err(|status| status.unwrap_or(fail))
}

/// The newest message that waits and that the command is about.
async fn newest(
    asker: &Asker,
    command: &SmsCommand,
    msisdn: &str,
) -> Result<Option<Message>, CommandStatus> {
    let between = between(command, msisdn);
    let mut below = None;
    loop {
        let page = find::waiting(asker, &between, below).await?;
        let messages = page.messages.into_iter().map(|stored| stored.message);
        let found = messages
            .filter(|message| is_about(command, msisdn, message))
            .max_by_key(|message| message.id);
        if found.is_some() || page.next_before.is_none() {
            return Ok(found);
        }
        below = page.next_before;
    }
}

/// The two numbers that a command names.
fn between(command: &SmsCommand, msisdn: &str) -> Between {
    Between {
        source: address::of_subscriber(msisdn),
        destination: address::of_tpdu(&command.destination_address),
    }
}
