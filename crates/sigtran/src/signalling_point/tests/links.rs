//! Links: up, registered, active; refused, overridden, dead.

use super::*;

#[test]
fn a_link_comes_up_and_becomes_active() {
    // RFC 4666 §4.3.4.1, §4.3.4.3.
    let mut scene = Scene::new(|config| {
        config.asp_identifier = Some(3);
        config.routing_context = Some(7);
    });
    assert_eq!(scene.states(), [LinkState::Closed]);
    scene.connect(0);
    let up = M3uaMessage::new(M3uaKind::ASPUP).with_number(tag::ASP_IDENTIFIER, Some(3));
    assert_eq!(scene.messages(0), [up]);
    assert_eq!(scene.states(), [LinkState::Down]);
    scene.hear(0, M3uaMessage::new(M3uaKind::ASPUP_ACK));
    let active = M3uaMessage::new(M3uaKind::ASPAC)
        .with_number(tag::TRAFFIC_MODE, Some(1))
        .with_number(tag::ROUTING_CONTEXT, Some(7));
    assert_eq!(scene.messages(0), std::slice::from_ref(&active));
    assert_eq!(scene.states(), [LinkState::Inactive]);
    assert_eq!(scene.send(0), Err(SignallingUnavailable::Inactive));
    // What osmo-stp says between the two.
    scene.notify(0, ApplicationStatus::Inactive);
    assert_eq!(scene.events(), []);
    let mut ack = active;
    ack.kind = M3uaKind::ASPAC_ACK;
    scene.hear(0, ack);
    scene.notify(0, ApplicationStatus::Active);
    assert_eq!(scene.events(), [SignallingEvent::Active]);
    assert_eq!(scene.states(), [LinkState::Active]);
    assert!(scene.send(0).is_ok());
    assert_eq!(scene.kinds(0), [M3uaKind::DATA]);
}

#[test]
fn questions_are_asked_again_and_a_silent_gateway_is_cut() {
    let mut scene = Scene::new(|_| {});
    scene.connect(0);
    scene.seconds(9);
    assert_eq!(scene.kinds(0), [M3uaKind::ASPUP; 5]);
    assert_eq!(scene.events(), []);
    scene.seconds(1);
    let why = "no answer to ASPUP".to_owned();
    assert_eq!(
        scene.events(),
        [SignallingEvent::LinkToClose { link: 0, why }]
    );
    scene.seconds(60);
    assert_eq!(scene.kinds(0), []);
    assert_eq!(scene.states(), [LinkState::Closed]);
    let view = &scene.point.links()[0];
    assert_eq!(view.last_error.as_deref(), Some("no answer to ASPUP"));
    // The next connection is a new one.
    scene.close(0);
    scene.come_up(0);
    assert_eq!(scene.kinds(0), [M3uaKind::ASPUP, M3uaKind::ASPAC]);
}

#[test]
fn an_aspac_without_an_answer_starts_again_from_aspup() {
    let mut scene = Scene::new(|config| config.beat_every = Duration::ZERO);
    scene.come_up(0);
    scene.seconds(10);
    assert_eq!(
        scene.kinds(0),
        [
            M3uaKind::ASPUP,
            M3uaKind::ASPAC,
            M3uaKind::ASPAC,
            M3uaKind::ASPAC,
            M3uaKind::ASPUP,
            M3uaKind::ASPUP,
        ]
    );
}

#[test]
fn the_second_answer_to_a_repeated_question_changes_nothing() {
    let mut scene = Scene::new(|_| {});
    scene.connect(0);
    scene.seconds(2);
    assert_eq!(scene.kinds(0), [M3uaKind::ASPUP; 2]);
    scene.hear(0, M3uaMessage::new(M3uaKind::ASPUP_ACK));
    scene.hear(0, M3uaMessage::new(M3uaKind::ASPUP_ACK));
    assert_eq!(scene.kinds(0), [M3uaKind::ASPAC]);
    scene.hear(0, M3uaMessage::new(M3uaKind::ASPAC_ACK));
    assert_eq!(scene.events(), [SignallingEvent::Active]);
}

