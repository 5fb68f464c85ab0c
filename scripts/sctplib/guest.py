"""The first process of the virtual machine: starts everything, goes through the states, and tells what it finds.

Told lines begin with ": "; those of logs with "| NAME "; the last one with "= ", and is JSON.
"""

import asyncio
import json
import os
import signal
import subprocess
import time
import traceback
import urllib.request
from collections import Counter
from pathlib import Path

from crashlib import kernel
from faultlib.servers import until

from . import esme, wires

SMSC, STP = "/usr/bin/smsc", "/usr/bin/osmo-stp"
LOGS, JOURNAL = Path("/logs"), Path("/logs/handsets.journal")
SMPP, HTTP, M3UA = 2775, 8080, 2905
TOKEN = PASSWORD = "sctp"
DELIVERED = 2
# For an answer: the machine is slow, and the host may be busy (seconds).
PATIENCE = 180
# Between two messages (seconds).
PAUSE = 0.05
# Lines of a log that are told.
TOLD = 400
SUBSCRIBERS = [f"4917{number:06}" for number in range(20)]
CONFIGURATION = f"""
data_dir = "/data"
store = {{ min_free_mib = 1 }}
smpp = {{ listen = "127.0.0.1:{SMPP}" }}
http = {{ listen = "127.0.0.1:{HTTP}", admin_token = "{TOKEN}" }}

[[account]]
system_id = "esme"
password = "{PASSWORD}"
addresses = ["12345"]

[[account]]
system_id = "handsets"
password = "{PASSWORD}"

[[gsm]]
name = "ss7"
protocol = "map"
smsc_address = "49160000"
account = "handsets"
reconnect = ["500ms"]
retry = {{ delays = ["2s"] }}

[gsm.map]
point_code = "0.1.1"
destination = "0.2.1"
register = true
timer_medium = "15s"
timer_long = "15s"
gateways = [{{ address = "stp:{M3UA}", transport = "sctp", local = {json.dumps(wires.OURS)} }}]

[[route]]
prefix = "4917"
to = ["gsm:ss7"]
"""
STP_CONFIGURATION = """
log stderr
 logging level set-all notice
 logging timestamp 1
line vty
 no login
cs7 instance 0
 xua rkm routing-key-allocation dynamic-permitted
 listen m3ua {port}
  accept-asp-connections dynamic-permitted
{addresses}
"""


def start(name, command):
    log = open(LOGS / f"{name}.log", "ab")
    return subprocess.Popen(command, stdout=log, stderr=log, cwd="/", env=wires.ENVIRONMENT)


def start_stp():
    return start("stp", wires.there(STP, "-c", "/stp.cfg"))


def network():
    """What the SMSC says of its network; None while it says nothing."""
    request = urllib.request.Request(
        f"http://127.0.0.1:{HTTP}/v1/gsm/ss7", headers={"Authorization": f"Bearer {TOKEN}"}
    )
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return json.loads(answer.read())
    except OSError:
        return None


