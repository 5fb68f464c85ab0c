//! A process that is killed at full load loses nothing that it has accepted, whichever entrance it came through.
//!
//! REST, XML-RPC, Kannel's and Jasmin's entrance and SMPP are used at once while the SMSC is killed with SIGKILL and
//! started again, five times, and while one of three nodes is. After the drain everything accepted is in exactly
//! one final state, has reached the operator and has one call detail record, and every receipt that was asked for over
//! HTTP was called back under one delivery id.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::json;

use crate::harness::hooks::Hooks;
use crate::harness::{
    self, Admin, Cluster, Gate, JournalLine, Peer, Process, Simulator, Smsc, SmscBuilder, until,
    within,
};
use crate::history::{self, Sender, Stored};

const KILLS: usize = 5;
const NODES: usize = 3;
const BINDS: usize = 2;
const WINDOW: usize = 100;
const COMMIT_BATCH: usize = 1024;
/// Accepted over HTTP between two kills, so that each is one at full load.
const BETWEEN_KILLS: usize = 1_000;
/// Requests that each entrance has under way.
const SENDERS: usize = 2;
/// From the end of the load to the last callback; it takes a fraction.
const LIMIT: Duration = Duration::from_secs(300);
const SWITCHES: &str = "xml_rpc = true\nkannel = true\njasmin = true";

/// A way in over HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Entrance {
    Rest,
    XmlRpc,
    Kannel,
    Jasmin,
}

const ENTRANCES: [Entrance; 4] = [
    Entrance::Rest,
    Entrance::XmlRpc,
    Entrance::Kannel,
    Entrance::Jasmin,
];

/// What was accepted: by its reference, which begins its text, the id if the entrance gives one.
type Accepted = HashMap<String, Option<u64>>;

/// Clients of all entrances over HTTP that send as fast as they are answered.
struct Senders {
    accepted: Arc<Mutex<BTreeMap<Entrance, Accepted>>>,
    count: Arc<AtomicUsize>,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

// === impl Entrance ===

impl Entrance {
    /// Sends one message, and says what was accepted; `None` if there was no answer.
    ///
    /// # Panics
    /// The answer is none that a healthy or a dying SMSC gives.
    fn send(
        self,
        agent: &ureq::Agent,
        address: SocketAddr,
        key: &str,
        reference: &str,
    ) -> Option<Option<u64>> {
        let base = format!("http://{address}");
        let bearer = format!("Bearer {key}");
        // What goes to one number waits for what went before.
        let number = &reference[reference.len() - 5..];
        let to = &format!("4477009{number}");
        let sent = match self {
            Self::Rest => {
                let order = json!({
                    "to": to, "from": "ACME", "text": reference, "reference": reference, "receipt": true,
                });
                agent
                    .post(format!("{base}/v1/messages"))
                    .header("Authorization", bearer)
                    .header("Content-Type", "application/json")
                    .header("Idempotency-Key", reference)
                    .send(order.to_string())
            }
            Self::XmlRpc => {
                let member =
                    |name, value| format!("<member><name>{name}</name><value>{value}</value></member>");
                let order = [
                    member("user_numbers", to.as_str()),
                    member("sp_number", "ACME"),
                    member("content", reference),
                    member("report_flag", "<int>1</int>"),
                ];
                let call = format!(
                    "<?xml version=\"1.0\"?><methodCall><methodName>sms.send</methodName><params><param><value>\
                     <struct>{}</struct></value></param></params></methodCall>",
                    order.concat()
                );
                agent
                    .post(format!("{base}/RPC2"))
                    .header("Authorization", bearer)
                    .header("Content-Type", "text/xml")
                    .send(call)
            }
            Self::Kannel => agent
                .get(format!(
                    "{base}/cgi-bin/sendsms?username=web&password=word&to={to}&from=ACME&text={reference}"
                ))
                .call(),
            Self::Jasmin => agent
                .get(format!(
                    "{base}/send?username=web&password=word&to={to}&from=ACME&content={reference}"
                ))
                .call(),
        };
        let mut answer = sent.ok()?;
        let status = answer.status().as_u16();
        let text = answer.body_mut().read_to_string().ok()?;
        let taken = match self {
            Self::Rest | Self::Kannel => status == 202,
            Self::XmlRpc => status == 200 && !text.contains("<fault>"),
            Self::Jasmin => status == 200 && text.starts_with("Success"),
        };
        // A request with this key is still being carried out, or the store has just gone.
        let again = [409, 503].contains(&status) || text.contains("<fault>");
        assert!(taken || again, "{self:?}: {status} {text}");
        taken.then(|| self.id(&text))
    }

