//! Messages that leave the lists of a queue together, or for a moment.

use super::*;

/// Bodies in memory.
const PAGE: usize = 8;

/// The messages 1 to `count`; those behind the first page have no body, and the newest have one again.
fn backlog(count: u64) -> Backlog {
    let mut backlog = Backlog::over(BacklogLists::default(), false);
    (1..=count).for_each(|id| backlog.accept(Item::message(id), Box::default(), PAGE));
    backlog
}

impl Backlog {
    /// All messages in the order in which they would be sent.
    fn sent(&mut self) -> Vec<u64> {
        let mut sent = Vec::new();
        loop {
            while let Some((item, _)) = self.pop(1) {
                sent.push(item.id);
            }
            let Some(page) = self.next_page(PAGE, 3) else {
                return sent;
            };
            for item in page.items {
                self.read(item, Box::default());
            }
            self.end_page(page.level);
        }
    }
}

#[test]
fn what_is_taken_for_another_queue_is_in_order() {
    let mut backlog = backlog(13);
    assert_eq!(backlog.ready(), PAGE);
    let MovedBatch { items, .. } = backlog.take_batch(100);
    let ids: Vec<u64> = items.iter().map(|(item, _)| item.id).collect();
    assert_eq!(ids, Vec::from_iter(1..=13));
    let bare = items.iter().filter(|(_, message)| message.is_none());
    assert_eq!(bare.count(), 1, "the others have their bodies");
    // It cannot go there after all, and another one has come meanwhile.
    backlog.accept(Item::message(14), Box::default(), PAGE);
    backlog.push_all_first(items.into_iter().map(|(item, _)| item));
    assert_eq!(backlog.sent(), Vec::from_iter(1..=14));
}

#[test]
fn what_gets_other_times_goes_back_to_its_place_where_order_counts() {
    for (id, is_kept) in [
        (1, true),
        (4, true),
        (8, true),
        (9, true),
        (11, true),
        (4, false),
    ] {
        let mut backlog = backlog(13);
        if is_kept {
            backlog.keep_places();
        }
        assert_eq!(backlog.remove(id, None), TakenItem::Item(Item::message(id)));
        backlog.set_times(Item::message(id), (0, u32::MAX));
        assert_eq!(backlog.len(), 13);
        let is_sorted = backlog.sent().is_sorted();
        assert_eq!(is_sorted, is_kept, "{id}");
    }
}

#[test]
fn what_is_taken_out_while_its_body_is_read_goes_nowhere() {
    let mut backlog = backlog(13);
    while backlog.pop(1).is_some() {}
    let page = backlog.next_page(PAGE, 3).expect("some have no body");
    let id = page.items.first().map(|item| item.id).expect("one of them");
    backlog.skip(id);
    for item in page.items {
        backlog.read(item, Box::default());
    }
    backlog.end_page(page.level);
    let MovedBatch { items, .. } = backlog.take_batch(100);
    assert!(items.iter().all(|(item, _)| item.id != id));
    assert!(!backlog.is_skipped(id), "it is forgotten");
}

#[test]
fn what_is_taken_out_while_it_is_out_of_memory_does_not_come_back() {
    const COUNT: u64 = 12_288;
    let mut backlog = backlog(COUNT);
    let (block, octets) = backlog.begin_spill(0).expect("a block");
    assert!(backlog.end_spill(block, true));
    let id = items_of(&octets).next().expect("an item").id;
    assert_eq!(backlog.remove(id, None), TakenItem::Away);
    backlog.skip(id);
    backlog.fill_block(block, &octets);
    assert_eq!(backlog.len() as u64, COUNT - 1);
    assert!(!backlog.is_skipped(id), "it is forgotten");
}
