//! Home routing: what a foreign service centre has for our subscribers comes to us, and it never sees an IMSI.

use std::net::SocketAddr;

use serde_json::json;
use smsc::smpp::tag;
use smsc::sms::{Shifts, gsm7};

use super::{
    DELIVERED, NEVER, QUEUE, SOON, UNDELIVERABLE, attempts, configured, is_active, message,
    until_active,
};
use crate::harness::map::{
    CENTRE_POINT_CODE, HLR, MapNetwork, MapReading, ROUTING, Stp, map_subscriber, recorded,
};
use crate::harness::{Cluster, Peer, Proxy, Smsc, stat_of, submit, until};

/// The foreign service centre, which takes us for the HLR and the MSC of all subscribers.
const ABROAD: &str = "33600000001";
const ABROAD_POINT_CODE: &str = "0.1.7";
const SENTENCE: &str = "The quick brown fox jumps over the lazy dog. ";

/// A foreign service centre, ours, and our network.
struct Border {
    // Dropped in this order: whoever is connected ends first.
    abroad: Smsc,
    ours: Smsc,
    network: MapNetwork,
    /// What the foreign one says and hears.
    recorder: Proxy,
    _stp: Stp,
}

/// Keys of our `map`, with more of home routing.
fn home_routing(keys: &str) -> String {
    format!(
        "hlr = \"{HLR}\"\nhome_routing = {{ numbers = [\"4916\"], network = \"26201\"{keys} }}\n"
    )
}

/// A foreign service centre, with more keys of its `map`. It is known by its point code, because nobody here translates its
/// title.
fn abroad(gateway: SocketAddr, map: &str) -> Smsc {
    let network = format!(
        "[[gsm]]\nname = \"home\"\nprotocol = \"map\"\nsmsc_address = \"{ABROAD}\"\n\
         reconnect = [\"200ms\"]\n{SOON}\n\
         [gsm.map]\npoint_code = \"{ABROAD_POINT_CODE}\"\ndestination = \"{CENTRE_POINT_CODE}\"\n\
         register = true\nrouted_by = \"ssn\"\n{map}\n\
         [[gsm.map.gateways]]\naddress = \"{gateway}\"\ntransport = \"tcp\"\n"
    );
    let smsc = Smsc::new()
        .account("abroad", "abroad")
        .toml(&network)
        .route("4916", QUEUE)
        .start();
    until_active(&smsc, &[gateway]);
    smsc
}

/// How often home routing did something.
fn counted(smsc: &Smsc, event: &str) -> Option<f64> {
    let metric = format!("smsc_gsm_home_routing_total{{gsm=\"home\",event=\"{event}\"}}");
    smsc.admin().metric(&metric)
}

/// Digits as MAP has them: two in an octet, the first one low.
fn semi_octets(digits: &str) -> Vec<u8> {
    let value = |digit: &u8| digit - b'0';
    let pairs = digits.as_bytes().chunks(2);
    pairs
        .map(|pair| value(&pair[0]) | pair.get(1).map_or(0xF0, |digit| value(digit) << 4))
        .collect()
}

// === impl Border ===

impl Border {
    /// `keys` are more of home routing, `toml` is more of our configuration, `map` more of the foreign one.
    fn start(keys: &str, toml: &str, map: &str) -> Self {
        let stp = Stp::start();
        let network = MapNetwork::start(&[stp.m3ua()]);
        let ours = configured(Smsc::new(), &[stp.m3ua()], NEVER, &home_routing(keys));
        let ours = ours.toml(toml).start();
        until_active(&ours, &[stp.m3ua()]);
        let recorder = Proxy::to(stp.m3ua());
        let abroad = abroad(recorder.address(), map);
        Self {
            abroad,
            ours,
            network,
            recorder,
            _stp: stp,
        }
    }

    fn sender(&self) -> Peer {
        Peer::bind(self.abroad.smpp(), "abroad", "abroad")
    }

