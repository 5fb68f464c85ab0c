//! `smsc route`: routes as resources, and why a message to a number would go where; with `--mo`, which rule takes it.

use super::client::{self, Listing, OutputPage};
use super::resource;
use crate::api::{Explanation, ImsiState, MoExplanation, Planned};
use crate::domain::settings::ResourceKind;

/// What to do with routes.
#[derive(Debug, clap::Subcommand)]
pub enum RouteCommand {
    #[command(flatten)]
    Resource(resource::ResourceCommand),
    /// Show every step of the decision for a message to a number.
    Explain(ExplainRouteArgs),
}

/// Arguments of `smsc route explain`.
#[derive(Debug, clap::Args)]
pub struct ExplainRouteArgs {
    /// Destination.
    number: String,
    /// Source address of the message.
    #[arg(long, value_name = "ADDRESS", default_value = "")]
    from: String,
    /// The account that sends it.
    #[arg(long, value_name = "SYSTEM_ID", default_value = "")]
    account: String,
    /// The operator that brings it, for an MO message.
    #[arg(
        long,
        value_name = "ID",
        default_value = "",
        conflicts_with = "account"
    )]
    operator: String,
    /// Show which `[[mo_rule]]` takes an MO message to this address.
    #[arg(long, requires = "operator", conflicts_with = "network")]
    mo: bool,
    /// The text of the MO message.
    #[arg(long, requires = "mo")]
    text: Option<String>,
    /// The network of the number, instead of the known one.
    #[arg(long, value_name = "NETWORK", default_value = "")]
    network: String,
    #[command(flatten)]
    listing: Listing,
}

/// Runs the command.
///
/// # Errors
/// The SMSC cannot be reached, or it refuses.
pub fn run(order: RouteCommand) -> anyhow::Result<()> {
    match order {
        RouteCommand::Resource(order) => resource::run(ResourceKind::Route, order),
        RouteCommand::Explain(args) => explain(&args),
    }
}

fn explain(args: &ExplainRouteArgs) -> anyhow::Result<()> {
    let (kind, sender) = if args.mo || !args.operator.is_empty() {
        ("operator", &args.operator)
    } else {
        ("account", &args.account)
    };
    let [to, from, sender, network] =
        [&args.number, &args.from, sender, &args.network].map(|text| client::segment(text));
    let query = format!("explain?to={to}&from={from}&{kind}={sender}");
    if args.mo {
        let path = client::with_given(format!("/v1/mo-rules/{query}"), &[("text", &args.text)]);
        return args.listing.show(&path, |found: MoExplanation| {
            OutputPage::default().text(render_mo(&found))
        });
    }
    let path = format!("/v1/routes/{query}&network={network}");
    args.listing.show(&path, |found: Explanation| {
        OutputPage::default().text(render(&found))
    })
}

fn render_mo(explained: &MoExplanation) -> String {
    let mut lines = vec![format!("to {}", explained.to)];
    if !explained.operator_is_known {
        lines.push(format!("there is no operator {:?}", explained.operator));
    }
    for rule in &explained.asked {
        let is_taken = Some(&rule.name) == explained.rule.as_ref();
        let mark = if is_taken { "*" } else { "-" };
        lines.push(format!(
            "{mark} {} {}  {}  ({})",
            rule.order, rule.name, rule.rule, rule.why
        ));
    }
    if explained.others > 0 {
        lines.push(format!("  {} more rules come after it", explained.others));
    }
    lines.push(explained.outcome.clone());
    if let Some(otherwise) = &explained.otherwise {
        lines.push(render(otherwise));
    }
    lines.join("\n")
}

/// In words; for `smsc why` too.
pub(super) fn render(explained: &Explanation) -> String {
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
    lines.extend(explained.imsi.map(|state| {
        let said = match state {
            ImsiState::Known => "its IMSI is known",
            ImsiState::LookedUp => "its IMSI is looked up first",
            ImsiState::Unknown => "it has no IMSI: to a GSM interface it ends UNDELIVERABLE",
        };
        said.to_owned()
    }));
    if let Some(planned) = &explained.number_plan {
        lines.push(match &planned.range {
            Some(range) => format!("number plan: {}, of the range {range}", planned.class),
            None => format!("number plan: {}, of no range", planned.class),
        });
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
    let is_missing = |planned: &Planned| !planned.exists;
    lines.push(match explained.goes_to.as_slice() {
        _ if explained.number_plan.as_ref().is_some_and(is_missing) => {
            "refused: there is no such number; the answer is ESME_RINVDSTADR".to_owned()
        }
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
