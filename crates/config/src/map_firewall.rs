//! `[gsm.map.firewall]`: which requests of a signalling network are let in.
//!
//! The rules are those of `smsc-firewall`; the interface to the network compiles this into its settings, also while it
//! is connected.

use super::map::MAX_TITLE;
use super::section::settings;

settings! {
    /// What the firewall does.
    pub enum MapFirewallMode {
        /// Everything passes, and nothing is counted.
        Off = "off",
        /// Everything passes; what would be blocked is counted and reported.
        Dry = "dry",
        /// The rules apply.
        On = "on",
    }

    /// What happens to a request that a rule matches.
    pub enum MapFirewallAction {
        /// Refused with a MAP error, counted and reported.
        Block = "block",
        /// Not answered; counted and reported.
        Drop = "drop",
        /// Passes; counted and reported.
        Report = "report",
        /// Passes; counted.
        Count = "count",
        /// The rule does not apply.
        Off = "off",
    }

    /// MAP error for a blocked request (3GPP TS 29.002 §17.6.6).
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

    /// `[gsm.map.firewall.rules]`: action of each rule.
    pub struct MapFirewallRules {
        /// A global title that `deny` has or `allow` lacks.
        title: MapFirewallAction = MapFirewallAction::Block,
        /// Requests of one global title above `title_rate`.
        title_rate: MapFirewallAction = MapFirewallAction::Block,
        /// An operation unrelated to short messages, such as sendIMSI or anyTimeInterrogation: FS.11, category 1.
        operation: MapFirewallAction = MapFirewallAction::Block,
        /// mt-ForwardSM for our subscriber without sendRoutingInfoForSM before.
        without_routing: MapFirewallAction = MapFirewallAction::Block,
        /// mt-ForwardSM for our subscriber from another network than the one that asked for the routing.
        other_network: MapFirewallAction = MapFirewallAction::Block,
        /// A service centre's number of another network than its global title. Some hubs send so for others.
        service_centre: MapFirewallAction = MapFirewallAction::Report,
        /// A sender number of ours from outside: in a handset's message from a network not in `visited_titles`, or in a message for a handset from another network. FS.11, category 3.
        spoofed: MapFirewallAction = MapFirewallAction::Block,
        /// A handset's message from a number not in `own_numbers`.
        foreign_sender: MapFirewallAction = MapFirewallAction::Block,
        /// Requests about one subscriber above `subscriber_rate`.
        subscriber_rate: MapFirewallAction = MapFirewallAction::Block,
    }

    /// `[[gsm.map.firewall.networks]]`: a network with several prefixes of global titles.
    pub struct MapFirewallNetwork {
        /// Name of the network in reports.
        name: String = String::new(),
        /// First digits of its global titles, in international form.
        @digits(MAX_TITLE)
        titles: Vec<String> = Vec::new(),
    }

    /// `[gsm.map.firewall]`: filter for requests of the signalling network, after GSMA FS.11 and IR.70. Changes need no reconnect.
    pub struct MapFirewall {
        /// Whether the firewall acts; `dry` only reports.
        mode: MapFirewallMode = MapFirewallMode::Off,
        /// First digits of our network's global titles, in international form; our own titles are included.
        @digits(MAX_TITLE)
        own_titles: Vec<String> = Vec::new(),
        /// First digits of our subscribers' numbers, in international form; `spoofed` and `foreign_sender` need them.
        @digits(MAX_TITLE)
        own_numbers: Vec<String> = Vec::new(),
        /// First digits of the global titles where our subscribers roam; without any, everywhere.
        @digits(MAX_TITLE)
        visited_titles: Vec<String> = Vec::new(),
        /// First digits of global titles that may send requests; without any, all.
        @digits(MAX_TITLE)
        allow: Vec<String> = Vec::new(),
        /// First digits of global titles that may not; the longer match of both lists wins.
        @digits(MAX_TITLE)
        deny: Vec<String> = Vec::new(),
        /// Networks with several prefixes of global titles.
        networks: Vec<MapFirewallNetwork> = Vec::new(),
        /// Number of first digits that identify the network of all other global titles.
        @between(1, 15) network_digits: usize = 5,
        /// Requests per second of one global title (rule `title_rate`).
        @rate title_rate: Option<f64> = None,
        /// Burst of one global title; without it, one second's worth.
        @at_least(1) title_burst: Option<u32> = None,
        /// Requests per second about one subscriber (rule `subscriber_rate`).
        @rate subscriber_rate: Option<f64> = None,
        /// Burst about one subscriber; without it, one second's worth.
        @at_least(1) subscriber_burst: Option<u32> = None,
        /// MAP error for blocked requests.
        error: MapFirewallError = MapFirewallError::FacilityNotSupported,
        /// MAP error for requests above a rate.
        rate_error: MapFirewallError = MapFirewallError::SystemFailure,
        /// Rules whose requests are logged in full, in hexadecimal, with subscribers' numbers and texts.
        mirror: Vec<MapFirewallRule> = Vec::new(),
        /// Action of each rule.
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
