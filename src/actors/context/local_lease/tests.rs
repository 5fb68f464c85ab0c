//! What a node holds, loses and hands over by its lease.

use std::time::Duration;

use super::*;
use crate::store::cluster::NodeCard;

fn node(number: u8, lives: bool, card: NodeCard) -> NodeView {
    NodeView {
        node: number,
        epoch: 1,
        card,
        lives_for: lives.then_some(Duration::from_secs(5)),
        dead_for: Duration::ZERO,
        since: 0,
    }
}

#[test]
fn what_is_given_back_is_leaving_until_that_is_known() {
    let slot = [LeasedResource::Bind {
        operator: 3,
        slot: 1,
    }];
    let local_lease = LocalLease::member();
    let stands = || {
        let ownership = local_lease.hold();
        (ownership.has(&slot[0]), ownership.is_leaving(&slot[0]))
    };
    assert!(local_lease.gain(local_lease.generation(), &slot, || {}));
    assert_eq!(stands(), (true, false));
    local_lease.lose(&slot);
    assert_eq!(stands(), (false, true));
    local_lease.left(&slot);
    assert_eq!(stands(), (false, false));
    local_lease.lose(&slot);
    local_lease.lose_everything();
    assert_eq!(
        stands(),
        (false, false),
        "with the lease all of that is over"
    );
}

#[test]
fn a_partition_has_another_term_whenever_it_is_read() {
    let [one, other] = [1, 2].map(|part| Partition { queue: 7, part });
    let local_lease = LocalLease::member();
    let term = |at: Partition| local_lease.hold().term(at.queue, at.part);
    let gain = |at| {
        local_lease.gain(
            local_lease.generation(),
            &[LeasedResource::Queue(at)],
            || {},
        )
    };
    assert!(gain(one) && term(one).is_some() && term(other).is_none());
    let first = term(one);
    local_lease.lose(&[LeasedResource::Queue(one)]);
    assert_eq!(term(one), None);
    assert!(gain(one) && gain(other));
    let second = term(one);
    assert!(second > first && second != term(other));
    let third = Some(local_lease.begin_term(7));
    assert_eq!((term(one), term(other)), (third, third));
    local_lease.begin_term(8);
    assert_eq!(term(one), third, "of another queue");
    local_lease.lose_everything();
    assert!(gain(one) && term(one) > third, "never one of before");

    let alone = LocalLease::alone();
    let term = |queue| alone.hold().term(queue, 0);
    assert_eq!(term(7), Some(0));
    let begun = Some(alone.begin_term(7));
    assert_eq!((term(7), term(8)), (begun, Some(0)));
    assert_ne!(begun, Some(0));
}

#[test]
fn a_part_is_at_home_in_itself_or_in_the_whole() {
    let local_lease = LocalLease::member();
    let at = |part| LeasedResource::Queue(Partition { queue: 7, part });
    let home = |part| local_lease.hold().home(7, part).map(|(part, _)| part);
    let gain = |part| local_lease.gain(local_lease.generation(), &[at(part)], || {});
    assert!(gain(3));
    assert_eq!((home(3), home(4), home(WHOLE)), (Some(3), None, None));
    local_lease.lose(&[at(3)]);
    assert!(gain(WHOLE));
    assert_eq!((home(3), home(WHOLE)), (Some(WHOLE), Some(WHOLE)));
}

#[test]
fn another_node_sends_when_it_is_bound_and_no_breaker_is_open() {
    let card = |serving: &[u32], tripped: &[u32], draining| NodeCard {
        serving: serving.to_vec(),
        tripped: tripped.to_vec(),
        to_do: vec![(7, 10), (8, 5)],
        draining,
        ..NodeCard::default()
    };
    let cluster_view = ClusterView::new(View {
        nodes: vec![
            node(0, true, card(&[7, 8], &[], false)),
            node(1, true, card(&[7, 8, 9], &[8], false)),
            node(2, true, card(&[9], &[], true)),
            node(3, false, card(&[10], &[], false)),
        ],
        ..View::default()
    });
    for (queue, me, wanted) in [
        (7, 0, true),
        (7, 1, true),
        (8, 0, false),
        (8, 1, true),
        (9, 0, true),
        (9, 1, false),
        (10, 0, false),
    ] {
        let lets = cluster_view.lets(queue, me);
        assert_eq!(lets, wanted, "queue {queue} as node {me} sees it");
    }
    assert_eq!(cluster_view.to_do(7, 0), 20, "of the living ones");
    assert_eq!(cluster_view.to_do(9, 0), 0);
}
