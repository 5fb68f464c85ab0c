//! Events that several nodes write and read.

use bytes::Bytes;
use smsc::pb::{MessageState, QueueItem};
use smsc::store::outbox::{EventReader, OutboxStore, ReaderOutcome, TakeEvents, TakenEvents};
use smsc::store::{FinRow, Store, WriteBatch, hand_off_octets};

use super::accept;
use super::database::{Database, Node};

fn fin(id: u64) -> FinRow {
    FinRow {
        id,
        at: 5,
        state: MessageState::Delivered,
        error: Bytes::new(),
        operator: 0,
        tell: 0,
        done_at: 0,
        remote_item: Bytes::new(),
        remote_part: 0,
    }
}

fn end(node: &Node, id: u64) {
    node.store.write(accept(id)).wait().expect("written");
    end_all(node, vec![fin(id)]);
}

fn end_all(node: &Node, fin: Vec<FinRow>) {
    let ends = WriteBatch {
        fin,
        ..WriteBatch::default()
    };
    node.store.write(ends).wait().expect("written");
}

/// Takes as `holder`, at this time, what others have not held since `abandoned`.
fn take(node: &Node, holder: &str, now: i64, abandoned: i64) -> Option<TakenEvents> {
    taking(node, holder, (now, abandoned), false)
}

fn taking(
    node: &Node,
    holder: &str,
    (now, abandoned): (i64, i64),
    only_own: bool,
) -> Option<TakenEvents> {
    let take = TakeEvents {
        reader: EventReader::Cdr,
        holder: holder.to_owned(),
        now,
        abandoned,
        limit: 2,
        only_own,
    };
    node.store.take_events(take).wait().expect("answers")
}

fn ids(taken: Option<&TakenEvents>) -> Vec<u64> {
    taken.map(|taken| taken.ids.clone()).unwrap_or_default()
}

fn finish(node: &Node, taken: Option<TakenEvents>) -> bool {
    let claim = taken.expect("events").claim;
    let finished = node.store.finish_events(claim, ReaderOutcome::Elsewhere);
    finished.wait().expect("answers")
}

#[test]
fn events_belong_to_one_holder_until_they_are_abandoned() {
    let database = Database::new();
    let nodes = [database.node(), database.node()];
    for node in &nodes {
        node.store.write_events_for(&[EventReader::Cdr]);
    }
    for id in 1..=6 {
        end(&nodes[id as usize % 2], (1 << 30) + id);
    }
    let first = take(&nodes[0], "first", 100, 0);
    assert_eq!(ids(first.as_ref()), [(1 << 30) + 1, (1 << 30) + 2]);
    let second = take(&nodes[1], "second", 100, 50);
    assert_eq!(ids(second.as_ref()), [(1 << 30) + 3, (1 << 30) + 4]);
    let again = take(&nodes[0], "first", 110, 0);
    assert_eq!(ids(again.as_ref()), ids(first.as_ref()), "its own");
    assert!(taking(&nodes[1], "third", (110, 0), true).is_none());
    // The first node is away for long.
    let taken_over = take(&nodes[1], "second", 200, 120);
    assert_eq!(ids(taken_over.as_ref()), ids(first.as_ref()));
    assert!(!finish(&nodes[0], first), "no longer its own");
    assert!(finish(&nodes[1], taken_over));
    assert!(finish(&nodes[1], second));
    let rest = take(&nodes[0], "first", 210, 0);
    assert_eq!(ids(rest.as_ref()), [(1 << 30) + 5, (1 << 30) + 6]);
    assert!(finish(&nodes[0], rest));
    assert!(take(&nodes[0], "first", 220, 0).is_none());
}

#[test]
fn ends_that_are_handed_off_have_their_events_too() {
    let database = Database::new();
    let node = database.node();
    node.store.write_events_for(&[EventReader::Cdr]);
    let [handed, kept] = [1, 2].map(|n| (1 << 30) + n);
    for id in [handed, kept] {
        node.store.write(accept(id)).wait().expect("written");
    }
    let receipt = FinRow {
        tell: 9,
        remote_item: hand_off_octets(&QueueItem {
            id: handed,
            ..QueueItem::default()
        }),
        remote_part: 3,
        ..fin(handed)
    };
    end_all(&node, vec![receipt.clone(), fin(kept)]);
    // What has ended before has neither again.
    end_all(&node, vec![receipt, fin(kept)]);
    let events = take(&node, "one", 100, 0);
    assert_eq!(ids(events.as_ref()), [handed, kept]);
    assert!(finish(&node, events));
    assert!(take(&node, "one", 110, 0).is_none());
    let rows = "SELECT string_agg(queue || '/' || part, ' ') FROM inbox";
    assert_eq!(database.session().value(rows), "9/3");
}

#[test]
fn events_of_a_transaction_that_ends_late_are_not_passed_over() {
    let database = Database::new();
    let node = database.node();
    node.store.write_events_for(&[EventReader::Cdr]);
    let session = database.session();
    session.run("BEGIN");
    // Has the lower number, and is not committed yet.
    session.run("INSERT INTO outbox(reader, kind, at, ids) VALUES(1, 1, 5, '{1073741900}')");
    end(&node, (1 << 30) + 1);
    let earlier = take(&node, "here", 100, 0);
    assert_eq!(ids(earlier.as_ref()), [(1 << 30) + 1]);
    assert!(finish(&node, earlier));
    session.run("COMMIT");
    let late = take(&node, "here", 100, 0);
    assert_eq!(ids(late.as_ref()), [1_073_741_900]);
}
