//! Home routing: what others get who ask for our subscribers, and for which ids messages are taken.

use super::*;
use crate::config::{
    MapFirewall, MapFirewallAction, MapFirewallError, MapFirewallMode, MapHomeRouting,
};
use crate::map::context::{SHORT_MSG_GATEWAY, SHORT_MSG_MT_RELAY};
use crate::map::{ReportDeliveryStatusArg, SmDeliveryOutcome};
use crate::pb::{CorrelationGiven, CorrelationsGiven};
use crate::telemetry::metrics::HomeRoutingLabel;

/// Global titles of foreign service centres.
const FOREIGN: &str = "33600000001";
const OTHER: &str = "44770000001";
/// An SMS-DELIVER of 12345 that says [`TEXT`] (3GPP TS 23.040 §9.2.2.1), and a status report about a message to 12345 with the
/// reference 7 (§9.2.2.3).
const DELIVER: &[u8] =
    b"\x04\x05\x91\x21\x43\xf5\x00\x00\x32\x11\x22\x12\x34\x44\x00\x05\x31\xd9\x8c\x56\x03";
const TEXT: u64 = 12345;
const STATUS_REPORT: &[u8] = b"\x06\x07\x05\x91\x21\x43\xf5\x32\x11\x22\x12\x34\x44\x00\
      \x32\x11\x22\x12\x34\x44\x00\x00";

/// A network whose numbers begin with 4916, with more settings of home routing.
async fn home(adapt: impl FnOnce(&mut MapHomeRouting)) -> (Stp, Fixture) {
    behind(MapFirewall::default(), adapt).await
}

/// The same behind a firewall.
async fn behind(firewall: MapFirewall, adapt: impl FnOnce(&mut MapHomeRouting)) -> (Stp, Fixture) {
    behind_and(firewall, adapt, |_| {}).await
}

/// The same with other settings of the network.
async fn behind_and(
    firewall: MapFirewall,
    adapt: impl FnOnce(&mut MapHomeRouting),
    adapt_network: impl FnOnce(&mut Gsm),
) -> (Stp, Fixture) {
    let mut stp = Stp::next(STP_A);
    let mut home = MapHomeRouting {
        numbers: vec!["4916".to_owned()],
        network: "26201".to_owned(),
        ..MapHomeRouting::default()
    };
    adapt(&mut home);
    let adapt_map = |map: &mut MapConfig| {
        map.home_routing = Some(home);
        map.firewall = firewall;
    };
    let adapt_network = |network: &mut Gsm| {
        network.account = Some("test".to_owned());
        adapt_network(network);
    };
    let fixture = over_and(&[STP_A], adapt_map, adapt_network).await;
    stp.expect_nothing().await;
    (stp, fixture)
}

fn invoke(operation: MapOperationCode, parameter: Bytes) -> Invoke {
    Invoke {
        id: 1,
        operation: operation.0,
        parameter,
        timeout: HOUR,
    }
}

impl Stp {
    /// What somebody gets who asks where a number is.
    async fn asks_where(&mut self, from: &str, number: &str) -> Component {
        let argument = RoutingInfoArg {
            msisdn: TpduAddress::international(number),
            priority: true,
            service_centre: TpduAddress::international(from),
            gprs_support: false,
        };
        let parameter = argument.encode(MapVersion::V3).expect("it can be written");
        let invoke = invoke(MapOperationCode::SEND_ROUTING_INFO_FOR_SM, parameter);
        self.ask(SHORT_MSG_GATEWAY, 3, address(from, 8), invoke)
            .await
    }

    /// The id that somebody gets for a number.
    async fn gets_id(&mut self, from: &str, number: &str) -> String {
        let answer = self.asks_where(from, number).await;
        let Component::Result { parameter, .. } = &answer else {
            panic!("{answer:?}");
        };
        let result = RoutingInfoResult::decode(parameter).expect("a result");
        let node = result.number_of(ServingNode::Msc).expect("a node");
        assert_eq!(node.text, SMSC);
        assert!(
            result.imsi.len() == 15 && result.imsi.starts_with("26201"),
            "{}",
            result.imsi
        );
        result.imsi
    }

