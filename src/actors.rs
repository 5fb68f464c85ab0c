//! The actors and tasks: which rooms they are in, and which messages they send to each other.
//!
//! # Rooms
//!
//! A room is a folder; it imports lower rooms only (`tests/architecture/rooms.rs` says which). Its first file
//! lists its actors, what comes in and what goes out.
//!
//! ```text
//! control      Supervisor, Admin: what is ordered; tasks of upkeep
//! cluster      Cluster: this node among the others; a task that tells Redis of binds
//! egress       OperatorSession, GsmInterface, TestTarget, Throttle: the side of operators and handsets
//! local        Connection: programs on the same machine; the task LocalListener
//! callbacks    CallbackSession: what accounts get by HTTPS
//! ingress      EsmeSession, Ingest, Responder: the side of accounts; the tasks Listener and Outbind
//! orders       cancel, replace, move: orders about messages that wait
//! multipart    Assembly: texts of several messages
//! queue        Queue: what waits for one destination
//! receipts     Correlation, Receipts: how messages end, and who hears of it
//! billing      balances and quotas, and their task     ┐
//! routing      Resolver: policy, networks, addresses   ├ beside each other
//! session      what sessions of both sides do          ┘
//! context      what every actor holds: store, plan, addresses, snapshots
//! runtime      supervision, mailboxes, sockets, locks
//! ```
//!
//! The state of a feature is in its room. `app` builds it once and passes it to the actors that use it.
//!
//! # The path of a message
//!
//! ```text
//! ingress   EsmeSession ──SubmitBatch──▶ Ingest ──write──▶ store
//!                                          │ Enqueue
//! queue                                    ▼
//!                                    Queue of the operator
//!                                          │ DeliverBatch, by Credit;  SettleBatch back
//! egress                                   ▼
//!                                   OperatorSession ⇄ operator
//!                                          │ SentBatch, then ReceiptBatch
//! receipts                                 ▼
//!                                     Correlation ──write──▶ store;  ReceiptReply ─→ OperatorSession
//!                                          │ FinalBatch
//!                                          ▼
//!                                      Receipts
//!                                          │ Enqueue
//! queue                                    ▼
//!                                    Queue of the account
//!                                          │ DeliverBatch, by Credit;  SettleBatch back
//! ingress                                  ▼
//!                                     EsmeSession ⇄ ESME
//! ```
//!
//! # Actors
//!
//! ```text
//! Supervisor                       starts queues and binds, follows the plan
//!  ├─ EsmeSession                  one per inbound bind        SubmitBatch ─→ Ingest
//!  ├─ Connection                   one per program on the same machine;  SubmitBatch ─→ Ingest, frames ⇄ OperatorSession
//!  ├─ OperatorSession              one per outbound bind slot  SentBatch, ReceiptBatch ─→ Correlation
//!  ├─ GsmInterface                 one per GSM network on each node; serves its queue like a session
//!  ├─ CallbackSession              one per account with callbacks; serves its queue like a session
//!  ├─ Ingest                       one per session thread      write ─→ store;  Enqueue ─→ Queue
//!  ├─ Queue                        one per destination         DeliverBatch ─→ sessions, by Credit
//!  │                                                           SettleBatch ←─ sessions
//!  ├─ TestTarget                   built-in destinations, serve their queues like a session
//!  ├─ Resolver, one per question   looks networks or IMSIs up; serves a queue, ResolvedBatch ─→ Queue
//!  ├─ Assembly                     parts that wait for the rest of their message; serves a queue too
//!  ├─ Responder                    answers and drops MO as rules say; serves a queue too, write ─→ store
//!  ├─ Throttle                     TakeTokens ←─ Queue, Ingest
//!  ├─ Correlation                  write ─→ store;  ReceiptReply ─→ OperatorSession, GsmInterface
//!  ├─ Receipts                     FinalBatch ←─ whoever ends messages;  Enqueue ─→ Queue of the account
//!  ├─ Cluster                      lease and shares;  partitions ─→ Queue, SlotsChanged ─→ Supervisor
//!  └─ Admin                        snapshots and commands for HTTP
//! ```
//!
//! # Tasks
//!
//! What nobody sends a message to is an async function that never ends, kept alive as actors are
//! ([`runtime::supervise`]). By the names that logs and metrics have:
//!
//! ```text
//! listener ADDRESS           accepts connections; EsmeSession follows
//! gateway listener ADDRESS   accepts connections of gateways of SGIP; OperatorSession follows
//! local listener             accepts programs on the same machine; Connection follows
//! outbind                    dials accounts for which something waits; EsmeSession follows
//! registry                   session:*, ops:health:* ─→ Redis, if there is one
//! follower                   configuration of the store ─→ plan;  PlanChanged ─→ Supervisor
//! balance                    gives blocks of balances and quotas back that nobody spends
//! janitor                    low-water mark, retention of messages and texts
//! damage keeper              lists damaged rows, and ends their messages
//! incidents                  finds operators and accounts that are not well
//! history                    counts of messages ─→ store, by the minute and by the hour
//! export                     events of the store ─→ call detail records, sinks, archive, Redis
//! nats sources               commands on NATS ─→ Ingest
//! platform intake            ids in lists of Redis ─→ Ingest
//! ```
//!
//! Threads: sessions and Ingest on the session arbiters (one per core), export and NATS sources on one of their own
//! each, everything else on the core arbiter, the store on threads of its own. Messages between actors are the structs of
//! `proto/smsc/v1`; on the data path each is a batch. HTTP has the Admin run functions instead
//! ([`control::admin::AdminCall`]). Everything observable is a snapshot that its
//! actor publishes ([`context::ports::Published`]); the admin API and the tests read the same one.
//!
//! Mailbox sizes are the `MAILBOX` constants of the actors. They bound batches, not messages;
//! credit and windows bound the messages inside.

pub mod billing;
pub mod callbacks;
pub mod cluster;
pub mod context;
pub mod control;
pub mod egress;
pub mod ingress;
pub mod local;
pub mod multipart;
pub mod orders;
pub mod queue;
pub mod receipts;
pub mod routing;
pub mod runtime;
pub mod session;
#[cfg(test)]
mod test_support;
