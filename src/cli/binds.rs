//! `smsc binds`: operators and SMPP sessions; with an operator and a command, commands its binds.

use comfy_table::CellAlignment;

use super::client::{self, Connection};
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
    connection: Connection,
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
    let client = args.connection.open()?;
    if let (Some(name), Some(order)) = (&args.name, args.command) {
        let (verb, said) = match order {
            Order::Rebind => ("rebind", "bind again"),
            Order::Resume => ("resume", "are resumed"),
            Order::Suspend => ("suspend", "are suspended"),
        };
        let json = client.post(&format!("/v1/operators/{}/{verb}", client::segment(name)))?;
        if args.connection.json {
            return client::print_json(&json);
        }
        let done: Done = client::decode(json)?;
        return client::print_line(&match done.count {
            0 => format!("{name}: no bind needed it"),
            count => format!("{name}: {count} binds {said}"),
        });
    }
    let operators = client.get("/v1/operators")?;
    let binds = client.get("/v1/binds")?;
    if args.connection.json {
        return client::print_json(&serde_json::json!({
            "operators": operators["operators"],
            "binds": binds["binds"],
        }));
    }
    let mut operators = client::decode::<Operators>(operators)?.operators;
    let mut binds = client::decode::<Binds>(binds)?.binds;
    if let Some(name) = &args.name {
        operators.retain(|operator| operator.id == *name);
        binds.retain(|bind| bind.name == *name);
        if operators.is_empty() && binds.is_empty() {
            anyhow::bail!("there is no operator {name:?}, and no account of this name is bound");
        }
    }
    if !operators.is_empty() {
        client::print_line(&render_operators(&operators))?;
    }
    client::print_line(&render_binds(&binds))
}

fn render_operators(operators: &[Operator]) -> String {
    let mut table = client::table(&[
        "operator",
        "address",
        "state",
        "binds",
        "by node",
        "waiting",
        "last error",
    ]);
    for operator in operators {
        let waiting = operator
            .queue
            .as_ref()
            .map_or(0, |queue| queue.waiting + queue.scheduled);
        table.add_row([
            operator.id.clone(),
            operator.address.clone(),
            standing(operator),
            format!("{}/{}", operator.bound, operator.configured),
            shares(operator),
            client::number(waiting),
            operator.last_error.clone(),
        ]);
    }
    align_right(&mut table, &[3, 5]);
    table.to_string()
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

fn render_binds(binds: &[Bind]) -> String {
    let mut table = client::table(&[
        "bind",
        "",
        "type",
        "state",
        "peer",
        "for",
        "in flight",
        "received",
        "sent",
        "errors",
    ]);
    for bind in binds {
        table.add_row([
            bind.name.clone(),
            bind.direction.clone(),
            bind.bind_type.clone(),
            state(bind),
            bind.peer.clone(),
            match bind.state.as_str() {
                "bound" => client::ago(bind.since.as_deref()),
                _ => String::new(),
            },
            format!("{}/{}", bind.in_flight, bind.window),
            client::number(bind.received_total),
            client::number(bind.sent_total),
            client::number(bind.errors_total),
        ]);
    }
    align_right(&mut table, &[6, 7, 8, 9]);
    table.to_string()
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

fn align_right(table: &mut comfy_table::Table, columns: &[usize]) {
    for column in columns {
        if let Some(column) = table.column_mut(*column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pb::{BindSnapshot, BindState, OperatorView, QueueSnapshot};

    #[test]
    fn an_operator_that_is_back_and_not_used_yet_is_shown() {
        let text = render_operators(&[Operator::from(OperatorView {
            bound: 1,
            configured: 1,
            queue: Some(QueueSnapshot {
                returning: true,
                ..QueueSnapshot::default()
            }),
            ..OperatorView::default()
        })]);
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
        let text = render_binds(&[bind]);
        assert!(
            text.contains("paused, resume it") && text.contains("3/500"),
            "{text}"
        );
        let text = render_operators(&[Operator::from(OperatorView {
            id: "up".to_owned(),
            bound: 1,
            configured: 2,
            last_error: "connect: refused".to_owned(),
            ..OperatorView::default()
        })]);
        assert!(text.contains("partly up") && text.contains("1/2"), "{text}");
        assert!(text.contains("connect: refused"), "{text}");
    }
}
