//! The checks of a single submission: its account's rate, its fields, policy, a route and limits.
//!
//! Called by ingest for each message of a batch, before it has an id.

use super::intake::Intake;
use crate::actors::context::NodeContext;
use crate::actors::context::declined::Declined;
use crate::actors::context::plan::{AccountPlan, Plan, TextSource};
use crate::actors::routing::rewrite;
use crate::actors::runtime::locks::lock;
use crate::actors::runtime::timed_mailbox::Timed;
use crate::config::TwoTexts;
use crate::content;
use crate::content::door::{self, Bringer};
use crate::domain::policy::PolicyRefusal;
use crate::domain::{address, validity};
use crate::pb::{
    Alphabet, Kind, Message, ReplayOrder, Submission, SubmitCause, TakeTokens, TakenTokens,
};
use crate::smpp::{CommandStatus, time};

/// How much a sender may submit now: one token for each short message that a handset receives.
pub(super) struct SubmitTokens {
    /// `None` without a limit.
    left: Option<u32>,
    rate: f64,
    burst: u32,
    /// Short messages of the batch that were refused: they may go before those that follow.
    refused: u64,
}

impl SubmitTokens {
    pub(super) const UNLIMITED: Self = Self {
        left: None,
        rate: 0.0,
        burst: 0,
        refused: 0,
    };

    pub(super) async fn take(node: &NodeContext, sender: u32, submissions: &[Submission]) -> Self {
        let limit = node.plan().rate_of(sender);
        let Some((rate, burst)) = limit.filter(|_| node.is_account(sender)) else {
            return Self::UNLIMITED;
        };
        let mut tokens = Self {
            rate,
            burst,
            ..Self::UNLIMITED
        };
        let messages = submissions.iter().filter_map(|one| one.message.as_ref());
        let wanted = messages.map(|message| tokens.price(message)).sum();
        tokens.left = Some(ask(node, sender, wanted).await);
        tokens
    }

    /// A text with more parts than the bucket holds tokens costs the whole bucket.
    fn price(&self, message: &Message) -> u32 {
        content::by_octets(message).min(self.burst)
    }

    /// Pays for what a message that is routed takes more at its peer than its octets.
    ///
    /// # Errors
    /// Not enough tokens are left.
    pub(super) async fn spend_rest(
        &mut self,
        node: &NodeContext,
        sender: u32,
        message: &Message,
    ) -> Result<(), Declined> {
        let Some(left) = self.left else { return Ok(()) };
        let all = node.plan().segments_at(message.queue, message);
        let rest = all.min(self.burst).saturating_sub(self.price(message));
        let left = if rest > left {
            left + ask(node, sender, rest - left).await
        } else {
            left
        };
        self.pay(left, rest, all.min(self.burst))
    }

    /// Pays for a message.
    ///
    /// # Errors
    /// Not enough tokens are left.
    pub(super) fn spend(&mut self, message: &Message) -> Result<(), Declined> {
        let Some(left) = self.left else { return Ok(()) };
        let price = self.price(message);
        self.pay(left, price, price)
    }

    /// Pays `price` of the tokens that are left, for a message that takes `all` if it comes again.
    fn pay(&mut self, left: u32, price: u32, all: u32) -> Result<(), Declined> {
        if let Some(rest) = left.checked_sub(price) {
            self.left = Some(rest);
            return Ok(());
        }
        // Later messages do not overtake a refused one, so that the parts of one text stay
        // together.
        self.left = Some(0);
        self.refused += u64::from(all);
        let cause = SubmitCause::Rate;
        Err(Declined::by_rate(cause, self.refused, self.rate))
    }
}

/// Tokens of a sender's bucket, at most so many.
async fn ask(node: &NodeContext, sender: u32, wanted: u32) -> u32 {
    let taken = take_tokens(node, sender, wanted).await;
    taken.map_or(0, |taken| taken.granted)
}

/// At most so many tokens of a bucket; `None` while Throttle is restarting. Refusing is safe then, because senders try
/// again.
pub(in crate::actors::ingress) async fn take_tokens(
    node: &NodeContext,
    key: u32,
    wanted: u32,
) -> Option<TakenTokens> {
    let ask = TakeTokens {
        key,
        wanted,
        ..TakeTokens::default()
    };
    let ask = Timed::new(ask, &node.mailboxes.throttle);
    node.throttle.recipient().send(ask).await.ok()
}

