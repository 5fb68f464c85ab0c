//! The queue of an account is held as a whole or in parts: never both, and nothing is lost or doubled when that
//! changes, whatever was written for the other kind.

use std::collections::BTreeMap;

use bytes::Bytes;
use smsc::domain::partition::{PARTITIONS, WHOLE};
use smsc::pb::{Message, MessageState, QueueItem, delivery::What};
use smsc::store::cluster::{ClusterStore, LeasedResource, Partition};
use smsc::store::{FinRow, MessageStage, RemoteItem, Store as _, WriteBatch, hand_off_octets};

use super::database::{Database, Node};
use super::{destination, id, part, queue};

const ACCOUNT: u32 = 20;
const OPERATOR: u32 = 7;

/// How often each message was seen, and in which partition.
type Seen = BTreeMap<(u64, u8), usize>;

/// Two numbers whose messages are in different parts.
fn two() -> [u64; 2] {
    let other = (2..).find(|n| part(*n) != part(1)).expect("there is one");
    [1, other]
}

fn whole() -> Vec<LeasedResource> {
    vec![queue(ACCOUNT, WHOLE)]
}

fn parts(of: impl IntoIterator<Item = u8>) -> Vec<LeasedResource> {
    of.into_iter().map(|part| queue(ACCOUNT, part)).collect()
}

fn declare(node: &Node) {
    let mut all = whole();
    all.extend(parts(0..PARTITIONS));
    node.store.declare(all).wait().expect("declares");
}

fn claim(node: &Node, wanted: &[LeasedResource]) -> Vec<LeasedResource> {
    node.store.claim(wanted.to_vec()).wait().expect("claims")
}

fn release(node: &Node, held: Vec<LeasedResource>) {
    node.store.release(held).wait().expect("releases");
}

/// A message that has ended, with a receipt for the account: in the hand-off table if a partition is given.
fn receipt(n: u64, handed_to: Option<u8>) -> WriteBatch {
    let item = QueueItem {
        id: id(n),
        what: What::Receipt.into(),
        part: handed_to.unwrap_or_default().into(),
        ..QueueItem::default()
    };
    WriteBatch {
        accept: vec![Message {
            id: id(n),
            queue: OPERATOR,
            destination: Bytes::from(destination(n)),
            ..Message::default()
        }],
        fin: vec![FinRow {
            id: id(n),
            at: 1,
            state: MessageState::Delivered,
            error: Bytes::new(),
            operator: OPERATOR,
            tell: ACCOUNT,
            done_at: 0,
            remote_item: handed_to.map_or_else(Bytes::new, |_| hand_off_octets(&item)),
            remote_part: handed_to.unwrap_or_default(),
        }],
        ..WriteBatch::default()
    }
}

fn write(node: &Node, batch: WriteBatch) {
    node.store.write(batch).wait().expect("writes");
}

/// Claims and reads; what is active counts as seen.
fn take_over(node: &Node, wanted: &[LeasedResource], seen: &mut Seen) {
    assert_eq!(claim(node, wanted), wanted);
    let partitions = wanted.iter().map(|resource| match resource {
        LeasedResource::Queue(partition) => *partition,
        other => panic!("not asked for: {other:?}"),
    });
    let active = node.take_over(partitions.collect());
    for active in active.expect("takes over") {
        assert!(matches!(
            active.stage,
            MessageStage::Untold { tell: ACCOUNT, .. }
        ));
        *seen.entry((active.id, active.part)).or_default() += 1;
    }
}

fn collect(node: &Node, seen: &mut Seen) {
    let rows = node.store.collect(100, Vec::new()).wait();
    for row in rows.expect("collects") {
        for item in row.into_items().expect("sound") {
            *seen.entry((item.id, item.part as u8)).or_default() += 1;
        }
    }
}

fn seen(all: impl IntoIterator<Item = (u64, u8)>) -> Seen {
    all.into_iter()
        .map(|(n, part)| ((id(n), part), 1))
        .collect()
}

#[test]
fn the_whole_and_parts_are_never_held_at_once() {
    let database = Database::new();
    let (one, other) = (database.node(), database.node());
    declare(&one);
    assert_eq!(claim(&one, &whole()), whole());
    let some = parts([0, 5]);
    assert_eq!(claim(&other, &some), [], "the whole is held");
    assert_eq!(claim(&one, &some), [], "by the same node, too");
    release(&one, whole());
    assert_eq!(claim(&other, &some), some);
    assert_eq!(claim(&one, &whole()), [], "parts are held");
    let more = parts([1]);
    assert_eq!(claim(&one, &more), more, "parts go with parts");
    // An operator's parts are another queue's.
    let operator = vec![queue(OPERATOR, 3)];
    one.store
        .declare(operator.clone())
        .wait()
        .expect("declares");
    assert_eq!(claim(&one, &operator), operator);
    release(&one, more);
    other.store.leave().expect("leaves");
    assert_eq!(
        claim(&one, &whole()),
        whole(),
        "nobody holds parts any more"
    );
}

