//! `[gsm.map]`: how a GSM network is reached by MAP over SIGTRAN.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use super::gsm::Gsm;
use super::map_firewall::MapFirewall;
use super::outputs::is_host_and_port;
use super::section::settings;
use super::value::SECOND;
use smsc_domain::address::{is_digits, is_international};

/// Where signalling gateways listen for M3UA (RFC 4666 §1.4.8).
const PORT: u16 = 2905;
/// A point code of ITU-T Q.704 has 14 bits.
const MAX_POINT_CODE: u32 = (1 << 14) - 1;
/// Bits of the three parts of a point code as people write it, 3-8-3.
const PARTS: [u32; 3] = [3, 8, 3];
/// Digits of a global title (ITU-T Q.713 §3.4.2.3).
pub(super) const MAX_TITLE: usize = 20;
/// Digits of MCC and MNC (3GPP TS 23.003 §2.2).
const NETWORK: std::ops::RangeInclusive<usize> = 5..=6;
/// Where messages go that home routing brings, if no account gets them.
const TO_NETWORK: &str = "network";

settings! {
    /// Protocol of a GSM network.
    pub enum GsmProtocol {
        /// GSUP with an OsmoHLR, which forwards to MSCs.
        Gsup = "gsup",
        /// MAP through signalling gateways: `[gsm.map]`.
        Map = "map",
    }

    /// Transport of M3UA to a signalling gateway.
    pub enum GatewayTransport {
        /// SCTP of the kernel (RFC 4666).
        Sctp = "sctp",
        /// TCP, for Osmocom's osmo-stp.
        Tcp = "tcp",
    }

    /// How several gateways share the traffic (RFC 4666 §1.4.4.1).
    pub enum MapTrafficMode {
        /// All active gateways carry it.
        Loadshare = "loadshare",
        /// One carries it; the next takes over when it fails.
        Override = "override",
    }

    /// How others address us (ITU-T Q.713 §3.4.1).
    pub enum MapRoutedBy {
        /// Our global title, which a gateway translates.
        GlobalTitle = "global_title",
        /// Our point code and subsystem number, without translation.
        Ssn = "ssn",
    }

    /// A node that serves a subscriber.
    pub enum MapServingNode {
        /// The MSC.
        Msc = "msc",
        /// The SGSN.
        Sgsn = "sgsn",
    }

    /// `[[gsm.map.gateways]]`: a signalling gateway, such as an STP.
    pub struct MapGateway {
        /// Host, with a port if it is not 2905.
        @required address: String = String::new(),
        /// Transport of M3UA.
        transport: GatewayTransport = GatewayTransport::Sctp,
        /// Own addresses, IP or IP:port, several for SCTP multihoming; empty: the kernel chooses.
        @valid(|address| own_address(address).map(drop))
        local: Vec<String> = Vec::new(),
    }

    /// `[gsm.map.home_routing]`: answers requests of others for the routing of our subscribers with our address and a temporary id instead of the IMSI (3GPP TR 23.840). Their messages belong to `account`.
    pub struct MapHomeRouting {
        /// First digits of our subscribers' numbers, in international form without a plus.
        @filled("is empty; write how the numbers of your subscribers begin, such as [\"49170\"]")
        @must(|prefix| is_prefix(prefix), "must be the first digits of international numbers, 1 to 15, such as \"49170\"")
        numbers: Vec<String> = Vec::new(),
        /// MCC and MNC that the ids begin with: 5 or 6 digits, such as `26201`.
        @must(|network| is_network(network), "must be MCC and MNC, 5 or 6 digits, such as \"26201\"")
        @required network: String = String::new(),
        /// `network` delivers to the handset; the name of an account delivers there as MO messages.
        @filled("is empty; write \"network\" or the name of an account")
        deliver: String = TO_NETWORK.to_owned(),
        /// Lifetime of an id after its last use in an answer.
        @at_most(24 * 3600 * SECOND, "nobody brings a message so much later") @positive id_lifetime: Duration = 300 * SECOND,
        /// Most valid ids; global titles with the same beginning get a quarter of them. More requests get a system failure.
        @between(4, 1_000_000) max_ids: usize = 100_000,
    }

    /// `[gsm.map]`: how a GSM network is reached by MAP over SIGTRAN, with `protocol = "map"`.
    pub struct MapConfig {
        /// Signalling gateways, connected independently; one active gateway suffices.
        gateways: Vec<MapGateway> = Vec::new(),
        /// Point code of this SMSC, `zone-area-point` such as `1.2.3`, or a number. Shared by all nodes: one is connected at a time.
        @valid(|text| point_code(text).map(drop))
        point_code: Option<String> = None,
        /// One point code per node, by node number from 0, instead of `point_code`: all nodes are connected.
        @valid(|text| point_code(text).map(drop))
        point_codes: Vec<String> = Vec::new(),
        /// Point code for everything addressed by global title: the translating STP, or the other side.
        @valid(|text| if text.is_empty() { Ok(()) } else { point_code(text).map(drop) })
        @required destination: String = String::new(),
        /// 0 international, 2 national, 3 national spare (ITU-T Q.704 §14.2.1).
        @between(0, 3) network_indicator: u8 = 0,
        /// Our routing context; not sent without it.
        routing_context: Option<u32> = None,
        /// Register a routing context where none is set (RFC 4666 §3.6).
        register: bool = false,
        /// How several gateways share the traffic.
        traffic_mode: MapTrafficMode = MapTrafficMode::Loadshare,
        /// Network appearance, if the gateways need one.
        network_appearance: Option<u32> = None,
        /// ASP identifier, if the gateways need one.
        asp_identifier: Option<u32> = None,
        /// Our global title; without it, `smsc_address`.
        @must(|title| is_title(title), "must be the digits of a global title, up to 20")
        global_title: Option<String> = None,
        /// One global title per node, instead of `global_title`, so that answers reach the right node.
        @must(|title| is_title(title), "must be the digits of a global title, up to 20")
        global_titles: Vec<String> = Vec::new(),
        /// How our address is routed.
        routed_by: MapRoutedBy = MapRoutedBy::GlobalTitle,
        /// Our subsystem number.
        @between(1, 254) ssn: u8 = 8,
        /// Translation type of global titles, in our address and called addresses.
        translation_type: u8 = 0,
        /// Numbering plan of global titles: 1 is E.164.
        @between(0, 15) numbering_plan: u8 = 1,
        /// Nature of address of global titles: 4 is international.
        @between(0, 127) nature: u8 = 4,
        /// Global title of the only HLR; without it and `hlr_point_code`, HLRs are addressed by the subscriber's number.
        @must(|title| is_title(title), "must be the digits of a global title, up to 20")
        hlr: Option<String> = None,
        /// Point code of the only HLR, without translation.
        @valid(|text| point_code(text).map(drop))
        hlr_point_code: Option<String> = None,
        /// Translation type towards HLRs, if different.
        hlr_translation_type: Option<u8> = None,
        /// Order in which a subscriber's serving nodes are tried.
        @filled("is empty; write [\"msc\"], [\"sgsn\"] or both")
        serving_nodes: Vec<MapServingNode> = vec![MapServingNode::Msc, MapServingNode::Sgsn],
        /// Lifetime of routing answers of the HLR; "0s" asks for each run of messages. One that fails is asked for again at once.
        route_cache: Duration = 2 * SECOND,
        /// Report the outcome to the HLR (reportSM-DeliveryStatus), which then alerts when the subscriber is reachable.
        report_delivery: bool = true,
        /// Highest MAP version to try; lower ones are negotiated.
        @between(1, 3) version: u8 = 3,
        /// Time that a node's MAP version is remembered.
        @positive version_memory: Duration = 3_600 * SECOND,
        /// Waiting time for short operations; 3 to 10 s by TS 29.002 §17.1.2.
        @positive timer_short: Duration = 10 * SECOND,
        /// Waiting time for HLRs; 15 to 30 s by the standard.
        @positive timer_medium: Duration = 30 * SECOND,
        /// Waiting time for mt-ForwardSM, which may page; 1 to 10 min by the standard.
        @positive timer_long: Duration = 60 * SECOND,
        /// A connection idle for this time gets a heartbeat (BEAT, RFC 4666 §3.5.5); "0s" sends none.
        beat_interval: Duration = 30 * SECOND,
        /// A connection that does not answer a heartbeat within this time is closed.
        @positive beat_timeout: Duration = 10 * SECOND,
        /// Time before an unanswered ASP message is repeated: T(ack) of RFC 4666 §4.3.4.1.
        @positive ack_timeout: Duration = 2 * SECOND,
        /// Most octets of user data in one unitdata. A dialogue whose first message would be longer begins with an empty one; other longer data are segmented (XUDT).
        @between(60, 254) unitdata_octets: usize = 236,
        /// Most open dialogues of ours, per node.
        @between(1, 1_000_000) max_dialogues: usize = 8_192,
        /// Most open dialogues of others, per node.
        @between(1, 1_000_000) max_incoming: usize = 4_096,
        /// Filter for requests of others.
        firewall: MapFirewall = MapFirewall::default(),
        /// Home routing: messages of others for our subscribers come to us first.
        home_routing: Option<MapHomeRouting> = None,
    }
}

