//! What is taken out for a moment goes back to its place, wherever that is meanwhile.

use std::collections::BTreeSet;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::*;

/// Lists of one account and what is out of them.
struct Model {
    lists: BacklogLists,
    /// All that wait, without those that are out for a moment.
    waiting: BTreeSet<u64>,
    /// Out for a moment.
    out: Vec<Item>,
    /// Being read.
    page: Option<(usize, LevelPage)>,
    spilled: HashMap<u64, Vec<u8>>,
    newest: u64,
}

impl Model {
    fn come(&mut self, count: u64) {
        for _ in 0..count {
            self.newest += 1;
            self.lists.comes(self.newest, 1, 1);
            self.waiting.insert(self.newest);
        }
    }

    fn go(&mut self, most: usize) {
        for _ in 0..most {
            let Some((item, _)) = self.lists.pop(1) else {
                return;
            };
            assert_eq!(Some(item.id), self.waiting.pop_first());
        }
    }

    fn take_out(&mut self, at: usize) {
        let id = self.waiting.iter().nth(at).copied();
        if let Some(id) = id
            && let TakenItem::Item(item) = self.lists.take(id, Some(1))
        {
            self.waiting.remove(&id);
            self.out.push(item);
        }
    }

    fn put_back(&mut self) {
        for item in std::mem::take(&mut self.out) {
            self.waiting.insert(item.id);
            self.lists.put_in_place(item);
        }
    }

    fn begin_page(&mut self) {
        if self.page.is_some() {
            return;
        }
        let Some((level, page)) = self.lists.next_page(PAGE, READ) else {
            return;
        };
        for number in &page.blocks {
            let octets = self.spilled.remove(number).expect("spilled");
            self.lists.level(level).filled(*number, &octets);
        }
        self.page = Some((level, page));
    }

    fn end_page(&mut self, is_read: bool) {
        let Some((level, page)) = self.page.take() else {
            return;
        };
        if is_read {
            (page.items.into_iter()).for_each(|item| self.lists.read(item, Box::default()));
        } else {
            (page.items.into_iter().rev()).for_each(|item| self.lists.push_front(item));
        }
        self.lists.level(level).end_reading();
    }

    fn spill(&mut self, number: u64) {
        // What is out goes behind its block when that has left meanwhile.
        if !self.out.is_empty() {
            return;
        }
        if let Some(octets) = self.lists.level(1).leave(number) {
            assert!(self.lists.level(1).spilled_as(number, false));
            self.spilled.insert(number, octets);
        }
    }
}

#[test]
fn what_was_out_for_a_moment_is_in_its_place_again() {
    for seed in 0..50 {
        let mut random = StdRng::seed_from_u64(seed);
        let mut model = Model {
            lists: lists(&[], 0),
            waiting: BTreeSet::new(),
            out: Vec::new(),
            page: None,
            spilled: HashMap::new(),
            newest: 0,
        };
        for number in 0..400 {
            match random.random_range(0..9) {
                0 => model.come(random.random_range(0..3 * PAGE as u64)),
                1 => model.come(1),
                2 => model.go(random.random_range(0..PAGE)),
                3 | 4 => model.begin_page(),
                5 => model.end_page(random.random_bool(0.8)),
                6 => model.spill(number),
                7 => {
                    let among = model.waiting.len().min(1 + random.random_range(0..200));
                    model.take_out(random.random_range(0..among.max(1)));
                }
                _ => model.put_back(),
            }
            let being_read = model.page.as_ref().map_or(0, |(_, page)| page.items.len());
            assert_eq!(
                model.lists.len() + being_read,
                model.waiting.len(),
                "{seed}"
            );
        }
        model.put_back();
        for _ in 0..2_000 {
            model.end_page(true);
            model.go(PAGE);
            model.begin_page();
        }
        assert!(model.waiting.is_empty() && model.lists.is_empty(), "{seed}");
    }
}
