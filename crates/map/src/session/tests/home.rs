//! Home routing: others ask for our own subscribers and bring messages for ids, in every version; what is not ours.

use smsc_tcap::{RejectProblem, TcapAbort};

use super::*;
use crate::delivery_status::SmDeliveryOutcome;

/// The foreign service centre.
const FOREIGN: &str = "33600000001";
/// Our number as a serving node.
const NODE: &str = "491710760009";
/// What stands in place of the IMSI.
const ID: &str = "262010000007919";
/// A number that is not ours.
const ABROAD: &str = "33612345678";
const VERSIONS: [MapVersion; 3] = [MapVersion::V1, MapVersion::V2, MapVersion::V3];

fn home() -> ScriptedNetwork {
    ScriptedNetwork::with(|config| {
        config.home = Some(HomeSubscribers {
            numbers: vec!["49151".to_owned(), "49176".to_owned()],
            node: NODE.to_owned(),
        });
    })
}

fn question(msisdn: &str, service_centre: &str, version: MapVersion) -> Component {
    let argument = RoutingInfoArg {
        msisdn: TpduAddress::international(msisdn),
        priority: true,
        service_centre: TpduAddress::international(service_centre),
        gprs_support: true,
    };
    let parameter = argument.encode(version).unwrap();
    invoke(MapOperationCode::SEND_ROUTING_INFO_FOR_SM, parameter)
}

fn forward(destination: SmRpDa, more: bool, version: MapVersion) -> Component {
    let originator = match destination {
        SmRpDa::Absent => SmRpOa::Absent,
        _ => SmRpOa::ServiceCentre(TpduAddress::international(FOREIGN)),
    };
    let argument = ForwardSmArg {
        destination,
        originator,
        tpdu: Bytes::from_static(&[0x04, 0x0B, 0x91, 0x13]),
        more,
        imsi: None,
    };
    invoke(version.mt_forward(), argument.encode(version).unwrap())
}

fn to_id() -> SmRpDa {
    SmRpDa::Imsi(ID.to_owned())
}

/// The context in which messages to handsets come; none in version 1.
fn of_forwards(version: MapVersion) -> Option<ApplicationContext> {
    version.context(25)
}

impl ScriptedNetwork {
    /// The question that has come.
    fn asked(&mut self) -> RoutingQuestion {
        match self.events.pop() {
            Some(MapEvent::RoutingAsked(question)) => question,
            other => panic!("{other:?}"),
        }
    }

    /// The message that has come.
    fn brought(&mut self) -> ForeignForward {
        match self.events.pop() {
            Some(MapEvent::Forwarded(forward)) => forward,
            other => panic!("{other:?}"),
        }
    }

    fn answers_forward(&mut self, invoke: MoInvoke, answer: Result<(), MapUserError>) {
        self.session.answer_forward(invoke, answer, self.now);
        self.settle();
    }

    fn proceeds(&mut self, id: DialogueId, component: Component) {
        let sent = (self.network.tcap).proceed(id, vec![component], self.now);
        assert_eq!(sent, Ok(()));
        self.settle();
    }
}

/// TS 29.002 §12.1.
#[test]
fn who_asks_for_a_subscriber_of_ours_gets_our_number_and_an_id_in_every_version() {
    for version in VERSIONS {
        let mut country = home();
        let component = question(PHONE, FOREIGN, version);
        country.begins(version.context(20), "33600000009", vec![component]);
        let asked = country.asked();
        assert_eq!(asked.invoke.version, version);
        assert_eq!(
            (&asked.msisdn[..], &asked.service_centre[..]),
            (PHONE, FOREIGN)
        );
        assert_eq!(asked.asked_by, "33600000009");
        assert!(country.network.answers.is_empty());
        country.session.answer_routing(asked.invoke, Ok(ID));
        country.settle();
        let [Component::Result { parameter, .. }] = &country.network.answers[..] else {
            panic!("{:?}", country.network.answers);
        };
        let result = RoutingInfoResult::decode(parameter).unwrap();
        let node = result.number_of(ServingNode::Msc).expect("a node");
        assert_eq!((&result.imsi[..], &node.text[..]), (ID, NODE));
        assert_eq!((result.lmsi, result.additional), (None, None));
        assert!(country.session.incoming.is_empty());
        assert_eq!(country.network.ended, 1);
    }
}

