//! Lanes of callbacks, with receivers that fail in all ways.

use super::*;

const MOST_AT_ONCE: u32 = 8;

/// Receivers with a clock of their own.
struct Scene {
    receivers: Receivers<u32>,
    now: Instant,
    next: u32,
}

impl Scene {
    fn new() -> Self {
        Self {
            receivers: Receivers::default(),
            now: Instant::now(),
            next: 0,
        }
    }

    fn key(&mut self, url: &str) -> LaneKey {
        let target = Target::parse(url).unwrap();
        let path = target.uri().path().into();
        self.receivers.lane_of(&target, &path, self.now)
    }

    /// So many callbacks, each about another subscriber.
    fn push(&mut self, url: &str, count: u32) {
        let key = self.key(url);
        for _ in 0..count {
            self.next += 1;
            let subscriber = Bytes::from(self.next.to_string());
            self.receivers.push(&key, subscriber, self.next);
        }
    }

    /// Everything that may be sent now.
    fn take_all(&mut self) -> Vec<TakenCallback<u32>> {
        let take = || self.receivers.take(MOST_AT_ONCE, self.now);
        std::iter::from_fn(take).collect()
    }

    fn end(&mut self, taken: TakenCallback<u32>, said: CallbackSaid) {
        let TakenCallback {
            key,
            turn,
            subscriber,
            ..
        } = &taken;
        let (key, turn) = (key.clone(), *turn);
        match said {
            CallbackSaid::Unreachable => self.receivers.put_back(taken),
            _ => self.receivers.finished(&key, turn, subscriber),
        }
        self.receivers.note(&key, said, Duration::MAX, self.now);
    }

    fn pass(&mut self, seconds: f64) {
        self.now += Duration::from_secs_f64(seconds);
    }
}

fn count_of(taken: &[TakenCallback<u32>], key: &LaneKey) -> usize {
    taken.iter().filter(|one| one.key == *key).count()
}

#[test]
fn a_url_that_is_alone_gets_all_at_once() {
    let mut scene = Scene::new();
    scene.push("https://a.example/one", 20);
    assert_eq!(scene.take_all().len(), 8);
    scene.pass(5.0);
    assert_eq!(scene.take_all().len(), 0);
}

#[test]
fn a_host_that_cannot_be_reached_rests_alone() {
    let mut scene = Scene::new();
    scene.push("https://a.example:1/dead", 20);
    scene.push("https://a.example:2/good", 20);
    let dead = scene.key("https://a.example:1/dead");
    for taken in scene.take_all() {
        let said = match taken.key == dead {
            true => CallbackSaid::Unreachable,
            false => CallbackSaid::Works,
        };
        scene.end(taken, said);
    }
    let next = scene.take_all();
    assert_eq!((count_of(&next, &dead), next.len()), (0, 8));
    // What waits for it is given back, but for a few, and the first of all are kept.
    let surplus = scene.receivers.surplus(scene.now);
    let items: Vec<u32> = surplus.iter().map(|(item, _)| *item).collect();
    assert_eq!(items, Vec::from_iter(3..=20));
    assert!(surplus.iter().all(|(_, rest)| !rest.is_zero()));
    assert!(scene.receivers.is_full(&dead, scene.now).is_some());
    assert_eq!(scene.receivers.awake(scene.now), 4, "of the good one");
    // The other URLs of that host wait with it.
    scene.push("https://a.example:1/other", 1);
    assert_eq!(scene.take_all().len(), 0);
    scene.pass(1.3);
    let probes = scene.take_all();
    assert!(probes.iter().any(|one| one.item == 1), "in its place");
}

#[test]
fn a_url_that_fails_does_not_slow_others_of_its_host() {
    let mut scene = Scene::new();
    scene.push("https://a.example/bad", 200);
    let bad = scene.key("https://a.example/bad");
    for _ in 0..2 {
        for taken in scene.take_all() {
            scene.end(taken, CallbackSaid::Fails(Duration::ZERO));
        }
    }
    assert!(!scene.receivers.rests(scene.now).next().unwrap().is_zero());
    scene.push("https://a.example/good", 20);
    let good = scene.take_all();
    assert_eq!(good.len(), 8, "all places");
    for taken in good {
        scene.end(taken, CallbackSaid::Works);
    }
    scene.pass(60.0);
    let probes = scene.take_all();
    assert_eq!(count_of(&probes, &bad), 2, "a few, and not one");
    assert_eq!(probes.len(), 8);
}

