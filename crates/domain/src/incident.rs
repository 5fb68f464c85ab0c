//! Incidents: what is not well with the messages of an operator or an account, found in their counts.
//!
//! Four rules compare the last minutes with a floor and with the usual share of the hour before. What is named has more than
//! chance explains, so that traffic with its usual noise names nobody. An incident keeps what was usual when it began, and
//! ends when it has not been found for [`NOW`] buckets; what was usual is remembered until the hour before has forgotten it.
//! Called by the task that looks for incidents; pure.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::outcomes::{KEPT, NOW, OutcomeCounts, PairOutcomes, SeenOutcomes};
use super::{command_status, state};

/// Usual shares are known after so many buckets, with so many times the least number of messages.
const USUAL_AFTER: i64 = 10;
const USUAL_MESSAGES: u32 = 5;
/// How many standard deviations above the usual count are no chance, and how many messages besides: there are many
/// operators and many looks.
const DEVIATIONS: f64 = 5.0;
const MARGIN: f64 = 3.0;
/// An incident goes on above this part of the share at which it is named.
const GOES_ON: f64 = 0.8;
/// Receipts are missing from operators that usually bring at least this part of them promptly, to all nodes.
const BRINGS_RECEIPTS: f64 = 0.5;
/// Where so many incidents are open, no further account is named: what ails that many is not theirs, and each costs a row at
/// every look.
const MOST_OPEN: usize = 60;
/// Answers are slow when they take so many times as long as usual.
const SLOWER: f64 = 3.0;

named! {
    /// What is looked for.
    /// Its words are those of the API and of metrics.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum IncidentKind, name {
        /// submit_sm_resp with an error that is not throttling.
        Refused: "refused",
        /// Receipts that report a failure.
        FailedReceipts: "failed_receipts",
        /// Receipts that do not come.
        MissingReceipts: "missing_receipts",
        /// Answers that take longer than usual.
        SlowAnswers: "slow_answers",
    }
}

/// Whom an incident is about, by the number of the queue or of the account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IncidentSubject {
    Operator(u32),
    Account(u32),
}

/// Names an incident while it is open.
pub type IncidentKey = (IncidentSubject, IncidentKind);

/// What is too much.
#[derive(Debug, Clone, PartialEq)]
pub struct IncidentRules {
    /// Fewer messages, receipts or answers name nobody.
    pub minimum: u32,
    /// Nodes to which an operator may bring the receipts of this one.
    pub nodes: u32,
    /// Share of refusals from which on somebody is named, 0 to 1.
    pub refused_share: f64,
    /// Share of failed receipts from which on somebody is named, 0 to 1.
    pub failed_share: f64,
    /// Mean answer from which on an operator may be slow, milliseconds.
    pub slow_ms: f64,
}

/// What a rule has found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RuleFinding {
    /// The share, 0 to 1; of slow answers their mean in milliseconds.
    pub value: f64,
    /// What was usual before, and whether that is known: it counts as nothing in the first minutes.
    pub usual: f64,
    pub is_usual_known: bool,
    /// Whether it began in the bucket before the current one, or earlier.
    pub earlier: bool,
}

/// An incident that has not ended.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenIncident {
    /// When it began, to the bucket; and when it was last found. Unix milliseconds.
    pub began_at: i64,
    pub seen_at: i64,
    pub finding: RuleFinding,
    /// The most frequent status of refusals, or state of failed receipts; empty for none.
    pub cause: String,
    /// How many accounts of the operator, or operators of the account, are concerned.
    pub others: usize,
}

/// What a look has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IncidentStage {
    Began,
    GoesOn,
    Ended,
}

/// The open incidents of a node.
#[derive(Debug, Default)]
pub struct IncidentBook {
    open: HashMap<IncidentKey, OpenIncident>,
    /// Of those that have ended lately: when they were last found (Unix milliseconds), and what was usual before them. The
    /// counts of the hour before are still those of the incident.
    usual: HashMap<IncidentKey, (i64, f64)>,
    /// What was usual before this process began.
    learned: HashMap<IncidentKey, f64>,
}

