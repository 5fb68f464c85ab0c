//! The numbers of a run, as a table for people and as JSON for programs.
//!
//! Made once from the ledger when the run has ended. Rates count from the start to the last event of
//! their kind, so a wait for receipts that never come does not dilute them.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use super::ledger::LoadLedger;
use super::meter::LatencyMeter;
use super::options::{LoadBindType, LoadOptions};
use smsc_domain::state;
use smsc_smpp::CommandStatus;

/// Everything worth telling about a run.
#[derive(Debug, Clone, Serialize)]
pub struct LoadSummary {
    /// What was run, in a few words.
    pub shape: String,
    /// Messages submitted, those sent again not counted twice.
    pub sent: u64,
    /// Messages answered with ESME_ROK.
    pub accepted: u64,
    /// Messages refused, by the name of the status.
    pub refused: BTreeMap<String, u64>,
    /// Of those, ESME_RTHROTTLED.
    pub throttled: u64,
    /// Messages never answered.
    pub unanswered: u64,
    /// Messages sent again after a connection broke.
    pub resubmitted: u64,
    /// Messages of the schedule that the SMSC was too slow to take.
    pub behind: u64,
    /// Connections that broke.
    pub disconnects: u64,
    /// Whether receipts were asked for.
    pub receipts_wanted: bool,
    /// Receipts that matched, by state.
    pub receipts: BTreeMap<String, u64>,
    /// Of those, the ones that came before submit_sm_resp.
    pub receipts_early: u64,
    /// Accepted messages without a receipt.
    pub missing: u64,
    /// References of some of them.
    pub missing_examples: Vec<String>,
    /// Second receipts for one message.
    pub duplicated: u64,
    /// Receipts for messages whose answer was lost with a connection.
    pub for_lost_answers: u64,
    /// Receipts for ids that we were never given.
    pub unknown: u64,
    /// Receipts that could not be read.
    pub unreadable: u64,
    /// Intermediate notifications.
    pub intermediate: u64,
    /// Messages that were not receipts.
    pub mobile_originated: u64,
    /// Message ids given to two messages.
    pub ids_given_twice: u64,
    /// Accepted messages a second, up to the last answer.
    pub accepted_per_second: f64,
    /// Receipts a second, up to the last receipt.
    pub end_to_end_per_second: f64,
    /// Seconds until the last answer or receipt.
    pub seconds: f64,
    /// Latency of submit_sm_resp.
    pub answer_latency: Percentiles,
    /// Latency of the receipt, from the submit.
    pub receipt_latency: Percentiles,
    /// CPU seconds of the load generator during the run; absent where they cannot be read.
    pub cpu_seconds: Option<f64>,
    /// CPU seconds of the load generator per 100,000 accepted messages.
    pub cpu_seconds_per_100k: Option<f64>,
}

/// A latency distribution in milliseconds.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Percentiles {
    /// Half of all were faster.
    pub p50: f64,
    /// Nine of ten were faster.
    pub p90: f64,
    /// 99 of 100 were faster.
    pub p99: f64,
    /// 999 of 1000 were faster.
    pub p99_9: f64,
    /// The slowest.
    pub max: f64,
}

// === impl LoadSummary ===

