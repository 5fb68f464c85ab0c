//! `[redis_platform]`: a mirror of messages in Redis. Read by the task Export
//! (`actors/control/export/platform.rs`) and that of the platform intake (`actors/control/platform_intake.rs`);
//! docs/coming-from.md.

use std::time::Duration;

use super::section::settings;

settings! {
    /// Who forwards reports to business systems.
    pub enum ReportForwarder {
        /// We do, to the binds or the callback of their accounts.
        Smsc = "smsc",
        /// The platform's own forwarder.
        Platform = "platform",
    }

    /// What a node does for the platform.
    pub enum PlatformRole {
        /// Takes messages from the pending lists.
        Sender = "sender",
        /// Writes states of messages, and messages of handsets.
        Receiver = "receiver",
        /// Gives ids of forwarded reports to the pump, and removes the keys that it took.
        Forwarder = "forwarder",
    }

    /// `[redis_platform]`: messages in the Redis of `[redis]` under the keys of the Redis SMS platform: docs/coming-from.md.
    pub struct RedisPlatform {
        /// Write messages to Redis.
        enabled: bool = false,
        /// Also write messages when they are accepted and sent; costs commit size and one read per message.
        states: bool = true,
        /// Include the texts.
        text: bool = true,
        /// Account of messages in `list:Pending-0`, `list:Pending-1` and so on; without it, none are taken.
        account: Option<String> = None,
        /// Number of the last of these lists; lower ones are emptied first.
        pending_lists: u32 = 1,
        /// Who forwards reports. `smsc`: an id enters `list:Finish` when its account has the receipt or wants none. `platform`: the platform takes ids from `list:report` and `list:MO-ID` and fills `list:Finish` itself.
        forwarder: ReportForwarder = ReportForwarder::Smsc,
        /// Lifetime of a message's keys after its id was taken from `list:Finish`; at least 1s.
        @must(|kept| *kept >= Duration::from_secs(1), "a pump takes an id first and then reads its keys; at least 1s")
        keep_taken: Duration = Duration::from_secs(60),
        /// Use ids of the platform (INCR of `MT-gid`) in Redis and XML-RPC, and never raise the counter. Set it only when all nodes have this release: older ones raise it to 2^62.
        aliases: bool = false,
        /// Roles of this node for the platform. One node at a time does each: the one marked `+janitor` if it has the role, else the lowest number.
        roles: Vec<PlatformRole> = vec![PlatformRole::Sender, PlatformRole::Receiver, PlatformRole::Forwarder],
    }
}
