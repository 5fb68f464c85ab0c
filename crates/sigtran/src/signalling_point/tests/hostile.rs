//! Gateways and peers that mean harm, or do it.

use proptest::prelude::*;

use super::*;
use crate::sccp::tests::any_message;
use crate::sccp::{SccpForm, Segmentation};

#[test]
fn mistakes_are_told_and_answered_once_a_second() {
    let mut scene = Scene::active(1, TrafficMode::Override);
    for _ in 0..1_000 {
        scene.point.received(
            0,
            &Bytes::from_static(b"\x01\0\x01\x01\0\0\0\x08\0\0"),
            scene.now,
        );
    }
    scene.settle();
    assert_eq!(scene.events().len(), 1);
    assert_eq!(scene.kinds(0), [M3uaKind::ERR]);
    scene.seconds(1);
    scene.hear(0, M3uaMessage::new(M3uaKind::DAUD));
    let events = scene.events();
    let [SignallingEvent::LinkFault { why, .. }] = &events[..] else {
        panic!("{events:?}");
    };
    assert!(why.contains("999 faults more"), "{why}");
    assert!(scene.point.is_active());
}

#[test]
fn a_complaint_is_never_answered() {
    let mut scene = Scene::active(1, TrafficMode::Override);
    for octets in [
        // A complaint that ends too early, and one of no code.
        &b"\x01\0\0\0\0\0\0\x0C\0\x0C\0\x09"[..],
        &b"\x01\0\0\0\0\0\0\x08"[..],
    ] {
        scene.seconds(1);
        scene
            .point
            .received(0, &Bytes::from_static(octets), scene.now);
        scene.settle();
        assert_eq!(scene.kinds(0), []);
        assert_eq!(scene.events().len(), 1);
    }
}

#[test]
fn a_gateway_that_says_down_without_end_fills_nothing() {
    let mut scene = Scene::active(1, TrafficMode::Override);
    for kind in [
        M3uaKind::ASPDN_ACK,
        M3uaKind::ASPDN,
        M3uaKind::ASPIA,
        M3uaKind::ASPIA_ACK,
    ] {
        for _ in 0..1_000 {
            scene.hear(0, M3uaMessage::new(kind));
        }
    }
    for _ in 0..1_000 {
        scene.notify(0, ApplicationStatus::AlternateActive);
        scene.notify(0, ApplicationStatus::Pending);
        scene.complain(0, M3uaErrorCode::MANAGEMENT_BLOCKING);
    }
    let events = scene.events();
    assert!(events.len() <= 4, "{events:?}");
}

#[test]
fn an_endless_list_of_destinations_is_quick_and_bounded() {
    let mut scene = Scene::active(1, TrafficMode::Override);
    let all = vec![14 << 24; 16_000];
    for kind in [
        M3uaKind::DUNA,
        M3uaKind::SCON,
        M3uaKind::DUPU,
        M3uaKind::DAVA,
    ] {
        let affected = M3uaParameter::numbers(tag::AFFECTED_POINT_CODE, &all);
        let user = Some(u32::from(SERVICE_SCCP));
        let message = M3uaMessage::new(kind)
            .with(affected)
            .with_number(tag::USER_CAUSE, user);
        for _ in 0..20 {
            scene.hear(0, message.clone());
        }
    }
    // One for each SCON, and to and fro for the rest.
    let events = scene.events();
    assert!(events.len() <= 24, "{}", events.len());
    assert!(scene.send(0).is_ok());
}

#[test]
fn of_a_list_of_destinations_the_first_thousand_count() {
    let mut scene = Scene::active(1, TrafficMode::Override);
    for (before, is_seen) in [(1_024, false), (1_023, true)] {
        let mut list = vec![PEER.0; before];
        list.push(STP.0);
        let affected = M3uaParameter::numbers(tag::AFFECTED_POINT_CODE, &list);
        scene.hear(0, M3uaMessage::new(M3uaKind::DUNA).with(affected));
        assert_eq!(scene.send(0).is_err(), is_seen);
    }
}

#[test]
fn a_hundred_thousand_messages_that_never_end_stay_within_the_bound() {
    let mut scene = Scene::active(1, TrafficMode::Override);
    let segment = |reference, is_first, remaining, data: &'static [u8]| {
        let message = SccpMessage {
            form: SccpForm::Extended,
            segmentation: Some(Segmentation {
                is_first,
                in_order: false,
                remaining,
                reference,
            }),
            ..SccpMessage::unitdata(smsc(), peer(), Bytes::from_static(data))
        };
        message.encode().unwrap()
    };
    for reference in 0..100_000 {
        scene.hear_sccp(0, PEER, segment(reference, true, 15, &[0; 200]));
        assert!(scene.point.reassemblies() <= 1_024);
    }
    assert_eq!(scene.point.reassemblies(), 1_024);
    assert_eq!(scene.events(), []);
    // An honest one in the middle of it.
    scene.hear_sccp(0, PEER, segment(200_000, true, 1, b"hello "));
    scene.hear_sccp(0, PEER, segment(200_001, true, 15, &[0; 200]));
    scene.hear_sccp(0, PEER, segment(200_000, false, 0, b"you"));
    let events = scene.events();
    let [SignallingEvent::Unitdata(unitdata)] = &events[..] else {
        panic!("{events:?}");
    };
    assert_eq!(unitdata.data, "hello you");
    scene.seconds(11);
    assert_eq!(scene.point.reassemblies(), 0);
}

