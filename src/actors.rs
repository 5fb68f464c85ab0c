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

pub mod billing;
pub mod cluster;
pub mod context;
pub mod control;
pub mod egress;
pub mod ingress;
pub mod multipart;
pub mod orders;
pub mod queue;
pub mod receipts;
pub mod routing;
pub mod runtime;
pub mod session;
#[cfg(test)]
mod test_support;
