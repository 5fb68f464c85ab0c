//! Which requests that others send by MAP are let in. Pure: no clock, no sockets; instants are a parameter.
//!
//! Called by the MAP session for each request that arrives, before anything is done for it. GSMA FS.11 sorts operations
//! into three categories: what nobody outside of our own network has a reason to send (1), what only the home network of
//! a subscriber may send (2), and what comes from where a subscriber roams and has to fit that (3). GSMA IR.70 lists what
//! is done with short messages: spam and floods, faked senders of messages (a forward that no question went before, or
//! whose sender is another one), spoofed subscribers, scans of global titles, and open service centres.
//!
//! | rule | what it finds | applies to |
//! |---|---|---|
//! | [`FirewallRule::Title`] | a global title that is denied, or not allowed | all |
//! | [`FirewallRule::TitleRate`] | more requests of one global title than its rate | all |
//! | [`FirewallRule::Operation`] | an operation that has nothing to do with short messages (category 1) | others |
//! | [`FirewallRule::WithoutRouting`] | a forward that no question for its routing went before | mt-ForwardSM |
//! | [`FirewallRule::OtherNetwork`] | a forward of another network than that which has asked | mt-ForwardSM |
//! | [`FirewallRule::ServiceCentre`] | a service centre of another network than the global title | what service centres send |
//! | [`FirewallRule::Spoofed`] | a sender of ours in what comes from abroad (category 3) | forwards |
//! | [`FirewallRule::ForeignSender`] | a sender that is not ours: we are no open service centre | mo-ForwardSM |
//! | [`FirewallRule::SubscriberRate`] | more requests about one subscriber, or messages from it, than its rate | all that name one |
//!
//! Invariants: no more than [`REMEMBERED`] global titles, subscribers and senders are remembered, and whoever fills the table
//! makes others forgotten, never limited; a request that a rule has blocked takes nothing from the rates of rules behind
//! it; without a rule that applies a request passes.

mod settings;
mod titles;

use std::num::NonZeroUsize;
use std::time::Instant;

use lru::LruCache;
use smsc_domain::limit::Gcra;

pub use settings::{BlockAnswer, FirewallMode, FirewallSettings, RequestRate, RuleAction};
pub use titles::NOT_INTERNATIONAL;
use titles::TitleTable;

/// Most global titles, and most subscribers, whose requests are counted; the one not heard of for longest is forgotten.
pub const REMEMBERED: usize = 65_536;
/// Operations that have to do with short messages although this crate has no word for them: informServiceCentre and
/// readyForSM (3GPP TS 29.002 §17.6.5).
const OTHERS_FOR_MESSAGES: [u8; 2] = [63, 66];

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScreenedOperation {
    /// sendRoutingInfoForSM.
    RoutingInfo,
    /// mt-ForwardSM, and forwardSM to a handset.
    MtForward,
    /// mo-ForwardSM, and forwardSM from a handset.
    MoForward,
    /// reportSM-DeliveryStatus.
    DeliveryStatus,
    /// alertServiceCentre, in all its versions.
    AlertServiceCentre,
    /// Any other, by its local code.
    Other(u8),
}

/// Who has asked for the routing that a forward uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoutingAsked<'a> {
    /// It is no forward to a subscriber of ours, or nobody knows.
    NotApplicable,
    /// Nobody has looked yet: [`Firewall::judge_routing`] is asked when somebody has.
    Later,
    /// Nobody: its correlation id or IMSI was never given out.
    Nobody,
    /// This global title, in digits.
    By(&'a str),
}

/// A request, as the rules see it. What it does not have is empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScreenedRequest<'a> {
    /// What is asked for.
    pub operation: ScreenedOperation,
    /// Digits of the global title of the SCCP calling party, behind [`NOT_INTERNATIONAL`] where they are not international.
    pub calling_gt: &'a str,
    /// Digits of the address of the service centre in the operation.
    pub service_centre: &'a str,
    /// The subscriber that it is about: MSISDN or IMSI.
    pub subscriber: &'a str,
    /// The sender of a message: TP-OA, or the MSISDN of a handset.
    pub originator: &'a str,
    /// Of a forward to a subscriber, who has asked where that is.
    pub routing_asked_by: RoutingAsked<'a>,
}

/// A rule; see the table of this crate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FirewallRule {
    Title,
    TitleRate,
    Operation,
    WithoutRouting,
    OtherNetwork,
    ServiceCentre,
    Spoofed,
    ForeignSender,
    SubscriberRate,
}