    /// The foreign service centre has seen ids of our network, and no IMSI; tshark reads all of it.
    fn assert_hidden(&self, imsi: &str, texts: &[&str]) {
        let messages = recorded(&self.recorder);
        let hidden = semi_octets(imsi);
        let mut all = messages.iter();
        let shows = |octets: &[u8]| octets.windows(hidden.len()).any(|part| part == hidden);
        assert!(!all.any(|message| shows(&message.octets)), "{imsi} is seen");
        // 26201, and the first digit of those that are random.
        let is_id = |part: &[u8]| part[..2] == [0x62, 0x02] && part[2] & 0x0F == 1;
        let mut all = messages.iter();
        let has_id = all.any(|message| message.octets.windows(3).any(is_id));
        assert!(has_id, "no id of our network");
        MapReading::of(&messages).assert_well_formed(texts);
        self.network.assert_content();
        self.ours.assert_no_panic();
        self.abroad.assert_no_panic();
    }
}

#[test]
fn a_foreign_message_reaches_the_handset_through_us_in_every_version() {
    for version in [3, 2, 1] {
        let border = Border::start("", "", &format!("version = {version}"));
        let (number, imsi) = border.network.subscriber(1, json!({}));
        let mut esme = border.sender();
        let text = format!("hello by {version}");
        let id = esme.submit(submit(&number, &text));
        let got = border.network.wait_for(&imsi, 1).remove(0);
        assert_eq!(
            (got.text.as_str(), got.from.as_str()),
            (text.as_str(), "12345")
        );
        assert_eq!(stat_of(&esme.deliver()), (id.clone(), DELIVERED));
        assert_eq!(attempts(&border.abroad.wait_for_final(&id)), ["ESME_ROK"]);
        // One question of ours; that of the foreign one was answered without it.
        assert_eq!(border.network.asked(HLR, ROUTING), 1);
        assert_eq!(counted(&border.ours, "questions_answered"), Some(1.0));
        assert_eq!(counted(&border.ours, "messages_taken"), Some(1.0));
        border.assert_hidden(&imsi, &[&text]);
    }
}

#[test]
fn an_account_gets_foreign_messages_instead_of_the_handset() {
    let border = Border::start(", deliver = \"test\"", "", "");
    let (number, imsi) = border.network.subscriber(1, json!({}));
    let mut receiver = Peer::bind(border.ours.smpp(), "test", "test");
    let mut esme = border.sender();
    let id = esme.submit(submit(&number, "hello"));
    let got = receiver.deliver();
    assert_eq!(
        (&got.short_message[..], &got.source_addr[..]),
        (&b"hello"[..], &b"12345"[..])
    );
    assert_eq!(&got.destination_addr[..], number.as_bytes());
    assert_eq!(stat_of(&esme.deliver()), (id, DELIVERED));
    assert!(border.network.taken(&imsi).is_empty());
    assert_eq!(border.network.asked(HLR, ROUTING), 0);
    border.assert_hidden(&imsi, &["hello"]);
}

#[test]
fn the_parts_of_a_long_foreign_text_come_in_one_dialogue_and_arrive_in_order() {
    let border = Border::start("", "", "");
    let (number, imsi) = border.network.subscriber(1, json!({}));
    let mut esme = border.sender();
    let text = SENTENCE.repeat(12);
    let mut long = submit(&number, "");
    let octets = gsm7::encode(&text, Shifts::default()).unwrap();
    long.tlvs.push(tag::MESSAGE_PAYLOAD, &octets);
    let id = esme.submit(long);
    assert_eq!(stat_of(&esme.deliver()), (id, DELIVERED));
    let parts = border.network.wait_for(&imsi, 4);
    let together: String = parts.iter().map(|part| part.text.as_str()).collect();
    assert_eq!(together, text);
    assert_eq!(counted(&border.ours, "questions_answered"), Some(1.0));
    assert_eq!(counted(&border.ours, "messages_taken"), Some(4.0));
    border.assert_hidden(&imsi, &[SENTENCE.trim()]);
}