/// A result of a registration (RFC 4666 §3.6.2).
fn registration(status: u32, context: u32) -> M3uaMessage {
    let result = [
        M3uaParameter::number(tag::LOCAL_ROUTING_KEY, 1),
        M3uaParameter::number(tag::REGISTRATION_STATUS, status),
        M3uaParameter::number(tag::ROUTING_CONTEXT, context),
    ];
    let result = M3uaParameter::group(tag::REGISTRATION_RESULT, &result).unwrap();
    M3uaMessage::new(M3uaKind::REG_RSP).with(result)
}

/// The tags of the key in a registration.
fn key_of(message: &M3uaMessage) -> Vec<u16> {
    assert_eq!(message.kind, M3uaKind::REG_REQ);
    let key = message.parameter(tag::ROUTING_KEY).unwrap();
    key.as_group()
        .unwrap()
        .iter()
        .map(|parameter| parameter.tag)
        .collect()
}

#[test]
fn a_routing_context_is_asked_for_and_used() {
    let mut scene = Scene::new(|config| config.register = true);
    scene.come_up(0);
    let said = scene.messages(0);
    assert_eq!(
        key_of(&said[1]),
        [
            tag::LOCAL_ROUTING_KEY,
            tag::TRAFFIC_MODE,
            tag::DESTINATION_POINT_CODE,
            tag::SERVICE_INDICATORS
        ]
    );
    scene.hear(0, registration(0, 42));
    let active = scene.messages(0);
    assert_eq!(active[0].kind, M3uaKind::ASPAC);
    assert_eq!(active[0].number(tag::ROUTING_CONTEXT), Some(42));
    scene.hear(0, M3uaMessage::new(M3uaKind::ASPAC_ACK));
    scene.send(0).unwrap();
    let data = scene.messages(0);
    assert_eq!(data[0].number(tag::ROUTING_CONTEXT), Some(42));
}

#[test]
fn a_gateway_that_takes_only_a_point_code_as_a_key_gets_one() {
    // osmo-stp knows no service indicators in keys.
    let mut scene = Scene::new(|config| config.register = true);
    scene.come_up(0);
    scene.messages(0);
    scene.hear(0, registration(9, 0));
    let again = scene.messages(0);
    assert!(!key_of(&again[0]).contains(&tag::SERVICE_INDICATORS));
    scene.hear(0, registration(0, 5));
    assert_eq!(scene.kinds(0), [M3uaKind::ASPAC]);
}

#[test]
fn a_registration_that_the_gateway_kept_is_used_again() {
    let mut scene = Scene::new(|config| config.register = true);
    scene.come_up(0);
    scene.hear(0, registration(0, 42));
    scene.hear(0, M3uaMessage::new(M3uaKind::ASPAC_ACK));
    scene.complain(0, M3uaErrorCode::UNEXPECTED_MESSAGE);
    scene.seconds(2);
    scene.kinds(0);
    scene.hear(0, M3uaMessage::new(M3uaKind::ASPUP_ACK));
    assert_eq!(scene.kinds(0), [M3uaKind::REG_REQ]);
    // "Already registered" names no context.
    scene.hear(0, registration(12, 0));
    let said = scene.messages(0);
    assert_eq!(said[0].kind, M3uaKind::ASPAC);
    assert_eq!(said[0].number(tag::ROUTING_CONTEXT), Some(42));
}

#[test]
fn a_registration_of_which_nobody_knows_the_context_needs_a_new_connection() {
    let mut scene = Scene::new(|config| config.register = true);
    scene.come_up(0);
    scene.hear(0, registration(12, 0));
    let events = scene.events();
    assert!(
        matches!(events[..], [SignallingEvent::LinkToClose { link: 0, .. }]),
        "{events:?}"
    );
    assert_eq!(scene.states(), [LinkState::Closed]);
}

