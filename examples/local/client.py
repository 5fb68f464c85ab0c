"""Sends, follows, lists and cancels messages over the UNIX socket of the SMSC. Only the standard library.

    python3 examples/local/client.py send 447700900123 hello
    python3 examples/local/client.py get ID
    python3 examples/local/client.py cancel ID
    python3 examples/local/client.py list
    python3 examples/local/client.py inbox [NUMBER]      what came to a number of the account, with the texts
    python3 examples/local/client.py dump                everything of the account, a line of JSON each

SMSC_SOCKET is the path of `local.socket`; /run/smsc/smsc.sock without it. The protocol is proto/smsc/local/v1/local.proto;
with protobuf's compiler (`protoc --python_out`), `fields` and `field` below are not needed.
"""

import json
import os
import socket
import sys
import uuid

VERSION = 1
# Fields of ToSmsc, and those of FromSmsc by which it answers.
HELLO, SUBMIT, CANCEL, LIST, GET = 2, 10, 11, 12, 13
WELCOME, FAILURE, GOODBYE, SUBMITTED, CANCELLED, PAGE, DETAILS = 2, 4, 5, 10, 11, 12, 13
STATES = "? ENROUTE DELIVERED EXPIRED DELETED UNDELIVERABLE ACCEPTED UNKNOWN REJECTED".split()


class Refused(Exception):
    """What the SMSC does not do, in its words."""


# === protobuf: varints, and fields of two kinds ===


def varint(number):
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def field(number, value):
    """A field: a number, or octets, or a text."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    octets = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(octets)) + octets


def read_varint(octets, at):
    number = shift = 0
    while True:
        octet = octets[at]
        number |= (octet & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if octet < 0x80:
            return number, at


def fields(octets):
    """The fields of a message, by number: lists of numbers or octets."""
    found, at = {}, 0
    while at < len(octets):
        key, at = read_varint(octets, at)
        if key & 7 == 0:
            value, at = read_varint(octets, at)
        elif key & 7 == 2:
            length, at = read_varint(octets, at)
            value, at = octets[at : at + length], at + length
        else:
            raise ValueError(f"a field of kind {key & 7}")
        found.setdefault(key >> 3, []).append(value)
    return found


def one(message, number, default=0):
    return message.get(number, [default])[-1]


# === the connection ===


def read_frame(octets):
    """The next frame of a connection."""
    length = shift = 0
    while True:
        octet = octets.read(1)
        if not octet:
            raise Refused("the SMSC has closed the connection")
        length |= (octet[0] & 0x7F) << shift
        shift += 7
        if octet[0] < 0x80:
            return octets.read(length)


class Smsc:
    """A connection, for one request after the other."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(30)
        self.socket.connect(path)
        self.octets = self.socket.makefile("rb")
        self.number = 0
        hello = field(1, VERSION) + field(2, "examples/local/client.py")
        welcome = fields(self.ask(HELLO, hello, WELCOME))
        self.account = one(welcome, 3, b"").decode()

    def ask(self, what, request, answer):
        """Sends a request; returns its answer, still encoded."""
        self.number += 1
        frame = field(1, self.number) + field(what, request)
        try:
            self.socket.sendall(varint(len(frame)) + frame)
        except BrokenPipeError:
            pass  # The SMSC has hung up; what it said is read below.
        while True:
            said = fields(read_frame(self.octets))
            for refusal in (FAILURE, GOODBYE):
                if refusal in said:
                    raise Refused(one(fields(one(said, refusal)), 2, b"").decode())
            if one(said, 1) == self.number and answer in said:
                return one(said, answer)

    def send(self, to, text, sender="ACME", key=None):
        """Submits a message; returns its id. It is durable then. The same key again submits nothing."""
        draft = field(1, to) + field(2, sender) + field(3, text)
        submit = field(1, draft) + field(2, key or str(uuid.uuid4()))
        outcome = fields(one(fields(self.ask(SUBMIT, submit, SUBMITTED)), 1))
        if 4 in outcome:
            raise Refused(one(fields(one(outcome, 4)), 2, b"").decode())
        return one(outcome, 1)

    def cancel(self, message):
        """Orders that a waiting message ends; returns whether that was seen."""
        return not one(fields(self.ask(CANCEL, field(1, message), CANCELLED)), 1)

    def get(self, message):
        """A message, and what has happened to it."""
        details = fields(self.ask(GET, field(1, message), DETAILS))
        steps = [one(fields(step), 2, b"").decode() for step in details.get(2, [])]
        return shown(one(details, 1, b"")), steps

    def list(self, received=False, to="", texts=False):
        """All messages that the account has submitted, or that came to a number of it; newest first, page by page."""
        before = 0
        while True:
            asked = field(1, to) + field(6, before) + field(7, 100) + field(8, int(received)) + field(9, int(texts))
            page = fields(self.ask(LIST, asked, PAGE))
            yield from page.get(1, [])
            before = one(page, 2)
            if not before:
                return

    def inbox(self, to=""):
        """What came to a number of the account, which may be left out if it has one."""
        return self.list(received=True, to=to, texts=True)


def shown(octets):
    message = fields(octets)
    sender, to, text = (one(message, number, b"").decode() for number in (2, 3, 12))
    line = f"{one(message, 1)} {sender} to {to} {STATES[one(message, 4)]}"
    return f"{line} {json.dumps(text, ensure_ascii=False)}" if text else line


def dumped(octets, direction):
    message = fields(octets)
    texts = {name: one(message, number, b"").decode() for name, number in (("from", 2), ("to", 3), ("text", 12))}
    numbers = {"accepted_at": one(message, 6), "ended_at": one(message, 9), "state": STATES[one(message, 4)]}
    return json.dumps({"id": one(message, 1), "direction": direction, **texts, **numbers}, ensure_ascii=False)


def main(command="", *arguments):
    smsc = Smsc(os.environ.get("SMSC_SOCKET", "/run/smsc/smsc.sock"))
    if command == "send":
        print(smsc.send(*arguments))
    elif command == "cancel":
        print("cancelled" if smsc.cancel(int(arguments[0])) else "ordered")
    elif command == "get":
        message, steps = smsc.get(int(arguments[0]))
        print(message, *steps, sep="\n  ")
    elif command == "list":
        for message in smsc.list():
            print(shown(message))
    elif command == "inbox":
        for message in smsc.inbox(*arguments):
            print(shown(message))
    elif command == "dump":
        for message in smsc.list(texts=True):
            print(dumped(message, "sent"))
        for message in smsc.inbox(*arguments):
            print(dumped(message, "received"))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except (Refused, OSError) as error:
        sys.exit(str(error))
