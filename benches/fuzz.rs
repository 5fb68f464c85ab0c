//! Feeds the codecs of a radio network with octets that nobody meant: known messages, changed by dice.
//!
//! `cargo bench --profile dev --bench fuzz [-- --seconds N] [target]`: each target runs N seconds (10), with the checks
//! of a development build. What it finds is printed in hexadecimal, and it ends with 1; `smsc decode` and a test do the
//! rest. Not part of `scripts/test`: the property tests of each crate look at fewer octets, every time.
//!
//! | target | what must hold for any octets |
//! |---|---|
//! | `tpdu` | reading and examining say the same; what is written of it reads as the same, without an oddity |
//! | `rp` | the same |
//! | `gsup` | what is written of it reads as the same |
//! | `ipa` | frames are within the octets, and a session takes them |
//! | `cmpp`, `sgip`, `smgp` | what is written of it reads as the same, and a session takes it |
//! | `handset` | a TPDU becomes a message, and that SMS-DELIVERs without an oddity |
//! | `m3ua`, `sccp`, `tcap`, `map` | what is written of it reads as the same |
//! | `reassembly` | bounds hold whatever segments say, and those of others are whole again |
//! | `gateways`, `dialogues` | links and dialogues stay within their bounds, and nothing of them stays for ever |
//! | `session` | a message under way ends once, whatever the network says |

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use smsc::carrier::{self, Protocol};
use smsc::cmpp::Cmpp;
use smsc::content::handset::{self, Handsets};
use smsc::gsup::{self, GsupRole, GsupSession, GsupSessionConfig, ipa};
use smsc::sgip::Sgip;
use smsc::smgp::Smgp;
use smsc::sms::rp;
use smsc::sms::tpdu::{self, Direction, TpduKind};

#[path = "fuzz/signalling.rs"]
mod signalling;

/// Of a session whose time stands still.
const PATIENCE: Duration = Duration::from_secs(10);

