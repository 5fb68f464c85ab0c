"""Receives callbacks, verifies them, and prints what they say. Only the standard library.

    SMSC_SECRET=whsec_... python3 examples/http/receive.py 8000

The account has `deliver_by = "callback"`, this program's address as its `callback_url`, and the secret in its
`callback_secrets`. The signature is that of Standard Webhooks: their packages verify it as well.
"""

import base64
import hashlib
import hmac
import json
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

SECRET = base64.b64decode(os.environ["SMSC_SECRET"].removeprefix("whsec_"))
TOLERANCE = 300


def is_genuine(headers, body):
    """Whether the octets are signed with our secret, and not minutes old."""
    id, timestamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not timestamp.isdigit() or abs(time.time() - int(timestamp)) > TOLERANCE:
        return False
    signed = f"{id}.{timestamp}.".encode() + body
    wanted = base64.b64encode(hmac.new(SECRET, signed, hashlib.sha256).digest())
    given = headers.get("webhook-signature", "").split(" ")
    return any(hmac.compare_digest(b"v1," + wanted, one.encode()) for one in given)


def in_words(event):
    """What a callback says, in one line. A type that is not named here is shown as well: later releases may have more."""
    kind, data = event["type"], event["data"]
    if kind == "test":
        return f"{kind} of account {data['account']}"
    if kind == "message.received":
        return f"{kind} {data['message_id']} {data['from']}: {data['text']}"
    # How a message of ours ended, or a state before that.
    return f"{kind} {data.get('message_id', '-')}"


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        if is_genuine(self.headers, body):
            # webhook-id is the same if it comes again: keep it where messages are kept, and skip repetitions.
            print(self.headers["webhook-id"], in_words(json.loads(body)), flush=True)
            self.send_response(204)
        else:
            self.send_response(401)
        self.end_headers()

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    HTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver).serve_forever()
