//! The administrator's side: configuration, admin API, console, commands, archive, metrics, logs and traces.

#[path = "../harness/mod.rs"]
mod harness;
#[path = "../harness/history.rs"]
mod history;

mod account_sheet;
mod admin_access;
mod admin_commands;
mod admin_doors;
mod archive;
mod archive_database;
mod coming_from;
mod command_line;
mod command_resources;
mod config_file;
mod config_validation;
mod config_versions;
mod console;
mod console_find;
mod console_objects;
mod console_pages;
mod console_scale;
mod console_sign_in;
mod console_wizard;
mod console_work;
mod contexts;
#[cfg(feature = "otlp")]
mod details_tell_nothing;
mod event_sinks;
mod failing_operator;
mod failures;
mod held;
mod http_api;
mod http_system;
#[cfg(feature = "otlp")]
mod interop_rotel;
mod kafka_of_another_maker;
mod kafka_sinks;
mod left_by_nats;
mod live_changes;
mod live_traces;
mod lookups;
mod manual;
mod metrics;
mod nats_by_tls;
mod notes;
mod nothing_shows_texts;
mod one_grammar;
mod openapi_holds;
mod operator_test;
mod operators_commands;
mod outputs_elsewhere;
mod secrets_change;
mod smpp_connector;
mod tasks;
mod ten_more_tasks;
mod ten_tasks;
#[cfg(feature = "otlp")]
mod test_messages;
mod traces;
mod traffic_history;
mod unused_file;
mod usage;
mod waits_and_bulk_orders;
