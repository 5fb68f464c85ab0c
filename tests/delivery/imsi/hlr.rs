//! The control interface of an OsmoHLR, played by a test: a server whose behaviour the test changes.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

/// The behaviour of the HLR.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mood {
    /// Answers requests, the later ones of a burst first.
    Good,
    /// As Good, but knows no `.imsi`, as before OsmoHLR 1.8.
    Old,
    /// Takes requests and answers none of them until the behaviour changes.
    Silent,
    /// Answers with another subscriber's variable.
    Lying,
    /// Answers with octets that are no frames.
    Garbled,
    /// Closes each connection at the first request.
    CutOff,
}

/// The HLR; it runs until the test process ends.
pub struct Hlr {
    address: SocketAddr,
    state: Arc<State>,
}

struct State {
    inside: Mutex<Inside>,
    changed: Condvar,
}

struct Inside {
    mood: Mood,
    subscribers: HashMap<String, String>,
    asked: HashMap<String, usize>,
    connections: usize,
}

// === impl Hlr ===

impl Hlr {
    /// Knows these subscribers, number and IMSI, and no others.
    pub fn start(subscribers: &[(&str, &str)]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let own = |(number, imsi): &(&str, &str)| ((*number).to_owned(), (*imsi).to_owned());
        let state = Arc::new(State {
            inside: Mutex::new(Inside {
                mood: Mood::Good,
                subscribers: subscribers.iter().map(own).collect(),
                asked: HashMap::new(),
                connections: 0,
            }),
            changed: Condvar::new(),
        });
        let for_thread = Arc::clone(&state);
        thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                let state = Arc::clone(&for_thread);
                thread::spawn(move || state.serve(socket));
            }
        });
        Self { address, state }
    }

    /// The value of `imsi.hlr`.
    pub fn address(&self) -> String {
        self.address.to_string()
    }

    /// Changes the behaviour, also for pending requests.
    pub fn set(&self, mood: Mood) {
        self.state.inside.lock().unwrap().mood = mood;
        self.state.changed.notify_all();
    }

    /// Adds a subscriber, or gives it another IMSI.
    pub fn add(&self, number: &str, imsi: &str) {
        let mut inside = self.state.inside.lock().unwrap();
        inside
            .subscribers
            .insert(number.to_owned(), imsi.to_owned());
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

    /// How many connections there were.
    pub fn connections(&self) -> usize {
        self.state.inside.lock().unwrap().connections
    }
}

// === impl State ===

impl State {
    fn serve(&self, mut socket: TcpStream) {
        self.inside.lock().unwrap().connections += 1;
        let (mut buffer, mut octets) = (Vec::new(), [0; 4096]);
        loop {
            let read = socket.read(&mut octets).unwrap_or(0);
            if read == 0 {
                return;
            }
            buffer.extend_from_slice(&octets[..read]);
            let mut answers = Vec::new();
            while let Some(request) = next_request(&mut buffer) {
                match self.answer(&request) {
                    Some(answer) => answers.push(answer),
                    None => return,
                }
            }
            // Answers need not come in the order of requests.
            answers.reverse();
            if socket.write_all(&answers.concat()).is_err() {
                return;
            }
        }
    }

    /// The octets of the answer; `None` closes the connection.
    fn answer(&self, request: &str) -> Option<Vec<u8>> {
        let mut words = request.split(' ');
        let (Some("GET"), Some(id), Some(name)) = (words.next(), words.next(), words.next()) else {
            return Some(frame(&format!(
                "ERROR err Request type unknown ({request})"
            )));
        };
        let rest = name.strip_prefix("subscriber.by-msisdn-").unwrap();
        let (number, field) = rest.split_once('.').unwrap();
        assert!(
            number.bytes().all(|digit| digit.is_ascii_digit()),
            "{number}"
        );
        let mut inside = self.inside.lock().unwrap();
        *inside.asked.entry(number.to_owned()).or_default() += 1;
        let inside = self
            .changed
            .wait_while(inside, |inside| inside.mood == Mood::Silent)
            .unwrap();
        let imsi = inside.subscribers.get(number);
        let text = match (inside.mood, field, imsi) {
            (Mood::CutOff, ..) => return None,
            (Mood::Garbled, ..) => return Some(vec![0xFF; 64]),
            (Mood::Lying, ..) => {
                format!("GET_REPLY {id} subscriber.by-msisdn-1.{field} 999999999999999")
            }
            (Mood::Old, "imsi", _) => format!("ERROR {id} Command not found"),
            (_, _, None) => format!("ERROR {id} No such subscriber."),
            (_, "imsi", Some(imsi)) => format!("GET_REPLY {id} {name} {imsi}"),
            (_, _, Some(imsi)) => {
                format!(
                    "GET_REPLY {id} {name} \nid\t1\nimsi\t{imsi}\nmsisdn\t{number}\nnam_cs\t1\n"
                )
            }
        };
        Some(frame(&text))
    }
}

/// A frame of IPA for CTRL.
fn frame(text: &str) -> Vec<u8> {
    let length = u16::try_from(text.len() + 1).unwrap().to_be_bytes();
    [&length[..], &[0xEE, 0x00], text.as_bytes()].concat()
}

fn next_request(buffer: &mut Vec<u8>) -> Option<String> {
    let [high, low, ..] = buffer[..] else {
        return None;
    };
    let end = 3 + usize::from(u16::from_be_bytes([high, low]));
    if buffer.len() < end {
        return None;
    }
    let frame: Vec<u8> = buffer.drain(..end).collect();
    assert_eq!(frame[2..4], [0xEE, 0x00]);
    Some(String::from_utf8(frame[4..].to_vec()).unwrap())
}
