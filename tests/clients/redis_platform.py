"""Programs of the Redis SMS platform, as they were written for it: they know its keys, and nothing of this SMSC.

    redis_platform.py REDIS forwarder URL          takes ids from list:report, posts each report, then puts the id into
                                                   list:Finish
    redis_platform.py REDIS pump FILE              takes ids from list:Finish, and moves their data to a database
    redis_platform.py REDIS pump FILE --only-takes the same, but leaves the keys where they are
    redis_platform.py REDIS submit LIST JSON...    stores each text at MT:<id>, puts the ids into the list, prints them

REDIS is host:port/number. A forwarder and a pump run until they are killed.
"""

import json
import socket
import sqlite3
import sys
import time
import urllib.request

PAUSE = 0.002


class Redis:
    """RESP, as far as it is needed here."""

    def __init__(self, address):
        server, number = address.split("/")
        host, port = server.rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)))
        self.file = self.socket.makefile("rb")
        self("SELECT", number)

    def __call__(self, *words):
        octets = [str(word).encode() for word in words]
        command = [b"*%d" % len(octets)]
        for word in octets:
            command += [b"$%d" % len(word), word]
        self.socket.sendall(b"\r\n".join([*command, b""]))
        return self.answer()

    def answer(self):
        line = self.file.readline()
        kind, rest = line[:1], line[1:-2]
        if kind == b"-":
            raise RuntimeError(rest.decode())
        if kind == b"+":
            return rest.decode()
        count = int(rest)
        if kind == b":":
            return count
        if count < 0:
            return None
        if kind == b"$":
            return self.file.read(count + 2)[:-2].decode()
        return [self.answer() for _ in range(count)]

    def data(self, key):
        """What a key holds, of which type it may be."""
        match self("TYPE", key):
            case "hash":
                words = self("HGETALL", key)
                return dict(zip(words[::2], words[1::2]))
            case "string":
                return self("GET", key)
        return None


def forwarder(redis, url):
    while True:
        identifier = redis("RPOP", "list:report")
        if identifier is None:
            time.sleep(PAUSE)
            continue
        report = {"id": identifier, "report": redis.data(f"Report:{identifier}"), "mt": redis.data(f"MT:{identifier}")}
        request = urllib.request.Request(url, json.dumps(report).encode(), {"Content-Type": "application/json"})
        urllib.request.urlopen(request).close()
        redis("LPUSH", "list:Finish", identifier)


def pump(redis, path, only_takes=False):
    database = sqlite3.connect(path, isolation_level=None)
    database.execute("CREATE TABLE history(id TEXT PRIMARY KEY, mt TEXT, report TEXT, failed TEXT)")
    while True:
        identifier = redis("RPOP", "list:Finish")
        if identifier is None:
            time.sleep(PAUSE)
            continue
        row = [json.dumps(redis.data(f"{kind}:{identifier}")) for kind in ("MT", "Report", "Submit-Failed")]
        database.execute("INSERT INTO history VALUES(?, ?, ?, ?)", (identifier, *row))
        if only_takes:
            continue
        seqno, ts = (redis("GET", f"{kind}:{identifier}") for kind in ("MT-seqno", "MT-ts"))
        kinds = ("MT", "MT-seqno", "MT-ts", "Report", "Submit-Failed")
        redis("DEL", f"Submit:{seqno}:{ts}", *(f"{kind}:{identifier}" for kind in kinds))
        for name in ("submited", "Response-succ", "Response-fail"):
            redis("SREM", f"set:{name}", identifier)


def submit(redis, name, *texts):
    for text in texts:
        identifier = redis("INCR", "MT-gid")
        redis("SET", f"MT:{identifier}", text)
        redis("LPUSH", name, identifier)
        print(identifier)


ADDRESS, PROGRAM, *REST = sys.argv[1:]
match PROGRAM:
    case "forwarder":
        forwarder(Redis(ADDRESS), *REST)
    case "pump":
        pump(Redis(ADDRESS), REST[0], "--only-takes" in REST)
    case "submit":
        submit(Redis(ADDRESS), *REST)
