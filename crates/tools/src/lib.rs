//! The other side of an SMSC, for tries and measurements: a simulated operator and a load generator.

pub mod load;
pub mod simulator;
