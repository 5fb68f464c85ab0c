//! Which node does what for the Redis SMS platform, and how keys are written (docs/coming-from.md).
//!
//! Called by the readers of `export/platform.rs` and by `platform_intake.rs`. The choice is made from what every node sees of
//! the cluster, so two may do the same for a heartbeat: each step of theirs may be done twice, and changes nothing then.

use std::sync::atomic::Ordering;

use crate::actors::context::NodeContext;
use crate::config::{Config, PlatformRole, ReportForwarder};
use crate::store::cluster::{LeasedResource, NodeView, View};
use crate::store::redis::PlatformOptions;

/// Whether this node does this part of the work now.
pub(super) fn does(node: &NodeContext, role: PlatformRole) -> bool {
    let lease = &node.local_lease;
    if !node.config().redis_platform.roles.contains(&role) {
        return false;
    }
    if !lease.is_shared() {
        return true;
    }
    !node.draining.load(Ordering::Relaxed)
        && lease.is_valid()
        && (lease.is_janitor() || chosen(&lease.cluster_view().view, role) == Some(node.ids.node()))
}

/// The node that does it: the one that does the work for all, if it may, otherwise the first that may. A build that knows no
/// roles does all of it.
fn chosen(view: &View, role: PlatformRole) -> Option<u8> {
    let lives = |node: &NodeView| node.lives_for.is_some() && !node.card.draining;
    let has_role = |roles: &Vec<String>| roles.iter().any(|one| one == role.as_str());
    let janitor = view
        .held
        .iter()
        .find(|one| one.resource == LeasedResource::Janitor);
    let janitor = janitor.and_then(|held| view.nodes.iter().find(|node| node.node == held.node));
    if let Some(janitor) = janitor.filter(|node| lives(node))
        && janitor.card.platform_roles.as_ref().is_none_or(has_role)
    {
        return Some(janitor.node);
    }
    let able = view.nodes.iter().filter(|node| lives(node));
    let able = able.filter(|node| node.card.platform_roles.as_ref().is_some_and(has_role));
    able.map(|node| node.node).min()
}

/// How keys are written.
pub(super) fn options(config: &Config) -> PlatformOptions {
    let section = &config.redis_platform;
    PlatformOptions {
        life: config.store.retention,
        platform_forwards: section.forwarder == ReportForwarder::Platform,
        aliases: section.aliases,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::store::cluster::{NodeCard, ResourceHolder};

    fn node(number: u8, roles: Option<&str>) -> NodeView {
        let words = |roles: &str| roles.split_whitespace().map(str::to_owned).collect();
        NodeView {
            node: number,
            epoch: 1,
            card: NodeCard {
                platform_roles: roles.map(words),
                ..NodeCard::default()
            },
            lives_for: Some(Duration::from_secs(5)),
            dead_for: Duration::ZERO,
            since: 0,
        }
    }

    fn view(nodes: Vec<NodeView>, janitor: u8) -> View {
        View {
            nodes,
            held: vec![ResourceHolder {
                resource: LeasedResource::Janitor,
                node: janitor,
                epoch: 1,
            }],
            ..View::default()
        }
    }

    #[test]
    fn one_node_does_each_part() {
        let nodes = || {
            let roles = ["", "sender", "sender receiver", "forwarder"];
            let nodes = (0..)
                .zip(roles)
                .map(|(number, roles)| node(number, Some(roles)));
            nodes.collect::<Vec<_>>()
        };
        let of = |view: &View| {
            use PlatformRole::{Forwarder, Receiver, Sender};
            [Sender, Receiver, Forwarder].map(|role| chosen(view, role))
        };
        assert_eq!(of(&view(nodes(), 0)), [Some(1), Some(2), Some(3)]);
        assert_eq!(of(&view(nodes(), 2)), [Some(2), Some(2), Some(3)]);
        let mut some = nodes();
        some[1].card.draining = true;
        some[3].lives_for = None;
        assert_eq!(of(&view(some, 3)), [Some(2), Some(2), None]);
    }

    #[test]
    fn a_build_that_knows_no_roles_does_all_while_it_does_the_work_for_all() {
        let nodes = || vec![node(0, None), node(1, Some("sender"))];
        assert_eq!(chosen(&view(nodes(), 0), PlatformRole::Sender), Some(0));
        assert_eq!(chosen(&view(nodes(), 1), PlatformRole::Sender), Some(1));
        assert_eq!(chosen(&view(nodes(), 1), PlatformRole::Receiver), None);
    }
}
