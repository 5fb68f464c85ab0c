//! The path of a message: accepted, routed, attempted, retried and receipted, on one node and after a
//! crash.

#[path = "../harness/mod.rs"]
mod harness;
#[path = "../harness/history.rs"]
mod history;

mod account_forms;
mod account_policy;
mod accounts_take_turns;
mod acknowledged_is_queued;
mod archive_is_exact;
mod both_ways;
mod built_in_targets;
mod callbacks;
mod charged_is_sent;
mod clock_steps;
mod cmpp;
mod cmpp_clients;
mod commits_stand_still;
mod dead_letters;
mod disk_floor;
mod divided_texts_are_told;
mod duplicate_guard;
mod given_up_receipts;
mod gsm;
mod gsm_core;
mod imsi;
mod kill_nine;
mod local_handlers;
mod long_messages;
mod long_messages_cluster;
mod memory_is_bounded;
mod mo_rules;
mod nats_source;
mod number_plan;
mod number_rewriting;
mod operators_share;
mod order_of_a_bind;
mod outcome_unknown;
mod prepaid_balance;
mod receipts_find_their_message;
mod receipts_in_odd_forms;
mod receipts_name_their_subscriber;
mod receipts_of_all_kinds;
mod receipts_that_end_nothing;
mod receipts_wait_for_their_account;
mod records_are_exact;
mod redis_platform;
mod resolver;
mod resolver_enum;
mod retry_and_expiry;
mod routing;
mod sgip;
mod smgp;
mod strict_order;
mod subscriber_ready;
