//! Hundreds of URLs, of which many are dead, through a session with the credit that it has, by a clock of its own.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::super::*;
use crate::domain::callback::pace;

const MOST_AT_ONCE: u32 = 8;
const GOOD: usize = 120;
const OF_EACH_KIND: usize = 20;
const EACH: usize = 40;
/// As the session asks for.
const CREDIT: usize = 8 * MOST_AT_ONCE as usize;
const APART: Duration = Duration::from_millis(2);

/// What a URL does with a callback, and how long that takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UrlManner {
    Good,
    Refuses,
    Resets,
    Hangs,
    Unreachable,
}

/// One callback.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct CrowdCallback {
    url: usize,
    number: u64,
    attempt: u32,
}

struct CallbackCrowd {
    receivers: CallbackReceivers<CrowdCallback>,
    manners: Vec<UrlManner>,
    now: Instant,
    queue: VecDeque<CrowdCallback>,
    /// What comes again, by when.
    later: BinaryHeap<Reverse<(Instant, CrowdCallback)>>,
    under_way: Vec<(Instant, TakenCallback<CrowdCallback>)>,
    held_upto: Instant,
}

impl UrlManner {
    fn does(self) -> (CallbackSaid, Duration) {
        let fails = CallbackSaid::Fails(Duration::ZERO);
        let ms = Duration::from_millis;
        match self {
            Self::Good => (CallbackSaid::Works, ms(10)),
            Self::Refuses => (fails, ms(10)),
            Self::Resets => (fails, ms(1)),
            Self::Hangs => (fails, ms(10_000)),
            Self::Unreachable => (CallbackSaid::Unreachable, ms(1)),
        }
    }
}

impl CallbackCrowd {
    /// Callbacks to the good ones wait behind those to the others.
    fn with(dead: &[UrlManner]) -> Self {
        let dead = dead.iter().flat_map(|kind| [*kind; OF_EACH_KIND]);
        let manners: Vec<UrlManner> = dead.chain([UrlManner::Good; GOOD]).collect();
        let orders = (0..manners.len()).flat_map(|url| (0..EACH).map(move |_| url));
        let orders = (0..).zip(orders).map(|(number, url)| CrowdCallback {
            url,
            number,
            attempt: 1,
        });
        let now = Instant::now();
        Self {
            receivers: CallbackReceivers::default(),
            queue: orders.collect(),
            manners,
            now,
            later: BinaryHeap::new(),
            under_way: Vec::new(),
            held_upto: now,
        }
    }

    fn hold_up(&mut self, order: CrowdCallback, rest: Duration) {
        let due = if rest > SOON {
            self.held_upto = self.held_upto.max(self.now) + APART;
            self.held_upto + rest
        } else {
            self.now + rest
        };
        self.later.push(Reverse((due, order)));
    }

    fn take_up(&mut self, order: CrowdCallback) {
        let port = match self.manners[order.url] {
            UrlManner::Unreachable => 1_000 + order.url,
            _ => 443,
        };
        let target =
            CallbackTarget::parse(&format!("https://a.example:{port}/{}", order.url)).unwrap();
        let path = target.uri().path().into();
        let key = match self.receivers.lane_of(&target, &path, self.now) {
            Ok(key) => key,
            Err(rest) => return self.hold_up(order, rest),
        };
        match self.receivers.is_full(&key, self.now) {
            Some(rest) => self.hold_up(order, rest),
            None => {
                let subscriber = Bytes::from(order.number.to_string());
                self.receivers.push(&key, subscriber, order);
            }
        }
    }

    fn go_on(&mut self) {
        loop {
            while let Some(taken) = self.receivers.take(MOST_AT_ONCE, self.now) {
                let (_, takes) = self.manners[taken.item.url].does();
                self.under_way.push((self.now + takes, taken));
            }
            for (order, rest) in self.receivers.surplus(self.now) {
                self.hold_up(order, rest);
            }
            if self.receivers.awake(self.now) + self.under_way.len() >= CREDIT {
                return;
            }
            let is_due = |Reverse((due, _)): &Reverse<(Instant, CrowdCallback)>| *due <= self.now;
            let order = if self.later.peek().is_some_and(is_due) {
                self.later.pop().map(|Reverse((_, order))| order)
            } else {
                self.queue.pop_front()
            };
            match order {
                Some(order) => self.take_up(order),
                None => return,
            }
        }
    }

    /// How long it takes until the good ones have all of theirs.
    fn run(mut self) -> Duration {
        let since = self.now;
        let mut left = GOOD * EACH;
        while left > 0 {
            self.go_on();
            let ends = self.under_way.iter().map(|(at, _)| *at).min();
            let comes = self.later.peek().map(|Reverse((due, _))| *due);
            // The session also looks by itself.
            let looks = self.now + Duration::from_millis(100);
            let next = ends.into_iter().chain(comes);
            let next = next.filter(|at| *at > self.now);
            self.now = next.fold(looks, Instant::min);
            let ended = |(at, _): &mut (Instant, TakenCallback<CrowdCallback>)| *at <= self.now;
            let ended: Vec<_> = self.under_way.extract_if(.., ended).collect();
            for (_, taken) in ended {
                let order = taken.item;
                let (said, _) = self.manners[order.url].does();
                let (key, turn) = (taken.key.clone(), taken.turn);
                match said {
                    CallbackSaid::Unreachable => self.receivers.put_back(taken),
                    _ => self.receivers.finished(&key, turn, &taken.subscriber),
                }
                match said {
                    CallbackSaid::Works => left -= 1,
                    CallbackSaid::Unreachable => {}
                    _ => {
                        let due = self.now + pace::pause(order.attempt, None);
                        let attempt = order.attempt + 1;
                        self.later
                            .push(Reverse((due, CrowdCallback { attempt, ..order })));
                    }
                }
                self.receivers.note(&key, said, Duration::MAX, self.now);
            }
        }
        self.now - since
    }
}

#[test]
fn eighty_dead_urls_of_two_hundred_do_not_take_half_of_the_speed() {
    let alone = CallbackCrowd::with(&[]).run();
    let kinds = [
        UrlManner::Refuses,
        UrlManner::Resets,
        UrlManner::Hangs,
        UrlManner::Unreachable,
    ];
    for kind in kinds {
        let beside = CallbackCrowd::with(&[kind]).run();
        println!("{GOOD} good URLs: {alone:?} alone, {beside:?} beside {OF_EACH_KIND} of {kind:?}");
    }
    let beside = CallbackCrowd::with(&kinds).run();
    println!("{GOOD} good URLs: {alone:?} alone, {beside:?} beside 80 of all kinds");
    assert!(beside < alone * 2, "{beside:?} instead of {alone:?}");
}
