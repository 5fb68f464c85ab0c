//! `[[gsm]]`: GSM networks to whose handsets this SMSC delivers, by GSUP or by MAP (`map`).

use std::ops::RangeInclusive;
use std::time::Duration;

use super::content::{LongMessages, UnrepresentableRule, language};
use super::local::LOCAL;
use super::map::{GsmProtocol, MapConfig, MapGateway};
use super::mark::{MAX_DIGITS, MAX_WINDOW};
use super::outputs::is_host_and_port;
use super::peers::OutcomePolicy;
use super::rewrite::RewriteRule;
use super::section::settings;
use super::server::Retry;
use super::value::SECOND;
use super::words::{Words, classes_of};
use smsc_domain::address;
use smsc_domain::retry::RefusalClass;
use smsc_sms::tpdu::time::zone_of;

/// Where an HLR listens for GSUP.
const PORT: u16 = 4222;
/// What stands for the number of the node in `ipa_name`.
const NODE: &str = "{node}";

settings! {
    /// `[[gsm]]`: a GSM network, reached by GSUP (OsmoHLR, OsmoMSC) or MAP. Messages go to its handsets and come from them.
    pub struct Gsm {
        /// Name in routes (`gsm:NAME`), metrics, CDRs and the API.
        @required @name name: String = String::new(),
        /// Protocol of the network.
        protocol: GsmProtocol = GsmProtocol::Gsup,
        /// Host of the HLR for GSUP, with a port if it is not 4222; or `local` for a program at `local.socket` with the role `gsm:NAME`.
        address: String = String::new(),
        /// MAP, with `protocol = "map"`.
        map: Option<MapConfig> = None,
        /// Our GSUP name, `smsc entity` of OsmoHLR; `{node}` is the node's number. Without `{node}`, one node at a time is connected.
        @must(|name| is_ipa_name(name), "must be 1 to 200 characters of ASCII, without blanks")
        ipa_name: String = format!("SMSC-{NODE}"),
        /// Verify that answers reach this connection, by a request for an unknown IMSI after each connect and each unanswered request, because another program may have our name. Disable it for an HLR that does not answer that.
        prove_name: bool = true,
        /// Number of the SMSC in international form: the service centre of handsets.
        @must(|number| is_number(number), "must be the number of the SMSC, up to 20 digits, such as \"49160000\"")
        @required smsc_address: String = String::new(),
        /// Account whose policy, rate and price apply to messages of handsets; without it, they are refused.
        account: Option<String> = None,
        /// Most subscribers with a message under way, per node.
        @between(1, MAX_WINDOW) window: u32 = 100,
        /// Most messages in a row to one subscriber, with more-messages-to-send.
        @between(1, 100) run: u32 = 4,
        /// Most short messages per second to handsets, parts and status reports included; further ones wait. Nodes share it through Redis; without Redis, it holds per node.
        @rate rate: Option<f64> = None,
        /// Most messages in one burst; without it, one second's worth.
        @at_least(1) burst: Option<u32> = None,
        /// Waiting time for the answer to a message, GSUP only. An MSC may not answer after paging in vain.
        @positive request_timeout: Duration = 30 * SECOND,
        /// Waiting time for a connection.
        @positive connect_timeout: Duration = 10 * SECOND,
        /// A connection idle for this time gets a ping; GSUP only.
        @positive ping_interval: Duration = 20 * SECOND,
        /// Waiting time for a pong, the handshake, or the answer to `prove_name`; then the connection is closed. GSUP only.
        @positive ping_timeout: Duration = 10 * SECOND,
        /// Pauses between attempts to connect, with jitter; the last one repeats.
        @pauses @positive reconnect: Vec<Duration> = [5, 10, 20, 40, 60].map(Duration::from_secs).to_vec(),
        /// Own retry schedule, instead of `[retry]`.
        retry: Option<Retry> = None,
        /// Class of causes, `temporary`, `permanent` or `throttled`, by name, number or range: `{ RP_PROTOCOL_ERROR = "permanent" }`. The narrowest range wins; overrides the defaults (docs/gsm.md) and `retry.status`.
        causes: Words = Words::default(),
        /// Consecutive failures with different subscribers (no answer, or a cause of the network) that stop messages for `breaker_pause`; 0 disables.
        breaker_failures: u32 = 0,
        /// Share of such failures within ten seconds and at least twenty answers that stops messages for `breaker_pause`; 0 disables.
        @share breaker_share: f64 = 0.0,
        /// Length of the stop. Then three messages are tried; one failure begins it again.
        breaker_pause: Duration = 30 * SECOND,
        /// Handling of a message whose answer never came: `resend` or `fail`.
        @must(|policy| *policy != OutcomePolicy::Wait, "\"wait\" needs receipts, and handsets send none; write \"resend\" or \"fail\"")
        outcome_unknown: OutcomePolicy = OutcomePolicy::Resend,
        /// Handling of characters that the GSM 03.38 default alphabet lacks.
        unrepresentable: UnrepresentableRule = UnrepresentableRule::Ucs2,
        /// National language tables (3GPP TS 23.038) to try before UCS-2: `turkish`, `hindi`, ….
        @valid(|name| language(name))
        languages: Vec<String> = Vec::new(),
        /// Numbering of parts: `udh` with an 8-bit reference, which every handset knows, or `udh16` with a 16-bit one.
        @must(|form| matches!(form, LongMessages::Udh | LongMessages::Udh16), "handsets know parts only; write \"udh\" or \"udh16\"")
        long_messages: LongMessages = LongMessages::Udh,
        /// Offset from UTC of the time stamps for handsets (TP-SCTS), in quarters of an hour: `+01:00`, `-03:30`.
        @must(|zone| zone_of(zone).is_some(), "must be an offset from UTC in quarters of an hour, up to 19:45, such as \"+01:00\"")
        time_zone: String = "+00:00".to_owned(),
        /// Connect to it.
        enabled: bool = true,
        /// Rewriting of addresses in messages of handsets, before all other rules and those of `account`. The handset sees the addresses that it sent.
        rewrite_in: Vec<RewriteRule> = Vec::new(),
        /// Rewriting of source addresses in messages to handsets, at each attempt; not in status reports.
        rewrite_out: Vec<RewriteRule> = Vec::new(),
    }
}

