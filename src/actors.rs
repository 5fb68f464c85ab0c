//! The actors: who there is, and who sends what to whom.
//!
//! ```text
//! Supervisor                       starts queues and binds, follows the plan
//!  ├─ Listener ── EsmeSession      one per inbound bind        SubmitBatch ─→ Ingest
//!  ├─ Outbind                      dials accounts for which something waits; EsmeSession follows
//!  ├─ OperatorSession              one per outbound bind slot  SentBatch, ReceiptBatch ─→ Correlation
//!  ├─ Ingest                       one per session thread      write ─→ store;  Enqueue ─→ Queue
//!  ├─ Queue                        one per destination         DeliverBatch ─→ sessions, by Credit
//!  │                                                           SettleBatch ←─ sessions
//!  ├─ TestTarget                   built-in destinations, serve their queues like a session
//!  ├─ Resolver                     looks numbers' networks up; serves a queue, ResolvedBatch ─→ Queue
//!  ├─ Assembly                     parts that wait for the rest of their message; serves a queue too
//!  ├─ Throttle                     TakeTokens ←─ Queue, Ingest
//!  ├─ Correlation                  write ─→ store;  ReceiptReply ─→ OperatorSession
//!  ├─ Receipts                     FinalBatch ←─ whoever ends messages;  Enqueue ─→ Queue of the account
//!  ├─ Registry                     session:*, ops:health:* ─→ Redis, if there is one
//!  ├─ Follower                     configuration of the store ─→ plan;  PlanChanged ─→ Supervisor
//!  ├─ BlockReclaimer               gives blocks of balances and quotas back that nobody spends
//!  ├─ Janitor                      low-water mark, retention of messages and texts
//!  └─ Admin                        snapshots and commands for HTTP
//! ```
//!
//! Threads: sessions and Ingest on the session arbiters (one per core), everything else on the
//! core arbiter, the store on threads of its own. Messages between actors are the structs of
//! `proto/smsc/v1`; on the data path each is a batch. Everything observable is a snapshot that its
//! actor publishes ([`ports::Published`]); the admin API and the tests read the same one.
//!
//! Mailbox sizes are the `MAILBOX` constants of the actors. They bound batches, not messages;
//! credit and windows bound the messages inside.

pub mod access;
pub mod addresses;
pub mod admin;
pub mod alert;
pub mod assembly;
pub mod balance;
pub mod bind_guard;
pub mod bind_permits;
pub mod cdr;
pub mod certificates;
pub mod cluster;
pub mod context;
pub mod correlation;
pub mod data_sm;
pub mod dispatch;
pub mod duplicates;
pub mod esme_session;
pub mod explain;
pub mod final_state;
pub mod ingest;
pub mod janitor;
pub mod link;
pub mod listener;
pub mod local_lease;
pub mod locks;
pub mod notification;
pub mod operations;
pub mod operator_session;
pub mod outbind;
pub mod outgoing;
pub mod parts;
pub mod plan;
pub mod policy;
pub mod ports;
pub mod queue;
pub mod receipts;
pub mod registry;
pub mod remote_command;
pub mod resolver;
pub mod rewrite;
pub mod settings;
pub mod shown_id;
pub mod stage;
pub mod supervise;
pub mod supervisor;
pub mod target_health;
#[cfg(test)]
mod test_support;
pub mod test_target;
pub mod throttle;
pub mod timed_mailbox;
pub mod traced;
pub mod unfinished;
pub mod unwritten;
pub mod verifier;
