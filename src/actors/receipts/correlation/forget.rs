//! Final states from receipts that an administrator settles.

use actix::Handler;

use super::Correlation;
use crate::pb::{Final, ForgetParked, OperatorReceipt};

/// The final state that a receipt of this operator gives a message when it is settled now (Unix ms),
/// without the message itself.
pub(in crate::actors) fn final_of(
    message: u64,
    receipt: OperatorReceipt,
    operator: u32,
    now: i64,
) -> Final {
    Final {
        id: message,
        state: receipt.state,
        error: receipt.error,
        at: now,
        done_at: receipt.done_at,
        operator,
        by_receipt: true,
        ..Final::default()
    }
}

impl Handler<ForgetParked> for Correlation {
    type Result = ();

    fn handle(&mut self, order: ForgetParked, _: &mut Self::Context) {
        for row in order.rows {
            self.parked.forget(row);
        }
    }
}
