//! The protobuf structs of `proto/smsc/v1`, and the one table that makes them actix messages.
//!
//! They move between actors as structs, unencoded; the same types are the payload in the store.
//! A row of the table reads "sending this to an actor is answered with that".

#![allow(missing_docs, clippy::all)]

pub mod events;
pub mod local;

/// Commands of brokers that become messages: `proto/smsc/dispatch/v1`.
pub mod dispatch {
    include!(concat!(env!("OUT_DIR"), "/smsc.dispatch.v1.rs"));
}

include!(concat!(env!("OUT_DIR"), "/smsc.v1.rs"));

macro_rules! actix_messages {
    ($($request:ty => $answer:ty;)*) => {
        $(impl actix::Message for $request { type Result = $answer; })*
    };
}

actix_messages! {
    Enqueue => ();
    ReleasePartitions => ();
    DisownPartitions => ();
    FlushCorrelation => ();
    SlotsChanged => ();
    LeaveCluster => ();
    Credit => ();
    DeliverBatch => ();
    SettleBatch => ();
    SubscriberReady => ();
    SessionDown => ();
    ReportHeld => ();
    Held => ();
    QueueCommand => QueueCommandReply;
    SentBatch => ();
    ReceiptBatch => ();
    ResolvedBatch => ();
    ReceiptReply => ();
    FinalBatch => ();
    TakeTokens => TakenTokens;
    BindCommand => ();
    PlanChanged => ();
    ForwardAlert => ();
    Order => ();
    ForgetParked => ();
}

impl Refusal {
    fn new(reason: refusal::Reason, detail: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            detail: detail.into(),
        }
    }

    /// Nothing has that name or number.
    pub fn not_found(detail: impl Into<String>) -> Self {
        Self::new(refusal::Reason::NotFound, detail)
    }

    /// There is none of this kind and name; the path below `/v1` lists those that there are.
    pub fn no_such(kind: &str, name: &str, path: &str) -> Self {
        Self::not_found(format!(
            "there is no {kind} {name:?}; GET /v1/{path} lists them"
        ))
    }

    /// It cannot be done as things are.
    pub fn conflict(detail: impl Into<String>) -> Self {
        Self::new(refusal::Reason::Conflict, detail)
    }

    /// What would do it does not answer; it may succeed later.
    pub fn unavailable(detail: impl Into<String>) -> Self {
        Self::new(refusal::Reason::Unavailable, detail)
    }
}

impl Commanded {
    /// It was carried out, and its effect was seen.
    pub fn done(count: u64) -> Self {
        Self {
            count,
            pending: false,
        }
    }
}

impl Failed {
    /// A message that was granted and not sent: it goes back to the front of its queue.
    pub fn not_sent(id: u64) -> Self {
        Self {
            id,
            why: failed::Why::NotSent.into(),
            ..Self::default()
        }
    }
}

impl QueueItem {
    /// Interned name of who sent it.
    pub fn sent_by(&self) -> u32 {
        (self.message.as_ref()).map_or(self.sender, |message| message.sender)
    }
}

/// Octets of a message beside what it says: its struct, with the addresses and times that share an allocation with it.
const BARE_MESSAGE: usize = 640;

impl Message {
    /// The queue to which a rule for messages of operators sends it.
    pub fn ruled_queue(&self) -> Option<u32> {
        let ruled = self.ruled_by.as_deref()?;
        (ruled.queue != 0).then_some(ruled.queue)
    }

    /// Whether it is a part that waits for a keyword, which decides on the rule.
    pub fn waits_for_keyword(&self) -> bool {
        self.ruled_by.as_deref().is_some_and(|ruled| ruled.waits)
    }

    /// Notes how many short messages it takes at its peer; 0 for what its octets say.
    pub fn note_short_messages(&mut self, count: u32) {
        if self.composition.is_some() || count != 0 {
            self.composition.get_or_insert_default().short_messages = count;
        }
    }

    /// About how many octets of memory it takes: what bounds in octets count. The same as long as it does not change.
    pub fn weight(&self) -> u64 {
        let said = self.short_message.len() + self.tlvs.len() + self.tpdu.len();
        let client = self.client_data.as_deref().map_or(0, |client| {
            client.reference.len() + client.metadata.len() + client.callback.len()
        });
        (BARE_MESSAGE + said + client) as u64
    }

    /// Since when it waits to be delivered, in Unix milliseconds.
    pub fn waits_since(&self) -> i64 {
        self.accepted_at.max(self.due_at)
    }
}

impl OperatorReceipt {
    /// What few receipts have; empty for the others.
    pub fn extras(&self) -> &ReceiptExtras {
        static NONE: ReceiptExtras = ReceiptExtras {
            word: bytes::Bytes::new(),
            text_id: bytes::Bytes::new(),
            part: None,
            rows: Vec::new(),
        };
        self.extras.as_deref().unwrap_or(&NONE)
    }

    /// What of a receipt it is, when it came in several messages.
    pub fn part(&self) -> Option<&ReceiptPart> {
        self.extras().part.as_ref()
    }
}

impl BindDirection {
    /// Its name in the API, in metrics and in Redis.
    pub fn word(self) -> &'static str {
        match self {
            Self::Unspecified => "",
            Self::In => "in",
            Self::Out => "out",
            Self::Gsm => "gsm",
            Self::Callback => "callback",
            Self::Gateway => "gateway",
            Self::Local => "local",
        }
    }
}

impl FirewallFinding {
    /// Whether both are of one rule, and of one sender that wants the same.
    pub fn is_like(&self, other: &Self) -> bool {
        self.rule == other.rule
            && self.action == other.action
            && self.operation == other.operation
            && self.calling == other.calling
    }
}

impl BindSnapshot {
    /// The other side has answered: moves the mean towards this answer by a sixteenth.
    pub fn answered(&mut self, after: std::time::Duration) {
        let after = u64::try_from(after.as_micros()).unwrap_or(u64::MAX).max(1);
        self.answer_us = match self.answer_us {
            0 => after,
            mean => (mean - mean / 16).saturating_add(after / 16).max(1),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::Message;

    /// The allocator has 512 octets for it, and 640 for one octet more: a quarter more memory for each message, touched by
    /// each thread that a message passes. A field that few messages have belongs into a part of its own (`boxed`), or its
    /// octets among those that `build.rs` calls rare.
    #[test]
    fn a_message_fits_into_512_octets() {
        assert!(size_of::<Message>() <= 512, "{}", size_of::<Message>());
    }
}
