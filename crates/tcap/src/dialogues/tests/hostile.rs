//! Peers that flood, lie, repeat themselves, answer late, or are not who they should be.

use proptest::prelude::*;

use super::*;
use crate::component::tests::any_component;

/// A Begin of a transaction of its own.
fn begin(origin: u32) -> Bytes {
    let message = TcapMessage::Begin {
        origin: origin.into(),
        dialogue: Some(DialoguePdu::request(GATEWAY.name())),
        components: Vec::new(),
    };
    message.encode()
}

fn go_on(origin: u32, to: DialogueId, components: Vec<Component>) -> Bytes {
    let message = TcapMessage::Continue {
        origin: origin.into(),
        destination: to.0.into(),
        dialogue: None,
        components,
    };
    message.encode()
}

fn end(to: DialogueId, components: Vec<Component>) -> Bytes {
    let message = TcapMessage::End {
        destination: to.0.into(),
        dialogue: None,
        components,
    };
    message.encode()
}

#[test]
fn a_flood_of_half_open_dialogues_stays_within_its_bound() {
    let bounds = TcapConfig {
        max_dialogues: 1_000,
        max_incoming: 500,
        max_incoming_of_peer: 100,
        ..config()
    };
    let mut network = Network::new();
    network.smsc = TcapDialogues::new(bounds);
    let (mut begun, mut answered) = (0, 0);
    for number in 0..100_000_u32 {
        let stranger = at(&format!("4477{:04}", number % 5_000), 8);
        network
            .smsc
            .received(smsc(), stranger, &begin(number), network.now);
        begun += events(&mut network.smsc).len();
        for answer in sent(&mut network.smsc) {
            let limit = AbortReason::Provider(PAbortCause::ResourceLimitation);
            assert_eq!(abort_in(&answer.data), limit);
            answered += 1;
        }
    }
    assert_eq!((begun, answered), (500, strangers::ANSWERS_TO_ALL));
    assert_eq!(network.smsc.incoming(), 500);
    assert_eq!(network.smsc.counts().refused, 99_500);
    // Ours pass all the same.
    for _ in 0..10 {
        let (ours, theirs) = network.begun(vec![asked(1)]);
        network.hlr.end(theirs, vec![answer(1)]);
        assert_eq!(
            network.carry().0,
            [ended(ours, vec![answer(1)], Some(GATEWAY))]
        );
    }
    // And when nothing moves in those of the strangers, there is room again.
    network.passes(IDLE);
    assert_eq!(events(&mut network.smsc).len(), 500);
    assert_eq!((network.smsc.incoming(), network.smsc.due.len()), (0, 0));
    network.smsc.received(smsc(), hlr(), &begin(1), network.now);
    assert_eq!(events(&mut network.smsc).len(), 1);
}

#[test]
fn one_stranger_cannot_take_the_room_of_all() {
    let mut table = TcapDialogues::new(config());
    let now = Instant::now();
    // Whatever subsystem and point code the stranger names beside its number.
    for number in 0..100 {
        let stranger = SccpAddress {
            point_code: Some(PointCode(number)),
            ..at("447700", number as u8)
        };
        table.received(smsc(), stranger, &begin(number), now);
    }
    assert_eq!(table.incoming(), config().max_incoming_of_peer);
    table.received(smsc(), hlr(), &begin(1), now);
    assert_eq!(table.incoming(), config().max_incoming_of_peer + 1);
    // One without a number is told from others by its point code.
    let point = |code| SccpAddress::of_point(PointCode(code), 8);
    for number in 0..100 {
        table.received(smsc(), point(7), &begin(number), now);
    }
    assert_eq!(table.incoming(), config().max_incoming);
}

