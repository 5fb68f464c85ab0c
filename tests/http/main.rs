//! The HTTP APIs for accounts: submitting, following and paying without SMPP.

#[path = "../harness/mod.rs"]
mod harness;

mod api_keys;
mod jasmin_entrance;
mod kannel_entrance;
mod messages_over_http;
mod plain;
