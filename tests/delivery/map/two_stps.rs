//! Two gateways that share the load, of which one dies, or loses the network behind it.

use std::collections::HashSet;

use super::{DELIVERED, SHORT_TIMERS, SOON, all_of, configured, is_active, until_active};
use crate::harness::map::{MapNetwork, Stp, map_subscriber};
use crate::harness::{Peer, Smsc, stat_of, submit, until};

const SUBSCRIBERS: usize = 20;

struct TwoGateways {
    smsc: Smsc,
    network: MapNetwork,
    stps: [Stp; 2],
}

// === impl TwoGateways ===

impl TwoGateways {
    /// Starts it in a traffic mode; while one gateway stands by there is one with traffic.
    fn start(mode: &str) -> Self {
        let stps = [Stp::start(), Stp::start()];
        let addresses = stps.each_ref().map(Stp::m3ua);
        let network = MapNetwork::start(&addresses);
        network.subscribers(SUBSCRIBERS);
        let map = format!("{SHORT_TIMERS}\ntraffic_mode = \"{mode}\"");
        let smsc = configured(Smsc::new(), &addresses, SOON, &map).start();
        let carrying = if mode == "override" { 1 } else { 2 };
        until(&format!("{carrying} gateways with traffic"), || {
            let active = addresses.iter().filter(|one| is_active(&smsc, **one));
            (active.count() == carrying).then_some(())
        });
        Self {
            smsc,
            network,
            stps,
        }
    }

    /// Sends so many messages, from one number on, to all subscribers in turn.
    fn send(&self, esme: &mut Peer, first: usize, count: usize) {
        for at in first..first + count {
            let (number, _) = map_subscriber(at % SUBSCRIBERS);
            esme.submit(submit(&number, &format!("number {at}")));
        }
    }

    /// All have got the messages up to a number, in order; how many came again.
    fn check(&self, count: usize) -> usize {
        let mut again = 0;
        for subscriber in 0..SUBSCRIBERS {
            let (_, imsi) = map_subscriber(subscriber);
            let texts: Vec<String> = (subscriber..count)
                .step_by(SUBSCRIBERS)
                .map(|at| format!("number {at}"))
                .collect();
            let mut got = all_of(&self.network, &imsi, &texts);
            again += got.len() - texts.len();
            got.dedup();
            assert_eq!(got, texts, "{imsi}");
        }
        again
    }

    /// How many messages came through each gateway while this happened.
    fn traffic_while(&self, what: impl FnOnce()) -> [u64; 2] {
        let before = self.network.traffic();
        what();
        let after = self.network.traffic();
        [after[0] - before[0], after[1] - before[1]]
    }
}

#[test]
fn two_gateways_share_the_load_and_one_of_them_is_killed() {
    let mut town = TwoGateways::start("loadshare");
    let mut esme = Peer::bind(town.smsc.smpp(), "test", "test");
    let shared = town.traffic_while(|| {
        town.send(&mut esme, 0, 100);
        assert_eq!(town.check(100), 0);
    });
    assert!(shared.iter().all(|count| *count >= 20), "{shared:?}");

    // In the middle of the next ones.
    let delivered = town.network.count("delivered");
    town.send(&mut esme, 100, 100);
    town.network.wait_for_count("delivered", delivered + 10);
    town.stps[0].kill();
    let again = town.check(200);
    // What was under way through it.
    assert!(again <= SUBSCRIBERS, "{again} came twice");
    let first = town.stps[0].m3ua();
    until("no traffic through the one that died", || {
        (!is_active(&town.smsc, first)).then_some(())
    });
    assert!(is_active(&town.smsc, town.stps[1].m3ua()));
    assert_eq!(town.smsc.admin().get("/v1/gsm/home")["state"], "up");

    // Both again.
    town.stps[0].start_again();
    until_active(&town.smsc, &[first]);
    town.network.until_active(2);
    let shared = town.traffic_while(|| {
        town.send(&mut esme, 200, 100);
        town.check(300);
    });
    assert!(shared.iter().all(|count| *count >= 20), "{shared:?}");
    for _ in 0..300 {
        assert_eq!(stat_of(&esme.deliver()).1, DELIVERED);
    }
    town.network.assert_content();
    town.smsc.assert_no_panic();
}

#[test]
fn a_gateway_that_has_lost_the_network_is_passed_by() {
    let town = TwoGateways::start("loadshare");
    let mut esme = Peer::bind(town.smsc.smpp(), "test", "test");
    town.send(&mut esme, 0, 40);
    assert_eq!(town.check(40), 0);
    // The gateway itself is there, and says that it cannot reach the network.
    town.network.link(0, false);
    town.network.until_active(1);
    let shared = town.traffic_while(|| {
        town.send(&mut esme, 40, 60);
        town.check(100);
    });
    assert_eq!(shared[0], 0);
    assert!(is_active(&town.smsc, town.stps[0].m3ua()), "it is not down");
    town.network.link(0, true);
    town.network.until_active(2);
    until("both to carry messages again", || {
        let shared = town.traffic_while(|| {
            let delivered = town.network.count("delivered");
            town.send(&mut esme, 100, SUBSCRIBERS);
            let all = delivered + SUBSCRIBERS as u64;
            town.network.wait_for_count("delivered", all);
        });
        (shared.iter().all(|count| *count > 0)).then_some(())
    });
    town.network.assert_content();
}

#[test]
fn with_override_one_gateway_carries_all_and_the_other_one_takes_over() {
    let mut town = TwoGateways::start("override");
    let mut esme = Peer::bind(town.smsc.smpp(), "test", "test");
    let carried = town.traffic_while(|| {
        town.send(&mut esme, 0, 60);
        assert_eq!(town.check(60), 0);
    });
    let busy = usize::from(carried[1] > carried[0]);
    assert_eq!(carried[1 - busy], 0, "{carried:?}");
    town.stps[busy].kill();
    let carried = town.traffic_while(|| {
        town.send(&mut esme, 60, 60);
        town.check(120);
    });
    assert_eq!(carried[busy], 0, "{carried:?}");
    assert!(carried[1 - busy] >= 60, "{carried:?}");
    town.network.assert_content();
}

#[test]
fn messages_of_one_dialogue_stay_in_order_over_two_gateways() {
    let town = TwoGateways::start("loadshare");
    let mut esme = Peer::bind(town.smsc.smpp(), "test", "test");
    let (number, imsi) = map_subscriber(1);
    let texts = super::numbered(12);
    // All wait together, so that they go in runs.
    let queue = format!("/v1/queues/{}", super::QUEUE);
    assert_eq!(town.smsc.admin().post(&format!("{queue}/suspend")).0, 200);
    for text in &texts {
        esme.submit(submit(&number, text));
    }
    until("all of them to wait", || {
        (super::queue(&town.smsc)["waiting"] == 12).then_some(())
    });
    assert_eq!(town.smsc.admin().post(&format!("{queue}/resume")).0, 200);
    assert_eq!(all_of(&town.network, &imsi, &texts), texts);
    let dialogues: HashSet<usize> = (town.network.taken(&imsi).iter())
        .map(|one| one.dialogue)
        .collect();
    assert!(dialogues.len() < 6, "{} dialogues", dialogues.len());
    town.network.assert_content();
}
