"""Sends a message over HTTP and prints its id. Only the standard library.

    SMSC_KEY=$(smsc key add demo) python3 examples/http/send.py 447700900123 hello

SMSC_URL is where `api.listen` is; http://127.0.0.1:8081 is that of the demo.
"""

import json
import os
import sys
import time
import urllib.error
import urllib.request
import uuid

URL = os.environ.get("SMSC_URL", "http://127.0.0.1:8081")


def send(to, text, key, attempts=5):
    """Submits once, however often it has to ask: every attempt has the same Idempotency-Key."""
    request = urllib.request.Request(
        f"{URL}/v1/messages",
        json.dumps({"to": to, "from": "ACME", "text": text, "receipt": True}).encode(),
        {
            "Authorization": f"Bearer {key}",
            "Content-Type": "application/json",
            "Idempotency-Key": str(uuid.uuid4()),
        },
    )
    for attempt in range(attempts):
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return json.load(answer)["messages"][0]["id"]
        except urllib.error.HTTPError as error:
            if error.code not in (409, 429, 503, 507) or attempt == attempts - 1:
                sys.exit(f"{error.code}: {json.load(error)['detail']}")
            time.sleep(int(error.headers.get("Retry-After", 1)))
        except OSError as error:
            if attempt == attempts - 1:
                sys.exit(str(error))
            time.sleep(1)


if __name__ == "__main__":
    print(send(sys.argv[1], sys.argv[2], os.environ["SMSC_KEY"]))