// === impl Gsm ===

impl Gsm {
    /// Whether a program at `local.socket` delivers to the handsets.
    pub fn is_local(&self) -> bool {
        !self.is_map() && self.address == LOCAL
    }

    /// Host and port of the HLR.
    pub fn hlr(&self) -> String {
        if self.is_local() || is_host_and_port(&self.address) {
            self.address.clone()
        } else {
            format!("{}:{PORT}", self.address)
        }
    }

    /// Our name in GSUP on a node.
    pub fn ipa_name_of(&self, node: u8) -> String {
        self.ipa_name.replace(NODE, &node.to_string())
    }

    /// Whether all nodes have one name at an HLR, or one point code, so that one of them may be connected at a time.
    pub fn shares_name(&self) -> bool {
        if self.is_map() {
            return (self.map.as_ref()).is_none_or(MapConfig::shares_point_code);
        }
        !self.is_local() && !self.ipa_name.contains(NODE)
    }

    /// Where it is reached, for people: the HLR, or the signalling gateways.
    pub fn reached_at(&self) -> String {
        if !self.is_map() {
            return self.hlr();
        }
        let gateways = self.map.iter().flat_map(|map| &map.gateways);
        let gateways = gateways.map(MapGateway::host_and_port);
        gateways.collect::<Vec<_>>().join(", ")
    }

    /// The digits of `smsc_address`.
    pub fn smsc_number(&self) -> String {
        String::from_utf8_lossy(address::normalise(self.smsc_address.as_bytes())).into_owned()
    }

    /// `time_zone` in quarters of an hour.
    pub fn zone(&self) -> i8 {
        // Another one is refused.
        zone_of(&self.time_zone).unwrap_or_default()
    }

    /// `causes`, the narrowest range first.
    pub fn classes(&self) -> Vec<(RangeInclusive<u32>, RefusalClass)> {
        classes_of(&self.causes)
    }
}

/// Whether it fits in GSUP: an IPA name is an element of at most 255 octets, with its closing NUL; the number of the
/// node replaces six.
fn is_ipa_name(text: &str) -> bool {
    (1..=200).contains(&text.len()) && text.bytes().all(|octet| octet.is_ascii_graphic())
}

/// Whether it is the number of an SMSC. One of E.164 has at most 15 digits; networks use up to 20 (TS 24.011 §8.2.5.1: 2
/// to 12 octets).
fn is_number(text: &str) -> bool {
    let digits = address::normalise(text.as_bytes());
    (1..=MAX_DIGITS).contains(&digits.len()) && address::is_digits(digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_without_a_port_is_that_of_an_hlr() {
        let hlr = |address: &str| {
            let address = address.to_owned();
            Gsm {
                address,
                ..Gsm::default()
            }
            .hlr()
        };
        assert_eq!(hlr("hlr.example"), "hlr.example:4222");
        assert_eq!(hlr("127.0.0.1"), "127.0.0.1:4222");
        assert_eq!(hlr("127.0.0.1:4333"), "127.0.0.1:4333");
        assert_eq!(hlr("[::1]"), "[::1]:4222");
    }

    #[test]
    fn each_node_has_a_name_of_its_own() {
        assert_eq!(Gsm::default().ipa_name_of(7), "SMSC-7");
        let ipa_name = "SMSC-00-00-00-00-00-00".to_owned();
        let one = Gsm {
            ipa_name,
            ..Gsm::default()
        };
        assert_eq!(one.ipa_name_of(7), "SMSC-00-00-00-00-00-00");
        assert!(one.shares_name() && !Gsm::default().shares_name());
    }
}
