//! `smsc convert`: `smsc check-config` accepts the configuration that it makes from another product's
//! files, and standard error lists, line by line, what it does not cover.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::harness::{self, Finished, run, run_reading};

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
        "Should be looked at, it may work in another way:",
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

const KANNEL_ROUTES: &str = "\
group = core
admin-port = 13000

group = smsc
smsc = smpp
smsc-id = acme
host = 127.0.0.1
port = 2776
transceiver-mode = 1
smsc-username = gateway
smsc-password = secret
denied-prefix = \"4477;4478\"
denied-smsc-id = premium

group = smsc
smsc = smpp
smsc-id = best
host = 127.0.0.1
port = 2777
smsc-username = gateway
smsc-password = secret
allowed-prefix = \"44;33\"
denied-prefix = \"441;49\"
preferred-prefix = 447
preferred-smsc-id = premium

group = smsc
smsc = smpp
smsc-id = cheap
host = 127.0.0.1
port = 2778
smsc-username = gateway
smsc-password = secret
denied-prefix = \"1;447;49\"

group = sendsms-user
username = shop
password = secret
forced-smsc = premium

group = sendsms-user
username = free
password = secret

group = sms-service
keyword = price
get-url = \"http://shop.example.com/?q=%r&from=%p\"
";

const JASMIN_ROUTES: &str = "\
jcli : smppccm -s acme
cid acme
host 127.0.0.1
port 2776
username gateway
password secret
submit_throughput 0
jcli : smppccm -s spare
cid spare
host 127.0.0.1
port 2777
username gateway
password secret
submit_throughput 0
jcli : user -s foo
username foouser
uid foo
gid marketing
jcli : user -s bar
username baruser
uid bar
gid sales
jcli : mtrouter -l
#Order Type                    Rate   Connector ID(s)            Filter(s)
#30    StaticMTRoute           0 (!)  smppc(acme)                <U (uid=foo)>, <DA (dst_addr=^33\\d+)>
#20    RandomRoundrobinMTRoute 0 (!)  smppc(acme), smppc(spare)  <DA (dst_addr=^44[78].*)>
#15    FailoverMTRoute         0 (!)  smppc(spare), smppc(acme)  <G (gid=sales)>
#10    StaticMTRoute           0 (!)  smppc(spare)               <DA (dst_addr=^447)>
#0     DefaultRoute            0 (!)  smppc(acme)
";

/// Three numbers for each beginning of three digits.
fn every_beginning() -> String {
    let numbers = (100..1000).flat_map(|beginning| {
        ["00123", "77900123", "8"].map(|rest| format!("{beginning}{rest}\n"))
    });
    numbers.collect()
}

#[test]
fn kannels_numbers_go_where_they_went() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("kannel.conf", KANNEL_ROUTES);
    write("numbers.csv", &every_beginning());
    let convert = ["convert", "kannel", "kannel.conf"];
    let compare = |more: &[&str]| smsc(&[&convert[..], more].concat(), folder.path());

    let same = compare(&["--compare", "numbers.csv"]);
    assert!(same.success, "{}{}", same.stdout, same.stderr);
    // Both accounts.
    assert_eq!(same.stdout, "all 5400 messages go where they went\n");

    // The keyword of the URL is a rule.
    let converted = compare(&[]).stdout;
    check(&converted, folder.path());
    assert!(converted.contains("deliver_to = \"price\""), "{converted}");

    // An edited file.
    write(
        "edited.toml",
        &format!("{converted}\n[[route]]\nprefix = \"999\"\nto = [\"best\"]\n"),
    );
    let edited = compare(&["--compare", "numbers.csv", "--with", "edited.toml"]);
    assert_eq!(edited.code, Some(1), "{}", edited.stderr);
    assert!(
        edited.stderr.contains("of 5400 messages go elsewhere"),
        "{}",
        edited.stderr
    );
    let free = edited.stdout.split("99900123 of free\n").nth(1).unwrap();
    let free: Vec<&str> = free.lines().take(6).collect();
    assert_eq!(
        free,
        [
            "  before: acme + best + cheap",
            "    kannel.conf:4: acme takes it",
            "    kannel.conf:15: best takes it",
            "    kannel.conf:27: cheap takes it",
            "  now: best",
            "    route 999: to \"999*\": best",
        ],
        "{}",
        edited.stdout
    );

    // Requests that name a connection, which is not looked at here.
    write(
        "chosen.csv",
        "number,account,smsc\n447400900123,free,premium\n",
    );
    let chosen = compare(&["--compare", "chosen.csv"]);
    assert_eq!(chosen.code, Some(1));
    assert!(
        chosen.stdout.contains("it has the smsc-id premium"),
        "{}",
        chosen.stdout
    );

    write("wrong.csv", "447700900123\n447700900124,nobody\n");
    let wrong = compare(&["--compare", "wrong.csv"]);
    assert!(
        wrong
            .stderr
            .contains("line 2 of wrong.csv: there is no account \"nobody\""),
        "{}",
        wrong.stderr
    );
}

#[test]
fn jasmins_numbers_go_where_they_went() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("jcli.txt", JASMIN_ROUTES);
    write("numbers.csv", &every_beginning());
    let compare = || {
        let mut command = Command::new(harness::binary());
        command
            .args(["convert", "jasmin", "jcli.txt", "--compare", "-"])
            .current_dir(folder.path());
        run_reading(&mut command, &folder.path().join("numbers.csv"))
    };
    let same = compare();
    assert!(same.success, "{}{}", same.stdout, same.stderr);
    assert_eq!(same.stdout, "all 5400 messages go where they went\n");

    // A filter without a counterpart: what it decides is shown.
    let timed = "#0     DefaultRoute";
    let night = "#25    StaticMTRoute           0 (!)  smppc(spare)  <TI (20:00:00,08:00:00)>";
    write(
        "jcli.txt",
        &JASMIN_ROUTES.replace(timed, &format!("{night}\n{timed}")),
    );
    write("numbers.csv", "33612345678\n");
    let timed = compare();
    assert_eq!(timed.code, Some(1));
    let expected = [
        "33612345678 of baruser",
        "  before if the filter TI 20:00:00,08:00:00 matches: spare",
        "    jcli.txt:29: StaticMTRoute of order 25",
        "  before: spare, then acme",
        "    jcli.txt:27: FailoverMTRoute of order 15",
        "  now: spare, then acme",
    ];
    assert_eq!(
        timed.stdout.lines().take(6).collect::<Vec<_>>(),
        expected,
        "{}",
        timed.stdout
    );
    // The route of foouser is before the one with the hours.
    assert!(
        timed.stderr.contains("1 of 2 messages go elsewhere"),
        "{}",
        timed.stderr
    );
}
