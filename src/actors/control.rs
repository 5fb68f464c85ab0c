//! What administrators see and order, and the upkeep of a node.

pub mod access;
pub mod admin;
pub mod janitor;
pub mod settings;
pub mod supervisor;
