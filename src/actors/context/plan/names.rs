//! The names of queues, as the store interns them.

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

/// What the name of the queue of an account's second way begins with.
pub(super) const COPIES: &str = "callback:";

/// The interned name of an account.
pub fn account_name(system_id: &str) -> String {
    format!("account:{system_id}")
}

/// What the name of the queue of an account's callbacks to a host begins with.
const HOSTS: &str = "callback-to:";

/// Whether what waits in the queue of this name is for an account.
pub fn is_of_account(queue: &str) -> bool {
    ["account:", COPIES, HOSTS]
        .iter()
        .any(|start| queue.starts_with(start))
}

/// The interned name of the queue of an account's second way.
pub fn copies_name(system_id: &str) -> String {
    format!("{COPIES}{system_id}")
}

/// The interned name of the queue of an account's callbacks to a host.
pub fn callback_name(system_id: &str, host: &str) -> String {
    format!("{HOSTS}{host}@{system_id}")
}

/// The account of such a queue.
pub(super) fn account_of_host(queue: &str) -> Option<&str> {
    let (_, system_id) = queue.strip_prefix(HOSTS)?.split_once('@')?;
    Some(system_id)
}

/// What the name of the queue of a GSM network begins with.
const GSM: &str = "gsm:";
const OPERATOR: &str = "operator:";

/// Whether what waits in the queue of this name is for an operator or a GSM network: this SMSC connects to them.
pub fn is_connected(queue: &str) -> bool {
    queue.starts_with(OPERATOR) || queue.starts_with(GSM)
}

/// Whether what waits in the queue of this name is for handsets of a GSM network.
pub fn is_handsets(queue: &str) -> bool {
    queue.starts_with(GSM)
}

/// Whether the queue of this name has partitions by destination at all times.
pub fn is_split(queue: &str) -> bool {
    is_connected(queue) || queue.starts_with("internal:")
}

/// The interned name of a GSM network, which is also its name in routes.
pub fn gsm_name(name: &str) -> String {
    format!("{GSM}{name}")
}

/// The interned name of an operator, or of a GSM network written `gsm:NAME`.
pub fn target_name(target: &str) -> String {
    match target.starts_with(GSM) {
        true => target.to_owned(),
        false => operator_name(target),
    }
}

/// What routes call the queue of an operator or GSM network.
pub fn target_of(queue: &str) -> &str {
    queue.strip_prefix(OPERATOR).unwrap_or(queue)
}

/// The interned name of an operator.
pub fn operator_name(id: &str) -> String {
    format!("{OPERATOR}{id}")
}
