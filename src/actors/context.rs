//! The state of the node that every actor shares, and what actors see of each other.
//!
//! - [`node`]: the [`NodeContext`]: store, ids, queues, counters, addresses of actors;
//! - [`plan`]: the configuration, resolved into look-up tables;
//! - [`addresses`], [`messages`], [`item`]: addresses of actors by the messages that they take, and messages
//!   that are not protobuf;
//! - [`ports`], [`binds`], [`target_health`], [`unwritten`]: the public state of queues and binds;
//! - [`local_lease`], [`remote_command`]: the rights of this node in a cluster, and commands to other nodes;
//! - [`declined`]: why a submission is refused;
//! - [`logins`]: when accounts have bound last;
//! - [`unfinished`], [`octets`]: unfinished messages of each account, and budgets of memory;
//! - [`mt_correlations`]: what other networks know in place of IMSIs;
//! - [`outcomes`]: what became of messages lately, and the incidents that were found in it;
//! - [`traced`], [`watches`]: the spans of a message, and what people watch for a while.
//!
//! There is no actor in this room: actors send through its addresses, publish snapshots in it, and read those
//! of others. A feature keeps its state in its own room. Imports `runtime`.

pub mod addresses;
pub mod audit;
pub mod backpressure;
pub mod binds;
pub mod declined;
pub mod handlers;
pub mod item;
pub mod local_lease;
pub mod logins;
pub mod look_up_line;
pub mod managed;
pub mod messages;
pub mod mt_correlations;
pub mod node;
pub mod octets;
pub mod outcomes;
pub mod pages;
pub mod plan;
pub mod ports;
pub mod ready_relay;
pub mod remote_command;
pub mod target_health;
pub mod traced;
pub mod unfinished;
pub mod unwritten;
pub mod watches;

pub use node::{NodeContext, NodeParts};
