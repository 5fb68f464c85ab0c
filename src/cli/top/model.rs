//! What the screen shows, and what keys do to it. Knows no terminal.

use std::time::{Duration, Instant};

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::feed::News;
use crate::api::{Hello, History, LiveBinds, LiveQueues, Nodes, Operators, Overview, Queue};
use crate::cli::client::{self, Tone};
use crate::cli::queues::standing;
use crate::cli::said;

/// Seconds of the graph.
const HISTORY: usize = 300;
/// Without an update for this time, the data is outdated.
const STALE_AFTER: Duration = Duration::from_secs(5);

/// Everything there is to show.
#[derive(Default)]
pub(super) struct Model {
    pub hello: Option<Hello>,
    pub overview: Option<Overview>,
    pub queues: LiveQueues,
    pub binds: LiveBinds,
    pub operators: Operators,
    pub nodes: Nodes,
    pub history: History,
    pub tab: Tab,
    /// The row that commands are for, in each tab.
    selected: [usize; Tab::ALL.len()],
    /// A command that waits for yes or no.
    pub ask: Option<ChosenCommand>,
    /// What came of the last command.
    pub said: Option<Result<String, String>>,
    pub help: bool,
    away: Option<String>,
    heard: Option<Instant>,
    has: [bool; Tab::ALL.len()],
}

/// A list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Tab {
    #[default]
    Queues,
    Operators,
    Binds,
    Nodes,
}

/// A command that a person has chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ChosenCommand {
    pub path: String,
    /// For the question.
    pub question: String,
    /// For afterwards.
    pub done: String,
}

/// The action of a key.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Act {
    Nothing,
    Quit,
    Order(ChosenCommand),
}

// === impl Tab ===

impl Tab {
    pub(super) const ALL: [Self; 4] = [Self::Queues, Self::Operators, Self::Binds, Self::Nodes];

    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Queues => "Queues",
            Self::Operators => "Operators",
            Self::Binds => "Binds",
            Self::Nodes => "Nodes",
        }
    }

    fn at(self, distance: usize) -> Self {
        Self::ALL[(self as usize + distance) % Self::ALL.len()]
    }
}

// === impl Model ===

impl Model {
    /// Applies an update. What is wrong comes first in every list, else the order is that of the SMSC; the selected row
    /// goes with its name, but the first one stays the first.
    pub(super) fn take(&mut self, news: News, now: Instant) {
        let chosen = Tab::ALL.map(|tab| self.name_at(tab, self.selected[tab as usize]));
        match news {
            News::Away(error) => {
                self.away = Some(said(&error));
                return;
            }
            News::Said(said) => {
                self.said = Some(said);
                return;
            }
            News::Hello(hello) => {
                self.remember(&hello.history);
                self.hello = Some(*hello);
            }
            News::Overview(overview) => {
                self.note(&overview);
                self.overview = Some(*overview);
            }
            News::Queues(queues) => {
                self.queues = queues;
                let all = &mut self.queues.queues;
                all.sort_by_key(|live| queue_rank(&live.queue));
                self.has[Tab::Queues as usize] = true;
            }
            News::Binds(binds) => {
                self.binds = binds;
                let all = &mut self.binds.binds;
                all.sort_by_key(|live| rank(&live.bind.state));
                self.has[Tab::Binds as usize] = true;
            }
            News::Operators(operators) => {
                self.operators = operators;
                let all = &mut self.operators.operators;
                all.sort_by_key(|operator| rank(&operator.state));
                self.has[Tab::Operators as usize] = true;
            }
            News::Nodes(nodes) => {
                self.nodes = nodes;
                self.nodes.nodes.sort_by_key(|node| rank(&node.state));
                self.has[Tab::Nodes as usize] = true;
            }
        }
        self.away = None;
        self.heard = Some(now);
        for (tab, name) in Tab::ALL.into_iter().zip(chosen) {
            let rows = self.rows(tab);
            let before = self.selected[tab as usize];
            let is_it = |at: &usize| before > 0 && name.is_some() && self.name_at(tab, *at) == name;
            let place = (0..rows).find(is_it).unwrap_or(before);
            self.selected[tab as usize] = place.min(rows.saturating_sub(1));
        }
    }

    /// Whether there is something to show in every place.
    pub(super) fn is_complete(&self) -> bool {
        self.overview.is_some() && self.has.iter().all(|has| *has)
    }

    /// Why the data is outdated, if it is.
    pub(super) fn trouble(&self, now: Instant) -> Option<String> {
        if let Some(reason) = &self.away {
            return Some(reason.clone());
        }
        match self.heard {
            None => Some("connecting".to_owned()),
            Some(heard) if now.duration_since(heard) > STALE_AFTER => Some(format!(
                "no news for {} s",
                now.duration_since(heard).as_secs()
            )),
            Some(_) => None,
        }
    }

    /// The row that is selected in the current tab.
    pub(super) fn selected(&self) -> usize {
        self.selected[self.tab as usize]
    }

