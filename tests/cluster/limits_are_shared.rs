//! Limits that several nodes share through a real Redis, and apply alone when it is down.
//!
//! A node here is a Throttle with its own plan and Redis client, or the client alone. The tests assert
//! upper bounds, which hold on the slowest machine, and that there is progress.

mod fixture;

use std::collections::HashMap;
use std::time::Duration;

use crate::harness::{self, Gate, Peer, PrivateRedis, Simulator, Smsc, submit, until};
use fixture::{Outside, client, node, node_with_patience, three_nodes, wait};
use futures_util::future::join_all;
use smsc::domain::limit::GcraParameters;
use smsc::smpp::Body;
use tokio::time::Instant;

const RATE: f64 = 100.0;
/// How long nodes compete.
const COMPETITION: Duration = Duration::from_secs(4);
/// Pause between two requests of a node.
const BREATH: Duration = Duration::from_millis(7);

#[actix::test]
async fn three_nodes_together_never_exceed_the_rate_in_a_second_of_the_clock() {
    let server = PrivateRedis::start();
    let nodes = three_nodes(&server.url()).await;
    let started = Instant::now();
    let runs = nodes.iter().map(|node| {
        let mut outside = Outside::new(&server);
        async move {
            let mut surely: HashMap<u64, u32> = HashMap::new();
            let mut total = 0;
            while started.elapsed() < COMPETITION {
                let (before, _) = outside.time();
                let taken = node.take(node.operator, 10).await;
                let (after, _) = outside.time();
                total += taken.granted;
                assert!(taken.valid_ms <= 1_000);
                if before == after {
                    *surely.entry(before).or_default() += taken.granted;
                }
                assert!(outside.counted(after) <= RATE as u64);
                tokio::time::sleep(BREATH).await;
            }
            (surely, total)
        }
    });
    let mut by_second: HashMap<u64, u32> = HashMap::new();
    let mut total = 0;
    for (surely, granted) in join_all(runs).await {
        total += granted;
        for (second, granted) in surely {
            *by_second.entry(second).or_default() += granted;
        }
    }
    assert!(
        by_second.values().all(|granted| *granted <= RATE as u32),
        "{by_second:?}"
    );
    assert!(total >= 2 * RATE as u32, "no progress: {total}");
    for node in &nodes {
        assert_eq!(node.node.throttle_snapshot.get().fallbacks_total, 0);
    }
}

#[actix::test]
async fn strictly_no_second_sees_more_than_the_rate_however_late_tokens_are_used() {
    let server = PrivateRedis::start();
    let pace = GcraParameters::strict(RATE, u32::MAX);
    let started = Instant::now();
    let mut clients = Vec::new();
    for _ in 0..3 {
        clients.push(client(&server.url()).await);
    }
    let runs = clients.iter().map(|redis| async move {
        let mut sent: Vec<Instant> = Vec::new();
        let mut late = false;
        while started.elapsed() < COMPETITION {
            let shared = redis.take_strictly("up", &pace, 10, 1).await.unwrap();
            let (now, until) = (Instant::now(), shared.until.unwrap());
            // Tokens that have expired on arrival are lost. Others are used at once or in the last
            // moment, in turns.
            if until > now {
                late = !late;
                let at = if late { until } else { now };
                sent.extend(std::iter::repeat_n(at, shared.granted as usize));
            }
            tokio::time::sleep(BREATH).await;
        }
        sent
    });
    let mut sent = join_all(runs).await.concat();
    sent.sort_unstable();
    for window in sent.windows(RATE as usize + 1) {
        let took = window[RATE as usize] - window[0];
        assert!(took >= Duration::from_secs(1), "101 in {took:?}");
    }
    assert!(sent.len() as f64 >= RATE, "no progress: {}", sent.len());
}

