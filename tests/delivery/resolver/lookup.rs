//! A number portability service played by a test: an HTTP server whose behaviour the test changes.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

/// The behaviour of the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mood {
    /// Answers requests.
    Good,
    /// Accepts requests and answers none of them until the behaviour changes.
    Silent,
    /// Answers with status 503.
    Broken,
}

/// The service; it runs until the test process ends.
pub struct Lookup {
    address: SocketAddr,
    state: Arc<State>,
}

struct State {
    inside: Mutex<Inside>,
    changed: Condvar,
}

struct Inside {
    mood: Mood,
    networks: HashMap<String, String>,
    asked: HashMap<String, usize>,
}

// === impl Lookup ===

impl Lookup {
    /// Knows these ported numbers, and no other.
    pub fn start(ported: &[(&str, &str)]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let own = |(number, network): &(&str, &str)| ((*number).to_owned(), (*network).to_owned());
        let state = Arc::new(State {
            inside: Mutex::new(Inside {
                mood: Mood::Good,
                networks: ported.iter().map(own).collect(),
                asked: HashMap::new(),
            }),
            changed: Condvar::new(),
        });
        let for_thread = Arc::clone(&state);
        thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                let state = Arc::clone(&for_thread);
                thread::spawn(move || state.serve(&socket));
            }
        });
        Self { address, state }
    }

    /// The value of `resolver.url`.
    pub fn url(&self) -> String {
        format!("http://{}/v1/{{msisdn}}?all=yes", self.address)
    }

    /// Changes the behaviour, also for pending requests.
    pub fn set(&self, mood: Mood) {
        self.state.inside.lock().unwrap().mood = mood;
        self.state.changed.notify_all();
    }

    /// How many requests there were for a number.
    pub fn asked(&self, number: &str) -> usize {
        let inside = self.state.inside.lock().unwrap();
        inside.asked.get(number).copied().unwrap_or(0)
    }

    /// How many requests there were.
    pub fn asked_at_all(&self) -> usize {
        self.state.inside.lock().unwrap().asked.values().sum()
    }
}

// === impl State ===

impl State {
    /// Answers the requests of one connection, one after another.
    fn serve(&self, socket: &TcpStream) {
        let mut lines = BufReader::new(socket).lines().map_while(Result::ok);
        while let Some(first) = lines.next() {
            let headers: Vec<String> = lines.by_ref().take_while(|line| !line.is_empty()).collect();
            let authorized = headers
                .iter()
                .any(|line| line.eq_ignore_ascii_case("authorization: Bearer mnp-token"));
            let path = first.split(' ').nth(1).unwrap_or_default();
            let number = path
                .strip_prefix("/v1/")
                .and_then(|rest| rest.strip_suffix("?all=yes"))
                .unwrap_or_default();
            let (status, body) = if authorized {
                self.answer(number)
            } else {
                ("401 Unauthorized", String::new())
            };
            let length = body.len();
            let answer = format!(
                "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
            );
            if (&mut &*socket).write_all(answer.as_bytes()).is_err() {
                return;
            }
        }
    }

    fn answer(&self, number: &str) -> (&'static str, String) {
        let mut inside = self.inside.lock().unwrap();
        *inside.asked.entry(number.to_owned()).or_default() += 1;
        let inside = self
            .changed
            .wait_while(inside, |inside| inside.mood == Mood::Silent)
            .unwrap();
        match (inside.mood, inside.networks.get(number)) {
            (Mood::Broken, _) => ("503 Service Unavailable", String::new()),
            (_, None) => ("404 Not Found", "{}".to_owned()),
            (_, Some(network)) => (
                "200 OK",
                format!("{{\"mnp\": {{\"network\": \"{network}\"}}}}"),
            ),
        }
    }
}
