//! What every actor holds of its node, and what actors see of each other.
//!
//! [`NodeContext`] has the store, the ids, the plan, the queues, the counters and the addresses of actors. A feature keeps its
//! state in its own room. Imports `runtime` only.

pub mod addresses;
pub mod item;
pub mod local_lease;
pub mod messages;
pub mod node;
pub mod plan;
pub mod ports;
pub mod remote_command;
pub mod target_health;
pub mod traced;
pub mod unfinished;
pub mod unwritten;

pub use node::{NodeContext, NodeParts};
