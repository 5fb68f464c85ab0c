//! What accounts may spend.

pub mod balance;
