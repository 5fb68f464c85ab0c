"""Whether a disk that a power cut has left is one from which an SMSC goes on."""

import re
import signal
import sqlite3
import subprocess
import time
from contextlib import closing

from . import traffic

# As `smsc load` writes them.
STATES = {
    "DELIVERED": 2, "EXPIRED": 3, "DELETED": 4, "UNDELIVERABLE": 5, "ACCEPTED": 6, "UNKNOWN": 7, "REJECTED": 8,
}
REPLACE = 4
# Until it is ready, and until it has stopped (seconds).
PATIENCE = 120


def fsck():
    done = subprocess.run([traffic.SMSC, "fsck", traffic.DATA], capture_output=True, text=True)
    if done.returncode == 0:
        return []
    said = (done.stdout + done.stderr).splitlines()
    return [f"fsck: {line}" for line in said if "problem" in line] or [f"fsck: {' '.join(said)}"]


def start_and_stop():
    """The SMSC starts on it, and ends as it should."""
    log = traffic.LOGS / "serve.log"
    seen = log.stat().st_size if log.exists() else 0
    server = traffic.serve()
    try:
        limit = time.monotonic() + PATIENCE
        while not traffic.is_ready():
            if server.poll() is not None or time.monotonic() > limit:
                return [f"the SMSC does not start ({server.returncode}): {tail(log, seen)}"]
            time.sleep(0.05)
        server.send_signal(signal.SIGTERM)
        code = server.wait(PATIENCE)
        return [f"the SMSC stopped with {code}: {tail(log, seen)}"] if code else []
    except subprocess.TimeoutExpired:
        return [f"the SMSC does not stop: {tail(log, seen)}"]
    finally:
        server.kill()
        server.wait()


def tail(log, seen):
    text = re.sub(r"\x1b\[[0-9;]*m", "", log.read_bytes()[seen:].decode(errors="replace"))
    return " | ".join(text.splitlines()[-3:])


def missing(notes):
    """What was noted and is not in the store, in words."""
    try:
        with closing(sqlite3.connect(f"file:{traffic.DATA}/smsc.db?mode=ro", uri=True)) as store:
            messages = {id for (id,) in store.execute("SELECT id FROM msg")}
            states = dict(store.execute("SELECT id, state FROM fin"))
            routes = {name for (name,) in store.execute("SELECT name FROM routes")}
            texts = {}
            for id, body in store.execute("SELECT id, body FROM change WHERE kind = ?", [REPLACE]):
                texts.setdefault(id, []).append(body)
    except sqlite3.Error as error:
        return [f"the store cannot be read: {error}"]
    lost = {}
    for what, *about in notes:
        if not is_there(what, about, messages, states, routes, texts):
            lost.setdefault(what, []).append(about)
    return [
        f"{len(those)} {what} of {sum(note[0] == what for note in notes)} lost, the first one {those[0]}"
        for what, those in lost.items()
    ]


def is_there(what, about, messages, states, routes, texts):
    id = about[0]
    if what == "accepted":
        return id in messages
    if what == "final":
        return states.get(id) == STATES[about[1]]
    if what == "cancelled":
        return states.get(id) == STATES["DELETED"]
    if what == "replaced":
        return any(about[1].encode() in body for body in texts.get(id, ()))
    return id in routes
