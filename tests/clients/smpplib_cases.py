"""An ESME made with smpplib: the cases of tests/interop.

Usage: smpplib_cases.py HOST PORT SYSTEM_ID PASSWORD
Prints one JSON object about what it saw; any surprise ends it with a traceback.
"""

import json
import re
import sys
import time

from smpplib import client, consts, gsm

PATIENCE = 60
LONG = "0123456789" * 30


def text(value):
    """smpplib gives some fields as bytes and some as str."""
    return value.decode("ascii") if isinstance(value, bytes) else value


class Session:
    """One connection; what is heard is kept over all of them."""

    receipts = []
    mo = []

    def __init__(self, kind):
        host, port, self.system_id, self.password = sys.argv[1:]
        self.answers = {}
        self.client = client.Client(host, port, allow_unknown_opt_params=True)
        self.client.set_message_sent_handler(self.on_answer)
        self.client.set_message_received_handler(self.on_delivery)
        self.client.connect()
        bind = getattr(self.client, f"bind_{kind}")
        self.status = bind(system_id=self.system_id, password=self.password).status

    def on_answer(self, pdu):
        self.answers[pdu.sequence] = text(pdu.message_id)

    def on_delivery(self, pdu):
        message = text(pdu.short_message)
        if pdu.esm_class & 0x3C == 0x04:
            found = re.search(r"id:(\S+) .*stat:(\w+)", message)
            self.receipts.append({"id": found[1], "stat": found[2]})
        else:
            self.mo.append({"source": text(pdu.source_addr), "text": message})
        return consts.SMPP_ESME_ROK

    def submit(self, **fields):
        sent = self.client.send_message(
            source_addr="12345",
            dest_addr_ton=consts.SMPP_TON_INTL,
            dest_addr_npi=consts.SMPP_NPI_ISDN,
            destination_addr="447700900123",
            registered_delivery=1,
            **fields,
        )
        self.until(lambda: sent.sequence in self.answers)
        return self.answers[sent.sequence]

    def until(self, done):
        limit = time.monotonic() + PATIENCE
        while not done():
            if time.monotonic() > limit:
                raise TimeoutError("the SMSC did not do what was waited for")
            self.client.read_once()

    def end(self):
        answer = self.client.unbind()
        self.client.disconnect()
        return answer.status


def told(*ids):
    return set(ids) <= {one["id"] for one in Session.receipts}


def main():
    binds, unbind = {}, 0
    for kind in ("transmitter", "receiver"):
        session = Session(kind)
        binds[kind] = session.status
        unbind |= session.end()
    session = Session("transceiver")
    binds["transceiver"] = session.status
    plain = session.submit(short_message=b"hello smpplib")
    long_ids = [session.submit(message_payload=LONG.encode())]
    parts, coding, esm_class = gsm.make_parts(LONG)
    for part in parts:
        fields = {"short_message": part, "data_coding": coding, "esm_class": esm_class}
        long_ids.append(session.submit(**fields))
    session.until(lambda: Session.mo and told(plain, *long_ids))

    # The connection is dropped, not unbound; the receipt comes by the next one, or came just before.
    last = session.submit(short_message=b"before the drop")
    session.client._socket.close()
    session = Session("transceiver")
    if not told(last):
        session.until(lambda: told(last))
    unbind |= session.end()
    print(json.dumps({
        "binds": binds,
        "submit": plain,
        "long": long_ids,
        "messages": 2 + len(long_ids),
        "receipts": Session.receipts,
        "mo": Session.mo,
        "reconnect": last,
        "unbind": unbind,
    }))


main()