/// A target, and what it says of octets that it does not like.
type Target = (&'static str, fn(&Bytes) -> Result<(), String>);

const TARGETS: &[Target] = &[
    ("tpdu", on_tpdu),
    ("rp", on_rp),
    ("gsup", on_gsup),
    ("ipa", on_ipa),
    ("handset", on_handset),
    ("cmpp", |octets| {
        on_carrier(octets, Cmpp::V30).and_then(|()| on_carrier(octets, Cmpp::V20))
    }),
    ("sgip", |octets| on_carrier(octets, SGIP)),
    ("smgp", |octets| on_carrier(octets, Smgp)),
];

const SGIP: Sgip = Sgip {
    version: smsc::sgip::Version::V12,
    node: 1,
    time: 1,
};

const KINDS: [TpduKind; 8] = [
    TpduKind::Deliver,
    TpduKind::Submit,
    TpduKind::StatusReport,
    TpduKind::Command,
    TpduKind::DeliverReport,
    TpduKind::DeliverReportError,
    TpduKind::SubmitReport,
    TpduKind::SubmitReportError,
];

/// TPDUs, RP messages and GSUP frames to begin with.
const SEEDS: &[&str] = &[
    "040B911346610089F60000208062917314080CC8F71D14969741F977FD07",
    "11000B916407281553F80000AA0AE8329BFD4697D9EC37",
    "410008919461001000001805000300020266B49AED86CBC162B219AD66BBE172",
    "41000891946100100008200500030002020437043804390430043104320433043404350436043704380439",
    "190008919461001000006211125003510005C8329BFD06",
    "440891946100100004621112500351000B0605040B8423F001020304",
    "040DD0C8F71D1496970100006211125003510005C8329BFD06",
    "062A089194610010621112500351006211125003510045",
    "0209000207058121 43F500",
    "0700000000621112500351000177",
    "01C3006211125003510000",
    // RP-DATA from a phone and towards it, RP-ACK, RP-ERROR, RP-SMMA.
    "00070005919461000012110005811245F30000AA05E8329BFD06",
    "0107059194610000001704058121 43F50000621112500351000 5E8329BFD06",
    "0307410200 00",
    "0407011B",
    "0601",
    // MO-forwardSM, READY-FOR-SM, and an IPA frame with a ping.
    "240108001000000000 F1 40 01 07 41 06 0391946100 00 42 02 0291 43 05 0100028121",
    "2C01080010000000 00F1 46 01 01",
    "0001FE00",
    // SGIP: Bind_Resp, Deliver, Report. CMPP: CMPP_CONNECT, CMPP_SUBMIT_RESP. SMGP: Submit_Resp.
    "0000001d80000001b36924b942c4f1d900000007000000000000000000",
    "000000510000000400018a8942c4f1de0000000138363133303030303030303031000000000000000031303635350000000000000000000000000000000000000f00000004c4e3bac30000000000000000",
    "000000400000000500018a8942c4f22400000009b36924b942c4f1d9000000070038363133303030303030303031000000000000000002190000000000000000",
    "000000270000000100000001 393030303031 90d00c1d517abd0b4f65f6bcf8535d16 20 3cdc73be",
    "00000015800000040000000100000000000000 0100",
    "0000001A800000020000000100112233445566778899 00000000",
];

fn main() -> ExitCode {
    // cargo adds --bench.
    let words: Vec<String> = std::env::args().skip(1).collect();
    let after = |name: &str| {
        let place = words.iter().position(|word| word == name)?;
        words.get(place + 1)?.parse::<u64>().ok()
    };
    let seconds = Duration::from_secs(after("--seconds").unwrap_or(10));
    let seed = after("--seed").unwrap_or(0x9E37_79B9_7F4A_7C15);
    let named = |name: &str| words.iter().any(|word| word == name);
    let radio = SEEDS.iter().map(|seed| octets(seed)).collect();
    let kinds: [(&[Target], Vec<Vec<u8>>); 2] =
        [(TARGETS, radio), (signalling::TARGETS, signalling::seeds())];
    let mut every = kinds.iter().flat_map(|(targets, _)| targets.iter());
    let all = !every.any(|(name, _)| named(name));
    let mut is_clean = true;
    for (targets, seeds) in &kinds {
        for (name, target) in targets.iter().filter(|(name, _)| all || named(name)) {
            is_clean &= run(name, *target, seeds, seconds, seed);
        }
    }
    if is_clean {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Runs a target for so long; false when it found something.
fn run(
    name: &str,
    target: fn(&Bytes) -> Result<(), String>,
    seeds: &[Vec<u8>],
    long: Duration,
    seed: u64,
) -> bool {
    let mut dice = Dice(seed | 1);
    let until = Instant::now() + long;
    let mut tried = 0_u64;
    while Instant::now() < until {
        // The clock is looked at once in a while.
        for _ in 0..256 {
            let octets = Bytes::from(dice.changed(seeds));
            let found = catch_unwind(AssertUnwindSafe(|| target(&octets)));
            let said = match found {
                Ok(Ok(())) => continue,
                Ok(Err(said)) => said,
                Err(_) => "it panicked".to_owned(),
            };
            println!("{name}: {}: {said}", hex(&octets));
            return false;
        }
        tried += 256;
    }
    println!("{name}: {tried} tried, nothing found");
    true
}

fn on_tpdu(octets: &Bytes) -> Result<(), String> {
    for direction in [Direction::ToPhone, Direction::FromPhone] {
        let _ = TpduKind::guess(direction, octets);
    }
    for kind in KINDS {
        let read = tpdu::decode(kind, octets);
        let examined = tpdu::examine(kind, octets);
        holds(examined.tpdu == read, || {
            format!("{kind:?} is examined otherwise")
        })?;
        let Ok(found) = read else { continue };
        let Ok(written) = found.encode() else {
            continue;
        };
        let again = tpdu::examine(found.kind(), &written.into());
        holds(again.notes.oddities.is_empty(), || {
            format!("{kind:?} is written oddly")
        })?;
        holds(again.tpdu.as_ref() == Ok(&found), || {
            format!("{kind:?} comes back as {again:?}")
        })?;
    }
    Ok(())
}

fn on_rp(octets: &Bytes) -> Result<(), String> {
    let read = rp::decode(octets);
    holds(rp::examine(octets).rp == read, || {
        "it is examined otherwise".to_owned()
    })?;
    let Ok(found) = read else { return Ok(()) };
    let Ok(written) = found.encode() else {
        return Ok(());
    };
    let again = rp::decode(&written.into());
    holds(again.as_ref() == Ok(&found), || {
        format!("it comes back as {again:?}")
    })
}

fn on_gsup(octets: &Bytes) -> Result<(), String> {
    let Ok(found) = gsup::GsupMessage::decode(octets) else {
        return Ok(());
    };
    let Ok(written) = found.encode() else {
        return Ok(());
    };
    let again = gsup::GsupMessage::decode(&written.into());
    holds(again.as_ref().ok() == Some(&found), || {
        format!("it comes back as {again:?}")
    })
}

fn on_ipa(octets: &Bytes) -> Result<(), String> {
    let mut buffer = BytesMut::from(&octets[..]);
    while let Ok(Some(_)) = ipa::next_frame(&mut buffer, ipa::FRAME_MAX) {
        holds(buffer.len() < octets.len(), || {
            "a frame took nothing".to_owned()
        })?;
    }
    let mut out = BytesMut::new();
    let now = Instant::now();
    let config = GsupSessionConfig {
        role: GsupRole::Client,
        name: Bytes::from_static(b"SMSC"),
        ping_every: PATIENCE,
        patience: PATIENCE,
        request_timeout: PATIENCE,
        late: PATIENCE,
        window: 10,
    };
    let mut session: GsupSession<()> = GsupSession::new(config, now, &mut out);
    session.receive(octets, now);
    while session.next_event(&mut out).is_some() {}
    Ok(())
}

fn on_carrier<P: Protocol + Copy>(octets: &Bytes, protocol: P) -> Result<(), String> {
    let now = Instant::now();
    let config = carrier::SessionConfig {
        window: 10,
        login: PATIENCE,
        response: PATIENCE,
        probe_every: PATIENCE,
        probe: PATIENCE,
        probes: 1,
        idle: PATIENCE,
        logout: PATIENCE,
    };
    let mut session: carrier::Session<P, ()> = carrier::Session::server(config, protocol, now);
    session.receive(octets, now);
    while session.next_event(now, &mut BytesMut::new()).is_some() {}
    let Ok(found) = protocol.decode(octets) else {
        return Ok(());
    };
    let mut written = BytesMut::new();
    if protocol.encode(&found, &mut written).is_err() {
        return Ok(());
    }
    let again = protocol.decode(&written.freeze());
    holds(again.as_ref() == Ok(&found), || {
        format!("it comes back as {again:?}")
    })
}

fn on_handset(octets: &Bytes) -> Result<(), String> {
    let to = Handsets::default();
    let _ = handset::order(octets);
    let submitted = handset::submitted(octets, "447700900123", 0).map(|(message, _)| message);
    let delivered = handset::delivered(octets, "447700900123").map(|(message, _)| message);
    for message in [submitted, delivered].into_iter().flatten() {
        let Ok(delivery) = handset::deliver(&message, &to, false) else {
            continue;
        };
        for tpdu in &delivery.tpdus {
            let oddities = tpdu::examine(TpduKind::Deliver, tpdu).notes.oddities;
            holds(oddities.is_empty(), || {
                format!("a phone gets {}: {oddities:?}", hex(tpdu))
            })?;
        }
    }
    Ok(())
}

fn holds(is_so: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    if is_so { Ok(()) } else { Err(otherwise()) }
}

fn octets(hex: &str) -> Vec<u8> {
    let digits: Vec<u32> = hex.chars().filter_map(|digit| digit.to_digit(16)).collect();
    digits
        .chunks(2)
        .map(|pair| {
            pair.iter()
                .fold(0, |octet, digit| octet << 4 | *digit as u8)
        })
        .collect()
}

fn hex(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02X}")).collect()
}

/// Xorshift: the same octets for the same seed.
struct Dice(u64);

// === impl Dice ===

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, most: usize) -> usize {
        (self.next() % most.max(1) as u64) as usize
    }

    /// An octet that lengths and flags are sensitive to, or any.
    fn octet(&mut self) -> u8 {
        const TELLING: [u8; 10] = [0, 1, 0x7F, 0x80, 0xFF, 0x8C, 0xA0, 0x40, 0x1B, 0x0F];
        match self.below(2) {
            0 => TELLING[self.below(TELLING.len())],
            _ => self.next() as u8,
        }
    }

    /// One of the seeds, changed in up to eight places.
    fn changed(&mut self, seeds: &[Vec<u8>]) -> Vec<u8> {
        let mut octets = seeds[self.below(seeds.len())].clone();
        for _ in 0..=self.below(8) {
            let at = self.below(octets.len() + 1);
            match self.below(7) {
                0 if at < octets.len() => octets[at] ^= 1 << self.below(8),
                1 | 2 if at < octets.len() => octets[at] = self.octet(),
                3 => octets.insert(at, self.octet()),
                4 if at < octets.len() => drop(octets.remove(at)),
                5 => octets.truncate(at),
                _ => {
                    let other = &seeds[self.below(seeds.len())];
                    let from = self.below(other.len());
                    octets.extend_from_slice(&other[from..]);
                }
            }
        }
        octets.truncate(300);
        octets
    }
}