#[test]
fn a_question_is_refused_with_the_error_of_the_caller() {
    for version in VERSIONS {
        let mut country = home();
        let component = question(PHONE, FOREIGN, version);
        country.begins(version.context(20), FOREIGN, vec![component]);
        let asked = country.asked();
        let unknown = MapUserError::UNKNOWN_SUBSCRIBER;
        country.session.answer_routing(asked.invoke, Err(unknown));
        country.settle();
        let error = Component::error(1, unknown, Bytes::new());
        assert_eq!(country.network.answers, [error]);
    }
}

/// TS 29.002 §12.9; in version 1 messages in both directions have one operation and no context.
#[test]
fn a_message_for_an_id_comes_in_every_version_and_is_answered_by_the_caller() {
    for version in VERSIONS {
        for refusal in [None, Some(MapUserError::UNIDENTIFIED_SUBSCRIBER)] {
            let mut country = home();
            let component = forward(to_id(), false, version);
            country.begins(of_forwards(version), FOREIGN, vec![component]);
            let brought = country.brought();
            assert_eq!((&brought.id[..], brought.invoke.version), (ID, version));
            assert_eq!(
                (&brought.service_centre[..], &brought.brought_by[..]),
                (FOREIGN, FOREIGN)
            );
            assert_eq!(&brought.tpdu[..], [0x04, 0x0B, 0x91, 0x13]);
            let answer = refusal.map_or(Ok(()), |code| Err(MapUserError::Other(code)));
            country.answers_forward(brought.invoke, answer);
            let answers = &country.network.answers[..];
            match refusal {
                None => assert!(matches!(answers, [Component::Result { .. }]), "{answers:?}"),
                Some(code) => assert_eq!(answers, [Component::error(1, code, Bytes::new())]),
            }
            assert!(country.session.incoming.is_empty());
            assert_eq!(country.network.ended, 1);
        }
    }
}

#[test]
fn messages_of_one_dialogue_are_for_its_id_until_no_more_follow() {
    for version in [MapVersion::V2, MapVersion::V3] {
        let mut country = home();
        let first = forward(to_id(), true, version);
        let id = country.begins(of_forwards(version), FOREIGN, vec![first]);
        let brought = country.brought();
        country.answers_forward(brought.invoke, Ok(()));
        assert_eq!(
            (country.network.answers.len(), country.network.ended),
            (1, 0)
        );
        assert_eq!(country.session.incoming.len(), 1);
        country.proceeds(id, forward(SmRpDa::Absent, true, version));
        let brought = country.brought();
        assert_eq!(
            (&brought.id[..], &brought.service_centre[..]),
            (ID, FOREIGN)
        );
        country.answers_forward(brought.invoke, Ok(()));
        country.proceeds(id, forward(to_id(), false, version));
        let brought = country.brought();
        assert_eq!(brought.id, ID);
        country.answers_forward(brought.invoke, Ok(()));
        assert_eq!(
            (country.network.answers.len(), country.network.ended),
            (3, 1)
        );
        assert!(country.session.incoming.is_empty());
    }
}

#[test]
fn a_dialogue_that_nothing_follows_in_ends_by_itself() {
    let mut country = home();
    let first = forward(to_id(), true, MapVersion::V3);
    country.begins(of_forwards(MapVersion::V3), FOREIGN, vec![first]);
    let brought = country.brought();
    country.answers_forward(brought.invoke, Ok(()));
    country.wait(Duration::from_secs(61));
    assert!(country.session.incoming.is_empty());
    assert_eq!(country.session.dialogues().1, 0);
}

