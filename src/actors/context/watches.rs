//! What people watch for a while: the steps of one number, account or operator, or the PDUs of one bind.
//!
//! Actors report what happens (`traced/watched.rs`, `session/bound.rs`); who watches reads it from a channel
//! (`control/admin/watching.rs`). While nobody watches, a report is one comparison. Invariants: nothing is kept
//! for a watch but what its channel holds, a full channel drops and counts, and no watch holds a password.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use arc_swap::ArcSwap;
use bytes::Bytes;
use tokio::sync::mpsc;

use crate::actors::runtime::locks::lock;
use crate::clock;
use crate::pb;
use crate::pb::watch::Whom;
use crate::pb::{Message, PduDialect, WatchedPdu, WatchedStep};
use crate::smpp::{CommandId, HEADER_LEN};

/// Most watches on one node.
const MOST: usize = 16;
/// Most watches of one token, so that it leaves places for others.
const MOST_OF_ONE: usize = 4;
/// Whoever reads a watch ends it; one that is over for so long has nobody any more who reads. Milliseconds.
const LEFT_MS: i64 = 5_000;
/// Steps that wait to be read; read twice a second.
const ROOM: usize = 256;
/// The commands of a login and of its response, in CMPP, SMGP and SGIP.
const LOGINS_OF_CARRIERS: [u32; 2] = [0x0000_0001, 0x8000_0001];
/// CheckUser of SGIP, which has the password of a user.
const CHECK_USER: u32 = 0x0000_0010;
/// A longer PDU is shown by its header.
const LONGEST_PDU: usize = 4096;

/// All watches of this node.
#[derive(Default)]
pub struct Watches {
    any: AtomicBool,
    all: ArcSwap<Vec<Arc<MessageWatch>>>,
    changing: Mutex<()>,
}

struct MessageWatch {
    id: u64,
    /// The name of its token; empty for a watch of another node.
    token: String,
    /// `None` on a node that only shows what another one sees.
    whom: Option<Whom>,
    /// Unix milliseconds.
    until: AtomicI64,
    steps: mpsc::Sender<WatchedStep>,
    missed: AtomicU64,
}

/// There are as many watches as there may be.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum TooMany {
    #[error("{MOST} traces run on this node already; end one, or wait until one ends by itself")]
    OfAll,
    #[error(
        "this token has {MOST_OF_ONE} traces on this node already; end one, or wait until one ends by itself"
    )]
    OfOne,
}

// === impl Watches ===

impl Watches {
    /// Begins a watch of a token's name; its steps come out of the channel. With `elsewhere` nothing of this node is
    /// watched; `token` is empty for one of another node.
    ///
    /// # Errors
    /// There are [`MOST`] of them, or [`MOST_OF_ONE`] of this token.
    pub fn begin(
        &self,
        order: &pb::Watch,
        token: &str,
        elsewhere: bool,
    ) -> Result<mpsc::Receiver<WatchedStep>, TooMany> {
        let (sender, receiver) = mpsc::channel(ROOM);
        let watch = MessageWatch {
            id: order.id,
            token: token.to_owned(),
            whom: order.whom.clone().filter(|_| !elsewhere),
            until: AtomicI64::new(order.until),
            steps: sender,
            missed: AtomicU64::new(0),
        };
        let _alone = lock(&self.changing);
        let mut all = self.all.load().as_ref().clone();
        // A client that keeps its connection and reads nothing would hold its place for ever.
        let left = clock::now_ms() - LEFT_MS;
        all.retain(|watch| watch.until.load(Ordering::Relaxed) > left);
        if all.len() >= MOST {
            return Err(TooMany::OfAll);
        }
        let of_token = all.iter().filter(|watch| watch.token == token);
        if !token.is_empty() && of_token.count() >= MOST_OF_ONE {
            return Err(TooMany::OfOne);
        }
        all.push(Arc::new(watch));
        self.set(all);
        Ok(receiver)
    }

    /// Sets when a watch ends, Unix milliseconds; false if there is none of this id.
    pub fn prolong(&self, id: u64, until: i64) -> bool {
        match self.of(id) {
            Some(watch) => {
                watch.until.store(until, Ordering::Relaxed);
                true
            }
            None => false,
        }
    }

    /// When a watch ends, Unix milliseconds; 0 if there is none of this id.
    pub fn until(&self, id: u64) -> i64 {
        self.of(id)
            .map_or(0, |watch| watch.until.load(Ordering::Relaxed))
    }

