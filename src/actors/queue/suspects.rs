//! Messages that are suspected of ending their peer's sessions: what was in a window when its session ended.
//!
//! Used by the actions that grant and settle. They are *tried* before anything else of the queue goes over the session
//! that tries them: the first unanswered one alone, then half of the others, then the rest. If the session ends, those of
//! them that are unanswered are the suspects, and all others are acquitted: so the culprit is found in few tries. Who
//! ends a session alone is *accused*, waits for longer and longer, and is tried alone again.
//!
//! What only the peer can be blamed for counts against no message: an end counts when others were answered since the
//! message first ended a session, and while not too many different ones end sessions one after another without an
//! answer between. Invariants: a suspect is with a session only in a try, only one try is under way at a time, and there
//! are never more suspects than the windows of the sessions held, plus [`ACCUSED`].

mod aside_list;
mod crowd;
mod passed_over;
mod told_apart;

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use tokio::time::Instant;

use self::passed_over::PassedOver;
use super::caution::Caution;
use super::partition_set::PartitionSet;
use crate::actors::context::item::Item;
use crate::domain::culprit;
use crate::pb::Message;

/// Stands in place of a session for messages that are set aside until they are tried.
pub(super) const ASIDE: u64 = u64::MAX;
/// Most accused messages that are remembered.
const ACCUSED: usize = 4096;
/// So many different messages in a row that end sessions alone are no culprits: the peer is.
const PEER: usize = 5;
/// From so many on, one message at a time shows whether the peer takes any.
const DOUBT: usize = 2;
/// How long a try has its session for itself, and a session may take to get empty for a try.
const PATIENCE: Duration = Duration::from_secs(3);
/// Others go on for so long between two tries that ended sessions, or for the first pause if that is shorter.
const BETWEEN: Duration = Duration::from_secs(1);

/// Messages under suspicion, and the tries that find out.
#[derive(Default)]
pub(super) struct Suspects {
    all: HashMap<u64, Suspect, ahash::RandomState>,
    /// Those of the present case that no try has had yet, in the order in which they were sent.
    case: Vec<u64>,
    /// Tries that the present case has had.
    tries: u32,
    /// What came meanwhile, as one case.
    later: Vec<u64>,
    /// The next try, or that under way.
    group: Vec<u64>,
    under_way: Option<Try>,
    /// Out of the lists until they are tried.
    aside: BTreeMap<u64, (Item, Option<Box<Message>>)>,
    /// Whether bodies of them are being read.
    is_reading: bool,
    /// Answers of the peer so far.
    answers: u64,
    /// Different messages that have ended sessions alone since the last answer.
    enders: Vec<u64>,
    passed_over: PassedOver,
    /// Whether the last end of one of them is not counted yet.
    is_pending: bool,
    /// No try begins before.
    rest_until: Option<Instant>,
    /// How long that is, until the next session is there.
    rest: Option<Duration>,
    /// There was no session lately.
    is_cut_off: bool,
    /// No try of one that was accused before begins before.
    accused_rest_until: Option<Instant>,
    /// How long a session may take to get empty; longer each time that it does not.
    patience: Option<Duration>,
    /// After a session that had more than a try, while there may be more that end sessions.
    caution: Option<Caution>,
}

/// What is known against one message.
#[derive(Debug, Default, Clone, Copy)]
struct Suspect {
    /// Its partition.
    part: u8,
    /// How many of the sessions that it has ended count.
    ended: u8,
    /// Answers of the peer when it was first lost with a session.
    answers: u64,
    /// How often it has ended a session alone.
    alone: u32,
    /// The last of these ends is not counted, because nothing had been answered since the first.
    pending: bool,
}

/// Some suspects on a session that has nothing else.
#[derive(Debug)]
pub(super) struct Try {
    pub(super) session: u64,
    since: Instant,
    pub(super) unanswered: Vec<u64>,
}

/// Who is to blame for the end of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Blame {
    /// Nobody yet: what was unanswered is under suspicion.
    Unknown,
    /// This one was alone.
    Alone(u64),
}

