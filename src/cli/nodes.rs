//! `smsc nodes`: the nodes that share a PostgreSQL store, and what each of them holds.

use super::client::{Listing, OutputPage, OutputTable, TableCell};
use crate::api::{Node, Nodes};

/// Arguments of `smsc nodes`.
#[derive(Debug, clap::Args)]
pub struct NodesArgs {
    #[command(flatten)]
    listing: Listing,
}

/// Runs the command.
///
/// # Errors
/// The SMSC cannot be reached, or it refuses.
pub fn run(args: NodesArgs) -> anyhow::Result<()> {
    args.listing.show("/v1/nodes", |found: Nodes| {
        if found.nodes.is_empty() {
            let said = "one node with an embedded store; [postgres] makes a cluster";
            OutputPage::nothing(&table(&[]), said)
        } else {
            table(&found.nodes).into()
        }
    })
}

fn table(nodes: &[Node]) -> OutputTable {
    let mut table = OutputTable::new(&[
        "node",
        "state",
        "lease",
        "name",
        "version",
        "roles",
        "for",
        "partitions",
        "binds",
        "smpp",
    ])
    .dropping(&["roles", "version", "for", "smpp", "name", "binds", "lease"]);
    for node in nodes {
        let partitions: u32 = node.queues.iter().map(|share| share.partitions).sum();
        let mark = if node.this_node { "*" } else { "" };
        let work = if node.janitor { "+janitor" } else { "" };
        table.row([
            TableCell::from(format!("{}{mark}", node.node)),
            TableCell::state(node.state.clone()),
            TableCell::right(format!("{:.1} s", node.lease_ms as f64 / 1000.0)),
            node.name.clone().into(),
            node.version.clone().into(),
            format!("{} {work}", node.roles.join(",")).trim_end().into(),
            TableCell::ago(node.since.as_deref()),
            TableCell::number(partitions),
            node.binds.join(" ").into(),
            node.smpp.join(" ").into(),
        ]);
    }
    table
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