#[test]
fn a_refused_registration_is_tried_again_after_pauses_that_grow() {
    let mut scene = Scene::new(|config| {
        config.register = true;
        config.beat_every = Duration::ZERO;
    });
    scene.come_up(0);
    scene.kinds(0);
    scene.hear(0, registration(5, 0));
    let why = "not registered: permission denied".to_owned();
    assert_eq!(
        scene.events(),
        [SignallingEvent::LinkFault { link: 0, why }]
    );
    for pause in [2, 4, 8] {
        scene.pass(Duration::from_millis(pause * 1_000 - 100));
        assert_eq!(scene.kinds(0), [], "{pause}");
        scene.pass(Duration::from_millis(100));
        assert_eq!(scene.kinds(0), [M3uaKind::ASPUP]);
        scene.hear(0, M3uaMessage::new(M3uaKind::ASPUP_ACK));
        assert_eq!(scene.kinds(0), [M3uaKind::REG_REQ]);
        scene.hear(0, registration(5, 0));
    }
}

#[test]
fn a_gateway_that_knows_no_registration_still_takes_us() {
    for answer in [
        Some(M3uaErrorCode::UNSUPPORTED_CLASS),
        Some(M3uaErrorCode::UNSUPPORTED_TYPE),
        None,
    ] {
        let mut scene = Scene::new(|config| config.register = true);
        scene.come_up(0);
        scene.kinds(0);
        match answer {
            Some(code) => scene.complain(0, code),
            None => scene.seconds(6),
        }
        let last = scene.messages(0).pop().unwrap();
        assert_eq!(last.kind, M3uaKind::ASPAC);
        assert_eq!(last.number(tag::ROUTING_CONTEXT), None);
    }
}

#[test]
fn beats_are_answered_and_sent() {
    let mut scene = Scene::active(1, TrafficMode::Override);
    let beat = M3uaMessage::new(M3uaKind::BEAT)
        .with(M3uaParameter::new(tag::HEARTBEAT, &b"are you there"[..]));
    scene.hear(0, beat.clone());
    let mut ack = beat;
    ack.kind = M3uaKind::BEAT_ACK;
    assert_eq!(scene.messages(0), [ack]);
    for _ in 0..5 {
        scene.seconds(30);
        let mut beat = scene.messages(0);
        assert_eq!(beat.len(), 1);
        beat[0].kind = M3uaKind::BEAT_ACK;
        scene.hear(0, beat.remove(0));
    }
    assert_eq!(scene.events(), []);
}

#[test]
fn a_beat_without_its_answer_cuts_the_link() {
    let mut scene = Scene::active(1, TrafficMode::Override);
    scene.seconds(30);
    assert_eq!(scene.kinds(0), [M3uaKind::BEAT]);
    // The answer to another beat is none.
    let other = M3uaParameter::new(tag::HEARTBEAT, &b"12345678"[..]);
    scene.hear(0, M3uaMessage::new(M3uaKind::BEAT_ACK).with(other));
    scene.hear(0, M3uaMessage::new(M3uaKind::BEAT_ACK));
    scene.seconds(9);
    assert!(scene.point.is_active());
    scene.seconds(1);
    let why = "no answer to BEAT".to_owned();
    assert_eq!(
        scene.events(),
        [
            SignallingEvent::LinkToClose {
                link: 0,
                why: why.clone()
            },
            SignallingEvent::Inactive(why),
        ]
    );
    assert_eq!(scene.send(0), Err(SignallingUnavailable::Inactive));
    // What still comes is not looked at.
    scene.hear(0, M3uaMessage::new(M3uaKind::BEAT));
    assert_eq!(scene.kinds(0), []);
}

#[test]
fn a_refused_aspup_is_repeated_after_a_pause() {
    let mut scene = Scene::new(|_| {});
    scene.connect(0);
    scene.complain(0, M3uaErrorCode::MANAGEMENT_BLOCKING);
    let why = "the gateway says: refused: management blocking".to_owned();
    assert_eq!(
        scene.events(),
        [SignallingEvent::LinkFault { link: 0, why }]
    );
    scene.kinds(0);
    scene.seconds(2);
    assert_eq!(scene.kinds(0), [M3uaKind::ASPUP]);
}

#[test]
fn errors_that_only_the_administrator_can_mend_cut_the_link() {
    for code in [
        M3uaErrorCode::INVALID_VERSION,
        M3uaErrorCode::ASP_IDENTIFIER_REQUIRED,
        M3uaErrorCode::INVALID_ASP_IDENTIFIER,
    ] {
        let mut scene = Scene::new(|_| {});
        scene.connect(0);
        scene.complain(0, code);
        let why = format!("the gateway says: {code}");
        assert_eq!(
            scene.events(),
            [SignallingEvent::LinkToClose { link: 0, why }]
        );
    }
}

