//! Delays for refused binds, and a limit on what is logged about them.
//!
//! Used by the sessions of ESMEs and by the listeners. Invariant: unknown peers can make neither the
//! memory nor the log grow: per [`PERIOD`], a limited number of lines is logged, and then one line with
//! the number of suppressed ones.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;
use std::net::IpAddr;
use std::sync::Mutex;
use std::time::Duration;

use tokio::time::Instant;

use crate::actors::runtime::locks::lock;
use crate::actors::runtime::supervise::every;
use crate::config::{BindRefusals, Smpp};
use crate::domain::penalty::{Origin, Penalties};
use crate::smpp::CommandStatus;

/// How often suppressed lines are summed up.
const PERIOD: Duration = Duration::from_secs(10);
/// Lines that are logged in one period.
const LINES: u32 = 20;
/// Addresses that a sum counts separately.
const ADDRESSES: usize = 1_024;

/// Why a bind failed authentication.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BindRefusal {
    /// The account does not exist or is disabled.
    Unknown,
    /// The account may not bind from this address.
    Address,
    Password,
    /// The account may not bind with this client certificate, or without one.
    Certificate,
}

/// Refused binds of all listeners of this node.
pub struct BindGuard {
    began: Instant,
    names: RandomState,
    penalties: Mutex<Penalties>,
    lines: Mutex<LoggedLines>,
}

/// Lines logged in this period.
struct LoggedLines {
    since: Instant,
    written: u32,
    left_out: u64,
    by_address: HashMap<IpAddr, u64>,
}

// === impl BindRefusal ===

impl BindRefusal {
    /// The label of the metric.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Address => "address",
            Self::Password => "password",
            Self::Certificate => "certificate",
        }
    }

    /// The text for the log.
    pub fn text(self) -> &'static str {
        match self {
            Self::Unknown => "unknown or disabled system_id",
            Self::Address => "address not allowed",
            Self::Password => "wrong password",
            Self::Certificate => "the client certificate is not one of the account's",
        }
    }

    /// The status sent to the peer.
    pub fn status(self, how: BindRefusals) -> CommandStatus {
        match (how, self) {
            (BindRefusals::Uniform, _) | (_, Self::Password) => CommandStatus::ESME_RINVPASWD,
            (BindRefusals::Exact, Self::Unknown) => CommandStatus::ESME_RINVSYSID,
            (BindRefusals::Exact, Self::Address | Self::Certificate) => {
                CommandStatus::ESME_RBINDFAIL
            }
        }
    }
}

// === impl BindGuard ===

impl Default for BindGuard {
    fn default() -> Self {
        Self {
            began: Instant::now(),
            names: RandomState::new(),
            penalties: Mutex::default(),
            lines: Mutex::new(LoggedLines::from(Instant::now())),
        }
    }
}

impl BindGuard {
    /// Counts the refusal of a bind; returns how long to delay the response.
    pub fn refuse(&self, smpp: &Smpp, peer: IpAddr, system_id: &[u8]) -> Duration {
        // A delay beyond the session init timeout would end the session without a response.
        let longest = smpp.bind_refusal_delay.min(smpp.session_init_timeout / 2);
        let account = self.names.hash_one(system_id);
        let now = self.began.elapsed();
        lock(&self.penalties).refuse(Origin::from(peer), account, now, longest)
    }

    /// There was no room to check the password; returns how long to delay the response.
    pub fn no_room(&self, smpp: &Smpp, peer: IpAddr) -> Duration {
        let longest = smpp.bind_refusal_delay.min(smpp.session_init_timeout / 2);
        let now = self.began.elapsed();
        lock(&self.penalties).no_room(Origin::from(peer), now, longest)
    }

    /// Whether somebody at this address was refused lately.
    pub fn has_failed(&self, peer: IpAddr) -> bool {
        lock(&self.penalties).has_failed(Origin::from(peer), self.began.elapsed())
    }

