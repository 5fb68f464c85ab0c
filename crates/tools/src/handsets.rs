//! The handsets of a simulated network: what each is told to do, what it has got, and what it sends by itself.
//!
//! Shared by the cores that speak GSUP and MAP, which say what an order means in their protocol. Invariants: what a handset
//! has taken is in [`SimulatedHandsets::delivered`] and in the journal; a handset has one message under way, and if another comes
//! meanwhile, that is counted, because a real network could not tell their answers apart.

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;

use crate::simulator::journal::Journal;
use crate::simulator::options::Moods;
use crate::simulator::{MoOptions, SimulatorOptions};
use smsc_host::clock;
use smsc_sms::tpdu::{self, SmsSubmit, Tpdu, TpduAddress, TpduKind, UserData};

/// How a simulated core behaves, whatever it speaks; [`Default`] answers at once.
#[derive(Debug, Clone, Default)]
pub struct GsmCoreOptions {
    /// As an operator does, as far as a core can: an MT-forwardSM is the message.
    pub like: SimulatorOptions,
    /// RP-cause of a rejection.
    pub reject_cause: u8,
    /// Whether to keep what arrives, for tests.
    pub keep: bool,
}

/// A message that has come for a handset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrived {
    pub imsi: String,
    /// The sender and the text of the SMS-DELIVER; empty for what is none.
    pub from: String,
    pub text: String,
    /// SM-RP-UI.
    pub tpdu: Bytes,
    /// Whether others follow it.
    pub more: bool,
    /// Whether the handset has taken it.
    pub taken: bool,
}

/// What a handset does with the next message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HandsetOrder<M> {
    /// What a test has told it.
    Told(M),
    /// What the shares of the options say.
    Takes,
    Refuses,
    IsSilent,
}

/// All handsets; `M` is what one can be told. A core is asked by its phones, which lead here.
#[derive(Debug)]
pub struct SimulatedHandsets<M> {
    options: GsmCoreOptions,
    journal: Option<Journal>,
    inner: Mutex<HandsetsState<M>>,
}

#[derive(Debug, Default)]
struct HandsetsState<M> {
    moods: Moods,
    told: HashMap<String, M>,
    /// SimulatedHandsets with a message under way.
    busy: HashMap<String, u32>,
    overlaps: usize,
    arrived: Vec<Arrived>,
    taken: u64,
    refused: u64,
    /// The answers to messages of handsets: IMSI, cause (0 for those that were accepted), and SM-RP-UI.
    answers: Vec<(String, u8, Bytes)>,
    /// Messages of handsets that are due, in part.
    owed: f64,
    submitted: u64,
}

// === impl SimulatedHandsets ===

impl<M: Copy + Default> SimulatedHandsets<M> {
    pub(crate) fn new(options: GsmCoreOptions, journal: Option<Journal>) -> Self {
        let state = HandsetsState {
            moods: Moods::new(&options.like),
            ..HandsetsState::default()
        };
        Self {
            options,
            journal,
            inner: Mutex::new(state),
        }
    }

    fn inner(&self) -> MutexGuard<'_, HandsetsState<M>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How the network was told to be.
    pub(crate) fn options(&self) -> &GsmCoreOptions {
        &self.options
    }

    pub(crate) fn journal(&self) -> Option<&Journal> {
        self.journal.as_ref()
    }

    /// From now on a handset does so.
    pub(crate) fn tell(&self, imsi: &str, what: M) {
        self.inner().told.insert(imsi.to_owned(), what);
    }

    /// What a handset was told.
    pub(crate) fn told(&self, imsi: &str) -> Option<M> {
        self.inner().told.get(imsi).copied()
    }

    /// What a handset does with the next message.
    pub(crate) fn order(&self, imsi: &str) -> HandsetOrder<M> {
        let mut inner = self.inner();
        if let Some(told) = inner.told.get(imsi) {
            return HandsetOrder::Told(*told);
        }
        match inner.moods.answer(&self.options.like, || false) {
            None => HandsetOrder::IsSilent,
            Some(status) if status.is_ok() => HandsetOrder::Takes,
            Some(_) => HandsetOrder::Refuses,
        }
    }

