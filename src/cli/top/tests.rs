//! The screen without a terminal: frames as text, keys as values.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use serde_json::{Value, json};

use super::*;
use crate::api::{self, LiveBind, LiveBinds, LiveQueue, LiveQueues};
use crate::pb::{BindDirection, BindSnapshot, BindState, OperatorView, QueueSnapshot};

fn overview(degraded: &[&str]) -> Value {
    json!({
        "at_ms": 1_700_000_000_000_i64, "not_ready": [], "degraded": degraded, "draining": false,
        "rates": {"accepted": 1234.4, "refused": 0.0, "sent": 0.44, "delivered": 0.0, "failed": 0.0, "told": 0.0, "retried": 0.0},
        "totals": {"accepted": 5, "refused": 0, "sent": 4, "delivered": 4, "failed": 0, "told": 4, "retried": 0},
        "queued": {"waiting": 15230, "scheduled": 7, "in_flight": 3, "oldest_at": null, "suspended": 1},
        "binds": {"esmes": 2, "operators": 1, "operators_wanted": 2},
        "store": {"commit_ms": 2.31, "waiting": 0, "free_mib": 100, "below_floor": false},
    })
}

fn queue(name: &str, suspended: bool) -> LiveQueue {
    LiveQueue {
        queue: api::Queue::from(QueueSnapshot {
            name: name.to_owned(),
            waiting: 15_230,
            suspended,
            sessions: 1,
            ..QueueSnapshot::default()
        }),
        delivered_per_second: 812.0,
        failed_per_second: 0.0,
        retried_per_second: 0.0,
        throttled_per_second: 0.0,
        refused_per_second: 0.0,
        throttled_share: 0.0,
    }
}

/// A model with all updates.
fn model() -> Model {
    let mut model = Model::default();
    let bind = BindSnapshot {
        session: 1,
        name: "up".to_owned(),
        direction: BindDirection::Out.into(),
        bind_type: "transceiver".to_owned(),
        state: BindState::Bound.into(),
        peer: "127.0.0.1:2776".to_owned(),
        window: 100,
        in_flight: 40,
        answer_us: 12_345,
        ..BindSnapshot::default()
    };
    let operator = OperatorView {
        id: "up".to_owned(),
        address: "127.0.0.1:2776".to_owned(),
        bound: 1,
        configured: 2,
        last_error: "connection refused".to_owned(),
        ..OperatorView::default()
    };
    for news in [
        News::Overview(serde_json::from_value(overview(&[])).unwrap()),
        News::Queues(LiveQueues {
            queues: vec![queue("account:test", true), queue("operator:up", false)],
            omitted: 0,
        }),
        News::Binds(LiveBinds {
            binds: vec![LiveBind {
                bind: api::Bind::from(bind),
                received_per_second: 3.0,
                sent_per_second: 812.0,
            }],
            omitted: 0,
        }),
        News::Operators(api::Operators {
            operators: vec![api::Operator::from(operator)],
            ..api::Operators::default()
        }),
        News::Nodes(api::Nodes::default()),
    ] {
        model.take(news, Instant::now());
    }
    model
}

fn press(model: &mut Model, key: char) -> Act {
    model.key(KeyEvent::new(KeyCode::Char(key), KeyModifiers::NONE))
}

/// The screen of a person as lines.
fn shown(model: &Model, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal
        .draw(|frame| draw::screen(frame, model, Instant::now()))
        .unwrap();
    terminal.backend().to_string()
}

