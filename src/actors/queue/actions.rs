//! What a queue does with its parts: each file is one thing that happens to it.
//!
//! They are steps of the actor, called by it, by its timer, and by what the store answers; the parts know
//! nothing of them. Here is what takes time: the store is asked, and the answer continues in the actor.

mod cancel;
mod command;
mod compare;
mod expire;
mod failover;
mod grant;
mod hand_off;
mod page;
mod pass_over;
mod publish;
mod recover;
mod replace;
mod resolved;
mod run;
mod settle;
mod transfer;