/// The alphabet that data_coding 0 means for this sender: as configured, otherwise as its listener
/// says.
pub fn alphabet_of(node: &NodeContext, sender: u32, listener: Option<i32>) -> Alphabet {
    let plan = node.plan();
    let says = plan
        .account_by_id(sender)
        .is_none_or(|account| account.config.alphabet.is_some());
    let listener = listener.and_then(|alphabet| Alphabet::try_from(alphabet).ok());
    match listener {
        Some(alphabet) if !says => alphabet,
        _ => content::as_stored(plan.alphabet_of(sender)),
    }
}

/// Validates a submission and sets its times, priority and first queue: that of its route or, for a
/// replayed message, the requested one. `ordered`: the queue that all of its batch go to, 0 for none.
pub(super) fn check(
    intake: &Intake,
    sender: u32,
    message: &mut Message,
    replay: Option<&ReplayOrder>,
    ordered: u32,
    now: i64,
) -> Result<(), Declined> {
    let node = intake.node.as_ref();
    let plan = node.plan();
    if message.destination.is_empty() {
        return Err(CommandStatus::ESME_RINVDSTADR.into());
    }
    if replay.is_none() {
        door::enter(message, bringer(&plan, sender))?;
        rewrite::incoming(&plan, sender, message)?;
    }
    message.sender = sender;
    message.accepted_at = now;
    // Empty fields, the usual case, cost nothing to check.
    let schedule = time::parse_time(&message.schedule_delivery_time, now)
        .map_err(|_| CommandStatus::ESME_RINVSCHED)?;
    let valid_until = time::parse_time(&message.validity_period, now)
        .map_err(|_| CommandStatus::ESME_RINVEXPIRY)?;
    let times = validity::times(now, schedule, valid_until, plan.lifetime())
        .map_err(|error| CommandStatus(error.command_status()))?;
    message.due_at = times.due_at;
    message.expires_at = times.expires_at;
    door::write_times(message);
    if let Some(account) = plan.account_by_id(sender)
        // The sender of a receipt's copy is who gets it.
        && message.copied.is_none()
    {
        check_account(intake, account, message)?;
        if replay.is_none() && originates_for_another(&plan, account, message) {
            let reason = PolicyRefusal::NeedsMobileOriginated;
            return Err(intake.policy.refuse(node, account, message, reason));
        }
    }
    let rule = match replay {
        None => plan.rule(message, TextSource::HereOrLater),
        Some(_) => None,
    };
    // Copies and replays were accepted once, and what a rule takes goes to no number.
    if rule.is_none()
        && replay.is_none()
        && message.copied.is_none()
        && let Some(range) = plan.range_without(&message.destination)
    {
        tracing::warn!(
            to = %address::mask(&message.destination),
            sender = %node.name_of(sender),
            range,
            "no such number"
        );
        node.metrics.no_such_number(range);
        return Err(no_such_number());
    }
    // A copy that is sent again goes its own way again.
    let own = message.copied.as_ref().map_or(0, |_| message.queue);
    let to = replay.map_or(ordered, |order| order.to).max(own);
    let target = if to != 0 {
        Some(to)
    } else if plan.wants_network(message) && !intake.networks.tell(&plan, message) {
        // It is accepted now, and routed when its network is known.
        plan.resolve_queue
    } else {
        plan.first_target(message, 0, node)
    };
    let Some(queue) = target else {
        let what = if plan.is_transit(message) {
            "no route: a message for no account's address needs one with mobile_originated"
        } else {
            "no route"
        };
        tracing::warn!(
            to = %address::mask(&message.destination),
            sender = %node.name_of(sender),
            "{what}"
        );
        node.metrics.no_route.inc();
        return Err(no_route(&plan));
    };
    if plan.account_by_id(sender).is_none() && replay.is_none() && plan.is_transit(message) {
        refuse_circles(intake, message, now)?;
    }
    let queue = on_the_way(intake, &plan, queue, to, message);
    message.queue = queue;
    if let Some(port) = node.queue(queue)
        && port.is_full_for(sender, &plan)
    {
        node.metrics.queue_full.inc();
        return Err(full(SubmitCause::Queue));
    }
    if !node.reserve(sender) {
        node.metrics.account_full.inc();
        return Err(full(SubmitCause::Waiting));
    }
    if let Some(rule) = rule {
        node.metrics.ruled(&rule.name, rule.action.as_str());
    }
    Ok(())
}

