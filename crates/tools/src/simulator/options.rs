//! How a simulated operator behaves, and its command-line options.
//!
//! Every kind of misbehaviour is a separate option, so that they combine; a [`Profile`] is a named
//! set of options. Built by `smsc simulate`, by `smsc serve` without configuration and by tests.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use super::message_id::MessageIdNotations;
use smsc_smpp::CommandStatus;

/// Everything that can be set about a simulated operator; [`Default`] is a healthy one.
#[derive(Debug, Clone)]
pub struct SimulatorOptions {
    /// Address and port to listen on; port 0 takes a free one.
    pub listen: String,
    /// The only system_id that may bind; any when absent.
    pub system_id: Option<String>,
    /// The password that a bind must show; any when absent.
    pub password: Option<String>,
    /// What happens to a connection before any bind.
    pub door: TcpBehaviour,
    /// Time between a submit and its answer.
    pub latency: Delay,
    /// Share of submits answered with ESME_RTHROTTLED, in percent.
    pub throttle_percent: f64,
    /// Submits a second over all binds above which the answer is ESME_RTHROTTLED.
    pub rate: Option<f64>,
    /// Share of submits answered with `reject_status`, in percent.
    pub reject_percent: f64,
    /// The answer to a rejected submit.
    pub reject_status: CommandStatus,
    /// Share of submits that are read and never answered, in percent.
    pub silent_percent: f64,
    /// Which receipts are sent for messages that ask for one.
    pub receipts: ReceiptBehaviour,
    /// With [`ReceiptBehaviour::Mixed`]: share of messages that fail, in percent.
    pub fail_percent: f64,
    /// Time between the answer and the receipt.
    pub receipt_delay: Delay,
    /// Every receipt is sent twice.
    pub duplicate_receipts: bool,
    /// The receipt goes out at once and its submit_sm_resp follows after `latency`, at least 50 ms.
    pub early_receipts: bool,
    /// How message ids are written in answers and in receipts.
    pub message_id_form: MessageIdNotations,
    /// Whether receipts carry receipted_message_id and message_state as TLVs beside their text.
    pub receipt_tlvs: bool,
    /// Each connection is dropped when it has brought this many submits; the answers to the last
    /// read are lost.
    pub cut_after: Option<u64>,
    /// Mobile-originated messages to send.
    pub mo: Option<MoOptions>,
    /// Receipts and MO messages under way on one bind before it waits for answers.
    pub window: usize,
    /// Whether bind_transceiver is served; otherwise the answer is ESME_RINVCMDID.
    pub transceiver: bool,
    /// Where to write a line per accepted message.
    pub journal: Option<PathBuf>,
}

/// Mobile-originated messages: how many, from whom, to whom.
#[derive(Debug, Clone)]
pub struct MoOptions {
    /// Messages a second over all receiver binds; nothing is sent while none is bound.
    pub per_second: f64,
    /// The number that sends them.
    pub from: String,
    /// The number they are sent to: an address of one of the SMSC's accounts.
    pub to: String,
}

/// What happens at the TCP level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TcpBehaviour {
    /// Connections are served.
    Open,
    /// Connections are accepted and closed at once.
    Closing,
    /// Not listening: connections are refused.
    Shut,
}

/// Which receipts an operator sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum ReceiptBehaviour {
    /// None, whatever the message asks for.
    None,
    /// Every message is delivered.
    Delivered,
    /// Some fail: UNDELIV, EXPIRED, REJECTD, DELETED and UNKNOWN in turn.
    Mixed,
}

/// A named set of knobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Profile {
    /// Answers at once, accepts everything.
    Healthy,
    /// Answers after a second.
    Slow,
    /// Throttles every fifth message, unless a rate is given.
    Throttling,
    /// Rejects every fifth message.
    Rejecting,
    /// Accepts connections and closes them at once.
    Dead,
    /// Does not listen at all.
    Refusing,
    /// Binds, reads, answers enquire_link, and never answers a message.
    Silent,
}

/// A fixed time, or one drawn evenly from a range for each message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Delay {
    min: Duration,
    max: Duration,
}

