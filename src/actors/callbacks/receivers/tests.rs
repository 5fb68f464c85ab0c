//! Lanes of callbacks, with receivers that fail in all ways.

mod crowd;

use super::*;

const MOST_AT_ONCE: u32 = 8;

/// CallbackReceivers with a clock of their own.
struct ReceiversScene {
    receivers: CallbackReceivers<u32>,
    now: Instant,
    next: u32,
}

impl ReceiversScene {
    fn new() -> Self {
        Self {
            receivers: CallbackReceivers::default(),
            now: Instant::now(),
            next: 0,
        }
    }

    fn key(&mut self, url: &str) -> LaneKey {
        self.try_key(url).unwrap()
    }

    fn waiting_for(&self, key: &LaneKey) -> usize {
        self.receivers.urls[key].order.waiting()
    }

    fn try_key(&mut self, url: &str) -> Result<LaneKey, Duration> {
        let target = CallbackTarget::parse(url).unwrap();
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

    /// The first answer of each URL comes.
    fn prove(&mut self, urls: &[&str]) {
        for url in urls {
            self.push(url, 1);
        }
        for taken in self.take_all() {
            self.end(taken, CallbackSaid::Works);
        }
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
    let mut scene = ReceiversScene::new();
    scene.push("https://a.example/one", 20);
    assert_eq!(scene.take_all().len(), 8);
    scene.pass(5.0);
    assert_eq!(scene.take_all().len(), 0);
}

#[test]
fn a_host_that_cannot_be_reached_rests_alone() {
    let mut scene = ReceiversScene::new();
    scene.push("https://a.example:1/dead", 20);
    scene.push("https://a.example:2/good", 40);
    let dead = scene.key("https://a.example:1/dead");
    for _ in 0..3 {
        for taken in scene.take_all() {
            let said = if taken.key == dead {
                CallbackSaid::Unreachable
            } else {
                CallbackSaid::Works
            };
            scene.end(taken, said);
        }
    }
    let next = scene.take_all();
    assert_eq!((count_of(&next, &dead), next.len()), (0, 8));
    // What waits for it is given back, but for a few, and the first of all are kept.
    let surplus = scene.receivers.surplus(scene.now);
    let items: Vec<u32> = surplus.iter().map(|(item, _)| *item).collect();
    assert_eq!(items, Vec::from_iter(3..=20));
    assert!(surplus.iter().all(|(_, rest)| !rest.is_zero()));
    assert!(scene.receivers.is_full(&dead, scene.now).is_some());
    assert_eq!(scene.receivers.awake(scene.now), 15, "of the good one");
    // The other URLs of that host wait with it.
    scene.push("https://a.example:1/other", 1);
    assert_eq!(scene.take_all().len(), 0);
    scene.pass(1.3);
    let probes = scene.take_all();
    assert!(probes.iter().any(|one| one.item == 1), "in its place");
}

#[test]
fn a_url_that_fails_does_not_slow_others_of_its_host() {
    let mut scene = ReceiversScene::new();
    scene.push("https://a.example/bad", 200);
    let bad = scene.key("https://a.example/bad");
    for _ in 0..2 {
        for taken in scene.take_all() {
            scene.end(taken, CallbackSaid::Fails(Duration::ZERO));
        }
    }
    assert!(!scene.receivers.rests(scene.now).next().unwrap().is_zero());
    scene.prove(&["https://a.example/good"]);
    scene.push("https://a.example/good", 20);
    let good = scene.take_all();
    assert_eq!(good.len(), 8, "all places");
    for taken in good {
        scene.end(taken, CallbackSaid::Works);
    }
    scene.pass(60.0);
    let probes = scene.take_all();
    assert_eq!(count_of(&probes, &bad), 2, "a few, and not one");
    assert_eq!(probes.len() - 2, 8, "beside the others");
}

#[test]
fn what_is_wrong_with_callbacks_slows_nothing() {
    let mut scene = ReceiversScene::new();
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
    let mut scene = ReceiversScene::new();
    scene.prove(&["https://a.example/good"]);
    for number in 0..20 {
        scene.push(&format!("https://a.example/hangs/{number}"), 50);
    }
    assert_eq!(scene.take_all().len(), 8, "one of each");
    scene.push("https://a.example/good", 200);
    assert_eq!(scene.take_all().len(), 0);
    let good = scene.key("https://a.example/good");
    for _ in 0..20 {
        scene.pass(1.1);
        let more = scene.take_all();
        assert_ne!(count_of(&more, &good), 0);
        for one in more.into_iter().filter(|one| one.key == good) {
            scene.end(one, CallbackSaid::Works);
        }
    }
    // What waits for them is given back, and asks for nothing of what the session may hold.
    let kept = scene.receivers.iter().count() - scene.receivers.surplus(scene.now).len();
    assert!(kept <= 20 * KEPT + 200, "{kept}");
    assert_eq!(scene.receivers.awake(scene.now), scene.waiting_for(&good));
}

/// More URLs that never answer than there are places aside, at one port and at many.
#[test]
fn however_many_urls_hang_those_that_work_have_half_of_the_places() {
    let at: [fn(u32) -> String; 2] = [
        |number| format!("https://a.example/hangs/{number}"),
        |number| format!("https://a.example:{}/", 1_000 + number),
    ];
    for of in at {
        let mut scene = ReceiversScene::new();
        scene.prove(&["https://a.example/good"]);
        for number in 0..300 {
            scene.push(&of(number), 5);
        }
        for _ in 0..300 {
            scene.take_all();
            scene.pass(1.1);
        }
        let good = scene.key("https://a.example/good");
        scene.push("https://a.example/good", 100);
        let more = scene.take_all();
        assert!(count_of(&more, &good) >= 4, "{}", count_of(&more, &good));
        assert_eq!(count_of(&more, &good), more.len());
    }
}

#[test]
fn one_that_asks_for_a_time_gets_nothing_before() {
    let mut scene = ReceiversScene::new();
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
fn the_number_of_lanes_is_bounded_and_none_is_shared() {
    let mut scene = ReceiversScene::new();
    for number in 0..2_000 {
        let urls = [
            format!("https://a.example/{number}"),
            format!("https://a.example:{}/", number + 1),
        ];
        scene.prove(&urls.each_ref().map(|url| &url[..]));
    }
    assert_eq!(scene.receivers.urls.len(), MOST);
    assert!(scene.receivers.hosts() <= MOST);
    // Queries make no URLs.
    let urls = scene.receivers.urls();
    scene.push("https://a.example/1999?id=1", 1);
    scene.push("https://a.example/1999?id=2", 1);
    assert_eq!(scene.receivers.urls(), urls);
    // Where each lane has something to do, another URL has none.
    for number in 1..MOST {
        let _ = scene.try_key(&format!("https://b.example/{number}"));
        scene.push(&format!("https://b.example/{number}"), 1);
    }
    let found = scene.try_key("https://b.example/another");
    assert_eq!(found, Err(STUCK));
}

/// Many more URLs fail than have lanes: what is known of each is kept, and good ones find a lane.
#[test]
fn a_url_that_fails_gives_its_lane_to_others_and_rests_as_before() {
    let mut scene = ReceiversScene::new();
    for number in 0..1_000 {
        let url = format!("https://a.example/bad/{number}");
        scene.push(&url, 12);
        scene.pass(0.0001);
        while let Some(taken) = scene.receivers.take(MOST_AT_ONCE, scene.now) {
            scene.end(taken, CallbackSaid::Fails(Duration::ZERO));
        }
    }
    assert_eq!(scene.receivers.urls.len(), MOST);
    assert_eq!(scene.receivers.urls(), 1_000);
    let rest = scene.try_key("https://a.example/bad/0").unwrap_err();
    assert!(
        rest > Duration::ZERO && rest < Duration::from_secs(2),
        "{rest:?}"
    );
    // What waited there is given back in order.
    let surplus: Vec<u32> = scene
        .receivers
        .surplus(scene.now)
        .into_iter()
        .map(|(item, _)| item)
        .collect();
    assert!(surplus.is_sorted());
    assert_eq!(scene.receivers.iter().count(), (MOST) * KEPT);
    scene.prove(&["https://a.example/good"]);
    scene.push("https://a.example/good", 8);
    assert_eq!(scene.take_all().len(), 8);
    // When its rest is over it has a lane again, and is no new one.
    scene.pass(2.0);
    let key = scene.key("https://a.example/bad/0");
    let lane = &scene.receivers.urls[&key];
    assert_eq!(
        scene.receivers.standing_of(&key, lane),
        UrlStanding::Failing
    );
    scene.receivers.forget(scene.now);
    assert_eq!(scene.receivers.urls(), MOST);
}

#[test]
fn everything_is_given_back_in_order() {
    let mut scene = ReceiversScene::new();
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
    assert_eq!(scene.receivers.iter().count(), 0);
}
