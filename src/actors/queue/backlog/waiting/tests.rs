//! The list of waiting ids, with and without blocks that are out of memory.

use std::collections::HashSet;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::*;

/// Blocks with fewer items stay in memory.
const LEAST: usize = 64;

fn item(id: u64) -> Item {
    Item {
        id,
        expires: 1000 + id as u32,
        attempts: 3,
        priority: 2,
        what: What::Receipt,
        part: 31,
        sender: 0,
    }
}

#[test]
fn an_item_takes_sixteen_octets() {
    assert_eq!(size_of::<Packed>(), ITEM_OCTETS);
}

#[test]
fn order_survives_spilling() {
    let mut waiting = WaitingList::default();
    let total = 3 * BLOCK as u64 + 10;
    (0..total).for_each(|id| waiting.push_back(item(id)));
    let last = waiting.leave(7, BLOCK).expect("a full block");
    waiting.spilled_as(7, false);
    let next = waiting.leave(8, BLOCK).expect("another full block");
    waiting.spilled_as(8, false);
    assert_eq!(waiting.spilled(), 2 * BLOCK);
    let mut seen = Vec::new();
    loop {
        match waiting.pop() {
            Popped::Item(found) => seen.push(found),
            Popped::Spilled(7) => waiting.filled(7, &last),
            Popped::Spilled(8) => waiting.filled(8, &next),
            Popped::Spilled(other) => panic!("unknown block {other}"),
            Popped::Empty => break,
        }
    }
    assert_eq!(seen, (0..total).map(item).collect::<Vec<_>>());
    assert!(waiting.is_empty());
}

#[test]
fn a_block_that_could_not_be_written_stays() {
    let mut waiting = WaitingList::default();
    (0..BLOCK as u64 * 2).for_each(|id| waiting.push_back(item(id)));
    waiting.leave(1, BLOCK).expect("a full block");
    assert!(waiting.spilled_as(1, true));
    assert_eq!(waiting.spilled(), 0);
    assert_eq!(waiting.len(), BLOCK * 2);
}

#[test]
fn take_if_keeps_the_rest_in_order() {
    let mut waiting = WaitingList::default();
    (0..10).for_each(|id| waiting.push_back(item(id)));
    waiting.push_front(item(99));
    let odd = waiting.take_if(|item| item.id % 2 == 1);
    assert_eq!(odd.len(), 6);
    assert_eq!(waiting.len(), 5);
    assert_eq!(waiting.pop(), Popped::Item(item(0)));
}

#[test]
fn one_is_found_without_looking_at_all_of_them() {
    let mut waiting = WaitingList::default();
    let total = 400_000;
    // Every tenth id is an old retry among the new ids.
    let id = |n: u64| match n % 10 {
        9 => n,
        _ => 1_000_000 + n,
    };
    (0..total).for_each(|n| waiting.push_back(item(id(n))));
    let look = |waiting: &mut WaitingList, n: u64| {
        assert_eq!(waiting.take(id(n)), TakenItem::Item(item(id(n))))
    };
    let started = std::time::Instant::now();
    (0..total).step_by(401).for_each(|n| look(&mut waiting, n));
    let found = started.elapsed();
    let started = std::time::Instant::now();
    let all = waiting.take_if(|_| false);
    let once_through = started.elapsed();
    assert!(all.is_empty());
    // Taking a thousand of them cost less than looking a hundred times through the list.
    assert!(found < once_through * 100, "{found:?}, {once_through:?}");
}

/// A simple model of the list.
#[derive(Default)]
struct Model {
    items: VecDeque<Item>,
    /// Blocks out of memory, with their octets.
    spilled: HashMap<u64, Vec<u8>>,
    away: HashSet<u64>,
}

#[test]
fn it_does_what_a_plain_list_does() {
    for seed in 0..10 {
        let mut random = StdRng::seed_from_u64(seed);
        let mut waiting = WaitingList::default();
        let mut model = Model::default();
        let (mut next, mut number) = (1_000_000_u64, 0);
        let mut taken_out = Vec::new();
        for _ in 0..100 {
            match random.random_range(0..10) {
                0..=3 => {
                    for _ in 0..random.random_range(0..3 * BLOCK / 2) {
                        next += 1;
                        let stray = next - 900_000;
                        let id = if random.random_bool(0.1) { stray } else { next };
                        waiting.push_back(item(id));
                        model.items.push_back(item(id));
                    }
                }
                4 => {
                    next += 1;
                    waiting.push_front(item(next));
                    model.items.push_front(item(next));
                }
                5 => {
                    for _ in 0..random.random_range(0..2 * BLOCK) {
                        match waiting.pop() {
                            Popped::Item(found) => {
                                assert_eq!(Some(found), model.items.pop_front());
                            }
                            Popped::Empty => assert!(model.items.is_empty()),
                            Popped::Spilled(number) => {
                                let octets = model.spilled.remove(&number).expect("spilled");
                                for item in items_of(&octets) {
                                    model.away.remove(&item.id);
                                }
                                waiting.filled(number, &octets);
                            }
                        }
                    }
                }
                6 => {
                    number += 1;
                    if let Some(octets) = waiting.leave(number, LEAST) {
                        let first = items_of(&octets).next().expect("not empty");
                        let kept = random.random_bool(0.3);
                        if random.random_bool(0.3) {
                            assert_eq!(waiting.take(first.id), TakenItem::Item(first));
                            model.items.retain(|item| item.id != first.id);
                            taken_out.push(first.id);
                            assert!(!waiting.spilled_as(number, kept), "it stays in memory");
                            continue;
                        }
                        assert!(waiting.spilled_as(number, kept));
                        if !kept {
                            model.away.extend(items_of(&octets).map(|item| item.id));
                            model.spilled.insert(number, octets);
                        }
                    }
                }
                7 if !model.items.is_empty() => {
                    let at = random.random_range(0..model.items.len());
                    let id = model.items[at].id;
                    let away = model.away.contains(&id);
                    match waiting.take(id) {
                        TakenItem::Item(found) => {
                            assert!(!away);
                            assert_eq!(Some(found), model.items.remove(at));
                            taken_out.push(id);
                        }
                        TakenItem::Away => assert!(away, "seed {seed}: {id}"),
                        TakenItem::NotHere => panic!("seed {seed}: {id} is not found"),
                    }
                }
                8 => {
                    let rest = random.random_range(0..50);
                    let wanted = |item: &Item| item.id % 50 == rest;
                    let taken = waiting.take_if(wanted);
                    let away = &model.away;
                    let (mine, others): (VecDeque<Item>, VecDeque<Item>) =
                        std::mem::take(&mut model.items)
                            .into_iter()
                            .partition(|item| wanted(item) && !away.contains(&item.id));
                    model.items = others;
                    assert_eq!(VecDeque::from(taken), mine);
                }
                _ => {
                    for id in &taken_out {
                        assert_ne!(waiting.take(*id), TakenItem::Item(item(*id)));
                    }
                }
            }
            assert_eq!(waiting.len(), model.items.len(), "seed {seed}");
        }
    }
}
