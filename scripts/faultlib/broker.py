"""A NATS server of a run's own, with what publishes commands on it and reads events from it (nats_peer.py)."""

import subprocess
import tempfile
from pathlib import Path

from .servers import free_port, is_open, until

PEER = Path(__file__).with_name("nats_peer.py")
# Five letters: the references of commands begin with it.
NAME = "natsc"


class Broker:
    def __init__(self, tools):
        self.program, self.python = tools.program("nats-server"), tools.debian.parent / "venv/bin/python"
        self.folder = Path(tempfile.mkdtemp(prefix="smsc-faults-nats-"))
        self.port, self.process, self.publisher = free_port(), None, None
        self.url = f"nats://127.0.0.1:{self.port}"
        self.journal = self.folder / "published"
        self.start()
        self.peer("prepare", check=True)

    def start(self):
        log = open(self.folder / "log", "a")
        self.process = subprocess.Popen(
            [self.program, "-js", "-sd", self.folder / "store", "-a", "127.0.0.1", "-p", str(self.port)],
            stdout=log, stderr=log,
        )
        until("nats-server to listen", lambda: is_open(self.port))

    def kill(self):
        self.process.kill()
        self.process.wait()

    def peer(self, verb, *arguments, **options):
        return subprocess.run([self.python, PEER, verb, self.url, *arguments], text=True, **options)

    def publish(self, rate):
        """Publishes commands until `finish`."""
        command = [self.python, PEER, "publish", self.url, NAME, str(rate), self.journal]
        self.publisher = subprocess.Popen(command, stdin=subprocess.PIPE)

    def finish(self):
        """The references of all commands that the server has confirmed."""
        self.publisher.stdin.close()
        self.publisher.wait(60)
        return self.journal.read_text().split()

    def events(self):
        """(event id, message id) of everything in the stream of events."""
        read = self.peer("read", check=True, stdout=subprocess.PIPE)
        return [tuple(line.split(" ", 1)) for line in read.stdout.splitlines()]

    def stop(self):
        if self.publisher:
            self.publisher.kill()
        self.kill()


def tables(url, account):
    """Commands as messages of an account, and all ends as events."""
    return [
        f'[[nats_source]]\nname = "commands"\nservers = ["{url}"]\nsubject = "smpp.operator.>"\naccount = "{account}"\n'
        'ack_wait = "5s"\ndead_letters = "sms.outbound.deadletter"',
        f'[[event_sink]]\nname = "events"\nservers = ["{url}"]\nevents = ["ended"]\nsubject = "sms.events.{{event}}"',
    ]
