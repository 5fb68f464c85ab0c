"""Publishes commands with nats-py: nats_publisher.py URL COUNT."""

import asyncio
import json
import sys

import nats


async def main(url: str, count: int) -> None:
    connection = await nats.connect(url)
    stream = connection.jetstream()
    for number in range(count):
        command = {
            "version": "1.0",
            "eventId": f"e-{number}",
            "messageId": f"m-{number}",
            "to": f"+4477009{number:05}",
            "from": "ACME",
            "text": "привет" if number % 2 else "hello",
            "operatorId": "up",
            "accountId": "tenant",
            "messageType": "FLASH" if number % 3 else "SMS",
            "encoding": "UCS2" if number % 2 else "GSM7",
            "longMessageStrategy": "CSMS",
            "enqueuedAt": "2026-01-01T00:00:00.000Z",
            "expiresAt": "2090-01-01T00:00:00.000Z",
        }
        headers = {"Nats-Msg-Id": command["messageId"], "Content-Type": "application/json"}
        await stream.publish("smpp.operator.up", json.dumps(command).encode(), headers=headers)
    await connection.close()
    print(json.dumps({"published": count}))


asyncio.run(main(sys.argv[1], int(sys.argv[2])))
