"""A business system that speaks XML-RPC, by Python's own xmlrpc.client.

    xml_rpc_client.py URL KEY journey        sends, follows, cancels, calls many at once
    xml_rpc_client.py URL KEY session        the same key as first argument instead of by HTTP Basic
    xml_rpc_client.py URL KEY faults OTHERS  every fault that a caller can cause; OTHERS: JSON of further keys
    xml_rpc_client.py URL KEY call METHOD PARAMS   one call; PARAMS: JSON list
    xml_rpc_client.py URL KEY traced PARENT  sends below a span of its own
    xml_rpc_client.py URL KEY guess          a wrong key as first argument
    xml_rpc_client.py URL KEY hostile        documents that mean harm

The last line is JSON for the Rust test that started it; any surprise ends it with a traceback.
"""

import base64
import http.client
import json
import sys
import time
from datetime import datetime, timedelta, timezone
from urllib.parse import urlsplit
from xmlrpc.client import Binary, DateTime, Fault, MultiCall, ServerProxy, dumps

TO = "447700900123"
PATIENCE = 60
URL, KEY, CASE = sys.argv[1:4]


def proxy(user="", key=KEY):
    """A server with user and key in its URL, which xmlrpc.client sends by HTTP Basic."""
    return ServerProxy(URL.replace("://", f"://{user}:{key}@"), allow_none=True, use_builtin_types=False)


def in_an_hour(minutes=0):
    return DateTime((datetime.now(timezone.utc) + timedelta(hours=1, minutes=minutes)).replace(tzinfo=None))


def ended(server, identifier):
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        status = server.sms.status(identifier)
        if status["report_state"] != 1:
            return status
        time.sleep(0.05)
    raise TimeoutError(f"{identifier} did not end")


