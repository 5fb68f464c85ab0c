//! Live events without sockets: who gets what, and who is dropped.

use actix_web::test::TestRequest;

use super::*;
use crate::domain::access::AccessRole;
use crate::http::query::Query;
use crate::pb::{BindDirection, BindSnapshot, QueueSnapshot};

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
    publish_node(live, &node(waiting), at_ms);
}

fn publish_node(live: &LiveFeed, node: &NodeSnapshot, at_ms: i64) {
    let rest = events::Rest {
        readiness: Default::default(),
        operators: Default::default(),
        nodes: Default::default(),
    };
    live.publish(node, rest, Instant::now(), at_ms);
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
    live.subscribe(Kind::ALL.to_vec(), None, 0, bearer(name), Arc::default())
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
        .subscribe(
            vec![Kind::Overview],
            None,
            2_000,
            bearer("ci"),
            Arc::default(),
        )
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
    let mut listener = live
        .subscribe(kinds_of, None, 0, gone, Arc::default())
        .unwrap();
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
        .subscribe(vec![Kind::Nodes], None, 0, bearer("ci"), Arc::default())
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

/// Three hundred idle queues, in one of which messages wait.
fn many_queues(waiting: u64) -> NodeSnapshot {
    let queue = |at: u32| QueueSnapshot {
        name: format!("account:a{at:03}"),
        waiting: if at == 299 { waiting } else { 0 },
        ..QueueSnapshot::default()
    };
    NodeSnapshot {
        queues: (0..300).map(queue).collect(),
        ..NodeSnapshot::default()
    }
}

fn shown(query: &str) -> Result<Option<ShownLists>, String> {
    let request = TestRequest::with_uri(&format!("/v1/events?{query}")).to_http_request();
    let query =
        Query::read(&request, &ShownLists::PARAMETERS).map_err(|error| error.to_string())?;
    ShownLists::read(&query).map_err(|error| error.to_string())
}

/// The names of the queues in the last event about them, and how many are elsewhere.
fn queues_in(text: &str) -> (Vec<String>, u64) {
    let (_, event) = text.rsplit_once("event: queues\n").expect("no queues");
    let data = event.lines().find_map(|line| line.strip_prefix("data: "));
    let queues: crate::api::LiveQueues = serde_json::from_str(data.unwrap()).unwrap();
    let names = queues.queues.into_iter().map(|one| one.queue.name);
    (names.collect(), queues.omitted)
}

#[tokio::test]
async fn a_listener_gets_the_page_that_it_shows_and_no_more() {
    let live = LiveFeed::new();
    publish_node(&live, &many_queues(1), 1_000);
    let listen = |query: &str| {
        let part = shown(query).unwrap();
        let kinds = vec![Kind::Queues];
        live.subscribe(kinds, part, 0, bearer("ci"), Arc::default())
            .unwrap()
    };
    let cases: [(&str, &[&str], u64); 5] = [
        (
            "list=queues&limit=2",
            &["account:a000", "account:a001"],
            298,
        ),
        (
            "list=queues&limit=2&page=2&sort=-name",
            &["account:a297", "account:a296"],
            298,
        ),
        ("list=queues&limit=1&sort=-waiting", &["account:a299"], 299),
        (
            "list=queues&limit=2&find=account:*7&page=99",
            &["account:a287", "account:a297"],
            28,
        ),
        ("list=operators&busiest=1", &["account:a299"], 0),
    ];
    for (query, names, omitted) in cases {
        let first = text(&mut listen(query)).await;
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(queues_in(&first), (names, omitted), "{query}");
    }
    // What changes elsewhere is not told.
    let mut top = listen("list=queues&limit=2");
    let mut busy = listen("list=queues&limit=2&sort=-waiting");
    text(&mut top).await;
    text(&mut busy).await;
    publish_node(&live, &many_queues(7), 2_000);
    assert_eq!(text(&mut top).await, ":\n\n");
    assert!(text(&mut busy).await.contains("\"waiting\":7"));
}

#[tokio::test]
async fn binds_of_an_account_come_beside_those_of_an_operator_of_its_name() {
    let live = LiveFeed::new();
    let bind = |session: u64, direction: BindDirection| BindSnapshot {
        session,
        name: "shop".to_owned(),
        direction: direction.into(),
        ..BindSnapshot::default()
    };
    let shared = NodeSnapshot {
        binds: vec![
            bind(1, BindDirection::Out),
            bind(2, BindDirection::Out),
            bind(3, BindDirection::In),
            bind(4, BindDirection::Callback),
        ],
        ..node(0)
    };
    publish_node(&live, &shared, 1_000);
    let query = "list=binds&direction=in,callback,local&name=shop&limit=2";
    let part = shown(query).unwrap();
    let mut listener = live
        .subscribe(vec![Kind::Binds], part, 0, bearer("ci"), Arc::default())
        .unwrap();
    let first = text(&mut listener).await;
    let (_, event) = first.rsplit_once("event: binds\n").expect("no binds");
    let data = event.lines().find_map(|line| line.strip_prefix("data: "));
    let binds: crate::api::LiveBinds = serde_json::from_str(data.unwrap()).unwrap();
    let mut sessions: Vec<u64> = binds.binds.iter().map(|one| one.bind.session).collect();
    sessions.sort_unstable();
    assert_eq!((sessions, binds.omitted), (vec![3, 4], 0));
}

#[tokio::test]
async fn an_entry_is_found_by_its_whole_name_in_its_own_case() {
    let live = LiveFeed::new();
    let queue = |name: &str| QueueSnapshot {
        name: name.to_owned(),
        ..QueueSnapshot::default()
    };
    let names = ["account:SHOP", "account:shop", "account:shop2"];
    let alike = NodeSnapshot {
        queues: names.map(queue).to_vec(),
        ..NodeSnapshot::default()
    };
    publish_node(&live, &alike, 1_000);
    let part = shown("list=queues&limit=1&name=account:shop").unwrap();
    let mut listener = live
        .subscribe(vec![Kind::Queues], part, 0, bearer("ci"), Arc::default())
        .unwrap();
    let first = text(&mut listener).await;
    assert_eq!(queues_in(&first), (vec!["account:shop".to_owned()], 0));
}

#[test]
fn what_a_listener_shows_is_read_strictly() {
    assert_eq!(shown("").unwrap(), None);
    assert!(shown("attention=5").unwrap().is_some());
    assert!(shown("list=binds&direction=in,callback,local").is_ok());
    for (query, said) in [
        (
            "list=routes",
            "list is one of queues, operators, binds, not \"routes\"",
        ),
        (
            "find=a",
            "find is about one list; name it by list, such as list=queues",
        ),
        (
            "list=queues&limit=257",
            "limit must be a number from 1 to 256, not \"257\"",
        ),
        ("list=binds&sort=-waiting", "not by \"-waiting\""),
        (
            "list=binds&direction=in,up",
            "direction is one of in, out, gateway, gsm, callback, local, not \"up\"",
        ),
    ] {
        let problem = shown(query).unwrap_err();
        assert!(problem.ends_with(said), "{query}: {problem}");
    }
}
