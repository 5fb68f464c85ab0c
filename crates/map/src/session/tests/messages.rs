//! Messages to handsets: routes, runs, failures, reports.

use smsc_domain::gsm_result::map;

use super::*;
use crate::delivery_status::{MessageWaitingStatus, SmDeliveryOutcome};

#[test]
fn a_message_goes_to_where_the_hlr_says() {
    let mut country = ScriptedNetwork::new();
    let report = Bytes::from_static(&[0, 0]);
    (country.network).replies(MSC, [NodeReply::Reports(report.clone())]);
    let urgent = MtForward {
        priority: true,
        ..message(PHONE, false)
    };
    country.send(urgent, 7);
    let arrived = MtOutcome::Delivered {
        imsi: IMSI.to_owned(),
        report: Some(report),
    };
    assert_eq!(country.outcomes(), [(7, arrived)]);
    let asked = &country.network.asked[0];
    assert_eq!(asked.msisdn.text, PHONE);
    assert_eq!(asked.service_centre.text, CENTRE);
    assert!(asked.priority && asked.gprs_support);
    let (node, argument) = &country.network.forwarded[0];
    assert_eq!(node, MSC);
    assert_eq!(argument.destination, SmRpDa::Imsi(IMSI.to_owned()));
    let centre = TpduAddress::international(CENTRE);
    assert_eq!(argument.originator, SmRpOa::ServiceCentre(centre));
    assert_eq!(argument.tpdu, message(PHONE, false).tpdu);
    assert!(country.network.reported.is_empty());
    assert_eq!((country.session.held(), country.session.runs.len()), (0, 0));
    assert!(country.session.owners.is_empty());
}

/// TS 29.002 §23.3.2: moreMessagesToSend keeps the dialogue open.
#[test]
fn four_messages_go_in_one_dialogue() {
    let mut country = ScriptedNetwork::new();
    for token in 1..=4 {
        country.send(message(PHONE, token < 4), token);
        assert_eq!(country.outcomes(), [(token, delivered())]);
    }
    let begun: Vec<_> = country
        .network
        .begun
        .iter()
        .map(|(to, ..)| &to[..])
        .collect();
    assert_eq!(begun, [PHONE, MSC], "one with the HLR, one with the MSC");
    let forwarded = &country.network.forwarded;
    let more: Vec<bool> = forwarded
        .iter()
        .map(|(_, argument)| argument.more)
        .collect();
    assert_eq!(more, [true, true, true, false]);
    let addressed = forwarded
        .iter()
        .filter(|(_, a)| a.destination != SmRpDa::Absent);
    assert_eq!(addressed.count(), 1, "the first one alone has addresses");
    assert!(country.session.runs.is_empty() && country.session.owners.is_empty());
}

#[test]
fn a_message_that_fails_does_not_hold_the_others_of_its_run() {
    let mut country = ScriptedNetwork::new();
    let replies = [NodeReply::Delivers, NodeReply::Fails(failure(1))];
    country.network.replies(MSC, replies);
    for (token, outcome) in [
        (1, delivered()),
        (
            2,
            failed(
                map::of_delivery_failure(Some(1)),
                FailedPart::Forward,
                false,
            ),
        ),
        (3, delivered()),
    ] {
        country.send(message(PHONE, token < 3), token);
        assert_eq!(country.outcomes(), [(token, outcome)]);
    }
    assert_eq!(country.network.begun.len(), 2);
    assert!(country.network.reported.is_empty());
}

#[test]
fn a_run_that_does_not_go_on_is_closed() {
    let mut country = ScriptedNetwork::new();
    country.send(message(PHONE, true), 1);
    assert_eq!((country.session.held(), country.session.runs.len()), (0, 1));
    country.session.end_run(PHONE, country.now);
    country.settle();
    assert_eq!(country.network.ended, 1);
    assert!(country.session.runs.is_empty());
    // Nobody says so: the time is over.
    country.send(message(PHONE, true), 2);
    country.wait(Duration::from_secs(10));
    assert_eq!(country.network.ended, 2);
    assert!(country.session.runs.is_empty());
    // It is said while the message is under way.
    country.network.replies(MSC, [NodeReply::Nothing]);
    country.send(message(PHONE, true), 3);
    country.session.end_run(PHONE, country.now);
    assert_eq!(country.session.runs.len(), 1);
    country.wait(Duration::from_secs(60));
    assert!(country.session.runs.is_empty());
}