/// What becomes of messages, in the shares that the options say.
#[derive(Debug, Default)]
pub(crate) struct Moods {
    silent: PercentPicker,
    throttle: PercentPicker,
    reject: PercentPicker,
    fail: PercentPicker,
    failures: usize,
}

/// Picks exactly `percent` of what passes, evenly spread and the same in every run.
#[derive(Debug, Default)]
struct PercentPicker {
    percent: f64,
    owed: f64,
}

// === impl SimulatorOptions ===

impl Default for SimulatorOptions {
    fn default() -> Self {
        Self {
            listen: "127.0.0.1:2776".to_owned(),
            system_id: None,
            password: None,
            door: TcpBehaviour::Open,
            latency: Delay::default(),
            throttle_percent: 0.0,
            rate: None,
            reject_percent: 0.0,
            reject_status: CommandStatus::ESME_RSUBMITFAIL,
            silent_percent: 0.0,
            receipts: ReceiptBehaviour::Delivered,
            fail_percent: 10.0,
            receipt_delay: Delay::default(),
            duplicate_receipts: false,
            early_receipts: false,
            message_id_form: MessageIdNotations::default(),
            receipt_tlvs: true,
            cut_after: None,
            mo: None,
            window: 1000,
            transceiver: true,
            journal: None,
        }
    }
}

impl SimulatorOptions {
    /// Sets the knobs of a profile; what is set afterwards refines it.
    pub fn profile(mut self, profile: Profile) -> Self {
        match profile {
            Profile::Healthy => {}
            Profile::Slow => self.latency = Delay::fixed(Duration::from_secs(1)),
            Profile::Throttling if self.rate.is_some() => {}
            Profile::Throttling => self.throttle_percent = 20.0,
            Profile::Rejecting => self.reject_percent = 20.0,
            Profile::Dead => self.door = TcpBehaviour::Closing,
            Profile::Refusing => self.door = TcpBehaviour::Shut,
            Profile::Silent => self.silent_percent = 100.0,
        }
        self
    }
}

// === impl MoOptions ===

impl MoOptions {
    /// How many whole messages became due in this time; `owed` keeps what is left of one.
    pub(crate) fn due(&self, owed: &mut f64, passed: Duration) -> u64 {
        *owed += self.per_second * passed.as_secs_f64();
        let whole = owed.floor();
        *owed -= whole;
        whole as u64
    }
}

// === impl Delay ===

impl Delay {
    /// Always the same.
    pub const fn fixed(delay: Duration) -> Self {
        Self {
            min: delay,
            max: delay,
        }
    }

    /// Whether it never waits.
    pub fn is_zero(&self) -> bool {
        self.max.is_zero()
    }

    /// The delay of one message.
    pub(crate) fn draw(&self) -> Duration {
        if self.min == self.max {
            return self.min;
        }
        let nanos = rand::random_range(self.min.as_nanos() as u64..=self.max.as_nanos() as u64);
        Duration::from_nanos(nanos)
    }
}

impl FromStr for Delay {
    type Err = String;

    /// `250ms`, `5s`, or a range `1s..5s`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (min, max) = text.split_once("..").unwrap_or((text, text));
        let (min, max) = (parse_duration(min)?, parse_duration(max)?);
        if min > max {
            return Err(
                "the range runs backwards; write the shorter time first, 1s..5s".to_owned(),
            );
        }
        Ok(Self { min, max })
    }
}

/// Reads `250ms`, `30s`, `5m`, `1h30m`; a bare number counts seconds.
///
/// # Errors
/// A sentence that shows how to write it.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let hint = || format!("`{text}` is not a length of time; write it like 250ms, 30s or 5m");
    let text = text.trim();
    let seconds = text.parse::<f64>().ok();
    if let Some(seconds) = seconds {
        return Duration::try_from_secs_f64(seconds).map_err(|_| hint());
    }
    let signed: jiff::SignedDuration = text.parse().map_err(|_| hint())?;
    Duration::try_from(signed).map_err(|_| hint())
}

// === impl Moods ===

