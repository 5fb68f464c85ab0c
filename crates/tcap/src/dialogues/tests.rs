//! Two tables that talk to each other, on a clock that only the tests turn.

mod hostile;
mod unreadable;

use bytes::Bytes;
use smsc_sigtran::{GlobalTitle, PointCode};

use super::*;
use crate::component::{Invoke, RejectProblem};
use crate::event::TcapAbort;
use crate::hex::octets;
use crate::message::PAbortCause;

const SECOND: Duration = Duration::from_secs(1);
const IDLE: Duration = Duration::from_secs(60);
/// sendRoutingInfoForSM
const ROUTING: u8 = 45;
const GATEWAY: ApplicationContext = ApplicationContext {
    context: 20,
    version: 3,
};

fn at(digits: &str, ssn: u8) -> SccpAddress {
    SccpAddress::of_title(GlobalTitle::international(digits, 0), ssn)
}

fn smsc() -> SccpAddress {
    at("4917000", 8)
}

/// Whom we write to: a subscriber's number, which the network translates to that of the HLR.
fn subscriber() -> SccpAddress {
    at("49170123456", 6)
}

fn hlr() -> SccpAddress {
    at("4917009", 6)
}

fn config() -> TcapConfig {
    TcapConfig {
        own: None,
        max_dialogues: 10,
        max_incoming: 6,
        max_incoming_of_peer: 3,
        idle_timeout: IDLE,
        incoming_idle_timeout: IDLE,
    }
}

fn asked(id: i8) -> Component {
    Component::Invoke(Invoke {
        id,
        operation: ROUTING,
        parameter: Bytes::from_static(b"\x30\x00"),
        timeout: 15 * SECOND,
    })
}

fn answer(id: i8) -> Component {
    Component::result(id, ROUTING, Bytes::from_static(b"\x30\x00"))
}

/// Both sides. What one sends the other receives, its addresses translated.
struct Network {
    smsc: TcapDialogues,
    hlr: TcapDialogues,
    now: Instant,
}

impl Network {
    fn new() -> Self {
        Self {
            smsc: TcapDialogues::new(config()),
            hlr: TcapDialogues::new(config()),
            now: Instant::now(),
        }
    }

    fn begin(&mut self, components: Vec<Component>) -> DialogueId {
        let context = Some(GATEWAY);
        let now = self.now;
        let id = self
            .smsc
            .begin(context, subscriber(), smsc(), components, now);
        id.unwrap()
    }

    /// Carries everything over, and tells what the two sides see.
    fn carry(&mut self) -> (Vec<TcapEvent>, Vec<TcapEvent>) {
        loop {
            let mut is_over = true;
            while let Some(unit) = self.smsc.next_unitdata() {
                self.hlr.received(hlr(), unit.calling, &unit.data, self.now);
                is_over = false;
            }
            while let Some(unit) = self.hlr.next_unitdata() {
                self.smsc
                    .received(unit.called, unit.calling, &unit.data, self.now);
                is_over = false;
            }
            if is_over {
                return (events(&mut self.smsc), events(&mut self.hlr));
            }
        }
    }

    /// A dialogue that the HLR has seen, with its id there.
    fn begun(&mut self, components: Vec<Component>) -> (DialogueId, DialogueId) {
        let ours = self.begin(components);
        let (_, at_hlr) = self.carry();
        match &at_hlr[..] {
            [TcapEvent::Begun { id, .. }] => (ours, *id),
            other => panic!("not begun: {other:?}"),
        }
    }

    /// A dialogue in which the HLR went on once.
    fn active(&mut self, components: Vec<Component>) -> (DialogueId, DialogueId) {
        let (ours, theirs) = self.begun(components);
        self.hlr.proceed(theirs, Vec::new(), self.now).unwrap();
        let (at_smsc, _) = self.carry();
        assert_eq!(at_smsc, [proceeded(ours, Vec::new(), Some(GATEWAY))]);
        (ours, theirs)
    }

    fn passes(&mut self, time: Duration) {
        self.now += time;
        self.smsc.on_tick(self.now);
        self.hlr.on_tick(self.now);
    }
}

fn events(table: &mut TcapDialogues) -> Vec<TcapEvent> {
    std::iter::from_fn(|| table.next_event()).collect()
}

