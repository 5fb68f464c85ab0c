//! What one listener shows of the lists: a page of one of them, and of the others what belongs to that page.
//!
//! A page of the console has twenty operators of two hundred on the screen. Whoever asks for a list by `list` gets no
//! more than that; events of others stay as they are.

use std::collections::HashSet;

use super::events::{Kind, Latest, LiveEvent, LiveSecond, MOST};
use crate::api::{
    LiveBind, LiveBinds, LiveQueue, LiveQueues, Nodes, Operator, OperatorHistory, Operators,
    Overview, Word,
};
use crate::domain::moment;
use crate::domain::queue_name::QueueName;
use crate::http::name_page::NamePattern;
use crate::http::problem::Problem;
use crate::http::query::{PAGE, Query};
use crate::pb::BindDirection;

/// Most names of queues and binds that a node is shown with; the rest is counted.
const NAMES: usize = 20;

/// The list that is shown in pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PagedList {
    Queues,
    Operators,
    Binds,
}

/// The part that one listener shows: the parameters of `GET /v1/events` but for the kinds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::http) struct ShownLists {
    /// `None`: all lists as they are for everybody.
    list: Option<PagedList>,
    find: NamePattern,
    /// Only entries that are called so; empty for all.
    name: String,
    /// Only binds of these directions; empty for all.
    directions: Vec<String>,
    /// What the list is sorted by, and whether the largest comes first; `None`: as it is.
    sort: Option<(&'static str, bool)>,
    /// Pages before this one.
    pages_before: usize,
    limit: usize,
    /// How many of the busiest queues come besides.
    busiest: usize,
    /// How many entries of what needs a look an overview has; all without it.
    attention: Option<usize>,
}

/// What a listener shows, and what it was sent of it last.
pub(super) struct ShownPart {
    pub lists: ShownLists,
    sent: Latest,
}

/// An entry of a list that is shown in pages.
trait PageRow {
    fn name(&self) -> &str;
    /// The figure that it is sorted by.
    fn figure(&self, by: &str) -> f64;
}

/// An operator with its queue.
struct OperatorRow<'a> {
    operator: &'a Operator,
    queue: Option<&'a LiveQueue>,
}

/// The page of the list that is shown in pages, and how many entries fit and are on its other pages.
enum ShownPage<'a> {
    Queues(Vec<&'a LiveQueue>, u64),
    Operators(Vec<OperatorRow<'a>>, u64),
    Binds(Vec<&'a LiveBind>, u64),
}

// === impl PagedList ===

impl Word for PagedList {
    const ALL: &'static [(&'static str, Self)] = &[
        ("queues", Self::Queues),
        ("operators", Self::Operators),
        ("binds", Self::Binds),
    ];
}

impl PagedList {
    /// What it can be sorted by.
    fn orders(self) -> &'static [&'static str] {
        match self {
            Self::Queues => &[
                "name",
                "state",
                "waiting",
                "scheduled",
                "in_flight",
                "oldest_at",
                "delivered_per_second",
                "failed_total",
                "suspects",
                "sessions",
            ],
            Self::Operators => &[
                "name",
                "state",
                "bound",
                "waiting",
                "delivered_per_second",
                "throttled_share",
                "answer_ms",
            ],
            Self::Binds => &[
                "name",
                "state",
                "in_flight",
                "answer_ms",
                "received_per_second",
                "sent_per_second",
                "errors_total",
                "since",
            ],
        }
    }
}

// === impl ShownLists ===

impl ShownLists {
    /// Its parameters in a query.
    pub(in crate::http) const PARAMETERS: [&'static str; 9] = [
        "list",
        "find",
        "name",
        "direction",
        "sort",
        "page",
        "limit",
        "busiest",
        "attention",
    ];