/// What becomes of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FirewallVerdict {
    /// It is carried out.
    Pass,
    /// It is carried out, but counted, and said where the rule says so. What a dry firewall would block is this.
    Report { rule: FirewallRule },
    /// It is not carried out.
    Block {
        rule: FirewallRule,
        answer: BlockAnswer,
    },
}

/// The rules with what they remember.
#[derive(Debug)]
pub struct Firewall {
    settings: FirewallSettings,
    titles: TitleTable,
    title_rates: BucketsByName,
    subscriber_rates: BucketsByName,
    /// Of messages from subscribers: whoever floods one does not keep it from sending.
    sender_rates: BucketsByName,
    /// The first request: buckets count from here.
    started: Option<Instant>,
}

/// A bucket for each name that was heard of lately.
#[derive(Debug)]
struct BucketsByName {
    rate: Option<RequestRate>,
    by_name: LruCache<String, Gcra>,
}

// === impl FirewallRule ===

impl FirewallRule {
    /// All, in the order in which they are asked.
    pub const ALL: [Self; 9] = [
        Self::Title,
        Self::TitleRate,
        Self::Operation,
        Self::WithoutRouting,
        Self::OtherNetwork,
        Self::ServiceCentre,
        Self::Spoofed,
        Self::ForeignSender,
        Self::SubscriberRate,
    ];

    /// Its name in the configuration, in metrics and in what people read.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Title => "title",
            Self::TitleRate => "title_rate",
            Self::Operation => "operation",
            Self::WithoutRouting => "without_routing",
            Self::OtherNetwork => "other_network",
            Self::ServiceCentre => "service_centre",
            Self::Spoofed => "spoofed",
            Self::ForeignSender => "foreign_sender",
            Self::SubscriberRate => "subscriber_rate",
        }
    }
}

// === impl Firewall ===

impl Firewall {
    /// A firewall that has heard of nobody.
    #[must_use]
    pub fn new(settings: FirewallSettings) -> Self {
        Self {
            titles: TitleTable::new(&settings),
            title_rates: BucketsByName::new(settings.title_rate),
            subscriber_rates: BucketsByName::new(settings.subscriber_rate),
            sender_rates: BucketsByName::new(settings.subscriber_rate),
            started: None,
            settings,
        }
    }

    /// Takes other settings. What was counted of global titles and subscribers stays, unless their rate is another one.
    pub fn set(&mut self, settings: FirewallSettings) {
        self.titles = TitleTable::new(&settings);
        self.title_rates.set(settings.title_rate);
        self.subscriber_rates.set(settings.subscriber_rate);
        self.sender_rates.set(settings.subscriber_rate);
        self.settings = settings;
    }

    /// What it works by.
    #[must_use]
    pub fn settings(&self) -> &FirewallSettings {
        &self.settings
    }

    /// What becomes of a request: the first rule that blocks it decides, without one the first that reports it.
    pub fn judge(&mut self, request: &ScreenedRequest<'_>, now: Instant) -> FirewallVerdict {
        let elapsed = self.elapsed(now);
        self.judge_by(&FirewallRule::ALL, request, elapsed)
    }

    /// What becomes of a forward that has passed, when it is known who has asked for its routing, and so for whom it is: by the
    /// rules about that.
    pub fn judge_routing(
        &mut self,
        request: &ScreenedRequest<'_>,
        now: Instant,
    ) -> FirewallVerdict {
        let rules = [
            FirewallRule::WithoutRouting,
            FirewallRule::OtherNetwork,
            FirewallRule::SubscriberRate,
        ];
        let elapsed = self.elapsed(now);
        self.judge_by(&rules, request, elapsed)
    }

    /// Whether whatever this global title sends is dropped, also where it asks for nothing yet.
    #[must_use]
    pub fn drops_title(&self, title: &str) -> bool {
        let action = self.settings.action_of(FirewallRule::Title);
        self.settings.mode == FirewallMode::On
            && action == RuleAction::Block(BlockAnswer::Drop)
            && !self.titles.is_allowed(title)
    }

    /// Nanoseconds since the first request.
    fn elapsed(&mut self, now: Instant) -> u64 {
        let started = *self.started.get_or_insert(now);
        let elapsed = now.saturating_duration_since(started).as_nanos();
        u64::try_from(elapsed).unwrap_or(u64::MAX)
    }