#[test]
fn what_is_wrong_with_callbacks_slows_nothing() {
    let mut scene = Scene::new();
    scene.push("https://a.example/one", 100);
    for _ in 0..10 {
        let taken = scene.take_all();
        assert_eq!(taken.len(), 8);
        for one in taken {
            scene.end(one, CallbackSaid::Nothing);
        }
    }
}

#[test]
fn urls_that_never_answer_keep_no_places_of_others() {
    let mut scene = Scene::new();
    let mut hang = Vec::new();
    for number in 0..5 {
        scene.push(&format!("https://a.example/hangs/{number}"), 50);
    }
    hang.extend(scene.take_all());
    assert_eq!(hang.len(), 8);
    scene.push("https://a.example/good", 200);
    assert_eq!(scene.take_all().len(), 0);
    scene.pass(1.1);
    let good = scene.key("https://a.example/good");
    for _ in 0..20 {
        let more = scene.take_all();
        let (of_good, others): (Vec<_>, Vec<_>) = more.into_iter().partition(|one| one.key == good);
        assert!(!of_good.is_empty() && others.is_empty());
        for one in of_good {
            scene.end(one, CallbackSaid::Works);
        }
    }
    // Nor do those at other ports.
    let mut scene = Scene::new();
    for port in 1..=5 {
        scene.push(&format!("https://a.example:{port}/"), 50);
    }
    assert_eq!(scene.take_all().len(), 32);
    scene.push("https://a.example:6/", 50);
    assert_eq!(scene.take_all().len(), 0);
    scene.pass(1.1);
    assert_ne!(scene.take_all().len(), 0);
}

#[test]
fn one_that_asks_for_a_time_gets_nothing_before() {
    let mut scene = Scene::new();
    scene.push("https://a.example/one", 10);
    let mut taken = scene.take_all().into_iter();
    let asked = Duration::from_secs(30);
    scene.end(taken.next().unwrap(), CallbackSaid::Fails(asked));
    for one in taken {
        scene.end(one, CallbackSaid::Works);
    }
    scene.pass(29.9);
    assert_eq!(scene.take_all().len(), 0);
    scene.pass(0.2);
    assert_eq!(scene.take_all().len(), 2);
}

#[test]
fn the_number_of_lanes_is_bounded() {
    let mut scene = Scene::new();
    for number in 0..1_000 {
        scene.push(&format!("https://a.example/{number}"), 1);
        scene.push(&format!("https://a.example:{}/", number + 1), 1);
    }
    assert!(scene.receivers.urls() <= 2 * MOST + 2);
    assert!(scene.receivers.hosts() <= MOST + 2);
    // A URL whose callbacks wait in the common lane stays there, so that it keeps its order.
    let common = scene.key("https://a.example/900");
    assert_eq!(common.path, None);
    let mut came = Vec::new();
    loop {
        let taken = scene.take_all();
        if taken.is_empty() {
            break;
        }
        for one in taken {
            came.push(one.item);
            scene.end(one, CallbackSaid::Works);
        }
    }
    assert_eq!(came.len(), 2_000, "everything goes");
    assert_ne!(scene.key("https://a.example/900").path, None);
    assert!(scene.receivers.urls() <= 2 * MOST + 2);
    // Queries make no URLs.
    let urls = scene.receivers.urls();
    scene.push("https://a.example/900?id=1", 1);
    scene.push("https://a.example/900?id=2", 1);
    assert_eq!(scene.receivers.urls(), urls);
}

#[test]
fn everything_is_given_back_in_order() {
    let mut scene = Scene::new();
    scene.push("https://a.example/one", 2);
    scene.push("https://b.example/two", 2);
    scene.push("https://a.example/one", 2);
    let first = scene.receivers.take(MOST_AT_ONCE, scene.now).unwrap();
    assert_eq!((first.item, scene.receivers.iter().count()), (1, 5));
    let taken = scene.receivers.take(MOST_AT_ONCE, scene.now).unwrap();
    assert_eq!(taken.item, 3, "of the URL with the fewest under way");
    scene.receivers.put_back(taken);
    assert_eq!(Vec::from_iter(scene.receivers.drain()), [2, 3, 4, 5, 6]);
    scene.end(first, CallbackSaid::Works);
    assert_eq!(scene.receivers.waiting(), 0);
}
