//! One part of all queues is with one node, as far as it moves anyway.

use super::*;

const TOLD: QueueNeed = QueueNeed {
    split: Split::WhenShared,
    ..ACCOUNT
};
const OTHER: QueueNeed = QueueNeed { queue: 9, ..QUEUE };
const QUEUES: [QueueNeed; 3] = [QUEUE, TOLD, OTHER];
const ALL: [u32; 3] = [7, 8, 9];

/// How many parts of the account's queue are not with the node that sends to the operator of queue 7.
fn apart(view: &View) -> usize {
    let holder = |queue, part| {
        let resource = LeasedResource::Queue(Partition { queue, part });
        let held = view.held.iter().find(|held| held.resource == resource);
        held.map(|held| held.node)
    };
    let parts = 0..PARTITIONS;
    parts
        .filter(|part| holder(7, *part) != holder(8, *part))
        .count()
}

fn settled(mut view: View) -> View {
    view.held
        .retain(|held| view.nodes.iter().any(|node| node.node == held.node));
    settle(view, &QUEUES, &[])
}

#[test]
fn receipts_stay_where_messages_are_sent() {
    let mut view = View {
        nodes: vec![node(0, &[7, 9])],
        ..View::default()
    };
    view = settled(view);
    for number in 1..4 {
        view.nodes.push(node(number, &[7, 9]));
        view = settled(view);
    }
    // The account binds to one node after the other.
    for number in 0..4 {
        view.nodes[number].card.serving = ALL.to_vec();
        view = settled(view);
    }
    assert_eq!(apart(&view), 0);
    // A node dies, and comes back.
    let gone = view.nodes.remove(1);
    view = settled(view);
    assert_eq!(apart(&view), 0);
    view.nodes.push(gone);
    view = settled(view);
    assert_eq!(apart(&view), 0);
    // The operator cuts a node off, and lets it bind again.
    view.nodes[0].card.serving = vec![8, 9];
    view = settled(view);
    assert_eq!(apart(&view), 8);
    view.nodes[0].card.serving = ALL.to_vec();
    view = settled(view);
    assert_eq!(apart(&view), 0);
}

#[test]
fn with_more_nodes_than_parts_each_has_some() {
    let queues: Vec<QueueNeed> = (0..20).map(|queue| QueueNeed { queue, ..QUEUE }).collect();
    let serving: Vec<u32> = (0..20).collect();
    let view = View {
        nodes: (0..40).map(|number| node(number, &serving)).collect(),
        ..View::default()
    };
    let view = settle(view, &queues, &[]);
    let idle = (0..40).filter(|number| count(&view, *number, is_queue) == 0);
    assert_eq!(idle.count(), 0);
}