    fn judge_by(
        &mut self,
        rules: &[FirewallRule],
        request: &ScreenedRequest<'_>,
        elapsed: u64,
    ) -> FirewallVerdict {
        if self.settings.mode == FirewallMode::Off {
            return FirewallVerdict::Pass;
        }
        let mut reported = None;
        for &rule in rules {
            let action = self.settings.action_of(rule);
            if action == RuleAction::Off || !self.applies(rule, request, elapsed) {
                continue;
            }
            if let RuleAction::Block(answer) = action {
                return match self.settings.mode {
                    FirewallMode::On => FirewallVerdict::Block { rule, answer },
                    FirewallMode::Dry | FirewallMode::Off => FirewallVerdict::Report { rule },
                };
            }
            reported = reported.or(Some(rule));
        }
        reported.map_or(FirewallVerdict::Pass, |rule| FirewallVerdict::Report {
            rule,
        })
    }

    /// Whether a rule finds what it looks for. A rate is used up by it.
    fn applies(&mut self, rule: FirewallRule, request: &ScreenedRequest<'_>, elapsed: u64) -> bool {
        use ScreenedOperation::{DeliveryStatus, MoForward, MtForward, Other, RoutingInfo};
        let ScreenedRequest {
            operation,
            calling_gt,
            originator,
            ..
        } = *request;
        let titles = &self.titles;
        match rule {
            FirewallRule::Title => !titles.is_allowed(calling_gt),
            FirewallRule::TitleRate => self.title_rates.is_exceeded(calling_gt, elapsed),
            FirewallRule::Operation => match operation {
                Other(code) => !OTHERS_FOR_MESSAGES.contains(&code),
                _ => false,
            },
            FirewallRule::WithoutRouting => {
                operation == MtForward && request.routing_asked_by == RoutingAsked::Nobody
            }
            FirewallRule::OtherNetwork => match request.routing_asked_by {
                RoutingAsked::By(asked) if operation == MtForward => {
                    !titles.are_of_one_network(asked, calling_gt)
                }
                _ => false,
            },
            FirewallRule::ServiceCentre => {
                let is_of_centre = matches!(operation, RoutingInfo | MtForward | DeliveryStatus);
                let centre = request.service_centre;
                is_of_centre && !centre.is_empty() && !titles.are_of_one_network(centre, calling_gt)
            }
            FirewallRule::Spoofed => match operation {
                MoForward => titles.looks_own(originator) && !titles.may_serve_own(calling_gt),
                MtForward => titles.looks_own(originator) && !titles.is_own(calling_gt),
                _ => false,
            },
            FirewallRule::ForeignSender => {
                operation == MoForward
                    && titles.has_own_numbers()
                    && !originator.is_empty()
                    && !titles.is_own_number(originator)
            }
            FirewallRule::SubscriberRate => {
                let subscriber = request.subscriber;
                // An id stands for a subscriber, who may have several.
                let is_known = request.routing_asked_by != RoutingAsked::Later;
                let rates = if operation == MoForward {
                    &mut self.sender_rates
                } else {
                    &mut self.subscriber_rates
                };
                is_known && !subscriber.is_empty() && rates.is_exceeded(subscriber, elapsed)
            }
        }
    }
}

// === impl BucketsByName ===

impl BucketsByName {
    fn new(rate: Option<RequestRate>) -> Self {
        let most = NonZeroUsize::new(REMEMBERED).unwrap_or(NonZeroUsize::MIN);
        Self {
            rate,
            by_name: LruCache::sparse(most),
        }
    }

    fn set(&mut self, rate: Option<RequestRate>) {
        if self.rate != rate {
            self.rate = rate;
            self.by_name.clear();
        }
    }

    /// Takes a token of this name; whether it had none. `elapsed` are nanoseconds of one clock.
    fn is_exceeded(&mut self, name: &str, elapsed: u64) -> bool {
        let Some(rate) = self.rate else {
            return false;
        };
        if let Some(bucket) = self.by_name.get_mut(name) {
            return bucket.take(elapsed, 1).granted == 0;
        }
        let mut bucket = Gcra::new(rate.per_second, rate.burst);
        let is_exceeded = bucket.take(elapsed, 1).granted == 0;
        self.by_name.put(name.to_owned(), bucket);
        is_exceeded
    }
}

#[cfg(test)]
mod tests;