    /// What a query asks for; `None` if it has none of [`ShownLists::PARAMETERS`].
    pub(in crate::http) fn read(query: &Query) -> Result<Option<Self>, Problem> {
        if Self::PARAMETERS.iter().all(|key| query.text(key).is_none()) {
            return Ok(None);
        }
        let list = query.word::<PagedList>("list")?;
        if list.is_none() {
            let of_a_list = &Self::PARAMETERS[1..8];
            if let Some(key) = of_a_list.iter().find(|key| query.text(key).is_some()) {
                let detail =
                    format!("{key} is about one list; name it by list, such as list=queues");
                return Err(Problem::bad_value(key, detail));
            }
        }
        let sort = match (list, query.text("sort")) {
            (Some(list), Some(text)) => Some(order_of(list, text)?),
            _ => None,
        };
        let count = |key: &str, least: usize, most: usize| {
            let range = format!("a number from {least} to {most}");
            query.number(key, &range, |count: &usize| (least..=most).contains(count))
        };
        Ok(Some(Self {
            list,
            find: NamePattern::read(query)?,
            name: query.text("name").unwrap_or_default().to_owned(),
            directions: directions_of(query)?,
            sort,
            pages_before: count("page", 1, 1_000_000)?.unwrap_or(1) - 1,
            limit: count("limit", 1, MOST)?.unwrap_or(PAGE as usize),
            busiest: count("busiest", 1, MOST)?.unwrap_or(0),
            attention: count("attention", 1, MOST)?,
        }))
    }

    /// Of the histories of all operators those that are on the page; before the first look nobody knows which these are.
    pub(super) fn keep_histories(
        &self,
        histories: &mut Vec<OperatorHistory>,
        second: Option<&LiveSecond>,
    ) {
        if self.list != Some(PagedList::Operators) {
            histories.clear();
        } else if let Some(second) = second {
            let (rows, _) = self.operators(second);
            let shown: HashSet<String> = rows.iter().map(|row| queue_of(row.operator)).collect();
            histories.retain(|one| shown.contains(&one.name));
        } else {
            histories.truncate(self.limit);
        }
    }

    /// The events of a second.
    fn events(&self, kinds: &[Kind], second: &LiveSecond) -> Vec<LiveEvent> {
        // Once for all kinds: each shows what belongs to this page.
        let page = self.list.map(|list| self.page(list, second));
        let events = kinds.iter();
        events
            .filter_map(|kind| self.event(*kind, page.as_ref(), second))
            .collect()
    }

    fn event(
        &self,
        kind: Kind,
        page: Option<&ShownPage<'_>>,
        second: &LiveSecond,
    ) -> Option<LiveEvent> {
        let at_ms = second.at_ms;
        Some(match (kind, page) {
            (Kind::Overview, _) => LiveEvent::new(kind, at_ms, &self.overview(second)),
            (Kind::Nodes, _) => LiveEvent::new(kind, at_ms, &counted(&second.nodes)),
            (Kind::Queues, Some(page)) => {
                LiveEvent::new(kind, at_ms, &self.shown_queues(page, second))
            }
            (Kind::Binds, Some(ShownPage::Operators(rows, _))) => {
                LiveEvent::new(kind, at_ms, &binds_of(rows, second))
            }
            (Kind::Binds, Some(ShownPage::Binds(binds, omitted))) => {
                LiveEvent::new(kind, at_ms, &shown_binds(binds, *omitted))
            }
            (Kind::Operators, Some(ShownPage::Operators(rows, omitted))) => {
                LiveEvent::new(kind, at_ms, &shown_operators(rows, *omitted))
            }
            // What is on no page of this list stays as it is.
            _ => return second.whole(kind),
        })
    }