#[test]
fn a_refused_aspac_is_repeated_after_pauses_that_grow() {
    let mut scene = Scene::new(|config| config.beat_every = Duration::ZERO);
    scene.come_up(0);
    scene.kinds(0);
    for pause in [2, 4, 8, 16, 32, 60, 60] {
        scene.complain(0, M3uaErrorCode::INVALID_ROUTING_CONTEXT);
        assert_eq!(scene.states(), [LinkState::Inactive]);
        scene.pass(Duration::from_millis(pause * 1_000 - 100));
        assert_eq!(scene.kinds(0), [], "{pause}");
        scene.pass(Duration::from_millis(100));
        assert_eq!(scene.kinds(0), [M3uaKind::ASPAC]);
    }
    scene.hear(0, M3uaMessage::new(M3uaKind::ASPAC_ACK));
    assert!(scene.point.is_active());
    assert_eq!(scene.point.links()[0].last_error, None);
    // What went well for a while is forgiven.
    scene.seconds(61);
    scene.hear(0, M3uaMessage::new(M3uaKind::ASPIA_ACK));
    scene.seconds(2);
    assert_eq!(scene.kinds(0), [M3uaKind::ASPAC]);
}

#[test]
fn a_gateway_that_forgot_us_gets_us_again() {
    for code in [
        M3uaErrorCode::UNEXPECTED_MESSAGE,
        M3uaErrorCode::INVALID_ROUTING_CONTEXT,
        M3uaErrorCode::NO_APPLICATION_SERVER,
    ] {
        let mut scene = Scene::active(1, TrafficMode::Override);
        scene.complain(0, code);
        assert!(!scene.point.is_active());
        scene.seconds(2);
        assert_eq!(scene.kinds(0), [M3uaKind::ASPUP]);
        scene.hear(0, M3uaMessage::new(M3uaKind::ASPUP_ACK));
        // §4.3.4.1: it says so because it had us as active; that is in order.
        scene.complain(0, M3uaErrorCode::UNEXPECTED_MESSAGE);
        scene.hear(0, M3uaMessage::new(M3uaKind::ASPAC_ACK));
        assert!(scene.point.is_active());
    }
}

#[test]
fn a_complaint_about_an_audit_changes_nothing() {
    let mut scene = Scene::active(1, TrafficMode::Override);
    let about = M3uaParameter::new(tag::DIAGNOSTIC, &b"\x01\0\x02\x03"[..]);
    let message = M3uaMessage::new(M3uaKind::ERR)
        .with_number(tag::ERROR_CODE, Some(M3uaErrorCode::UNEXPECTED_MESSAGE.0));
    scene.hear(0, message.with(about));
    scene.complain(0, M3uaErrorCode::DESTINATION_UNKNOWN);
    scene.complain(0, M3uaErrorCode::PROTOCOL_ERROR);
    assert!(scene.point.is_active());
    let faults = scene.events();
    assert_eq!(faults.len(), 1, "{faults:?}");
}

#[test]
fn what_takes_us_down_or_off_is_followed_and_mended() {
    // §4.3.4.2, §4.3.4.4: acknowledgements that nobody asked for; and a peer that is no gateway.
    for (kind, answer, next, state) in [
        (M3uaKind::ASPDN_ACK, None, M3uaKind::ASPUP, LinkState::Down),
        (
            M3uaKind::ASPIA_ACK,
            None,
            M3uaKind::ASPAC,
            LinkState::Inactive,
        ),
        (
            M3uaKind::ASPDN,
            Some(M3uaKind::ASPDN_ACK),
            M3uaKind::ASPUP,
            LinkState::Down,
        ),
        (
            M3uaKind::ASPIA,
            Some(M3uaKind::ASPIA_ACK),
            M3uaKind::ASPAC,
            LinkState::Inactive,
        ),
    ] {
        let mut scene = Scene::active(1, TrafficMode::Override);
        scene.hear(0, M3uaMessage::new(kind));
        assert_eq!(scene.states(), [state], "{kind}");
        assert_eq!(scene.kinds(0), Vec::from_iter(answer));
        let events = scene.events();
        assert!(matches!(
            events[..],
            [
                SignallingEvent::LinkFault { .. },
                SignallingEvent::Inactive(_)
            ]
        ));
        scene.seconds(2);
        assert_eq!(scene.kinds(0), [next], "{kind}");
    }
}

