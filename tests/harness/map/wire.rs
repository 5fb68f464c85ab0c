//! M3UA messages that a proxy recorded, and what tshark reads in them once each is a packet of SCTP.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use crate::harness::{Proxy, debian_tool, run};

/// Octets of the head of a message (RFC 4666 §3.1), whose last four are the length of all.
const HEAD: usize = 8;
const LENGTH_AT: usize = 4;
/// How an hexadecimal dump is made a capture: with times and directions, as SCTP with the identifier of M3UA.
const TEXT_TO_PACKETS: [&str; 6] = ["-q", "-D", "-t", "%s.%f", "-S", "2905,2905,3"];
const COMPLAINTS: &str = "_ws.malformed || _ws.expert.severity == error";

/// A message of M3UA.
#[derive(Debug, Clone)]
pub struct SignallingMessage {
    /// Since the Unix epoch.
    pub at: Duration,
    /// Whether the SMSC sent it.
    pub is_ours: bool,
    pub octets: Vec<u8>,
}

/// The messages that a proxy between an SMSC and a gateway has seen, in their order.
pub fn recorded(proxy: &Proxy) -> Vec<SignallingMessage> {
    let mut streams: HashMap<(u16, bool), Vec<u8>> = HashMap::new();
    let mut found = Vec::new();
    for segment in proxy.segments() {
        let key = (segment.connection, segment.from_client);
        let stream = streams.entry(key).or_default();
        stream.extend_from_slice(&segment.octets);
        while let Some(length) = whole_message(stream) {
            found.push(SignallingMessage {
                at: segment.at,
                is_ours: segment.from_client,
                octets: stream.drain(..length).collect(),
            });
        }
    }
    found
}

fn whole_message(stream: &[u8]) -> Option<usize> {
    let length = stream.get(LENGTH_AT..HEAD)?.try_into().unwrap();
    let length = u32::from_be_bytes(length) as usize;
    assert!(length >= HEAD, "a message of {length} octets");
    (stream.len() >= length).then_some(length)
}

/// What tshark reads in signalling messages.
pub struct MapReading {
    folder: tempfile::TempDir,
}

// === impl MapReading ===

impl MapReading {
    /// Of messages that a proxy recorded.
    pub fn of(messages: &[SignallingMessage]) -> Self {
        let mut dump = String::new();
        for message in messages {
            let direction = if message.is_ours { 'O' } else { 'I' };
            writeln!(dump, "{direction} {:.6}", message.at.as_secs_f64()).unwrap();
            for (line, octets) in message.octets.chunks(16).enumerate() {
                write!(dump, "{:06x}", line * 16).unwrap();
                for octet in octets {
                    write!(dump, " {octet:02x}").unwrap();
                }
                dump.push('\n');
            }
            writeln!(dump, "{:06x}", message.octets.len()).unwrap();
        }
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("m3ua.txt");
        std::fs::write(&file, dump).unwrap();
        Self::within(folder, &file)
    }

    /// Of a file of the network.
    pub fn of_trace(file: &Path) -> Self {
        Self::within(tempfile::tempdir().unwrap(), file)
    }

    fn within(folder: tempfile::TempDir, file: &Path) -> Self {
        let made = run(debian_tool("text2pcap")
            .args(TEXT_TO_PACKETS)
            .arg(file)
            .arg(folder.path().join("m3ua.pcapng")));
        assert!(made.success, "{}", made.stderr);
        Self { folder }
    }

    /// What tshark prints with these arguments.
    pub fn tshark(&self, arguments: &[&str]) -> String {
        let file = self.folder.path().join("m3ua.pcapng");
        let finished = run(debian_tool("tshark").arg("-r").arg(file).args(arguments));
        assert!(finished.success, "{}", finished.stderr);
        finished.stdout
    }

    /// A line of fields, with blanks between, for each packet that a filter lets through.
    pub fn fields(&self, filter: &str, fields: &[&str]) -> Vec<Vec<String>> {
        let mut arguments = vec!["-Y", filter, "-T", "fields", "-E", "separator=|"];
        for field in fields {
            arguments.extend(["-e", field]);
        }
        let lines = self.tshark(&arguments);
        let columns = |line: &str| line.split('|').map(str::to_owned).collect();
        lines.lines().map(columns).collect()
    }

    /// How many packets a filter lets through.
    pub fn packets(&self, filter: &str) -> usize {
        self.fields(filter, &["frame.number"]).len()
    }

    /// How many packets tshark does not read down to what they are for: data that is no TCAP and no segment, TCAP of no kind,
    /// and components that are none of MAP. It says nothing against these.
    pub fn unread(&self) -> usize {
        let kinds = "(tcap.begin_element || tcap.continue_element || tcap.end_element || tcap.abort_element)";
        self.packets("sccp && !tcap && !(sccp.segmentation.remaining > 0)")
            + self.packets(&format!("tcap && !{kinds}"))
            + self.packets("tcap.components && !gsm_map")
    }

    /// tshark complains of no packet, and has read messages of handsets in MAP down to these texts.
    pub fn assert_well_formed(&self, texts: &[&str]) {
        let said = self.tshark(&["-Y", COMPLAINTS, "-V"]);
        assert_eq!(said, "", "tshark is not content");
        let (all, read) = (self.packets("frame"), self.packets("sctp && m3ua"));
        assert!(read > 0 && read == all, "{read} of {all} are M3UA");
        let data = self.packets("m3ua.message_class == 1");
        assert_eq!(self.packets("sccp"), data, "not all data is SCCP");
        assert_eq!(self.unread(), 0, "packets that are not read");
        let found = self.fields("gsm_map && gsm_sms", &["gsm_sms.sms_text"]);
        for text in texts {
            assert!(
                found.iter().any(|line| line[0].contains(text)),
                "no {text:?} in {found:?}"
            );
        }
    }
}