impl LoadSummary {
    /// The numbers of a closed ledger.
    pub fn new(options: &LoadOptions, ledger: &LoadLedger, cpu_seconds: Option<f64>) -> Self {
        let counts = &ledger.counts;
        let meter = &ledger.meter;
        let status = |status: u32| CommandStatus(status).name().into_owned();
        let per_second = |count: u64, until_us: u64| match until_us {
            0 => 0.0,
            until_us => count as f64 * 1e6 / until_us as f64,
        };
        let accepted = counts.accepted;
        Self {
            shape: shape(options),
            sent: ledger.plan.sent(),
            accepted,
            refused: counts
                .refused
                .iter()
                .map(|(s, n)| (status(*s), *n))
                .collect(),
            throttled: counts.throttled(),
            unanswered: counts.unanswered,
            resubmitted: counts.resubmitted,
            behind: ledger.plan.behind(),
            disconnects: counts.disconnects,
            receipts_wanted: options.receipts,
            receipts: counts
                .receipts
                .iter()
                .map(|(state, count)| (state::name(*state).to_owned(), *count))
                .collect(),
            receipts_early: counts.early,
            missing: ledger.missing(),
            missing_examples: ledger.missing_examples(),
            duplicated: counts.duplicated,
            for_lost_answers: counts.for_lost_answers,
            unknown: counts.unknown,
            unreadable: counts.unreadable,
            intermediate: counts.intermediate,
            mobile_originated: counts.mobile_originated,
            ids_given_twice: counts.ids_given_twice,
            accepted_per_second: per_second(accepted, meter.last_answer_us),
            end_to_end_per_second: per_second(counts.receipts_total(), meter.last_receipt_us),
            seconds: meter.last_answer_us.max(meter.last_receipt_us) as f64 / 1e6,
            answer_latency: Percentiles::new(&meter.answer),
            receipt_latency: Percentiles::new(&meter.receipt),
            cpu_seconds,
            cpu_seconds_per_100k: cpu_seconds
                .filter(|_| accepted > 0)
                .map(|seconds| seconds * 1e5 / accepted as f64),
        }
    }

    /// Name and value of every line, in the order of the table.
    fn lines(&self) -> Vec<(String, String)> {
        let mut lines = SummaryLines::default();
        lines.count("sent", self.sent);
        lines.count("accepted", self.accepted);
        for (status, count) in &self.refused {
            lines.count(&format!("refused {status}"), *count);
        }
        lines.some("unanswered", self.unanswered);
        lines.some("sent again after a lost connection", self.resubmitted);
        lines.some("not sent: behind the rate", self.behind);
        lines.some("connections lost", self.disconnects);
        if self.receipts_wanted {
            for (state, count) in &self.receipts {
                lines.count(&format!("receipts {state}"), *count);
            }
            lines.some("receipts before their answer", self.receipts_early);
            lines.count("receipts missing", self.missing);
            lines.count("receipts duplicated", self.duplicated);
            lines.some("receipts for lost answers", self.for_lost_answers);
            lines.count("receipts unknown", self.unknown);
            lines.some("receipts unreadable", self.unreadable);
            lines.some("intermediate notifications", self.intermediate);
        }
        lines.some("MO messages", self.mobile_originated);
        lines.some("message ids given twice", self.ids_given_twice);
        lines.text("seconds", format!("{:.1}", self.seconds));
        lines.text(
            "accepted/s",
            grouped(self.accepted_per_second.round() as u64),
        );
        if self.receipts_wanted {
            let rate = self.end_to_end_per_second.round() as u64;
            lines.text("end to end/s", grouped(rate));
        }
        if let (Some(seconds), Some(per_100k)) = (self.cpu_seconds, self.cpu_seconds_per_100k) {
            lines.text("own CPU seconds", format!("{seconds:.2}"));
            lines.text("own CPU seconds per 100,000", format!("{per_100k:.3}"));
        }
        lines.0
    }

    /// Name and distribution of each latency that was measured.
    fn latencies(&self) -> Vec<(&'static str, &Percentiles)> {
        let mut latencies = vec![("submit_sm_resp", &self.answer_latency)];
        if self.receipts_wanted {
            latencies.push(("receipt", &self.receipt_latency));
        }
        latencies
    }
}