#[test]
fn claims_at_the_same_time_get_one_kind() {
    let database = Database::new();
    let (one, other) = (database.node(), database.node());
    declare(&one);
    let all = parts(0..PARTITIONS);
    for round in 0..50 {
        let (first, second) = match round % 2 {
            0 => (one.store.claim(whole()), other.store.claim(all.clone())),
            _ => (one.store.claim(all.clone()), other.store.claim(whole())),
        };
        let first = first.wait().expect("claims");
        let second = second.wait().expect("claims");
        assert!(
            first.is_empty() != second.is_empty(),
            "{first:?} {second:?}"
        );
        assert!([1, all.len()].contains(&(first.len() + second.len())));
        release(&one, first);
        release(&other, second);
    }
}

#[test]
fn a_part_has_the_receipts_of_its_messages() {
    let [a, b] = two();
    // Above the mark, carried, and carried as a build before did.
    for how in ["above", "carried", "as before"] {
        let database = Database::new();
        let (one, other) = (database.node(), database.node());
        declare(&one);
        write(&one, receipt(a, None));
        write(&one, receipt(b, None));
        if how != "above" {
            one.store.advance_low_water().wait().expect("advances");
        }
        let session = database.session();
        if how == "as before" {
            session.run("UPDATE carry SET part = 255, ended = false");
        }
        let (mut here, mut there) = (Seen::new(), Seen::new());
        take_over(&one, &parts([part(a)]), &mut here);
        take_over(&other, &parts([part(b)]), &mut there);
        assert_eq!(here, seen([(a, part(a))]), "{how}");
        assert_eq!(there, seen([(b, part(b))]), "{how}");
        one.store.advance_low_water().wait().expect("advances");
        let carried = session.value(
            "SELECT count(*) FROM carry c JOIN msg m USING (id) WHERE c.ended AND c.part = m.part",
        );
        assert_eq!(carried, "2", "{how}");
        release(&one, parts([part(a)]));
        release(&other, parts([part(b)]));
        let mut all = Seen::new();
        take_over(&one, &whole(), &mut all);
        assert_eq!(all, seen([(a, WHOLE), (b, WHOLE)]), "{how}");
    }
}

#[test]
fn a_take_over_of_parts_sorts_what_was_written_for_the_whole() {
    let [a, b] = two();
    let database = Database::new();
    let (one, other) = (database.node(), database.node());
    declare(&one);
    write(&one, receipt(a, Some(WHOLE)));
    write(&one, receipt(b, Some(WHOLE)));
    let (mut here, mut there) = (Seen::new(), Seen::new());
    take_over(&one, &parts([part(a)]), &mut here);
    collect(&one, &mut here);
    assert_eq!(here, seen([(a, part(a))]), "once, with the reading");
    take_over(&other, &parts([part(b)]), &mut there);
    collect(&other, &mut there);
    assert_eq!(there, seen([(b, part(b))]));
    assert_eq!(database.session().value("SELECT count(*) FROM inbox"), "0");
}

#[test]
fn what_comes_late_for_the_other_kind_is_found() {
    let database = Database::new();
    let (one, other) = (database.node(), database.node());
    declare(&one);
    let rehome = |node: &Node, whole: &[u32], divided: &[u32]| {
        let moved = node.store.rehome(whole.to_vec(), divided.to_vec()).wait();
        moved.expect("looks")
    };
    let at = |part| Partition {
        queue: ACCOUNT,
        part,
    };
    let [a, b] = two();
    let (mut here, mut there) = (Seen::new(), Seen::new());
    take_over(&one, &parts([part(a)]), &mut here);
    take_over(&other, &parts([part(b)]), &mut there);
    write(&one, receipt(a, Some(WHOLE)));
    write(&one, receipt(b, Some(WHOLE)));
    // A row of an operator's queue stays.
    let item = QueueItem {
        id: id(a),
        ..QueueItem::default()
    };
    let elsewhere = WriteBatch {
        remote_items: vec![RemoteItem {
            queue: OPERATOR,
            part: 3,
            id: id(a),
            octets: hand_off_octets(&item),
        }],
        ..WriteBatch::default()
    };
    write(&one, elsewhere);
    collect(&one, &mut here);
    collect(&other, &mut there);
    assert_eq!((here.len(), there.len()), (0, 0), "nobody looks there");
    let mut wanted = vec![at(part(a)), at(part(b))];
    wanted.sort_unstable();
    assert_eq!(rehome(&one, &[], &[ACCOUNT]), wanted);
    assert_eq!(rehome(&one, &[], &[ACCOUNT]), []);
    collect(&one, &mut here);
    collect(&other, &mut there);
    assert_eq!(here, seen([(a, part(a))]));
    assert_eq!(there, seen([(b, part(b))]));

    // And the way back: what was there before is read, and does not come again.
    release(&one, parts([part(a)]));
    release(&other, parts([part(b)]));
    let c = b + 1;
    write(&other, receipt(c, Some(part(c))));
    let mut all = Seen::new();
    take_over(&one, &whole(), &mut all);
    assert_eq!(rehome(&one, &[ACCOUNT], &[]), []);
    let d = c + 1;
    write(&other, receipt(d, Some(part(d))));
    assert_eq!(rehome(&other, &[ACCOUNT], &[]), [at(WHOLE)]);
    collect(&one, &mut all);
    assert_eq!(all, seen([a, b, c, d].map(|n| (n, WHOLE))));
    let left = database.session();
    assert_eq!(left.value("SELECT queue || '/' || part FROM inbox"), "7/3");
}