    /// A message has come for a handset, which is busy from now on.
    pub(crate) fn arrived(&self, imsi: &str, tpdu: Bytes, more: bool, taken: bool) {
        let mut inner = self.inner();
        let busy = inner.busy.entry(imsi.to_owned()).or_default();
        *busy += 1;
        if *busy > 1 {
            inner.overlaps += 1;
        }
        if taken {
            inner.taken += 1;
        } else {
            inner.refused += 1;
        }
        self.note(&mut inner, imsi, tpdu, more, taken);
    }

    fn note(&self, inner: &mut HandsetsState<M>, imsi: &str, tpdu: Bytes, more: bool, taken: bool) {
        if !self.options.keep && self.journal.is_none() {
            return;
        }
        let (from, text) = match tpdu::decode(TpduKind::Deliver, &tpdu) {
            Ok(Tpdu::Deliver(deliver)) => (
                deliver.originating_address.text.clone(),
                deliver
                    .user_data
                    .text(deliver.data_coding)
                    .unwrap_or_default(),
            ),
            _ => Default::default(),
        };
        if let (Some(journal), true) = (&self.journal, taken) {
            let line = format!(
                "{}\t{imsi}\t{}\t{}\t\n",
                inner.taken,
                text.escape_default(),
                clock::now_ms()
            );
            journal.append(&mut line.into_bytes());
        }
        if self.options.keep {
            inner.arrived.push(Arrived {
                imsi: imsi.to_owned(),
                from,
                text,
                tpdu,
                more,
                taken,
            });
        }
    }

    /// What was under way for a handset is answered, or never will be.
    pub(crate) fn is_free(&self, imsi: &str) {
        self.inner().busy.remove(imsi);
    }

    /// Everything that came, in order.
    pub fn arrived_so_far(&self) -> Vec<Arrived> {
        self.inner().arrived.clone()
    }

    /// What a handset has taken, in order.
    pub fn delivered(&self, imsi: &str) -> Vec<Arrived> {
        let inner = self.inner();
        let of_handset = inner.arrived.iter();
        of_handset
            .filter(|one| one.taken && one.imsi == imsi)
            .cloned()
            .collect()
    }

    /// How many messages handsets have taken, and how many were refused or not answered.
    pub fn counts(&self) -> (u64, u64) {
        let inner = self.inner();
        (inner.taken, inner.refused)
    }

    /// How often a message came for a handset that had one under way.
    pub fn overlaps(&self) -> usize {
        self.inner().overlaps
    }

    /// The SMSC has answered a message of a handset; cause 0 is success.
    pub(crate) fn answered(&self, imsi: &str, cause: u8, tpdu: Bytes) {
        if self.options.keep {
            let answer = (imsi.to_owned(), cause, tpdu);
            self.inner().answers.push(answer);
        }
    }

    /// The answers to messages of handsets: the IMSI, and the cause or 0.
    pub fn answers(&self) -> Vec<(String, u8)> {
        let inner = self.inner();
        let answers = inner.answers.iter();
        answers
            .map(|(imsi, cause, _)| (imsi.clone(), *cause))
            .collect()
    }

    /// Their TPDUs; an answer without one has an empty one.
    pub fn reports(&self) -> Vec<Bytes> {
        let inner = self.inner();
        let answers = inner.answers.iter();
        answers.map(|(_, _, tpdu)| tpdu.clone()).collect()
    }

    /// The numbers of those messages that handsets are to send after this time; none without `--mo`.
    pub(crate) fn due(&self, passed: Duration) -> RangeInclusive<u64> {
        let mut inner = self.inner();
        let first = inner.submitted + 1;
        if let Some(mo) = &self.options.like.mo {
            inner.submitted += mo.due(&mut inner.owed, passed);
        }
        first..=inner.submitted
    }
}

/// A message of a handset by its number: the handset's IMSI, and an SMS-SUBMIT that says the number.
pub(crate) fn made(mo: &MoOptions, number: u64) -> Option<(String, Bytes)> {
    let submit = SmsSubmit {
        message_reference: number.to_le_bytes()[0],
        destination_address: TpduAddress::international(mo.to.clone()),
        user_data: UserData {
            // Letters and digits are their own septets.
            body: Bytes::from(format!("message {number}")),
            ..UserData::default()
        },
        ..SmsSubmit::default()
    };
    let tpdu = Tpdu::Submit(submit).encode().ok()?;
    let imsi = format!("00101{:010}", number % 10_000_000_000);
    Some((imsi, tpdu.into()))
}
