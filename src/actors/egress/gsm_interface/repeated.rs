//! SMS-SUBMITs that must not be taken twice: TP-RD (3GPP TS 23.040 §9.2.3.25).
//!
//! A handset whose RP-ACK was lost submits the message again, with the same reference (TP-MR), and with TP-RD (§9.2.3.6). While
//! the earlier one has not ended, it is told that the service centre has it: RP-ERROR with TP-FCS `C5`. The store says
//! whether it has ended, so this holds after a restart, and whichever node took it.

use actix::{ActorFutureExt, AsyncContext, Context, WrapFuture};

use super::GsmInterface;
use super::exchange::HandsetSubmission;
use crate::actors::ingress::operations;
use crate::clock;
use crate::content::handset;
use crate::domain::gsm_result::{self, RP_CONGESTION, RP_TEMPORARY_FAILURE, RP_TRANSFER_REJECTED};
use crate::pb::Message;
use crate::sms::tpdu::{SmsCommand, SmsSubmit};

/// Look-ups at a time; handsets that come meanwhile try again.
const MOST: usize = 64;

impl GsmInterface {
    /// Submits a message unless it is held already.
    pub(super) fn submit_once(
        &mut self,
        account: u32,
        submit: SmsSubmit,
        msisdn: String,
        message: Box<Message>,
        request: HandsetSubmission,
        ctx: &mut Context<Self>,
    ) {
        if self.storing.contains_key(&request.subscriber) {
            // The store does not have the earlier one yet, or is asked for it.
            return self.refuse_mo(&request, RP_TEMPORARY_FAILURE);
        }
        if self.looking >= MOST {
            return self.refuse_mo(&request, RP_CONGESTION);
        }
        self.looking += 1;
        self.intake += 1;
        self.will_store(&request.subscriber);
        let asker = self.asker(account);
        // What a command about it would say.
        let like = SmsCommand {
            message_number: submit.message_reference,
            destination_address: submit.destination_address,
            ..SmsCommand::default()
        };
        let looked = async move { operations::handset::is_held(&asker, &like, &msisdn).await };
        ctx.spawn(looked.into_actor(self).map(move |is_held, interface, ctx| {
            interface.looking = interface.looking.saturating_sub(1);
            interface.intake = interface.intake.saturating_sub(1);
            if is_held == Ok(false) && interface.is_ready() {
                interface.gather_noted(message, request);
                interface.submit(ctx);
            } else {
                interface.stored(&request);
                match is_held {
                    Ok(true) => interface.refuse_repeated(&request),
                    // Without the connection there is nobody to answer: the handset comes again.
                    Ok(false) => {}
                    Err(status) => {
                        interface.refuse_mo(&request, gsm_result::mo_cause(status.0));
                    }
                }
            }
            interface.read_on();
        }));
    }

    fn refuse_repeated(&mut self, request: &HandsetSubmission) {
        let handsets = self.plan.as_ref().map(|plan| &plan.handsets);
        let report = handsets.and_then(|to| handset::repeated(clock::now_ms(), to).ok());
        self.refuse_mo_with(request, RP_TRANSFER_REJECTED, report);
    }
}