#[actix::test]
async fn of_110_offered_at_the_start_of_a_second_ten_wait() {
    let server = PrivateRedis::start();
    let node = node(&server.url()).await;
    let mut outside = Outside::new(&server);
    loop {
        let second = outside.new_second().await;
        let taken = node.take(node.operator, 110).await;
        let again = node.take(node.operator, 10).await;
        let counted = outside.counted(second);
        if outside.time().0 != second {
            continue;
        }
        assert_eq!((taken.granted, taken.retry_in_ms), (100, 500));
        assert!((1..=1_000).contains(&taken.valid_ms));
        assert_eq!((again.granted, again.retry_in_ms), (0, 500));
        assert_eq!(counted, 100, "what is refused is not counted");
        let ttl: i64 = outside.ask(&["PTTL", &format!("tps:up:{second}")]);
        assert!(ttl <= 2_000, "{ttl}");
        return;
    }
}

#[actix::test]
async fn other_programs_count_in_the_same_key() {
    let server = PrivateRedis::start();
    let node = node(&server.url()).await;
    let mut outside = Outside::new(&server);
    for (theirs, ours) in [(95, 5), (150, 0)] {
        loop {
            let second = outside.new_second().await;
            let key = format!("tps:up:{second}");
            outside.ask::<()>(&["SET", &key, &theirs.to_string(), "EX", "2"]);
            let taken = node.take(node.operator, 20).await;
            let counted = outside.counted(second);
            if outside.time().0 == second {
                assert_eq!((taken.granted, counted), (ours, theirs + u64::from(ours)));
                break;
            }
        }
    }
}

#[actix::test]
async fn an_account_has_one_bucket_on_all_nodes() {
    let server = PrivateRedis::start();
    let nodes = three_nodes(&server.url()).await;
    let started = Instant::now();
    let runs = nodes.iter().map(|node| async move {
        let mut total = 0;
        while started.elapsed() < COMPETITION {
            let taken = node.take(node.account, 3).await;
            assert_eq!(taken.valid_ms, 0, "an account's tokens are kept");
            total += taken.granted;
            tokio::time::sleep(BREATH).await;
        }
        total
    });
    let total: u32 = join_all(runs).await.iter().sum();
    // The burst, and later tokens; a reserve is part of what Redis granted.
    let most = RATE + RATE * started.elapsed().as_secs_f64() + 1.0;
    assert!(f64::from(total) <= most, "{total} of {most}");
    assert!(f64::from(total) >= RATE, "no progress: {total}");
}

#[actix::test]
async fn questions_that_come_together_are_asked_together() {
    let server = PrivateRedis::start();
    let node = node(&server.url()).await;
    let mut outside = Outside::new(&server);
    let before = outside.script_calls();
    let all = join_all((0..300).map(|_| node.take(node.operator, 1))).await;
    let granted: u32 = all.iter().map(|taken| taken.granted).sum();
    // More if a new second began meanwhile.
    assert!((100..=200).contains(&granted), "{granted}");
    let calls = outside.script_calls() - before;
    assert!(calls <= 30, "{calls} calls for 300 questions");
}

#[actix::test]
async fn without_redis_a_node_goes_on_alone_and_comes_back_by_itself() {
    let mut server = PrivateRedis::start();
    let node = node(&server.url()).await;
    // Tokens that arrive after the end of their second are worthless.
    let started = Instant::now();
    while node.take(node.operator, 5).await.granted == 0 {
        assert!(started.elapsed() < harness::PATIENCE, "nothing is granted");
    }
    server.kill9();
    // Every request gets an answer, from this node's own bucket, which begins empty.
    let started = Instant::now();
    while node.take(node.operator, 1).await.granted == 0 {
        assert!(started.elapsed() < harness::PATIENCE, "nothing is granted");
        tokio::time::sleep(BREATH).await;
    }
    wait("the outage to show", || !node.redis_is_up()).await;
    assert!(node.node.throttle_snapshot.get().fallbacks_total > 0);

    server.restart();
    wait("Redis to be used again", || node.redis_is_up()).await;
    let mut outside = Outside::new(&server);
    let before = node.node.throttle_snapshot.get().shared_granted_total;
    let started = Instant::now();
    while node.node.throttle_snapshot.get().shared_granted_total == before {
        node.take(node.operator, 1).await;
        assert!(started.elapsed() < harness::PATIENCE, "never shared again");
        tokio::time::sleep(BREATH).await;
    }
    let keys: Vec<String> = outside.ask(&["KEYS", "tps:up:*"]);
    assert!(!keys.is_empty());
}

