//! Draws the screen of `smsc top`: figures, the graph, one list at a time, and confirmations.
//!
//! Colours are the terminal's own; every colour's meaning is also in the text.

use std::time::Instant;

use ratatui::Frame;
use ratatui::layout::{Alignment, Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style, Stylize as _};
use ratatui::symbols::Marker;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Axis, Block, Chart, Clear, Dataset, GraphType, Paragraph, Tabs, Wrap};

use super::lists;
use super::model::{Model, Tab};
use crate::cli::client::{ago, number};

/// Lines of the graph, when there is room for it.
const GRAPH: u16 = 10;
/// Below this height there is no graph.
const GRAPH_FROM: u16 = 24;

const HELP: &[(&str, &str)] = &[
    ("Tab, 1-4", "queues, operators, binds, nodes"),
    ("up, down", "select a row"),
    ("s", "suspend the selected queue or operator"),
    ("r", "resume it"),
    ("b", "rebind the selected operator"),
    ("q", "leave"),
];

/// The screen of a person: one list at a time.
pub(super) fn screen(frame: &mut Frame, model: &Model, now: Instant) {
    let figures = figures(frame.area().width, model, now);
    let [head, graph, tabs, list, foot] = Layout::vertical([
        Constraint::Length(figures.len() as u16),
        Constraint::Length(graph_lines(frame.area().height)),
        Constraint::Length(1),
        Constraint::Min(3),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    frame.render_widget(Paragraph::new(figures), head);
    chart(frame, graph, model);
    let titles = Tab::ALL.map(|tab| format!(" {} {} ", tab as usize + 1, tab.title()));
    let tabs_line = Tabs::new(titles)
        .select(model.tab as usize)
        .padding("", "")
        .highlight_style(Style::new().reversed());
    frame.render_widget(tabs_line, tabs);
    lists::draw(frame, list, model, model.tab, Some(model.selected()));
    frame.render_widget(last_line(model, foot.width), foot);
    if model.help {
        help(frame);
    } else if let Some(order) = &model.ask {
        window(
            frame,
            " Are you sure? ",
            &order.question,
            "y: yes     any other key: no",
        );
    }
}

/// The frame of `--once`: every list, one below the other.
pub(super) fn everything(frame: &mut Frame, model: &Model, now: Instant) {
    let height = frame.area().height;
    let figures = figures(frame.area().width, model, now);
    let mut parts = vec![
        Constraint::Length(figures.len() as u16),
        Constraint::Length(graph_lines(height)),
    ];
    // A title, a header, the rows, and a line between.
    parts.extend(Tab::ALL.map(|tab| Constraint::Length(model.rows(tab).max(1) as u16 + 3)));
    parts.push(Constraint::Fill(1));
    let areas = Layout::vertical(parts).split(frame.area());
    frame.render_widget(Paragraph::new(figures), areas[0]);
    chart(frame, areas[1], model);
    for (tab, area) in Tab::ALL.into_iter().zip(&areas[2..]) {
        let [title, list, _] = Layout::vertical([
            Constraint::Length(1),
            Constraint::Fill(1),
            Constraint::Length(1),
        ])
        .areas(*area);
        frame.render_widget(Line::from(tab.title()).bold(), title);
        lists::draw(frame, list, model, tab, None);
    }
}

fn graph_lines(height: u16) -> u16 {
    if height < GRAPH_FROM { 0 } else { GRAPH }
}

/// The node and its state, in as many lines as it takes.
fn figures(width: u16, model: &Model, now: Instant) -> Vec<Line<'static>> {
    let width = usize::from(width);
    let mut name = vec![Span::from("smsc").bold()];
    if let Some(hello) = &model.hello {
        name.push(format!(" {}  node {}", hello.version, hello.node).into());
    }
    let mut first = Line::from(name);
    let condition = condition(model, now);
    let mut lines = Vec::new();
    if first.width() + 2 + condition.width() <= width {
        first.push_span("  ");
        first.push_span(condition);
        lines.push(first);
    } else {
        lines.push(first);
        let words = wrapped(&condition.content, width);
        lines.extend(
            words
                .into_iter()
                .map(|line| Line::styled(line, condition.style)),
        );
    }
    if let Some(overview) = &model.overview {
        let (rates, queued, binds) = (&overview.rates, &overview.queued, &overview.binds);
        lines.extend(pairs(
            width,
            &[
                ("accepted", format!("{}/s", rate(rates.accepted))),
                ("sent", format!("{}/s", rate(rates.sent))),
                ("delivered", format!("{}/s", rate(rates.delivered))),
                ("failed", format!("{}/s", rate(rates.failed))),
                ("refused", format!("{}/s", rate(rates.refused))),
            ],
        ));
        let oldest = match ago(queued.oldest_at.as_deref()) {
            age if age.is_empty() => "-".to_owned(),
            age => age,
        };
        lines.extend(pairs(
            width,
            &[
                ("waiting", number(queued.waiting)),
                ("scheduled", number(queued.scheduled)),
                ("in flight", number(queued.in_flight)),
                ("oldest", oldest),
            ],
        ));
        let commit = overview.store.commit_ms;
        lines.extend(pairs(
            width,
            &[
                (
                    "operator binds",
                    format!("{} of {}", binds.operators, binds.operators_wanted),
                ),
                ("ESMEs", number(binds.esmes)),
                (
                    "commit",
                    commit.map_or_else(|| "-".to_owned(), |ms| format!("{ms:.1} ms")),
                ),
            ],
        ));
    }
    lines
}

/// Words in lines of at most this width; a longer word has a line of its own.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// The page of the console that lists incidents.
const INCIDENTS: &str = "#/incidents";

/// Whether the figures are current, and problems.
fn condition(model: &Model, now: Instant) -> Span<'static> {
    if let Some(trouble) = model.trouble(now) {
        return Span::styled(
            format!("AWAY: {trouble}; trying again"),
            Style::new().fg(Color::Red).add_modifier(Modifier::BOLD),
        );
    }
    let Some(overview) = &model.overview else {
        return Span::from("");
    };
    let first = |list: &[String], word: &str| format!("{word}: {}", list.join("; "));
    let incidents = overview.attention.iter();
    let incidents = incidents.filter(|one| one.page == INCIDENTS);
    let incidents: Vec<String> = incidents.map(|one| one.text.clone()).collect();
    if !overview.not_ready.is_empty() {
        Span::from(first(&overview.not_ready, "NOT READY")).fg(Color::Red)
    } else if !overview.degraded.is_empty() {
        Span::from(first(&overview.degraded, "DEGRADED")).fg(Color::Yellow)
    } else if !incidents.is_empty() {
        Span::from(first(&incidents, "READY, INCIDENTS")).fg(Color::Yellow)
    } else {
        Span::from("READY").fg(Color::Green)
    }
}

