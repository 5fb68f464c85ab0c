"""An operator whose mood changes while it runs, and who forgets nothing meanwhile.

`smsc simulate` forgets the receipts it owes when it is restarted with other flags; this one keeps
them, so that every message that it took gets its receipt, and knows which of its answers and receipts
went out.
"""

import asyncio
import heapq
import itertools
import random
import time
import zlib
from collections import Counter
from dataclasses import dataclass

from . import smpp

RSYSERR, RINVDSTADR, RTHROTTLED = 0x08, 0x0B, 0x58
# Unacknowledged deliver_sm on one bind.
WINDOW = 50
# A receipt without an answer for so long is sent again (seconds).
PATIENCE = 30.0
STATES = {2: b"DELIVRD", 5: b"UNDELIV", 8: b"REJECTD"}
# One message in so many is poison to an operator in that mood.
POISON = 400
FAILING = 0.05


@dataclass
class Mood:
    latency: tuple = (0.0, 0.0)
    silent: float = 0.0
    refuse: float = 0.0
    reject: float = 0.0
    throttle: float = 0.0
    early: bool = False
    twice: bool = False
    unwindowed: bool = False
    receipt_delay: tuple = (0.0, 0.3)
    # Some messages, always the same ones, end the session on which they come.
    poison: bool = False
    # Connections are served (open), accepted and closed at once (closing), refused (shut).
    door: str = "open"


@dataclass
class Take:
    """One message that was taken: one line of the operator's journal."""

    reference: str
    id: str
    state: int
    at: float
    source: bytes
    destination: bytes
    text: bytes
    # What receipts name it by, where that is not its id.
    key: bytes = b""
    # Whether our ESME_ROK left towards a peer that was there.
    answered: bool = False
    # Whether a receipt for it was answered ESME_ROK.
    acknowledged: bool = False


class Connection:
    def __init__(self, writer):
        self.writer = writer
        self.receives = False
        self.sequence = 0
        # sequence_number → (take, since).
        self.waiting = {}

    def is_open(self):
        return not self.writer.transport.is_closing()


