//! What is sent and what arrives.

use super::*;
use crate::sccp::{SccpForm, SccpPurpose, Segmentation, cause, management};

#[test]
fn messages_by_title_go_to_the_destination_and_by_point_code_there() {
    let mut scene = Scene::active(1, TrafficMode::Override);
    scene.send(0x1235).unwrap();
    scene
        .point
        .send(&request(SccpAddress::of_point(PEER, ssn::MSC)), scene.now)
        .unwrap();
    scene.settle();
    let streams: Vec<u16> = scene.said.iter().map(|(_, stream, _)| *stream).collect();
    assert_eq!(streams, [6, 1]);
    let said = scene.messages(0);
    let (label, message) = carried(&said[0]);
    assert_eq!((label.originating, label.destination), (OWN, STP));
    assert_eq!((label.service, label.selection), (SERVICE_SCCP, 5));
    assert_eq!((message.called, message.calling), (peer(), smsc()));
    assert_eq!(message.data, "data");
    let purpose = SccpPurpose::Data {
        in_order: false,
        return_on_error: true,
    };
    assert_eq!((message.form, message.purpose), (SccpForm::Short, purpose));
    let (label, _) = carried(&said[1]);
    assert_eq!(label.destination, PEER);
}

#[test]
fn long_data_goes_in_segments_on_one_link_and_stream_and_arrives_as_it_went() {
    let mut one = Scene::active(2, TrafficMode::Loadshare);
    let mut other = Scene::active(1, TrafficMode::Override);
    let data: Bytes = (0..1_000_u16).map(|number| number as u8).collect();
    let long = UnitdataRequest {
        data: data.clone(),
        sequence: 7,
        ..request(smsc())
    };
    one.point.send(&long, one.now).unwrap();
    one.settle();
    let said = std::mem::take(&mut one.said);
    assert_eq!(said.len(), 5);
    for (link, stream, message) in said {
        assert_eq!((link, stream), (1, 8));
        let (_, sccp) = carried(&message);
        assert_eq!(sccp.form, SccpForm::Extended);
        assert_eq!(other.events(), []);
        other.hear(0, message);
    }
    let expected = Unitdata {
        called: smsc(),
        calling: smsc(),
        data,
    };
    assert_eq!(other.events(), [SignallingEvent::Unitdata(expected)]);
    assert_eq!(other.point.reassemblies(), 0);
}

#[test]
fn what_cannot_be_sent_says_why_and_nothing_is() {
    let mut scene = Scene::active(1, TrafficMode::Override);
    let long = UnitdataRequest {
        data: vec![0; 10_000].into(),
        ..request(peer())
    };
    let sent = scene.point.send(&long, scene.now);
    assert_eq!(sent, Err(SignallingUnavailable::TooLong(10_000)));
    let mut called = peer();
    called.global_title = Some(GlobalTitle::international("49x", 0));
    let sent = scene.point.send(&request(called), scene.now);
    assert!(matches!(sent, Err(SignallingUnavailable::Address(_))));
    scene.settle();
    assert_eq!(scene.kinds(0), []);
    scene.close(0);
    assert_eq!(scene.send(0), Err(SignallingUnavailable::Inactive));
    assert_eq!(scene.kinds(0), []);
}

#[test]
fn with_loadshare_each_sls_has_its_link_and_only_those_of_a_dead_one_move() {
    let mut scene = Scene::active(3, TrafficMode::Loadshare);
    assert_eq!(scene.states(), [LinkState::Active; 3]);
    let links = |scene: &mut Scene| -> Vec<usize> {
        scene.said.clear();
        // The same SLS in one message and the next.
        for sequence in 0..64 {
            scene.send(sequence).unwrap();
        }
        let links: Vec<usize> = scene.said.iter().map(|(link, ..)| *link).collect();
        let (first, _) = links.split_at(16);
        assert_eq!(links, first.repeat(4));
        first.to_vec()
    };
    let before = links(&mut scene);
    let share = |links: &[usize], link| links.iter().filter(|one| **one == link).count();
    for link in 0..3 {
        assert!((5..=6).contains(&share(&before, link)));
    }
    scene.close(1);
    let after = links(&mut scene);
    for (before, after) in before.iter().zip(&after) {
        assert!(*after != 1 && (*before == 1 || before == after));
    }
    for link in [0, 2] {
        assert!((7..=9).contains(&share(&after, link)), "{after:?}");
    }
    assert_eq!(scene.events(), []);
    scene.come_up(1);
    scene.hear(1, M3uaMessage::new(M3uaKind::ASPAC_ACK));
    assert_eq!(links(&mut scene), before);
}

