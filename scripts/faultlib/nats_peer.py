"""A publisher of commands and a reader of events on NATS JetStream, by nats-py. Run with the Python of scripts/test's
tools:

    nats_peer.py prepare URL                       makes the streams
    nats_peer.py publish URL NAME RATE JOURNAL     publishes until its standard input is closed
    nats_peer.py read URL                          prints id and message of each event

A command that the server has not confirmed is published again under the same id, however long the server is away.
"""

import asyncio
import json
import sys

import nats
from nats.errors import Error

STREAMS = {
    "SMS_DISPATCH": ["smpp.operator.>"], "SMS_EVENTS": ["sms.events.>"], "SMS_DEAD": ["sms.outbound.deadletter"],
}


async def quiet(*_):
    """What is tried again need not be told."""


async def connect(url):
    return await nats.connect(
        url, max_reconnect_attempts=-1, reconnect_time_wait=0.2, error_cb=quiet, disconnected_cb=quiet
    )


async def prepare(url):
    connection = await connect(url)
    for name, subjects in STREAMS.items():
        await connection.jetstream().add_stream(name=name, subjects=subjects)
    await connection.close()


async def publish(url, name, rate, journal):
    connection = await connect(url)
    stream = connection.jetstream(timeout=2)
    ending = asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    pause, number = 1 / float(rate), 0
    with open(journal, "a") as lines:
        while not ending.done():
            reference = f"{name}-{number:010}"
            command = {
                "version": "1.0", "eventId": f"e{number}", "messageId": reference, "to": f"4477{number % 3 + 1:02}00{number % 1000:04}",
                "from": "ACME", "text": f"{reference} hello", "operatorId": "opx", "accountId": "x",
            }
            while True:
                try:
                    await stream.publish(
                        "smpp.operator.any", json.dumps(command).encode(), headers={"Nats-Msg-Id": reference}
                    )
                    break
                except (Error, asyncio.TimeoutError, OSError):
                    await asyncio.sleep(0.2)
            lines.write(f"{reference}\n")
            lines.flush()
            number += 1
            await asyncio.sleep(pause)
    await connection.close()


async def read(url):
    connection = await connect(url)
    stream = connection.jetstream()
    last = (await stream.stream_info("SMS_EVENTS")).state.last_seq
    events = await stream.subscribe("sms.events.>", stream="SMS_EVENTS", ordered_consumer=True)
    while last:
        event = await events.next_msg(timeout=20)
        data = json.loads(event.data)
        # An event of a bind has no message.
        print(event.headers["Nats-Msg-Id"], data.get("messageId") or data.get("id") or "-", flush=True)
        if event.metadata.sequence.stream >= last:
            break
    await connection.close()


if __name__ == "__main__":
    asyncio.run({"prepare": prepare, "publish": publish, "read": read}[sys.argv[1]](*sys.argv[2:]))