#[test]
fn an_id_that_is_over_is_unknown_and_another_one_is_asked_for_at_once() {
    let keys = ", id_lifetime = \"1s\"";
    let border = Border::start(keys, "", "route_cache = \"1h\"");
    let (number, imsi) = border.network.subscriber(1, json!({}));
    let mut esme = border.sender();
    let mut sent = Vec::new();
    until("an id that is over to be used", || {
        sent.push(esme.submit(submit(&number, "again")));
        counted(&border.ours, "unknown_ids").map(|_| ())
    });
    for id in &sent {
        let shown = border.abroad.wait_for_final(id);
        assert_eq!(shown["state"], "DELIVERED", "{shown}");
    }
    border.network.wait_for(&imsi, sent.len());
    // The HLR is asked again at once, which costs no attempt.
    for id in &sent {
        assert_eq!(attempts(&message(&border.abroad, id)), ["ESME_ROK"]);
    }
    border.assert_hidden(&imsi, &["again"]);
}

#[test]
fn a_number_that_we_know_nobody_to_have_is_an_unknown_subscriber() {
    let (number, imsi) = map_subscriber(1);
    let range = format!(
        "[[number_range]]\nname = \"ours\"\nprefixes = [\"4916\"]\nnumbers = [\"{number}\"]\n"
    );
    let border = Border::start("", &range, "");
    border.network.subscriber(1, json!({}));
    let (nobody, _) = map_subscriber(2);
    let mut esme = border.sender();
    let id = esme.submit(submit(&nobody, "hello"));
    assert_eq!(stat_of(&esme.deliver()), (id.clone(), UNDELIVERABLE));
    let shown = border.abroad.wait_for_final(&id);
    assert_eq!(attempts(&shown), ["MAP_UNKNOWN_SUBSCRIBER"]);
    assert_eq!(counted(&border.ours, "questions_refused"), Some(1.0));
    let id = esme.submit(submit(&number, "hello"));
    assert_eq!(stat_of(&esme.deliver()), (id, DELIVERED));
    border.network.wait_for(&imsi, 1);
}

#[test]
fn another_node_knows_the_id_when_the_one_that_has_given_it_is_gone() {
    let stp = Stp::start();
    let gateway = stp.m3ua();
    let network = MapNetwork::start(&[gateway]);
    let map = home_routing("");
    let mut cluster = Cluster::of(2)
        .short_lease()
        .each(move |smsc| configured(smsc, &[gateway], NEVER, &map))
        .start();
    let first = until("one of the nodes to have traffic", || {
        (0..2).find(|node| is_active(&cluster.nodes[*node], gateway))
    });
    let abroad = abroad(gateway, "route_cache = \"1h\"");
    let (number, imsi) = network.subscriber(1, json!({}));
    let mut esme = Peer::bind(abroad.smpp(), "abroad", "abroad");
    let id = esme.submit(submit(&number, "one"));
    assert_eq!(stat_of(&esme.deliver()), (id, DELIVERED));
    network.wait_for(&imsi, 1);
    assert_eq!(
        counted(&cluster.nodes[first], "questions_answered"),
        Some(1.0)
    );
    cluster.nodes[first].kill();
    let second = 1 - first;
    until_active(&cluster.nodes[second], &[gateway]);
    let id = esme.submit(submit(&number, "two"));
    assert_eq!(stat_of(&esme.deliver()), (id, DELIVERED));
    network.wait_for(&imsi, 2);
    let asked = |event| counted(&cluster.nodes[second], event);
    assert_eq!(asked("questions_answered"), None, "the id is remembered");
    assert_eq!(
        (asked("unknown_ids"), asked("messages_taken")),
        (None, Some(1.0))
    );
    network.assert_content();
}