    /// The account has bound from this address.
    pub fn forgive(&self, peer: IpAddr, system_id: &[u8]) {
        let account = self.names.hash_one(system_id);
        lock(&self.penalties).forgive(Origin::from(peer), account);
    }

    /// Whether another line about this address may be logged; otherwise it is counted.
    pub fn may_log(&self, about: IpAddr) -> bool {
        let now = Instant::now();
        let mut lines = lock(&self.lines);
        lines.turn(now);
        if lines.written < LINES {
            lines.written += 1;
            return true;
        }
        lines.left_out += 1;
        if lines.by_address.len() < ADDRESSES || lines.by_address.contains_key(&about) {
            *lines.by_address.entry(about).or_default() += 1;
        }
        false
    }

    /// Logs a sum of the suppressed lines at the end of each period, without an end.
    pub async fn sum_up_periodically(&self) {
        every(PERIOD, async || self.sum_up()).await;
    }

    fn sum_up(&self) {
        lock(&self.lines).turn(Instant::now());
    }
}

// === impl LoggedLines ===

impl From<Instant> for LoggedLines {
    fn from(since: Instant) -> Self {
        Self {
            since,
            written: 0,
            left_out: 0,
            by_address: HashMap::new(),
        }
    }
}

impl LoggedLines {
    /// Begins a new period when this one is over.
    fn turn(&mut self, now: Instant) {
        if now.duration_since(self.since) < PERIOD {
            return;
        }
        let over = std::mem::replace(self, Self::from(now));
        let worst = over.by_address.iter().max_by_key(|(_, count)| **count);
        if let Some((worst, of_worst)) = worst {
            tracing::warn!(
                more = over.left_out,
                addresses = over.by_address.len(),
                %worst,
                of_worst,
                "more binds and connections were refused than are told one by one"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn so_many_lines_in_a_period() {
        let door = BindGuard::default();
        let here = IpAddr::from([192, 0, 2, 1]);
        let written = |door: &BindGuard| (0..1_000).filter(|_| door.may_log(here)).count();
        assert_eq!(written(&door), LINES as usize);
        assert_eq!(lock(&door.lines).left_out, 1_000 - u64::from(LINES));
        tokio::time::advance(PERIOD / 2).await;
        assert_eq!(written(&door), 0);
        tokio::time::advance(PERIOD / 2).await;
        door.sum_up();
        assert_eq!(lock(&door.lines).left_out, 0);
        assert_eq!(written(&door), LINES as usize);
        for number in 0..10_000_u32 {
            door.may_log(IpAddr::from(number.to_be_bytes()));
        }
        assert!(lock(&door.lines).by_address.len() <= ADDRESSES);
    }

    #[tokio::test(start_paused = true)]
    async fn a_refusal_comes_while_there_is_time_to_bind() {
        let door = BindGuard::default();
        let smpp = Smpp {
            session_init_timeout: Duration::from_secs(2),
            ..Smpp::default()
        };
        let here = IpAddr::from([192, 0, 2, 1]);
        let delays: Vec<Duration> = (0..30).map(|_| door.refuse(&smpp, here, b"a")).collect();
        assert_eq!(delays[0], Duration::ZERO);
        assert_eq!(delays.last(), Some(&Duration::from_secs(1)));
        door.forgive(here, b"a");
        let elsewhere = IpAddr::from([192, 0, 2, 2]);
        assert_eq!(door.refuse(&smpp, elsewhere, b"a"), Duration::ZERO);
    }

    #[test]
    fn who_asks_learns_nothing_unless_it_is_configured() {
        let all = [
            BindRefusal::Unknown,
            BindRefusal::Address,
            BindRefusal::Password,
        ];
        let told = |how| all.map(|why| why.status(how));
        let same = CommandStatus::ESME_RINVPASWD;
        assert_eq!(told(BindRefusals::Uniform), [same; 3]);
        assert_eq!(
            told(BindRefusals::Exact),
            [
                CommandStatus::ESME_RINVSYSID,
                CommandStatus::ESME_RBINDFAIL,
                same
            ]
        );
    }
}