#[test]
fn a_message_for_an_id_may_follow_an_empty_begin() {
    for version in [MapVersion::V2, MapVersion::V3] {
        let mut country = home();
        let id = country.begins(of_forwards(version), FOREIGN, vec![]);
        country.proceeds(id, forward(to_id(), false, version));
        let brought = country.brought();
        assert_eq!(brought.id, ID);
        country.answers_forward(brought.invoke, Ok(()));
        assert_eq!(
            (country.network.answers.len(), country.network.ended),
            (1, 1)
        );
    }
}

/// SM-RP-OA of a message for a handset is a service centre (§12.9.2); what follows need not say it again.
#[test]
fn who_sends_must_be_a_service_centre() {
    let number = |digits: &str| TpduAddress::international(digits);
    let from = |destination, originator, more| {
        let argument = ForwardSmArg {
            destination,
            originator,
            tpdu: Bytes::from_static(&[0x04, 0x0B, 0x91, 0x13]),
            more,
            imsi: None,
        };
        let parameter = argument.encode(MapVersion::V3).unwrap();
        invoke(MapOperationCode::MT_FORWARD_SM, parameter)
    };
    for originator in [SmRpOa::Msisdn(number(FOREIGN)), SmRpOa::Absent] {
        let mut country = home();
        let component = from(to_id(), originator, false);
        country.begins(of_forwards(MapVersion::V3), FOREIGN, vec![component]);
        let code = MapUserError::UNEXPECTED_DATA_VALUE;
        let error = Component::error(1, code, Bytes::new());
        assert_eq!(country.network.answers, [error]);
        assert!(country.events.is_empty() && country.session.incoming.is_empty());
    }
    let mut country = home();
    let first = from(to_id(), SmRpOa::ServiceCentre(number(FOREIGN)), true);
    let id = country.begins(of_forwards(MapVersion::V3), FOREIGN, vec![first]);
    let brought = country.brought();
    country.answers_forward(brought.invoke, Ok(()));
    country.proceeds(id, from(to_id(), SmRpOa::Absent, false));
    let brought = country.brought();
    assert_eq!(
        (&brought.id[..], &brought.service_centre[..]),
        (ID, FOREIGN)
    );
}

#[test]
fn who_is_meant_must_be_said_by_an_id() {
    let lmsi = SmRpDa::Lmsi(Bytes::from_static(&[1, 2, 3, 4]));
    for (destination, code) in [
        (SmRpDa::Absent, MapUserError::UNEXPECTED_DATA_VALUE),
        (lmsi, MapUserError::FACILITY_NOT_SUPPORTED),
    ] {
        let mut country = home();
        let component = forward(destination, false, MapVersion::V3);
        country.begins(of_forwards(MapVersion::V3), FOREIGN, vec![component]);
        let error = Component::error(1, code, Bytes::new());
        assert_eq!(country.network.answers, [error]);
        assert!(country.events.is_empty() && country.session.incoming.is_empty());
    }
}

/// A national number may have the digits of an international one of ours; and a number has digits, 15 at most.
#[test]
fn a_number_of_ours_is_in_international_form() {
    let of = |ton, text: &str| TpduAddress {
        ton,
        npi: 1,
        text: text.to_owned(),
    };
    for (msisdn, is_ours) in [
        (of(1, PHONE), true),
        (of(0, PHONE), true),
        (of(2, PHONE), false),
        (of(1, "49176123*#"), false),
        (of(1, "4917612345678901"), false),
    ] {
        let mut country = home();
        let argument = RoutingInfoArg {
            msisdn: msisdn.clone(),
            priority: true,
            service_centre: TpduAddress::international(FOREIGN),
            gprs_support: false,
        };
        let parameter = argument.encode(MapVersion::V3).unwrap();
        let component = invoke(MapOperationCode::SEND_ROUTING_INFO_FOR_SM, parameter);
        country.begins(MapVersion::V3.context(20), FOREIGN, vec![component]);
        let is_asked = matches!(country.events[..], [MapEvent::RoutingAsked(_)]);
        assert_eq!(is_asked, is_ours, "{msisdn:?}");
    }
}