#[test]
fn the_next_message_begins_anew_when_the_node_has_ended_the_dialogue() {
    let mut country = ScriptedNetwork::new();
    country.network.node_version = 1;
    country.send(message(PHONE, true), 1);
    country.send(message(PHONE, false), 2);
    assert_eq!(country.outcomes(), [(1, delivered()), (2, delivered())]);
    assert_eq!(country.network.asked.len(), 1, "the route is known");
}

#[test]
fn the_other_node_is_tried_when_the_first_one_does_not_reach_the_handset() {
    for reply in [
        NodeReply::Fails(absent(0)),
        NodeReply::Fails(MapUserError::Other(5)),
        NodeReply::Fails(MapUserError::Other(27)),
        NodeReply::Fails(MapUserError::Other(21)),
    ] {
        let mut country = ScriptedNetwork::new();
        country.network.at_both();
        country.network.replies(MSC, [reply.clone()]);
        assert_eq!(country.outcome_of(PHONE), delivered(), "{reply:?}");
        let nodes: Vec<_> = country
            .network
            .forwarded
            .iter()
            .map(|(to, _)| &to[..])
            .collect();
        assert_eq!(nodes, [MSC, SGSN], "{reply:?}");
    }
    let mut country = ScriptedNetwork::with(|config| {
        config.serving_nodes = vec![ServingNode::Sgsn, ServingNode::Msc];
    });
    country.network.at_both();
    assert_eq!(country.outcome_of(PHONE), delivered());
    assert_eq!(country.network.forwarded[0].0, SGSN, "the configured order");
}

#[test]
fn what_the_handset_says_is_the_last_word() {
    let mut country = ScriptedNetwork::new();
    country.network.at_both();
    let report = Some(Bytes::from_static(&[1, 2]));
    let full = MapUserError::SmDeliveryFailure {
        cause: Some(0),
        report: report.clone(),
    };
    country.network.replies(MSC, [NodeReply::Fails(full)]);
    let outcome = country.outcome_of(PHONE);
    let status = map::of_delivery_failure(Some(0));
    let expected = MtOutcome::Failed {
        status,
        of: FailedPart::Forward,
        report,
        was_sent: false,
    };
    assert_eq!(outcome, expected);
    assert_eq!(country.network.forwarded.len(), 1);
    let [reported] = &country.network.reported[..] else {
        panic!("{:?}", country.network.reported);
    };
    let outcome = Some(SmDeliveryOutcome::MemoryCapacityExceeded);
    assert_eq!((reported.outcome, reported.of_sgsn), (outcome, false));
    assert_eq!(reported.additional, None);
}