/// Something that is full.
pub(super) fn full(of: SubmitCause) -> Declined {
    Declined::by(of, CommandStatus::ESME_RMSGQFUL)
}

/// A destination in a range of numbers that are not there.
pub(in crate::actors::ingress) fn no_such_number() -> Declined {
    Declined::by(SubmitCause::NoSuchNumber, CommandStatus::ESME_RINVDSTADR)
}

/// A destination to which no route leads.
pub(in crate::actors::ingress) fn no_route(plan: &Plan) -> Declined {
    let status = CommandStatus(plan.no_route_status());
    Declined::by(SubmitCause::NoRoute, status)
}

/// What an account may submit, and what it gets for it.
fn check_account(
    intake: &Intake,
    account: &AccountPlan,
    message: &mut Message,
) -> Result<(), Declined> {
    message.priority = message.priority.min(u32::from(account.priority_max));
    intake.policy.check(&intake.node, account, message)?;
    // Whoever wants no receipt hears of no other state either.
    if account.states != 0 && message.report_states == 0 && message.registered_delivery & 0x03 != 0
    {
        message.report_states = account.states;
    }
    Ok(())
}

/// Whose rules a submission of this sender has to meet.
pub(in crate::actors::ingress) fn bringer(plan: &Plan, sender: u32) -> Bringer {
    match plan.account_by_id(sender) {
        Some(account) => Bringer::Account {
            two_texts: account.config.two_texts,
            is_centre: account.config.mobile_originated,
        },
        None if plan.is_operator(sender) => Bringer::Operator,
        // An account that was removed meanwhile.
        None => Bringer::Account {
            two_texts: TwoTexts::Refuse,
            is_centre: false,
        },
    }
}

/// Whether an account that is no message centre says that a message is one of a subscriber for another account.
fn originates_for_another(plan: &Plan, account: &AccountPlan, message: &Message) -> bool {
    message.kind() == Kind::Mo
        && message.source_gsm == 0
        && !account.config.mobile_originated
        && plan.mo_account(&message.destination) != Some(account.id)
}

/// The queue of a message for this target: that of the look-up, if its IMSI is needed and this node does not know
/// it. An ordered target (`to`, 0 for none) counts when it is known.
fn on_the_way(intake: &Intake, plan: &Plan, queue: u32, to: u32, message: &mut Message) -> u32 {
    if !plan.wants_imsi(queue, message) || intake.imsis.tell(plan, message) {
        return queue;
    }
    message.towards = to;
    plan.first_stop(queue, message)
}

/// Refuses a message that comes again and again, because the peer that it is sent to sends it back.
fn refuse_circles(intake: &Intake, message: &Message, now: i64) -> Result<(), CommandStatus> {
    let node = intake.node.as_ref();
    let limit = node.config().policy.mobile_originated_repeats;
    let mut hasher = siphasher::sip::SipHasher13::new();
    let same = (
        &message.source,
        &message.destination,
        message.esm_class,
        message.data_coding,
        content::payload(message),
    );
    std::hash::Hash::hash(&same, &mut hasher);
    let hash = std::hash::Hasher::finish(&hasher);
    if limit == 0 || lock(&intake.circles).admits(hash, limit, now) {
        return Ok(());
    }
    tracing::warn!(
        to = %address::mask(&message.destination),
        sender = %node.name_of(message.sender),
        "goes round in a circle"
    );
    node.metrics.circles.inc();
    Err(CommandStatus::ESME_RX_R_APPN)
}

/// Weighted sharing depends on the id, which is known only now; without weights nothing changes.
pub(super) fn route_by_id(node: &NodeContext, message: &mut Message) {
    let plan = node.plan();
    if plan.shares()
        && !plan.is_look_up(message.queue)
        && let Some(queue) = plan.first_target(message, message.id, node)
    {
        message.queue = plan.first_stop(queue, message);
    }
}
