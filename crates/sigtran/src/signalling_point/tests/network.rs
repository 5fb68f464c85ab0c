//! What gateways say about destinations (RFC 4666 §3.4, §4.5).

use super::*;

#[test]
fn nothing_goes_where_the_only_gateway_cannot_reach() {
    let mut scene = Scene::active(1, TrafficMode::Override);
    scene.hear(0, affecting(M3uaKind::DUNA, STP));
    assert_eq!(
        scene.events(),
        [SignallingEvent::DestinationUnavailable(STP)]
    );
    assert_eq!(scene.send(0), Err(SignallingUnavailable::Destination(STP)));
    let other = request(SccpAddress::of_point(PEER, ssn::MSC));
    assert!(scene.point.send(&other, scene.now).is_ok());
    scene.hear(0, affecting(M3uaKind::DUNA, STP));
    assert_eq!(scene.events(), []);
    // Whom we wrote to once is told of as well.
    scene.hear(0, affecting(M3uaKind::DUNA, PEER));
    assert_eq!(
        scene.events(),
        [SignallingEvent::DestinationUnavailable(PEER)]
    );
    let sent = scene.point.send(&other, scene.now);
    assert_eq!(sent, Err(SignallingUnavailable::Destination(PEER)));
    for kind in [M3uaKind::DAVA, M3uaKind::DRST] {
        scene.hear(0, affecting(kind, STP));
        assert_eq!(scene.events(), [SignallingEvent::DestinationAvailable(STP)]);
        assert!(scene.send(0).is_ok());
        scene.hear(0, affecting(M3uaKind::DUNA, STP));
        scene.events();
    }
}

#[test]
fn another_gateway_reaches_what_this_one_does_not() {
    let mut scene = Scene::active(2, TrafficMode::Loadshare);
    scene.hear(0, affecting(M3uaKind::DUNA, STP));
    assert_eq!(scene.events(), []);
    scene.said.clear();
    for sequence in 0..16 {
        scene.send(sequence).unwrap();
    }
    assert_eq!(scene.kinds(1), [M3uaKind::DATA; 16]);
    scene.hear(1, affecting(M3uaKind::DUNA, STP));
    assert_eq!(
        scene.events(),
        [SignallingEvent::DestinationUnavailable(STP)]
    );
    scene.hear(0, affecting(M3uaKind::DAVA, STP));
    assert_eq!(scene.events(), [SignallingEvent::DestinationAvailable(STP)]);
    // The gateway that reaches it dies.
    scene.close(0);
    assert_eq!(
        scene.events(),
        [SignallingEvent::DestinationUnavailable(STP)]
    );
}

#[test]
fn what_is_not_available_is_asked_for_and_a_new_link_knows_nothing_bad() {
    let mut scene = Scene::active(1, TrafficMode::Override);
    scene.hear(0, affecting(M3uaKind::DUNA, STP));
    scene.hear(0, affecting(M3uaKind::DUNA, PEER));
    scene.kinds(0);
    scene.seconds(30);
    let said = scene.messages(0);
    let audit: Vec<&M3uaMessage> = said
        .iter()
        .filter(|one| one.kind == M3uaKind::DAUD)
        .collect();
    // Nobody wrote to the other one.
    assert_eq!(audit, [&affecting(M3uaKind::DAUD, STP)]);
    scene.close(0);
    scene.events();
    scene.come_up(0);
    scene.hear(0, M3uaMessage::new(M3uaKind::ASPAC_ACK));
    assert_eq!(
        scene.events(),
        [
            SignallingEvent::Active,
            SignallingEvent::DestinationAvailable(STP)
        ]
    );
    assert!(scene.send(0).is_ok());
}

#[test]
fn congestion_is_told_and_ends() {
    let mut scene = Scene::active(1, TrafficMode::Override);
    let congested = |level| affecting(M3uaKind::SCON, STP).with_number(tag::CONGESTION, level);
    for (said, told) in [(Some(2), 2), (Some(9), 3), (None, 1), (Some(0), 0)] {
        scene.hear(0, congested(said));
        assert_eq!(
            scene.events(),
            [SignallingEvent::DestinationCongested(STP, told)]
        );
        assert_eq!(scene.point.congestion(STP), told);
    }
    scene.hear(0, affecting(M3uaKind::SCON, PEER));
    assert_eq!(scene.events(), []);
    scene.hear(0, congested(Some(1)));
    scene.events();
    scene.seconds(10);
    assert_eq!(
        scene.events(),
        [SignallingEvent::DestinationCongested(STP, 0)]
    );
    assert!(scene.send(0).is_ok());
}

#[test]
fn where_nobody_speaks_sccp_nothing_goes_for_a_while() {
    let mut scene = Scene::active(1, TrafficMode::Override);
    // §3.4.5: the cause, and user 3; ISUP is none of our business.
    let missing = |user| affecting(M3uaKind::DUPU, STP).with_number(tag::USER_CAUSE, Some(user));
    scene.hear(0, missing(0x0001_0005));
    assert_eq!(scene.events(), []);
    scene.hear(0, missing(0x0001_0003));
    assert_eq!(
        scene.events(),
        [SignallingEvent::DestinationUnavailable(STP)]
    );
    scene.seconds(10);
    assert_eq!(scene.events(), [SignallingEvent::DestinationAvailable(STP)]);
}