/// What a rule knows of an incident besides counts.
#[derive(Debug, Clone, Copy)]
struct KnownIncident {
    is_open: bool,
    /// What was usual before it; `None`: the hour before says that.
    usual: Option<f64>,
    /// What was usual before this process began, where the hour before does not say it.
    learned: Option<f64>,
}

// === impl IncidentKind ===

impl IncidentKind {
    /// Those that accounts are named for as well.
    const OF_ACCOUNTS: [Self; 2] = [Self::Refused, Self::FailedReceipts];

    /// Whether these counts have something of it.
    fn concerns(self, counts: &OutcomeCounts) -> bool {
        match self {
            Self::Refused => counts.refused > 0,
            Self::FailedReceipts => counts.failed > 0,
            Self::MissingReceipts => counts.awaited > 0,
            Self::SlowAnswers => counts.answers > 0,
        }
    }

    /// Of these counts, how many are of it, and of how many; nothing for kinds that are no share.
    fn parts(self, counts: &OutcomeCounts) -> (u32, u32) {
        match self {
            Self::Refused => (counts.refused, counts.refused.saturating_add(counts.taken)),
            Self::FailedReceipts => (counts.failed, counts.receipts),
            Self::MissingReceipts | Self::SlowAnswers => (0, 0),
        }
    }

    fn parts_now(self, seen: &SeenOutcomes) -> (u32, u32) {
        let (current, last) = (self.parts(&seen.current), self.parts(&seen.last));
        (
            current.0.saturating_add(last.0),
            current.1.saturating_add(last.1),
        )
    }

    /// The most frequent cause, for people.
    fn cause(self, counts: &OutcomeCounts) -> String {
        match self {
            Self::Refused => counts.statuses.most().map(command_status::display),
            Self::FailedReceipts => {
                let most = counts.states.most();
                most.map(|number| state::name(number as u8).to_owned())
            }
            Self::MissingReceipts | Self::SlowAnswers => None,
        }
        .unwrap_or_default()
    }
}

// === impl IncidentRules ===

impl IncidentRules {
    fn judge(
        &self,
        kind: IncidentKind,
        seen: &SeenOutcomes,
        known: KnownIncident,
    ) -> Option<RuleFinding> {
        match kind {
            IncidentKind::Refused | IncidentKind::FailedReceipts => self.share(kind, seen, known),
            IncidentKind::MissingReceipts => self.missing(seen, known),
            IncidentKind::SlowAnswers => self.slow(seen, known),
        }
    }

    /// The share from which on somebody is named: twice what is usual; where that is much, half of the rest fails as well.
    fn named_from(&self, kind: IncidentKind, usual: f64) -> f64 {
        self.floor(kind).max((2.0 * usual).min(usual.midpoint(1.0)))
    }

    fn floor(&self, kind: IncidentKind) -> f64 {
        match kind {
            IncidentKind::Refused => self.refused_share,
            _ => self.failed_share,
        }
    }

    fn share(
        &self,
        kind: IncidentKind,
        seen: &SeenOutcomes,
        known: KnownIncident,
    ) -> Option<RuleFinding> {
        let (part, whole) = kind.parts_now(seen);
        let (part, whole) = (f64::from(part), f64::from(whole));
        let (part_before, whole_before) = kind.parts(&seen.before);
        let usual = known.usual.or_else(|| {
            let is_known = self.knows_usual(seen, whole_before);
            let of_hour = is_known.then(|| f64::from(part_before) / f64::from(whole_before));
            of_hour.or(known.learned)
        });
        let is_usual_known = usual.is_some();
        let usual = usual.unwrap_or_default();
        let (floor, named_from) = (self.floor(kind), self.named_from(kind, usual));
        // Below the floor nobody knows what is usual in the first minutes.
        let expected = usual.max(floor / 2.0);
        let noise = DEVIATIONS * (whole * expected * (1.0 - expected)).sqrt() + MARGIN;
        let minimum = f64::from(self.minimum.max(1));
        let is_found = if known.is_open {
            whole >= minimum / 2.0 && part >= GOES_ON * named_from * whole
        } else {
            whole >= minimum && part >= named_from * whole && part >= expected * whole + noise
        };
        let (last_part, last_whole) = kind.parts(&seen.last);
        is_found.then(|| RuleFinding {
            value: part / whole,
            usual,
            is_usual_known,
            earlier: last_part > 0 && f64::from(last_part) >= floor * f64::from(last_whole),
        })
    }

