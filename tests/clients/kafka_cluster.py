"""A cluster of Kafka for a test: librdkafka's own mock of brokers, and a consumer of confluent-kafka that prints every
record of its topics as JSON lines.

SIGUSR1 takes all brokers away, SIGUSR2 brings them back with what they had acknowledged. The mock is driven by its
C interface, of which the Python package has only the beginning.
"""

import argparse
import base64
import ctypes
import glob
import json
import os
import signal

import confluent_kafka
import kafka_door

BROKERS = 3
PRODUCER = 0
PRODUCE_REQUEST = 0


def say(event, **fields):
    print(json.dumps({"event": event, **fields}), flush=True)


def library():
    """The librdkafka that the package brings."""
    folder = os.path.dirname(confluent_kafka.__file__) + ".libs"
    (path,) = glob.glob(os.path.join(folder, "librdkafka*.so*"))
    found = ctypes.CDLL(path)
    found.rd_kafka_conf_new.restype = ctypes.c_void_p
    found.rd_kafka_new.restype = ctypes.c_void_p
    found.rd_kafka_mock_cluster_new.restype = ctypes.c_void_p
    found.rd_kafka_mock_cluster_bootstraps.restype = ctypes.c_char_p
    return found


class Cluster:
    def __init__(self, arguments):
        self.rdkafka = library()
        reason = ctypes.create_string_buffer(512)
        configuration = ctypes.c_void_p(self.rdkafka.rd_kafka_conf_new())
        client = self.rdkafka.rd_kafka_new(PRODUCER, configuration, reason, ctypes.c_size_t(512))
        assert client, reason.value
        self.mock = ctypes.c_void_p(self.rdkafka.rd_kafka_mock_cluster_new(ctypes.c_void_p(client), BROKERS))
        assert self.mock
        for topic in arguments.topics:
            failed = self.rdkafka.rd_kafka_mock_topic_create(self.mock, topic.encode(), arguments.partitions, BROKERS)
            assert not failed, failed
        for error in arguments.error:
            self.rdkafka.rd_kafka_mock_push_request_errors(
                self.mock, ctypes.c_int16(PRODUCE_REQUEST), ctypes.c_size_t(1), ctypes.c_int(error)
            )
        self.servers = self.rdkafka.rd_kafka_mock_cluster_bootstraps(self.mock).decode()
        self.login = {}
        if arguments.door:
            self.open_doors(arguments.door)

    def open_doors(self, folder):
        """Doors before all brokers, which tell clients of the doors from then on."""
        files = {name: os.path.join(folder, f"{name}.pem") for name in ("certificate", "key", "authority")}
        user, password = "smsc", "pencil"
        self.login = {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "SCRAM-SHA-256",
            "sasl.username": user,
            "sasl.password": password,
            "ssl.ca.location": files["authority"],
            "ssl.certificate.location": files["certificate"],
            "ssl.key.location": files["key"],
            "ssl.endpoint.identification.algorithm": "https",
        }
        doors = []
        for broker, server in enumerate(self.servers.split(","), 1):
            port = int(server.rsplit(":", 1)[1])
            door = kafka_door.open_door(port, files, user, password, lambda name: say("login", mechanism=name))
            self.rdkafka.rd_kafka_mock_broker_set_host_port(self.mock, broker, b"localhost", door)
            doors.append(f"localhost:{door}")
        self.servers = ",".join(doors)

    def partition_of(self, key, partitions):
        """The choice of its own partitioner that is compatible with the Java client."""
        return self.rdkafka.rd_kafka_msg_partitioner_murmur2(
            None, key, ctypes.c_size_t(len(key)), partitions, None, None
        )

    def each_broker(self, verb):
        for broker in range(1, BROKERS + 1):
            failed = getattr(self.rdkafka, f"rd_kafka_mock_broker_{verb}")(self.mock, broker)
            assert not failed, failed


def record(message, chosen):
    value = message.value()
    return {
        "topic": message.topic(),
        "partition": message.partition(),
        "chosen": chosen,
        "offset": message.offset(),
        "key": message.key().decode(),
        "headers": {name: value.decode() for name, value in message.headers() or []},
        "value": base64.b64encode(value).decode(),
    }


def consumer(cluster, places):
    found = confluent_kafka.Consumer(
        {
            "bootstrap.servers": cluster.servers,
            "group.id": "reader",
            "enable.auto.commit": False,
            # Soon after the brokers are back.
            "reconnect.backoff.max.ms": 500,
            "topic.metadata.refresh.interval.ms": 1000,
            **cluster.login,
        }
    )
    beginning = confluent_kafka.OFFSET_BEGINNING
    found.assign([confluent_kafka.TopicPartition(*place, beginning) for place in places])
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--partitions", type=int, default=1, help="of each topic")
    parser.add_argument("--error", type=int, action="append", default=[], help="answers of the first produce requests")
    parser.add_argument("--door", help="folder with certificate.pem, key.pem and authority.pem: TLS and logins")
    parser.add_argument("topics", nargs="+")
    arguments = parser.parse_args()
    wanted = []
    signal.signal(signal.SIGUSR1, lambda *_: wanted.append("set_down"))
    signal.signal(signal.SIGUSR2, lambda *_: wanted.append("set_up"))
    cluster = Cluster(arguments)
    places = [(topic, partition) for topic in arguments.topics for partition in range(arguments.partitions)]
    reader = consumer(cluster, places)
    say("ready", servers=cluster.servers)
    while True:
        if wanted:
            verb = wanted.pop(0)
            cluster.each_broker(verb)
            say(verb)
        message = reader.poll(0.1)
        if message is not None and message.error() is None:
            chosen = cluster.partition_of(message.key(), arguments.partitions)
            say("record", **record(message, chosen))


main()
