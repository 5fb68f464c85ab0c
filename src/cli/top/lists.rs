//! The lists of `smsc top`: queues, operators, binds and nodes, one row each.

use ratatui::Frame;
use ratatui::layout::{Alignment, Constraint, Rect};
use ratatui::style::{Color, Modifier, Style, Stylize as _};
use ratatui::text::Text;
use ratatui::widgets::{Cell as Place, Paragraph, Row, Table as Grid, TableState};

use super::draw::rate;
use super::model::{Model, Tab};
use crate::api::{LiveBind, LiveQueue, Node, Operator};
use crate::cli::client::{BETWEEN, OutputTable, TableCell, Tone, ahead, number};
use crate::domain::queue_name::QueueName;

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
    let table = table(model, tab);
    let fitting = table.fitting(Some(area.width.into()));
    let place = |text: String, to_the_right: bool| {
        if to_the_right {
            Place::from(Text::from(text).alignment(Alignment::Right))
        } else {
            Place::from(text)
        }
    };
    let is_number = |at: usize| table.rows().first().is_some_and(|row| row[at].is_number());
    let header = fitting
        .columns
        .iter()
        .map(|at| place(table.titles()[*at].clone(), is_number(*at)));
    let rows = table.rows().iter().map(|row| {
        let cells = fitting.columns.iter().map(|at| &row[*at]);
        Row::new(cells.map(|cell| place(cell.text(), cell.is_number()).style(style(cell.tone()))))
    });
    let widths = fitting.columns.iter().map(|at| {
        let width = fitting.widths[*at].try_into().unwrap_or(u16::MAX);
        Constraint::Length(width)
    });
    let grid = Grid::new(rows, widths)
        .column_spacing(BETWEEN as u16)
        .header(Row::new(header).add_modifier(Modifier::DIM))
        .row_highlight_style(Style::new().reversed());
    let mut state = TableState::default().with_selected(selected);
    frame.render_stateful_widget(grid, area, &mut state);
}

/// A list with all its columns, and those that a narrow screen may do without.
fn table(model: &Model, tab: Tab) -> OutputTable {
    match tab {
        Tab::Queues => {
            let mut table = OutputTable::new(&[
                "queue",
                "state",
                "waiting",
                "scheduled",
                "in flight",
                "oldest",
                "out/s",
                "sessions",
            ])
            .dropping(&["sessions", "scheduled", "in flight", "oldest", "out/s"]);
            let queues = model.queues.queues.iter();
            queues.for_each(|one| table.row(queue(one)));
            table
        }
        Tab::Operators => {
            let mut table =
                OutputTable::new(&["operator", "state", "binds", "address", "last error"])
                    .dropping(&["address", "last error"]);
            let operators = model.operators.operators.iter();
            operators.for_each(|one| table.row(operator(one)));
            table
        }
        Tab::Binds => {
            let mut table = OutputTable::new(&[
                "name", "side", "type", "state", "peer", "window", "answers", "in/s", "out/s",
            ])
            .dropping(&["type", "side", "answers", "peer", "window", "in/s", "out/s"]);
            let binds = model.binds.binds.iter();
            binds.for_each(|one| table.row(bind(one)));
            table
        }
        Tab::Nodes => {
            let mut table = OutputTable::new(&[
                "node",
                "state",
                "name",
                "version",
                "partitions",
                "binds",
                "waiting",
                "in flight",
                "since",
            ])
            .dropping(&[
                "version",
                "since",
                "partitions",
                "in flight",
                "name",
                "binds",
            ]);
            model
                .nodes
                .nodes
                .iter()
                .for_each(|one| table.row(node(one)));
            table
        }
    }
}

fn nothing(tab: Tab) -> &'static str {
    match tab {
        Tab::Queues => "no queues: operators and accounts of the configuration have one each",
        Tab::Operators => "no operators: add [[operator]] to the configuration",
        Tab::Binds => "no binds: nobody is connected",
        Tab::Nodes => "one node on an embedded store; with [postgres] many nodes share one",
    }
}

fn style(tone: Tone) -> Style {
    match tone {
        Tone::Good => Style::new().fg(Color::Green),
        Tone::Warning => Style::new().fg(Color::Yellow),
        Tone::Bad => Style::new().fg(Color::Red),
        Tone::Plain | Tone::Quiet | Tone::Strong => Style::new(),
    }
}

fn queue(live: &LiveQueue) -> [TableCell; 8] {
    let queue = &live.queue;
    let served = queue.sessions > 0 || QueueName::parse(&queue.name).is_test();
    let word = match (queue.suspended, served) {
        (true, _) => "suspended",
        (false, true) => "served",
        (false, false) => "nobody bound",
    };
    [
        TableCell::from(queue.name.clone()),
        TableCell::state(word),
        TableCell::number(queue.waiting),
        TableCell::number(queue.scheduled),
        TableCell::number(queue.in_flight),
        TableCell::ago(queue.oldest_at.as_deref()),
        TableCell::right(rate(live.delivered_per_second)),
        TableCell::number(queue.sessions),
    ]
}

fn operator(operator: &Operator) -> [TableCell; 5] {
    [
        TableCell::from(operator.id.clone()),
        TableCell::state(operator.state.clone()),
        format!("{} of {}", operator.bound, operator.configured).into(),
        operator.address.clone().into(),
        operator.last_error.clone().into(),
    ]
}

fn bind(live: &LiveBind) -> [TableCell; 9] {
    let bind = &live.bind;
    let peer = match bind.next_reconnect_at.as_deref() {
        Some(at) if bind.state == "waiting" => format!("{} {}", bind.peer, ahead(Some(at))),
        _ => bind.peer.clone(),
    };
    let answers = bind.answer_ms;
    [
        TableCell::from(bind.name.clone()),
        bind.direction.clone().into(),
        bind.bind_type.clone().into(),
        TableCell::state(bind.state.clone()),
        peer.into(),
        TableCell::right(format!("{}/{}", bind.in_flight, bind.window)),
        TableCell::right(answers.map_or_else(String::new, |ms| format!("{ms:.1} ms"))),
        TableCell::right(rate(live.received_per_second)),
        TableCell::right(rate(live.sent_per_second)),
    ]
}

fn node(node: &Node) -> [TableCell; 9] {
    let partitions: u32 = node.queues.iter().map(|share| share.partitions).sum();
    let this = if node.this_node { " here" } else { "" };
    [
        TableCell::from(format!("{}{this}", node.node)),
        TableCell::state(node.state.clone()),
        node.name.clone().into(),
        node.version.clone().into(),
        TableCell::number(partitions),
        format!("{}/{}", node.bound, node.binds.len()).into(),
        TableCell::right(number(node.waiting + node.scheduled)),
        TableCell::number(node.in_flight),
        TableCell::ago(node.since.as_deref()),
    ]
}