impl Moods {
    pub(crate) fn new(options: &SimulatorOptions) -> Self {
        Self {
            silent: PercentPicker::new(options.silent_percent),
            throttle: PercentPicker::new(options.throttle_percent),
            reject: PercentPicker::new(options.reject_percent),
            fail: PercentPicker::new(options.fail_percent),
            failures: 0,
        }
    }

    /// Whether all messages are accepted and delivered.
    pub(crate) fn are_even(options: &SimulatorOptions) -> bool {
        let shares = [
            options.silent_percent,
            options.throttle_percent,
            options.reject_percent,
        ];
        options.receipts == ReceiptBehaviour::Delivered && shares.iter().all(|share| *share <= 0.0)
    }

    /// The answer to the next message; `None` for silence.
    pub(crate) fn answer(
        &mut self,
        options: &SimulatorOptions,
        is_over_limit: impl FnOnce() -> bool,
    ) -> Option<CommandStatus> {
        if self.silent.picks() {
            return None;
        }
        Some(if self.throttle.picks() || is_over_limit() {
            CommandStatus::ESME_RTHROTTLED
        } else if self.reject.picks() {
            options.reject_status
        } else {
            CommandStatus::ESME_ROK
        })
    }

    /// What the receipt of the next message says, one of `failures` in turn for those that fail; `None` without one.
    pub(crate) fn receipt<T: Copy>(
        &mut self,
        options: &SimulatorOptions,
        delivered: T,
        failures: [T; 5],
    ) -> Option<T> {
        match options.receipts {
            ReceiptBehaviour::None => None,
            ReceiptBehaviour::Mixed if self.fail.picks() => {
                self.failures += 1;
                Some(failures[(self.failures - 1) % failures.len()])
            }
            ReceiptBehaviour::Delivered | ReceiptBehaviour::Mixed => Some(delivered),
        }
    }
}

// === impl PercentPicker ===

impl PercentPicker {
    fn new(percent: f64) -> Self {
        Self {
            percent: percent.clamp(0.0, 100.0),
            owed: 0.0,
        }
    }

    /// Whether the next one belongs to the share.
    fn picks(&mut self) -> bool {
        if self.percent == 0.0 {
            return false;
        }
        self.owed += self.percent;
        let picked = self.owed >= 100.0;
        if picked {
            self.owed -= 100.0;
        }
        picked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_are_read_and_drawn_within_their_range() {
        assert_eq!(
            "250ms".parse(),
            Ok(Delay::fixed(Duration::from_millis(250)))
        );
        assert_eq!("2".parse(), Ok(Delay::fixed(Duration::from_secs(2))));
        let range: Delay = "1s..1500ms".parse().unwrap();
        for _ in 0..100 {
            let drawn = range.draw().as_millis();
            assert!((1000..=1500).contains(&drawn), "{drawn}");
        }
        assert!("5s..1s".parse::<Delay>().unwrap_err().contains("backwards"));
        assert!("soon".parse::<Delay>().unwrap_err().contains("250ms"));
        assert!("-3".parse::<Delay>().is_err());
    }

    #[test]
    fn a_share_is_exact_and_even() {
        let mut share = PercentPicker::new(20.0);
        let picked: Vec<bool> = (0..1000).map(|_| share.picks()).collect();
        assert_eq!(picked.iter().filter(|p| **p).count(), 200);
        assert!(
            picked
                .chunks(5)
                .all(|five| five.iter().filter(|p| **p).count() == 1)
        );
        assert!(!PercentPicker::new(0.0).picks());
        assert!(PercentPicker::new(100.0).picks());
    }

    #[test]
    fn a_profile_is_a_set_of_knobs() {
        let options = SimulatorOptions::default();
        assert_eq!(
            options.clone().profile(Profile::Silent).silent_percent,
            100.0
        );
        assert_eq!(
            options.clone().profile(Profile::Dead).door,
            TcpBehaviour::Closing
        );
        let limited = SimulatorOptions {
            rate: Some(50.0),
            ..options
        };
        assert_eq!(limited.profile(Profile::Throttling).throttle_percent, 0.0);
    }
}
