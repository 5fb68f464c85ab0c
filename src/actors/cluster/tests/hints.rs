//! What a node looks at when it is told, what it looks at without that, and what it tells the others.

use super::*;

#[actix::test]
async fn a_node_that_is_told_looks_at_once() {
    let (shelf, node, slots) = started(None).await;
    until("both", || slots.iter().all(|slot| node.has(*slot))).await;
    let heartbeat = node.context.config().cluster.heartbeat;
    assert!(SOON * 2 < heartbeat);
    tokio::time::sleep(heartbeat * 3).await;
    for _ in 0..3 {
        let before = lock(&shelf.state).beats;
        (0..10).for_each(|_| shelf.woken(Hint::Shares).notify_one());
        tokio::time::sleep(SOON).await;
        let beats = lock(&shelf.state).beats - before;
        assert!((1..=3).contains(&beats), "{beats} beats");
    }
    let before = lock(&shelf.state).beats;
    shelf.woken(Hint::HandOff).notify_one();
    tokio::time::sleep(SOON).await;
    assert!(
        lock(&shelf.state).beats - before <= 1,
        "only when it is due"
    );
}

#[actix::test]
async fn orders_are_looked_for_when_told_and_now_and_then() {
    let (shelf, node, slots) = started(None).await;
    until("both", || slots.iter().all(|slot| node.has(*slot))).await;
    let poll = node.context.config().cluster.poll;
    assert!(SOON * 2 < poll);
    let looked = || std::mem::take(&mut lock(&shelf.state).looked);
    for _ in 0..3 {
        looked();
        shelf.woken(Hint::Orders).notify_one();
        tokio::time::sleep(SOON).await;
        assert!(looked() > 0);
    }
    let began = tokio::time::Instant::now();
    while began.elapsed() < poll * 4 {
        shelf.woken(Hint::HandOff).notify_one();
        tokio::time::sleep(TICK / 2).await;
    }
    let looked = looked();
    assert!((3..=5).contains(&looked), "{looked} times");
}

#[actix::test]
async fn the_inbox_is_emptied_at_once_and_less_often_while_much_comes() {
    let (shelf, node, slots) = started(None).await;
    until("both", || slots.iter().all(|slot| node.has(*slot))).await;
    let collected = || std::mem::take(&mut lock(&shelf.state).collected);
    let woken_for = async |time: Duration| {
        let began = tokio::time::Instant::now();
        while began.elapsed() < time {
            shelf.woken(Hint::HandOff).notify_one();
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    for (waiting, often) in [(0, 15..=30), (1000, 4..=10), (1, 15..=30)] {
        lock(&shelf.state).waiting = waiting;
        woken_for(SOON).await;
        collected();
        woken_for(SOON).await;
        let times = collected();
        assert!(often.contains(&times), "{times} times for {waiting} items");
    }
    tokio::time::sleep(SOON).await;
    collected();
    shelf.woken(Hint::HandOff).notify_one();
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(collected(), 1, "after a rest there is no wait");
}

#[actix::test]
async fn where_looking_takes_long_a_hint_waits_for_the_heartbeat() {
    let (shelf, node, slots) = started(None).await;
    until("both", || slots.iter().all(|slot| node.has(*slot))).await;
    shelf.keep_back(Call::Beat);
    until("a view under way", || shelf.is_waited_for(Call::Beat)).await;
    tokio::time::sleep(SOON).await;
    let before = lock(&shelf.state).beats;
    shelf.let_go(Call::Beat);
    tokio::time::sleep(SOON / 2).await;
    shelf.woken(Hint::Shares).notify_one();
    tokio::time::sleep(SOON).await;
    assert_eq!(lock(&shelf.state).beats, before, "it has just looked");
    tokio::time::sleep(node.context.config().cluster.heartbeat).await;
    assert!(lock(&shelf.state).beats > before, "the heartbeat goes on");
}

#[actix::test]
async fn what_changes_here_the_others_are_told() {
    let (shelf, node, [kept, given_back]) = started(None).await;
    until("both", || node.has(kept) && node.has(given_back)).await;
    tokio::time::sleep(node.context.config().cluster.heartbeat * 3).await;
    assert_eq!(lock(&shelf.state).told, 0, "there is nobody");
    lock(&shelf.state).is_joined = true;
    until("given back", || shelf.holder(given_back) == Some(OTHER)).await;
    tokio::time::sleep(SOON).await;
    assert_eq!(lock(&shelf.state).told, 1, "what was given back");
    tokio::time::sleep(node.context.config().cluster.heartbeat * 3).await;
    assert_eq!(lock(&shelf.state).told, 1, "nothing has changed");
    node.context.draining.store(true, Ordering::Relaxed);
    tokio::time::sleep(SOON).await;
    assert_eq!(lock(&shelf.state).told, 2, "it stops");
}