    fn id(self, text: &str) -> Option<u64> {
        let after = match self {
            Self::Rest => "\"id\":\"",
            Self::XmlRpc => "<name>id</name><value><string>",
            Self::Kannel => return None,
            Self::Jasmin => "Success \"",
        };
        let (_, id) = text
            .split_once(after)
            .unwrap_or_else(|| panic!("no id in {text}"));
        let end = id.find(['"', '<']).expect("an end");
        Some(id[..end].parse().expect("an id"))
    }
}

// === impl Senders ===

impl Senders {
    fn start(address: SocketAddr, key: &str) -> Self {
        let mut senders = Self {
            accepted: Arc::default(),
            count: Arc::default(),
            stop: Arc::default(),
            threads: Vec::new(),
        };
        for entrance in ENTRANCES {
            for thread in 0..SENDERS {
                senders.join(entrance, thread, address, key);
            }
        }
        senders
    }

    fn join(&mut self, entrance: Entrance, thread: usize, address: SocketAddr, key: &str) {
        let agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(Duration::from_secs(20)))
            .build()
            .new_agent();
        let (accepted, key) = (Arc::clone(&self.accepted), key.to_owned());
        let (count, stop) = (Arc::clone(&self.count), Arc::clone(&self.stop));
        self.threads.push(thread::spawn(move || {
            let mut number = 0;
            while !stop.load(Ordering::Relaxed) {
                let reference = format!("{entrance:?}-{thread}-{number:06}");
                match entrance.send(&agent, address, &key, &reference) {
                    Some(id) => {
                        let mut accepted = accepted.lock().unwrap();
                        let before = accepted.entry(entrance).or_default().insert(reference, id);
                        assert_eq!(before, None);
                        count.fetch_add(1, Ordering::Relaxed);
                    }
                    // With its key, the same request is sent until it is answered.
                    None if entrance == Entrance::Rest => {
                        pause();
                        continue;
                    }
                    None => pause(),
                }
                number += 1;
            }
        }));
    }

    /// Waits until more was accepted.
    fn wait_for_traffic(&self) {
        let before = self.count.load(Ordering::Relaxed);
        until("messages to be accepted over HTTP", || {
            (self.count.load(Ordering::Relaxed) > before + BETWEEN_KILLS).then_some(())
        });
    }

    fn finish(self) -> BTreeMap<Entrance, Accepted> {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads {
            thread
                .join()
                .expect("a sender that was answered as expected");
        }
        Arc::into_inner(self.accepted)
            .unwrap()
            .into_inner()
            .unwrap()
    }
}

/// What a client does before it tries again.
#[expect(clippy::disallowed_methods, reason = "a thread of its own")]
fn pause() {
    thread::sleep(Duration::from_millis(20));
}

/// The accounts `test`, which is bound, and `web`, which submits over HTTP and is called back.
fn configured(smsc: SmscBuilder, operator: SocketAddr, receiver: &str) -> SmscBuilder {
    let web = format!(
        "window = 200\ndeliver_by = \"callback\"\ncallback_url = {receiver:?}\n\
         callback_allow_private = [\"127.0.0.1\"]\n\
         callback_secrets = \"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\""
    );
    smsc.with_api_and(SWITCHES)
        .account_with("test", "test", "window = 200")
        .account_with("web", "word", &web)
        .operator_with(
            "up",
            operator,
            &format!("binds = {BINDS}\nwindow = {WINDOW}"),
        )
        .route("", "up")
}

