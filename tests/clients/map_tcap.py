"""TCAP messages with MAP dialogue portions and components (Q.773, TS 29.002), with the codec of pycrate.

Arguments and results are read and written by the types of their MAP version: `TCAP_MAPv2v3` alone would read a forwardSM of
version 2 as one of version 3, and lose what only version 2 has.
"""

from dataclasses import dataclass, field

# Both modules name some things alike; what is imported first keeps its own.
from pycrate_asn1dir import TCAP_MAPv2v3 as MAP
from pycrate_asn1dir import TCAP_RAW
from pycrate_mobile.TS24008_IE import BufBCD
from pycrate_mobile.TS29002_MAPIE import AddressString

GATEWAY, MO_RELAY, ALERT, WAITING_DATA, MT_RELAY = 20, 21, 23, 24, 25
MT_FORWARD, SEND_ROUTING, FORWARD, REPORT_STATUS = 44, 45, 46, 47
ALERT_WITHOUT_RESULT, INFORM, ALERT_CENTRE = 49, 63, 64

UNKNOWN_SUBSCRIBER, UNIDENTIFIED_SUBSCRIBER, ABSENT_SUBSCRIBER_SM = 1, 5, 6
ILLEGAL_SUBSCRIBER, TELESERVICE, ILLEGAL_EQUIPMENT, BARRED = 9, 11, 12, 13
FACILITY, ABSENT_SUBSCRIBER, BUSY, DELIVERY_FAILURE, LIST_FULL = 21, 27, 31, 32, 33
SYSTEM_FAILURE, DATA_MISSING, UNEXPECTED_DATA = 34, 35, 36

# P-Abort causes (Q.773 §4.2.1.2).
UNRECOGNIZED_TYPE, UNRECOGNIZED_TRANSACTION, BADLY_FORMATTED, INCORRECT_PORTION, RESOURCES = range(5)
# result-source-diagnostic of the service user: no reason given, context not supported.
NO_REASON, CONTEXT_NOT_SUPPORTED = 1, 2
DIALOGUE_AS = (0, 0, 17, 773, 1, 1, 1)
MAP_DIALOGUE_AS = (0, 4, 0, 0, 1, 1, 1, 1)
CONTEXTS = (0, 4, 0, 0, 1, 0)
PROTOCOL_VERSION_1 = (1, 1)

V3, V2 = "MAP-SM-DataTypes", "MAPv2-SM-DataTypes"
ERRORS_3, ERRORS_2 = "MAP-ER-DataTypes", "MAPv2-ER-DataTypes"
# Module and type of argument and result, by operation and version.
ARGUMENTS = {
    (MT_FORWARD, 3): (V3, "MT-ForwardSM-Arg"),
    (FORWARD, 3): (V3, "MO-ForwardSM-Arg"),
    (FORWARD, 2): (V2, "ForwardSM-Arg"),
    (FORWARD, 1): (V2, "ForwardSM-Arg"),
    (SEND_ROUTING, 3): (V3, "RoutingInfoForSM-Arg"),
    (SEND_ROUTING, 2): (V2, "RoutingInfoForSM-Arg"),
    (SEND_ROUTING, 1): (V2, "RoutingInfoForSM-Arg"),
    (REPORT_STATUS, 3): (V3, "ReportSM-DeliveryStatusArg"),
    (REPORT_STATUS, 2): (V2, "ReportSM-DeliveryStatusArg"),
    (REPORT_STATUS, 1): (V2, "ReportSM-DeliveryStatusArg"),
    (ALERT_CENTRE, 2): (V2, "AlertServiceCentreArg"),
    (ALERT_WITHOUT_RESULT, 1): (V2, "AlertServiceCentreArg"),
    (INFORM, 3): (V3, "InformServiceCentreArg"),
    (INFORM, 2): (V2, "InformServiceCentreArg"),
    (INFORM, 1): (V2, "InformServiceCentreArg"),
}
RESULTS = {
    (MT_FORWARD, 3): (V3, "MT-ForwardSM-Res"),
    (FORWARD, 3): (V3, "MO-ForwardSM-Res"),
    (SEND_ROUTING, 3): (V3, "RoutingInfoForSM-Res"),
    (SEND_ROUTING, 2): (V2, "RoutingInfoForSM-Res"),
    (SEND_ROUTING, 1): (V2, "RoutingInfoForSM-Res"),
    (REPORT_STATUS, 3): (V3, "ReportSM-DeliveryStatusRes"),
}


