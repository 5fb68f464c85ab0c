//! What somebody should look at, with where it is and what to do: the first thing on the overview.

use super::rates::Measured;
use crate::actors::control::admin::{NodeSnapshot, Readiness};
use crate::api::{Attention, Operators};
use crate::domain::queue_name::QueueName;
use crate::pb::QueueSnapshot;

/// From this part of throttled attempts on, an operator needs a look: that of the alert SmscOperatorThrottling.
const THROTTLED: f64 = 0.05;
/// Messages that wait for longer, though they could go, need a look: that of the alert SmscQueueOld.
const OLD_MS: i64 = 15 * 60 * 1000;

/// The chapter about incidents, and the alert of those of operators.
const INCIDENT: &str = "SmscOperatorIncident";

/// Everything that is not well, the most urgent first.
pub(super) fn of(
    node: &NodeSnapshot,
    readiness: &Readiness,
    operators: &Operators,
    measured: &Measured,
    now: i64,
) -> Vec<Attention> {
    let mut all: Vec<Attention> = readiness
        .not_ready
        .iter()
        .chain(&readiness.degraded)
        .map(|text| told(text))
        .collect();
    let unused = readiness.unused_file.iter();
    all.extend(unused.map(|text| seen(text.clone(), "#/versions", "")));
    let incidents = readiness.incidents.iter();
    all.extend(incidents.map(|one| seen(one.text.clone(), "#/incidents", INCIDENT)));
    for operator in &operators.operators {
        if operator.bound > 0 && operator.bound < operator.configured {
            let text = format!(
                "operator {}: {} of {} binds are up",
                operator.id, operator.bound, operator.configured
            );
            all.push(seen(text, "#/operators", "SmscOperatorDown"));
        }
    }
    let connected = |queue: &&QueueSnapshot| QueueName::parse(&queue.name).is_connected();
    for queue in node.queues.iter().filter(connected) {
        let rates = measured
            .queues
            .get(&queue.name)
            .copied()
            .unwrap_or_default();
        if rates.throttled_share >= THROTTLED {
            let text = format!(
                "{}: {:.0} % of the attempts of the last minute were throttled",
                queue.name.replacen(':', " ", 1),
                rates.throttled_share * 100.0
            );
            all.push(seen(text, "#/operators", "SmscOperatorThrottling"));
        }
        let waits = queue.oldest_at > 0 && now - queue.oldest_at > OLD_MS;
        if waits && queue.sessions > 0 && !queue.suspended && queue.waiting > 0 {
            let text = format!(
                "queue {}: the oldest message has waited for {} minutes",
                queue.name,
                (now - queue.oldest_at) / 60_000
            );
            all.push(seen(text, "#/queues", "SmscQueueOld"));
        }
    }
    all
}

/// A sentence of readiness, which begins with what it is about.
fn told(text: &str) -> Attention {
    let (page, runbook) = match text.split([' ', ':']).next().unwrap_or_default() {
        "operator" if text.contains("paused") => ("#/operators", "SmscOperatorBindsPaused"),
        "operator" => ("#/operators", "SmscOperatorDown"),
        "queue" => ("#/queues", "SmscQueueSuspended"),
        "store" if text.contains("dead letter") => ("", "SmscDeadLetters"),
        "store" if text.contains("damaged") => ("#/damaged", "SmscStoreDamaged"),
        "store" if text.contains("back in time") => ("#/held", "SmscDatabaseWentBack"),
        "store" if text.contains("MiB free") => ("", "SmscDiskLow"),
        "store" => ("", "SmscDiskFull"),
        "clock" => ("", "SmscIdsAhead"),
        "actor" => ("", "SmscActorRestarts"),
        "draining" => ("#/nodes", "SmscDrainLong"),
        _ => ("", ""),
    };
    seen(text.to_owned(), page, runbook)
}

fn seen(text: String, page: &str, runbook: &str) -> Attention {
    Attention {
        text,
        page: page.to_owned(),
        runbook: runbook.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::rates::QueueRates;
    use super::*;
    use crate::api::Incident;
    use crate::manual;

    fn texts(share: f64, oldest_at: i64, sessions: u64) -> Vec<String> {
        let queue = QueueSnapshot {
            name: "operator:up".to_owned(),
            oldest_at,
            sessions,
            waiting: 1,
            ..QueueSnapshot::default()
        };
        let node = NodeSnapshot {
            queues: vec![queue],
            ..NodeSnapshot::default()
        };
        let mut measured = Measured::default();
        let rates = QueueRates {
            throttled_share: share,
            ..QueueRates::default()
        };
        measured.queues.insert("operator:up".to_owned(), rates);
        let all = of(
            &node,
            &Readiness::default(),
            &Operators::default(),
            &measured,
            OLD_MS * 2,
        );
        all.into_iter().map(|one| one.text).collect()
    }

    #[test]
    fn what_an_operator_throttles_is_seen_without_opening_anything() {
        assert_eq!(texts(0.04, 0, 1), [""; 0]);
        assert_eq!(
            texts(0.2, 0, 1),
            ["operator up: 20 % of the attempts of the last minute were throttled"]
        );
        assert_eq!(
            texts(0.0, 1, 1),
            ["queue operator:up: the oldest message has waited for 29 minutes"]
        );
        assert_eq!(texts(0.0, 1, 0), [""; 0], "nobody is bound: that is said");
    }

    #[test]
    fn a_file_that_is_not_used_is_told_with_the_page_that_compares_it() {
        let readiness = Readiness {
            unused_file: Some("made by the demo".to_owned()),
            ..Readiness::default()
        };
        let node = NodeSnapshot::default();
        let measured = Measured::default();
        let all = of(&node, &readiness, &Operators::default(), &measured, 0);
        assert_eq!(all.len(), 1);
        assert_eq!(
            (&*all[0].text, &*all[0].page),
            ("made by the demo", "#/versions")
        );
    }

    #[test]
    fn an_operator_that_is_not_well_is_told_with_its_page() {
        let text = "operator charlie refuses 50 % since 15:21 UTC with ESME_RINVSRCADR, 2 accounts";
        let incident = Incident {
            text: text.to_owned(),
            ..Incident::default()
        };
        let readiness = Readiness {
            incidents: vec![incident],
            ..Readiness::default()
        };
        let node = NodeSnapshot::default();
        let measured = Measured::default();
        let all = of(&node, &readiness, &Operators::default(), &measured, 0);
        assert_eq!(all.len(), 1);
        assert_eq!((&*all[0].text, &*all[0].page), (text, "#/incidents"));
    }

    #[test]
    fn every_runbook_that_is_named_is_there() {
        let page = manual::page("runbooks.md").unwrap();
        for text in [
            "operator up: every bind is paused until it is resumed",
            "operator up: no bind is up",
            "queue operator:up: suspended by anna",
            "store: 2 rows could not be written and are in dead letter",
            "store: 2 rows are damaged and not used; see `smsc damaged`",
            "store: the database went back in time, and 3 messages wait for an order",
            "store: 3 MiB free are below the floor",
            "store: nothing can be written",
            "clock: ahead",
            "actor x: failed and is being restarted",
            "draining: intake is stopped",
        ] {
            let told = told(text);
            let anchor = format!("id=\"{}\"", told.runbook.to_lowercase());
            assert!(page.html.contains(&anchor), "{text}: {anchor}");
        }
        for runbook in ["SmscOperatorThrottling", "SmscQueueOld", INCIDENT] {
            let anchor = format!("id=\"{}\"", runbook.to_lowercase());
            assert!(page.html.contains(&anchor), "{anchor}");
        }
    }
}
