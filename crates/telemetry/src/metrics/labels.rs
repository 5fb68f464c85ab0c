//! Labels of metrics.
//!
//! Values are few: routes and words of this program, and names of the configuration.

use prometheus_client::encoding::EncodeLabelSet;

/// Declares the labels of metrics by their names and values.
macro_rules! labels {
    ($($(#[doc = $doc:literal])+ pub struct $Label:ident { $($name:ident: $Value:ty),+ })+) => {$(
        $(#[doc = $doc])+
        #[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
        pub struct $Label {
            $(pub $name: $Value),+
        }
    )+};
}

labels! {
    /// A request to the HTTP API for accounts, with the pattern of its path, and how it was answered.
    pub struct ApiLabel { method: &'static str, route: String, status: u16 }

    /// A request over the local socket, and how it was answered.
    pub struct LocalLabel { request: &'static str, result: &'static str }

    /// An event sink.
    pub struct SinkLabel { sink: String }

    /// Who reads events of the outbox.
    pub struct ReaderLabel { reader: &'static str }

    /// Actors of one kind.
    pub struct ActorLabel { actor: &'static str }

    /// A queue by name: as many as there are accounts and operators.
    pub struct QueueLabel { queue: String }

    /// A queue, and the result of its attempts.
    pub struct AttemptLabel { queue: String, result: &'static str }

    /// How a peer answered an attempt of a queue.
    pub struct AnswerLabel { queue: String, status: String }

    /// A command_status by name.
    pub struct StatusLabel { status: String }

    /// A message state by name.
    pub struct StateLabel { state: String }

    /// An operation of SMPP about messages that were submitted before, and how it was answered.
    pub struct OperationLabel { operation: &'static str, status: String }

    /// A result, out of a few words.
    pub struct ResultLabel { result: &'static str }

    /// An account, and how a callback to it went: as many as there are accounts and few words.
    pub struct CallbackLabel { account: String, result: &'static str }

    /// Why something happened, out of a few words.
    pub struct ReasonLabel { reason: &'static str }

    /// A rule for messages of operators, and what it does: as many as there are rules.
    pub struct RuleLabel { rule: String, action: &'static str }

    /// A rule that answers, and what became of the answer.
    pub struct ReplyLabel { rule: String, result: &'static str }

    /// An operator: as many as are configured.
    pub struct OperatorLabel { operator: String }

    /// An operator, and one of two directions.
    pub struct DirectionLabel { operator: String, direction: &'static str }

    /// An operator, and how a long message was sent.
    pub struct FormLabel { operator: String, form: &'static str }

    /// An operator, the state in its receipt, and whether a message was found for it.
    pub struct ReceiptLabel { operator: String, state: String, result: &'static str }

    /// A GSM network, and how a request of one of its handsets was answered.
    pub struct CauseLabel { gsm: String, cause: u8 }

    /// A GSM network over MAP, and what became of something that others have asked and did not get.
    pub struct UnservedLabel { gsm: String, result: &'static str }

    /// A GSM network, a rule of its firewall, and what that has done: few words each.
    pub struct FirewallLabel { gsm: String, rule: &'static str, action: &'static str }

    /// A GSM network, and what home routing did for it: as many as there are networks and few words.
    pub struct HomeRoutingLabel { gsm: String, event: &'static str }

    /// A range of the number plan.
    pub struct RangeLabel { range: String }

    /// An account, and why something of it was refused: as many as there are accounts and few words.
    pub struct PolicyLabel { account: String, reason: &'static str }
}