    /// What somebody gets who brings a TPDU for an id.
    async fn brings(&mut self, from: &str, id: &str, tpdu: &'static [u8]) -> Component {
        let dialogue = self.begins_to_bring(from, id, tpdu).await;
        self.answer_in(dialogue).await
    }

    async fn begins_to_bring(&mut self, from: &str, id: &str, tpdu: &'static [u8]) -> DialogueId {
        let argument = ForwardSmArg {
            destination: SmRpDa::Imsi(id.to_owned()),
            originator: SmRpOa::ServiceCentre(TpduAddress::international(from)),
            tpdu: Bytes::from_static(tpdu),
            more: false,
            imsi: None,
        };
        let parameter = argument.encode(MapVersion::V3).expect("it can be written");
        let invoke = invoke(MapOperationCode::MT_FORWARD_SM, parameter);
        self.begin(SHORT_MSG_MT_RELAY, 3, address(from, 8), invoke)
            .await
    }

    /// Somebody brings a message for an id, and it is taken.
    async fn is_taken(&mut self, from: &str, id: &str) {
        let answer = self.brings(from, id, DELIVER).await;
        assert!(matches!(answer, Component::Result { .. }), "{answer:?}");
    }

    /// The message goes out to the handset, where our own question has found it.
    async fn reaches_handset(&mut self, number: &str) {
        let asked = self.delivery().await;
        let expected = Question::Deliver {
            imsi: imsi_of(number),
            id: TEXT,
            more: false,
        };
        assert_eq!(asked.question, expected);
        self.take(&asked).await;
    }
}

/// The answer that is an error without more.
fn error(code: u8) -> Component {
    Component::error(1, code, Bytes::new())
}

impl Fixture {
    /// How often home routing did something.
    fn home_routed(&self, event: &'static str) -> u64 {
        let label = HomeRoutingLabel {
            gsm: "home".to_owned(),
            event,
        };
        let metric = &self.node.context.metrics.gsm_home_routing;
        metric.get_or_create(&label).get()
    }

    /// Another node has given this id to [`FOREIGN`], which has asked for [`NUMBER_A`].
    fn learns(&self, id: &str) {
        let now = clock::now_ms();
        let given = CorrelationGiven {
            id: id.to_owned(),
            msisdn: NUMBER_A.to_owned(),
            asked_by: FOREIGN.to_owned(),
            until: now + 60_000,
        };
        let all = vec![given];
        let known = &self.node.context.mt_correlations;
        known.learn(CorrelationsGiven { all }, now);
    }
}

#[actix::test]
async fn who_asks_gets_an_id_and_the_same_one_when_it_asks_again() {
    let (mut stp, fixture) = home(|_| {}).await;
    let first = stp.gets_id(FOREIGN, NUMBER_A).await;
    assert!(!first.ends_with(&NUMBER_A[NUMBER_A.len() - 8..]), "{first}");
    assert_eq!(stp.gets_id(FOREIGN, NUMBER_A).await, first);
    assert_ne!(stp.gets_id(FOREIGN, NUMBER_B).await, first);
    assert_ne!(stp.gets_id(OTHER, NUMBER_A).await, first);
    assert_eq!(fixture.home_routed("questions_answered"), 4);
    assert_eq!(stp.asked, 0, "the HLR is not asked");
}

