//! The lists of `smsc top`: queues, operators, binds and nodes, one row each.

use ratatui::Frame;
use ratatui::layout::{Alignment, Constraint, Rect};
use ratatui::style::{Color, Modifier, Style, Stylize as _};
use ratatui::text::Text;
use ratatui::widgets::{Cell as Place, Paragraph, Row, Table as Grid, TableState};

use super::draw::rate;
use super::model::{Model, Tab};
use crate::api::{LiveBind, LiveQueue, Node, Operator};
use crate::cli::client::{BETWEEN, OutputTable, TableCell, Tone, ahead, number, table_of};
use crate::cli::queues::standing;

/// Draws a list; the selected row stays in sight.
pub(super) fn draw(
    frame: &mut Frame,
    area: Rect,
    model: &Model,
    tab: Tab,
    selected: Option<usize>,
) {
    if model.rows(tab) == 0 {
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
        Tab::Queues => queues(&model.queues.queues),
        Tab::Operators => operators(&model.operators.operators),
        Tab::Binds => binds(&model.binds.binds),
        Tab::Nodes => nodes(&model.nodes.nodes),
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

fn queues(all: &[LiveQueue]) -> OutputTable {
    table_of!(all, |live| {
        let queue = &live.queue;
        "queue" => queue.name.clone(),
        "state" => TableCell::state(standing(queue)),
        "waiting" => TableCell::number(queue.waiting),
        "scheduled" [2] => TableCell::number(queue.scheduled),
        "in flight" [3] => TableCell::number(queue.in_flight),
        "oldest" [4] => TableCell::ago(queue.oldest_at.as_deref()),
        "out/s" [5] => TableCell::right(rate(live.delivered_per_second)),
        "sessions" [1] => TableCell::number(queue.sessions),
    })
}

fn operators(all: &[Operator]) -> OutputTable {
    table_of!(all, |operator| {
        "operator" => operator.id.clone(),
        "state" => TableCell::state(operator.state.clone()),
        "binds" => format!("{} of {}", operator.bound, operator.configured),
        "address" [1] => operator.address.clone(),
        "last error" [2] => operator.last_error.clone(),
    })
}

fn binds(all: &[LiveBind]) -> OutputTable {
    table_of!(all, |live| {
        let bind = &live.bind;
        let peer = match bind.next_reconnect_at.as_deref() {
            Some(at) if bind.state == "waiting" => format!("{} {}", bind.peer, ahead(Some(at))),
            _ => bind.peer.clone(),
        };
        let answers = bind.answer_ms;
        "name" => bind.name.clone(),
        "side" [2] => bind.direction.clone(),
        "type" [1] => bind.bind_type.clone(),
        "state" => TableCell::state(bind.state.clone()),
        "peer" [4] => peer,
        "window" [5] => TableCell::right(format!("{}/{}", bind.in_flight, bind.window)),
        "answers" [3] => TableCell::right(answers.map_or_else(String::new, |ms| format!("{ms:.1} ms"))),
        "in/s" [6] => TableCell::right(rate(live.received_per_second)),
        "out/s" [7] => TableCell::right(rate(live.sent_per_second)),
    })
}

fn nodes(all: &[Node]) -> OutputTable {
    table_of!(all, |node| {
        let partitions: u32 = node.queues.iter().map(|share| share.partitions).sum();
        let this = if node.this_node { " here" } else { "" };
        "node" => format!("{}{this}", node.node),
        "state" => TableCell::state(node.state.clone()),
        "name" [5] => node.name.clone(),
        "version" [1] => node.version.clone(),
        "partitions" [3] => TableCell::number(partitions),
        "binds" [6] => format!("{}/{}", node.bound, node.binds.len()),
        "waiting" => TableCell::right(number(node.waiting + node.scheduled)),
        "in flight" [4] => TableCell::number(node.in_flight),
        "since" [2] => TableCell::ago(node.since.as_deref()),
    })
}