class Upstream:
    # What a subclass that speaks another protocol has of its own, beside handle, submit_answer and receipt.
    read_pdu = staticmethod(smpp.read_pdu)
    # Final states of what fails.
    FAILURES = [5, 8]

    def __init__(self, name, first_id, dice):
        self.name = name
        self.ids = itertools.count(first_id)
        self.dice = dice
        self.mood = Mood()
        self.takes = []
        self.rejected = set()
        # Reference of a poison message → the sessions that it has ended.
        self.ended = Counter()
        self.attempts = 0
        self.connections = []
        self.due = []
        self.turn = itertools.count()
        self.port = None
        self.server = None

    async def start(self):
        await self.open_door()
        asyncio.ensure_future(self.send_receipts())

    async def open_door(self):
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", self.port or 0)
        self.port = self.server.sockets[0].getsockname()[1]

    async def be(self, mood):
        before, self.mood = self.mood, mood
        if mood.door != "open":
            self.cut()
        if mood.door == "shut" and self.server:
            self.server.close()
            self.server = None
        elif before.door == "shut" and mood.door != "shut":
            await self.open_door()

    def cut(self):
        for connection in self.connections:
            connection.writer.transport.abort()

    async def serve(self, reader, writer):
        if self.mood.door != "open":
            writer.transport.abort()
            return
        connection = Connection(writer)
        self.connections.append(connection)
        try:
            while True:
                command, status, sequence, body = await self.read_pdu(reader)
                if not self.handle(connection, command, status, sequence, body):
                    return
        except (OSError, ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self.connections.remove(connection)
            writer.close()
            for take, _ in connection.waiting.values():
                self.owe(take, 0)

    def handle(self, connection, command, status, sequence, body):
        answer = lambda body=b"", status=0: connection.writer.write(
            smpp.pdu(command | smpp.RESPONSE, sequence, body, status)
        )
        if command in (smpp.BIND_RECEIVER, smpp.BIND_TRANSMITTER, smpp.BIND_TRANSCEIVER):
            connection.receives = command != smpp.BIND_TRANSMITTER
            answer(self.name.encode() + b"\0")
        elif command == smpp.SUBMIT_SM:
            source, destination, _, text = smpp.submit(body)
            self.submitted(connection, sequence, source, destination, text)
            return connection.is_open()
        elif command == smpp.DELIVER_SM | smpp.RESPONSE:
            self.confirmed(connection, sequence, status == smpp.ROK)
        elif command == smpp.ENQUIRE_LINK:
            answer()
        elif command == smpp.UNBIND:
            answer()
            return False
        elif command < smpp.RESPONSE:
            connection.writer.write(smpp.pdu(smpp.GENERIC_NACK, sequence, b"", smpp.RINVCMDID))
        return True

    def confirmed(self, connection, sequence, is_taken):
        """A receipt was answered."""
        take, _ = connection.waiting.pop(sequence, (None, 0))
        if take and is_taken:
            take.acknowledged = True
        elif take:
            self.owe(take, 1.0)

    def submitted(self, connection, sequence, source, destination, text, key=b""):
        self.attempts += 1
        mood, dice = self.mood, self.dice
        reference = text.split(b" ")[0].decode(errors="replace")
        if mood.poison and zlib.crc32(reference.encode()) % POISON == 0:
            self.ended[reference] += 1
            connection.writer.transport.abort()
            return
        fate = dice.random()
        for share, status in (
            (mood.refuse, RSYSERR), (mood.reject, RINVDSTADR), (mood.throttle, RTHROTTLED)
        ):
            if fate < share:
                if status == RINVDSTADR:
                    self.rejected.add(reference)
                self.answer_later(connection, sequence, status, None)
                return
            fate -= share
        state = dice.choice(self.FAILURES) if dice.random() < FAILING else 2
        take = Take(
            reference, str(next(self.ids)), state, time.monotonic(), source, destination, text[:20], key
        )
        self.takes.append(take)
        wait = 0 if mood.early else dice.uniform(*mood.receipt_delay)
        self.owe(take, wait)
        if mood.twice:
            # Side by side in one segment, or later.
            self.owe(take, dice.choice([wait, dice.uniform(0, 2)]))
        if dice.random() < mood.silent:
            return
        self.answer_later(connection, sequence, 0, take)

    def submit_answer(self, sequence, status, take):
        """The octets of an answer to a submission; `take` is what was taken, if it was."""
        body = take.id.encode() + b"\0" if take else b""
        return smpp.pdu(smpp.SUBMIT_SM | smpp.RESPONSE, sequence, body, status)

    def answer_later(self, connection, sequence, status, take):
        wait = self.dice.uniform(*self.mood.latency)
        if self.mood.early and take:
            wait = max(wait, self.dice.uniform(0.05, 0.3))

        def answer():
            if connection.is_open():
                connection.writer.write(self.submit_answer(sequence, status, take))
                if take:
                    take.answered = True

        if wait > 0:
            asyncio.get_running_loop().call_later(wait, answer)
        else:
            answer()

    def owe(self, take, wait):
        """A receipt is to be sent; nothing is sent again once it was acknowledged."""
        heapq.heappush(self.due, (time.monotonic() + wait, next(self.turn), take))

    async def send_receipts(self):
        while True:
            await asyncio.sleep(0.02)
            now = time.monotonic()
            for connection in self.connections:
                late = [s for s, (_, since) in connection.waiting.items() if now - since > PATIENCE]
                for sequence in late:
                    self.owe(connection.waiting.pop(sequence)[0], 0)
            room = WINDOW if not self.mood.unwindowed else 1 << 30
            free = [one for one in self.connections if one.receives and one.is_open()]
            while self.due and self.due[0][0] <= now:
                free = [one for one in free if len(one.waiting) < room]
                if not free:
                    break
                _, _, take = heapq.heappop(self.due)
                # A copy that was meant to come twice comes; one that is repeated for want of an answer not.
                if take.acknowledged and not self.mood.twice:
                    continue
                self.send(random.choice(free), take, now)

    def send(self, connection, take, now):
        connection.sequence += 1
        connection.waiting[connection.sequence] = (take, now)
        connection.writer.write(self.receipt(connection.sequence, take))

    def receipt(self, sequence, take):
        """The octets of a receipt."""
        word = STATES[take.state]
        text = b"id:%s sub:001 dlvrd:001 submit date:%s done date:%s stat:%s err:000 text:%s" % (
            take.id.encode(), smpp.moment().encode(), smpp.moment().encode(), word, take.text,
        )
        tlvs = [(0x001E, take.id.encode() + b"\0"), (0x0427, bytes([take.state]))]
        body = smpp.deliver(take.destination, take.source, text, tlvs)
        return smpp.pdu(smpp.DELIVER_SM, sequence, body)
