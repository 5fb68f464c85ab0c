//! `smsc firewall list`: what the firewalls in front of networks over MAP have found.

use clap::builder::PossibleValuesParser;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::client::{self, AdminClient, Listing, OutputPage, TableCell, table_of};
use crate::api::{FirewallHit, GsmNetwork, GsmNetworks};
use crate::firewall::FirewallRule;

/// What to do with firewalls.
#[derive(Debug, clap::Subcommand)]
pub enum FirewallCommand {
    /// Show what the firewalls of all nodes have found lately.
    List(FirewallListArgs),
}

/// Arguments of `smsc firewall list`.
#[derive(Debug, clap::Args)]
pub struct FirewallListArgs {
    /// Only what was found in front of this GSM network.
    name: Option<String>,
    /// Only what this rule has found.
    #[arg(long, value_parser = rules())]
    rule: Option<String>,
    #[command(flatten)]
    listing: Listing,
}

/// The answer for programs: one list for all networks.
#[derive(Debug, Serialize, Deserialize)]
struct NetworkFindings {
    firewall: Vec<NetworkFinding>,
}

/// What was found, and in front of which network.
#[derive(Debug, Serialize, Deserialize)]
struct NetworkFinding {
    gsm: String,
    #[serde(flatten)]
    hit: FirewallHit,
}

/// Runs the command.
///
/// # Errors
/// The SMSC cannot be reached, or it refuses.
pub fn run(order: &FirewallCommand) -> anyhow::Result<()> {
    let FirewallCommand::List(args) = order;
    args.listing.show_all(
        |client| findings(client, args),
        |json| Ok(page(&client::decode(json)?)),
    )
}

fn rules() -> PossibleValuesParser {
    PossibleValuesParser::new(FirewallRule::ALL.map(FirewallRule::name))
}

fn findings(client: &AdminClient, args: &FirewallListArgs) -> anyhow::Result<Value> {
    let networks = if let Some(name) = &args.name {
        let path = format!("/v1/gsm/{}", client::segment(name));
        vec![client::decode::<GsmNetwork>(client.get(&path)?)?]
    } else {
        client::decode::<GsmNetworks>(client.get("/v1/gsm")?)?.gsm
    };
    Ok(json!(of_rule(networks, args.rule.as_deref())))
}

/// Those of this rule, or all; by network, and of each the newest first, as the API has them.
fn of_rule(networks: Vec<GsmNetwork>, rule: Option<&str>) -> NetworkFindings {
    let mut firewall = Vec::new();
    for network in networks {
        let hits = network.firewall.into_iter();
        let hits = hits.filter(|hit| rule.is_none_or(|rule| hit.rule == rule));
        firewall.extend(hits.map(|hit| NetworkFinding {
            gsm: network.name.clone(),
            hit,
        }));
    }
    NetworkFindings { firewall }
}

fn page(found: &NetworkFindings) -> OutputPage {
    let table = table_of!(&found.firewall, |NetworkFinding { gsm, hit }| {
        let nodes: Vec<String> = hit.nodes.iter().map(ToString::to_string).collect();
        "network" => gsm.clone(),
        "last" [4] => TableCell::time(hit.at.as_deref()),
        "rule" => hit.rule.clone(),
        "action" => hit.action.clone(),
        "error" [2] => hit.error.map(|error| error.to_string()),
        "operation" [5] => hit.operation.clone(),
        "global title" => hit.calling.clone(),
        "service centre" [1] => hit.service_centre.clone(),
        "subscriber" [7] => hit.subscriber.clone(),
        "sender" [6] => hit.originator.clone(),
        "count" => TableCell::number(hit.count),
        "nodes" [3] => nodes.join(", "),
    });
    OutputPage::list(table, "no firewall has found anything that fits lately")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Resource;
    use crate::cli::client::Screen;
    use crate::cli::parsed;
    use crate::pb::{FirewallFinding, OperatorView};

    fn finding(rule: &str, error: u32) -> FirewallFinding {
        FirewallFinding {
            at: 1_764_000_000_000,
            rule: rule.to_owned(),
            action: "block".to_owned(),
            error,
            operation: "mo-ForwardSM".to_owned(),
            calling: "43664000001".to_owned(),
            subscriber: "4916*****01".to_owned(),
            count: 1_234,
            nodes: vec![0, 2],
            ..FirewallFinding::default()
        }
    }

    fn network(name: &str, findings: Vec<FirewallFinding>) -> GsmNetwork {
        let resource = Resource {
            name: name.to_owned(),
            version: 1,
            settings: Value::Null,
        };
        let live = OperatorView {
            findings,
            ..OperatorView::default()
        };
        GsmNetwork::new(resource, Some(live))
    }

    #[test]
    fn shows_who_was_found_by_which_rule_and_nodes() {
        let found = of_rule(
            vec![network("ss7", vec![finding("spoofed", 21)])],
            Some("spoofed"),
        );
        let page = page(&found);
        let text = page.render(Screen::default());
        for part in [
            "ss7",
            "spoofed",
            "block",
            "21",
            "mo-ForwardSM",
            "43664000001",
            "4916*****01",
            "1,234",
            "0, 2",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let csv = page.csv().unwrap_or_default();
        let titles = "network,last,rule,action,error,operation,global_title,service_centre,subscriber,sender,count,nodes\n";
        assert!(csv.starts_with(titles), "{csv}");
    }

    #[test]
    fn lists_all_networks_or_what_one_rule_has_found() {
        let networks = || {
            vec![
                network("home", vec![finding("title", 0), finding("spoofed", 21)]),
                network("quiet", Vec::new()),
                network("other", vec![finding("spoofed", 21)]),
            ]
        };
        let brief = |rule: Option<&str>| -> Vec<String> {
            let found = of_rule(networks(), rule).firewall.into_iter();
            found
                .map(|one| format!("{} {}", one.gsm, one.hit.rule))
                .collect()
        };
        assert_eq!(brief(None), ["home title", "home spoofed", "other spoofed"]);
        assert_eq!(brief(Some("spoofed")), ["home spoofed", "other spoofed"]);
        // A line for programs has the network beside what was found.
        let json = json!(of_rule(networks(), Some("title")));
        assert_eq!(json["firewall"][0]["gsm"], "home");
        assert_eq!(json["firewall"][0]["error"], Value::Null);
        let read: NetworkFindings = client::decode(json).unwrap();
        assert_eq!(read.firewall.len(), 1);
        let none = page(&of_rule(networks(), Some("operation"))).render(Screen::default());
        assert!(none.contains("no firewall has found"), "{none}");
    }

    #[test]
    fn a_rule_that_there_is_none_of_is_refused() {
        let read = |line: &[&str]| parsed::<FirewallListArgs>(line);
        assert!(read(&["list", "home", "--rule", "other_network"]).is_ok());
        assert!(read(&["list", "--rule", "spoofing"]).is_err());
    }
}
