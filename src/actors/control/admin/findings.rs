//! What the firewalls of all nodes have found, in one list.

use std::cmp::Reverse;

use crate::pb::FirewallFinding;

/// The newest first; alike ones of one sender are one, with all the nodes that have found it.
pub(super) fn merged(mut findings: Vec<FirewallFinding>) -> Vec<FirewallFinding> {
    findings.sort_by_key(|finding| Reverse(finding.at));
    let mut all: Vec<FirewallFinding> = Vec::new();
    for finding in findings {
        match all.iter_mut().find(|newer| newer.is_like(&finding)) {
            Some(newer) => {
                newer.count += finding.count;
                newer.nodes.extend(finding.nodes);
                newer.nodes.sort_unstable();
                // One node may have two interfaces for a moment, when one takes the place of the other.
                newer.nodes.dedup();
            }
            None => all.push(finding),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(node: u32, at: i64, calling: &str) -> FirewallFinding {
        FirewallFinding {
            at,
            rule: "title".to_owned(),
            action: "block".to_owned(),
            calling: calling.to_owned(),
            subscriber: at.to_string(),
            count: 2,
            nodes: vec![node],
            ..FirewallFinding::default()
        }
    }

    #[test]
    fn what_several_nodes_have_found_of_one_sender_is_one_and_the_newest_is_first() {
        let dropped = FirewallFinding {
            action: "drop".to_owned(),
            ..finding(1, 40, "43")
        };
        let all = merged(vec![
            finding(3, 30, "43"),
            finding(3, 20, "33"),
            finding(1, 50, "43"),
            finding(3, 10, "43"),
            dropped,
        ]);
        let brief: Vec<_> = all
            .iter()
            .map(|one| (one.at, &*one.calling, &*one.action, one.count, &*one.nodes))
            .collect();
        let expected: [(i64, &str, &str, u64, &[u32]); 3] = [
            (50, "43", "block", 6, &[1, 3]),
            (40, "43", "drop", 2, &[1]),
            (20, "33", "block", 2, &[3]),
        ];
        assert_eq!(brief, expected);
        assert_eq!(all[0].subscriber, "50", "that of the newest");
    }
}
