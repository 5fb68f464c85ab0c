//! `[local]`: a UNIX socket for programs on the same machine. Read by `app` at start, and by the connections of
//! `actors/local`; what users may do is read again with the file.

use std::path::PathBuf;
use std::time::Duration;

use figment::value::Value;

use super::section::settings;
use super::setting::Leaf;
use super::value::{quoted, stands_for};
use super::words::Words;

/// Permissions of a file, which people write as text in octal.
#[derive(Debug, Clone, Copy)]
pub(super) struct Octal(u32);

/// What stands in place of an address where a program at the local socket is the peer.
pub const LOCAL: &str = "local";

/// Octets of the longest path: what `smsc_host::socket` can bind.
const MAX_PATH: usize = 99;

settings! {
    /// `[local]`: a UNIX socket by which local programs submit, cancel and list messages without a password: docs/local.md.
    pub struct Local {
        /// Path of the socket, at most 99 octets; none without it. `.lock` beside it names the process.
        @must(|path| path.as_os_str().len() <= MAX_PATH, "is too long for a UNIX socket; write a path of at most 99 octets")
        @must(|path| path.file_name().is_some(), "is no file; write a path such as \"/run/smsc/smsc.sock\"")
        socket: Option<PathBuf> = None,
        /// Permissions of the socket: `0660` for the server's group, `0666` for everybody in `users`.
        @must(|mode| *mode <= 0o777, "must be permissions such as \"0600\" or \"0660\"")
        mode: u32 as Octal = 0o600,
        /// Local users, by number or name in /etc/passwd, with the account of their messages: `{ "33" = "web", "backup" = "alerts" }`. Others are refused.
        users: Words = Words::default(),
        /// Local users, by number or name, with the roles of their programs: `{ "osmo" = "imsi gsm:home", "34" = "operator:fax" }`: docs/local.md, "Handlers".
        roles: Words = Words::default(),
        /// Most connections; each user may use half of what the others leave. More are closed at accept.
        @at_least(1) max_connections: usize = 128,
        /// Longest frame in octets; a longer one ends the connection.
        @octets(1_024, 16 << 20) max_frame: u32 = 1_048_576,
        /// Concurrent requests per connection; more are not read until one is answered.
        @must(|requests| *requests <= 4_096, "must be at most 4096")
        @at_least(1) max_requests: u32 = 64,
        /// Time to say hello, and to complete a frame.
        @positive frame_timeout: Duration = Duration::from_secs(10),
        /// A connection idle for this time is closed; "0s" never.
        idle_timeout: Duration = Duration::from_secs(600),
    }
}

// === impl Local ===

impl Local {
    /// The key of `users` that a user of this machine is meant by. `names`: asked only if some are configured by name.
    pub fn user_of(&self, uid: u32, names: impl FnOnce() -> Vec<String>) -> Option<String> {
        key_of(&self.users, uid, names)
    }

    /// The key of `roles` that a user of this machine is meant by. `names`: asked only if some are configured by name.
    pub fn handler_of(&self, uid: u32, names: impl FnOnce() -> Vec<String>) -> Option<String> {
        key_of(&self.roles, uid, names)
    }

    /// Whether programs of this key of `roles` may have a role.
    pub fn may_have(&self, user: &str, role: &str) -> bool {
        let roles = self.roles.get(user).unwrap_or_default();
        roles.split_whitespace().any(|one| one == role)
    }
}

/// The key by which a table names a user of this machine.
fn key_of(table: &Words, uid: u32, names: impl FnOnce() -> Vec<String>) -> Option<String> {
    let number = uid.to_string();
    let is_number = |key: &str| key.parse::<u32>().is_ok();
    if table.get(&number).is_some() {
        return Some(number);
    }
    if table.iter().all(|(key, _)| is_number(key)) {
        return None;
    }
    names().into_iter().find(|name| table.get(name).is_some())
}

// === Octal ===

stands_for!(Octal, u32);

impl Leaf for Octal {
    const EXAMPLE: &'static str = "\"0600\" or \"0660\", in quotes";
    const KIND: &'static str = "permissions in octal";

    fn parse(value: &Value) -> Option<Self> {
        // A number would be read as decimal: 600 is 0o1130.
        u32::from_str_radix(value.as_str()?, 8).ok().map(Self)
    }

    fn show(&self) -> String {
        quoted(&format!("{:04o}", self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;

    fn local(users: &str) -> Local {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("smsc.toml");
        let text =
            format!("[local]\nsocket = \"/run/smsc.sock\"\nmode = \"0660\"\nusers = {users}\n");
        std::fs::write(&file, text).unwrap();
        Config::load_with(Some(&file), []).unwrap().local
    }

    #[test]
    fn a_user_is_found_by_number_and_by_name() {
        let local = local("{ 33 = \"web\", backup = \"alerts\", root = \"ops\" }");
        assert_eq!(local.mode, 0o660);
        let of = |uid, names: &[&str]| {
            let names = names.iter().map(|name| (*name).to_owned()).collect();
            let key = local.user_of(uid, || names)?;
            local.users.get(&key).map(str::to_owned)
        };
        assert_eq!(of(33, &["www-data"]).as_deref(), Some("web"));
        assert_eq!(of(34, &["backup"]).as_deref(), Some("alerts"));
        assert_eq!(of(0, &["toor", "root"]).as_deref(), Some("ops"));
        assert_eq!(of(35, &["nobody"]), None);
        assert_eq!(of(36, &[]), None);
    }

    #[test]
    fn a_user_has_the_roles_that_are_written_for_it() {
        let mut local = local("{ 33 = \"web\" }");
        let roles = [("osmo", "imsi  gsm:home"), ("34", "operator:fax")];
        local.roles = (roles.iter())
            .map(|(user, roles)| ((*user).to_owned(), (*roles).to_owned()))
            .collect();
        let user = local.handler_of(101, || vec!["osmo".to_owned()]).unwrap();
        assert!(local.may_have(&user, "gsm:home") && local.may_have(&user, "imsi"));
        assert!(!local.may_have(&user, "operator:fax") && !local.may_have(&user, "gsm"));
        assert_eq!(local.handler_of(34, Vec::new).as_deref(), Some("34"));
        assert_eq!(local.handler_of(33, Vec::new), None);
    }

    #[test]
    fn names_are_not_looked_up_when_all_are_numbers() {
        let local = local("{ 33 = \"web\" }");
        let looked_up = || panic!("/etc/passwd was read");
        assert_eq!(local.user_of(33, looked_up).as_deref(), Some("33"));
        assert_eq!(local.user_of(34, looked_up), None);
    }
}
