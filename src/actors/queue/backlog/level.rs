//! Waiting messages of one priority: a list for each account, served in turns.
//!
//! The messages of an account go in the order of acceptance, as in a queue of its own. Accounts take
//! turns (deficit round robin): in each round an account may send messages up to a total cost of its
//! weight times the length of a turn. So the backlog of one account does not delay the others beyond
//! its turns. With a single account the level is one list.
//!
//! Bodies are kept for the front of each list. An account that has none is *hungry*: its next bodies
//! are read before any page is filled up, so that an account whose first messages arrive need not wait
//! for the page of others.
//!
//! Pure: the queue does the I/O and reads the clock. The `sender` of an item is not stored with it: it
//! follows from the list that the item is in, both in memory and in blocks out of memory.

mod away;
mod reading;
mod taking;

use std::collections::{HashMap, VecDeque};

use super::waiting::WaitingList;
use crate::actors::context::item::Item;
use crate::actors::context::plan::Weights;
use crate::pb::Message;

/// A message that another node has accepted may come so much later than those after it (as ids have it), and goes
/// before them.
const LATE: u64 = 10_000 << 20;

/// Bodies that an account may keep although other accounts have filled the page.
const FEW: usize = 4;

/// An item with its body.
pub type ReadyItem = (Item, Box<Message>);

/// A message that is taken out of turn, with its body if that is in memory.
pub type Withdrawn = (Item, Option<Box<Message>>);

type Flows = HashMap<u32, Flow, ahash::RandomState>;

#[derive(Debug, Default)]
pub struct Level {
    flows: Flows,
    /// The accounts in the order of their turns; each has a body.
    turns: VecDeque<u32>,
    /// Accounts that wait for bodies.
    hungry: VecDeque<u32>,
    /// Accounts for which a page is being read.
    reading: Vec<u32>,
    /// The account of each block that is out of memory or being written out.
    blocks: HashMap<u64, u32, ahash::RandomState>,
    /// Messages with bodies.
    ready: usize,
    /// Messages that an account of weight 1 may send in its turn; 0 means one.
    turn: i64,
    /// Messages with bodies behind others without.
    behind: usize,
    /// What all bodies take in memory ([`Message::weight`]).
    octets: u64,
    /// Items without bodies, including those out of memory.
    waiting: usize,
}

/// The waiting messages of one account.
#[derive(Debug, Default)]
struct Flow {
    ready: VecDeque<ReadyItem>,
    waiting: WaitingList,
    /// The newest messages, with bodies, behind those without. They keep a list that was long for a
    /// moment from being read from the store until it is empty.
    behind: VecDeque<ReadyItem>,
    /// The cost that the account may still send in this round; below 0 it has exceeded its share.
    credit: i64,
    /// Its share of a round: its weight times the length of a turn.
    share: i64,
    is_being_read: bool,
    /// What came back while a page is being read, with all that had bodies behind it: no body of the page may
    /// overtake it.
    returned: VecDeque<Item>,
    listed: Listed,
    /// Whether nothing has waited since the last [`Level::look_after`].
    was_idle: bool,
}

/// Where a flow waits for its turn.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Listed {
    #[default]
    Nowhere,
    Turns,
    Hungry,
}

/// The items to read next.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct LevelPage {
    pub items: Vec<Item>,
    /// Blocks at the front of a list, to be read back.
    pub blocks: Vec<u64>,
}

// === impl Level ===

impl Level {
    pub fn len(&self) -> usize {
        self.ready + self.behind + self.waiting
    }

    pub fn ready(&self) -> usize {
        self.ready
    }

    /// What the bodies take in memory.
    pub fn octets(&self) -> u64 {
        self.octets
    }

    /// Items without a body.
    pub fn waiting(&self) -> usize {
        self.waiting
    }

    pub fn spilled(&self) -> usize {
        self.flows.values().map(|flow| flow.waiting.spilled()).sum()
    }

