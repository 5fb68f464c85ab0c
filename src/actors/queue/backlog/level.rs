//! What waits with one priority: a list for each account, served in turns.
//!
//! Each account's messages go in the order of acceptance, as in a queue of its own; between accounts
//! turns decide (deficit round robin): in each round an account may have as many of its messages sent,
//! counted in what they cost, as its weight says, times the length of a turn. One account's backlog costs the others nothing but
//! their turns. With a single account it is one list.
//!
//! Bodies are kept for the front of each list. An account that has none is *hungry*: its next ones are
//! read before anybody's page is filled up, so that a newcomer need not wait for a page of others.
//!
//! Pure: the queue reads, writes and asks the time. What an item belongs to is its `sender`; it is not
//! kept with the item but is the list that it is in, in memory and in blocks that are out of memory.

mod away;
mod reading;
mod taking;

use std::collections::{HashMap, VecDeque};

use super::waiting::Waiting;
use crate::actors::context::item::Item;
use crate::actors::context::plan::Weights;
use crate::pb::Message;

/// Bodies that an account may keep although the page is full of others'.
const FEW: usize = 4;

/// A message with its place.
pub type Ready = (Item, Box<Message>);

/// A message that is taken out before its turn, with its body where that is in memory.
pub type Withdrawn = (Item, Option<Box<Message>>);

type Flows = HashMap<u32, Flow, ahash::RandomState>;

#[derive(Debug, Default)]
pub struct Level {
    flows: Flows,
    /// Whose turn is next; each has a body.
    turns: VecDeque<u32>,
    /// Those that wait for bodies.
    hungry: VecDeque<u32>,
    /// Those for whom a page is being read.
    reading: Vec<u32>,
    /// Of each block that is out of memory, or on its way.
    blocks: HashMap<u64, u32, ahash::RandomState>,
    /// Messages with bodies.
    ready: usize,
    /// Messages that an account of weight 1 may have sent in its turn; 0 for one.
    turn: i64,
    /// Messages with bodies behind others without.
    behind: usize,
    /// Items without, those out of memory included.
    waiting: usize,
}

/// What waits of one account.
#[derive(Debug, Default)]
struct Flow {
    ready: VecDeque<Ready>,
    waiting: Waiting,
    /// What came last, with bodies: without them a list that was long for a moment would be read from
    /// the store until it is empty.
    behind: VecDeque<Ready>,
    /// What it may still have sent in this round; below 0 it has had more.
    credit: i64,
    /// Of a round: its weight times the length of a turn.
    share: i64,
    is_being_read: bool,
    listed: Listed,
    /// Nothing has waited since the last look.
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

/// What is to be read next.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Page {
    pub items: Vec<Item>,
    /// Blocks that are in front of a list.
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

    /// Accounts of which something waits, or did a moment ago.
    pub fn senders(&self) -> usize {
        self.flows.len()
    }

    /// How many of each account wait.
    pub fn counts(&self) -> impl Iterator<Item = (u32, usize)> {
        self.flows.iter().map(|(sender, flow)| {
            let bodies = flow.ready.len() + flow.behind.len();
            (*sender, bodies + flow.waiting.len())
        })
    }

    /// The oldest id in front of a list, of those in memory.
    pub fn oldest(&self) -> Option<u64> {
        let first = |flow: &Flow| {
            let ready = flow.ready.front().map(|(item, _)| item.id);
            ready.or_else(|| flow.waiting.first())
        };
        self.flows.values().filter_map(first).min()
    }

    /// Takes weights and the length of a turn (messages of an account with weight 1) as they are now, and
    /// forgets accounts that are gone.
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

    /// Puts a flow where it waits for what it needs next.
    fn list(&mut self, sender: u32) {
        let Some(flow) = self.flows.get_mut(&sender) else {
            return;
        };
        if !flow.ready.is_empty() && flow.listed != Listed::Turns {
            // A hungry one leaves that list when it is met there.
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
        for (item, _) in flow.behind.drain(..) {
            flow.waiting.push_back(item);
        }
        flow.waiting.push_back(item);
        self.behind -= before;
        self.waiting += before + 1;
        self.list(item.sender);
    }

    pub fn push_front(&mut self, item: Item, weights: &Weights) {
        self.flow(item.sender, weights).waiting.push_front(item);
        self.waiting += 1;
        self.list(item.sender);
    }

    /// Takes in what has just come; its body is kept while the page has room.
    pub fn accept(&mut self, item: Item, message: Box<Message>, page: usize, weights: &Weights) {
        let has_room = self.ready < page;
        let has_room_behind = self.behind < page / 2;
        let flow = self.flow(item.sender, weights);
        let is_next = flow.waiting.is_empty() && !flow.is_being_read;
        if is_next && (has_room || flow.ready.len() < FEW) {
            flow.ready.push_back((item, message));
            self.ready += 1;
            self.list(item.sender);
        } else if !is_next && has_room_behind && flow.waiting.len() < page {
            flow.behind.push_back((item, message));
            self.behind += 1;
        } else {
            self.push_back(item, weights);
        }
    }

    /// What came last goes as well, when nothing without a body is before it any more.
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

    /// The next message, whose turn it is.
    pub fn front(&mut self) -> Option<&Ready> {
        let sender = self.turn()?;
        self.flows.get(&sender)?.ready.front()
    }

    /// Takes the next message, which costs so much of its account's round.
    pub fn pop(&mut self, cost: u32) -> Option<Ready> {
        let sender = self.turn()?;
        let flow = self.flows.get_mut(&sender)?;
        let next = flow.ready.pop_front()?;
        self.ready -= 1;
        flow.credit -= i64::from(cost);
        if flow.ready.is_empty() {
            self.turns.pop_front();
            flow.listed = Listed::Nowhere;
            self.end_turn(sender);
        } else if self.turns.len() == 1 {
            // Nobody waits for it: nothing is owed.
            flow.credit = flow.share;
        } else if flow.credit <= 0 {
            flow.credit += flow.share;
            self.turns.rotate_left(1);
        }
        Some(next)
    }

    /// The last body of a flow has gone. What is left of its round is not kept for later.
    fn end_turn(&mut self, sender: u32) {
        if let Some(flow) = self.flows.get_mut(&sender) {
            flow.credit = flow.credit.min(0) + flow.share;
        }
        self.list(sender);
    }

    /// Whose turn it is.
    fn turn(&mut self) -> Option<u32> {
        loop {
            let sender = *self.turns.front()?;
            let Some(flow) = self.flows.get_mut(&sender) else {
                self.turns.pop_front();
                continue;
            };
            if flow.ready.is_empty() {
                // They were taken out by an order.
                self.turns.pop_front();
                flow.listed = Listed::Nowhere;
                self.end_turn(sender);
            } else if flow.credit > 0 || self.turns.len() == 1 {
                return Some(sender);
            } else {
                // It has had more than its share by a long text.
                flow.credit += flow.share;
                self.turns.rotate_left(1);
            }
        }
    }

    /// The items in memory, in no order.
    pub fn in_memory(&self) -> impl Iterator<Item = Item> {
        self.flows.values().flat_map(|flow| {
            let bodies = flow.ready.iter().chain(&flow.behind);
            bodies
                .map(|(item, _)| *item)
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
}

fn weight_of(weights: &Weights, sender: u32) -> i64 {
    i64::from(weights.get(&sender).copied().unwrap_or(1)).max(1)
}
