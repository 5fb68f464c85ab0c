//! Writes the traffic that a [`Proxy`] recorded as a pcap file, with synthetic IPv4 and TCP headers.
//!
//! The file is like a capture of the same connections, without handshakes and acknowledgements: a
//! dissector follows the TCP stream by its sequence numbers.

use std::collections::HashMap;
use std::path::Path;

use super::proxy::Segment;
use super::{Proxy, debian_tool, run};

/// LINKTYPE_RAW: packets begin with the IP header.
const LINKTYPE_RAW: u32 = 101;
const IP_HEADER: usize = 20;
const TCP_HEADER: usize = 20;
/// Largest synthetic segment; an IPv4 packet holds 65,535 octets.
const SEGMENT: usize = 32 * 1024;
/// ACK and PSH.
const FLAGS: u8 = 0x18;
const WINDOW: u16 = 0xFFFF;
/// Ports of the connecting sides, one per connection.
const FIRST_CLIENT_PORT: u16 = 40_000;

/// Packets of one or more proxies.
#[derive(Default)]
pub struct Capture {
    octets: Vec<u8>,
    /// Next sequence number by connection and direction.
    sequences: HashMap<(u16, u16, bool), u32>,
    clients: u16,
}

// === impl Capture ===

impl Capture {
    /// A file without packets.
    pub fn new() -> Self {
        let mut octets = Vec::new();
        octets.extend_from_slice(&0xA1B2_C3D4_u32.to_le_bytes());
        octets.extend_from_slice(&2_u16.to_le_bytes());
        octets.extend_from_slice(&4_u16.to_le_bytes());
        octets.extend_from_slice(&[0; 8]);
        octets.extend_from_slice(&0x0004_0000_u32.to_le_bytes());
        octets.extend_from_slice(&LINKTYPE_RAW.to_le_bytes());
        Self {
            octets,
            ..Self::default()
        }
    }

    /// Adds all traffic of a proxy.
    pub fn add(&mut self, proxy: &Proxy) {
        let first_client = FIRST_CLIENT_PORT + self.clients;
        let mut connections = 0;
        for segment in proxy.segments() {
            connections = connections.max(segment.connection + 1);
            for piece in segment.octets.chunks(SEGMENT) {
                self.packet(&segment, first_client, proxy.target_port(), piece);
            }
        }
        self.clients += connections;
    }

    /// Writes the file.
    pub fn write(&self, path: &Path) {
        std::fs::write(path, &self.octets).unwrap();
    }

    fn packet(&mut self, segment: &Segment, first_client: u16, server: u16, payload: &[u8]) {
        let client = first_client + segment.connection;
        let key = |from_client| (client, server, from_client);
        let sequence = *self.sequences.entry(key(segment.from_client)).or_insert(1);
        let acknowledged = *self.sequences.entry(key(!segment.from_client)).or_insert(1);
        let length = IP_HEADER + TCP_HEADER + payload.len();
        let (from, to) = if segment.from_client {
            (client, server)
        } else {
            (server, client)
        };

        let seconds = segment.at.as_secs() as u32;
        for word in [
            seconds,
            segment.at.subsec_micros(),
            length as u32,
            length as u32,
        ] {
            self.octets.extend_from_slice(&word.to_le_bytes());
        }
        self.octets.extend_from_slice(&ip_header(length as u16));
        let tcp = &mut self.octets;
        tcp.extend_from_slice(&from.to_be_bytes());
        tcp.extend_from_slice(&to.to_be_bytes());
        tcp.extend_from_slice(&sequence.to_be_bytes());
        tcp.extend_from_slice(&acknowledged.to_be_bytes());
        tcp.extend_from_slice(&[(TCP_HEADER as u8 / 4) << 4, FLAGS]);
        tcp.extend_from_slice(&WINDOW.to_be_bytes());
        // Checksums are not verified by default; no urgent pointer.
        tcp.extend_from_slice(&[0; 4]);
        tcp.extend_from_slice(payload);
        self.sequences.insert(
            key(segment.from_client),
            sequence.wrapping_add(payload.len() as u32),
        );
    }
}

/// What tshark says of the traffic that a proxy recorded, which it reads as this protocol, with these arguments.
pub fn dissected(proxy: &Proxy, protocol: &str, arguments: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("recorded.pcap");
    let mut capture = Capture::new();
    capture.add(proxy);
    capture.write(&file);
    let ports = format!("tcp.port=={},{protocol}", proxy.target_port());
    let finished = run(debian_tool("tshark")
        .arg("-r")
        .arg(&file)
        .args(["-d", &ports])
        .args(arguments));
    assert!(finished.success, "{}", finished.stderr);
    finished.stdout
}

/// IPv4 from 127.0.0.1 to itself, carrying TCP.
fn ip_header(length: u16) -> [u8; IP_HEADER] {
    let [high, low] = length.to_be_bytes();
    #[rustfmt::skip]
    let mut header = [
        0x45, 0, high, low,
        0, 0, 0x40, 0,
        64, 6, 0, 0,
        127, 0, 0, 1,
        127, 0, 0, 1,
    ];
    let sum: u32 = header
        .chunks(2)
        .map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])))
        .sum();
    let folded = (sum & 0xFFFF) + (sum >> 16);
    header[10..12].copy_from_slice(&(!(folded as u16)).to_be_bytes());
    header
}
