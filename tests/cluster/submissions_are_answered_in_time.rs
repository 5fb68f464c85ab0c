//! While PostgreSQL is silent or dead, every submission is answered within `postgres.write_timeout`; afterwards what
//! was acknowledged is delivered, and what was refused is not. Binds and receipts are back soon.

use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::harness::{Cluster, Gate, Peer, Simulator, rows, submit, until};
use smsc::smpp::pdu::Body;

const NODES: usize = 3;
const BINDS: usize = 3;
/// Submitters of each node; each waits for an answer before it submits again.
const SUBMITTERS: usize = 8;
const WRITE_TIMEOUT: Duration = Duration::from_secs(2);
/// As the harness configures it.
const LEASE: Duration = Duration::from_secs(6);
/// What an answer may take in any case: a machine that was quick before may be slow during an outage.
const ANSWER_WITHIN: Duration = Duration::from_secs(15);

/// How the database goes away.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Outage {
    Silence,
    Death,
}

/// A submission and its answer.
struct Answered {
    text: String,
    /// `None` when it was refused.
    id: Option<u64>,
    took: Duration,
}

/// What the submitters and the test tell one another.
#[derive(Default)]
struct Signs {
    is_over: AtomicBool,
    refused: AtomicUsize,
    accepted: AtomicUsize,
    /// The slowest answer so far, in milliseconds.
    slowest: AtomicU64,
}

/// Ends the submitters also when the test fails: its scope waits for them.
struct EndOfSubmissions<'s>(&'s Signs);

impl Drop for EndOfSubmissions<'_> {
    fn drop(&mut self) {
        self.0.is_over.store(true, Ordering::SeqCst);
    }
}

#[expect(clippy::disallowed_methods, reason = "a thread of its own")]
fn submit_until_over(address: SocketAddr, name: &str, signs: &Signs) -> Vec<Answered> {
    let mut peer = Peer::transmitter(address, "test", "test");
    let mut all = Vec::new();
    while !signs.is_over.load(Ordering::SeqCst) {
        let text = format!("{name}-{}", all.len());
        let began = Instant::now();
        let sequence = peer.request(Body::SubmitSm(submit("447700900123", &text)));
        let answer = peer.answer_to(sequence);
        let took = began.elapsed();
        let millis = took.as_millis() as u64;
        signs.slowest.fetch_max(millis, Ordering::SeqCst);
        let id = match answer.body {
            Body::SubmitSmResp(answer) if !answer.message_id.is_empty() => {
                signs.accepted.fetch_add(1, Ordering::SeqCst);
                Some(
                    std::str::from_utf8(&answer.message_id)
                        .unwrap()
                        .parse()
                        .unwrap(),
                )
            }
            _ => {
                signs.refused.fetch_add(1, Ordering::SeqCst);
                None
            }
        };
        all.push(Answered { text, id, took });
        std::thread::sleep(Duration::from_millis(5));
    }
    all
}

fn wait_for(what: &str, count: &AtomicUsize, more: usize) {
    let before = count.load(Ordering::SeqCst);
    until(what, || {
        (count.load(Ordering::SeqCst) >= before + more).then_some(())
    });
}

