"""One connection of smpplib, as both of its scripts need it."""

import time

from smpplib import client, consts

PATIENCE = 60


def text(value):
    """smpplib gives some fields as bytes and some as str."""
    return value.decode("ascii") if isinstance(value, bytes) else value


class Connection:
    """Connected, not bound. A script says what is done with a delivery."""

    def __init__(self, host, port):
        self.answers = {}
        self.client = client.Client(host, port, allow_unknown_opt_params=True)
        self.client.set_message_sent_handler(self.on_answer)
        self.client.set_message_received_handler(self.on_delivery)
        self.client.connect()

    def on_answer(self, pdu):
        self.answers[pdu.sequence] = text(pdu.message_id)

    def on_delivery(self, pdu):
        raise NotImplementedError

    def submit(self, **fields):
        """Sends a message that asks for a receipt and gives its message id."""
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
        """Unbinds and gives the answer."""
        answer = self.client.unbind()
        self.client.disconnect()
        return answer
