//! The structs of `proto/smsc/events/v1`: what event sinks publish as protobuf.
//!
//! Made by `actors/control/export/sinks/event.rs`.

#![allow(missing_docs, clippy::all)]

include!(concat!(env!("OUT_DIR"), "/smsc.events.v1.rs"));
