"""Does a part of the SMSC's work, as a program on the same machine. Only the standard library and client.py beside it.

    python3 examples/local/handler.py imsi TABLE            answers look-ups from lines of `number,IMSI`
    python3 examples/local/handler.py operator:ID JOURNAL   delivers to a peer: writes each message as a line of JSON
    python3 examples/local/handler.py gsm:NAME JOURNAL      delivers to handsets: the same

SMSC_SOCKET is the path of `local.socket`; /run/smsc/smsc.sock without it. The SMSC asks again when a handler comes back, so
what is answered must be safe before: the journal is on disk before Delivered. The protocol is
proto/smsc/local/v1/local.proto.
"""

import json
import os
import socket
import sys
import time

from client import VERSION, Refused, field, fields, one, read_frame, varint

# Fields of ToSmsc.
HELLO, SERVICE, FOUND, DELIVERED = 2, 20, 30, 31
# Fields of FromSmsc.
WELCOME, GOODBYE, LOOK_UP, TO_PEER, TO_HANDSET = 2, 5, 30, 31, 32


class Handler:
    """A connection with a role."""

    def __init__(self, path, role, handle):
        self.handle = handle
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.octets = self.socket.makefile("rb")
        hello = field(1, VERSION) + field(2, "examples/local/handler.py") + field(3, role)
        self.say(1, HELLO, hello)
        said = fields(read_frame(self.octets))
        if WELCOME not in said:
            raise Refused(one(fields(one(said, GOODBYE, b"")), 2, b"").decode())
        # Nothing is asked before this.
        self.say(2, SERVICE, field(1, 1))

    def run(self):
        """Answers what the SMSC asks, until it hangs up."""
        while True:
            asked = fields(read_frame(self.octets))
            if GOODBYE in asked:
                raise Refused(one(fields(one(asked, GOODBYE)), 2, b"").decode())
            for what in (LOOK_UP, TO_PEER, TO_HANDSET):
                if what in asked:
                    answer, body = self.handle(what, fields(one(asked, what)))
                    self.say(one(asked, 1), answer, body)

    def say(self, number, what, body):
        frame = field(1, number) + field(what, body)
        self.socket.sendall(varint(len(frame)) + frame)


def looks_up(table):
    """Answers LookUp from a file of lines `number,IMSI`."""

    def handle(_, look_up):
        number = one(look_up, 1, b"").decode()
        with open(table) as lines:
            known = dict(line.strip().split(",") for line in lines if "," in line)
        # An empty IMSI says that nobody has the number.
        return FOUND, field(1, known.get(number, ""))

    return handle


def writes(journal):
    """Answers ToPeer and ToHandset when the message is on disk."""

    def handle(what, asked):
        if what == TO_PEER:
            short = fields(one(asked, 1))
            written = {
                "from": one(short, 1, b"").decode(),
                "to": one(short, 4, b"").decode(),
                "esm_class": one(short, 7),
                "data_coding": one(short, 9),
                "octets": one(short, 10, b"").hex(),
            }
        else:
            written = {"imsi": one(asked, 1, b"").decode(), "tpdu": one(asked, 3, b"").hex()}
        with open(journal, "a") as out:
            out.write(json.dumps(written) + "\n")
            out.flush()
            os.fsync(out.fileno())
        return DELIVERED, b""

    return handle


def main(role, file):
    handle = looks_up(file) if role == "imsi" else writes(file)
    path = os.environ.get("SMSC_SOCKET", "/run/smsc/smsc.sock")
    while True:
        try:
            Handler(path, role, handle).run()
        except (Refused, OSError) as error:
            print(error, file=sys.stderr, flush=True)
        # The SMSC may be restarting.
        time.sleep(1)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
