//! Bodies of many octets: no more of them are kept than there is room for, and all go in order.

use super::*;

const LARGE: usize = 60_000;
const ROOM: u64 = 1 << 20;

fn large() -> Box<Message> {
    Box::new(Message {
        short_message: vec![b'x'; LARGE].into(),
        ..Message::default()
    })
}

/// What the bodies take by themselves.
fn weighed(lists: &BacklogLists) -> u64 {
    let taken = lists.levels.iter().map(Level::octets);
    assert_eq!(taken.sum::<u64>(), lists.octets());
    lists.octets()
}

/// Reads what is wanted next with large bodies, and takes one message.
fn take(lists: &mut BacklogLists, page: usize) -> Option<u64> {
    if let Some((level, next)) = lists.next_page(page, 1_024) {
        for item in next.items {
            lists.read(item, large());
        }
        lists.level(level).end_reading();
    }
    assert!(weighed(lists) <= ROOM + ROOM / 4 + 2 * LARGE as u64);
    lists.pop(1).map(|(item, _)| item.id)
}

#[test]
fn large_bodies_stay_within_their_room_and_all_go_in_order() {
    let mut lists = lists(&[], 0);
    lists.set_room(ROOM);
    for id in 1..=500 {
        lists.accept(item(id, 7, 0), large(), 4_096);
        assert!(weighed(&lists) <= ROOM);
    }
    assert_eq!(lists.len(), 500);
    let mut ids = Vec::new();
    while let Some(id) = take(&mut lists, 4_096) {
        ids.push(id);
        // New ones come meanwhile.
        if id <= 100 {
            lists.accept(item(500 + id, 7, 0), large(), 4_096);
        }
    }
    assert_eq!(ids, (1..=600).collect::<Vec<u64>>());
    assert_eq!((lists.len(), weighed(&lists)), (0, 0));
}

#[test]
fn an_account_without_bodies_has_its_turn_beside_one_that_fills_the_room() {
    let mut lists = lists(&[], 0);
    lists.set_room(ROOM);
    (1..=200).for_each(|id| lists.accept(item(id, 7, 0), large(), 4_096));
    (201..=210).for_each(|id| lists.accept(item(id, 8, 0), large(), 4_096));
    // And a higher priority that comes when there is no room.
    (301..=303).for_each(|id| lists.accept(item(id, 9, 2), large(), 4_096));
    let first: Vec<u64> = std::iter::from_fn(|| take(&mut lists, 4_096))
        .take(60)
        .collect();
    let of =
        |ids: std::ops::RangeInclusive<u64>| first.iter().filter(|id| ids.contains(id)).count();
    assert_eq!((of(201..=210), of(301..=303)), (10, 3), "{first:?}");
    let rest = std::iter::from_fn(|| take(&mut lists, 4_096)).count();
    assert_eq!(rest, 200 + 10 + 3 - 60);
    assert_eq!(weighed(&lists), 0);
}

#[test]
fn what_is_taken_out_of_turn_counts_no_more() {
    let mut lists = lists(&[], 0);
    (1..=8).for_each(|id| lists.accept(item(id, id as u32 % 2, 0), large(), 4));
    let all = weighed(&lists);
    lists.take(1, Some(1));
    lists.take_if(|item| item.id == 2);
    assert!(weighed(&lists) < all);
    lists.push_first(item(9, 1, 0));
    lists.put_in_place(item(2, 0, 0));
    lists.push_ready_front(item(10, 1, 0), large());
    lists.level(0).take_some(3);
    lists.take_if(|_| true);
    assert_eq!((lists.len(), weighed(&lists)), (0, 0));
}

#[test]
fn small_bodies_fill_a_page_as_ever() {
    let mut lists = lists(&[], 0);
    lists.set_room(64 << 20);
    (1..=5_000).for_each(|id| lists.accept(item(id, 7, 0), Box::default(), 4_096));
    assert_eq!(lists.ready(), 4_096);
    assert!(lists.would_take(1) < 1_000, "it is known by now");
}