/// TS 23.040 §3.2.6 to §3.2.8.
#[test]
fn the_hlr_is_told_of_an_absent_subscriber_and_alerts() {
    let mut country = ScriptedNetwork::new();
    country.network.at_both();
    country.network.replies(MSC, [NodeReply::Fails(absent(1))]);
    country.network.replies(SGSN, [NodeReply::Fails(absent(6))]);
    let status = map::of_absent(Some(1));
    let expected = failed(status, FailedPart::Forward, false);
    assert_eq!(country.outcome_of(PHONE), expected);
    let [reported] = &country.network.reported[..] else {
        panic!("{:?}", country.network.reported);
    };
    let gone = SmDeliveryOutcome::AbsentSubscriber;
    assert_eq!(reported.msisdn.text, PHONE);
    assert_eq!(
        (reported.outcome, reported.diagnostic),
        (Some(gone), Some(1))
    );
    assert_eq!(reported.additional, Some((gone, Some(6))));
    assert!(reported.gprs_support && !reported.of_sgsn);

    let alert = crate::AlertServiceCentreArg {
        msisdn: TpduAddress::international(PHONE),
        service_centre: TpduAddress::international(CENTRE),
    };
    let alert = invoke(
        MapOperationCode::ALERT_SERVICE_CENTRE,
        alert.encode().unwrap(),
    );
    country.begins(context_of(23, 2), "491720001", vec![alert]);
    let ready = MapEvent::SubscriberReady {
        msisdn: PHONE.to_owned(),
    };
    assert_eq!(country.events, [ready]);
    assert_eq!(country.outcome_of(PHONE), delivered());
    let told = country.network.reported.last().unwrap();
    let success = Some(SmDeliveryOutcome::SuccessfulTransfer);
    assert_eq!((country.network.reported.len(), told.outcome), (2, success));
    // Once.
    assert_eq!(country.outcome_of(PHONE), delivered());
    assert_eq!(country.network.reported.len(), 2);
}

#[test]
fn the_outcome_at_an_sgsn_alone_is_marked() {
    let mut country = ScriptedNetwork::new();
    country.network.routing = country.network.routing.map(|routing| RoutingInfoResult {
        node: Some(at(ServingNode::Sgsn, SGSN)),
        ..routing
    });
    country.network.replies(SGSN, [NodeReply::Fails(absent(6))]);
    country.outcome_of(PHONE);
    let reported = &country.network.reported[0];
    assert!(reported.of_sgsn && reported.gprs_support);
    let mut quiet = ScriptedNetwork::with(|config| config.report_delivery = false);
    quiet.network.replies(MSC, [NodeReply::Fails(absent(1))]);
    quiet.outcome_of(PHONE);
    assert!(quiet.network.reported.is_empty());
}

#[test]
fn an_hlr_that_has_noted_something_is_told_of_success() {
    let mut country = ScriptedNetwork::new();
    country.network.informs = Some(InformServiceCentreArg {
        status: Some(MessageWaitingStatus {
            memory_exceeded: true,
            ..MessageWaitingStatus::default()
        }),
        ..InformServiceCentreArg::default()
    });
    assert_eq!(country.outcome_of(PHONE), delivered());
    let waiting = MapEvent::WaitingData {
        msisdn: PHONE.to_owned(),
        mcef: true,
        mnrf: false,
    };
    assert_eq!(country.events, [waiting]);
    let outcome = country.network.reported[0].outcome;
    assert_eq!(outcome, Some(SmDeliveryOutcome::SuccessfulTransfer));
}

#[test]
fn a_run_fails_with_its_hlr() {
    for (error, status) in [
        (MapUserError::Other(1), map::of_user_error(1)),
        (MapUserError::Other(11), map::of_user_error(11)),
        (absent(1), map::of_absent(Some(1))),
    ] {
        let mut country = ScriptedNetwork::new();
        country.network.routing = Err(error);
        country.send(message(PHONE, true), 1);
        let expected = failed(status, FailedPart::Routing, false);
        assert_eq!(country.outcomes(), [(1, expected)]);
        assert!(
            country.session.runs.is_empty(),
            "nothing of the run is kept"
        );
        assert!(country.network.forwarded.is_empty());
        assert!(country.network.reported.is_empty(), "the HLR knows it");
    }
    let mut country =
        ScriptedNetwork::with(|config| config.serving_nodes = vec![ServingNode::Sgsn]);
    let expected = failed(map::MAP_NO_SERVING_NODE, FailedPart::Routing, false);
    assert_eq!(country.outcome_of(PHONE), expected);
}

#[test]
fn a_silent_hlr_is_given_up() {
    let mut country = ScriptedNetwork::new();
    country.network.hlr_is_silent = true;
    country.send(message(PHONE, false), 1);
    country.wait(Duration::from_secs(29));
    assert_eq!((country.outcomes(), country.session.held()), (vec![], 1));
    country.wait(Duration::from_secs(1));
    let expected = failed(map::MAP_NO_ANSWER_OF_HLR, FailedPart::Routing, false);
    assert_eq!(country.outcomes(), [(1, expected)]);
    assert_eq!(country.session.held(), 0);
    assert!(country.session.owners.is_empty());
}