#[test]
fn an_unexpected_aspup_ack_is_followed_by_aspac() {
    // §4.3.4.1.
    let mut scene = Scene::active(1, TrafficMode::Override);
    scene.hear(0, M3uaMessage::new(M3uaKind::ASPUP_ACK));
    assert_eq!(scene.kinds(0), [M3uaKind::ERR, M3uaKind::ASPAC]);
    assert!(!scene.point.is_active());
    scene.hear(0, M3uaMessage::new(M3uaKind::ASPAC_ACK));
    assert!(scene.point.is_active());
}

#[test]
fn an_application_server_that_is_pending_is_activated_at_once_and_then_at_leisure() {
    let mut scene = Scene::active(1, TrafficMode::Loadshare);
    scene.notify(0, ApplicationStatus::Pending);
    assert_eq!(scene.kinds(0), [M3uaKind::ASPAC]);
    assert!(!scene.point.is_active());
    scene.hear(0, M3uaMessage::new(M3uaKind::ASPAC_ACK));
    scene.notify(0, ApplicationStatus::Inactive);
    assert_eq!(scene.kinds(0), []);
    scene.seconds(4);
    assert_eq!(scene.kinds(0), [M3uaKind::ASPAC]);
}

#[test]
fn what_is_said_of_another_application_server_is_not_for_us() {
    let mut scene = Scene::new(|config| config.routing_context = Some(7));
    scene.come_up(0);
    let other = |kind| M3uaMessage::new(kind).with_number(tag::ROUTING_CONTEXT, Some(8));
    scene.hear(0, other(M3uaKind::ASPAC_ACK));
    assert!(!scene.point.is_active());
    let both = M3uaParameter::numbers(tag::ROUTING_CONTEXT, &[8, 7]);
    scene.hear(0, M3uaMessage::new(M3uaKind::ASPAC_ACK).with(both));
    assert!(scene.point.is_active());
    let pending = Some(ApplicationStatus::Pending.number());
    scene.hear(0, other(M3uaKind::NTFY).with_number(tag::STATUS, pending));
    scene.hear(0, other(M3uaKind::ASPIA_ACK));
    let unavailable = M3uaParameter::number(tag::AFFECTED_POINT_CODE, STP.0);
    scene.hear(0, other(M3uaKind::DUNA).with(unavailable));
    assert!(scene.send(0).is_ok());
}

#[test]
fn with_override_one_link_carries_and_the_next_takes_over() {
    let mut scene = Scene::active(2, TrafficMode::Override);
    assert_eq!(scene.states(), [LinkState::Active, LinkState::Inactive]);
    for sequence in 0..32 {
        scene.send(sequence).unwrap();
    }
    assert_eq!(scene.kinds(0), [M3uaKind::DATA; 32]);
    assert_eq!(scene.kinds(1), []);
    // The first gateway dies.
    scene.close(0);
    assert_eq!(scene.kinds(1), [M3uaKind::ASPAC]);
    assert_eq!(scene.send(0), Err(SignallingUnavailable::Inactive));
    scene.hear(1, M3uaMessage::new(M3uaKind::ASPAC_ACK));
    let why = "the connection was closed".to_owned();
    assert_eq!(
        scene.events(),
        [SignallingEvent::Inactive(why), SignallingEvent::Active]
    );
    scene.send(0).unwrap();
    assert_eq!(scene.kinds(1), [M3uaKind::DATA]);
    // It comes back and stands by.
    scene.come_up(0);
    assert_eq!(scene.states(), [LinkState::Inactive, LinkState::Active]);
    assert_eq!(scene.kinds(0), [M3uaKind::ASPUP]);
}