    fn page<'a>(&self, list: PagedList, second: &'a LiveSecond) -> ShownPage<'a> {
        match list {
            PagedList::Queues => {
                let queues = second.queues.iter();
                let found = queues.filter(|one| self.fits(&one.queue.name, String::new));
                let (queues, omitted) = self.page_of(found.collect());
                ShownPage::Queues(queues, omitted)
            }
            PagedList::Operators => {
                let (rows, omitted) = self.operators(second);
                ShownPage::Operators(rows, omitted)
            }
            PagedList::Binds => {
                let (binds, omitted) = self.binds(second);
                ShownPage::Binds(binds, omitted)
            }
        }
    }

    /// Whether an entry with this name, and the text beside it, is wanted.
    fn fits(&self, name: &str, beside: impl FnOnce() -> String) -> bool {
        (self.name.is_empty() || self.name == name) && self.find.fits(name, beside)
    }

    fn overview(&self, second: &LiveSecond) -> Overview {
        let mut overview = second.overview.clone();
        if let Some(most) = self.attention {
            let omitted = overview.attention.len().saturating_sub(most);
            overview.attention_omitted = omitted as u64;
            overview.attention.truncate(most);
            overview.not_ready.truncate(most);
            overview.degraded.truncate(most);
        }
        overview
    }

    fn shown_queues(&self, page: &ShownPage<'_>, second: &LiveSecond) -> LiveQueues {
        let named = |names: HashSet<String>| {
            let queues = second.queues.iter();
            let own = queues.filter(|one| names.contains(&one.queue.name));
            own.collect::<Vec<_>>()
        };
        let (mut queues, omitted) = match page {
            ShownPage::Queues(queues, omitted) => (queues.clone(), *omitted),
            ShownPage::Operators(rows, _) => {
                let names = rows.iter().map(|row| queue_of(row.operator));
                (named(names.collect()), 0)
            }
            ShownPage::Binds(binds, _) => {
                let names = binds.iter().map(|one| served_by(one));
                (named(names.collect()), 0)
            }
        };
        if self.busiest > 0 {
            let mut by_load: Vec<&LiveQueue> = second.queues.iter().collect();
            by_load.sort_by(|one, other| load(other).total_cmp(&load(one)));
            for busy in by_load.into_iter().take(self.busiest) {
                if !queues.iter().any(|one| one.queue.name == busy.queue.name) {
                    queues.push(busy);
                }
            }
        }
        LiveQueues {
            queues: queues.into_iter().cloned().collect(),
            omitted,
        }
    }

    /// The operators of the page, and how many fit besides.
    fn operators<'a>(&self, second: &'a LiveSecond) -> (Vec<OperatorRow<'a>>, u64) {
        let all = second.operators.operators.iter();
        let fits = |one: &&Operator| self.fits(&one.id, || one.address.clone());
        let rows = all.filter(fits).map(|operator| OperatorRow {
            operator,
            queue: second.queue(&queue_of(operator)),
        });
        self.page_of(rows.collect())
    }

    /// The binds of the page, and how many fit besides. One is found by its number, too: `0/17`.
    fn binds<'a>(&self, second: &'a LiveSecond) -> (Vec<&'a LiveBind>, u64) {
        let fits = |one: &&LiveBind| {
            let bind = &one.bind;
            let beside = || format!("{} {}/{}", bind.peer, bind.node, bind.session);
            let is_of_side =
                self.directions.is_empty() || self.directions.contains(&bind.direction);
            is_of_side && self.fits(&bind.name, beside)
        };
        self.page_of(second.binds.iter().filter(fits).collect())
    }

    /// The page of what was found, in the order that is asked for; and how many are on other pages. Behind the last page
    /// is the last one: the list may have become shorter.
    fn page_of<T: PageRow>(&self, mut found: Vec<T>) -> (Vec<T>, u64) {
        // What is equal stays in the order of names.
        match self.sort {
            None => {}
            Some(("name", is_descending)) => {
                found.sort_by(|one, other| one.name().cmp(other.name()));
                if is_descending {
                    found.reverse();
                }
            }
            Some((by, is_descending)) => {
                // Once for each: a moment is read from its text.
                let figures = found.into_iter().map(|one| (one.figure(by), one));
                let mut by_figure: Vec<(f64, T)> = figures.collect();
                by_figure.sort_by(|(one, _), (other, _)| {
                    let order = one.total_cmp(other);
                    if is_descending {
                        order.reverse()
                    } else {
                        order
                    }
                });
                found = by_figure.into_iter().map(|(_, one)| one).collect();
            }
        }
        let total = found.len();
        let last_page = total.saturating_sub(1) / self.limit;
        let begin = self.pages_before.min(last_page) * self.limit;
        let page: Vec<T> = found.into_iter().skip(begin).take(self.limit).collect();
        let omitted = total - page.len();
        (page, omitted as u64)
    }
}

