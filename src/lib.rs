//! smsc: a store-and-forward Short Message Service Centre.
//!
//! ```text
//! main → cli ┬→ app ─┬→ http ─→ actors ─┬→ smpp, content ─┐
//!            │       │                  ├→ store ─────────┴→ domain, sms, pb
//!            │       │                  └→ tls                    (files: below all)
//!            │       └→ telemetry, config
//!            ├→ convert
//!            └→ archive → smpp, content, store     arrows never point up; tests/architecture.rs holds them
//! ```
//!
//! Read on in this order: [`actors`] (the tree: who sends what to whom), `proto/smsc/v1` (what is
//! sent), then one vertical slice: `actors/ingress/esme_session.rs` → `actors/ingress/ingest.rs` →
//! `store/sqlite/` → `actors/queue.rs` → `actors/egress/operator_session.rs` → `actors/receipts/correlation.rs` →
//! `actors/receipts/actor.rs`.

pub mod actors;
pub mod app;
pub mod cli;
#[cfg(test)]
pub mod clock;
pub mod http;

pub use smsc_archive as archive;
pub use smsc_config as config;
pub use smsc_content as content;
pub use smsc_convert as convert;
pub use smsc_domain as domain;
#[cfg(not(test))]
pub use smsc_host::clock;
pub use smsc_host::files;
pub use smsc_proto as pb;
pub use smsc_smpp as smpp;
pub use smsc_sms as sms;
pub use smsc_store as store;
pub use smsc_telemetry as telemetry;
pub use smsc_tls as tls;
pub use smsc_tools::{load, simulator};
