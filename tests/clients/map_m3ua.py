"""An application server process (RFC 4666) over TCP, as Osmocom's STP takes it, with the codec of pycrate.

One `Link` is one connection to one STP. It registers a routing key for each of its point codes, or uses the routing
contexts it is given, becomes active, answers BEAT, and connects again when the STP is gone. `Trace` keeps every M3UA
message of all links in both directions, in the form that `text2pcap -D -t %s.%f -S 2905,2905,3` reads.
"""

import asyncio
import time
from collections import Counter

from pycrate_mobile import M3UA
from pycrate_mobile.M3UA import M3UATag

ERR, NTFY = (0, 0), (0, 1)
DATA = (1, 1)
ASPUP, BEAT, ASPUP_ACK, BEAT_ACK = (3, 1), (3, 3), (3, 4), (3, 6)
ASPAC, ASPAC_ACK = (4, 1), (4, 3)
REGREQ, REGRSP = (9, 1), (9, 2)
MODES = {"override": 1, "loadshare": 2, "broadcast": 3}
SCCP = 3
HEAD = 8
LONGEST = 1 << 16
AGAIN = 0.1


def point_code(text):
    """A point code of the ITU: 0.23.1 in the form 3-8-3, or a number."""
    parts = [int(part) for part in str(text).split(".")]
    return parts[0] if len(parts) == 1 else parts[0] << 11 | parts[1] << 3 | parts[2]


class Trace:
    """All messages so far; written to a file as they come, when one is named."""

    def __init__(self, path=None):
        self.file = open(path, "w") if path else None

    def add(self, is_ours, octets):
        if self.file:
            mark, now = "O" if is_ours else "I", time.time()
            lines = [f"{at:06x} {octets[at : at + 16].hex(' ')}" for at in range(0, len(octets), 16)]
            print(f"{mark} {now:.6f}", *lines, f"{len(octets):06x}", sep="\n", file=self.file, flush=True)