fn run(outage: Outage) {
    let operator = Simulator::new().start();
    let door = Gate::to(operator.address());
    let address = door.address();
    let mut cluster = Cluster::of(NODES)
        .each(move |smsc| {
            smsc.account_with("test", "test", "max_binds = 64")
                .operator_with("up", address, &format!("binds = {BINDS}\nwindow = 50"))
                .route("", "up")
                .env("SMSC_POSTGRES__WRITE_TIMEOUT", "2s")
        })
        .short_lease()
        .start();
    cluster.wait_until_held_by(0, &[0, 1, 2], "operator:up", BINDS);
    until("all binds", || (door.connections() == BINDS).then_some(()));
    let mut receiver = Peer::bind(cluster.nodes[0].smpp(), "test", "test");
    let signs = Signs::default();
    let addresses: Vec<SocketAddr> = cluster.nodes.iter().map(|node| node.smpp()).collect();
    // How slow answers are on this machine while the database is there.
    let mut calm = None;
    let answered: Vec<Answered> = std::thread::scope(|scope| {
        let submitters: Vec<_> = (0..NODES * SUBMITTERS)
            .map(|number| {
                let (address, signs) = (addresses[number % NODES], &signs);
                scope.spawn(move || submit_until_over(address, &format!("s{number}"), signs))
            })
            .collect();
        let end = EndOfSubmissions(&signs);
        for _ in 0..2 {
            wait_for(
                "messages to be accepted",
                &signs.accepted,
                20 * NODES * SUBMITTERS,
            );
            let calm = *calm
                .get_or_insert_with(|| Duration::from_millis(signs.slowest.load(Ordering::SeqCst)));
            let away = Instant::now();
            match outage {
                Outage::Silence => cluster.postgres.freeze(),
                Outage::Death => cluster.postgres.kill9(),
            }
            wait_for("refusals", &signs.refused, 3 * NODES * SUBMITTERS);
            // Longer than a lease, too.
            until("the end of a lease", || {
                (away.elapsed() > LEASE).then_some(())
            });
            receiver.acknowledge_all();
            match outage {
                Outage::Silence => cluster.postgres.thaw(),
                Outage::Death => cluster.postgres.restart(),
            }
            let back = Instant::now();
            let outage_took = away.elapsed();
            until("all binds", || (door.connections() == BINDS).then_some(()));
            let binds = back.elapsed();
            receiver.expect("a receipt", |pdu| matches!(pdu.body, Body::DeliverSm(_)));
            let receipt = back.elapsed();
            println!("{outage:?}: binds after {binds:?}, a receipt after {receipt:?}");
            // Nothing waits out a pause that grew during the outage.
            assert!(
                receipt < LEASE + 2 * outage_took + 20 * calm,
                "away for {outage_took:?}; {binds:?}, {receipt:?}; {calm:?} while it was there"
            );
            receiver.acknowledge_all();
        }
        wait_for(
            "messages to be accepted",
            &signs.accepted,
            20 * NODES * SUBMITTERS,
        );
        drop(end);
        submitters
            .into_iter()
            .flat_map(|submitter| submitter.join().unwrap())
            .collect()
    });
    let slowest = answered.iter().map(|one| one.took).max().unwrap();
    println!("{outage:?}: slowest answer {slowest:?}");
    cluster.wait_until_idle_with(Duration::from_secs(120), || receiver.acknowledge_all());
    let calm = calm.unwrap();
    assert!(
        slowest < (2 * WRITE_TIMEOUT + 4 * calm).max(ANSWER_WITHIN),
        "{slowest:?}; {calm:?} while the database was there"
    );
    check(outage, &cluster, &operator, &answered);
}

/// What was acknowledged was delivered and has ended so; what was taken back was never sent.
fn check(outage: Outage, cluster: &Cluster, operator: &Simulator, answered: &[Answered]) {
    let mut delivered: HashMap<String, usize> = HashMap::new();
    for line in operator.journal() {
        *delivered.entry(line.text).or_default() += 1;
    }
    let url = cluster.postgres.url();
    let states: HashMap<u64, i64> = rows(&url, "SELECT id, state::bigint FROM fin")
        .iter()
        .map(|row| (row.get::<_, i64>(0) as u64, row.get(1)))
        .collect();
    let (accepted, refused): (Vec<&Answered>, Vec<&Answered>) =
        answered.iter().partition(|one| one.id.is_some());
    for one in &accepted {
        assert!(delivered.contains_key(&one.text), "{} is lost", one.text);
        assert_eq!(states.get(&one.id.unwrap()), Some(&2), "{}", one.text);
    }
    let refused: HashSet<&str> = refused.iter().map(|one| one.text.as_str()).collect();
    let anyway: Vec<&str> = refused
        .iter()
        .copied()
        .filter(|text| delivered.contains_key(*text))
        .collect();
    let taken_back: i64 =
        rows(&url, "SELECT count(*) FROM fin WHERE error = 'taken back'")[0].get(0);
    println!(
        "{outage:?}: {} accepted, {} refused, {taken_back} taken back, {} delivered anyway",
        accepted.len(),
        refused.len(),
        anyway.len()
    );
    let sent = "SELECT count(*) FROM fin f JOIN sent s ON s.id = f.id WHERE f.error = 'taken back'";
    let sent: i64 = rows(&url, sent)[0].get(0);
    assert_eq!(sent, 0, "taken back and sent");
    // What another node had taken out of the hand-off table: at most what was under way at both outages.
    let most = 2 * NODES * SUBMITTERS;
    assert!(anyway.len() <= most, "{anyway:?}");
}

#[test]
fn while_postgres_is_silent() {
    run(Outage::Silence);
}

#[test]
fn while_postgres_is_dead() {
    run(Outage::Death);
}
