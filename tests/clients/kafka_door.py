"""A door before a broker of the mock cluster, which has neither TLS nor logins: TLS with certificates of both sides, and
SASL PLAIN (RFC 4616), SCRAM-SHA-256 and SCRAM-SHA-512 (RFC 5802, RFC 7677) in the frames of Kafka.

confluent-kafka's consumer reads through the same doors, so what they take is what its library sends, too.
"""

import base64
import hashlib
import hmac
import os
import socket
import ssl
import struct
import threading

API_VERSIONS, SASL_HANDSHAKE, SASL_AUTHENTICATE = 18, 17, 36
HASHES = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
MECHANISMS = ["PLAIN", *HASHES]
WRONG_PASSWORD = 58
ROUNDS = 4096


class Refused(Exception):
    pass


def plain(user, password):
    """Takes the first answer and says what to send; the second value: whether it is over."""
    given = yield
    if given != f"\0{user}\0{password}".encode():
        raise Refused
    yield b"", True


def scram(algorithm, user, password):
    def digest(key, text):
        return hmac.new(key, text, algorithm).digest()

    first = (yield).decode()
    bare = first.removeprefix("n,,")
    fields = dict(field.split("=", 1) for field in bare.split(","))
    if fields["n"] != user:
        raise Refused
    salt, nonce = os.urandom(16), fields["r"] + base64.b64encode(os.urandom(12)).decode()
    challenge = f"r={nonce},s={base64.b64encode(salt).decode()},i={ROUNDS}"
    final = (yield challenge.encode(), False).decode()
    without_proof, proof = final.rsplit(",p=", 1)
    if f"r={nonce}" not in without_proof.split(","):
        raise Refused
    spoken = ",".join([bare, challenge, without_proof]).encode()
    salted = hashlib.pbkdf2_hmac(algorithm, password.encode(), salt, ROUNDS)
    stored = hashlib.new(algorithm, digest(salted, b"Client Key")).digest()
    key = bytes(a ^ b for a, b in zip(base64.b64decode(proof), digest(stored, spoken)))
    if hashlib.new(algorithm, key).digest() != stored:
        raise Refused
    signature = digest(digest(salted, b"Server Key"), spoken)
    yield b"v=" + base64.b64encode(signature), True


def exactly(connection, count):
    read = b""
    while len(read) < count:
        more = connection.recv(count - len(read))
        if not more:
            raise ConnectionError
        read += more
    return read


def frame(connection):
    return exactly(connection, struct.unpack(">i", exactly(connection, 4))[0])


def send(connection, octets):
    connection.sendall(struct.pack(">i", len(octets)) + octets)


def text(octets, at):
    """A string of an i16 length, perhaps null, and where it ends."""
    (length,) = struct.unpack_from(">h", octets, at)
    end = at + 2 + max(length, 0)
    return octets[at + 2 : end].decode(), end


def written(string):
    return struct.pack(">h", len(string)) + string.encode()


def with_sasl(answer, version):
    """ApiVersions of a broker that knows SASL, too: requests 17 version 0 to 1, and 36 version 0 to 1."""
    correlation, error = answer[:4], answer[4:6]
    if error != b"\0\0":
        return answer
    more = [struct.pack(">hhh", request, 0, 1) for request in (SASL_HANDSHAKE, SASL_AUTHENTICATE)]
    if version < 3:
        (count,) = struct.unpack_from(">i", answer, 6)
        return correlation + error + struct.pack(">i", count + len(more)) + b"".join(more) + answer[10:]
    # A varint of the count and one, below 127; an empty list of tags behind each.
    assert answer[6] + len(more) < 128
    tagged = b"".join(one + b"\0" for one in more)
    return correlation + error + bytes([answer[6] + len(more)]) + tagged + answer[7:]


def serve(client, broker, user, password):
    login, name = None, None
    while True:
        request = frame(client)
        api, version, correlation = struct.unpack_from(">hhi", request)
        _, at = text(request, 8)
        if api == API_VERSIONS:
            send(broker, request)
            send(client, with_sasl(frame(broker), version))
        elif api == SASL_HANDSHAKE:
            name, _ = text(request, at)
            login = plain(user, password) if name == "PLAIN" else scram(HASHES[name], user, password)
            next(login)
            known = struct.pack(">i", len(MECHANISMS)) + b"".join(map(written, MECHANISMS))
            send(client, struct.pack(">ih", correlation, 0) + known)
        elif api == SASL_AUTHENTICATE:
            (length,) = struct.unpack_from(">i", request, at)
            lifetime = struct.pack(">q", 0) if version else b""
            try:
                said, is_over = login.send(request[at + 4 : at + 4 + length])
            except Refused:
                wrong = written("Authentication failed")
                send(client, struct.pack(">ih", correlation, WRONG_PASSWORD) + wrong + struct.pack(">i", 0) + lifetime)
                return
            said = struct.pack(">i", len(said)) + said
            send(client, struct.pack(">ih", correlation, 0) + struct.pack(">h", -1) + said + lifetime)
            if is_over:
                return name
        else:
            raise ConnectionError("not logged in")


def pass_on(source, target):
    try:
        while octets := source.recv(65536):
            target.sendall(octets)
    except OSError:
        pass
    for connection in (source, target):
        try:
            connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def enter(client, context, port, user, password, entered):
    try:
        client = context.wrap_socket(client, server_side=True)
        broker = socket.create_connection(("127.0.0.1", port))
        name = serve(client, broker, user, password)
        if name is None:
            return client.close()
        entered(name)
        threading.Thread(target=pass_on, args=(broker, client), daemon=True).start()
        pass_on(client, broker)
    except OSError:
        client.close()


def open_door(port, files, user, password, entered):
    """A door before the broker on this port: its own port. `entered` hears the mechanism of each login."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(files["certificate"], files["key"])
    context.load_verify_locations(files["authority"])
    context.verify_mode = ssl.CERT_REQUIRED
    listener = socket.create_server(("127.0.0.1", 0))

    def accept():
        while True:
            client, _ = listener.accept()
            work = (client, context, port, user, password, entered)
            threading.Thread(target=enter, args=work, daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return listener.getsockname()[1]
