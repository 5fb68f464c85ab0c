"""The first process of the virtual machine: records a run, goes through its crash points, and tells what it finds.

Told lines begin with ": "; the last one with "= ", and is JSON.
"""

import json
import os
import random
import struct
import traceback
from collections import Counter
from pathlib import Path

from . import checks, kernel, traffic, write_log

# What the disks of the virtual machine are. The first one holds what mounting changes, too, when the run is over.
DISK, LOG, CUT, NOTES = "/dev/vda", "/dev/vdb", "/dev/vdc", "/dev/vdd"
# Told after so many points.
PROGRESS = 25
# Findings that are told; all are counted.
TOLD = 20


def sectors_of(device):
    return int(Path(f"/sys/block/{Path(device).name}/size").read_text())


class Guest:
    def __init__(self, options, port):
        self.options, self.port = options, port
        self.points = self.starts = self.findings = 0

    def say(self, kind, text):
        self.port.write(f"{kind} {text}\n")
        self.port.flush()

    def find(self, text):
        self.findings += 1
        if self.findings <= TOLD:
            self.say(":", f"WRONG: {text}")

    def record(self):
        """The run; its notes stay on a disk of their own, for --again."""
        size = sectors_of(DISK)
        with kernel.Device("recorded", size, "log-writes", f"{DISK} {LOG}") as recorded:
            done = os.spawnv(os.P_WAIT, "/sbin/mke2fs", [
                "mke2fs", "-q", "-t", "ext4", "-b", "4096", "-N", "1024", "-J", "size=8",
                "-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=0", recorded.path,
            ])
            if done != 0:
                raise RuntimeError(f"mke2fs ended with {done}")
            kernel.mount(recorded.path, traffic.DISK, "ext4")
            if self.options["without_fsync"]:
                # So that messages are lost, and not the whole store.
                for text in checks.start_and_stop():
                    self.find(text)
            recorded.message(f"mark {write_log.MADE}")
            run = traffic.Traffic(lambda name: recorded.message(f"mark {name}"), self.options)
            notes = run.run(kernel.without_fsync if self.options["without_fsync"] else None)
            recorded.message(f"mark {write_log.OVER}")
            kernel.unmount(traffic.DISK)
        for kind in traffic.KINDS - {note[0] for note in notes}:
            run.failed.append(f"nothing was {kind}: the run shows nothing of it")
        for text in run.failed:
            self.find(text)
        text = json.dumps(notes).encode()
        with open(NOTES, "wb") as disk:
            disk.write(struct.pack("<Q", len(text)) + text)
            disk.flush()
            os.fsync(disk)

    def notes(self):
        with open(NOTES, "rb") as disk:
            (length,) = struct.unpack("<Q", disk.read(8))
            return json.loads(disk.read(length))

    def replay(self):
        """Goes through the points in their order: CUT has what is durable, a snapshot of it the rest."""
        log = os.open(LOG, os.O_RDONLY)
        notes, epochs = self.notes(), write_log.read(lambda length, at: os.pread(log, length, at))
        points = write_log.points(epochs, self.options["points"], random.Random(self.options["seed"]))
        self.say(":", f"{len(epochs) - 1} flushes, {sum(len(epoch.writes) for epoch in epochs)} writes, notes: "
                      f"{counted(note[0] for note in notes)}; points: {counted(point.kind for point in points)}")
        durable, only = 0, self.options["only"]
        for point in points:
            if only not in (None, point.number):
                continue
            writes = [write for epoch in epochs[durable : point.epoch] for write in epoch.writes]
            durable = point.epoch
            copy(log, CUT, write_log.whole(writes))
            if only:
                # It is kept as the power cut has left it.
                copy(log, CUT, point.parts)
            with kernel.Device("cut", sectors_of(CUT), "snapshot", f"{CUT} {DISK} N 8") as disk:
                copy(log, disk.path, point.parts)
                self.look(point, disk.path, notes[: point.notes or 0])
            self.points += 1
            if point.number % PROGRESS == 0:
                self.say(":", f"point {point.number}, {self.findings} findings")

    def look(self, point, path, notes):
        found = []
        try:
            kernel.mount(path, traffic.DISK, "ext4")
        except OSError as error:
            found.append(f"it cannot be mounted: {error}")
        else:
            # Before the first start was over there may be no store.
            is_early = point.notes is None
            try:
                if not is_early:
                    found += checks.fsck() + checks.missing(notes)
                if is_early or point.number % self.options["starts"] == 0:
                    self.starts += 1
                    found += checks.start_and_stop() + checks.fsck() + checks.missing(notes)
            finally:
                kernel.unmount(traffic.DISK)
        for text in found:
            self.find(f"point {point.number} ({point.kind}, flush {point.epoch}, {len(notes)} notes): {text}")


def counted(kinds):
    return ", ".join(f"{count} {kind}" for kind, count in Counter(kinds).most_common())


def copy(log, path, parts):
    """From the log to a disk."""
    disk = os.open(path, os.O_RDWR)
    for write, begin, length in parts:
        octets = bytes(length) if write.source is None else os.pread(log, length, write.source + begin)
        os.pwrite(disk, octets, write.at + begin)
    os.fsync(disk)
    os.close(disk)


def main():
    kernel.mount("proc", "/proc", "proc")
    kernel.mount("sys", "/sys", "sysfs")
    kernel.mount("dev", "/dev", "devtmpfs")
    kernel.load_modules("/modules")
    kernel.loopback_up()
    traffic.LOGS.mkdir()
    options = json.loads(Path("/options.json").read_text())
    Path("/smsc.toml").write_text(traffic.CONFIGURATION)
    with open("/dev/ttyS1", "w") as port:
        guest = Guest(options, port)
        try:
            if not options["again"]:
                guest.say(":", "recording")
                guest.record()
            guest.replay()
        except BaseException:
            guest.find(" | ".join(traceback.format_exc().splitlines()))
        guest.say("=", json.dumps({key: getattr(guest, key) for key in ("points", "starts", "findings")}))
    kernel.power_off()
