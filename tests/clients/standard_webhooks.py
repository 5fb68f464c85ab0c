"""Verifies callbacks with the package of the Standard Webhooks project, as a receiver does.

Arguments: the secret, and a file with one callback per line: a JSON object of its headers and its body. One line
of JSON: the types of those that were verified, and how many were refused after one octet was changed.
"""

import json
import sys

from standardwebhooks import Webhook, WebhookVerificationError

webhook = Webhook(sys.argv[1])
types, refused = [], 0
with open(sys.argv[2], encoding="utf-8") as file:
    for line in file:
        callback = json.loads(line)
        event = webhook.verify(callback["body"], callback["headers"])
        types.append(event["type"])
        try:
            webhook.verify(callback["body"].replace("447", "448", 1), callback["headers"])
        except WebhookVerificationError:
            refused += 1
print(json.dumps({"types": types, "refused": refused}))
