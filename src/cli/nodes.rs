//! `smsc nodes`: the nodes that share a PostgreSQL store, and what each of them holds.

use super::client::{Cell, Listing, Page, Table};
use crate::api::{Node, Nodes};

/// Arguments of `smsc nodes`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    listing: Listing,
}

/// Runs the command.
///
/// # Errors
/// The SMSC cannot be reached, or it refuses.
pub fn run(args: Args) -> anyhow::Result<()> {
    args.listing
        .show("/v1/nodes", |found: Nodes| match found.nodes.is_empty() {
            true => {
                let said = "one node with an embedded store; [postgres] makes a cluster";
                Page::nothing(&table(&[]), said)
            }
            false => table(&found.nodes).into(),
        })
}

fn table(nodes: &[Node]) -> Table {
    let mut table = Table::new(&[
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
            Cell::from(format!("{}{mark}", node.node)),
            Cell::state(node.state.clone()),
            Cell::right(format!("{:.1} s", node.lease_ms as f64 / 1000.0)),
            node.name.clone().into(),
            node.version.clone().into(),
            format!("{} {work}", node.roles.join(",")).trim_end().into(),
            Cell::ago(node.since.as_deref()),
            Cell::number(partitions),
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
        let page = Page::from(table(&[node]));
        let text = page.render(Screen::default());
        for part in ["3*", "alive", "9.4 s", "smpp,delivery", "11", "up/0"] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