    /// An operator may bring the receipts of one node to any: only less than the part of one node is missing.
    fn missing(&self, seen: &SeenOutcomes, known: KnownIncident) -> Option<RuleFinding> {
        let nodes = f64::from(self.nodes.max(1));
        let awaited = f64::from(seen.awaited_lately);
        let came = f64::from(seen.receipts_lately).min(awaited);
        let usual_missing = known.usual.or_else(|| {
            let before = f64::from(seen.receipts_before) / f64::from(seen.awaited_before);
            let is_known = self.knows_usual(seen, seen.awaited_before);
            (is_known && before >= BRINGS_RECEIPTS / nodes).then(|| (1.0 - before).max(0.0))
        })?;
        let expected = awaited * (1.0 - usual_missing);
        let is_found = if known.is_open {
            came < expected * GOES_ON / nodes
        } else {
            let noise = DEVIATIONS * expected.sqrt() + MARGIN;
            came <= expected / 2.0 / nodes && expected - came >= noise
        };
        (is_found && seen.awaited_lately >= self.minimum.max(1)).then(|| RuleFinding {
            value: 1.0 - came / awaited,
            usual: usual_missing,
            is_usual_known: true,
            earlier: true,
        })
    }

    fn slow(&self, seen: &SeenOutcomes, known: KnownIncident) -> Option<RuleFinding> {
        let mean = |counts: &OutcomeCounts| counts.answer_ms as f64 / f64::from(counts.answers);
        let now = seen.now();
        if now.answers < self.minimum.max(1) {
            return None;
        }
        let usual = known.usual.or_else(|| {
            let is_known = self.knows_usual(seen, seen.before.answers);
            is_known.then(|| mean(&seen.before))
        })?;
        let named_from = self.slow_ms.max(SLOWER * usual);
        let value = mean(&now);
        let least = if known.is_open {
            GOES_ON * named_from
        } else {
            // A few answers that hang say nothing of the others.
            let of_squares = now.answer_ms_squared as f64 / f64::from(now.answers);
            let spread = (of_squares - value * value).max(0.0).sqrt();
            named_from.max(usual + DEVIATIONS * spread / f64::from(now.answers).sqrt())
        };
        (value >= least).then(|| RuleFinding {
            value,
            usual,
            is_usual_known: true,
            earlier: seen.last.answers > 0 && mean(&seen.last) >= named_from,
        })
    }

    /// Whether what is found of an operator is of one account: the others, and they are enough to say that, are well. What that
    /// account sends is refused or fails then, such as wrong numbers.
    fn is_of_one_account(
        &self,
        kind: IncidentKind,
        group: &[&PairOutcomes],
        finding: RuleFinding,
    ) -> bool {
        let known = group.iter().filter(|pair| pair.account != 0);
        let Some(most) = known.max_by_key(|pair| kind.parts_now(&pair.seen).0) else {
            return false;
        };
        let (mut part, mut whole) = (0, 0);
        for pair in group.iter().filter(|pair| pair.account != most.account) {
            let more = kind.parts_now(&pair.seen);
            part += u64::from(more.0);
            whole += u64::from(more.1);
        }
        let named_from = self.named_from(kind, finding.usual);
        whole >= u64::from(self.minimum.max(1))
            && (part as f64) < GOES_ON * named_from * whole as f64
    }

