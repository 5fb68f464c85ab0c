"""The core of a GSM network with its phones, played by `smsc simulate --protocol gsup`, for scripts/mixed."""

import re
import subprocess
from collections import Counter
from pathlib import Path

from .servers import free_port
from .upstream import Take

NAME = "home"
# The numbers of its subscribers, and how their IMSIs begin.
PREFIX, IMSIS = "4916", "00101"
# Twenty phones.
DESTINATIONS = f"{PREFIX}000000+20"
DELIVERED = 2
REFERENCE = re.compile("[a-z0-9]{5}-[0-9]{10}")


def are_known(binary):
    """Whether a build delivers to handsets at all: if not, it refuses their configuration."""
    said = subprocess.run([binary, "simulate", "--help"], capture_output=True, text=True)
    return "gsup" in said.stdout


class Core:
    """A process of its own; what phones have taken is in its journal. To a walk of the history it is an operator."""

    def __init__(self, binary, folder: Path):
        self.port, self.journal = free_port(), folder / "handsets.journal"
        self.rejected = set()
        # It ends no sessions on messages.
        self.ended = Counter()
        command = [
            str(binary), "simulate", "--protocol", "gsup", "--listen", f"127.0.0.1:{self.port}",
            "--latency", "1ms..20ms", "--journal", str(self.journal),
        ]
        log = open(folder / "handsets.log", "a")
        self.process = subprocess.Popen(command, stdout=log, stderr=log)

    @property
    def takes(self):
        """What phones have taken, so far."""
        lines = self.journal.read_text().splitlines() if self.journal.exists() else []
        rows = [line.split("\t") for line in lines]
        return [
            Take(REFERENCE.search(text)[0], number, DELIVERED, int(at) / 1000, b"", imsi.encode(), text.encode(),
                 answered=True, acknowledged=True)
            for number, imsi, text, at, _ in rows
        ]

    def stop(self):
        self.process.terminate()
        self.process.wait(30)


def tables(port, folder: Path):
    """The network and the way to it, for the configuration of every node; the table of IMSIs is written there."""
    table = folder / "imsis.csv"
    table.write_text(f"{PREFIX}*,{IMSIS}*\n")
    return [
        f'[[gsm]]\nname = "{NAME}"\naddress = "127.0.0.1:{port}"\nsmsc_address = "49160000"\nreconnect = ["200ms"]',
        f'[imsi]\ntable = "{table}"',
        f'[[route]]\nprefix = "{PREFIX}"\nto = ["gsm:{NAME}"]',
    ]
