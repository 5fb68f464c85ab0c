//! What an SMSC tells of its messages: a raw listener of a stream of server-sent events, and what every event sink must
//! tell when a node is killed.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

use super::{Cluster, Peer, submit, until};

/// Longest silence of a stream that sends something every second.
const SILENCE: Duration = Duration::from_secs(30);

/// One stream.
pub struct Listener {
    lines: BufReader<TcpStream>,
    /// Status line and headers, in lower case.
    pub head: String,
}

// === impl Listener ===

impl Listener {
    /// `GET`, whatever the answer is.
    pub fn connect(http: SocketAddr, path: &str, headers: &str) -> Self {
        Self::request(http, &format!("GET {path}"), headers, "")
    }

    /// `GET`, which must be accepted.
    pub fn open(http: SocketAddr, token: &str, path: &str) -> Self {
        Self::accepted(Self::connect(http, path, &authorized(token)))
    }

    /// `POST` of a JSON body, which must be accepted.
    pub fn post(http: SocketAddr, token: &str, path: &str, body: &Value) -> Self {
        Self::accepted(Self::try_post(http, token, path, body))
    }

    /// `POST` of a JSON body, whatever the answer is.
    pub fn try_post(http: SocketAddr, token: &str, path: &str, body: &Value) -> Self {
        let headers = format!("{}Content-Type: application/json\r\n", authorized(token));
        let body = body.to_string();
        Self::request(http, &format!("POST {path}"), &headers, &body)
    }

    fn accepted(listener: Self) -> Self {
        let head = &listener.head;
        assert!(head.starts_with("http/1.1 200"), "{head}");
        listener
    }

    fn request(http: SocketAddr, what: &str, headers: &str, body: &str) -> Self {
        let mut socket = TcpStream::connect(http).unwrap();
        socket.set_read_timeout(Some(SILENCE)).unwrap();
        let length = match body {
            "" => String::new(),
            body => format!("Content-Length: {}\r\n", body.len()),
        };
        write!(
            socket,
            "{what} HTTP/1.1\r\nHost: smsc\r\n{headers}{length}\r\n{body}"
        )
        .unwrap();
        let mut lines = BufReader::new(socket);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(lines.read_line(&mut head).unwrap(), 0, "{head}");
        }
        Self {
            lines,
            head: head.to_ascii_lowercase(),
        }
    }

    /// The next event: its name, its id and its data. Lines with the sizes of chunks are skipped.
    pub fn event(&mut self) -> (String, i64, Value) {
        let (mut name, mut id) = (String::new(), 0);
        loop {
            let line = self.line().expect("the stream has ended");
            if let Some(value) = line.strip_prefix("event: ") {
                name = value.to_owned();
            } else if let Some(value) = line.strip_prefix("id: ") {
                id = value.parse().unwrap();
            } else if let Some(value) = line.strip_prefix("data: ") {
                return (name, id, serde_json::from_str(value).unwrap());
            }
        }
    }

    /// The next event of this name.
    pub fn wait_for(&mut self, wanted: &str) -> (i64, Value) {
        loop {
            let (name, id, data) = self.event();
            if name == wanted {
                return (id, data);
            }
            assert_ne!(name, "end", "no {wanted} before the end: {data}");
        }
    }

    /// Reads steps until one fits; all of them, the last one fits.
    pub fn steps_until(&mut self, fits: impl Fn(&Value) -> bool) -> Vec<Value> {
        let mut all = Vec::new();
        loop {
            for step in self.wait_for("steps").1["steps"].as_array().unwrap() {
                all.push(step.clone());
                if fits(step) {
                    return all;
                }
            }
        }
    }

    /// The next line; `None` at the end.
    pub fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let read = self.lines.read_line(&mut line).unwrap();
        (read > 0).then(|| line.trim_end().to_owned())
    }
}

fn authorized(token: &str) -> String {
    format!("Authorization: Bearer {token}\r\n")
}

/// Three nodes with the event sink of `section`, the publishing one of which is killed under load: fails unless each
/// message is told from its acceptance to its end. `told` reads the broker, by message; it may leave out what came
/// twice. Returns what it has read last.
pub fn told_although_the_publishing_node_is_killed<E>(
    section: String,
    told: impl Fn() -> BTreeMap<String, Vec<E>>,
    names: impl Fn(&[E]) -> Vec<String>,
) -> BTreeMap<String, Vec<E>> {
    const EACH: usize = 30;
    let mut cluster = Cluster::of(3).usual_lease().delivering(section).start();
    let mut esmes: Vec<Peer> = (1..3)
        .map(|at| Peer::bind(cluster.nodes[at].smpp(), "test", "test"))
        .collect();
    let mut sent = BTreeSet::new();
    for round in 0..2 {
        for at in 0..EACH {
            for esme in &mut esmes {
                let to = format!("4477009{round}{at:04}");
                sent.insert(esme.submit(submit(&to, "hello")));
            }
        }
        if round == 0 {
            until("the first events", || (!told().is_empty()).then_some(()));
            // The one that came first does the work for all.
            cluster.nodes[0].kill();
        }
    }
    let all = until("every end", || {
        let all = told();
        let has_ended = |id: &String| {
            all.get(id)
                .is_some_and(|of| names(of).iter().any(|name| name == "ended"))
        };
        sent.iter().all(has_ended).then_some(all)
    });
    assert_eq!(all.keys().cloned().collect::<BTreeSet<_>>(), sent);
    for (id, of) in &all {
        let names = names(of);
        let ends = [names.first(), names.last()].map(|name| name.map(String::as_str));
        assert_eq!(ends, [Some("accepted"), Some("ended")], "{id}: {names:?}");
    }
    all
}
