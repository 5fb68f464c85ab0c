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


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        if is_genuine(self.headers, body):
            event = json.loads(body)
            # webhook-id is the same if it comes again: keep it where messages are kept, and skip repetitions.
            print(self.headers["webhook-id"], event["type"], event["data"]["message_id"], flush=True)
            self.send_response(204)
        else:
            self.send_response(401)
        self.end_headers()

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    HTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver).serve_forever()