#[test]
fn with_override_a_gateway_that_refuses_gives_way_to_the_next() {
    let mut scene = Scene::new(|config| config.links = 2);
    scene.come_up(0);
    scene.come_up(1);
    assert_eq!(scene.kinds(1), [M3uaKind::ASPUP]);
    scene.complain(0, M3uaErrorCode::NO_APPLICATION_SERVER);
    assert_eq!(scene.kinds(1), [M3uaKind::ASPAC]);
    scene.hear(1, M3uaMessage::new(M3uaKind::ASPAC_ACK));
    // The first one is not asked any more.
    scene.kinds(0);
    scene.seconds(20);
    assert_eq!(scene.kinds(0), []);
}

#[test]
fn with_override_a_gateway_that_does_not_reach_our_destination_gives_way() {
    let mut scene = Scene::active(2, TrafficMode::Override);
    scene.hear(0, affecting(M3uaKind::DUNA, STP));
    assert_eq!(scene.kinds(0), [M3uaKind::ASPIA]);
    assert_eq!(scene.kinds(1), [M3uaKind::ASPAC]);
    scene.hear(1, M3uaMessage::new(M3uaKind::ASPAC_ACK));
    scene.hear(0, M3uaMessage::new(M3uaKind::ASPIA_ACK));
    assert!(scene.send(0).is_ok());
    // If it does not either, it stays: to and fro would not help.
    scene.kinds(1);
    scene.hear(1, affecting(M3uaKind::DUNA, STP));
    assert_eq!(scene.kinds(0), []);
    assert_eq!(scene.kinds(1), []);
    assert_eq!(scene.send(0), Err(SignallingUnavailable::Destination(STP)));
}

#[test]
fn who_is_overridden_by_another_process_waits_until_that_is_gone() {
    for status in [ApplicationStatus::Pending, ApplicationStatus::Inactive] {
        let mut scene = Scene::active(2, TrafficMode::Override);
        scene.notify(0, ApplicationStatus::AlternateActive);
        assert_eq!(scene.states(), [LinkState::Inactive; 2]);
        let why = "another ASP carries the traffic".to_owned();
        assert_eq!(
            scene.events(),
            [
                SignallingEvent::LinkFault {
                    link: 0,
                    why: why.clone()
                },
                SignallingEvent::Inactive(why),
            ]
        );
        scene.seconds(20);
        scene.notify(0, ApplicationStatus::Active);
        assert_eq!(scene.kinds(0), []);
        assert_eq!(scene.kinds(1), []);
        scene.notify(0, status);
        assert_eq!(scene.kinds(0), [M3uaKind::ASPAC]);
    }
}

#[test]
fn who_is_overridden_by_an_own_link_goes_on_with_that() {
    // Two links to one gateway.
    let mut scene = Scene::active(2, TrafficMode::Override);
    scene.hear(0, M3uaMessage::new(M3uaKind::ASPIA_ACK));
    assert_eq!(scene.kinds(1).last(), Some(&M3uaKind::ASPAC));
    scene.notify(0, ApplicationStatus::AlternateActive);
    scene.hear(1, M3uaMessage::new(M3uaKind::ASPAC_ACK));
    assert_eq!(scene.states(), [LinkState::Inactive, LinkState::Active]);
    // And back, when that one dies.
    scene.seconds(5);
    scene.close(1);
    assert_eq!(scene.kinds(0).last(), Some(&M3uaKind::ASPAC));
}

#[test]
fn when_the_gateway_of_an_override_dies_the_next_is_asked() {
    let mut scene = Scene::active(2, TrafficMode::Override);
    scene.notify(0, ApplicationStatus::AlternateActive);
    scene.kinds(1);
    scene.close(0);
    assert_eq!(scene.kinds(1), [M3uaKind::ASPAC]);
}