    /// Whether there was enough before, for long enough, to say what is usual.
    fn knows_usual(&self, seen: &SeenOutcomes, messages: u32) -> bool {
        let least = self.minimum.max(1).saturating_mul(USUAL_MESSAGES);
        seen.known_for >= USUAL_AFTER && messages >= least
    }
}

// === impl IncidentBook ===

impl IncidentBook {
    /// Takes shares for what is usual until the hour before says that.
    pub fn learn(&mut self, usual: impl IntoIterator<Item = (IncidentKey, f64)>) {
        self.learned.extend(usual);
    }

    /// The clock was set by so many milliseconds, back if that is negative: incidents go on, and their times are as the clock shows
    /// them now.
    pub fn clock_was_set(&mut self, by_ms: i64) {
        for incident in self.open.values_mut() {
            incident.began_at = incident.began_at.saturating_add(by_ms);
            incident.seen_at = incident.seen_at.saturating_add(by_ms);
        }
        for (seen_at, _) in self.usual.values_mut() {
            *seen_at = seen_at.saturating_add(by_ms);
        }
    }

    /// Compares what is known with the rules. Gives each incident that began, goes on or has ended.
    ///
    /// Accounts are named for what operators that are not named themselves do with their messages; none beyond [`MOST_OPEN`].
    /// An operator is not named for what it does with the messages of one account alone.
    pub fn look(
        &mut self,
        pairs: &[PairOutcomes],
        rules: &IncidentRules,
        now_ms: i64,
        bucket_ms: i64,
    ) -> Vec<(IncidentKey, IncidentStage, OpenIncident)> {
        let mut changed = Vec::new();
        let look = LookTime { now_ms, bucket_ms };
        for (operator, group) in grouped(pairs.iter(), |pair| pair.operator) {
            for kind in IncidentKind::ALL {
                let subject = IncidentSubject::Operator(operator);
                self.examine((subject, kind), &group, rules, look, &mut changed);
            }
        }
        for kind in IncidentKind::OF_ACCOUNTS {
            let open = self.open.keys();
            let named: HashSet<u32> = open
                .filter_map(|key| match key {
                    (IncidentSubject::Operator(operator), of) if *of == kind => Some(*operator),
                    _ => None,
                })
                .collect();
            let others = pairs
                .iter()
                .filter(|pair| pair.account != 0 && !named.contains(&pair.operator));
            for (account, group) in grouped(others, |pair| pair.account) {
                let subject = IncidentSubject::Account(account);
                self.examine((subject, kind), &group, rules, look, &mut changed);
            }
        }
        self.open.retain(|key, incident| {
            // Also what was found later than now: the clock was wrong then.
            let is_over = (now_ms - incident.seen_at).abs() > NOW * bucket_ms;
            if is_over {
                if incident.finding.is_usual_known {
                    let usual = (incident.seen_at, incident.finding.usual);
                    self.usual.insert(*key, usual);
                }
                changed.push((*key, IncidentStage::Ended, incident.clone()));
            }
            !is_over
        });
        self.usual
            .retain(|_, (seen_at, _)| (now_ms - *seen_at).abs() <= KEPT * bucket_ms);
        changed
    }