// === impl Suspects ===

impl Suspects {
    /// Whether nothing is under suspicion, and nothing is tried: the usual case.
    pub(super) fn is_quiet(&self) -> bool {
        self.all.is_empty()
            && self.aside.is_empty()
            && self.enders.is_empty()
            && self.under_way.is_none()
    }

    /// Messages under suspicion.
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether this message goes only in a try.
    pub(super) fn has(&self, id: u64) -> bool {
        !self.all.is_empty() && self.all.contains_key(&id)
    }

    /// The store says of a message how often it has ended a session alone.
    pub(super) fn know(&mut self, item: &Item, ended: u8) {
        if ended == 0 || self.accused() >= ACCUSED {
            return;
        }
        let one = self.all.entry(item.id).or_default();
        one.part = item.part;
        one.ended = one.ended.max(ended);
        one.alone = one.alone.max(ended.into());
    }

    /// These partitions go to another node, which reads what is durable.
    pub(super) fn forget(&mut self, parts: PartitionSet) {
        self.all.retain(|_, one| !parts.has(one.part));
    }

    // --- what comes of what was sent

    /// The peer has answered these, whatever it said.
    pub(super) fn answered(&mut self, ids: impl Iterator<Item = u64>) {
        let before = self.answers;
        if self.is_quiet() {
            self.answers += ids.count() as u64;
        } else {
            for id in ids {
                self.answers += 1;
                self.enders.clear();
                self.passed_over.rest();
                self.acquit(id);
            }
        }
        if let Some(caution) = self.caution {
            self.caution = caution.answered((self.answers - before) as u32);
        }
    }

    /// How many messages may be with sessions, where that is less than their windows.
    pub(super) fn most_under_way(&self) -> Option<u32> {
        if self.doubts_peer() {
            Some(1)
        } else {
            self.caution.map(|caution| caution.most())
        }
    }

    /// Whether what a session is given has nothing beside it, and is a try.
    pub(super) fn tries_each(&self) -> bool {
        self.most_under_way() == Some(1)
    }

    /// This one has ended no session: it was answered, it was not sent, or its time was over while the session lived.
    pub(super) fn acquit(&mut self, id: u64) {
        if self.all.is_empty() && self.under_way.is_none() {
            return;
        }
        self.all.remove(&id);
        self.enders.retain(|ender| *ender != id);
        let Some(one) = &mut self.under_way else {
            return;
        };
        one.unanswered.retain(|unanswered| *unanswered != id);
        if one.unanswered.is_empty() {
            self.under_way = None;
            self.group.clear();
        }
    }

    /// A session was ended with these unanswered, in the order in which they were sent. `windows`: what all sessions
    /// could have; `one_by_one`: that is one message.
    pub(super) fn session_ended(
        &mut self,
        session: u64,
        lost: &[Item],
        windows: u32,
        one_by_one: bool,
    ) -> Blame {
        let tried = self.under_way.take_if(|one| one.session == session);
        let blamed: Vec<Item> = match &tried {
            Some(one) => (lost.iter().copied())
                .filter(|item| one.unanswered.contains(&item.id))
                .collect(),
            None => Vec::new(),
        };
        if tried.is_some() {
            self.group.clear();
        }
        self.passed_over.one_by_one();
        if lost.len() > blamed.len() && !one_by_one {
            self.caution = Some(Caution::after(self.caution, windows));
        }
        if !blamed.is_empty() {
            // Those that were not tried are not to blame.
            for id in self.case.drain(..) {
                self.all.remove(&id);
            }
        }
        let blame = match (&blamed[..], lost) {
            ([one], _) => Blame::Alone(one.id),
            ([], [one]) if one_by_one => Blame::Alone(one.id),
            ([], []) => return Blame::Unknown,
            ([], _) => {
                self.suspect(lost);
                self.later.extend(lost.iter().map(|item| item.id));
                Blame::Unknown
            }
            _ => {
                self.suspect(&blamed);
                self.case.extend(blamed.iter().map(|item| item.id));
                self.tries = 0;
                Blame::Unknown
            }
        };
        if let Blame::Alone(id) = blame
            && self.enders.len() < PEER
            && !self.enders.contains(&id)
        {
            self.enders.push(id);
        }
        blame
    }

