//! The sheet of an account: what a customer needs to connect, as one text.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What the text says in place of the password, which the SMSC may know only as a hash.
const NO_PASSWORD: &str = "told apart from this sheet";
/// What the text says where no host is known.
const NO_HOST: &str = "HOST (smpp.public_host is not set)";

/// `GET /v1/accounts/{name}/sheet`: what a customer needs to connect. No secret is in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AccountSheet {
    /// The system_id of the account.
    pub account: String,
    /// Whether it may bind.
    pub enabled: bool,
    pub entrances: Vec<SheetEntrance>,
    /// The system_type that it must bind with; null for any.
    pub system_type: Option<String>,
    /// Binds at once.
    pub max_binds: u64,
    /// Messages that it gets on one bind before it has answered any.
    pub window: u64,
    /// Messages per second; null for no limit.
    pub rate: Option<f64>,
    /// Messages at once; null for one second's worth.
    pub burst: Option<u64>,
    /// Short messages per day; null for no limit.
    pub quota_per_day: Option<u64>,
    /// Whether it pays in advance.
    pub prepaid: bool,
    /// IP addresses and CIDR blocks that it may bind from; any if empty.
    pub allow: Vec<String>,
    /// Client certificates it may bind with, by name or fingerprint; it needs none if empty.
    #[serde(default)]
    pub certificates: Vec<String>,
    /// What its source addresses may be; any if empty.
    pub senders: Vec<String>,
    /// Where it may send; anywhere if empty.
    pub destinations: Vec<String>,
    /// Numbers whose messages it gets.
    pub addresses: Vec<String>,
    /// Silence after which we send an enquire_link, such as `30s`; null for none.
    pub enquire_link_interval: Option<String>,
    /// The sheet, for people.
    pub text: String,
    /// The words of `text` that stand for the password: who has just made it may write it in their place.
    pub password_words: String,
}

/// Where an account may connect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SheetEntrance {
    /// `smpp`, `cmpp` or `http`.
    pub protocol: String,
    /// A name or an IP address; null where nothing but `smpp.public_host` could say it.
    pub host: Option<String>,
    pub port: u16,
    pub tls: bool,
}

// === impl AccountSheet ===

impl AccountSheet {
    /// The sheet with its text.
    #[must_use]
    pub fn written(mut self) -> Self {
        NO_PASSWORD.clone_into(&mut self.password_words);
        self.text = self.words();
        self
    }

    fn words(&self) -> String {
        let mut text = format!("How to connect as {}\n", self.account);
        if !self.enabled {
            text.push_str("\nThe account is disabled: it cannot connect yet.\n");
        }
        text.push_str("\nConnect to\n");
        for entrance in &self.entrances {
            line(&mut text, &entrance.protocol, &entrance.words());
        }
        if self.entrances.is_empty() {
            line(
                &mut text,
                "smpp",
                "no address yet: this SMSC does not listen",
            );
        }
        text.push_str("\nLog in with\n");
        line(&mut text, "system_id", &self.account);
        line(&mut text, "password", &self.password_words);
        if self.has("cmpp") {
            line(&mut text, "shared secret", "for cmpp, told apart, too");
        }
        let any = "any, also none";
        line(
            &mut text,
            "system_type",
            self.system_type.as_deref().unwrap_or(any),
        );
        line(&mut text, "from", &listed(&self.allow, "any IP address"));
        if !self.certificates.is_empty() {
            let words = format!("{}, over TLS", self.certificates.join(" or "));
            line(&mut text, "certificate", &words);
        }
        text.push_str("\nLimits\n");
        line(&mut text, "binds", &format!("{} at once", self.max_binds));
        line(&mut text, "rate", &self.rate_words());
        if let Some(quota) = self.quota_per_day {
            let words = format!("{quota} short messages from midnight to midnight UTC");
            line(&mut text, "per day", &words);
        }
        if self.prepaid {
            line(
                &mut text,
                "credits",
                "a message needs credits, which are paid in advance",
            );
        }
        line(&mut text, "senders", &listed(&self.senders, "any"));
        line(
            &mut text,
            "destinations",
            &listed(&self.destinations, "any"),
        );
        if !self.addresses.is_empty() {
            line(&mut text, "numbers", &listed(&self.addresses, ""));
        }
        self.steps_into(&mut text);
        text.truncate(text.trim_end().len());
        text
    }

    /// Whether it may connect over this protocol.
    fn has(&self, protocol: &str) -> bool {
        self.entrances.iter().any(|one| one.protocol == protocol)
    }

    fn rate_words(&self) -> String {
        let Some(rate) = self.rate else {
            return "no limit".to_owned();
        };
        let burst = self.burst.map(|burst| format!(", {burst} at once"));
        let burst = burst.unwrap_or_default();
        format!("{rate} messages per second{burst}; above this the answer is ESME_RTHROTTLED")
    }

