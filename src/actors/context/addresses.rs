//! Addresses of actors by the messages that they take.
//!
//! A sender knows messages, not the actor behind them, so the shared context names no actor.

use actix::dev::ToEnvelope;
use actix::{Actor, Addr, Handler, Message, Recipient};

use crate::actors::context::messages::{AdoptPartitions, AttemptsWritten, Compare, Missed};
use crate::actors::context::plan::MakeQueues;
use crate::actors::runtime::timed_mailbox::Timed;
use crate::pb::{
    Credit, DisownPartitions, Enqueue, FinalBatch, FlushCorrelation, ForgetParked, Held,
    PlanChanged, QueueCommand, ReceiptBatch, ReleasePartitions, ResolvedBatch, SentBatch,
    SessionDown, SettleBatch, SlotsChanged, SubscriberReady, TakeTokens,
};

/// The address of an actor that takes messages of this kind.
pub trait Takes<M>
where
    M: Message + Send,
    M::Result: Send,
{
    fn recipient(&self) -> &Recipient<M>;
}

macro_rules! addresses {
    ($($(#[$doc:meta])* $name:ident { $($field:ident: $message:ty,)+ })+) => {$(
        $(#[$doc])*
        #[derive(Clone)]
        pub struct $name {
            $($field: Recipient<$message>,)+
        }

        impl<A> From<Addr<A>> for $name
        where
            A: Actor $(+ Handler<$message>)+,
            A::Context: $(ToEnvelope<A, $message> +)+,
        {
            fn from(actor: Addr<A>) -> Self {
                Self {
                    $($field: actor.clone().recipient(),)+
                }
            }
        }

        impl $name {
            /// The recipient of messages of this kind.
            pub fn recipient<M>(&self) -> &Recipient<M>
            where
                Self: Takes<M>,
                M: Message + Send,
                M::Result: Send,
            {
                Takes::recipient(self)
            }
        }

        $(impl Takes<$message> for $name {
            fn recipient(&self) -> &Recipient<$message> {
                &self.$field
            }
        })+
    )+};
}

addresses! {
    /// The address of the queue of one destination.
    QueueAddress {
        enqueue: Timed<Enqueue>,
        credit: Timed<Credit>,
        settle: Timed<SettleBatch>,
        session_down: Timed<SessionDown>,
        held: Timed<Held>,
        resolved: Timed<ResolvedBatch>,
        written: AttemptsWritten,
        ready: SubscriberReady,
        command: QueueCommand,
        compare: Compare,
        missed: Missed,
        adopt: AdoptPartitions,
        disown: DisownPartitions,
        release: ReleasePartitions,
        changed: PlanChanged,
    }

    /// The address of Correlation.
    CorrelationAddress {
        sent: Timed<SentBatch>,
        receipts: Timed<ReceiptBatch>,
        flush: FlushCorrelation,
        forget: ForgetParked,
    }

    /// The address of Receipts.
    ReceiptsAddress {
        ended: Timed<FinalBatch>,
    }

    /// The address of the Supervisor.
    SupervisorAddress {
        make: MakeQueues,
        changed: PlanChanged,
        slots: SlotsChanged,
    }

    /// The address of Throttle.
    ThrottleAddress {
        take: Timed<TakeTokens>,
    }
}

/// Sends without waiting, also beyond a full mailbox: windows and credit bound how much that is, and nothing is dropped.
/// What one actor posts arrives in order, of whatever types it is: a session settles what it had before it is down.
#[expect(
    clippy::disallowed_methods,
    reason = "a task that waits for room would let later messages pass"
)]
pub fn post_to<M>(recipient: &Recipient<M>, message: M)
where
    M: Message + Send + 'static,
    M::Result: Send,
{
    recipient.do_send(message);
}
