//! Converts the page of `/metrics` to statsd lines: the increase of each counter since the last push,
//! and the value of each gauge.
//!
//! Called by `http::metrics::push`. Pure: text in, datagrams out. Reading the page that `/metrics`
//! shows, rather than counting a second time, guarantees that both say the same.

use std::collections::HashMap;

use smsc_config::Statsd;

/// Octets of a datagram that no network on the way splits.
const DATAGRAM: usize = 1432;

/// What was pushed, to tell what was added.
#[derive(Debug, Default)]
pub struct Pushed {
    totals: HashMap<String, f64>,
}

/// One datagram, and the counters that it reports.
#[derive(Debug, Default)]
pub struct Datagram {
    /// Lines with line ends between them.
    pub text: String,
    totals: Vec<(String, f64)>,
}

// === impl Pushed ===

impl Pushed {
    /// The datagrams for a page.
    pub fn datagrams(&self, page: &str, options: &Statsd) -> Vec<Datagram> {
        let mut kinds: HashMap<&str, &str> = HashMap::new();
        let mut out: Vec<Datagram> = Vec::new();
        for line in page.lines() {
            if let Some(named) = line.strip_prefix("# TYPE ") {
                kinds.extend(named.split_once(' '));
            }
            if let Some((text, total)) = self.line(line, &kinds, options) {
                let full = |last: &Datagram| last.text.len() + 1 + text.len() > DATAGRAM;
                if out.last().is_none_or(full) {
                    out.push(Datagram::default());
                }
                if let Some(last) = out.last_mut() {
                    if !last.text.is_empty() {
                        last.text.push('\n');
                    }
                    last.text.push_str(&text);
                    last.totals.extend(total);
                }
            }
        }
        out
    }

    /// Remembers that a datagram has gone out.
    pub fn sent(&mut self, datagram: Datagram) {
        self.totals.extend(datagram.totals);
    }

    /// One sample, and for a counter its total.
    fn line(
        &self,
        line: &str,
        kinds: &HashMap<&str, &str>,
        options: &Statsd,
    ) -> Option<(String, Option<(String, f64)>)> {
        if line.starts_with('#') {
            return None;
        }
        // Labels may hold spaces, and an exemplar may follow the value.
        let end_of_series = line
            .find("} ")
            .map(|at| at + 1)
            .or_else(|| line.find(' '))?;
        let (series, rest) = line.split_at(end_of_series);
        let value: f64 = rest.split_whitespace().next()?.parse().ok()?;
        if !value.is_finite() {
            return None;
        }
        let (name, labels) = match series.split_once('{') {
            Some((name, labels)) => (name, labels.strip_suffix('}')?),
            None => (series, ""),
        };
        let (family, is_counter) = family(name, kinds)?;
        let name = format!("{}.{family}", options.prefix);
        let (name, tags) = with_labels(name, labels, options.tags);
        if !is_counter {
            // A negative value would be taken for a change.
            return Some((format!("{name}:{}|g{tags}", value.max(0.0)), None));
        }
        let before = self.totals.get(series).copied().unwrap_or(0.0);
        let added = if value < before {
            value
        } else {
            value - before
        };
        let total = Some((series.to_owned(), value));
        (added > 0.0).then(|| (format!("{name}:{added}|c{tags}"), total))
    }
}

/// The name of a sample without our prefix and the suffix of its kind, and whether it counts up.
/// Buckets of histograms are left out: statsd has kinds of its own for them.
fn family<'a>(name: &'a str, kinds: &HashMap<&str, &str>) -> Option<(&'a str, bool)> {
    let ours = name.strip_prefix("smsc_").unwrap_or(name);
    if kinds.get(name) == Some(&"gauge") {
        return Some((ours, false));
    }
    for (suffix, kind) in [
        ("_total", "counter"),
        ("_count", "histogram"),
        ("_sum", "histogram"),
    ] {
        let of_kind = name
            .strip_suffix(suffix)
            .is_some_and(|family| kinds.get(family) == Some(&kind));
        if of_kind {
            let short = if suffix == "_total" {
                ours.strip_suffix(suffix)?
            } else {
                ours
            };
            return Some((short, true));
        }
    }
    None
}

