//! Options of a load run: target, volume, rate, and outputs.
//!
//! Built by `smsc load` and by tests, read by every part of the generator.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use bytes::BytesMut;

/// Most digits of an address in SMPP 3.4 (§5.2.9).
const ADDRESS_MAX: usize = 20;

/// One run; [`Default`] is the shape of the benchmark without its length.
#[derive(Debug, Clone)]
pub struct LoadOptions {
    /// Address and port of the SMSC, or of several of its nodes with commas between.
    pub to: String,
    /// Who binds; with several accounts, what their names begin with.
    pub system_id: String,
    /// How many accounts share the binds, with their numbers from 1 behind the name; `None` for the one
    /// account of that name.
    pub accounts: Option<usize>,
    /// The password shown.
    pub password: String,
    /// How many binds; with [`LoadBindType::Pair`], of each kind.
    pub binds: usize,
    /// Which kind of binds.
    pub bind_type: LoadBindType,
    /// Unanswered submits on one bind.
    pub window: usize,
    /// Stop after this many messages.
    pub count: Option<u64>,
    /// Stop submitting after this time.
    pub duration: Option<Duration>,
    /// Messages a second over all binds; as fast as the windows allow when absent.
    pub rate: Option<f64>,
    /// Octets of each text.
    pub length: usize,
    /// Ask for a receipt and wait for it.
    pub receipts: bool,
    /// Whom the messages go to.
    pub destinations: Destinations,
    /// The sender of the messages.
    pub source: String,
    /// Add the user_message_reference TLV.
    pub user_message_reference: bool,
    /// Send again what was unanswered when a connection broke.
    pub resubmit: bool,
    /// How long to wait for missing answers and receipts after the last sign of life.
    pub settle: Duration,
    /// Where to write a line per answer and receipt.
    pub journal: Option<PathBuf>,
    /// Runtimes, each on a thread of its own, that share the binds.
    pub threads: usize,
    /// Draw a progress bar on standard error when it is a terminal.
    pub progress: bool,
}

/// The kind of binds a run uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum LoadBindType {
    /// One connection for both directions.
    Transceiver,
    /// A transmitter and a receiver for each.
    #[value(name = "transmitter+receiver")]
    Pair,
}

/// Numbers that follow each other from a first one: message n goes to `first + n mod count`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Destinations {
    first: u64,
    /// Digits of the first number, which keeps its leading zeros.
    digits: usize,
    count: u64,
}

// === impl LoadOptions ===

impl LoadOptions {
    /// Where the bind of this number, from 0, connects: the addresses take turns.
    pub fn to_of(&self, bind: usize) -> String {
        let addresses: Vec<&str> = self.to.split(',').map(str::trim).collect();
        addresses[bind % addresses.len()].to_owned()
    }

    /// Whom the bind of this number, from 0, binds as.
    pub fn system_id_of(&self, bind: usize) -> String {
        match self.accounts {
            Some(accounts) => format!("{}{}", self.system_id, bind % accounts + 1),
            None => self.system_id.clone(),
        }
    }
}

impl Default for LoadOptions {
    fn default() -> Self {
        Self {
            to: "127.0.0.1:2775".to_owned(),
            system_id: "test".to_owned(),
            accounts: None,
            password: "test".to_owned(),
            binds: 4,
            bind_type: LoadBindType::Transceiver,
            window: 250,
            count: None,
            duration: None,
            rate: None,
            length: 60,
            receipts: true,
            destinations: Destinations::default(),
            source: "12345".to_owned(),
            user_message_reference: false,
            resubmit: true,
            settle: Duration::from_secs(30),
            journal: None,
            threads: 1,
            progress: false,
        }
    }
}

// === impl Destinations ===

impl Destinations {
    /// Appends the number that message `index` goes to.
    pub fn write(&self, out: &mut BytesMut, index: u64) {
        let (number, digits) = (self.first + index % self.count, self.digits);
        // Memory takes everything.
        let _ = write!(out, "{number:0digits$}");
    }
}

impl Default for Destinations {
    /// Ten thousand numbers that Ofcom reserves for drama, and those behind them.
    fn default() -> Self {
        Self {
            first: 447_700_900_000,
            digits: 12,
            count: 10_000,
        }
    }
}

impl FromStr for Destinations {
    type Err = String;

    /// `447700900000+1000`: a thousand numbers from the first; without `+`, one number.
    fn from_str(text: &str) -> Result<Self, String> {
        let hint = || format!("`{text}` is not FIRST+COUNT, like 447700900000+1000");
        let (first, count) = text.split_once('+').unwrap_or((text, "1"));
        let count: u64 = count.parse().map_err(|_| hint())?;
        let digits = first.len();
        let first: u64 = first.parse().map_err(|_| hint())?;
        let last = count
            .checked_sub(1)
            .and_then(|more| first.checked_add(more));
        if digits > ADDRESS_MAX || last.is_none() {
            return Err(hint());
        }
        Ok(Self {
            first,
            digits,
            count,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binds_take_the_addresses_in_turn() {
        let of = |to: &str| {
            let options = LoadOptions {
                to: to.to_owned(),
                ..LoadOptions::default()
            };
            [0, 1, 2].map(|bind| options.to_of(bind))
        };
        assert_eq!(of("a:1"), ["a:1", "a:1", "a:1"]);
        assert_eq!(of("a:1, b:2"), ["a:1", "b:2", "a:1"]);
    }

    fn numbers(text: &str, indexes: [u64; 3]) -> Vec<String> {
        let destinations: Destinations = text.parse().unwrap();
        let write = |index| {
            let mut out = BytesMut::new();
            destinations.write(&mut out, index);
            String::from_utf8(out.to_vec()).unwrap()
        };
        indexes.map(write).into()
    }

    #[test]
    fn destinations_follow_each_other_and_start_again() {
        assert_eq!(
            numbers("447700900998+3", [0, 2, 3]),
            ["447700900998", "447700901000", "447700900998"]
        );
        assert_eq!(numbers("0049+1", [0, 1, 2]), ["0049", "0049", "0049"]);
        assert_eq!(numbers("09+2", [0, 1, 2]), ["09", "10", "09"]);
        for wrong in ["44+0", "+5", "44+x", "hello", "123456789012345678901+1"] {
            assert!(wrong.parse::<Destinations>().is_err(), "{wrong}");
        }
    }
}
