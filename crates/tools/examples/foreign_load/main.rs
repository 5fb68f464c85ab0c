//! A sender and an operator whose PDUs are written and read by another implementation of SMPP (rusmpp), so that figures do
//! not rest on our codec at both ends alone.
//!
//! ```text
//! foreign_load operator HOST:PORT
//! foreign_load pdus HOST:PORT [messages] [binds] [window]
//! foreign_load library HOST:PORT [messages] [binds] [window]
//! ```
//!
//! `operator` accepts any bind, answers submit_sm at once and sends its receipt with the answer, without a window. `pdus`
//! binds transceivers as account *test*, keeps the window of each full, answers every receipt, and prints messages a second
//! from the first submit_sm to the last receipt. The port is that of an SMSC or of an operator: so the same sender is
//! measured straight into the same operator. `library` does the same with a whole client of others (`library.rs`), as
//! applications have one. `cargo build --release -p smsc-tools --example foreign_load` builds it.
//!
//! `pdus` has one thread for each bind, with blocking sockets: a window of PDUs fits into the buffers of a socket, so neither end
//! waits for the other one while it writes.

mod library;

use std::error::Error;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::str::FromStr as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use rusmpp::decode::DecodeWithLength as _;
use rusmpp::encode::{Encode as _, Length as _};
use rusmpp::pdus::{
    BindTransceiver, BindTransceiverResp, DeliverSm, DeliverSmResp, SubmitSm, SubmitSmResp,
};
use rusmpp::types::{COctetString, OctetString};
use rusmpp::values::{EsmClass, RegisteredDelivery};
use rusmpp::{Command, CommandId, CommandStatus, Pdu};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

const LENGTH_FIELD: usize = 4;
const READ_AT_ONCE: usize = 64 * 1024;
/// How long a sender waits before it looks whether the others have got the last receipts.
const LOOK_AFTER: Duration = Duration::from_millis(20);
/// How long nothing may come before a sender gives up.
const PATIENCE: Duration = Duration::from_secs(60);
const TEXT: &str = "A text of sixty octets, as the other benchmarks send it, too";
const USAGE: &str = "usage: foreign_load operator HOST:PORT
       foreign_load pdus|library HOST:PORT [messages] [binds] [window]";

fn main() -> Outcome<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["operator", address] => operator(address),
        ["pdus", address, ref numbers @ ..] => send(address, numbers, threads),
        ["library", address, ref numbers @ ..] => send(address, numbers, library::send),
        _ => {
            eprintln!("{USAGE}");
            Ok(())
        }
    }
}

/// What all binds have got together: the receipts of an account go to any of its binds.
#[derive(Default)]
struct Totals {
    answers: AtomicU64,
    accepted: AtomicU64,
    receipts: AtomicU64,
}

/// A connection that reads and writes commands of rusmpp, many in one call of the system.
struct Connection {
    stream: TcpStream,
    octets: BytesMut,
    out: Vec<u8>,
}

impl Connection {
    fn new(stream: TcpStream) -> Outcome<Self> {
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            octets: BytesMut::new(),
            out: Vec::new(),
        })
    }

    /// What one read brings, complete commands only; none when the peer has closed the connection, and an empty list
    /// when nothing has come within the timeout of the socket.
    fn read(&mut self) -> Outcome<Option<Vec<Command>>> {
        let mut commands = Vec::new();
        while commands.is_empty() {
            let filled = self.octets.len();
            self.octets.resize(filled + READ_AT_ONCE, 0);
            let read = self.stream.read(&mut self.octets[filled..]);
            self.octets.truncate(filled + *read.as_ref().unwrap_or(&0));
            match read {
                Ok(0) => return Ok(None),
                Ok(_) => {}
                Err(error)
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) =>
                {
                    return Ok(Some(commands));
                }
                Err(error) => return Err(error.into()),
            }
            while let Some(command) = self.next()? {
                commands.push(command);
            }
        }
        Ok(Some(commands))
    }

    fn next(&mut self) -> Outcome<Option<Command>> {
        let Some(length) = self.octets.first_chunk::<LENGTH_FIELD>() else {
            return Ok(None);
        };
        let length = u32::from_be_bytes(*length) as usize;
        if self.octets.len() < length {
            return Ok(None);
        }
        let mut frame = self.octets.split_to(length).split_off(LENGTH_FIELD);
        let length = frame.len();
        let (command, _) =
            Command::decode(&mut frame, length).map_err(|error| format!("{error:?}"))?;
        Ok(Some(command))
    }

    fn put(&mut self, sequence_number: u32, pdu: impl Into<Pdu>) {
        let command = Command::new(CommandStatus::EsmeRok, sequence_number, pdu);
        let length = command.length();
        self.out
            .extend_from_slice(&((length + LENGTH_FIELD) as u32).to_be_bytes());
        let at = self.out.len();
        self.out.resize(at + length, 0);
        command.encode(&mut self.out[at..]);
    }

    fn flush(&mut self) -> Outcome<()> {
        self.stream.write_all(&self.out)?;
        self.out.clear();
        Ok(())
    }
}

