//! The stores: what both adapters must do, what is specific to each, and data that is moved or read by
//! other programs.

#[path = "../harness/mod.rs"]
mod harness;

mod damaged_log;
mod damaged_rows;
mod data_folder;
mod flipped_bits;
mod message_correlations;
mod migrate_store;
mod migrate_store_live;
mod migrations;
mod proto_compatibility;
mod released_stores;
mod salvage;
mod secrets_at_rest;
mod store_behaviour;
mod store_cluster;
mod store_model;
mod store_postgres;
mod store_sqlite;
mod suspended_start;
