//! What the firewall lets in of what the network begins, and how the rest is answered.

use smsc_firewall::{
    BlockAnswer, FirewallMode, FirewallRule, RequestRate, RoutingAsked, RuleAction,
    ScreenedOperation, ScreenedRequest,
};
use smsc_tcap::TcapAbort;

use super::*;
use crate::AlertServiceCentreArg;

const BLOCK: RuleAction =
    RuleAction::Block(BlockAnswer::Error(MapUserError::FACILITY_NOT_SUPPORTED));
const DROP: RuleAction = RuleAction::Block(BlockAnswer::Drop);
/// Where nobody of ours roams.
const STRANGER: &str = "4917300001";
/// An SMS-DELIVER of 49176199999 (3GPP TS 23.040 §9.2.2.1).
const FROM_OURS: &[u8] =
    b"\x04\x0b\x91\x94\x71\x16\x99\x99\xf9\x00\x00\x62\x21\x10\x00\x00\x00\x00\x01\x41";

/// Titles and numbers of our network are 491761…; ours roam at [`MSC`] only.
fn settings(action: RuleAction) -> FirewallSettings {
    let prefixes = |prefix: &str| vec![prefix.to_owned()];
    FirewallSettings {
        mode: FirewallMode::On,
        own_titles: prefixes("491761"),
        own_numbers: prefixes("491761"),
        visited_titles: prefixes(MSC),
        denied_titles: prefixes("882"),
        network_digits: 5,
        actions: FirewallRule::ALL.map(|rule| (rule, action)).to_vec(),
        mirrored: vec![FirewallRule::Spoofed],
        ..FirewallSettings::default()
    }
}

fn guarded(settings: FirewallSettings) -> ScriptedNetwork {
    let mut country = ScriptedNetwork::new();
    country.session.set_firewall(settings);
    country
}

/// A message of a handset of ours.
fn mo() -> Component {
    let submit = ForwardSmArg {
        imsi: None,
        ..submit()
    };
    let parameter = submit.encode(MapVersion::V3).unwrap();
    invoke(MapOperationCode::FORWARD_SM, parameter)
}

fn alert(operation: MapOperationCode) -> Component {
    let alert = AlertServiceCentreArg {
        msisdn: TpduAddress::international(PHONE),
        service_centre: TpduAddress::international(CENTRE),
    };
    invoke(operation, alert.encode().unwrap())
}

impl ScriptedNetwork {
    /// What the firewall has found since the last time; `None` of what has passed.
    fn screened(&mut self) -> Vec<Option<ScreeningReport>> {
        let mut screened = Vec::new();
        self.events.retain(|event| match event {
            MapEvent::Screened(report) => {
                screened.push(report.as_deref().cloned());
                false
            }
            _ => true,
        });
        screened
    }