class Unreadable(Exception):
    pass


@dataclass
class Component:
    """An invoke, result, error or reject; `raw` is the BER of its argument, result or parameter."""

    kind: str
    id: int = None
    code: int = None
    raw: bytes = None
    problem: tuple = None


@dataclass
class Tcap:
    """A message; `context` is number and version of its dialogue portion, `portion` which one it has, if any."""

    kind: str
    otid: bytes = None
    dtid: bytes = None
    portion: str = None
    context: tuple = None
    result: int = None
    diagnostic: tuple = None
    p_abort: int = None
    components: list = field(default_factory=list)


def digits(octets):
    """The digits of an AddressString."""
    address = AddressString()
    address.from_bytes(octets)
    return address["Num"].get_alt().decode()


def address_string(number):
    """An international E.164 number as an AddressString."""
    address = AddressString(val={"NumType": 1, "NumPlan": 1})
    address["Num"].get_alt().encode(number)
    return address.to_bytes()


def imsi_digits(octets):
    found = BufBCD("IMSI", val=octets)
    return found.decode()


def imsi_octets(imsi):
    found = BufBCD("IMSI")
    found.encode(imsi)
    return found.to_bytes()


def _raw(found):
    """BER of what pycrate does not know: its name tells class, form and tag."""
    name, octets = found
    assert name.startswith("_unk_"), found
    marks = name.removeprefix("_unk_")
    tag = int(marks[0]) << 6 | int(marks[1]) << 5 | int(marks[2:])
    assert int(marks[2:]) < 31, name
    length = len(octets)
    head = [length] if length < 128 else [0x81, length] if length < 256 else [0x82, length >> 8, length & 255]
    return bytes([tag, *head]) + octets


def _component(found):
    kind, value = found
    if kind == "returnResultNotLast":
        name, body = "result", value
    else:
        name, body = value
        name = {"returnResult": "result", "returnError": "error"}.get(name, name)
    ids = body.get("invokeId", ("absent", 0))
    made = Component(name, ids[1] if ids[0] == "present" else None)
    if name == "invoke":
        made.code = body["opcode"][1]
        made.raw = _raw(body["argument"]) if "argument" in body else None
    elif name == "result" and "result" in body:
        made.code = body["result"]["opcode"][1]
        made.raw = _raw(body["result"]["result"])
    elif name == "error":
        made.code = body["errcode"][1]
        made.raw = _raw(body["parameter"]) if "parameter" in body else None
    elif name == "reject":
        made.problem = body["problem"]
    return made


def _read_portion(external, into):
    form, value = external["encoding"]
    if external["direct-reference"] != DIALOGUE_AS or form != "single-ASN1-type":
        raise Unreadable(f"a dialogue portion of {external}")
    # As (module and type, (which, its fields)), with or without the module.
    which, fields = value[1]
    into.portion = which
    name = fields.get("application-context-name")
    if name is not None:
        if name[:6] != CONTEXTS or len(name) != 8:
            raise Unreadable(f"application context {name}")
        into.context = (name[6], name[7])
    into.result, into.diagnostic = fields.get("result"), fields.get("result-source-diagnostic")


def decode(octets):
    """The message; raises `Unreadable` with a reason."""
    message = TCAP_RAW.TCAP_Messages.TCAP_Message
    try:
        message.from_ber(octets)
        kind, fields = message.get_val()
        made = Tcap(kind, fields.get("otid"), fields.get("dtid"))
        if "reason" in fields:
            reason, value = fields["reason"]
            if reason == "p-abortCause":
                made.p_abort = value
            else:
                _read_portion(value, made)
        if "dialoguePortion" in fields:
            _read_portion(fields["dialoguePortion"], made)
        made.components = [_component(one) for one in fields.get("components", [])]
    except Unreadable:
        raise
    except Exception as error:
        raise Unreadable(f"{error!r} in {octets.hex()}") from error
    return made


def value_of(types, code, version, raw):
    """An argument or result by the type of its version."""
    if (code, version) not in types:
        raise Unreadable(f"operation {code} in version {version}")
    module, name = types[code, version]
    kind = getattr(getattr(MAP, module.replace("-", "_")), name.replace("-", "_"))
    if raw is None:
        raise Unreadable(f"operation {code} without its parameter")
    try:
        kind.from_ber(raw)
        value = kind.get_val()
        # Whatever pycrate skips is missing when it writes it again.
        kind.set_val(value)
        again = kind.to_ber()
    except Exception as error:
        raise Unreadable(f"{error!r} in {name} {raw.hex()}") from error
    if len(again) != len(raw):
        raise Unreadable(f"{name} {raw.hex()} is {again.hex()} when it is written again")
    return value