/// Whoever has many titles takes the room of all others, but not that of our own network.
#[test]
fn room_is_kept_for_our_own_network() {
    let bounds = TcapConfig {
        max_incoming: 8,
        max_incoming_of_peer: 2,
        ..config()
    };
    let mut table = TcapDialogues::new(bounds);
    let now = Instant::now();
    let begins = |table: &mut TcapDialogues, title: &str, origin| {
        table.received(smsc(), at(title, 8), &begin(origin), now);
    };
    table.keep_room_for(vec!["4917".to_owned()]);
    for number in 0..100 {
        begins(&mut table, &format!("4477{number:04}"), number);
    }
    assert_eq!(table.incoming(), 6);
    for number in 0..3 {
        begins(&mut table, &format!("49170{number}"), number);
    }
    assert_eq!(table.incoming(), 8);
    // Without a title that is known there is nothing to keep.
    table.keep_room_for(Vec::new());
    let id = match table.next_event() {
        Some(TcapEvent::Begun { id, .. }) => id,
        other => panic!("{other:?}"),
    };
    table.abandon(id);
    begins(&mut table, "44780000", 7);
    assert_eq!(table.incoming(), 8);
}

#[test]
fn room_is_given_back_to_the_peer_that_had_it() {
    let mut table = TcapDialogues::new(config());
    let now = Instant::now();
    for number in 0..100 {
        table.received(smsc(), hlr(), &begin(number), now);
        let Some(TcapEvent::Begun { id, .. }) = table.next_event() else {
            panic!("dialogue {number} was refused");
        };
        match number % 3 {
            0 => table.end(id, Vec::new()),
            1 => table.abort(id, AbortCause::Refused),
            _ => table.abandon(id),
        }
    }
    assert_eq!((table.incoming(), table.counts().refused), (0, 0));
    assert_eq!(table.of_peers.of(&peers::PeerKey::of(&hlr())), 0);
}

#[test]
fn a_flood_of_strangers_is_answered_a_hundred_times_a_second() {
    let mut table = TcapDialogues::new(config());
    let now = Instant::now();
    for at in [now, now + 3 * SECOND / 2] {
        for number in 0..10_000 {
            let message = go_on(number, DialogueId(number), Vec::new());
            table.received(smsc(), hlr(), &message, at);
        }
        assert_eq!(sent(&mut table).len(), strangers::ANSWERS_TO_PEER as usize);
    }
    let counts = table.counts();
    assert_eq!((counts.answered, counts.unanswered), (200, 19_800));
    assert_eq!(counts.stray, 20_000);
}

#[test]
fn whoever_floods_uses_up_its_own_answers_and_not_those_of_others() {
    let mut table = TcapDialogues::new(config());
    let now = Instant::now();
    let lost = |table: &mut TcapDialogues, from: SccpAddress, number: u32| {
        let message = go_on(number, DialogueId(number), Vec::new());
        table.received(smsc(), from, &message, now);
        sent(table).len()
    };
    // Whatever subsystem and point code the stranger names beside its number.
    let stranger = |number: u32| SccpAddress {
        point_code: Some(PointCode(number % 16_384)),
        ..at("447700", number as u8)
    };
    let of_stranger = (0..10_000).map(|number| lost(&mut table, stranger(number), number));
    assert_eq!(
        of_stranger.sum::<usize>(),
        strangers::ANSWERS_TO_PEER as usize
    );
    assert_eq!(lost(&mut table, hlr(), 1), 1);
    let point = |code| SccpAddress::of_point(PointCode(code), 8);
    assert_eq!(lost(&mut table, point(7), 1), 1);
    // Whoever has many addresses uses up what is for all, and nobody's memory.
    let of_many = (0..10_000).map(|code| lost(&mut table, point(code), code));
    let rest = strangers::ANSWERS_TO_ALL - strangers::ANSWERS_TO_PEER - 2;
    assert_eq!(of_many.sum::<usize>(), rest as usize);
    assert_eq!(lost(&mut table, hlr(), 1), 0);
    assert_eq!(table.strangers.peers(), strangers::PEERS);
}