// === impl MapGateway ===

impl MapGateway {
    /// Host and port.
    pub fn host_and_port(&self) -> String {
        if is_host_and_port(&self.address) {
            self.address.clone()
        } else {
            format!("{}:{PORT}", self.address)
        }
    }

    /// Own addresses that it is connected from; port 0 where the kernel chooses.
    pub fn own_addresses(&self) -> Vec<SocketAddr> {
        let own = self.local.iter();
        // Others are refused.
        own.filter_map(|text| own_address(text).ok()).collect()
    }
}

// === impl MapHomeRouting ===

impl MapHomeRouting {
    /// The account that gets the messages; `None` when they go to the handset.
    pub fn account(&self) -> Option<&str> {
        (self.deliver != TO_NETWORK).then_some(&*self.deliver)
    }
}

// === impl MapConfig ===

impl MapConfig {
    /// The point code of a node; `None` where there is none for it.
    pub fn point_code_of(&self, node: u8) -> Option<u32> {
        let text = if self.shares_point_code() {
            self.point_code.as_ref()
        } else {
            self.point_codes.get(usize::from(node))
        };
        point_code(text?).ok()
    }

    /// Whether all nodes have one point code, so that one of them may be connected at a time.
    pub fn shares_point_code(&self) -> bool {
        self.point_codes.is_empty()
    }

