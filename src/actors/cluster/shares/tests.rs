//! The rule alone, and many nodes that follow it on views of different moments.

mod accounts;
mod parts;

use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::store::cluster::{NodeCard, NodeView, ResourceHolder};

const QUEUE: QueueNeed = QueueNeed {
    queue: 7,
    is_account: false,
    split: Split::Always,
};
const ACCOUNT: QueueNeed = QueueNeed {
    queue: 8,
    is_account: true,
    split: Split::Never,
};

fn node(number: u8, serving: &[u32]) -> NodeView {
    NodeView {
        node: number,
        epoch: u64::from(number) + 100,
        card: NodeCard {
            roles: ["smpp", "delivery", "janitor"].map(str::to_owned).to_vec(),
            serving: serving.to_vec(),
            splits_accounts: true,
            ..NodeCard::default()
        },
        lives_for: Some(Duration::from_secs(5)),
        dead_for: Duration::ZERO,
        since: 0,
    }
}

/// Lets every node act on the current view until nothing changes; returns the final view.
fn settle(view: View, queues: &[QueueNeed], binds: &[BindNeed]) -> View {
    settle_counting(view, queues, binds, &[]).0
}

/// Returns how often something was given back, too.
fn settle_counting(
    mut view: View,
    queues: &[QueueNeed],
    binds: &[BindNeed],
    names: &[u32],
) -> (View, usize) {
    let nobody = HashSet::new();
    let mut moves = 0;
    for _ in 0..200 {
        let mut changed = false;
        for at in 0..view.nodes.len() {
            let me = view.nodes[at].clone();
            let rebalance = Shares {
                me: me.node,
                view: &view,
                queues,
                binds,
                names,
                overdue: &nobody,
            }
            .rebalance();
            view.held.retain(|held| {
                !(held.node == me.node && rebalance.release.contains(&held.resource))
            });
            changed |= !rebalance.release.is_empty();
            moves += rebalance.release.len();
            for resource in rebalance.claim {
                let free = view.held.iter().all(|held| held.resource != resource);
                assert!(free, "claims only what is free");
                changed = true;
                view.held.push(ResourceHolder {
                    resource,
                    node: me.node,
                    epoch: me.epoch,
                });
            }
        }
        if !changed {
            return (view, moves);
        }
    }
    panic!("the nodes pass resources to and fro: {:?}", view.held);
}

fn count(view: &View, node: u8, wanted: fn(&LeasedResource) -> bool) -> usize {
    view.held
        .iter()
        .filter(|held| held.node == node && wanted(&held.resource))
        .count()
}

fn is_queue(resource: &LeasedResource) -> bool {
    matches!(resource, LeasedResource::Queue(partition) if partition.part != WHOLE)
}

fn is_bind(resource: &LeasedResource) -> bool {
    matches!(resource, LeasedResource::Bind { .. })
}

#[test]
fn partitions_spread_over_the_nodes_that_serve() {
    let view = View {
        nodes: vec![node(0, &[7]), node(1, &[7]), node(2, &[7]), node(3, &[])],
        ..View::default()
    };
    let view = settle(view, &[QUEUE], &[]);
    let counts = [0, 1, 2, 3].map(|number| count(&view, number, is_queue));
    assert_eq!(counts.iter().sum::<usize>(), usize::from(PARTITIONS));
    assert!(
        counts[..3].iter().all(|held| (10..=11).contains(held)),
        "{counts:?}"
    );
    assert_eq!(counts[3], 0);
}

#[test]
fn partitions_follow_the_bind() {
    let mut view = View {
        nodes: vec![node(0, &[]), node(1, &[])],
        ..View::default()
    };
    view = settle(view, &[QUEUE, ACCOUNT], &[]);
    assert_eq!(count(&view, 0, is_queue), 16);
    view.nodes[1].card.serving = vec![7, 8];
    view = settle(view, &[QUEUE, ACCOUNT], &[]);
    assert_eq!(count(&view, 1, is_queue), 32);
    let account = LeasedResource::Queue(Partition {
        queue: 8,
        part: WHOLE,
    });
    assert!(
        view.held
            .iter()
            .any(|held| held.resource == account && held.node == 1)
    );
}

#[test]
fn a_node_that_joins_gets_its_share_of_binds() {
    let binds = [
        BindNeed {
            operator: 1,
            slots: 4,
        },
        BindNeed {
            operator: 2,
            slots: 1,
        },
        BindNeed {
            operator: 3,
            slots: 1,
        },
    ];
    let mut view = View {
        nodes: vec![node(0, &[])],
        ..View::default()
    };
    view = settle(view, &[], &binds);
    assert_eq!(count(&view, 0, is_bind), 6);
    view.nodes.push(node(1, &[]));
    view = settle(view, &[], &binds);
    assert_eq!([0, 1].map(|number| count(&view, number, is_bind)), [3, 3]);
    view.nodes.push(node(2, &[]));
    view = settle(view, &[], &binds);
    let counts = [0, 1, 2].map(|number| count(&view, number, is_bind));
    assert_eq!(counts.iter().sum::<usize>(), 6);
    assert!(
        counts.iter().all(|held| (1..=3).contains(held)),
        "{counts:?}"
    );
}