    /// How to bind, step by step.
    fn steps_into(&self, text: &mut String) {
        text.push_str("\nHow to bind (SMPP 3.4)\n");
        let mut steps = vec![
            "Open a connection to the host and the port, with TLS where it says so.".to_owned(),
            "Send bind_transceiver with system_id and password. bind_transmitter only sends, bind_receiver only gets.".to_owned(),
            "Send submit_sm. Addresses are international numbers without + (TON 1, NPI 1); registered_delivery 1 asks for a receipt.".to_owned(),
            format!(
                "Answer each deliver_sm: it is a receipt or a message for you, and at most {} come without an answer.",
                self.window
            ),
        ];
        if let Some(interval) = &self.enquire_link_interval {
            steps.push(format!(
                "Answer enquire_link: it comes after {interval} of silence, and a bind that does not answer is closed."
            ));
        }
        steps.push(
            "When you are throttled (ESME_RTHROTTLED), send the same message again a second later."
                .to_owned(),
        );
        if self.has("http") {
            steps.push(
                "Instead of SMPP: POST /v1/messages over HTTP, with an API key in \"Authorization: Bearer\"."
                    .to_owned(),
            );
        }
        for (at, step) in steps.iter().enumerate() {
            let _ = writeln!(text, "  {}. {step}", at + 1);
        }
    }
}

// === impl SheetEntrance ===

impl SheetEntrance {
    fn words(&self) -> String {
        let host = self.host.as_deref().unwrap_or(NO_HOST);
        let port = self.port;
        match (self.protocol.as_str(), self.tls) {
            ("http", true) => format!("https://{}:{port}", in_url(host)),
            ("http", false) => format!("http://{}:{port}", in_url(host)),
            (_, true) => format!("host {host}, port {port}, with TLS"),
            (_, false) => format!("host {host}, port {port}, without TLS"),
        }
    }
}

/// A host as URLs have it (RFC 3986 section 3.2.2).
fn in_url(host: &str) -> String {
    if host.contains(':') {
        format!("[{host}]")
    } else {
        host.to_owned()
    }
}

fn line(text: &mut String, name: &str, value: &str) {
    let _ = writeln!(text, "  {name:<14}{value}");
}

/// What is allowed, in words. The customer does not know our lists.
fn listed(allowed: &[String], none: &str) -> String {
    if allowed.is_empty() {
        return none.to_owned();
    }
    let (lists, own): (Vec<_>, Vec<_>) = allowed.iter().partition(|one| one.starts_with("list:"));
    let mut words: Vec<&str> = own.iter().map(|one| one.as_str()).collect();
    if !lists.is_empty() {
        words.push("as agreed");
    }
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sheet() -> AccountSheet {
        AccountSheet {
            account: "shop".to_owned(),
            enabled: true,
            entrances: vec![SheetEntrance {
                protocol: "smpp".to_owned(),
                host: Some("smpp.example".to_owned()),
                port: 2775,
                tls: false,
            }],
            system_type: None,
            max_binds: 4,
            window: 10,
            rate: Some(50.0),
            burst: None,
            quota_per_day: None,
            prepaid: false,
            allow: Vec::new(),
            certificates: Vec::new(),
            senders: vec!["ACME".to_owned(), "list:own".to_owned()],
            destinations: Vec::new(),
            addresses: Vec::new(),
            enquire_link_interval: Some("30s".to_owned()),
            text: String::new(),
            password_words: String::new(),
        }
        .written()
    }

    #[test]
    fn says_where_as_whom_and_how_much() {
        let sheet = sheet();
        for part in [
            "host smpp.example, port 2775, without TLS",
            "system_id     shop\n",
            "password      told apart from this sheet\n",
            "binds         4 at once\n",
            "50 messages per second; above",
            "senders       ACME, as agreed\n",
            "after 30s of silence",
        ] {
            assert!(sheet.text.contains(part), "{part}: {}", sheet.text);
        }
        assert!(!sheet.text.ends_with('\n') && !sheet.text.contains("HTTP"));
        assert!(sheet.text.contains(&sheet.password_words));
        for other in ["certificate", "shared secret"] {
            assert!(!sheet.text.contains(other), "{other}: {}", sheet.text);
        }
    }

    #[test]
    fn a_certificate_that_is_needed_is_named() {
        let sheet = AccountSheet {
            certificates: vec!["shop.example".to_owned(), "sha256:00".to_owned()],
            ..sheet()
        };
        let text = sheet.written().text;
        let line = "certificate   shop.example or sha256:00, over TLS\n";
        assert!(text.contains(line), "{text}");
    }

    #[test]
    fn an_unknown_host_is_not_invented() {
        let mut sheet = sheet();
        sheet.enabled = false;
        sheet.entrances = ["smpp", "http"]
            .map(|protocol| SheetEntrance {
                protocol: protocol.to_owned(),
                host: (protocol == "http").then(|| "::1".to_owned()),
                port: 1,
                tls: true,
            })
            .to_vec();
        let text = sheet.written().text;
        assert!(text.contains("smpp.public_host is not set"), "{text}");
        assert!(text.contains("https://[::1]:1\n"), "{text}");
        assert!(
            text.contains("disabled") && text.contains("over HTTP"),
            "{text}"
        );
    }
}
