//! The settings of a signalling point, of a MAP session and of its firewall, as `[gsm.map]` says.

use crate::config::{
    Gsm, MapConfig, MapFirewall, MapFirewallAction, MapFirewallMode, MapFirewallRule, MapRoutedBy,
    MapServingNode, MapTrafficMode,
};
use crate::firewall::{
    BlockAnswer, FirewallMode, FirewallRule, FirewallSettings, RequestRate, RuleAction,
};
use crate::map::session::{HlrAddress, MapSessionConfig};
use crate::map::{HomeSubscribers, MapVersion, ServingNode};
use crate::sigtran::{GlobalTitle, PointCode, SccpAddress, SignallingConfig, TrafficMode};

/// Subsystem number of an HLR (3GPP TS 23.003 §8.2).
const HLR: u8 = 6;

/// Our signalling point. What is missing or wrong was refused before; a node without a point code does not connect.
pub(super) fn signalling(config: &Gsm, node: u8) -> SignallingConfig {
    let map = config.map();
    let destination = PointCode(map.destination_code().unwrap_or_default());
    SignallingConfig {
        network_indicator: map.network_indicator,
        routing_context: map.routing_context,
        register: map.register,
        network_appearance: map.network_appearance,
        mode: match map.traffic_mode {
            MapTrafficMode::Loadshare => TrafficMode::Loadshare,
            MapTrafficMode::Override => TrafficMode::Override,
        },
        links: map.gateways.len().max(1),
        asp_identifier: map.asp_identifier,
        beat_every: map.beat_interval,
        beat_timeout: map.beat_timeout,
        ack_timeout: map.ack_timeout,
        max_unitdata: map.unitdata_octets,
        subsystems: subsystems(&map),
        ..SignallingConfig::new(own(&map, node), destination)
    }
}

/// What is said through it.
pub(super) fn session(config: &Gsm, node: u8) -> MapSessionConfig {
    let map = config.map();
    let own = match map.routed_by {
        MapRoutedBy::GlobalTitle => {
            let title = title(&map, config.global_title_of(node), map.translation_type);
            SccpAddress::of_title(title, map.ssn)
        }
        MapRoutedBy::Ssn => SccpAddress::of_point(own(&map, node), map.ssn),
    };
    let hlr_translation_type = map.hlr_translation_type.unwrap_or(map.translation_type);
    let hlr = match (&map.hlr, map.hlr_code()) {
        (Some(digits), _) => {
            let title = title(&map, digits.clone(), hlr_translation_type);
            HlrAddress::Fixed(SccpAddress::of_title(title, HLR))
        }
        (None, Some(code)) => HlrAddress::Fixed(SccpAddress::of_point(PointCode(code), HLR)),
        (None, None) => HlrAddress::ByMsisdn {
            translation_type: hlr_translation_type,
        },
    };
    let serving_nodes = map.serving_nodes.iter().map(|node| match node {
        MapServingNode::Msc => ServingNode::Msc,
        MapServingNode::Sgsn => ServingNode::Sgsn,
    });
    MapSessionConfig {
        hlr,
        serving_nodes: serving_nodes.collect(),
        node_translation_type: map.translation_type,
        route_cache: map.route_cache,
        short: map.timer_short,
        medium: map.timer_medium,
        long: map.timer_long,
        peer_version_memory: map.version_memory,
        max_dialogues: map.max_dialogues,
        max_incoming: map.max_incoming,
        report_delivery: map.report_delivery,
        latest: match map.version {
            1 => MapVersion::V1,
            2 => MapVersion::V2,
            _ => MapVersion::V3,
        },
        most_in_begin: map.unitdata_octets,
        home: map.home_routing.as_ref().map(|home| HomeSubscribers {
            numbers: home.numbers.clone(),
            node: config.global_title_of(node),
        }),
        ..MapSessionConfig::new(config.smsc_number(), own)
    }
}

/// The firewall in front of it.
pub(super) fn firewall(config: &Gsm, node: u8) -> FirewallSettings {
    let Some(map) = &config.map else {
        return FirewallSettings::default();
    };
    let firewall = &map.firewall;
    let mut own_titles = firewall.own_titles.clone();
    own_titles.push(config.global_title_of(node));
    own_titles.extend(map.global_titles.iter().cloned());
    let networks = firewall.networks.iter();
    let actions = firewall.rules.all();
    let actions = actions.map(|(rule, action)| (rule_of(rule), action_of(firewall, rule, action)));
    FirewallSettings {
        mode: match firewall.mode {
            MapFirewallMode::Off => FirewallMode::Off,
            MapFirewallMode::Dry => FirewallMode::Dry,
            MapFirewallMode::On => FirewallMode::On,
        },
        own_titles,
        own_numbers: firewall.own_numbers.clone(),
        visited_titles: firewall.visited_titles.clone(),
        allowed_titles: firewall.allow.clone(),
        denied_titles: firewall.deny.clone(),
        networks: networks.map(|network| network.titles.clone()).collect(),
        network_digits: firewall.network_digits,
        title_rate: rate_of(firewall.title_rate, firewall.title_burst),
        subscriber_rate: rate_of(firewall.subscriber_rate, firewall.subscriber_burst),
        actions: actions.to_vec(),
        mirrored: firewall.mirror.iter().copied().map(rule_of).collect(),
    }
}

