//! Several nodes on one PostgreSQL and one Redis: what they share, and which faults they survive.

#[path = "../harness/mod.rs"]
mod harness;
#[path = "../harness/history.rs"]
mod history;

mod account_caps_are_shared;
mod accounts_are_divided;
mod binds_are_counted;
mod binds_are_spread;
mod cluster_delivers_anywhere;
mod cluster_is_operated_as_one;
mod cluster_shares_at_once;
mod cluster_survives;
mod damaged_pages;
mod database_fails_over;
mod database_goes_back;
mod harness_servers;
mod history_of_all_nodes;
mod incidents_of_all_nodes;
mod limits_are_shared;
mod order_across_nodes;
mod partitions_move_queue_by_queue;
mod rate_holds_without_redis;
mod redis_by_tls;
mod replays_of_two_nodes;
mod submissions_are_answered_in_time;
mod take_over_beside_hand_offs;
mod traces_see_all_nodes;
