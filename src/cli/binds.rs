//! `smsc bind`: operators and SMPP sessions, and the end of one.

use anyhow::bail;

use super::client::{
    self, AdminApiError, CommandOutput, Listing, OutputPage, OutputTable, TableCell, table_of,
};
use super::exit::WrongCommandLine;
use crate::api::{Bind, Binds, Done, Operator, Operators};

/// What to do with binds.
#[derive(Debug, clap::Subcommand)]
pub enum BindSubcommand {
    /// Show operators and binds.
    List {
        /// Only this operator's or account's binds, or one bind by its number: 0/17.
        name: Option<String>,
        #[command(flatten)]
        listing: Listing,
    },
    /// End one bind; an ESME may bind again, and one to an operator is made again.
    Disconnect {
        /// Its number, as the list shows it: 0/17.
        number: String,
        #[command(flatten)]
        telling: CommandOutput,
    },
}

/// Runs the command.
///
/// # Errors
/// The SMSC cannot be reached, or it refuses.
pub fn run(order: BindSubcommand) -> anyhow::Result<()> {
    match order {
        BindSubcommand::List { name, listing } => list(name.as_deref(), &listing),
        BindSubcommand::Disconnect { number, telling } => disconnect(&number, &telling),
    }
}

fn list(name: Option<&str>, listing: &Listing) -> anyhow::Result<()> {
    listing.show_all(
        |client| {
            let operators = client.get("/v1/operators")?;
            let binds = client.get("/v1/binds")?;
            Ok(serde_json::json!({
                "operators": operators["operators"],
                "binds": binds["binds"],
            }))
        },
        |json| page(json, name),
    )
}

fn disconnect(number: &str, telling: &CommandOutput) -> anyhow::Result<()> {
    let Some((node, session)) = number.split_once('/') else {
        bail!(WrongCommandLine(format!(
            "which bind of {number}? Give its number, as smsc bind list {number} shows it: 0/17"
        )));
    };
    let (node, session) = (client::segment(node), client::segment(session));
    let path = format!("/v1/binds/{node}/{session}/disconnect");
    let json = telling.open()?.post(&path)?;
    telling.done(json, |_: Done| format!("bind {number} is being unbound"))
}

/// Operators and binds; only those of this name or number, if there is one.
fn page(json: serde_json::Value, name: Option<&str>) -> anyhow::Result<OutputPage> {
    let mut operators = client::decode::<Operators>(json.clone())?.operators;
    let mut binds = client::decode::<Binds>(json)?.binds;
    if let Some(name) = name {
        operators.retain(|operator| operator.id == name);
        binds.retain(|bind| bind.name == name || number(bind) == name);
        if operators.is_empty() && binds.is_empty() {
            bail!(AdminApiError::NotFound(format!(
                "there is no operator {name:?}, and no account of this name is bound"
            )));
        }
    }
    let page = if operators.is_empty() {
        OutputPage::default()
    } else {
        OutputPage::default().aside(operator_table(&operators))
    };
    Ok(page.table(bind_table(&binds)))
}

/// The state of operators, for `smsc operator list` too.
pub(super) fn operator_table(operators: &[Operator]) -> OutputTable {
    table_of!(operators, |operator| {
        let waiting = operator
            .queue
            .as_ref()
            .map_or(0, |queue| queue.waiting + queue.scheduled);
        "operator" => operator.id.clone(),
        "address" [2] => operator.address.clone(),
        "state" => TableCell::state(standing(operator)),
        "binds" => TableCell::right(format!("{}/{}", operator.bound, operator.configured)),
        "by node" [1] => shares(operator),
        "waiting" => TableCell::number(waiting),
        "last error" [3] => operator.last_error.clone(),
    })
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

/// As attempts and the log write it.
fn number(bind: &Bind) -> String {
    format!("{}/{}", bind.node, bind.session)
}

/// A row for each; for `smsc why` too.
pub(super) fn bind_table(binds: &[Bind]) -> OutputTable {
    table_of!(binds, |bind| {
        let since = bind.since.as_deref();
        "bind" => bind.name.clone(),
        "number" [8] => number(bind),
        "side" [7] => bind.direction.clone(),
        "type" [2] => bind.bind_type.clone(),
        "state" => TableCell::state(state(bind)),
        "peer" [5] => bind.peer.clone(),
        "for" [1] => TableCell::ago(since.filter(|_| bind.state == "bound")),
        "in flight" => TableCell::right(format!("{}/{}", bind.in_flight, bind.window)),
        "received" [3] => TableCell::number(bind.received_total),
        "sent" [4] => TableCell::number(bind.sent_total),
        "errors" [6] => TableCell::number(bind.errors_total),
    })
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
    use crate::pb::{BindDirection, BindSnapshot, BindState, OperatorView, QueueSnapshot};

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
        let text = OutputPage::from(table).render(Screen::default());
        assert!(text.contains("up, failback"), "{text}");
    }

    #[test]
    fn shows_operators_and_binds() {
        let bind = Bind::from(BindSnapshot {
            name: "up".to_owned(),
            direction: BindDirection::Out.into(),
            state: BindState::Paused.into(),
            node: 2,
            session: 17,
            window: 500,
            in_flight: 3,
            ..BindSnapshot::default()
        });
        let text = OutputPage::from(bind_table(&[bind])).render(Screen::default());
        assert!(
            ["paused, resume it", "3/500", "2/17"]
                .iter()
                .all(|part| text.contains(part)),
            "{text}"
        );
        let table = operator_table(&[Operator::from(OperatorView {
            id: "up".to_owned(),
            bound: 1,
            configured: 2,
            last_error: "connect: refused".to_owned(),
            ..OperatorView::default()
        })]);
        let text = OutputPage::from(table).render(Screen::default());
        assert!(text.contains("partly up") && text.contains("1/2"), "{text}");
        assert!(text.contains("connect: refused"), "{text}");
    }
}
