"""The HLR, MSCs and SGSNs of a mobile network, by their global titles, and the subscribers they know.

Each node answers the dialogues of a service centre as its mood says, and as the subscriber's outcomes say. A list of outcomes
is used from its beginning; the last one stays. What a node finds wrong in what it got is a complaint.
"""

import asyncio
import random
import time
from collections import Counter
from dataclasses import dataclass, field

import map_tcap as tcap
import map_tpdu
from map_sccp import LONGEST_DATA, UDT, Address, Reassembly, Unitdata, decode, encode

SSN_HLR, SSN_MSC, SSN_SGSN = 6, 8, 149
SSN = {"hlr": SSN_HLR, "msc": SSN_MSC, "sgsn": SSN_SGSN}
NO_TRANSLATION = 1
PATIENCE = 60

# Outcomes that are errors: code, parameter of version 3, of version 2, of version 1.
ABSENT_3 = ("MAP-ER-DataTypes", "AbsentSubscriberSM-Param")
FAILURE_3 = ("MAP-ER-DataTypes", "SM-DeliveryFailureCause")
FAILURE_2 = ("MAPv2-ER-DataTypes", "SM-DeliveryFailureCause")
FAILURES = {
    "memory_full": "memoryCapacityExceeded",
    "protocol_error": "equipmentProtocolError",
    "not_equipped": "equipmentNotSM-Equipped",
    "unknown_centre": "unknownServiceCentre",
    "congestion": "sc-Congestion",
    "invalid_address": "invalidSME-Address",
    "not_of_centre": "subscriberNotSC-Subscriber",
}
PLAIN = {
    "unknown": tcap.UNKNOWN_SUBSCRIBER,
    "unidentified": tcap.UNIDENTIFIED_SUBSCRIBER,
    "illegal": tcap.ILLEGAL_SUBSCRIBER,
    "illegal_equipment": tcap.ILLEGAL_EQUIPMENT,
    "teleservice": tcap.TELESERVICE,
    "barred": tcap.BARRED,
    "facility": tcap.FACILITY,
    "busy": tcap.BUSY,
    "system_failure": tcap.SYSTEM_FAILURE,
    "unexpected": tcap.UNEXPECTED_DATA,
    "missing": tcap.DATA_MISSING,
}
FLAGS = {"not_included": 0, "mnrf": 1, "mcef": 2, "mnrg": 3}


@dataclass
class Node:
    """`version` is the highest of MAP; `old` says how one of version 1 refuses others: p_abort or context."""

    kind: str
    digits: str
    version: int = 3
    old: str = "p_abort"
    # None, silent, refuse, abort, p_abort, or udts:CAUSE.
    mood: str = None
    delay: float = 0.0
    # Octets of data in a segment of its answers; 0: as few segments as possible.
    segment: int = 0
    # Whether it goes on with a dialogue in which it answered with an error, while more is announced.
    keeps_on: bool = False

    @property
    def address(self):
        return Address(SSN[self.kind], self.digits)


@dataclass
class Subscriber:
    msisdn: str
    imsi: str
    msc: str = None
    sgsn: str = None
    sri: list = field(default_factory=lambda: ["ok"])
    forward: list = field(default_factory=lambda: ["ok"])
    # Instead of `forward`, at the nodes of this kind.
    forward_msc: list = None
    forward_sgsn: list = None
    lmsi: str = None
    # What the HLR keeps: service centres that wait, and its flags.
    waiting: set = field(default_factory=set)
    flags: set = field(default_factory=set)

    def take(self, name):
        outcomes = getattr(self, name)
        return outcomes.pop(0) if len(outcomes) > 1 else outcomes[0]


