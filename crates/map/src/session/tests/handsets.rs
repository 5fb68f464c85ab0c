//! What the network begins: messages of handsets, alerts, and what is not served.

use smsc_tcap::{RejectProblem, TcapAbort};

use super::*;
use crate::AlertServiceCentreArg;

fn alert() -> Bytes {
    let alert = AlertServiceCentreArg {
        msisdn: TpduAddress::international(PHONE),
        service_centre: TpduAddress::international(CENTRE),
    };
    alert.encode().unwrap()
}

fn mo(version: MapVersion) -> Component {
    invoke(
        MapOperationCode::FORWARD_SM,
        submit().encode(version).unwrap(),
    )
}

impl ScriptedNetwork {
    /// Answers the message of a handset that has come.
    fn answer(&mut self, result: Result<Option<Bytes>, MoRefusal>) {
        let at = self
            .events
            .iter()
            .position(|event| matches!(event, MapEvent::MoForward { .. }));
        let event = self.events.remove(at.expect("a message"));
        let MapEvent::MoForward { invoke, .. } = event else {
            unreachable!()
        };
        self.session.answer_mo(invoke, result);
        self.settle();
    }
}

/// TS 29.002 §12.2, §23.2.
#[test]
fn handsets_send_in_every_version() {
    for version in [MapVersion::V1, MapVersion::V2, MapVersion::V3] {
        let mut country = ScriptedNetwork::new();
        country.begins(version.context(21), MSC, vec![mo(version)]);
        let [
            MapEvent::MoForward {
                invoke,
                msisdn,
                imsi,
                smsc,
                tpdu,
            },
        ] = &country.events[..]
        else {
            panic!("{:?}", country.events);
        };
        assert_eq!(invoke.version, version);
        assert_eq!(msisdn.as_deref(), Some(PHONE));
        assert_eq!(imsi.is_some(), version == MapVersion::V3);
        assert_eq!((&smsc[..], tpdu), (CENTRE, &submit().tpdu));
        let report = Bytes::from_static(&[1, 0]);
        country.answer(Ok(Some(report.clone())));
        let [Component::Result { parameter, .. }] = &country.network.answers[..] else {
            panic!("{:?}", country.network.answers);
        };
        let read = ForwardSmResult::decode(parameter).unwrap();
        let expected = (version == MapVersion::V3).then_some(report);
        assert_eq!(read.tpdu, expected, "{version:?}");
        assert!(country.session.incoming.is_empty());
        assert_eq!(country.network.ended, 1);
    }
}

#[test]
fn refusals_are_errors_of_map() {
    for (version, cause, report, error) in [
        (MapVersion::V3, 42, None, failure(4)),
        (MapVersion::V2, 42, None, failure(4)),
        (MapVersion::V1, 42, None, failure(4)),
        (MapVersion::V3, 41, None, MapUserError::Other(34)),
        (
            MapVersion::V3,
            21,
            Some(Bytes::from_static(&[1, 0xC0])),
            MapUserError::SmDeliveryFailure {
                cause: Some(5),
                report: Some(Bytes::from_static(&[1, 0xC0])),
            },
        ),
        // One that is too long is left out.
        (MapVersion::V3, 21, Some(vec![0; 201].into()), failure(5)),
    ] {
        let mut country = ScriptedNetwork::new();
        country.begins(version.context(21), MSC, vec![mo(version)]);
        country.answer(Err(MoRefusal { cause, report }));
        let [
            Component::Error {
                code, parameter, ..
            },
        ] = &country.network.answers[..]
        else {
            panic!("{:?}", country.network.answers);
        };
        assert_eq!(
            MapUserError::decode(*code, parameter),
            error,
            "{version:?} {cause}"
        );
    }
}

#[test]
fn an_empty_begin_of_a_node_is_accepted() {
    let mut country = ScriptedNetwork::new();
    let id = country.begins(context_of(21, 3), MSC, vec![]);
    let sent = (country.network.tcap).proceed(id, vec![mo(MapVersion::V3)], country.now);
    assert_eq!(sent, Ok(()));
    country.settle();
    country.answer(Ok(None));
    assert_eq!(country.network.answers.len(), 1);
    assert!(country.session.incoming.is_empty());
    // One that nothing follows is ended.
    country.begins(context_of(21, 3), MSC, vec![]);
    assert_eq!(country.session.incoming.len(), 1);
    country.wait(Duration::from_secs(61));
    assert!(country.session.incoming.is_empty());
}

