//! Incidents: listed for people, and acknowledged by them.
//!
//! Called by the Admin actor. Each node keeps a row of what it has found; open ones about the same thing are shown as one, with
//! the id of the oldest. One whose node has not found it for long, because it died, has ended.

use std::collections::HashMap;
use std::sync::Arc;

use super::context::AdminContext;
use crate::actors::context::NodeContext;
use crate::actors::control::incidents;
use crate::actors::orders::audit;
use crate::api::{Incident, Incidents, time};
use crate::clock;
use crate::pb::{Commanded, Refusal};
use crate::store::incidents::IncidentRow;

/// After so many windows and looks without a word of its node an incident has ended.
const SILENT: u32 = 4;

/// Incidents, those that need a look first.
pub async fn list(admin: Arc<AdminContext>) -> Result<Incidents, Refusal> {
    let rows = admin.node.store.incidents().await?;
    Ok(Incidents {
        incidents: merged(&rows, silent_since(&admin.node)),
    })
}

/// Somebody knows of an incident: until it ends, it needs no look.
pub async fn acknowledge(
    admin: Arc<AdminContext>,
    id: String,
    by: String,
) -> Result<Commanded, Refusal> {
    let result = acknowledged(&admin.node, &id, &by).await;
    audit(&by, "acknowledge", &format!("incident {id}"), &result);
    result
}

async fn acknowledged(node: &NodeContext, id: &str, by: &str) -> Result<Commanded, Refusal> {
    let rows = node.store.incidents().await?;
    let found = merged(&rows, silent_since(node));
    let Some(incident) = found.into_iter().find(|incident| incident.id == id) else {
        return Err(Refusal::not_found(format!(
            "there is no incident {id}; GET /v1/incidents lists them"
        )));
    };
    if incident.ended_at.is_some() {
        return Err(Refusal::conflict(format!("incident {id} has ended")));
    }
    let Incident { about, kind, .. } = incident;
    let at = clock::now_ms();
    let done = node
        .store
        .acknowledge_incidents(about, kind, by.to_owned(), at);
    let count = done.await?;
    incidents::publish(node).await?;
    Ok(Commanded {
        count,
        pending: false,
    })
}

/// Open incidents, as they were last published.
pub(super) fn that_go_on(node: &NodeContext) -> impl Iterator<Item = Incident> + use<> {
    let rows = node.outcomes.incidents.get();
    let all = merged(&rows, silent_since(node)).into_iter();
    all.filter(|one| one.ended_at.is_none())
}

/// Those of them that nobody has acknowledged.
pub(super) fn needing_a_look(node: &NodeContext) -> Vec<Incident> {
    that_go_on(node)
        .filter(|one| one.acknowledged_at.is_none())
        .collect()
}

/// Open incidents that this node has found.
pub(super) fn of_this_node(node: &NodeContext) -> Vec<Incident> {
    let own = node.ids.node();
    let rows = node.outcomes.incidents.get();
    let rows = rows.iter();
    rows.filter(|row| row.node == own && row.ended_at == 0)
        .map(|row| view(row, true))
        .collect()
}

/// What was last found before this time, Unix milliseconds, has ended.
fn silent_since(node: &NodeContext) -> i64 {
    let config = node.config();
    let settings = &config.incidents;
    let silent = (settings.window + settings.look_every) * SILENT;
    clock::now_ms() - silent.as_millis() as i64
}

/// The rows of all nodes, the newest first, as people see them.
fn merged(rows: &[IncidentRow], silent_since: i64) -> Vec<Incident> {
    let mut all: Vec<Incident> = Vec::new();
    // Where those that go on are: there are many when many operators fail together.
    let mut open: HashMap<(&str, &str), usize> = HashMap::new();
    for row in rows {
        let is_open = row.ended_at == 0 && row.seen_at >= silent_since;
        let own = view(row, is_open);
        let about = (row.about.as_str(), row.kind.as_str());
        let alike = open.get(&about).copied().filter(|_| is_open);
        match alike {
            // An older row: of another node, or of the time before the clock was set.
            Some(place) => {
                let one = &mut all[place];
                one.id = own.id;
                one.began_at = own.began_at;
                one.nodes.extend(own.nodes);
                if own.acknowledged_at.is_some() {
                    one.acknowledged_by = own.acknowledged_by;
                    one.acknowledged_at = own.acknowledged_at;
                }
            }
            None => {
                if is_open {
                    open.insert(about, all.len());
                }
                all.push(own);
            }
        }
    }
    all.sort_by_key(|one| (one.ended_at.is_some(), one.acknowledged_at.is_some()));
    all
}

fn view(row: &IncidentRow, is_open: bool) -> Incident {
    let ended_at = if row.ended_at == 0 {
        row.seen_at
    } else {
        row.ended_at
    };
    Incident {
        id: row.id.to_string(),
        about: row.about.clone(),
        kind: row.kind.clone(),
        text: row.text.clone(),
        cause: row.cause.clone(),
        nodes: vec![row.node.into()],
        began_at: time(row.began_at),
        ended_at: if is_open { None } else { time(ended_at) },
        acknowledged_by: (row.acknowledged_at != 0).then(|| row.acknowledged_by.clone()),
        acknowledged_at: time(row.acknowledged_at),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(id: u64, node: u8, about: &str) -> IncidentRow {
        IncidentRow {
            id,
            node,
            about: about.to_owned(),
            kind: "refused".to_owned(),
            began_at: 1_000,
            seen_at: 50_000,
            ..IncidentRow::default()
        }
    }

    #[test]
    fn what_several_nodes_have_found_is_one_incident_that_one_acknowledges() {
        let known = IncidentRow {
            acknowledged_by: "anna".to_owned(),
            acknowledged_at: 60_000,
            ..row(5, 1, "operator:a")
        };
        let ended = IncidentRow {
            ended_at: 40_000,
            ..row(4, 1, "operator:a")
        };
        let silent = IncidentRow {
            seen_at: 20_000,
            ..row(3, 3, "operator:b")
        };
        let rows = [
            row(9, 2, "operator:a"),
            row(7, 1, "account:c"),
            known,
            ended,
            silent,
        ];
        let all = merged(&rows, 30_000);
        let brief: Vec<_> = all
            .iter()
            .map(|one| (&*one.id, &*one.nodes, one.acknowledged_by.as_deref()))
            .collect();
        let expected: [(&str, &[u32], Option<&str>); 4] = [
            ("7", &[1], None),
            ("5", &[2, 1], Some("anna")),
            ("4", &[1], None),
            ("3", &[3], None),
        ];
        assert_eq!(brief, expected);
        let ends: Vec<_> = all.iter().map(|one| one.ended_at.is_some()).collect();
        assert_eq!(ends, [false, false, true, true]);
    }
}
