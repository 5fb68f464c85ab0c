//! Long-lived sessions: a dead bind is replaced by a new one, a healthy one never is; counters are
//! exact after every kind of end; peers that do not read are disconnected; and a stop finishes pending
//! requests.

use std::time::Duration;

use crate::harness::{
    self, Cluster, FakeOperator, Gate, Peer, Smsc, SmscBuilder, accept, pdu, stat_of, submit, until,
};
use smsc::smpp::{Body, CommandId, CommandStatus, Pdu, QuerySm, SubmitSm};

fn bind(peer: &mut Peer) -> CommandStatus {
    peer.bind_as(Body::BindTransceiver, "test", "test")
}

fn account(keys: &str) -> SmscBuilder {
    Smsc::new()
        .account_with("test", "test", keys)
        .route("", "test:delivered")
}

/// Inbound binds of an account according to /metrics.
fn bound(smsc: &Smsc) -> u64 {
    value(
        smsc,
        "smsc_binds{name=\"test\",direction=\"in\",state=\"bound\"}",
    )
}

fn value(smsc: &Smsc, series: &str) -> u64 {
    let (_, page) = smsc.admin().text("/metrics").unwrap();
    let line = page.lines().find_map(|line| line.strip_prefix(series));
    line.map_or(0, |value| value.trim().parse().unwrap())
}

/// An ESME that answers enquire_link until it is taken back.
struct Healthy {
    thread: std::thread::JoinHandle<Peer>,
    stop: std::sync::mpsc::SyncSender<()>,
}

impl Healthy {
    fn keep(mut peer: Peer) -> Self {
        let (stop, stopped) = std::sync::mpsc::sync_channel(1);
        let thread = std::thread::spawn(move || {
            while stopped.try_recv().is_err() {
                match peer.next(Duration::from_millis(20)) {
                    Ok(pdu) if pdu.body == Body::EnquireLink => {
                        peer.acknowledge(CommandId::ENQUIRE_LINK_RESP, pdu.sequence);
                    }
                    Ok(other) => panic!("unexpected {other:?}"),
                    Err(harness::PeerError::Silence) => {}
                    Err(harness::PeerError::Closed) => panic!("a healthy bind was ended"),
                }
            }
            peer
        });
        Self { thread, stop }
    }

    fn back(self) -> Peer {
        self.stop.send(()).unwrap();
        self.thread.join().unwrap()
    }
}

#[test]
fn pain_16_a_stale_bind_is_replaced_and_a_healthy_one_never() {
    let smsc = account("max_binds = 2\non_full = \"replace\"").start();
    let healthy = Healthy::keep(Peer::bind(smsc.smpp(), "test", "test"));
    // Its network fails: nothing is closed, nothing is answered.
    let gate = Gate::to(smsc.smpp());
    let mut stale = Peer::bind(gate.address(), "test", "test");
    gate.shut();

    let mut newcomer = Peer::connect(smsc.smpp());
    assert_eq!(bind(&mut newcomer), CommandStatus::ESME_ROK);
    assert_eq!(value(&smsc, "smsc_binds_replaced_total"), 1);
    let said = "silent, and another bind of its account needs the room";
    assert_eq!(smsc.log().matches(said).count(), 1);
    gate.open();
    stale.until_closed();
    // All are healthy now: the next bind is refused, and quickly.
    let newcomer = Healthy::keep(newcomer);
    let mut refused = Peer::connect(smsc.smpp());
    assert_eq!(bind(&mut refused), CommandStatus::ESME_RALYBND);
    assert_eq!(value(&smsc, "smsc_binds_replaced_total"), 1);
    for peer in [healthy, newcomer] {
        let mut peer = peer.back();
        peer.submit(submit("447700900123", "still bound"));
        peer.deliver();
        peer.unbind();
    }
    smsc.assert_no_panic();
}

#[test]
fn without_the_policy_one_bind_more_is_refused_at_once() {
    let smsc = account("max_binds = 1").start();
    let _silent = Peer::bind(smsc.smpp(), "test", "test");
    let mut refused = Peer::connect(smsc.smpp());
    assert_eq!(bind(&mut refused), CommandStatus::ESME_RALYBND);
    assert_eq!(value(&smsc, "smsc_binds_replaced_total"), 0);
}

