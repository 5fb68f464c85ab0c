"""An ESME made with aiosmpplib, which queues, divides and reconnects by itself: the cases of
tests/smpp/interop.

Usage: aiosmpplib_esme.py HOST PORT SYSTEM_ID PASSWORD
Prints one JSON object about what it saw; any surprise ends it with a traceback.
"""

import asyncio
import json
import re
import sys

from aiosmpplib import (
    ESME,
    AbstractHook,
    BindMode,
    DeliverSm,
    NPI,
    PhoneNumber,
    SubmitSm,
    TON,
    Unbind,
)

# Where a PDU has what (SMPP 3.4 section 3.2).
COMMAND, STATUS, SEQUENCE, BODY = slice(4, 8), slice(8, 12), slice(12, 16), slice(16, None)
SUBMIT_SM_RESP, DELIVER_SM = b"\x80\0\0\x04", b"\0\0\0\x05"
RECEIPT = re.compile(rb"id:(\d+) .* stat:([A-Z]{7})")
PATIENCE = 60
# Two parts by user data header.
LONG = "0123456789" * 30


class Hook(AbstractHook):
    """Keeps what the session has heard: PDU by PDU, for the library tells of a text in parts by the
    answer to one part and the receipt of perhaps another."""

    def __init__(self):
        self.pdus = 0
        self.unbind = None
        self.names = {}
        self.ids = {}
        self.receipts = []
        self.mo = []

    async def sending(self, smpp_message, pdu, client_id):
        if isinstance(smpp_message, SubmitSm):
            self.pdus += 1
            self.names[pdu[SEQUENCE]] = smpp_message.log_id
        if isinstance(smpp_message, Unbind):
            # It closes without reading the answer.
            self.unbind = 0

    async def received(self, smpp_message, pdu, client_id):
        if pdu[COMMAND] == SUBMIT_SM_RESP:
            assert pdu[STATUS] == bytes(4), pdu
            message_id = pdu[BODY].partition(b"\0")[0].decode()
            self.ids.setdefault(self.names[pdu[SEQUENCE]], []).append(message_id)
        elif receipt := (pdu[COMMAND] == DELIVER_SM and RECEIPT.search(pdu)):
            told, stat = (word.decode() for word in receipt.groups())
            self.receipts.append({"id": told, "stat": stat})
        elif isinstance(smpp_message, DeliverSm):
            self.mo.append({
                "source": smpp_message.source.number,
                "text": smpp_message.short_message,
            })

    async def send_error(self, smpp_message, error, client_id):
        raise error


def esme(hook, mode):
    host, port, system_id, password = sys.argv[1:]
    return ESME(
        smsc_host=host,
        smsc_port=int(port),
        system_id=system_id,
        password=password,
        bind_mode=mode,
        hook=hook,
        log_level="ERROR",
    )


def message(text, log_id):
    return SubmitSm(
        short_message=text,
        source=PhoneNumber("12345", TON.UNKNOWN, NPI.UNKNOWN),
        destination=PhoneNumber("447700900123", TON.INTERNATIONAL, NPI.ISDN),
        registered_delivery=1,
        # What is too long for one message is divided with user data headers.
        esm_class=0x40 if len(text) > 160 else 0,
        auto_message_payload=len(text) <= 160,
        log_id=log_id,
    )


async def until(done):
    async with asyncio.timeout(PATIENCE):
        while not done():
            await asyncio.sleep(0.02)


async def bound(session):
    running = asyncio.create_task(session.start())
    await asyncio.wait_for(session._bound.wait(), PATIENCE)
    return running


async def main():
    binds = {}
    for mode in (BindMode.TRANSMITTER, BindMode.RECEIVER):
        session = esme(Hook(), mode)
        running = await bound(session)
        binds[mode.name.lower()] = 0
        await session.stop()
        await running

    hook = Hook()
    session = esme(hook, BindMode.TRANSCEIVER)
    running = await bound(session)
    binds["transceiver"] = 0
    await session.broker.enqueue(message("hello aiosmpplib", "plain"))
    await session.broker.enqueue(message(LONG, "long"))
    told = lambda: {one["id"] for one in hook.receipts}
    await until(lambda: hook.mo and "plain" in hook.ids and len(hook.ids.get("long", [])) == 2)
    await until(lambda: {*hook.ids["plain"], *hook.ids["long"]} <= told())

    # The connection is dropped, not unbound: the session binds again by itself.
    await session.broker.enqueue(message("before the drop", "drop"))
    await until(lambda: "drop" in hook.ids)
    session._bound.clear()
    session._writer.transport.abort()
    await asyncio.wait_for(session._bound.wait(), PATIENCE)
    await until(lambda: hook.ids["drop"][0] in told())
    await session.stop()
    await running

    print(json.dumps({
        "binds": binds,
        "submit": hook.ids["plain"][0],
        "long": hook.ids["long"],
        "messages": hook.pdus,
        "receipts": hook.receipts,
        "mo": hook.mo,
        "reconnect": hook.ids["drop"][0],
        "unbind": hook.unbind,
    }))


asyncio.run(main())
