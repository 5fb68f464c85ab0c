//! What is counted of one GSM network for each request. Its interface keeps the handles, so that a flood of requests looks
//! nothing up by name.
//!
//! Invariant: what tells handles of one network apart are causes of one octet and words of this program, so nobody can make
//! more than some hundred of them.

use std::hash::Hash;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;

use super::{CauseLabel, FirewallLabel, HomeRoutingLabel, Metrics};

/// The counters of one network.
#[derive(Debug)]
pub struct GsmMeter {
    gsm: String,
    submissions: KeptCounters<CauseLabel, u8>,
    firewall: KeptCounters<FirewallLabel, (&'static str, &'static str)>,
    home_routing: KeptCounters<HomeRoutingLabel, &'static str>,
}

/// Counters of a family; each is looked up when it is first needed.
#[derive(Debug)]
struct KeptCounters<L, K> {
    family: Family<L, Counter>,
    kept: Vec<(K, Counter)>,
}

// === impl Metrics ===

impl Metrics {
    /// The handles of a GSM network.
    pub fn gsm(&self, gsm: &str) -> GsmMeter {
        GsmMeter {
            gsm: gsm.to_owned(),
            submissions: KeptCounters::of(&self.gsm_submissions),
            firewall: KeptCounters::of(&self.gsm_firewall),
            home_routing: KeptCounters::of(&self.gsm_home_routing),
        }
    }
}

// === impl GsmMeter ===

impl GsmMeter {
    /// Counts the answer to what a handset has sent; 0 is RP-ACK.
    pub fn answered_handset(&mut self, cause: u8) {
        let gsm = &self.gsm;
        self.submissions.inc(cause, || CauseLabel {
            gsm: gsm.clone(),
            cause,
        });
    }

    /// Counts a request that the firewall has looked at.
    pub fn screened(&mut self, rule: &'static str, action: &'static str) {
        let gsm = &self.gsm;
        self.firewall.inc((rule, action), || FirewallLabel {
            gsm: gsm.clone(),
            rule,
            action,
        });
    }

    /// Counts what home routing did.
    pub fn home_routed(&mut self, event: &'static str) {
        let gsm = &self.gsm;
        self.home_routing.inc(event, || HomeRoutingLabel {
            gsm: gsm.clone(),
            event,
        });
    }
}

// === impl KeptCounters ===

impl<L: Clone + Hash + Eq, K: PartialEq> KeptCounters<L, K> {
    fn of(family: &Family<L, Counter>) -> Self {
        Self {
            family: family.clone(),
            kept: Vec::new(),
        }
    }

    fn inc(&mut self, key: K, label: impl FnOnce() -> L) {
        if let Some((_, counter)) = self.kept.iter().find(|(known, _)| *known == key) {
            counter.inc();
            return;
        }
        let counter = self.family.get_or_create_owned(&label());
        counter.inc();
        self.kept.push((key, counter));
    }
}

#[cfg(test)]
mod tests {
    use prometheus_client::registry::Registry;

    use super::*;

    #[test]
    fn each_counter_of_a_network_is_looked_up_once() {
        let metrics = Metrics::new(&mut Registry::default());
        let (mut home, mut other) = (metrics.gsm("home"), metrics.gsm("other"));
        for _ in 0..3 {
            home.screened("none", "pass");
            home.answered_handset(0);
        }
        home.screened("title", "block");
        other.screened("none", "pass");
        other.home_routed("unknown_ids");
        let kept = (home.firewall.kept.len(), home.submissions.kept.len());
        assert_eq!(kept, (2, 1));
        let screened = |gsm: &str, rule, action| {
            let gsm = gsm.to_owned();
            let label = FirewallLabel { gsm, rule, action };
            metrics.gsm_firewall.get_or_create_owned(&label).get()
        };
        assert_eq!(screened("home", "none", "pass"), 3);
        assert_eq!(screened("home", "title", "block"), 1);
        assert_eq!(screened("other", "none", "pass"), 1);
    }
}
