"""Messages by the HTTP API of accounts, a receiver of their callbacks that forgets nothing, and a world that has both."""

import http.client
import json
import random
import threading
import time
import uuid
from collections import Counter, defaultdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from .history import some
from .servers import free_port
from .world import World

ACCOUNT = "gamma"
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
BATCH = 10
# A request that nobody answers for so long is a finding (seconds).
PATIENCE = 60
# Not decided, or not now: the same request is sent again, to the next node.
AGAIN = {401, 409, 429, 503, 507}


class Receiver:
    """Takes callbacks; webhook-id → states, in the order they came."""

    def __init__(self):
        self.came = defaultdict(list)
        # The share that it refuses with 503, by dice.
        self.failing = 0.0
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                data = body["data"]
                takes = random.random() >= receiver.failing
                if takes:
                    receiver.came[self.headers["webhook-id"]].append((data["message_id"], data["state"]))
                self.send_response(200 if takes else 503)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        class Server(ThreadingHTTPServer):
            def handle_error(self, *_):
                """A node was killed in the middle of a callback, which comes again."""

        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def table(self):
        """The account whose callbacks come here, for the configuration of every node."""
        return (
            f'[[account]]\nsystem_id = "{ACCOUNT}"\npassword = "mixed"\ndeliver_by = "callback"\n'
            f'callback_url = "http://127.0.0.1:{self.port}/"\ncallback_secrets = "{SECRET}"\n'
            'callback_allow_private = ["127.0.0.1"]'
        )

    def look(self, journal, damaged=()):
        """Whether each message that this journal of a Sender has got one callback, however often it came: what to say,
        and the findings. Of damaged messages nobody is told."""
        accepted = {line.split("\t")[2] for line in journal.read_text().splitlines() if line.startswith("A")}
        about = Counter(states[0][0] for states in self.came.values())
        missing = [id for id in accepted if about[id] == 0 and int(id) not in damaged]
        several = [id for id in about if about[id] > 1]
        again = sum(len(states) - 1 for states in self.came.values())
        findings = []
        if missing:
            findings.append(f"{len(missing)} messages over HTTP have no callback; {some(missing)}")
        if several:
            findings.append(f"{len(several)} messages have callbacks under several ids; {some(several)}")
        return f"{len(self.came)} callbacks of {len(accepted)} messages, {again} came again", findings

    def told(self):
        """The states of the callbacks, as one line of a journal for each."""
        callbacks = [one for states in list(self.came.values()) for one in states]
        return "".join(f"R\t{id}\t{state}\n" for id, state in callbacks)


class Sender:
    """Submits batches by one account, at one node after another, until it is stopped. A batch that is not answered
    goes again under its Idempotency-Key."""

    def __init__(self, ports, key, name, rate, journal):
        # `ports` gives the nodes that may be tried now; `name` has five letters and stands in each text.
        self.ports, self.key, self.name, self.pause = ports, key, name, BATCH / rate
        self.journal = open(journal, "a")
        self.findings = []
        self.sent = self.again = 0
        self.ending = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def stop(self):
        self.ending.set()
        self.thread.join(PATIENCE + 10)
        self.journal.close()

    def run(self):
        while not self.ending.wait(self.pause):
            references = [f"{self.name}-{self.sent + at:010}" for at in range(BATCH)]
            self.sent += BATCH
            if not self.submit(references):
                return

    def submit(self, references):
        messages = [
            {"to": f"4477{at % 4 + 1:02}00{at:04}", "from": "ACME", "receipt": True, "text": f"{reference} hello"}
            for at, reference in enumerate(references)
        ]
        headers = {
            "Authorization": f"Bearer {self.key}", "Content-Type": "application/json",
            "Idempotency-Key": str(uuid.uuid4()),
        }
        limit, said = time.monotonic() + PATIENCE, "no answer"
        while time.monotonic() < limit:
            for port in self.ports():
                try:
                    status, body = self.post(port, json.dumps({"messages": messages}), headers)
                except (OSError, http.client.HTTPException, ValueError) as error:
                    said = repr(error)
                    continue
                if status == 202:
                    self.note(references, body)
                    return True
                said = f"{status} {body}"
                if status not in AGAIN:
                    self.findings.append(f"a submission over HTTP is answered {said}")
                    return False
            self.again += 1
            time.sleep(0.2)
        self.findings.append(f"a submission over HTTP is not taken for {PATIENCE} s: {said}")
        return False

    def post(self, port, body, headers):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=15)
        try:
            connection.request("POST", "/v1/messages", body, headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            connection.close()

    def note(self, references, body):
        for reference, result in zip(references, body["messages"]):
            if result["error"]:
                self.findings.append(f"{reference} is refused: {result['error']}")
            else:
                self.journal.write(f"A\t{reference}\t{result['id']}\n")
        self.journal.flush()


class ApiWorld(World):
    """The world with the HTTP API, and an account that sends by it and gets callbacks."""

    def __init__(self, *arguments):
        self.receiver, self.key, self.senders = Receiver(), None, 0
        super().__init__(*arguments)
        # What was accepted, and what the receiver was told.
        self.submitted, self.called = self.folder / "http.journal", self.folder / "callbacks.journal"

    def more_lines(self, node):
        node.api = free_port()
        return [f'api = {{ listen = "127.0.0.1:{node.api}" }}']

    def more_tables(self):
        return [self.receiver.table()]

    def api_ports(self):
        ports = [node.api for node in self.nodes if node.runs() and not node.frozen]
        random.shuffle(ports)
        return ports

    def start_sender(self, rate):
        """A sender whose texts begin with a name of its own."""
        if self.key is None:
            asked = {"account": ACCOUNT, "role": "send"}
            node = next(node for node in self.nodes if node.runs() and not node.frozen)
            self.key = node.request("POST", "/v1/api-keys", asked)["secret"]
        self.senders += 1
        return Sender(self.api_ports, self.key, f"h{self.senders:04}", rate, self.submitted)

    def all_journals(self):
        self.called.write_text(self.receiver.told())
        return [*super().all_journals(), self.submitted, self.called]