#[test]
fn several_messages_of_one_dialogue_are_answered_together() {
    let mut country = ScriptedNetwork::new();
    let second = match mo(MapVersion::V3) {
        Component::Invoke(invoke) => Component::Invoke(Invoke { id: 2, ..invoke }),
        other => other,
    };
    country.begins(context_of(21, 3), MSC, vec![mo(MapVersion::V3), second]);
    country.answer(Ok(None));
    assert!(country.network.answers.is_empty());
    country.answer(Ok(None));
    assert_eq!(country.network.answers.len(), 2);
}

#[test]
fn whose_dialogue_is_gone_gets_no_answer() {
    let mut country = ScriptedNetwork::new();
    let id = country.begins(context_of(21, 3), MSC, vec![mo(MapVersion::V3)]);
    country.network.tcap.abandon(id);
    country
        .session
        .on_tick(country.now + Duration::from_secs(61));
    while let Some(event) = country.session.next_event() {
        country.events.push(event);
    }
    assert!(country.session.incoming.is_empty());
    country.answer(Ok(None));
    assert!(country.network.answers.is_empty());
}

/// TS 29.002 §12.5; version 1 has no answer, and a prearranged end.
#[test]
fn alerts_are_answered_from_version_2_on() {
    let ready = MapEvent::SubscriberReady {
        msisdn: PHONE.to_owned(),
    };
    let mut country = ScriptedNetwork::new();
    let alert_2 = invoke(MapOperationCode::ALERT_SERVICE_CENTRE, alert());
    country.begins(context_of(23, 2), "491720001", vec![alert_2]);
    assert_eq!(country.events, std::slice::from_ref(&ready));
    let answers = &country.network.answers;
    assert!(
        matches!(answers[..], [Component::Result { .. }]),
        "{answers:?}"
    );
    let mut country = ScriptedNetwork::new();
    let alert_1 = invoke(MapOperationCode::ALERT_WITHOUT_RESULT, alert());
    country.begins(None, "491720001", vec![alert_1]);
    assert_eq!(country.events, [ready]);
    assert!(country.network.answers.is_empty() && country.network.ended == 0);
    assert!(country.session.incoming.is_empty());
}

#[test]
fn alerts_of_one_subscriber_that_follow_soon_are_no_news() {
    let mut country = ScriptedNetwork::new();
    let mut times = Vec::new();
    for second in 0..=20 {
        let component = invoke(MapOperationCode::ALERT_SERVICE_CENTRE, alert());
        country.begins(context_of(23, 2), "491720001", vec![component]);
        times.extend(country.events.drain(..).map(|_| second));
        country.wait(Duration::from_secs(1));
    }
    assert_eq!(times, [0, 10, 20]);
    assert_eq!(country.network.answers.len(), 21);
}

#[test]
fn versions_and_contexts_that_are_not_served_are_refused() {
    for (context, alternative) in [
        (context_of(21, 4), context_of(21, 3)),
        (context_of(23, 3), context_of(23, 2)),
        (context_of(25, 3), None),
        (context_of(20, 3), None),
        (context_of(1, 3), None),
    ] {
        let mut country = ScriptedNetwork::new();
        country.begins(context, MSC, vec![mo(MapVersion::V3)]);
        let refused = TcapAbort::ContextNotSupported { alternative };
        assert_eq!(country.network.aborted, [refused], "{context:?}");
        assert!(country.events.is_empty() && country.session.incoming.is_empty());
    }
}

#[test]
fn operations_that_are_not_served_are_rejected() {
    let unknown = RejectProblem::UNRECOGNIZED_OPERATION;
    for (context, operation) in [
        (context_of(21, 3), 64),
        (context_of(21, 3), 44),
        (context_of(23, 2), 46),
        (None, 45),
        (None, 2),
    ] {
        let mut country = ScriptedNetwork::new();
        let component = invoke(MapOperationCode(operation), alert());
        country.begins(context, MSC, vec![component]);
        let rejected = Component::Reject {
            id: Some(1),
            problem: unknown,
        };
        assert_eq!(
            country.network.answers,
            [rejected],
            "{context:?} {operation}"
        );
        assert!(country.session.incoming.is_empty());
    }
}