/// As tests/handsets.rs has it for sessions without home routing.
#[test]
fn numbers_that_are_not_ours_are_answered_as_before() {
    for version in VERSIONS {
        let mut country = home();
        let component = question(ABROAD, FOREIGN, version);
        country.begins(version.context(20), FOREIGN, vec![component]);
        if version == MapVersion::V1 {
            let problem = RejectProblem::UNRECOGNIZED_OPERATION;
            let rejected = Component::Reject {
                id: Some(1),
                problem,
            };
            assert_eq!(country.network.answers, [rejected]);
        } else {
            let refused = TcapAbort::ContextNotSupported { alternative: None };
            assert_eq!(country.network.aborted, [refused]);
        }
        assert!(country.events.is_empty() && country.session.incoming.is_empty());
    }
}

/// In each version, and also what asks for nothing that could be answered.
#[test]
fn a_flood_of_what_is_not_ours_is_refused_in_measure() {
    let nothing = Component::Reject {
        id: None,
        problem: RejectProblem::UNRECOGNIZED_OPERATION,
    };
    let floods = VERSIONS.map(|version| (version, vec![question(ABROAD, FOREIGN, version)]));
    let operation = MapOperationCode::SEND_ROUTING_INFO_FOR_SM;
    let unreadable = invoke(operation, Bytes::from_static(&[0x30, 0x00]));
    let others = [
        (MapVersion::V3, vec![nothing]),
        (MapVersion::V2, vec![unreadable]),
        // Without a context there is nothing to accept.
        (MapVersion::V1, vec![]),
    ];
    for (version, components) in floods.into_iter().chain(others) {
        let mut country = home();
        for _ in 0..300 {
            let context = version.context(20);
            country.begins(context, FOREIGN, components.clone());
        }
        let counts = country.session.take_unserved();
        let counted = (counts.refused, counts.unanswered);
        assert_eq!(counted, (100, 200), "{version:?} {components:?}");
        assert_eq!(country.session.dialogues().1, 0);
    }
}

#[test]
fn a_question_of_our_own_that_comes_back_is_not_answered() {
    let mut country = home();
    let component = question(PHONE, CENTRE, MapVersion::V3);
    country.begins(context_of(20, 3), FOREIGN, vec![component]);
    let [MapEvent::Malformed { why }] = &country.events[..] else {
        panic!("{:?}", country.events);
    };
    assert!(why.contains("came back"), "{why}");
    assert_eq!(country.network.aborted.len(), 1);
}

/// TS 29.002 §12.3.
#[test]
fn who_reports_how_a_message_ended_is_answered() {
    for version in VERSIONS {
        for (number, is_ours) in [(PHONE, true), (ABROAD, false)] {
            let mut country = home();
            let argument = ReportDeliveryStatusArg {
                msisdn: TpduAddress::international(number),
                service_centre: TpduAddress::international(FOREIGN),
                outcome: Some(SmDeliveryOutcome::AbsentSubscriber),
                diagnostic: None,
                gprs_support: false,
                of_sgsn: false,
                additional: None,
            };
            let parameter = argument.encode(version).unwrap();
            let component = invoke(MapOperationCode::REPORT_SM_DELIVERY_STATUS, parameter);
            country.begins(version.context(20), FOREIGN, vec![component]);
            let answers = &country.network.answers[..];
            let is_taken = matches!(answers, [Component::Result { .. }]);
            assert_eq!(is_taken, is_ours, "{version:?} {number} {answers:?}");
            assert!(country.events.is_empty() && country.session.incoming.is_empty());
        }
    }
}

#[test]
fn our_own_messages_go_as_without_home_routing() {
    let mut country = home();
    assert_eq!(country.outcome_of(PHONE), delivered());
    assert_eq!(country.network.forwarded.len(), 1);
}