#[test]
fn what_one_node_gave_back_it_leaves_to_the_others() {
    let binds = [1, 2, 3].map(|operator| BindNeed { operator, slots: 1 });
    let mut view = View {
        nodes: vec![node(0, &[])],
        ..View::default()
    };
    view = settle(view, &[], &binds);
    view.nodes.push(node(1, &[]));
    let look = |view: &View, overdue: &[LeasedResource]| {
        let shares = Shares {
            me: 0,
            view,
            queues: &[],
            binds: &binds,
            names: &[],
            overdue: &overdue.iter().copied().collect(),
        };
        shares.rebalance()
    };
    let first = look(&view, &[]);
    assert_eq!(first.release.len(), 1);
    view.held
        .retain(|held| !first.release.contains(&held.resource));
    let second = look(&view, &[]);
    assert_eq!(second.claim, [], "the other node has not looked yet");
    assert_eq!(second.left, first.release);
    let third = look(&view, &second.left);
    assert_eq!(third.claim, first.release, "nobody wants it");
}

#[test]
fn a_draining_or_dead_node_holds_nothing_new_and_gives_back() {
    let mut view = View {
        nodes: vec![node(0, &[7]), node(1, &[7])],
        ..View::default()
    };
    view = settle(view, &[QUEUE], &[]);
    view.nodes[0].card.draining = true;
    view = settle(view, &[QUEUE], &[]);
    assert_eq!(count(&view, 1, is_queue), 32);
    assert!(
        view.held
            .iter()
            .any(|held| held.resource == LeasedResource::Janitor && held.node == 1)
    );
}

#[test]
fn a_node_without_a_bind_gets_one_while_another_has_two() {
    let binds = [BindNeed {
        operator: 1,
        slots: 4,
    }];
    let mut view = View {
        nodes: vec![node(0, &[]), node(1, &[])],
        ..View::default()
    };
    view = settle(view, &[], &binds);
    view.nodes.push(node(2, &[]));
    let (view, moves) = settle_counting(view, &[], &binds, &[]);
    let mut counts = [0, 1, 2].map(|number| count(&view, number, is_bind));
    counts.sort_unstable();
    assert_eq!((counts, moves), ([1, 1, 2], 1));
}

#[test]
fn a_name_is_with_one_node_that_reaches_the_hlr() {
    let holder = |view: &View| {
        let held: Vec<u8> = view.held.iter().map(|held| held.node).collect();
        assert_eq!(held.len(), 1, "{held:?}");
        held[0]
    };
    let mut view = View {
        nodes: vec![node(0, &[]), node(1, &[]), node(2, &[])],
        ..View::default()
    };
    let settle = |view, moves| {
        let (mut view, moved) = settle_counting(view, &[], &[], &[7]);
        view.held.retain(|held| is_bind(&held.resource));
        assert_eq!(moved, moves);
        view
    };
    view = settle(view, 0);
    let first = holder(&view);
    // It does not reach the HLR; then none does, and the name stays; then the first one does again, and it stays, too.
    view.nodes[usize::from(first)].card.cut_off = vec![7];
    view = settle(view, 1);
    let second = holder(&view);
    assert_ne!(second, first);
    (view.nodes.iter_mut()).for_each(|node| node.card.cut_off = vec![7]);
    view = settle(view, 0);
    assert_eq!(holder(&view), second);
    view.nodes[usize::from(first)].card.cut_off.clear();
    view = settle(view, 1);
    assert_eq!(holder(&view), first);
    view.nodes.retain(|node| node.node != first);
    view.held.clear();
    view = settle(view, 0);
    assert_ne!(holder(&view), first);
    view = settle_counting(view, &[], &[], &[]).0;
    assert!(
        !view.held.iter().any(|held| is_bind(&held.resource)),
        "it is not configured any more"
    );
}

#[test]
fn queues_that_nobody_serves_are_not_all_with_one_node() {
    let queues: Vec<QueueNeed> = (0..30)
        .map(|queue| QueueNeed { queue, ..ACCOUNT })
        .collect();
    let view = View {
        nodes: vec![node(0, &[]), node(1, &[]), node(2, &[])],
        ..View::default()
    };
    let view = settle(view, &queues, &[]);
    let counts = [0, 1, 2].map(|number| count(&view, number, |_| true));
    assert!(
        counts.iter().all(|held| (10..=11).contains(held)),
        "{counts:?}"
    );
}

/// Something that happens in a cluster.
#[derive(Debug, Clone)]
enum Happening {
    /// A node reads the view.
    Looks(u8),
    /// A node acts on the view that it read last.
    Acts(u8),
    Joins(u8),
    Dies(u8),
}

