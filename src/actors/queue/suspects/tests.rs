//! Who is blamed, by a peer that ends sessions on some messages, and after how many tries.

use std::collections::VecDeque;

use proptest::prelude::*;

use super::*;

const SESSION: u64 = 1;

/// A queue with one session, and a peer that answers messages in order, or in reverse, until one ends the session.
struct SessionEndingPeer {
    suspects: Suspects,
    waiting: VecDeque<Item>,
    bad: Vec<u64>,
    is_backward: bool,
    now: Instant,
    /// Whether the session is empty and for a try only.
    sessions: u64,
    sent: HashMap<u64, u32>,
    counts: HashMap<u64, u8>,
}

impl SessionEndingPeer {
    fn new(messages: u64, bad: &[u64]) -> Self {
        Self {
            suspects: Suspects::default(),
            waiting: (1..=messages).map(Item::message).collect(),
            bad: bad.to_vec(),
            is_backward: false,
            now: Instant::now(),
            sessions: 0,
            sent: HashMap::new(),
            counts: HashMap::new(),
        }
    }

    /// Sends these; what the peer does with them. Returns whether all were answered.
    fn exchange(&mut self, items: Vec<Item>) -> bool {
        for item in &items {
            *self.sent.entry(item.id).or_default() += 1;
        }
        let mut left: VecDeque<Item> = items.into();
        loop {
            let next = if self.is_backward {
                left.pop_back()
            } else {
                left.pop_front()
            };
            let Some(item) = next else { return true };
            if self.bad.contains(&item.id) {
                left.push_front(item);
                break;
            }
            self.suspects.answered([item.id].into_iter());
        }
        let mut left = Vec::from(left);
        left.sort_by_key(|item| item.id);
        self.end(&left);
        false
    }

    fn end(&mut self, lost: &[Item]) {
        self.sessions += 1;
        let blame = self.suspects.session_ended(SESSION, lost, 1, false);
        for item in lost.iter().rev() {
            if blame != Blame::Alone(item.id) {
                if self.suspects.has(item.id) {
                    self.suspects.set_aside(*item, Some(Box::default()));
                } else {
                    self.waiting.push_front(*item);
                }
                continue;
            }
            match self.suspects.accuse(item, BETWEEN, self.now) {
                None if self.suspects.has(item.id) => {
                    self.suspects.set_aside(*item, Some(Box::default()));
                }
                None => self.waiting.push_front(*item),
                Some((_, ended)) => {
                    self.counts.insert(item.id, ended);
                    match ended {
                        3.. => self.suspects.acquit(item.id),
                        _ => self.waiting.push_back(*item),
                    }
                }
            }
        }
        self.suspects.session_gone(SESSION);
    }

    /// What a queue does when it may grant `window` messages: a try, or others.
    fn step(&mut self, window: usize) {
        self.now += Duration::from_secs(60);
        let acquitted = self.suspects.take_acquitted();
        acquitted
            .into_iter()
            .rev()
            .for_each(|item| self.waiting.push_front(item));
        let mut group = Vec::new();
        let most = self
            .suspects
            .most_under_way()
            .map_or(window, |most| window.min(most as usize));
        while group.len() < most {
            let Some(item) = self.waiting.pop_front() else {
                break;
            };
            let behind = self.waiting.len();
            if self.suspects.has(item.id) || self.suspects.passes_over(&item, behind) {
                self.suspects.set_aside(item, Some(Box::default()));
            } else {
                group.push(item);
            }
        }
        if !group.is_empty() {
            if self.suspects.tries_each() {
                let ids = group.iter().map(|item| item.id).collect();
                self.suspects.begin(SESSION, ids, self.now);
            }
            self.exchange(group);
        }
        let others_first = self.suspects.doubts_peer() && !self.waiting.is_empty();
        if !others_first && self.suspects.choose(self.now) && self.suspects.is_ready() {
            let mut group = Vec::new();
            while group.len() < window
                && let Some((item, _)) = self.suspects.next_of_group()
            {
                group.push(item);
            }
            let ids = group.iter().map(|item| item.id).collect();
            self.suspects.begin(SESSION, ids, self.now);
            self.exchange(group);
        }
    }

    /// How many sessions it takes until all good messages were answered.
    fn sessions_for_good(&mut self, window: usize) -> u64 {
        let waits = |peer: &Self| {
            let aside = peer.suspects.aside.keys().copied();
            let mut all = peer.waiting.iter().map(|item| item.id).chain(aside);
            all.any(|id| !peer.bad.contains(&id))
        };
        for _ in 0..10_000 {
            if !waits(self) {
                return self.sessions;
            }
            self.step(window);
        }
        panic!("after {} sessions good ones wait", self.sessions);
    }

