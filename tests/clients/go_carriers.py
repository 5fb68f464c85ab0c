"""What Go's implementations of CMPP and SGIP write and wait for, octet by octet: their lengths of packets, their order of login,
messages, tests of the connection and goodbyes. Written from their sources; nothing of them is here.

    go_carriers.py gocmpp PORT SOURCE SECRET VERSION TO       a client as gocmpp's example: UCS-2, reports, active tests
    go_carriers.py transmitter PORT SOURCE SECRET SRC TO,TO   go_cmpp's: GBK to several recipients, then the goodbye
    go_carriers.py receiver PORT SOURCE SECRET COUNT          go_cmpp's: reports come to the submitter's other connection
    go_carriers.py gocmpp-server                              gocmpp's example of a gateway, CMPP 3.0
    go_carriers.py go_cmpp-server                             go_cmpp's mock of a gateway, CMPP 2.0
    go_carriers.py smg-server                                 go_sgip's mock of a gateway that an SP logs in to
    go_carriers.py smg-client PORT NAME PASSWORD FROM TO      go_sgip's mock of a gateway that logs in to the SP

Each thing that happens is a JSON line; any surprise ends it with a traceback.
"""

import hashlib
import json
import socket
import struct
import sys
import time

PATIENCE = 60
CONNECT, TERMINATE, SUBMIT, DELIVER, ACTIVE_TEST = 1, 2, 4, 5, 8
RESPONSE = 0x80000000
BIND, UNBIND, SGIP_SUBMIT, SGIP_DELIVER, REPORT = 1, 2, 3, 4, 5


def say(event, **more):
    print(json.dumps({"event": event, **more}), flush=True)


def text(value, width):
    """A text with zeros up to its width, as WriteFixedSizeString and OctetString write it."""
    octets = value if isinstance(value, bytes) else value.encode()
    assert len(octets) <= width, (value, width)
    return octets.ljust(width, b"\0")


def listen():
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(PATIENCE)
    say("listens", port=listener.getsockname()[1])
    return listener


class Line:
    """A connection with frames that begin with their length and a command."""

    def __init__(self, connection, sequence_octets):
        self.connection, self.width = connection, sequence_octets
        connection.settimeout(PATIENCE)
        self.sequence = 0

    def octets(self, count):
        found = b""
        while len(found) < count:
            piece = self.connection.recv(count - len(found))
            if not piece:
                return None
            found += piece
        return found

    def read(self):
        """Command, sequence and body; nothing at the end."""
        head = self.octets(8 + self.width)
        if head is None:
            return None
        length, command = struct.unpack(">II", head[:8])
        return command, head[8:], self.octets(length - len(head))

    def write(self, command, sequence, body=b""):
        self.connection.sendall(struct.pack(">II", 8 + self.width + len(body), command) + sequence + body)


class Cmpp(Line):
    def __init__(self, connection, version):
        super().__init__(connection, 4)
        self.version = version
        self.is_3 = version >= 0x30

    def ask(self, command, body=b""):
        self.sequence += 1
        self.write(command, struct.pack(">I", self.sequence), body)

    def log_in(self, source, secret):
        now = time.strftime("%m%d%H%M%S")
        source = text(source, 6)
        proof = hashlib.md5(source + bytes(9) + secret.encode() + now.encode()).digest()
        self.ask(CONNECT, source + proof + struct.pack(">BI", self.version, int(now)))
        # The first packet has to be the response: anything else before it is a failed login there.
        command, _, body = self.read()
        assert command == CONNECT | RESPONSE, hex(command)
        assert len(body) == (21 if self.is_3 else 18), len(body)
        status = int.from_bytes(body[: 4 if self.is_3 else 1], "big")
        say("login", status=status, version=body[-1])
        assert status == 0

    def submit(self, source, src_id, recipients, message_format, content, valid_time="", fee_code="10"):
        """With their fields: Pk_total 1 of 1, a report is wanted, the fee is the SP's."""
        number = 32 if self.is_3 else 21
        fee = text("", number) + (b"\0" if self.is_3 else b"")
        body = struct.pack(">QBBBB", 0, 1, 1, 1, 1) + text("test", 10) + b"\2" + fee
        body += struct.pack(">BBB", 0, 0, message_format) + text(source, 6) + text("02", 2) + text(fee_code, 6)
        body += text(valid_time, 17) + text("", 17) + text(src_id, 21) + bytes([len(recipients)])
        body += b"".join(text(one, number) for one in recipients) + (b"\0" if self.is_3 else b"")
        body += bytes([len(content)]) + content + text("", 20 if self.is_3 else 8)
        wanted = (129 + 32 * len(recipients) + 2 + 20) if self.is_3 else (117 + 21 * len(recipients) + 1 + 8)
        assert len(body) == wanted + len(content), (len(body), wanted)
        self.ask(SUBMIT, body)

    def submit_response(self, body):
        assert len(body) == (12 if self.is_3 else 9), len(body)
        return int.from_bytes(body[:8], "big"), int.from_bytes(body[8:], "big")

    def deliver(self, sequence, body):
        """Tells of a report or a message, and answers it."""
        number = 32 if self.is_3 else 21
        identifier = body[:8]
        at = 8 + 21 + 10 + 3 + number + (1 if self.is_3 else 0)
        is_report, length = body[at], body[at + 1]
        content = body[at + 2 : at + 2 + length]
        assert len(body) == at + 2 + length + (20 if self.is_3 else 8), len(body)
        assert is_report == 1, body
        assert length == (71 if self.is_3 else 60), length
        report = {
            "msg_id": str(int.from_bytes(content[:8], "big")),
            "stat": content[8:15].decode(),
            "to": content[35 : 35 + number].rstrip(b"\0").decode(),
        }
        self.write(DELIVER | RESPONSE, sequence, identifier + (bytes(4) if self.is_3 else b"\0"))
        say("report", **report)


