"""Gateways of Chinese carriers that forget nothing, as upstream.py is an operator over SMPP: CMPP 2.0 and SGIP 1.2; and a
client over CMPP 2.0.

Written from the standards, apart from the codecs of the SMSC: fields by number of octets, as their tables have them.
"""

import asyncio
import hashlib
import itertools
import random
import struct
import time

from .upstream import RINVDSTADR, RSYSERR, RTHROTTLED, STATES, Upstream

RESPONSE = 0x80000000
SECRET = "secret"
# Stat in a report of CMPP → the final state.
STATS = {b"DELIVRD": 2, b"EXPIRED": 3, b"UNDELIV": 5, b"REJECTD": 8}


def text(octets):
    """A field of fixed length, without what fills it."""
    return octets.rstrip(b"\0")


def padded(octets, length):
    return octets.ljust(length, b"\0")


class Fields:
    """Fields of a body, one after another."""

    def __init__(self, body):
        self.body, self.at = body, 0

    def octets(self, count):
        self.at += count
        if self.at > len(self.body):
            raise ConnectionError("a body ends too early")
        return self.body[self.at - count : self.at]

    def number(self, count=1):
        return int.from_bytes(self.octets(count), "big")


def pdu(command, sequence, body=b""):
    """Of CMPP."""
    return struct.pack(">III", 12 + len(body), command, sequence) + body


class Cmpp(Upstream):
    """CMPP 2.0: one connection for both directions, reports by the Msg_Id of the response."""

    CONNECT, TERMINATE, SUBMIT, DELIVER, ACTIVE_TEST = 1, 2, 4, 5, 8
    RESULTS = {0: 0, RSYSERR: 9, RINVDSTADR: 13, RTHROTTLED: 8}
    # Of the operator's table in the configuration.
    SETTINGS = dict(protocol="cmpp", system_id="900001", window=16)

    @staticmethod
    async def read_pdu(reader):
        length, command, sequence = struct.unpack(">III", await reader.readexactly(12))
        if not 12 <= length <= 4096:
            raise ConnectionError(f"a PDU of {length} octets")
        return command, 0, sequence, await reader.readexactly(length - 12)

    def handle(self, connection, command, _, sequence, body):
        if command == self.CONNECT:
            name, proof, version, at = body[:6], body[6:22], body[22], int.from_bytes(body[23:27], "big")
            wanted = hashlib.md5(text(name) + bytes(9) + SECRET.encode() + b"%010d" % at).digest()
            status = 0 if proof == wanted else 3
            ours = hashlib.md5(bytes([status]) + proof + SECRET.encode()).digest()
            connection.receives = status == 0
            answer = bytes([status]) + ours + bytes([version])
            connection.writer.write(pdu(command | RESPONSE, sequence, answer))
            return status == 0
        if command == self.SUBMIT:
            self.submit(connection, sequence, Fields(body))
        elif command == self.DELIVER | RESPONSE:
            self.confirmed(connection, sequence, body[8] == 0)
        elif command == self.ACTIVE_TEST:
            connection.writer.write(pdu(command | RESPONSE, sequence, b"\0"))
        elif command == self.TERMINATE:
            connection.writer.write(pdu(command | RESPONSE, sequence))
            return False
        return True

    def submit(self, connection, sequence, fields):
        # Msg_Id … FeeCode, ValId_Time, At_Time.
        fields.octets(8 + 4 + 10 + 1 + 21 + 3 + 6 + 2 + 6 + 17 + 17)
        source = text(fields.octets(21))
        if fields.number() != 1:
            raise ConnectionError("several recipients")
        destination = text(fields.octets(21))
        self.submitted(connection, sequence, source, destination, fields.octets(fields.number()))

    def submit_answer(self, sequence, status, take):
        body = struct.pack(">QB", int(take.id) if take else 0, self.RESULTS[status])
        return pdu(self.SUBMIT | RESPONSE, sequence, body)

    def receipt(self, sequence, take):
        now = time.strftime("%y%m%d%H%M").encode()
        report = struct.pack(">Q", int(take.id)) + STATES[take.state].ljust(7) + now + now
        report += padded(take.destination, 21) + bytes(4)
        body = bytes(8) + padded(take.source, 21) + bytes(10) + b"\0\0\0" + padded(take.destination, 21)
        body += b"\1" + bytes([len(report)]) + report + bytes(8)
        return pdu(self.DELIVER, sequence, body)


