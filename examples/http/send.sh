#!/bin/sh
# Sends a message over HTTP and prints its id:
#
#   SMSC_KEY=$(smsc key add demo) examples/http/send.sh 447700900123 hello
#
# SMSC_URL is where `api.listen` is; 127.0.0.1:8081 is that of the demo. A repetition after a lost answer is harmless
# with the same Idempotency-Key: give it as the third argument.
set -eu
to=$1 text=$2 once=${3:-$(cat /proc/sys/kernel/random/uuid)}

# JSON by a tool that knows its rules: a text may have quotes and line ends.
body=$(TO=$to TEXT=$text python3 -c '
import json, os
print(json.dumps({"to": os.environ["TO"], "from": "ACME", "text": os.environ["TEXT"], "receipt": True}))')

answer=$(curl --silent --show-error --fail-with-body "${SMSC_URL:-http://127.0.0.1:8081}/v1/messages" \
    --header "Authorization: Bearer $SMSC_KEY" \
    --header "Content-Type: application/json" \
    --header "Idempotency-Key: $once" \
    --data "$body") || { echo "$answer" >&2; exit 1; }
echo "$answer" | python3 -c 'import json, sys; print(json.load(sys.stdin)["messages"][0]["id"])'
