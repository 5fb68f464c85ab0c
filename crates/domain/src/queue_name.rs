//! The names of queues and senders, as the store interns them: `operator:up` says what it is, and which one.
//!
//! The only place that takes such a name apart or puts it together.

use std::fmt;

/// What a name says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueName<'n> {
    /// `account:SYSTEM_ID`
    Account(&'n str),
    /// `callback:SYSTEM_ID`, the second way of an account.
    Copies(&'n str),
    /// `callback-to:HOST@SYSTEM_ID`, the callbacks of an account to a host.
    Callbacks { host: &'n str, account: &'n str },
    /// `operator:ID`
    Operator(&'n str),
    /// `gsm:NAME`, as routes write it, too.
    Gsm(&'n str),
    /// `internal:…`, which an actor of ours serves.
    Internal(&'n str),
    /// `test:…`, a built-in target.
    Test(&'n str),
    /// The whole of another name.
    Other(&'n str),
}

// === impl QueueName ===

impl<'n> QueueName<'n> {
    pub fn parse(name: &'n str) -> Self {
        // Asked several times for each message: no search for the colon.
        let of = |kind: &str| name.strip_prefix(kind);
        if let Some(id) = of("operator:") {
            Self::Operator(id)
        } else if let Some(id) = of("account:") {
            Self::Account(id)
        } else if let Some(id) = of("gsm:") {
            Self::Gsm(id)
        } else if let Some(id) = of("callback:") {
            Self::Copies(id)
        } else if let Some((host, account)) = of("callback-to:").and_then(|to| to.split_once('@')) {
            Self::Callbacks { host, account }
        } else if let Some(id) = of("internal:") {
            Self::Internal(id)
        } else if let Some(id) = of("test:") {
            Self::Test(id)
        } else {
            Self::Other(name)
        }
    }

    /// Which one it is, without what it is.
    pub fn id(self) -> &'n str {
        match self {
            Self::Account(id)
            | Self::Copies(id)
            | Self::Callbacks { account: id, .. }
            | Self::Operator(id)
            | Self::Gsm(id)
            | Self::Internal(id)
            | Self::Test(id)
            | Self::Other(id) => id,
        }
    }

    /// The account itself, not a queue of its callbacks.
    pub fn account(self) -> Option<&'n str> {
        match self {
            Self::Account(system_id) => Some(system_id),
            _ => None,
        }
    }

    pub fn operator(self) -> Option<&'n str> {
        match self {
            Self::Operator(id) => Some(id),
            _ => None,
        }
    }

    /// Whether what waits there is for an account.
    pub fn is_of_account(self) -> bool {
        matches!(
            self,
            Self::Account(_) | Self::Copies(_) | Self::Callbacks { .. }
        )
    }

    /// Whether what waits there is for an operator or a GSM network: this SMSC connects to them.
    pub fn is_connected(self) -> bool {
        matches!(self, Self::Operator(_) | Self::Gsm(_))
    }

    /// Whether what waits there is for handsets of a GSM network.
    pub fn is_handsets(self) -> bool {
        matches!(self, Self::Gsm(_))
    }

    pub fn is_internal(self) -> bool {
        matches!(self, Self::Internal(_))
    }

    pub fn is_test(self) -> bool {
        matches!(self, Self::Test(_))
    }

    /// Whether the queue has partitions by destination at all times.
    pub fn is_split(self) -> bool {
        self.is_connected() || self.is_internal()
    }
}

impl fmt::Display for QueueName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Account(system_id) => write!(f, "account:{system_id}"),
            Self::Copies(system_id) => write!(f, "callback:{system_id}"),
            Self::Callbacks { host, account } => write!(f, "callback-to:{host}@{account}"),
            Self::Operator(id) => write!(f, "operator:{id}"),
            Self::Gsm(name) => write!(f, "gsm:{name}"),
            Self::Internal(what) => write!(f, "internal:{what}"),
            Self::Test(what) => write!(f, "test:{what}"),
            Self::Other(name) => f.write_str(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_taken_apart_and_put_together() {
        for (name, says) in [
            ("account:a:b", QueueName::Account("a:b")),
            ("callback:a", QueueName::Copies("a")),
            (
                "callback-to:h:8443@a@b",
                QueueName::Callbacks {
                    host: "h:8443",
                    account: "a@b",
                },
            ),
            ("operator:up", QueueName::Operator("up")),
            ("gsm:home", QueueName::Gsm("home")),
            ("internal:imsi", QueueName::Internal("imsi")),
            ("test:failed", QueueName::Test("failed")),
            ("callback-to:h", QueueName::Other("callback-to:h")),
            ("sink:operator:up", QueueName::Other("sink:operator:up")),
            ("up", QueueName::Other("up")),
        ] {
            assert_eq!(QueueName::parse(name), says);
            assert_eq!(says.to_string(), name);
        }
    }
}