fn operator(address: &str) -> Outcome<()> {
    let listener = TcpListener::bind(address)?;
    let ids = Arc::new(AtomicU64::new(1));
    for stream in listener.incoming() {
        let (stream, ids) = (stream?, Arc::clone(&ids));
        thread::spawn(move || {
            if let Err(error) = serve(stream, &ids) {
                eprintln!("a session ended: {error}");
            }
        });
    }
    Ok(())
}

fn serve(stream: TcpStream, ids: &AtomicU64) -> Outcome<()> {
    let mut connection = Connection::new(stream)?;
    let mut receipts = 0;
    while let Some(commands) = connection.read()? {
        for command in commands {
            let sequence_number = command.sequence_number();
            match command.pdu() {
                Some(Pdu::BindTransceiver(_)) => {
                    connection.put(sequence_number, BindTransceiverResp::default());
                }
                Some(Pdu::EnquireLink) => connection.put(sequence_number, Pdu::EnquireLinkResp),
                Some(Pdu::Unbind) => connection.put(sequence_number, Pdu::UnbindResp),
                Some(Pdu::SubmitSm(submitted)) => {
                    let id = format!("{:016x}", ids.fetch_add(1, Ordering::Relaxed));
                    let answer = SubmitSmResp::builder().message_id(COctetString::from_str(&id)?);
                    connection.put(sequence_number, answer.build());
                    if submitted.registered_delivery != RegisteredDelivery::default() {
                        receipts = receipts % 0x7fff_ffff + 1;
                        connection.put(receipts, receipt(&id, submitted)?);
                    }
                }
                _ => {}
            }
        }
        connection.flush()?;
    }
    Ok(())
}

fn receipt(id: &str, of: &SubmitSm) -> Outcome<DeliverSm> {
    let text = format!(
        "id:{id} sub:001 dlvrd:001 submit date:2601010000 done date:2601010000 stat:DELIVRD err:000 text:"
    );
    let receipt = DeliverSm::builder()
        .source_addr(of.destination_addr.clone())
        .destination_addr(of.source_addr.clone())
        .esm_class(EsmClass::from(0x04))
        .short_message(OctetString::from_str(&text)?);
    Ok(receipt.build())
}

/// Sends the shares of all binds; returns when the last answer and the last receipt came.
type Sender = fn(&str, Vec<Load>, &Arc<Totals>) -> Outcome<(Duration, Duration)>;

/// Sends with one of the two senders, and prints what has come of it.
fn send(address: &str, numbers: &[&str], sender: Sender) -> Outcome<()> {
    let number = |at: usize, otherwise: u64| match numbers.get(at) {
        Some(word) => word
            .parse()
            .map_err(|_| format!("{word} is no number\n{USAGE}")),
        None => Ok(otherwise),
    };
    let (messages, binds, window) = (number(0, 100_000)?, number(1, 4)?, number(2, 250)?);
    let share = messages / binds;
    let load = |bind| Load {
        messages: share,
        window,
        first: bind * share,
        everything: share * binds,
    };
    let totals = Arc::new(Totals::default());
    let (last_answer, last_receipt) = sender(address, (0..binds).map(load).collect(), &totals)?;
    let accepted = totals.accepted.load(Ordering::Acquire);
    println!(
        "{{\"messages\": {}, \"accepted\": {accepted}, \"accepted_per_second\": {:.0}, \"end_to_end_per_second\": {:.0}}}",
        share * binds,
        accepted as f64 / last_answer.as_secs_f64(),
        accepted as f64 / last_receipt.as_secs_f64(),
    );
    Ok(())
}

