//! Queues of accounts: as a whole or in parts.

use super::*;

const SHARED: QueueNeed = QueueNeed {
    queue: 8,
    is_account: true,
    split: Split::WhenShared,
};

fn of_nodes(nodes: Vec<NodeView>) -> View {
    View {
        nodes,
        ..View::default()
    }
}

/// Of each node, how many parts it holds, and whether it holds the whole.
fn held(view: &View) -> Vec<(usize, bool)> {
    let of = |node: &NodeView| {
        let is_whole = |resource: &LeasedResource| *resource == whole_of(SHARED.queue);
        let mut held = view.held.iter();
        (
            count(view, node.node, is_queue),
            held.any(|held| held.node == node.node && is_whole(&held.resource)),
        )
    };
    view.nodes.iter().map(of).collect()
}

#[test]
fn a_queue_is_divided_when_a_second_node_serves_it() {
    let view = of_nodes(vec![node(0, &[8]), node(1, &[]), node(2, &[])]);
    let mut view = settle(view, &[SHARED], &[]);
    assert_eq!(held(&view), [(0, true), (0, false), (0, false)]);
    view.nodes[2].card.serving = vec![8];
    let mut view = settle(view, &[SHARED], &[]);
    assert_eq!(held(&view), [(16, false), (0, false), (16, false)]);
    view.nodes[1].card.serving = vec![8];
    let mut view = settle(view, &[SHARED], &[]);
    let mut parts: Vec<usize> = held(&view).iter().map(|(parts, _)| *parts).collect();
    let had = parts[1];
    parts.sort_unstable();
    assert_eq!(parts, [10, 11, 11]);
    // It stays divided: what goes on need not wait for what moves.
    view.nodes[0].card.serving = vec![];
    view.nodes[2].card.serving = vec![];
    let (mut view, moves) = settle_counting(view, &[SHARED], &[], &[]);
    assert_eq!(held(&view), [(0, false), (32, false), (0, false)]);
    assert_eq!(moves, 32 - had);
    view.nodes[1].card.serving = vec![];
    let view = settle(view, &[SHARED], &[]);
    let parts: Vec<usize> = held(&view).iter().map(|(parts, _)| *parts).collect();
    assert_eq!(parts.iter().sum::<usize>(), 32);
}

#[test]
fn other_queues_of_accounts_stay_whole() {
    let view = of_nodes(vec![node(0, &[8]), node(1, &[8])]);
    let view = settle(view, &[ACCOUNT], &[]);
    let wholes = held(&view).iter().filter(|(_, whole)| *whole).count();
    assert_eq!((wholes, view.held.len()), (1, 2), "and the janitor's work");
}

#[test]
fn a_node_of_a_build_before_makes_it_whole_and_its_end_divides_it() {
    let mut view = of_nodes(vec![node(0, &[8]), node(1, &[8])]);
    view.nodes[0].card.splits_accounts = false;
    let mut view = settle(view, &[SHARED], &[]);
    assert_eq!(held(&view).iter().map(|held| held.0).max(), Some(0));
    assert_eq!(held(&view).iter().filter(|(_, whole)| *whole).count(), 1);
    view.nodes[0].card.splits_accounts = true;
    let mut view = settle(view, &[SHARED], &[]);
    assert_eq!(held(&view), [(16, false), (16, false)]);
    view.nodes.push(node(2, &[]));
    view.nodes[2].card.splits_accounts = false;
    let mut view = settle(view, &[SHARED], &[]);
    assert_eq!(held(&view).iter().filter(|(_, whole)| *whole).count(), 1);
    // It is dead, and not removed: nobody waits for it.
    view.nodes[2].lives_for = None;
    let view = settle(view, &[SHARED], &[]);
    assert_eq!(held(&view), [(16, false), (16, false), (0, false)]);
}

#[test]
fn nothing_of_one_kind_is_claimed_before_the_other_is_given_back() {
    let by = |node: u8, resource| ResourceHolder {
        resource,
        node,
        epoch: u64::from(node) + 100,
    };
    let nobody = HashSet::new();
    let rebalance = |view: &View, me| {
        let shares = Shares {
            me,
            view,
            queues: &[SHARED],
            binds: &[],
            names: &[],
            overdue: &nobody,
        };
        let all = shares.everything();
        let mut rebalance = shares.rebalance();
        rebalance
            .claim
            .retain(|one| *one != LeasedResource::Janitor);
        assert!(rebalance.claim.iter().all(|claimed| all.contains(claimed)));
        rebalance
    };
    let mut view = of_nodes(vec![node(0, &[8]), node(1, &[8])]);
    view.held = vec![by(0, whole_of(8))];
    assert_eq!(rebalance(&view, 0).release, [whole_of(8)]);
    assert_eq!(rebalance(&view, 0).claim, []);
    assert_eq!(rebalance(&view, 1), Rebalance::default());
    view.held.clear();
    assert_eq!(rebalance(&view, 1).claim.len(), 16);

    // A dead node holds parts of it still, and others must become whole.
    view.nodes.push(node(2, &[8]));
    view.nodes[2].lives_for = None;
    view.nodes[1].card.splits_accounts = false;
    view.held = parts_of(8)
        .into_iter()
        .take(8)
        .map(|part| by(2, part))
        .collect();
    for me in [0, 1] {
        assert_eq!(rebalance(&view, me), Rebalance::default());
    }
}

/// What a node does on the view that it has read, and the database with it: of both kinds it gives one.
fn act(view: &mut View, seen: &View, me: u8) {
    let rebalance = Shares {
        me,
        view: seen,
        queues: &[SHARED],
        binds: &[],
        names: &[],
        overdue: &HashSet::new(),
    }
    .rebalance();
    let gives_back =
        |held: &ResourceHolder| held.node == me && rebalance.release.contains(&held.resource);
    view.held.retain(|held| !gives_back(held));
    for resource in rebalance.claim {
        let is_whole = resource == whole_of(SHARED.queue);
        let refuses = |held: &ResourceHolder| {
            let is_of_queue = matches!(held.resource, LeasedResource::Queue(_));
            let other_kind = (held.resource == whole_of(SHARED.queue)) != is_whole;
            held.resource == resource || (is_of_queue && other_kind)
        };
        if !view.held.iter().any(refuses) {
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

    /// Whoever has acted on whatever old view: in the end all of it is held, in one kind, evenly.
    #[test]
    fn it_ends_held_whatever_has_happened(
        steps in proptest::collection::vec((0u8..4, 0u8..8), 0..80),
    ) {
        let mut view = of_nodes((0..4).map(|number| node(number, &[])).collect());
        let mut seen: Vec<View> = vec![view.clone(); 4];
        for (number, what) in steps {
            let at = usize::from(number);
            let card = &mut view.nodes[at].card;
            match what {
                0 => card.serving = vec![8],
                1 => card.serving.clear(),
                2 => card.splits_accounts = !card.splits_accounts,
                3..=5 => seen[at] = view.clone(),
                _ => act(&mut view, &seen[at], number),
            }
        }
        let view = settle(view, &[SHARED], &[]);
        let (parts, wholes): (Vec<usize>, Vec<bool>) = held(&view).into_iter().unzip();
        let wholes = wholes.iter().filter(|whole| **whole).count();
        let sum: usize = parts.iter().sum();
        prop_assert!([(0, 1), (32, 0)].contains(&(sum, wholes)), "{:?} {}", parts, wholes);
        let knows = view.nodes.iter().all(|node| node.card.splits_accounts);
        prop_assert!(knows || wholes == 1);
    }
}