#[test]
fn what_the_user_refuses_is_counted_with_the_peer_of_its_dialogue() {
    let mut table = TcapDialogues::new(config());
    let now = Instant::now();
    let mut begun = |from: SccpAddress| {
        table.received(smsc(), from, &begin(1), now);
        let Some(TcapEvent::Begun { id, .. }) = table.next_event() else {
            panic!("it is refused");
        };
        let may_refuse = table.may_refuse(id, now);
        table.abandon(id);
        may_refuse
    };
    let refused = (0..1_000).filter(|_| begun(at("447700", 8)));
    assert_eq!(refused.count(), strangers::ANSWERS_TO_PEER as usize);
    assert!(begun(hlr()));
    assert_eq!(table.counts().answered, 101);
    assert_eq!(table.counts().unanswered, 900);
}

#[test]
fn only_the_peer_is_heard_once_it_answered() {
    let mut network = Network::new();
    let (ours, theirs) = network.active(vec![asked(1)]);
    let stranger = at("447700", 6);
    let abort = TcapMessage::Abort {
        destination: ours.0.into(),
        reason: AbortReason::Provider(PAbortCause::ResourceLimitation),
    };
    let unreadable = [0x64, 8, 0x49, 4, 0, 0, 0, 0, 0x6C, 0x7F];
    let unreadable = [&unreadable[..4], &ours.0.to_be_bytes(), &unreadable[8..]].concat();
    for (calling, message) in [
        (stranger.clone(), end(ours, vec![answer(1)])),
        (stranger.clone(), go_on(theirs.0, ours, vec![answer(1)])),
        (stranger.clone(), abort.encode()),
        (stranger, unreadable.into()),
        // Another subsystem, another transaction, and no global title.
        (at("4917009", 8), end(ours, vec![answer(1)])),
        (hlr(), go_on(theirs.0 ^ 1, ours, vec![answer(1)])),
        (
            SccpAddress::of_point(PointCode(1), 6),
            end(ours, vec![answer(1)]),
        ),
    ] {
        network
            .smsc
            .received(smsc(), calling, &message, network.now);
        assert_eq!(events(&mut network.smsc), []);
        assert_eq!(sent(&mut network.smsc), []);
    }
    assert_eq!(network.smsc.counts().stray, 6);
    // The peer itself, which may add its point code.
    let calling = SccpAddress {
        point_code: Some(PointCode(5)),
        ..hlr()
    };
    network
        .smsc
        .received(smsc(), calling, &end(ours, vec![answer(1)]), network.now);
    assert_eq!(
        events(&mut network.smsc),
        [ended(ours, vec![answer(1)], None)]
    );
}

#[test]
fn nobody_answers_for_us_in_a_dialogue_of_a_peer() {
    let mut network = Network::new();
    network.begin(Vec::new());
    let (_, at_hlr) = network.carry();
    let TcapEvent::Begun { id, .. } = at_hlr[0] else {
        panic!("{at_hlr:?}");
    };
    // The peer cannot know the id before we answer; whoever names it has guessed.
    for message in [end(id, Vec::new()), go_on(1, id, Vec::new())] {
        network.hlr.received(hlr(), smsc(), &message, network.now);
    }
    assert_eq!(events(&mut network.hlr), []);
    assert_eq!(network.hlr.incoming(), 1);
}

#[test]
fn a_repeated_answer_is_told_once() {
    let mut network = Network::new();
    let (ours, theirs) = network.begun(vec![asked(1)]);
    network
        .hlr
        .proceed(theirs, vec![answer(1)], network.now)
        .unwrap();
    let first = network.hlr.next_unitdata().unwrap();
    for _ in 0..2 {
        network
            .smsc
            .received(smsc(), hlr(), &first.data, network.now);
    }
    let told = [
        proceeded(ours, vec![answer(1)], Some(GATEWAY)),
        proceeded(ours, Vec::new(), None),
    ];
    assert_eq!(events(&mut network.smsc), told);
    network.hlr.end(theirs, Vec::new());
    let last = network.hlr.next_unitdata().unwrap();
    for _ in 0..3 {
        network
            .smsc
            .received(smsc(), hlr(), &last.data, network.now);
    }
    assert_eq!(events(&mut network.smsc), [ended(ours, Vec::new(), None)]);
    assert_eq!(sent(&mut network.smsc), []);
}

