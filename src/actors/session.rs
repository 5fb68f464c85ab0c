//! What sessions of both sides do: deliveries within a window, data_sm, permits of binds.

pub mod bind_permits;
pub mod data_sm;
pub mod outgoing;