    /// The one thing that it has found.
    fn found(&mut self) -> ScreeningReport {
        match &self.screened()[..] {
            [Some(report)] => report.clone(),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn what_is_blocked_is_answered_and_nothing_is_done_for_it() {
    let mut country = guarded(settings(BLOCK));
    country.begins(context_of(21, 3), STRANGER, vec![mo()]);
    let code = MapUserError::FACILITY_NOT_SUPPORTED;
    let error = Component::error(1, code, Bytes::new());
    assert_eq!(country.network.answers, [error]);
    assert!(country.session.incoming.is_empty());
    let found = country.found();
    assert_eq!(
        (found.rule, found.taken),
        (FirewallRule::Spoofed, ScreeningAction::Blocked(code))
    );
    assert_eq!(
        (&*found.calling, &*found.service_centre, &*found.originator),
        (STRANGER, CENTRE, PHONE)
    );
    let Component::Invoke(sent) = mo() else {
        unreachable!()
    };
    assert_eq!(found.mirrored, Some(sent.parameter));
    assert!(country.events.is_empty());
    // The same message from where ours roam.
    country.begins(context_of(21, 3), MSC, vec![mo()]);
    assert_eq!(country.screened(), [None]);
    assert!(matches!(country.events[..], [MapEvent::MoForward { .. }]));
}

#[test]
fn what_is_dropped_is_not_answered_and_takes_no_room() {
    let mut country = guarded(settings(DROP));
    country.begins(context_of(21, 3), STRANGER, vec![mo()]);
    let empty = country.begins(context_of(21, 3), STRANGER, vec![]);
    let sent = (country.network.tcap).proceed(empty, vec![mo()], country.now);
    assert_eq!(sent, Ok(()));
    country.settle();
    assert_eq!(country.screened().len(), 2);
    assert!(country.network.answers.is_empty() && country.network.ended == 0);
    assert!(country.network.aborted.is_empty());
    assert_eq!(country.session.tcap.incoming(), 0);
    assert!(country.events.is_empty() && country.session.incoming.is_empty());
}

/// An empty begin asks for nothing yet, in a context that is served or not.
#[test]
fn a_title_that_is_dropped_does_not_hear_of_us_before_it_asks() {
    for (action, is_heard) in [(BLOCK, true), (DROP, false)] {
        for context in [21, 26] {
            let mut country = guarded(settings(action));
            country.begins(context_of(context, 3), "88210", vec![]);
            let (session, network) = (&country.session, &country.network);
            let is_open = session.tcap.incoming() == 1;
            let is_told = is_open || !network.aborted.is_empty();
            assert_eq!(is_told, is_heard, "{action:?} {context}");
        }
    }
}

/// A network with home routing.
fn home(settings: FirewallSettings) -> ScriptedNetwork {
    let mut country = ScriptedNetwork::with(|config| {
        config.home = Some(HomeSubscribers {
            numbers: vec!["491761".to_owned()],
            node: "491760009".to_owned(),
        });
    });
    country.session.set_firewall(settings);
    country
}

/// A message of a service centre for an id.
fn mt() -> ForwardSmArg {
    ForwardSmArg {
        destination: SmRpDa::Imsi(IMSI.to_owned()),
        originator: SmRpOa::ServiceCentre(TpduAddress::international(STRANGER)),
        tpdu: Bytes::from_static(&[0x04, 0x0B, 0x91, 0x13]),
        more: false,
        imsi: None,
    }
}

fn written(argument: &ForwardSmArg) -> Component {
    let parameter = argument.encode(MapVersion::V3).unwrap();
    invoke(MapOperationCode::MT_FORWARD_SM, parameter)
}

/// A message that follows in a dialogue does not say again whom it is for.
#[test]
fn each_message_of_a_dialogue_is_judged_as_one_for_its_subscriber() {
    let mut limited = settings(BLOCK);
    limited.title_rate = Some(RequestRate {
        per_second: 0.1,
        burst: 2,
    });
    let mut country = home(limited);
    let first = ForwardSmArg { more: true, ..mt() };
    let next = ForwardSmArg {
        destination: SmRpDa::Absent,
        originator: SmRpOa::Absent,
        ..first.clone()
    };
    let id = country.begins(context_of(25, 3), STRANGER, vec![written(&first)]);
    for _ in 0..2 {
        assert!(country.screened().is_empty(), "who has asked is not known");
        let Some(MapEvent::Forwarded(forward)) = country.events.pop() else {
            panic!("{:?}", country.events);
        };
        assert!(!forward.is_counted);
        let (session, now) = (&mut country.session, country.now);
        session.answer_forward(forward.invoke, Ok(()), now);
        country.settle();
        let sent = (country.network.tcap).proceed(id, vec![written(&next)], country.now);
        assert_eq!(sent, Ok(()));
        country.settle();
    }
    let found = country.found();
    assert_eq!(found.rule, FirewallRule::TitleRate);
    assert_eq!(
        (&*found.subscriber, &*found.service_centre),
        (IMSI, STRANGER)
    );
    assert!(country.events.is_empty() && country.session.incoming.is_empty());
}

/// Each request is counted once: when all rules have been asked.
#[test]
fn a_message_for_an_id_is_counted_when_it_is_known_who_has_asked() {
    let mut country = home(settings(BLOCK));
    // What the caller does not see: an LMSI.
    let lmsi = ForwardSmArg {
        destination: SmRpDa::Lmsi(Bytes::from_static(&[1, 2, 3, 4])),
        ..mt()
    };
    country.begins(context_of(25, 3), STRANGER, vec![written(&lmsi)]);
    assert_eq!(country.screened(), [None]);
    let request = ScreenedRequest {
        operation: ScreenedOperation::MtForward,
        calling_gt: STRANGER,
        service_centre: STRANGER,
        subscriber: PHONE,
        originator: "",
        routing_asked_by: RoutingAsked::By(STRANGER),
    };
    for is_counted in [false, true] {
        let tpdu = Bytes::from_static(FROM_OURS);
        let (session, now) = (&mut country.session, country.now);
        let answer = session.screen_routing(&request, &tpdu, is_counted, now);
        assert_eq!(answer, None);
        country.settle();
        assert_eq!(country.screened().len(), usize::from(!is_counted));
    }
    // One that a rule has found before, and let in, is counted by that.
    let mut reporting = settings(RuleAction::Report);
    reporting.own_titles.clear();
    let mut country = home(reporting);
    let spoofed = ForwardSmArg {
        tpdu: Bytes::from_static(FROM_OURS),
        ..mt()
    };
    country.begins(context_of(25, 3), STRANGER, vec![written(&spoofed)]);
    assert_eq!(country.found().taken, ScreeningAction::Reported);
    let [MapEvent::Forwarded(forward)] = &country.events[..] else {
        panic!("{:?}", country.events);
    };
    assert!(forward.is_counted);
}

/// A title in national form has the digits of our own network; so has one of a plan of others.
#[test]
fn the_digits_of_a_title_count_in_international_form_only() {
    for (nature, numbering_plan, is_own) in [
        (4, 1, true),
        (0, 1, true),
        (4, 7, true),
        (3, 1, false),
        (4, 6, false),
    ] {
        let mut roaming = settings(BLOCK);
        roaming.visited_titles = vec!["43".to_owned()];
        let mut country = guarded(roaming);
        let mut calling = node_address("4917610009");
        if let Some(title) = &mut calling.global_title {
            (title.nature, title.numbering_plan) = (nature, numbering_plan);
        }
        let (tcap, now) = (&mut country.network.tcap, country.now);
        let begun = tcap.begin(context_of(21, 3), own(), calling, vec![mo()], now);
        assert!(begun.is_ok());
        country.settle();
        let is_passed = country.screened() == [None];
        assert_eq!(is_passed, is_own, "nature {nature}, plan {numbering_plan}");
    }
}

/// Each rule with a packet that it blocks and a near one that passes; rates and what needs to know who has asked are below.
#[test]
fn each_rule_blocks_a_packet_and_passes_a_near_one() {
    let from = |sender: &str| {
        let submit = ForwardSmArg {
            destination: SmRpDa::ServiceCentre(TpduAddress::international(CENTRE)),
            originator: SmRpOa::Msisdn(TpduAddress::international(sender)),
            ..mt()
        };
        let parameter = submit.encode(MapVersion::V3).unwrap();
        invoke(MapOperationCode::FORWARD_SM, parameter)
    };
    let question = |service_centre: &str| {
        let argument = RoutingInfoArg {
            msisdn: TpduAddress::international(PHONE),
            priority: true,
            service_centre: TpduAddress::international(service_centre),
            gprs_support: false,
        };
        let parameter = argument.encode(MapVersion::V3).unwrap();
        invoke(MapOperationCode::SEND_ROUTING_INFO_FOR_SM, parameter)
    };
    let of = |operation| invoke(MapOperationCode(operation), Bytes::new());
    for (rule, context, [bad, good]) in [
        (FirewallRule::Title, 21, [("88210", mo()), (MSC, mo())]),
        // sendIMSI; readyForSM has to do with messages.
        (FirewallRule::Operation, 24, [(MSC, of(58)), (MSC, of(66))]),
        (
            FirewallRule::ServiceCentre,
            20,
            [
                (STRANGER, question("33600")),
                (STRANGER, question(STRANGER)),
            ],
        ),
        (
            FirewallRule::Spoofed,
            21,
            [(STRANGER, from(PHONE)), (MSC, from(PHONE))],
        ),
        (
            FirewallRule::ForeignSender,
            21,
            [(MSC, from("33612345678")), (MSC, from(PHONE))],
        ),
    ] {
        let mut country = guarded(settings(BLOCK));
        let (title, component) = bad;
        country.begins(context_of(context, 3), title, vec![component]);
        assert_eq!(country.found().rule, rule);
        let (title, component) = good;
        country.begins(context_of(context, 3), title, vec![component]);
        assert_eq!(country.screened(), [None], "{rule:?}");
    }
}

/// sendIMSI, in a context that no service centre serves, is of category 1; readyForSM has to do with messages.
#[test]
fn operations_that_have_nothing_to_do_with_messages_are_found() {
    let refused = TcapAbort::ContextNotSupported { alternative: None };
    let send_imsi = || invoke(MapOperationCode(58), Bytes::new());
    let mut country = guarded(settings(BLOCK));
    country.begins(context_of(26, 2), MSC, vec![send_imsi()]);
    let found = country.found();
    assert_eq!(found.rule, FirewallRule::Operation);
    assert_eq!(found.operation, MapOperationCode(58));
    assert_eq!(country.network.aborted, std::slice::from_ref(&refused));
    country.network.aborted.clear();
    let ready = invoke(MapOperationCode::READY_FOR_SM, Bytes::new());
    country.begins(context_of(24, 3), MSC, vec![ready]);
    assert_eq!(country.screened(), [None]);
    assert_eq!(country.network.aborted, [refused]);
    // The code of a forward in another context is none.
    let other = invoke(MapOperationCode::FORWARD_SM, Bytes::new());
    country.begins(context_of(26, 2), MSC, vec![other]);
    assert_eq!(country.found().rule, FirewallRule::Operation);
    let mut country = guarded(settings(DROP));
    country.begins(context_of(26, 2), MSC, vec![send_imsi()]);
    assert!(country.network.aborted.is_empty());
    assert_eq!(country.session.tcap.incoming(), 0);
}

#[test]
fn questions_and_messages_for_handsets_are_read_as_such() {
    let mut country = guarded(settings(BLOCK));
    let question = RoutingInfoArg {
        msisdn: TpduAddress::international(PHONE),
        priority: true,
        service_centre: TpduAddress::international("88210"),
        gprs_support: false,
    };
    let parameter = question.encode(MapVersion::V1).unwrap();
    let asked = invoke(MapOperationCode::SEND_ROUTING_INFO_FOR_SM, parameter);
    country.begins(None, "88210", vec![asked]);
    let found = country.found();
    assert_eq!(found.rule, FirewallRule::Title);
    assert_eq!(
        (&*found.subscriber, &*found.service_centre),
        (PHONE, "88210")
    );
    let forward = ForwardSmArg {
        destination: SmRpDa::Imsi(IMSI.to_owned()),
        originator: SmRpOa::ServiceCentre(TpduAddress::international(STRANGER)),
        tpdu: Bytes::from_static(FROM_OURS),
        more: false,
        imsi: None,
    };
    for (context, operation) in [
        (None, MapOperationCode::FORWARD_SM),
        (context_of(25, 3), MapOperationCode::MT_FORWARD_SM),
    ] {
        let parameter = forward.encode(MapVersion::V3).unwrap();
        country.begins(context, STRANGER, vec![invoke(operation, parameter)]);
        let found = country.found();
        assert_eq!(found.rule, FirewallRule::Spoofed, "{operation}");
        assert_eq!(
            (&*found.subscriber, &*found.originator),
            (IMSI, "49176199999")
        );
    }
}

/// An SMS-STATUS-REPORT has other fields where an SMS-DELIVER has its sender (3GPP TS 23.040 §9.2.2.3).
#[test]
fn a_status_report_has_no_sender_that_could_be_spoofed() {
    let mut country = guarded(settings(BLOCK));
    let mut tpdu = FROM_OURS.to_vec();
    tpdu[0] = 0x06;
    let report = ForwardSmArg {
        destination: SmRpDa::Imsi(IMSI.to_owned()),
        originator: SmRpOa::ServiceCentre(TpduAddress::international(STRANGER)),
        tpdu: tpdu.into(),
        more: false,
        imsi: None,
    };
    let parameter = report.encode(MapVersion::V3).unwrap();
    let component = invoke(MapOperationCode::MT_FORWARD_SM, parameter);
    country.begins(context_of(25, 3), STRANGER, vec![component]);
    assert_eq!(country.screened(), [None]);
}

/// A caller that knows who has asked judges a message by that, and may drop it.
#[test]
fn what_waits_may_be_judged_by_who_has_asked_and_dropped() {
    let mut country = guarded(settings(DROP));
    let forward = |routing_asked_by| ScreenedRequest {
        operation: ScreenedOperation::MtForward,
        calling_gt: STRANGER,
        service_centre: STRANGER,
        subscriber: IMSI,
        originator: "Bank",
        routing_asked_by,
    };
    let tpdu = Bytes::from_static(FROM_OURS);
    let known = forward(RoutingAsked::By("4917300009"));
    assert_eq!(
        country
            .session
            .screen_routing(&known, &tpdu, true, country.now),
        None
    );
    let unknown = forward(RoutingAsked::Nobody);
    let dropped = country
        .session
        .screen_routing(&unknown, &tpdu, true, country.now);
    assert_eq!(dropped, Some(BlockAnswer::Drop));
    country.begins(context_of(21, 3), MSC, vec![mo()]);
    let screened = country.screened();
    let rules: Vec<Option<FirewallRule>> = (screened.iter())
        .map(|one| one.as_ref().map(|report| report.rule))
        .collect();
    assert_eq!(rules, [Some(FirewallRule::WithoutRouting), None]);
    let [MapEvent::MoForward { invoke, .. }] = &country.events[..] else {
        panic!("{:?}", country.events);
    };
    country.session.drop_invoke(*invoke);
    country.settle();
    assert!(country.network.answers.is_empty() && country.network.ended == 0);
    assert!(country.session.incoming.is_empty());
    assert_eq!(country.session.tcap.incoming(), 0);
}

#[test]
fn a_dry_firewall_tells_and_lets_in() {
    let mut dry = settings(BLOCK);
    dry.mode = FirewallMode::Dry;
    let mut country = guarded(dry);
    country.begins(context_of(21, 3), STRANGER, vec![mo()]);
    let found = country.found();
    assert_eq!(
        (found.rule, found.taken),
        (FirewallRule::Spoofed, ScreeningAction::Dry)
    );
    assert!(matches!(country.events[..], [MapEvent::MoForward { .. }]));
}

#[test]
fn an_alert_that_is_blocked_is_no_news_and_version_1_has_no_answer() {
    for (context, operation, answers) in [
        (context_of(23, 2), MapOperationCode::ALERT_SERVICE_CENTRE, 1),
        (None, MapOperationCode::ALERT_WITHOUT_RESULT, 0),
    ] {
        let mut country = guarded(settings(BLOCK));
        country.begins(context, "88210", vec![alert(operation)]);
        assert_eq!(country.found().rule, FirewallRule::Title);
        assert!(country.events.is_empty(), "{:?}", country.events);
        assert_eq!(country.network.answers.len(), answers);
        assert_eq!(country.session.tcap.incoming(), 0);
        country.begins(context, STRANGER, vec![alert(operation)]);
        assert_eq!(country.screened(), [None]);
        let ready = matches!(country.events[..], [MapEvent::SubscriberReady { .. }]);
        assert!(ready, "{:?}", country.events);
    }
}

/// One that sends too much is limited, and others are not.
#[test]
fn a_title_above_its_rate_is_limited_alone_and_other_settings_count_at_once() {
    let mut limited = settings(BLOCK);
    limited.title_rate = Some(RequestRate {
        per_second: 1.0,
        burst: 3,
    });
    let mut country = guarded(limited);
    for _ in 0..10 {
        let alert = alert(MapOperationCode::ALERT_SERVICE_CENTRE);
        country.begins(context_of(23, 2), STRANGER, vec![alert]);
    }
    let alert = || alert(MapOperationCode::ALERT_SERVICE_CENTRE);
    let is_passed = |one: &&Option<ScreeningReport>| one.is_none();
    assert_eq!(country.screened().iter().filter(is_passed).count(), 3);
    country.begins(context_of(23, 2), MSC, vec![alert()]);
    assert_eq!(country.screened(), [None]);
    country.session.set_firewall(settings(BLOCK));
    country.begins(context_of(23, 2), STRANGER, vec![alert()]);
    assert_eq!(country.screened(), [None]);
    country.session.set_firewall(FirewallSettings::default());
    country.begins(context_of(23, 2), "88210", vec![alert()]);
    assert!(country.screened().is_empty());
}