#[test]
fn what_nobody_asked_for_is_rejected() {
    let mut network = Network::new();
    let (ours, theirs) = network.active(Vec::new());
    let unasked = vec![answer(9), Component::error(8, 1, Bytes::new())];
    network.hlr.proceed(theirs, unasked, network.now).unwrap();
    assert_eq!(network.carry().0, [proceeded(ours, Vec::new(), None)]);
    network
        .smsc
        .proceed(ours, vec![asked(1)], network.now)
        .unwrap();
    let (_, at_hlr) = network.carry();
    let [TcapEvent::Proceeded { components, .. }] = &at_hlr[..] else {
        panic!("{at_hlr:?}");
    };
    let reject = |id, problem| Component::Reject {
        id: Some(id),
        problem,
    };
    let rejects = [
        reject(9, RejectProblem::RESULT_OF_UNRECOGNIZED_ID),
        reject(8, RejectProblem::ERROR_OF_UNRECOGNIZED_ID),
    ];
    assert_eq!(components[1..], rejects);
}

#[test]
fn rejects_that_wait_are_bounded() {
    let mut network = Network::new();
    let (ours, theirs) = network.active(Vec::new());
    for _ in 0..100 {
        network
            .hlr
            .proceed(theirs, vec![answer(1); 20], network.now)
            .unwrap();
        network.carry();
    }
    network.smsc.end(ours, Vec::new());
    let (_, at_hlr) = network.carry();
    let [TcapEvent::Ended { components, .. }] = &at_hlr[..] else {
        panic!("{at_hlr:?}");
    };
    assert_eq!(components.len(), 8);
}

#[test]
fn a_late_answer_is_not_taken_for_that_of_another() {
    let mut network = Network::new();
    let (ours, theirs) = network.begun(vec![asked(1)]);
    network.passes(15 * SECOND);
    network.smsc.abort(ours, AbortCause::User);
    events(&mut network.smsc);
    let others: Vec<DialogueId> = (0..10).map(|_| network.begin(vec![asked(1)])).collect();
    assert!(!others.contains(&ours));
    sent(&mut network.smsc);
    network.hlr.end(theirs, vec![answer(1)]);
    assert_eq!(network.carry().0, []);
    assert_eq!(network.smsc.begun(), 10);
    // A late Continue keeps the peer waiting, so it is told.
    let message = go_on(7, ours, Vec::new());
    network.smsc.received(smsc(), hlr(), &message, network.now);
    let unknown = AbortReason::Provider(PAbortCause::UnrecognizedTransactionId);
    assert_eq!(abort_in(&sent(&mut network.smsc)[0].data), unknown);
}

#[test]
fn an_answer_behind_its_time_out_is_not_told() {
    let mut network = Network::new();
    let (ours, theirs) = network.active(vec![asked(1)]);
    network.passes(15 * SECOND);
    let timed_out = TcapEvent::TimedOut {
        id: ours,
        invoke: 1,
    };
    assert_eq!(events(&mut network.smsc), [timed_out]);
    network.hlr.end(theirs, vec![answer(1)]);
    assert_eq!(network.carry().0, [ended(ours, Vec::new(), None)]);
}

#[test]
fn a_peer_without_an_address_does_not_take_ours_away() {
    let mut network = Network::new();
    let ours = network.begin(vec![asked(1)]);
    let nobody = SccpAddress {
        global_title: None,
        ..hlr()
    };
    let message = go_on(7, ours, Vec::new());
    network.smsc.received(smsc(), nobody, &message, network.now);
    assert_eq!(network.smsc.peer(ours), Some(&subscriber()));
}

#[derive(Debug, Clone)]
enum Step {
    Begin(Vec<Component>),
    Proceed(usize, Vec<Component>),
    End(usize, Vec<Component>),
    Abort(usize),
    /// What the other side sent arrives: in order, twice, or damaged at a place.
    Carry,
    Twice,
    Damaged(prop::sample::Index, u8),
    Passes(u64),
    Hear(Vec<u8>),
    Returned,
}

