//! What the process says of itself: logs, metrics and traces, and in which form others want them.

pub mod logs;
pub mod metrics;
pub mod statsd;
pub mod syslog;
pub mod traces;