def client(port, version):
    return Cmpp(socket.create_connection(("127.0.0.1", int(port))), version)


def gocmpp(port, source, secret, version, to):
    line = client(port, int(version, 16))
    line.log_in(source, secret)
    content = "测试gocmpp submit".encode("utf-16-be")
    line.submit(source, "10655", [to], 8, content)
    # Its example has a time that was over years ago.
    line.submit(source, "10655", [to], 8, content, valid_time="151105131555101+")
    left = {"submitted", "stale", "report", "tested", "answered"}
    while left:
        command, sequence, body = line.read()
        if command == SUBMIT | RESPONSE:
            identifier, result = line.submit_response(body)
            event = "submitted" if sequence == struct.pack(">I", 2) else "stale"
            say(event, msg_id=str(identifier), result=result)
            left.discard(event)
            if event == "submitted":
                line.ask(ACTIVE_TEST)
        elif command == DELIVER:
            line.deliver(sequence, body)
            left.discard("report")
        elif command == ACTIVE_TEST:
            assert body == b"", body
            line.write(ACTIVE_TEST | RESPONSE, sequence, b"\0")
            left.discard("tested")
        else:
            assert command == ACTIVE_TEST | RESPONSE and len(body) == 1, (hex(command), body)
            left.discard("answered")
    # Disconnect: without a goodbye.
    line.connection.close()
    say("done")


def transmitter(port, source, secret, src_id, recipients):
    line = client(port, 0x20)
    line.log_in(source, secret)
    line.submit(source, src_id, recipients.split(","), 15, "你好, go_cmpp".encode("gb18030"), fee_code="")
    command, _, body = line.read()
    assert command == SUBMIT | RESPONSE, hex(command)
    identifier, result = line.submit_response(body)
    line.ask(TERMINATE)
    command, sequence, body = line.read()
    # Anything else than the response to the goodbye makes it close the connection.
    is_parted = command == TERMINATE | RESPONSE and sequence == struct.pack(">I", 3) and body == b""
    say("done", msg_id=str(identifier), result=result, parted=is_parted)


def receiver(port, source, secret, count):
    line = client(port, 0x20)
    line.log_in(source, secret)
    reports = 0
    while reports < int(count):
        command, sequence, body = line.read()
        if command == ACTIVE_TEST:
            line.write(ACTIVE_TEST | RESPONSE, sequence, b"\0")
            continue
        assert command == DELIVER, hex(command)
        line.deliver(sequence, body)
        reports += 1
    say("done")


