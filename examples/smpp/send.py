"""Sends a message over SMPP, waits for its receipt and prints both. Needs `pip install smpplib`.

    python3 examples/smpp/send.py 127.0.0.1 2775 demo "$(cat smsc-data/demo-password)" 447700900123 "hello"
"""

import re
import sys

import smpplib.client
import smpplib.consts as consts
import smpplib.gsm


def main(host, port, account, password, to, text):
    parts, coding, esm_class = smpplib.gsm.make_parts(text)
    awaited = {}
    client = smpplib.client.Client(host, int(port), allow_unknown_opt_params=True)

    def answered(pdu):
        message_id = pdu.message_id.decode()
        awaited[message_id] = None
        print(f"accepted as {message_id}", flush=True)

    def delivered(pdu):
        """A receipt; its text is that of SMPP 3.4, appendix B."""
        fields = dict(re.findall(r"(id|stat):(\S+)", pdu.short_message.decode("latin-1")))
        if fields.get("id") in awaited:
            awaited[fields["id"]] = fields["stat"]
            print(f"{fields['id']} ended as {fields['stat']}", flush=True)

    client.set_message_sent_handler(answered)
    client.set_message_received_handler(delivered)
    client.connect()
    client.bind_transceiver(system_id=account, password=password)
    # A long text has several parts; none waits for the answer to the one before.
    for part in parts:
        client.send_message(
            source_addr_ton=consts.SMPP_TON_ALNUM, source_addr="ACME",
            dest_addr_ton=consts.SMPP_TON_INTL, dest_addr_npi=consts.SMPP_NPI_ISDN, destination_addr=to,
            data_coding=coding, esm_class=esm_class, short_message=part, registered_delivery=1,
        )
    while len(awaited) < len(parts) or None in awaited.values():
        client.read_once()
    client.unbind()
    client.disconnect()


if __name__ == "__main__":
    if len(sys.argv) != 7:
        sys.exit(__doc__)
    main(*sys.argv[1:])