fn sent(table: &mut TcapDialogues) -> Vec<UnitdataRequest> {
    std::iter::from_fn(|| table.next_unitdata()).collect()
}

fn proceeded(
    id: DialogueId,
    components: Vec<Component>,
    accepted: Option<ApplicationContext>,
) -> TcapEvent {
    TcapEvent::Proceeded {
        id,
        components,
        accepted,
    }
}

fn ended(
    id: DialogueId,
    components: Vec<Component>,
    accepted: Option<ApplicationContext>,
) -> TcapEvent {
    TcapEvent::Ended {
        id,
        components,
        accepted,
    }
}

fn aborted(id: DialogueId, why: TcapAbort) -> TcapEvent {
    TcapEvent::Aborted { id, why }
}

fn by_user() -> TcapAbort {
    TcapAbort::User {
        information: Bytes::new(),
    }
}

/// What an Abort in `data` says.
fn abort_in(data: &[u8]) -> AbortReason {
    match TcapMessage::decode(data) {
        Ok(TcapMessage::Abort { reason, .. }) => reason,
        other => panic!("no abort: {other:?}"),
    }
}

#[test]
fn a_question_is_answered() {
    let mut network = Network::new();
    let ours = network.begin(vec![asked(1)]);
    let (at_smsc, at_hlr) = network.carry();
    assert_eq!(at_smsc, []);
    let TcapEvent::Begun {
        id,
        context,
        called,
        calling,
        components,
    } = &at_hlr[0]
    else {
        panic!("{at_hlr:?}");
    };
    assert_eq!(
        (*context, called, calling),
        (Some(GATEWAY), &hlr(), &smsc())
    );
    assert!(matches!(&components[..], [Component::Invoke(invoke)] if invoke.operation == ROUTING));
    network.hlr.end(*id, vec![answer(1)]);
    let (at_smsc, _) = network.carry();
    assert_eq!(at_smsc, [ended(ours, vec![answer(1)], Some(GATEWAY))]);
    assert_eq!((network.smsc.begun(), network.hlr.incoming()), (0, 0));
    assert_eq!(network.smsc.next_due(), None);
}

#[test]
fn messages_have_the_octets_of_the_standard() {
    let mut network = Network::new();
    let ours = network.begin(vec![asked(1)]);
    let unit = network.smsc.next_unitdata().unwrap();
    let head = octets("62 32 48 04");
    let tail = octets(
        "6B 1E 28 1C 06 07 00 11 86 05 01 01 01 A0 11 60 0F 80 02 07 80
         A1 09 06 07 04 00 00 01 00 14 03 6C 0A A1 08 02 01 01 02 01 2D 30 00",
    );
    assert_eq!(
        unit.data[..],
        [&head[..], &ours.0.to_be_bytes(), &tail].concat()
    );
    assert_eq!(begin_octets(Some(GATEWAY), &[asked(1)]), unit.data.len());
    assert_eq!((unit.called, unit.calling), (subscriber(), smsc()));
    assert_eq!(unit.sequence, ours.0);
    assert!(unit.return_on_error && !unit.in_order);
}

#[test]
fn a_dialogue_goes_on_as_long_as_both_want() {
    let mut network = Network::new();
    let (ours, theirs) = network.active(Vec::new());
    // From now on messages go to the HLR itself.
    assert_eq!(network.smsc.peer(ours), Some(&hlr()));
    for round in 1..=4 {
        network
            .smsc
            .proceed(ours, vec![asked(round)], network.now)
            .unwrap();
        let (_, at_hlr) = network.carry();
        assert!(matches!(
            &at_hlr[..],
            [TcapEvent::Proceeded { accepted: None, .. }]
        ));
        network
            .hlr
            .proceed(theirs, vec![answer(round)], network.now)
            .unwrap();
        let (at_smsc, _) = network.carry();
        assert_eq!(at_smsc, [proceeded(ours, vec![answer(round)], None)]);
    }
    network.smsc.end(ours, Vec::new());
    let unit = &network.smsc.unitdata[0];
    assert!(unit.in_order && !unit.return_on_error);
    let (_, at_hlr) = network.carry();
    assert_eq!(at_hlr, [ended(theirs, Vec::new(), None)]);
    assert_eq!((network.smsc.begun(), network.hlr.incoming()), (0, 0));
}

