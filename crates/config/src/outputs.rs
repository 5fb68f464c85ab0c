//! Where else logs and metrics may go: a syslog server, a statsd daemon. Off without a target.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use figment::value::Value;

use super::section::settings;
use super::setting::Leaf;
use super::value::quoted;

/// A syslog server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SyslogTarget {
    /// Host and port; one datagram per line (RFC 5426).
    Udp(String),
    /// Host and port; lines with their length in front (RFC 6587 §3.4.1).
    Tcp(String),
    /// The socket of the machine's own daemon.
    Unix(PathBuf),
}

settings! {
    /// The syslog facility (RFC 5424 §6.2.1).
    pub enum SyslogFacility {
        /// 1.
        User = "user",
        /// 3.
        Daemon = "daemon",
        /// 16.
        Local0 = "local0",
        /// 17.
        Local1 = "local1",
        /// 18.
        Local2 = "local2",
        /// 19.
        Local3 = "local3",
        /// 20.
        Local4 = "local4",
        /// 21.
        Local5 = "local5",
        /// 22.
        Local6 = "local6",
        /// 23.
        Local7 = "local7",
    }

    /// `[statsd]`: metrics pushed to a StatsD daemon.
    pub struct Statsd {
        /// Host and UDP port of the daemon; nothing is pushed without it.
        @must(|address| is_host_and_port(address), "is no address; write \"host:port\"")
        address: Option<String> = None,
        /// Prefix of names, instead of `smsc`.
        @must(|prefix| is_prefix(prefix), "must be letters, digits, `-`, `_` and `.`")
        prefix: String = "smsc".to_owned(),
        /// Push interval; counters are sent as increments.
        @positive interval: Duration = Duration::from_secs(10),
        /// Send labels as DogStatsD tags; otherwise as parts of the name.
        tags: bool = false,
    }
}

/// Whether names of metrics may begin with it.
fn is_prefix(text: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    !text.is_empty() && text.chars().all(allowed)
}

/// Whether this is a host (or an address, IPv6 in brackets) and a port.
pub(super) fn is_host_and_port(text: &str) -> bool {
    text.rsplit_once(':').is_some_and(|(host, port)| {
        let bracketed = host.starts_with('[') && host.ends_with(']');
        let named = !host.is_empty() && !host.contains([':', '/', ' ', '[', ']']);
        (bracketed || named) && port.parse::<u16>().is_ok_and(|port| port != 0)
    })
}

// === impl SyslogFacility ===

impl SyslogFacility {
    /// Its number.
    pub fn code(self) -> u8 {
        match self {
            Self::User => 1,
            Self::Daemon => 3,
            Self::Local0 => 16,
            Self::Local1 => 17,
            Self::Local2 => 18,
            Self::Local3 => 19,
            Self::Local4 => 20,
            Self::Local5 => 21,
            Self::Local6 => 22,
            Self::Local7 => 23,
        }
    }
}

// === impl SyslogTarget ===

impl fmt::Display for SyslogTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Udp(address) => write!(f, "udp://{address}"),
            Self::Tcp(address) => write!(f, "tcp://{address}"),
            Self::Unix(path) => write!(f, "unix://{}", path.display()),
        }
    }
}

impl Leaf for SyslogTarget {
    const EXAMPLE: &'static str =
        "\"udp://logs.example:514\", \"tcp://logs.example:601\" or \"unix:///dev/log\"";
    const KIND: &'static str = "a syslog target";

    fn parse(value: &Value) -> Option<Self> {
        let (scheme, rest) = value.as_str()?.split_once("://")?;
        match scheme {
            "udp" if is_host_and_port(rest) => Some(Self::Udp(rest.to_owned())),
            "tcp" if is_host_and_port(rest) => Some(Self::Tcp(rest.to_owned())),
            "unix" if rest.starts_with('/') => Some(Self::Unix(PathBuf::from(rest))),
            _ => None,
        }
    }

    fn show(&self) -> String {
        quoted(&self.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_have_a_scheme_and_an_address() {
        let read = |text: &str| <SyslogTarget as Leaf>::parse(&Value::from(text));
        for text in [
            "udp://logs.example:514",
            "tcp://[::1]:601",
            "unix:///dev/log",
        ] {
            assert_eq!(read(text).unwrap().to_string(), text);
        }
        for wrong in [
            "logs:514",
            "udp://logs",
            "http://a:1",
            "unix://dev/log",
            "tcp://a:0",
        ] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
