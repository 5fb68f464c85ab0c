//! `[redis_platform]`: a mirror of messages in Redis. Read by the task Export
//! (`actors/control/export/platform.rs`) and that of the platform intake (`actors/control/platform_intake.rs`);
//! docs/coming-from.md.

use std::time::Duration;

use super::section::{choice, section};

choice! {
    /// Who forwards reports to business systems.
    pub enum ReportForwarder {
        /// We do, to the binds or the callback of their accounts.
        Smsc = "smsc",
        /// The platform's own forwarder.
        Platform = "platform",
    }
}

choice! {
    /// What a node does for the platform.
    pub enum PlatformRole {
        /// Takes in what waits in pending lists.
        Sender = "sender",
        /// Writes what becomes of messages, and messages of handsets.
        Receiver = "receiver",
        /// Gives ids to the pump when their reports are forwarded, and removes keys when the pump has taken them.
        Forwarder = "forwarder",
    }
}

section! {
    /// `[redis_platform]`: messages, in the Redis of `[redis]` under the keys of the Redis SMS platform, for programs that read those: docs/coming-from.md.
    pub struct RedisPlatform {
        /// Write them.
        enabled: bool = false,
        /// Also before their end: when they are accepted, and when an operator takes them. Each costs a few octets of its commit, and a message read once more.
        states: bool = true,
        /// With the texts.
        text: bool = true,
        /// The account whose messages those are that programs put into `list:Pending-0`, `list:Pending-1` and so on; without it none is taken in.
        account: Option<String> = None,
        /// The number of the last of these lists; the first is emptied first.
        pending_lists: u32 = 1,
        /// Who forwards reports. `smsc`: an id comes into `list:Finish` when its account has the receipt, or wants none. `platform`: the platform's own forwarder takes ids from `list:report` and from `list:MO-ID`, and puts them into `list:Finish` itself.
        forwarder: ReportForwarder = ReportForwarder::Smsc,
        /// How long the keys of a message stay after its id was taken from `list:Finish`, for the pump to read them; at least 1s.
        @must(|kept| *kept >= Duration::from_secs(1), "a pump takes an id first and then reads its keys; at least 1s")
        keep_taken: Duration = Duration::from_secs(60),
        /// Messages have ids of the platform, by INCR of `MT-gid`, there and in answers over XML-RPC, and the counter is never raised. Set it when all nodes have this release: those of the build before raise the counter to 2^62 with each batch.
        aliases: bool = false,
        /// What this node does for the platform, if others have the other roles. One node at a time does each: the one with the mark `+janitor` if it has the role, otherwise the one with the lowest number.
        roles: Vec<PlatformRole> = vec![PlatformRole::Sender, PlatformRole::Receiver, PlatformRole::Forwarder],
    }
}