#[test]
fn binds_are_counted_exactly_after_every_kind_of_end() {
    let smsc = account("max_binds = 3").start();
    for round in 0..20 {
        let mut peers: Vec<Peer> = (0..3)
            .map(|_| {
                // The ends of the previous round may take a moment to be noticed.
                until("room for a bind", || {
                    let mut peer = Peer::connect(smsc.smpp());
                    (bind(&mut peer) == CommandStatus::ESME_ROK).then_some(peer)
                })
            })
            .collect();
        let mut more = Peer::connect(smsc.smpp());
        assert_eq!(
            bind(&mut more),
            CommandStatus::ESME_RALYBND,
            "round {round}"
        );
        // One unbinds, one sends an invalid PDU, one just disconnects.
        peers.pop().unwrap().unbind();
        peers.pop().unwrap().send(&[0xFF; 16]);
        drop(peers);
    }
    until("no bind to be counted", || {
        (bound(&smsc) == 0).then_some(())
    });
    let mut last: Vec<Peer> = (0..3)
        .map(|_| Peer::bind(smsc.smpp(), "test", "test"))
        .collect();
    until("three to be counted", || (bound(&smsc) == 3).then_some(()));
    last.iter_mut().for_each(Peer::assert_alive);
}

#[test]
fn binds_are_counted_over_all_nodes() {
    let mut cluster = Cluster::of(2)
        .short_lease()
        .each(|smsc| {
            smsc.account_with("test", "test", "max_binds = 3\non_full = \"replace\"")
                .route("", "test:delivered")
        })
        .start();
    let [first, second] = [0, 1].map(|node: usize| cluster.nodes[node].smpp());
    let gate = Gate::to(second);
    let stale = Peer::bind(gate.address(), "test", "test");
    let healthy = [first, second].map(|node| Healthy::keep(Peer::bind(node, "test", "test")));
    // All three are healthy.
    let stale = Healthy::keep(stale);
    // So each has its permit, also one that was admitted while the store was silent.
    let counted = "SELECT 1 FROM lease JOIN node USING(node, epoch) WHERE kind = 4";
    until("three to be counted", || {
        (cluster.postgres.rows(counted).len() == 3).then_some(())
    });
    for node in &cluster.nodes {
        node.wait_until_one_more_bind_is_refused();
    }
    // One is not, on the other node.
    let stale = stale.back();
    gate.shut();
    let mut newcomer = Peer::connect(first);
    assert_eq!(bind(&mut newcomer), CommandStatus::ESME_ROK);
    let newcomer = Healthy::keep(newcomer);
    drop(stale);
    // The binds of a dead node no longer count.
    let [one, other] = healthy;
    drop(one.back());
    drop(newcomer.back());
    cluster.nodes[0].kill();
    // All of them answer meanwhile: one that is silent would lose its seat to the next.
    let mut kept = vec![other];
    until("the seats of the dead node", || {
        let mut peer = Peer::connect(second);
        if bind(&mut peer) == CommandStatus::ESME_ROK {
            kept.push(Healthy::keep(peer));
        }
        (kept.len() == 3).then_some(())
    });
    // This node counts three of its own, whatever the store says.
    let mut refused = Peer::connect(second);
    assert_eq!(bind(&mut refused), CommandStatus::ESME_RALYBND);
    kept.into_iter().for_each(|peer| drop(peer.back()));
}

#[test]
fn pain_18_a_slow_reader_is_cut_off_and_others_go_on() {
    let smsc = account("max_binds = 8")
        .smpp("write_buffer_kib = 64\nresponse_timeout = \"2s\"")
        .start();
    let mut quick = Peer::bind(smsc.smpp(), "test", "test");
    let mut slow = Peer::connect(smsc.smpp());
    let status = slow.bind_as(Body::BindTransmitter, "test", "test");
    assert_eq!(status, CommandStatus::ESME_ROK);
    // While its socket accepts more, it sends more requests than it reads responses.
    let question = harness::pdu(7, Body::EnquireLink).repeat(4_096);
    while slow.try_send_now(&question).is_ok() {}
    until("the slow reader to be cut off", || {
        quick.assert_alive();
        (value(&smsc, "smsc_slow_readers_cut_off_total") == 1).then_some(())
    });
    until("its bind to be gone", || (bound(&smsc) == 1).then_some(()));
    quick.submit(submit("447700900123", "was not disturbed"));
    smsc.assert_no_panic();
}