    fn is_done(&self) -> bool {
        self.waiting.is_empty() && self.suspects.aside_len() == 0
    }
}

/// While one message may be under way, each is a try. It ends with its answer, also when nothing is under suspicion:
/// otherwise nothing would be tried again while its session lives.
#[tokio::test(start_paused = true)]
async fn an_answer_ends_the_try_of_what_is_under_no_suspicion() {
    let mut suspects = Suspects::default();
    let items = [1, 2].map(Item::message);
    suspects.session_ended(SESSION, &items, 4, false);
    suspects.answered([1, 2].into_iter());
    assert!(suspects.is_quiet() && suspects.tries_each());
    suspects.begin(SESSION + 1, vec![3], Instant::now());
    assert!(suspects.is_trying());
    suspects.answered([3].into_iter());
    assert!(suspects.is_quiet() && !suspects.is_trying());
}

#[tokio::test(start_paused = true)]
async fn the_first_unanswered_is_found_at_once_and_counts_when_others_were_answered() {
    let mut peer = SessionEndingPeer::new(50, &[8]);
    (0..20).for_each(|_| peer.step(10));
    assert!(peer.is_done());
    assert_eq!(peer.counts, HashMap::from([(8, 3)]));
    assert_eq!(peer.sent[&8], 4, "one in a window, three alone");
    assert_eq!(peer.sessions, 4);
    let twice = peer.sent.values().filter(|sent| **sent == 2).count();
    assert!(twice <= 9, "{twice} went twice");
    assert!(peer.suspects.is_quiet());
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_answers_in_another_order_costs_a_few_tries_more() {
    let mut peer = SessionEndingPeer::new(300, &[8]);
    peer.is_backward = true;
    (0..40).for_each(|_| peer.step(256));
    assert!(peer.is_done());
    assert_eq!(peer.counts, HashMap::from([(8, 3)]));
    assert!(peer.sessions <= 12, "{} sessions", peer.sessions);
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_takes_nothing_convicts_nobody() {
    let all: Vec<u64> = (1..=40).collect();
    let mut peer = SessionEndingPeer::new(40, &all);
    (0..500).for_each(|_| peer.step(10));
    assert!(
        peer.counts.values().all(|count| *count == 0),
        "{:?}",
        peer.counts
    );
    assert!(peer.suspects.doubts_peer());
    assert!(peer.suspects.len() <= 40);
    // It works again.
    peer.bad.clear();
    (0..100).for_each(|_| peer.step(10));
    assert!(peer.is_done() && peer.suspects.is_quiet());
}

#[tokio::test(start_paused = true)]
async fn a_message_that_is_all_there_is_is_not_told_apart_from_its_peer() {
    let mut peer = SessionEndingPeer::new(1, &[1]);
    (0..50).for_each(|_| peer.step(10));
    assert_eq!(peer.counts, HashMap::from([(1, 0)]));
    assert!(!peer.suspects.doubts_peer());
    // Others come, and are answered: then it counts.
    peer.waiting.push_back(Item::message(2));
    (0..5).for_each(|_| peer.step(10));
    assert_eq!(peer.counts, HashMap::from([(1, 3)]));
}

#[tokio::test(start_paused = true)]
async fn a_try_that_takes_long_lets_the_others_go() {
    let mut suspects = Suspects::default();
    let now = Instant::now();
    let lost = [1, 2, 3].map(Item::message);
    assert_eq!(
        suspects.session_ended(SESSION, &lost, 1, false),
        Blame::Unknown
    );
    for id in 1..=3 {
        assert!(suspects.has(id));
        suspects.set_aside(Item::message(id), Some(Box::default()));
    }
    assert!(suspects.choose(now) && suspects.is_ready());
    let (first, _) = suspects.next_of_group().expect("the first one");
    assert_eq!(first.id, 1);
    suspects.begin(2, vec![1], now);
    assert!(suspects.slow_try(now).is_none());
    let slow = suspects.slow_try(now + PATIENCE).expect("it takes long");
    assert_eq!((slow.session, &slow.unanswered[..]), (2, &[1][..]));
    suspects.acquit_untried();
    let acquitted = suspects.take_acquitted();
    assert_eq!(
        acquitted.iter().map(|item| item.id).collect::<Vec<_>>(),
        [2, 3]
    );
    // Others are on that session meanwhile; it is still the first one that is to blame.
    let lost = [1, 2, 9].map(Item::message);
    assert_eq!(suspects.session_ended(2, &lost, 1, false), Blame::Alone(1));
}

#[tokio::test(start_paused = true)]
async fn pauses_grow_up_to_a_limit() {
    let mut suspects = Suspects::default();
    let first = Duration::from_secs(5);
    let now = Instant::now();
    let item = Item::message(7);
    let pause = |suspects: &mut Suspects| {
        suspects.accuse(&item, BETWEEN, now);
        suspects.pause_of(7, first).as_secs()
    };
    let untold: Vec<u64> = (0..5).map(|_| pause(&mut suspects)).collect();
    assert_eq!(untold, [5, 15, 45, 60, 60]);
    suspects.acquit(7);
    suspects.know(&item, 1);
    let counted: Vec<u64> = (0..7).map(|_| pause(&mut suspects)).collect();
    assert_eq!(counted, [15, 45, 135, 405, 1215, 1800, 1800]);
}

#[tokio::test(start_paused = true)]
async fn others_go_on_after_a_session_that_took_long_to_be_made() {
    let second = Duration::from_secs(1);
    for others in [true, false] {
        let (mut suspects, now) = (Suspects::default(), Instant::now());
        let item = Item::message(7);
        suspects.know(&item, 1);
        suspects.set_aside(item, Some(Box::default()));
        suspects.accuse(&item, BETWEEN, now);
        suspects.rest_when_bound(false, others, now);
        let bound = now + 5 * second;
        suspects.rest_when_bound(true, others, bound);
        assert_eq!(suspects.choose(bound), !others);
        // Only the first time.
        suspects.rest_when_bound(true, others, bound + second);
        assert!(suspects.choose(bound + second));
    }
}

/// For tests whose bodies are no futures.
fn paused_clock() -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_time().start_paused(true);
    builder.build().expect("a runtime")
}

#[tokio::test(start_paused = true)]
async fn a_crowd_in_front_of_others_has_one_turn_each_at_most() {
    for (bad, good) in [(60, 20), (60, 1), (600, 20), (3_000, 3)] {
        let all: Vec<u64> = (1..=bad).collect();
        let mut peer = SessionEndingPeer::new(bad + good, &all);
        let sessions = peer.sessions_for_good(10);
        assert!(sessions <= bad + 20, "{sessions} sessions for {bad}");
    }
}

proptest! {
    /// Wherever the bad ones are, each of them costs the good ones two sessions at most (one more for each halving, if the
    /// first unanswered one is not to blame), and a few that look for the first good one.
    #[test]
    fn a_crowd_holds_good_ones_up_for_a_session_each(
        bad in proptest::collection::hash_set(1u64..150, 0..100),
        window in 1usize..64,
        is_backward: bool,
    ) {
        let clock = paused_clock();
        let _guard = clock.enter();
        let bad: Vec<u64> = bad.into_iter().collect();
        let mut peer = SessionEndingPeer::new(150, &bad);
        peer.is_backward = is_backward;
        let sessions = peer.sessions_for_good(window);
        let each = if is_backward { 3 + u64::from(window.ilog2()) } else { 2 };
        prop_assert!(sessions <= each * bad.len() as u64 + 20, "{sessions} sessions");
    }

    /// All good messages arrive and none of them is given up, wherever the bad ones are and in whatever order the peer
    /// answers; every bad one ends as long as good ones come.
    #[test]
    fn nobody_else_is_given_up(
        bad in proptest::collection::vec(1u64..200, 0..4),
        window in 1usize..64,
        is_backward: bool,
    ) {
        let clock = paused_clock();
        let _guard = clock.enter();
        let mut peer = SessionEndingPeer::new(200, &bad);
        peer.is_backward = is_backward;
        for step in 0..400 {
            peer.step(window);
            // Traffic goes on.
            if step % 4 == 0 {
                peer.waiting.push_back(Item::message(1000 + step));
            }
        }
        for id in 1..=200 {
            if bad.contains(&id) {
                prop_assert_eq!(peer.counts.get(&id), Some(&3));
            } else {
                prop_assert!(peer.counts.get(&id).is_none_or(|count| *count == 0));
            }
        }
        prop_assert!(peer.suspects.len() == 0);
    }
}

#[tokio::test(start_paused = true)]
async fn an_end_counts_as_soon_as_another_message_is_answered() {
    let (mut suspects, now) = (Suspects::default(), Instant::now());
    let (bad, other) = (Item::message(1), Item::message(2));
    suspects.session_ended(SESSION, &[bad, other], 2, false);
    suspects.set_aside(bad, None);
    assert!(suspects.choose(now));
    suspects.begin(SESSION, vec![1], now);
    assert_eq!(
        suspects.session_ended(SESSION, &[bad], 2, false),
        Blame::Alone(1)
    );
    assert_eq!(suspects.accuse(&bad, BETWEEN, now), Some((0, 0)));
    assert!(suspects.now_counted().is_empty());
    suspects.answered([2].into_iter());
    assert_eq!(suspects.now_counted(), [1]);
    assert!(suspects.now_counted().is_empty(), "once");
    assert_eq!(suspects.accuse(&bad, BETWEEN, now), Some((1, 2)));
}