class Guest:
    def __init__(self, options, port):
        self.options, self.port, self.findings = options, port, 0
        self.esme = esme.Esme()
        self.smsc = self.stp = self.network = None

    def say(self, kind, text):
        self.port.write(f"{kind} {text}\n")
        self.port.flush()

    def find(self, text):
        self.findings += 1
        self.say(":", f"WRONG: {text}")

    async def run(self):
        wires.lay()
        self.stp = start_stp()
        self.network = start("network", wires.there(
            SMSC, "simulate", "--protocol", "map", "--transport", "sctp",
            "--stp", ",".join(f"{address}:{M3UA}" for address in wires.THEIRS), "--local", ",".join(wires.THEIRS),
            "--point-code", "0.2.1", "--smsc-point-code", "0.1.1", "--service-centre", "49160000",
            "--mo", "1", "--mo-to", "12345", "--journal", str(JOURNAL), "--verbose",
        ))
        self.smsc = start("smsc", [SMSC, "serve", "--config", "/smsc.toml"])
        until("the SMSC answers", network, PATIENCE)
        await self.esme.bind(SMPP, "esme", PASSWORD)
        for state in (self.plain, self.loss, self.cut, self.abort):
            self.say(":", f"{state.__name__} …")
            try:
                await state()
            except Exception as error:
                self.find(f"{state.__name__}: {error!r}")

    async def plain(self):
        await self.send("plain")
        paths = wires.associations()
        if [sorted(path) for path in paths] != [sorted(wires.THEIRS)]:
            self.find(f"plain: the associations lead to {paths}")
        await self.hear("plain")

    async def loss(self):
        wires.lose(self.options["loss"])
        await self.send("loss")
        await self.hear("loss")
        wires.lose(0)

    async def cut(self):
        before = self.connections()
        wires.cut(0, True)
        await self.send("cut")
        await self.hear("cut")
        if self.connections() != before:
            self.find("cut: the SMSC has connected anew, although one path was left")
        wires.cut(0, False)

    async def abort(self):
        before = self.connections()
        # With messages that it has not read, its kernel aborts the association; nobody hears of that, and what comes next is
        # answered with ABORT.
        self.stp.send_signal(signal.SIGSTOP)
        sending = asyncio.create_task(self.send("abort"))
        await asyncio.sleep(2)
        for number in range(len(wires.PATHS)):
            wires.cut(number, True)
        self.stp.kill()
        self.stp.wait()
        await asyncio.sleep(1)
        for number in range(len(wires.PATHS)):
            wires.cut(number, False)
        await asyncio.sleep(5)
        self.stp = start_stp()
        await sending
        await self.hear("abort")
        if self.connections() == before:
            self.find("abort: the SMSC has not connected anew")

    def connections(self):
        """How often the SMSC has made an association, as its kernel counts them."""
        counters = Path("/proc/net/sctp/snmp").read_text().split()
        return int(counters[counters.index("SctpActiveEstabs") + 1])

    async def send(self, state):
        """Sends messages, waits for their receipts, and looks what handsets have got."""
        texts, began = [], time.monotonic()
        for number in range(self.options["messages"]):
            text = f"{state} {number}"
            await self.esme.submit(SUBSCRIBERS[number % len(SUBSCRIBERS)], text)
            texts.append(text)
            await asyncio.sleep(PAUSE)
        limit = time.monotonic() + PATIENCE
        while time.monotonic() < limit and any(self.state_of(text) is None for text in texts):
            await asyncio.sleep(0.1)
        states = Counter(self.state_of(text) for text in texts)
        if states != {DELIVERED: len(texts)}:
            self.find(f"{state}: states of messages {dict(states)}")
        # The journal is written ten times a second.
        await asyncio.sleep(0.5)
        got = Counter(line.split("\t")[2] for line in JOURNAL.read_text().splitlines())
        missing, twice = [text for text in texts if not got[text]], [text for text in texts if got[text] > 1]
        if missing:
            self.find(f"{state}: {len(missing)} never reached a handset: {missing[:5]}")
        self.say(":", f"{state}: {len(texts)} messages, {len(twice)} of them twice, in {time.monotonic() - began:.1f} s")
        if twice and state != "abort":
            self.find(f"{state}: came twice, although no association was lost: {twice[:5]}")

    def state_of(self, text):
        return self.esme.states.get(self.esme.accepted[text])

    async def hear(self, state):
        """Handsets write each second: two messages more must come."""
        wanted = len(self.esme.received) + 2
        limit = time.monotonic() + PATIENCE
        while time.monotonic() < limit and len(self.esme.received) < wanted:
            await asyncio.sleep(0.1)
        if len(self.esme.received) < wanted:
            self.find(f"{state}: nothing comes from handsets")

    def logs(self):
        for path in sorted(LOGS.glob("*")):
            for line in path.read_text(errors="replace").splitlines()[-TOLD:]:
                self.say("|", f"{path.name} {line}")
        said = json.dumps(network(), indent=1) if self.smsc and self.smsc.poll() is None else ""
        for line in said.splitlines():
            self.say("|", f"gsm.json {line}")

    def stop(self):
        self.smsc.send_signal(signal.SIGTERM)
        if self.smsc.wait(PATIENCE):
            self.find(f"the SMSC has ended with {self.smsc.returncode}")


def main():
    kernel.mount("proc", "/proc", "proc")
    kernel.mount("sys", "/sys", "sysfs")
    kernel.mount("dev", "/dev", "devtmpfs")
    kernel.mount("data", "/data", "tmpfs")
    kernel.mount("logs", "/logs", "tmpfs")
    kernel.load_modules("/modules")
    kernel.loopback_up()
    Path("/etc").mkdir(exist_ok=True)
    # A name with two addresses: two paths to one gateway.
    Path("/etc/hosts").write_text("".join(f"{address} stp\n" for address in wires.THEIRS))
    Path("/etc/nsswitch.conf").write_text("hosts: files\n")
    Path("/smsc.toml").write_text(CONFIGURATION)
    addresses = "\n".join(f"  local-ip {address}" for address in wires.THEIRS)
    Path("/stp.cfg").write_text(STP_CONFIGURATION.format(port=M3UA, addresses=addresses))
    options = json.loads(Path("/options.json").read_text())
    with open("/dev/ttyS1", "w") as port:
        guest = Guest(options, port)
        try:
            asyncio.run(guest.run())
            guest.logs()
            guest.stop()
        except Exception:
            guest.find(traceback.format_exc().replace("\n", " / "))
            guest.logs()
        guest.say("=", json.dumps({"findings": guest.findings}))
    os.sync()
    kernel.power_off()
