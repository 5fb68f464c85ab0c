"""The little SMPP 3.4 that an operator and a receiver need, and relays between connections."""

import asyncio
import random
import struct
import time

BIND_RECEIVER, BIND_TRANSMITTER, BIND_TRANSCEIVER = 1, 2, 9
SUBMIT_SM, DELIVER_SM, UNBIND, ENQUIRE_LINK = 4, 5, 6, 0x15
RESPONSE = 0x80000000
GENERIC_NACK = 0x80000000
ROK, RINVCMDID = 0, 3
LONGEST = 1 << 20


def pdu(command, sequence, body=b"", status=0):
    return struct.pack(">IIII", 16 + len(body), command, status, sequence) + body


async def read_pdu(reader):
    """(command, status, sequence, body); raises IncompleteReadError at the end."""
    length, command, status, sequence = struct.unpack(">IIII", await reader.readexactly(16))
    if not 16 <= length <= LONGEST:
        raise ConnectionError(f"a PDU of {length} octets")
    return command, status, sequence, await reader.readexactly(length - 16)


def c_string(body, at):
    end = body.index(0, at)
    return body[at:end], end + 1


def submit(body):
    """(source, destination, registered_delivery, short_message) of a submit_sm."""
    _, at = c_string(body, 0)
    source, at = c_string(body, at + 2)
    destination, at = c_string(body, at + 2)
    _, at = c_string(body, at + 3)
    _, at = c_string(body, at)
    registered = body[at]
    return source, destination, registered, body[at + 5 : at + 5 + body[at + 4]]


def deliver(source, destination, text, tlvs):
    head = b"\0\1\1" + source + b"\0\1\1" + destination + b"\0" + b"\4\0\0\0\0\0\0\0\0"
    tail = b"".join(struct.pack(">HH", tag, len(value)) + value for tag, value in tlvs)
    return head + bytes([len(text)]) + text + tail


def receipt_of(body):
    """(message id, state) of a receipt's TLVs, or None."""
    _, at = c_string(body, 0)
    _, at = c_string(body, at + 2)
    _, at = c_string(body, at + 2)
    _, at = c_string(body, at + 3)
    _, at = c_string(body, at)
    at += 5 + body[at + 4]
    found = {}
    while at + 4 <= len(body):
        tag, length = struct.unpack_from(">HH", body, at)
        found[tag] = body[at + 4 : at + 4 + length]
        at += 4 + length
    if 0x001E not in found or 0x0427 not in found:
        return None
    return found[0x001E].rstrip(b"\0").decode(), found[0x0427][0]


class Heir:
    """A receiver that takes what comes to an account while nobody else of it is bound."""

    def __init__(self, port, account, password):
        self.port, self.account, self.password = port, account, password
        # Message id → states, in the order they came.
        self.told = {}

    async def run(self):
        while True:
            try:
                await self.serve()
            except (OSError, asyncio.IncompleteReadError, ConnectionError):
                pass
            await asyncio.sleep(0.5)

    async def serve(self):
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            names = self.account.encode() + b"\0" + self.password.encode() + b"\0"
            writer.write(pdu(BIND_RECEIVER, 1, names + b"\0\x34\0\0\0"))
            while True:
                command, status, sequence, body = await read_pdu(reader)
                if command == BIND_RECEIVER | RESPONSE and status != ROK:
                    return
                if command == DELIVER_SM:
                    told = receipt_of(body)
                    if told:
                        self.told.setdefault(told[0], []).append(told[1])
                    writer.write(pdu(DELIVER_SM | RESPONSE, sequence, b"\0"))
                elif command in (ENQUIRE_LINK, UNBIND):
                    writer.write(pdu(command | RESPONSE, sequence))
        finally:
            writer.close()


class Relay:
    """Forwards connections to one of several ports; may be cut, or hold everything back."""

    def __init__(self, targets):
        # Gives the ports that may be tried now.
        self.targets = targets
        self.writers = set()
        self.flowing = asyncio.Event()
        self.flowing.set()
        self.port = None

    async def start(self):
        server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]

    async def serve(self, reader, writer):
        self.writers.add(writer)
        await self.flowing.wait()
        targets = list(self.targets())
        random.shuffle(targets)
        for port in targets:
            try:
                far_reader, far_writer = await asyncio.open_connection("127.0.0.1", port)
                break
            except OSError:
                continue
        else:
            self.writers.discard(writer)
            writer.transport.abort()
            return
        self.writers.add(far_writer)
        await asyncio.gather(self.pump(reader, far_writer), self.pump(far_reader, writer))

    async def pump(self, reader, writer):
        try:
            while octets := await reader.read(65536):
                await self.flowing.wait()
                writer.write(octets)
                await writer.drain()
        except (OSError, ConnectionError):
            writer.transport.abort()
        finally:
            self.writers.discard(writer)
            writer.close()

    def cut(self):
        for writer in list(self.writers):
            writer.transport.abort()

    def hold(self):
        self.flowing.clear()

    def let_flow(self):
        self.flowing.set()


def moment(at=None):
    return time.strftime("%y%m%d%H%M", time.gmtime(at if at is not None else time.time()))