#[actix::test]
async fn a_message_for_an_id_is_taken_and_goes_out_to_the_handset() {
    let (mut stp, fixture) = home(|_| {}).await;
    let id = stp.gets_id(FOREIGN, NUMBER_A).await;
    stp.is_taken(FOREIGN, &id).await;
    stp.reaches_handset(NUMBER_A).await;
    fixture.empty().await;
    assert_eq!(stp.asked, 1, "our own question");
    assert_eq!(fixture.home_routed("messages_taken"), 1);
    let handsets = fixture.interface().submissions;
    assert!(handsets.is_empty(), "it is no handset's: {handsets:?}");
}

#[actix::test]
async fn an_id_that_is_unknown_or_over_is_an_unidentified_subscriber() {
    let (mut stp, fixture) = home(|home| home.id_lifetime = 3 * MOMENT).await;
    let unidentified = error(MapUserError::UNIDENTIFIED_SUBSCRIBER);
    let answer = stp.brings(FOREIGN, &imsi_of(NUMBER_A), DELIVER).await;
    assert_eq!(answer, unidentified);
    let id = stp.gets_id(FOREIGN, NUMBER_A).await;
    for _ in 0..4 {
        stp.expect_nothing().await;
    }
    assert_eq!(stp.brings(FOREIGN, &id, DELIVER).await, unidentified);
    assert_eq!(fixture.home_routed("unknown_ids"), 2);
}

#[actix::test]
async fn what_no_handset_gets_is_refused() {
    let (mut stp, fixture) = home(|_| {}).await;
    let id = stp.gets_id(FOREIGN, NUMBER_A).await;
    for (tpdu, code) in [
        // An SMS-SUBMIT-REPORT.
        (&b"\x01\x00"[..], MapUserError::FACILITY_NOT_SUPPORTED),
        (&DELIVER[..3], MapUserError::UNEXPECTED_DATA_VALUE),
        (&STATUS_REPORT[..7], MapUserError::UNEXPECTED_DATA_VALUE),
    ] {
        let answer = stp.brings(FOREIGN, &id, tpdu).await;
        assert_eq!(answer, error(code), "{tpdu:?}");
    }
    assert_eq!(fixture.home_routed("messages_refused"), 3);
}

#[actix::test]
async fn a_status_report_goes_to_the_handset_and_whoever_brought_it_hears_what_came_of_it() {
    let (mut stp, fixture) = home(|_| {}).await;
    let id = stp.gets_id(FOREIGN, NUMBER_A).await;
    let brought = stp.begins_to_bring(FOREIGN, &id, STATUS_REPORT).await;
    let asked = stp.delivery().await;
    assert_eq!(asked.delivers(), (7, false));
    assert_eq!(fixture.home_routed("messages_taken"), 0, "not before");
    stp.take(&asked).await;
    let answer = stp.answer_in(brought).await;
    assert!(matches!(answer, Component::Result { .. }), "{answer:?}");
    assert_eq!(fixture.home_routed("messages_taken"), 1);
    // Its sender tries again; nobody would tell it that the subscriber is back.
    let brought = stp.begins_to_bring(FOREIGN, &id, STATUS_REPORT).await;
    let asked = stp.delivery().await;
    let absent = MapUserError::AbsentSubscriberSm {
        diagnostic: None,
        additional: None,
    };
    stp.refuse(&asked, &absent).await;
    let answer = stp.answer_in(brought).await;
    assert_eq!(answer, error(MapUserError::SYSTEM_FAILURE));
    assert_eq!(fixture.home_routed("messages_refused"), 1);
    // Messages go on.
    stp.is_taken(FOREIGN, &id).await;
    stp.reaches_handset(NUMBER_A).await;
    fixture.empty().await;
}

#[actix::test]
async fn many_status_reports_leave_room_for_messages() {
    let (mut stp, fixture) = home(|_| {}).await;
    let id = stp.gets_id(FOREIGN, NUMBER_A).await;
    let most = fixture.node.context.config().gsm[0].window / 4;
    for _ in 0..most {
        stp.begins_to_bring(FOREIGN, &id, STATUS_REPORT).await;
    }
    let answer = stp.brings(FOREIGN, &id, STATUS_REPORT).await;
    assert_eq!(answer, error(MapUserError::SYSTEM_FAILURE));
    assert_eq!(fixture.home_routed("messages_refused"), 1);
}

