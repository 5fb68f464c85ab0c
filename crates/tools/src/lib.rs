//! The other side of an SMSC, for tries and measurements: a simulated operator, a simulated gateway of a carrier, a
//! simulated GSM core and network of SS7, and a load generator. Also what octets of all these mean ([`decode`]).

pub mod decode;
pub mod gateway;
pub mod gsm_core;
mod handsets;
pub mod load;
pub mod map_core;
mod minute;
mod network;
pub mod simulator;
mod table;