    /// Ends a watch.
    pub fn end(&self, id: u64) {
        let _alone = lock(&self.changing);
        let mut all = self.all.load().as_ref().clone();
        all.retain(|watch| watch.id != id);
        self.set(all);
    }

    fn set(&self, all: Vec<Arc<MessageWatch>>) {
        self.any.store(!all.is_empty(), Ordering::Relaxed);
        self.all.store(Arc::new(all));
    }

    fn of(&self, id: u64) -> Option<Arc<MessageWatch>> {
        self.all.load().iter().find(|watch| watch.id == id).cloned()
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.all.load().len()
    }

    /// How many steps were dropped since the last call.
    pub fn take_missed(&self, id: u64) -> u64 {
        self.of(id)
            .map_or(0, |watch| watch.missed.swap(0, Ordering::Relaxed))
    }

    /// Whether nobody watches anything.
    pub fn is_idle(&self) -> bool {
        !self.any.load(Ordering::Relaxed)
    }

    /// Whether somebody watches this message in this queue.
    pub fn wants(&self, message: &Message, queue: u32) -> bool {
        !self.is_idle()
            && self
                .all
                .load()
                .iter()
                .any(|watch| watch.is_about(message, queue))
    }

    /// Reports a step of a message to those who watch it.
    pub fn see(&self, message: &Message, queue: u32, step: impl Fn() -> WatchedStep) {
        if self.is_idle() {
            return;
        }
        for watch in self.all.load().iter() {
            if watch.is_about(message, queue) {
                watch.push(&step);
            }
        }
    }

    /// Reports the PDUs in `octets` to those who watch this session.
    pub fn see_pdus(
        &self,
        session: u64,
        node: u8,
        dialect: PduDialect,
        out: bool,
        mut octets: &[u8],
    ) {
        if self.is_idle() {
            return;
        }
        let all = self.all.load();
        let watches = || {
            let wanted = |watch: &&Arc<MessageWatch>| watch.whom == Some(Whom::Session(session));
            all.iter().filter(wanted)
        };
        if watches().next().is_none() {
            return;
        }
        while let Some((length, command)) = length_and_command(dialect, octets) {
            let length = length.clamp(1, octets.len());
            let (pdu, rest) = octets.split_at(length);
            octets = rest;
            for watch in watches() {
                watch.push(&|| WatchedStep {
                    at_us: clock::now_us(),
                    node: node.into(),
                    step: "pdu".to_owned(),
                    pdu: Some(WatchedPdu {
                        out,
                        octets: shown(dialect, command, pdu),
                        dialect: dialect.into(),
                    }),
                    ..WatchedStep::default()
                });
            }
        }
    }

    /// Takes what another node has seen.
    pub fn bring(&self, watched: pb::Watched) {
        let Some(watch) = self.of(watched.watch) else {
            return;
        };
        watch.missed.fetch_add(watched.missed, Ordering::Relaxed);
        for step in watched.steps {
            watch.push(&|| step.clone());
        }
    }
}

// === impl MessageWatch ===

impl MessageWatch {
    fn is_about(&self, message: &Message, queue: u32) -> bool {
        match &self.whom {
            Some(Whom::Number(number)) => {
                let original = message.original.as_deref();
                let is = |address: Option<&pb::Address>| {
                    address.is_some_and(|one| one.digits == *number)
                };
                message.destination == *number
                    || message.source == *number
                    || original
                        .is_some_and(|one| is(one.source.as_ref()) || is(one.destination.as_ref()))
            }
            Some(Whom::Peer(peer)) => {
                *peer == queue || *peer == message.sender || *peer == message.queue
            }
            Some(Whom::Session(_)) | None => false,
        }
    }

