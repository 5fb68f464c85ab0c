//! A histogram of seconds whose buckets remember a traced message each: the exemplars of OpenMetrics.
//!
//! Only traced messages leave an exemplar, so without traces it is a histogram like any other.

use std::time::{Duration, UNIX_EPOCH};

use prometheus_client::encoding::{EncodeLabelSet, EncodeMetric, MetricEncoder};
use prometheus_client::metrics::exemplar::HistogramWithExemplars;
use prometheus_client::metrics::{MetricType, TypedMetric};
use smsc_domain::trace::{TraceId, to_hex};
use smsc_host::clock;

/// The trace of what was observed.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct TraceLabel {
    trace_id: String,
}

/// The histogram; clones count together.
#[derive(Clone, Debug)]
pub struct LatencyHistogram(HistogramWithExemplars<TraceLabel>);

// === impl LatencyHistogram ===

impl LatencyHistogram {
    /// With these upper bounds of its buckets, in seconds.
    pub fn new(buckets: impl IntoIterator<Item = f64>) -> Self {
        Self(HistogramWithExemplars::new(buckets.into_iter()))
    }

    /// Counts something that took so many seconds, in this trace if there is one.
    pub fn observe(&self, seconds: f64, trace: Option<TraceId>) {
        let Some(trace) = trace else {
            return self.0.observe(seconds, None, None);
        };
        let label = TraceLabel {
            trace_id: to_hex(&trace),
        };
        let now = Duration::from_micros(clock::now_us().max(0) as u64);
        self.0.observe(seconds, Some(label), Some(UNIX_EPOCH + now));
    }
}

impl TypedMetric for LatencyHistogram {
    const TYPE: MetricType = MetricType::Histogram;
}

impl EncodeMetric for LatencyHistogram {
    fn encode(&self, encoder: MetricEncoder) -> Result<(), std::fmt::Error> {
        self.0.encode(encoder)
    }

    fn metric_type(&self) -> MetricType {
        Self::TYPE
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prometheus_client::encoding::text;
    use prometheus_client::registry::Registry;

    #[test]
    fn a_bucket_names_the_last_trace_that_it_counted() {
        let mut registry = Registry::default();
        let latency = LatencyHistogram::new([0.1, 1.0]);
        registry.register("seconds", "Seconds", latency.clone());
        latency.observe(0.05, None);
        latency.observe(0.5, Some([1; 16]));
        latency.observe(0.6, Some([2; 16]));
        latency.observe(0.7, None);
        let mut page = String::new();
        text::encode_registry(&mut page, &registry).unwrap();
        let of = |bound: &str| page.lines().find(|line| line.contains(bound)).unwrap();
        assert_eq!(of("le=\"0.1\""), "seconds_bucket{le=\"0.1\"} 1");
        let slow = of("le=\"1.0\"");
        let trace = "02".repeat(16);
        let exemplar = format!("seconds_bucket{{le=\"1.0\"}} 4 # {{trace_id=\"{trace}\"}} 0.6 ");
        assert!(slow.starts_with(&exemplar), "{slow}");
    }
}
