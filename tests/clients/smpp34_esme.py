"""An ESME made with smpp34 (a Rust core below asyncio): the cases of tests/smpp/interop.

Usage: smpp34_esme.py HOST PORT SYSTEM_ID PASSWORD
Prints one JSON object about what it saw; any surprise ends it with a traceback.
"""

import asyncio
import json
import os
import re
import sys

import smpp34

PATIENCE = 60
DESTINATION = "447700900123"
LONG = "0123456789" * 30


class Esme:
    """What all sessions of this run have heard."""

    def __init__(self, host, port, system_id, password):
        self.peer = {
            "host": host,
            "port": int(port),
            "system_id": system_id,
            "password": password,
        }
        self.receipts = []
        self.mo = []

    def client(self, bind_type):
        return smpp34.Client(**self.peer, bind_type=bind_type)

    async def listen(self, smsc):
        while True:
            event = await smsc.next()
            if not isinstance(event, smpp34.DeliverSmEvent):
                return isinstance(event, smpp34.Disconnected)
            text = event.short_message.decode()
            if event.esm_class & 0x3C == 0x04:
                found = re.search(r"id:(\S+) .*stat:(\w+)", text)
                self.receipts.append({"id": found[1], "stat": found[2]})
            else:
                self.mo.append({"source": event.source_addr, "text": text})

    async def until(self, done):
        async with asyncio.timeout(PATIENCE):
            while not done():
                await asyncio.sleep(0.02)


async def submit(smsc, text=b"", **fields):
    answer = await smsc.submit_sm(
        DESTINATION,
        text,
        source_addr="12345",
        dest_addr_ton=1,
        dest_addr_npi=1,
        registered_delivery=1,
        **fields,
    )
    assert answer.is_success, answer.command_status
    return answer.message_id


async def main():
    esme = Esme(*sys.argv[1:])
    binds = {}
    for kind, name in (("TX", "transmitter"), ("RX", "receiver")):
        smsc = await esme.client(kind).connect()
        binds[name] = 0 if smsc.session_id else 1
        await smsc.unbind()

    client = esme.client("TRX")
    smsc = await client.connect()
    binds["transceiver"] = 0 if smsc.session_id else 1
    listener = asyncio.create_task(esme.listen(smsc))
    plain = await submit(smsc, b"hello smpp34")
    payload = smpp34.Tlv(smpp34.TLV_MESSAGE_PAYLOAD, LONG.encode())
    long_ids = [await submit(smsc, tlvs=[payload])]
    parts = [LONG[:150], LONG[150:]]
    for number, part in enumerate(parts, start=1):
        header = bytes([5, 0, 3, 7, len(parts), number])
        long_ids.append(await submit(smsc, header + part.encode(), esm_class=0x40))
    told = lambda: {one["id"] for one in esme.receipts}
    await esme.until(lambda: esme.mo and {plain, *long_ids} <= told())

    # The connection is dropped, not unbound; the receipt comes by the next one, or came just before.
    last = await submit(smsc, b"before the drop")
    await client.stop()
    listener.cancel()
    client = esme.client("TRX")
    smsc = await client.connect()
    listener = asyncio.create_task(esme.listen(smsc))
    await esme.until(lambda: last in told())
    await smsc.unbind()
    # Answered: the session is over.
    ended = await asyncio.wait_for(listener, PATIENCE)

    print(json.dumps({
        "binds": binds,
        "submit": plain,
        "long": long_ids,
        "messages": 2 + len(long_ids),
        "receipts": esme.receipts,
        "mo": esme.mo,
        "reconnect": last,
        "unbind": 0 if ended else 1,
    }))


asyncio.run(main())
sys.stdout.flush()
# The threads of its core do not survive the end of the interpreter.
os._exit(0)
