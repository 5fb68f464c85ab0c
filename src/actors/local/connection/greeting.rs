//! The handshake: which version both speak, and for whom the program speaks.
//!
//! The version comes first, so that a program of another one learns that and nothing else. Then the user, as the kernel
//! says it, and the account that `local.users` has for it; what the program says about itself is for people only.

use std::time::Duration;

use tokio::time::Instant;

use super::{Connection, Side};
use crate::actors::local::client::Client;
use crate::actors::local::handler_side::HandlerSide;
use crate::pb::BindState;
use crate::pb::local::{Hello, Reason, VERSION, Welcome, from_smsc};
use crate::{clock, users};

/// Whom the kernel names instead of users that our namespace does not have (user_namespaces (7)).
const OVERFLOW: u32 = 65_534;

impl Connection {
    pub(super) fn greet(&mut self, number: u64, hello: Hello) {
        self.snapshot.peer = self.user.shown(&hello.program);
        if hello.version != VERSION {
            let detail = format!(
                "the program speaks version {}, and this server version {VERSION}",
                hello.version
            );
            return self.part_from(number, Reason::Version, detail);
        }
        if !hello.role.is_empty() {
            return self.greet_handler(number, hello.role);
        }
        let uid = self.user.uid;
        let config = self.node.config();
        let local = &config.local;
        let key = local.user_of(uid, || users::names_of(uid));
        let named = key.and_then(|key| {
            let account = local.users.get(&key)?.to_owned();
            Some(Client::new(key, account))
        });
        let Some(client) = named else {
            let hint = match uid {
                OVERFLOW => {
                    "; or the SMSC runs in a user namespace (PrivateUsers= of systemd) without it"
                }
                _ => "",
            };
            let detail = format!("user {uid} has no account in local.users{hint}");
            return self.refuse(number, Reason::UnknownUser, detail);
        };
        if client.account(&self.door).is_none() {
            let gone = client.gone();
            return self.refuse(number, Reason::NoAccount, gone);
        }
        drop(config);
        client.system_id().clone_into(&mut self.snapshot.name);
        "client".clone_into(&mut self.snapshot.bind_type);
        let account = client.system_id().to_owned();
        self.side = Side::Client(client);
        self.welcome(number, account);
    }

    fn greet_handler(&mut self, number: u64, role: String) {
        let uid = self.user.uid;
        let config = self.node.config();
        let key = config.local.handler_of(uid, || users::names_of(uid));
        drop(config);
        let Some(key) = key else {
            let detail = format!("user {uid} has no role in local.roles");
            return self.refuse(number, Reason::Role, detail);
        };
        let side = HandlerSide::new(key, role);
        if let Some(objection) = side.objection(&self.node) {
            return self.refuse(number, Reason::Role, objection);
        }
        side.role.clone_into(&mut self.snapshot.name);
        "handler".clone_into(&mut self.snapshot.bind_type);
        self.side = Side::Handler(side);
        self.welcome(number, String::new());
    }

    fn welcome(&mut self, number: u64, account: String) {
        let config = self.node.config();
        let local = &config.local;
        // A handler that has nothing to do says nothing.
        let idle_timeout = match self.side {
            Side::Handler(_) => Duration::ZERO,
            Side::Unknown | Side::Client(_) => local.idle_timeout,
        };
        let welcome = Welcome {
            version: VERSION,
            server: concat!("smsc ", env!("CARGO_PKG_VERSION")).to_owned(),
            account,
            max_frame: local.max_frame,
            max_requests: local.max_requests,
            idle_ms: idle_timeout.as_millis() as u64,
        };
        drop(config);
        self.snapshot.state = BindState::Bound.into();
        self.snapshot.since = clock::now_ms();
        self.say(number, from_smsc::What::Welcome(welcome));
        self.publish();
    }

    fn refuse(&mut self, number: u64, reason: Reason, detail: String) {
        if self.door.may_log() {
            tracing::warn!(peer = %self.snapshot.peer, "a program was refused at local.socket: {detail}");
        }
        self.part_from(number, reason, detail);
    }

    /// What must come next: the rest of a frame, or the Hello.
    pub(super) fn expect_more(&mut self, has_begun: bool, now: Instant) {
        match (has_begun, &self.side) {
            (false, Side::Client(_) | Side::Handler(_)) => self.frame_since = None,
            (true, _) | (_, Side::Unknown) => {
                self.frame_since.get_or_insert(now);
            }
        }
    }
}