/// The directions of binds, with commas between them; empty for all.
fn directions_of(query: &Query) -> Result<Vec<String>, Problem> {
    let known = [
        BindDirection::In,
        BindDirection::Out,
        BindDirection::Gateway,
        BindDirection::Gsm,
        BindDirection::Callback,
        BindDirection::Local,
    ];
    let known = known.map(BindDirection::word);
    let text = query.text("direction").unwrap_or_default();
    let asked = text.split(',').filter(|one| !one.is_empty());
    if let Some(direction) = asked.clone().find(|one| !known.contains(one)) {
        let names = known.join(", ");
        let detail = format!("direction is one of {names}, not {direction:?}");
        return Err(Problem::bad_value("direction", detail));
    }
    Ok(asked.map(str::to_owned).collect())
}

/// `waiting`, or `-waiting` for the largest first.
fn order_of(list: PagedList, text: &str) -> Result<(&'static str, bool), Problem> {
    let (by, is_descending) = match text.strip_prefix('-') {
        Some(by) => (by, true),
        None => (text, false),
    };
    let order = list.orders().iter().find(|order| **order == by);
    order.map(|order| (*order, is_descending)).ok_or_else(|| {
        let (list, orders) = (list.word(), list.orders().join(", "));
        let detail = format!(
            "{list} are sorted by {orders}, with - in front for the largest first; not by {text:?}"
        );
        Problem::bad_value("sort", detail)
    })
}