/// Names and values, as many in a line as it holds.
fn pairs(width: usize, pairs: &[(&'static str, String)]) -> Vec<Line<'static>> {
    let mut lines = vec![Line::default()];
    for (label, value) in pairs {
        let (label, value) = (
            Span::from(format!("{label} ")).dim(),
            Span::from(value.clone()),
        );
        let used = lines.last().map_or(0, Line::width);
        let gap = if used == 0 { "" } else { "   " };
        let is_full = used + gap.len() + label.width() + value.width() > width;
        match lines.last_mut().filter(|_| used == 0 || !is_full) {
            Some(line) => line.spans.extend([gap.into(), label, value]),
            None => lines.push(Line::from(vec![label, value])),
        }
    }
    lines
}

/// Accepted and sent per second over the last minutes.
fn chart(frame: &mut Frame, area: Rect, model: &Model) {
    let Some(end) = model
        .history
        .at_ms
        .last()
        .copied()
        .filter(|_| area.height > 0)
    else {
        return;
    };
    let points = |values: &[f64]| -> Vec<(f64, f64)> {
        let times = model.history.at_ms.iter();
        times
            .zip(values)
            .map(|(at, value)| ((at - end) as f64 / 1000.0, *value))
            .collect()
    };
    let (accepted, sent) = (points(&model.history.accepted), points(&model.history.sent));
    let most = accepted.iter().chain(&sent).map(|(_, value)| *value);
    let top = round_up(most.fold(1.0, f64::max));
    let line = |name: &'static str, color| {
        Dataset::default()
            .name(name)
            .marker(Marker::Braille)
            .graph_type(GraphType::Line)
            .style(Style::new().fg(color))
    };
    let chart = Chart::new(vec![
        line("accepted/s", Color::Blue).data(&accepted),
        line("sent/s", Color::Green).data(&sent),
    ])
    .x_axis(
        Axis::default()
            .bounds([-300.0, 0.0])
            .labels(["5 min ago", "now"]),
    )
    .y_axis(Axis::default().bounds([0.0, top]).labels([
        "0".to_owned(),
        number((top / 2.0) as u64),
        number(top as u64),
    ]));
    frame.render_widget(chart, area);
}

fn last_line(model: &Model, width: u16) -> Line<'static> {
    const KEYS: &str = "?: help   Tab: next list   s: suspend   r: resume   b: rebind   q: leave";
    match &model.said {
        Some(Ok(said)) => Line::from(said.clone()).fg(Color::Green),
        Some(Err(said)) => Line::from(said.clone()).fg(Color::Red),
        None if usize::from(width) < KEYS.len() => {
            Line::from("?: help   Tab: next list   q: leave").dim()
        }
        None => Line::from(KEYS).dim(),
    }
}

fn help(frame: &mut Frame) {
    let lines: Vec<String> = HELP
        .iter()
        .map(|(key, what)| format!("{key:<10} {what}"))
        .collect();
    window(frame, " Keys ", &lines.join("\n"), "any key: back");
}

/// A window in the middle, over everything else.
fn window(frame: &mut Frame, title: &str, text: &str, keys: &str) {
    let area = frame.area();
    let width = area.width.min(64);
    let lines = text
        .lines()
        .map(|line| {
            line.len()
                .div_ceil(usize::from(width.saturating_sub(4)).max(1))
                .max(1)
        })
        .sum::<usize>();
    let height = area.height.min(lines as u16 + 4);
    let window = Rect {
        x: area.x + (area.width - width) / 2,
        y: area.y + (area.height - height) / 2,
        width,
        height,
    };
    let block = Block::bordered()
        .title(title)
        .title_bottom(Line::from(format!(" {keys} ")).alignment(Alignment::Center));
    frame.render_widget(Clear, window);
    frame.render_widget(
        Paragraph::new(format!("\n{text}"))
            .wrap(Wrap { trim: false })
            .block(block),
        window,
    );
}

/// Per second: 0, 0.4, 12, 1,234
pub(super) fn rate(value: f64) -> String {
    if value <= 0.0 {
        "0".to_owned()
    } else if value < 9.95 {
        format!("{value:.1}")
    } else {
        number(value.round() as u64)
    }
}

/// The next round number: 1, 2, 5 times a power of ten.
fn round_up(value: f64) -> f64 {
    let power = 10f64.powf(value.max(1.0).log10().floor());
    let step = [1.0, 2.0, 5.0]
        .into_iter()
        .find(|step| value <= step * power);
    step.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_axis_ends_at_a_round_number() {
        for (value, top) in [(1.0, 1.0), (3.0, 5.0), (11.0, 20.0), (730.0, 1_000.0)] {
            assert_eq!(round_up(value), top);
        }
        assert_eq!(
            (rate(0.0), rate(0.44), rate(1_234.4)),
            ("0".to_owned(), "0.4".to_owned(), "1,234".to_owned())
        );
    }
}
