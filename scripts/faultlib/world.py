"""The SMSC under test, one node or several, with its operators, its senders and its store."""

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

from . import smpp
from .plan import MOODS, OPERATORS, ROUTES
from .servers import Disk, free_port, until
from .upstream import Mood, Upstream

TOKEN = "faults"
ACCOUNTS = {"alpha": "transceiver", "beta": "transmitter+receiver"}
PASSWORD = "faults"
LOAD_BINDS, LOAD_WINDOW = 2, 50
ACCOUNT_WINDOW = 50
# What a crash may leave behind, with the binds of OPERATOR_BINDS and the windows of all of them.
COMMIT_BATCH = 128
BINDS, WINDOW = 2, 20
# Destinations: a hundred of each route.
DESTINATIONS = f"{ROUTES[0]}00+{len(ROUTES) * 100}"
LEASE_LOST = "standing back"
# Asks the embedded store from inside its namespace: SQLite does not find it by the way through /proc.
READER = r'''
import json, re, sqlite3, sys
store = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True, timeout=10)
def reference(body):
    found = re.search(rb"[a-z0-9]{5}-[0-9]{10}", body or b"")
    return found and found[0].decode()

store.create_function("reference", 1, reference)
json.dump(store.execute(sys.argv[2]).fetchall(), sys.stdout)
'''


# Flips bits of messages in a file, by dice: in their texts, and in what stands before these in their rows.
FLIPPER = r'''
import random, re, sys
path, bits, seed = sys.argv[1], int(sys.argv[2]), sys.argv[3]
dice = random.Random(seed)
with open(path, "r+b") as file:
    octets = file.read()
    texts = [found.start() for found in re.finditer(rb"[a-z0-9]{5}-[0-9]{10}", octets)]
    for start in dice.sample(texts, min(bits, len(texts))):
        at = start + dice.randrange(-40, 16)
        file.seek(at)
        file.write(bytes([octets[at] ^ 1 << dice.randrange(8)]))
        print(octets[start:start + 16].decode())
'''


class Background:
    """An asyncio loop on a thread of its own, for the peers."""

    def __init__(self):
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, daemon=True).start()

    def do(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(30)

    def call(self, function, *arguments):
        async def now():
            return function(*arguments)

        return self.do(now())

    def spawn(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop)

    def end(self):
        async def cancel_all():
            for task in asyncio.all_tasks() - {asyncio.current_task()}:
                task.cancel()

        self.do(cancel_all())
        self.loop.call_soon_threadsafe(self.loop.stop)


class Node:
    """One process of `smsc serve`, which is started again when it ends by itself."""

    def __init__(self, world, number):
        self.world, self.number = world, number
        self.name = f"node{number}"
        self.folder = world.folder / self.name
        self.folder.mkdir()
        self.binary = world.binary
        self.smpp, self.http = free_port(), free_port()
        self.process, self.wanted, self.frozen = None, False, False
        self.ended_at = 0
        self.log_seen = 0
        self.offset = self.folder / "clock"
        self.set_clock(0)
        self.data = self.folder / "data"
        self.disk = Disk(self.data) if world.postgres is None else None
        # The ways to PostgreSQL, one for each host of the URL.
        self.gates = []

    def log(self):
        path = self.folder / "smsc.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def new_log(self):
        """What was logged since this was asked last."""
        log = self.log()
        seen, self.log_seen = self.log_seen, len(log)
        return log[seen:]

    def set_clock(self, jump):
        # Renamed into place: it is read at any moment.
        fresh = self.offset.with_suffix(".new")
        fresh.write_text(f"{jump:+d}\n")
        os.replace(fresh, self.offset)

    def start(self):
        self.wanted, self.ended_at = True, 0
        command = [
            "env", f"LD_PRELOAD={self.world.faketime}", f"FAKETIME_TIMESTAMP_FILE={self.offset}",
            "FAKETIME_CACHE_DURATION=1", "DONT_FAKE_MONOTONIC=1", "FAKETIME_DONT_FAKE_MONOTONIC=1",
            "RUST_BACKTRACE=1", str(self.binary), "serve", "--config", str(self.folder / "smsc.toml"),
        ]
        if self.disk:
            command = self.disk.inside(*command)
        log = open(self.folder / "smsc.log", "a")
        self.process = subprocess.Popen(command, cwd=self.folder, stdout=log, stderr=log)

    def flip(self, bits, seed):
        """Flips bits of messages in its store, while it is stopped; the references of these messages."""
        command = [sys.executable, "-c", FLIPPER, str(self.data / "smsc.db"), str(bits), seed]
        flipped = subprocess.run(self.disk.inside(*command), check=True, capture_output=True, text=True)
        return set(flipped.stdout.split())

    def runs(self):
        return self.process is not None and self.process.poll() is None

    def kill(self):
        self.wanted = False
        self.thaw()
        if self.runs():
            self.process.kill()
            self.process.wait()

    def stop(self, patience=60):
        self.wanted = False
        self.thaw()
        if self.runs():
            self.process.terminate()
            try:
                return self.process.wait(patience)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                return "no end"
        return 0

    def freeze(self):
        if self.runs():
            self.frozen = True
            self.process.send_signal(signal.SIGSTOP)

    def thaw(self):
        if self.frozen and self.runs():
            self.process.send_signal(signal.SIGCONT)
        self.frozen = False

    def request(self, method, path, body=None, timeout=10):
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.http}{path}", method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            return json.load(answer)

    def is_ready(self):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.http}/health/ready", timeout=2) as answer:
                return answer.status == 200
        except OSError:
            return False