    /// Changes what is shown; gives what cannot be done here.
    pub(super) fn key(&mut self, key: KeyEvent) -> Act {
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        if is_control && key.code == KeyCode::Char('c') {
            return Act::Quit;
        }
        if let Some(order) = self.ask.take() {
            return match key.code {
                KeyCode::Char('y' | 'Y') => Act::Order(order),
                _ => {
                    self.said = Some(Ok("nothing was done".to_owned()));
                    Act::Nothing
                }
            };
        }
        if self.help {
            self.help = false;
            return Act::Nothing;
        }
        match key.code {
            KeyCode::Char('q') | KeyCode::Esc => return Act::Quit,
            KeyCode::Char('?' | 'h') => self.help = true,
            KeyCode::Tab | KeyCode::Right => self.tab = self.tab.at(1),
            KeyCode::BackTab | KeyCode::Left => self.tab = self.tab.at(Tab::ALL.len() - 1),
            KeyCode::Char(digit @ '1'..='4') => {
                self.tab = Tab::Queues.at(digit as usize - '1' as usize);
            }
            KeyCode::Down | KeyCode::Char('j') => self.go(1),
            KeyCode::Up | KeyCode::Char('k') => self.go(-1),
            KeyCode::PageDown => self.go(10),
            KeyCode::PageUp => self.go(-10),
            KeyCode::Char(key @ ('s' | 'r' | 'b')) => self.choose(key),
            _ => {}
        }
        Act::Nothing
    }

    fn go(&mut self, rows: isize) {
        let last = self.rows(self.tab).saturating_sub(1);
        let selected = &mut self.selected[self.tab as usize];
        *selected = selected.saturating_add_signed(rows).min(last);
    }

    /// How many rows a list has.
    pub(super) fn rows(&self, tab: Tab) -> usize {
        match tab {
            Tab::Queues => self.queues.queues.len(),
            Tab::Operators => self.operators.operators.len(),
            Tab::Binds => self.binds.binds.len(),
            Tab::Nodes => self.nodes.nodes.len(),
        }
    }

    /// A command key: asks for confirmation.
    fn choose(&mut self, key: char) {
        self.said = None;
        self.ask = match (self.tab, self.name_at(self.tab, self.selected())) {
            (Tab::Queues, Some(name)) => order_queue(key, &name),
            (Tab::Operators, Some(name)) => order_operator(key, &name),
            _ => None,
        };
        if self.ask.is_none() {
            let said = "commands are for queues (s, r) and operators (s, r, b)";
            self.said = Some(Err(said.to_owned()));
        }
    }

    /// What a row is about.
    fn name_at(&self, tab: Tab, at: usize) -> Option<String> {
        Some(match tab {
            Tab::Queues => self.queues.queues.get(at)?.queue.name.clone(),
            Tab::Operators => self.operators.operators.get(at)?.id.clone(),
            Tab::Binds => {
                let bind = &self.binds.binds.get(at)?.bind;
                format!("{} {}/{}", bind.name, bind.node, bind.session)
            }
            Tab::Nodes => self.nodes.nodes.get(at)?.node.to_string(),
        })
    }

    fn remember(&mut self, more: &History) {
        let known = &mut self.history;
        append(&mut known.at_ms, &more.at_ms);
        append(&mut known.accepted, &more.accepted);
        append(&mut known.sent, &more.sent);
        append(&mut known.failed, &more.failed);
        append(&mut known.waiting, &more.waiting);
    }

    fn note(&mut self, overview: &Overview) {
        if self.history.at_ms.last() >= Some(&overview.at_ms) {
            return;
        }
        self.remember(&History {
            at_ms: vec![overview.at_ms],
            accepted: vec![overview.rates.accepted],
            sent: vec![overview.rates.sent],
            failed: vec![overview.rates.failed],
            waiting: vec![overview.queued.waiting + overview.queued.scheduled],
        });
    }
}

/// Adds the values of further seconds; the oldest go where they are too many.
fn append<T: Copy>(known: &mut Vec<T>, more: &[T]) {
    known.extend(more);
    known.drain(..known.len().saturating_sub(HISTORY));
}

/// Where a state stands: what is wrong first.
fn rank(state: &str) -> u8 {
    match Tone::of_state(state) {
        Tone::Bad => 0,
        Tone::Warning => 1,
        Tone::Plain | Tone::Good | Tone::Quiet | Tone::Strong => 2,
    }
}

/// A queue that nobody serves is wrong while something waits in it.
fn queue_rank(queue: &Queue) -> u8 {
    let state = rank(standing(queue));
    let waits = queue.waiting + queue.scheduled > 0;
    match (state, waits) {
        (0 | 1, true) => 0,
        _ if queue.suspended => 1,
        _ => 2,
    }
}

fn order_queue(key: char, name: &str) -> Option<ChosenCommand> {
    let (verb, question, done) = match key {
        's' => (
            "suspend",
            format!("Suspend {name}? Nothing is handed out until it is resumed."),
            format!("{name} is suspended"),
        ),
        'r' => (
            "resume",
            format!("Resume {name}?"),
            format!("{name} hands out again"),
        ),
        _ => return None,
    };
    Some(chosen("queues", name, verb, question, done))
}

fn order_operator(key: char, id: &str) -> Option<ChosenCommand> {
    let (verb, question, done) = match key {
        's' => (
            "suspend",
            format!("Suspend {id}? All its binds are closed until it is resumed."),
            format!("{id} is being unbound"),
        ),
        'r' => (
            "resume",
            format!("Resume {id}?"),
            format!("{id} is being bound"),
        ),
        'b' => (
            "rebind",
            format!("Rebind {id}? All its binds are closed and opened again."),
            format!("{id} is being bound again"),
        ),
        _ => return None,
    };
    Some(chosen("operators", id, verb, question, done))
}

fn chosen(kind: &str, name: &str, verb: &str, question: String, done: String) -> ChosenCommand {
    ChosenCommand {
        path: format!("/v1/{kind}/{}/{verb}", client::segment(name)),
        question,
        done,
    }
}
