//! `[gsm.map.firewall]`: which requests of a signalling network are let in.
//!
//! The rules are those of `smsc-firewall`; the interface to the network compiles this into its settings, also while it
//! is connected.

use super::map::MAX_TITLE;
use super::section::{choice, section};

choice! {
    /// Whether requests of others are looked at, and whether that has consequences.
    pub enum MapFirewallMode {
        /// Everything passes, and nothing is counted.
        Off = "off",
        /// Everything passes; what would be blocked is counted and reported.
        Dry = "dry",
        /// What the rules say is done.
        On = "on",
    }
}

choice! {
    /// What becomes of a request that a rule has found.
    pub enum MapFirewallAction {
        /// It is refused with an error of MAP, counted and reported.
        Block = "block",
        /// It is not answered, counted and reported.
        Drop = "drop",
        /// It passes, counted and reported.
        Report = "report",
        /// It passes, and is counted.
        Count = "count",
        /// The rule is not asked.
        Off = "off",
    }
}

choice! {
    /// The error of MAP that a blocked request is answered with (3GPP TS 29.002 §17.6.6).
    pub enum MapFirewallError {
        /// facilityNotSupported, 21.
        FacilityNotSupported = "facility_not_supported",
        /// systemFailure, 34.
        SystemFailure = "system_failure",
        /// dataMissing, 35.
        DataMissing = "data_missing",
        /// unexpectedDataValue, 36.
        UnexpectedDataValue = "unexpected_data_value",
        /// unknownSubscriber, 1.
        UnknownSubscriber = "unknown_subscriber",
        /// callBarred, 13.
        CallBarred = "call_barred",
    }
}

choice! {
    /// A rule of the firewall.
    pub enum MapFirewallRule {
        /// A global title that is denied or not allowed.
        Title = "title",
        /// More requests of one global title than `title_rate`.
        TitleRate = "title_rate",
        /// An operation that has nothing to do with short messages.
        Operation = "operation",
        /// A message for a subscriber whose routing nobody has asked for.
        WithoutRouting = "without_routing",
        /// A message for a subscriber from another network than that which has asked for its routing.
        OtherNetwork = "other_network",
        /// A service centre of another network than the global title.
        ServiceCentre = "service_centre",
        /// A sender of ours in what comes from abroad.
        Spoofed = "spoofed",
        /// A message that a handset sends and that is not ours.
        ForeignSender = "foreign_sender",
        /// More requests about one subscriber than `subscriber_rate`.
        SubscriberRate = "subscriber_rate",
    }
}

section! {
    /// `[gsm.map.firewall.rules]`: what each rule does.
    pub struct MapFirewallRules {
        /// A global title that `deny` has, or that `allow` has not.
        title: MapFirewallAction = MapFirewallAction::Block,
        /// More requests of one global title than `title_rate`.
        title_rate: MapFirewallAction = MapFirewallAction::Block,
        /// An operation that has nothing to do with short messages, such as sendIMSI or anyTimeInterrogation: FS.11, category 1.
        operation: MapFirewallAction = MapFirewallAction::Block,
        /// A message for a subscriber of ours whose routing nobody has asked for (mt-ForwardSM without sendRoutingInfoForSM).
        without_routing: MapFirewallAction = MapFirewallAction::Block,
        /// A message for a subscriber of ours from another network than that which has asked for its routing.
        other_network: MapFirewallAction = MapFirewallAction::Block,
        /// A request of a service centre whose number is of another network than its global title. Some hubs send so for others.
        service_centre: MapFirewallAction = MapFirewallAction::Report,
        /// A sender with a number of ours in what comes from abroad: of a handset's message from where `visited_titles` says that nobody of ours roams, and of a message for a handset from any other network. FS.11, category 3.
        spoofed: MapFirewallAction = MapFirewallAction::Block,
        /// A message that a handset sends whose number is not one of `own_numbers`: this is no service centre for everybody.
        foreign_sender: MapFirewallAction = MapFirewallAction::Block,
        /// More requests about one subscriber than `subscriber_rate`.
        subscriber_rate: MapFirewallAction = MapFirewallAction::Block,
    }
}

