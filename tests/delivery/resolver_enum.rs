//! Networks of numbers by ENUM: a DNS server that a test plays says which numbers are ported.

use std::collections::HashMap;
use std::net::{SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex};
use std::thread;

use crate::harness::{Peer, Smsc, SmscBuilder, submit, until};

const PORTED: &str = "447700900123";
const STAYED: &str = "447700900124";

/// The answers of the server, by the digits of the number.
#[derive(Default)]
struct Zone {
    records: HashMap<String, Vec<Record>>,
    asked: Vec<String>,
    /// Whether it fails instead (SERVFAIL).
    fails: bool,
}

/// A NAPTR: order, services, expression.
type Record = (u16, &'static str, String);

/// A DNS server; it runs until the test process ends.
struct Dns {
    address: SocketAddr,
    zone: Arc<Mutex<Zone>>,
}

impl Dns {
    fn start(records: &[(&str, Record)]) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        let mut zone = Zone::default();
        for (number, record) in records {
            let of_number = zone.records.entry((*number).to_owned()).or_default();
            of_number.push(record.clone());
        }
        let zone = Arc::new(Mutex::new(zone));
        let served = Arc::clone(&zone);
        thread::spawn(move || {
            let mut octets = [0; 1500];
            while let Ok((length, from)) = socket.recv_from(&mut octets) {
                let answer = served.lock().unwrap().answer(&octets[..length]);
                socket.send_to(&answer, from).unwrap();
            }
        });
        Self { address, zone }
    }

    fn asked(&self, number: &str) -> usize {
        let asked = &self.zone.lock().unwrap().asked;
        asked.iter().filter(|one| *one == number).count()
    }
}

impl Zone {
    /// The answer to a query (RFC 1035 §4.1).
    fn answer(&mut self, query: &[u8]) -> Vec<u8> {
        let (mut at, mut labels) = (12, Vec::new());
        while query[at] != 0 {
            let end = at + 1 + usize::from(query[at]);
            labels.push(String::from_utf8(query[at + 1..end].to_vec()).unwrap());
            at = end;
        }
        let question = &query[12..at + 5];
        assert_eq!(question[question.len() - 4..], [0, 35, 0, 1], "NAPTR IN");
        let digits = labels.iter().take_while(|label| label.len() == 1);
        let number: String = digits
            .cloned()
            .collect::<Vec<_>>()
            .into_iter()
            .rev()
            .collect();
        assert!(labels.ends_with(&["mnp".to_owned(), "example".to_owned()]));
        self.asked.push(number.clone());
        let records = self.records.get(&number);
        let code = match (self.fails, records) {
            (true, _) => 2,
            (false, None) => 3,
            (false, Some(_)) => 0,
        };
        let records = records.filter(|_| code == 0).map_or(&[][..], Vec::as_slice);
        let mut out = query[..2].to_vec();
        out.extend([0x84, code, 0, 1, 0, records.len() as u8, 0, 0, 0, 0]);
        out.extend(question);
        for (order, services, expression) in records {
            let mut data = order.to_be_bytes().to_vec();
            data.extend([0, 10]);
            for text in ["u", services, expression] {
                data.push(text.len() as u8);
                data.extend(text.as_bytes());
            }
            data.push(0);
            out.extend([0xC0, 12, 0, 35, 0, 1, 0, 0, 0, 60, 0, data.len() as u8]);
            out.extend(data);
        }
        out
    }
}

fn asking(dns: &Dns, keys: &str) -> SmscBuilder {
    let resolver = format!(
        "[resolver]\nenum_servers = [\"{}\"]\nenum_zone = \"mnp.example\"\ntable = \"networks.csv\"\n{keys}",
        dns.address
    );
    Smsc::new()
        .account("test", "test")
        .file("networks.csv", "447700,23410\n")
        .toml(&resolver)
        .toml("[[route]]\nprefix = \"44\"\nnetwork = \"447799\"\nto = [\"test:delivered\"]\n")
        .route("", "test:failed")
}

#[test]
fn enum_knows_which_numbers_are_ported() {
    let dns = Dns::start(&[
        (
            PORTED,
            (20, "E2U+pstn:tel", "!^.*$!tel:+1;npdi;rn=+111!".to_owned()),
        ),
        (
            PORTED,
            (
                10,
                "E2U+pstn:tel",
                r"!^(.*)$!tel:\1;npdi;rn=+44-7799!".to_owned(),
            ),
        ),
        (
            PORTED,
            (1, "E2U+sip", "!^.*$!sip:x;rn=+9@example!".to_owned()),
        ),
        // A record that says nothing about portability.
        (STAYED, (1, "E2U+sip", "!^.*$!sip:x@example!".to_owned())),
    ]);
    let smsc = asking(&dns, "timeout = \"60s\"\n").start();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let id = esme.submit(submit(PORTED, "hello"));
    let shown = smsc.wait_for_final(&id);
    assert_eq!(
        (&shown["state"], &shown["network"]),
        (&"DELIVERED".into(), &"447799".into())
    );
    assert_eq!(
        shown["changes"][0]["by"],
        "resolver: network 447799 (looked up)"
    );
    // Not ported: a name with other records, and one that does not exist.
    for number in [STAYED, "447700900125"] {
        let id = esme.submit(submit(number, "hello"));
        let shown = smsc.wait_for_final(&id);
        assert_eq!(shown["network"], "23410");
        let by = shown["changes"][0]["by"].as_str().unwrap();
        assert_eq!(by, "resolver: network 23410 (table; not ported, looked up)");
        assert_eq!(dns.asked(number), 1);
    }
    let id = esme.submit(submit(PORTED, "again"));
    assert_eq!(smsc.wait_for_final(&id)["network"], "447799");
    assert_eq!(dns.asked(PORTED), 1);
    smsc.assert_no_panic();
}

#[test]
fn a_dns_server_that_fails_is_asked_again() {
    let dns = Dns::start(&[(
        PORTED,
        (1, "E2U+pstn", "!^.*$!tel:+44;npdi;rn=+447799!".to_owned()),
    )]);
    dns.zone.lock().unwrap().fails = true;
    // It is asked often enough to be found good again, however late this test heals it.
    let keys = format!("delays = {:?}\nbreaker_failures = 1000\n", ["200ms"; 100]);
    let smsc = asking(&dns, &keys).start();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let id = esme.submit(submit(PORTED, "hello"));
    until("a question that fails", || {
        let failed = "smsc_resolver_lookups_total{result=\"failed\"}";
        smsc.admin().metric(failed).filter(|count| *count >= 1.0)
    });
    dns.zone.lock().unwrap().fails = false;
    assert_eq!(smsc.wait_for_final(&id)["network"], "447799");
    let log = smsc.log();
    assert!(
        !log.contains(PORTED) && !log.contains("3.2.1.0.0.9"),
        "{log}"
    );
}
