//! The settings of a signalling point and of a MAP session, as `[gsm.map]` says.

use crate::config::{Gsm, MapConfig, MapRoutedBy, MapServingNode, MapTrafficMode};
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