fn any_step() -> impl Strategy<Value = Step> {
    let components = || prop::collection::vec(any_component(), 0..3);
    prop_oneof![
        components().prop_map(Step::Begin),
        (0..8_usize, components()).prop_map(|(which, sent)| Step::Proceed(which, sent)),
        (0..8_usize, components()).prop_map(|(which, sent)| Step::End(which, sent)),
        (0..8_usize).prop_map(Step::Abort),
        Just(Step::Carry),
        Just(Step::Twice),
        (any::<prop::sample::Index>(), any::<u8>())
            .prop_map(|(at, octet)| Step::Damaged(at, octet)),
        (0..100_u64).prop_map(Step::Passes),
        prop::collection::vec(any::<u8>(), 0..40).prop_map(Step::Hear),
        Just(Step::Returned),
    ]
}

/// The dialogues that a side has heard of, and everything that must hold of its table.
fn look(table: &mut TcapDialogues, known: &mut Vec<DialogueId>) {
    for event in events(table) {
        match event {
            TcapEvent::Begun { id, .. } => known.push(id),
            TcapEvent::Proceeded { id, .. } | TcapEvent::TimedOut { id, .. } => {
                assert!(known.contains(&id));
            }
            TcapEvent::Ended { id, .. }
            | TcapEvent::Aborted { id, .. }
            | TcapEvent::Returned { id, .. }
            | TcapEvent::IdleEnded { id } => {
                let place = known.iter().position(|known| *known == id);
                known.remove(place.expect("a dialogue ends once"));
            }
        }
    }
    assert_eq!(table.open.len(), known.len());
    assert_eq!(table.due.len(), known.len());
    assert!(table.begun() <= config().max_dialogues);
    assert!(table.incoming() <= config().max_incoming);
    let counted = table
        .open
        .values()
        .filter(|dialogue| dialogue.counted.is_some());
    assert_eq!(counted.count(), table.incoming());
}

proptest! {
    /// Whatever both sides do and the network does to them: each dialogue ends once, and what the tables count
    /// is what they hold.
    #[test]
    fn tables_stay_whole(steps in prop::collection::vec((any::<bool>(), any_step()), 0..80)) {
        let mut now = Instant::now();
        let mut sides = [TcapDialogues::new(config()), TcapDialogues::new(config())];
        let mut known = [Vec::new(), Vec::new()];
        for (is_second, step) in steps {
            let (here, there) = (usize::from(is_second), usize::from(!is_second));
            let which = |which: usize| known[here].get(which).copied();
            match step {
                Step::Begin(sent) => {
                    let begun = sides[here].begin(Some(GATEWAY), hlr(), smsc(), sent, now);
                    known[here].extend(begun.ok());
                }
                Step::Proceed(place, sent) => {
                    if let Some(id) = which(place) {
                        let _ = sides[here].proceed(id, sent, now);
                    }
                }
                Step::End(place, sent) => {
                    if let Some(id) = which(place) {
                        sides[here].end(id, sent);
                        known[here].retain(|known| *known != id);
                    }
                }
                Step::Abort(place) => {
                    if let Some(id) = which(place) {
                        sides[here].abort(id, AbortCause::Refused);
                        known[here].retain(|known| *known != id);
                    }
                }
                Step::Carry | Step::Twice | Step::Damaged(..) => {
                    for unit in sent(&mut sides[there]) {
                        let mut data = unit.data.to_vec();
                        if let Step::Damaged(at, octet) = &step {
                            let at = at.index(data.len());
                            data[at] = *octet;
                        }
                        let data = data.into();
                        for _ in 0..=usize::from(matches!(step, Step::Twice)) {
                            sides[here].received(smsc(), hlr(), &data, now);
                        }
                    }
                }
                Step::Passes(seconds) => {
                    now += Duration::from_secs(seconds);
                    sides[here].on_tick(now);
                }
                Step::Hear(octets) => sides[here].received(smsc(), hlr(), &octets.into(), now),
                Step::Returned => {
                    for unit in sent(&mut sides[here]) {
                        sides[here].returned(1, &unit.data);
                    }
                }
            }
            look(&mut sides[here], &mut known[here]);
        }
    }
}