#[test]
fn what_a_silent_node_was_sent_may_have_arrived() {
    let mut country = ScriptedNetwork::new();
    country.network.replies(MSC, [NodeReply::Nothing]);
    country.send(message(PHONE, false), 1);
    country.wait(Duration::from_secs(59));
    assert_eq!(country.outcomes(), []);
    country.wait(Duration::from_secs(1));
    let expected = failed(map::MAP_NO_ANSWER, FailedPart::Forward, true);
    assert_eq!(country.outcomes(), [(1, expected)]);
}

/// It would be there twice.
#[test]
fn what_may_have_arrived_goes_to_no_other_node() {
    for (reply, status) in [
        (NodeReply::Nothing, map::MAP_NO_ANSWER),
        (NodeReply::Aborts, map::MAP_USER_ABORT),
        (NodeReply::EndsWithout, map::MAP_ENDED_WITHOUT_ANSWER),
    ] {
        let mut country =
            ScriptedNetwork::with(|config| config.route_cache = Duration::from_secs(3600));
        country.network.at_both();
        country.network.replies(MSC, [reply.clone()]);
        country.send(message(PHONE, false), 1);
        country.wait(Duration::from_secs(60));
        let expected = failed(status, FailedPart::Forward, true);
        assert_eq!(country.outcomes(), [(1, expected)], "{reply:?}");
        assert_eq!(country.network.forwarded.len(), 1, "{reply:?}");
        // Where the subscriber is, is asked again.
        assert_eq!(country.outcome_of(PHONE), delivered());
        assert_eq!(country.network.asked.len(), 2, "{reply:?}");
    }
}

/// Q.713 §3.12.
#[test]
fn what_sccp_returns_was_not_delivered() {
    let mut country = ScriptedNetwork::new();
    country.network.unreachable.insert(MSC.to_owned(), 1);
    let expected = failed(map::of_sccp(1), FailedPart::Forward, false);
    assert_eq!(country.outcome_of(PHONE), expected);
    country.network.at_both();
    assert_eq!(country.outcome_of(PHONE), delivered(), "by the SGSN");
    country.network.unreachable.insert(PHONE.to_owned(), 8);
    let expected = failed(map::of_sccp(8), FailedPart::Routing, false);
    assert_eq!(country.outcome_of(PHONE), expected);
}

/// TS 29.002 §23.3.2: the message follows when the dialogue is accepted.
#[test]
fn a_long_message_follows_an_empty_begin() {
    for (length, components) in [(100, 1), (175, 0)] {
        let mut country = ScriptedNetwork::new();
        let long = MtForward {
            tpdu: vec![4; length].into(),
            ..message(PHONE, false)
        };
        country.send(long.clone(), 1);
        assert_eq!(country.outcomes(), [(1, delivered())], "{length}");
        let (to, _, count) = &country.network.begun[1];
        assert_eq!((&to[..], *count), (MSC, components), "{length}");
        let (_, argument) = &country.network.forwarded[0];
        assert_eq!(argument.tpdu, long.tpdu);
        assert_eq!(argument.destination, SmRpDa::Imsi(IMSI.to_owned()));
    }
}

#[test]
fn an_empty_begin_that_nobody_accepts_is_given_up() {
    let mut country = ScriptedNetwork::new();
    let long = MtForward {
        tpdu: vec![4; 175].into(),
        ..message(PHONE, false)
    };
    country.network.lost.push(MSC.to_owned());
    country.send(long, 1);
    assert_eq!(country.outcomes(), []);
    country.wait(Duration::from_secs(30));
    let expected = failed(map::MAP_NO_ANSWER, FailedPart::Forward, false);
    assert_eq!(country.outcomes(), [(1, expected)]);
    assert!(country.network.forwarded.is_empty());
}