#[test]
fn a_stop_finishes_windows_in_both_directions_and_unbinds() {
    let operator = FakeOperator::listen();
    let mut smsc = account("window = 4")
        .toml("[[route]]\nprefix = \"99\"\nto = [\"up\"]")
        .operator("up", operator.address())
        .start();
    let mut upstream = operator.accept_bind();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let told = esme.submit(submit("447700900123", "its receipt is in the window"));
    let sent = esme.submit(submit("99", "its answer is in the window"));
    let receipt = esme.expect("a receipt", |pdu| matches!(pdu.body, Body::DeliverSm(_)));
    let request = upstream.expect("a message", |pdu| matches!(pdu.body, Body::SubmitSm(_)));

    smsc.process().signal("TERM");
    let said = "stopping: finishing windows in flight";
    until(said, || smsc.log().contains(said).then_some(()));
    // No session is unbound yet, and what comes meanwhile is accepted.
    let late = esme.submit(submit("447700900123", "late"));
    upstream.assert_alive();
    // Pending responses still count.
    accept(&mut upstream, request.sequence, "up-1");
    esme.acknowledge(CommandId::DELIVER_SM_RESP, receipt.sequence);
    for peer in [&mut upstream, &mut esme] {
        let unbind = peer.expect("an unbind", |pdu| pdu.body == Body::Unbind);
        peer.acknowledge(CommandId::UNBIND_RESP, unbind.sequence);
        peer.until_closed();
    }
    assert!(smsc.wait().success());
    smsc.start_again();
    let admin = smsc.admin();
    let told = admin.get(&format!("/v1/messages/{told}"));
    assert_eq!(told["state"], "DELIVERED", "{told}");
    until("the late one", || {
        let late = admin.get(&format!("/v1/messages/{late}"));
        (late["state"] == "DELIVERED").then_some(())
    });
    let mut upstream = operator.accept_bind();
    let sent = admin.get(&format!("/v1/messages/{sent}"));
    assert_eq!(sent["history"][0]["operator_message_id"], "up-1", "{sent}");
    assert_eq!(
        upstream
            .next(Duration::from_millis(500))
            .map(|pdu| pdu.body),
        Err(harness::PeerError::Silence),
        "sent twice"
    );
}

#[test]
fn a_stop_refuses_nothing_of_an_esme_that_goes_on_submitting() {
    const EACH: u32 = 100;
    let mut smsc = account("window = 1000").start();
    let mut esme = Peer::transmitter(smsc.smpp(), "test", "test");
    let mut answers = Vec::new();
    esme.send(&submissions(EACH));
    smsc.process().signal("TERM");
    // They come before the unbind, or cross it.
    let mut unbind = None;
    for batch in 1..100 {
        let octets = (1_000 + batch * EACH..1_000 + (batch + 1) * EACH)
            .flat_map(|number| pdu(number, Body::SubmitSm(submit("447700900123", "more"))));
        esme.send(&octets.collect::<Vec<u8>>());
        if let Ok(pdu) = esme.next(Duration::from_millis(20)) {
            if pdu.body == Body::Unbind {
                unbind = Some(pdu);
            } else {
                answers.push(pdu);
            }
        }
        if unbind.is_some() {
            break;
        }
    }
    let unbind = unbind.unwrap_or_else(|| esme.expect("an unbind", |pdu| pdu.body == Body::Unbind));
    esme.acknowledge(CommandId::UNBIND_RESP, unbind.sequence);
    answers.extend(esme.until_closed());
    answers.retain(|pdu| pdu.command_id() == CommandId::SUBMIT_SM_RESP);
    let refused = answers.iter().find(|pdu| !pdu.status.is_ok());
    assert!(refused.is_none(), "{refused:?}");
    // What came first was accepted, and nothing behind something that was not.
    let accepted = accepted(&answers, CommandId::SUBMIT_SM_RESP);
    let last = 1_000 + accepted.len() as u32;
    assert_eq!(accepted, (1_000..last).collect::<Vec<_>>());
    assert!(smsc.wait().success());
}

#[test]
fn a_stop_ends_when_its_time_is_over() {
    let mut smsc = account("window = 4")
        .smpp("drain_timeout = \"1s\"\nresponse_timeout = \"1h\"")
        .start();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let id = esme.submit(submit("447700900123", "its receipt is never acknowledged"));
    esme.expect("a receipt", |pdu| matches!(pdu.body, Body::DeliverSm(_)));
    smsc.process().signal("TERM");
    // It is unbound at once, long before the response is overdue.
    esme.expect("an unbind", |pdu| pdu.body == Body::Unbind);
    assert!(smsc.wait().success());
    smsc.start_again();
    // The unacknowledged receipt is sent again.
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    assert_eq!(stat_of(&esme.deliver()).0, id);
}