    fn examine(
        &mut self,
        key: IncidentKey,
        group: &[&PairOutcomes],
        rules: &IncidentRules,
        look: LookTime,
        changed: &mut Vec<(IncidentKey, IncidentStage, OpenIncident)>,
    ) {
        let (subject, kind) = key;
        let mut seen = SeenOutcomes::default();
        for pair in group {
            seen.add(&pair.seen);
        }
        let open = self.open.get(&key);
        let remembered = self.usual.get(&key).map(|(_, usual)| *usual);
        let known = KnownIncident {
            is_open: open.is_some(),
            usual: open.map(|open| open.finding.usual).or(remembered),
            learned: self.learned.get(&key).copied(),
        };
        let Some(mut finding) = rules.judge(kind, &seen, known) else {
            return;
        };
        if let Some(open) = open {
            finding.is_usual_known = open.finding.is_usual_known;
        }
        let is_share = IncidentKind::OF_ACCOUNTS.contains(&kind);
        let is_operator = matches!(subject, IncidentSubject::Operator(_));
        if is_operator && is_share && rules.is_of_one_account(kind, group, finding) {
            return;
        }
        let (stage, began_at) = match open {
            Some(open) => (IncidentStage::GoesOn, open.began_at.min(look.now_ms)),
            None if self.has_no_room_for(subject) => return,
            None => (IncidentStage::Began, look.began_at(finding.earlier)),
        };
        let concerned = group.iter().filter(|pair| kind.concerns(&pair.seen.now()));
        let incident = OpenIncident {
            began_at,
            seen_at: look.now_ms,
            finding,
            cause: kind.cause(&seen.now()),
            others: concerned.count(),
        };
        self.open.insert(key, incident.clone());
        changed.push((key, stage, incident));
    }

    fn has_no_room_for(&self, subject: IncidentSubject) -> bool {
        matches!(subject, IncidentSubject::Account(_)) && self.open.len() >= MOST_OPEN
    }
}

/// When a look is, and how long a bucket is; milliseconds.
#[derive(Debug, Clone, Copy)]
struct LookTime {
    now_ms: i64,
    bucket_ms: i64,
}

impl LookTime {
    /// The beginning of the current bucket, or of the one before.
    fn began_at(self, earlier: bool) -> i64 {
        let current = self.now_ms.div_euclid(self.bucket_ms) - i64::from(earlier);
        current * self.bucket_ms
    }
}

fn grouped<'p>(
    pairs: impl Iterator<Item = &'p PairOutcomes>,
    by: impl Fn(&PairOutcomes) -> u32,
) -> BTreeMap<u32, Vec<&'p PairOutcomes>> {
    let mut groups: BTreeMap<u32, Vec<&PairOutcomes>> = BTreeMap::new();
    for pair in pairs {
        groups.entry(by(pair)).or_default().push(pair);
    }
    groups
}

// === for people ===

/// An incident in one sentence. `name` is that of the queue or account, such as `operator:up`; `since` the time at which it
/// began.
pub fn sentence(name: &str, kind: IncidentKind, incident: &OpenIncident, since: &str) -> String {
    let who = name.replacen(':', " ", 1);
    let is_account = name.starts_with("account:");
    let RuleFinding {
        value,
        usual,
        is_usual_known,
        ..
    } = incident.finding;
    let share = format!("{:.0} %", value * 100.0);
    let usually = if is_usual_known {
        format!(" (usually {:.0} %)", usual * 100.0)
    } else {
        String::new()
    };
    let others = match (incident.others, is_account) {
        (1, true) => "1 operator".to_owned(),
        (1, false) => "1 account".to_owned(),
        (others, true) => format!("{others} operators"),
        (others, false) => format!("{others} accounts"),
    };
    match kind {
        IncidentKind::Refused => {
            let cause = &incident.cause;
            if is_account {
                format!(
                    "{who}: {share} of its messages are refused since {since} with {cause}, {others}{usually}"
                )
            } else {
                format!("{who} refuses {share} since {since} with {cause}, {others}{usually}")
            }
        }
        IncidentKind::FailedReceipts => format!(
            "{who}: {share} of the receipts since {since} report a failure, mostly {}, {others}{usually}",
            incident.cause
        ),
        IncidentKind::MissingReceipts => {
            format!("{who}: {share} of the receipts are missing since {since}, {others}{usually}")
        }
        IncidentKind::SlowAnswers => {
            format!("{who} answers in {value:.0} ms since {since} (usually {usual:.0} ms)")
        }
    }
}

#[cfg(test)]
mod tests;
