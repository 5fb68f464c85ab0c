//! `smsc route explain`: why a message to a number would go where.

use clap::Subcommand;

use super::client::{self, Connection};
use crate::api::Explanation;

/// Arguments of `smsc route`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show every step of the decision for a message to a number.
    Explain {
        /// Destination.
        number: String,
        /// Source address of the message.
        #[arg(long, value_name = "ADDRESS", default_value = "")]
        from: String,
        /// The account that sends it.
        #[arg(long, value_name = "SYSTEM_ID", default_value = "")]
        account: String,
        /// The operator that brings it, for a mobile-originated message.
        #[arg(
            long,
            value_name = "ID",
            default_value = "",
            conflicts_with = "account"
        )]
        operator: String,
        /// The network that the number belongs to, instead of what the SMSC knows of it.
        #[arg(long, value_name = "NETWORK", default_value = "")]
        network: String,
        #[command(flatten)]
        connection: Connection,
    },
}

/// Runs the command.
///
/// # Errors
/// The SMSC cannot be reached, or it refuses.
pub fn run(args: Args) -> anyhow::Result<()> {
    let Command::Explain {
        number,
        from,
        account,
        operator,
        network,
        connection,
    } = &args.command;
    let (kind, sender) = match operator.is_empty() {
        true => ("account", account),
        false => ("operator", operator),
    };
    let answer = connection.open()?.get(&format!(
        "/v1/routes/explain?to={}&from={}&{kind}={}&network={}",
        client::segment(number),
        client::segment(from),
        client::segment(sender),
        client::segment(network)
    ))?;
    if connection.json {
        return client::print_json(&answer);
    }
    client::print_line(&render(&client::decode(answer)?))
}

fn render(explained: &Explanation) -> String {
    let mut lines = vec![format!("to {}", explained.to)];
    if let Some(operator) = &explained.operator
        && !explained.account_is_known
    {
        lines.push(format!("there is no operator {operator:?}"));
    }
    if !explained.account.is_empty() && !explained.account_is_known {
        lines.push(format!(
            "there is no account {:?} that may bind",
            explained.account
        ));
    }
    if let Some(network) = &explained.network {
        lines.push(format!("it belongs to the network {network}"));
    } else if explained.looked_up {
        lines.push(
            "its network is looked up first; below is what holds without one (--network)"
                .to_owned(),
        );
    }
    for (at, route) in explained.matching.iter().enumerate() {
        let mark = if at == 0 { "*" } else { " " };
        lines.push(format!(
            "{mark} {}  {}  ({})",
            route.name, route.route, route.why
        ));
    }
    for route in &explained.not_matching {
        lines.push(format!(
            "- {}  {}  ({})",
            route.name, route.route, route.why
        ));
    }
    if explained.others > 0 {
        lines.push(format!(
            "  {} more routes are for other destinations",
            explained.others
        ));
    }
    for target in &explained.targets {
        let ready = if target.available {
            "available"
        } else {
            "not available"
        };
        lines.push(format!(
            "{}. {} (weight {}): {ready}; {}",
            target.step, target.target, target.weight, target.state
        ));
    }
    lines.push(match explained.goes_to.as_slice() {
        [] => format!(
            "refused: no route; the answer is {}",
            explained.no_route_status
        ),
        [only] => format!("goes to {only}"),
        several => format!("goes to {}, by weight", several.join(" or ")),
    });
    if let Some(account) = &explained.mobile_originated_to {
        lines.push(format!(
            "a mobile-originated message goes to the account {account} instead"
        ));
    }
    lines.join("\n")
}
