//! What the process says of itself: logs, metrics and traces.

pub mod logs;
pub mod metrics;
pub mod traces;