fn happening() -> impl Strategy<Value = Happening> {
    (0u8..6, 0u8..10).prop_map(|(node, what)| match what {
        0 => Happening::Joins(node),
        1 => Happening::Dies(node),
        2..=5 => Happening::Looks(node),
        _ => Happening::Acts(node),
    })
}

fn is_even(counts: &[usize]) -> bool {
    let most = counts.iter().max().copied().unwrap_or_default();
    most <= counts.iter().min().copied().unwrap_or_default() + 1
}

/// The counts of each node: of one operator, or of all.
fn bind_counts(view: &View, of: Option<u32>) -> Vec<usize> {
    let numbers = view.nodes.iter().map(|node| node.node);
    let is_of = |resource: &LeasedResource| match resource {
        LeasedResource::Bind { operator, .. } => of.is_none_or(|of| of == *operator),
        _ => false,
    };
    numbers
        .map(|number| {
            let held = view.held.iter().filter(|held| held.node == number);
            held.filter(|held| is_of(&held.resource)).count()
        })
        .collect()
}

/// What a node does when it acts on an old view: it gives back what it holds still, and claims what is free
/// still.
fn act(view: &mut View, seen: &View, me: u8, binds: &[BindNeed]) {
    let rebalance = Shares {
        me,
        view: seen,
        queues: &[],
        binds,
        names: &[],
        overdue: &HashSet::new(),
    }
    .rebalance();
    let gives_back =
        |held: &ResourceHolder| held.node == me && rebalance.release.contains(&held.resource);
    view.held.retain(|held| !gives_back(held));
    for resource in rebalance.claim {
        if view.held.iter().all(|held| held.resource != resource) {
            view.held.push(ResourceHolder {
                resource,
                node: me,
                epoch: u64::from(me) + 100,
            });
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever nodes have done on old views while others came and went: in the end binds are even, of each
    /// operator and together, nothing goes on moving, and what moves is what the plan needs. With several
    /// operators the plan is made anew while slots are free: that may cost a move of each.
    #[test]
    fn binds_end_even_whatever_has_happened(
        slots in proptest::collection::vec(0u32..7, 1..6),
        happenings in proptest::collection::vec(happening(), 0..80),
    ) {
        let operators = 1..;
        let binds: Vec<BindNeed> = operators
            .zip(slots)
            .map(|(operator, slots)| BindNeed { operator, slots })
            .collect();
        let mut view = View { nodes: vec![node(0, &[])], ..View::default() };
        let mut seen: HashMap<u8, View> = HashMap::new();
        for happening in happenings {
            let lives = |number| view.nodes.iter().any(|node| node.node == number);
            match happening {
                Happening::Joins(number) if !lives(number) => {
                    view.nodes.push(node(number, &[]));
                    view.nodes.sort_unstable_by_key(|node| node.node);
                }
                Happening::Dies(number) if number > 0 => {
                    view.nodes.retain(|node| node.node != number);
                    view.held.retain(|held| held.node != number);
                    seen.remove(&number);
                }
                Happening::Looks(number) if lives(number) => {
                    seen.insert(number, view.clone());
                }
                Happening::Acts(number) if lives(number) => {
                    if let Some(seen) = seen.get(&number) {
                        act(&mut view, seen, number, &binds);
                    }
                }
                _ => {}
            }
        }
        let shares = Shares { me: 0, view: &view, queues: &[], binds: &binds, names: &[], overdue: &HashSet::new() };
        let planned = shares.planned_moves();
        let (view, moves) = settle_counting(view, &[], &binds, &[]);
        for need in &binds {
            let counts = bind_counts(&view, Some(need.operator));
            prop_assert_eq!(counts.iter().sum::<usize>(), need.slots as usize);
            prop_assert!(is_even(&counts), "{:?}", counts);
        }
        let counts = bind_counts(&view, None);
        prop_assert!(is_even(&counts), "{:?}", counts);
        let more = if binds.len() > 1 { binds.len() } else { 0 };
        prop_assert!(moves <= planned + more, "{} moves, {} planned", moves, planned);
    }
}

impl Shares<'_> {
    /// How many bind slots the plan has with another node than their holder.
    fn planned_moves(&self) -> usize {
        let able = self.nodes_with(NodeRole::Delivery);
        let held = self.view.held.iter();
        let holders: HashMap<LeasedResource, u8> =
            held.map(|held| (held.resource, held.node)).collect();
        let slots: Vec<Vec<LeasedResource>> = self
            .binds
            .iter()
            .map(|need| slots_of(need).collect())
            .collect();
        let needs = self.binds.iter().zip(&slots);
        let rows: Vec<SpreadRow> = needs
            .map(|(need, slots)| row_of(need.operator, slots, &holders))
            .collect();
        let moves = |(row, planned): (&SpreadRow, Vec<u8>)| {
            let both = row.holders.iter().zip(planned);
            both.filter(|(holder, node)| holder.is_some_and(|holder| holder != *node))
                .count()
        };
        rows.iter().zip(spread(&rows, &able)).map(moves).sum()
    }
}
