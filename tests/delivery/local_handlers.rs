//! Programs on the same machine do a part of the work: they answer look-ups, and deliver to a peer or to handsets.
//! When one goes away, what it had comes back in order, and nothing is lost.

mod handsets;
mod nodes;
mod peers;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::harness::local::Program;
use crate::harness::{FakeCore, Peer, Smsc, SmscBuilder, stat_of, submit, until};
use serde_json::Value;
use smsc::gsm_core::Phone;
use smsc::pb::local::to_smsc::What as Asked;
use smsc::pb::local::{Failed, Found, Ready, Reason, from_smsc::What as Said};

/// Long enough to see that nothing is asked.
const QUIET: Duration = Duration::from_millis(500);

/// An SMSC with a socket at which programs of our user may have these roles.
fn with_roles(roles: &str) -> SmscBuilder {
    let uid = rustix::process::getuid().as_raw();
    let local = format!("[local]\nsocket = \"smsc.sock\"\nroles = {{ {uid} = {roles:?} }}");
    Smsc::new().account("test", "test").toml(&local)
}

fn socket(smsc: &Smsc) -> PathBuf {
    smsc.file("smsc.sock")
}

/// The example in Python; killed when dropped.
struct Example(Child);

impl Example {
    fn start(smsc: &Smsc, role: &str, file: &Path) -> Self {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/local/handler.py");
        let child = Command::new("python3")
            .arg(script)
            .arg(role)
            .arg(file)
            .env("SMSC_SOCKET", socket(smsc))
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Self(child)
    }
}