#[test]
fn a_stop_is_told_on_every_link_and_is_final() {
    let mut scene = Scene::active(2, TrafficMode::Override);
    scene.kinds(1);
    scene.point.stop(scene.now);
    scene.settle();
    assert_eq!(scene.kinds(0), [M3uaKind::ASPIA, M3uaKind::ASPDN]);
    assert_eq!(scene.kinds(1), [M3uaKind::ASPDN]);
    assert_eq!(
        scene.events(),
        [SignallingEvent::Inactive("stopped".into())]
    );
    for link in [0, 1] {
        scene.hear(link, M3uaMessage::new(M3uaKind::ASPIA_ACK));
        scene.hear(link, M3uaMessage::new(M3uaKind::ASPDN_ACK));
        scene.hear(link, M3uaMessage::new(M3uaKind::ASPUP_ACK));
        scene.hear(link, M3uaMessage::new(M3uaKind::ASPAC_ACK));
    }
    scene.close(0);
    scene.connect(0);
    scene.seconds(60);
    assert_eq!(scene.kinds(0), []);
    assert_eq!(scene.kinds(1), []);
    assert_eq!(scene.states(), [LinkState::Down; 2]);
    assert_eq!(scene.send(0), Err(SignallingUnavailable::Inactive));
}

#[test]
fn what_a_gateway_said_of_destinations_is_forgotten_when_it_is_asked_again() {
    let mut scene = Scene::active(2, TrafficMode::Override);
    scene.hear(0, affecting(M3uaKind::DUNA, STP));
    scene.hear(1, M3uaMessage::new(M3uaKind::ASPAC_ACK));
    scene.close(1);
    scene.hear(0, M3uaMessage::new(M3uaKind::ASPAC_ACK));
    assert!(scene.send(0).is_ok());
}

#[test]
fn an_answer_that_comes_late_still_counts() {
    let mut scene = Scene::new(|config| config.mode = TrafficMode::Loadshare);
    scene.come_up(0);
    scene.complain(0, M3uaErrorCode::MANAGEMENT_BLOCKING);
    assert_eq!(scene.states(), [LinkState::Inactive]);
    scene.hear(0, M3uaMessage::new(M3uaKind::ASPAC_ACK));
    assert_eq!(scene.states(), [LinkState::Active]);
}

#[test]
fn who_was_overridden_helps_where_there_are_not_enough() {
    let mut scene = Scene::active(1, TrafficMode::Loadshare);
    scene.notify(0, ApplicationStatus::AlternateActive);
    scene.seconds(10);
    assert_eq!(scene.kinds(0), []);
    // An answer to a question of before.
    scene.hear(0, M3uaMessage::new(M3uaKind::ASPAC_ACK));
    assert_eq!(scene.states(), [LinkState::Inactive]);
    scene.notify(0, ApplicationStatus::Insufficient);
    assert_eq!(scene.kinds(0), [M3uaKind::ASPAC]);
    // A notice of before, too.
    scene.notify(0, ApplicationStatus::AlternateActive);
    scene.hear(0, M3uaMessage::new(M3uaKind::ASPAC_ACK));
    assert_eq!(scene.states(), [LinkState::Active]);
}

#[test]
fn a_beat_of_before_is_not_waited_for_after_a_new_aspup() {
    let mut scene = Scene::active(1, TrafficMode::Override);
    scene.seconds(30);
    assert_eq!(scene.kinds(0), [M3uaKind::BEAT]);
    scene.hear(0, M3uaMessage::new(M3uaKind::ASPDN_ACK));
    scene.seconds(2);
    scene.hear(0, M3uaMessage::new(M3uaKind::ASPUP_ACK));
    scene.hear(0, M3uaMessage::new(M3uaKind::ASPAC_ACK));
    scene.kinds(0);
    scene.seconds(29);
    assert_eq!(scene.kinds(0), []);
    assert!(scene.point.is_active());
    scene.seconds(1);
    assert_eq!(scene.kinds(0), [M3uaKind::BEAT]);
}

#[test]
fn a_standby_that_did_not_reach_our_destination_is_tried_again() {
    let mut scene = Scene::active(2, TrafficMode::Override);
    scene.hear(0, affecting(M3uaKind::DUNA, STP));
    scene.hear(0, M3uaMessage::new(M3uaKind::ASPIA_ACK));
    scene.hear(1, M3uaMessage::new(M3uaKind::ASPAC_ACK));
    // Nobody says to a link that stands by that the destination is back.
    scene.seconds(20);
    scene.hear(1, affecting(M3uaKind::DUNA, STP));
    scene.kinds(0);
    scene.seconds(5);
    assert_eq!(scene.kinds(0), []);
    scene.seconds(6);
    assert!(scene.kinds(0).contains(&M3uaKind::ASPAC));
    assert!(scene.kinds(1).contains(&M3uaKind::ASPIA));
    scene.hear(0, M3uaMessage::new(M3uaKind::ASPAC_ACK));
    assert!(scene.send(0).is_ok());
}

