"""Receivers of callbacks for measurements: a good one that notes when each callback came, and hostile ones."""

import asyncio
import json
import multiprocessing
import ssl
import subprocess
import time
from datetime import datetime

OK = b"HTTP/1.1 204 No Content\r\n\r\n"
HOSTILE = ("slow", "failing", "redirecting", "endless", "closed", "expired", "private")
# What the hostile ones answer at once; an endless body begins like a good one.
ANSWERS = {
    "failing": b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n",
    "redirecting": b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/inside\r\nContent-Length: 0\r\n\r\n",
    "endless": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
    "expired": OK,
    "private": OK,
}
CHUNK = b"10000\r\n" + bytes(65536) + b"\r\n"


async def read_body(reader):
    """The body of one request."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = next(
        int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")
    )
    return await reader.readexactly(length)


async def good(reader, writer, came):
    try:
        while True:
            body = await read_body(reader)
            came.append((time.time(), body))
            writer.write(OK)
    except (OSError, asyncio.IncompleteReadError):
        writer.close()


async def hostile(kind, reader, writer):
    try:
        while True:
            await read_body(reader)
            if kind == "slow":
                await asyncio.sleep(3600)
            writer.write(ANSWERS[kind])
            while kind == "endless":
                writer.write(CHUNK)
                await writer.drain()
    except (OSError, asyncio.IncompleteReadError):
        writer.close()


def serve_hostile(ports, certificate):
    """All hostile hosts, in a process of their own: what they cost themselves is not the good one's."""
    async def serve():
        tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        tls.load_cert_chain(*certificate)
        for kind, port in ports.items():
            # Nobody listens at the closed one.
            if kind != "closed":
                handle = lambda reader, writer, kind=kind: hostile(kind, reader, writer)
                secured = tls if kind in ("expired", "private") else None
                await asyncio.start_server(handle, "127.0.0.1", port, ssl=secured)
        await asyncio.sleep(1e9)

    asyncio.run(serve())


class Hosts:
    """The hostile hosts, at these ports."""

    def __init__(self, ports, certificate):
        self.process = multiprocessing.Process(target=serve_hostile, args=(ports, certificate), daemon=True)
        self.process.start()

    def stop(self):
        self.process.kill()
        self.process.join()


class Good:
    """A host that takes everything, on the loop of `background`; when each callback came, and its body."""

    def __init__(self, background, port):
        self.came = []
        handle = lambda reader, writer: good(reader, writer, self.came)
        background.do(asyncio.start_server(handle, "127.0.0.1", port))

    def delays(self):
        """Milliseconds from each final state to its callback."""
        def since(at, body):
            return 1000 * (at - datetime.fromisoformat(json.loads(body)["timestamp"]).timestamp())

        return [since(at, body) for at, body in list(self.came)]


def expired_certificate(tools, folder):
    """Files of a certificate for localhost that has ended, which is its own authority, and of its key."""
    certificate, key = folder / "expired.pem", folder / "expired.key"
    environment = dict(tools.environment(), FAKETIME="-30d",
                       LD_PRELOAD=tools.library("faketime/libfaketimeMT.so.1"))
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
         "-days", "1", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
         "-keyout", key, "-out", certificate],
        check=True, env=environment, capture_output=True,
    )
    return certificate, key