/// A thread for each bind.
fn threads(address: &str, loads: Vec<Load>, totals: &Arc<Totals>) -> Outcome<(Duration, Duration)> {
    let bound = loads.into_iter().map(|load| Ok((bind(address)?, load)));
    let bound: Vec<(Connection, Load)> = bound.collect::<Outcome<_>>()?;
    let started = Instant::now();
    let senders = bound.into_iter().map(|(connection, load)| {
        connection.stream.set_read_timeout(Some(LOOK_AFTER))?;
        let totals = Arc::clone(totals);
        Ok(thread::spawn(move || {
            push(connection, &load, &totals, started)
        }))
    });
    let senders: Vec<_> = senders.collect::<Outcome<_>>()?;
    let (mut last_answer, mut last_receipt) = (Duration::ZERO, Duration::ZERO);
    for sender in senders {
        let (answered, received) = sender.join().expect("a sender does not panic")?;
        last_answer = last_answer.max(answered);
        last_receipt = last_receipt.max(received);
    }
    Ok((last_answer, last_receipt))
}

fn bind(address: &str) -> Outcome<Connection> {
    let stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut connection = Connection::new(stream)?;
    let bind = BindTransceiver::builder()
        .system_id(COctetString::from_str("test")?)
        .password(COctetString::from_str("test")?);
    connection.put(1, bind.build());
    connection.flush()?;
    let answer = connection
        .read()?
        .and_then(|commands| commands.into_iter().next());
    match answer {
        Some(command) if command.status() == CommandStatus::EsmeRok => Ok(connection),
        other => Err(format!("not bound: {other:?}").into()),
    }
}

/// The share of one bind.
#[derive(Clone, Copy)]
struct Load {
    messages: u64,
    window: u64,
    /// The number of its first message.
    first: u64,
    /// Messages of all binds.
    everything: u64,
}

/// Keeps the window full until all are sent, and reads until the binds together have a receipt for each accepted message.
/// Returns when the last answer and the last receipt came.
fn push(
    mut connection: Connection,
    load: &Load,
    totals: &Totals,
    started: Instant,
) -> Outcome<(Duration, Duration)> {
    let (mut sent, mut answers) = (0, 0);
    let (mut last_answer, mut last_receipt) = (Duration::ZERO, Duration::ZERO);
    let mut heard = Instant::now();
    while !totals.is_complete(load.everything) {
        while sent < load.messages && sent - answers < load.window {
            sent += 1;
            connection.put(sent as u32 + 1, message(load.first + sent)?);
        }
        connection.flush()?;
        let Some(commands) = connection.read()? else {
            return Err("the peer has closed the connection".into());
        };
        if !commands.is_empty() {
            heard = Instant::now();
        } else if heard.elapsed() > PATIENCE {
            return Err(format!("nothing has come for {PATIENCE:?}").into());
        }
        let (before, mut accepted, mut receipts) = (answers, 0, 0);
        for command in commands {
            match command.id() {
                CommandId::DeliverSm => {
                    receipts += 1;
                    connection.put(command.sequence_number(), DeliverSmResp::default());
                }
                CommandId::EnquireLink => {
                    connection.put(command.sequence_number(), Pdu::EnquireLinkResp);
                }
                CommandId::SubmitSmResp => {
                    answers += 1;
                    accepted += u64::from(command.status() == CommandStatus::EsmeRok);
                }
                other => return Err(format!("unexpected: {other:?}").into()),
            }
        }
        if answers > before {
            last_answer = started.elapsed();
        }
        if receipts > 0 {
            last_receipt = started.elapsed();
        }
        totals.add(answers - before, accepted, receipts);
    }
    connection.flush()?;
    Ok((last_answer, last_receipt))
}

// === impl Totals ===

impl Totals {
    fn add(&self, answers: u64, accepted: u64, receipts: u64) {
        self.receipts.fetch_add(receipts, Ordering::AcqRel);
        self.accepted.fetch_add(accepted, Ordering::AcqRel);
        // Last: who sees all answers sees what was accepted, too.
        self.answers.fetch_add(answers, Ordering::AcqRel);
    }

    /// Whether each message has its answer, and each accepted one its receipt.
    fn is_complete(&self, everything: u64) -> bool {
        self.answers.load(Ordering::Acquire) == everything
            && self.receipts.load(Ordering::Acquire) >= self.accepted.load(Ordering::Acquire)
    }
}

fn message(number: u64) -> Outcome<SubmitSm> {
    let message = SubmitSm::builder()
        .source_addr(COctetString::from_str("12345")?)
        .destination_addr(COctetString::from_str(&format!("4477{number:08}"))?)
        .registered_delivery(RegisteredDelivery::request_all())
        .short_message(OctetString::from_str(TEXT)?);
    Ok(message.build())
}