fn rule_of(rule: MapFirewallRule) -> FirewallRule {
    match rule {
        MapFirewallRule::Title => FirewallRule::Title,
        MapFirewallRule::TitleRate => FirewallRule::TitleRate,
        MapFirewallRule::Operation => FirewallRule::Operation,
        MapFirewallRule::WithoutRouting => FirewallRule::WithoutRouting,
        MapFirewallRule::OtherNetwork => FirewallRule::OtherNetwork,
        MapFirewallRule::ServiceCentre => FirewallRule::ServiceCentre,
        MapFirewallRule::Spoofed => FirewallRule::Spoofed,
        MapFirewallRule::ForeignSender => FirewallRule::ForeignSender,
        MapFirewallRule::SubscriberRate => FirewallRule::SubscriberRate,
    }
}

fn action_of(
    firewall: &MapFirewall,
    rule: MapFirewallRule,
    action: MapFirewallAction,
) -> RuleAction {
    let error = match rule {
        MapFirewallRule::TitleRate | MapFirewallRule::SubscriberRate => firewall.rate_error,
        _ => firewall.error,
    };
    match action {
        MapFirewallAction::Block => RuleAction::Block(BlockAnswer::Error(error.code())),
        MapFirewallAction::Drop => RuleAction::Block(BlockAnswer::Drop),
        MapFirewallAction::Report => RuleAction::Report,
        MapFirewallAction::Count => RuleAction::Count,
        MapFirewallAction::Off => RuleAction::Off,
    }
}

/// A rate; without a burst that of one second.
fn rate_of(per_second: Option<f64>, burst: Option<u32>) -> Option<RequestRate> {
    per_second.map(|per_second| RequestRate {
        per_second,
        burst: burst.unwrap_or_else(|| per_second.ceil() as u32),
    })
}

/// What we are for others: with home routing, the HLR of our own subscribers as well.
fn subsystems(map: &MapConfig) -> Vec<u8> {
    let hlr = map.home_routing.as_ref().map(|_| HLR);
    std::iter::once(map.ssn).chain(hlr).collect()
}

fn own(map: &MapConfig, node: u8) -> PointCode {
    PointCode(map.point_code_of(node).unwrap_or_default())
}

fn title(map: &MapConfig, digits: String, translation_type: u8) -> GlobalTitle {
    GlobalTitle {
        translation_type,
        numbering_plan: map.numbering_plan,
        nature: map.nature,
        digits,
        ..GlobalTitle::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_firewall_knows_our_own_titles_and_each_rule_has_its_error() {
        let mut one = Gsm {
            smsc_address: "+49160000".to_owned(),
            map: Some(MapConfig::default()),
            ..Gsm::default()
        };
        assert_eq!(firewall(&one, 0).mode, FirewallMode::Off);
        one.map = Some(MapConfig {
            global_titles: ["49170000", "49170001"].map(str::to_owned).to_vec(),
            firewall: MapFirewall {
                mode: MapFirewallMode::Dry,
                own_titles: vec!["4917".to_owned()],
                title_rate: Some(0.5),
                subscriber_rate: Some(2.0),
                subscriber_burst: Some(10),
                mirror: vec![MapFirewallRule::Spoofed],
                ..MapFirewall::default()
            },
            ..MapConfig::default()
        });
        let settings = firewall(&one, 1);
        assert_eq!(settings.mode, FirewallMode::Dry);
        for title in ["4917", "49170000", "49170001"] {
            let is_own = settings.own_titles.iter().any(|own| own == title);
            assert!(is_own, "{title}: {settings:?}");
        }
        let block = |code| RuleAction::Block(BlockAnswer::Error(code));
        for (rule, action) in [
            (FirewallRule::Spoofed, block(21)),
            (FirewallRule::TitleRate, block(34)),
            (FirewallRule::ServiceCentre, RuleAction::Report),
        ] {
            assert_eq!(settings.action_of(rule), action, "{rule:?}");
        }
        // Without a burst, what comes in a second; one at least.
        let rate = |per_second, burst| Some(RequestRate { per_second, burst });
        assert_eq!(settings.title_rate, rate(0.5, 1));
        assert_eq!(settings.subscriber_rate, rate(2.0, 10));
        assert!(settings.is_mirrored(FirewallRule::Spoofed));
        // Without MAP there is none.
        assert_eq!(firewall(&Gsm::default(), 0), FirewallSettings::default());
    }
}