#[test]
fn version_1_has_no_dialogue_portion() {
    let mut network = Network::new();
    let now = network.now;
    let begun = network
        .smsc
        .begin(None, subscriber(), smsc(), vec![asked(1)], now);
    let ours = begun.unwrap();
    let unit = &network.smsc.unitdata[0];
    let head = octets("62 12 48 04");
    let tail = octets("6C 0A A1 08 02 01 01 02 01 2D 30 00");
    assert_eq!(
        unit.data[..],
        [&head[..], &ours.0.to_be_bytes(), &tail].concat()
    );
    let (_, at_hlr) = network.carry();
    let TcapEvent::Begun { id, context, .. } = at_hlr[0] else {
        panic!("{at_hlr:?}");
    };
    assert_eq!(context, None);
    network.hlr.end(id, vec![answer(1)]);
    let (at_smsc, _) = network.carry();
    assert_eq!(at_smsc, [ended(ours, vec![answer(1)], None)]);
}

#[test]
fn a_context_may_be_refused() {
    let older = ApplicationContext {
        version: 2,
        ..GATEWAY
    };
    let refused = TcapAbort::DialogueRefused {
        information: Bytes::new(),
    };
    let unsupported = |alternative| TcapAbort::ContextNotSupported { alternative };
    let provider = PAbortCause::IncorrectTransactionPortion;
    for (cause, why) in [
        (
            AbortCause::ContextNotSupported {
                alternative: Some(older),
            },
            unsupported(Some(older)),
        ),
        (
            AbortCause::ContextNotSupported { alternative: None },
            unsupported(None),
        ),
        (AbortCause::Refused, refused),
        (AbortCause::User, by_user()),
        (
            AbortCause::Provider(provider),
            TcapAbort::Provider(provider),
        ),
    ] {
        let mut network = Network::new();
        let (ours, theirs) = network.begun(vec![asked(1)]);
        network.hlr.abort(theirs, cause);
        let (at_smsc, _) = network.carry();
        assert_eq!(at_smsc, [aborted(ours, why)]);
        assert_eq!((network.smsc.begun(), network.hlr.incoming()), (0, 0));
    }
}

#[test]
fn each_side_may_abort_an_open_dialogue() {
    let mut network = Network::new();
    let (ours, theirs) = network.active(Vec::new());
    network.smsc.abort(ours, AbortCause::User);
    assert_eq!(network.carry().1, [aborted(theirs, by_user())]);
    let (ours, theirs) = network.active(Vec::new());
    // What refuses a first answer is an ordinary abort later on.
    network.hlr.abort(theirs, AbortCause::Refused);
    assert_eq!(network.carry().0, [aborted(ours, by_user())]);
}

#[test]
fn before_the_first_answer_nothing_can_be_sent() {
    let mut network = Network::new();
    for end in [
        |table: &mut TcapDialogues, id| table.end(id, vec![asked(2)]),
        |table: &mut TcapDialogues, id| table.abort(id, AbortCause::User),
        |table: &mut TcapDialogues, id| table.abandon(id),
    ] {
        let id = network.begin(vec![asked(1)]);
        assert_eq!(sent(&mut network.smsc).len(), 1);
        let refused = network.smsc.proceed(id, Vec::new(), network.now);
        assert_eq!(refused, Err(DialogueNotOpen));
        end(&mut network.smsc, id);
        assert_eq!(sent(&mut network.smsc), []);
        assert_eq!(network.smsc.begun(), 0);
        assert_eq!(network.smsc.peer(id), None);
        let gone = network.smsc.proceed(id, Vec::new(), network.now);
        assert_eq!(gone, Err(DialogueNotOpen));
    }
}

#[test]
fn an_invoke_that_is_not_answered_times_out_once() {
    let mut network = Network::new();
    let (ours, _) = network.begun(vec![asked(1), asked(2)]);
    network.passes(14 * SECOND);
    assert_eq!(events(&mut network.smsc), []);
    network.passes(SECOND);
    let timed_out = |invoke| TcapEvent::TimedOut { id: ours, invoke };
    assert_eq!(events(&mut network.smsc), [timed_out(1), timed_out(2)]);
    network.passes(IDLE - SECOND);
    assert_eq!(events(&mut network.smsc), []);
    network.passes(SECOND);
    assert_eq!(
        events(&mut network.smsc),
        [TcapEvent::IdleEnded { id: ours }]
    );
}

