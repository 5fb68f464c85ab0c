//! `tests/clients/map_network.py` as tests see it.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::{Client, PATIENCE, python_script, until};

/// The number of the service centre, and so its global title.
pub const CENTRE: &str = "49160000";
/// Where the service centre and the network are.
pub const CENTRE_POINT_CODE: &str = "0.1.1";
pub const NETWORK_POINT_CODE: &str = "0.2.1";
/// The global titles of the nodes.
pub const HLR: &str = "491700001";
pub const MSC: &str = "491700002";
pub const SGSN: &str = "491700003";

/// sendRoutingInfoForSM.
pub const ROUTING: u8 = 45;

/// The network; it ends when it is dropped.
pub struct MapNetwork {
    port: u16,
    trace: PathBuf,
    _client: Client,
    _folder: TempDir,
}

/// A message that came for a handset, as pycrate reads it.
#[derive(Debug, Clone, Deserialize)]
pub struct MapMessage {
    pub imsi: String,
    /// The node that it came to.
    pub node: String,
    /// The dialogue that it came in.
    pub dialogue: usize,
    /// The version of MAP.
    pub version: u8,
    /// Whether more messages were announced with it, by MAP.
    pub more: bool,
    /// What became of it: `ok`, or what the test had ordered.
    pub outcome: String,
    /// The TPDU in hexadecimal.
    pub tpdu: String,
    /// `deliver` or `status_report`.
    #[serde(default)]
    pub kind: String,
    #[serde(default)]
    pub from: String,
    #[serde(default)]
    pub text: String,
    #[serde(default)]
    pub data_coding: u8,
    /// `reference`, `total` and `number` of a part of a text.
    #[serde(default)]
    pub part: Option<Value>,
}

/// A dialogue, begun by the service centre unless it is `ours`.
#[derive(Debug, Clone, Deserialize)]
pub struct MapDialogue {
    pub node: String,
    pub kind: String,
    /// The global title of the other side.
    pub peer: String,
    /// Number and version of the application context; none in version 1.
    pub context: Option<(u8, u8)>,
    pub version: u8,
    pub ours: bool,
    /// How it ended; none while it is open.
    pub ended: Option<String>,
    /// Messages for handsets in it.
    pub messages: usize,
    /// Whether its first message had no operation.
    pub empty_begin: bool,
    /// Operations in it that were answered.
    pub operations: Vec<MapOperation>,
    /// The signalling gateway that its last message came through.
    pub stp: Option<String>,
}

/// An operation that a node was asked for.
#[derive(Debug, Clone, Deserialize)]
pub struct MapOperation {
    /// Its code (TS 29.002 §17.5).
    pub operation: u8,
    /// What became of it: `ok`, or what the test had ordered.
    pub outcome: String,
}

/// MSISDN and IMSI of a subscriber.
pub fn map_subscriber(number: usize) -> (String, String) {
    (format!("4916{number:06}"), format!("00101{number:010}"))
}

/// Octets in hexadecimal, as orders have them.
pub fn hex(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}

// === impl MapNetwork ===

impl MapNetwork {
    /// A network that registers at these gateways; it is connected to all when this returns.
    pub fn start(stps: &[SocketAddr]) -> Self {
        Self::with(stps, &[])
    }

    /// A network that gateways know by its address and routing context.
    pub fn known_as(stps: &[SocketAddr], local: Ipv4Addr, context: u32) -> Self {
        let (local, context) = (local.to_string(), context.to_string());
        Self::with(stps, &["--local", &local, "--context", &context])
    }

    fn with(stps: &[SocketAddr], more: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let trace = folder.path().join("m3ua.txt");
        let stps: Vec<String> = stps.iter().map(ToString::to_string).collect();
        let mut arguments = vec!["--trace", trace.to_str().unwrap()];
        for stp in &stps {
            arguments.extend(["--stp", stp]);
        }
        arguments.extend(["--point-code", NETWORK_POINT_CODE]);
        arguments.extend(["--centre", CENTRE, "--centre-point-code", CENTRE_POINT_CODE]);
        arguments.extend(["--hlr", HLR, "--msc", MSC, "--sgsn", SGSN]);
        arguments.extend(more);
        let mut client = Client::start(
            "map_network.py",
            python_script("map_network.py", &arguments),
        );
        let ready = client.wait_for("ready", |_| true);
        let network = Self {
            port: ready["port"].as_u64().unwrap() as u16,
            trace,
            _client: client,
            _folder: folder,
        };
        network.until_active(stps.len());
        network
    }

    /// The port of its orders.
    pub fn orders(&self) -> u16 {
        self.port
    }

    /// All its M3UA messages so far, in a file that text2pcap reads.
    pub fn trace(&self) -> &PathBuf {
        &self.trace
    }

