//! `[redis_platform]`: a mirror of messages in Redis. Read by the actor Export
//! (`actors/control/export/platform.rs`); docs/redis-platform.md.

use super::section::section;

section! {
    /// `[redis_platform]`: messages, in the Redis of `[redis]` under the keys of the Redis SMS platform, for programs that read those: docs/redis-platform.md. The node that does the work for all nodes writes them.
    pub struct RedisPlatform {
        /// Write them.
        enabled: bool = false,
        /// Also before their end: when they are accepted, and when an operator takes them. Each costs a few octets of its commit, and a message read once more.
        states: bool = true,
        /// With the texts.
        text: bool = true,
        /// The account whose messages those are that programs put into `list:Pending-1` and so on; without it none is taken in.
        account: Option<String> = None,
        /// How many of these lists there are; the first is emptied first.
        pending_lists: u32 = 1,
    }
}