#[actix::test]
async fn a_redis_that_is_silent_holds_nobody_up_twice() {
    let server = PrivateRedis::start();
    // Through a gate it is silent for as long as this takes, however busy the machine is.
    let address = server.url().replace("redis://", "").parse().unwrap();
    let gate = Gate::to(address);
    let url = format!("redis://{}", gate.address());
    let node = node_with_patience(&url, Duration::from_millis(500)).await;
    gate.shut();
    let mut answers = Vec::new();
    for _ in 0..50 {
        answers.push(node.take(node.account, 1).await.granted);
    }
    assert_eq!(answers, [1; 50], "its own bucket was full");
    wait("the outage to show", || !node.redis_is_up()).await;
    wait("nearly all to be answered alone", || {
        node.node.throttle_snapshot.get().fallbacks_total >= 40
    })
    .await;
    gate.open();
    wait("Redis to be used again", || node.redis_is_up()).await;
}

#[actix::test]
async fn flushing_everything_costs_accuracy_only() {
    let server = PrivateRedis::start();
    let node = node(&server.url()).await;
    let mut outside = Outside::new(&server);
    for _ in 0..5 {
        let started = Instant::now();
        let mut granted = 0;
        while granted == 0 {
            granted = node.take(node.operator, 50).await.granted;
            assert!(started.elapsed() < harness::PATIENCE, "nothing is granted");
            tokio::time::sleep(BREATH).await;
        }
        server.flush();
        outside.ask::<()>(&["SCRIPT", "FLUSH"]);
    }
    wait("a snapshot", || {
        node.node.throttle_snapshot.get().granted_total > 0
    })
    .await;
    let snapshot = node.node.throttle_snapshot.get();
    assert_eq!((snapshot.fallbacks_total, snapshot.redis_up), (0, true));
}

#[test]
fn the_whole_server_delivers_at_the_shared_rate_and_says_who_is_bound() {
    const MESSAGES: usize = 130;
    let server = PrivateRedis::start();
    let operator = Simulator::new().start();
    let smsc = Smsc::new()
        .toml(&format!("[redis]\nurl = '{}'", server.url()))
        .account("test", "test")
        .operator_with("up", operator.address(), "rate = 100.0")
        .route("", "up")
        .start();
    smsc.wait_for_binds("up", 1);
    until("limits that are shared", || {
        (smsc.admin().metric("smsc_throttle_redis_up") == Some(1.0)).then_some(())
    });
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    for number in 0..MESSAGES {
        esme.request(Body::SubmitSm(submit(
            &format!("4477009{number:05}"),
            "hello",
        )));
    }
    operator.wait_for(MESSAGES);
    assert_eq!(
        smsc.admin().metric("smsc_attempts_retried_total"),
        Some(0.0),
        "waiting for a token is no attempt"
    );
    let mut outside = Outside::new(&server);
    let of_kind = |outside: &mut Outside, direction: &str| -> usize {
        let keys: Vec<String> = outside.ask(&["KEYS", "session:*"]);
        let entries: Vec<Option<String>> =
            keys.iter().map(|key| outside.ask(&["GET", key])).collect();
        let wanted = format!("\"direction\":\"{direction}\"");
        entries
            .iter()
            .flatten()
            .filter(|entry| entry.contains(&wanted))
            .count()
    };
    until("both binds in Redis", || {
        let both = of_kind(&mut outside, "in") == 1 && of_kind(&mut outside, "out") == 1;
        both.then_some(())
    });
    let health = |outside: &mut Outside| -> HashMap<String, String> {
        outside.ask(&["HGETALL", "ops:health:up"])
    };
    until("the operator's health", || {
        let health = health(&mut outside);
        (health.get("status")? == "BOUND" && health.get("binds")? == "1").then_some(())
    });
    let life: i64 = outside.ask(&["TTL", "ops:health:up"]);
    assert!((1..=60).contains(&life), "{life}");
    esme.unbind();
    until("the ESME's entry to end", || {
        (of_kind(&mut outside, "in") == 0).then_some(())
    });
    drop(operator);
    until("the operator to be known as gone", || {
        (health(&mut outside).get("status")? == "UNBOUND").then_some(())
    });
}