/// `count` submissions in one buffer, numbered from 1,000.
fn submissions(count: u32) -> Vec<u8> {
    (1_000..1_000 + count)
        .flat_map(|sequence| pdu(sequence, Body::SubmitSm(submit("447700900123", "in a row"))))
        .collect()
}

/// Sequence numbers of accepted requests.
fn accepted(said: &[Pdu], command_id: CommandId) -> Vec<u32> {
    let fits = |pdu: &&Pdu| pdu.command_id() == command_id && pdu.status.is_ok();
    let mut numbers: Vec<u32> = said.iter().filter(fits).map(|pdu| pdu.sequence).collect();
    numbers.sort_unstable();
    numbers
}

#[test]
fn unbind_is_answered_after_everything_that_came_before_it() {
    let smsc = account("max_binds = 32").start();
    for _ in 0..20 {
        let mut esme = Peer::transmitter(smsc.smpp(), "test", "test");
        let mut octets = submissions(5);
        octets.extend(pdu(1_005, Body::QuerySm(QuerySm::default())));
        octets.extend(pdu(1_006, Body::Unbind));
        octets.extend(pdu(
            1_007,
            Body::SubmitSm(submit("447700900123", "behind it")),
        ));
        esme.send(&octets);
        let said = esme.until_closed();
        let taken: Vec<u32> = (1_000..1_005).collect();
        assert_eq!(
            accepted(&said, CommandId::SUBMIT_SM_RESP),
            taken,
            "{said:?}"
        );
        let answered = |sequence| said.iter().find(|pdu| pdu.sequence == sequence);
        assert!(answered(1_005).is_some(), "{said:?}");
        let late = answered(1_007).map(|pdu| pdu.status);
        assert_eq!(late, Some(CommandStatus::ESME_RINVBNDSTS));
        let last = said.last().unwrap();
        assert_eq!((last.sequence, &last.body), (1_006, &Body::UnbindResp));
        assert_eq!(last.status, CommandStatus::ESME_ROK);
    }
    smsc.assert_no_panic();
}

#[test]
fn a_half_closed_connection_still_gets_its_answers() {
    let smsc = account("max_binds = 1").start();
    let taken: Vec<u32> = (1_000..1_200).collect();
    for _ in 0..5 {
        let mut esme = Peer::transmitter(smsc.smpp(), "test", "test");
        esme.send(&submissions(200));
        esme.finish();
        let said = esme.until_closed();
        assert_eq!(accepted(&said, CommandId::SUBMIT_SM_RESP), taken);
        // Its place is free again.
    }
    // Octets that are not a PDU end the session; PDUs before them are still answered.
    let mut esme = Peer::transmitter(smsc.smpp(), "test", "test");
    let mut octets = submissions(200);
    octets.extend([0xFF; 16]);
    esme.send(&octets);
    let said = esme.until_closed();
    assert_eq!(accepted(&said, CommandId::SUBMIT_SM_RESP), taken);
    assert_eq!(
        said.iter()
            .filter(|pdu| pdu.body == Body::GenericNack)
            .count(),
        1
    );
    smsc.assert_no_panic();
}

#[test]
fn an_operator_gets_its_answers_before_the_end_too() {
    let operator = FakeOperator::listen();
    let smsc = Smsc::new()
        .account_with("test", "test", "addresses = [\"12345\"]")
        .operator("up", operator.address())
        .route("", "up")
        .start();
    let brought = |count: u32| -> Vec<u8> {
        let mo = SubmitSm {
            source_addr: "447700900123".into(),
            destination_addr: "12345".into(),
            registered_delivery: 0,
            ..submit("12345", "from a subscriber")
        };
        (1_000..1_000 + count)
            .flat_map(|sequence| pdu(sequence, Body::DeliverSm(mo.clone())))
            .collect()
    };
    let taken: Vec<u32> = (1_000..1_050).collect();
    let mut bind = operator.accept_bind();
    smsc.wait_for_binds("up", 1);
    let mut octets = brought(50);
    octets.extend(pdu(2_000, Body::Unbind));
    bind.send(&octets);
    let said = bind.until_closed();
    assert_eq!(accepted(&said, CommandId::DELIVER_SM_RESP), taken);
    let last = said.last().unwrap();
    assert_eq!((last.sequence, &last.body), (2_000, &Body::UnbindResp));
    let mut bind = operator.accept_bind();
    smsc.wait_for_binds("up", 1);
    bind.send(&brought(50));
    bind.finish();
    let said = bind.until_closed();
    assert_eq!(accepted(&said, CommandId::DELIVER_SM_RESP), taken);
    operator.accept_bind();
    smsc.assert_no_panic();
}
