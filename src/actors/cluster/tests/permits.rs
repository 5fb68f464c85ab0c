//! The bind permits of a simulated database, which may answer late or fail.

use std::sync::Mutex;

use super::ME;
use crate::actors::runtime::locks::lock;
use crate::store::cluster::{Membership, Permit};
use crate::store::{Reply, StoreError};

#[derive(Default)]
pub(in crate::actors) struct Permits(Mutex<State>);

type Answer = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct State {
    taken: Vec<Permit>,
    /// How often a permit was asked for.
    asked: usize,
    /// Taken at once, but the answer waits until it is let go.
    is_late: bool,
    late: Vec<Answer>,
    /// Requests fail from now on.
    takes_fail: bool,
    rejoined: u64,
}

// === impl Permits ===

impl Permits {
    pub fn membership(&self) -> Option<Membership> {
        Some(Membership {
            epoch: ME.epoch + lock(&self.0).rejoined,
            ..ME
        })
    }

    pub fn take(&self, account: u32, most: u32) -> Reply<Option<Permit>> {
        let epoch = ME.epoch + lock(&self.0).rejoined;
        let mut state = lock(&self.0);
        state.asked += 1;
        if state.takes_fail {
            return Reply::ready(Err(StoreError::Failed("down".to_owned())));
        }
        let is_free = |number: &u32| {
            let mut taken = state.taken.iter();
            !taken.any(|permit| (permit.account, permit.number) == (account, *number))
        };
        let permit = (0..most).find(is_free).map(|number| Permit {
            account,
            number,
            epoch,
        });
        state.taken.extend(permit);
        let (answer, reply) = Reply::pair();
        let send = move || drop(answer.send(Ok(permit)));
        if state.is_late {
            state.late.push(Box::new(send));
        } else {
            send();
        }
        reply
    }

    pub fn give(&self, permit: Permit) -> Reply<()> {
        let mut state = lock(&self.0);
        state.taken.retain(|taken| *taken != permit);
        Reply::ready(Ok(()))
    }

    pub fn keep_back(&self) {
        lock(&self.0).is_late = true;
    }

    /// Sends the answers that wait, and delays no more.
    pub fn let_go(&self) {
        let mut state = lock(&self.0);
        state.is_late = false;
        state.late.drain(..).for_each(|send| send());
    }

    pub fn fail(&self, takes: bool) {
        lock(&self.0).takes_fail = takes;
    }

    /// Another membership begins: what the one before had taken is free.
    pub fn rejoin(&self) {
        let mut state = lock(&self.0);
        state.rejoined += 1;
        state.taken.clear();
    }

    pub fn taken(&self) -> usize {
        lock(&self.0).taken.len()
    }

    pub fn asked(&self) -> usize {
        lock(&self.0).asked
    }
}
