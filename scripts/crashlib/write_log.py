"""What dm-log-writes has written of a disk, and the states of that disk that a power cut may leave behind.

The log (drivers/md/dm-log-writes.c of Linux) lists writes in the order in which they became durable: FUA writes when they
are over, others in front of the flush that made them durable, marks when they are set. Between two flushes a disk may hold
any part of what the second one makes durable, but whole FUA writes as soon as they are over.
"""

import struct
from collections import namedtuple

MAGIC, VERSION = 0x6A736677736872, 1
FLUSH, FUA, DISCARD, MARK = 1, 2, 4, 8
ENTRY = struct.Struct("<QQQQ")
# What a disk writes as a whole or not at all.
ATOMIC = 512
# The share of points with nothing but what is durable for sure.
SURE = 0.5
# The disk is made, the run is over.
MADE, OVER = "made", "over"

# `length` octets at `at`, which are at `source` in the log, or zeros where that is None.
Write = namedtuple("Write", "at length source fua")
# What one flush makes durable, and the marks since the flush before: (FUA writes in front of it, its name).
Epoch = namedtuple("Epoch", "writes marks")
# The first `epoch` epochs are durable, and of the next one `parts`: (write, first octet, length). `notes` is what the last
# number among the marks before says, None without one.
Point = namedtuple("Point", "number kind epoch parts notes")


def read(log):
    """The epochs of a log that `log(length, at)` reads; no flush has ended the last one."""
    magic, version, count, sector = struct.unpack("<QQQI", log(28, 0))
    if (magic, version) != (MAGIC, VERSION):
        raise ValueError("this is no log of dm-log-writes")
    at, epochs, writes, marks = sector, [], [], []
    for _ in range(count):
        head = log(sector, at)
        first, sectors, flags, data = ENTRY.unpack_from(head)
        at += sector
        if flags & MARK:
            name = head[ENTRY.size : ENTRY.size + data].rstrip(b"\0").decode()
            marks.append((sum(write.fua for write in writes), name))
            continue
        if flags & FLUSH:
            # The flush is before the write that it came with.
            epochs.append(Epoch(writes, marks))
            writes, marks = [], []
        if sectors:
            source = None if flags & DISCARD else at
            writes.append(Write(first * sector, sectors * sector, source, bool(flags & FUA)))
            at += 0 if source is None else sectors * sector
    return epochs + [Epoch(writes, marks)]


def notes_of(marks, before):
    """What the last number says, or `before`."""
    return next((int(name) for name in reversed(marks) if name.isdigit()), before)


def points(epochs, wanted, chance):
    """At most `wanted` points from MADE to OVER: what is durable for sure, and with what may be there beside it."""
    sure, more = [], []
    notes, is_made = None, False
    for index, epoch in enumerate(epochs):
        names = [name for _, name in epoch.marks]
        is_made |= MADE in names
        if is_made:
            flushed = [write for write in epoch.writes if write.fua]
            for count in range(len(flushed) + 1):
                early = [name for before, name in epoch.marks if before <= count]
                sure.append(Point(0, "durable", index, whole(flushed[:count]), notes_of(early, notes)))
            if len(flushed) < len(epoch.writes):
                more.append((index, epoch, notes_of(names, notes)))
        notes = notes_of(names, notes)
        if OVER in names:
            break
    else:
        raise ValueError("the log ends before the run does: its disk is too small")
    chosen = chance.sample(sure, min(int(wanted * SURE) if more else wanted, len(sure)))
    if more:
        chosen += [draw(*chance.choice(more), chance) for _ in range(wanted - len(chosen))]
    chosen.sort(key=lambda point: point.epoch)
    return [point._replace(number=number) for number, point in enumerate(chosen, 1)]


def draw(index, epoch, notes, chance):
    """Before the next flush: all FUA writes, and some of the others."""
    flushed = [write for write in epoch.writes if write.fua]
    others = [write for write in epoch.writes if not write.fua]
    kind = chance.choice(("prefix", "subset", "torn"))
    if kind == "prefix":
        kept = whole(others[: chance.randint(1, len(others))])
    elif kind == "subset":
        share = chance.choice((0.1, 0.5, 0.9))
        kept = whole(write for write in others if chance.random() < share)
    else:
        kept = [part for write in others for part in torn(write, chance)]
    # FUA writes are listed when they are over, others of the same place may be older.
    return Point(0, kind, index, kept + whole(flushed), notes)


def whole(writes):
    return [(write, 0, write.length) for write in writes]


def torn(write, chance):
    """All of a write, nothing, its beginning, its end, or some of its sectors."""
    if write.source is None:
        return whole([write] * chance.randint(0, 1))
    count = write.length // ATOMIC
    cut = chance.randint(0, count) * ATOMIC
    some = [(write, number * ATOMIC, ATOMIC) for number in range(count) if chance.random() < 0.5]
    return chance.choice(
        ([], whole([write]), [(write, 0, cut)], [(write, cut, write.length - cut)], some)
    )