#[test]
fn each_invoke_has_its_own_time() {
    let mut network = Network::new();
    let slow = Component::Invoke(Invoke {
        id: 2,
        operation: ROUTING,
        parameter: Bytes::new(),
        timeout: 600 * SECOND,
    });
    let unawaited = Component::Invoke(Invoke {
        id: 3,
        operation: ROUTING,
        parameter: Bytes::new(),
        timeout: Duration::ZERO,
    });
    let (ours, theirs) = network.active(vec![slow, unawaited]);
    network
        .smsc
        .proceed(ours, vec![asked(4)], network.now)
        .unwrap();
    let due = network.smsc.next_due();
    assert_eq!(due, Some(network.now + 15 * SECOND));
    network.carry();
    network
        .hlr
        .proceed(theirs, vec![answer(4)], network.now)
        .unwrap();
    network.carry();
    // Neither the one that was answered, nor idleness while one waits.
    network.passes(599 * SECOND);
    assert_eq!(events(&mut network.smsc), []);
    network.passes(SECOND);
    let timed_out = TcapEvent::TimedOut {
        id: ours,
        invoke: 2,
    };
    assert_eq!(events(&mut network.smsc), [timed_out]);
}

#[test]
fn an_idle_dialogue_ends_on_both_sides() {
    let mut network = Network::new();
    let (ours, theirs) = network.active(Vec::new());
    network.now += IDLE;
    network.smsc.on_tick(network.now);
    let (at_smsc, at_hlr) = network.carry();
    assert_eq!(at_smsc, [TcapEvent::IdleEnded { id: ours }]);
    assert_eq!(at_hlr, [aborted(theirs, by_user())]);
    assert!(network.smsc.due.is_empty() && network.hlr.due.is_empty());
}

#[test]
fn what_moves_is_not_idle() {
    let mut network = Network::new();
    let (ours, theirs) = network.active(Vec::new());
    for _ in 0..5 {
        network.passes(IDLE - SECOND);
        network
            .hlr
            .proceed(theirs, Vec::new(), network.now)
            .unwrap();
        let (at_smsc, _) = network.carry();
        assert_eq!(at_smsc, [proceeded(ours, Vec::new(), None)]);
    }
    assert_eq!(network.smsc.due.len(), 1);
}

#[test]
fn times_without_end_are_far_away() {
    let unending = TcapConfig {
        idle_timeout: Duration::MAX,
        ..config()
    };
    let mut table = TcapDialogues::new(unending);
    let now = Instant::now();
    let invoke = Component::Invoke(Invoke {
        id: 1,
        operation: ROUTING,
        parameter: Bytes::new(),
        timeout: Duration::MAX,
    });
    table.begin(None, hlr(), smsc(), vec![invoke], now).unwrap();
    table.on_tick(now + 1000 * IDLE);
    assert_eq!(events(&mut table), []);
}

#[test]
fn results_may_come_in_parts() {
    let mut network = Network::new();
    let (ours, theirs) = network.begun(vec![asked(1)]);
    let part = Component::Result {
        id: 1,
        is_last: false,
        operation: Some(ROUTING),
        parameter: Bytes::from_static(b"\x30\x00"),
    };
    network
        .hlr
        .proceed(theirs, vec![part.clone(), part.clone()], network.now)
        .unwrap();
    let (at_smsc, _) = network.carry();
    assert_eq!(
        at_smsc,
        [proceeded(
            ours,
            vec![part.clone(), part.clone()],
            Some(GATEWAY)
        )]
    );
    network.hlr.end(theirs, vec![answer(1), part]);
    let (at_smsc, _) = network.carry();
    assert_eq!(at_smsc, [ended(ours, vec![answer(1)], None)]);
}