    fn suspect(&mut self, items: &[Item]) {
        for item in items {
            self.entry(item);
        }
    }

    fn entry(&mut self, item: &Item) -> &mut Suspect {
        self.all.entry(item.id).or_insert(Suspect {
            answers: self.answers,
            part: item.part,
            ..Suspect::default()
        })
    }

    /// It has ended a session alone: how many such ends of it counted before, and count now. `None`: the peer ends
    /// sessions whatever it gets, so it is not accused, and has its next turn after the others. `pause`: its first one.
    pub(super) fn accuse(
        &mut self,
        item: &Item,
        pause: Duration,
        now: Instant,
    ) -> Option<(u8, u8)> {
        let id = item.id;
        let is_known = self.all.get(&id).is_some_and(|one| one.alone > 0);
        let is_peer = self.enders.len() >= PEER;
        if self.doubts_peer() {
            self.passed_over.more();
        }
        if !is_known && (is_peer || self.accused() >= ACCUSED) {
            self.all.remove(&id);
            if self.may_pass_over() {
                self.entry(item);
            }
            return None;
        }
        let between = pause.min(BETWEEN);
        self.rest_until = Some(now + between);
        self.rest = Some(between);
        self.accused_rest_until = Some(now + between * (self.accused() as u32).clamp(1, 30));
        let answers = self.answers;
        let one = self.entry(item);
        one.alone += 1;
        let before = one.ended;
        let is_told_apart = before > 0 || answers > one.answers;
        one.pending |= is_peer || !is_told_apart;
        if !is_peer && is_told_apart {
            let more = 1 + u8::from(std::mem::take(&mut one.pending));
            one.ended = before.saturating_add(more);
        }
        let (ended, is_pending) = (one.ended, one.pending);
        self.is_pending |= is_pending;
        Some((before, ended))
    }

    fn accused(&self) -> usize {
        self.all.values().filter(|one| one.alone > 0).count()
    }

    /// A session has gone; what it had is settled.
    pub(super) fn session_gone(&mut self, session: u64) {
        self.under_way.take_if(|one| one.session == session);
    }

    /// The lists are read again: what was set aside comes from there, and what is with sessions is tried again.
    pub(super) fn begin_again(&mut self) {
        self.aside.clear();
        self.is_reading = false;
        self.under_way = None;
        let group = std::mem::take(&mut self.group);
        self.case.splice(0..0, group);
        self.enders.clear();
    }

    // --- tries

    /// Whether a try is under way.
    pub(super) fn is_trying(&self) -> bool {
        self.under_way.is_some()
    }

    /// The try under way, if it takes so long that others go on meanwhile.
    pub(super) fn slow_try(&self, now: Instant) -> Option<&Try> {
        let one = self.under_way.as_ref()?;
        (now.duration_since(one.since) >= PATIENCE).then_some(one)
    }

    /// The rest after a try that has ended the session begins when there is one again: `others` wait for it.
    pub(super) fn rest_when_bound(&mut self, is_bound: bool, others: bool, now: Instant) {
        if !is_bound {
            self.is_cut_off = true;
        } else if std::mem::take(&mut self.is_cut_off)
            && let Some(rest) = self.rest.take()
            && others
        {
            self.rest_until = Some(now + rest);
        }
    }

    /// Those that wait for a try of their own for the first time wait no longer.
    pub(super) fn acquit_untried(&mut self) {
        self.acquit_passed_over();
        for id in self.case.drain(..).chain(self.later.drain(..)) {
            self.all.remove(&id);
        }
    }

