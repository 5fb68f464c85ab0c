"""Walks the history after a round: what senders were told, what operators took, what the store holds."""

import time
from collections import Counter

from .world import ACCOUNT_WINDOW, ACCOUNTS, BINDS, COMMIT_BATCH, LOAD_BINDS, WINDOW

# Accepted by different nodes within this time (milliseconds): the order is not promised, and journals tell it from when
# answers came.
SIDE_BY_SIDE = 1000
# Nothing ended for so long: it never will (seconds). Receipts that matched nothing on one node are tried
# by the janitor of a cluster after a minute.
STALLED = {False: 45, True: 110}
DELETED = 4
UNDELIVERABLE = 5
UNKNOWN = 7
REJECTED = 8
# As `smsc load` writes them.
STATES = {
    "DELIVERED": 2, "EXPIRED": 3, "DELETED": 4, "UNDELIVERABLE": 5, "ACCEPTED": 6, "UNKNOWN": 7,
    "REJECTED": REJECTED,
}
EXAMPLES = 3
# Sessions that one poison message may end: it is looked for among all that were under way, by several nodes at
# once and beside other poison, and then tried alone, at each operator of its route.
MOST_ENDED = 24
# More of them for each time that a queue may have moved to another node, which looks for it anew.
SEARCH = 12
# What remains of a message that has ended this many sessions by itself.
POISONOUS = 3
# In flight towards all operators at once, when all is well: opz has one bind.
WINDOWS = (2 * BINDS + 1) * WINDOW
# The same after a plan change that made the windows and binds of one operator larger.
WIDENED = 3 * 40


class Allowance:
    """How many copies promise 3 allows: windows in flight and a commit batch for each crash."""

    def __init__(self):
        self.copies = 0
        self.receipts = 0
        # How often queues may have moved to other nodes.
        self.moves = 0
        # Whether the order of each subscriber's messages is promised: no bind to an operator was lost, and none throttled.
        self.ordered = True

    def crash(self, widened=False, times=1):
        self.ordered &= times == 0
        self.moves += times
        self.copies += times * (WINDOWS + WIDENED * widened + COMMIT_BATCH)
        self.receipts += times * (len(ACCOUNTS) * (LOAD_BINDS + 1) * ACCOUNT_WINDOW + COMMIT_BATCH)

    def lost_answers(self, widened=False):
        """Connections to operators broke: what they had answered may not have been seen."""
        self.ordered = False
        self.copies += WINDOWS + WIDENED * widened

    def ended_sessions(self, times, widened=False):
        """Operators ended this many sessions on a message: as lost answers, of one bind each. What came back to the queue
        without being sent is passed while the culprit is looked for."""
        self.ordered &= times == 0
        self.copies += times * max(WINDOW, 40 * widened)

    def throttled(self):
        """Operators throttled: what they throttle goes again at its time, behind others, and no attempt is recorded."""
        self.ordered = False

    def lost_confirmations(self):
        """Connections of ESMEs broke."""
        self.receipts += len(ACCOUNTS) * (LOAD_BINDS + 1) * ACCOUNT_WINDOW


def some(items):
    return ", ".join(str(item) for item in list(items)[:EXAMPLES])


