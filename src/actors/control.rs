//! What administrators see and order, and the maintenance of a node.
//!
//! - [`admin`]: the actor that serves the HTTP side; [`access`] has the tokens of the API;
//! - [`settings`]: the configuration in the store, and the task that applies new versions;
//! - [`supervisor`]: the actor that starts queues and outbound binds as the plan says;
//! - [`damage_keeper`]: the task that ends messages whose rows are damaged, and lists these;
//! - [`history`]: the task that keeps counts of messages by the minute and by the hour;
//! - [`incidents`]: the task that looks for operators and accounts that are not well;
//! - [`janitor`]: the task for retention, and for comparing the store with the queues;
//! - [`export`]: the task that makes call detail records of what the store says has ended;
//! - [`nats_source`]: the task that makes messages of commands on NATS;
//! - [`platform_intake`]: the task that submits what programs put into lists of Redis;
//! - [`platform_roles`]: which node does what for the Redis SMS platform.
//!
//! In: questions and orders of the HTTP side and of other nodes, and new versions of the configuration.
//! Out: snapshots, commands to queues and binds, plans, and the actors of queues and binds. Imports all
//! rooms below it except `cluster`.

pub mod access;
pub mod admin;
pub mod damage_keeper;
pub mod export;
pub mod history;
pub mod incidents;
pub mod janitor;
pub mod nats_source;
pub mod platform_intake;
mod platform_roles;
pub mod settings;
pub mod supervisor;