    /// Chooses the next try, if one can begin; whether there is one.
    pub(super) fn choose(&mut self, now: Instant) -> bool {
        if self.rest_until.is_some_and(|until| now < until) {
            return false;
        }
        // What is not aside has ended, or somebody has ordered something about it.
        let aside = &self.aside;
        self.group.retain(|id| aside.contains_key(id));
        if !self.group.is_empty() {
            return true;
        }
        if self.case.is_empty() {
            self.case = std::mem::take(&mut self.later);
            self.tries = 0;
        }
        self.case.retain(|id| aside.contains_key(id));
        let count = match self.tries {
            0 => 1,
            1 => self.case.len().div_ceil(2),
            _ => self.case.len(),
        };
        self.tries += 1;
        self.group
            .extend(self.case.drain(..count.min(self.case.len())));
        let is_resting = self.accused_rest_until.is_some_and(|until| now < until);
        if self.group.is_empty() {
            self.group = self.next_passed_over(!is_resting);
        }
        if self.group.is_empty() && !is_resting {
            // What else is aside was accused before.
            self.group.extend(self.aside.keys().next());
        }
        !self.group.is_empty()
    }

    /// Messages of the next try whose bodies are to be read; none while others are being read.
    pub(super) fn unread(&mut self) -> Vec<Item> {
        if self.is_reading {
            return Vec::new();
        }
        let bare = |id: &u64| {
            let (item, body) = self.aside.get(id)?;
            body.is_none().then_some(*item)
        };
        let unread: Vec<Item> = self.group.iter().filter_map(bare).collect();
        self.is_reading = !unread.is_empty();
        unread
    }

    /// The body of one of them.
    pub(super) fn read(&mut self, id: u64, message: Box<Message>) {
        if let Some((_, body)) = self.aside.get_mut(&id) {
            *body = Some(message);
        }
    }

    /// They are read, or could not be: then it is tried again in a moment.
    pub(super) fn end_reading(&mut self, again_at: Option<Instant>) {
        self.is_reading = false;
        self.rest_until = self.rest_until.max(again_at);
    }

    /// Whether the next try has all bodies.
    pub(super) fn is_ready(&self) -> bool {
        let has_body = |id: &u64| self.aside.get(id).is_some_and(|(_, body)| body.is_some());
        !self.group.is_empty() && self.group.iter().all(has_body)
    }

    /// The next of the group with its message, which the caller gives to a session, ends, or forgets.
    pub(super) fn next_of_group(&mut self) -> Option<(Item, Box<Message>)> {
        let id = *self.group.first()?;
        self.group.remove(0);
        let (item, message) = self.aside.remove(&id)?;
        Some((item, message?))
    }

    /// The message that [`Self::next_of_group`] takes.
    pub(super) fn peek(&self) -> Option<&Message> {
        let id = self.group.first()?;
        let (_, message) = self.aside.get(id)?;
        message.as_deref()
    }

    /// A session was given these; what is left of the group goes in the next try.
    pub(super) fn begin(&mut self, session: u64, given: Vec<u64>, now: Instant) {
        let rest = std::mem::replace(&mut self.group, given.clone());
        self.case.splice(0..0, rest);
        self.patience = None;
        self.under_way = Some(Try {
            session,
            since: now,
            unanswered: given,
        });
    }

    /// How long the session that is to try may take to get empty.
    pub(super) fn patience(&self) -> Duration {
        self.patience.unwrap_or(PATIENCE)
    }

    /// It has not got empty in time: others go on, and later it gets twice as long. Only who is accused waits for that.
    pub(super) fn try_later(&mut self, now: Instant) {
        let group = std::mem::take(&mut self.group);
        self.case.extend(
            group
                .iter()
                .filter(|id| self.all.get(id).is_some_and(|one| one.alone == 0)),
        );
        self.acquit_untried();
        let patience = self.patience();
        self.rest_until = Some(now + patience * 2);
        self.patience = Some((patience * 2).min(culprit::LONGEST));
    }
}

#[cfg(test)]
mod tests;
