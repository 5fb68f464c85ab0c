//! What a handset asks about a message that it has submitted: SMS-COMMAND with TP-CT 0 (3GPP TS 23.040 §9.2.3.19).
//!
//! The command is acknowledged, then an SMS-STATUS-REPORT with TP-SRQ 1 says the present state. It is in no queue and no
//! store: it waits for its turn among the messages to its handset, is sent once, and is lost with the connection.

use actix::Context;

use super::GsmInterface;
use super::exchange::HandsetSubmission;
use super::work::Work;
use crate::actors::ingress::operations;
use crate::actors::ingress::operations::handset::Present;
use crate::clock;
use crate::content::handset;
use crate::sms::tpdu::SmsCommand;

impl GsmInterface {
    /// Looks for the message, acknowledges the command, and answers it.
    pub(super) fn enquire(
        &mut self,
        account: u32,
        command: SmsCommand,
        msisdn: String,
        request: HandsetSubmission,
        ctx: &mut Context<Self>,
    ) {
        let asker = self.asker(account);
        let looked = async move {
            let found = operations::handset::enquire(&asker, &command, &msisdn).await;
            found.map(|found| (found, command))
        };
        self.answer_by(
            looked,
            request,
            ctx,
            |interface, (found, command), subscriber| {
                interface.tell_state(&command, found, subscriber);
            },
        );
    }

    fn tell_state(&mut self, command: &SmsCommand, found: Option<Present>, subscriber: String) {
        let Some(plan) = self.plan.clone().filter(|_| self.is_ready()) else {
            return;
        };
        let at = found.as_ref().map_or_else(clock::now_ms, |(_, _, at)| *at);
        let known = found.as_ref().map(|(message, state, _)| (message, *state));
        let tpdu = match handset::answer(command, known, at, &plan.handsets) {
            Ok(tpdu) => tpdu,
            Err(refused) => {
                tracing::debug!(gsm = %self.snapshot.name, %refused, "a command of a handset was not answered");
                return;
            }
        };
        let work = Work::unqueued(subscriber.clone(), tpdu, u32::MAX, None);
        self.lines.push(&subscriber, work);
        self.go_on();
    }
}
