//! By what a firewall works: its mode, whom it knows, and what each rule does.

use crate::FirewallRule;

/// Whether anything is looked at, and whether it has consequences.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FirewallMode {
    /// Everything passes, and nothing is counted.
    #[default]
    Off,
    /// Everything passes; what would be blocked is reported.
    Dry,
    /// The rules count.
    On,
}

/// How a request is blocked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockAnswer {
    /// It is answered with this error of MAP (3GPP TS 29.002 §17.6.6).
    Error(u8),
    /// It is not answered.
    Drop,
}

/// What follows when a rule finds what it looks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleAction {
    /// The rule is not asked.
    Off,
    /// The request passes, and is counted only.
    Count,
    /// The request passes, and is counted and said.
    Report,
    /// The request does not pass; it is counted and said.
    Block(BlockAnswer),
}

/// How many requests pass.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RequestRate {
    /// Requests a second, above 0.
    pub per_second: f64,
    /// Requests at once.
    pub burst: u32,
}

/// Settings of a firewall. Prefixes are digits in international form, as global titles and numbers are.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FirewallSettings {
    /// Whether it does anything.
    pub mode: FirewallMode,
    /// Prefixes of the global titles of our own network.
    pub own_titles: Vec<String>,
    /// Prefixes of the numbers of our subscribers; none: the rules about senders find nothing.
    pub own_numbers: Vec<String>,
    /// Prefixes of the global titles of networks in which our subscribers roam; none: they may be everywhere.
    pub visited_titles: Vec<String>,
    /// Prefixes of the global titles that may send anything; none: all may.
    pub allowed_titles: Vec<String>,
    /// Prefixes of the global titles that may send nothing. Of two prefixes of one title the longer one counts.
    pub denied_titles: Vec<String>,
    /// Networks with several prefixes of global titles.
    pub networks: Vec<Vec<String>>,
    /// So many first digits tell the networks of other global titles apart.
    pub network_digits: usize,
    /// Of one global title.
    pub title_rate: Option<RequestRate>,
    /// About one subscriber.
    pub subscriber_rate: Option<RequestRate>,
    /// What rules do; one that is not here is off.
    pub actions: Vec<(FirewallRule, RuleAction)>,
    /// Rules whose requests are written down whole.
    pub mirrored: Vec<FirewallRule>,
}

// === impl FirewallSettings ===

impl FirewallSettings {
    /// What a rule does.
    #[must_use]
    pub fn action_of(&self, rule: FirewallRule) -> RuleAction {
        let mut actions = self.actions.iter();
        let found = actions.find(|(of, _)| *of == rule);
        found.map_or(RuleAction::Off, |(_, action)| *action)
    }

    /// Whether requests that a rule has found are written down whole.
    #[must_use]
    pub fn is_mirrored(&self, rule: FirewallRule) -> bool {
        self.mirrored.contains(&rule)
    }
}