#[actix::test]
async fn status_reports_have_a_part_of_the_rate() {
    let slow = |network: &mut Gsm| network.rate = Some(0.04);
    let (mut stp, fixture) = behind_and(MapFirewall::default(), |_| {}, slow).await;
    let id = stp.gets_id(FOREIGN, NUMBER_A).await;
    let brought = stp.begins_to_bring(FOREIGN, &id, STATUS_REPORT).await;
    let asked = stp.delivery().await;
    let answer = stp.brings(FOREIGN, &id, STATUS_REPORT).await;
    assert_eq!(answer, error(MapUserError::SYSTEM_FAILURE));
    stp.take(&asked).await;
    let answer = stp.answer_in(brought).await;
    assert!(matches!(answer, Component::Result { .. }), "{answer:?}");
    assert_eq!(fixture.home_routed("messages_refused"), 1);
}

#[actix::test]
async fn a_status_report_does_not_wait_while_the_queue_is_suspended() {
    let (mut stp, fixture) = home(|_| {}).await;
    let id = stp.gets_id(FOREIGN, NUMBER_A).await;
    fixture.queue.suspended.store(true, Ordering::Relaxed);
    let most = fixture.node.context.config().gsm[0].window / 4;
    // Nor does it keep its place.
    for _ in 0..=most {
        let answer = stp.brings(FOREIGN, &id, STATUS_REPORT).await;
        assert_eq!(answer, error(MapUserError::SYSTEM_FAILURE));
    }
    fixture.queue.suspended.store(false, Ordering::Relaxed);
    let brought = stp.begins_to_bring(FOREIGN, &id, STATUS_REPORT).await;
    let asked = stp.delivery().await;
    stp.take(&asked).await;
    let answer = stp.answer_in(brought).await;
    assert!(matches!(answer, Component::Result { .. }), "{answer:?}");
}

#[actix::test]
async fn a_node_that_stops_says_what_came_of_status_reports() {
    let (mut stp, fixture) = home(|_| {}).await;
    let id = stp.gets_id(FOREIGN, NUMBER_A).await;
    let sent = stp.begins_to_bring(FOREIGN, &id, STATUS_REPORT).await;
    let asked = stp.delivery().await;
    let waits = stp.begins_to_bring(FOREIGN, &id, STATUS_REPORT).await;
    fixture.node.context.draining.store(true, Ordering::Relaxed);
    let answer = stp.answer_in(waits).await;
    assert_eq!(answer, error(MapUserError::SYSTEM_FAILURE));
    stp.take(&asked).await;
    let answer = stp.answer_in(sent).await;
    assert!(matches!(answer, Component::Result { .. }), "{answer:?}");
}

#[actix::test]
async fn a_status_report_for_a_number_of_an_account_is_refused() {
    let (mut stp, fixture) = home(|home| home.deliver = "test".to_owned()).await;
    let id = stp.gets_id(FOREIGN, NUMBER_A).await;
    let answer = stp.brings(FOREIGN, &id, STATUS_REPORT).await;
    assert_eq!(answer, error(MapUserError::FACILITY_NOT_SUPPORTED));
    assert_eq!(fixture.home_routed("messages_refused"), 1);
}

#[actix::test]
async fn an_id_that_another_node_has_given_is_known() {
    let (mut stp, fixture) = home(|_| {}).await;
    let id = "262010000000042";
    fixture.learns(id);
    stp.is_taken(FOREIGN, id).await;
    stp.reaches_handset(NUMBER_A).await;
    fixture.empty().await;
}

