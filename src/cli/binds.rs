//! `smsc binds`: operators and SMPP sessions; with an operator and a command, commands its binds.

use super::client::{self, Cell, Listing, Page, Table};
use crate::api::{Bind, Binds, Done, Operator, Operators};

/// Arguments of `smsc binds`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only this operator's or account's binds.
    name: Option<String>,
    /// Command for every bind of the operator.
    #[arg(value_enum, requires = "name")]
    command: Option<Order>,
    #[command(flatten)]
    listing: Listing,
}

/// Commands for an operator's binds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Order {
    /// Unbind and bind again, also those that are paused.
    Rebind,
    /// Leave the paused state (after a wrong password, after suspend).
    Resume,
    /// Unbind and stay down until resumed.
    Suspend,
}

/// Runs the command.
///
/// # Errors
/// The SMSC cannot be reached, or it refuses.
pub fn run(args: Args) -> anyhow::Result<()> {
    if let (Some(name), Some(order)) = (&args.name, args.command) {
        let (verb, said) = match order {
            Order::Rebind => ("rebind", "bind again"),
            Order::Resume => ("resume", "are resumed"),
            Order::Suspend => ("suspend", "are suspended"),
        };
        let path = format!("/v1/operators/{}/{verb}", client::segment(name));
        let json = args.listing.open()?.post(&path)?;
        return args.listing.done(json, |done: Done| match done.count {
            0 => format!("{name}: no bind needed it"),
            count => format!("{name}: {count} binds {said}"),
        });
    }
    args.listing.show_all(
        |client| {
            let operators = client.get("/v1/operators")?;
            let binds = client.get("/v1/binds")?;
            Ok(serde_json::json!({
                "operators": operators["operators"],
                "binds": binds["binds"],
            }))
        },
        |json| page(json, args.name.as_deref()),
    )
}

/// Operators and binds; only those of this name, if there is one.
fn page(json: serde_json::Value, name: Option<&str>) -> anyhow::Result<Page> {
    let mut operators = client::decode::<Operators>(json.clone())?.operators;
    let mut binds = client::decode::<Binds>(json)?.binds;
    if let Some(name) = name {
        operators.retain(|operator| operator.id == name);
        binds.retain(|bind| bind.name == name);
        if operators.is_empty() && binds.is_empty() {
            anyhow::bail!("there is no operator {name:?}, and no account of this name is bound");
        }
    }
    let page = match operators.is_empty() {
        true => Page::default(),
        false => Page::default().aside(operator_table(&operators)),
    };
    Ok(page.table(bind_table(&binds)))
}

/// The state of operators, for `smsc operator list` too.
pub(super) fn operator_table(operators: &[Operator]) -> Table {
    let mut table = Table::new(&[
        "operator",
        "address",
        "state",
        "binds",
        "by node",
        "waiting",
        "last error",
    ])
    .dropping(&["by node", "address", "last error"]);
    for operator in operators {
        let waiting = operator
            .queue
            .as_ref()
            .map_or(0, |queue| queue.waiting + queue.scheduled);
        table.row([
            Cell::from(operator.id.clone()),
            operator.address.clone().into(),
            Cell::state(standing(operator)),
            Cell::right(format!("{}/{}", operator.bound, operator.configured)),
            shares(operator).into(),
            Cell::number(waiting),
            operator.last_error.clone().into(),
        ]);
    }
    table
}

/// The state, and whether it is back and not used yet.
fn standing(operator: &Operator) -> String {
    match operator.health.status.as_str() {
        "FAILBACK" => format!("{}, failback", operator.state),
        _ => operator.state.clone(),
    }
}

/// The binds that are up, by node: `0: 1, 2: 1`; nothing with the embedded store.
fn shares(operator: &Operator) -> String {
    let shares = operator.nodes.iter();
    let shares: Vec<String> = shares
        .map(|share| format!("{}: {}", share.node, share.bound))
        .collect();
    shares.join(", ")
}

fn bind_table(binds: &[Bind]) -> Table {
    let mut table = Table::new(&[
        "bind",
        "side",
        "type",
        "state",
        "peer",
        "for",
        "in flight",
        "received",
        "sent",
        "errors",
    ])
    .dropping(&["for", "type", "received", "sent", "peer", "errors", "side"]);
    for bind in binds {
        let since = bind.since.as_deref();
        table.row([
            Cell::from(bind.name.clone()),
            bind.direction.clone().into(),
            bind.bind_type.clone().into(),
            Cell::state(state(bind)),
            bind.peer.clone().into(),
            Cell::ago(since.filter(|_| bind.state == "bound")),
            Cell::right(format!("{}/{}", bind.in_flight, bind.window)),
            Cell::number(bind.received_total),
            Cell::number(bind.sent_total),
            Cell::number(bind.errors_total),
        ]);
    }
    table
}

/// The state, and when a lost bind is tried again.
fn state(bind: &Bind) -> String {
    match bind.state.as_str() {
        "waiting" => {
            let again = client::ahead(bind.next_reconnect_at.as_deref());
            format!("waiting, again {again}").trim_end().to_owned()
        }
        "paused" if bind.direction == "callback" => "queue suspended".to_owned(),
        "paused" => "paused, resume it".to_owned(),
        "standby" => "another node is connected".to_owned(),
        other => other.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::client::Screen;
    use crate::pb::{BindSnapshot, BindState, OperatorView, QueueSnapshot};

    #[test]
    fn an_operator_that_is_back_and_not_used_yet_is_shown() {
        let table = operator_table(&[Operator::from(OperatorView {
            bound: 1,
            configured: 1,
            queue: Some(QueueSnapshot {
                returning: true,
                ..QueueSnapshot::default()
            }),
            ..OperatorView::default()
        })]);
        let text = Page::from(table).render(Screen::default());
        assert!(text.contains("up, failback"), "{text}");
    }

    #[test]
    fn shows_operators_and_binds() {
        let bind = Bind::from(BindSnapshot {
            name: "up".to_owned(),
            direction: "out".to_owned(),
            state: BindState::Paused.into(),
            window: 500,
            in_flight: 3,
            ..BindSnapshot::default()
        });
        let text = Page::from(bind_table(&[bind])).render(Screen::default());
        assert!(
            text.contains("paused, resume it") && text.contains("3/500"),
            "{text}"
        );
        let table = operator_table(&[Operator::from(OperatorView {
            id: "up".to_owned(),
            bound: 1,
            configured: 2,
            last_error: "connect: refused".to_owned(),
            ..OperatorView::default()
        })]);
        let text = Page::from(table).render(Screen::default());
        assert!(text.contains("partly up") && text.contains("1/2"), "{text}");
        assert!(text.contains("connect: refused"), "{text}");
    }
}