def gateway(version, identifier, answers_test):
    """Takes what the SMSC submits; `identifier` is the Msg_Id of each response."""
    listener = listen()
    while True:
        connection, _ = listener.accept()
        line = Cmpp(connection, version)
        tests = 0
        while (frame := line.read()) is not None:
            command, sequence, body = frame
            if command == CONNECT:
                assert len(body) == 27, len(body)
                status = bytes(4) if line.is_3 else b"\0"
                # Neither proves that it knows the secret.
                proof = hashlib.md5(status).digest() if line.is_3 else text("mockauth", 16)
                line.write(CONNECT | RESPONSE, sequence, status + proof + bytes([version]))
                say("login", source=body[:6].decode())
            elif command == SUBMIT:
                line.write(SUBMIT | RESPONSE, sequence, struct.pack(">Q", identifier) + (bytes(4) if line.is_3 else b"\0"))
                number, at = (32, 8 + 4 + 10 + 1 + 33 + 2) if line.is_3 else (21, 8 + 4 + 10 + 1 + 21 + 2)
                message_format = body[at]
                at += 1 + 6 + 2 + 6 + 17 + 17 + 21
                to = body[at + 1 : at + 1 + number].rstrip(b"\0").decode()
                at += 1 + number * body[at] + (1 if line.is_3 else 0)
                content = body[at + 1 : at + 1 + body[at]]
                assert len(body) == at + 1 + len(content) + (20 if line.is_3 else 8), len(body)
                said = content.decode({0: "ascii", 8: "utf-16-be", 15: "gb18030"}[message_format])
                say("message", to=to, text=said, format=message_format)
            elif command == ACTIVE_TEST:
                answers_test(line, sequence)
                tests += 1
                say("test", count=tests)
                # It tests the connection, too.
                line.ask(ACTIVE_TEST)
            elif command == TERMINATE:
                line.write(TERMINATE | RESPONSE, sequence)
                say("goodbye")
                break
            else:
                assert command == ACTIVE_TEST | RESPONSE and len(body) == 1, (hex(command), body)
        connection.close()
        say("closed")


def gocmpp_server():
    gateway(0x30, 12878564852733378560, lambda line, sequence: line.write(ACTIVE_TEST | RESPONSE, sequence, b"\0"))


def go_cmpp_server():
    # It answers a test of the connection with a test under the same sequence, and every message with the Msg_Id of its request: 0.
    gateway(0x20, 0, lambda line, sequence: line.write(ACTIVE_TEST, sequence))


def sgip_response(line, command, sequence, result=0):
    line.write(command | RESPONSE, sequence, bytes([result]) + bytes(8))


def smg_server():
    listener = listen()
    while True:
        connection, _ = listener.accept()
        line = Line(connection, 12)
        while (frame := line.read()) is not None:
            command, sequence, body = frame
            if command == BIND:
                assert len(body) == 41 and body[0] == 1, body
                sgip_response(line, BIND, sequence)
                say("login", name=body[1:17].rstrip(b"\0").decode())
            elif command == SGIP_SUBMIT:
                sgip_response(line, SGIP_SUBMIT, sequence)
                at = 42 + 1 + 21 * body[42]
                to = body[43:64].rstrip(b"\0").decode()
                at += 5 + 10 + 1 + 6 + 6 + 3 + 16 + 16 + 3
                coding = body[at]
                length = int.from_bytes(body[at + 2 : at + 6], "big")
                content = body[at + 6 : at + 6 + length]
                assert len(body) == at + 6 + length + 8, len(body)
                said = content.decode({0: "ascii", 8: "utf-16-be", 15: "gb18030"}[coding])
                say("message", to=to, text=said, coding=coding, sequence=struct.unpack(">III", sequence))
            else:
                assert command == UNBIND and body == b"", (command, body)
                line.write(UNBIND | RESPONSE, sequence)
                say("goodbye")
                break
        connection.close()


def smg_client(port, name, password, of, to, *report_of):
    """Its nodeId is 0, because it never sets one."""
    line = Line(socket.create_connection(("127.0.0.1", int(port))), 12)

    def ask(command, body=b""):
        line.sequence += 1
        line.write(command, struct.pack(">III", 0, int(time.strftime("%m%d%H%M%S")), line.sequence), body)
        said, _, answer = line.read()
        assert said == command | RESPONSE, hex(said)
        # Its parser of responses reads a Result and eight octets, and nothing of a goodbye.
        assert len(answer) == (0 if command == UNBIND else 9), answer
        return answer[0] if answer else 0

    bound = ask(BIND, b"\2" + text(name, 16) + text(password, 16) + bytes(8))
    content = "你好, go_sgip".encode("gb18030")
    brought = ask(
        SGIP_DELIVER,
        text(of, 21) + text(to, 21) + bytes([0, 0, 15]) + struct.pack(">I", len(content)) + content + bytes(8),
    )
    sequence = struct.pack(">III", *map(int, report_of))
    reported = ask(REPORT, sequence + b"\0" + text(of, 21) + b"\0\0" + bytes(8))
    ask(UNBIND)
    assert line.read() is None, "the connection is closed behind the goodbye"
    say("done", bound=bound, brought=brought, reported=reported)


PARTS = {
    "gocmpp": gocmpp,
    "transmitter": transmitter,
    "receiver": receiver,
    "gocmpp-server": gocmpp_server,
    "go_cmpp-server": go_cmpp_server,
    "smg-server": smg_server,
    "smg-client": smg_client,
}
PARTS[sys.argv[1]](*sys.argv[2:])