    /// Items without a body that are in memory.
    pub fn in_memory_len(&self) -> usize {
        self.waiting - self.spilled()
    }

    /// Whether an account needs bodies before its turn comes.
    pub fn is_hungry(&self) -> bool {
        !self.hungry.is_empty()
    }

    /// Accounts that have waiting messages, or had some a moment ago.
    pub fn senders(&self) -> usize {
        self.flows.len()
    }

    /// How many messages of each account wait.
    pub fn counts(&self) -> impl Iterator<Item = (u32, usize)> {
        self.flows.iter().map(|(sender, flow)| {
            let bodies = flow.ready.len() + flow.behind.len();
            (*sender, bodies + flow.returned.len() + flow.waiting.len())
        })
    }

    /// The lowest id at the front of a list, of those in memory.
    pub fn oldest(&self) -> Option<u64> {
        let first = |flow: &Flow| {
            let ready = flow.ready.front().map(|(item, _)| item.id);
            let returned = flow.returned.front().map(|item| item.id);
            ready.or(returned).or_else(|| flow.waiting.first())
        };
        self.flows.values().filter_map(first).min()
    }

    /// Applies weights and the length of a turn (messages of an account with weight 1), and forgets idle
    /// accounts.
    pub fn look_after(&mut self, weights: &Weights, turn: u32) {
        self.turn = i64::from(turn);
        self.flows.retain(|sender, flow| {
            flow.share = self.turn * weight_of(weights, *sender);
            let is_idle = flow.is_empty() && flow.listed == Listed::Nowhere;
            let is_gone = is_idle && flow.was_idle;
            flow.was_idle = is_idle;
            !is_gone
        });
    }

    fn flow(&mut self, sender: u32, weights: &Weights) -> &mut Flow {
        self.flows.entry(sender).or_insert_with(|| {
            let share = self.turn.max(1) * weight_of(weights, sender);
            Flow {
                share,
                credit: share,
                ..Flow::default()
            }
        })
    }

    /// Puts a flow on the list of what it needs next.
    fn list(&mut self, sender: u32) {
        let Some(flow) = self.flows.get_mut(&sender) else {
            return;
        };
        if !flow.ready.is_empty() && flow.listed != Listed::Turns {
            // A hungry flow leaves the other list when that list reaches it.
            flow.listed = Listed::Turns;
            flow.was_idle = false;
            self.turns.push_back(sender);
        } else if flow.listed == Listed::Nowhere && !flow.is_being_read && !flow.waiting.is_empty()
        {
            flow.listed = Listed::Hungry;
            flow.was_idle = false;
            self.hungry.push_back(sender);
        }
    }

    pub fn push_back(&mut self, item: Item, weights: &Weights) {
        let flow = self.flow(item.sender, weights);
        let before = flow.behind.len();
        let octets = weight_of_all(&flow.behind);
        for (item, _) in flow.behind.drain(..) {
            flow.waiting.push_back(item);
        }
        flow.waiting.push_back(item);
        self.octets -= octets;
        self.behind -= before;
        self.waiting += before + 1;
        self.list(item.sender);
    }

    pub fn push_front(&mut self, item: Item, weights: &Weights) {
        self.flow(item.sender, weights).waiting.push_front(item);
        self.waiting += 1;
        self.list(item.sender);
    }

    /// Puts an item that came back before all others of its account but earlier ones that came back, also before those
    /// with bodies: these are read again.
    pub fn push_first(&mut self, item: Item, weights: &Weights) {
        let flow = self.flow(item.sender, weights);
        let bodies = flow.ready.len();
        let octets = weight_of_all(&flow.ready);
        let ready = std::mem::take(&mut flow.ready).into_iter().rev();
        for (other, _) in ready {
            if flow.is_being_read {
                flow.returned.push_front(other);
            } else {
                flow.waiting.push_front(other);
            }
        }
        if flow.is_being_read {
            flow.put_returned(item);
        } else {
            flow.waiting.push_first(item);
        }
        self.octets -= octets;
        self.ready -= bodies;
        self.waiting += bodies + 1;
        self.list(item.sender);
    }