#[test]
fn what_cannot_be_read_is_said() {
    let error = |code| Component::error(1, code, Bytes::new());
    let to_handset = ForwardSmArg {
        destination: SmRpDa::Imsi(IMSI.to_owned()),
        ..submit()
    };
    for (parameter, answer) in [
        (
            Bytes::from_static(&[0x30, 0]),
            error(MapUserError::DATA_MISSING),
        ),
        (
            Bytes::from_static(&[0x04, 0]),
            error(MapUserError::UNEXPECTED_DATA_VALUE),
        ),
        (
            to_handset.encode(MapVersion::V3).unwrap(),
            error(MapUserError::FACILITY_NOT_SUPPORTED),
        ),
    ] {
        let mut country = ScriptedNetwork::new();
        let component = invoke(MapOperationCode::FORWARD_SM, parameter);
        country.begins(context_of(21, 3), MSC, vec![component]);
        assert_eq!(country.network.answers, [answer]);
        let is_mo = |event: &MapEvent<u32>| matches!(event, MapEvent::MoForward { .. });
        assert!(!country.events.iter().any(is_mo));
    }
}

#[test]
fn a_flood_of_dialogues_is_bounded_and_does_not_stop_messages_to_handsets() {
    let mut country = ScriptedNetwork::with(|config| config.max_incoming = 8);
    for number in 0..64 {
        let from = format!("4917300{number:02}");
        let component = if number % 2 == 0 {
            vec![mo(MapVersion::V3)]
        } else {
            vec![]
        };
        country.begins(context_of(21, 3), &from, component);
    }
    assert!(country.session.incoming.len() <= 8);
    // Those above the bound of TCAP are counted as well.
    let counts = country.session.take_unserved();
    assert!(counts.refused >= 56 && counts.unanswered == 0, "{counts:?}");
    assert_eq!(country.outcome_of(PHONE), delivered());
    // Those who wait are answered still.
    let before = country.network.answers.len();
    country.answer(Ok(None));
    assert_eq!(country.network.answers.len(), before + 1);
}

#[test]
fn one_peer_gets_a_quarter_of_the_dialogues() {
    for (max_incoming, most) in [(8, 2), (2, 1)] {
        let mut country = ScriptedNetwork::with(|config| config.max_incoming = max_incoming);
        for _ in 0..8 {
            country.begins(context_of(21, 3), MSC, vec![mo(MapVersion::V3)]);
        }
        assert_eq!(country.session.tcap.incoming(), most);
    }
}

#[test]
fn a_flood_of_what_is_not_served_is_refused_in_measure_and_stops_no_message() {
    let mut country = ScriptedNetwork::new();
    for number in 0..1_000 {
        let (context, operation) = if number % 2 == 0 {
            (
                context_of(20, 3),
                MapOperationCode::SEND_ROUTING_INFO_FOR_SM,
            )
        } else {
            (None, MapOperationCode(2))
        };
        country.begins(context, MSC, vec![invoke(operation, alert())]);
    }
    let refused = country.network.aborted.len() + country.network.answers.len();
    assert_eq!((refused, country.session.dialogues()), (100, (0, 0)));
    assert_eq!(country.outcome_of(PHONE), delivered());
    let counts = country.session.take_unserved();
    assert_eq!((counts.refused, counts.unanswered), (100, 900));
    assert_eq!(country.session.take_unserved(), UnservedCounts::default());
    // Whoever else asks for the same is refused still.
    let component = invoke(MapOperationCode::SEND_ROUTING_INFO_FOR_SM, alert());
    country.begins(context_of(20, 3), "447700900", vec![component]);
    assert_eq!(country.session.take_unserved().refused, 1);
}

#[test]
fn alerts_of_very_many_numbers_make_no_work_and_those_of_others_do() {
    let mut country = ScriptedNetwork::new();
    for number in 0..1_000 {
        let alert = AlertServiceCentreArg {
            msisdn: TpduAddress::international(format!("4917600{number:04}")),
            service_centre: TpduAddress::international(CENTRE),
        };
        let parameter = alert.encode().unwrap();
        let component = invoke(MapOperationCode::ALERT_SERVICE_CENTRE, parameter);
        country.begins(context_of(23, 2), "447700900", vec![component]);
    }
    let ready = |events: &[MapEvent<u32>]| {
        let events = events.iter();
        let ready = events.filter(|event| matches!(event, MapEvent::SubscriberReady { .. }));
        ready.count()
    };
    assert_eq!(ready(&country.events), 200);
    let error = Component::error(1, MapUserError::SYSTEM_FAILURE, Bytes::new());
    assert_eq!(country.network.answers.last(), Some(&error));
    assert_eq!(country.session.take_unserved().alerts, 800);
    country.events.clear();
    let component = invoke(MapOperationCode::ALERT_SERVICE_CENTRE, alert());
    country.begins(context_of(23, 2), MSC, vec![component]);
    assert_eq!(ready(&country.events), 1);
}