    /// The point code of what translates global titles.
    pub fn destination_code(&self) -> Option<u32> {
        point_code(&self.destination).ok()
    }

    /// The point code of the one HLR.
    pub fn hlr_code(&self) -> Option<u32> {
        point_code(self.hlr_point_code.as_ref()?).ok()
    }
}

// === impl Gsm ===

impl Gsm {
    /// Whether it speaks MAP.
    pub fn is_map(&self) -> bool {
        self.protocol == GsmProtocol::Map
    }

    /// How it is reached by MAP, or the defaults of that.
    pub fn map(&self) -> MapConfig {
        self.map.clone().unwrap_or_default()
    }

    /// How it is reached by MAP, but for the firewall: that changes without a new connection.
    pub fn map_connection(&self) -> Option<MapConfig> {
        let map = self.map.clone();
        map.map(|map| MapConfig {
            firewall: MapFirewall::default(),
            ..map
        })
    }

    /// The global title of a node in MAP, in digits.
    pub fn global_title_of(&self, node: u8) -> String {
        let map = self.map.as_ref();
        let own = map.and_then(|map| map.global_titles.get(usize::from(node)));
        let all = || map.and_then(|map| map.global_title.as_ref());
        let title = own.or_else(all).cloned();
        title.unwrap_or_else(|| self.smsc_number())
    }
}

/// A point code as people write it: `1.2.3` or `1-2-3`, of 3, 8 and 3 bits (ITU-T Q.708), or a number up to 16383.
///
/// # Errors
/// What is wrong, and what to write instead.
pub fn point_code(text: &str) -> Result<u32, String> {
    let wrong = || {
        format!(
            "{text:?} is no point code; write three numbers up to 7, 255 and 7, such as \"1.2.3\", or one up to {MAX_POINT_CODE}"
        )
    };
    let is_number =
        |part: &str| !part.is_empty() && part.bytes().all(|octet| octet.is_ascii_digit());
    let number = |part: &str, most: u32| {
        let number = part.parse::<u32>().ok().filter(|_| is_number(part));
        number.filter(|number| *number <= most).ok_or_else(wrong)
    };
    let parts: Vec<&str> = text.split(['.', '-']).collect();
    match parts.as_slice() {
        [one] => number(one, MAX_POINT_CODE),
        [_, _, _] => {
            let mut parts = PARTS.iter().zip(&parts);
            parts.try_fold(0, |code, (bits, part)| {
                Ok(code << bits | number(part, (1 << bits) - 1)?)
            })
        }
        _ => Err(wrong()),
    }
}

/// An address of this machine, with a port or without.
fn own_address(text: &str) -> Result<SocketAddr, String> {
    let with_port = text.parse::<SocketAddr>().ok();
    let without = || Some(SocketAddr::new(text.parse::<IpAddr>().ok()?, 0));
    with_port.or_else(without).ok_or_else(|| {
        format!(
            "{text:?} is no IP address of this machine; write \"10.0.0.5\" or \"10.0.0.5:2905\""
        )
    })
}

/// Whether it may be a global title.
fn is_title(text: &str) -> bool {
    (1..=MAX_TITLE).contains(&text.len()) && is_digits(text.as_bytes())
}

/// Whether numbers may begin so.
fn is_prefix(text: &str) -> bool {
    is_international(text.as_bytes())
}