    /// Puts an item that was taken out for a moment to where its id belongs among the others of its account. Those
    /// behind it lose their bodies, and are read again.
    pub fn put_in_place(&mut self, item: Item, weights: &Weights) {
        let flow = self.flow(item.sender, weights);
        let is_later = |other: &ReadyItem| other.0.id > item.id;
        let at = flow.ready.iter().position(is_later);
        let later = at.map(|at| flow.ready.split_off(at)).unwrap_or_default();
        let bodies = later.len();
        let mut octets = weight_of_all(&later);
        let comes_after_bodies = bodies == 0;
        for (other, _) in later.into_iter().rev() {
            if flow.is_being_read {
                flow.returned.push_front(other);
            } else {
                flow.waiting.push_front(other);
            }
        }
        let newest = match flow.behind.front() {
            Some((other, _)) if other.id < item.id => std::mem::take(&mut flow.behind),
            _ => VecDeque::new(),
        };
        let behind = newest.len();
        octets += weight_of_all(&newest);
        for (other, _) in newest {
            flow.waiting.push_back(other);
        }
        if flow.is_being_read && !(comes_after_bodies && flow.waiting.begins_before(item.id)) {
            flow.put_returned(item);
        } else {
            flow.waiting.insert(item);
        }
        self.octets -= octets;
        self.ready -= bodies;
        self.behind -= behind;
        self.waiting += bodies + behind + 1;
        self.list(item.sender);
    }

    /// Puts an item with its body before all others of its account.
    pub fn push_ready_front(&mut self, item: Item, message: Box<Message>, weights: &Weights) {
        self.octets += message.weight();
        let flow = self.flow(item.sender, weights);
        flow.ready.push_front((item, message));
        self.ready += 1;
        self.list(item.sender);
    }

    /// Takes in a new message; keeps its body while the page has room. A page of 0 has none, not even for a few. `by_id`: it
    /// goes before those that were accepted after it, a moment ago.
    pub fn accept(
        &mut self,
        item: Item,
        message: Box<Message>,
        page: usize,
        weights: &Weights,
        by_id: bool,
    ) {
        let has_room = self.ready < page;
        let has_room_behind = self.behind < page / 2;
        let flow = self.flow(item.sender, weights);
        let is_next = flow.waiting.is_empty() && !flow.is_being_read;
        let has_few = page > 0 && flow.ready.len() < FEW;
        let later = |list: &VecDeque<ReadyItem>| if by_id { later(list, item.id) } else { 0 };
        let overtaken_by = later(&flow.ready);
        if overtaken_by > 0 || (is_next && (has_room || has_few)) {
            let at = flow.ready.len() - overtaken_by;
            let octets = message.weight();
            flow.ready.insert(at, (item, message));
            self.octets += octets;
            self.ready += 1;
            if !has_room && overtaken_by > 0 {
                self.give_up_last_body(item.sender);
            }
            self.list(item.sender);
        } else if by_id && flow.waiting.has_later(item.id, LATE) {
            flow.waiting.insert(item);
            self.waiting += 1;
            self.list(item.sender);
        } else if !is_next && has_room_behind && flow.waiting.len() < page {
            let at = flow.behind.len() - later(&flow.behind);
            let octets = message.weight();
            flow.behind.insert(at, (item, message));
            self.octets += octets;
            self.behind += 1;
        } else {
            self.push_back(item, weights);
        }
    }

    /// The last message that has its body waits without it: it is read again.
    fn give_up_last_body(&mut self, sender: u32) {
        let Some(flow) = self.flows.get_mut(&sender) else {
            return;
        };
        let Some((last, message)) = flow.ready.pop_back() else {
            return;
        };
        self.octets -= message.weight();
        if flow.is_being_read {
            flow.returned.push_front(last);
        } else {
            flow.waiting.push_front(last);
        }
        self.ready -= 1;
        self.waiting += 1;
    }

