//! Latencies and throughput of a run, as they are measured.
//!
//! Fed by the ledger, read by summary and report. A record costs a few nanoseconds; memory is fixed
//! for the latencies, and a few octets per tenth of a second for the throughput.

use hdrhistogram::Histogram;

/// Length of one sample of throughput.
pub const SAMPLE_US: u64 = 100_000;
/// The longest latency that is recorded: an hour. Longer ones count as an hour.
const LATENCY_MAX_US: u64 = 3_600_000_000;
/// Significant digits: values are exact to a thousandth.
const DIGITS: u8 = 3;

/// One latency distribution, in microseconds.
#[derive(Debug)]
pub struct Latency {
    histogram: Option<Histogram<u64>>,
}

/// What happened within one tenth of a second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sample {
    /// Positive answers.
    pub accepted: u32,
    /// Receipts that matched.
    pub receipts: u32,
}

/// Everything measured over time.
#[derive(Debug, Default)]
pub struct Meter {
    /// From the intended submit to submit_sm_resp.
    pub answer: Latency,
    /// From the intended submit to the receipt.
    pub receipt: Latency,
    samples: Vec<Sample>,
    /// When the last positive answer came, in microseconds since the start.
    pub last_answer_us: u64,
    /// When the last matching receipt came.
    pub last_receipt_us: u64,
}

// === impl Latency ===

impl Default for Latency {
    fn default() -> Self {
        // The bounds are constants that the histogram accepts; were it otherwise, nothing would be
        // recorded, and the tests below would fail.
        Self {
            histogram: Histogram::new_with_bounds(1, LATENCY_MAX_US, DIGITS).ok(),
        }
    }
}

impl Latency {
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
        self.sample(now_us).accepted += 1;
        self.last_answer_us = self.last_answer_us.max(now_us);
    }

    /// A receipt came and matched.
    pub fn on_receipt(&mut self, now_us: u64, latency_us: u64) {
        self.receipt.record(latency_us);
        self.sample(now_us).receipts += 1;
        self.last_receipt_us = self.last_receipt_us.max(now_us);
    }

    /// The samples so far, the first at the start of the run.
    pub fn samples(&self) -> &[Sample] {
        &self.samples
    }

    fn sample(&mut self, now_us: u64) -> &mut Sample {
        let index = (now_us / SAMPLE_US) as usize;
        if index >= self.samples.len() {
            self.samples.resize(index + 1, Sample::default());
        }
        &mut self.samples[index]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_what_was_recorded() {
        let mut latency = Latency::default();
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

    #[test]
    fn samples_are_tenths_of_a_second() {
        let mut meter = Meter::default();
        meter.on_answer(0, 10);
        meter.on_answer(99_999, 10);
        meter.on_receipt(350_000, 300_000);
        let counts: Vec<(u32, u32)> = meter
            .samples()
            .iter()
            .map(|sample| (sample.accepted, sample.receipts))
            .collect();
        assert_eq!(counts, [(2, 0), (0, 0), (0, 0), (0, 1)]);
        assert_eq!(
            (meter.last_answer_us, meter.last_receipt_us),
            (99_999, 350_000)
        );
    }
}
