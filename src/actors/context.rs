//! What every actor holds of its node, and what actors see of each other.
//!
//! - [`node`]: the [`NodeContext`]: store, ids, queues, counters, addresses of actors;
//! - [`plan`]: the configuration, resolved into what actors look things up in;
//! - [`addresses`], [`messages`], [`item`]: actors by the messages that they take, and those messages that are
//!   not protobuf;
//! - [`ports`], [`target_health`], [`unwritten`]: a queue and a bind as others see them;
//! - [`local_lease`], [`remote_command`]: what this node may do in a cluster, and orders to other nodes;
//! - [`unfinished`]: unfinished messages of each account;
//! - [`traced`]: the spans of a message.
//!
//! Holds no actor: others post through the addresses here, publish snapshots here, and read both. A feature
//! keeps its state in its own room. Imports `runtime`.

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
