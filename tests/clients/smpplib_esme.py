"""An ESME made with smpplib: binds in every way, submits, collects receipts, unbinds.

Usage: smpplib_esme.py HOST PORT SYSTEM_ID PASSWORD
Prints one JSON object about what it saw; any surprise ends it with a traceback.
"""

import json
import sys

from smpplib import consts, exceptions, gsm

from smpplib_session import Connection, text


class Esme(Connection):
    def __init__(self, host, port):
        self.deliveries = []
        super().__init__(host, port)

    def on_delivery(self, pdu):
        self.deliveries.append(pdu)
        return consts.SMPP_ESME_ROK

    def submit(self, **fields):
        return super().submit(source_addr_ton=consts.SMPP_TON_ALNUM, **fields)


def receipt(pdu):
    return {
        "esm_class": pdu.esm_class,
        "source": text(pdu.source_addr),
        "destination": text(pdu.destination_addr),
        "text": text(pdu.short_message),
        "receipted_message_id": text(pdu.receipted_message_id),
        "message_state": pdu.message_state,
        "user_message_reference": pdu.user_message_reference,
    }


def transceiver(host, port, system_id, password):
    esme = Esme(host, port)
    bound = esme.client.bind_transceiver(system_id=system_id, password=password)
    ids = {
        "plain": esme.submit(short_message=b"hello smpplib", user_message_reference=4711),
        "ucs2": esme.submit(
            short_message="Grüße".encode("utf-16-be"),
            data_coding=consts.SMPP_ENCODING_ISO10646,
        ),
        "payload": esme.submit(message_payload=b"p" * 250),
    }
    parts, coding, esm_class = gsm.make_parts("0123456789" * 20)
    ids["parts"] = [
        esme.submit(short_message=part, data_coding=coding, esm_class=esm_class)
        for part in parts
    ]
    expected = 3 + len(parts)
    esme.until(lambda: len(esme.deliveries) >= expected)
    return {
        "bound_to": text(bound.system_id),
        "ids": ids,
        "receipts": [receipt(pdu) for pdu in esme.deliveries],
        "unbind": esme.end().command,
    }


def transmitter_and_receiver(host, port, system_id, password):
    transmitter, receiver = Esme(host, port), Esme(host, port)
    transmitter.client.bind_transmitter(system_id=system_id, password=password)
    receiver.client.bind_receiver(system_id=system_id, password=password)
    message_id = transmitter.submit(short_message=b"two binds")
    receiver.until(lambda: receiver.deliveries)
    receiver.end()
    transmitter.end()
    return {"id": message_id, "receipt": receipt(receiver.deliveries[0])}


def refused(host, port, system_id, password):
    esme = Esme(host, port)
    try:
        esme.client.bind_transceiver(system_id=system_id, password=password)
    except exceptions.PDUError as error:
        return error.args[1]
    finally:
        esme.client.disconnect()
    return consts.SMPP_ESME_ROK


def main():
    host, port, system_id, password = sys.argv[1:]
    print(json.dumps({
        "transceiver": transceiver(host, port, system_id, password),
        "pair": transmitter_and_receiver(host, port, system_id, password),
        "wrong_password": refused(host, port, system_id, "wrong"),
        "wrong_system_id": refused(host, port, "nobody", password),
    }))


main()