/// `a="x",b="y"` as `name.x.y` or as `|#a:x,b:y`.
fn with_labels(name: String, labels: &str, as_tags: bool) -> (String, String) {
    let pairs: Vec<(&str, String)> = labels
        .split("\",")
        .filter_map(|pair| pair.split_once("=\""))
        .map(|(key, value)| (key, harmless(value.trim_end_matches('"'), as_tags)))
        .collect();
    if pairs.is_empty() {
        return (name, String::new());
    }
    if as_tags {
        let tags: Vec<String> = pairs
            .iter()
            .map(|(key, value)| format!("{key}:{value}"))
            .collect();
        return (name, format!("|#{}", tags.join(",")));
    }
    let values: Vec<&str> = pairs.iter().map(|(_, value)| value.as_str()).collect();
    (format!("{name}.{}", values.join(".")), String::new())
}

/// Without the characters that mean something in a line of statsd; in a name dots are levels.
fn harmless(value: &str, in_tag: bool) -> String {
    let keep = |c: char| c.is_alphanumeric() || "-_".contains(c) || (in_tag && ":./".contains(c));
    let clean = |c: char| if keep(c) { c } else { '_' };
    value.chars().map(clean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "\
# HELP smsc_messages_final Messages that reached a final state.
# TYPE smsc_messages_final counter
smsc_messages_final_total{state=\"DELIVERED\"} 5
# TYPE smsc_queue_waiting gauge
smsc_queue_waiting{queue=\"operator:up one\"} 7
# TYPE smsc_attempt_seconds histogram
smsc_attempt_seconds_sum 0.5
smsc_attempt_seconds_count 2
smsc_attempt_seconds_bucket{le=\"0.1\"} 2
# TYPE process_cpu_seconds counter
process_cpu_seconds_total 1.5
# EOF
";

    fn lines(pushed: &mut Pushed, page: &str, tags: bool) -> Vec<String> {
        let options = Statsd {
            tags,
            ..Statsd::default()
        };
        let mut all = Vec::new();
        for datagram in pushed.datagrams(page, &options) {
            all.extend(datagram.text.lines().map(str::to_owned));
            pushed.sent(datagram);
        }
        all
    }

    #[test]
    fn counters_are_what_was_added_and_gauges_what_is() {
        let mut pushed = Pushed::default();
        assert_eq!(
            lines(&mut pushed, PAGE, false),
            [
                "smsc.messages_final.DELIVERED:5|c",
                "smsc.queue_waiting.operator_up_one:7|g",
                "smsc.attempt_seconds_sum:0.5|c",
                "smsc.attempt_seconds_count:2|c",
                "smsc.process_cpu_seconds:1.5|c",
            ]
        );
        let later = PAGE.replace("DELIVERED\"} 5", "DELIVERED\"} 8");
        assert_eq!(
            lines(&mut pushed, &later, true),
            [
                "smsc.messages_final:3|c|#state:DELIVERED",
                "smsc.queue_waiting:7|g|#queue:operator:up_one",
            ]
        );
    }

    #[test]
    fn what_was_not_sent_is_told_next_time() {
        let mut pushed = Pushed::default();
        let first = pushed.datagrams(PAGE, &Statsd::default());
        assert_eq!(first.len(), 1);
        drop(first);
        assert!(
            lines(&mut pushed, PAGE, false)
                .contains(&"smsc.messages_final.DELIVERED:5|c".to_owned())
        );
    }

    #[test]
    fn datagrams_fit_into_a_packet() {
        let mut page = String::from("# TYPE g gauge\n");
        for n in 0..500 {
            page.push_str(&format!("g{{queue=\"account:{n}\"}} {n}\n"));
        }
        let datagrams = Pushed::default().datagrams(&page, &Statsd::default());
        assert!(datagrams.len() > 5);
        assert!(
            datagrams
                .iter()
                .all(|datagram| datagram.text.len() <= DATAGRAM)
        );
        let lines: usize = datagrams
            .iter()
            .map(|datagram| datagram.text.lines().count())
            .sum();
        assert_eq!(lines, 500);
    }
}