#[test]
fn one_frame_has_every_list() {
    let text = frame(&model(), 110, 44).unwrap();
    for part in [
        "READY",
        "accepted 1,234/s   sent 0.4/s",
        "waiting 15,230   scheduled 7   in flight 3",
        "operator binds 1 of 2   ESMEs 2   commit 2.3 ms",
        "5 min ago",
        "operator:up",
        "suspended",
        "partly up",
        "connection refused",
        "40/100",
        "12.3 ms",
        "one node on an embedded store",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    assert!(text.lines().all(|line| line == line.trim_end()));
}

#[test]
fn a_command_is_asked_about_before_it_is_given() {
    let mut model = model();
    press(&mut model, 'j');
    assert_eq!(press(&mut model, 's'), Act::Nothing);
    assert!(shown(&model, 90, 30).contains("Suspend operator:up?"));
    let Act::Order(order) = press(&mut model, 'y') else {
        panic!("no order")
    };
    assert_eq!(order.path, "/v1/queues/operator:up/suspend");

    press(&mut model, 's');
    assert_eq!(press(&mut model, 'n'), Act::Nothing);
    assert!(shown(&model, 90, 30).contains("nothing was done"));

    press(&mut model, '2');
    press(&mut model, 'b');
    let Act::Order(order) = press(&mut model, 'y') else {
        panic!("no order")
    };
    assert_eq!(order.path, "/v1/operators/up/rebind");

    press(&mut model, '3');
    press(&mut model, 'r');
    assert!(shown(&model, 90, 30).contains("commands are for queues"));
    assert_eq!(press(&mut model, 'q'), Act::Quit);
}

#[test]
fn what_is_wrong_is_said_on_top() {
    let mut model = model();
    let degraded = overview(&["operator up: no bind is up"]);
    let news = News::Overview(serde_json::from_value(degraded).unwrap());
    model.take(news, Instant::now());
    assert!(shown(&model, 90, 30).contains("DEGRADED: operator up: no bind is up"));
    let mut incident = overview(&[]);
    incident["attention"] = json!([
        {"text": "operator up refuses 50 %", "page": "#/incidents", "runbook": ""},
        {"text": "queue operator:up: old", "page": "#/queues", "runbook": ""},
    ]);
    let news = News::Overview(serde_json::from_value(incident).unwrap());
    model.take(news, Instant::now());
    let text = shown(&model, 90, 30);
    assert!(
        text.contains("READY, INCIDENTS: operator up refuses 50 %"),
        "{text}"
    );
    assert!(!text.contains("queue operator:up: old"), "{text}");
    model.take(
        News::Away(anyhow::anyhow!("nothing listens on http://127.0.0.1:1")),
        Instant::now(),
    );
    let text = shown(&model, 90, 30);
    assert!(
        text.contains("AWAY: nothing listens on http://127.0.0.1:1"),
        "{text}"
    );
    // What was known stays in sight.
    assert!(text.contains("15,230"), "{text}");
    let news = News::Nodes(api::Nodes::default());
    model.take(news, Instant::now() - Duration::from_secs(9));
    assert!(shown(&model, 90, 30).contains("no news for"));
}

#[test]
fn what_is_wrong_comes_first_and_the_cursor_goes_with_its_row() {
    let mut model = model();
    let names = |model: &Model| -> Vec<String> {
        let all = model.queues.queues.iter();
        all.map(|live| live.queue.name.clone()).collect()
    };
    let take = |model: &mut Model, queues: Vec<LiveQueue>| {
        let queues = LiveQueues { queues, omitted: 0 };
        model.take(News::Queues(queues), Instant::now());
    };
    let mut idle = queue("account:idle", false);
    (idle.queue.waiting, idle.queue.sessions) = (0, 0);
    take(
        &mut model,
        vec![
            idle.clone(),
            queue("operator:a", false),
            queue("operator:b", false),
        ],
    );
    assert_eq!(names(&model), ["account:idle", "operator:a", "operator:b"]);
    press(&mut model, 'j');
    take(
        &mut model,
        vec![idle, queue("operator:a", false), queue("operator:b", true)],
    );
    assert_eq!(names(&model), ["operator:b", "account:idle", "operator:a"]);
    press(&mut model, 's');
    assert!(shown(&model, 90, 30).contains("Suspend operator:a?"));
}

#[test]
fn it_is_drawn_in_any_size() {
    let mut model = model();
    for (width, height) in [(1, 1), (20, 5), (40, 16), (80, 24), (300, 100)] {
        shown(&model, width, height);
        frame(&model, width, height).unwrap();
        press(&mut model, '?');
        shown(&model, width, height);
        press(&mut model, 'x');
        press(&mut model, 's');
        shown(&model, width, height);
        press(&mut model, 'n');
    }
}
