"""A client of cmppy, which speaks CMPP 3.0 and makes a connection for each request.

    cmppy_client.py PORT SOURCE SECRET TO    submits, and logs in with a wrong secret

The last line is JSON for the Rust test that started it.
"""

import contextlib
import hashlib
import io
import json
import sys

from cmppy import ConnectReq, Cmppy, SubmitReq, parse_response

PORT, SOURCE, SECRET, TO = sys.argv[1:5]


def login(secret):
    """The response to a login, and whether the server has proven itself."""
    client = Cmppy("127.0.0.1", int(PORT), SOURCE, secret)
    client._connect()
    request = ConnectReq(SOURCE, secret)
    client._write(request.message)
    response = parse_response(client._read())
    client._close()
    proof = hashlib.md5(response.raw_status + request.authenticator_source + secret.encode()).digest()
    return response.status, proof == response.authenticator_ISMG


# It prints every PDU.
with contextlib.redirect_stdout(io.StringIO()):
    submit = SubmitReq(SOURCE, "你好, cmppy", src_id="10655", dest_terminal_id=[TO], registered_delivery=1)
    answer = Cmppy("127.0.0.1", int(PORT), SOURCE, SECRET).request(submit)
    status, authentic = login(SECRET)
    wrong, _ = login("wrong")
print(json.dumps({
    "result": answer.result,
    "msg_id": str(answer.msg_id),
    "status": status,
    "authentic": authentic,
    "wrong": wrong,
}))
