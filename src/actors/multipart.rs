//! Texts of several messages: stored with their parts, put together again.

pub mod assembly;
pub mod stage;