@dataclass
class Dialogue:
    """One of a service centre (`is_ours` false) or one that a node began."""

    id: int
    node: Node
    peer: Address
    label: dict
    link: object
    context: tuple = None
    version: int = 1
    peer_id: bytes = None
    is_ours: bool = False
    has_answered: bool = False
    accepted: bool = False
    ended: str = None
    # Of messages to a handset: whom they are for.
    imsi: str = None
    began: float = field(default_factory=time.time)
    operations: list = field(default_factory=list)
    messages: int = 0
    empty_begin: bool = False
    # Of one that we began: what came of it, and the invoke that follows an empty begin.
    answer: object = None
    pending: object = None
    number: int = 0
    invokes: set = field(default_factory=set)

    def view(self):
        return {
            "number": self.number,
            "node": self.node.digits,
            "kind": self.node.kind,
            "peer": self.peer.digits,
            "context": self.context and list(self.context),
            "version": self.version,
            "ours": self.is_ours,
            "ended": self.ended,
            "operations": self.operations,
            "messages": self.messages,
            "empty_begin": self.empty_begin,
            "stp": self.link and self.link.address,
        }


class Core:
    def __init__(self, own, service_centre, network_indicator):
        self.own, self.service_centre, self.network_indicator = own, service_centre, network_indicator
        self.links, self.nodes, self.subscribers, self.imsis = [], {}, {}, {}
        self.reassembly = Reassembly()
        self.next_id, self.references, self.turn = random.randrange(1 << 31), 0, 0
        self.clear()

    def clear(self):
        """Forgets what happened so far, and not whom it knows."""
        self.dialogues, self.history = {}, []
        self.messages, self.reports, self.returned = [], [], []
        self.counts, self.complaints, self.busy = Counter(), self.reassembly.complaints, Counter()
        self.complaints.clear()

    def complain(self, text):
        self.complaints.append(text)

    # --- what comes

    def on_data(self, link, label, octets):
        found = decode(octets)
        if found is None:
            return self.complain(f"SCCP that cannot be read: {octets.hex()}")
        self.counts[f"sccp_{found.kind}"] += 1
        self.counts["longest_sccp"] = max(self.counts["longest_sccp"], len(octets))
        if found.cause is not None:
            return self.on_returned(found)
        segments = found.first is not None
        whole = self.reassembly.add(found)
        if whole is None:
            return None
        self.counts["reassembled"] += int(segments)
        node = self.node_for(whole.called)
        cause = NO_TRANSLATION
        if node is not None and (node.mood or "").startswith("udts:"):
            node, cause = None, int(node.mood.split(":")[1])
        if node is None:
            self.counts["returned"] += 1
            if whole.return_on_error:
                back = Unitdata(UDT, whole.calling, whole.called, whole.data[:LONGEST_DATA], cause=cause)
                self.write(link, label, back, 0)
            return None
        self.on_tcap(link, label, node, whole)

    def node_for(self, called):
        """As a gateway translates: what is for an HLR goes by the number of the subscriber, or to the HLR itself."""
        node = self.nodes.get(called.digits)
        if called.ssn == SSN_HLR and node is None:
            hlrs = [one for one in self.nodes.values() if one.kind == "hlr"]
            # A number that no network has is in no translation.
            return hlrs[0] if hlrs and not called.digits.startswith("999") else None
        if node is not None and called.ssn != SSN[node.kind]:
            self.complain(f"subsystem {called.ssn} for the {node.kind} {called.digits}")
            return None
        return node

    def on_returned(self, found):
        self.returned.append({"cause": found.cause, "to": str(found.calling)})
        try:
            message = tcap.decode(found.data)
        except tcap.Unreadable:
            return
        dialogue = self.dialogues.get(int.from_bytes(message.otid or b"", "big"))
        if dialogue:
            self.close(dialogue, f"returned {found.cause}")

    def on_tcap(self, link, label, node, found):
        try:
            message = tcap.decode(found.data)
        except tcap.Unreadable as error:
            return self.complain(f"TCAP: {error}")
        self.counts[f"tcap_{message.kind}"] += 1
        if message.kind == "begin":
            return self.on_begin(link, label, node, found.calling, message)
        dialogue = self.dialogues.get(int.from_bytes(message.dtid, "big"))
        if dialogue is None or dialogue.ended:
            self.counts["unknown_transactions"] += 1
            if message.kind == "continue":
                gone = Dialogue(0, node, found.calling, label, link, peer_id=message.otid)
                self.send(gone, "abort", reason=("p-abortCause", tcap.UNRECOGNIZED_TRANSACTION))
            return None
        dialogue.link = link
        if found.called.digits != dialogue.node.digits:
            self.complain(f"{message.kind} for {found.called} in a dialogue of {dialogue.node.digits}")
        if message.kind == "abort":
            return self.close(dialogue, self.why(message))
        if message.portion and dialogue.has_answered and not dialogue.is_ours:
            self.complain(f"a second dialogue portion in a {message.kind}")
        if dialogue.is_ours:
            dialogue.peer_id = message.otid or dialogue.peer_id
            dialogue.peer = found.calling
            return self.on_answer(dialogue, message)
        if message.kind == "end":
            if message.components:
                self.complain(f"components in the end of a dialogue of {dialogue.node.digits}")
            return self.close(dialogue, "end")
        self.perform(dialogue, message.components)

    def why(self, message):
        if message.p_abort is not None:
            return f"p_abort {message.p_abort}"
        if message.portion == "dialogueResponse":
            other = message.context and ".".join(map(str, message.context))
            return f"refused {message.diagnostic[1]} {other}"
        return "abort"

    def on_begin(self, link, label, node, peer, message):
        self.next_id = (self.next_id + 1) % (1 << 32)
        dialogue = Dialogue(self.next_id, node, peer, label, link, peer_id=message.otid)
        self.keep(dialogue)
        if message.portion == "dialogueRequest":
            dialogue.context, dialogue.version = message.context, message.context[1]
        elif message.portion:
            self.complain(f"{message.portion} in a begin")
        dialogue.empty_begin = not message.components
        if peer.digits != self.service_centre and not peer.by_ssn:
            self.complain(f"a dialogue of {peer}")
        if node.mood == "silent":
            return None
        if node.mood in ("refuse", "abort") and dialogue.version == 1:
            # Version 1 has no words for why.
            return self.stop(dialogue, None, "aborted")
        if node.mood == "refuse":
            return self.stop(dialogue, ("u-abortCause", tcap.refusal(dialogue.context, "noReasonGiven")), "refused")
        if node.mood == "abort":
            return self.stop(dialogue, ("u-abortCause", tcap.user_abort()), "aborted")
        if node.mood == "p_abort":
            return self.stop(dialogue, ("p-abortCause", tcap.RESOURCES), "aborted")
        if dialogue.version > node.version:
            return self.refuse_version(dialogue)
        if message.components:
            return self.perform(dialogue, message.components)
        self.later(node.delay, lambda: self.send(dialogue, "continue"))

    def keep(self, dialogue):
        self.dialogues[dialogue.id] = dialogue
        dialogue.number = len(self.history)
        self.history.append(dialogue)

    def refuse_version(self, dialogue):
        node = dialogue.node
        self.counts[f"version_refused_{dialogue.version}"] += 1
        if node.version == 1 and node.old == "p_abort":
            return self.stop(dialogue, ("p-abortCause", tcap.INCORRECT_PORTION), "version")
        # forwardSM had one context for both directions (TS 29.002 §17.3.3).
        context = tcap.MO_RELAY if node.version == 1 and dialogue.context[0] == tcap.MT_RELAY else dialogue.context[0]
        self.stop(dialogue, ("u-abortCause", tcap.refusal((context, node.version), "context")), "version")

    def perform(self, dialogue, components):
        for component in components:
            if component.kind != "invoke":
                self.complain(f"{component} in a dialogue of {dialogue.node.digits}")
                continue
            if component.id in dialogue.invokes:
                self.complain(f"invoke {component.id} is there already")
            dialogue.invokes.add(component.id)
            try:
                value = tcap.value_of(tcap.ARGUMENTS, component.code, dialogue.version, component.raw)
            except tcap.Unreadable as error:
                self.complain(str(error))
                self.reply(dialogue, component, [tcap.reject(component.id, ("invoke", 2))], "reject")
                continue
            perform = {
                tcap.SEND_ROUTING: (self.route, "hlr", tcap.GATEWAY),
                tcap.REPORT_STATUS: (self.report, "hlr", tcap.GATEWAY),
                tcap.MT_FORWARD: (self.forward, "msc sgsn", tcap.MT_RELAY),
                tcap.FORWARD: (self.forward, "msc sgsn", tcap.MT_RELAY),
            }.get(component.code)
            if perform is None or dialogue.node.kind not in perform[1]:
                self.complain(f"operation {component.code} at the {dialogue.node.kind} {dialogue.node.digits}")
                continue
            if dialogue.context and dialogue.context[0] != perform[2]:
                self.complain(f"operation {component.code} in context {dialogue.context}")
            perform[0](dialogue, component, value)

    # --- the HLR

    def route(self, dialogue, component, value):
        msisdn = tcap.digits(value["msisdn"])
        subscriber = self.subscribers.get(msisdn)
        if tcap.digits(value["serviceCentreAddress"]) != self.service_centre:
            self.complain(f"routing for the service centre {value['serviceCentreAddress'].hex()}")
        by_gprs, version = "gprsSupportIndicator" in value, dialogue.version
        outcome = subscriber.take("sri") if subscriber else "unknown"
        if outcome == "ok" and not (subscriber.msc or (subscriber.sgsn and by_gprs)):
            outcome = "absent"
        if outcome != "ok" or not subscriber:
            return self.fail(dialogue, component, outcome, {"msisdn": msisdn})
        location = {}
        mobile = self.subscribers[msisdn]
        if version == 3:
            location["networkNode-Number"] = tcap.address_string(mobile.msc or mobile.sgsn)
            if not mobile.msc:
                location["gprsNodeIndicator"] = 0
            elif mobile.sgsn and by_gprs:
                location["additional-Number"] = ("sgsn-Number", tcap.address_string(mobile.sgsn))
        else:
            location["locationInfo"] = ("msc-Number", tcap.address_string(mobile.msc or mobile.sgsn))
        if mobile.lmsi:
            location["lmsi"] = bytes.fromhex(mobile.lmsi)
        answer = {"imsi": tcap.imsi_octets(mobile.imsi), "locationInfoWithLMSI": location}
        components = [tcap.result(component.id, tcap.SEND_ROUTING, version, answer)]
        if mobile.flags and version > 1:
            bits = sum(1 << (5 - FLAGS[flag]) for flag in mobile.flags)
            told = {"storedMSISDN": tcap.address_string(msisdn), "mw-Status": (bits, 6)}
            components.append(tcap.invoke(2, tcap.INFORM, version, told))
        self.reply(dialogue, component, components, "ok", {"msisdn": msisdn})

    def report(self, dialogue, component, value):
        msisdn = tcap.digits(value["msisdn"])
        # Version 1 does not say it, later ones must (TS 29.002 §17.7.6).
        outcome = value.get("sm-DeliveryOutcome", "unsaid")
        if (outcome == "unsaid") != (dialogue.version == 1):
            self.complain(f"{outcome} as the outcome in version {dialogue.version}")
        self.reports.append({"msisdn": msisdn, "outcome": outcome, "version": dialogue.version})
        subscriber = self.subscribers.get(msisdn)
        if subscriber is None:
            return self.fail(dialogue, component, "unknown", {"msisdn": msisdn})
        if outcome == "successfulTransfer":
            subscriber.flags.clear()
        else:
            subscriber.waiting.add(tcap.digits(value["serviceCentreAddress"]))
            subscriber.flags.add("mcef" if outcome == "memoryCapacityExceeded" else "mnrf")
        stored = {"storedMSISDN": tcap.address_string(msisdn)} if dialogue.version == 3 else None
        answer = tcap.result(component.id, tcap.REPORT_STATUS, dialogue.version, stored)
        self.reply(dialogue, component, [answer], "ok", {"msisdn": msisdn, "told": outcome})

    # --- the MSC and the SGSN

    def forward(self, dialogue, component, value):
        imsi = self.addressed(dialogue, value)
        more = "moreMessagesToSend" in value
        if more and dialogue.version == 1:
            self.complain("more messages to send in version 1")
        expected = tcap.MT_FORWARD if dialogue.version == 3 else tcap.FORWARD
        if component.code != expected:
            self.complain(f"operation {component.code} in version {dialogue.version}")
        subscriber, node = self.imsis.get(imsi), dialogue.node
        is_here = subscriber and node.digits in (subscriber.msc, subscriber.sgsn)
        own = f"forward_{node.kind}"
        outcome = "unidentified"
        if is_here:
            outcome = subscriber.take(own if getattr(subscriber, own) is not None else "forward")
        tpdu = value["sm-RP-UI"]
        entry = {"imsi": imsi, "msisdn": subscriber and subscriber.msisdn, "node": node.digits, "more": more}
        entry |= {"tpdu": tpdu.hex(), "outcome": outcome, "version": dialogue.version, "dialogue": dialogue.number}
        try:
            entry |= map_tpdu.read(tpdu)
        except Exception as error:
            self.complain(f"a TPDU: {error!r}")
        if self.busy[imsi]:
            self.counts["overlaps"] += 1
        self.busy[imsi] += 1
        dialogue.messages += 1
        self.messages.append(entry)
        if outcome == "ok" or outcome.split(":")[0] in ("slow", "report"):
            self.counts["delivered"] += 1
            self.deliver(dialogue, component, outcome, entry)
        else:
            self.fail(dialogue, component, outcome, {"imsi": imsi, "more": more})

    def addressed(self, dialogue, value):
        """Whom a message is for. All but the first of a dialogue may leave out both addresses (TS 29.002 §7.6.8)."""
        kind, target = value["sm-RP-DA"]
        origin, centre = value["sm-RP-OA"]
        if dialogue.imsi and (kind, origin) == ("noSM-RP-DA", "noSM-RP-OA"):
            return dialogue.imsi
        if origin != "serviceCentreAddressOA" or tcap.digits(centre) != self.service_centre:
            self.complain(f"a message of {origin} {centre}")
        if kind != "imsi":
            self.complain(f"a message to {kind} {target}")
            return kind
        imsi = tcap.imsi_digits(target)
        if dialogue.imsi not in (None, imsi):
            self.complain(f"a message to {imsi} in a dialogue about {dialogue.imsi}")
        dialogue.imsi = imsi
        return imsi

    def deliver(self, dialogue, component, outcome, entry):
        kind, _, argument = outcome.partition(":")
        report = {"sm-RP-UI": bytes.fromhex(argument)} if kind == "report" else None
        answer = tcap.result(component.id, tcap.MT_FORWARD, 3, report if dialogue.version == 3 else None)
        after = float(argument) if kind == "slow" else 0.0
        seen = {"imsi": entry["imsi"], "more": entry["more"]}
        self.reply(dialogue, component, [answer], "ok", seen, after)

    # --- answers

    def fail(self, dialogue, component, outcome, seen):
        """Whatever else an outcome says: an error, silence, an abort, a reject."""
        kind, _, argument = outcome.partition(":")
        version, parameter = dialogue.version, None
        if kind == "silent":
            self.note(dialogue, component, outcome, seen)
            self.free(seen)
            return
        if kind in ("abort", "p_abort"):
            self.note(dialogue, component, outcome, seen)
            user = ("u-abortCause", tcap.user_abort()) if version > 1 else None
            self.free(seen)
            return self.stop(dialogue, user if kind == "abort" else ("p-abortCause", tcap.RESOURCES), "aborted")
        if kind == "reject":
            answer = tcap.reject(component.id, ("invoke", 3))
            return self.reply(dialogue, component, [answer], outcome, seen)
        if kind == "absent":
            code = tcap.ABSENT_SUBSCRIBER_SM if version == 3 else tcap.ABSENT_SUBSCRIBER
            if version == 3 and argument:
                parameter = (ABSENT_3, {"absentSubscriberDiagnosticSM": int(argument)})
        elif kind in FAILURES:
            code, cause = tcap.DELIVERY_FAILURE, {"sm-EnumeratedDeliveryFailureCause": FAILURES[kind]}
            if argument:
                cause["diagnosticInfo"] = bytes.fromhex(argument)
            if version == 3:
                parameter = (FAILURE_3, cause)
            elif version == 2:
                parameter = (FAILURE_2, ("sm-DeliveryFailureCauseWithDiagnostic", cause))
            else:
                parameter = (FAILURE_2, ("sm-EnumeratedDeliveryFailureCause", FAILURES[kind]))
        else:
            code = PLAIN[kind]
        self.reply(dialogue, component, [tcap.error(component.id, code, parameter)], outcome, seen)

    def note(self, dialogue, component, outcome, seen):
        dialogue.operations.append({"operation": component.code, "outcome": outcome, **(seen or {})})

    def free(self, seen):
        if seen and "imsi" in seen:
            self.busy[seen["imsi"]] -= 1

    def reply(self, dialogue, component, components, outcome, seen=None, after=0.0):
        self.note(dialogue, component, outcome, seen)
        goes_on = (seen or {}).get("more") and (outcome == "ok" or dialogue.node.keeps_on)

        def answer():
            self.free(seen)
            if dialogue.ended:
                return
            if goes_on:
                self.send(dialogue, "continue", components)
            else:
                self.send(dialogue, "end", components)
                self.close(dialogue, "answered")

        self.later(dialogue.node.delay + after, answer)

    def later(self, delay, action):
        if delay:
            asyncio.get_running_loop().call_later(delay, action)
        else:
            action()

    def stop(self, dialogue, reason, why):
        def answer():
            self.send(dialogue, "abort", reason=reason)
            self.close(dialogue, why)

        self.later(dialogue.node.delay, answer)

    def send(self, dialogue, kind, components=(), reason=None, portion=None):
        if portion is None and dialogue.context and not dialogue.has_answered and not dialogue.is_ours:
            if kind in ("continue", "end"):
                portion = tcap.response(dialogue.context)
        dialogue.has_answered = True
        own = dialogue.id.to_bytes(4, "big") if kind in ("begin", "continue") else None
        data = tcap.encode(kind, own, dialogue.peer_id, portion, components, reason)
        message = Unitdata(UDT, dialogue.peer, dialogue.node.address, data, in_order=True, return_on_error=True)
        self.write(dialogue.link, dialogue.label, message, dialogue.node.segment)

    def write(self, link, label, message, segment):
        """Sends by the link that the dialogue came by, or by another one if that is down."""
        if link is None or link.state != "active":
            active = [one for one in self.links if one.state == "active"]
            if not active:
                self.counts["not_sent"] += 1
                return
            self.turn += 1
            link = active[self.turn % len(active)]
        self.references = (self.references + 1) % (1 << 24)
        back = {"opc": label["dpc"], "dpc": label["opc"], "ni": label["ni"], "mp": 0, "sls": label["sls"]}
        for octets in encode(message, segment, self.references):
            link.send_data(back, octets)

    def write_raw(self, point_code, octets):
        link = next(one for one in self.links if one.state == "active")
        link.send_data({"opc": self.own, "dpc": point_code, "ni": self.network_indicator, "mp": 0, "sls": 0}, octets)

    def close(self, dialogue, why):
        dialogue.ended = why
        self.dialogues.pop(dialogue.id, None)
        if dialogue.answer is not None and not dialogue.answer.done():
            dialogue.answer.set_result({"ended": why})

    # --- what nodes begin

    def begin(self, node, point_code, context, invoke):
        """Begins a dialogue with the service centre; without a context it is one of version 1."""
        self.next_id = (self.next_id + 1) % (1 << 32)
        label = {"opc": point_code, "dpc": self.own, "ni": self.network_indicator, "mp": 0, "sls": self.next_id % 16}
        peer = Address(SSN_MSC, self.service_centre)
        dialogue = Dialogue(self.next_id, node, peer, label, None, context, context[1] if context else 1, is_ours=True)
        dialogue.answer = asyncio.get_running_loop().create_future()
        self.keep(dialogue)
        self.send(dialogue, "begin", [invoke] if invoke else [], portion=tcap.request(context) if context else None)
        return dialogue

    def on_answer(self, dialogue, message):
        said = {"dialogue": message.kind}
        if message.result:
            said["refused"] = message.result
        is_first, dialogue.accepted = not dialogue.accepted, True
        if is_first and dialogue.context and message.portion != "dialogueResponse":
            self.complain(f"no dialogue portion in the {message.kind} of a dialogue of {dialogue.node.digits}")
        if not dialogue.context and message.portion:
            self.complain("a dialogue portion in an answer of version 1")
        for component in message.components:
            if component.kind == "result":
                said["result"] = component.raw and component.raw.hex()
                if component.raw:
                    said["value"] = self.result_of(dialogue, component)
            elif component.kind == "error":
                said["error"] = component.code
                if component.code == tcap.DELIVERY_FAILURE:
                    said["cause"] = self.failure_of(dialogue, component)
            else:
                said[component.kind] = str(component)
        if message.kind == "end":
            dialogue.ended = "end"
            self.dialogues.pop(dialogue.id, None)
        if (message.components or message.kind == "end") and not dialogue.answer.done():
            dialogue.answer.set_result(said)
        elif not message.components:
            # The service centre has taken an empty begin: now it gets what it is for.
            pending, dialogue.pending = dialogue.pending, None
            if pending:
                self.send(dialogue, "continue", [pending])

    def result_of(self, dialogue, component):
        try:
            value = tcap.value_of(tcap.RESULTS, component.code, dialogue.version, component.raw)
        except tcap.Unreadable as error:
            return self.complain(str(error))
        return {name: one.hex() if isinstance(one, bytes) else str(one) for name, one in value.items()}

    def failure_of(self, dialogue, component):
        try:
            return tcap.failure_of(dialogue.version, component.raw)
        except tcap.Unreadable as error:
            return self.complain(str(error))

    async def answer_of(self, dialogue, timeout=PATIENCE):
        try:
            return await asyncio.wait_for(dialogue.answer, timeout)
        except asyncio.TimeoutError:
            self.dialogues.pop(dialogue.id, None)
            return {"silence": timeout}

    async def submit(self, node, point_code, msisdn, imsi, tpdu, version=3, empty_begin=False, timeout=PATIENCE):
        """A message of a handset: mo-ForwardSM in version 3, else forwardSM."""
        argument = {
            "sm-RP-DA": ("serviceCentreAddressDA", tcap.address_string(self.service_centre)),
            "sm-RP-OA": ("msisdn", tcap.address_string(msisdn)),
            "sm-RP-UI": bytes.fromhex(tpdu),
        }
        if version == 3 and imsi:
            argument["imsi"] = tcap.imsi_octets(imsi)
        invoke = tcap.invoke(1, tcap.FORWARD, version, argument)
        context = (tcap.MO_RELAY, version) if version > 1 else None
        dialogue = self.begin(node, point_code, context, None if empty_begin else invoke)
        if empty_begin:
            dialogue.pending = invoke
        return await self.answer_of(dialogue, timeout)

    async def alert(self, node, point_code, msisdn, version=2, timeout=PATIENCE):
        """alertServiceCentre, or in version 1 the one that has no answer."""
        argument = {
            "msisdn": tcap.address_string(msisdn),
            "serviceCentreAddress": tcap.address_string(self.service_centre),
        }
        if version == 1:
            invoke = tcap.invoke(1, tcap.ALERT_WITHOUT_RESULT, 1, argument)
            dialogue = self.begin(node, point_code, None, invoke)
            # Nothing is answered: the dialogue is over (prearranged end).
            self.close(dialogue, "prearranged")
            return {"sent": True}
        dialogue = self.begin(node, point_code, (tcap.ALERT, 2), tcap.invoke(1, tcap.ALERT_CENTRE, 2, argument))
        return await self.answer_of(dialogue, timeout)