impl fmt::Display for LoadSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.shape)?;
        for (name, value) in self.lines() {
            writeln!(f, "  {name:<36}{value:>14}")?;
        }
        let heads = ["p50", "p90", "p99", "p99.9", "max"];
        write!(f, "  {:<16}", "latency in ms")?;
        for head in heads {
            write!(f, "{head:>11}")?;
        }
        writeln!(f)?;
        for (name, latency) in self.latencies() {
            write!(f, "  {name:<16}")?;
            for (_, value) in latency.columns() {
                write!(f, "{value:>11.2}")?;
            }
            writeln!(f)?;
        }
        if !self.missing_examples.is_empty() {
            writeln!(
                f,
                "  without a receipt: {}",
                self.missing_examples.join(" ")
            )?;
        }
        Ok(())
    }
}

// === impl Percentiles ===

impl Percentiles {
    fn new(latency: &LatencyMeter) -> Self {
        Self {
            p50: latency.percentile_ms(50.0),
            p90: latency.percentile_ms(90.0),
            p99: latency.percentile_ms(99.0),
            p99_9: latency.percentile_ms(99.9),
            max: latency.max_ms(),
        }
    }

    /// The columns of a table.
    pub fn columns(&self) -> [(&'static str, f64); 5] {
        [
            ("p50", self.p50),
            ("p90", self.p90),
            ("p99", self.p99),
            ("p99.9", self.p99_9),
            ("max", self.max),
        ]
    }
}

/// Lines of the table as they come.
#[derive(Default)]
struct SummaryLines(Vec<(String, String)>);

// === impl SummaryLines ===

impl SummaryLines {
    fn text(&mut self, name: &str, value: String) {
        self.0.push((name.to_owned(), value));
    }

    fn count(&mut self, name: &str, count: u64) {
        self.text(name, grouped(count));
    }

    /// Only when there is something to tell.
    fn some(&mut self, name: &str, count: u64) {
        if count > 0 {
            self.count(name, count);
        }
    }
}

/// `1234567` as `1,234,567`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn shape(options: &LoadOptions) -> String {
    let binds = match options.bind_type {
        LoadBindType::Transceiver => "transceiver binds",
        LoadBindType::Pair => "transmitter+receiver pairs",
    };
    let rate = match options.rate {
        Some(rate) => format!("{rate}/s"),
        None => "as fast as possible".to_owned(),
    };
    let receipts = if options.receipts { "with" } else { "without" };
    format!(
        "{} {binds}, window {}, {} octets, {rate}, {receipts} receipts",
        options.binds, options.window, options.length
    )
}

#[cfg(test)]
mod tests {
    use super::super::journal_lines::JournalLines;
    use super::super::plan::LoadPlan;
    use super::super::reference::RunTag;
    use super::*;

    #[test]
    fn the_table_shows_rates_up_to_the_last_event() {
        let options = LoadOptions::default();
        let plan = LoadPlan::new(None, Some(1000), None);
        let mut ledger = LoadLedger::new(RunTag::random(), plan, true, JournalLines::disabled());
        for index in 0..1000u64 {
            let sent = ledger.take(index * 1000).unwrap();
            let id = (index + 1).to_string();
            let now_us = (index + 1) * 1000;
            ledger.on_answer(now_us, &sent, CommandStatus::ESME_ROK, id.as_bytes());
        }
        ledger.close();
        let summary = LoadSummary::new(&options, &ledger, Some(0.5));
        assert!((summary.accepted_per_second - 1000.0).abs() < 0.01);
        assert_eq!(summary.end_to_end_per_second, 0.0);
        assert_eq!(summary.cpu_seconds_per_100k, Some(50.0));
        assert!((summary.answer_latency.p50 - 1.0).abs() < 0.01);
        let text = summary.to_string();
        assert!(text.contains("receipts missing"), "{text}");
        assert!(text.contains("1,000"), "{text}");
        assert!(
            serde_json::to_string(&summary)
                .unwrap()
                .contains("\"missing\":1000")
        );
    }

    #[test]
    fn thousands_are_set_apart() {
        for (number, text) in [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (1_234_567, "1,234,567"),
        ] {
            assert_eq!(grouped(number), text);
        }
    }
}