impl Drop for Example {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The lines of its journal; one that is not written whole yet does not count.
fn journal(file: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    let lines = whole.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The list without repetitions that follow at once, and how many of them there were.
fn without_repetitions<T: PartialEq>(mut all: Vec<T>) -> (Vec<T>, usize) {
    let count = all.len();
    all.dedup();
    let repeated = count - all.len();
    (all, repeated)
}

// === look-ups ===

const NUMBER: &str = "49160001";
const IMSI: &str = "001010000000001";

/// No question is asked once more because its answer takes long on a busy machine.
fn asking(core: &FakeCore) -> SmscBuilder {
    let address = core.address().to_string();
    with_roles("imsi").toml(&format!(
        "[[gsm]]\nname = \"home\"\naddress = {address:?}\nsmsc_address = \"49160000\"\n\
         [imsi]\nask = [\"local\"]\ntimeout = \"60s\"\ndelays = [\"100ms\"]\nbreaker_pause = \"200ms\"\n\
         [[route]]\nprefix = \"4916\"\nto = [\"gsm:home\"]\n"
    ))
}

#[test]
fn a_program_answers_look_ups() {
    let core = FakeCore::start();
    core.set(IMSI, Phone::Here);
    let smsc = asking(&core).start();
    core.wait_for_connections(1);
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    // Nobody is there yet: it waits.
    let id = esme.submit(submit(NUMBER, "hello"));
    let mut program = Program::handler(&socket(&smsc), "imsi");
    let (number, asked) = program.asked();
    let Said::LookUp(look_up) = asked else {
        panic!("{asked:?}");
    };
    assert_eq!(look_up.msisdn, NUMBER);
    // It cannot say now: it is asked again.
    let detail = "later".to_owned();
    program.answer(number, Asked::Failed(Failed { detail }));
    let (number, _) = program.asked();
    let imsi = IMSI.to_owned();
    program.answer(number, Asked::Found(Found { imsi }));
    assert_eq!(core.wait_for(IMSI, 1)[0].text, "hello");
    assert_eq!(smsc.wait_for_final(&id)["state"], "DELIVERED");
    assert_eq!(stat_of(&esme.deliver()).0, id);

    // Nobody has this number.
    let id = esme.submit(submit("49160002", "hello"));
    let (number, _) = program.asked();
    program.answer(number, Asked::Found(Found::default()));
    assert_eq!(smsc.wait_for_final(&id)["state"], "UNDELIVERABLE");

    // A program that goes away in the middle of a question: the next one is asked.
    let id = esme.submit(submit("49160003", "again"));
    program.asked();
    drop(program);
    let mut program = Program::handler(&socket(&smsc), "imsi");
    let (number, _) = program.asked();
    core.set("001010000000003", Phone::Here);
    let imsi = "001010000000003".to_owned();
    program.answer(number, Asked::Found(Found { imsi }));
    assert_eq!(smsc.wait_for_final(&id)["state"], "DELIVERED");
    smsc.assert_no_panic();
}

#[test]
fn the_example_in_python_knows_imsis() {
    let core = FakeCore::start();
    core.set(IMSI, Phone::Here);
    let smsc = asking(&core).start();
    core.wait_for_connections(1);
    let table = smsc.file("imsis.csv");
    std::fs::write(&table, format!("{NUMBER},{IMSI}\n")).unwrap();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let id = esme.submit(submit(NUMBER, "hello"));
    let _example = Example::start(&smsc, "imsi", &table);
    assert_eq!(core.wait_for(IMSI, 1)[0].text, "hello");
    assert_eq!(smsc.wait_for_final(&id)["state"], "DELIVERED");
    let unknown = esme.submit(submit("49160002", "hello"));
    assert_eq!(smsc.wait_for_final(&unknown)["state"], "UNDELIVERABLE");
}

// === who may ===

#[test]
fn a_role_is_for_those_who_have_it() {
    let smsc = with_roles("operator:fax")
        .toml("[[operator]]\nid = \"fax\"\naddress = \"local\"\n")
        .toml("[[operator]]\nid = \"telex\"\naddress = \"local\"\n")
        .start();
    let path = socket(&smsc);
    for (role, words) in [
        ("operator:telex", "write it into local.roles"),
        ("imsi", "write it into local.roles"),
        ("", "has no account in local.users"),
        ("pope", "write it into local.roles"),
    ] {
        let (_, said) = Program::apply(&path, role);
        let Said::Goodbye(goodbye) = said else {
            panic!("{role}: {said:?}");
        };
        assert!(goodbye.detail.contains(words), "{role}: {}", goodbye.detail);
    }
    let (mut program, said) = Program::apply(&path, "operator:fax");
    assert!(matches!(said, Said::Welcome(_)), "{said:?}");
    // It speaks for no account, and a subscriber is nothing to a peer.
    for wrong in [
        Asked::List(smsc::pb::local::List::default()),
        Asked::Ready(Ready::default()),
    ] {
        let Some(Said::Failure(failure)) = program.ask(wrong) else {
            panic!("it is done");
        };
        assert_eq!(failure.reason(), Reason::Unsupported, "{failure:?}");
    }
    // The role is taken away while it is connected.
    let uid = rustix::process::getuid().as_raw();
    let config = smsc.config();
    smsc.set_config(&config.replace(&format!("roles = {{ {uid} = \"operator:fax\" }}"), ""));
    smsc.reload();
    let (reason, detail) = program.is_parted();
    assert_eq!(reason, Reason::Role, "{detail}");
    smsc.assert_no_panic();
}

#[test]
fn a_configuration_without_a_socket_is_refused() {
    let smsc = Smsc::new().start();
    let text = "[[operator]]\nid = \"fax\"\naddress = \"local\"\n[imsi]\nask = [\"local\"]\n\
                [local]\nroles = { 33 = \"operator\" }\n";
    std::fs::write(smsc.file("wrong.toml"), text).unwrap();
    let said = smsc.run(&["check-config", "--config", "wrong.toml"]);
    assert!(!said.success);
    for words in [
        "operator[0].address: needs a program at local.socket",
        "imsi.ask: needs a program at local.socket",
        "local.roles.33: \"operator\" is no role",
    ] {
        assert!(said.stderr.contains(words), "{}", said.stderr);
    }
}

/// Waits until a queue has nothing with its session.
fn settled(smsc: &Smsc, queue: &str) {
    until("nothing to be in flight", || {
        let shown = smsc.admin().get(&format!("/v1/queues/{queue}"));
        (shown["in_flight"] == 0).then_some(())
    });
}
