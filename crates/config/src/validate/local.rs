//! Checks of `[local]`. Whether a user or an account exists is not known here: the file may be checked on another
//! machine, and accounts are in the store.

use super::Findings;
use crate::local::LOCAL;
use crate::{Config, ImsiSource};
use smsc_domain::queue_name::QueueName;

/// Whom the kernel names instead of users that a namespace does not have (user_namespaces (7)).
const OVERFLOW: &str = "65534";
/// Longest name of a user (useradd (8)).
const MAX_NAME: usize = 32;

pub(super) fn check_local(config: &Config, found: &mut Findings) {
    let local = &config.local;
    if local.socket.is_some() && local.users.is_empty() && local.roles.is_empty() {
        let message = "names nobody, so all are refused; write { \"1000\" = \"ACCOUNT\" }";
        found.warn("local.users", message);
    }
    for (user, account) in local.users.iter() {
        let key = format!("local.users.{user}");
        found.require(
            &key,
            is_user(user),
            "is no user; write the number or the name of a user of this machine",
        );
        found.require(
            &key,
            !account.is_empty(),
            "is empty; write the name of an account",
        );
        if user == OVERFLOW {
            let message = "is what the users of other namespaces look like, too: all of them get this account";
            found.warn(&key, message);
        }
    }
    for (user, roles) in local.roles.iter() {
        let key = format!("local.roles.{user}");
        found.require(
            &key,
            is_user(user),
            "is no user; write the number or the name of a user of this machine",
        );
        found.require(&key, !roles.trim().is_empty(), "is empty; write roles");
        for role in roles.split_whitespace() {
            check_role(config, &key, role, found);
        }
    }
    check_users_of_the_socket(config, found);
}

fn check_role(config: &Config, key: &str, role: &str, found: &mut Findings) {
    // Operators and networks may be in the store, which is not known here.
    let named = QueueName::parse(role);
    let is_role = role == "imsi" || named.is_connected() && !named.id().is_empty();
    let message = format!("{role:?} is no role; write \"imsi\", \"operator:ID\" or \"gsm:NAME\"");
    if !is_role {
        return found.problem(key, message);
    }
    let (mut operators, mut networks) = (config.operator.iter(), config.gsm.iter());
    let has_address = match named {
        QueueName::Operator(id) => operators.any(|one| one.id == id && !one.is_local()),
        QueueName::Gsm(name) => networks.any(|one| one.name == name && !one.is_local()),
        _ => false,
    };
    if has_address {
        let message = format!(
            "{role:?} has an address of its own, so no program is asked; write address = {LOCAL:?} there"
        );
        found.warn(key, message);
    }
}

/// What is done by programs at the socket needs the socket.
fn check_users_of_the_socket(config: &Config, found: &mut Findings) {
    if config.local.socket.is_some() {
        return;
    }
    let why = "needs a program at local.socket, which is not set";
    for (index, operator) in config.operator.iter().enumerate() {
        if operator.is_local() {
            found.problem(format!("operator[{index}].address"), why);
        }
    }
    for (index, network) in config.gsm.iter().enumerate() {
        if network.is_local() {
            found.problem(format!("gsm[{index}].address"), why);
        }
    }
    if config.imsi.ask.contains(&ImsiSource::Local) {
        found.problem("imsi.ask", why);
    }
}

/// A number as the kernel has them, written in one way; or a name.
fn is_user(text: &str) -> bool {
    if text.bytes().all(|octet| octet.is_ascii_digit()) {
        return text.parse::<u32>().is_ok_and(|uid| uid.to_string() == text);
    }
    let may_be = |octet: u8| octet.is_ascii_graphic() && !b":,/".contains(&octet);
    text.len() <= MAX_NAME && !text.starts_with('-') && text.bytes().all(may_be)
}
