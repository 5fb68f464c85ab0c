//! The lists of `smsc top`: queues, operators, binds and nodes, one row each.

use ratatui::Frame;
use ratatui::layout::{Alignment, Constraint, Rect};
use ratatui::style::{Color, Modifier, Style, Stylize as _};
use ratatui::text::Text;
use ratatui::widgets::{Cell, Paragraph, Row, Table, TableState};

use super::draw::rate;
use super::model::{Model, Tab};
use crate::api::{LiveBind, LiveQueue, Node, Operator};
use crate::cli::client::{ago, ahead, number};

/// A column: its title and its width; numbers are to the right.
type Column = (&'static str, Constraint);

const QUEUES: &[Column] = &[
    ("queue", Constraint::Min(16)),
    ("state", Constraint::Length(12)),
    ("waiting", Constraint::Length(11)),
    ("scheduled", Constraint::Length(10)),
    ("in flight", Constraint::Length(9)),
    ("oldest", Constraint::Length(13)),
    ("out/s", Constraint::Length(8)),
    ("sessions", Constraint::Length(8)),
];
const OPERATORS: &[Column] = &[
    ("operator", Constraint::Length(16)),
    ("state", Constraint::Length(10)),
    ("binds", Constraint::Length(8)),
    ("address", Constraint::Length(22)),
    ("last error", Constraint::Min(16)),
];
const BINDS: &[Column] = &[
    ("name", Constraint::Length(14)),
    ("side", Constraint::Length(4)),
    ("type", Constraint::Length(11)),
    ("state", Constraint::Length(10)),
    ("peer", Constraint::Min(21)),
    ("window", Constraint::Length(11)),
    ("answers", Constraint::Length(9)),
    ("in/s", Constraint::Length(8)),
    ("out/s", Constraint::Length(8)),
];
const NODES: &[Column] = &[
    ("node", Constraint::Length(8)),
    ("state", Constraint::Length(9)),
    ("name", Constraint::Min(16)),
    ("version", Constraint::Length(8)),
    ("partitions", Constraint::Length(10)),
    ("binds", Constraint::Length(6)),
    ("waiting", Constraint::Length(11)),
    ("in flight", Constraint::Length(9)),
    ("since", Constraint::Length(13)),
];

/// How many rows a list has.
pub(super) fn rows(model: &Model, tab: Tab) -> usize {
    match tab {
        Tab::Queues => model.queues.queues.len(),
        Tab::Operators => model.operators.operators.len(),
        Tab::Binds => model.binds.binds.len(),
        Tab::Nodes => model.nodes.nodes.len(),
    }
}

/// Draws a list; the selected row stays in sight.
pub(super) fn draw(
    frame: &mut Frame,
    area: Rect,
    model: &Model,
    tab: Tab,
    selected: Option<usize>,
) {
    if rows(model, tab) == 0 {
        return frame.render_widget(Paragraph::new(nothing(tab)).dim(), area);
    }
    let (columns, rows): (&[Column], Vec<Row>) = match tab {
        Tab::Queues => (QUEUES, model.queues.queues.iter().map(queue).collect()),
        Tab::Operators => (
            OPERATORS,
            model.operators.operators.iter().map(operator).collect(),
        ),
        Tab::Binds => (BINDS, model.binds.binds.iter().map(bind).collect()),
        Tab::Nodes => (NODES, model.nodes.nodes.iter().map(node).collect()),
    };
    let header = columns.iter().map(|(title, _)| match is_number(title) {
        true => right((*title).to_owned()),
        false => Cell::from(*title),
    });
    let table = Table::new(rows, columns.iter().map(|(_, width)| *width))
        .header(Row::new(header).add_modifier(Modifier::DIM))
        .row_highlight_style(Style::new().reversed());
    let mut state = TableState::default().with_selected(selected);
    frame.render_stateful_widget(table, area, &mut state);
}

fn nothing(tab: Tab) -> &'static str {
    match tab {
        Tab::Queues => "no queues: operators and accounts of the configuration have one each",
        Tab::Operators => "no operators: add [[operator]] to the configuration",
        Tab::Binds => "no binds: nobody is connected",
        Tab::Nodes => "one node on an embedded store; with [postgres] many nodes share one",
    }
}

fn is_number(title: &str) -> bool {
    const NUMBERS: &[&str] = &[
        "waiting",
        "scheduled",
        "in flight",
        "oldest",
        "out/s",
        "in/s",
        "sessions",
        "window",
        "answers",
        "partitions",
    ];
    NUMBERS.contains(&title)
}

fn right(text: String) -> Cell<'static> {
    Cell::from(Text::from(text).alignment(Alignment::Right))
}

/// A state in the colour that fits.
fn state(text: &str) -> Cell<'static> {
    let color = match text {
        "served" | "up" | "bound" | "alive" => Color::Green,
        "suspended" | "paused" | "partly up" | "waiting" | "draining" => Color::Yellow,
        "down" | "lost" => Color::Red,
        _ => Color::Reset,
    };
    Cell::from(text.to_owned()).style(Style::new().fg(color))
}

fn queue(live: &LiveQueue) -> Row<'static> {
    let queue = &live.queue;
    let served = queue.sessions > 0 || queue.name.starts_with("test:");
    let word = match (queue.suspended, served) {
        (true, _) => "suspended",
        (false, true) => "served",
        (false, false) => "nobody bound",
    };
    Row::new([
        Cell::from(queue.name.clone()),
        state(word),
        right(number(queue.waiting)),
        right(number(queue.scheduled)),
        right(number(queue.in_flight)),
        right(ago(queue.oldest_at.as_deref())),
        right(rate(live.delivered_per_second)),
        right(number(queue.sessions)),
    ])
}

fn operator(operator: &Operator) -> Row<'static> {
    Row::new([
        Cell::from(operator.id.clone()),
        state(&operator.state),
        Cell::from(format!("{} of {}", operator.bound, operator.configured)),
        Cell::from(operator.address.clone()),
        Cell::from(operator.last_error.clone()),
    ])
}

fn bind(live: &LiveBind) -> Row<'static> {
    let bind = &live.bind;
    let peer = match bind.next_reconnect_at.as_deref() {
        Some(at) if bind.state == "waiting" => format!("{} {}", bind.peer, ahead(Some(at))),
        _ => bind.peer.clone(),
    };
    let answers = bind.answer_ms;
    Row::new([
        Cell::from(bind.name.clone()),
        Cell::from(bind.direction.clone()),
        Cell::from(bind.bind_type.clone()),
        state(&bind.state),
        Cell::from(peer),
        right(format!("{}/{}", bind.in_flight, bind.window)),
        right(answers.map_or_else(String::new, |ms| format!("{ms:.1} ms"))),
        right(rate(live.received_per_second)),
        right(rate(live.sent_per_second)),
    ])
}

fn node(node: &Node) -> Row<'static> {
    let partitions: u32 = node.queues.iter().map(|share| share.partitions).sum();
    let this = if node.this_node { " here" } else { "" };
    Row::new([
        Cell::from(format!("{}{this}", node.node)),
        state(&node.state),
        Cell::from(node.name.clone()),
        Cell::from(node.version.clone()),
        right(partitions.to_string()),
        Cell::from(format!("{}/{}", node.bound, node.binds.len())),
        right(number(node.waiting + node.scheduled)),
        right(number(node.in_flight)),
        Cell::from(ago(node.since.as_deref())),
    ])
}
