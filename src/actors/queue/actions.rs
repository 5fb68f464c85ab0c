//! The steps of a queue: each file is one thing that happens to it.
//!
//! The actor calls them for its messages, for its timer, and for answers of the store; the parts know
//! nothing of them. Work that takes time runs here: a step asks the store and continues in the actor with
//! the answer.

mod cancel;
mod command;
mod compare;
mod expire;
mod failover;
mod grant;
mod hand_off;
mod in_line;
mod in_order;
mod page;
mod pass_over;
mod publish;
mod recover;
mod replace;
mod resolved;
mod rest;
mod run;
mod settle;
mod subscribers;
mod suspects;
mod transfer;