#[test]
fn messages_of_links_that_are_not_there_are_passed_over() {
    let mut scene = Scene::new(|_| {});
    scene.hear(0, M3uaMessage::new(M3uaKind::ASPUP_ACK));
    scene.hear(7, M3uaMessage::new(M3uaKind::ASPUP_ACK));
    scene.connect(7);
    scene.close(7);
    assert!(scene.events().is_empty() && scene.said.is_empty());
}

/// What a gateway may do to us.
#[derive(Debug, Clone)]
enum Deed {
    Connect(usize),
    Close(usize),
    Say(usize, M3uaKind, Option<u32>, Option<u32>),
    Octets(usize, Vec<u8>),
    /// A message of SCCP, of which one octet is another.
    Sccp(usize, Box<SccpMessage>, prop::sample::Index, u8),
    Wait(u64),
    Send(u32),
    Stop,
}

fn any_deed() -> impl Strategy<Value = Deed> {
    let kinds = vec![
        M3uaKind::ERR,
        M3uaKind::NTFY,
        M3uaKind::DATA,
        M3uaKind::DUNA,
        M3uaKind::DAVA,
        M3uaKind::SCON,
        M3uaKind::DUPU,
        M3uaKind::ASPUP_ACK,
        M3uaKind::ASPDN_ACK,
        M3uaKind::BEAT_ACK,
        M3uaKind::ASPAC_ACK,
        M3uaKind::ASPIA_ACK,
        M3uaKind::ASPUP,
        M3uaKind::ASPDN,
        M3uaKind::ASPIA,
        M3uaKind::REG_RSP,
    ];
    let link = 0_usize..3;
    let status = prop::sample::select(vec![0x1_0002, 0x1_0003, 0x1_0004, 0x2_0001, 0x2_0002]);
    let say = (
        link.clone(),
        prop::sample::select(kinds),
        proptest::option::of(status),
        proptest::option::of(0_u32..0x1C),
    );
    let index = any::<prop::sample::Index>();
    let sccp = (link.clone(), any_message(), index, any::<u8>());
    prop_oneof![
        4 => link.clone().prop_map(Deed::Connect),
        1 => link.clone().prop_map(Deed::Close),
        20 => say.prop_map(|(link, kind, status, code)| Deed::Say(link, kind, status, code)),
        2 => (link, any::<Vec<u8>>()).prop_map(|(link, octets)| Deed::Octets(link, octets)),
        8 => sccp.prop_map(|(link, message, at, octet)| Deed::Sccp(link, Box::new(message), at, octet)),
        4 => (0_u64..40_000).prop_map(Deed::Wait),
        4 => any::<u32>().prop_map(Deed::Send),
        1 => Just(Deed::Stop),
    ]
}

proptest! {
    #[test]
    fn whatever_gateways_do_traffic_goes_over_active_links_only(
        deeds in prop::collection::vec(any_deed(), 0..120),
        is_loadshare: bool,
        register: bool,
    ) {
        let mut scene = Scene::new(|config| {
            config.links = 2;
            config.register = register;
            if is_loadshare {
                config.mode = TrafficMode::Loadshare;
            }
        });
        for deed in deeds {
            match deed {
                Deed::Connect(link) => scene.connect(link),
                Deed::Close(link) => scene.close(link),
                Deed::Say(link, kind, status, code) => {
                    let message = M3uaMessage::new(kind)
                        .with_number(tag::STATUS, status)
                        .with_number(tag::ERROR_CODE, code)
                        .with_number(tag::AFFECTED_POINT_CODE, Some(STP.0));
                    scene.hear(link, message);
                }
                Deed::Octets(link, octets) => {
                    scene.point.received(link, &octets.into(), scene.now);
                    scene.settle();
                }
                Deed::Sccp(link, message, at, octet) => {
                    let mut octets = message.encode().unwrap().to_vec();
                    let at = at.index(octets.len());
                    octets[at] = octet;
                    scene.hear_sccp(link, PEER, message.encode().unwrap());
                    scene.hear_sccp(link, PEER, octets.into());
                }
                Deed::Wait(milliseconds) => scene.pass(Duration::from_millis(milliseconds)),
                Deed::Send(sequence) => {
                    let is_active = scene.point.is_active();
                    let sent = scene.send(sequence);
                    prop_assert!(is_active || sent == Err(SignallingUnavailable::Inactive));
                }
                Deed::Stop => scene.point.stop(scene.now),
            }
            scene.settle();
            let states = scene.states();
            prop_assert_eq!(scene.point.is_active(), states.contains(&LinkState::Active));
            if !is_loadshare {
                let active = states.iter().filter(|state| **state == LinkState::Active);
                prop_assert!(active.count() <= 1);
            }
            for (link, stream, message) in std::mem::take(&mut scene.said) {
                prop_assert_eq!(stream == 0, message.kind != M3uaKind::DATA);
                prop_assert!(link < 2);
            }
        }
    }
}
