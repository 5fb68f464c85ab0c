"""A client of SMPP in the virtual machine: sends messages, takes receipts, and what handsets write."""

import asyncio

from faultlib import smpp

TIMEOUT = 60
SOURCE = b"\1\1" + b"12345\0"


class Esme:
    """One transceiver. `accepted` has the ids by text, `states` the final states by id, `received` the texts of handsets."""

    def __init__(self):
        self.accepted, self.states, self.received = {}, {}, []
        self.waiting, self.sequence = {}, 0

    async def bind(self, port, name, password):
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", port)
        self.task = asyncio.create_task(self.read())
        body = name.encode() + b"\0" + password.encode() + b"\0" + b"\0\x34\0\0\0"
        status, _ = await self.ask(smpp.BIND_TRANSCEIVER, body)
        if status != smpp.ROK:
            raise ConnectionError(f"the bind was answered with {status:#x}")

    async def ask(self, command, body):
        self.sequence += 1
        answer = self.waiting[self.sequence] = asyncio.get_running_loop().create_future()
        self.writer.write(smpp.pdu(command, self.sequence, body))
        return await asyncio.wait_for(answer, TIMEOUT)

    async def submit(self, number, text):
        destination = b"\1\1" + number.encode() + b"\0"
        octets = text.encode()
        # No class, protocol, priority or times; a receipt for every end.
        body = b"\0" + SOURCE + destination + b"\0\0\0\0\0\1\0\0\0" + bytes([len(octets)]) + octets
        status, answer = await self.ask(smpp.SUBMIT_SM, body)
        if status != smpp.ROK:
            raise ConnectionError(f"a message was answered with {status:#x}")
        self.accepted[text] = answer.rstrip(b"\0").decode()

    async def read(self):
        while True:
            command, status, sequence, body = await smpp.read_pdu(self.reader)
            if command & smpp.RESPONSE:
                answer = self.waiting.pop(sequence, None)
                if answer and not answer.done():
                    answer.set_result((status, body))
                continue
            if command == smpp.DELIVER_SM:
                self.delivered(body)
                self.writer.write(smpp.pdu(command | smpp.RESPONSE, sequence, b"\0"))
            elif command == smpp.ENQUIRE_LINK:
                self.writer.write(smpp.pdu(command | smpp.RESPONSE, sequence))

    def delivered(self, body):
        receipt = smpp.receipt_of(body)
        if receipt:
            self.states[receipt[0]] = receipt[1]
        else:
            self.received.append(smpp.submit(body)[3].decode(errors="replace"))
