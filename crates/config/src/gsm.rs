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
use super::section::section;
use super::server::Retry;
use super::words::{Words, classes_of};
use smsc_domain::address;
use smsc_domain::retry::RefusalClass;
use smsc_sms::tpdu::time::zone_of;

const SECOND: Duration = Duration::from_secs(1);
/// Where an HLR listens for GSUP.
const PORT: u16 = 4222;
/// What stands for the number of the node in `ipa_name`.
const NODE: &str = "{node}";

section! {
    /// `[[gsm]]`: a GSM network: one whose HLR we connect to by GSUP (OsmoHLR, OsmoMSC), or one that we reach by MAP. Messages are delivered to its handsets, and taken from them.
    pub struct Gsm {
        /// Its name in routes (`gsm:NAME`), metrics, CDRs and the API.
        @required @name name: String = String::new(),
        /// What it speaks with us. Nodes of earlier releases do not know this key.
        protocol: GsmProtocol = GsmProtocol::Gsup,
        /// Host of the HLR, with a port if that is not 4222; or `local` for a program at `local.socket` with the role `gsm:NAME`. For GSUP only, which needs it.
        address: String = String::new(),
        /// How it is reached by MAP, with `protocol = "map"`.
        map: Option<MapConfig> = None,
        /// Our name in GSUP, by which the HLR finds the way to us: `smsc entity` of OsmoHLR. `{node}` is the number of the node. Without it one node at a time is connected, because an HLR uses one connection of a name.
        @must(|name| is_ipa_name(name), "must be 1 to 200 characters of ASCII, without blanks")
        ipa_name: String = format!("SMSC-{NODE}"),
        /// Whether messages are sent only when answers are known to come to this connection: another program may have our name. The HLR is asked for a message to an IMSI that nobody has, which it refuses, after each connection, and after a request without an answer. Off for an HLR that does not answer that.
        prove_name: bool = true,
        /// The number of the SMSC, in international form: handsets see it in what they receive, and have it as their service centre.
        @must(|number| is_number(number), "must be the number of the SMSC, up to 20 digits, such as \"49160000\"")
        @required smsc_address: String = String::new(),
        /// The account whose policy, rate and price messages of handsets get; without it, they are refused.
        account: Option<String> = None,
        /// Most subscribers to whom a message is under way at once, on each node.
        @between(1, MAX_WINDOW) window: u32 = 100,
        /// Most messages of one subscriber that go one after another, with more-messages-to-send, before others have their turn.
        @between(1, 100) run: u32 = 4,
        /// Messages per second to its handsets, status reports too; a text in parts counts as many as it has. Above the limit messages wait. Nodes share it through Redis; without that, each node has the whole of it.
        @rate rate: Option<f64> = None,
        /// Messages at once; without it, one second's worth.
        @at_least(1) burst: Option<u32> = None,
        /// A message counts as unanswered after this time. An MSC that pages in vain may say nothing. For GSUP only, as both timers of pings.
        @positive request_timeout: Duration = 30 * SECOND,
        /// A connection that is not made within this time has failed.
        @positive connect_timeout: Duration = 10 * SECOND,
        /// A ping is sent on a connection that was silent for this time.
        @positive ping_interval: Duration = 20 * SECOND,
        /// A connection on which nothing follows a ping, or no handshake its beginning, within this time is closed; so is one to which no answer comes (`prove_name`).
        @positive ping_timeout: Duration = 10 * SECOND,
        /// Pauses before the first, second, … new attempt to connect, with jitter; the last one repeats.
        @pauses @positive reconnect: Vec<Duration> = [5, 10, 20, 40, 60].map(Duration::from_secs).to_vec(),
        /// Its own retry schedule, with the keys of `[retry]`, instead of that one.
        retry: Option<Retry> = None,
        /// How answers are classified, overriding the defaults (docs/gsm.md) and `retry.status`: causes by name, number or range with `temporary`, `permanent` or `throttled`: `{ RP_PROTOCOL_ERROR = "permanent" }`. The narrowest range counts.
        causes: Words = Words::default(),
        /// After this many failures in a row, each of another subscriber (no answer in time, or a cause that is the network's), it gets no messages for `breaker_pause`; 0 disables this. What is wrong with a subscriber alone does not count.
        breaker_failures: u32 = 0,
        /// When this share of the answers of ten seconds are failures as `breaker_failures` counts them, and there are at least twenty answers, it gets no messages for `breaker_pause`: 0.5 is half of them; 0 disables this.
        @share breaker_share: f64 = 0.0,
        /// How long it gets no messages. Then three messages are tried; if one of them fails, the pause begins again.
        breaker_pause: Duration = 30 * SECOND,
        /// What happens to a message whose answer never came: `resend` or `fail`.
        @must(|policy| *policy != OutcomePolicy::Wait, "\"wait\" needs receipts, and handsets send none; write \"resend\" or \"fail\"")
        outcome_unknown: OutcomePolicy = OutcomePolicy::Resend,
        /// What happens to a character that the default alphabet of handsets (GSM 03.38) does not have.
        unrepresentable: UnrepresentableRule = UnrepresentableRule::Ucs2,
        /// National language tables (3GPP TS 23.038) that may be used for a text in another alphabet, in preference to UCS-2: `turkish`, `hindi`, ….
        @valid(|name| language(name))
        languages: Vec<String> = Vec::new(),
        /// How the parts of a long text are numbered: `udh` with an 8-bit reference, which every handset knows, or `udh16` with a 16-bit one.
        @must(|form| matches!(form, LongMessages::Udh | LongMessages::Udh16), "handsets know parts only; write \"udh\" or \"udh16\"")
        long_messages: LongMessages = LongMessages::Udh,
        /// Offset from UTC of the times that handsets are told (TP-SCTS), in quarters of an hour: `+01:00`, `-03:30`. Handsets show the local time of the offset.
        @must(|zone| zone_of(zone).is_some(), "must be an offset from UTC in quarters of an hour, up to 19:45, such as \"+01:00\"")
        time_zone: String = "+00:00".to_owned(),
        /// Whether we connect to it.
        enabled: bool = true,
        /// How addresses in messages of its handsets are rewritten, before routing and all other rules; the rules of `account` follow. A handset sees the addresses that it wrote.
        rewrite_in: Vec<RewriteRule> = Vec::new(),
        /// How the source addresses of messages to its handsets are rewritten, each time a message is sent. Status reports are not rewritten.
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