/// Whether it may be MCC and MNC.
fn is_network(text: &str) -> bool {
    NETWORK.contains(&text.len()) && is_digits(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MapFirewallMode;

    /// ITU-T Q.708: 3, 8 and 3 bits.
    #[test]
    fn point_codes_are_read_as_people_write_them() {
        for (text, code) in [
            ("0.0.0", 0),
            ("1.2.3", 0x0813),
            ("1-2-3", 0x0813),
            ("0.23.1", 185),
            ("7.255.7", 16383),
            ("185", 185),
            ("16383", 16383),
        ] {
            assert_eq!(point_code(text), Ok(code), "{text}");
        }
        for text in [
            "", "8.0.0", "0.256.0", "0.0.8", "16384", "1.2", "1.2.3.4", "1..3", "a.b.c", "+1",
            "-1", " 1",
        ] {
            let wrong = point_code(text).unwrap_err();
            assert!(wrong.contains("is no point code; write"), "{wrong}");
        }
    }

    #[test]
    fn each_node_has_its_point_code_or_all_have_one() {
        let shared = MapConfig {
            point_code: Some("1.2.3".to_owned()),
            ..MapConfig::default()
        };
        assert!(shared.shares_point_code());
        assert_eq!(shared.point_code_of(7), Some(0x0813));
        let own = MapConfig {
            point_codes: ["1.2.3", "1.2.4"].map(str::to_owned).to_vec(),
            ..MapConfig::default()
        };
        assert!(!own.shares_point_code());
        assert_eq!(own.point_code_of(1), Some(0x0814));
        assert_eq!(own.point_code_of(2), None);
    }

    #[test]
    fn a_gateway_has_the_port_of_m3ua_and_own_addresses_any() {
        let gateway = |address: &str, local: &[&str]| MapGateway {
            address: address.to_owned(),
            local: local.iter().map(|one| (*one).to_owned()).collect(),
            ..MapGateway::default()
        };
        assert_eq!(
            gateway("stp.example", &[]).host_and_port(),
            "stp.example:2905"
        );
        assert_eq!(gateway("[::1]:2906", &[]).host_and_port(), "[::1]:2906");
        let own = gateway("a", &["10.0.0.5", "10.0.1.5:2905", "::1"]).own_addresses();
        let own: Vec<String> = own.iter().map(SocketAddr::to_string).collect();
        assert_eq!(own, ["10.0.0.5:0", "10.0.1.5:2905", "[::1]:0"]);
        assert!(own_address("here").is_err());
    }

    #[test]
    fn a_firewall_is_no_part_of_the_connection() {
        let of = |mode, version| Gsm {
            map: Some(MapConfig {
                version,
                firewall: MapFirewall {
                    mode,
                    ..MapFirewall::default()
                },
                ..MapConfig::default()
            }),
            ..Gsm::default()
        };
        let (off, on) = (of(MapFirewallMode::Off, 3), of(MapFirewallMode::On, 3));
        assert!(off.map != on.map && off.map_connection() == on.map_connection());
        let other = of(MapFirewallMode::Off, 2);
        assert!(off.map_connection() != other.map_connection());
    }

    #[test]
    fn our_global_title_is_the_number_of_the_smsc_unless_it_is_said() {
        let mut one = Gsm {
            smsc_address: "+49160000".to_owned(),
            protocol: GsmProtocol::Map,
            map: Some(MapConfig::default()),
            ..Gsm::default()
        };
        assert_eq!(one.global_title_of(0), "49160000");
        one.map = Some(MapConfig {
            global_title: Some("49170000".to_owned()),
            ..MapConfig::default()
        });
        assert_eq!(one.global_title_of(7), "49170000");
        one.map = Some(MapConfig {
            global_titles: ["49170000", "49170001"].map(str::to_owned).to_vec(),
            ..MapConfig::default()
        });
        assert_eq!(one.global_title_of(1), "49170001");
        assert!(one.is_map() && !Gsm::default().is_map());
    }

    #[test]
    fn messages_of_home_routing_go_to_the_handset_or_to_an_account() {
        let mut home = MapHomeRouting::default();
        assert_eq!(home.account(), None);
        home.deliver = "shop".to_owned();
        assert_eq!(home.account(), Some("shop"));
        for (text, is_one) in [
            ("26201", true),
            ("310410", true),
            ("2620", false),
            ("2620a", false),
        ] {
            assert_eq!(is_network(text), is_one, "{text}");
        }
        assert!(
            is_prefix("4") && !is_prefix("") && !is_prefix("+49") && !is_prefix(&"4".repeat(16))
        );
    }
}