def failure_of(version, raw):
    """The cause of sm-DeliveryFailure: of a SEQUENCE in version 3, in version 2 too, and by itself in version 1."""
    module = MAP.MAP_ER_DataTypes if version == 3 else MAP.MAPv2_ER_DataTypes
    kind = module.SM_DeliveryFailureCause
    try:
        kind.from_ber(raw)
    except Exception as error:
        raise Unreadable(f"{error!r} in the cause {raw and raw.hex()}") from error
    value = kind.get_val()
    if version < 3:
        form, value = value
        if (form == "sm-EnumeratedDeliveryFailureCause") != (version == 1):
            raise Unreadable(f"{form} in version {version}")
    return value if isinstance(value, str) else value["sm-EnumeratedDeliveryFailureCause"]


def context_name(context):
    return (*CONTEXTS, *context)


def _external(which, fields):
    return {
        "direct-reference": DIALOGUE_AS,
        "encoding": ("single-ASN1-type", (("DialoguePDUs", "DialoguePDU"), (which, fields))),
    }


def _map_information(choice, fields):
    """User information with a MAP-DialoguePDU (TS 29.002 §17.4)."""
    inner = (("MAP-DialogueInformation", "MAP-DialoguePDU"), (choice, fields))
    return [{"direct-reference": MAP_DIALOGUE_AS, "encoding": ("single-ASN1-type", inner)}]


def request(context):
    """AARQ."""
    fields = {"protocol-version": PROTOCOL_VERSION_1, "application-context-name": context_name(context)}
    return _external("dialogueRequest", fields)


def response(context, result=0, diagnostic=0, information=None):
    """AARE: accepted, unless `result` is 1."""
    fields = {
        "protocol-version": PROTOCOL_VERSION_1,
        "application-context-name": context_name(context),
        "result": result,
        "result-source-diagnostic": ("dialogue-service-user", diagnostic),
    }
    if information:
        fields["user-information"] = information
    return _external("dialogueResponse", fields)


def refusal(context, reason):
    """AARE that refuses the dialogue with a MAP-RefusePDU; the context of one that is not supported is the one that is."""
    if reason == "context":
        return response(context, 1, CONTEXT_NOT_SUPPORTED)
    information = _map_information("map-refuse", {"reason": reason})
    return response(context, 1, NO_REASON, information)


def user_abort(choice=("userSpecificReason", 0)):
    """ABRT with a MAP-UserAbortPDU."""
    information = _map_information("map-userAbort", {"map-UserAbortChoice": choice})
    return _external("dialogueAbort", {"abort-source": 0, "user-information": information})


def _typed(types, code, version, value):
    return None if value is None else (types[code, version], value)


def invoke(id, code, version, argument):
    fields = {"invokeId": ("present", id), "opcode": ("local", code)}
    if argument is not None:
        fields["argument"] = _typed(ARGUMENTS, code, version, argument)
    return ("basicROS", ("invoke", fields))


def result(id, code=None, version=None, value=None):
    fields = {"invokeId": ("present", id)}
    if value is not None:
        fields["result"] = {"opcode": ("local", code), "result": _typed(RESULTS, code, version, value)}
    return ("basicROS", ("returnResult", fields))


def error(id, code, parameter=None):
    """`parameter` has its type first."""
    fields = {"invokeId": ("present", id), "errcode": ("local", code)}
    if parameter is not None:
        fields["parameter"] = parameter
    return ("basicROS", ("returnError", fields))


def reject(id, problem):
    return ("basicROS", ("reject", {"invokeId": ("present", id), "problem": problem}))


def encode(kind, otid=None, dtid=None, portion=None, components=(), reason=None):
    """A begin, continue, end or abort."""
    fields = {}
    for name, value in (("otid", otid), ("dtid", dtid), ("dialoguePortion", portion), ("reason", reason)):
        if value is not None:
            fields[name] = value
    if components:
        fields["components"] = list(components)
    message = MAP.TCAP_MAP_Messages.TCAP_MAP_Message
    message.set_val((kind, fields))
    return message.to_ber()
