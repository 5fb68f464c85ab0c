//! `smsc node list`: the nodes that share a PostgreSQL store, and what each of them holds.

use super::client::{Listing, OutputPage, OutputTable, TableCell, table_of};
use crate::api::{Node, Nodes};

/// What to do with nodes.
#[derive(Debug, clap::Subcommand)]
pub enum NodeCommand {
    /// Show all nodes.
    List {
        #[command(flatten)]
        listing: Listing,
    },
}

/// Runs the command.
///
/// # Errors
/// The SMSC cannot be reached, or it refuses.
pub fn run(order: &NodeCommand) -> anyhow::Result<()> {
    let NodeCommand::List { listing } = order;
    listing.show("/v1/nodes", |found: Nodes| {
        let said = "one node with an embedded store; [postgres] makes a cluster";
        OutputPage::list(table(&found.nodes), said)
    })
}

fn table(nodes: &[Node]) -> OutputTable {
    table_of!(nodes, |node| {
        let partitions: u32 = node.queues.iter().map(|share| share.partitions).sum();
        let mark = if node.this_node { "*" } else { "" };
        let work = if node.janitor { "+janitor" } else { "" };
        "node" => TableCell::marked(node.node, mark),
        "state" => TableCell::state(node.state.clone()),
        "lease" [7] => TableCell::right(format!("{:.1} s", node.lease_ms as f64 / 1000.0)),
        "name" [5] => node.name.clone(),
        "version" [2] => node.version.clone(),
        "roles" [1] => format!("{} {work}", node.roles.join(",")).trim_end(),
        "for" [3] => TableCell::ago(node.since.as_deref()),
        "partitions" => TableCell::number(partitions),
        "binds" [6] => node.binds.join(" "),
        "smpp" [4] => node.smpp.join(" "),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::QueueShare;
    use crate::cli::client::Screen;

    #[test]
    fn shows_what_nodes_hold() {
        let node = Node {
            node: 3,
            this_node: true,
            state: "alive".to_owned(),
            lease_ms: 9_400,
            roles: vec!["smpp".to_owned(), "delivery".to_owned()],
            queues: vec![QueueShare {
                queue: "operator:up".to_owned(),
                partitions: 11,
            }],
            binds: vec!["up/0".to_owned()],
            ..Node::default()
        };
        let page = OutputPage::from(table(&[node]));
        let text = page.render(Screen::default());
        for part in ["3*", "alive", "9.4 s", "smpp,delivery", "11", "up/0"] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
