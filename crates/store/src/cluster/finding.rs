//! What the firewall of a GSM network has found, as a node tells the others with its figures.

use super::is_zero;
use smsc_proto::FirewallFinding;

/// Requests of one sender that a rule has found; numbers of subscribers are masked. Names are short in the stored JSON, which is
/// written with every heartbeat.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct FindingFigures {
    /// The last one, Unix milliseconds.
    #[serde(rename = "t")]
    pub at: i64,
    #[serde(rename = "r")]
    pub rule: String,
    #[serde(rename = "a")]
    pub action: String,
    /// 0 for none.
    #[serde(rename = "e", skip_serializing_if = "is_zero")]
    pub error: u32,
    #[serde(rename = "o")]
    pub operation: String,
    #[serde(rename = "c", skip_serializing_if = "is_zero")]
    pub calling: String,
    #[serde(rename = "z", skip_serializing_if = "is_zero")]
    pub service_centre: String,
    #[serde(rename = "s", skip_serializing_if = "is_zero")]
    pub subscriber: String,
    #[serde(rename = "f", skip_serializing_if = "is_zero")]
    pub originator: String,
    #[serde(rename = "n")]
    pub count: u64,
}

// === impl FindingFigures ===

impl FindingFigures {
    /// The finding, of this node.
    #[must_use]
    pub fn of_node(&self, node: u32) -> FirewallFinding {
        let found = self.clone();
        FirewallFinding {
            at: found.at,
            rule: found.rule,
            action: found.action,
            error: found.error,
            operation: found.operation,
            calling: found.calling,
            service_centre: found.service_centre,
            subscriber: found.subscriber,
            originator: found.originator,
            count: found.count,
            nodes: vec![node],
        }
    }
}

impl From<&FirewallFinding> for FindingFigures {
    fn from(found: &FirewallFinding) -> Self {
        let found = found.clone();
        Self {
            at: found.at,
            rule: found.rule,
            action: found.action,
            error: found.error,
            operation: found.operation,
            calling: found.calling,
            service_centre: found.service_centre,
            subscriber: found.subscriber,
            originator: found.originator,
            count: found.count,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_reaches_the_other_nodes_as_it_is() {
        let found = FirewallFinding {
            at: 1_700_000_000_000,
            rule: "spoofed".to_owned(),
            action: "block".to_owned(),
            error: 21,
            operation: "forwardSM".to_owned(),
            calling: "43664000001".to_owned(),
            service_centre: "49160000".to_owned(),
            subscriber: "491******01".to_owned(),
            originator: "491******02".to_owned(),
            count: 7,
            nodes: vec![3],
        };
        let told = serde_json::to_string(&FindingFigures::from(&found)).unwrap();
        let heard: FindingFigures = serde_json::from_str(&told).unwrap();
        assert_eq!(heard.of_node(3), found);
        // Of a build that says less.
        let heard: FindingFigures = serde_json::from_str("{}").unwrap();
        assert_eq!(heard, FindingFigures::default());
    }
}
