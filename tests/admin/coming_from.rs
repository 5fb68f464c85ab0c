//! `smsc convert`: `smsc check-config` accepts the configuration that it makes from another product's
//! files, and standard error lists, line by line, what it does not cover.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::harness::{self, Finished, run};

const KANNEL: &str = "\
group = core
admin-port = 13000
smsbox-port = 13001

include = \"conf.d/acme.conf\"

group = opensmppbox
opensmppbox-port = 2345
our-system-id = kannel
smpp-logins = \"/somewhere/else/logins.txt\"

group = smsbox-route
smsbox-id = VMA
shortcode = 12345
";

const ACME: &str = "\
group = smsc
smsc = smpp
smsc-id = acme
host = 127.0.0.1
port = 2776
transceiver-mode = 1
smsc-username = gateway
smsc-password = secret
alt-charset = ISO-8859-1
use-ssl = true
ssl-client-certkey-file = /etc/kannel/client.pem
max-sms-octets = 140
";

const JCLI: &str = "\
jcli : smppccm -s acme
cid acme
host 127.0.0.1
port 2776
username gateway
password secret
bind transceiver
submit_throughput 0
ssl yes
jcli : smppccm -s receipts
cid receipts
host 127.0.0.1
port 2777
username gateway
password secret
bind receiver
jcli : user -s alice
username alice
uid alice
gid all
mt_messaging_cred quota balance 10.0
jcli : mtrouter -l
#Order Type          Rate   Connector ID(s)  Filter(s)
#10    FailoverMTRoute 0 (!)  smppc(acme), smppc(receipts) <U (uid=alice)>, <DA (dst_addr=^44)>
#0     DefaultRoute  0 (!)  smppc(acme)
";

fn smsc(arguments: &[&str], folder: &Path) -> Finished {
    run(Command::new(harness::binary())
        .args(arguments)
        .current_dir(folder))
}

/// Checks the output and returns what check-config prints.
fn check(toml: &str, folder: &Path) -> String {
    fs::write(folder.join("smsc.toml"), toml).unwrap();
    let checked = smsc(&["check-config", "--config", "smsc.toml"], folder);
    assert!(
        checked.success,
        "{}{}\n{toml}",
        checked.stdout, checked.stderr
    );
    checked.stdout
}

#[test]
fn kannel_with_its_included_files() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("conf.d")).unwrap();
    fs::write(folder.path().join("kannel.conf"), KANNEL).unwrap();
    fs::write(folder.path().join("conf.d/acme.conf"), ACME).unwrap();
    // The path is of another machine: the file is found beside the one that names it.
    fs::write(folder.path().join("logins.txt"), "alice wonder VMA\n").unwrap();
    let done = smsc(&["convert", "kannel", "kannel.conf"], folder.path());
    assert!(done.success, "{}", done.stderr);
    let said = check(&done.stdout, folder.path());
    assert!(
        said.contains("ok: 1 account, 1 operator, 1 route, 0 warnings"),
        "{said}"
    );
    for line in [
        "kannel.conf:2: admin-port of group core: set http.listen: the admin API is there",
        "conf.d/acme.conf:10: use-ssl: the operator's certificate is verified here",
        "conf.d/acme.conf:12: max-sms-octets of group smsc: set long_messages of the operator",
        "Must be done, or something is missing that worked:",
        "Nothing to do:",
        " to look at, ",
    ] {
        assert!(done.stderr.contains(line), "{line:?} in:\n{}", done.stderr);
    }
    for line in [
        "alphabet = \"latin1\"",
        "tls = true",
        "tls_cert = \"/etc/kannel/client.pem\"",
        "tls_key = \"/etc/kannel/client.pem\"",
    ] {
        assert!(done.stdout.contains(line), "{line:?} in:\n{}", done.stdout);
    }
    // Supported settings are not reported as missing.
    for gone in [
        "not reached by TLS",
        "stunnel",
        "not split",
        "content passes",
    ] {
        assert!(!done.stderr.contains(gone), "{gone:?} in:\n{}", done.stderr);
    }
}

#[test]
fn jasmin_as_jcli_shows_it() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("jcli.txt"), JCLI).unwrap();
    let done = smsc(&["convert", "jasmin", "jcli.txt"], folder.path());
    assert!(done.success, "{}", done.stderr);
    let said = check(&done.stdout, folder.path());
    assert!(
        said.contains("ok: 1 account, 2 operators, 1 route"),
        "{said}"
    );
    assert!(done.stdout.contains("tls = true"), "{}", done.stdout);
    assert!(
        done.stderr.contains("smppc(receipts) binds as receiver"),
        "{}",
        done.stderr
    );
    assert!(
        done.stderr.contains(
            "jcli.txt:21: alice: mt_messaging_cred quota balance 10.0: billing is in whole credits"
        ),
        "{}",
        done.stderr
    );
    assert!(
        done.stderr
            .contains("the password of \"alice\" is not shown"),
        "{}",
        done.stderr
    );
}

#[test]
fn files_of_jasmins_own_are_refused_with_a_cure() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(
        folder.path().join("jcli-prod.users"),
        b"Persisted on x [Jasmin 0.10]\n\x80\x04\x95",
    )
    .unwrap();
    let done = smsc(&["convert", "jasmin", "jcli-prod.users"], folder.path());
    assert!(!done.success);
    assert_eq!(done.stdout, "");
    assert!(done.stderr.contains("user -s UID"), "{}", done.stderr);
    let done = smsc(&["convert", "kannel", "no-such-file"], folder.path());
    assert!(
        !done.success && done.stderr.contains("no-such-file"),
        "{}",
        done.stderr
    );
}