#[test]
fn what_is_lost_says_whether_it_was_sent() {
    let long = MtForward {
        tpdu: vec![4; 175].into(),
        ..message(PHONE, false)
    };
    for (forward, hlr_is_silent, was_sent) in [
        (message(PHONE, false), true, false),
        (message(PHONE, false), false, true),
        // Its empty begin is under way.
        (long, false, false),
    ] {
        let mut country = ScriptedNetwork::new();
        country.network.hlr_is_silent = hlr_is_silent;
        country.network.lost.push(MSC.to_owned());
        country.send(forward, 1);
        assert_eq!(country.session.take_lost(), [(1, was_sent)]);
    }
}

#[test]
fn routes_are_asked_once_in_a_while() {
    let mut country = ScriptedNetwork::with(|config| config.route_cache = Duration::from_secs(10));
    for _ in 0..2 {
        assert_eq!(country.outcome_of(PHONE), delivered());
    }
    assert_eq!(country.network.asked.len(), 1);
    country.wait(Duration::from_secs(10));
    country.outcome_of(PHONE);
    assert_eq!(country.network.asked.len(), 2);
    // What has failed is not believed: the HLR is asked before that counts.
    country.network.replies(MSC, [NodeReply::Fails(absent(1))]);
    assert_eq!(country.outcome_of(PHONE), delivered());
    assert_eq!(country.network.asked.len(), 3);
    // What the HLR has just said is believed, and forgotten.
    country.wait(Duration::from_secs(10));
    country.network.replies(MSC, [NodeReply::Fails(absent(1))]);
    assert_ne!(country.outcome_of(PHONE), delivered());
    country.outcome_of(PHONE);
    assert_eq!(country.network.asked.len(), 5);
}

#[test]
fn both_nodes_are_tried_after_the_hlr_was_asked_again() {
    let mut country =
        ScriptedNetwork::with(|config| config.route_cache = Duration::from_secs(3600));
    country.network.at_both();
    assert_eq!(country.outcome_of(PHONE), delivered());
    let absences = [NodeReply::Fails(absent(1)), NodeReply::Fails(absent(1))];
    country.network.replies(MSC, absences);
    assert_eq!(country.outcome_of(PHONE), delivered(), "by the SGSN");
    assert_eq!(country.network.asked.len(), 2);
    let nodes = country.network.forwarded.iter();
    let nodes: Vec<&str> = nodes.map(|(node, _)| &**node).collect();
    assert_eq!(nodes, [MSC, MSC, MSC, SGSN]);
}

#[test]
fn what_is_not_sent_comes_back() {
    let mut country = ScriptedNetwork::with(|config| config.max_dialogues = 1);
    country.network.hlr_is_silent = true;
    country.send(message(PHONE, false), 1);
    let now = country.now;
    let again = country.session.send(message(PHONE, false), 2, now);
    assert_eq!(again, Err(MapNotSent::Busy(2)));
    let another = country.session.send(message(OTHER, false), 3, now);
    assert_eq!(another, Err(MapNotSent::Full(3)));
    for msisdn in ["", "49x", "1234567890123456"] {
        let sent = country.session.send(message(msisdn, false), 4, now);
        assert!(
            matches!(sent, Err(MapNotSent::Unwritable(4, _))),
            "{msisdn}"
        );
    }
    let long = MtForward {
        tpdu: vec![0; 201].into(),
        ..message(OTHER, false)
    };
    let sent = country.session.send(long, 5, now);
    assert!(matches!(sent, Err(MapNotSent::Unwritable(5, _))));
    country.session.set_ready(false);
    let sent = country.session.send(message(OTHER, false), 6, now);
    assert_eq!(sent, Err(MapNotSent::NotReady(6)));
    assert_eq!(country.session.take_lost(), [(1, false)]);
    assert_eq!(country.session.held(), 0);
    assert!(country.session.owners.is_empty() && country.session.runs.is_empty());
}