def plain(value):
    """As JSON can say it."""
    if isinstance(value, DateTime):
        return str(value)
    if isinstance(value, dict):
        return {name: plain(member) for name, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    return value


def fault(call, *arguments):
    try:
        result = call(*arguments)
    except Fault as said:
        return [said.faultCode, said.faultString]
    raise AssertionError(f"{arguments} had a result: {result}")


def journey():
    server = proxy("test")
    names = server.system.listMethods()
    assert sorted(names) == sorted([
        "sms.send", "sms.sendBulk", "sms.status", "sms.cancel", "sms.balance", "system.listMethods",
        "system.methodHelp", "system.methodSignature", "system.multicall"]), names
    for name in names:
        assert server.system.methodHelp(name), name
        signatures = server.system.methodSignature(name)
        assert all(isinstance(one, str) for types in signatures for one in types), signatures

    # One to one, with everything that only comes back.
    sent = server.sms.send({
        "user_numbers": [TO], "sp_number": "ACME", "content": "Grüße <&> \n€", "reference": "order-7",
        "charge_number": TO, "corp_id": "01234", "service_type": "WAP", "fee_type": 2, "fee_value": "15",
        "given_value": 0, "agent_flag": True, "more_related_to_mt_flag": 3, "priority": 1, "tp_pid": 0,
        "report_flag": 2, "expire_time": in_an_hour(), "schedule_time": None})
    assert (sent["accepted"], sent["refused"]) == (1, 0), sent
    assert sent["messages"][0]["id"] == sent["id"], sent
    status = ended(server, sent["id"])
    assert (status["state"], status["result"], status["error_code"]) == ("DELIVERED", 0, "000"), status
    assert (status["user_number"], status["sp_number"], status["reference"]) == (TO, "ACME", "order-7"), status
    assert status["metadata"]["fee_value"] == 15 and status["metadata"]["corp_id"] == "01234", status
    assert [step["what"] for step in status["timeline"]] == ["accepted", "sent", "delivered"], status
    assert isinstance(status["accepted_at"], DateTime) and isinstance(status["ended_at"], DateTime), status

    # One to many, of which one is wrong, and data with a header.
    many = server.sms.send({"user_numbers": [TO, "nobody", "447700900124"], "content": "x" * 200})
    assert (many["accepted"], many["refused"]) == (2, 1), many
    assert many["messages"][1]["faultCode"] == 400, many
    assert many["messages"][1]["faultString"].startswith("user_numbers[1]: "), many
    assert many["messages"][0]["parts"] == 2, many
    port = bytes([6, 5, 4, 0x0B, 0x84, 0x23, 0xF0])
    data = server.sms.send({"user_numbers": TO, "tp_udhi": 1, "content": Binary(port + b"\x00\xff\x01")})
    assert data["messages"][0]["alphabet"] == "data", data

    # A list, of which one is wrong.
    bulk = server.sms.sendBulk([
        {"user_numbers": "447700900201", "sp_number": "12345", "content": "one"},
        {"user_numbers": "447700900202", "content": "two", "colour": "red"},
        {"user_numbers": ["447700900203", "447700900204"], "content": "Привет", "coding": 8}])
    assert [one.get("accepted") for one in bulk] == [1, None, 2], bulk
    assert bulk[1] == {"faultCode": 400, "faultString": "colour: there is no such argument here"}, bulk

    # Waits, and is cancelled.
    later = server.sms.send({
        "user_numbers": TO, "content": "later", "schedule_time": in_an_hour(), "expire_time": in_an_hour(30)})
    waits = server.sms.status(later["id"])
    assert (waits["state"], waits["report_state"]) == ("ENROUTE", 1) and "ended_at" not in waits, waits
    assert abs(time.mktime(waits["schedule_time"].timetuple()) - time.mktime(in_an_hour().timetuple())) < 60, waits
    assert server.sms.cancel(later["id"]) == {"id": later["id"], "done": True}
    assert server.sms.status(later["id"])["state"] == "DELETED"
    again = fault(server.sms.cancel, later["id"])
    assert again[0] == 409, again

    # The same call twice is carried out once.
    order = {"user_numbers": TO, "content": "only once", "idempotency_key": "k1"}
    first, second = server.sms.send(order), server.sms.send(order)
    assert first["id"] == second["id"], (first, second)
    reused = fault(server.sms.send, {**order, "content": "other"})
    assert reused[0] == 400 and reused[1].startswith("idempotency_key: "), reused
    pair = [[{"user_numbers": TO, "content": "bulk once"}], "k2"]
    assert server.sms.sendBulk(*pair)[0]["id"] == server.sms.sendBulk(*pair)[0]["id"]

    # Many calls at once.
    calls = MultiCall(server)
    calls.sms.send({"user_numbers": TO, "content": "in a multicall"})
    calls.sms.balance()
    calls.system.methodHelp("sms.eat")
    calls.sms.status(sent["id"])
    results = calls()
    last = results[0]["id"]
    assert results[1]["account"] == "test", results[1]
    eaten = fault(lambda: results[2])
    assert eaten[0] == 400 and eaten[1].startswith("methodName: "), eaten
    assert results[3]["state"] == "DELIVERED", results[3]
    nested = server.system.multicall([{"methodName": "system.multicall", "params": [[]]}, {"params": []}])
    assert [one["faultCode"] for one in nested] == [400, 400], nested

    accepted = [sent["id"], data["id"], first["id"], last]
    accepted += [one["id"] for one in many["messages"] if "id" in one]
    accepted += [message["id"] for one in bulk if "messages" in one for message in one["messages"]]
    states = {ended(server, one)["state"] for one in accepted}
    assert states == {"DELIVERED"}, states
    return {"sent": sent["id"], "data": data["id"], "balance": plain(server.sms.balance())}


def session():
    server = ServerProxy(URL, allow_none=True)
    order = {"user_numbers": TO, "content": "hello"}
    sent = server.sms.send(KEY, order)
    inside = server.sms.send({**order, "session": KEY})
    of_struct = server.sms.status({"session": KEY}, sent["id"])
    assert ended_of(server, inside["id"]) == "DELIVERED" and of_struct["id"] == sent["id"]
    assert server.sms.balance(KEY)["account"] == "test"
    assert server.sms.sendBulk(KEY, [order])[0]["accepted"] == 1
    whole = server.system.multicall(KEY, [
        {"methodName": "sms.status", "params": [sent["id"]]}, {"methodName": "sms.balance"}])
    assert whole[0][0]["id"] == sent["id"] and whole[1][0]["account"] == "test", whole
    each = server.system.multicall([
        {"methodName": "sms.status", "params": [KEY, sent["id"]]},
        {"methodName": "sms.balance", "params": ["smsck_other"]},
        {"methodName": "sms.balance", "params": [KEY]},
        {"methodName": "sms.balance", "params": []}])
    assert each[0][0]["id"] == sent["id"] and each[2][0]["account"] == "test", each
    assert [each[1]["faultCode"], each[3]["faultCode"]] == [401, 401], each
    # A wrong key is tried once, whatever follows in the request.
    wrong = server.system.multicall([{"methodName": "sms.balance", "params": [key]} for key in ("x", "x", KEY)])
    assert [one["faultCode"] for one in wrong] == [401, 401, 401], wrong
    # Beside a header it is an argument too many.
    assert fault(proxy().sms.balance, KEY)[0] == 400
    beside = fault(proxy().sms.send, {**order, "session": KEY})
    assert beside[0] == 400 and beside[1].startswith("session: "), beside
    return {"sent": sent["id"]}


def ended_of(server, identifier):
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        status = server.sms.status(KEY, identifier)
        if status["report_state"] != 1:
            return status["state"]
        time.sleep(0.05)
    raise TimeoutError(f"{identifier} did not end")


def faults():
    others = json.loads(sys.argv[4])
    order = {"user_numbers": TO, "sp_number": "ACME", "content": "hello"}
    server = proxy()
    sent = server.sms.send(order)["id"]
    seen = {
        "parameter": fault(server.sms.send, {**order, "priority": 9}),
        "missing": fault(server.sms.send, {"user_numbers": TO}),
        "none": fault(server.sms.send),
        "too many": fault(server.sms.status, sent, sent),
        "method": fault(server.sms.eat),
        "destination": fault(server.sms.send, {**order, "user_numbers": "49170000001"}),
        "schedule": fault(server.sms.send, {**order, "schedule_time": "2066-01-01T00:00:00Z"}),
        "expiry": fault(server.sms.send, {**order, "expire_time": "2001-01-01T00:00:00Z"}),
        "wrong key": fault(proxy(key="smsck_wrong").sms.balance),
        "wrong user": fault(proxy(user="other").sms.balance),
        "no key": fault(ServerProxy(URL).sms.balance),
        "wrong session": fault(ServerProxy(URL).sms.balance, "smsck_wrong"),
        "role send": fault(proxy(key=others["read"]).sms.send, order),
        "role cancel": fault(proxy(key=others["read"]).sms.cancel, sent),
        "role read": fault(proxy(key=others["send"]).sms.status, sent),
        "unknown": fault(server.sms.status, "1900000000000000123"),
        "unknown cancel": fault(server.sms.cancel, "1900000000000000123"),
        "of another": fault(proxy(key=others["other"]).sms.status, sent),
        "balance": fault(proxy(key=others["prepaid"]).sms.send, order),
        "bulk type": fault(server.sms.sendBulk, order),
        "bulk size": fault(server.sms.sendBulk, [{**order, "user_numbers": [TO] * 600}] * 2),
        "calls": fault(server.system.multicall, [{"methodName": "sms.balance"}] * 101),
    }
    limited = proxy(key=others["limited"])
    for _ in range(100):
        try:
            limited.sms.send(order)
        except Fault as said:
            seen["rate"] = [said.faultCode, said.faultString]
            break
    return seen


def call():
    method, params = sys.argv[4], json.loads(sys.argv[5])
    try:
        return {"result": plain(getattr(proxy(), method)(*params))}
    except Fault as said:
        return {"fault": [said.faultCode, said.faultString]}


def traced():
    """Sends with a traceparent: one with the key in the header, one with a session."""
    headers = [("traceparent", sys.argv[4])]
    order = {"user_numbers": TO, "content": "hello"}
    with_header = ServerProxy(URL.replace("://", f"://:{KEY}@"), headers=headers)
    return {
        "header": with_header.sms.send(order)["id"],
        "session": ServerProxy(URL, headers=headers).sms.send(KEY, order)["id"],
    }


def guess():
    return {"fault": fault(ServerProxy(URL).sms.balance, KEY)}


def hostile():
    """Status and text of raw requests."""
    at = urlsplit(URL)
    basic = "Basic " + base64.b64encode(f":{KEY}".encode()).decode()

    def post(body, kind="text/xml", method="POST", authorization=basic, **headers):
        connection = http.client.HTTPConnection(at.hostname, at.port, timeout=PATIENCE)
        headers = {"Content-Type": kind, "Authorization": authorization, **headers}
        headers = {name: value for name, value in headers.items() if value is not None}
        try:
            connection.request(method, at.path, body, headers)
            answer = connection.getresponse()
            return [answer.status, answer.read().decode()]
        except (BrokenPipeError, ConnectionResetError):
            # It was refused before the body was read.
            return [0, ""]
        finally:
            connection.close()

    def with_value(value):
        return f"<methodCall><methodName>sms.status</methodName><params><param>{value}</param></params></methodCall>"

    laughs = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
    laughs = f'<?xml version="1.0"?><!DOCTYPE l [<!ENTITY l0 "ha">{laughs}]>'
    good = dumps((), "sms.balance")
    return {
        "good": post(good),
        "bearer": post(good, authorization=f"Bearer {KEY}"),
        "without a type": post(good, kind=None),
        "application/xml": post(good, kind="application/xml; charset=UTF-8"),
        "latin": post('<?xml version="1.0" encoding="iso-8859-1"?>' + good.split("?>")[1]),
        "laughs": post(laughs + with_value("<value>&l9;</value>")),
        "outside": post('<!DOCTYPE r SYSTEM "file:///etc/passwd">' + good.split("?>")[1]),
        "deep": post(with_value("<value><array><data>" * 5000)),
        "wide": post(with_value("<value><array><data>" + "<value/>" * 60_000 + "</data></array></value>")),
        "base64": post(with_value("<value><base64>????</base64></value>")),
        "utf-16": post(good.encode("utf-16")),
        "utf-8": post(with_value("<value>").encode() + b"\xff\xfe"),
        "cut": post(good[:60]),
        "json": post("{}"),
        "empty": post(""),
        "json type": post("{}", kind="application/json"),
        "get": post(None, method="GET"),
        "large": post(" " * (1024 * 1024 + 1)),
        "large stranger": post(" " * (1024 * 1024 + 1), authorization=None),
        "key header": post(good, **{"Idempotency-Key": "1"}),
        "scheme": post(good, authorization="Digest x"),
        "good again": post(good),
    }


CASES = {"journey": journey, "session": session, "faults": faults, "call": call, "guess": guess, "traced": traced,
         "hostile": hostile}
print(json.dumps(CASES[CASE]()))