    /// Gives an order and waits for its answer.
    pub fn order(&self, name: &str, mut order: Value) -> Value {
        order["do"] = name.into();
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("the network runs");
        // An order that waits for the SMSC says itself when it has waited too long.
        stream.set_read_timeout(Some(PATIENCE * 2)).unwrap();
        stream.write_all(format!("{order}\n").as_bytes()).unwrap();
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).unwrap();
        let answer: Value = serde_json::from_str(&line)
            .unwrap_or_else(|error| panic!("{error} in {line:?}, the answer to {order}"));
        assert!(answer.get("wrong").is_none(), "{order} got {answer}");
        answer
    }

    /// Adds a subscriber at the MSC, or changes one; `keys` as in `map_network.py`.
    pub fn subscriber(&self, number: usize, keys: Value) -> (String, String) {
        let (msisdn, imsi) = map_subscriber(number);
        let mut order = json!({ "msisdn": msisdn, "imsi": imsi, "msc": MSC });
        for (key, value) in keys.as_object().into_iter().flatten() {
            order[key] = value.clone();
        }
        self.order("subscriber", order);
        (msisdn, imsi)
    }

    /// Adds so many subscribers at the MSC, with the numbers from 0 on.
    pub fn subscribers(&self, count: usize) -> Vec<(String, String)> {
        let all = (0..count).map(map_subscriber).collect::<Vec<_>>();
        let number = |text: &str| text.parse::<u64>().unwrap();
        let (first, imsi) = (number(&all[0].0), number(&all[0].1));
        let order = json!({ "first": first, "imsi": imsi, "count": count, "msc": MSC });
        self.order("subscribers", order);
        all
    }

    /// Changes a node: version, mood, delay, segment.
    pub fn node(&self, digits: &str, mut keys: Value) {
        keys["digits"] = digits.into();
        self.order("node", keys);
    }

    /// The subscriber is there again, and the HLR says so to the service centre if that waits; what it answered.
    pub fn release(&self, msisdn: &str) -> Vec<Value> {
        let answer = self.order("release", json!({ "msisdn": msisdn }));
        answer["alerts"].as_array().unwrap().clone()
    }

    /// A handset sends this TPDU, in MAP of this version; what its MSC was answered: `result`, or `error` and its `cause`.
    pub fn submit(&self, msisdn: &str, tpdu: &[u8], version: u8) -> Value {
        let order = json!({ "msisdn": msisdn, "tpdu": hex(tpdu), "version": version });
        self.order("submit", order)
    }

    /// Leaves a gateway, or comes back to it.
    pub fn link(&self, stp: usize, up: bool) {
        self.order("link", json!({ "stp": stp, "up": up }));
    }

    /// What it counted, such as `delivered`, `overlaps`, `tcap_begin`, `sccp_17` (messages of SCCP by type).
    pub fn count(&self, what: &str) -> u64 {
        self.order("counts", json!({}))[what].as_u64().unwrap_or(0)
    }

    /// What came for one handset, or for all, taken or not.
    pub fn messages(&self, imsi: Option<&str>) -> Vec<MapMessage> {
        let answer = self.order("messages", json!({ "imsi": imsi }));
        serde_json::from_value(answer["messages"].clone()).unwrap()
    }

    /// The messages that a handset has taken, or is taking slowly.
    pub fn taken(&self, imsi: &str) -> Vec<MapMessage> {
        let mut messages = self.messages(Some(imsi));
        let kind = |one: &MapMessage| one.outcome.split(':').next().unwrap().to_owned();
        messages.retain(|one| ["ok", "slow", "report"].contains(&&*kind(one)));
        messages
    }

    /// The texts of the messages that a handset has taken.
    pub fn texts(&self, imsi: &str) -> Vec<String> {
        let taken = self.taken(imsi).into_iter();
        taken.map(|one| one.text).collect()
    }

    /// Waits until a handset has taken so many messages.
    pub fn wait_for(&self, imsi: &str, messages: usize) -> Vec<MapMessage> {
        until(&format!("{messages} messages at {imsi}"), || {
            let taken = self.taken(imsi);
            (taken.len() >= messages).then_some(taken)
        })
    }

    /// Waits until something was counted so often.
    pub fn wait_for_count(&self, what: &str, count: u64) {
        until(&format!("{count} of {what}"), || {
            (self.count(what) >= count).then_some(())
        });
    }

    /// All dialogues so far.
    pub fn dialogues(&self) -> Vec<MapDialogue> {
        let answer = self.order("dialogues", json!({}));
        serde_json::from_value(answer["dialogues"].clone()).unwrap()
    }

    /// The dialogues that the service centre began with a node.
    pub fn dialogues_with(&self, node: &str) -> Vec<MapDialogue> {
        let mut all = self.dialogues();
        all.retain(|one| one.node == node && !one.ours);
        all
    }

    /// How often a node was asked for an operation.
    pub fn asked(&self, node: &str, operation: u8) -> usize {
        let dialogues = self.dialogues_with(node);
        let all = dialogues.iter().flat_map(|one| &one.operations);
        all.filter(|one| one.operation == operation).count()
    }

    /// What the HLR was told of deliveries: MSISDN and outcome.
    pub fn reports(&self) -> Vec<(String, String)> {
        let answer = self.order("reports", json!({}));
        let reports = answer["reports"].as_array().unwrap().iter();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        reports
            .map(|one| (text(&one["msisdn"]), text(&one["outcome"])))
            .collect()
    }

    /// Waits until the HLR has been told this of a subscriber.
    pub fn wait_for_report(&self, msisdn: &str, outcome: &str) {
        until(&format!("{outcome} of {msisdn} at the HLR"), || {
            let told = self.reports();
            let fits = |(of, what): &(String, String)| of == msisdn && what == outcome;
            told.iter().any(fits).then_some(())
        });
    }

    /// How many messages came through each gateway, in their order.
    pub fn traffic(&self) -> Vec<u64> {
        let answer = self.order("links", json!({}));
        let links = answer["links"].as_array().unwrap().iter();
        links
            .map(|link| link["data_received"].as_u64().unwrap_or(0))
            .collect()
    }

    /// Waits until traffic may go over so many of its links.
    pub fn until_active(&self, links: usize) {
        until(&format!("{links} active links of the network"), || {
            let answer = self.order("links", json!({}));
            let states = answer["links"].as_array().unwrap().iter();
            let active = states.filter(|link| link["state"] == "active").count();
            (active == links).then_some(())
        });
    }

    /// It found nothing wrong in what came.
    pub fn assert_content(&self) {
        let answer = self.order("complaints", json!({}));
        assert_eq!(answer["complaints"], json!([]), "complaints of the network");
    }
}