class Walk:
    def __init__(self, world, tend, allowance, before):
        self.world, self.tend, self.allowance, self.before = world, tend, allowance, before
        self.findings = []
        # Since the world began: copies at operators, receipts that came again.
        self.duplicates = self.repeated = 0
        # Messages that were damaged on purpose and are listed.
        self.illegible = set()
        # Reference → sender, subscriber, when it was acknowledged (Unix milliseconds).
        self.acknowledged = {}

    def takes(self):
        return [take for one in self.world.operators.values() for take in one.takes]

    def ended(self):
        """Reference of a message → sessions that operators ended on it."""
        return sum((one.ended for one in self.world.operators.values()), Counter())

    def find(self, text):
        self.findings.append(text)

    def drain(self):
        """Waits until nothing is unfinished and no queue knows anything; tells what stays."""
        best, since = None, time.monotonic()
        while True:
            self.tend()
            try:
                active = int(self.world.rows("SELECT count(*) FROM active")[0][0])
                queued = sum(self.world.queues().values())
            except (OSError, RuntimeError) as error:
                active, queued, trouble = -1, -1, error
            if active == queued == 0:
                return
            if best is None or (active, queued) < best:
                best, since = (active, queued), time.monotonic()
            if time.monotonic() - since > STALLED[self.world.postgres is not None]:
                break
            time.sleep(0.5)
        if active < 0:
            self.find(f"the store or a node does not answer: {trouble}")
        elif active:
            self.unfinished(active)
        else:
            self.find(f"queues know {queued} messages that the store has ended: {self.world.queues()}")

    def unfinished(self, active):
        """By stage and queue, beside what the queue says, and what the operator says."""
        self.tell_of_unfinished(self.world.folder / "unfinished.tsv")
        queues = self.world.queues()
        rows = self.world.rows(
            "SELECT a.id, a.stage, (SELECT n.name FROM names n WHERE n.number = COALESCE((SELECT c.queue "
            "FROM change c WHERE c.id = a.id AND c.kind = 1 ORDER BY c.seq DESC LIMIT 1), a.queue)), "
            "(SELECT n.name FROM names n WHERE n.number = a.sender) FROM active a"
        )
        waiting = Counter(queue for _, stage, queue, _ in rows if stage == "waiting")
        waiting += Counter(sender for _, stage, _, sender in rows if stage == "untold")
        for queue, count in waiting.items():
            known = queues.get(queue, 0)
            ids = [row[0] for row in rows if row[1] != "sent" and queue == row[2 if row[1] == "waiting" else 3]]
            what = "are in no queue" if known < count else "wait without end"
            self.find(f"{count} of {active} unfinished messages of {queue} {what}: it knows {known}; {some(ids)}")
        sent = {int(row[0]) for row in rows if row[1] == "sent"}
        if not sent:
            return
        acknowledged, owed = [], []
        by_id = {take.id: take for take in self.takes()}
        for id, theirs in self.attempts():
            if int(id) in sent and theirs in by_id:
                (acknowledged if by_id[theirs].acknowledged else owed).append(id)
        if acknowledged:
            self.find(f"{len(acknowledged)} receipts were answered ESME_ROK and are lost; {some(acknowledged)}")
        if owed:
            self.find(f"{len(owed)} receipts are refused without end; {some(owed)}")

    def tell_of_unfinished(self, path):
        """Everything that the store has of some of them, for whoever looks for the cause."""
        table = "sent" if self.world.postgres else "attempts"
        some = (
            "(SELECT * FROM (SELECT id FROM active WHERE stage <> 'waiting' LIMIT 100) a "
            "UNION SELECT * FROM (SELECT id FROM active WHERE stage = 'waiting' LIMIT 100) b)"
        )
        with open(path, "w") as out:
            for what in (
                f"SELECT 'active', id, at, stage, queue FROM active WHERE id IN {some}",
                f"SELECT 'attempt', id, attempt, at, operator, status, operator_message_id FROM {table} "
                f"WHERE id IN {some}",
                f"SELECT 'change', id, seq, at, kind, queue FROM change WHERE id IN {some}",
                f"SELECT 'retry', id, due_at, attempts FROM retry WHERE id IN {some}",
                f"SELECT 'fin', id, at, state, tell FROM fin WHERE id IN {some}",
                "SELECT 'parked', operator_message_id, at, operator FROM parked LIMIT 1000",
                "SELECT 'name', number, name FROM names",
            ):
                for row in self.world.rows(what):
                    out.write("\t".join(map(str, row)) + "\n")

    def attempts(self):
        table = "sent" if self.world.postgres else "attempts"
        return self.world.rows(f"SELECT id, operator_message_id FROM {table} WHERE status = 0")

    def stored(self):
        """Message id → (reference, final state or None)."""
        reference = "reference(m.body)"
        if self.world.postgres:
            reference = "substring(encode(m.body, 'escape') from '[a-z0-9]{5}-[0-9]{10}')"
        rows = self.world.rows(
            f"SELECT m.id, {reference}, f.state FROM msg m LEFT JOIN fin f ON f.id = m.id"
        )
        return {int(id): (reference, int(state) if state else None) for id, reference, state in rows}

    def walk(self):
        accepted, told = self.read_senders()
        stored = self.stored()
        self.check_damaged(accepted, stored)
        lost = [id for id in accepted if id not in stored]
        if lost:
            self.find(f"{len(lost)} of {len(accepted)} acknowledged messages are not in the store; {some(lost)}")
        self.check_states(accepted, stored)
        self.check_told(accepted, told, stored)
        copies, ids = Counter(), Counter(reference for reference, _ in stored.values())
        for take in self.takes():
            copies[take.reference] += take.answered
        extra = {ref: count - ids[ref] for ref, count in copies.items() if count > ids[ref]}
        self.duplicates = sum(extra.values())
        duplicates = self.duplicates - self.before[0]
        if duplicates > self.allowance.copies:
            self.find(
                f"{duplicates} copies went to operators that had confirmed the message before, at most "
                f"{self.allowance.copies} are promised; {some(extra)}"
            )
        self.repeated = sum(len(states) - 1 for states in told.values())
        repeated = self.repeated - self.before[1]
        if repeated > self.allowance.receipts:
            self.find(f"{repeated} receipts came again, at most {self.allowance.receipts} are promised")
        overtaken = self.check_order(stored)
        dead = int(self.world.rows("SELECT count(*) FROM dead")[0][0])
        if dead:
            self.find(f"{dead} rows were put aside as unwritable")
        parked = int(self.world.rows("SELECT count(*) FROM parked")[0][0])
        return (
            f"{len(accepted)} acknowledged, {len(stored)} stored, {duplicates} duplicates "
            f"(at most {self.allowance.copies}), {repeated} receipts again "
            f"(at most {self.allowance.receipts}), {parked} receipts parked, {len(overtaken)} overtaken"
        )

    def check_damaged(self, accepted, stored):
        """Nothing that was damaged has become something else. What its row says is replaced by what was sent."""
        flipped = self.world.flipped
        if not flipped:
            return
        known = set(accepted.values())
        sent = {reference for reference, _ in stored.values()} | known
        self.world.damaged = damaged = {id for id, reference in accepted.items() if reference in flipped}
        # Of one whose acceptance nobody has seen it is not known what it was, unless its sender has sent it again.
        for id in stored.keys() - accepted.keys():
            if stored[id][0] not in known:
                stored[id] = (None, stored[id][1])
        for id in damaged & stored.keys():
            stored[id] = (accepted.get(id), stored[id][1])
        listed = {int(id) for (id,) in self.world.rows("SELECT id FROM damaged WHERE origin = 'msg'")}
        # Nobody can be told of these, however they ended.
        self.illegible = damaged & listed
        unsaid = [id for id in damaged if stored.get(id, (0, 0))[1] == UNKNOWN and id not in listed]
        if unsaid:
            self.find(f"{len(unsaid)} damaged messages were ended and are not listed; {some(unsaid)}")
        others = {take.reference for take in self.takes()} - sent
        if others:
            self.find(f"operators took {len(others)} texts that nobody sent; {some(others)}")

    def ended_damaged(self, id, stored):
        return id in self.world.damaged and stored[id][1] == UNKNOWN

    def read_senders(self):
        """Acknowledged: message id → reference. Told: message id → states."""
        accepted, told = {}, {}
        for journal in self.world.all_journals():
            for line in journal.read_text().splitlines() if journal.exists() else []:
                kind, *fields = line.split("\t")
                if kind == "A":
                    if int(fields[1]) in accepted:
                        self.find(f"message id {fields[1]} was given twice")
                    accepted[int(fields[1])] = fields[0]
                    account = journal.stem.split("-", 1)[-1]
                    # Journals of messages by HTTP, and of builds before, say less.
                    if len(fields) < 4:
                        continue
                    self.acknowledged[fields[0]] = (account, fields[2], int(fields[3]))
                elif kind == "R":
                    told.setdefault(int(fields[0]), []).append(STATES[fields[1]])
        for heir in self.world.heirs:
            for id, states in heir.told.items():
                told.setdefault(int(id), []).extend(states)
        return accepted, told

    def check_order(self, stored):
        """Messages of one sender to one subscriber reach an operator in the order of their acceptance, but for what came
        back to its queue or changed it. References are numbered as they were sent."""
        table = "sent" if self.world.postgres else "attempts"
        excused = {
            stored[int(id)][0]
            for (id,) in self.world.rows(
                f"SELECT id FROM {table} WHERE attempt > 1 OR status <> 0 OR status IS NULL "
                "UNION SELECT id FROM change"
            )
            if int(id) in stored
        }
        overtaken = []
        for operator in self.world.operators.values():
            newest, seen = {}, set()
            for take in operator.takes:
                known = self.acknowledged.get(take.reference)
                if known is None or take.reference in excused or take.reference in seen:
                    continue
                seen.add(take.reference)
                account, subscriber, at = known
                # A load of its own numbers its own.
                key = (account, subscriber, take.reference.split("-")[0])
                before = newest.get(key)
                if before and take.reference < before[0]:
                    if at + SIDE_BY_SIDE < before[1]:
                        overtaken.append(take.reference)
                else:
                    newest[key] = (take.reference, at)
        if overtaken and self.allowance.ordered and len(overtaken) > self.before_overtaken():
            self.find(f"{len(overtaken)} messages were overtaken by later ones of their sender; {some(overtaken)}")
        self.world.overtaken = len(overtaken)
        return overtaken

    def before_overtaken(self):
        """Those of the rounds before."""
        return getattr(self.world, "overtaken", 0)

    def check_states(self, accepted, stored):
        """Each final state is what an operator said of the message, but for what was refused and is taken back."""
        said = {}
        for take in self.takes():
            said.setdefault(take.reference, set()).add(take.state)
        for operator in self.world.operators.values():
            for reference in operator.rejected:
                said.setdefault(reference, set()).add(REJECTED)
        ended = self.ended()
        for reference, times in ended.items():
            if times >= POISONOUS:
                said.setdefault(reference, set()).add(UNDELIVERABLE)
        most = MOST_ENDED + SEARCH * self.allowance.moves
        endless = {reference: times for reference, times in ended.items() if times > most}
        if endless:
            self.find(f"{len(endless)} messages ended a session again and again; {some(endless.items())}")
        wrong = Counter()
        example = {}
        for id, (reference, state) in stored.items():
            is_taken_back = state == DELETED and id not in accepted
            is_known = is_taken_back or reference is None or self.ended_damaged(id, stored)
            if state is not None and not is_known and state not in said.get(reference, ()):
                wrong[state] += 1
                example[state] = id
        for state, count in wrong.items():
            self.find(f"{count} messages ended in state {state}, which no operator said of them; {example[state]}")

    def check_told(self, accepted, told, stored):
        silent = [id for id in accepted if id not in told and stored.get(id, (0, None))[1] is not None
                  and id not in self.illegible]
        if silent:
            self.find(f"{len(silent)} of {len(accepted)} acknowledged messages ended, nobody was told; {some(silent)}")
        unknown = [id for id in told if id not in stored]
        if unknown:
            self.find(f"{len(unknown)} receipts are about messages that are not in the store; {some(unknown)}")
        other = [id for id, states in told.items() if id in stored and set(states) != {stored[id][1]}
                 and not self.ended_damaged(id, stored)]
        if other:
            self.find(f"{len(other)} receipts tell another state than the store; {some(other)}")