fn load(address: SocketAddr, folder: &Path) -> Process {
    let mut command = Command::new(harness::binary());
    command
        .args(["load", "--host", &address.to_string()])
        .args([
            "--window",
            "50",
            "--rate",
            "1000",
            "--duration",
            "10m",
            "--settle",
            "60s",
        ])
        .arg("--journal")
        .arg(folder.join("load.journal"));
    Process::start("smsc load", command, &folder.join("load.log"))
}

/// Ends the load, and waits for its receipts and for the callbacks that were asked for.
fn finish(load: &mut Process, senders: Senders, hooks: &Hooks) -> BTreeMap<Entrance, Accepted> {
    load.signal("INT");
    let accepted = senders.finish();
    within(LIMIT, || (!load.is_running()).then_some(())).expect("receipts are missing");
    assert!(load.wait().success(), "the load found losses");
    let asked = [Entrance::Rest, Entrance::XmlRpc].map(|entrance| accepted[&entrance].values());
    let wanted: HashSet<u64> = asked.into_iter().flatten().flatten().copied().collect();
    let missing = || {
        let called = called(hooks).into_keys().collect();
        wanted.difference(&called).count()
    };
    let all = within(LIMIT, || (missing() == 0).then_some(()));
    assert!(all.is_some(), "{} callbacks are missing", missing());
    accepted
}

/// Delivery ids of the callbacks of each message.
fn called(hooks: &Hooks) -> HashMap<u64, HashSet<String>> {
    let mut called: HashMap<u64, HashSet<String>> = HashMap::new();
    for hook in hooks.came() {
        let message = hook.json()["data"]["message_id"]
            .as_str()
            .unwrap()
            .parse()
            .unwrap();
        called
            .entry(message)
            .or_default()
            .insert(hook.id().to_owned());
    }
    called
}

/// Fails unless each reference is that of one message, as the account sees them.
fn assert_sent_once(api: &Admin, accepted: &Accepted) {
    let mut seen: HashMap<String, u64> = HashMap::new();
    let mut page = String::new();
    loop {
        let list = api.get(&format!("/v1/messages?limit=1000{page}"));
        for message in list["messages"].as_array().unwrap() {
            if let Some(reference) = message["reference"].as_str() {
                let id = message["id"].as_str().unwrap().parse().unwrap();
                let before = seen.insert(reference.to_owned(), id);
                assert_eq!(before, None, "{reference} was sent twice");
            }
        }
        match list["next_before"].as_str() {
            Some(before) => page = format!("&before={before}"),
            None => break,
        }
    }
    for (reference, id) in accepted {
        assert_eq!(seen.get(reference), id.as_ref(), "{reference}");
    }
}

/// Fails if anything that was accepted was lost, or was called back under two ids.
fn check(
    accepted: &BTreeMap<Entrance, Accepted>,
    stored: &Stored,
    hooks: &Hooks,
    operator: &[JournalLine],
) {
    assert!(stored.is_whole(), "messages without a final state");
    let texts: HashSet<&str> = operator.iter().map(|line| line.text.as_str()).collect();
    for (entrance, accepted) in accepted {
        println!("{entrance:?}: {} accepted", accepted.len());
        for (reference, id) in accepted {
            let came = texts.contains(reference.as_str());
            assert!(came, "{reference} never reached the operator");
            let ended = id.is_none_or(|id| stored.has(id));
            assert!(ended, "{reference} has no final state");
        }
        let ids: HashSet<u64> = accepted.values().flatten().copied().collect();
        let own = ids.is_empty() || ids.len() == accepted.len();
        assert!(own, "an id was given twice");
    }
    let twice = called(hooks).into_iter().find(|(_, ids)| ids.len() > 1);
    assert_eq!(twice, None, "a message was called back under several ids");
}

/// Waits until everything accepted has a call detail record, then fails if any message has two.
fn check_records(accepted: &BTreeMap<Entrance, Accepted>, nodes: &[&Smsc]) {
    let wanted: HashSet<u64> = accepted
        .values()
        .flat_map(|all| all.values().flatten().copied())
        .collect();
    let recorded = || -> Vec<u64> {
        let records = nodes.iter().flat_map(|node| node.records());
        records
            .map(|record| record["id"].as_str().unwrap().parse().unwrap())
            .collect()
    };
    until("a record of everything accepted", || {
        let recorded = recorded().into_iter().collect();
        wanted.is_subset(&recorded).then_some(())
    });
    let mut ids = recorded();
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all, "messages with two records");
}