/// The binds to these operators.
fn binds_of(rows: &[OperatorRow<'_>], second: &LiveSecond) -> LiveBinds {
    let ids: HashSet<&str> = rows.iter().map(|row| row.operator.id.as_str()).collect();
    let is_own =
        |one: &&LiveBind| one.bind.direction == "out" && ids.contains(one.bind.name.as_str());
    let mut own: Vec<&LiveBind> = second.binds.iter().filter(is_own).collect();
    let omitted = own.len().saturating_sub(MOST) as u64;
    own.truncate(MOST);
    shown_binds(&own, omitted)
}

fn shown_binds(binds: &[&LiveBind], omitted: u64) -> LiveBinds {
    LiveBinds {
        binds: binds.iter().copied().cloned().collect(),
        omitted,
    }
}

fn shown_operators(rows: &[OperatorRow<'_>], omitted: u64) -> Operators {
    Operators {
        total: Some(rows.len() as u64 + omitted),
        operators: rows.iter().map(|row| row.operator.clone()).collect(),
        next_after: None,
    }
}

/// The name of the queue of an operator.
fn queue_of(operator: &Operator) -> String {
    QueueName::Operator(&operator.id).to_string()
}

/// The name of the queue that a bind takes from.
fn served_by(bind: &LiveBind) -> String {
    let bind = &bind.bind;
    let queue = match (&bind.queue, &*bind.direction) {
        (Some(queue), _) => return queue.clone(),
        (None, "gsm") => QueueName::Gsm(&bind.name),
        (None, "out" | "gateway") => QueueName::Operator(&bind.name),
        (None, _) => QueueName::Account(&bind.name),
    };
    queue.to_string()
}

/// How much a queue has to do.
fn load(one: &LiveQueue) -> f64 {
    let queue = &one.queue;
    (queue.waiting + queue.scheduled + queue.in_flight) as f64 + one.delivered_per_second
}

/// Nodes with counts in place of long lists of names.
fn counted(nodes: &Nodes) -> Nodes {
    let mut nodes = nodes.clone();
    for node in &mut nodes.nodes {
        node.queues.truncate(NAMES);
        node.binds.truncate(NAMES);
    }
    nodes
}

/// A moment as a figure: the oldest is the largest, and none is the smallest.
fn age_of(at: Option<&String>) -> f64 {
    let at = at.and_then(|at| moment::parse(at));
    at.map_or(f64::NEG_INFINITY, |at| -(at as f64))
}

// === impl PageRow ===

impl<T: PageRow> PageRow for &T {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn figure(&self, by: &str) -> f64 {
        (**self).figure(by)
    }
}

impl PageRow for LiveQueue {
    fn name(&self) -> &str {
        &self.queue.name
    }

    fn figure(&self, by: &str) -> f64 {
        let queue = &self.queue;
        let waits = queue.waiting + queue.scheduled > 0;
        match by {
            "state" if queue.suspended => 0.0,
            "state" if queue.sessions == 0 && waits => 1.0,
            "state" if queue.sessions == 0 => 2.0,
            "state" => 3.0,
            "waiting" => queue.waiting as f64,
            "scheduled" => queue.scheduled as f64,
            "in_flight" => queue.in_flight as f64,
            "oldest_at" => age_of(queue.oldest_at.as_ref()),
            "delivered_per_second" => self.delivered_per_second,
            "failed_total" => queue.failed_total as f64,
            "suspects" => queue.suspects as f64,
            "sessions" => queue.sessions as f64,
            _ => 0.0,
        }
    }
}

impl PageRow for OperatorRow<'_> {
    fn name(&self) -> &str {
        &self.operator.id
    }

    fn figure(&self, by: &str) -> f64 {
        let of_queue = |figure: fn(&LiveQueue) -> f64| self.queue.map_or(0.0, figure);
        match by {
            "state" => match self.operator.state.as_str() {
                "name taken" | "down" => 0.0,
                "paused" => 1.0,
                "partly up" => 2.0,
                "up" => 3.0,
                _ => 4.0,
            },
            "bound" => f64::from(self.operator.bound),
            "waiting" => of_queue(|one| (one.queue.waiting + one.queue.scheduled) as f64),
            "delivered_per_second" => of_queue(|one| one.delivered_per_second),
            "throttled_share" => of_queue(|one| one.throttled_share),
            "answer_ms" => self.operator.answer_ms.unwrap_or(0.0),
            _ => 0.0,
        }
    }
}

impl PageRow for LiveBind {
    fn name(&self) -> &str {
        &self.bind.name
    }

    fn figure(&self, by: &str) -> f64 {
        let bind = &self.bind;
        match by {
            "state" => match bind.state.as_str() {
                "paused" => 0.0,
                "waiting" => 1.0,
                "bound" => 3.0,
                _ => 2.0,
            },
            "in_flight" => f64::from(bind.in_flight),
            "answer_ms" => bind.answer_ms.unwrap_or(0.0),
            "received_per_second" => self.received_per_second,
            "sent_per_second" => self.sent_per_second,
            "errors_total" => bind.errors_total as f64,
            "since" => age_of(bind.since.as_ref()),
            _ => 0.0,
        }
    }
}

// === impl ShownPart ===

impl ShownPart {
    pub(super) fn new(lists: ShownLists) -> Self {
        Self {
            lists,
            sent: Latest::default(),
        }
    }

    /// What has changed on the page.
    pub(super) fn news(&mut self, kinds: &[Kind], second: &LiveSecond) -> Vec<LiveEvent> {
        self.sent.replace(self.lists.events(kinds, second))
    }
}
