"""PostgreSQL and Redis of a run's own, from the tools that scripts/test installs; and a disk that fills."""

import os
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

DISK_MIB = 512
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
POSTGRES = """
listen_addresses = '127.0.0.1'
port = {port}
unix_socket_directories = ''
shared_buffers = 256MB
max_connections = 300
dynamic_shared_memory_type = mmap
max_wal_size = 2GB
jit = off
"""


def until(what, look, patience=60):
    limit = time.monotonic() + patience
    while not look():
        if time.monotonic() > limit:
            raise TimeoutError(f"waited in vain: {what}")
        time.sleep(0.05)


def free_port():
    with socket.socket() as tried:
        tried.bind(("127.0.0.1", 0))
        return tried.getsockname()[1]


def is_open(port):
    with socket.socket() as tried:
        tried.settimeout(1)
        return tried.connect_ex(("127.0.0.1", port)) == 0


class Tools:
    """Programs and libraries of unpacked Debian packages, else of the machine."""

    def __init__(self, root):
        given = os.environ.get("SMSC_TEST_TOOLS")
        self.debian = Path(given or root / "target/test-tools").resolve() / "debian"

    def program(self, name):
        folders = [self.debian / "usr/bin", self.debian / "usr/sbin"]
        for base in (self.debian, Path("/")):
            folders += sorted(base.glob("usr/lib/postgresql/*/bin"), reverse=True)
        folders += map(Path, os.environ.get("PATH", "").split(":"))
        for folder in folders:
            # Debian's wrapper of psql wants a cluster of Debian's.
            if (folder / name).exists() and "postgresql-common" not in str((folder / name).resolve()):
                return str(folder / name)
        raise SystemExit(f"{name} is not installed: run scripts/test --setup first")

    def library(self, name):
        for base in (self.debian, Path("/")):
            for found in base.glob(f"usr/lib/*/{name}"):
                return str(found)
        raise SystemExit(f"{name} is not installed: run scripts/test --setup first")

    def environment(self):
        folders = [*self.debian.glob("usr/lib/*/"), *self.debian.glob("lib/*/")]
        return dict(os.environ, LD_LIBRARY_PATH=":".join(map(str, folders)))


class Postgres:
    def __init__(self, tools, settings=""):
        self.tools = tools
        self.folder = Path(tempfile.mkdtemp(prefix="smsc-faults-postgres-"))
        self.port = free_port()
        self.process = None
        self.not_as_root = NOBODY if os.geteuid() == 0 else []
        if self.not_as_root:
            os.chown(self.folder, 65534, 65534)
        data = self.folder / "data"
        subprocess.run(
            [*self.not_as_root, tools.program("initdb"), "-D", data, "-U", "postgres", "--auth=trust",
             "--encoding=UTF8", "--locale=C", "--no-sync"],
            check=True, stdout=subprocess.DEVNULL, env=tools.environment(), cwd="/",
        )
        with open(data / "postgresql.conf", "a") as file:
            file.write(POSTGRES.format(port=self.port) + settings)
        self.start()

    def start(self):
        def answers():
            # It gives up while a session of the one before still has its shared memory.
            if self.process is None or self.process.poll() is not None:
                self.launch()
            return self.query("SELECT 1", quiet=True) is not None

        # It repeats its log first, which takes a while where other programs have the machine.
        until("PostgreSQL to answer", answers, patience=180)

    def launch(self):
        log = open(self.folder / "log", "a")
        self.process = subprocess.Popen(
            [*self.not_as_root, self.tools.program("postgres"), "-D", self.folder / "data"],
            stdout=log, stderr=log, env=self.tools.environment(), cwd="/", start_new_session=True,
        )

    def url(self, port=None):
        return f"postgres://postgres@127.0.0.1:{port or self.port}/{self.database}"

    database = "postgres"

    def query(self, sql, quiet=False):
        """Rows of text columns; None when the server does not answer."""
        asked = subprocess.run(
            [self.tools.program("psql"), "-X", "-q", "-A", "-t", "-F", "\t", "-c", sql, self.url()],
            capture_output=True, text=True, env=self.tools.environment(),
        )
        if asked.returncode == 0:
            return [line.split("\t") for line in asked.stdout.splitlines()]
        if quiet:
            return None
        raise RuntimeError(f"{asked.stderr.strip()}: {sql}")

    def processes(self):
        """The server and its sessions: all of one process group, but for what setpriv was."""
        return [self.process.pid, *children(self.process.pid)]

    def signal(self, what):
        for process in self.processes():
            try:
                os.kill(process, what)
            except ProcessLookupError:
                pass

    def kill(self):
        self.signal(signal.SIGKILL)
        self.process.wait()

    def stop(self):
        if self.process and self.process.poll() is None:
            self.signal(signal.SIGCONT)
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.kill()


def children(process):
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[1]) == process:
            found.append(int(stat.parent.name))
    return found


class Redis:
    def __init__(self, tools):
        self.tools = tools
        self.folder = Path(tempfile.mkdtemp(prefix="smsc-faults-redis-"))
        self.port = free_port()
        self.start()

    def start(self):
        log = open(self.folder / "log", "a")
        self.process = subprocess.Popen(
            [self.tools.program("redis-server"), "--bind", "127.0.0.1", "--port", str(self.port),
             "--save", "", "--dir", self.folder],
            stdout=log, stderr=log, env=self.tools.environment(),
        )
        until("Redis to listen", lambda: is_open(self.port))

    def flush(self):
        try:
            with socket.create_connection(("127.0.0.1", self.port), 5) as redis:
                redis.sendall(b"FLUSHALL\r\n")
                redis.recv(64)
        except OSError:
            # Killed or stopped by another fault: what it had is gone, or out of reach.
            pass

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.kill()


class Disk:
    """A small file system in a mount namespace of its own, which ends with this process of ours."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir()
        self.holder = subprocess.Popen(
            ["unshare", "-rm", "sh", "-c",
             f"mount -t tmpfs -o size={DISK_MIB}m tmpfs '{folder}' && echo made && exec sleep infinity"],
            stdout=subprocess.PIPE,
        )
        if self.holder.stdout.readline().strip() != b"made":
            raise SystemExit("unshare -rm cannot mount a file system here")

    def seen(self):
        """Where it is for those who are not in the namespace."""
        return Path(f"/proc/{self.holder.pid}/root{self.folder}")

    def inside(self, *command):
        """The same command inside, with absolute paths; its process is the one that is started."""
        return ["nsenter", f"--target={self.holder.pid}", "--user", "--mount",
                "--preserve-credentials", *command]

    def resize(self, octets):
        done = subprocess.run(
            self.inside("mount", "-o", f"remount,size={octets // 1024}k", "none", str(self.folder)),
            capture_output=True,
        )
        return done.returncode == 0

    def fill(self):
        """It becomes as small as what is in it: the next page that is needed is not there."""
        for _ in range(20):
            state = os.statvfs(self.seen())
            used = (state.f_blocks - state.f_bfree) * state.f_frsize
            if self.resize(used):
                return
        raise RuntimeError("the file system cannot be made full")

    def empty(self):
        self.resize(DISK_MIB << 20)

    def stop(self):
        self.holder.kill()
        self.holder.wait()
