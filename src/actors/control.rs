//! What administrators see and order, and the upkeep of a node.
//!
//! - [`admin`]: the actor that the HTTP side asks; [`access`] has the tokens of the API;
//! - [`settings`]: the configuration of the store, and the actor Follower, which applies new versions;
//! - [`supervisor`]: the actor that starts queues and outbound binds as the plan says;
//! - [`janitor`]: the actor of retention, and of comparing the store with the queues.
//!
//! In come questions and orders of the HTTP side and of other nodes, and new versions of the configuration;
//! out go snapshots, commands to queues and binds, plans, and the actors of queues and binds. Imports all
//! rooms below it but `cluster`.

pub mod access;
pub mod admin;
pub mod janitor;
pub mod settings;
pub mod supervisor;