    /// A full channel drops before anything is made.
    fn push(&self, step: &impl Fn() -> WatchedStep) {
        match self.steps.try_reserve() {
            Ok(place) => place.send(step()),
            Err(_) => {
                self.missed.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

/// Octets of the header of every PDU; of a local program's frame those that say what it is.
fn header_len(dialect: PduDialect) -> usize {
    match dialect {
        PduDialect::Smpp | PduDialect::Local => HEADER_LEN,
        PduDialect::Cmpp20 | PduDialect::Cmpp30 | PduDialect::Smgp => 12,
        PduDialect::Sgip => 20,
    }
}

/// What each of these protocols begins its PDUs with; frames of local programs have no command.
fn length_and_command(dialect: PduDialect, octets: &[u8]) -> Option<(usize, u32)> {
    if dialect == PduDialect::Local {
        let length = prost::decode_length_delimiter(octets).ok()?;
        return Some((length + prost::length_delimiter_len(length), 0));
    }
    let (length, rest) = octets.split_first_chunk()?;
    let command = rest.first_chunk()?;
    let length = u32::from_be_bytes(*length) as usize;
    Some((length, u32::from_be_bytes(*command)))
}

/// What of a PDU may be shown: never a password nor what is computed of one, and nothing very long.
fn shown(dialect: PduDialect, command: u32, pdu: &[u8]) -> Bytes {
    let has_password = match dialect {
        PduDialect::Smpp => [
            CommandId::BIND_TRANSMITTER,
            CommandId::BIND_RECEIVER,
            CommandId::BIND_TRANSCEIVER,
            CommandId::OUTBIND,
        ]
        .contains(&CommandId(command)),
        PduDialect::Sgip if command == CHECK_USER => true,
        PduDialect::Local => false,
        _ => LOGINS_OF_CARRIERS.contains(&command),
    };
    let most = if has_password || pdu.len() > LONGEST_PDU {
        header_len(dialect)
    } else {
        pdu.len()
    };
    Bytes::copy_from_slice(pdu.get(..most).unwrap_or(pdu))
}

#[cfg(test)]
mod tests {
    use bytes::BytesMut;

    use super::*;
    use crate::smpp::Header;

    fn order(id: u64, whom: Whom) -> pb::Watch {
        pb::Watch {
            id,
            whom: Some(whom),
            until: i64::MAX,
            ..pb::Watch::default()
        }
    }

    fn message(to: &'static [u8], sender: u32) -> Message {
        Message {
            destination: Bytes::from_static(to),
            sender,
            queue: 9,
            ..Message::default()
        }
    }

    fn pdu(command: CommandId, body: &[u8]) -> Vec<u8> {
        let mut out = BytesMut::new();
        Header {
            length: (HEADER_LEN + body.len()) as u32,
            command_id: command,
            ..Header::default()
        }
        .encode(&mut out);
        out.extend_from_slice(body);
        out.to_vec()
    }

    #[test]
    fn a_watch_sees_its_own_and_nothing_else() {
        let watches = Watches::default();
        assert!(watches.is_idle() && !watches.wants(&message(b"41", 3), 9));
        let number = Whom::Number(Bytes::from_static(b"41"));
        let mut steps = watches.begin(&order(1, number), "", false).unwrap();
        let mut peers = watches.begin(&order(2, Whom::Peer(3)), "", false).unwrap();
        let mut far = watches.begin(&order(3, Whom::Peer(3)), "", true).unwrap();
        let step = WatchedStep::default;
        watches.see(&message(b"41", 7), 9, step);
        assert!(steps.try_recv().is_ok() && peers.try_recv().is_err());
        for (one, queue) in [(message(b"42", 3), 9), (message(b"42", 7), 3)] {
            assert!(watches.wants(&one, queue));
            watches.see(&one, queue, step);
            assert!(peers.try_recv().is_ok() && steps.try_recv().is_err());
        }
        assert!(far.try_recv().is_err(), "another node watches");
        watches.bring(pb::Watched {
            watch: 3,
            steps: vec![step()],
            missed: 2,
        });
        assert!(far.try_recv().is_ok() && watches.take_missed(3) == 2);
        (1..=3).for_each(|id| watches.end(id));
        assert!(watches.is_idle());
    }

    #[test]
    fn what_nobody_reads_is_counted_and_not_kept() {
        let watches = Watches::default();
        let mut steps = watches.begin(&order(1, Whom::Peer(3)), "", false).unwrap();
        for _ in 0..ROOM + 5 {
            watches.see(&message(b"1", 3), 3, WatchedStep::default);
        }
        assert_eq!((watches.take_missed(1), watches.take_missed(1)), (5, 0));
        assert_eq!(std::iter::from_fn(|| steps.try_recv().ok()).count(), ROOM);
        for id in 2..=MOST as u64 {
            assert!(watches.begin(&order(id, Whom::Peer(3)), "", false).is_ok());
        }
        let more = watches.begin(&order(99, Whom::Peer(3)), "", false);
        assert_eq!(more.err(), Some(TooMany::OfAll));
    }

    #[test]
    fn one_token_leaves_places_and_what_is_over_gives_its_place_back() {
        let watches = Watches::default();
        let begin = |id: u64, by: &str, until: i64| {
            let order = pb::Watch {
                until,
                ..order(id, Whom::Peer(3))
            };
            watches.begin(&order, by, false).map(drop)
        };
        for id in 0..MOST_OF_ONE as u64 {
            assert_eq!(begin(id, "one", i64::MAX), Ok(()));
        }
        assert_eq!(begin(50, "one", i64::MAX), Err(TooMany::OfOne));
        assert_eq!(begin(51, "other", 1), Ok(()));
        assert_eq!(watches.count(), MOST_OF_ONE + 1);
        assert_eq!(begin(52, "other", i64::MAX), Ok(()));
        assert_eq!(watches.count(), MOST_OF_ONE + 1, "51 was over");
    }

    #[test]
    fn passwords_are_never_shown() {
        let watches = Watches::default();
        let mut steps = watches
            .begin(&order(1, Whom::Session(5)), "", false)
            .unwrap();
        let octets = [
            pdu(CommandId::BIND_TRANSCEIVER, b"test\0secret\0"),
            pdu(CommandId::SUBMIT_SM, b"a body"),
        ]
        .concat();
        watches.see_pdus(5, 0, PduDialect::Smpp, false, &octets);
        watches.see_pdus(6, 0, PduDialect::Smpp, false, &octets);
        let seen = |step: WatchedStep| step.pdu.unwrap().octets;
        assert_eq!(seen(steps.try_recv().unwrap()).len(), HEADER_LEN);
        assert!(seen(steps.try_recv().unwrap()).ends_with(b"a body"));
        assert!(steps.try_recv().is_err(), "another session");
        let long = vec![7; LONGEST_PDU];
        watches.see_pdus(
            5,
            0,
            PduDialect::Smpp,
            true,
            &pdu(CommandId::SUBMIT_SM, &long),
        );
        assert_eq!(seen(steps.try_recv().unwrap()).len(), HEADER_LEN);
    }

    #[test]
    fn frames_of_programs_are_divided_and_long_ones_are_cut() {
        use crate::pb::local::{Done, FromSmsc, Short, ToPeer, from_smsc, put_frame};

        let watches = Watches::default();
        let order = order(1, Whom::Session(5));
        let mut steps = watches.begin(&order, "", false).unwrap();
        let long = Short {
            octets: vec![7; LONGEST_PDU].into(),
            ..Short::default()
        };
        let mut octets = BytesMut::new();
        for what in [
            from_smsc::What::Done(Done {}),
            from_smsc::What::ToPeer(ToPeer {
                message: Some(long),
                receipt: false,
            }),
            from_smsc::What::Done(Done {}),
        ] {
            put_frame(&FromSmsc::new(1, what), &mut octets);
        }
        watches.see_pdus(5, 0, PduDialect::Local, true, &octets);
        let mut seen = || steps.try_recv().unwrap().pdu.unwrap().octets.len();
        let short = seen();
        assert_eq!((seen(), seen()), (HEADER_LEN, short));
        assert!(short < HEADER_LEN && steps.try_recv().is_err());
    }

    #[test]
    fn pdus_of_carriers_are_divided_and_their_logins_are_not_shown() {
        for (dialect, header) in [
            (PduDialect::Cmpp20, 12),
            (PduDialect::Smgp, 12),
            (PduDialect::Sgip, 20),
        ] {
            let watches = Watches::default();
            let order = order(1, Whom::Session(5));
            let mut steps = watches.begin(&order, "", false).unwrap();
            let pdu = |command: u32| {
                let body = vec![7; header - 8 + 3];
                let length = (header + 3) as u32;
                [&length.to_be_bytes()[..], &command.to_be_bytes(), &body].concat()
            };
            let octets = [pdu(1), pdu(0x8000_0001), pdu(4)].concat();
            watches.see_pdus(5, 0, dialect, true, &octets);
            let mut seen = || steps.try_recv().unwrap().pdu.unwrap();
            for length in [header, header, header + 3] {
                let pdu = seen();
                assert_eq!((pdu.octets.len(), pdu.dialect()), (length, dialect));
            }
        }
    }
}
