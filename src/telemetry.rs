//! What the process says of itself: logs and metrics.

pub mod logs;
pub mod metrics;
