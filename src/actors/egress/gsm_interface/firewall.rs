//! What the firewall in front of a network over MAP has found: counted, listed for people, and logged at a pace.
//!
//! The rules and the answers are those of the MAP session. Numbers of subscribers are masked, but in what a rule is told
//! to mirror.

use std::collections::HashMap;

use data_encoding::HEXLOWER;
use tokio::time::Instant;

use super::GsmInterface;
use crate::clock;
use crate::domain::address::mask;
use crate::map::session::{ScreeningAction, ScreeningReport};
use crate::pb::FirewallFinding;

/// Most findings that are listed; of many alike there is one.
const LISTED: usize = 32;
/// What counts a request that no rule has found.
const NO_RULE: &str = "none";
const PASSED: &str = "pass";

// === impl GsmInterface ===

impl GsmInterface {
    /// The firewall has looked at a request.
    pub(super) fn screened(&mut self, report: Option<Box<ScreeningReport>>) {
        let Some(report) = report else {
            return self.meter.screened(NO_RULE, PASSED);
        };
        let report = *report;
        let (rule, action) = (report.rule.name(), report.taken.name());
        self.meter.screened(rule, action);
        let name = &self.snapshot.name;
        if let Some(parameter) = &report.mirrored
            && let Some(unlogged) = self.mirrored.note(Instant::now())
        {
            let parameter = HEXLOWER.encode(parameter);
            tracing::warn!(gsm = %name, rule, action, operation = %report.operation, calling = %report.calling, %parameter, unlogged, "a request that the firewall has found, whole");
        }
        if report.taken == ScreeningAction::Counted {
            return;
        }
        let subscriber = mask(report.subscriber.as_bytes());
        let originator = mask(report.originator.as_bytes());
        if let Some(unlogged) = self.found.note(Instant::now()) {
            tracing::warn!(gsm = %name, rule, action, operation = %report.operation, calling = %report.calling, service_centre = %report.service_centre, %subscriber, %originator, unlogged, "the firewall has found a request");
        }
        let finding = FirewallFinding {
            at: clock::now_ms(),
            rule: rule.to_owned(),
            action: action.to_owned(),
            error: match report.taken {
                ScreeningAction::Blocked(code) => code.into(),
                _ => 0,
            },
            operation: report.operation.to_string(),
            calling: report.calling,
            service_centre: report.service_centre,
            subscriber,
            originator,
            count: 1,
            ..FirewallFinding::default()
        };
        list(&mut self.snapshot.findings, finding);
    }
}

/// Puts a finding in front of those before it. One like an earlier one of the same sender takes its place and counts on, and the
/// rule with the most gives up its oldest, so that a flood, also one of many senders, does not drive out all others.
fn list(findings: &mut Vec<FirewallFinding>, mut finding: FirewallFinding) {
    if let Some(at) = findings.iter().position(|other| other.is_like(&finding)) {
        finding.count += findings.remove(at).count;
    }
    findings.insert(0, finding);
    if findings.len() > LISTED {
        let mut of_rule: HashMap<&str, usize> = HashMap::new();
        for one in &*findings {
            *of_rule.entry(&one.rule).or_default() += 1;
        }
        // The oldest one of the rule that has the most.
        let oldest = (0..findings.len()).max_by_key(|at| of_rule.get(&*findings[*at].rule));
        findings.remove(oldest.unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(calling: u64) -> FirewallFinding {
        FirewallFinding {
            rule: "title".to_owned(),
            calling: calling.to_string(),
            count: 1,
            ..FirewallFinding::default()
        }
    }

    #[test]
    fn the_newest_is_first_and_many_alike_are_one() {
        let mut findings = Vec::new();
        for calling in [1, 2, 1, 1] {
            list(&mut findings, finding(calling));
        }
        let shown: Vec<(&str, u64)> = findings
            .iter()
            .map(|one| (&*one.calling, one.count))
            .collect();
        assert_eq!(shown, [("1", 3), ("2", 1)]);
    }

    #[test]
    fn a_flood_of_many_senders_leaves_what_other_rules_have_found() {
        let mut findings = Vec::new();
        let spoofed = FirewallFinding {
            rule: "spoofed".to_owned(),
            ..finding(7)
        };
        list(&mut findings, spoofed.clone());
        for calling in 0..100 {
            list(&mut findings, finding(calling));
        }
        assert_eq!(findings.len(), LISTED);
        assert_eq!(findings.last(), Some(&spoofed));
        assert_eq!(findings[0].calling, "99");
    }

    #[test]
    fn a_list_has_an_end() {
        let mut findings = Vec::new();
        for calling in 0..100 {
            list(&mut findings, finding(calling));
        }
        assert_eq!(findings.len(), LISTED);
        assert_eq!(findings[0].calling, "99");
    }
}