#[test]
fn gateways_that_both_do_not_reach_our_destination_take_turns_ever_less_often() {
    let mut scene = Scene::new(|config| {
        config.links = 2;
        config.beat_every = Duration::ZERO;
    });
    scene.come_up(0);
    scene.come_up(1);
    let mut turns = [0_usize; 2];
    let mut carrier = 0;
    for _ in 0..600 {
        for link in [0, 1] {
            if scene.kinds(link).contains(&M3uaKind::ASPAC) {
                turns[link] += 1;
                carrier = link;
                scene.hear(link, M3uaMessage::new(M3uaKind::ASPAC_ACK));
                scene.hear(link, affecting(M3uaKind::DUNA, STP));
            }
        }
        scene.seconds(1);
    }
    // At 30, 60, 120, 180, 300 and 420 seconds, and not every 30.
    let all: usize = turns.iter().sum();
    assert!((6..=9).contains(&all), "{turns:?}");
    assert!(turns.iter().all(|count| *count > 1), "{turns:?}");
    // Of the one that carries, word is taken at once.
    scene.hear(carrier, affecting(M3uaKind::DAVA, STP));
    assert!(scene.send(0).is_ok());
}

#[test]
fn an_override_at_one_gateway_does_not_stop_the_others() {
    let mut scene = Scene::new(|config| {
        config.links = 2;
        config.beat_every = Duration::ZERO;
    });
    scene.come_up(0);
    scene.hear(0, M3uaMessage::new(M3uaKind::ASPAC_ACK));
    scene.come_up(1);
    scene.notify(0, ApplicationStatus::AlternateActive);
    scene.said.clear();
    scene.seconds(29);
    assert_eq!(scene.kinds(1), []);
    scene.seconds(1);
    assert_eq!(scene.kinds(1), [M3uaKind::ASPAC]);
    scene.hear(1, M3uaMessage::new(M3uaKind::ASPAC_ACK));
    assert_eq!(scene.states(), [LinkState::Inactive, LinkState::Active]);
    // It is one that stands by again.
    scene.seconds(40);
    assert_eq!(scene.kinds(0), []);
}

#[test]
fn who_is_overridden_asks_again_after_a_time_that_grows() {
    for mode in [TrafficMode::Override, TrafficMode::Loadshare] {
        let mut scene = Scene::new(|config| {
            config.mode = mode;
            config.beat_every = Duration::ZERO;
        });
        scene.come_up(0);
        scene.kinds(0);
        for wait in [60, 120, 240, 480, 480] {
            scene.hear(0, M3uaMessage::new(M3uaKind::ASPAC_ACK));
            assert_eq!(scene.states(), [LinkState::Active]);
            scene.notify(0, ApplicationStatus::AlternateActive);
            scene.seconds(wait - 1);
            assert_eq!(scene.kinds(0), [], "{mode:?}, {wait}");
            scene.seconds(1);
            assert_eq!(scene.kinds(0), [M3uaKind::ASPAC], "{mode:?}, {wait}");
        }
    }
}

#[test]
fn with_loadshare_who_is_overridden_waits_while_others_carry_the_traffic() {
    let mut scene = Scene::active(2, TrafficMode::Loadshare);
    scene.notify(0, ApplicationStatus::AlternateActive);
    let beat = |scene: &mut Scene| {
        for link in [0, 1] {
            for mut message in scene.messages(link) {
                assert_eq!(message.kind, M3uaKind::BEAT, "{link}");
                message.kind = M3uaKind::BEAT_ACK;
                scene.hear(link, message);
            }
        }
    };
    scene.said.clear();
    for _ in 0..20 {
        scene.seconds(5);
        beat(&mut scene);
    }
    assert_eq!(scene.states(), [LinkState::Inactive, LinkState::Active]);
    scene.close(1);
    scene.seconds(1);
    assert!(scene.kinds(0).contains(&M3uaKind::ASPAC));
}