/// Compares everything, and says how many copies too many the operator got.
fn duplicates(
    folder: &Path,
    accepted: &BTreeMap<Entrance, Accepted>,
    stored: &Stored,
    hooks: &Hooks,
    operator: &Simulator,
) -> usize {
    let journal = operator.journal();
    check(accepted, stored, hooks, &journal);
    let sender = Sender::read(&folder.join("load.journal"));
    let found = history::check(stored, &sender, &journal);
    println!("{found:?}");
    found.duplicates_by_us
}

#[test]
fn one_process_is_killed_five_times() {
    let (operator, hooks) = (Simulator::new().start(), Hooks::taking());
    let receiver = hooks.url("127.0.0.1");
    let mut smsc = configured(Smsc::new(), operator.address(), &receiver).start();
    let api = smsc.api_of("web", "both");
    let folder = tempfile::tempdir().unwrap();
    let mut load = load(smsc.smpp(), folder.path());
    let senders = Senders::start(smsc.api_address(), api.token());
    for _ in 0..KILLS {
        senders.wait_for_traffic();
        load.assert_running();
        smsc.kill();
        smsc.start_again();
    }
    senders.wait_for_traffic();
    let accepted = finish(&mut load, senders, &hooks);
    assert_sent_once(&api, &accepted[&Entrance::Rest]);
    check_records(&accepted, &[&smsc]);
    smsc.terminate();
    smsc.assert_no_panic();
    smsc.fsck();
    let stored = Stored::embedded(&smsc);
    let copies = duplicates(folder.path(), &accepted, &stored, &hooks, &operator);
    let bound = KILLS * (BINDS * WINDOW + COMMIT_BATCH);
    assert!(copies <= bound, "{copies} copies, more than {bound}");
}

#[test]
fn one_of_three_nodes_is_killed() {
    let (operator, hooks) = (Simulator::new().start(), Hooks::taking());
    let (address, receiver) = (operator.address(), hooks.url("127.0.0.1"));
    let mut cluster = Cluster::of(NODES)
        .short_lease()
        .each(move |smsc| configured(smsc, address, &receiver))
        .start();
    cluster.wait_until_held_by(0, &[0, 1, 2], "operator:up", BINDS);
    let doors = cluster.nodes.iter().map(|node| node.api_address());
    let door = Gate::to_any(doors.collect());
    let api = cluster.nodes[0].api_of("web", "both");
    for node in &cluster.nodes {
        let door = node.api(api.token());
        until("the key on all nodes", || door.try_get("/v1/balance").ok());
    }
    let folder = tempfile::tempdir().unwrap();
    let entry = cluster.entry();
    let mut load = load(entry.address(), folder.path());
    let senders = Senders::start(door.address(), api.token());
    senders.wait_for_traffic();
    cluster.nodes[1].kill();
    cluster.wait_until_held_by(0, &[0, 2], "operator:up", BINDS);
    senders.wait_for_traffic();
    cluster.nodes[1].start_again();
    cluster.wait_until_held_by(0, &[0, 1, 2], "operator:up", BINDS);
    senders.wait_for_traffic();
    let accepted = finish(&mut load, senders, &hooks);
    // The receipts of messages whose answers were lost wait for a bind of their account.
    let mut heir = Peer::bind(entry.address(), "test", "test");
    cluster.wait_until_idle_with(LIMIT, || heir.acknowledge_all());
    heir.unbind();
    assert_sent_once(&api, &accepted[&Entrance::Rest]);
    let nodes: Vec<&Smsc> = cluster.nodes.iter().map(|node| &**node).collect();
    check_records(&accepted, &nodes);
    for node in &mut cluster.nodes {
        assert!(node.terminate().success());
        node.assert_no_panic();
    }
    let stored = Stored::shared(&cluster.postgres.url());
    let copies = duplicates(folder.path(), &accepted, &stored, &hooks, &operator);
    let bound = BINDS * WINDOW + COMMIT_BATCH;
    assert!(copies <= bound, "{copies} copies, more than {bound}");
}
