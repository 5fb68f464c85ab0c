//! The protocol: every operation, field, session state and limit of SMPP, towards accounts and
//! operators, with other implementations and hostile peers on the other side.

#[path = "../harness/mod.rs"]
mod harness;
#[path = "../harness/smpp_generate.rs"]
mod smpp_generate;

mod at_the_door;
mod fields_pass_through;
mod hostile_input;
mod interop;
mod interop_tshark;
mod limits;
mod message_operations;
mod operator_binds_come_back;
mod operator_statuses;
mod proxy_protocol;
mod responses_of_another_kind;
mod sessions_last;
mod smpp_frames;
mod smpp_rusmpp;
mod strangers_at_the_door;
mod submit_multi_and_data_sm;
mod tls_listeners;
mod unbound_flood;
mod versions_and_outbind;
