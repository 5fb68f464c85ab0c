"""The SMSC with its peers in the virtual machine, and the notes of what it has acknowledged.

A note is a tuple: (accepted, id), (final, id, state), (cancelled, id), (replaced, id, text), (routed, prefix). Every few
milliseconds their number so far goes into the log of the disk as a mark: all that was noted before is promised there.
"""

import asyncio
import json
import subprocess
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

from faultlib import smpp
from faultlib.servers import until

KINDS = {"accepted", "final", "cancelled", "replaced", "routed"}
SMSC = "/bin/smsc"
DISK = Path("/disk")
DATA = DISK / "data"
LOGS = Path("/logs")
JOURNAL = LOGS / "load.journal"
SMPP, HTTP, OPERATOR, NOBODY = 2775, 8080, 2776, 9
TOKEN = PASSWORD = "crash"
# Between two marks (seconds).
MARKS = 0.05
# Binds that submit, replace and cancel, and how long each rests between two operations (seconds).
CHANGERS, REST = 3, 0.05
# Between two routes (seconds).
ROUTES = 0.5
# For an answer: the machine is slow, and the host may be busy (seconds).
PATIENCE = 120
# The log is small, so that it is copied into the database and begun again many times.
CONFIGURATION = f"""
data_dir = "{DATA}"
store = {{ min_free_mib = 1, wal_autocheckpoint = 100 }}
smpp = {{ listen = "127.0.0.1:{SMPP}" }}
http = {{ listen = "127.0.0.1:{HTTP}", admin_token = "{TOKEN}" }}

[[account]]
system_id = "load"
password = "{PASSWORD}"
max_binds = 4

[[account]]
system_id = "changer"
password = "{PASSWORD}"
max_binds = {CHANGERS}

[[operator]]
id = "up"
address = "127.0.0.1:{OPERATOR}"
system_id = "smsc"
binds = 2
window = 20
reconnect = ["200ms"]

[[operator]]
id = "away"
address = "127.0.0.1:{NOBODY}"
system_id = "smsc"
binds = 1

[[route]]
prefix = "4477"
to = ["up"]

[[route]]
prefix = "88"
to = ["away"]
"""
REPLACE_SM, CANCEL_SM = 7, 8
SOURCE = b"\1\1" + b"12345\0"
WAITING = b"\1\1" + b"8800001\0"


def start(name, *arguments, **options):
    log = open(LOGS / f"{name}.log", "ab")
    return subprocess.Popen([SMSC, *arguments], stdout=log, stderr=log, cwd="/", **options)


def serve(**options):
    return start("serve", "serve", "--config", "/smsc.toml", **options)


def ask(method, path, body=None):
    request = urllib.request.Request(
        f"http://127.0.0.1:{HTTP}{path}", method=method, data=body and json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        return answer.read()


def is_ready():
    try:
        ask("GET", "/health/ready")
        return True
    except OSError:
        return False


class Traffic:
    """From the first start of an SMSC to its death."""

    def __init__(self, mark, options):
        # mark(text) puts a mark into the log of the disk.
        self.mark, self.options = mark, options
        self.notes, self.is_over = [], threading.Event()
        self.lock = threading.Lock()
        self.failed = []

    def note(self, *what):
        with self.lock:
            self.notes.append(what)

    def run(self, preexec):
        options = self.options
        server = serve(preexec_fn=preexec)
        until("the SMSC to be ready", lambda: is_ready() or server.poll() is not None, PATIENCE)
        peers = [
            start("simulate", "simulate", "--listen", f"127.0.0.1:{OPERATOR}", "--receipts", "mixed",
                  "--receipt-delay", "0s..500ms"),
            start("load", "load", "--system-id", "load", "--password", PASSWORD, "--binds", "2", "--window", "20",
                  "--rate", str(options["rate"]), "--duration", f"{options['seconds'] + 60}s", "--journal", str(JOURNAL)),
        ]
        threads = [threading.Thread(target=self.guard, args=[part]) for part in (self.marks, self.changes, self.routes)]
        for thread in threads:
            thread.start()
        self.is_over.wait(options["seconds"])
        self.is_over.set()
        if server.poll() is not None:
            self.failed.append(f"the SMSC ended by itself with {server.returncode}")
        for thread in threads:
            thread.join()
        for process in (server, *peers):
            process.kill()
            process.wait()
        return self.notes

    def guard(self, part):
        """A part that fails ends everything."""
        try:
            part()
        except Exception as error:
            self.failed.append(f"{part.__name__}: {type(error).__name__} {error}")
            self.is_over.set()

    def marks(self):
        rest = b""
        until("the journal of the load", JOURNAL.exists)
        with open(JOURNAL, "rb") as journal:
            while not self.is_over.wait(MARKS):
                *lines, rest = (rest + journal.read()).split(b"\n")
                for line in lines:
                    kind, *fields = line.decode().split("\t")
                    if kind == "A":
                        self.note("accepted", int(fields[1]))
                    elif kind == "R":
                        self.note("final", int(fields[0]), fields[1])
                self.mark(str(len(self.notes)))

    def routes(self):
        number = 0
        while not self.is_over.wait(ROUTES):
            prefix = f"99{number}"
            ask("PUT", f"/v1/routes/{prefix}", {"prefix": prefix, "to": ["away"]})
            self.note("routed", prefix)
            number += 1

    def changes(self):
        async def all_of_them():
            await asyncio.gather(*(self.change(number) for number in range(CHANGERS)))

        asyncio.run(all_of_them())

    async def change(self, number):
        """Submits messages that wait; replaces the text of each, and cancels every other one."""
        reader, writer = await asyncio.open_connection("127.0.0.1", SMPP)
        sequence = 0

        async def answer(command, body):
            nonlocal sequence
            sequence += 1
            writer.write(smpp.pdu(command, sequence, body))
            while True:
                got, status, its, body = await asyncio.wait_for(smpp.read_pdu(reader), PATIENCE)
                if got == smpp.ENQUIRE_LINK:
                    writer.write(smpp.pdu(got | smpp.RESPONSE, its))
                elif its == sequence:
                    break
            if status != smpp.ROK:
                raise RuntimeError(f"command {command} was answered with {status:#x}")
            return body

        def text(what, turn):
            octets = f"{what} {number}-{turn}.".encode()
            return bytes([len(octets)]) + octets

        names = b"changer\0" + PASSWORD.encode() + b"\0"
        await answer(smpp.BIND_TRANSMITTER, names + b"\0\x34\0\0\0")
        turn = 0
        while not self.is_over.is_set():
            turn += 1
            message = b"\0" + SOURCE + WAITING + b"\0\0\0\0\0\0\0\0\0" + text("first", turn)
            id = (await answer(smpp.SUBMIT_SM, message)).rstrip(b"\0")
            self.note("accepted", int(id))
            await asyncio.sleep(REST)
            new = text("second", turn)
            await answer(REPLACE_SM, id + b"\0" + SOURCE + b"\0\0\0\0" + new)
            self.note("replaced", int(id), new[1:].decode())
            await asyncio.sleep(REST)
            if turn % 2:
                await answer(CANCEL_SM, b"\0" + id + b"\0" + SOURCE + WAITING)
                self.note("cancelled", int(id))
        writer.close()
