//! What people decide about receipts, and what a receipt makes of a message.

use actix::Handler;

use super::Correlation;
use crate::pb::{Final, ForgetParked, OperatorReceipt};

/// How a message ends by a receipt of this operator that is settled now (Unix ms), without the message.
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