class Sgip(Upstream):
    """SGIP 1.2: the SMSC submits on a connection of its own; reports come on one that we make to its listener, by
    the sequence number of the submission and the user's number."""

    BIND, UNBIND, SUBMIT, REPORT = 1, 2, 3, 5
    NODE = 101001
    FAILURES = [5]
    RESULTS = {0: 0, RSYSERR: 32, RINVDSTADR: 6, RTHROTTLED: 11}
    SETTINGS = dict(protocol="sgip", system_id="smsc", window=32, carrier=dict(node=3010012345, corp_id="12345"))

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.counter = itertools.count(1)
        # Ports of the listeners of the SMSC: of each node one.
        self.reports_to = []

    async def start(self):
        await super().start()
        asyncio.ensure_future(self.keep_reporting())

    @staticmethod
    async def read_pdu(reader):
        length, command = struct.unpack(">II", await reader.readexactly(8))
        if not 20 <= length <= 4096:
            raise ConnectionError(f"a PDU of {length} octets")
        sequence = await reader.readexactly(12)
        return command, 0, sequence, await reader.readexactly(length - 20)

    @staticmethod
    def pdu(command, sequence, body=b""):
        return struct.pack(">II", 20 + len(body), command) + sequence + body

    def own_sequence(self, number):
        return struct.pack(">III", self.NODE, int(time.strftime("%m%d%H%M%S")), number)

    def bind(self, kind):
        return bytes([kind]) + padded(b"smsc", 16) + padded(SECRET.encode(), 16) + bytes(8)

    def handle(self, connection, command, _, sequence, body):
        result = lambda code: self.pdu(command | RESPONSE, sequence, bytes([code]) + bytes(8))
        if command == self.BIND:
            status = 0 if body == self.bind(1) else 1
            connection.writer.write(result(status))
            return status == 0
        if command == self.SUBMIT:
            self.submit(connection, sequence, Fields(body))
        elif command == self.REPORT | RESPONSE:
            self.confirmed(connection, struct.unpack(">III", sequence)[2], body[0] == 0)
        elif command == self.BIND | RESPONSE:
            connection.receives = body[0] == 0
            return body[0] == 0
        elif command == self.UNBIND:
            connection.writer.write(self.pdu(command | RESPONSE, sequence))
            return False
        return True

    def submit(self, connection, sequence, fields):
        source = text(fields.octets(21))
        fields.octets(21)
        users = [text(fields.octets(21)) for _ in range(fields.number())]
        # CorpId … MessageType.
        fields.octets(5 + 10 + 1 + 6 + 6 + 3 + 16 + 16 + 5)
        content = fields.octets(fields.number(4))
        if len(users) != 1:
            raise ConnectionError("texts that differ came as one")
        self.submitted(connection, sequence, source, users[0], content, sequence)

    def submit_answer(self, sequence, status, _):
        return self.pdu(self.SUBMIT | RESPONSE, sequence, bytes([self.RESULTS[status]]) + bytes(8))

    def receipt(self, sequence, take):
        state, error = (0, 0) if take.state == 2 else (2, 21)
        body = take.key + b"\0" + padded(take.destination, 21) + bytes([state, error]) + bytes(8)
        return self.pdu(self.REPORT, self.own_sequence(sequence), body)

    async def keep_reporting(self):
        """Keeps a connection of login type 2 to the listener of the SMSC."""
        while True:
            await asyncio.sleep(0.3)
            if not self.reports_to or self.mood.door != "open":
                continue
            try:
                port = random.choice(self.reports_to)
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(self.pdu(self.BIND, self.own_sequence(0), self.bind(2)))
                await self.serve(reader, writer)
            except OSError:
                pass


class CmppClient:
    """An SP that submits by CMPP 2.0 and forgets nothing: what was acknowledged, and what it was told of."""

    WINDOW = 16

    def __init__(self, port, name, account, secret, rate, destinations):
        # `name` has five letters and stands in each text.
        self.port, self.name, self.account, self.secret = port, name, account, secret
        self.pause, self.destinations = 1 / rate, destinations
        self.numbers = itertools.count()
        # Msg_Id → its reference (a submission whose answer was lost goes again with another one), and → the Stat of each
        # report.
        self.accepted, self.told = {}, {}
        self.ending = False

    async def run(self):
        while True:
            try:
                await self.serve()
            except (OSError, ConnectionError, asyncio.IncompleteReadError):
                pass
            await asyncio.sleep(0.3)

    async def serve(self):
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        waiting, sequences = {}, itertools.count(1)
        try:
            writer.write(pdu(Cmpp.CONNECT, next(sequences), self.login()))
            command, _, _, body = await Cmpp.read_pdu(reader)
            if command != Cmpp.CONNECT | RESPONSE or body[0] != 0:
                return
            sending = asyncio.ensure_future(self.send(writer, waiting, sequences))
            try:
                while True:
                    self.handle(writer, waiting, *await Cmpp.read_pdu(reader))
            finally:
                sending.cancel()
        finally:
            writer.close()

    def login(self):
        at = int(time.strftime("%m%d%H%M%S"))
        proof = hashlib.md5(self.account + bytes(9) + self.secret + b"%010d" % at).digest()
        return padded(self.account, 6) + proof + b"\x20" + struct.pack(">I", at)

    async def send(self, writer, waiting, sequences):
        while not self.ending:
            await asyncio.sleep(self.pause)
            if len(waiting) >= self.WINDOW:
                continue
            number, sequence = next(self.numbers), next(sequences)
            reference = f"{self.name}-{number:010}"
            destination = self.destinations[number % len(self.destinations)].encode()
            content = f"{reference} hello".encode()
            body = bytes(8) + b"\1\1\1\0" + bytes(10) + b"\2" + bytes(21) + b"\0\0\0" + padded(self.account, 6)
            body += b"01" + b"0".ljust(6, b"\0") + bytes(34) + padded(b"10655", 21) + b"\1" + padded(destination, 21)
            body += bytes([len(content)]) + content + bytes(8)
            waiting[sequence] = reference
            writer.write(pdu(Cmpp.SUBMIT, sequence, body))

    def handle(self, writer, waiting, command, _, sequence, body):
        if command == Cmpp.SUBMIT | RESPONSE:
            reference = waiting.pop(sequence)
            if body[8] == 0:
                self.accepted[body[:8]] = reference
        elif command == Cmpp.DELIVER:
            fields = Fields(body)
            fields.octets(8 + 21 + 10 + 3 + 21)
            if fields.number() == 1:
                report = fields.octets(fields.number())
                self.told.setdefault(report[:8], []).append(report[8:15])
            writer.write(pdu(command | RESPONSE, sequence, body[:8] + b"\0"))
        elif command == Cmpp.ACTIVE_TEST:
            writer.write(pdu(command | RESPONSE, sequence, b"\0"))
        elif command == Cmpp.TERMINATE:
            writer.write(pdu(command | RESPONSE, sequence))
            raise ConnectionError("terminated")
