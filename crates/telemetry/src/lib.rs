//! Logs, metrics and traces, and the formats in which they are exported.

pub mod logs;
pub mod metrics;
pub mod statsd;
pub mod syslog;
pub mod traces;
