//! The names of queues, as the store interns them ([`QueueName`]).

use crate::domain::queue_name::QueueName;

/// The queue of messages whose destination's network is being looked up; every delivering node serves it.
pub const RESOLVE: &str = "internal:resolve";
/// The queue of messages whose destination's IMSI is being looked up; every delivering node serves it.
pub const IMSI: &str = "internal:imsi";
/// The queue of parts that wait for the rest of their message; every delivering node serves it.
pub const ASSEMBLY: &str = "internal:assembly";
/// The queue of messages that a rule answers or drops; every delivering node serves it.
pub const RESPONDER: &str = "internal:responder";
/// The destination in the history of a message that is sent as parts.
pub const DIVIDED: &str = "internal:divided";

/// The interned name of an account.
pub fn account_name(system_id: &str) -> String {
    QueueName::Account(system_id).to_string()
}

/// The interned name of the queue of an account's second way.
pub fn copies_name(system_id: &str) -> String {
    QueueName::Copies(system_id).to_string()
}

/// The interned name of the queue of an account's callbacks to a host.
pub fn callback_name(account: &str, host: &str) -> String {
    QueueName::Callbacks { host, account }.to_string()
}

/// The interned name of a GSM network, which is also its name in routes.
pub fn gsm_name(name: &str) -> String {
    QueueName::Gsm(name).to_string()
}

/// The interned name of an operator, or of a GSM network written `gsm:NAME`.
pub fn target_name(target: &str) -> String {
    if QueueName::parse(target).is_handsets() {
        target.to_owned()
    } else {
        operator_name(target)
    }
}

/// What routes call the queue of an operator or GSM network.
pub fn target_of(queue: &str) -> &str {
    QueueName::parse(queue).operator().unwrap_or(queue)
}

/// The interned name of an operator.
pub fn operator_name(id: &str) -> String {
    QueueName::Operator(id).to_string()
}
