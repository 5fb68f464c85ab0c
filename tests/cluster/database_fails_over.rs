//! PostgreSQL fails over to a standby, and the first host of the URL is frozen, unreachable, gone, demoted or slow in
//! login: messages, binds and receipts flow again within the lease and five seconds, and nothing acknowledged is lost.
//!
//! The standby is a real one that follows synchronously; packets are really dropped, in a network namespace.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::harness::{
    Cluster, Peer, PrivatePostgres, Simulator, network, submit, until, wait_until_idle_at,
};
use smsc::smpp::CommandStatus;
use smsc::smpp::pdu::Body;

const NODES: usize = 2;
/// Of the harness, and of a configuration that says nothing.
const LEASE: Duration = Duration::from_secs(10);
/// After the lease, on a machine that is not busy.
const TRAFFIC_WITHIN: Duration = Duration::from_secs(5);
const IDLE_WITHIN: Duration = Duration::from_secs(120);
/// Submitters of each node; each waits for an answer before it submits again.
const SUBMITTERS: usize = 4;
/// Accepted before the fault.
const BEFORE: usize = 200;
/// The first host where packets get lost.
const FAR: &str = "10.99.0.1";

/// What becomes of the primary.
#[derive(Debug, Clone, Copy, PartialEq)]
enum PrimaryFault {
    Frozen,
    Dropped,
    Resetting,
    ReadOnly,
    SlowInLogin,
}

#[derive(Default)]
struct FailoverSigns {
    is_over: AtomicBool,
    accepted: AtomicUsize,
}