class World:
    """Everything of one run that lasts over rounds; thrown away after a round with findings."""

    def __init__(self, folder, binary, nodes, tools, postgres, redis, seed):
        self.folder, self.binary, self.postgres, self.redis = folder, binary, postgres, redis
        folder.mkdir()
        self.faketime = tools.library("faketime/libfaketimeMT.so.1")
        self.peers = Background()
        self.operators = {
            name: Upstream(name, (number + 1) * 10**9, random.Random(f"{seed}/{name}"))
            for number, name in enumerate(OPERATORS)
        }
        for operator in self.operators.values():
            self.peers.do(operator.start())
        if postgres:
            postgres.database = f"faults_{os.getpid()}_{folder.name.replace('-', '_')}"
            subprocess.run(
                [tools.program("psql"), "-X", "-q", "-c", f"CREATE DATABASE {postgres.database}",
                 f"postgres://postgres@127.0.0.1:{postgres.port}/postgres"],
                check=True, env=tools.environment(),
            )
        self.nodes = [Node(self, number) for number in range(nodes)]
        self.entry = smpp.Relay(lambda: [
            node.smpp for node in self.nodes if node.runs() and not node.frozen
        ])
        self.peers.do(self.entry.start())
        self.heirs, self.heir_tasks, self.journals = [], [], []
        # References of messages that were damaged on purpose, and the ids of those that were acknowledged.
        self.flipped, self.damaged = set(), set()
        self.settings = self.resources()
        for node in self.nodes:
            self.configure(node)
        if postgres:
            self.run("migrate", "--config", "smsc.toml")

    def operator(self, name, **changes):
        binds = {"opz": 1}.get(name, BINDS)
        return dict(
            address=f"127.0.0.1:{self.operators[name].port}", system_id="smsc", password="secret",
            binds=binds, window=WINDOW, rate=1000.0, reconnect=["200ms"], response_timeout="5s",
            bind_timeout="3s", enquire_link_interval="5s", enquire_link_timeout="5s", **changes,
        )

    def resources(self):
        """Path below /v1 → settings, as they are when all is well."""
        found = {f"operators/{name}": self.operator(name) for name in OPERATORS}
        targets = [["opx", "opy"], ["opy", "opx"], ["opz", "opx"], {"opx": 50, "opy": 50}]
        for route, to in zip(ROUTES, targets):
            found[f"routes/{route}"] = dict(prefix=route, to=to)
        return found

    def configure(self, node):
        lines = [
            f'data_dir = "{node.data}"',
            'retry = { delays = ["1s"] }',
            'queue = { failover_after = "3s" }',
            # A small log: a full disk is felt at once, not when the log has been gone through.
            f'store = {{ min_free_mib = 1, batch_rows = {COMMIT_BATCH}, wal_autocheckpoint = 100 }}',
            f'smpp = {{ listen = "127.0.0.1:{node.smpp}", enquire_link_interval = "10s", '
            'response_timeout = "10s", drain_timeout = "5s" }',
            f'http = {{ listen = "127.0.0.1:{node.http}", admin_token = "{TOKEN}" }}',
        ]
        if self.postgres:
            node.gates = [smpp.Relay(lambda: [self.postgres.port]) for _ in range(2)]
            for gate in node.gates:
                self.peers.do(gate.start())
            hosts = ",".join(f"127.0.0.1:{gate.port}" for gate in node.gates)
            url = f"postgres://postgres@{hosts}/{self.postgres.database}?target_session_attrs=read-write&connect_timeout=2"
            lines += [
                f'postgres = {{ url = "{url}", batch_rows = {COMMIT_BATCH} }}',
                f'redis = {{ url = "redis://127.0.0.1:{self.redis.port}" }}',
                'cluster = { lease = "4s", heartbeat = "400ms", margin = "1s", poll = "300ms" }',
            ]
        lines += self.more_lines(node)
        tables = self.more_tables() + [
            f'[[account]]\nsystem_id = "{name}"\npassword = "{PASSWORD}"\nmax_binds = 100\n'
            f'window = {ACCOUNT_WINDOW}'
            for name in ACCOUNTS
        ]
        for path, settings in self.settings.items():
            kind, name = path.split("/")
            named = {"id": name} if kind == "operators" else {}
            tables.append(f"[[{kind[:-1]}]]\n" + "\n".join(
                f"{key} = {toml(value)}" for key, value in {**named, **settings}.items()
            ))
        (node.folder / "smsc.toml").write_text("\n".join(lines + tables) + "\n")

    def more_lines(self, node):
        """Settings of a node beside those above."""
        return []

    def more_tables(self):
        """Accounts beside those above."""
        return []

    def all_journals(self):
        """What senders have noted, and what they were told."""
        return self.journals

    def run(self, *arguments):
        done = subprocess.run(
            [self.binary, *arguments], cwd=self.nodes[0].folder, capture_output=True, text=True
        )
        if done.returncode != 0:
            raise RuntimeError(f"smsc {arguments[0]}: {done.stdout}{done.stderr}")

    def repair_ids(self):
        """`smsc repair-ids`, while no node runs; gives what it says."""
        node = self.nodes[0]
        command = [str(self.binary), "repair-ids", "--yes", "--config", str(node.folder / "smsc.toml")]
        done = subprocess.run(
            node.disk.inside(*command) if node.disk else command, capture_output=True, text=True
        )
        return " ".join((done.stdout + done.stderr).split())[:200]

    def put(self, path, settings, patience=20, may_be_wrong=False):
        """By any node that answers; False when none does in time. None removes it. What does not go with
        what another fault has changed may be wrong."""
        limit = time.monotonic() + patience
        while time.monotonic() < limit:
            for node in self.nodes:
                if not node.runs() or node.frozen:
                    continue
                try:
                    node.request("DELETE" if settings is None else "PUT", f"/v1/{path}", settings)
                    return True
                except urllib.error.HTTPError as error:
                    if error.code == 404 and settings is None:
                        return True
                    said = error.read().decode(errors="replace")
                    if error.code == 422 and may_be_wrong:
                        return False
                    if error.code == 422:
                        raise RuntimeError(f"PUT {path}: {said}")
                except (OSError, ValueError):
                    pass
            time.sleep(0.3)
        return False

    def be(self, whose, mood):
        chosen = OPERATORS if whose == "all" else [whose]
        knobs = MOODS[mood][1] if mood else {}
        for name in chosen:
            self.peers.do(self.operators[name].be(Mood(**knobs)))

    def start_load(self, round_number, seconds, rate):
        return [
            self.start_load_of(account, f"round{round_number}-{account}", seconds, rate / len(ACCOUNTS), DESTINATIONS)
            for account in ACCOUNTS
        ]

    def start_load_of(self, account, name, seconds, rate, destinations):
        journal = self.folder / f"{name}.journal"
        log = open(journal.with_suffix(".log"), "a")
        self.journals.append(journal)
        return subprocess.Popen(
            # In scripts/mixed it is the build before, which has no --host yet.
            [self.binary, "load", "--to", f"127.0.0.1:{self.entry.port}", "--system-id", account,
             "--password", PASSWORD, "--binds", str(LOAD_BINDS), "--bind-type", ACCOUNTS[account],
             "--window", str(LOAD_WINDOW), "--rate", str(rate),
             "--duration", f"{seconds}s", "--settle", "20s", "--destinations", destinations,
             "--journal", journal],
            stdout=log, stderr=log,
        )

    def start_heirs(self):
        if not self.heirs:
            self.heirs = [smpp.Heir(self.entry.port, account, PASSWORD) for account in ACCOUNTS]
        self.heir_tasks = [self.peers.spawn(heir.run()) for heir in self.heirs]

    def stop_heirs(self):
        for task in self.heir_tasks:
            task.cancel()
        self.heir_tasks = []

    def rows(self, sql):
        if self.postgres:
            return self.postgres.query(sql)
        asked = subprocess.run(
            self.nodes[0].disk.inside(sys.executable, "-c", READER, str(self.nodes[0].data / "smsc.db"), sql),
            capture_output=True, text=True,
        )
        if asked.returncode != 0:
            raise RuntimeError(asked.stderr.strip())
        return json.loads(asked.stdout)

    def queues(self):
        """Queue → messages that it knows, over all nodes."""
        known = {}
        for node in self.nodes:
            if node.runs():
                for queue in node.request("GET", "/v1/queues")["queues"]:
                    count = queue["waiting"] + queue["scheduled"] + queue["in_flight"]
                    known[queue["name"]] = known.get(queue["name"], 0) + count
        return known

    def leases_lost(self):
        return sum(node.log().count(LEASE_LOST) for node in self.nodes)

    def wait_until_ready(self, patience=90, tend=lambda: None):
        """Until all wanted nodes are ready; `tend` starts those again that could not reach what they need."""
        for node in self.nodes:
            if node.wanted:
                until(f"{node.name} to be ready", lambda node=node: (tend(), node.is_ready())[1], patience)

    def stop(self):
        self.stop_heirs()
        ends = [node.stop() for node in self.nodes]
        return ends

    def throw_away(self):
        for node in self.nodes:
            node.kill()
            if node.disk:
                node.disk.stop()
        self.peers.end()


def toml(value):
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {toml(one)}" for key, one in value.items()) + " }"
    return json.dumps(value)
