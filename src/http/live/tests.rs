//! Live events without sockets: who gets what, and who is dropped.

use super::*;
use crate::domain::access::AccessRole;
use crate::pb::QueueSnapshot;

fn node(waiting: u64) -> NodeSnapshot {
    NodeSnapshot {
        queues: vec![QueueSnapshot {
            name: "operator:up".to_owned(),
            waiting,
            ..QueueSnapshot::default()
        }],
        node: 3,
        ..NodeSnapshot::default()
    }
}

fn publish(live: &LiveFeed, waiting: u64, at_ms: i64) {
    let rest = events::Rest {
        readiness: Default::default(),
        operators: Default::default(),
        nodes: Default::default(),
    };
    live.publish(&node(waiting), rest, Instant::now(), at_ms);
}

fn bearer(name: &str) -> Bearer {
    Bearer {
        name: name.to_owned(),
        role: AccessRole::Read,
        hash: None,
    }
}

fn listen(live: &Arc<LiveFeed>) -> Subscription {
    listen_as(live, "ci").unwrap()
}

fn listen_as(live: &Arc<LiveFeed>, name: &str) -> Result<Subscription, ListenRefused> {
    live.subscribe(Kind::ALL.to_vec(), 0, bearer(name), Arc::default())
}

async fn text(subscription: &mut Subscription) -> String {
    let octets = subscription.next().await.expect("the stream has ended");
    String::from_utf8(octets.to_vec()).unwrap()
}

/// The kinds of the events in a piece of the stream.
fn kinds(text: &str) -> Vec<&str> {
    text.lines()
        .filter_map(|line| line.strip_prefix("event: "))
        .collect()
}

#[tokio::test]
async fn a_listener_gets_everything_first_and_then_what_changes() {
    let live = LiveFeed::new();
    publish(&live, 5, 1_000);
    let mut listener = listen(&live);
    let first = text(&mut listener).await;
    let all = ["hello", "overview", "queues", "binds", "operators", "nodes"];
    assert_eq!(kinds(&first), all);
    assert!(
        first.starts_with("retry: 2000\nevent: hello\nid: 1000\n"),
        "{first}"
    );
    assert!(
        first.contains("\"waiting\":[5]") && first.contains("\"node\":3"),
        "{first}"
    );

    publish(&live, 5, 2_000);
    assert_eq!(kinds(&text(&mut listener).await), ["overview"]);
    publish(&live, 6, 3_000);
    assert_eq!(kinds(&text(&mut listener).await), ["overview", "queues"]);
}

#[tokio::test]
async fn one_who_comes_back_gets_only_the_history_it_has_missed() {
    let live = LiveFeed::new();
    for second in 1..=4 {
        publish(&live, second, second as i64 * 1_000);
    }
    let mut listener = live
        .subscribe(vec![Kind::Overview], 2_000, bearer("ci"), Arc::default())
        .unwrap();
    let first = text(&mut listener).await;
    assert!(first.contains("\"at_ms\":[3000,4000]"), "{first}");
    assert_eq!(kinds(&first), ["hello", "overview"]);
    publish(&live, 9, 5_000);
    assert_eq!(kinds(&text(&mut listener).await), ["overview"]);
}

#[tokio::test]
async fn a_slow_listener_is_dropped_and_the_others_go_on() {
    let live = LiveFeed::new();
    publish(&live, 0, 1);
    let (mut slow, mut quick) = (listen(&live), listen(&live));
    text(&mut slow).await;
    text(&mut quick).await;
    for second in 0..=BACKLOG {
        publish(&live, 1, 2 + second as i64);
        text(&mut quick).await;
    }
    assert_eq!(slow.next().await, None);
    publish(&live, 1, 1_000);
    text(&mut quick).await;
}

#[tokio::test]
async fn the_number_of_listeners_is_bounded_and_a_place_is_given_back() {
    let live = LiveFeed::new();
    let name = |at: usize| format!("token {}", at / LISTENERS_OF_TOKEN);
    let listeners = (0..LISTENERS).map(|at| listen_as(&live, &name(at)).unwrap());
    let mut all: Vec<Subscription> = listeners.collect();
    let refused = listen_as(&live, "ci").err();
    assert_eq!(refused, Some(ListenRefused::Full));
    all.pop();
    listen(&live);
}

#[tokio::test]
async fn one_token_leaves_room_for_others() {
    let live = LiveFeed::new();
    let mut all: Vec<Subscription> = (0..LISTENERS_OF_TOKEN).map(|_| listen(&live)).collect();
    assert_eq!(listen_as(&live, "ci").err(), Some(ListenRefused::TokenFull));
    listen_as(&live, "another").unwrap();
    all.pop();
    listen(&live);
}

#[tokio::test]
async fn a_stream_ends_with_its_token() {
    let live = LiveFeed::new();
    // A token that is in no store (any more).
    let gone = Bearer {
        hash: Some([7; 32]),
        ..bearer("ci")
    };
    let kinds_of = Kind::ALL.to_vec();
    let mut listener = live.subscribe(kinds_of, 0, gone, Arc::default()).unwrap();
    let mut other = listen(&live);
    text(&mut listener).await;
    text(&mut other).await;
    publish(&live, 5, 1_000);
    let last = text(&mut listener).await;
    assert_eq!(kinds(&last), ["end"], "{last}");
    assert!(last.contains("token"), "{last}");
    assert_eq!(listener.next().await, None);
    assert!(kinds(&text(&mut other).await).contains(&"queues"));
}

#[tokio::test]
async fn the_end_is_told_and_nobody_comes_after_it() {
    let live = LiveFeed::new();
    let mut listener = live
        .subscribe(vec![Kind::Nodes], 0, bearer("ci"), Arc::default())
        .unwrap();
    text(&mut listener).await;
    live.close();
    assert_eq!(kinds(&text(&mut listener).await), ["end"]);
    assert_eq!(listener.next().await, None);
    let refused = listen_as(&live, "ci").err();
    assert_eq!(refused, Some(ListenRefused::Stopping));
}

#[tokio::test]
async fn without_listeners_only_the_graph_is_kept() {
    let live = LiveFeed::new();
    publish(&live, 5, 1_000);
    live.note(&node(7), Instant::now(), 2_000);
    let first = text(&mut listen(&live)).await;
    assert_eq!(kinds(&first), ["hello"]);
    assert!(first.contains("\"waiting\":[5,7]"), "{first}");
}
