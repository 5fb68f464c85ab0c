//! smsc: a store-and-forward Short Message Service Centre.
//!
//! ```text
//! main → cli ┬→ app ─┬→ http ─→ actors          arrows never point up; tests/architecture.rs holds them
//!            └→ the crates below crates/         Cargo holds these
//! ```
//!
//! The crates are named here by one word each, so that a path reads the same everywhere.
//!
//! Read on in this order: [`actors`] (the rooms, and who sends what to whom), `proto/smsc/v1` (what is
//! sent), then the way of one message, which docs/architecture.md lists by file and function.

pub mod actors;
pub mod app;
pub mod cli;
#[cfg(test)]
pub mod clock;
pub mod http;

pub use smsc_api as api;
pub use smsc_archive as archive;
pub use smsc_carrier as carrier;
pub use smsc_cmpp as cmpp;
pub use smsc_config as config;
pub use smsc_content as content;
pub use smsc_convert as convert;
pub use smsc_domain as domain;
pub use smsc_firewall as firewall;
pub use smsc_gsup as gsup;
#[cfg(not(test))]
pub use smsc_host::clock;
pub use smsc_host::{files, socket, users};
pub use smsc_manual as manual;
pub use smsc_map as map;
pub use smsc_numbers as numbers;
pub use smsc_proto as pb;
pub use smsc_sctp as sctp;
pub use smsc_sgip as sgip;
pub use smsc_sigtran as sigtran;
pub use smsc_smgp as smgp;
pub use smsc_smpp as smpp;
pub use smsc_sms as sms;
pub use smsc_store as store;
pub use smsc_tcap as tcap;
pub use smsc_telemetry as telemetry;
pub use smsc_tls as tls;
pub use smsc_tools::{decode, gateway, gsm_core, load, map_core, simulator};
pub use smsc_xml_rpc as xml_rpc;