class Link:
    """`on_data(link, label, sccp)` gets what comes; the label has opc, dpc, ni, mp and sls."""

    def __init__(self, address, point_codes, contexts, mode, trace, on_data, on_change, local=None):
        host, port = address.rsplit(":", 1)
        self.address, self.host, self.port = address, host, int(port)
        self.point_codes, self.given, self.mode = point_codes, contexts, mode
        self.trace, self.on_data, self.on_change = trace, on_data, on_change
        self.local, self.is_wanted = (local, 0) if local else None, True
        self.state, self.writer = "down", None
        self.contexts, self.notices, self.counts = {}, [], Counter()
        # Of one that does not listen: data is counted and not read.
        self.is_deaf = False
        # Data with these octets is counted and not read: to read the answers to a flood would slow it down.
        self.unread = None

    async def run(self):
        while True:
            try:
                if not self.is_wanted:
                    raise OSError
                reader, self.writer = await asyncio.open_connection(self.host, self.port, local_addr=self.local)
            except OSError:
                await asyncio.sleep(AGAIN)
                continue
            self.contexts = {}
            self.change("connected")
            self.send(M3UA.M3UA_ASPUp())
            try:
                while True:
                    await self.read_one(reader)
            except (asyncio.IncompleteReadError, OSError):
                pass
            self.writer.close()
            self.writer = None
            self.change("down")
            await asyncio.sleep(AGAIN)

    async def read_one(self, reader):
        head = await reader.readexactly(HEAD)
        length = int.from_bytes(head[4:8], "big")
        assert HEAD <= length <= LONGEST, head.hex()
        octets = head + await reader.readexactly(length - HEAD)
        self.counts["received"] += 1
        is_unread = self.is_deaf or (self.unread and self.unread in octets)
        if is_unread and (octets[2], octets[3]) == DATA:
            return
        self.trace.add(False, octets)
        message, error = M3UA.parse_M3UA(octets)
        # A NTFY of osmo-stp lacks the ASP identifier where it has none.
        assert message is not None, (error, octets.hex())
        kind, params = (octets[2], octets[3]), message[1]
        if kind == DATA:
            self.read_data(params)
        elif kind == ASPUP_ACK:
            self.become_known()
        elif kind == REGRSP:
            self.read_registration(params)
        elif kind == ASPAC_ACK:
            self.read_active(params)
        elif kind == BEAT:
            beat = M3UA.M3UA_BEATAck()
            data = params.get_prm_first(M3UATag.HeartbeatData)
            if data is not None:
                beat[1].add_prm(M3UATag.HeartbeatData, data.to_bytes())
            self.send(beat)
        else:
            self.notices.append(f"{kind[0]}/{kind[1]} {octets[HEAD:].hex()}")

    def become_known(self):
        """The STP knows us: now the point codes get their contexts."""
        if self.given:
            self.contexts = dict(zip(self.point_codes, self.given, strict=True))
            self.activate()
            return
        request = M3UA.M3UA_REGREQ()
        request[1].clear()
        for number, code in enumerate(self.point_codes, 1):
            key = M3UA.RoutingKey()
            key.clear()
            key.add_prm(M3UATag.LocalRKId, number.to_bytes(4, "big"))
            if self.mode:
                key.add_prm(M3UATag.TrafficModeType, MODES[self.mode].to_bytes(4, "big"))
            key.add_prm(M3UATag.DPC, code.to_bytes(4, "big"))
            request[1].add_prm(M3UATag.RoutingKey, key.to_bytes())
        self.send(request)

    def read_registration(self, params):
        for result in params.get_prm_list(M3UATag.RegResult):
            number, status, context = (
                int.from_bytes(result.get_prm_first(tag).to_bytes(), "big")
                for tag in (M3UATag.LocalRKId, M3UATag.RegStatus, M3UATag.RoutingContext)
            )
            # 12: another of our connections has registered it already, or this one has before.
            if status not in (0, 12):
                self.notices.append(f"registration {number} refused: {status}")
                return
            self.contexts[self.point_codes[number - 1]] = context
        self.activate()

    def activate(self):
        active = M3UA.M3UA_ASPAct()
        if self.mode:
            active[1].add_prm(M3UATag.TrafficModeType, MODES[self.mode].to_bytes(4, "big"))
        wanted = b"".join(context.to_bytes(4, "big") for context in self.contexts.values())
        active[1].add_prm(M3UATag.RoutingContext, wanted)
        self.send(active)

    def read_active(self, params):
        found = params.get_prm_first(M3UATag.RoutingContext)
        assert found is not None or len(self.contexts) == 1, params
        self.change("active")

    def read_data(self, params):
        data = params.get_prm_first(M3UATag.ProtocolData)
        if data["SI"].get_val() != SCCP:
            self.notices.append(f"service indicator {data['SI'].get_val()}")
            return
        self.counts["data_received"] += 1
        label = {name.lower(): data[name].get_val() for name in ("OPC", "DPC", "NI", "MP", "SLS")}
        self.on_data(self, label, data["Data"].get_val())

    def send_data(self, label, sccp):
        """Sends with a label as of `on_data`; the own point code is its opc."""
        self.counts["data_sent"] += 1
        self.send(self.data(label, sccp))

    async def flood(self, octets, mark, count):
        """Sends a message so often, each time with another number where the mark is."""
        for number in range(count):
            self.writer.write(octets.replace(mark, number.to_bytes(len(mark), "big")))
            if number % 100 == 99:
                await self.writer.drain()
                # An STP drops what it has no room for, of everybody: it has room for a thousand.
                await asyncio.sleep(0.02)
        await self.writer.drain()

    def data(self, label, sccp):
        message = M3UA.M3UA_DATA()
        message[1].clear()
        context = self.contexts.get(label["opc"])
        if context is not None:
            message[1].add_prm(M3UATag.RoutingContext, context.to_bytes(4, "big"))
        data = M3UA.ProtocolData(
            val={name: label[name.lower()] for name in ("OPC", "DPC", "NI", "MP", "SLS")} | {"SI": SCCP, "Data": sccp}
        )
        message[1].add_prm(M3UATag.ProtocolData, data.to_bytes())
        return message

    def send(self, message):
        octets = message.to_bytes()
        self.trace.add(True, octets)
        self.counts["sent"] += 1
        self.writer.write(octets)

    def cut(self):
        """Ends the connection; it is made again when `is_wanted` says so."""
        self.is_wanted = False
        if self.writer:
            self.writer.close()

    def change(self, state):
        self.state = state
        self.on_change(self)

    def view(self):
        return {
            "stp": self.address,
            "state": self.state,
            "contexts": list(self.contexts.values()),
            "notices": self.notices,
            **self.counts,
        }
