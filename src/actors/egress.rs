//! The side of operators.

pub mod operator_session;
pub mod test_target;
pub mod throttle;
