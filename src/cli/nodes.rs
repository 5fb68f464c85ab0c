//! `smsc nodes`: the nodes that share a PostgreSQL store, and what each of them holds.

use super::client::{self, Connection};
use crate::api::{Node, Nodes};

/// Arguments of `smsc nodes`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    connection: Connection,
}

/// Runs the command.
///
/// # Errors
/// The SMSC cannot be reached, or it refuses.
pub fn run(args: Args) -> anyhow::Result<()> {
    let client = args.connection.open()?;
    let json = client.get("/v1/nodes")?;
    if args.connection.json {
        return client::print_json(&json);
    }
    let nodes = client::decode::<Nodes>(json)?.nodes;
    if nodes.is_empty() {
        return client::print_line("one node with an embedded store; [postgres] makes a cluster");
    }
    client::print_line(&render(&nodes))
}

fn render(nodes: &[Node]) -> String {
    let mut table = client::table(&[
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
    ]);
    for node in nodes {
        let partitions: u32 = node.queues.iter().map(|share| share.partitions).sum();
        let mark = if node.this_node { "*" } else { "" };
        let work = if node.janitor { "+janitor" } else { "" };
        table.add_row([
            format!("{}{mark}", node.node),
            node.state.clone(),
            format!("{:.1} s", node.lease_ms as f64 / 1000.0),
            node.name.clone(),
            node.version.clone(),
            format!("{} {work}", node.roles.join(","))
                .trim_end()
                .to_owned(),
            client::ago(node.since.as_deref()),
            client::number(u64::from(partitions)),
            node.binds.join(" "),
            node.smpp.join(" "),
        ]);
    }
    table.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pb::{ClusterNode, NodeList, QueueShare};

    #[test]
    fn shows_what_nodes_hold() {
        let list = NodeList {
            nodes: vec![ClusterNode {
                node: 3,
                this_node: true,
                alive: true,
                lease_ms: 9_400,
                roles: vec!["smpp".to_owned(), "delivery".to_owned()],
                queues: vec![QueueShare {
                    queue: "operator:up".to_owned(),
                    partitions: 11,
                }],
                binds: vec!["up/0".to_owned()],
                ..ClusterNode::default()
            }],
            now: 0,
        };
        let text = render(&Nodes::from(list).nodes);
        for part in ["3*", "alive", "9.4 s", "smpp,delivery", "11", "up/0"] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