section! {
    /// `[[gsm.map.firewall.networks]]`: a network with several prefixes of global titles.
    pub struct MapFirewallNetwork {
        /// What it is called, for people.
        name: String = String::new(),
        /// The first digits of its global titles, in international form.
        @digits(MAX_TITLE)
        titles: Vec<String> = Vec::new(),
    }
}

section! {
    /// `[gsm.map.firewall]`: which requests of the signalling network are let in, after GSMA FS.11 and IR.70. Changes hold at once, without a new connection.
    pub struct MapFirewall {
        /// Whether it does anything; `dry` shows what it would do.
        mode: MapFirewallMode = MapFirewallMode::Off,
        /// First digits of the global titles of our own network, in international form; our own titles are among them anyway.
        @digits(MAX_TITLE)
        own_titles: Vec<String> = Vec::new(),
        /// First digits of the numbers of our subscribers, in international form; without any, `spoofed` and `foreign_sender` find nothing.
        @digits(MAX_TITLE)
        own_numbers: Vec<String> = Vec::new(),
        /// First digits of the global titles of networks in which our subscribers roam; without any, they may be in all.
        @digits(MAX_TITLE)
        visited_titles: Vec<String> = Vec::new(),
        /// First digits of the global titles that may send requests; without any, all may.
        @digits(MAX_TITLE)
        allow: Vec<String> = Vec::new(),
        /// First digits of the global titles that may send none; the longer one of both lists counts.
        @digits(MAX_TITLE)
        deny: Vec<String> = Vec::new(),
        /// Networks with several prefixes of global titles, which count as one.
        networks: Vec<MapFirewallNetwork> = Vec::new(),
        /// Global titles of no listed network belong to one network when so many first digits are the same.
        @between(1, 15) network_digits: usize = 5,
        /// Requests per second of one global title; what is above it is found by the rule `title_rate`.
        @rate title_rate: Option<f64> = None,
        /// Requests of one global title at once; without it, one second's worth.
        @at_least(1) title_burst: Option<u32> = None,
        /// Requests per second about one subscriber; what is above it is found by the rule `subscriber_rate`.
        @rate subscriber_rate: Option<f64> = None,
        /// Requests about one subscriber at once; without it, one second's worth.
        @at_least(1) subscriber_burst: Option<u32> = None,
        /// With which error of MAP requests are blocked.
        error: MapFirewallError = MapFirewallError::FacilityNotSupported,
        /// With which error of MAP requests above a rate are blocked.
        rate_error: MapFirewallError = MapFirewallError::SystemFailure,
        /// Rules whose requests are written into the log whole, in hexadecimal digits, with numbers and texts of subscribers.
        mirror: Vec<MapFirewallRule> = Vec::new(),
        /// What each rule does.
        rules: MapFirewallRules = MapFirewallRules::default(),
    }
}

// === impl MapFirewallError ===

impl MapFirewallError {
    /// Its code in MAP.
    pub fn code(self) -> u8 {
        match self {
            Self::FacilityNotSupported => 21,
            Self::SystemFailure => 34,
            Self::DataMissing => 35,
            Self::UnexpectedDataValue => 36,
            Self::UnknownSubscriber => 1,
            Self::CallBarred => 13,
        }
    }
}

// === impl MapFirewallRules ===

impl MapFirewallRules {
    /// What each rule does.
    pub fn all(&self) -> [(MapFirewallRule, MapFirewallAction); 9] {
        [
            (MapFirewallRule::Title, self.title),
            (MapFirewallRule::TitleRate, self.title_rate),
            (MapFirewallRule::Operation, self.operation),
            (MapFirewallRule::WithoutRouting, self.without_routing),
            (MapFirewallRule::OtherNetwork, self.other_network),
            (MapFirewallRule::ServiceCentre, self.service_centre),
            (MapFirewallRule::Spoofed, self.spoofed),
            (MapFirewallRule::ForeignSender, self.foreign_sender),
            (MapFirewallRule::SubscriberRate, self.subscriber_rate),
        ]
    }
}
