//! Handsets of a mobile network over MAP and SIGTRAN: real signalling gateways (osmo-stp), and behind them an HLR, an MSC and
//! an SGSN that nobody here wrote (pycrate). The network complains of whatever it finds wrong, and tshark of every packet.

mod absent_then_alert;
mod crash;
mod failures;
mod firewall;
mod four_in_one_dialogue;
mod from_handsets;
mod gateways;
mod hlr_silent;
mod home_routing;
mod long_texts;
mod memory_full;
mod nodes;
mod other_alphabets;
mod returned;
mod segments;
mod serving_nodes;
mod sri_and_mt;
mod status_reports;
mod stp_killed;
mod strangers;
mod the_network_itself;
mod two_stps;
mod unknown_subscriber;
mod versions;
mod wire;

use std::net::SocketAddr;

use serde_json::Value;

use super::gsm::{QUEUE, attempts, message, queue};
use crate::harness::map::{
    CENTRE, CENTRE_POINT_CODE, MapNetwork, MapReading, NETWORK_POINT_CODE, Stp, recorded,
};
use crate::harness::{Peer, Proxy, Smsc, SmscBuilder, until};

/// message_state (SMPP 3.4 §5.2.28).
const DELIVERED: u32 = 2;
const UNDELIVERABLE: u32 = 5;
/// A retry that no test waits for, and one that comes soon.
const NEVER: &str = "retry = { delays = [\"1h\"] }";
const SOON: &str = "retry = { delays = [\"300ms\"] }";
/// Guard timers for tests that wait for their end.
const SHORT_TIMERS: &str =
    "timer_short = \"2s\"\ntimer_medium = \"2s\"\ntimer_long = \"2s\"\nreport_delivery = false";

/// A network behind one gateway, and an SMSC that reaches it through a recorder.
struct MapTown {
    // Dropped in this order: whoever is connected ends first.
    smsc: Smsc,
    network: MapNetwork,
    recorder: Proxy,
    stp: Stp,
}

/// An SMSC whose network `home` is reached through these gateways, with more keys of the network and of its `map`; numbers
/// that begin with 4916 are its.
fn configured(smsc: SmscBuilder, gateways: &[SocketAddr], keys: &str, map: &str) -> SmscBuilder {
    let each = |gateway: &SocketAddr| {
        format!("[[gsm.map.gateways]]\naddress = \"{gateway}\"\ntransport = \"tcp\"\n")
    };
    let listed: String = gateways.iter().map(each).collect();
    reached_by(smsc, keys, &format!("register = true\n{map}\n{listed}"))
}

/// Like [`configured`], with the gateways among the keys of its `map`, and perhaps its point codes.
fn reached_by(smsc: SmscBuilder, keys: &str, map: &str) -> SmscBuilder {
    let own = if map.contains("point_code") {
        String::new()
    } else {
        format!("point_code = \"{CENTRE_POINT_CODE}\"\n")
    };
    smsc.account_with("test", "test", "addresses = [\"12345\"]")
        .account("handsets", "handsets")
        .toml(&format!(
            "[[gsm]]\nname = \"home\"\nprotocol = \"map\"\nsmsc_address = \"{CENTRE}\"\n\
             account = \"handsets\"\nreconnect = [\"200ms\"]\n{keys}\n\
             [gsm.map]\n{own}destination = \"{NETWORK_POINT_CODE}\"\n{map}\n"
        ))
        .route("4916", QUEUE)
}

/// Whether traffic may go through a gateway.
fn is_active(smsc: &Smsc, gateway: SocketAddr) -> bool {
    let gauge = format!("smsc_gsm_gateway_active{{gsm=\"home\",gateway=\"{gateway}\"}}");
    smsc.admin().metric(&gauge) == Some(1.0)
}

/// Waits until traffic may go through these gateways.
fn until_active(smsc: &Smsc, gateways: &[SocketAddr]) {
    for gateway in gateways {
        until(&format!("traffic through {gateway}"), || {
            is_active(smsc, *gateway).then_some(())
        });
    }
}

/// Waits until an attempt has ended with this status.
fn until_tried(smsc: &Smsc, id: &str, status: &str) {
    until(&format!("{status} for {id}"), || {
        let shown = message(smsc, id);
        attempts(&shown).contains(&status).then_some(())
    });
}

/// Waits until so many messages of the network are due later.
fn until_scheduled(smsc: &Smsc, count: u64) {
    until(&format!("{count} messages that wait"), || {
        (queue(smsc)["scheduled"] == count).then_some(())
    });
}

/// What a handset has got when it has got everything.
fn all_of(network: &MapNetwork, imsi: &str, texts: &[String]) -> Vec<String> {
    until(&format!("everything at {imsi}"), || {
        let got = network.texts(imsi);
        texts.iter().all(|text| got.contains(text)).then_some(got)
    })
}

fn numbered(count: usize) -> Vec<String> {
    (0..count).map(|at| format!("number {at}")).collect()
}

// === impl MapTown ===

impl MapTown {
    /// `keys` are those of the network, `map` those of its `map`.
    fn start(keys: &str, map: &str) -> Self {
        let stp = Stp::start();
        let network = MapNetwork::start(&[stp.m3ua()]);
        let recorder = Proxy::to(stp.m3ua());
        let smsc = configured(Smsc::new(), &[recorder.address()], keys, map).start();
        let town = Self {
            smsc,
            network,
            recorder,
            stp,
        };
        town.until_active();
        town
    }

    /// Waits until traffic may go.
    fn until_active(&self) {
        until_active(&self.smsc, &[self.recorder.address()]);
    }

    fn esme(&self) -> Peer {
        Peer::bind(self.smsc.smpp(), "test", "test")
    }

    fn message(&self, id: &str) -> Value {
        message(&self.smsc, id)
    }

    fn until_tried(&self, id: &str, status: &str) {
        until_tried(&self.smsc, id, status);
    }

    /// What went over the wire, as tshark reads it.
    fn reading(&self) -> MapReading {
        MapReading::of(&recorded(&self.recorder))
    }

    /// Nobody complains: neither the network nor tshark, which has read these texts.
    fn assert_content(&self, texts: &[&str]) {
        self.network.assert_content();
        self.reading().assert_well_formed(texts);
        self.smsc.assert_no_panic();
    }
}
