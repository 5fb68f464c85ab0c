//! Incidents: listed for people, and acknowledged by them.
//!
//! Called by the Admin actor. Each node keeps a row of what it has found; those of one time about the same thing are shown as one,
//! with the id of the oldest. It goes on while it does for any node. For one that has not found it for long, because it died, it
//! has ended.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::context::AdminContext;
use crate::actors::context::NodeContext;
use crate::actors::control::incidents;
use crate::actors::orders::audit;
use crate::api::{Incident, Incidents, time};
use crate::clock;
use crate::pb::{Commanded, Refusal};
use crate::store::incidents::IncidentRow;

/// The end of what goes on.
const GOES_ON: i64 = i64::MAX;

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
    Ok(Commanded::done(count))
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
    let (own, silent_since) = (node.ids.node(), silent_since(node));
    let rows = node.outcomes.incidents.get();
    let rows = rows.iter().filter(|row| row.node == own);
    rows.filter(|row| end_of(row, silent_since) == GOES_ON)
        .map(|row| view(row, GOES_ON))
        .collect()
}

/// What was last found before this time, Unix milliseconds, has ended.
fn silent_since(node: &NodeContext) -> i64 {
    clock::now_ms() - incidents::silent_ms(&node.config().incidents)
}

/// The rows of all nodes, as people see them: what nodes have found at one time is one incident. Those that need a look come first,
/// then the newest.
fn merged(rows: &[IncidentRow], silent_since: i64) -> Vec<Incident> {
    let mut alike: BTreeMap<(&str, &str), Vec<&IncidentRow>> = BTreeMap::new();
    for row in rows {
        let about = (row.about.as_str(), row.kind.as_str());
        alike.entry(about).or_default().push(row);
    }
    let mut all = Vec::new();
    for mut rows in alike.into_values() {
        rows.sort_by_key(|row| row.began_at);
        // With the end of each.
        let mut found: Vec<(i64, Vec<&IncidentRow>)> = Vec::new();
        for row in rows {
            let end = end_of(row, silent_since);
            match found.last_mut() {
                Some((until, together)) if row.began_at <= *until => {
                    *until = end.max(*until);
                    together.push(row);
                }
                _ => found.push((end, vec![row])),
            }
        }
        let found = found.into_iter();
        all.extend(found.filter_map(|(end, rows)| one_of(rows, end, silent_since)));
    }
    all.sort_by_key(|(newest, one)| {
        let is_known = one.acknowledged_at.is_some();
        (one.ended_at.is_some(), is_known, Reverse(*newest))
    });
    all.into_iter().map(|(_, one)| one).collect()
}

/// The incident that these rows are about, with the id of the newest of them.
fn one_of(mut rows: Vec<&IncidentRow>, end: i64, silent_since: i64) -> Option<(u64, Incident)> {
    rows.sort_by_key(|row| Reverse(row.id));
    let last = rows
        .iter()
        .max_by_key(|row| (end_of(row, silent_since), row.id))?;
    let mut nodes: Vec<u32> = Vec::new();
    for row in &rows {
        let node = row.node.into();
        if !nodes.contains(&node) {
            nodes.push(node);
        }
    }
    let known = rows.iter().filter(|row| row.acknowledged_at != 0);
    let known = known.min_by_key(|row| row.acknowledged_at);
    let incident = Incident {
        id: rows.last()?.id.to_string(),
        nodes,
        began_at: time(rows.iter().map(|row| row.began_at).min()?),
        acknowledged_by: known.map(|row| row.acknowledged_by.clone()),
        acknowledged_at: known.and_then(|row| time(row.acknowledged_at)),
        ..view(last, end)
    };
    Some((rows.first()?.id, incident))
}

/// When what its node has found ended, Unix milliseconds.
fn end_of(row: &IncidentRow, silent_since: i64) -> i64 {
    match row.ended_at {
        0 if row.seen_at >= silent_since => GOES_ON,
        0 => row.seen_at,
        ended_at => ended_at,
    }
}

fn view(row: &IncidentRow, end: i64) -> Incident {
    Incident {
        id: row.id.to_string(),
        about: row.about.clone(),
        kind: row.kind.clone(),
        text: row.text.clone(),
        cause: row.cause.clone(),
        nodes: vec![row.node.into()],
        began_at: time(row.began_at),
        ended_at: (end != GOES_ON).then_some(end).and_then(time),
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
        let other = IncidentRow {
            began_at: 46_000,
            ..row(9, 2, "operator:a")
        };
        let known = IncidentRow {
            began_at: 45_000,
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
        let rows = [other, row(7, 1, "account:c"), known, ended, silent];
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

    #[test]
    fn an_incident_goes_on_while_it_does_for_any_node_and_is_one_when_it_has_ended() {
        let on = |id, node, began_at, ended_at| IncidentRow {
            began_at,
            ended_at,
            seen_at: 50_000,
            ..row(id, node, "operator:a")
        };
        let brief = |rows: &[IncidentRow]| -> Vec<(String, Vec<u32>, Option<String>)> {
            let all = merged(rows, 30_000).into_iter();
            all.map(|one| (one.id, one.nodes, one.ended_at)).collect()
        };
        let first = on(5, 1, 10_000, 30_000);
        let goes_on = [on(9, 2, 20_000, 0), first.clone()];
        assert_eq!(brief(&goes_on), [("5".to_owned(), vec![2, 1], None)]);
        let over = [
            on(12, 1, 45_000, 50_000),
            on(9, 2, 20_000, 40_000),
            // The first node found it once more, while the other one did all the time.
            on(8, 1, 35_000, 38_000),
            first,
        ];
        let expected = [
            ("12".to_owned(), vec![1], time(50_000)),
            ("5".to_owned(), vec![2, 1], time(40_000)),
        ];
        assert_eq!(brief(&over), expected);
    }
}
