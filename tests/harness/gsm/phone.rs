//! A phone in the hand of a test.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use smsc::sms::rp::Rp;
use smsc::sms::tpdu::{self, Deliver, Direction, Tpdu, TpduAddress, TpduKind};

use super::bsc::{Purpose, State, lock};
use crate::harness::until;

/// What a phone answers to messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Answer {
    /// RP-ACK.
    #[default]
    Take,
    /// RP-ERROR with this cause: 22 is "memory capacity exceeded".
    Refuse(u8),
    /// It does not even hear its paging.
    Silence,
}

/// A phone of a [`super::Bsc`].
pub struct Phone {
    state: Arc<Mutex<State>>,
    imsi: String,
}

// === impl Phone ===

impl Phone {
    pub(super) fn new(state: Arc<Mutex<State>>, imsi: &str) -> Self {
        let imsi = imsi.to_owned();
        Self { state, imsi }
    }

    /// Its IMSI.
    pub fn imsi(&self) -> &str {
        &self.imsi
    }

    /// Location update; the MSC has accepted it when this returns.
    pub fn attach(&self) {
        self.does("attach", Purpose::Attach).unwrap();
    }

    /// IMSI detach, as at power off.
    pub fn detach(&self) {
        self.does("detach", Purpose::Detach).unwrap();
        lock(&self.state).phone(&self.imsi).is_attached = false;
    }

    /// Sets what it answers from now on.
    pub fn answers(&self, answer: Answer) {
        lock(&self.state).phone(&self.imsi).answer = answer;
    }

    /// Sends a TPDU to a service centre; the cause if it was refused.
    pub fn send(&self, service_centre: &str, tpdu: &Tpdu) -> Result<(), u8> {
        let message = Rp::Data {
            direction: Direction::FromPhone,
            reference: 1,
            service_centre: TpduAddress::international(service_centre),
            tpdu: tpdu.encode().unwrap().into(),
        };
        self.does("send a message", Purpose::Send(message))
    }

    /// RP-SMMA: there is memory again.
    pub fn memory_available(&self) -> Result<(), u8> {
        let message = Rp::MemoryAvailable { reference: 2 };
        self.does("say that it has memory", Purpose::Send(message))
    }

    /// The TPDUs that it took so far, in order.
    pub fn taken(&self) -> Vec<Bytes> {
        lock(&self.state).phone(&self.imsi).taken.clone()
    }

    /// The messages that it took so far, in order.
    pub fn messages(&self) -> Vec<Deliver> {
        let delivers = self.taken().into_iter().filter_map(|octets| {
            match tpdu::decode(TpduKind::guess(Direction::ToPhone, &octets)?, &octets) {
                Ok(Tpdu::Deliver(deliver)) => Some(deliver),
                _ => None,
            }
        });
        delivers.collect()
    }

    /// Their texts.
    pub fn texts(&self) -> Vec<String> {
        let text = |deliver: &Deliver| deliver.user_data.text(deliver.data_coding);
        self.messages().iter().filter_map(text).collect()
    }

    /// Waits until it has taken so many TPDUs, and returns all.
    pub fn wait_for(&self, count: usize) -> Vec<Bytes> {
        until(&format!("{count} messages at {}", self.imsi), || {
            let taken = self.taken();
            (taken.len() >= count).then_some(taken)
        })
    }

    /// How many messages it refused.
    pub fn refused(&self) -> usize {
        lock(&self.state).phone(&self.imsi).refused
    }

    /// How often it was paged.
    pub fn paged(&self) -> usize {
        lock(&self.state).phone(&self.imsi).paged
    }

    fn does(&self, what: &str, purpose: Purpose) -> Result<(), u8> {
        lock(&self.state).begin(&self.imsi, purpose);
        until(&format!("{} to {what}", self.imsi), || {
            lock(&self.state).phone(&self.imsi).outcome.take()
        })
    }
}