#[actix::test]
async fn when_there_are_no_more_ids_the_question_is_refused_for_now() {
    let (mut stp, fixture) = home(|home| home.max_ids = 4).await;
    stp.gets_id(FOREIGN, NUMBER_A).await;
    // One network has a quarter of them.
    let answer = stp.asks_where(FOREIGN, NUMBER_B).await;
    assert_eq!(answer, error(MapUserError::SYSTEM_FAILURE));
    stp.gets_id(OTHER, NUMBER_B).await;
    assert_eq!(fixture.home_routed("questions_refused"), 1);
}

#[actix::test]
async fn who_reports_how_a_message_ended_is_answered() {
    let (mut stp, _fixture) = home(|_| {}).await;
    let argument = ReportDeliveryStatusArg {
        msisdn: TpduAddress::international(NUMBER_A),
        service_centre: TpduAddress::international(FOREIGN),
        outcome: Some(SmDeliveryOutcome::AbsentSubscriber),
        diagnostic: None,
        gprs_support: false,
        of_sgsn: false,
        additional: None,
    };
    let parameter = argument.encode(MapVersion::V3).expect("it can be written");
    let invoke = invoke(MapOperationCode::REPORT_SM_DELIVERY_STATUS, parameter);
    let answer = stp
        .ask(SHORT_MSG_GATEWAY, 3, address(FOREIGN, 8), invoke)
        .await;
    assert!(matches!(answer, Component::Result { .. }), "{answer:?}");
}

/// Who brings a message must be of the network that has asked; and somebody must have asked.
#[actix::test]
async fn the_firewall_finds_who_brings_a_message_without_a_question() {
    let mut guard = MapFirewall {
        mode: MapFirewallMode::On,
        error: MapFirewallError::UnexpectedDataValue,
        ..MapFirewall::default()
    };
    guard.rules.service_centre = MapFirewallAction::Off;
    let (mut stp, fixture) = behind(guard, |_| {}).await;
    let id = stp.gets_id(FOREIGN, NUMBER_A).await;
    let blocked = error(MapUserError::UNEXPECTED_DATA_VALUE);
    assert_eq!(stp.brings(OTHER, &id, DELIVER).await, blocked);
    assert_eq!(
        stp.brings(FOREIGN, "262010000000000", DELIVER).await,
        blocked
    );
    assert_ne!(stp.brings(FOREIGN, &id, DELIVER).await, blocked);
    until("both to be listed", || {
        let findings = fixture.interface().findings;
        let rules: Vec<&str> = findings.iter().map(|one| &*one.rule).collect();
        rules == ["without_routing", "other_network"]
    })
    .await;
}

/// Whoever asks by several titles has several ids: they are of one subscriber.
#[actix::test]
async fn a_subscriber_with_several_ids_has_one_rate() {
    let guard = MapFirewall {
        mode: MapFirewallMode::On,
        subscriber_rate: Some(0.001),
        subscriber_burst: Some(4),
        ..MapFirewall::default()
    };
    let (mut stp, _fixture) = behind(guard, |_| {}).await;
    let first = stp.gets_id(FOREIGN, NUMBER_A).await;
    let second = stp.gets_id(OTHER, NUMBER_A).await;
    stp.is_taken(FOREIGN, &first).await;
    stp.is_taken(OTHER, &second).await;
    let answer = stp.brings(FOREIGN, &first, DELIVER).await;
    assert_eq!(answer, error(MapUserError::SYSTEM_FAILURE));
    let another = stp.gets_id(FOREIGN, NUMBER_B).await;
    stp.is_taken(FOREIGN, &another).await;
}

/// The ids of all networks of a node are in one table.
#[actix::test]
async fn an_id_of_another_network_is_unknown() {
    let (mut stp, fixture) = home(|_| {}).await;
    let id = "310410000000042";
    fixture.learns(id);
    let answer = stp.brings(FOREIGN, id, DELIVER).await;
    assert_eq!(answer, error(MapUserError::UNIDENTIFIED_SUBSCRIBER));
}
