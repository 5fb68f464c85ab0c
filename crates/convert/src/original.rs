//! Where the other product itself sends a message, by its own rules and its own files.
//!
//! Called by `smsc convert --compare`, which holds it against the routes of the new configuration. Shares with the converters only
//! how files are read, not what becomes of them: a route that a converter gets wrong is one that differs.

use std::collections::BTreeSet;

/// A message of an account to a number.
#[derive(Debug, Clone, Copy, Default)]
pub struct AskedWay<'m> {
    /// Destination, as it is submitted.
    pub to: &'m str,
    /// The name that the account binds with, or sends requests with; empty for none.
    pub account: &'m str,
    /// Source address, if it is known.
    pub from: Option<&'m str>,
    /// `smsc` of a request to Kannel, if it has one.
    pub smsc: Option<&'m str>,
}

/// A connection to an operator, by what stays the same under another name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OriginalTarget {
    /// Its name in the files.
    pub name: String,
    /// Host and port as `address` of an operator has them; empty if they are not known.
    pub address: String,
    /// What it binds with.
    pub system_id: String,
}

/// One way a message may go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OriginalWay {
    /// What must hold for it and is not in the files, such as the hour; empty if nothing.
    pub if_holds: Vec<String>,
    /// Places in [`OriginalRouter::targets`] in order of failover; those of one step share. Nobody takes it if empty.
    pub steps: Vec<BTreeSet<usize>>,
    /// The rules that decide, with their lines.
    pub why: Vec<String>,
}

/// The routing of the other product.
pub trait OriginalRouter {
    /// Every account that messages may come from.
    fn accounts(&self) -> Vec<&str>;

    /// Every connection that a message may go to.
    fn targets(&self) -> &[OriginalTarget];

    /// Where a message goes: the last way has no condition.
    fn ways(&self, asked: &AskedWay<'_>) -> Vec<OriginalWay>;
}

// === impl OriginalTarget ===

impl OriginalTarget {
    /// One at this host and port.
    pub(super) fn at(name: &str, host: &str, port: &str, system_id: &str) -> Self {
        let address = match (host, port) {
            ("", _) | (_, "") => String::new(),
            (host, port) if host.contains(':') => format!("[{host}]:{port}"),
            (host, port) => format!("{host}:{port}"),
        };
        Self {
            name: name.to_owned(),
            address,
            system_id: system_id.to_owned(),
        }
    }
}
