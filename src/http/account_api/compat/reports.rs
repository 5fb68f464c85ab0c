//! Delivery reports that a request wants to be sent to a URL.

use crate::actors::context::plan::AccountPlan;
use crate::domain::callback::kannel::{BUFFERED, DELIVERED, FAILED, REJECTED, SENT};
use crate::domain::callback::states;
use crate::pb::{CallbackForm, Message};

/// Highest mask: all states, and notifications of operators on the way, which are not reported.
pub(super) const MASK: i64 = 63;
const REPORTED: u8 = DELIVERED | FAILED | BUFFERED | SENT | REJECTED;
/// registered_delivery for every final state (SMPP 3.4 §5.2.17).
const EVERY: u32 = 1;

/// What is to be reported, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ReportOrder {
    /// States to report, as Kannel numbers them; never 0.
    pub mask: u8,
    /// Jasmin's number for them.
    pub level: u32,
    /// As the request wrote it. `None`: it relies on a URL that was configured elsewhere.
    pub url: Option<String>,
    pub form: CallbackForm,
}

/// Why nothing would be reported.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unsupported {
    #[error("it asks for nothing that is reported")]
    Nothing,
    #[error("there is no URL, and the account has its receipts on binds")]
    NoUrl,
    #[error("the URL {0}")]
    Url(String),
}

// === impl ReportOrder ===

impl ReportOrder {
    /// Arranges that the states of a message are reported. The one place for it, for both products.
    ///
    /// # Errors
    /// Nothing would be reported: the request must be refused, because its sender would wait.
    pub(super) fn arrange(
        self,
        account: &AccountPlan,
        message: &mut Message,
    ) -> Result<(), Unsupported> {
        if self.mask & REPORTED == 0 {
            return Err(Unsupported::Nothing);
        }
        match &self.url {
            Some(url) => {
                let checked = account.callbacks.check(url, self.form);
                checked.map_err(Unsupported::Url)?;
            }
            None if !account.config.deliver_by.by_callback() => return Err(Unsupported::NoUrl),
            None => {}
        }
        message.registered_delivery = EVERY;
        let asked = |bit: u8, state: u32| if self.mask & bit != 0 { state } else { 0 };
        message.report_states =
            states::CHOSEN | asked(BUFFERED, states::QUEUED) | asked(SENT, states::SENT);
        let client = message.client_data.get_or_insert_default();
        client.callback = self.url.unwrap_or_default();
        client.callback_form = self.form.into();
        client.dlr_mask = self.mask.into();
        client.dlr_level = self.level;
        Ok(())
    }
}

/// What a level of Jasmin asks for: the operator's answer, the handset, or both.
pub(super) fn mask_of_level(level: u32) -> u8 {
    match level {
        2 => DELIVERED | FAILED,
        3 => DELIVERED | FAILED | SENT | REJECTED,
        _ => SENT | REJECTED,
    }
}
