//! The circuit breaker of a network: what counts, and what the interface does with what it holds.

use super::*;

const PAUSE: Duration = Duration::from_secs(60);
/// Network out of order (3GPP TS 24.011 §8.2.5.4).
const OUT_OF_ORDER: Option<u8> = Some(38);
/// Implicitly detached (TS 24.008 §10.5.5.14).
const DETACHED: Option<u8> = Some(10);

async fn guarded(delay: Duration) -> Fixture {
    let keys = |home: &mut Gsm| {
        home.window = 2;
        home.breaker_failures = 3;
        home.breaker_pause = PAUSE;
        home.retry = Some(Retry {
            delays: vec![delay],
            ..Retry::default()
        });
    };
    fixture_with(true, keys).await
}

fn subscribers(count: usize) -> Vec<String> {
    let imsis = (1..=count).map(|number| format!("00101{number:010}"));
    imsis.collect()
}

impl Fixture {
    async fn breaker(&self, state: &str) {
        let snapshot = || self.queue.snapshot.get();
        until(&format!("a breaker that is {state}"), || {
            snapshot().breaker == state
        })
        .await;
    }
}

#[actix::test]
async fn a_network_that_fails_for_many_subscribers_gets_nothing_for_a_while() {
    let mut core = Core::next();
    let fixture = guarded(HOUR).await;
    let imsis = subscribers(12);
    let imsis: Vec<&str> = imsis.iter().map(String::as_str).collect();
    fixture.accept(&imsis).await;
    let mut tried = Vec::new();
    while let Some(request) = core.request_soon().await {
        core.refuse(&request, OUT_OF_ORDER, None).await;
        tried.push(request.imsi);
    }
    // What was under way when it opened was answered; what the interface held besides has gone back.
    assert!((3..imsis.len()).contains(&tried.len()), "{tried:?}");
    fixture.breaker("open").await;
    assert_eq!(fixture.queue.snapshot.get().breaker_opened_total, 1);
    let since = Instant::now();
    let mut arrived = Vec::new();
    for _ in tried.len()..imsis.len() {
        let request = core.request().await;
        core.take(&request).await;
        arrived.push(request.imsi);
    }
    assert!(since.elapsed() > PAUSE / 2, "{:?}", since.elapsed());
    assert_eq!([tried, arrived].concat(), imsis);
    fixture.breaker("closed").await;
}

#[actix::test]
async fn one_subscriber_alone_stops_nobody_else() {
    let mut core = Core::next();
    let fixture = guarded(Duration::from_secs(1)).await;
    fixture.accept(&[A]).await;
    for _ in 0..6 {
        let request = core.request().await;
        core.refuse(&request, OUT_OF_ORDER, None).await;
    }
    fixture.accept(&[B]).await;
    loop {
        let request = core.request().await;
        if request.imsi == B {
            break core.take(&request).await;
        }
        core.refuse(&request, OUT_OF_ORDER, None).await;
    }
    let snapshot = fixture.queue.snapshot.get();
    assert_eq!(
        (&*snapshot.breaker, snapshot.breaker_opened_total),
        ("closed", 0)
    );
}

#[actix::test]
async fn subscribers_that_are_not_there_are_no_network_that_fails() {
    let mut core = Core::next();
    let fixture = guarded(HOUR).await;
    let imsis = subscribers(8);
    fixture
        .accept(&imsis.iter().map(String::as_str).collect::<Vec<_>>())
        .await;
    for _ in &imsis {
        let request = core.request().await;
        core.refuse(&request, None, DETACHED).await;
    }
    fixture.scheduled(8).await;
    fixture.breaker("closed").await;
    assert_eq!(fixture.queue.snapshot.get().breaker_opened_total, 0);
}