#[test]
fn errors_and_rejects_are_answers() {
    let error = Component::error(1, 27, Bytes::new());
    let reject = Component::Reject {
        id: Some(1),
        problem: RejectProblem::UNRECOGNIZED_OPERATION,
    };
    for answer in [error, reject] {
        let mut network = Network::new();
        let (ours, theirs) = network.begun(vec![asked(1)]);
        network
            .hlr
            .proceed(theirs, vec![answer.clone()], network.now)
            .unwrap();
        let (at_smsc, _) = network.carry();
        assert_eq!(at_smsc, [proceeded(ours, vec![answer], Some(GATEWAY))]);
        network.passes(15 * SECOND);
        assert_eq!(events(&mut network.smsc), []);
    }
}

#[test]
fn what_comes_back_ends_its_dialogue() {
    let mut network = Network::new();
    let ours = network.begin(vec![asked(1)]);
    let begin = network.smsc.next_unitdata().unwrap();
    network.smsc.returned(1, &begin.data.slice(..20));
    let returned = |id| TcapEvent::Returned { id, cause: 1 };
    assert_eq!(events(&mut network.smsc), [returned(ours)]);
    network.smsc.returned(1, &begin.data);
    assert_eq!(events(&mut network.smsc), []);

    let (ours, _) = network.active(Vec::new());
    network
        .smsc
        .proceed(ours, vec![asked(1)], network.now)
        .unwrap();
    let proceed = network.smsc.next_unitdata().unwrap();
    network.smsc.returned(1, &proceed.data);
    assert_eq!(events(&mut network.smsc), [returned(ours)]);
    assert_eq!(network.smsc.begun(), 0);
}

#[test]
fn only_what_waits_comes_back() {
    let mut network = Network::new();
    let ours = network.begin(vec![asked(1)]);
    let begin = network.smsc.unitdata[0].data.clone();
    network.carry();
    // Whoever claims that another message of this dialogue came back: an End, a Continue before any answer.
    for message in [
        TcapMessage::End {
            destination: ours.0.into(),
            dialogue: None,
            components: Vec::new(),
        },
        TcapMessage::Continue {
            origin: ours.0.into(),
            destination: 7_u32.into(),
            dialogue: None,
            components: Vec::new(),
        },
    ] {
        network.smsc.returned(1, &message.encode());
    }
    network.smsc.returned(1, &Bytes::new());
    assert_eq!(events(&mut network.smsc), []);
    // The Begin after it was answered.
    let (ours, _) = network.active(Vec::new());
    let late = [&begin[..4], &ours.0.to_be_bytes(), &begin[8..]].concat();
    network.smsc.returned(1, &late.into());
    assert_eq!(events(&mut network.smsc), []);
}

#[test]
fn ours_are_bounded() {
    let mut network = Network::new();
    let first = network.begin(Vec::new());
    for _ in 1..config().max_dialogues {
        network.begin(Vec::new());
    }
    let (hlr, smsc, now) = (hlr(), smsc(), network.now);
    let refused = network
        .smsc
        .begin(None, hlr.clone(), smsc.clone(), Vec::new(), now);
    assert_eq!(refused, Err(TooManyDialogues));
    network.smsc.abandon(first);
    assert!(network.smsc.begin(None, hlr, smsc, Vec::new(), now).is_ok());
}

#[test]
fn in_dialogues_of_peers_we_write_from_our_own_address() {
    let begin = TcapMessage::Begin {
        origin: 7.into(),
        dialogue: Some(DialoguePdu::request(GATEWAY.name())),
        components: Vec::new(),
    };
    let begin = begin.encode();
    // What they wrote to is shared with other nodes.
    let shared = at("4917111", 8);
    let now = Instant::now();
    for (own, calling) in [(Some(smsc()), smsc()), (None, shared.clone())] {
        let mut table = TcapDialogues::new(TcapConfig { own, ..config() });
        table.received(shared.clone(), hlr(), &begin, now);
        let events = events(&mut table);
        let [TcapEvent::Begun { id, called, .. }] = &events[..] else {
            panic!("{events:?}");
        };
        assert_eq!(*called, shared);
        table.proceed(*id, Vec::new(), now).unwrap();
        table.end(*id, Vec::new());
        let sent = sent(&mut table);
        assert_eq!(sent.len(), 2);
        assert!(sent.iter().all(|unit| unit.calling == calling), "{sent:?}");
        assert!(sent.iter().all(|unit| unit.called == hlr()), "{sent:?}");
    }
}