#[test]
fn what_was_to_be_written_to_a_dead_link_is_gone() {
    let mut scene = Scene::active(2, TrafficMode::Loadshare);
    scene.said.clear();
    for sequence in 0..16 {
        scene
            .point
            .send(
                &UnitdataRequest {
                    sequence,
                    ..request(peer())
                },
                scene.now,
            )
            .unwrap();
    }
    scene.point.closed(1, scene.now);
    scene.settle();
    assert_eq!(scene.kinds(0), [M3uaKind::DATA; 8]);
    assert_eq!(scene.kinds(1), []);
}

fn unitdata(called: SccpAddress, calling: SccpAddress) -> SccpMessage {
    SccpMessage::unitdata(called, calling, Bytes::from_static(b"hello"))
}

#[test]
fn messages_for_us_arrive_with_an_address_to_answer() {
    let mut scene = Scene::active(1, TrafficMode::Override);
    scene.hear_sccp(0, PEER, unitdata(smsc(), peer()).encode().unwrap());
    let without_point = SccpAddress {
        point_code: None,
        ..SccpAddress::of_point(PEER, ssn::VLR)
    };
    let long = SccpMessage {
        form: SccpForm::Long,
        ..unitdata(smsc(), without_point)
    };
    scene.hear_sccp(0, PEER, long.encode().unwrap());
    let callers: Vec<SccpAddress> = scene
        .events()
        .into_iter()
        .map(|event| match event {
            SignallingEvent::Unitdata(unitdata) => unitdata.calling,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(callers, [peer(), SccpAddress::of_point(PEER, ssn::VLR)]);
    assert_eq!(scene.kinds(0), []);
}

#[test]
fn what_comes_back_says_why_and_whose_it_was() {
    let mut scene = Scene::active(1, TrafficMode::Override);
    for form in [SccpForm::Short, SccpForm::Extended, SccpForm::Long] {
        let message = SccpMessage {
            form,
            ..unitdata(peer(), smsc())
        };
        let returned = message.returned(cause::NO_TRANSLATION);
        scene.hear_sccp(0, STP, returned.encode().unwrap());
        let expected = SignallingEvent::Returned {
            cause: 1,
            called: peer(),
            calling: smsc(),
            data: Bytes::from_static(b"hello"),
        };
        assert_eq!(scene.events(), [expected], "{form:?}");
    }
    // Of segments only the first is told.
    for (is_first, told) in [(true, 1), (false, 0)] {
        let segment = SccpMessage {
            form: SccpForm::Extended,
            segmentation: Some(Segmentation {
                is_first,
                in_order: false,
                remaining: 1,
                reference: 1,
            }),
            ..unitdata(peer(), smsc())
        };
        let returned = segment.returned(cause::SEGMENTATION_FAILURE);
        scene.hear_sccp(0, STP, returned.encode().unwrap());
        assert_eq!(scene.events().len(), told);
    }
}

#[test]
fn a_message_to_a_subsystem_that_is_not_here_goes_back_if_it_wants_to() {
    let mut scene = Scene::active(1, TrafficMode::Override);
    let own = SccpAddress {
        ssn: ssn::VLR,
        ..smsc()
    };
    for (form, return_on_error) in [
        (SccpForm::Short, true),
        (SccpForm::Extended, true),
        (SccpForm::Short, false),
    ] {
        let message = SccpMessage {
            form,
            purpose: SccpPurpose::Data {
                in_order: false,
                return_on_error,
            },
            ..unitdata(own.clone(), SccpAddress::of_point(PEER, ssn::MSC))
        };
        scene.hear_sccp(0, PEER, message.encode().unwrap());
        let said = scene.messages(0);
        let expected = return_on_error.then(|| message.returned(cause::UNEQUIPPED_USER));
        let returned = said.first().map(carried);
        assert_eq!(returned.as_ref().map(|(_, sccp)| sccp), expected.as_ref());
        if let Some((label, _)) = returned {
            assert_eq!((label.destination, label.selection), (PEER, 3));
        }
    }
    assert!(matches!(
        scene.events()[..],
        [SignallingEvent::LinkFault { .. }]
    ));
    let shown = scene.point.links()[0].last_error.as_deref();
    let is_shown = shown.is_some_and(|why| why.contains("no such subsystem"));
    assert!(is_shown, "{shown:?}");
    // Nor does one whose sender does not tell itself.
    let nobody = SccpAddress::decode(&[0]).unwrap();
    let message = SccpMessage {
        purpose: SccpPurpose::Data {
            in_order: false,
            return_on_error: true,
        },
        ..unitdata(own.clone(), nobody)
    };
    scene.hear_sccp(0, PEER, message.encode().unwrap());
    assert_eq!(scene.kinds(0), []);
    // Where all are ours, all arrive.
    let mut scene = Scene::new(|config| config.subsystems.clear());
    scene.come_up(0);
    scene.hear(0, M3uaMessage::new(M3uaKind::ASPAC_ACK));
    scene.events();
    scene.hear_sccp(0, PEER, unitdata(own, peer()).encode().unwrap());
    assert!(matches!(scene.events()[..], [SignallingEvent::Unitdata(_)]));
}

#[test]
fn who_asks_for_our_subsystem_is_told_that_it_is_there() {
    // Q.714 §5.3.4: SST is answered by SSA; that of others is not.
    let mut scene = Scene::active(1, TrafficMode::Override);
    let mut ask = |kind, ssn, point_code| {
        let asked = management::SubsystemMessage {
            kind,
            ssn,
            point_code,
        };
        let message = SccpMessage::unitdata(
            SccpAddress::of_point(OWN, ssn::MANAGEMENT),
            SccpAddress::of_point(PEER, ssn::MANAGEMENT),
            asked.encode(),
        );
        scene.hear_sccp(0, PEER, message.encode().unwrap());
        scene.messages(0).first().map(carried)
    };
    let test = management::SUBSYSTEM_TEST;
    assert_eq!(ask(test, ssn::HLR, OWN), None);
    assert_eq!(ask(test, ssn::MSC, PEER), None);
    assert_eq!(ask(management::SUBSYSTEM_PROHIBITED, ssn::MSC, OWN), None);
    let (label, answer) = ask(test, ssn::MSC, OWN).unwrap();
    assert_eq!(label.destination, PEER);
    assert_eq!(answer.called, SccpAddress::of_point(PEER, ssn::MANAGEMENT));
    assert_eq!(answer.data[..], [1, 8, 187, 0, 0]);
    assert_eq!(scene.events(), []);
}

#[test]
fn data_may_come_before_the_answer_to_aspac_and_not_before_we_are_up() {
    let mut scene = Scene::new(|_| {});
    let hello = unitdata(smsc(), peer()).encode().unwrap();
    scene.connect(0);
    scene.hear_sccp(0, PEER, hello.clone());
    assert!(matches!(
        scene.events()[..],
        [SignallingEvent::LinkFault { .. }]
    ));
    assert_eq!(scene.kinds(0), [M3uaKind::ASPUP, M3uaKind::ERR]);
    scene.hear(0, M3uaMessage::new(M3uaKind::ASPUP_ACK));
    scene.hear_sccp(0, PEER, hello);
    assert!(matches!(scene.events()[..], [SignallingEvent::Unitdata(_)]));
}

#[test]
fn data_of_others_is_not_taken() {
    let mut scene = Scene::new(|config| {
        config.routing_context = Some(7);
        config.network_appearance = Some(1);
    });
    scene.come_up(0);
    scene.hear(0, M3uaMessage::new(M3uaKind::ASPAC_ACK));
    scene.events();
    scene.kinds(0);
    let data = ProtocolData {
        originating: PEER,
        destination: OWN,
        service: SERVICE_SCCP,
        network_indicator: 0,
        priority: 0,
        selection: 0,
        data: unitdata(smsc(), peer()).encode().unwrap(),
    };
    let isup = ProtocolData {
        service: 5,
        ..data.clone()
    };
    let new = || M3uaMessage::new(M3uaKind::DATA);
    let (data, isup) = (data.to_parameter(), isup.to_parameter());
    for (message, code) in [
        (
            new()
                .with_number(tag::ROUTING_CONTEXT, Some(8))
                .with(data.clone()),
            Some(M3uaErrorCode::INVALID_ROUTING_CONTEXT),
        ),
        (
            new()
                .with_number(tag::NETWORK_APPEARANCE, Some(2))
                .with(data.clone()),
            Some(M3uaErrorCode::INVALID_NETWORK_APPEARANCE),
        ),
        (new(), Some(M3uaErrorCode::MISSING_PARAMETER)),
        (new().with(isup), None),
    ] {
        scene.pass(Duration::from_secs(1));
        scene.hear(0, message);
        assert!(matches!(
            scene.events()[..],
            [SignallingEvent::LinkFault { .. }]
        ));
        let said = scene.messages(0);
        let codes: Vec<u32> = said
            .iter()
            .filter_map(|one| one.number(tag::ERROR_CODE))
            .collect();
        assert_eq!(codes, Vec::from_iter(code.map(|code| code.0)));
    }
    // What says nothing of either is ours.
    scene.hear(0, new().with(data));
    assert!(matches!(scene.events()[..], [SignallingEvent::Unitdata(_)]));
}