/// Submits until the test is over; returns the texts that were acknowledged.
#[expect(clippy::disallowed_methods, reason = "a thread of its own")]
fn submit_until_over(address: SocketAddr, name: &str, signs: &FailoverSigns) -> Vec<String> {
    let mut peer = Peer::transmitter(address, "test", "test");
    let mut accepted = Vec::new();
    for number in 0.. {
        if signs.is_over.load(Ordering::SeqCst) {
            break;
        }
        let text = format!("{name}-{number}");
        let sequence = peer.request(Body::SubmitSm(submit("447700900123", &text)));
        if let Body::SubmitSmResp(answer) = peer.answer_to(sequence).body
            && !answer.message_id.is_empty()
        {
            signs.accepted.fetch_add(1, Ordering::SeqCst);
            accepted.push(text);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    accepted
}

fn strike(primary: &mut PrivatePostgres, fault: PrimaryFault) {
    match fault {
        PrimaryFault::Frozen => primary.freeze(),
        PrimaryFault::Dropped => network::lose(FAR),
        PrimaryFault::Resetting => primary.kill9(),
        // Its sessions stay, and it answers. All of them know before the other one is promoted: two servers that take
        // writes side by side are a mistake of whoever promotes.
        PrimaryFault::ReadOnly => {
            primary.set("default_transaction_read_only", "on");
            primary.execute("SELECT pg_sleep(0.5)");
        }
        PrimaryFault::SlowInLogin => {
            primary.execute("ALTER SYSTEM SET pre_auth_delay = 60");
            // In one session: the next one would be slow, too.
            primary.execute(
                "SELECT pg_reload_conf(); SELECT pg_sleep(0.5);
                 SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                 WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()",
            );
        }
    }
}

fn run(fault: PrimaryFault) {
    let operator = Simulator::new().start();
    let address = operator.address();
    let primary = match fault {
        PrimaryFault::Dropped => {
            network::add(FAR);
            PrivatePostgres::start_at_all_addresses()
        }
        _ => PrivatePostgres::start(),
    };
    let standby = primary.standby();
    let host = if fault == PrimaryFault::Dropped {
        FAR
    } else {
        "127.0.0.1"
    };
    let url = format!(
        "postgres://postgres@{host}:{},127.0.0.1:{}/postgres?target_session_attrs=read-write&connect_timeout=2",
        primary.port(),
        standby.port()
    );
    let mut cluster = Cluster::of(NODES)
        .usual_lease()
        .on(primary, &url)
        .each(move |smsc| {
            smsc.account_with("test", "test", "max_binds = 64")
                .operator_with(
                    "up",
                    address,
                    "binds = 2\nwindow = 20\nreconnect = [\"500ms\"]",
                )
                .route("", "up")
        })
        .start();
    cluster.wait_until_held_by(0, &[0, 1], "operator:up", 2);
    let signs = FailoverSigns::default();
    let addresses: Vec<SocketAddr> = cluster.nodes.iter().map(|node| node.smpp()).collect();
    let (accepted, calm, took) = std::thread::scope(|scope| {
        let submitters: Vec<_> = (0..NODES * SUBMITTERS)
            .map(|number| {
                let (address, signs) = (addresses[number % NODES], &signs);
                scope.spawn(move || submit_until_over(address, &format!("s{number}"), signs))
            })
            .collect();
        until("messages to be accepted", || {
            (signs.accepted.load(Ordering::SeqCst) >= BEFORE).then_some(())
        });
        let all_flows = || {
            let began = Instant::now();
            for address in &addresses {
                flows(*address, &operator);
            }
            began.elapsed()
        };
        // How long it takes on this machine while nothing is wrong.
        let calm = all_flows();
        strike(&mut cluster.postgres, fault);
        let began = Instant::now();
        standby.promote();
        all_flows();
        let took = began.elapsed();
        signs.is_over.store(true, Ordering::SeqCst);
        let all = submitters.into_iter();
        let accepted: Vec<String> = all.flat_map(|one| one.join().unwrap()).collect();
        (accepted, calm, took)
    });
    println!(
        "{fault:?}: all flows after {took:?}, {} accepted",
        accepted.len()
    );
    assert!(
        took < LEASE + TRAFFIC_WITHIN.max(10 * calm),
        "{fault:?}: {took:?}, and {calm:?} before"
    );
    // The simulator writes its journal a moment later.
    let lost = || -> Vec<&String> {
        let journal = operator.journal().into_iter();
        let delivered: HashSet<String> = journal.map(|line| line.text).collect();
        let lost = accepted.iter().filter(|text| !delivered.contains(*text));
        lost.collect()
    };
    let all_came = crate::harness::within(IDLE_WITHIN, || lost().is_empty().then_some(()));
    assert!(all_came.is_some(), "{fault:?}: lost: {:?}", lost());
    let mut receiver = Peer::bind(addresses[0], "test", "test");
    wait_until_idle_at(&standby.url(), IDLE_WITHIN, || receiver.acknowledge_all());
    // No session is left at the former primary: what would be written there is lost.
    if fault == PrimaryFault::ReadOnly {
        // Who waits for the standby to confirm a commit does not see that its client has gone.
        let left = "SELECT 1 FROM pg_stat_activity
                    WHERE application_name LIKE 'smsc%' AND wait_event IS DISTINCT FROM 'SyncRep'";
        until("the former primary to be left", || {
            cluster.postgres.rows(left).is_empty().then_some(())
        });
    }
}

/// An ESME binds, and its message is accepted and delivered.
fn flows(address: SocketAddr, operator: &Simulator) {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    until("traffic", || {
        let text = format!("flows-{}", NUMBER.fetch_add(1, Ordering::SeqCst));
        let mut esme = Peer::connect(address);
        if esme.bind_as(Body::BindTransmitter, "test", "test") != CommandStatus::ESME_ROK {
            return None;
        }
        let sequence = esme.request(Body::SubmitSm(submit("447700900123", &text)));
        match esme.answer_to(sequence).body {
            Body::SubmitSmResp(answer) if !answer.message_id.is_empty() => {
                until("its delivery", || {
                    let came = operator.journal().iter().any(|line| line.text == text);
                    came.then_some(())
                });
                Some(())
            }
            _ => None,
        }
    });
}

#[test]
fn the_first_host_is_frozen() {
    run(PrimaryFault::Frozen);
}

#[test]
fn packets_to_the_first_host_get_lost() {
    if network::is_own("database_fails_over::packets_to_the_first_host_get_lost") {
        run(PrimaryFault::Dropped);
    }
}

#[test]
fn the_first_host_resets_connections() {
    run(PrimaryFault::Resetting);
}

#[test]
fn the_first_host_is_read_only_and_answers() {
    run(PrimaryFault::ReadOnly);
}

#[test]
fn the_first_host_is_slow_in_login() {
    run(PrimaryFault::SlowInLogin);
}
