//! What another node has accepted comes later than what was accepted after it, and goes before that.

use super::*;

#[test]
fn what_another_node_accepted_before_goes_before_what_came_since() {
    let mut lists = lists(&[], 0);
    for id in [1, 2, 5, 6, 3, 7, 4] {
        lists.comes(id, 1, 0);
    }
    let order: Vec<u64> = std::iter::from_fn(|| lists.pop(1).map(|(item, _)| item.id)).collect();
    assert_eq!(order, [1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn what_is_much_older_or_was_tried_before_goes_behind() {
    let mut lists = lists(&[], 0);
    let now = 1_000_000 << 20;
    lists.comes(now, 1, 0);
    lists.comes(now - (60_000 << 20), 1, 0);
    let again = Item {
        attempts: 1,
        ..item(now - 1, 1, 0)
    };
    lists.accept(again, Box::default(), PAGE);
    let order: Vec<u64> = std::iter::from_fn(|| lists.pop(1).map(|(item, _)| item.id)).collect();
    assert_eq!(order, [now, now - (60_000 << 20), now - 1]);
}

#[test]
fn it_finds_its_place_among_those_without_bodies() {
    let mut lists = lists(&[], 0);
    // The page is full after these, and more than a page waits.
    let many = 4 * PAGE as u64;
    for id in (1..=many).filter(|id| id % 10 != 0) {
        lists.comes(id, 1, 0);
    }
    for id in (1..=many).filter(|id| id % 10 == 0) {
        lists.comes(id, 1, 0);
    }
    let mut spilled = HashMap::new();
    let mut order = Vec::new();
    while !lists.is_empty() {
        lists.read_ahead(&mut spilled);
        while let Some((item, _)) = lists.pop(1) {
            order.push(item.id);
        }
    }
    assert_eq!(order.len() as u64, many);
    let overtaken = order.windows(2).filter(|two| two[0] > two[1]).count();
    assert_eq!(overtaken, 0, "{order:?}");
}