    /// Moves the newest messages to the ready ones once no message without a body is before them.
    fn join(&mut self, sender: u32) {
        let Some(flow) = self.flows.get_mut(&sender) else {
            return;
        };
        if !flow.behind.is_empty() && flow.waiting.is_empty() && !flow.is_being_read {
            self.ready += flow.behind.len();
            self.behind -= flow.behind.len();
            flow.ready.append(&mut flow.behind);
            self.list(sender);
        }
    }

    /// The next message.
    pub fn front(&mut self) -> Option<&ReadyItem> {
        let sender = self.turn()?;
        self.flows.get(&sender)?.ready.front()
    }

    /// Takes the next message and charges its cost to the current turn of its account.
    pub fn pop(&mut self, cost: u32) -> Option<ReadyItem> {
        let sender = self.turn()?;
        let flow = self.flows.get_mut(&sender)?;
        let next = flow.ready.pop_front()?;
        self.octets -= next.1.weight();
        self.ready -= 1;
        flow.credit -= i64::from(cost);
        if flow.ready.is_empty() {
            self.turns.pop_front();
            flow.listed = Listed::Nowhere;
            self.end_turn(sender);
        } else if self.turns.len() == 1 {
            // No other account waits, so no debt is carried over.
            flow.credit = flow.share;
        } else if flow.credit <= 0 {
            flow.credit += flow.share;
            self.turns.rotate_left(1);
        }
        Some(next)
    }

    /// The last body of a flow is gone: the rest of its credit is not kept for later rounds.
    fn end_turn(&mut self, sender: u32) {
        if let Some(flow) = self.flows.get_mut(&sender) {
            flow.credit = flow.credit.min(0) + flow.share;
        }
        self.list(sender);
    }

    /// The account whose turn it is.
    fn turn(&mut self) -> Option<u32> {
        loop {
            let sender = *self.turns.front()?;
            let Some(flow) = self.flows.get_mut(&sender) else {
                self.turns.pop_front();
                continue;
            };
            if flow.ready.is_empty() {
                // An order has taken its bodies out.
                self.turns.pop_front();
                flow.listed = Listed::Nowhere;
                self.end_turn(sender);
            } else if flow.credit > 0 || self.turns.len() == 1 {
                return Some(sender);
            } else {
                // A long text has exceeded its share.
                flow.credit += flow.share;
                self.turns.rotate_left(1);
            }
        }
    }

    /// The items in memory, unordered.
    pub fn in_memory(&self) -> impl Iterator<Item = Item> {
        self.flows.values().flat_map(|flow| {
            let bodies = flow.ready.iter().chain(&flow.behind);
            bodies
                .map(|(item, _)| *item)
                .chain(flow.returned.iter().copied())
                .chain(flow.waiting.in_memory())
        })
    }
}

// === impl Flow ===

impl Flow {
    fn is_empty(&self) -> bool {
        let has_bodies = !self.ready.is_empty() || !self.behind.is_empty();
        !has_bodies && self.waiting.is_empty() && !self.is_being_read
    }

    /// Lets an item wait for the end of the page that is being read, in order.
    fn put_returned(&mut self, item: Item) {
        let before = self.returned.iter().take_while(|other| other.id < item.id);
        self.returned.insert(before.count(), item);
    }
}

/// How many at the end of a list were accepted after the message with this id, a moment ago.
fn later(list: &VecDeque<ReadyItem>, id: u64) -> usize {
    let is_later = |other: &u64| *other > id && other - id < LATE;
    let ids = list.iter().rev().map(|(item, _)| item.id);
    ids.take_while(is_later).count()
}

/// What these bodies take in memory.
fn weight_of_all(bodies: &VecDeque<ReadyItem>) -> u64 {
    bodies.iter().map(|(_, message)| message.weight()).sum()
}

fn weight_of(weights: &Weights, sender: u32) -> i64 {
    i64::from(weights.get(&sender).copied().unwrap_or(1)).max(1)
}
