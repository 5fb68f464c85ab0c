//! Texts: alphabets, headers, segments, and the commands that show them.

#[path = "../harness/mod.rs"]
mod harness;
#[path = "../harness/smpp_generate.rs"]
mod smpp_generate;

mod alphabets;
mod cli_content;
mod content_alphabets;
mod content_headers;
mod gsm_core;
mod radio_messages;
mod tpdu_oracle;
