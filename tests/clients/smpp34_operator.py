"""An operator made with smpp34: accepts binds and messages, sends a receipt for every message that
asks for one, and one mobile-originated message after the first. The text "drop" makes it unbind.

Usage: smpp34_operator.py PORT
Prints a JSON line per event: listening, bind, message, unbind.
"""

import asyncio
import json
import sys

import smpp34


def report(event, **fields):
    print(json.dumps({"event": event, **fields}), flush=True)


def payload_of(message):
    found = [tlv.value for tlv in message.tlvs if tlv.tag == smpp34.TLV_MESSAGE_PAYLOAD]
    return found[0].decode() if found else None


async def main():
    server = smpp34.Server(host="127.0.0.1", port=int(sys.argv[1]), system_id="smpp34")
    await server.start()
    report("listening")
    sessions = {}
    count = 0
    has_dropped = False

    async def to_smsc(message, **fields):
        receivers = [session for session in sessions.values() if session.can_receive]
        answer = await receivers[0].deliver_sm(
            message.source_addr,
            source_addr=message.destination_addr,
            **fields,
        )
        assert answer.is_success, answer.command_status

    while True:
        event = await server.next()
        if isinstance(event, smpp34.Esme):
            sessions[event.session_id] = event
            report("bind", system_id=event.system_id, can_receive=event.can_receive)
        elif isinstance(event, smpp34.Unbound):
            sessions.pop(event.session_id, None)
            report("unbind")
        elif isinstance(event, smpp34.SubmitSmEvent):
            count += 1
            message_id = f"smpp34-{count}"
            text = event.short_message.decode()
            report(
                "message",
                text=text,
                payload=payload_of(event),
                source=event.source_addr,
                destination=event.destination_addr,
            )
            event.accept(message_id=message_id)
            # Once: when the answer is lost with the connection, it comes again.
            if text == "drop" and not has_dropped:
                has_dropped = True
                for session in sessions.values():
                    await session.unbind()
                # That they are unbound may be told after their successors have come.
                sessions.clear()
                continue
            if event.registered_delivery & 3:
                receipt = (
                    f"id:{message_id} sub:001 dlvrd:001 submit date:2601010000 "
                    "done date:2601010000 stat:DELIVRD err:000 text:hello"
                )
                await to_smsc(event, esm_class=4, short_message=receipt.encode())
            if count == 1:
                await to_smsc(event, short_message=b"from a mobile")


asyncio.run(main())
