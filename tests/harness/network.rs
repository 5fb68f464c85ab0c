//! A network of a test's own, in which an address can be made to drop all packets, as a machine does that is switched off
//! or behind a broken cable: nobody says no, in either direction.
//!
//! The test runs in a process of its own in a new network namespace, which needs root or user namespaces.

use std::process::Command;

use super::{run, tools};

/// Set within the namespace.
const INSIDE: &str = "SMSC_TEST_OWN_NETWORK";
/// Whatever is sent to this address of no machine gets lost.
const NOBODY: &str = "02:00:00:00:00:99";

/// Whether this process is in a network of its own. If not, the named test of this program is run in one; panics if it fails.
pub fn is_own(test: &str) -> bool {
    if std::env::var_os(INSIDE).is_some() {
        ip("link set lo up");
        ip("link add nowhere type veth peer name nobody");
        ip("link set nowhere up");
        ip("link set nobody up");
        return true;
    }
    let mut command = Command::new("unshare");
    command.arg("--net");
    if !tools::is_root() {
        command.args(["--user", "--map-current-user", "--keep-caps"]);
    }
    let done = run(command
        .arg(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture"])
        .env(INSIDE, "1"));
    println!("{}{}", done.stdout, done.stderr);
    assert!(
        done.success && done.stdout.contains("1 passed"),
        "{test} in a network of its own"
    );
    false
}

/// Gives this machine one more address.
pub fn add(address: &str) {
    ip(&format!("address add {address}/32 dev lo"));
}

/// From now on packets to and from the address get lost.
pub fn lose(address: &str) {
    ip(&format!(
        "neighbour replace {address} lladdr {NOBODY} dev nowhere nud permanent"
    ));
    ip(&format!("address del {address}/32 dev lo"));
    ip(&format!("route add {address}/32 dev nowhere src 127.0.0.1"));
}

fn ip(arguments: &str) {
    let done = run(Command::new("ip").args(arguments.split(' ')));
    assert!(
        done.success,
        "ip {arguments}: {}{}",
        done.stdout, done.stderr
    );
}
