//! Latencies and throughput of a run, as they are measured.
//!
//! Fed by the ledger, read by the summary. A record costs a few nanoseconds; memory is fixed.

use hdrhistogram::Histogram;

/// The longest latency that is recorded: an hour. Longer ones count as an hour.
const LATENCY_MAX_US: u64 = 3_600_000_000;
/// Significant digits: values are exact to a thousandth.
const DIGITS: u8 = 3;

/// One latency distribution, in microseconds.
#[derive(Debug)]
pub struct LatencyMeter {
    histogram: Option<Histogram<u64>>,
}

/// Everything measured over time.
#[derive(Debug, Default)]
pub struct Meter {
    /// From the intended submit to submit_sm_resp.
    pub answer: LatencyMeter,
    /// From the intended submit to the receipt.
    pub receipt: LatencyMeter,
    /// When the last positive answer came, in microseconds since the start.
    pub last_answer_us: u64,
    /// When the last matching receipt came.
    pub last_receipt_us: u64,
}

// === impl LatencyMeter ===

impl Default for LatencyMeter {
    fn default() -> Self {
        // The bounds are constants that the histogram accepts; were it otherwise, nothing would be
        // recorded, and the tests below would fail.
        Self {
            histogram: Histogram::new_with_bounds(1, LATENCY_MAX_US, DIGITS).ok(),
        }
    }
}

impl LatencyMeter {
    /// Adds one.
    pub fn record(&mut self, micros: u64) {
        if let Some(histogram) = &mut self.histogram {
            histogram.saturating_record(micros);
        }
    }

    /// How many were recorded.
    pub fn len(&self) -> u64 {
        self.histogram.as_ref().map_or(0, Histogram::len)
    }

    /// Whether none was recorded.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The latency in milliseconds that `percentile` percent did not exceed; 0 when none was
    /// recorded.
    pub fn percentile_ms(&self, percentile: f64) -> f64 {
        let Some(histogram) = self.histogram.as_ref().filter(|_| !self.is_empty()) else {
            return 0.0;
        };
        histogram.value_at_percentile(percentile) as f64 / 1000.0
    }

    /// The longest, in milliseconds.
    pub fn max_ms(&self) -> f64 {
        self.histogram
            .as_ref()
            .map_or(0.0, |histogram| histogram.max() as f64 / 1000.0)
    }
}

// === impl Meter ===

impl Meter {
    /// A positive answer came.
    pub fn on_answer(&mut self, now_us: u64, latency_us: u64) {
        self.answer.record(latency_us);
        self.last_answer_us = self.last_answer_us.max(now_us);
    }

    /// A receipt came and matched.
    pub fn on_receipt(&mut self, now_us: u64, latency_us: u64) {
        self.receipt.record(latency_us);
        self.last_receipt_us = self.last_receipt_us.max(now_us);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_what_was_recorded() {
        let mut latency = LatencyMeter::default();
        assert_eq!(latency.percentile_ms(50.0), 0.0);
        (1..=1000).for_each(|millis| latency.record(millis * 1000));
        let within = |value: f64, wanted: f64| (value - wanted).abs() <= wanted / 500.0;
        assert!(within(latency.percentile_ms(50.0), 500.0));
        assert!(within(latency.percentile_ms(99.0), 990.0));
        assert!(within(latency.max_ms(), 1000.0));
        latency.record(u64::MAX);
        assert_eq!(latency.len(), 1001);
        assert!(within(latency.max_ms(), 3_600_000.0));
    }
}
