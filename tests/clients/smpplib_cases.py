"""An ESME made with smpplib: the cases of tests/smpp/interop.

Usage: smpplib_cases.py HOST PORT SYSTEM_ID PASSWORD
Prints one JSON object about what it saw; any surprise ends it with a traceback.
"""

import json
import re
import sys

from smpplib import consts, gsm

from smpplib_session import Connection, text

LONG = "0123456789" * 30


class Session(Connection):
    """A bind; what is heard is kept over all of them."""

    receipts = []
    mo = []

    def __init__(self, kind):
        host, port, system_id, password = sys.argv[1:]
        super().__init__(host, port)
        bind = getattr(self.client, f"bind_{kind}")
        self.status = bind(system_id=system_id, password=password).status

    def on_delivery(self, pdu):
        message = text(pdu.short_message)
        if pdu.esm_class & 0x3C == 0x04:
            found = re.search(r"id:(\S+) .*stat:(\w+)", message)
            self.receipts.append({"id": found[1], "stat": found[2]})
        else:
            self.mo.append({"source": text(pdu.source_addr), "text": message})
        return consts.SMPP_ESME_ROK


def told(*ids):
    return set(ids) <= {one["id"] for one in Session.receipts}


def main():
    binds, unbind = {}, 0
    for kind in ("transmitter", "receiver"):
        session = Session(kind)
        binds[kind] = session.status
        unbind |= session.end().status
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
    unbind |= session.end().status
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
