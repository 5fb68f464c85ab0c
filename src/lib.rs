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

#![forbid(unsafe_code)]

pub mod actors;
pub mod app;
pub mod archive;
pub mod cli;
pub mod clock;
pub mod config;
pub mod content;
pub mod convert;
pub mod domain;
pub mod files;
pub mod http;
pub mod load;
pub mod pb;
pub mod simulator;
pub mod smpp;
pub mod sms;
pub mod store;
pub mod telemetry;
pub mod tls;
